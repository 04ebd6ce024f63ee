//! Warnings: what looks wrong, and what to do about it. One line on stderr; the run goes on.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a warning; a closed stderr is ignored.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr(), "kbest: warning: {}", kbest::escaped(text));
}

/// A warning that is given once, however many threads have reason to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Once(Arc<AtomicBool>);

impl Once {
    pub(crate) fn warn(&self, text: impl FnOnce() -> String) {
        if !self.0.swap(true, Ordering::Relaxed) {
            warn(&text());
        }
    }
}

/// A few names as a sentence shows them: `A`, `B`, `C`, ...
pub(crate) fn some_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const FEW: usize = 3;
    let names: Vec<String> = names.take(FEW + 1).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > FEW { ", ..." } else { "" };
    names[..names.len().min(FEW)].join(", ") + more
}
