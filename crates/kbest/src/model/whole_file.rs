//! Files that appear only when they are complete.

use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file under a temporary name in its own folder, and renames it when its content has reached the disk: a
/// failed or killed run leaves what was there before, and who has the old file mapped keeps it. What is no regular file
/// (a device, a named pipe) is written directly.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    write_or_fail(path, write).map_err(|error| Error::io(path.display().to_string(), 0, error))
}

fn write_or_fail(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A link is followed, so that the file it names is replaced and not the link.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|data| !data.is_file() && !data.is_dir()) {
        let mut out = BufWriter::new(File::options().write(true).open(&path)?);
        write(&mut out)?;
        return out.flush();
    }
    let folder = folder_of(&path);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kbest-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any program would create it; the user's umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut out = BufWriter::new(builder.tempfile_in(&folder)?);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    file.persist(&path)?;
    #[cfg(unix)]
    File::open(&folder)?.sync_all()?; // so that the new name lasts, too
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}
