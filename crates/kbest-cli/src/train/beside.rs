//! The files beside a model in training: a lock, a checkpoint, and the best model so far.
//!
//! `MODEL.lock` says which process trains this model; it is locked as long as that process lives, so a killed run locks nobody
//! out. `MODEL.checkpoint` and `MODEL.best` belong to one run: they carry its fingerprint (data, features and options). Files
//! of other programs with these names are neither replaced nor removed.

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::write_file;
use kbest::model::AnyModel;
use kbest::train::{EpochEnd, Product, Standing, Trainer, is_checkpoint, load_checkpoint, save_checkpoint};
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The first words of a lock.
const LOCK: &str = "kbest train, process ";

/// The remark that ties the best model to its run.
const RUN: &str = "run";

/// The names beside a model, which may be a link.
fn beside(model: &Path, ending: &str) -> PathBuf {
    let mut name = model.canonicalize().unwrap_or_else(|_| model.to_owned()).into_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// The names of all files that training may write.
pub(super) fn outputs(model: &Path) -> [PathBuf; 4] {
    let [lock, state, best] = [".lock", ".checkpoint", ".best"].map(|ending| beside(model, ending));
    [model.to_owned(), lock, state, best]
}

/// Refuses a model that is there and no file: whatever is written to a pipe or a device is lost, or waits for a reader.
pub(super) fn expect_file(model: &Path) -> Result<()> {
    match std::fs::metadata(model) {
        Ok(found) if !found.is_file() && !found.is_dir() => {
            let problem = "expected a regular file, or a name that is free, got a pipe, a socket or a device";
            Err(Failure::input(&model.display().to_string(), problem))
        }
        _ => Ok(()), // whether it can be written is tried next
    }
}

/// The right to train a model.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File, // locked
}

impl Lock {
    /// Takes it, unless another process has it.
    pub(super) fn take(model: &Path) -> Result<Self> {
        let path = beside(model, ".lock");
        let failed = |error| Failure::system("lock", &path, error);
        loop {
            let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = file.map_err(failed)?;
            let locked = file.try_lock();
            let mut holder = String::new();
            let is_text = file.read_to_string(&mut holder).is_ok();
            if !holder.is_empty() && !holder.starts_with(LOCK) || !is_text {
                return Err(foreign(&path, "a lock of `kbest train`"));
            }
            match locked {
                Err(TryLockError::WouldBlock) => {
                    let holder = holder.strip_prefix(LOCK).unwrap_or("unknown").trim_end();
                    let problem = format!(
                        "expected a model that nobody else trains, got one in training by process {holder}"
                    );
                    return Err(Failure::input(&model.display().to_string(), problem));
                }
                // Where files cannot be locked, the file says at least who was here.
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // Its last owner may have removed it after it was opened here, and somebody else made a new one.
            if !is_named(&file, &path) {
                continue;
            }
            file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
            writeln!(file, "{LOCK}{}", std::process::id()).map_err(failed)?;
            interrupt::on_end_remove(&path);
            return Ok(Lock { path, file });
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path); // before it is unlocked, so that nobody else loses theirs
        let _ = self.file.unlock();
    }
}

/// Whether the open file is the one that has this name now.
fn is_named(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |data: std::fs::Metadata| (data.dev(), data.ino());
        let (open, named) = (file.metadata().map(place).ok(), std::fs::metadata(path).map(place).ok());
        open.is_some() && open == named
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

fn foreign(path: &Path, expected: &str) -> Failure {
    let problem = format!(
        "expected {expected}, or no such file, got a file of another kind; move it, or choose another -m"
    );
    Failure::input(&path.display().to_string(), problem)
}

/// Between two checkpoints passes at least this much time: that of a CRF is a dozen times as large as its weights, and its
/// passes may take less time than writing it.
const PAUSE: Duration = Duration::from_secs(5);

/// The state of a run that can be continued, and its best model. Both are written together, so that they belong together
/// whenever the run is killed.
#[derive(Debug)]
pub(super) struct Checkpoint<M> {
    state: PathBuf,
    best: PathBuf,
    fingerprint: u64,
    kept: Arc<AtomicBool>, // whether a state that exists is one of this run
    written: Option<Instant>,
    best_model: Option<Arc<M>>, // not written yet
}

impl<M: Product> Checkpoint<M> {
    /// Refuses files of other programs with the names it needs.
    pub(super) fn new(model: &Path, fingerprint: u64) -> Result<Self> {
        let checkpoint = Checkpoint {
            state: beside(model, ".checkpoint"),
            best: beside(model, ".best"),
            fingerprint,
            kept: Arc::default(),
            written: None,
            best_model: None,
        };
        if checkpoint.state.exists() && !is_state(&checkpoint.state) {
            return Err(foreign(&checkpoint.state, "a checkpoint of `kbest train`"));
        }
        if checkpoint.best.exists() && run_of(&checkpoint.best).is_none() {
            return Err(foreign(&checkpoint.best, "the best model of an unfinished `kbest train`"));
        }
        for path in [&checkpoint.state, &checkpoint.best] {
            interrupt::on_end_remove_unfinished(path);
        }
        let (kept, state) = (checkpoint.kept.clone(), checkpoint.state.clone());
        interrupt::on_end_say(move || match kept.load(Ordering::Relaxed) && state.exists() {
            true => format!("interrupted; the same command with --resume goes on from {}", state.display()),
            false => "interrupted before the first pass was complete: nothing to resume".into(),
        });
        Ok(checkpoint)
    }

    /// Whether an earlier run left something that could be resumed.
    pub(super) fn exists(&self) -> bool {
        self.state.exists()
    }

    fn run(&self) -> String {
        format!("{:016x}", self.fingerprint)
    }

    /// Writes what the next run needs, unless that was done a moment ago.
    pub(super) fn keep(
        &mut self,
        end: &EpochEnd<'_, M>,
        trainer: &(dyn Trainer<Model = M> + 'static),
    ) -> Result<()> {
        if let Some(model) = end.best_model {
            self.best_model = Some(model.clone());
        }
        if self.written.is_some_and(|written| written.elapsed() < PAUSE) {
            return Ok(());
        }
        // An earlier run of the same command, whose checkpoint this one does not resume: it must not be found beside a best model
        // of this run.
        if !self.kept.load(Ordering::Relaxed) && is_state(&self.state) {
            std::fs::remove_file(&self.state)
                .map_err(|error| Failure::system("remove", &self.state, error))?;
        }
        self.write_best()?;
        self.kept.store(true, Ordering::Relaxed); // before: a signal may come as soon as the state is there
        write_file(&self.state, &save_checkpoint(self.fingerprint, &end.standing, trainer))?;
        self.written = Some(Instant::now());
        Ok(())
    }

    fn write_best(&mut self) -> Result<()> {
        match self.best_model.take() {
            Some(model) => Ok(model.save_with_remark(&self.best, RUN, &self.run())?),
            None => Ok(()),
        }
    }

    /// Restores the trainer to where the last run stopped; `None` if there was none.
    pub(super) fn resume(
        &self,
        trainer: &mut (dyn Trainer<Model = M> + 'static),
    ) -> Result<Option<Standing>> {
        let bytes = match std::fs::read(&self.state) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Failure::system("read", &self.state, error)),
        };
        let file = self.state.display().to_string();
        let standing = load_checkpoint(&file, &bytes, self.fingerprint, trainer)?;
        if standing.best.is_some() {
            self.check_best()?;
        }
        self.kept.store(true, Ordering::Relaxed);
        Ok(Some(standing))
    }

    fn check_best(&self) -> Result<()> {
        match run_of(&self.best) {
            // The whole model is needed in the end: if it is damaged, now is the time to say so.
            Some(run) if run == self.run() => Ok(AnyModel::load(&self.best).map(|_| ())?),
            found => {
                let got = if found.is_some() { "one of another run" } else { "none" };
                let problem =
                    format!("expected the best model of this run, got {got}; train without --resume");
                Err(Failure::input(&self.best.display().to_string(), problem))
            }
        }
    }

    /// The best model of this run, which is over.
    pub(super) fn best(&mut self) -> Result<M> {
        self.write_best()?;
        self.check_best()?;
        Ok(M::load(&self.best)?)
    }

    /// Removes the files once the model is written.
    pub(super) fn remove(&self) {
        if is_state(&self.state) {
            let _ = std::fs::remove_file(&self.state); // harmless if it cannot be removed
        }
        if run_of(&self.best).is_some() {
            let _ = std::fs::remove_file(&self.best);
        }
    }
}

fn is_state(path: &Path) -> bool {
    let mut head = Vec::new();
    File::open(path).and_then(|file| file.take(8).read_to_end(&mut head)).is_ok() && is_checkpoint(&head)
}

/// The run that wrote this best model; `None` for any other file.
fn run_of(path: &Path) -> Option<String> {
    let model = AnyModel::open(path).ok()?; // the remark is all that is needed
    model.about().iter().find(|(name, _)| name == RUN).map(|(_, run)| run.clone())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may fail this way
mod tests {
    use super::*;
    use kbest::feature::{FeatureSource, Preset};
    use kbest::train::{EpochReport, Perceptron, PerceptronOptions, TrainingSet};
    use kbest::{Model, Sequence};

    /// A run that is killed after its first best model is written, and before its first checkpoint.
    #[test]
    fn an_old_checkpoint_is_not_left_beside_a_new_best_model() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let mut sequence = Sequence::from_tokens(["a"]);
        sequence.set_label("X");
        let source = FeatureSource::Preset(Preset::Words);
        let data = Arc::new(TrainingSet::new(&[sequence], source, 1).unwrap());
        let mut trainer = Perceptron::new(data, PerceptronOptions::default()).unwrap();
        let model = Arc::new(trainer.model().unwrap());
        let standing = Standing { epochs: 1, best: Some(1.0), ..Standing::default() };
        let best_model = Some(&model);
        let end = EpochEnd { report: EpochReport::default(), standing, held_out: None, best_model };
        for resumed in [false, true] {
            let mut old = Checkpoint::<Model>::new(&path, 7).unwrap();
            old.keep(&end, &trainer).unwrap();
            assert!(old.exists());
            let mut new = Checkpoint::<Model>::new(&path, 7).unwrap();
            if resumed {
                assert_eq!(new.resume(&mut trainer).unwrap(), Some(standing));
            }
            std::fs::remove_file(&new.best).unwrap();
            std::fs::create_dir(&new.best).unwrap(); // so that the model cannot be written
            assert!(new.keep(&end, &trainer).is_err());
            assert_eq!(new.exists(), resumed);
            std::fs::remove_dir(&new.best).unwrap();
            new.keep(&end, &trainer).unwrap();
            assert!(new.exists());
            new.remove();
        }
    }
}
