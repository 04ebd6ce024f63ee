//! Where results go: stdout, or a file that appears only when it is complete.
//!
//! A file is written under a temporary name in its own folder and renamed at the end, so a failed or killed run leaves
//! what was there before. What is no regular file (a device, a named pipe) is written directly.

use crate::failure::{Failure, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// An output that must be [`Output::finish`]ed to last.
pub(crate) struct Output {
    writer: BufWriter<Target>,
}

enum Target {
    Stdout(io::Stdout),
    Direct(File),
    Whole { file: NamedTempFile, path: PathBuf },
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::Stdout(stdout) => stdout.write(bytes),
            Target::Direct(file) => file.write(bytes),
            Target::Whole { file, .. } => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::Stdout(stdout) => stdout.flush(),
            Target::Direct(file) => file.flush(),
            Target::Whole { file, .. } => file.flush(),
        }
    }
}

impl Output {
    /// Stdout if no path is given, or `-`.
    pub(crate) fn create(path: Option<&Path>) -> Result<Self> {
        let target = match path.filter(|path| *path != Path::new("-")) {
            None => Target::Stdout(io::stdout()),
            Some(path) => open(path).map_err(|error| Failure::system("write", path, error))?,
        };
        Ok(Output { writer: BufWriter::with_capacity(1 << 16, target) })
    }

    /// Makes the output last.
    pub(crate) fn finish(self) -> Result<()> {
        let target = self.writer.into_inner().map_err(|error| Failure::Output(error.into_error()))?;
        match target {
            Target::Stdout(mut stdout) => stdout.flush()?,
            Target::Direct(mut file) => file.flush()?,
            Target::Whole { file, path } => {
                file.persist(&path).map_err(|error| Failure::system("write", &path, error.error))?;
            }
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn open(path: &Path) -> io::Result<Target> {
    // A link is followed, so that the file it names is replaced and not the link.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match std::fs::metadata(&path) {
        Ok(data) if data.is_dir() => return Err(io::Error::other("is a folder")),
        Ok(data) if !data.is_file() => {
            return Ok(Target::Direct(File::options().write(true).open(&path)?));
        }
        _ => {}
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kbest-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any program would create it; the user's umask applies.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    Ok(Target::Whole { file: builder.tempfile_in(folder)?, path })
}

/// Writes a whole file at once.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(Some(path))?;
    output.write_all(bytes)?;
    output.finish()
}

/// A progress bar on stderr for work that turns out to be long; invisible unless stderr is a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    shown: Cell<bool>,
    begun: Instant,
}

impl Progress {
    const PATIENCE: Duration = Duration::from_secs(1);

    /// For `steps` steps. `quiet` if the results themselves scroll over the terminal.
    pub(crate) fn new(steps: usize, quiet: bool) -> Self {
        let bar = ProgressBar::hidden();
        bar.set_length(steps as u64);
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, shown: Cell::new(quiet || !io::stderr().is_terminal()), begun: Instant::now() }
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
        self.show_if_long();
    }

    /// So many steps are done now.
    pub(crate) fn at(&self, steps: usize) {
        self.bar.set_position(steps as u64);
        self.show_if_long();
    }

    fn show_if_long(&self) {
        if !self.shown.get() && self.begun.elapsed() > Self::PATIENCE {
            self.bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            self.shown.set(true);
        }
    }

    /// Runs what prints other lines on stderr.
    pub(crate) fn hidden(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// What is being done now.
    pub(crate) fn say(&self, message: &str) {
        self.bar.set_message(message.to_owned());
    }
}

/// The same for work whose end is not known: a count that grows.
pub(crate) struct Counted {
    progress: Progress,
}

impl Counted {
    /// Counts things of this name. `quiet` if the results themselves scroll over the terminal.
    pub(crate) fn new(things: &str, quiet: bool) -> Self {
        let progress = Progress::new(0, quiet);
        let template = format!("{{human_pos}} {things}, {{per_sec}}");
        let style = ProgressStyle::with_template(&template);
        progress.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Counted { progress }
    }

    /// So many more are done.
    pub(crate) fn add(&self, things: usize) {
        self.progress.bar.inc(things as u64);
        self.progress.show_if_long();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
