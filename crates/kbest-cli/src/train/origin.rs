//! What a model was trained on and how: remarks that it keeps, and `kbest inspect` shows.
//!
//! They depend on nothing but data, options and seed, so that the same training gives the same file.

use super::Arguments;
use crate::table::{grouped, percent};
use kbest::Sequence;
use kbest::train::{End, Measure, Schedule, Standing, fingerprint_of_sequences};
use std::path::Path;

pub(super) struct Origin {
    algorithm: &'static str,
    options: String,
    data: String,
    dev: Option<String>,
}

impl Origin {
    pub(super) fn of(arguments: &Arguments, sequences: &[Sequence], dev: Option<&[Sequence]>) -> Self {
        let files: Vec<String> = match &arguments.files[..] {
            [] => vec!["<stdin>".into()],
            files => files.iter().map(|file| base_name(file)).collect(),
        };
        let dev_file = arguments.dev.as_deref().map(base_name).unwrap_or_default();
        Origin {
            algorithm: arguments.recipe.algorithm.name(),
            options: arguments.recipe.as_typed(),
            data: described(&files.join(", "), sequences),
            dev: dev.map(|dev| described(&dev_file, dev)),
        }
    }

    /// The remarks on a finished model.
    pub(super) fn about(&self, schedule: &Schedule, standing: &Standing) -> Vec<(String, String)> {
        let mut about = vec![
            ("algorithm", self.algorithm.to_owned()),
            ("epochs", standing.epochs.to_string()),
            ("options", self.options.clone()),
            ("data", self.data.clone()),
        ];
        about.extend(self.dev.clone().map(|dev| ("dev", dev)));
        about.push(("ended", ended(schedule, standing)));
        about.push(("program", format!("kbest {}", env!("CARGO_PKG_VERSION"))));
        about.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
    }
}

/// Why training ended and which model was kept, in words.
pub(super) fn ended(schedule: &Schedule, standing: &Standing) -> String {
    let why = match schedule.end(standing) {
        Some(End::Converged) => "it had converged".to_owned(),
        Some(End::NoImprovement) => {
            let still = if schedule.still.is_some() { " and the loss stood still" } else { "" };
            format!("the held-out data saw no improvement for {} epochs{still}", standing.since_best)
        }
        Some(End::Epochs) | None => format!("--epochs {}", schedule.epochs),
    };
    let kept = match (standing.best, schedule.by) {
        (None, _) => "the last is kept".to_owned(),
        (Some(best), by) => {
            let what = if by == Measure::Accuracy { "accuracy" } else { "span F1" };
            format!("epoch {} is kept, {what} {} on the held-out data", standing.kept(), percent(best))
        }
    };
    format!("after epoch {}: {why}; {kept}", standing.epochs)
}

fn base_name(path: &Path) -> String {
    match path.file_name() {
        _ if path == Path::new("-") => "<stdin>".into(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.display().to_string(),
    }
}

fn described(files: &str, sequences: &[Sequence]) -> String {
    let tokens = sequences.iter().map(Sequence::len).sum();
    format!(
        "{files}: {} sequences, {} tokens, fingerprint {:016x}",
        grouped(sequences.len()),
        grouped(tokens),
        fingerprint_of_sequences(sequences)
    )
}
