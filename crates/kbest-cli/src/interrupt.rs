//! SIGINT and SIGTERM: unfinished files are removed at once, and a command may say a last word.
//!
//! A thread waits for the signals once there is something to do; then the process ends as it would have without it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What to do before the process ends.
#[derive(Default)]
struct AtEnd {
    watching: bool,
    unfinished: Vec<PathBuf>, // outputs that may be half written
    files: Vec<PathBuf>,      // files to remove
    last_words: Option<Box<dyn Fn() -> String + Send>>,
}

// The process has one end, so there is one list of what to do then.
static AT_END: Mutex<AtEnd> =
    Mutex::new(AtEnd { watching: false, unfinished: Vec::new(), files: Vec::new(), last_words: None });

fn change(with: impl FnOnce(&mut AtEnd)) {
    let mut at_end = AT_END.lock().unwrap_or_else(PoisonError::into_inner);
    with(&mut at_end);
    if !std::mem::replace(&mut at_end.watching, true) {
        watch();
    }
}

/// Removes the unfinished file of this name.
pub(crate) fn on_end_remove_unfinished(path: &Path) {
    change(|at_end| {
        if !at_end.unfinished.iter().any(|known| known == path) {
            at_end.unfinished.push(path.to_owned());
        }
    });
}

/// Removes a file.
pub(crate) fn on_end_remove(path: &Path) {
    change(|at_end| at_end.files.push(path.to_owned()));
}

/// Prints a line on stderr.
pub(crate) fn on_end_say(words: impl Fn() -> String + Send + 'static) {
    change(|at_end| at_end.last_words = Some(Box::new(words)));
}

#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use std::io::Write;
    // Without the signals, or without a thread for them, unfinished files are removed by the next run.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) else { return };
    let wait = move || {
        let Some(signal) = signals.forever().next() else { return };
        let at_end = AT_END.lock().unwrap_or_else(PoisonError::into_inner);
        at_end.unfinished.iter().for_each(kbest::model::WholeFile::remove_unfinished);
        for file in &at_end.files {
            let _ = std::fs::remove_file(file); // it may be gone already
        }
        if let Some(words) = &at_end.last_words {
            let _ = writeln!(std::io::stderr(), "kbest: {}", words());
        }
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(wait);
}

#[cfg(not(unix))]
fn watch() {}
