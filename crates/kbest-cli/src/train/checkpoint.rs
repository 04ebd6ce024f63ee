//! Files beside the model from which an interrupted run resumes.

use super::algorithm::{Algorithm, AnyTrainer};
use crate::failure::{Failure, Result};
use crate::output::write_file;
use kbest::Model;
use kbest::train::{EpochEnd, Standing, TrainingSet, fingerprint, load_checkpoint, save_checkpoint};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A crash loses at most a pass and this much time: small data passes in less than writing it takes.
const PAUSE: Duration = Duration::from_secs(3);

pub(super) struct Checkpoint {
    state: PathBuf,
    best: PathBuf,
    fingerprint: u64,
    written: Cell<Option<Instant>>, // the last time
}

impl Checkpoint {
    pub(super) fn new(model: &Path, algorithm: &Algorithm, data: &TrainingSet) -> Self {
        let beside = |ending: &str| {
            let mut name = model.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Checkpoint {
            state: beside(".checkpoint"),
            best: beside(".best"),
            fingerprint: fingerprint(data, &algorithm.depends_on()),
            written: Cell::new(None),
        }
    }

    /// The best model so far.
    pub(super) fn best(&self) -> &Path {
        &self.best
    }

    /// Writes what the next run needs, unless that was done a moment ago and no better model has been found since.
    pub(super) fn keep(&self, end: &EpochEnd<'_, Model>, trainer: &AnyTrainer) -> Result<()> {
        match end.best_model {
            Some(model) => model.save(&self.best)?,
            None if self.written.get().is_some_and(|last| last.elapsed() < PAUSE) => return Ok(()),
            None => {}
        }
        write_file(&self.state, &save_checkpoint(self.fingerprint, &end.standing, trainer))?;
        self.written.set(Some(Instant::now()));
        Ok(())
    }

    /// Restores the trainer to where the last run stopped; to the beginning if there was none.
    pub(super) fn resume(&self, trainer: &mut AnyTrainer) -> Result<Standing> {
        let bytes = match std::fs::read(&self.state) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Standing::default()),
            Err(error) => return Err(Failure::system("read", &self.state, error)),
        };
        let file = self.state.display().to_string();
        Ok(load_checkpoint(&file, &bytes, self.fingerprint, trainer)?)
    }

    /// Removes the files once the model is written.
    pub(super) fn remove(&self) {
        for path in [&self.state, &self.best] {
            let _ = std::fs::remove_file(path); // often absent; harmless if it cannot be removed
        }
    }
}
