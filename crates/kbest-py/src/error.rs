//! From errors of the library to Python exceptions.
//!
//! The exceptions are Python classes (`kbest/errors.py`), so that each is both a `KbestError` and the exception that Python
//! programmers expect (`ValueError`, `TypeError`, `OSError`). They carry the name of the argument they are about.

use kbest::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::io::ErrorKind;

/// What an argument is called, by the first words of the library's messages.
const ARGUMENTS: [(&str, &str); 25] = [
    ("the node score", "node"),
    ("node scores", "node"),
    ("the edge score", "edge"),
    ("the base score of the edges", "edge"),
    ("edges", "edge"),
    ("edge_", "edge"),
    ("per-position edges", "edge"),
    ("dense edges", "edge"),
    ("sparse edges", "edge"),
    ("the start score", "start"),
    ("start scores", "start"),
    ("the end score", "end"),
    ("end scores", "end"),
    ("mask of allowed", "allowed"),
    ("allowed labels", "allowed"),
    ("path", "path"),
    ("durations", "duration"),
    ("the score of the segment", "segment"),
    ("segment scores", "segment"),
    ("longest segment", "longest"),
    ("label order", "order"),
    ("known labels", "known"),
    ("feature set", "features"),
    ("decoder of segments", "decoder"),
    ("completion estimate", "decoder"),
];

fn argument_of(what: &str) -> Option<&str> {
    let known = ARGUMENTS.iter().find(|(start, _)| what.starts_with(start)).map(|(_, argument)| *argument);
    // An option is its own name: `k`, `c2`, `constraints`.
    known.or_else(|| what.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(what))
}

/// The class of this name in `kbest.errors`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("kbest.errors").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

fn made(py: Python<'_>, name: &str, message: String, argument: Option<&str>) -> PyErr {
    let made = class(py, name).and_then(|class| class.call1((message,))).and_then(|error| {
        error.setattr("argument", argument)?;
        Ok(error)
    });
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// A `ShapeError` of an argument.
pub(crate) fn shape(py: Python<'_>, argument: &str, expected: impl ToString, got: impl ToString) -> PyErr {
    let message = format!("{argument}: expected {}, got {}", expected.to_string(), got.to_string());
    made(py, "ShapeError", message, Some(argument))
}

/// An `ArgumentError`.
pub(crate) fn argument(py: Python<'_>, argument: &str, expected: impl ToString, got: impl ToString) -> PyErr {
    let message = format!("{argument}: expected {}, got {}", expected.to_string(), got.to_string());
    made(py, "ArgumentError", message, Some(argument))
}

/// A `DtypeError` of an argument.
pub(crate) fn dtype(py: Python<'_>, argument: &str, expected: impl ToString, got: impl ToString) -> PyErr {
    let message = format!("{argument}: expected {}, got {}", expected.to_string(), got.to_string());
    made(py, "DtypeError", message, Some(argument))
}

/// A `KeywordError`: there is no such keyword.
pub(crate) fn keyword(py: Python<'_>, name: &str, message: String) -> PyErr {
    made(py, "KeywordError", message, Some(name))
}

/// An `UnsupportedError`: what was asked of this object it cannot do.
pub(crate) fn unsupported(py: Python<'_>, what: &str, expected: impl ToString, got: impl ToString) -> PyErr {
    let message = format!("{what}: expected {}, got {}", expected.to_string(), got.to_string());
    made(py, "UnsupportedError", message, None)
}

/// The exception for an error of the library.
pub(crate) fn exception(py: Python<'_>, error: Error) -> PyErr {
    with_place(py, error, None)
}

/// The exception for an error of one sequence of a batch.
pub(crate) fn in_batch(py: Python<'_>, error: Error, sequence: usize) -> PyErr {
    with_place(py, error, Some(sequence))
}

/// The exception for an error of a sequence, if it is one of a batch.
pub(crate) fn with_place(py: Python<'_>, error: Error, sequence: Option<usize>) -> PyErr {
    let (class, about) = match &error {
        Error::NoPath => ("NoPathError", None),
        Error::IllegalScore { what, .. } => ("ScoreError", Some(what.as_str())),
        Error::Shape { what, .. } => ("ShapeError", Some(what.as_str())),
        Error::Argument { what, .. } => ("ArgumentError", Some(what.as_str())),
        Error::LabelOutOfRange { what, .. } => ("LabelError", Some(what.as_str())),
        Error::Unsupported { .. } => ("UnsupportedError", Some("decoder")),
        Error::UnknownName { what, .. } => ("ArgumentError", Some(*what)),
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => ("MissingFileError", None),
        Error::Io { .. } => ("FileError", None),
        Error::Data { .. } | Error::Template { .. } | Error::Version { .. } => ("DataError", None),
        _ => ("KbestError", None),
    };
    let message = match sequence {
        Some(sequence) => format!("sequence {sequence}: {error}"),
        None => error.to_string(),
    };
    let argument = about.and_then(argument_of);
    made(py, class, message, argument)
}
