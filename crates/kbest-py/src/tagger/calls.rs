//! What the methods of a tagger share.

use super::model::{Answer, Engine, SharedModel, Sums, check_decoder};
use super::{Names, PyEvaluation, PyTagger};
use crate::{error, sequence};
use kbest::evaluate::Spans;
use kbest::feature::FeatureSource;
use kbest::segment::Segment;
use kbest::{Error, LabelId, Lattice, Model, Sequence, TaggerOptions};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyString};

impl PyTagger {
    /// A tagger with this model.
    pub(crate) fn new(py: Python<'_>, model: SharedModel, options: TaggerOptions) -> PyResult<Self> {
        let engine = py.detach(|| model.clone().engine(&options));
        let engine = engine.map_err(|failed| error::exception(py, failed))?;
        let (idle, names, tags) = (Default::default(), PyOnceLock::new(), model.tags());
        Ok(PyTagger { engine, model, options, tags, idle, names })
    }

    /// The names of the tags as Python strings, made once.
    pub(super) fn names(&self, py: Python<'_>) -> &[Py<PyString>] {
        let make = || self.tags.names().map(|name| PyString::new(py, name).unbind()).collect();
        self.names.get_or_init(py, make)
    }

    /// The names of tags.
    pub(crate) fn tag_set(&self) -> &kbest::LabelSet {
        &self.tags
    }

    pub(super) fn named<'py>(&self, py: Python<'py>, tags: &[LabelId]) -> PyResult<Bound<'py, PyList>> {
        let names = self.names(py);
        PyList::new(py, tags.iter().map(|&y| names[y as usize].bind(py)))
    }

    pub(super) fn named_segments(&self, segments: &[Segment]) -> Vec<(usize, usize, String)> {
        let labels = self.model.labels();
        let name = |part: &Segment| labels.name(part.label).unwrap_or_default().to_owned();
        segments.iter().map(|part| (part.start, part.end, name(part))).collect()
    }

    /// Tokens as the model wants them.
    pub(super) fn sequence(&self, tokens: &Bound<'_, PyAny>) -> PyResult<Sequence> {
        let (sequence, dicts) = sequence::sequence(tokens)?;
        self.check_dicts(tokens.py(), dicts)?;
        Ok(sequence)
    }

    fn check_dicts(&self, py: Python<'_>, dicts: bool) -> PyResult<()> {
        match self.model.extractor().source() {
            FeatureSource::Items => Ok(()),
            source if dicts => {
                let got = format!("dicts, for a model with features `{}`", source.name());
                Err(error::argument(py, "tokens", "strings or tuples of columns", got))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn sequences(&self, sequences: &Bound<'_, PyAny>) -> PyResult<Vec<Sequence>> {
        sequences.try_iter()?.map(|tokens| self.sequence(&tokens?)).collect()
    }

    /// Sequences with their labels, which need not be the model's.
    pub(super) fn labelled(
        &self,
        sequences: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<Sequence>> {
        let (py, mut labels) = (labels.py(), labels.try_iter()?);
        let mut all = Vec::new();
        for tokens in sequences.try_iter()? {
            let Some(gold) = labels.next() else {
                return Err(error::shape(
                    py,
                    "labels",
                    "one list per sequence",
                    format!("{} lists", all.len()),
                ));
            };
            let (sequence, dicts) = sequence::labelled(&tokens?, &gold?, all.len(), ["sequences", "labels"])?;
            self.check_dicts(py, dicts)?;
            all.push(sequence);
        }
        match labels.next() {
            Some(_) => Err(error::shape(py, "labels", format!("{} lists", all.len()), "more")),
            None => Ok(all),
        }
    }

    /// Known labels by name, None where any may be.
    pub(super) fn known(&self, py: Python<'_>, names: Names) -> PyResult<Names> {
        let checked = self.engine.check_known(names.as_deref().unwrap_or_default());
        checked.map_err(|name| {
            error::argument(py, "known", "labels of the model, or None", format!("{name:?}"))
        })?;
        Ok(names)
    }

    /// The `k` best answers.
    pub(super) fn answers(
        &self,
        tokens: &Bound<'_, PyAny>,
        known: Names,
        k: usize,
        confidences: bool,
    ) -> PyResult<Vec<Answer>> {
        let py = tokens.py();
        let raise = |failed: Error| error::exception(py, failed);
        check_decoder(&self.model, &self.options, k).map_err(raise)?;
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let find = |engine: &mut dyn Engine| engine.answers(&sequence, known.as_deref(), k, &self.tags);
        py.detach(|| self.with(confidences, find)).map_err(raise)
    }

    /// Sums over all answers.
    pub(super) fn sums(&self, tokens: &Bound<'_, PyAny>, known: Names) -> PyResult<Sums> {
        let py = tokens.py();
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let sums = py.detach(|| self.with(false, |engine| engine.sums(&sequence, known.as_deref())));
        sums.map_err(|failed| error::exception(py, failed))
    }

    /// Asks about the lattice of a sequence, of a model of positions.
    pub(super) fn on_lattice<R: Send>(
        &self,
        py: Python<'_>,
        sequence: &Sequence,
        known: Names,
        ask: impl FnOnce(&Lattice<'_, f32>) -> kbest::Result<R> + Send,
    ) -> PyResult<R> {
        let answer = |engine: &mut dyn Engine| {
            let (mut ask, mut answer) = (Some(ask), None);
            engine.show_lattice(sequence, known.as_deref(), &mut |lattice| {
                answer = ask.take().map(|ask| ask(lattice)).transpose()?;
                Ok(())
            })?;
            Ok(answer.expect("a lattice that can be made is shown"))
        };
        py.detach(|| self.with(false, answer)).map_err(|failed| error::exception(py, failed))
    }

    /// The model of positions that a method needs.
    pub(super) fn positions(&self, py: Python<'_>, method: &str) -> PyResult<&Model> {
        self.model.positions().ok_or_else(|| self.unsupported(py, method, "single positions"))
    }

    pub(super) fn unsupported(&self, py: Python<'_>, method: &str, wanted: &str) -> PyErr {
        let got = if self.model.positions().is_some() { "single positions" } else { "segments" };
        error::unsupported(py, method, format!("a model of {wanted}"), format!("one of {got}"))
    }

    /// Spans of an answer, without what is outside.
    pub(super) fn spans_of(&self, answer: &Answer) -> Vec<(usize, usize, String)> {
        match &answer.segments {
            Some(segments) => {
                let inside = |part: &&Segment| !self.model.is_outside(part.label);
                self.named_segments(&segments.iter().filter(inside).copied().collect::<Vec<_>>())
            }
            None => {
                let labels: Vec<&str> = self.tag_names(&answer.tags);
                let found = Spans::detect(self.tags.names()).unwrap_or(Spans::Runs).find(&labels);
                found.into_iter().map(|span| (span.start, span.end, span.kind.to_owned())).collect()
            }
        }
    }

    fn tag_names(&self, tags: &[LabelId]) -> Vec<&str> {
        tags.iter().map(|&y| self.tags.name(y).unwrap_or_default()).collect()
    }

    /// An evaluation in which nothing has been counted. Spans are found as `kbest evaluate` finds them.
    fn no_counts(&self) -> PyEvaluation {
        PyEvaluation::new(self.model.spans())
    }

    /// Compares tags with the labels of their sequences.
    pub(crate) fn counted(
        &self,
        py: Python<'_>,
        sequences: &[Sequence],
        answers: Vec<kbest::Result<Vec<LabelId>>>,
    ) -> PyResult<PyEvaluation> {
        let extractor = self.model.extractor();
        let mut evaluation = self.no_counts();
        for (i, (sequence, answer)) in sequences.iter().zip(answers).enumerate() {
            let gold: Vec<&str> = (0..sequence.len()).filter_map(|t| sequence.label(t)).collect();
            let known = (0..sequence.len()).map(|t| extractor.knows_word(sequence.cell(t, 0)?));
            let unknown = known.map(|known| known.map(|known| !known)).collect::<Option<Vec<bool>>>();
            let counted = answer
                .and_then(|tags| evaluation.add_sequence(&gold, &self.tag_names(&tags), unknown.as_deref()));
            counted.map_err(|failed| error::in_batch(py, failed, i))?;
        }
        Ok(evaluation)
    }
}
