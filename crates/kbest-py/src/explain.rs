//! What a search does with a sequence: its plan, the labels it opened, its answers, how certain they are.

use crate::array::Dtype;
use crate::call::{Given, Resolved};
use crate::decode::{named_decoder, with_dtype};
use crate::error;
use crate::parallel::Number;
use crate::path::PyPath;
use kbest::decode::{Auto, Counters};
use kbest::{Decode, Decoded, Decoder, Float, Lattice, MarginalScratch, Scratch};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What was seen of one search.
pub(crate) struct Seen {
    positions: usize,
    labels: usize,
    plan: String,
    decoder: &'static str,
    exact: bool,
    paths: Vec<(Vec<u32>, f64)>,
    counters: Counters,
    marginals: Vec<f64>,
    log_partition: f64,
}

impl Seen {
    pub(crate) fn of<S: Float>(lattice: &Lattice<'_, S>, decoder: &Decoder, k: usize) -> kbest::Result<Self> {
        let answer: Decoded<S> = decoder.decode_kbest(lattice, k, &mut Scratch::counting())?;
        let mut memory = MarginalScratch::new();
        let sums = kbest::marginals(lattice, &mut memory)?;
        Ok(Seen {
            positions: lattice.positions(),
            labels: lattice.labels(),
            plan: Auto::default().plan(lattice, k).explain(),
            decoder: answer.decoder,
            exact: answer.exact,
            paths: answer.paths.iter().map(|path| (path.labels.clone(), path.score.to_f64())).collect(),
            counters: answer.counters.clone().unwrap_or_default(),
            marginals: (0..sums.positions()).flat_map(|t| sums.node(t).iter().copied()).collect(),
            log_partition: sums.log_partition(),
        })
    }

    /// The same with the probabilities of a calibrated model.
    pub(crate) fn with_marginals(mut self, marginals: Vec<f64>) -> Self {
        self.marginals = marginals;
        self
    }

    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let seen = PyDict::new(py);
        seen.set_item("plan", self.plan)?;
        seen.set_item("decoder", self.decoder)?;
        seen.set_item("exact", self.exact)?;
        let path = |(labels, score): &(Vec<u32>, f64)| {
            Bound::new(py, PyPath::new(py, labels, *score, self.exact, self.decoder))
        };
        seen.set_item("paths", self.paths.iter().map(path).collect::<PyResult<Vec<_>>>()?)?;
        seen.set_item("opened", PyArray1::from_vec(py, self.counters.nodes_at))?;
        seen.set_item("nodes", self.counters.nodes)?;
        seen.set_item("edges", self.counters.edges)?;
        seen.set_item("rounds", self.counters.rounds)?;
        let marginals = PyArray1::from_vec(py, self.marginals).reshape([self.positions, self.labels])?;
        seen.set_item("marginals", marginals)?;
        seen.set_item("log_partition", self.log_partition)?;
        Ok(seen)
    }
}

/// What the search does with one sequence of scores; see kbest.explain.
#[pyfunction]
#[pyo3(signature = (node, edge, *, k=3, start=None, end=None, allowed=None, forced=None, label_names=None,
                    constraints=None, decoder="auto", dtype=None))]
pub(crate) fn explain_scores<'py>(
    py: Python<'py>,
    node: &Bound<'py, PyAny>,
    edge: Option<&Bound<'py, PyAny>>,
    k: usize,
    start: Option<&Bound<'py, PyAny>>,
    end: Option<&Bound<'py, PyAny>>,
    allowed: Option<&Bound<'py, PyAny>>,
    forced: Option<&Bound<'py, PyAny>>,
    label_names: Option<Vec<String>>,
    constraints: Option<&Bound<'py, PyAny>>,
    decoder: &str,
    dtype: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (label_names, lengths, mask) = (label_names.as_ref(), None, None);
    let given =
        Given { node, edge, lengths, mask, start, end, allowed, forced, label_names, constraints, dtype };
    let call = given.resolve()?;
    let decoder = named_decoder(py, decoder, k)?;
    with_dtype!(call.dtype, explained(py, &call, &decoder, k))
}

fn explained<'py, S: Number>(
    py: Python<'py>,
    call: &Resolved<'_, 'py>,
    decoder: &Decoder,
    k: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let arrays = call.read::<S>()?;
    if arrays.batch {
        return Err(error::shape(py, "node", "one sequence (T, L)", "a batch"));
    }
    let view = arrays.view();
    let seen = py.detach(|| Seen::of(&view.ready()?.lattice(0)?, decoder, k));
    seen.map_err(|failed| error::exception(py, failed))?.into_python(py)
}
