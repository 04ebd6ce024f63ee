//! Edges as Python objects: prepared once, shared by all calls and threads; or as lists of exceptions (`listed.rs`).

mod listed;

pub(crate) use listed::{PyClassEdges, PySparseEdges};

use crate::array::{Dtype, as_array, dtype_of, helper, read, shown, slice};
use crate::error;
use crate::parallel::Number;
use kbest::lattice::Shape;
use kbest::transition::Transitions;
use kbest::{Edges, LabelSet};
use numpy::{PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;

/// Edges of one float type.
#[derive(Debug)]
pub(crate) enum Prepared {
    F32(Arc<Edges<f32>>),
    F64(Arc<Edges<f64>>),
}

/// Edge scores, prepared once for many calls.
///
/// Preparing reads every edge and keeps what decoders ask about them, so a call with prepared edges costs nothing that
/// depends on `L * L`. Threads may share them.
///
/// Args:
///     edge: (L, L) scores [from, to]; (n, L, L), one matrix per step; a scipy.sparse matrix; kbest.SparseEdges;
///         kbest.ClassEdges; or None for zeros.
///     label_names: the L names of the labels; needed for constraints.
///     constraints: a scheme ("iob2", "bilou", ...), "auto" for the one that the names spell, a transition file, or a list
///         of these. What they forbid gets -inf.
///     order: labels, most likely first, for the staggered decoders.
///     dtype: float32 or float64; by default that of the scores.
///
/// >>> import numpy as np, kbest
/// >>> edges = kbest.Edges(np.zeros((3, 3)), label_names=["O", "B-PER", "I-PER"], constraints="auto")
/// >>> node = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 5.0]])
/// >>> kbest.decode(node, edges).labels  # O, I-PER alone would score best, but is no legal sequence
/// array([1, 2], dtype=int32)
#[pyclass(frozen, name = "Edges", module = "kbest")]
pub(crate) struct PyEdges {
    pub(crate) prepared: Prepared,
    pub(crate) transitions: Option<Transitions>,
}

#[pymethods]
impl PyEdges {
    #[new]
    #[pyo3(signature = (edge, *, label_names=None, constraints=None, order=None, dtype=None))]
    fn new(
        py: Python<'_>,
        edge: Option<&Bound<'_, PyAny>>,
        label_names: Option<Vec<String>>,
        constraints: Option<&Bound<'_, PyAny>>,
        order: Option<&Bound<'_, PyAny>>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let source = EdgeSource::of(edge)?;
        if let EdgeSource::Prepared(_) = source {
            return Err(error::argument(py, "edge", "scores", "kbest.Edges, which are prepared already"));
        }
        let dtype = match dtype {
            Some(dtype) => Dtype::asked(dtype)?,
            None => source.dtype()?.unwrap_or(Dtype::F32),
        };
        let names = label_names.as_deref();
        let transitions = transitions(py, names, constraints)?;
        let order = order.map(|order| labels_of(order, "order")).transpose()?;
        let prepared = match dtype {
            Dtype::F32 => prepare::<f32>(py, &source, names, transitions.as_ref(), order)?,
            Dtype::F64 => prepare::<f64>(py, &source, names, transitions.as_ref(), order)?,
        };
        Ok(PyEdges { prepared, transitions })
    }

    /// Number of labels.
    #[getter]
    fn labels(&self) -> usize {
        match &self.prepared {
            Prepared::F32(edges) => edges.labels(),
            Prepared::F64(edges) => edges.labels(),
        }
    }

    /// "float32" or "float64".
    #[getter]
    fn dtype(&self) -> &'static str {
        self.prepared.dtype().name()
    }

    /// How they are stored: "dense", "sparse" or "per-position".
    #[getter]
    fn shape(&self) -> &'static str {
        fn shape<S: kbest::Float>(edges: &Edges<S>) -> &'static str {
            match edges.shape() {
                Shape::Dense(_) => "dense",
                Shape::Sparse(_) => "sparse",
                Shape::PerPosition(_) => "per-position",
                Shape::Callback(_) => "callback",
            }
        }
        match &self.prepared {
            Prepared::F32(edges) => shape(edges),
            Prepared::F64(edges) => shape(edges),
        }
    }

    fn __repr__(&self) -> String {
        format!("Edges(labels={}, shape={:?}, dtype={:?})", self.labels(), self.shape(), self.dtype())
    }
}

impl Prepared {
    pub(crate) fn dtype(&self) -> Dtype {
        match self {
            Prepared::F32(_) => Dtype::F32,
            Prepared::F64(_) => Dtype::F64,
        }
    }
}

fn prepare<S: Number>(
    py: Python<'_>,
    source: &EdgeSource<'_>,
    names: Option<&[String]>,
    transitions: Option<&Transitions>,
    order: Option<Vec<u32>>,
) -> PyResult<Prepared> {
    let arrays = source.read::<S>(py)?;
    let labels = match (arrays.labels(py)?, names) {
        (Some(labels), Some(names)) if labels != names.len() => {
            return Err(error::shape(py, "label_names", format!("{labels} names"), names.len()));
        }
        (Some(labels), _) => labels,
        (None, Some(names)) => names.len(),
        (None, None) => {
            return Err(error::argument(py, "edge", "scores, or None with label_names", "None alone"));
        }
    };
    let view = arrays.view();
    if view.sequences().is_some() {
        let expected = "shape (L, L) or (T-1, L, L), the same for all sequences";
        return Err(error::shape(py, "edge", expected, "shape (B, T-1, L, L)"));
    }
    let edges = py.detach(|| {
        let edges = view.build(labels, 0)?;
        let edges = match order {
            Some(order) => Arc::new(Arc::into_inner(edges).expect("just made").ranked(order)?),
            None => edges,
        };
        match transitions {
            Some(transitions) => transitions.constrain(&edges).map(Arc::new),
            None => Ok(edges),
        }
    });
    Ok(S::wrap(edges.map_err(|failed| error::exception(py, failed))?))
}

/// Labels of an argument; negative ones are refused.
pub(crate) fn labels_of(value: &Bound<'_, PyAny>, argument: &'static str) -> PyResult<Vec<u32>> {
    let array = crate::array::integers(value, argument)?;
    let label =
        |&y: &i64| u32::try_from(y).map_err(|_| error::argument(value.py(), argument, "labels from 0", y));
    slice(&array).iter().map(label).collect()
}

/// Constraints by rule: one rule, or a list of them.
pub(crate) fn transitions(
    py: Python<'_>,
    names: Option<&[String]>,
    constraints: Option<&Bound<'_, PyAny>>,
) -> PyResult<Option<Transitions>> {
    let rules = rules_of(constraints)?;
    match names {
        None if rules.is_empty() => Ok(None),
        None => Err(error::argument(py, "label_names", "the names of the labels, for constraints", "None")),
        Some(names) => {
            let set = LabelSet::from_names(names);
            if set.len() != names.len() {
                return Err(error::argument(py, "label_names", "names that differ", "one of them twice"));
            }
            Transitions::from_rules(&rules, &set).map_err(|failed| error::exception(py, failed))
        }
    }
}

/// The rules of an argument `constraints`.
pub(crate) fn rules_of(constraints: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    match constraints {
        None => Ok(Vec::new()),
        Some(rule) if rule.is_instance_of::<PyString>() || rule.hasattr("__fspath__")? => {
            Ok(vec![rule.str()?.to_string()])
        }
        Some(rules) => rules.try_iter()?.map(|rule| Ok(rule?.str()?.to_string())).collect(),
    }
}

/// What an argument `edge` may be.
pub(crate) enum EdgeSource<'py> {
    Zero,
    Prepared(Bound<'py, PyEdges>),
    Sparse(Bound<'py, PySparseEdges>),
    Classes(Bound<'py, PyClassEdges>),
    Array(Bound<'py, PyUntypedArray>),
}

impl<'py> EdgeSource<'py> {
    pub(crate) fn of(edge: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let Some(edge) = edge else { return Ok(EdgeSource::Zero) };
        if edge.is_instance_of::<PyUntypedArray>() {
            return as_array(edge, "edge").map(EdgeSource::Array);
        }
        if let Ok(prepared) = edge.cast::<PyEdges>() {
            return Ok(EdgeSource::Prepared(prepared.clone()));
        }
        if let Ok(sparse) = edge.cast::<PySparseEdges>() {
            return Ok(EdgeSource::Sparse(sparse.clone()));
        }
        if let Ok(classes) = edge.cast::<PyClassEdges>() {
            return Ok(EdgeSource::Classes(classes.clone()));
        }
        if edge.hasattr("tocoo")? {
            // In scipy a pair that is not stored is 0.
            let sparse = helper(edge.py(), "sparse_edges")?.call1((edge, 0.0))?;
            return Ok(EdgeSource::Sparse(sparse.cast_into::<PySparseEdges>()?));
        }
        as_array(edge, "edge").map(EdgeSource::Array)
    }

    pub(crate) fn dtype(&self) -> PyResult<Option<Dtype>> {
        match self {
            EdgeSource::Zero => Ok(None),
            EdgeSource::Prepared(edges) => Ok(Some(edges.get().prepared.dtype())),
            EdgeSource::Sparse(edges) => Ok(Some(edges.get().dtype)),
            EdgeSource::Classes(edges) => Ok(Some(edges.get().dtype)),
            EdgeSource::Array(array) => dtype_of(array, "edge").map(Some),
        }
    }

    pub(crate) fn read<S: Number>(&self, py: Python<'py>) -> PyResult<EdgeArrays<'py, S>> {
        Ok(match self {
            EdgeSource::Zero => EdgeArrays::Zero,
            EdgeSource::Sparse(edges) => EdgeArrays::Sparse(edges.clone()),
            EdgeSource::Classes(edges) => EdgeArrays::Classes(edges.clone()),
            EdgeSource::Array(array) => EdgeArrays::Array(read(array, "edge", S::NAME)?),
            EdgeSource::Prepared(edges) => match S::pick(&edges.get().prepared) {
                Some(edges) => EdgeArrays::Prepared(edges.clone()),
                None => {
                    let expected = format!("edges of {}: kbest.Edges(..., dtype={:?})", S::NAME, S::NAME);
                    return Err(error::dtype(py, "edge", expected, edges.get().dtype()));
                }
            },
        })
    }
}

/// Edges of a call, in numpy's memory.
pub(crate) enum EdgeArrays<'py, S: Number> {
    Zero,
    Prepared(Arc<Edges<S>>),
    Sparse(Bound<'py, PySparseEdges>),
    Classes(Bound<'py, PyClassEdges>),
    Array(PyReadonlyArrayDyn<'py, S>),
}

impl<S: Number> EdgeArrays<'_, S> {
    /// The number of labels, if the edges tell it.
    pub(crate) fn labels(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        match self {
            EdgeArrays::Zero => Ok(None),
            EdgeArrays::Prepared(edges) => Ok(Some(edges.labels())),
            EdgeArrays::Sparse(edges) => Ok(Some(edges.get().labels)),
            EdgeArrays::Classes(edges) => Ok(Some(edges.get().class_from.len())),
            EdgeArrays::Array(array) => match array.shape() {
                [.., from, to] if from == to && matches!(array.ndim(), 2..=4) && *to > 0 => Ok(Some(*to)),
                got => {
                    Err(error::shape(py, "edge", "shape (L, L), (T-1, L, L) or (B, T-1, L, L)", shown(got)))
                }
            },
        }
    }

    pub(crate) fn view(&self) -> EdgeView<'_, S> {
        match self {
            EdgeArrays::Zero => EdgeView::Zero,
            EdgeArrays::Prepared(edges) => EdgeView::Prepared(edges),
            EdgeArrays::Sparse(edges) => EdgeView::Sparse(edges.get()),
            EdgeArrays::Classes(edges) => EdgeView::Classes(edges.get()),
            EdgeArrays::Array(array) => EdgeView::Array(array.shape(), slice(array)),
        }
    }
}

/// The same without the interpreter.
#[derive(Clone, Copy)]
pub(crate) enum EdgeView<'a, S: Number> {
    Zero,
    Prepared(&'a Arc<Edges<S>>),
    Sparse(&'a PySparseEdges),
    Classes(&'a PyClassEdges),
    Array(&'a [usize], &'a [S]),
}

impl<S: Number> EdgeView<'_, S> {
    /// How many sequences have edges of their own; `None` if all share theirs.
    pub(crate) fn sequences(&self) -> Option<usize> {
        match self {
            EdgeView::Array([sequences, _, _, _], _) => Some(*sequences),
            _ => None,
        }
    }

    /// The edges of a sequence.
    pub(crate) fn build(&self, labels: usize, sequence: usize) -> kbest::Result<Arc<Edges<S>>> {
        let steps = |scores: &[S]| match scores.chunks_exact(labels * labels).len() {
            0 => Edges::uniform(labels, S::ZERO), // a single position has no edges
            _ => {
                let matrices =
                    scores.chunks_exact(labels * labels).map(|scores| Edges::dense(labels, scores));
                Edges::per_position(matrices.collect::<kbest::Result<_>>()?)
            }
        };
        match *self {
            EdgeView::Prepared(edges) => return Ok(edges.clone()),
            EdgeView::Zero => Edges::uniform(labels, S::ZERO),
            EdgeView::Sparse(edges) => {
                let value: Vec<S> = edges.value.iter().map(|&value| S::from_f64(value)).collect();
                Edges::sparse(labels, S::from_f64(edges.base), &edges.from, &edges.to, &value)
            }
            EdgeView::Classes(edges) => edges.build(),
            EdgeView::Array([_, _], scores) => Edges::dense(labels, scores),
            EdgeView::Array([_, _, _], scores) => steps(scores),
            EdgeView::Array(shape, scores) => {
                let size = shape[1..].iter().product::<usize>();
                steps(&scores[sequence * size..(sequence + 1) * size])
            }
        }
        .map(Arc::new)
    }
}
