//! `train`: labelled sequences in, a tagger out.

use crate::error;
use crate::sequence::{labelled, sequence};
use crate::tagger::PyTagger;
use kbest::columns::{Field, Format, LabelExpression, Reader, ReaderOptions, Separator, TextFormat};
use kbest::train::{
    Algorithm, AnyTrainer, EpochEnd, Loss, OnHeldOut, Optimizer, Recipe, Schedule, Standing, Trainer,
    TrainingSet, held_out,
};
use kbest::{Error, Model, Sequence, Template};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// What `train` tells its callback after each pass over the data.
///
/// Attributes:
///     epoch: passes done.
///     loss: what the algorithm minimises, on the training data.
///     accuracy: share of right labels on the training data; None if the algorithm does not predict while it learns.
///     dev_accuracy: the same on the held-out data, if there is any.
///     best: whether this is the best model on the held-out data so far.
///     seconds: how long the pass took.
#[pyclass(frozen, name = "Epoch", module = "kbest", get_all)]
pub(crate) struct Epoch {
    epoch: usize,
    loss: f64,
    accuracy: Option<f64>,
    dev_accuracy: Option<f64>,
    best: bool,
    seconds: f64,
}

/// What an `Epoch` is made of, in order.
type EpochFields = (usize, f64, Option<f64>, Option<f64>, bool, f64);

#[pymethods]
impl Epoch {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, EpochFields)> {
        let Epoch { epoch, loss, accuracy, dev_accuracy, best, seconds } = *self;
        let restore = py.get_type::<Epoch>().getattr("_restore")?;
        Ok((restore, (epoch, loss, accuracy, dev_accuracy, best, seconds)))
    }

    #[staticmethod]
    fn _restore(
        epoch: usize,
        loss: f64,
        accuracy: Option<f64>,
        dev_accuracy: Option<f64>,
        best: bool,
        seconds: f64,
    ) -> Self {
        Epoch { epoch, loss, accuracy, dev_accuracy, best, seconds }
    }

    fn __repr__(&self) -> String {
        format!("Epoch(epoch={}, loss={:?})", self.epoch, self.loss)
    }
}

/// Sequences, whether their cells are features, and how the file was read, if it was one.
struct Data {
    sequences: Vec<Sequence>,
    is_items: bool,
    text: Option<TextFormat>,
}

/// How files are read.
#[derive(Clone, Copy)]
struct FileOptions<'a> {
    format: Option<&'a str>,
    label: Option<&'a str>,
    fields: Option<&'a Vec<String>>,
    tabs: bool,
    colon_words: bool,
}

impl FileOptions<'_> {
    fn read(&self, path: &PathBuf, supervised: bool) -> kbest::Result<Data> {
        let mut text = TextFormat::default();
        if let Some(name) = self.format {
            text.format = Format::by_name(name)?;
        } else if let Some(format) = Format::by_ending(path) {
            text.format = format;
        }
        if let Some(label) = self.label {
            text.label = LabelExpression::parse(label)?;
        }
        if let Some(fields) = self.fields {
            text.fields = fields.iter().map(|name| Field::by_name(name)).collect::<kbest::Result<_>>()?;
        }
        if self.tabs {
            text.separator = Separator::Tab;
        }
        text.colon_words |= self.colon_words;
        let options: ReaderOptions = text.clone().into();
        let mut reader = Reader::open(path, &options.labelled(supervised).required(supervised))?;
        let mut sequences = Vec::new();
        let mut sequence = Sequence::new();
        while reader.read_into(&mut sequence)? {
            if supervised && !sequence.is_labelled() {
                let (file, line) = (reader.file().to_owned(), reader.first_line());
                return Err(Error::data(file, line, "a label at every position", "none"));
            }
            sequences.push(sequence.clone());
        }
        Ok(Data { sequences, is_items: text.format == Format::Items, text: Some(text) })
    }
}

/// A file name: a string or a path.
fn path_of(value: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    let is_path = value.is_instance_of::<PyString>() || value.hasattr("__fspath__")?;
    if is_path { value.extract().map(Some) } else { Ok(None) }
}

fn read_data(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    files: FileOptions<'_>,
    supervised: bool,
) -> PyResult<Data> {
    if let Some(path) = path_of(x)? {
        if y.is_some() {
            return Err(error::argument(py, "y", "None with a file, which has its own labels", "labels"));
        }
        return py.detach(|| files.read(&path, supervised)).map_err(|failed| error::exception(py, failed));
    }
    let (mut sequences, mut is_items) = (Vec::new(), false);
    let mut keep = |(sequence, dicts): (Sequence, bool)| {
        is_items |= dicts;
        sequences.push(sequence);
    };
    match y {
        _ if !supervised => {
            for tokens in x.try_iter()? {
                keep(sequence(&tokens?)?);
            }
        }
        Some(y) => {
            let mut labels = y.try_iter()?;
            for (i, tokens) in x.try_iter()?.enumerate() {
                match labels.next() {
                    Some(of) => keep(labelled(&tokens?, &of?, i)?),
                    None => {
                        return Err(error::shape(
                            py,
                            "y",
                            "labels for every sequence",
                            format!("{i} of them"),
                        ));
                    }
                }
            }
            if labels.next().is_some() {
                return Err(error::shape(py, "y", "as many sequences as X has", "more"));
            }
        }
        None => {
            for (i, pair) in x.try_iter()?.enumerate() {
                let pair = pair?;
                let Ok((tokens, labels)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                    let expected = "labels, or X as pairs (tokens, labels), or a file";
                    return Err(error::argument(py, "y", expected, "None"));
                };
                keep(labelled(&tokens, &labels, i)?);
            }
        }
    }
    Ok(Data { sequences, is_items, text: None })
}

/// Why training ended before its schedule did.
enum Halt {
    Failed(Error),
    Raised(PyErr),
    Stopped,
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Failed(error)
    }
}

/// Everything training needs, without the interpreter.
struct Job<'a> {
    recipe: &'a Recipe,
    schedule: Schedule,
    min_frequency: u32,
    prune: Option<f32>,
    keep_features: bool,
    callback: Option<&'a Py<PyAny>>,
}

impl Job<'_> {
    /// Trains, calling back after each epoch, and returns the model and the number of epochs.
    fn run(
        &self,
        data: Data,
        features: Option<&str>,
        template: Option<Template>,
        dev: Option<Vec<Sequence>>,
    ) -> Result<Model, Halt> {
        let Data { sequences, is_items, text } = data;
        let is_items = is_items || features == Some("items");
        let features = features.filter(|name| *name != "items");
        if self.recipe.algorithm.is_unsupervised() {
            let mut trainer = self.recipe.unsupervised(&sequences)?;
            let (standing, _) = self.learn(&mut trainer, None)?;
            return Ok(self.finished(trainer.model()?, text, standing, is_items)?);
        }
        let source = self.recipe.feature_source(template, features, &sequences, is_items)?;
        let data = Arc::new(TrainingSet::new(&sequences, source, self.min_frequency)?);
        drop(sequences);
        let mut trainer = self.recipe.trainer(&data)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut measure =
            dev.as_deref().map(|dev| move |model: &Arc<Model>| held_out(model, dev, cores, None));
        let measure: Option<OnHeldOut<'_, Model>> = measure.as_mut().map(|measure| measure as _);
        let (standing, best) = self.learn(&mut *trainer, measure)?;
        let model = match best {
            Some(best) => Model::from_bytes(&best, "<best>")?,
            None => trainer.model()?,
        };
        // Features without weights cost memory and time and change no score.
        let keeps = self.keep_features || model.voters().is_some() || model.support().is_some();
        let model = match self.prune {
            Some(threshold) => model.pruned(threshold)?.0,
            None if keeps => model,
            None => model.pruned(0.0)?.0,
        };
        Ok(self.finished(model, text, standing, is_items)?)
    }

    /// Runs the schedule; returns where it ended, and the best model on held-out data as bytes.
    fn learn(
        &self,
        trainer: &mut AnyTrainer,
        measure: Option<OnHeldOut<'_, Model>>,
    ) -> Result<(Standing, Option<Vec<u8>>), Halt> {
        let (mut begun, mut best, mut last) = (Instant::now(), None, Standing::default());
        let on_epoch = |end: &EpochEnd<'_, Model>, _: &AnyTrainer| {
            last = end.standing;
            if let Some(model) = end.best_model {
                best = Some(model.to_bytes()?);
            }
            let seconds = begun.elapsed().as_secs_f64();
            let told = self.tell(end, seconds);
            begun = Instant::now();
            told
        };
        match self.schedule.run(trainer, Standing::default(), measure, &mut |_| (), on_epoch) {
            Ok(standing) => Ok((standing, best)),
            Err(Halt::Stopped) => Ok((last, best)),
            Err(other) => Err(other),
        }
    }

    /// Calls back; the callback stops training by returning False. Ctrl-C does, too, as an exception.
    fn tell(&self, end: &EpochEnd<'_, Model>, seconds: f64) -> Result<(), Halt> {
        Python::attach(|py| {
            py.check_signals().map_err(Halt::Raised)?;
            let Some(callback) = self.callback else { return Ok(()) };
            let report = &end.report;
            let epoch = Epoch {
                epoch: end.standing.epochs,
                loss: report.loss,
                accuracy: (report.right > 0).then(|| report.right as f64 / report.tokens.max(1) as f64),
                dev_accuracy: end.held_out.map(|held_out| held_out.accuracy),
                best: end.best_model.is_some(),
                seconds,
            };
            let answer = callback.call1(py, (epoch,)).map_err(Halt::Raised)?;
            let stop = answer.bind(py).cast::<PyBool>().is_ok_and(|answer| !answer.is_true());
            if stop { Err(Halt::Stopped) } else { Ok(()) }
        })
    }

    /// The model with remarks on its origin.
    fn finished(
        &self,
        model: Model,
        text: Option<TextFormat>,
        standing: Standing,
        is_items: bool,
    ) -> kbest::Result<Model> {
        let mut parts = model.into_parts();
        let usual = if is_items { TextFormat::new(Format::Items) } else { TextFormat::default() };
        parts.text_format = Some(text.unwrap_or(usual));
        let remark = |name: &str, value: String| (name.to_owned(), value);
        parts.about = vec![
            remark("algorithm", self.recipe.algorithm.name().into()),
            remark("epochs", standing.epochs.to_string()),
            remark("options", self.recipe.as_typed()),
            remark("program", format!("kbest {} for Python", env!("CARGO_PKG_VERSION"))),
        ];
        Model::new(parts)
    }
}

/// Learns to label sequences.
///
/// Args:
///     X: sequences of tokens, or a file. A token is a string, a tuple of columns, a list of features or a dict of features
///         (see Tagger). Lists, generators and other iterables are read once.
///     y: a list of labels per sequence. Without it X holds pairs (tokens, labels).
///     algorithm: "averaged" (perceptron), "perceptron", "voted", "pa", "crf", "dual", "hmm", "baum-welch" (without labels).
///     features: "words", "morphology", "columns", "numbers", or several, as in "words+columns"; "items" if the tokens are
///         lists of features (dicts always are). By default what suits the data, as `kbest train` decides.
///     template: a CRF++ template file that defines the features, beside those of features if that is given, too.
///     min_frequency: ignore features seen fewer than this many times.
///     epochs, patience: at most so many passes; with dev, stop after so many without improvement (by default 5; where each
///         step sees all data, as a CRF does by L-BFGS, 10 in which the loss stands still, too).
///     dev: held-out data, (X, y) or a file: keep the model that does best on it.
///     callback: called with an Epoch after each pass; training stops if it returns False.
///     constraints, tag_decoder: of the tagger that is returned, see Tagger.load.
///     prune, keep_features: drop weights smaller than this; keep features without weights.
///     format, label, fields, tabs, colon_words: how files are read, as for `kbest train`.
///     Everything else: options of the algorithms, with the names and defaults of `kbest train`.
///
/// Returns:
///     A Tagger.
///
/// >>> import kbest
/// >>> X = [["time", "flies"], ["fruit", "flies", "like", "time"]]
/// >>> y = [["N", "V"], ["N", "N", "V", "N"]]
/// >>> losses = []
/// >>> tagger = kbest.train(X, y, epochs=3, callback=lambda epoch: losses.append(epoch.loss))
/// >>> len(losses), tagger.tag(["time", "flies"])
/// (3, ['N', 'V'])
#[pyfunction]
#[pyo3(signature = (X, y=None, *, algorithm="averaged", features=None, template=None, min_frequency=1, epochs=None,
                    patience=None, dev=None, callback=None, constraints=None, tag_decoder="auto", prune=None,
                    keep_features=false, format=None, label=None, fields=None, tabs=false, colon_words=false, seed=1,
                    threads=None, decoder=None, longest=None, optimizer=None, c1=None, c2=None, all_states=false,
                    all_transitions=false, rate=None, batch=None, smoothing=None, states=None, kernel=None, loss=None,
                    no_averaging=false, C=None, gap=None, budget=None))]
#[allow(non_snake_case)] // the names that users of scikit-learn expect
pub(crate) fn train(
    py: Python<'_>,
    X: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    algorithm: &str,
    features: Option<&str>,
    template: Option<PathBuf>,
    min_frequency: u32,
    epochs: Option<usize>,
    patience: Option<usize>,
    dev: Option<&Bound<'_, PyAny>>,
    callback: Option<Py<PyAny>>,
    constraints: Option<&Bound<'_, PyAny>>,
    tag_decoder: &str,
    prune: Option<f32>,
    keep_features: bool,
    format: Option<&str>,
    label: Option<&str>,
    fields: Option<Vec<String>>,
    tabs: bool,
    colon_words: bool,
    seed: u64,
    threads: Option<usize>,
    decoder: Option<String>,
    longest: Option<f32>,
    optimizer: Option<&str>,
    c1: Option<f64>,
    c2: Option<f64>,
    all_states: bool,
    all_transitions: bool,
    rate: Option<f64>,
    batch: Option<usize>,
    smoothing: Option<f64>,
    states: Option<usize>,
    kernel: Option<String>,
    loss: Option<&str>,
    no_averaging: bool,
    C: Option<f64>,
    gap: Option<f64>,
    budget: Option<usize>,
) -> PyResult<PyTagger> {
    let raise = |failed: Error| error::exception(py, failed);
    let recipe = Recipe {
        algorithm: Algorithm::by_name(algorithm).map_err(raise)?,
        seed,
        threads,
        decoder,
        longest,
        optimizer: optimizer.map(Optimizer::by_name).transpose().map_err(raise)?,
        c1,
        c2,
        all_states,
        all_transitions,
        rate,
        batch,
        smoothing,
        states,
        kernel,
        loss: loss.map(Loss::by_name).transpose().map_err(raise)?,
        no_averaging,
        c: C,
        gap,
        budget,
    };
    recipe.check().map_err(raise)?;
    if recipe.algorithm.is_of_segments() {
        let expected = "one for single positions (`kbest train` trains models of segments)";
        return Err(error::argument(py, "algorithm", expected, algorithm));
    }
    if epochs == Some(0) {
        return Err(error::argument(py, "epochs", "at least 1", 0));
    }
    if template.is_some() && features == Some("items") {
        return Err(error::argument(py, "features", "sets that can be added to a template", "items"));
    }
    if let Some(threshold) = prune.filter(|t| t.is_nan() || *t < 0.0 || !recipe.algorithm.can_be_pruned()) {
        let expected = "0 or more, with an algorithm that learns weights";
        return Err(error::argument(py, "prune", expected, format!("{threshold} with {algorithm}")));
    }
    let template = match template {
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read(&path).map_err(|failed| raise(Error::io(&*name, 0, failed)))?;
            Some(Template::parse_bytes(&text, &name).map_err(raise)?)
        }
        None => None,
    };
    let files = FileOptions { format, label, fields: fields.as_ref(), tabs, colon_words };
    let supervised = !recipe.algorithm.is_unsupervised();
    let data = read_data(py, X, y, files, supervised)?;
    let dev = match dev {
        Some(_) if !supervised => {
            return Err(error::argument(py, "dev", "an algorithm that trains on labels", algorithm));
        }
        Some(dev) => match dev.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => {
                Some(read_data(py, &pair.get_item(0)?, Some(&pair.get_item(1)?), files, true)?)
            }
            _ => Some(read_data(py, dev, None, files, true)?),
        },
        None => None,
    };
    let usual = recipe.schedule();
    let schedule = Schedule {
        epochs: epochs.unwrap_or(usual.epochs),
        patience: patience.unwrap_or(usual.patience),
        ..usual
    };
    let job =
        Job { recipe: &recipe, schedule, min_frequency, prune, keep_features, callback: callback.as_ref() };
    let trained = py.detach(|| job.run(data, features, template, dev.map(|dev| dev.sequences)));
    let model = trained.map_err(|halt| match halt {
        Halt::Failed(failed) => raise(failed),
        Halt::Raised(exception) => exception,
        Halt::Stopped => error::argument(py, "callback", "a pass before it stops", "none"),
    })?;
    PyTagger::new(py, Arc::new(model), crate::edges::rules_of(constraints)?, tag_decoder)
}
