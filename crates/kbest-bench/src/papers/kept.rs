//! What a run keeps in `OUT/steps`, so that `--resume` goes on where it stopped: one file per step, one model per task,
//! and the settings that all of them share.
//!
//! A measurement counts only for the data it was made with. The settings keep a checksum of every data file; where one has
//! changed, is gone or is new, the steps and the model of that data set are forgotten, and the others stay. Files are
//! removed by name: only those that a run writes.

use super::definitions::EXPERIMENTS;
use super::results::{FORMAT, Measured};
use super::steps::Step;
use super::{Arguments, data};
use kbest_cli::failure::{Failure, Result};
use kbest_cli::output::write_file;
use kbest_cli::stable_hash::stable_hash;
use kbest_cli::warning::warn;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// For each data set its files: name, size, checksum.
type Marks = BTreeMap<String, Vec<(String, u64, String)>>;

/// Everything that must be the same for measurements to be used again.
#[derive(Serialize, Deserialize)]
struct Settings {
    format: u32,
    version: String,
    quick: bool,
    data: Option<PathBuf>,
    /// For each data set its files with their sizes and checksums.
    files: Marks,
}

/// The folder.
pub(super) struct Kept {
    pub(super) folder: PathBuf,
}

impl Kept {
    /// Makes the folder. Without `--resume` earlier measurements are removed; with it they must be of the same kind, and
    /// those of changed data are removed.
    ///
    /// # Errors
    /// [`Failure::Input`] if the measurements are of another version, folder or size.
    pub(super) fn open(arguments: &Arguments) -> Result<Self> {
        let kept = Kept { folder: arguments.out.join("steps") };
        let settings = Settings {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            quick: arguments.quick,
            data: arguments.data.clone(),
            files: marks(arguments.data.as_deref())?,
        };
        let file = kept.folder.join("settings.json");
        let earlier = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice::<Settings>(&bytes).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => return Err(Failure::system("read", &file, error)),
        };
        match earlier {
            Ok(Some(earlier)) if arguments.resume && settings.same_run(&earlier) => {
                for task in tasks() {
                    if settings.files.get(task) != earlier.files.get(task) && kept.forget(task)? {
                        warn(&format!("the data of {task} have changed: measuring again"));
                    }
                }
            }
            // Nobody knows what measurements without settings were made with.
            earlier if !arguments.resume || matches!(earlier, Ok(None)) => {
                for task in tasks() {
                    kept.forget(task)?;
                }
            }
            _ => {
                let problem = "--resume: expected measurements of the same version with the same --data and --quick, \
                               got others; leave --resume out to start again";
                return Err(Failure::input(&file.display().to_string(), problem));
            }
        }
        std::fs::create_dir_all(&kept.folder)
            .map_err(|error| Failure::system("make", &kept.folder, error))?;
        let json = serde_json::to_string_pretty(&settings).map_err(std::io::Error::from)?;
        write_file(&file, json.as_bytes())?;
        Ok(kept)
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }

    /// A file that cannot be read counts as not measured yet.
    pub(super) fn load(&self, key: &str) -> Option<Measured> {
        let bytes = std::fs::read(self.file(key)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Missing data are looked for again next time.
    pub(super) fn save(&self, key: &str, measured: &Measured) -> Result<()> {
        if matches!(measured, Measured::Missing { .. }) {
            return Ok(());
        }
        let json = serde_json::to_string(measured).map_err(std::io::Error::from)?;
        write_file(&self.file(key), json.as_bytes())
    }

    /// Removes what was measured on a data set, and its model; true if there was anything.
    fn forget(&self, task: &str) -> Result<bool> {
        let steps = all_steps().filter(|step| step.task() == task).map(|step| self.file(&step.key()));
        let mut removed = false;
        for file in steps.chain([data::model_file(&self.folder, task)]) {
            removed |= remove(&file)?;
        }
        Ok(removed)
    }
}

impl Settings {
    /// Whether they are those of the same run, whatever became of the data.
    fn same_run(&self, other: &Settings) -> bool {
        let of = |settings: &Settings| (settings.format, settings.version.clone(), settings.quick);
        of(self) == of(other) && self.data == other.data
    }
}

/// Removes a file; false if there was none.
///
/// # Errors
/// [`Failure::System`].
pub(super) fn remove(file: &Path) -> Result<bool> {
    match std::fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::system("remove", file, error)),
    }
}

fn all_steps() -> impl Iterator<Item = Step> {
    EXPERIMENTS.iter().flat_map(|experiment| Step::needed(&experiment.view))
}

/// Every data set there may be.
fn tasks() -> BTreeSet<&'static str> {
    all_steps().map(|step| step.task()).collect()
}

/// Name, size and checksum of each data file, by data set. Generated data never change.
fn marks(folder: Option<&Path>) -> Result<Marks> {
    let Some(folder) = folder else { return Ok(BTreeMap::new()) };
    let mut marks = BTreeMap::new();
    for task in tasks() {
        let mut files = vec![];
        for file in data::PARTS.iter().filter_map(|part| data::file_of(folder, task, part)) {
            let bytes = std::fs::read(&file).map_err(|error| Failure::system("read", &file, error))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push((name, bytes.len() as u64, format!("{:016x}", stable_hash(bytes.iter().copied()))));
        }
        marks.insert(task.to_owned(), files);
    }
    Ok(marks)
}
