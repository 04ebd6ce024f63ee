//! Files that appear only when they are complete.

use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that appears, under its name, only once it is [finished](WholeFile::finish).
///
/// It is written under a temporary name in the same folder, and renamed once its contents have reached the disk: a
/// failed or killed run leaves the old file untouched, and existing maps of the old file stay valid. Anything but a
/// regular file (a device, a named pipe) is written directly. Writing is buffered.
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
    /// If the name is that of a folder, or the folder cannot be written to.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        // Links are followed, so that the file a link points to is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let target = match fs::metadata(&path) {
            Ok(data) if data.is_dir() => return Err(io::Error::other("is a folder")),
            Ok(data) if !data.is_file() => Target::Direct(File::options().write(true).open(&path)?),
            _ => Target::Renamed { file: temporary(folder_of(&path))?, path },
        };
        Ok(WholeFile { out: BufWriter::with_capacity(1 << 16, target) })
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

fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kbest-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of any newly created file; the user's umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
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
