//! Sums of a batch and their gradients, for `kbest.torch` on a processor.

use crate::array::Dtype;
use crate::call::{Given, Ready, Resolved};
use crate::decode::with_dtype;
use crate::error;
use crate::parallel::{self, Number};
use kbest::marginal::{Gradients, Lattices, batch_sums};
use kbest::{Edges, Lattice};
use numpy::{PyArray1, PyArray3, PyArrayMethods};
use pyo3::prelude::*;

impl<S: Number> Lattices<S> for Ready<'_, S> {
    fn count(&self) -> usize {
        self.len()
    }

    fn edges(&self) -> &Edges<S> {
        self.shared_edges()
    }

    fn lattice(&self, i: usize) -> kbest::Result<Lattice<'_, S>> {
        Ready::lattice(self, i)
    }
}

/// log Z of each sequence of a batch (B, T, L), and with `weights` (B,) the gradients of their weighted sum.
///
/// Returns:
///     (log_partition, node, edge): (B,) float64; (B, T, L) of the scores' type and (L, L) float64, or None without weights.
#[pyfunction]
#[pyo3(signature = (node, edge, *, lengths=None, start=None, end=None, weights=None, threads=0))]
pub(crate) fn batch_gradients<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: &Bound<'py, PyAny>,
    lengths: Option<&Bound<'py, PyAny>>,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    weights: Option<Vec<f64>>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let dimensions = edge.getattr("ndim").and_then(|n| n.extract::<usize>()).unwrap_or(2);
    if dimensions != 2 {
        return Err(error::shape(py, "edge", "shape (L, L)", format!("{dimensions} dimensions")));
    }
    let given = Given {
        node,
        edge: Some(edge),
        lengths,
        mask: None,
        start,
        end,
        allowed: None,
        forced: None,
        label_names: None,
        constraints: None,
        dtype: None,
    };
    let call = given.resolve()?;
    with_dtype!(call.dtype, summed(py, &call, weights, threads))
}

fn summed<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    weights: Option<Vec<f64>>,
    threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let arrays = call.read::<S>()?;
    let Some(steps) = arrays.steps() else {
        return Err(error::shape(py, "node", "shape (B, T, L)", "another"));
    };
    let (count, labels) = (call.count(), arrays.labels);
    if let Some(weights) = weights.as_ref().filter(|weights| weights.len() != count) {
        return Err(error::shape(py, "weights", format!("{count} numbers"), weights.len()));
    }
    let mut node = vec![S::ZERO; if weights.is_some() { count * steps * labels } else { 0 }];
    let (view, threads) = (arrays.view(), parallel::threads_for(threads, count));
    let summed = py.detach(|| {
        let ready = view.ready().map_err(|failed| (None, failed))?;
        let gradients = weights.as_deref().map(|weights| {
            let mut nodes: Vec<_> = node.chunks_exact_mut((steps * labels).max(1)).collect();
            nodes.resize_with(count, Default::default); // sequences without positions
            Gradients { weights, nodes }
        });
        batch_sums(&ready, gradients, threads).map_err(|(i, failed)| (Some(i), failed))
    });
    let sums = summed.map_err(|(i, failed)| error::with_place(py, failed, i))?;
    let log_partition = PyArray1::from_vec(py, sums.log_partitions);
    if weights.is_none() {
        return Ok((log_partition, py.None(), py.None()).into_pyobject(py)?.into_any());
    }
    let node: Bound<'_, PyArray3<S>> = PyArray1::from_vec(py, node).reshape([count, steps, labels])?;
    let edge = PyArray1::from_vec(py, sums.edge_gradient).reshape([labels, labels])?;
    Ok((log_partition, node, edge).into_pyobject(py)?.into_any())
}
