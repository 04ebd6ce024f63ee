//! `Tagger`: a model as a Python object.
//!
//! The object is immutable. Calls borrow a tagger of the library from a pool, so any number of threads may use it at once,
//! and the memory of a tagger is kept from call to call.

mod calibrated;
mod pool;

use crate::arrow;
use crate::edges::rules_of;
use crate::error;
use crate::explain::Seen;
use crate::sequence;
use kbest::evaluate::{Evaluation, Spans};
use kbest::feature::FeatureSource;
use kbest::transition::Transitions;
use kbest::{Decode, Decoder, LabelId, Model, Sequence, Tagged};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Labels text with a model.
///
/// Models of kbest, CRFsuite, CRF++ (text) and Wapiti can be loaded. A token is a string, a tuple of columns, a list of
/// features or a dict of features, as the model was trained. Threads may share a tagger, and it can be pickled.
///
/// >>> import kbest
/// >>> X = [["the", "old", "man"], ["the", "boats"]]
/// >>> y = [["DET", "ADJ", "NOUN"], ["DET", "NOUN"]]
/// >>> tagger = kbest.train(X, y)
/// >>> tagger.tag(["the", "boats"])
/// ['DET', 'NOUN']
#[pyclass(frozen, name = "Tagger", module = "kbest")]
pub(crate) struct PyTagger {
    tagger: kbest::Tagger,
    decoder: String,
    constraints: Vec<String>,
    idle: [Mutex<Vec<kbest::Tagger>>; 2], // without and with confidences
    names: PyOnceLock<Vec<Py<PyString>>>,
}

/// One of the label sequences of a tagger.
///
/// Attributes:
///     labels: names of the labels.
///     score: its score (for ensembles that vote, the share of votes).
///     probability: its probability; None unless asked for.
///     confidences: the probability of each of its labels; None unless asked for.
#[pyclass(frozen, name = "TaggedPath", module = "kbest", get_all)]
pub(crate) struct TaggedPath {
    labels: Py<PyList>,
    score: f64,
    probability: Option<f64>,
    confidences: Option<Py<PyArray1<f64>>>,
}

#[pymethods]
impl TaggedPath {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("TaggedPath(labels={}, score={:?})", self.labels.bind(py).repr()?, self.score))
    }
}

impl PyTagger {
    /// A tagger with this model.
    pub(crate) fn new(
        py: Python<'_>,
        model: Arc<Model>,
        constraints: Vec<String>,
        decoder: &str,
    ) -> PyResult<Self> {
        let made = || {
            let tagger = kbest::Tagger::new(model.clone()).with_decoder(Decoder::by_name(decoder)?);
            match Transitions::from_rules(&constraints, model.labels())? {
                Some(transitions) => tagger.with_transitions(&transitions),
                None => Ok(tagger),
            }
        };
        let tagger = py.detach(made).map_err(|failed| error::exception(py, failed))?;
        let (idle, names) = (Default::default(), PyOnceLock::new());
        Ok(PyTagger { tagger, decoder: decoder.to_owned(), constraints, idle, names })
    }

    pub(crate) fn model(&self) -> &Arc<Model> {
        self.tagger.model()
    }

    /// The names of the labels as Python strings, made once.
    pub(crate) fn names(&self, py: Python<'_>) -> &[Py<PyString>] {
        let make = || self.model().labels().names().map(|name| PyString::new(py, name).unbind()).collect();
        self.names.get_or_init(py, make)
    }

    pub(crate) fn named<'py>(&self, py: Python<'py>, labels: &[LabelId]) -> PyResult<Bound<'py, PyList>> {
        let names = self.names(py);
        PyList::new(py, labels.iter().map(|&y| names[y as usize].bind(py)))
    }

    /// Tokens as the model wants them.
    pub(crate) fn sequence(&self, tokens: &Bound<'_, PyAny>) -> PyResult<Sequence> {
        let (sequence, dicts) = sequence::sequence(tokens)?;
        self.check(tokens.py(), dicts)?;
        Ok(sequence)
    }

    fn check(&self, py: Python<'_>, dicts: bool) -> PyResult<()> {
        match self.model().extractor().source() {
            FeatureSource::Items => Ok(()),
            source if dicts => {
                let got = format!("dicts, for a model with features `{}`", source.name());
                Err(error::argument(py, "tokens", "strings or tuples of columns", got))
            }
            _ => Ok(()),
        }
    }

    /// Known labels by name, None where any may be.
    fn known(&self, py: Python<'_>, known: Option<Vec<Option<String>>>) -> PyResult<Vec<Option<LabelId>>> {
        let id = |name: Option<String>| match name {
            None => Ok(None),
            Some(name) => match self.model().labels().id(&name) {
                Some(id) => Ok(Some(id)),
                None => {
                    Err(error::argument(py, "known", "labels of the model, or None", format!("{name:?}")))
                }
            },
        };
        known.unwrap_or_default().into_iter().map(id).collect()
    }

    fn tagged<R: Send>(
        &self,
        py: Python<'_>,
        sequence: &Sequence,
        known: &[Option<LabelId>],
        k: usize,
        confidences: bool,
        made: impl FnOnce(&Tagged) -> R + Send,
    ) -> PyResult<R> {
        let tag = |tagger: &mut kbest::Tagger| {
            let tagged = match known {
                [] => tagger.tag(sequence, k)?,
                known => tagger.tag_known(sequence, known, k)?,
            };
            Ok(made(tagged))
        };
        py.detach(|| self.with(confidences, tag)).map_err(|failed| error::exception(py, failed))
    }
}

#[pymethods]
impl PyTagger {
    /// Loads a model of kbest, CRFsuite, CRF++ (text) or Wapiti; the first bytes of the file tell which it is.
    ///
    /// Args:
    ///     path: the file.
    ///     constraints: "auto", a scheme such as "iob2", a transition file, or a list of these.
    ///     decoder: see kbest.decoders().
    #[staticmethod]
    #[pyo3(signature = (path, *, constraints=None, decoder="auto"))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        constraints: Option<&Bound<'_, PyAny>>,
        decoder: &str,
    ) -> PyResult<Self> {
        let model = py.detach(|| Model::load_any(&path)).map_err(|failed| error::exception(py, failed))?;
        Self::new(py, Arc::new(model), rules_of(constraints)?, decoder)
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    #[pyo3(signature = (data, *, constraints=None, decoder="auto"))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        constraints: Option<&Bound<'_, PyAny>>,
        decoder: &str,
    ) -> PyResult<Self> {
        let model = Model::from_any_bytes(data, "<bytes>").map_err(|failed| error::exception(py, failed))?;
        Self::new(py, Arc::new(model), rules_of(constraints)?, decoder)
    }

    /// The same model with other constraints or another decoder.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["a", "b"]] * 3, [["B-X", "I-X"]] * 3)
    /// >>> tagger.using(constraints="iob2").constraints
    /// ('iob2',)
    #[pyo3(signature = (*, constraints=None, decoder="auto"))]
    fn using(&self, py: Python<'_>, constraints: Option<&Bound<'_, PyAny>>, decoder: &str) -> PyResult<Self> {
        Self::new(py, self.model().clone(), rules_of(constraints)?, decoder)
    }

    /// Writes the model to a file, as `kbest train` does.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model().save(&path)).map_err(|failed| error::exception(py, failed))
    }

    /// Writes labels and weights to a safetensors file.
    fn save_safetensors(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model().to_safetensors(&path)).map_err(|failed| error::exception(py, failed))
    }

    /// The bytes that `save` would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.model().to_bytes()).map_err(|failed| error::exception(py, failed))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.get_type::<PyTagger>().getattr("_restore")?;
        Ok((restore, (self.to_bytes(py)?, self.constraints.clone(), &self.decoder).into_pyobject(py)?))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, data: &[u8], constraints: Vec<String>, decoder: &str) -> PyResult<Self> {
        let model = Model::from_bytes(data, "<pickle>").map_err(|failed| error::exception(py, failed))?;
        Self::new(py, Arc::new(model), constraints, decoder)
    }

    /// Names of the labels.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.names(py).iter().map(|name| name.bind(py)))
    }

    /// The constraints it obeys.
    #[getter]
    fn constraints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.constraints)
    }

    /// The name of its decoder.
    #[getter]
    fn decoder(&self) -> &str {
        &self.decoder
    }

    /// Where its features come from: "template", "patterns", "items", "numbers" or the name of a feature set.
    #[getter]
    fn features(&self) -> &'static str {
        self.model().extractor().source().name()
    }

    /// Where the model comes from: algorithm, epochs, program.
    #[getter]
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        for (name, value) in self.model().about() {
            about.set_item(name, value)?;
        }
        Ok(about)
    }

    /// How scores become probabilities: the temperature, and the points of a curve; None if the model is not calibrated.
    #[getter]
    fn calibration(&self) -> Option<(f64, Vec<(f64, f64)>)> {
        self.model().calibration().map(|how| (how.temperature(), how.curve().to_vec()))
    }

    /// A tagger with the same labels whose probabilities fit these sequences, as `kbest calibrate` makes it. They must not be
    /// the training data.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["a", "b"]] * 3, [["X", "Y"]] * 3)
    /// >>> calm = tagger.calibrated([["a", "b"], ["b", "b"]], [["X", "Y"], ["X", "Y"]])
    /// >>> tagger.calibration is None, calm.calibration[0] > 0
    /// (True, True)
    #[pyo3(signature = (sequences, labels, *, threads=0))]
    fn calibrated(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Self> {
        self.fitted(py, sequences, labels, threads)
    }

    fn __repr__(&self) -> String {
        format!("Tagger(labels={}, features={:?})", self.model().labels().len(), self.features())
    }

    /// The best labels of one sequence. `known` holds a label or None for each position.
    #[pyo3(signature = (tokens, *, known=None))]
    fn tag<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        known: Option<Vec<Option<String>>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let labels =
            self.tagged(py, &sequence, &known, 1, false, |tagged| tagged.decoded.best().labels.clone())?;
        self.named(py, &labels)
    }

    /// The best labels of many sequences, on all cores (or `threads`).
    #[pyo3(signature = (sequences, *, threads=0))]
    fn tag_batch<'py>(
        &self,
        py: Python<'py>,
        sequences: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let sequences = sequences.try_iter()?.map(|tokens| self.sequence(&tokens?));
        let sequences = sequences.collect::<PyResult<Vec<_>>>()?;
        let answers = py.detach(|| self.tag_all(&sequences, threads));
        let all = PyList::empty(py);
        for (i, answer) in answers.into_iter().enumerate() {
            let labels = answer.map_err(|failed| error::in_batch(py, failed, i))?;
            all.append(self.named(py, &labels)?)?;
        }
        Ok(all)
    }

    /// The k best label sequences; with `probabilities`, how probable each is, and each of its labels.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["a", "b"]], [["X", "Y"]], algorithm="crf")
    /// >>> best = tagger.kbest(["a", "b"], 4, probabilities=True)
    /// >>> best[0].labels, round(sum(path.probability for path in best), 6)
    /// (['X', 'Y'], 1.0)
    #[pyo3(signature = (tokens, k, *, known=None, probabilities=false))]
    fn kbest(
        &self,
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        k: usize,
        known: Option<Vec<Option<String>>>,
        probabilities: bool,
    ) -> PyResult<Vec<TaggedPath>> {
        if k == 0 {
            return Err(error::argument(py, "k", "at least 1", 0));
        }
        let decoder = Decoder::by_name(&self.decoder).and_then(|decoder| decoder.supports(k));
        decoder.map_err(|failed| error::exception(py, failed))?;
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let tagged = self.tagged(py, &sequence, &known, k, probabilities, Tagged::clone)?;
        let path = |(rank, path): (usize, &kbest::Path<f32>)| {
            Ok(TaggedPath {
                labels: self.named(py, &path.labels)?.unbind(),
                score: path.score.into(),
                probability: tagged.probabilities.get(rank).copied(),
                confidences: tagged.confidences.get(rank).map(|row| PyArray1::from_slice(py, row).unbind()),
            })
        };
        tagged.decoded.paths.iter().enumerate().map(path).collect()
    }

    /// (T, L) probabilities of all labels at all positions; calibrated if the model is.
    #[pyo3(signature = (tokens, *, known=None))]
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        known: Option<Vec<Option<String>>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let sums = |tagger: &mut kbest::Tagger| Ok(tagger.distributions(&sequence, &known)?.to_vec());
        let sums: kbest::Result<Vec<f64>> = py.detach(|| self.with(false, sums));
        let sums = sums.map_err(|failed| error::exception(py, failed))?;
        PyArray1::from_vec(py, sums).reshape([sequence.len(), self.model().labels().len()])
    }

    /// (T, L) node scores of a sequence, before constraints.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let sequence = self.sequence(tokens)?;
        let scores = |tagger: &mut kbest::Tagger| Ok(tagger.lattice(&sequence, &[])?.nodes().to_vec());
        let scores: kbest::Result<Vec<f32>> = py.detach(|| self.with(false, scores));
        let scores = scores.map_err(|failed| error::exception(py, failed))?;
        PyArray1::from_vec(py, scores).reshape([sequence.len(), self.model().labels().len()])
    }

    /// Spans of the best labels: (start, end, type), the end being the position after the last. For labels that spell
    /// spans, such as B-PER and I-PER; otherwise runs of equal labels other than O.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["Ada", "Lovelace", "wrote"]] * 3, [["B-PER", "I-PER", "O"]] * 3)
    /// >>> tagger.spans(["Ada", "Lovelace", "wrote"])
    /// [(0, 2, 'PER')]
    #[pyo3(signature = (tokens, *, known=None))]
    fn spans(
        &self,
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        known: Option<Vec<Option<String>>>,
    ) -> PyResult<Vec<(usize, usize, String)>> {
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let names = self.model().labels();
        self.tagged(py, &sequence, &known, 1, false, |tagged| {
            let labels = tagged.decoded.best().labels.iter().map(|&y| names.name(y).unwrap_or_default());
            let labels: Vec<&str> = labels.collect();
            let found = Spans::detect(names.names()).unwrap_or(Spans::Runs).find(&labels);
            found.into_iter().map(|span| (span.start, span.end, span.kind.to_owned())).collect()
        })
    }

    /// How good the labels are: token and sequence accuracy, macro F1, and span F1 for labels that spell spans.
    #[pyo3(signature = (sequences, labels, *, threads=0))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        sequences: &Bound<'py, PyAny>,
        labels: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let sequences = sequences.try_iter()?.map(|tokens| self.sequence(&tokens?));
        let sequences = sequences.collect::<PyResult<Vec<_>>>()?;
        let gold = labels.try_iter()?.map(|labels| labels?.extract::<Vec<String>>());
        let gold = gold.collect::<PyResult<Vec<_>>>()?;
        if gold.len() != sequences.len() {
            return Err(error::shape(py, "labels", format!("{} sequences", sequences.len()), gold.len()));
        }
        let answers = py.detach(|| self.tag_all(&sequences, threads));
        let names = self.model().labels();
        let mut evaluation = Evaluation::new(Spans::detect(names.names()));
        for (i, (gold, answer)) in gold.iter().zip(answers).enumerate() {
            let labels = answer.map_err(|failed| error::in_batch(py, failed, i))?;
            let predicted: Vec<&str> = labels.iter().map(|&y| names.name(y).unwrap_or_default()).collect();
            evaluation.add(gold, &predicted).map_err(|failed| error::in_batch(py, failed, i))?;
        }
        let report = PyDict::new(py);
        report.set_item("accuracy", evaluation.tokens().share())?;
        report.set_item("sequence_accuracy", evaluation.sequences().share())?;
        report.set_item("macro_f1", evaluation.macro_f1())?;
        if let Some(spans) = evaluation.spans() {
            report.set_item("span_precision", spans.all.precision())?;
            report.set_item("span_recall", spans.all.recall())?;
            report.set_item("span_f1", spans.all.f1())?;
        }
        Ok(report)
    }

    /// Tags the rows of a table of Arrow whose columns are lists of strings, without a Python object per token.
    ///
    /// Args:
    ///     batch: a pyarrow Table, RecordBatch or Array, a polars DataFrame or Series, or anything with
    ///         `__arrow_c_stream__`.
    ///     column: the column of tokens, by default "tokens"; a list of names for models of several columns.
    ///     k: how many label sequences; with more than one, every column of the answer holds lists of them.
    ///     scores: add a column "score" ("scores").
    ///     probabilities: add the columns "probability" ("probabilities") and "confidences".
    ///     errors: "raise", or "column": a row that cannot be tagged becomes null, with a message in the column "error".
    ///     threads: 0 means all cores.
    ///
    /// Returns:
    ///     A pyarrow Table or a polars DataFrame, like the batch; for anything else an ArrowStream.
    #[pyo3(signature = (batch, column=None, *, k=1, scores=false, probabilities=false, errors="raise", threads=0))]
    fn tag_arrow<'py>(
        slf: &Bound<'py, Self>,
        batch: &Bound<'py, PyAny>,
        column: Option<&Bound<'py, PyAny>>,
        k: usize,
        scores: bool,
        probabilities: bool,
        errors: &str,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tag = slf.py().import("kbest._arrow")?.getattr("tag_arrow")?;
        tag.call1((slf, batch, column, k, scores, probabilities, errors, threads))
    }

    /// What the search does with a sequence: plan, opened labels, k best label sequences, probabilities. Notebooks show it
    /// as a page.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["a", "b"]], [["X", "Y"]])
    /// >>> tagger.explain(["a", "b"]).paths[0].labels.tolist() == [tagger.labels.index("X"), tagger.labels.index("Y")]
    /// True
    #[pyo3(signature = (tokens, *, k=3, known=None))]
    fn explain<'py>(
        slf: &Bound<'py, Self>,
        tokens: &Bound<'py, PyAny>,
        k: usize,
        known: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let explain = slf.py().import("kbest._explain")?.getattr("explain_tokens")?;
        explain.call1((slf, tokens, k, known))
    }

    /// Tags the rows of a stream.
    #[pyo3(signature = (stream, columns, k, scores, probabilities, errors, threads))]
    fn _tag_arrow(
        &self,
        py: Python<'_>,
        stream: &Bound<'_, PyAny>,
        columns: Vec<String>,
        k: usize,
        scores: bool,
        probabilities: bool,
        errors: bool,
        threads: usize,
    ) -> PyResult<arrow::ArrowStream> {
        if k == 0 {
            return Err(error::argument(py, "k", "at least 1", 0));
        }
        let decoder = Decoder::by_name(&self.decoder).and_then(|decoder| decoder.supports(k));
        decoder.map_err(|failed| error::exception(py, failed))?;
        arrow::tag(py, self, stream, &arrow::Wanted { columns, k, scores, probabilities, errors, threads })
    }

    /// What the search does with a sequence: see kbest.explain.
    #[pyo3(signature = (tokens, k, known=None))]
    fn _explain<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        k: usize,
        known: Option<Vec<Option<String>>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let decoder = crate::decode::named_decoder(py, &self.decoder, k)?;
        let seen = |tagger: &mut kbest::Tagger| {
            let seen = Seen::of(&tagger.lattice(&sequence, &known)?, &decoder, k)?;
            Ok(seen.with_marginals(tagger.distributions(&sequence, &known)?.to_vec()))
        };
        let seen: kbest::Result<Seen> = py.detach(|| self.with(false, seen));
        seen.map_err(|failed| error::exception(py, failed))?.into_python(py)
    }
}
