//! `TaggedPath`: one of the answers of a tagger.

use super::PyTagger;
use super::model::Answer;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// One of the label sequences of a tagger.
///
/// Attributes:
///     labels: names of the labels.
///     score: its score (for ensembles that vote, the share of votes).
///     probability: its probability; None unless asked for.
///     confidences: the probability of each of its labels (of the segment that covers the position, for models of segments);
///         None unless asked for.
///     segments: [(start, end, label)], all segments, those outside of spans included; None for models of single positions.
#[pyclass(frozen, name = "TaggedPath", module = "kbest", get_all)]
pub(crate) struct TaggedPath {
    labels: Py<PyList>,
    score: f64,
    probability: Option<f64>,
    confidences: Option<Py<PyArray1<f64>>>,
    segments: Option<Vec<(usize, usize, String)>>,
}

impl TaggedPath {
    pub(super) fn new(py: Python<'_>, tagger: &PyTagger, answer: &Answer) -> PyResult<Self> {
        Ok(TaggedPath {
            labels: tagger.named(py, &answer.tags)?.unbind(),
            score: answer.score,
            probability: answer.probability,
            confidences: answer.confidences.as_ref().map(|row| PyArray1::from_slice(py, row).unbind()),
            segments: answer.segments.as_ref().map(|segments| tagger.named_segments(segments)),
        })
    }
}

#[pymethods]
impl TaggedPath {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("TaggedPath(labels={}, score={:?})", self.labels.bind(py).repr()?, self.score))
    }
}
