//! Training in shards, as functions of bytes and tables: what `kbest.sharded` and `kbest.spark` are made of.

use crate::arrow;
use crate::error;
use crate::options::{Keywords, of_tagger, plain};
use crate::tagger::PyTagger;
use crate::train::Job;
use kbest::text::TextFormat;
use kbest::train::Recipe;
use kbest::train::shards::{self, FAN, ShardPlan, Sharded, Vocabulary, Workers};
use kbest::{Error, Model, Sequence, TaggerOptions, Template};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The keywords of a run in shards by their tables, checked.
fn read_options(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<(Recipe, TaggerOptions)> {
    let (mut recipe, mut tagging) = Default::default();
    let own = ["id", "tokens", "labels", "shards", "callback", "checkpoint", "resume"];
    let mut keywords = Keywords::of("train", &own, Some(options))?;
    keywords.take(py, &mut recipe, plain)?;
    keywords.take(py, &mut tagging, of_tagger)?;
    keywords.finish(py)?;
    ShardPlan::check(&recipe).map_err(|failed| error::exception(py, failed))?;
    Ok((recipe, tagging))
}

/// The labels and features of a part of the data, with counts.
///
/// Args:
///     options: of training, as for kbest.train.
///     template: the text of a CRF++ template.
///     columns: how many columns of tokens there are.
#[pyclass(name = "ShardVocabulary", module = "kbest")]
pub(crate) struct ShardVocabulary {
    vocabulary: Vocabulary,
    min_frequency: u32,
}

#[pymethods]
impl ShardVocabulary {
    #[new]
    #[pyo3(signature = (options, template, columns))]
    fn new(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        template: Option<&str>,
        columns: usize,
    ) -> PyResult<Self> {
        let (recipe, _) = read_options(py, options)?;
        if recipe.features.as_deref() == Some("numbers") {
            return Err(error::argument(py, "features", "a feature set that needs no other data", "numbers"));
        }
        let made = || {
            let template =
                template.map(|text| Template::parse_bytes(text.as_bytes(), "template")).transpose()?;
            let mut first = Sequence::new();
            first.push(vec!["word"; columns]); // only its width matters
            recipe.feature_source(template, &[first], false)
        };
        let source = made().map_err(|failed| error::exception(py, failed))?;
        Ok(ShardVocabulary { vocabulary: Vocabulary::new(source), min_frequency: recipe.min_frequency })
    }

    /// Whether words must be counted everywhere before features are.
    #[getter]
    fn wants_words(&self) -> bool {
        self.vocabulary.wants_words()
    }

    /// The word counts of a table.
    fn words<'py>(
        &self,
        py: Python<'py>,
        stream: &Bound<'py, PyAny>,
        columns: Vec<String>,
        labels: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let sequences = arrow::labelled(py, stream, &columns, labels)?;
        let mut counted = self.vocabulary.clone();
        counted.count_words(&sequences);
        Ok(PyBytes::new(py, &counted.words_to_bytes()))
    }

    /// The labels and features of a table.
    fn observe<'py>(
        &self,
        py: Python<'py>,
        stream: &Bound<'py, PyAny>,
        columns: Vec<String>,
        labels: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let sequences = arrow::labelled(py, stream, &columns, labels)?;
        let mut counted = self.vocabulary.clone();
        let bytes = py.detach(|| counted.observe(&sequences).map(|()| counted.to_bytes()));
        Ok(PyBytes::new(py, &bytes.map_err(|failed| error::exception(py, failed))?))
    }

    /// The word counts of everything that was absorbed.
    fn words_to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.vocabulary.words_to_bytes())
    }

    /// Adds word counts.
    fn absorb_words(&mut self, py: Python<'_>, counts: &[u8]) -> PyResult<()> {
        self.vocabulary.absorb_words(counts).map_err(|failed| error::exception(py, failed))
    }

    /// Adds labels and features.
    fn absorb(&mut self, py: Python<'_>, counts: &[u8]) -> PyResult<()> {
        self.vocabulary.absorb(counts).map_err(|failed| error::exception(py, failed))
    }

    /// A model with these labels and features, and no weights.
    fn freeze<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.vocabulary.clone().freeze(self.min_frequency)?.to_bytes());
        Ok(PyBytes::new(py, &bytes.map_err(|failed| error::exception(py, failed))?))
    }
}

/// What all shards of a run agree on, and what is done with one of them.
///
/// Args:
///     options: of training, as for kbest.train.
///     model: labels and features, as ShardVocabulary.freeze returns them.
///     observed: what the shards observed, merged; for a CRF, before it is trained.
#[pyclass(frozen, name = "ShardPlan", module = "kbest")]
pub(crate) struct PyShardPlan {
    plan: Arc<ShardPlan>,
    recipe: Recipe,
    tagging: TaggerOptions,
}

#[pymethods]
impl PyShardPlan {
    #[new]
    #[pyo3(signature = (options, model, observed=None))]
    fn new(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        model: &[u8],
        observed: Option<&[u8]>,
    ) -> PyResult<Self> {
        let (recipe, tagging) = read_options(py, options)?;
        let made = || {
            let plan = ShardPlan::new(Model::from_bytes(model, "<plan>")?, &recipe)?;
            match observed {
                Some(observed) => plan.with_observed(&[observed]),
                None => Ok(plan),
            }
        };
        let plan = py.detach(made).map_err(|failed| error::exception(py, failed))?;
        Ok(PyShardPlan { plan: Arc::new(plan), recipe, tagging })
    }

    /// Everything that the course of training depends on besides the data, as text.
    #[getter]
    fn depends_on(&self) -> String {
        self.recipe.depends_on()
    }

    /// Whether shards must tell what they observe before training begins.
    #[getter]
    fn wants_observed(&self) -> bool {
        self.plan.wants_observed()
    }

    /// A table as a shard.
    fn number<'py>(
        &self,
        py: Python<'py>,
        stream: &Bound<'py, PyAny>,
        columns: Vec<String>,
        labels: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let sequences = arrow::labelled(py, stream, &columns, labels)?;
        self.bytes(py, || self.plan.number(&sequences))
    }

    /// What a shard observes.
    fn observed<'py>(&self, py: Python<'py>, shard: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, || self.plan.observed(shard))
    }

    /// What several shards observed, as if they were one.
    fn merge_observed<'py>(
        &self,
        py: Python<'py>,
        shards: Vec<PyBackedBytes>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, || self.plan.merge_observed(&shards))
    }

    /// The answer of shard number `index` to a step.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        index: u64,
        shard: &[u8],
        step: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, || self.plan.answer(index, shard, step))
    }

    /// The sum of at most FAN answers.
    fn add<'py>(&self, py: Python<'py>, answers: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, || self.plan.add(&answers.iter().map(|answer| &answer[..]).collect::<Vec<_>>()))
    }

    /// The sum of all answers, in the order of the shards.
    fn total<'py>(&self, py: Python<'py>, answers: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyBytes>> {
        self.bytes(py, || shards::total(&self.plan, answers.iter().map(|answer| answer.to_vec()).collect()))
    }

    /// Answers are added in groups of this many.
    #[classattr]
    const FAN: usize = FAN;

    /// Trains: `run` takes a step and returns the sum of all answers to it.
    ///
    /// Args:
    ///     run: called for each step.
    ///     key: a number that distinguishes the data.
    ///     callback, checkpoint, resume: as for kbest.train.
    #[pyo3(signature = (run, key, *, callback=None, checkpoint=None, resume=false))]
    fn train(
        &self,
        py: Python<'_>,
        run: Py<PyAny>,
        key: u64,
        callback: Option<Py<PyAny>>,
        checkpoint: Option<PathBuf>,
        resume: bool,
    ) -> PyResult<PyTagger> {
        let raised = Raised::default();
        let workers = Called { run, raised: raised.clone() };
        let (checkpoint, callback) = (checkpoint.as_deref(), callback.as_ref());
        let job = Job { checkpoint, resume, callback, ..Job::new(&self.recipe, &self.tagging) };
        let trained = py.detach(|| {
            let mut trainer = Sharded::new(self.plan.clone(), workers)?;
            job.learn_sharded(&mut trainer, TextFormat::default(), key)
        });
        let model = trained.map_err(|halt| match raised.take() {
            Some(exception) => exception,
            None => halt.raised(py),
        })?;
        PyTagger::new(py, model, self.tagging.clone())
    }
}

impl PyShardPlan {
    fn bytes<'py>(
        &self,
        py: Python<'py>,
        make: impl FnOnce() -> kbest::Result<Vec<u8>> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(make).map_err(|failed| error::exception(py, failed))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// An exception on its way through the library, which knows only its own errors.
#[derive(Clone, Default)]
struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Workers that a Python function runs.
struct Called {
    run: Py<PyAny>,
    raised: Raised,
}

impl Workers for Called {
    fn run(&mut self, step: &[u8]) -> kbest::Result<Vec<u8>> {
        Python::attach(|py| {
            let answer = self.run.call1(py, (PyBytes::new(py, step),));
            answer
                .and_then(|answer| answer.extract::<PyBackedBytes>(py).map_err(PyErr::from))
                .map(|answer| answer.to_vec())
                .map_err(|exception| {
                    *self.raised.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(exception);
                    Error::argument("run", "the sum of all answers", "an exception")
                })
        })
    }
}
