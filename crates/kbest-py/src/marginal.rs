//! `marginals` and `log_partition`.

use crate::array::Dtype;
use crate::call::{Given, Resolved};
use crate::decode::{numbers, one_or_list, paths_of, with_dtype};
use crate::error;
use crate::parallel::{self, Number};
use crate::path::int32;
use kbest::Lattice;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;

/// Probabilities of labels, neighbouring labels and paths under `exp(score) / Z`.
///
/// Attributes:
///     node: (T, L) float64, the probability of each label at each position.
///     log_partition: log Z, the logarithm of the sum of exp(score) over all paths.
///     edge: (T-1, L, L), the probability of each pair of neighbouring labels, if asked for with `pairs=True`; else None.
///     path_log_probability: the logarithm of the probability of the given path, if there was one; else None.
///     labels: (T,) int32, the most probable label of each position.
#[pyclass(frozen, name = "Marginals", module = "kbest")]
pub(crate) struct PyMarginals {
    #[pyo3(get)]
    node: Py<PyArray2<f64>>,
    #[pyo3(get)]
    log_partition: f64,
    #[pyo3(get)]
    edge: Option<Py<PyArray3<f64>>>,
    #[pyo3(get)]
    path_log_probability: Option<f64>,
    #[pyo3(get)]
    labels: Py<PyArray1<i32>>,
}

#[pymethods]
impl PyMarginals {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let shape = self.node.bind(py).getattr("shape")?.repr()?;
        Ok(format!("Marginals(node={shape}, log_partition={:?})", self.log_partition))
    }
}

/// The numbers of one sequence.
struct Sums {
    positions: usize,
    labels: usize,
    node: Vec<f64>,
    log_partition: f64,
    edge: Option<Vec<f64>>,
    path: Option<f64>,
    best: Vec<u32>,
}

impl Sums {
    fn of<S: Number>(
        lattice: &Lattice<'_, S>,
        memory: &mut parallel::Memory<S>,
        pairs: bool,
        path: Option<&[u32]>,
    ) -> kbest::Result<Self> {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        let marginals = kbest::marginals(lattice, &mut memory.marginals)?;
        let edge = pairs.then(|| {
            let mut edge = vec![0.0; positions.saturating_sub(1) * labels * labels];
            for (t, matrix) in (1..).zip(edge.chunks_exact_mut(labels * labels)) {
                marginals.fill_edges(t, matrix);
            }
            edge
        });
        Ok(Sums {
            positions,
            labels,
            node: (0..positions).flat_map(|t| marginals.node(t).iter().copied()).collect(),
            log_partition: marginals.log_partition(),
            edge,
            path: path.map(|path| marginals.path_log_probability(path)).transpose()?,
            best: marginals.posterior_path().labels,
        })
    }

    fn into_python(self, py: Python<'_>) -> PyResult<PyMarginals> {
        let (positions, labels) = (self.positions, self.labels);
        let edge = self.edge.map(|edge| {
            let shape = [positions.saturating_sub(1), labels, labels];
            PyArray1::from_vec(py, edge).reshape(shape).map(Bound::unbind)
        });
        Ok(PyMarginals {
            node: PyArray1::from_vec(py, self.node).reshape([positions, labels])?.unbind(),
            log_partition: self.log_partition,
            edge: edge.transpose()?,
            path_log_probability: self.path,
            labels: int32(py, &self.best),
        })
    }
}

/// How certain the scores are: probabilities of labels and pairs, by forward-backward.
///
/// Takes what `decode` takes. With `pairs`, the (T-1, L, L) probabilities of neighbouring labels are returned, too. With
/// `path`, the log probability of that path (of a batch: one path per sequence).
///
/// Returns:
///     Marginals; for a batch a list of them.
///
/// >>> import numpy as np, kbest
/// >>> sums = kbest.marginals(np.log([[1.0, 3.0], [1.0, 1.0]]), None, path=[1, 0])
/// >>> sums.node.round(3).tolist(), round(float(np.exp(sums.log_partition)), 3)
/// ([[0.25, 0.75], [0.5, 0.5]], 8.0)
/// >>> round(float(np.exp(sums.path_log_probability)), 3)
/// 0.375
#[pyfunction]
#[pyo3(signature = (node, edge, *, lengths=None, mask=None, start=None, end=None, allowed=None, forced=None,
                    label_names=None, constraints=None, dtype=None, threads=0, pairs=false, path=None))]
pub(crate) fn marginals<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Option<&Bound<'py, PyAny>>,
    lengths: Option<&Bound<'py, PyAny>>,
    mask: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    allowed: Option<&Bound<'py, PyAny>>,
    forced: Option<&Bound<'py, PyAny>>,
    label_names: Option<Vec<String>>,
    constraints: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    threads: usize,
    pairs: bool,
    path: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let label_names = label_names.as_ref();
    let given =
        Given { node, edge, lengths, mask, start, end, allowed, forced, label_names, constraints, dtype };
    let call = given.resolve()?;
    with_dtype!(call.dtype, summed(py, &call, threads, pairs, path))
}

fn summed<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    threads: usize,
    pairs: bool,
    path: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = call.read::<S>()?;
    let paths = path.map(|path| paths_of(path, arrays.lengths(), arrays.batch)).transpose()?;
    let (view, scores) = (arrays.view(), arrays.scores());
    let sums = py.detach(|| {
        let ready = view.ready()?;
        Ok(parallel::map::<S, _>(ready.len(), threads, scores, |memory, i| {
            let path = paths.as_ref().map(|paths| &paths[i][..]);
            Sums::of(&ready.lattice(i)?, memory, pairs, path)
        }))
    });
    let sums: Vec<_> = sums.map_err(|failed| error::exception(py, failed))?;
    let made = sums.into_iter().enumerate().map(|(i, sums)| match sums {
        Ok(sums) => Bound::new(py, sums.into_python(py)?).map(Bound::into_any),
        Err(failed) => Err(error::with_place(py, failed, arrays.batch.then_some(i))),
    });
    one_or_list(py, made.collect::<PyResult<_>>()?, arrays.batch)
}

/// The logarithm of the sum of `exp(score)` over all paths; an array of them for a batch. Takes what `decode` takes.
///
/// >>> import kbest, math
/// >>> math.isclose(kbest.log_partition([[0.0, 0.0], [0.0, 0.0]], None), math.log(4))
/// True
#[pyfunction]
#[pyo3(signature = (node, edge, *, lengths=None, mask=None, start=None, end=None, allowed=None, forced=None,
                    label_names=None, constraints=None, dtype=None, threads=0))]
pub(crate) fn log_partition<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Option<&Bound<'py, PyAny>>,
    lengths: Option<&Bound<'py, PyAny>>,
    mask: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    allowed: Option<&Bound<'py, PyAny>>,
    forced: Option<&Bound<'py, PyAny>>,
    label_names: Option<Vec<String>>,
    constraints: Option<&Bound<'py, PyAny>>,
    dtype: Option<&Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let label_names = label_names.as_ref();
    let given =
        Given { node, edge, lengths, mask, start, end, allowed, forced, label_names, constraints, dtype };
    let call = given.resolve()?;
    with_dtype!(call.dtype, partitions(py, &call, threads))
}

fn partitions<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = call.read::<S>()?;
    let (view, scores) = (arrays.view(), arrays.scores());
    let sums = py.detach(|| {
        let ready = view.ready()?;
        Ok(parallel::map::<S, _>(ready.len(), threads, scores, |memory, i| {
            kbest::log_partition(&ready.lattice(i)?, &mut memory.marginals)
        }))
    });
    let sums: Vec<kbest::Result<f64>> = sums.map_err(|failed| error::exception(py, failed))?;
    let sums = sums
        .into_iter()
        .enumerate()
        .map(|(i, sum)| sum.map_err(|failed| error::with_place(py, failed, arrays.batch.then_some(i))));
    numbers(py, sums.collect::<PyResult<_>>()?, arrays.batch)
}
