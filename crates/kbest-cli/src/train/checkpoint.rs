//! Files beside the model from which an interrupted run resumes.

use crate::failure::{Failure, Result};
use crate::output::write_file;
use kbest::Model;
use kbest::train::{
    AnyTrainer, EpochEnd, Recipe, Standing, TrainingSet, fingerprint, load_checkpoint, save_checkpoint,
};
use std::path::{Path, PathBuf};

pub(super) struct Checkpoint {
    state: PathBuf,
    best: PathBuf,
    fingerprint: u64,
}

impl Checkpoint {
    pub(super) fn new(model: &Path, recipe: &Recipe, data: &TrainingSet) -> Self {
        let beside = |ending: &str| {
            let mut name = model.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Checkpoint {
            state: beside(".checkpoint"),
            best: beside(".best"),
            fingerprint: fingerprint(data, &recipe.depends_on()),
        }
    }

    /// The best model so far.
    pub(super) fn best(&self) -> &Path {
        &self.best
    }

    /// Writes what the next run needs.
    pub(super) fn keep(&self, end: &EpochEnd<'_, Model>, trainer: &AnyTrainer) -> Result<()> {
        if let Some(model) = end.best_model {
            model.save(&self.best)?;
        }
        write_file(&self.state, &save_checkpoint(self.fingerprint, &end.standing, trainer))
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
