//! `kbest train`: labelled text in, a model out.
//!
//! After an epoch, but at most every five seconds, a checkpoint is written beside the model (`MODEL.checkpoint`), and with held-out data the best
//! model so far (`MODEL.best`); both are removed when the model itself is written. `--resume` continues from there. See
//! `beside.rs`.

mod beside;
mod clock;
mod memory;
mod origin;
mod report;

use crate::calibrate::calibrated;
use crate::failure::{Failure, Result, as_typed};
use crate::options::Typed;
use crate::output::{Output, Progress, keep_inputs};
use crate::text::{self, CheckSequence, Data, Source, read_labelled, read_unlabelled};
use beside::{Checkpoint, Lock};
use clap::Args;
use clock::Clock;
use kbest::feature::{FeatureSource, Numbers};
use kbest::train::{
    EpochEnd, OnHeldOut, Product, Recipe, Schedule, SegmentTrainingSet, Standing, Trainer, TrainingSet,
    accuracy, fingerprint, fingerprint_of_sequences,
};
use kbest::{Error, Model, Sequence};
use origin::Origin;
use report::{Pruned, Report};
use std::cell::RefCell;
use std::collections::HashSet;
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
  kbest train train.tsv -m model.kbest --template template --features words
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
  columns     nearby cells of every column, pairs of neighbours; added to words
              or morphology, of every column but the first
  numbers     all columns are numbers, scaled to mean 0 and equal variance
Sets add up, as in `words+columns`, and to a template; `numbers` stands alone. Without --template and --features, \
the set is `words` for one column and `words+columns` for several; for CRFsuite items, the features are the \
attributes. The algorithms hmm and baum-welch have features of their own.

Templates are those of CRF++, with four more macros: %prefix[row,column,length], %suffix[row,column,length], \
%shape[row,column], %fold[row,column].")]
pub(crate) struct Arguments {
    /// Labelled data; stdin if absent or `-`
    #[arg(value_name = "DATA")]
    files: Vec<PathBuf>,
    /// File to write the model to
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    recipe: Typed<Recipe>,
    /// Refuse what CRF++ would not understand in the template
    #[arg(long, requires = "template", conflicts_with = "features", help_heading = "Features")]
    strict_crfpp: bool,
    /// Held-out data: keep the model that does best on it
    #[arg(long, value_name = "FILE")]
    dev: Option<PathBuf>,
    /// Continue an interrupted run with the same data and options
    #[arg(long)]
    resume: bool,
    /// Held-out data, not used for training: fit probabilities to it, so that --marginals mean what they say (as `kbest
    /// calibrate` does)
    #[arg(long, value_name = "FILE")]
    calibrate: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
    /// Print a report as JSON on stdout
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    quiet: bool,
}

/// The labels of a sequence, as far as it has any.
fn labels_of(sequence: &Sequence) -> impl Iterator<Item = &str> {
    (0..sequence.len()).filter_map(|t| sequence.label(t))
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let begun = Instant::now();
    check(arguments)?;
    let _lock = Lock::take(&arguments.model)?;
    let recipe = &*arguments.recipe;
    if recipe.algorithm.is_unsupervised() {
        return run_without_labels(arguments, begun);
    }
    let numbers = recipe.features.as_deref() == Some(NUMBERS);
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
    if let (Some(path), Some(held_out)) = (&arguments.calibrate, calibrate) {
        let known: HashSet<&str> = sequences.iter().flat_map(labels_of).collect();
        if !held_out.iter().flat_map(labels_of).any(|label| known.contains(label)) {
            let problem =
                "expected labels of the training data, got none; are they where --format expects them?";
            return Err(Failure::input(&path.display().to_string(), problem));
        }
    }
    let mut report = Report::new(arguments.quiet, arguments.json);
    let features = feature_source(arguments, &source, &sequences)?;
    let origin = Origin::of(arguments, &sequences, dev.as_deref());
    let (source, dev) = (&source, dev.as_deref());
    let run = |key, sequences| Run { arguments, source, dev, calibrate, key, sequences, origin };
    if recipe.algorithm.is_of_segments() {
        let options = recipe.segment_options().map_err(as_typed)?;
        let depends_on = format!("{} {options:?}", depends_on(recipe, dev));
        let data = SegmentTrainingSet::new(&sequences, features, recipe.min_frequency, options)?;
        let data = Arc::new(data);
        report.segments(&data, begun.elapsed());
        report.loss_means(recipe.loss_means());
        let mut trainer = recipe.segment_trainer(&data).map_err(as_typed)?;
        let key = fingerprint(&*data, &depends_on);
        return run(key, data.examples().len())
            .to_the_end(&mut *trainer, report, begun, |model, _| Ok(model));
    }
    let data = TrainingSet::new(&sequences, features, recipe.min_frequency)?;
    let data = Arc::new(recipe.with_agreement(data).map_err(as_typed)?);
    report.data(&data, begun.elapsed());
    report.loss_means(recipe.loss_means());
    memory::warn_of_memory(recipe, &data);
    let mut trainer = recipe.trainer(&data).map_err(as_typed)?;
    let key = fingerprint(&*data, &depends_on(recipe, dev));
    run(key, data.examples().len()).to_the_end(&mut *trainer, report, begun, |model: Model, report| {
        let measured_on = dev.map_or((&sequences[..], "the training data"), |dev| (dev, "the held-out data"));
        let model = prune(model, recipe.prune, measured_on, report)?;
        // Features without weights cost memory and time and change no score.
        let keeps_features = recipe.keep_features || model.voters().is_some() || model.support().is_some();
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
    origin: Origin,
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
        let Run { arguments, source, dev, calibrate, key, sequences, ref origin } = *self;
        let schedule = arguments.recipe.schedule();
        let cores = text::threads(None)?;
        let by = schedule.by;
        let mut measure = dev.map(|dev| move |model: &Arc<M>| M::held_out(model, dev, cores, by));
        let measure: Option<OnHeldOut<'_, M>> = measure.as_mut().map(|measure| measure as _);
        let mut checkpoint = Checkpoint::new(&arguments.model, key)?;
        let standing = resume(arguments, &checkpoint, trainer, &report)?;
        let standing =
            learn(&schedule, trainer, standing, measure, sequences, Some(&mut checkpoint), &mut report)?;
        report.ended(&schedule, &standing);
        let model = match dev {
            Some(_) if standing.best.is_some() => checkpoint.best()?,
            _ => trainer.model()?,
        };
        let model = polish(model, &mut report)?;
        let about = origin.about(&schedule, &standing);
        let mut model = model.with_about(source.text_format().clone(), about)?;
        if let Some(sequences) = calibrate {
            let how;
            (model, how) = calibrated(model, sequences, cores, self.arguments.quiet)?;
            report.calibrated(&how);
        }
        model.save(&arguments.model)?;
        checkpoint.remove();
        report.finish(&arguments.model, begun.elapsed())
    }
}

/// Everything that the course of training depends on besides the data, as text.
fn depends_on(recipe: &Recipe, dev: Option<&[Sequence]>) -> String {
    format!("{} {:?}", recipe.depends_on(), dev.map(fingerprint_of_sequences))
}

/// The standing that training begins with.
fn resume<M: Product>(
    arguments: &Arguments,
    checkpoint: &Checkpoint<M>,
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
    let recipe = &*arguments.recipe;
    let given = [
        ("--dev", arguments.dev.is_some()),
        ("--calibrate", arguments.calibrate.is_some()),
        ("--resume", arguments.resume),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage(format!(
            "{option}: expected an algorithm that trains on labels, got {}",
            recipe.algorithm.name()
        )));
    }
    let (sequences, source) = read_unlabelled(&arguments.data, &arguments.files, None)?;
    let mut trainer = recipe.unsupervised(&sequences).map_err(as_typed)?;
    let mut report = Report::new(arguments.quiet, arguments.json);
    report.loss_means(recipe.loss_means());
    let schedule = recipe.schedule();
    let standing =
        learn(&schedule, &mut trainer, Standing::default(), None, sequences.len(), None, &mut report)?;
    report.ended(&schedule, &standing);
    let about = Origin::of(arguments, &sequences, None).about(&schedule, &standing);
    trainer.model()?.with_about(source.text_format().clone(), about)?.save(&arguments.model)?;
    report.finish(&arguments.model, begun.elapsed())
}

/// Refuses early what would otherwise fail after hours of training.
fn check(arguments: &Arguments) -> Result<()> {
    let recipe = &*arguments.recipe;
    recipe.check().map_err(as_typed)?;
    if arguments.dev.is_none() {
        recipe.check_without_dev().map_err(as_typed)?;
    }
    if recipe.algorithm.is_of_segments() {
        recipe.segment_options().map_err(as_typed)?; // refused before anything is read
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
        let others = [&arguments.dev, &arguments.calibrate, &recipe.template];
        files.chain(others.into_iter().flatten()).chain(&recipe.lexicon).map(PathBuf::as_path)
    };
    beside::expect_file(&arguments.model)?;
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
    mut checkpoint: Option<&mut Checkpoint<M>>,
    report: &mut Report,
) -> Result<Standing> {
    let bar = Progress::of_passes(sequences, report.is_quiet());
    let may_end_early = measure.is_some() || schedule.still.is_some();
    let mut clock = Clock::start(standing.epochs, schedule.epochs, may_end_early);
    bar.name(&clock.pass());
    let clock = RefCell::new(&mut clock);
    schedule.run(
        trainer,
        standing,
        measure,
        &mut |progress| {
            bar.at(progress.done);
            bar.say(&clock.borrow().left(progress.done as f64 / sequences.max(1) as f64));
        },
        |end: &EpochEnd<'_, M>, trainer: &(dyn Trainer<Model = M> + 'static)| {
            checkpoint.as_mut().map_or(Ok(()), |checkpoint| checkpoint.keep(end, trainer))?;
            let took = clock.borrow_mut().end_pass();
            let left = (!schedule.is_over(&end.standing)).then(|| clock.borrow().left(0.0));
            bar.hidden(|| report.epoch(schedule, end, took, left.as_deref()));
            bar.name(&clock.borrow().pass());
            Ok(())
        },
    )
}

/// Where features come from: as requested, else what suits the data.
fn feature_source(arguments: &Arguments, source: &Source, sequences: &[Sequence]) -> Result<FeatureSource> {
    let recipe = &*arguments.recipe;
    let template = recipe.read_template(arguments.strict_crfpp)?;
    recipe.feature_source(template, sequences, source.is_items()).map_err(|error| {
        match (&recipe.template, error) {
            (Some(path), Error::Argument { what, expected, got }) if what == "template" => {
                Failure::input(&path.display().to_string(), format!("expected {expected}, got {got}"))
            }
            (_, error) => as_typed(error),
        }
    })
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
