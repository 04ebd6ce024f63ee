//! Edges as lists: a base value, or values by class, and exceptions.

use super::labels_of;
use crate::array::{Dtype, as_array, dtype_of, helper, read, shown, slice};
use crate::error;
use crate::parallel::Number;
use kbest::Edges;
use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;

/// More labels than this cannot be meant: their node scores alone would fill a machine's memory.
const MOST_LABELS: usize = 1 << 27;

/// Sparse edge scores: one base value, and a list of exceptions.
///
/// Args:
///     labels: number of labels L.
///     from_: labels before, one per exception.
///     to: labels after.
///     value: scores.
///     base: the score of all other pairs; -inf forbids them.
///
/// >>> import kbest
/// >>> edges = kbest.SparseEdges(1000, [7], [8], [1.5])
/// >>> kbest.path_score([[0.0] * 1000] * 2, edges, [7, 8])
/// 1.5
#[pyclass(frozen, name = "SparseEdges", module = "kbest")]
pub(crate) struct PySparseEdges {
    pub(super) labels: usize,
    pub(super) from: Vec<u32>,
    pub(super) to: Vec<u32>,
    pub(super) value: Vec<f64>,
    pub(super) base: f64,
    pub(super) dtype: Dtype,
}

#[pymethods]
impl PySparseEdges {
    #[new]
    #[pyo3(signature = (labels, from_, to, value, base=0.0))]
    fn new(
        py: Python<'_>,
        labels: usize,
        from_: &Bound<'_, PyAny>,
        to: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
        base: f64,
    ) -> PyResult<Self> {
        let array = as_array(value, "value")?;
        let dtype = dtype_of(&array, "value")?;
        let value = slice(&read::<f64>(&array, "value", "float64")?).to_vec();
        let (from, to) = (labels_of(from_, "from_")?, labels_of(to, "to")?);
        if labels > MOST_LABELS {
            return Err(error::argument(py, "labels", format!("at most {MOST_LABELS}"), labels));
        }
        // Made once to check them, so that mistakes are reported where they are made.
        Edges::sparse(labels, base, &from, &to, &value).map_err(|failed| error::exception(py, failed))?;
        Ok(PySparseEdges { labels, from, to, value, base, dtype })
    }

    /// From a scipy.sparse matrix. Pairs that it does not store get the score `base`.
    ///
    /// >>> import kbest, numpy as np, scipy.sparse
    /// >>> banded = scipy.sparse.diags([0.0, 0.0], [0, 1], shape=(4, 4))  # stay, or go one up; 0 is stored
    /// >>> edges = kbest.SparseEdges.from_scipy(banded, base=-np.inf)
    /// >>> kbest.decode(np.eye(4)[[0, 3, 2]], edges).labels
    /// array([0, 1, 2], dtype=int32)
    #[staticmethod]
    #[pyo3(signature = (matrix, base=f64::NEG_INFINITY))]
    fn from_scipy<'py>(matrix: &Bound<'py, PyAny>, base: f64) -> PyResult<Bound<'py, PyAny>> {
        helper(matrix.py(), "sparse_edges")?.call1((matrix, base))
    }

    /// Number of labels.
    #[getter]
    fn labels(&self) -> usize {
        self.labels
    }

    /// The score of pairs that are not listed.
    #[getter]
    fn base(&self) -> f64 {
        self.base
    }

    fn __len__(&self) -> usize {
        self.value.len()
    }

    fn __repr__(&self) -> String {
        format!("SparseEdges(labels={}, exceptions={}, base={:?})", self.labels, self.value.len(), self.base)
    }
}

/// Edge scores by class: the score of a pair of labels depends on the class of each, except for a list of exceptions.
///
/// Args:
///     class_from: (L,) the class of each label as the one before.
///     class_to: (L,) the class of each label as the one after.
///     base: (C, D) scores [class before, class after]; -inf forbids.
///     from_, to, value: exceptions, which replace the base and may allow what it forbids.
///
/// >>> import kbest, numpy as np
/// >>> # O B-X I-X B-Y I-Y: no I, except after B or I of the same type.
/// >>> edges = kbest.ClassEdges([0] * 5, [0, 0, 1, 0, 1], [[0.0, -np.inf]], [1, 2, 3, 4], [2, 2, 4, 4], [0.0] * 4)
/// >>> kbest.path_score(np.ones((3, 5)), edges, [0, 1, 2]), kbest.path_score(np.ones((3, 5)), edges, [0, 1, 4])
/// (3.0, -inf)
#[pyclass(frozen, name = "ClassEdges", module = "kbest")]
pub(crate) struct PyClassEdges {
    pub(super) class_from: Vec<u32>,
    class_to: Vec<u32>,
    base: Vec<f64>,
    targets: usize,
    from: Vec<u32>,
    to: Vec<u32>,
    value: Vec<f64>,
    pub(super) dtype: Dtype,
}

#[pymethods]
impl PyClassEdges {
    #[new]
    #[pyo3(signature = (class_from, class_to, base, from_=None, to=None, value=None))]
    fn new(
        py: Python<'_>,
        class_from: &Bound<'_, PyAny>,
        class_to: &Bound<'_, PyAny>,
        base: &Bound<'_, PyAny>,
        from_: Option<&Bound<'_, PyAny>>,
        to: Option<&Bound<'_, PyAny>>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let base = as_array(base, "base")?;
        let mut dtype = dtype_of(&base, "base")?;
        let targets = match base.shape() {
            &[_, targets] => targets,
            got => return Err(error::shape(py, "base", "shape (C, D)", shown(got))),
        };
        let labels = |given: Option<&Bound<'_, PyAny>>, argument| match given {
            Some(given) => labels_of(given, argument),
            None => Ok(Vec::new()),
        };
        let value = match value {
            Some(value) => {
                let array = as_array(value, "value")?;
                if dtype_of(&array, "value")? == Dtype::F64 {
                    dtype = Dtype::F64;
                }
                slice(&read::<f64>(&array, "value", "float64")?).to_vec()
            }
            None => Vec::new(),
        };
        let edges = PyClassEdges {
            class_from: labels_of(class_from, "class_from")?,
            class_to: labels_of(class_to, "class_to")?,
            base: slice(&read::<f64>(&base, "base", "float64")?).to_vec(),
            targets,
            from: labels(from_, "from_")?,
            to: labels(to, "to")?,
            value,
            dtype,
        };
        // Made once to check them, so that mistakes are reported where they are made.
        edges.build::<f64>().map_err(|failed| error::exception(py, failed))?;
        Ok(edges)
    }

    /// Number of labels.
    #[getter]
    fn labels(&self) -> usize {
        self.class_from.len()
    }

    /// Number of exceptions.
    fn __len__(&self) -> usize {
        self.value.len()
    }

    fn __repr__(&self) -> String {
        let origins = self.base.len().checked_div(self.targets).unwrap_or(0);
        let (labels, exceptions) = (self.class_from.len(), self.value.len());
        format!("ClassEdges(labels={labels}, classes=({origins}, {}), exceptions={exceptions})", self.targets)
    }
}

impl PyClassEdges {
    pub(super) fn build<S: Number>(&self) -> kbest::Result<Edges<S>> {
        let base: Vec<S> = self.base.iter().map(|&score| S::from_f64(score)).collect();
        let value: Vec<S> = self.value.iter().map(|&score| S::from_f64(score)).collect();
        Edges::classes(&self.class_from, &self.class_to, &base, self.targets, (&self.from, &self.to, &value))
    }
}
