//! Files that appear only when they are complete.

use kbest_core::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that appears, under its name, only once it is [finished](WholeFile::finish).
///
/// It is written under a temporary name in the same folder (`.NAME.PROCESS-XXXXXX.part`), and renamed once its contents have
/// reached the disk: a failed or killed run leaves the old file untouched, and existing maps of the old file stay valid. What
/// a killed process left behind is removed when the same file is written next. Anything but a regular file (a device, a named
/// pipe) is written directly. Writing is buffered.
///
/// ```no_run
/// use kbest::model::WholeFile;
/// use std::io::Write;
/// let mut file = WholeFile::create("report.txt")?;
/// writeln!(file, "all is well")?;
/// file.finish()?; // without it, there is no report.txt
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct WholeFile {
    out: BufWriter<Target>,
}

#[derive(Debug)]
enum Target {
    Direct(File),
    Renamed { file: NamedTempFile, path: PathBuf },
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Direct(file) => file.write(bytes),
            Target::Renamed { file, .. } => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Direct(file) => file.flush(),
            Target::Renamed { file, .. } => file.flush(),
        }
    }
}

impl WholeFile {
    /// Starts a file that will have this name.
    ///
    /// # Errors
    /// If the name is that of a folder or of a link that leads nowhere, or the folder cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        // Links are followed, so that the file a link points to is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let target = match fs::metadata(&path) {
            Ok(data) if data.is_dir() => return Err(io::Error::other("is a folder")),
            Ok(data) if !data.is_file() => Target::Direct(File::options().write(true).open(&path)?),
            Err(_) if path.is_symlink() => {
                return Err(io::Error::other("is a link to something that cannot be found"));
            }
            _ => Target::Renamed { file: temporary(&path)?, path },
        };
        Ok(WholeFile { out: BufWriter::with_capacity(1 << 16, target) })
    }

    /// Removes what this process has begun to write under this name: for programs that are about to be ended by a signal.
    pub fn remove_unfinished(path: impl AsRef<Path>) {
        let path = path.as_ref();
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        remove_parts(&path, |process, _| process == std::process::id());
    }

    /// Gives the file its name, replacing any existing file.
    ///
    /// # Errors
    /// If the file cannot be written completely. An existing file is then unchanged.
    pub fn finish(self) -> io::Result<()> {
        match self.out.into_inner().map_err(io::IntoInnerError::into_error)? {
            Target::Direct(mut file) => file.flush()?,
            Target::Renamed { file, path } => {
                file.as_file().sync_all()?;
                file.persist(&path)?;
                // Makes the new name durable, too. The file is complete and in its place even where folders cannot be
                // synced, so that is no failure.
                #[cfg(unix)]
                let _ = File::open(folder_of(&path)).and_then(|folder| folder.sync_all());
            }
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

const PART: &str = ".part";

/// How temporary names of this file begin; the number of the process follows.
fn prefix_of(path: &Path) -> String {
    const LONGEST: usize = 100; // characters, so that names stay within what file systems allow
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}.", name.chars().take(LONGEST).collect::<String>())
}

/// The error without the temporary name, which nobody has asked for.
fn without_temporary_name(error: &io::Error, path: &Path) -> io::Error {
    let folder = folder_of(path);
    let inner = error.get_ref().and_then(|inner| inner.source());
    let problem = match inner {
        _ if !folder.exists() => format!("there is no folder {}", folder.display()),
        Some(inner) => inner.to_string(),
        None => return error.kind().into(),
    };
    io::Error::new(error.kind(), problem)
}

fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    remove_parts(path, is_abandoned);
    let prefix = format!("{}{}-", prefix_of(path), std::process::id());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(PART);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of any newly created file; the user's umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let file = builder.tempfile_in(folder_of(path)).map_err(|error| without_temporary_name(&error, path))?;
    // Held until the process ends, however it ends: whoever can lock it knows that nobody is writing it. Where files cannot be
    // locked, it remains unlocked.
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Removes temporary files of `path` that `is_rubbish` approves of, given the number of the process that made them. Failures
/// are ignored: what cannot be removed is only in the way of order.
fn remove_parts(path: &Path, is_rubbish: impl Fn(u32, &Path) -> bool) {
    let prefix = prefix_of(path);
    let process_of = |name: &str| {
        let (process, random) = name.strip_prefix(&prefix)?.strip_suffix(PART)?.split_once('-')?;
        let made_here = !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
        process.parse::<u32>().ok().filter(|_| made_here)
    };
    for entry in fs::read_dir(folder_of(path)).into_iter().flatten().flatten() {
        let process = entry.file_name().to_str().and_then(process_of);
        if process.is_some_and(|process| is_rubbish(process, &entry.path())) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether the process that wrote a temporary file is gone.
fn is_abandoned(process: u32, part: &Path) -> bool {
    // A process that has just made its file may not have locked it yet.
    let processes = Path::new("/proc");
    if processes.join("self").exists() && processes.join(process.to_string()).exists() {
        return false;
    }
    File::open(part).is_ok_and(|file| file.try_lock().is_ok())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Writes a file, completely or not at all.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let written = WholeFile::create(path).and_then(|mut file| {
        write(&mut file)?;
        file.finish()
    });
    written.map_err(|error| Error::io(path.display().to_string(), 0, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, dangling] = ["target", "link", "dangling"].map(|name| folder.path().join(name));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).unwrap();
        WholeFile::create(&link).unwrap().finish().unwrap();
        assert!(link.is_symlink() && fs::read(&target).unwrap().is_empty());
        let refused = WholeFile::create(&dangling).unwrap_err().to_string();
        assert!(
            refused.contains("link") && dangling.is_symlink() && names(folder.path()).len() == 3,
            "{refused}"
        );
    }

    #[test]
    fn what_killed_processes_left_behind_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let own = format!(".model.{}-Ab12.part", std::process::id());
        let kept = [".model.notes.part", ".model.4000000000-.part", ".other.4000000000-Ab12.part", &own];
        for name in kept.into_iter().chain([".model.4000000000-Ab12.part"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let mut file = WholeFile::create(&path).unwrap();
        assert_eq!(names(folder.path()).len(), kept.len() + 1, "{:?}", names(folder.path()));
        file.write_all(b"whole").unwrap();
        file.finish().unwrap();
        let mut expected: Vec<&str> = kept.into_iter().chain(["model"]).collect();
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
        assert_eq!(fs::read(&path).unwrap(), b"whole");

        let unfinished = WholeFile::create(&path).unwrap();
        WholeFile::remove_unfinished(&path);
        expected.retain(|name| *name != own);
        assert_eq!(names(folder.path()), expected);
        drop(unfinished);
    }
}
