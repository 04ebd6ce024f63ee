//! What looks wrong in text to be labelled, although it can be read: each is said once.

use super::{Source, file_name};
use crate::warning::{Once, some_names, warn};
use kbest::feature::{Extractor, FeatureSource};
use kbest::{LabelSet, Sequence};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Looks at the sequences of one file. Clones share what they have seen.
#[derive(Debug, Clone)]
pub(crate) struct Suspicions {
    file: String,
    columns: usize,   // that the model was trained on
    in_columns: bool, // whether the file has columns separated by blanks
    long_lines: Once,
    attributes: Option<Arc<[AtomicU64; 2]>>, // all and known ones, if the features are attributes
}

impl Suspicions {
    pub(crate) fn new(extractor: &Extractor, source: &Source, file: Option<&Path>) -> Self {
        let items = matches!(extractor.source(), FeatureSource::Items);
        Suspicions {
            file: file_name(file),
            columns: extractor.columns(),
            in_columns: source.is_columns_between_blanks(),
            long_lines: Once::default(),
            attributes: items.then(Arc::default),
        }
    }

    /// A sequence that begins in this line.
    pub(crate) fn look(&self, extractor: &Extractor, sequence: &Sequence, line: u64) {
        if let Some(attributes) = &self.attributes {
            if attributes[1].load(Ordering::Relaxed) > 0 {
                return; // one known attribute is enough
            }
            let known = |name: &&str| extractor.nodes().id(name.as_bytes()).is_some();
            let cells = || (0..sequence.len()).flat_map(|t| sequence.cells(t));
            attributes[0].fetch_add(cells().count() as u64, Ordering::Relaxed);
            attributes[1].fetch_add(cells().filter(known).count() as u64, Ordering::Relaxed);
        } else if self.in_columns && sequence.len() == 1 && sequence.width(0) > self.columns + 1 {
            // One more column than the model uses may be the right label.
            self.long_lines.warn(|| {
                let width = sequence.width(0);
                format!(
                    "{}:{line}: a single token with {width} columns, where the model uses {}; if the line is a sentence, \
                     use --format text, or put one token on each line",
                    self.file, self.columns
                )
            });
        }
    }

    /// After the last sequence.
    pub(crate) fn conclude(&self) {
        let Some(attributes) = &self.attributes else { return };
        let [all, known] = [0, 1].map(|i| attributes[i].load(Ordering::Relaxed));
        if all > 0 && known == 0 {
            warn(&format!(
                "{}: none of the {all} attributes is known to the model, so its labels mean nothing; give it CRFsuite \
                 items (--format items) with the attributes that it was trained on",
                self.file
            ));
        }
    }
}

/// Labels that were to be kept, but that the model does not have.
#[derive(Debug, Clone, Default)]
pub(crate) struct NotKept(Arc<Mutex<Missed>>);

#[derive(Debug, Default)]
struct Missed {
    count: u64,
    names: BTreeSet<String>, // the first REMEMBERED different ones
}

/// A stream may have any number of unknown labels; a warning names a few.
const REMEMBERED: usize = 1000;

impl NotKept {
    /// A label that the model does not know. `_`, `?` and nothing at all leave a label open on purpose.
    pub(crate) fn add(&self, label: &str) {
        if !matches!(label, "_" | "?" | "") {
            let mut missed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            missed.count += 1;
            if missed.names.len() < REMEMBERED && !missed.names.contains(label) {
                missed.names.insert(label.to_owned());
            }
        }
    }

    pub(crate) fn conclude(&self, labels: &LabelSet) {
        let missed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Missed { count, names } = &*missed;
        if names.is_empty() {
            return;
        }
        let like = names.iter().find_map(|name| Some((name, nearest(name, labels.names())?)));
        let like =
            like.map_or_else(String::new, |(name, like)| format!(" (for `{name}`, `{like}` perhaps?)"));
        warn(&format!(
            "--keep-labels: {count} labels were left open, because the model has none called {}{like}; write `_` or `?` \
             for a label that is open on purpose",
            some_names(names.iter().map(String::as_str))
        ));
    }
}

/// The most similar name, if one differs by at most two characters and keeps more than half of its own.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let near = names.map(|other| (distance(name, other), other));
    let near = near.filter(|(distance, _)| *distance <= 2 && 2 * distance < length);
    near.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

/// How many characters must be added, removed or replaced, or neighbours exchanged.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(rows[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_name_is_found() {
        let names = ["NOUN", "VERB", "ADJ", "PROPN"];
        let like = |name: &str| nearest(name, names.into_iter());
        assert_eq!(like("NUON"), Some("NOUN"));
        assert_eq!(like("VERBS"), Some("VERB"));
        assert_eq!(like("X"), None);
        assert_eq!(like("AD"), None);
    }
}
