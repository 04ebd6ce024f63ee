//! Where features come from.

use super::numbers::Numbers;
use super::preset::{self, Preset};
use crate::error::{Error, Result};
use crate::pattern::Patterns;
use crate::sequence::Sequence;
use crate::template::Template;

/// The edge feature of sources without templates: the plain label bigram.
pub(super) const LABEL_BIGRAM: &[u8] = b"B";

/// Determines the features of a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureSource {
    /// A CRF++ template over the columns.
    Template(Template),
    /// Wapiti patterns over the columns.
    Patterns(Patterns),
    /// Every cell is a feature, with its value (CRFsuite's items); label bigrams.
    Items,
    /// Every column is a number: a feature with that value, scaled; label bigrams.
    Numbers(Numbers),
    /// A set that needs no template; label bigrams.
    Preset(Preset),
}

impl FeatureSource {
    /// `template`, `patterns`, `lone-patterns`, `items`, `numbers`, or the name of the preset.
    pub fn name(&self) -> &'static str {
        match self {
            FeatureSource::Template(_) => "template",
            FeatureSource::Patterns(patterns) if patterns.lone() => "lone-patterns",
            FeatureSource::Patterns(_) => "patterns",
            FeatureSource::Items => "items",
            FeatureSource::Numbers(_) => "numbers",
            FeatureSource::Preset(preset) => preset.name(),
        }
    }

    /// Rejects a sequence with too few columns, or with words where numbers should be. `columns` is the number in training.
    pub(super) fn check(&self, sequence: &Sequence, columns: usize) -> Result<()> {
        let needed = match self {
            FeatureSource::Template(template) => template.columns(),
            FeatureSource::Patterns(patterns) => {
                patterns.check(sequence)?;
                patterns.columns()
            }
            FeatureSource::Items => 0,
            FeatureSource::Numbers(numbers) => {
                numbers.check(sequence)?;
                numbers.columns()
            }
            FeatureSource::Preset(Preset::Words | Preset::Morphology | Preset::Hmm) => 1,
            FeatureSource::Preset(Preset::Columns) => columns,
        };
        match (0..sequence.len()).find(|&t| sequence.width(t) < needed) {
            None => Ok(()),
            Some(t) => {
                let what = format!("columns of position {t}");
                Err(Error::shape(what, format!("at least {needed}"), sequence.width(t)))
            }
        }
    }

    /// Visits the node features of position `t`, one after the other in `key`, with their values.
    pub(super) fn visit_nodes(
        &self,
        sequence: &Sequence,
        t: usize,
        columns: usize,
        is_rare: impl Fn(&str) -> bool,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8], f64),
    ) {
        match self {
            FeatureSource::Template(template) => {
                for rule in template.unigrams() {
                    key.clear();
                    rule.expand(sequence, t, key);
                    visit(key, 1.0);
                }
            }
            FeatureSource::Patterns(patterns) => {
                patterns.visit_nodes(sequence, t, key, |key| visit(key, 1.0));
            }
            FeatureSource::Items => {
                let values = sequence.values(t);
                for (i, name) in sequence.cells(t).enumerate() {
                    visit(name.as_bytes(), values.map_or(1.0, |values| values[i]));
                }
            }
            FeatureSource::Numbers(numbers) => numbers.visit(sequence, t, |column, value| {
                key.clear();
                key.extend_from_slice((column + 1).to_string().as_bytes());
                visit(key, value);
            }),
            FeatureSource::Preset(Preset::Words) => preset::words(sequence, t, key, |key| visit(key, 1.0)),
            FeatureSource::Preset(Preset::Columns) => {
                preset::columns(sequence, t, columns, key, |key| visit(key, 1.0));
            }
            FeatureSource::Preset(Preset::Morphology) => {
                preset::morphology(sequence, t, is_rare, key, |key| visit(key, 1.0));
            }
            FeatureSource::Preset(Preset::Hmm) => {
                preset::hmm(sequence, t, is_rare, key, |key| visit(key, 1.0));
            }
        }
    }

    /// Visits the edge features of the step to position `t`, which is not the first.
    pub(super) fn visit_edges(
        &self,
        sequence: &Sequence,
        t: usize,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8]),
    ) {
        match self {
            FeatureSource::Template(template) => {
                for rule in template.bigrams() {
                    key.clear();
                    rule.expand(sequence, t, key);
                    visit(key);
                }
            }
            FeatureSource::Patterns(patterns) => patterns.visit_edges(sequence, t, key, visit),
            FeatureSource::Items | FeatureSource::Numbers(_) | FeatureSource::Preset(_) => {
                visit(LABEL_BIGRAM)
            }
        }
    }

    /// Visits the edge features that are the same for every step of every sequence.
    pub(super) fn visit_shared_edges(&self, mut visit: impl FnMut(&[u8])) {
        match self {
            FeatureSource::Template(template) => {
                for rule in template.bigrams().iter().filter(|rule| !rule.looks_at_input()) {
                    visit(rule.line().as_bytes());
                }
            }
            FeatureSource::Patterns(patterns) => patterns.visit_shared_edges(visit),
            FeatureSource::Items | FeatureSource::Numbers(_) | FeatureSource::Preset(_) => {
                visit(LABEL_BIGRAM)
            }
        }
    }

    /// The feature that is present exactly if the word in the first column is this one, if the source has such a
    /// feature.
    pub(super) fn word_key(&self, word: &str) -> Option<Vec<u8>> {
        match self {
            FeatureSource::Preset(preset) => Some(preset.word_key(word)),
            FeatureSource::Template(_)
            | FeatureSource::Patterns(_)
            | FeatureSource::Items
            | FeatureSource::Numbers(_) => None,
        }
    }

    /// Whether a feature is one that [`FeatureSource::word_key`] returns.
    pub(crate) fn is_word_key(&self, key: &[u8]) -> bool {
        self.word_key("").is_some_and(|prefix| key.starts_with(&prefix))
    }

    /// True if an edge feature looks at the sequence, so that edges differ from step to step.
    pub fn has_observed_edges(&self) -> bool {
        match self {
            FeatureSource::Template(template) => template.bigrams().iter().any(|rule| rule.looks_at_input()),
            FeatureSource::Patterns(patterns) => patterns.has_observed_edges(),
            FeatureSource::Items | FeatureSource::Numbers(_) | FeatureSource::Preset(_) => false,
        }
    }

    /// True if the features are meant for labels with parts, which should then have weights of their own.
    pub fn wants_label_parts(&self) -> bool {
        *self == FeatureSource::Preset(Preset::Morphology)
    }

    /// True if words must be counted before features are extracted ([`super::ExtractorBuilder::count_words`]).
    pub fn wants_word_counts(&self) -> bool {
        matches!(self, FeatureSource::Preset(Preset::Morphology | Preset::Hmm))
    }
}
