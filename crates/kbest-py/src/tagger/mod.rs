//! `Tagger`: a model as a Python object.
//!
//! The object is immutable. Calls borrow a tagger of the library from a pool (`pool.rs`), so any number of threads may use it at
//! once, and the memory of a tagger is kept from call to call. `model.rs` hides whether the model is one of positions or of
//! segments; `calls.rs` has what the methods share, `evaluation.rs` what `evaluate` returns.

mod calibrated;
mod calls;
mod evaluation;
mod model;
mod pool;
mod tagged_path;

pub(crate) use evaluation::PyEvaluation;
pub(crate) use model::{Answer, SharedModel, share};
pub(crate) use tagged_path::TaggedPath;

use crate::arrow;
use crate::error;
use crate::explain::Seen;
use crate::options::{self, Keywords};
use crate::segments::PySegmentMarginals;
use kbest::model::AnyModel;
use kbest::{LabelSet, TaggerOptions};
use model::{Engine, check_decoder, shared};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::Mutex;

/// Labels text with a model.
///
/// Models of kbest (of single positions or of segments), CRFsuite, CRF++ (text) and Wapiti can be loaded. A token is a string, a
/// tuple of columns, a list of features or a dict of features, as the model was trained. Threads may share a tagger, and it can
/// be pickled.
///
/// >>> import kbest
/// >>> X = [["the", "old", "man"], ["the", "boats"]]
/// >>> y = [["DET", "ADJ", "NOUN"], ["DET", "NOUN"]]
/// >>> tagger = kbest.train(X, y)
/// >>> tagger.tag(["the", "boats"])
/// ['DET', 'NOUN']
#[pyclass(frozen, name = "Tagger", module = "kbest")]
pub(crate) struct PyTagger {
    engine: Box<dyn Engine>,
    model: SharedModel,
    options: TaggerOptions,
    tags: LabelSet,                         // what positions can be labelled with
    idle: [Mutex<Vec<Box<dyn Engine>>>; 2], // without and with confidences
    names: PyOnceLock<Vec<Py<PyString>>>,   // of the tags
}

/// The options of a tagger: those given, and the others as they are.
fn tagger_options(
    py: Python<'_>,
    function: &'static str,
    mut options: TaggerOptions,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<TaggerOptions> {
    let mut keywords = Keywords::of(function, &[], given)?;
    keywords.take(py, &mut options, options::plain)?;
    keywords.finish(py)?;
    Ok(options)
}

/// Known labels by name.
type Names = Option<Vec<Option<String>>>;

#[pymethods]
impl PyTagger {
    /// Loads a model of kbest, CRFsuite, CRF++ (text) or Wapiti; the first bytes of the file tell which it is.
    ///
    /// Args:
    ///     path: the file.
    ///     options: such as constraints ("auto", a scheme such as "iob2", a transition file, or a list of these) and decoder
    ///         (see kbest.decoders()); kbest.options("tagger") lists all.
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn load(py: Python<'_>, path: PathBuf, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = tagger_options(py, "Tagger.load", TaggerOptions::default(), options)?;
        let model = py.detach(|| AnyModel::load(&path)).map_err(|failed| error::exception(py, failed))?;
        Self::new(py, shared(model), options)
    }

    /// A model from the bytes of its file; options as for load.
    #[staticmethod]
    #[pyo3(signature = (data, **options))]
    fn from_bytes(py: Python<'_>, data: &[u8], options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = tagger_options(py, "Tagger.from_bytes", TaggerOptions::default(), options)?;
        let model = AnyModel::from_bytes(data, "<bytes>").map_err(|failed| error::exception(py, failed))?;
        Self::new(py, shared(model), options)
    }

    /// A tagger with the model of this one and other options, as for load. What is not given stays as it is; `constraints=[]`
    /// lifts them.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["a", "b"]] * 3, [["B-X", "I-X"]] * 3)
    /// >>> tagger.using(constraints="iob2").constraints
    /// ('iob2',)
    #[pyo3(signature = (**options))]
    fn using(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let options = tagger_options(py, "Tagger.using", self.options.clone(), options)?;
        Self::new(py, self.model.clone(), options)
    }

    /// Writes the model to a file, as `kbest train` does.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let save = || self.model.save(&path);
        py.detach(save).map_err(|failed| error::exception(py, failed))
    }

    /// Writes labels and weights of a model of single positions to a safetensors file.
    fn save_safetensors(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let model = self.positions(py, "save_safetensors")?;
        py.detach(|| model.to_safetensors(&path)).map_err(|failed| error::exception(py, failed))
    }

    /// The bytes that `save` would write.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.model.to_bytes());
        let bytes = bytes.map_err(|failed| error::exception(py, failed))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let restore = py.get_type::<PyTagger>().getattr("_restore")?;
        Ok((restore, (self.to_bytes(py)?, self._options(py)?).into_pyobject(py)?))
    }

    #[staticmethod]
    fn _restore(py: Python<'_>, data: &[u8], options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = tagger_options(py, "Tagger._restore", TaggerOptions::default(), Some(options))?;
        let model = AnyModel::from_bytes(data, "<pickle>").map_err(|failed| error::exception(py, failed))?;
        Self::new(py, shared(model), options)
    }

    /// The options that were given, as keywords.
    #[getter]
    fn _options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        options::given(py, &self.options)
    }

    /// Names of the model's labels, which are the columns of `marginals`; for models of segments the names of segments.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.model.labels().names())
    }

    /// What positions can be labelled with: the labels, or for models of segments the tags that spell them, such as B-PER.
    #[getter]
    fn tags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.names(py).iter().map(|name| name.bind(py)))
    }

    /// "positions" or "segments".
    #[getter]
    fn kind(&self) -> &'static str {
        self.model.kind()
    }

    /// The constraints it obeys.
    #[getter]
    fn constraints<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.options.constraints)
    }

    /// The name of its decoder.
    #[getter]
    fn decoder(&self) -> &str {
        &self.options.decoder
    }

    /// Where its features come from: "template", "patterns", "items", "numbers" or the name of a feature set; several are joined
    /// by "+".
    #[getter]
    fn features(&self) -> String {
        self.model.extractor().source().name().into_owned()
    }

    /// Where the model comes from: algorithm, epochs, program.
    #[getter]
    fn about<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let about = PyDict::new(py);
        for (name, value) in self.model.about() {
            about.set_item(name, value)?;
        }
        Ok(about)
    }

    /// How scores become probabilities: the temperature, and the points of a curve; None if the model is not calibrated.
    #[getter]
    fn calibration(&self) -> Option<(f64, Vec<(f64, f64)>)> {
        let calibration = self.model.calibration();
        calibration.map(|how| (how.temperature(), how.curve().to_vec()))
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
        let labels = self.model.labels().len();
        format!("Tagger(kind={:?}, labels={labels}, features={:?})", self.kind(), self.features())
    }

    /// The best labels of one sequence. `known` holds a label or None for each position.
    #[pyo3(signature = (tokens, *, known=None))]
    fn tag<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        known: Names,
    ) -> PyResult<Bound<'py, PyList>> {
        let answers = self.answers(tokens, known, 1, false)?;
        self.named(py, &answers[0].tags)
    }

    /// The best labels of many sequences, on all cores (or `threads`).
    #[pyo3(signature = (sequences, *, threads=0))]
    fn tag_batch<'py>(
        &self,
        py: Python<'py>,
        sequences: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let sequences = self.sequences(sequences)?;
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
        known: Names,
        probabilities: bool,
    ) -> PyResult<Vec<TaggedPath>> {
        let answers = self.answers(tokens, known, k, probabilities)?;
        answers.iter().map(|answer| TaggedPath::new(py, self, answer)).collect()
    }

    /// (T, L) probabilities of all labels at all positions; calibrated if the model is.
    #[pyo3(signature = (tokens, *, known=None))]
    fn marginals<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        known: Names,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let sums = self.sums(tokens, known)?;
        let labels = self.model.labels().len();
        let positions = sums.node.len() / labels;
        PyArray1::from_vec(py, sums.node).reshape([positions, labels])
    }

    /// Probabilities of labels and boundaries, of a model of segments: see kbest.segments.marginals.
    #[pyo3(signature = (tokens, *, known=None))]
    fn segment_marginals(
        &self,
        py: Python<'_>,
        tokens: &Bound<'_, PyAny>,
        known: Names,
    ) -> PyResult<PySegmentMarginals> {
        let sums = self.sums(tokens, known)?;
        match sums.segments {
            Some((boundary, log_partition)) => {
                PySegmentMarginals::new(py, sums.node, boundary, log_partition)
            }
            None => Err(self.unsupported(py, "segment_marginals", "segments")),
        }
    }

    /// (T, L) node scores of a sequence, before constraints; of models of single positions.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let labels = self.positions(py, "scores")?.labels().len();
        let sequence = self.sequence(tokens)?;
        let scores = self.on_lattice(py, &sequence, None, |lattice| Ok(lattice.nodes().to_vec()))?;
        PyArray1::from_vec(py, scores).reshape([sequence.len(), labels])
    }

    /// Spans of the best labels: (start, end, type), the end being the position after the last. For labels that spell
    /// spans, such as B-PER and I-PER; otherwise runs of equal labels other than O. Models of segments answer with their segments.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["Ada", "Lovelace", "wrote"]] * 3, [["B-PER", "I-PER", "O"]] * 3)
    /// >>> tagger.spans(["Ada", "Lovelace", "wrote"])
    /// [(0, 2, 'PER')]
    #[pyo3(signature = (tokens, *, known=None))]
    fn spans(&self, tokens: &Bound<'_, PyAny>, known: Names) -> PyResult<Vec<(usize, usize, String)>> {
        Ok(self.spans_of(&self.answers(tokens, known, 1, false)?[0]))
    }

    /// How good the labels are: counts of right tokens, sequences, labels and spans.
    ///
    /// >>> import kbest
    /// >>> tagger = kbest.train([["a", "b"]], [["X", "Y"]])
    /// >>> tagger.evaluate([["a"], ["b"]], [["X"], ["X"]])["accuracy"]
    /// 0.5
    #[pyo3(signature = (sequences, labels, *, threads=0))]
    fn evaluate(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<PyEvaluation> {
        let sequences = self.labelled(sequences, labels)?;
        let answers = py.detach(|| self.tag_all(&sequences, threads));
        self.counted(py, &sequences, answers)
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
    ///     longest: rows with more tokens than this cannot be tagged.
    ///     threads: 0 means all cores.
    ///
    /// Returns:
    ///     A pyarrow Table or a polars DataFrame, like the batch; for anything else an ArrowStream.
    #[pyo3(signature = (batch, column=None, *, k=1, scores=false, probabilities=false, errors="raise",
                        longest=None, threads=0))]
    fn tag_arrow<'py>(
        slf: &Bound<'py, Self>,
        batch: &Bound<'py, PyAny>,
        column: Option<&Bound<'py, PyAny>>,
        k: usize,
        scores: bool,
        probabilities: bool,
        errors: &str,
        longest: Option<usize>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let tag = slf.py().import("kbest._arrow")?.getattr("tag_arrow")?;
        tag.call1((slf, batch, column, k, scores, probabilities, errors, longest, threads))
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
    #[pyo3(signature = (stream, columns, k, scores, probabilities, errors, longest, threads))]
    fn _tag_arrow(
        &self,
        py: Python<'_>,
        stream: &Bound<'_, PyAny>,
        columns: Vec<String>,
        k: usize,
        scores: bool,
        probabilities: bool,
        errors: bool,
        longest: Option<usize>,
        threads: usize,
    ) -> PyResult<arrow::ArrowStream> {
        check_decoder(&self.model, &self.options, k).map_err(|failed| error::exception(py, failed))?;
        let longest = longest.unwrap_or(usize::MAX);
        let wanted = arrow::Wanted { columns, k, scores, probabilities, errors, longest, threads };
        arrow::tag(py, self, stream, &wanted)
    }

    /// Counts right labels in the rows of a stream.
    fn _evaluate_arrow(
        &self,
        py: Python<'_>,
        stream: &Bound<'_, PyAny>,
        columns: Vec<String>,
        labels: &str,
        threads: usize,
    ) -> PyResult<PyEvaluation> {
        arrow::evaluate(py, self, stream, &columns, labels, threads)
    }

    /// What the search does with a sequence: see kbest.explain.
    #[pyo3(signature = (tokens, k, known=None))]
    fn _explain<'py>(
        &self,
        py: Python<'py>,
        tokens: &Bound<'py, PyAny>,
        k: usize,
        known: Names,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.positions(py, "explain")?;
        let decoder = crate::decode::named_decoder(py, &self.options.decoder, k)?;
        let (sequence, known) = (self.sequence(tokens)?, self.known(py, known)?);
        let marginals = self.with(false, |engine| engine.sums(&sequence, known.as_deref()));
        let marginals = marginals.map_err(|failed| error::exception(py, failed))?.node;
        let seen = self.on_lattice(py, &sequence, known, |lattice| Seen::of(lattice, &decoder, k))?;
        seen.with_marginals(marginals).into_python(py)
    }
}
