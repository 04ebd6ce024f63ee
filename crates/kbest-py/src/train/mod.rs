//! `train`: labelled sequences in, a tagger out.
//!
//! `data.rs` reads what Python has, `segments.rs` the options of models of segments; `job.rs` runs, `epoch.rs` tells.

mod data;
mod epoch;
mod job;
mod segments;

pub(crate) use epoch::Epoch;
pub(crate) use job::Job;

use crate::error;
use crate::tagger::PyTagger;
use data::{FileOptions, read_data};
use kbest::train::{Algorithm, Loss, Optimizer, Recipe, Schedule};
use kbest::{Error, Template};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use segments::SegmentGiven;
use std::path::PathBuf;

/// Learns to label sequences.
///
/// Args:
///     X: sequences of tokens, or a file. A token is a string, a tuple of columns, a list of features or a dict of features
///         (see Tagger). Lists, generators and other iterables are read once.
///     y: a list of labels per sequence. Without it X holds pairs (tokens, labels).
///     algorithm: "averaged" (perceptron), "perceptron", "voted", "pa", "crf", "dual", "hmm", "baum-welch" (without labels),
///         "semi" and "semi-crf" (models of segments).
///     features: "words", "morphology", "columns", "numbers", or several, as in "words+columns"; "items" if the tokens are
///         lists of features (dicts always are). By default what suits the data, as `kbest train` decides.
///     template: a CRF++ template file that defines the features, beside those of features if that is given, too.
///     min_frequency: ignore features seen fewer than this many times.
///     epochs, patience: at most so many passes; with dev, stop after so many without improvement (by default 5; where each
///         step sees all data, as a CRF does by L-BFGS, 10 in which the loss stands still, too).
///     dev: held-out data, (X, y) or a file: keep the model that does best on it.
///     callback: called with an Epoch after each pass; training stops if it returns False.
///     checkpoint: a file that is replaced after each pass, so that the run can go on later (with held-out data there is another
///         file of the same name with ".best" added). Both stay when training ends.
///     resume: go on from the checkpoint, if there is one, with the same data and options (epochs and patience may differ).
///     segments: for "semi" and "semi-crf", how labels become segments: "auto", "runs" or a scheme such as "iob2".
///     longest_segment, lexicon, lines, segment_features: see `kbest train`; lexicon is a file or a list of files, lines a
///         column from 1, segment_features a list.
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
                    patience=None, dev=None, callback=None, checkpoint=None, resume=false, constraints=None, tag_decoder="auto", prune=None,
                    keep_features=false, format=None, label=None, fields=None, tabs=false, colon_words=false, seed=1,
                    threads=None, runs=None, decoder=None, agreement=None, longest=None, optimizer=None, c1=None, c2=None, all_states=false,
                    all_transitions=false, rate=None, batch=None, smoothing=None, states=None, kernel=None, loss=None,
                    no_averaging=false, C=None, gap=None, budget=None, segments=None, longest_segment=None,
                    lexicon=None, lines=None, segment_features=None))]
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
    checkpoint: Option<PathBuf>,
    resume: bool,
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
    runs: Option<usize>,
    decoder: Option<String>,
    agreement: Option<String>,
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
    segments: Option<&str>,
    longest_segment: Option<usize>,
    lexicon: Option<&Bound<'_, PyAny>>,
    lines: Option<usize>,
    segment_features: Option<Vec<String>>,
) -> PyResult<PyTagger> {
    let raise = |failed: Error| error::exception(py, failed);
    let recipe = Recipe {
        algorithm: Algorithm::by_name(algorithm).map_err(raise)?,
        seed,
        threads,
        runs,
        decoder,
        agreement,
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
    let given = SegmentGiven { segments, longest_segment, lexicon, lines, segment_features };
    let segments = given.options(py, recipe.algorithm)?;
    if resume && checkpoint.is_none() {
        return Err(error::argument(py, "resume", "a checkpoint to resume from", "none"));
    }
    if checkpoint.is_some() && recipe.algorithm.is_unsupervised() {
        return Err(error::argument(py, "checkpoint", "an algorithm that trains on labels", algorithm));
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
    let rules = crate::edges::rules_of(constraints)?;
    let job = Job {
        tagging: (&rules, tag_decoder),
        segments,
        min_frequency,
        prune,
        keep_features,
        checkpoint: checkpoint.as_deref(),
        resume,
        callback: callback.as_ref(),
        ..Job::new(&recipe, schedule)
    };
    let dev = dev.map(|dev| dev.sequences);
    let trained = py.detach(|| job.run(data, features, template, dev.as_deref()));
    let model = trained.map_err(|halt| halt.raised(py))?;
    PyTagger::new(py, model, rules, tag_decoder)
}
