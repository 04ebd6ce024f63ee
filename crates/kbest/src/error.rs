//! What can go wrong, typed.
//!
//! Errors about data name the file, the line, what was expected and what was found there.
//!
//! The library never prints and never panics on input: bad scores are refused when a lattice is built, and a
//! lattice in which every path is forbidden is an error of its own.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use thiserror::Error;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything this crate reports instead of an answer.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Every path through the lattice is forbidden.
    #[error("no legal path: every path of this sequence is forbidden (minus infinity)")]
    NoPath,
    /// A score that is NaN or plus infinity.
    #[error("{what} is {value}: expected a finite number, or -inf for what is forbidden")]
    IllegalScore {
        /// Which score, with its position and labels.
        what: String,
        /// The value found.
        value: f64,
    },
    /// An array of the wrong size.
    #[error("{what}: expected {expected}, got {got}")]
    Shape {
        /// Which array.
        what: String,
        /// The size it must have.
        expected: String,
        /// The size it has.
        got: String,
    },
    /// An argument or option whose value makes no sense: `k = 0`, a beam of width 0.
    #[error("{what}: expected {expected}, got {got}")]
    Argument {
        /// Which argument.
        what: String,
        /// The values it may have.
        expected: String,
        /// The value it has.
        got: String,
    },
    /// A label that is not below the number of labels.
    #[error("{what}: label {label} is out of range, there are {labels} labels")]
    LabelOutOfRange {
        /// Where the label stands.
        what: String,
        /// The label.
        label: u64,
        /// The number of labels.
        labels: usize,
    },
    /// The decoder cannot do what was asked.
    #[error("decoder `{decoder}` cannot do this: {reason}")]
    Unsupported {
        /// The decoder's name.
        decoder: &'static str,
        /// Why, and what to use instead.
        reason: String,
    },
    /// A name that is not in a list of names.
    #[error("unknown {what} `{name}`: expected one of {expected}")]
    UnknownName {
        /// Kind of thing.
        what: &'static str,
        /// The name given.
        name: String,
        /// The names known.
        expected: String,
    },
    /// Data that is not what its format says.
    #[error("{}: expected {expected}, got {got}", place(file, *line))]
    Data {
        /// The file, or what stands for it.
        file: String,
        /// The line, counted from 1; 0 if the whole file is meant.
        line: u64,
        /// What would have been right.
        expected: String,
        /// What was found.
        got: String,
    },
    /// A line of a feature template that is none.
    #[error("template {}: expected {expected}, got {got}", place(file, *line))]
    Template {
        /// The file, or what stands for it.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What would have been right.
        expected: String,
        /// What was found.
        got: String,
    },
    /// A file of a later version of its format.
    #[error("{file}: the file is version {found}, this program reads up to {supported}")]
    Version {
        /// The file, or what stands for it.
        file: String,
        /// The file's version.
        found: u32,
        /// The last version known.
        supported: u32,
    },
    /// The system could not read or write.
    #[error("{}: {}", place(file, *line), **source)]
    Io {
        /// The file, or what stands for it.
        file: String,
        /// The last line read or written, counted from 1; 0 if there was none.
        line: u64,
        /// What the system said.
        source: SystemError,
    },
}

/// The system's own error, with its kind and, where there is one, its number; equal to another of the same kind and words.
/// Clones share it.
#[derive(Debug, Clone)]
pub struct SystemError(Arc<io::Error>);

impl Deref for SystemError {
    type Target = io::Error;

    fn deref(&self) -> &io::Error {
        &self.0
    }
}

impl PartialEq for SystemError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

/// `file:line`, or the file alone.
fn place(file: &str, line: u64) -> String {
    if line == 0 { file.to_owned() } else { format!("{file}:{line}") }
}

/// A piece of data as an error message shows it: quoted, and never longer than a line.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl Error {
    /// A [`Error::Shape`] from anything printable.
    pub fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// A [`Error::Argument`] from anything printable.
    pub fn argument(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Error::Argument { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// A [`Error::Data`] from anything printable.
    pub fn data(file: impl Into<String>, line: u64, expected: impl ToString, got: impl ToString) -> Self {
        Error::Data { file: file.into(), line, expected: expected.to_string(), got: got.to_string() }
    }

    /// A [`Error::Io`] from the system's error.
    pub fn io(file: impl Into<String>, line: u64, error: io::Error) -> Self {
        Error::Io { file: file.into(), line, source: SystemError(Arc::new(error)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn the_systems_error_is_kept() {
        let missing = || io::Error::from_raw_os_error(2);
        let error = Error::io("model", 3, missing());
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.and_then(io::Error::raw_os_error), Some(2));
        assert_eq!(error.to_string(), format!("model:3: {}", missing()));
        assert_eq!(error.clone(), error);
        assert_ne!(error, Error::io("model", 3, io::Error::other("another")));
    }
}
