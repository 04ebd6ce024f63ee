//! The course of training, without the interpreter except to call back.

use super::data::Data;
use super::epoch::Epoch;
use crate::error;
use crate::tagger::{SharedModel, share};
use kbest::model::{AnyModel, WholeFile};
use kbest::text::{Format, TextFormat};
use kbest::train::{
    EpochEnd, OnHeldOut, Product, Recipe, Schedule, SegmentOptions, SegmentTrainingSet, Standing, Trainer,
    TrainingSet, fingerprint, fingerprint_of_sequences, load_checkpoint, save_checkpoint,
};
use kbest::{Error, Model, Sequence, TaggerOptions, Template};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use std::cell::Cell;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Why training ended before its schedule did.
pub(crate) enum Halt {
    Failed(Error),
    Raised(PyErr),
    Stopped,
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Halt::Failed(error)
    }
}

impl Halt {
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Halt::Failed(failed) => error::exception(py, failed),
            Halt::Raised(exception) => exception,
            Halt::Stopped => error::argument(py, "callback", "a pass before it stops", "none"),
        }
    }
}

/// Everything training needs.
pub(crate) struct Job<'a> {
    pub(crate) recipe: &'a Recipe,
    pub(crate) segments: Option<SegmentOptions>,
    pub(crate) schedule: Schedule,
    pub(crate) checkpoint: Option<&'a Path>,
    pub(crate) resume: bool,
    pub(crate) callback: Option<&'a Py<PyAny>>,
    /// Options of the tagger that the model is for.
    pub(crate) tagging: &'a TaggerOptions,
}

/// Where a run is kept, and what distinguishes it from others.
struct Kept<'a> {
    state: &'a Path,
    best: PathBuf,
    key: u64,
    resume: bool,
    begun: Cell<bool>, // whether something of this run is written
}

/// The remark that ties a best model to its run.
const RUN: &str = "run";

impl<'a> Job<'a> {
    /// Without anything that need not be there.
    pub(crate) fn new(recipe: &'a Recipe, tagging: &'a TaggerOptions) -> Self {
        let (segments, schedule) = (None, recipe.schedule());
        Job { recipe, segments, schedule, checkpoint: None, resume: false, callback: None, tagging }
    }

    /// Trains on data that lies elsewhere; `key` distinguishes it from other data.
    pub(crate) fn learn_sharded(
        &self,
        trainer: &mut (dyn Trainer<Model = Model> + 'static),
        text: TextFormat,
        key: u64,
    ) -> Result<SharedModel, Halt> {
        let kept = self.kept(|| key);
        self.learn(trainer, text, None, kept, share, |model: Model| Ok(model.pruned(0.0)?.0))
    }

    /// Trains, calling back after each epoch.
    pub(super) fn run(
        &self,
        data: Data,
        template: Option<Template>,
        dev: Option<&[Sequence]>,
    ) -> Result<SharedModel, Halt> {
        let Data { sequences, is_items, text } = data;
        let usual = if is_items { TextFormat::new(Format::Items) } else { TextFormat::default() };
        let text = text.unwrap_or(usual);
        if self.recipe.algorithm.is_unsupervised() {
            let mut trainer = self.recipe.unsupervised(&sequences)?;
            return self.learn(&mut trainer, text, None, None, share, Ok);
        }
        let source = self.recipe.feature_source(template, &sequences, is_items)?;
        if let Some(options) = &self.segments {
            let depends_on = self.depends_on(dev) + &format!("{options:?}");
            let data =
                SegmentTrainingSet::new(&sequences, source, self.recipe.min_frequency, options.clone())?;
            drop(sequences);
            let data = Arc::new(data);
            let mut trainer = self.recipe.segment_trainer(&data)?;
            let kept = self.kept(|| fingerprint(&*data, &depends_on));
            return self.learn(&mut *trainer, text, dev, kept, share, Ok);
        }
        let data = TrainingSet::new(&sequences, source, self.recipe.min_frequency)?;
        let data = Arc::new(self.recipe.with_agreement(data)?);
        drop(sequences);
        let mut trainer = self.recipe.trainer(&data)?;
        let kept = self.kept(|| fingerprint(&*data, &self.depends_on(dev)));
        self.learn(&mut *trainer, text, dev, kept, share, |model: Model| {
            // Features without weights cost memory and time and change no score.
            let keeps = self.recipe.keep_features || model.voters().is_some() || model.support().is_some();
            Ok(match self.recipe.prune {
                Some(threshold) => model.pruned(threshold)?.0,
                None if keeps => model,
                None => model.pruned(0.0)?.0,
            })
        })
    }

    /// Refuses constraints and decoders that the tagger would refuse, before the work begins. Labels are known by then; a
    /// trainer that has no model yet is left to the tagger.
    fn check_tagging<M>(
        &self,
        trainer: &(dyn Trainer<Model = M> + 'static),
        share: fn(M) -> SharedModel,
    ) -> kbest::Result<()> {
        if *self.tagging == TaggerOptions::default() {
            return Ok(());
        }
        match trainer.model() {
            Ok(model) => share(model).engine(self.tagging).map(|_| ()),
            Err(_) => Ok(()),
        }
    }

    /// Everything that the course of training depends on besides the data, as text.
    fn depends_on(&self, dev: Option<&[Sequence]>) -> String {
        let dev = dev.map(fingerprint_of_sequences);
        format!("{} {dev:?}", self.recipe.depends_on())
    }

    fn kept(&self, key: impl FnOnce() -> u64) -> Option<Kept<'_>> {
        let state = self.checkpoint?;
        let mut best = state.as_os_str().to_owned();
        best.push(".best");
        Some(Kept { state, best: best.into(), key: key(), resume: self.resume, begun: Cell::new(false) })
    }

    /// Runs the schedule; returns the model of its end, or the best one on held-out data.
    fn learn<M: Product>(
        &self,
        trainer: &mut (dyn Trainer<Model = M> + 'static),
        text: TextFormat,
        dev: Option<&[Sequence]>,
        kept: Option<Kept<'_>>,
        share: fn(M) -> SharedModel,
        polish: impl FnOnce(M) -> kbest::Result<M>,
    ) -> Result<SharedModel, Halt> {
        self.check_tagging(trainer, share)?;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut measure =
            dev.map(|dev| move |model: &Arc<M>| M::held_out(model, dev, cores, self.recipe.dev_by));
        let measure: Option<OnHeldOut<'_, M>> = measure.as_mut().map(|measure| measure as _);
        let (mut last, mut best) = match &kept {
            Some(kept) => kept.resume(trainer)?,
            None => Default::default(),
        };
        let (standing, mut begun) = (last, Instant::now());
        let on_epoch = |end: &EpochEnd<'_, M>, trainer: &(dyn Trainer<Model = M> + 'static)| {
            last = end.standing;
            if let Some(model) = end.best_model {
                best = Some(model.to_bytes()?);
            }
            if let Some(kept) = &kept {
                kept.keep(end, trainer)?;
            }
            let told = self.tell(end, begun.elapsed().as_secs_f64());
            begun = Instant::now();
            told
        };
        last = match self.schedule.run(trainer, standing, measure, &mut |_| (), on_epoch) {
            Ok(standing) => standing,
            Err(Halt::Stopped) => last,
            Err(other) => return Err(other),
        };
        let model = match best {
            Some(best) => M::from_bytes(&best, "<best>")?,
            None => trainer.model()?,
        };
        let remark = |name: &str, value: String| (name.to_owned(), value);
        let about = vec![
            remark("algorithm", self.recipe.algorithm.name().into()),
            remark("epochs", last.epochs.to_string()),
            remark("options", self.recipe.as_typed()),
            remark("program", format!("kbest {} for Python", env!("CARGO_PKG_VERSION"))),
        ];
        Ok(share(polish(model)?.with_about(text, about)?))
    }

    /// Calls back; the callback stops training by returning False. Ctrl-C does, too, as an exception.
    fn tell<M>(&self, end: &EpochEnd<'_, M>, seconds: f64) -> Result<(), Halt> {
        Python::attach(|py| {
            py.check_signals().map_err(Halt::Raised)?;
            let Some(callback) = self.callback else { return Ok(()) };
            let answer = callback.call1(py, (Epoch::new(end, seconds),)).map_err(Halt::Raised)?;
            let stop = answer.bind(py).cast::<PyBool>().is_ok_and(|answer| !answer.is_true());
            if stop { Err(Halt::Stopped) } else { Ok(()) }
        })
    }
}

/// The standing of a run, and its best model as bytes.
type Progress = (Standing, Option<Vec<u8>>);

impl Kept<'_> {
    fn run(&self) -> String {
        format!("{:016x}", self.key)
    }

    /// Where the last run stopped; the beginning if there was none, or nobody asked.
    fn resume<M: Product>(
        &self,
        trainer: &mut (dyn Trainer<Model = M> + 'static),
    ) -> kbest::Result<Progress> {
        let name = self.state.display().to_string();
        let bytes = match std::fs::read(self.state) {
            Ok(bytes) if self.resume => bytes,
            Err(error) if self.resume && error.kind() != ErrorKind::NotFound => {
                return Err(Error::io(&*name, 0, error));
            }
            _ => return Ok(Progress::default()),
        };
        let standing = load_checkpoint(&name, &bytes, self.key, trainer)?;
        let best = match standing.best {
            None => None,
            Some(_) => {
                let is_ours = |(name, run): &(String, String)| name == RUN && *run == self.run();
                if !AnyModel::load(&self.best)?.about().iter().any(is_ours) {
                    let name = self.best.display().to_string();
                    return Err(Error::data(name, 0, "the best model of this run", "one of another run"));
                }
                Some(M::load(&self.best)?.to_bytes()?)
            }
        };
        Ok((standing, best))
    }

    /// Writes what the next run needs. The file is replaced at once, so that a killed run leaves the old one or the new one.
    fn keep<M: Product>(
        &self,
        end: &EpochEnd<'_, M>,
        trainer: &(dyn Trainer<Model = M> + 'static),
    ) -> kbest::Result<()> {
        let failed = |error| Error::io(self.state.display().to_string(), 0, error);
        // A checkpoint of an earlier run that this one does not resume must not be found beside a best model of this run.
        if !self.resume && !self.begun.replace(true) {
            match std::fs::remove_file(self.state) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        if let Some(model) = end.best_model {
            model.save_with_remark(&self.best, RUN, &self.run())?;
        }
        let bytes = save_checkpoint(self.key, &end.standing, trainer);
        let write = || {
            let mut file = WholeFile::create(self.state)?;
            file.write_all(&bytes)?;
            file.finish()
        };
        write().map_err(failed)
    }
}
