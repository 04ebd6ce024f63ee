//! Answers: paths, and iterators over them.

use bytemuck::cast_slice;
use numpy::PyArray1;
use pyo3::prelude::*;
use std::sync::Mutex;

/// A path: one label per position, and its score.
///
/// Attributes:
///     labels: int32 array of length T.
///     score: the sum of its node, edge, start and end scores.
///     exact: whether it is proven to be best (or k-th best).
///     decoder: name of the decoder that found it.
///
/// It compares by labels and score, and iterates over its labels.
#[pyclass(frozen, name = "Path", module = "kbest")]
pub(crate) struct PyPath {
    #[pyo3(get)]
    labels: Py<PyArray1<i32>>,
    #[pyo3(get)]
    score: f64,
    #[pyo3(get)]
    exact: bool,
    #[pyo3(get)]
    decoder: &'static str,
}

impl PyPath {
    pub(crate) fn new(
        py: Python<'_>,
        labels: &[u32],
        score: f64,
        exact: bool,
        decoder: &'static str,
    ) -> Self {
        PyPath { labels: int32(py, labels), score, exact, decoder }
    }
}

/// What a `Path` is made of, in order.
type PathFields = (Py<PyArray1<i32>>, f64, bool, &'static str);

/// Labels as numpy's 32-bit integers.
pub(crate) fn int32(py: Python<'_>, labels: &[u32]) -> Py<PyArray1<i32>> {
    PyArray1::from_slice(py, cast_slice::<u32, i32>(labels)).unbind()
}

#[pymethods]
impl PyPath {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.labels.bind(py).len().unwrap_or(0)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.labels.bind(py).call_method0("tolist")?.try_iter()?.into_any())
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<PyPath>() else { return Ok(false) };
        // As lists: the arrays are the user's, who may have changed their type.
        let labels = |path: &PyPath| path.labels.bind(py).call_method0("tolist");
        Ok(self.score == other.get().score && labels(self)?.eq(labels(other.get())?)?)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, PathFields)> {
        let class = py.get_type::<PyPath>().getattr("_restore")?;
        Ok((class, (self.labels.clone_ref(py), self.score, self.exact, self.decoder)))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, labels: Vec<u32>, score: f64, exact: bool, decoder: &str) -> Self {
        let known = kbest::decode::CATALOGUE.iter().map(|entry| entry.name).find(|name| *name == decoder);
        PyPath::new(py, &labels, score, exact, known.unwrap_or(""))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let labels = self.labels.bind(py).call_method0("tolist")?.repr()?;
        let exact = if self.exact { "True" } else { "False" };
        Ok(format!("Path(labels={labels}, score={:?}, exact={exact})", self.score))
    }
}

type Found = (Vec<u32>, f64);

/// The paths of a sequence, best first, each found when it is asked for. Made by `kbest_iter`.
#[pyclass(frozen, name = "PathIterator", module = "kbest")]
pub(crate) struct PathIterator {
    paths: Mutex<Box<dyn Iterator<Item = Found> + Send>>,
}

impl PathIterator {
    pub(crate) fn new(paths: impl Iterator<Item = Found> + Send + 'static) -> Self {
        PathIterator { paths: Mutex::new(Box::new(paths)) }
    }
}

#[pymethods]
impl PathIterator {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Option<PyPath> {
        let next = || self.paths.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
        py.detach(next).map(|(labels, score)| PyPath::new(py, &labels, score, true, "auto"))
    }
}
