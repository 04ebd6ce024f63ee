//! The errors of this crate, typed.
//!
//! Errors about data name the file and the line, what was expected and what was found.
//!
//! The library never prints, and never panics on bad input: illegal scores are rejected when a lattice is built, and a
//! lattice in which every path is forbidden has an error of its own.

use std::borrow::Cow;
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use thiserror::Error;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error this crate can return.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// Every path through the lattice is forbidden.
    #[error("no legal path: every path of this sequence is forbidden (minus infinity)")]
    NoPath,
    /// A score that is NaN or plus infinity.
    #[error("{what} is {value}: expected a finite number, or -inf for a forbidden label or transition")]
    IllegalScore {
        /// Which score, with its position and labels.
        what: String,
        /// The value found.
        value: f64,
    },
    /// Scores so large that sums of them may be infinite, or too coarse to tell probabilities.
    #[error(
        "the scores of a path may add up to {magnitude:.1e}: expected at most {largest:.1e}; use -inf, not a large \
         negative number, for what is forbidden, or smaller scores"
    )]
    Range {
        /// What the magnitudes of a path's scores may add up to.
        magnitude: f64,
        /// What they may add up to at most: a quarter of the range of the float type; for marginals, 1e12.
        largest: f64,
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
    /// An argument or option with an illegal value: `k = 0`, a beam of width 0.
    #[error("{what}: expected {expected}, got {got}")]
    Argument {
        /// Which argument.
        what: String,
        /// The values it can have.
        expected: String,
        /// The value it has.
        got: String,
    },
    /// A label that is not below the number of labels.
    #[error("{what}: label {label} is out of range, there are {labels} labels")]
    LabelOutOfRange {
        /// Where the label is.
        what: String,
        /// The label.
        label: u64,
        /// The number of labels.
        labels: usize,
    },
    /// The decoder does not support the request.
    #[error("decoder `{decoder}` does not support this: {reason}")]
    Unsupported {
        /// The decoder's name.
        decoder: &'static str,
        /// Why, and what to use instead.
        reason: String,
    },
    /// A name that is not in a list of names.
    #[error("unknown {what} `{name}`: expected one of {expected}")]
    UnknownName {
        /// The kind of thing named.
        what: &'static str,
        /// The name given.
        name: String,
        /// The known names.
        expected: String,
    },
    /// Data that does not follow its format.
    #[error("{}: expected {expected}, got {got}", place(file, *line))]
    Data {
        /// The file's name, or what was read instead of a file.
        file: String,
        /// The line, counted from 1; 0 if the error concerns the whole file.
        line: u64,
        /// What was expected.
        expected: String,
        /// What was found.
        got: String,
    },
    /// An invalid line of a feature template.
    #[error("template {}: expected {expected}, got {got}", place(file, *line))]
    Template {
        /// The file's name, or what was read instead of a file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What was expected.
        expected: String,
        /// What was found.
        got: String,
    },
    /// A file written in a newer version of its format.
    #[error("{file}: the file is version {found}, this program reads up to {supported}")]
    Version {
        /// The file's name, or what was read instead of a file.
        file: String,
        /// The file's version.
        found: u32,
        /// The newest version this program can read.
        supported: u32,
    },
    /// The operating system could not read or write.
    #[error("{}: {}", place(file, *line), **source)]
    Io {
        /// The file's name, or what was read instead of a file.
        file: String,
        /// The last line read or written, counted from 1; 0 if there is none.
        line: u64,
        /// The error of the operating system.
        source: SystemError,
    },
}

/// The operating system's own error, with its kind and, if it has one, its number. Two are equal if they have the same
/// kind and message. Clones share it.
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

/// Text from a file as it can be shown on a terminal: control characters, line ends among them, as escapes such as `\n`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// A piece of data as error messages show it: quoted, and cut to at most one line.
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl Error {
    /// An [`Error::Shape`] from anything printable.
    pub fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// An [`Error::Argument`] from anything printable.
    pub fn argument(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Error::Argument { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// An [`Error::Data`] from anything printable.
    pub fn data(file: impl Into<String>, line: u64, expected: impl ToString, got: impl ToString) -> Self {
        Error::Data { file: file.into(), line, expected: expected.to_string(), got: got.to_string() }
    }

    /// An [`Error::Io`] from the operating system's error.
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
