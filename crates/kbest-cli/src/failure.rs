//! What ends a run early, and the exit code that tells it.

use std::io;
use std::path::Path;
use thiserror::Error;

/// Shorthand for results of the command line.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a run did not end with exit code 0.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file that does not hold what it should.
    #[error("{file}: {problem}")]
    Input {
        /// The file, or `<stdin>`.
        file: String,
        /// Which key, what was expected, what was found.
        problem: String,
    },
    /// Options that do not fit together.
    #[error("{0}")]
    Usage(String),
    /// What the library refuses.
    #[error(transparent)]
    Library(#[from] kbest::Error),
    /// The operating system refuses.
    #[error("{what}: {source}")]
    System {
        /// What was being done to which file.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Output cannot be written; nothing to report if only the reader went away.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Input and options are fine, the data says no.
    #[error("{0}")]
    Negative(String),
}

impl Failure {
    /// An [`Failure::Input`] for this file.
    pub(crate) fn input(file: &str, problem: impl ToString) -> Self {
        Failure::Input { file: file.into(), problem: problem.to_string() }
    }

    /// A [`Failure::System`] for this file.
    pub(crate) fn system(doing: &str, path: &Path, source: io::Error) -> Self {
        Failure::System { what: format!("{}: cannot {doing}", path.display()), source }
    }

    /// 0 fine (the reader of a pipe had enough), 1 the data says no, 2 bad input or usage.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => 0,
            Failure::Library(kbest::Error::Io { source, .. })
                if source.kind() == io::ErrorKind::BrokenPipe =>
            {
                0
            }
            Failure::Negative(_) => 1,
            _ => 2,
        }
    }
}
