//! `Evaluation`: how good labels are, as counts that can be added up.

use crate::error;
use kbest::evaluate::{Evaluation, Row, Spans};
use kbest::state::{StateReader, StateWriter};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// How good the labels of a tagger are. Made by `Tagger.evaluate`; `str()` gives the report of `kbest evaluate`.
///
/// The figures can be read like a dict: "tokens", "sequences" (how many there were), "accuracy", "sequence_accuracy",
/// "macro_f1"; "unknown_accuracy", of words that training has not seen, if the model knows which; "span_precision",
/// "span_recall" and "span_f1" if labels spell spans. They come from whole numbers, so parts that were counted elsewhere can
/// be added without rounding (`counts`, `add`).
///
/// >>> import kbest
/// >>> tagger = kbest.train([["a", "b"]], [["X", "Y"]])
/// >>> half, other = (tagger.evaluate([[word]], [["X"]]) for word in "ab")
/// >>> half.add(other.counts())
/// >>> dict(half)["accuracy"], half.confusions()
/// (0.5, [('X', 'Y', 1)])
#[pyclass(name = "Evaluation", module = "kbest", mapping)]
pub(crate) struct PyEvaluation {
    counts: Evaluation,
    spans: Option<Spans>,
}

impl PyEvaluation {
    pub(super) fn new(spans: Option<Spans>) -> Self {
        PyEvaluation { counts: Evaluation::new(spans), spans }
    }

    pub(super) fn add_sequence<G: AsRef<str>>(
        &mut self,
        gold: &[G],
        predicted: &[&str],
        unknown: Option<&[bool]>,
    ) -> kbest::Result<()> {
        match unknown {
            Some(unknown) => self.counts.add_knowing(gold, predicted, unknown),
            None => self.counts.add(gold, predicted),
        }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let counts = &self.counts;
        let mut figures = vec![
            ("tokens", counts.tokens().all as f64),
            ("sequences", counts.sequences().all as f64),
            ("accuracy", counts.tokens().share()),
            ("sequence_accuracy", counts.sequences().share()),
            ("macro_f1", counts.macro_f1()),
        ];
        if let Some(unknown) = counts.unknown() {
            figures.push(("unknown_accuracy", unknown.share()));
        }
        if let Some(spans) = counts.spans() {
            figures.push(("span_precision", spans.all.precision()));
            figures.push(("span_recall", spans.all.recall()));
            figures.push(("span_f1", spans.all.f1()));
        }
        figures
    }
}

fn table<'py>(py: Python<'py>, rows: &[Row<'_>]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for Row { name, tally } in rows {
        let row = PyDict::new(py);
        row.set_item("gold", tally.gold)?;
        row.set_item("predicted", tally.predicted)?;
        row.set_item("right", tally.right)?;
        row.set_item("precision", tally.precision())?;
        row.set_item("recall", tally.recall())?;
        row.set_item("f1", tally.f1())?;
        all.set_item(name, row)?;
    }
    Ok(all)
}

#[pymethods]
impl PyEvaluation {
    fn __getitem__(&self, name: &str) -> PyResult<f64> {
        let found = self.figures().into_iter().find(|(known, _)| *known == name);
        found.map(|(_, figure)| figure).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// The names of the figures.
    fn keys(&self) -> Vec<&'static str> {
        self.figures().into_iter().map(|(name, _)| name).collect()
    }

    fn __len__(&self) -> usize {
        self.figures().len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.figures().iter().any(|(known, _)| *known == name)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.keys().into_pyobject(py)?.try_iter()?.into_any())
    }

    fn __str__(&self) -> String {
        self.counts.report(20, 10).to_string()
    }

    fn __repr__(&self) -> String {
        let figures = self.figures().into_iter().map(|(name, figure)| format!("{name}={figure:?}"));
        format!("Evaluation({})", figures.collect::<Vec<_>>().join(", "))
    }

    /// Each label with its counts, precision, recall and F1; frequent ones first.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, &self.counts.labels())
    }

    /// The same for each type of span; None if labels do not spell spans.
    #[getter]
    fn spans<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.counts.spans().map(|spans| table(py, &spans.rows)).transpose()
    }

    /// The most frequent mistakes: (right label, given label, how often).
    #[pyo3(signature = (limit=10))]
    fn confusions(&self, limit: usize) -> Vec<(String, String, u64)> {
        let found = self.counts.confusions(limit).into_iter();
        found.map(|one| (one.gold.to_owned(), one.predicted.to_owned(), one.count)).collect()
    }

    /// The counts as bytes, for `add` of another evaluation with the same model.
    fn counts<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut state = StateWriter::new();
        self.counts.save(&mut state);
        PyBytes::new(py, &state.into_bytes())
    }

    /// Adds counts from elsewhere.
    fn add(&mut self, py: Python<'_>, counts: &[u8]) -> PyResult<()> {
        let mut state = StateReader::new(counts);
        let other = Evaluation::restore(self.spans, &mut state);
        let other = other.and_then(|other| state.finish().map(|()| other));
        let added = other.and_then(|other| self.counts.merge(&other));
        added.map_err(|failed| error::exception(py, failed))
    }
}
