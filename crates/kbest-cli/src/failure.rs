//! Errors that end a run, and their exit codes.

use kbest::options::Options;
use kbest::train::Recipe;
use std::io;
use std::path::Path;
use thiserror::Error;

/// Shorthand for results in the command line.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a run did not end with exit code 0.
#[derive(Debug, Error)]
pub enum Failure {
    /// A file with unexpected content.
    #[error("{file}: {problem}")]
    Input {
        /// The file, or `<stdin>`.
        file: String,
        /// The key or place, what was expected, and what was found.
        problem: String,
    },
    /// Options that do not fit together.
    #[error("{0}")]
    Usage(String),
    /// An error of the library.
    #[error(transparent)]
    Library(#[from] kbest::Error),
    /// An error of the operating system.
    #[error("{what}: {source}")]
    System {
        /// The file, and the attempted operation.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// Output cannot be written; not reported if the reader closed the pipe.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Input and options are valid, but a check failed.
    #[error("{0}")]
    Negative(String),
}

impl Failure {
    /// A [`Failure::Input`] for this file.
    pub fn input(file: &str, problem: impl ToString) -> Self {
        Failure::Input { file: file.into(), problem: problem.to_string() }
    }

    /// A [`Failure::System`] for this file.
    pub fn system(doing: &str, path: &Path, source: io::Error) -> Self {
        Failure::System { what: format!("{}: cannot {doing}", path.display()), source }
    }

    /// 0 for a closed pipe, 1 if a check failed, 2 for bad input or usage.
    pub fn exit_code(&self) -> u8 {
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

/// An error about an option, in the words of the command line.
pub fn as_typed(error: kbest::Error) -> Failure {
    match error {
        kbest::Error::Argument { what, expected, got } => {
            let needed = Recipe::TABLE.iter().flat_map(|row| row.needs).map(|(name, _)| *name).chain(["dev"]);
            let first = expected.split(' ').next();
            let dashes = if needed.into_iter().any(|name| Some(name) == first) { "--" } else { "" };
            Failure::Usage(format!("--{}: expected {dashes}{expected}, got {got}", what.replace('_', "-")))
        }
        other => other.into(),
    }
}
