//! `kbest train`: labelled text in, a model out.
//!
//! After every epoch a checkpoint is written beside the model (`MODEL.checkpoint`), and with held-out data the best
//! model so far (`MODEL.best`); both are removed when the model itself is written. `--resume` continues from there. See
//! `beside.rs`.

mod algorithm;
mod beside;
mod report;
mod segments;

use crate::calibrate::calibrated;
use crate::failure::{Failure, Result, as_typed};
use crate::output::{Output, Progress, keep_inputs};
use crate::text::{self, CheckSequence, Data, Source, read_labelled, read_unlabelled};
use algorithm::AlgorithmOptions;
use beside::{Checkpoint, Lock};
use clap::Args;
use kbest::feature::{FeatureSource, Numbers};
use kbest::train::{
    EpochEnd, OnHeldOut, Product, Schedule, SegmentTrainingSet, Standing, Trainer, TrainingSet, accuracy,
    fingerprint, fingerprint_of_sequences,
};
use kbest::{Error, Model, Sequence, Template};
use report::{Pruned, Report};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The feature set whose scale is fitted to the data.
const NUMBERS: &str = "numbers";

/// Train a model on labelled text
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kbest train train.tsv -m model.kbest
  kbest train train.tsv -m model.kbest --template template --dev dev.tsv
  kbest train ud.conllu -m model.kbest --label upos+feats --features morphology
  kbest train train.tsv -m model.kbest --algorithm crf --c2 0.1
  kbest train a -m model --features numbers --algorithm dual --kernel rbf:1
  kbest train train.tsv -m model.kbest --algorithm semi --lexicon cities.txt
  kbest train train.tsv -m model.kbest --calibrate dev.tsv

Data: columns separated by spaces or tabs, the last one the label, and a blank line after each sequence; for other \
formats see --format.

Algorithms:
  averaged    perceptron, averaged over all intermediate weight vectors
  perceptron  perceptron, final weights
  voted       perceptron, every intermediate weight vector votes; for small
              problems
  pa          passive-aggressive: corrections as large as needed, averaged
  crf         conditional random field: labels get probabilities
  dual        kernels between tokens, see --kernel and --loss
  semi        segments instead of single tokens: averaged perceptron
  semi-crf    segments: conditional random field, segments get probabilities
  hmm         hidden Markov model, by counting
  baum-welch  hidden Markov model of unlabelled data, with --states states

Feature sets:
  words       first column: nearby words, word pairs, prefixes, suffixes, shape
  morphology  first column: for rich tag sets, with an emphasis on endings
  columns     nearby cells of every column, pairs of neighbours
  numbers     all columns are numbers, scaled to mean 0 and equal variance
  hmm         first column: the word, suffixes of rare words; the features of
              the algorithms hmm and baum-welch
Without --template and --features, the set is `words` for one column and `columns` for several; for CRFsuite items, \
the features are the attributes.")]
pub(crate) struct Arguments {
    /// Labelled data; stdin if absent or `-`
    #[arg(value_name = "DATA")]
    files: Vec<PathBuf>,
    /// File to write the model to
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// CRF++ template that defines the features
    #[arg(long, value_name = "FILE", conflicts_with = "features")]
    template: Option<PathBuf>,
    /// Ready-made feature set: words, morphology, columns, numbers, hmm (see below)
    #[arg(long, value_name = "SET")]
    features: Option<String>,
    /// Ignore features seen fewer than N times
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_frequency: u32,
    #[command(flatten)]
    algorithm: AlgorithmOptions,
    /// Maximum number of passes over the data [default: 10; baum-welch, crf and semi-crf with lbfgs, dual with --loss margin or slack: 100]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Held-out data: keep the model that does best on it
    #[arg(long, value_name = "FILE")]
    dev: Option<PathBuf>,
    /// With --dev: stop after N passes without improvement
    #[arg(long, value_name = "N", default_value_t = 5)]
    patience: usize,
    /// Continue an interrupted run with the same data and options
    #[arg(long)]
    resume: bool,
    /// Held-out data, not used for training: fit probabilities to it, so that --marginals mean what they say (as `kbest
    /// calibrate` does)
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,
    /// Drop weights smaller than this from the finished model, and report the accuracy before and after
    #[arg(long, value_name = "WEIGHT")]
    prune: Option<f32>,
    /// Keep features without weights in the model
    #[arg(long, conflicts_with = "prune")]
    keep_features: bool,
    #[command(flatten)]
    data: Data,
    /// Print a report as JSON on stdout
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let begun = Instant::now();
    check(arguments)?;
    let _lock = Lock::take(&arguments.model)?;
    let recipe = arguments.algorithm.recipe();
    if recipe.algorithm.is_unsupervised() {
        return run_without_labels(arguments, begun);
    }
    let numbers = arguments.features.as_deref() == Some(NUMBERS);
    let check = numbers.then_some(&Numbers::check_cells as CheckSequence<'_>);
    let (sequences, source) = read_labelled(&arguments.data, &arguments.files, check)?;
    let dev = match &arguments.dev {
        Some(path) => Some(read_labelled(&arguments.data, std::slice::from_ref(path), check)?.0),
        None => None,
    };
    let held_out = match &arguments.calibrate {
        Some(path) => Some(read_labelled(&arguments.data, std::slice::from_ref(path), check)?.0),
        None => None,
    };
    let calibrate = held_out.as_deref();
    let mut report = Report::new(arguments.quiet, arguments.json);
    let features = feature_source(arguments, &source, &sequences)?;
    if recipe.algorithm.is_of_segments() {
        let options = arguments.algorithm.segment_options()?;
        let data = SegmentTrainingSet::new(&sequences, features, arguments.min_frequency, options)?;
        let data = Arc::new(data);
        report.segments(&data, begun.elapsed());
        let mut trainer = recipe.segment_trainer(&data).map_err(as_typed)?;
        let key = fingerprint(&*data, &depends_on(arguments, dev.as_deref()));
        let run = Run {
            arguments,
            source: &source,
            dev: dev.as_deref(),
            calibrate,
            key,
            sequences: data.examples().len(),
        };
        return run.to_the_end(&mut *trainer, report, begun, |model, _| Ok(model));
    }
    let data = Arc::new(TrainingSet::new(&sequences, features, arguments.min_frequency)?);
    report.data(&data, begun.elapsed());
    let mut trainer = recipe.trainer(&data).map_err(as_typed)?;
    let key = fingerprint(&*data, &depends_on(arguments, dev.as_deref()));
    let run = Run {
        arguments,
        source: &source,
        dev: dev.as_deref(),
        calibrate,
        key,
        sequences: data.examples().len(),
    };
    run.to_the_end(&mut *trainer, report, begun, |model: Model, report| {
        let measured_on =
            dev.as_deref().map_or((&sequences[..], "the training data"), |dev| (dev, "the held-out data"));
        let model = prune(model, arguments.prune, measured_on, report)?;
        // Features without weights cost memory and time and change no score.
        let keeps_features = arguments.keep_features || model.voters().is_some() || model.support().is_some();
        Ok(if keeps_features { model } else { model.pruned(0.0)?.0 })
    })
}

/// One run of training, whatever it trains.
struct Run<'a> {
    arguments: &'a Arguments,
    source: &'a Source,
    dev: Option<&'a [Sequence]>,
    calibrate: Option<&'a [Sequence]>,
    key: u64,
    sequences: usize,
}

impl Run<'_> {
    /// Trains until it is time to stop, and writes the model; `polish` is applied to it before.
    fn to_the_end<M: Product>(
        &self,
        trainer: &mut (dyn Trainer<Model = M> + 'static),
        mut report: Report,
        begun: Instant,
        polish: impl FnOnce(M, &mut Report) -> Result<M>,
    ) -> Result<()> {
        let Run { arguments, source, dev, calibrate, key, sequences } = *self;
        let schedule = Schedule {
            epochs: arguments.epochs.unwrap_or_else(|| arguments.algorithm.recipe().default_epochs()),
            patience: arguments.patience,
        };
        let cores = text::threads(None)?;
        let mut measure = dev.map(|dev| move |model: &Arc<M>| M::accuracy(model, dev, cores));
        let measure: Option<OnHeldOut<'_, M>> = measure.as_mut().map(|measure| measure as _);
        let checkpoint = Checkpoint::new(&arguments.model, key)?;
        let standing = resume(arguments, &checkpoint, trainer, &report)?;
        let standing =
            learn(&schedule, trainer, standing, measure, sequences, Some(&checkpoint), &mut report)?;
        let model = match dev {
            Some(_) if standing.best.is_some() => checkpoint.best()?,
            _ => trainer.model()?,
        };
        let model = polish(model, &mut report)?;
        let mut model = with_about(model, arguments, source, &standing)?;
        if let Some(sequences) = calibrate {
            let how;
            (model, how) = calibrated(model, sequences, cores)?;
            report.calibrated(&how);
        }
        model.save(&arguments.model)?;
        checkpoint.remove();
        report.finish(&arguments.model, begun.elapsed())
    }
}

/// Everything that the course of training depends on besides the data, as text.
fn depends_on(arguments: &Arguments, dev: Option<&[Sequence]>) -> String {
    let dev = dev.map(fingerprint_of_sequences);
    format!("{} {} {dev:?}", arguments.algorithm.depends_on(), arguments.min_frequency)
}

/// The standing that training begins with.
fn resume<M: Product>(
    arguments: &Arguments,
    checkpoint: &Checkpoint,
    trainer: &mut (dyn Trainer<Model = M> + 'static),
    report: &Report,
) -> Result<Standing> {
    if !arguments.resume {
        if checkpoint.exists() {
            report.say(
                "starting over: the checkpoint of an earlier run is replaced (--resume would go on from it)",
            );
        }
        return Ok(Standing::default());
    }
    let standing = checkpoint.resume(trainer)?;
    report.say(&match &standing {
        Some(standing) => format!("resuming after epoch {}", standing.epochs),
        None => "no checkpoint to resume from: starting at the beginning".into(),
    });
    Ok(standing.unwrap_or_default())
}

/// Trains on unlabelled text. No checkpoint: a round is short, and there is no held-out data.
fn run_without_labels(arguments: &Arguments, begun: Instant) -> Result<()> {
    let given = [
        ("--dev", arguments.dev.is_some()),
        ("--calibrate", arguments.calibrate.is_some()),
        ("--resume", arguments.resume),
        ("--prune", arguments.prune.is_some()),
        ("--template", arguments.template.is_some()),
        ("--features", arguments.features.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!(
            "{option}: expected an algorithm that trains on labels, got {}",
            arguments.algorithm.name()
        )));
    }
    let (sequences, source) = read_unlabelled(&arguments.data, &arguments.files, None)?;
    let mut trainer = arguments.algorithm.recipe().unsupervised(&sequences).map_err(as_typed)?;
    let mut report = Report::new(arguments.quiet, arguments.json);
    let epochs = arguments.epochs.unwrap_or_else(|| arguments.algorithm.recipe().default_epochs());
    let schedule = Schedule { epochs, patience: arguments.patience };
    let standing =
        learn(&schedule, &mut trainer, Standing::default(), None, sequences.len(), None, &mut report)?;
    with_about(trainer.model()?, arguments, &source, &standing)?.save(&arguments.model)?;
    report.finish(&arguments.model, begun.elapsed())
}

/// Refuses early what would otherwise fail after hours of training.
fn check(arguments: &Arguments) -> Result<()> {
    arguments.algorithm.check()?;
    if arguments.epochs == Some(0) {
        return Err(Failure::Usage("--epochs: expected at least 1, got 0".into()));
    }
    if let Some(threshold) = arguments.prune {
        if threshold.is_nan() || threshold < 0.0 {
            return Err(Failure::Usage(format!("--prune: expected 0 or more, got {threshold}")));
        }
        if !arguments.algorithm.recipe().algorithm.can_be_pruned() {
            let name = arguments.algorithm.name();
            return Err(Failure::Usage(format!(
                "--prune: expected an algorithm that learns weights, got {name}"
            )));
        }
    }
    if let Some(held_out) = &arguments.calibrate {
        let same = |file: &PathBuf| file.canonicalize().ok() == held_out.canonicalize().ok();
        if held_out.exists() && arguments.files.iter().any(same) {
            return Err(Failure::Usage(format!(
                "--calibrate: expected data that the model is not trained on, got {}",
                held_out.display()
            )));
        }
    }
    let inputs = || {
        let files = arguments.files.iter().filter(|path| path.as_path() != Path::new("-"));
        let lexicons = arguments.algorithm.lexicons();
        files
            .chain(&arguments.dev)
            .chain(&arguments.calibrate)
            .chain(&arguments.template)
            .chain(lexicons)
            .map(PathBuf::as_path)
    };
    beside::outputs(&arguments.model).iter().try_for_each(|output| keep_inputs(output, inputs()))?;
    drop(Output::create(Some(&arguments.model))?); // fails if the folder cannot be written to
    Ok(())
}

/// Trains, reports progress and keeps what a resumed run needs.
fn learn<M: Product>(
    schedule: &Schedule,
    trainer: &mut (dyn Trainer<Model = M> + 'static),
    standing: Standing,
    measure: Option<OnHeldOut<'_, M>>,
    sequences: usize,
    checkpoint: Option<&Checkpoint>,
    report: &mut Report,
) -> Result<Standing> {
    let bar = Progress::new(sequences, report.is_quiet());
    let mut begun = Instant::now();
    schedule.run(
        trainer,
        standing,
        measure,
        &mut |progress| bar.at(progress.done),
        |end: &EpochEnd<'_, M>, trainer: &(dyn Trainer<Model = M> + 'static)| {
            checkpoint.map_or(Ok(()), |checkpoint| checkpoint.keep(end, trainer))?;
            bar.hidden(|| report.epoch(schedule, end, begun.elapsed()));
            begun = Instant::now();
            Ok(())
        },
    )
}

/// Where features come from: as requested, else what suits the data.
fn feature_source(arguments: &Arguments, source: &Source, sequences: &[Sequence]) -> Result<FeatureSource> {
    let template = arguments.template.as_deref().map(read_template).transpose()?;
    let (recipe, features) = (arguments.algorithm.recipe(), arguments.features.as_deref());
    recipe.feature_source(template, features, sequences, source.is_items()).map_err(|error| {
        match (&arguments.template, error) {
            (Some(path), Error::Argument { what, expected, got }) if what == "template" => {
                Failure::input(&path.display().to_string(), format!("expected {expected}, got {got}"))
            }
            (_, error) => as_typed(error),
        }
    })
}

fn read_template(path: &Path) -> Result<Template> {
    let text = std::fs::read(path).map_err(|error| Failure::system("read", path, error))?;
    Ok(Template::parse_bytes(&text, &path.display().to_string())?)
}

/// Drops small weights, and reports the accuracy on `sequences` before and after.
fn prune(
    model: Model,
    threshold: Option<f32>,
    (sequences, on): (&[Sequence], &str),
    report: &mut Report,
) -> Result<Model> {
    let Some(threshold) = threshold else { return Ok(model) };
    let weights_before = model.nodes().stored() + model.edges().stored();
    let (pruned, removed) = model.pruned(threshold)?;
    let [before, after] = [Arc::new(model), Arc::new(pruned)];
    let cores = text::threads(None)?;
    let told = Pruned {
        threshold,
        weights_before,
        weights_after: weights_before - removed,
        accuracy_before: accuracy(&before, sequences, cores)?,
        accuracy_after: accuracy(&after, sequences, cores)?,
    };
    report.pruned(told, on);
    drop(before);
    Ok(Arc::into_inner(after).expect("the taggers that shared the model are gone"))
}

/// The model with remarks on its origin.
fn with_about<M: Product>(
    model: M,
    arguments: &Arguments,
    source: &Source,
    standing: &Standing,
) -> Result<M> {
    let text = |name: &str, value: String| (name.to_owned(), value);
    let about = vec![
        text("algorithm", arguments.algorithm.name().into()),
        text("epochs", standing.epochs.to_string()),
        text("program", format!("kbest {}", env!("CARGO_PKG_VERSION"))),
    ];
    Ok(model.with_about(source.text_format().clone(), about)?)
}
