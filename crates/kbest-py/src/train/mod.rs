//! `train`: labelled sequences in, a tagger out.
//!
//! `data.rs` reads what Python has; `job.rs` runs, `epoch.rs` tells.

mod data;
mod epoch;
mod job;

pub(crate) use epoch::Epoch;
pub(crate) use job::Job;

use crate::error;
use crate::options::{Keywords, of_tagger, plain};
use crate::tagger::PyTagger;
use data::read_data;
use kbest::TaggerOptions;
use kbest::text::FormatOptions;
use kbest::train::Recipe;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::path::PathBuf;

/// Learns to label sequences.
///
/// Args:
///     X: sequences of tokens, or a file. A token is a string, a tuple of columns, a list of features or a dict of features
///         (see Tagger). Lists, generators and other iterables are read once.
///     y: a list of labels per sequence. Without it X holds pairs (tokens, labels).
///     dev: held-out data, (X, y) or a file: keep the model that does best on it.
///     callback: called with an Epoch after each pass; training stops if it returns False.
///     checkpoint: a file that is replaced after each pass, so that the run can go on later (with held-out data there is another
///         file of the same name with ".best" added). Both stay when training ends.
///     resume: go on from the checkpoint, if there is one, with the same data and options (epochs and patience may differ).
///     options: the options of `kbest train`, such as algorithm, features, epochs, c2; how files are read (format, label, ...);
///         constraints and tag_decoder of the tagger that is returned. Two say more than on the command line: features may be
///         "items" if the tokens are lists of features (dicts always are), and lexicon may be one file or a list.
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
#[pyo3(signature = (X, y=None, *, dev=None, callback=None, checkpoint=None, resume=false, **options))]
#[allow(non_snake_case)] // the names that users of scikit-learn expect
pub(crate) fn train(
    py: Python<'_>,
    X: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    dev: Option<&Bound<'_, PyAny>>,
    callback: Option<Py<PyAny>>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyTagger> {
    let (mut recipe, format, tagging) = read_options(py, options)?;
    let is_items = recipe.features.take_if(|features| features == "items").is_some();
    if is_items && recipe.template.is_some() {
        return Err(error::argument(py, "features", "sets that can be added to a template", "items"));
    }
    let supervised = !recipe.algorithm.is_unsupervised();
    for (name, given) in [("dev", dev.is_some()), ("checkpoint", checkpoint.is_some())] {
        if given && !supervised {
            let (expected, got) = ("an algorithm that trains on labels", recipe.algorithm.name());
            return Err(error::argument(py, name, expected, got));
        }
    }
    if resume && checkpoint.is_none() {
        return Err(error::argument(py, "resume", "a checkpoint to resume from", "none"));
    }
    let raise = |failed| error::exception(py, failed);
    if dev.is_none() {
        recipe.check_without_dev().map_err(raise)?;
    }
    let segments = recipe.algorithm.is_of_segments().then(|| recipe.segment_options());
    let segments = segments.transpose().map_err(raise)?;
    let template = recipe.read_template(false).map_err(raise)?;
    let mut data = read_data(py, X, y, &format, supervised)?;
    data.is_items |= is_items;
    let dev = match dev.map(|dev| (dev, dev.cast::<PyTuple>())) {
        Some((_, Ok(pair))) if pair.len() == 2 => {
            Some(read_data(py, &pair.get_item(0)?, Some(&pair.get_item(1)?), &format, true)?)
        }
        Some((dev, _)) => Some(read_data(py, dev, None, &format, true)?),
        None => None,
    };
    let (checkpoint, callback) = (checkpoint.as_deref(), callback.as_ref());
    let job = Job { segments, checkpoint, resume, callback, ..Job::new(&recipe, &tagging) };
    let dev = dev.map(|dev| dev.sequences);
    let trained = py.detach(|| job.run(data, template, dev.as_deref()));
    let model = trained.map_err(|halt| halt.raised(py))?;
    PyTagger::new(py, model, tagging)
}

/// The keywords of `train` by their tables, checked.
fn read_options(
    py: Python<'_>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Recipe, FormatOptions, TaggerOptions)> {
    let (mut recipe, mut format, mut tagging) = Default::default();
    let mut keywords = Keywords::of("train", &["dev", "callback", "checkpoint", "resume"], options)?;
    keywords.take(py, &mut recipe, plain)?;
    keywords.take(py, &mut format, plain)?;
    keywords.take(py, &mut tagging, of_tagger)?;
    keywords.finish(py)?;
    Recipe::check(&recipe).map_err(|failed| error::exception(py, failed))?;
    Ok((recipe, format, tagging))
}
