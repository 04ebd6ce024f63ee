//! Destinations of results: stdout, or a file that appears only when it is complete ([`WholeFile`]).

use crate::failure::{Failure, Result};
use crate::interrupt;
use indicatif::{ProgressBar, ProgressStyle};
use kbest::model::WholeFile;
use std::cell::Cell;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// An output that is kept only if [`Output::finish`] is called.
pub enum Output {
    Stdout(BufWriter<io::Stdout>),
    File(WholeFile, PathBuf),
}

impl Output {
    /// Stdout if no path is given, or `-`.
    pub fn create(path: Option<&Path>) -> Result<Self> {
        match path.filter(|path| *path != Path::new("-")) {
            None => Ok(Output::Stdout(BufWriter::with_capacity(1 << 16, io::stdout()))),
            Some(path) => {
                interrupt::on_end_remove_unfinished(path);
                let file = WholeFile::create(path).map_err(|error| Failure::system("write", path, error))?;
                Ok(Output::File(file, path.to_owned()))
            }
        }
    }

    /// Completes the output.
    pub fn finish(self) -> Result<()> {
        match self {
            Output::Stdout(mut stdout) => Ok(stdout.flush()?),
            Output::File(file, path) => file.finish().map_err(|error| Failure::system("write", &path, error)),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stdout(stdout) => stdout.write(bytes),
            Output::File(file, _) => file.write(bytes),
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout(stdout) => stdout.flush(),
            Output::File(file, _) => file.flush(),
        }
    }
}

/// Refuses an output that is one of the inputs, under whatever name: links are followed. `-` and files that do not exist are
/// no file that could be overwritten.
pub(crate) fn keep_inputs<'a>(output: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let Ok(target) = output.canonicalize() else { return Ok(()) };
    match inputs.into_iter().find(|input| input.canonicalize().is_ok_and(|input| input == target)) {
        // A device, such as /dev/null, is not overwritten.
        Some(input) if target.is_file() => {
            let problem = format!(
                "expected an output file different from the input, got the same file as {}",
                input.display()
            );
            Err(Failure::input(&output.display().to_string(), problem))
        }
        _ => Ok(()),
    }
}

/// Writes a whole file at once.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(Some(path))?;
    output.write_all(bytes)?;
    output.finish()
}

/// A progress bar on stderr that appears if the work takes long; invisible unless stderr is a terminal.
pub struct Progress {
    bar: ProgressBar,
    shown: Cell<bool>,
    begun: Instant,
}

impl Progress {
    const PATIENCE: Duration = Duration::from_secs(1);

    /// For `steps` steps. `quiet` if the results themselves are printed to the terminal.
    pub fn new(steps: usize, quiet: bool) -> Self {
        let bar = ProgressBar::hidden();
        bar.set_length(steps as u64);
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, shown: Cell::new(quiet || !io::stderr().is_terminal()), begun: Instant::now() }
    }

    /// For passes over as many steps, each with a name, and with a message instead of an estimate of its own.
    pub(crate) fn of_passes(steps: usize, quiet: bool) -> Self {
        let progress = Self::new(steps, quiet);
        let style =
            ProgressStyle::with_template("{prefix} {wide_bar} {human_pos}/{human_len} sequences {msg}");
        progress.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        progress
    }

    /// Names the pass that begins.
    pub(crate) fn name(&self, pass: &str) {
        self.bar.set_prefix(pass.to_owned());
        self.bar.set_position(0);
    }

    /// Advances by one step.
    pub fn step(&self) {
        self.bar.inc(1);
        self.show_if_long();
    }

    /// Sets the number of steps done.
    pub fn at(&self, steps: usize) {
        self.bar.set_position(steps as u64);
        self.show_if_long();
    }

    fn show_if_long(&self) {
        if !self.shown.get() && self.begun.elapsed() > Self::PATIENCE {
            self.bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            self.shown.set(true);
        }
    }

    /// Hides the bar while `print` writes other lines to stderr.
    pub(crate) fn hidden(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Shows what is being done.
    pub fn say(&self, message: &str) {
        self.bar.set_message(message.to_owned());
    }
}

/// The same for work of unknown length: a growing count.
pub(crate) struct Counted {
    progress: Progress,
}

impl Counted {
    /// Counts things of this name. `quiet` if the results themselves are printed to the terminal.
    pub(crate) fn new(things: &str, quiet: bool) -> Self {
        let progress = Progress::new(0, quiet);
        let template = format!("{{human_pos}} {things}, {{per_sec}}");
        let style = ProgressStyle::with_template(&template);
        progress.bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Counted { progress }
    }

    /// Adds to the count.
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
