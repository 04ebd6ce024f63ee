//! What can go wrong, typed.
//!
//! The library never prints and never panics on input: bad scores are refused when a lattice is built, and a
//! lattice in which every path is forbidden is an error of its own.

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
}

impl Error {
    /// A [`Error::Shape`] from anything printable.
    pub fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}
