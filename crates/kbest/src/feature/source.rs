//! Where features come from.

use super::numbers::Numbers;
use super::preset::{self, Preset};
use super::sum::FeatureSum;
use crate::pattern::Patterns;
use crate::sequence::Sequence;
use crate::template::{Rule, Template};
use kbest_core::{Error, Result};
use std::borrow::Cow;
use std::slice;

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
    /// Several of these at once ([`FeatureSource::sum`]).
    Sum(FeatureSum),
}

impl FeatureSource {
    /// `template`, `patterns`, `lone-patterns`, `items`, `numbers`, or the name of the preset; names of several are joined by
    /// `+`.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            FeatureSource::Template(_) => "template".into(),
            FeatureSource::Patterns(patterns) if patterns.lone() => "lone-patterns".into(),
            FeatureSource::Patterns(_) => "patterns".into(),
            FeatureSource::Items => "items".into(),
            FeatureSource::Numbers(_) => "numbers".into(),
            FeatureSource::Preset(preset) => preset.name().into(),
            FeatureSource::Sum(sum) => {
                sum.parts().iter().map(|part| part.name()).collect::<Vec<_>>().join("+").into()
            }
        }
    }

    /// The sources that are added; of any other source, itself.
    pub fn parts(&self) -> &[FeatureSource] {
        match self {
            FeatureSource::Sum(sum) => sum.parts(),
            single => slice::from_ref(single),
        }
    }

    /// The template, if there is one.
    pub fn template(&self) -> Option<&Template> {
        self.parts().iter().find_map(|part| match part {
            FeatureSource::Template(template) => Some(template),
            _ => None,
        })
    }

    fn has(&self, preset: Preset) -> bool {
        self.parts().contains(&FeatureSource::Preset(preset))
    }

    /// Rejects a sequence with too few columns, or with words where numbers should be. `columns` is the number in training.
    pub(super) fn check(&self, sequence: &Sequence, columns: usize) -> Result<()> {
        let mut needed = 0;
        for part in self.parts() {
            needed = needed.max(part.columns_needed(sequence, columns)?);
        }
        match (0..sequence.len()).find(|&t| sequence.width(t) < needed) {
            None => Ok(()),
            Some(t) => {
                let what = format!("columns of position {t}");
                Err(Error::shape(what, format!("at least {needed}"), sequence.width(t)))
            }
        }
    }

    fn columns_needed(&self, sequence: &Sequence, columns: usize) -> Result<usize> {
        Ok(match self {
            FeatureSource::Template(template) => template.columns(),
            FeatureSource::Patterns(patterns) => {
                patterns.check(sequence)?;
                patterns.columns()
            }
            FeatureSource::Items | FeatureSource::Sum(_) => 0,
            FeatureSource::Numbers(numbers) => {
                numbers.check(sequence)?;
                numbers.columns()
            }
            FeatureSource::Preset(Preset::Words | Preset::Morphology | Preset::Hmm) => 1,
            FeatureSource::Preset(Preset::Columns) => columns,
        })
    }

    /// Visits the node features of position `t`, one after the other in `key`, with their values; for sources whose features
    /// are not made by rules ([`Windows`](super::windows::Windows)).
    pub(super) fn visit_nodes(
        &self,
        sequence: &Sequence,
        t: usize,
        is_rare: impl Fn(&str) -> bool,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8], f64),
    ) {
        match self {
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
            FeatureSource::Preset(Preset::Hmm) => {
                preset::hmm(sequence, t, is_rare, key, |key| visit(key, 1.0));
            }
            FeatureSource::Template(_) | FeatureSource::Preset(_) | FeatureSource::Sum(_) => {} // rules
        }
    }

    /// The rules of a template for edge features.
    fn edge_rules(&self) -> &[Rule] {
        self.template().map_or(&[], Template::bigrams)
    }

    /// Whether there is a feature for plain label pairs beside the rules of a template; a bare `B` is the same feature.
    fn adds_label_bigram(&self) -> bool {
        let is_template = matches!(self, FeatureSource::Template(_) | FeatureSource::Patterns(_));
        !is_template && !self.edge_rules().iter().any(|rule| rule.line().as_bytes() == LABEL_BIGRAM)
    }

    /// Visits the edge features of the step to position `t`, which is not the first.
    pub(super) fn visit_edges(
        &self,
        sequence: &Sequence,
        t: usize,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8]),
    ) {
        if let FeatureSource::Patterns(patterns) = self {
            return patterns.visit_edges(sequence, t, key, visit);
        }
        for rule in self.edge_rules() {
            key.clear();
            if rule.expand(sequence, t, key) {
                visit(key);
            }
        }
        if self.adds_label_bigram() {
            visit(LABEL_BIGRAM);
        }
    }

    /// Visits the edge features that are the same for every step of every sequence.
    pub(super) fn visit_shared_edges(&self, mut visit: impl FnMut(&[u8])) {
        if let FeatureSource::Patterns(patterns) = self {
            return patterns.visit_shared_edges(visit);
        }
        for rule in self.edge_rules().iter().filter(|rule| !rule.looks_at_input()) {
            visit(rule.line().as_bytes());
        }
        if self.adds_label_bigram() {
            visit(LABEL_BIGRAM);
        }
    }

    /// The feature that is present exactly if the word in the first column is this one, if the source has such a
    /// feature.
    pub(super) fn word_key(&self, word: &str) -> Option<Vec<u8>> {
        self.parts().iter().find_map(|part| match part {
            FeatureSource::Preset(preset) => Some(preset.word_key(word)),
            _ => None,
        })
    }

    /// Whether a feature is one that [`FeatureSource::word_key`] returns.
    pub(crate) fn is_word_key(&self, key: &[u8]) -> bool {
        self.word_key("").is_some_and(|prefix| key.starts_with(&prefix))
    }

    /// True if an edge feature looks at the sequence, so that edges differ from step to step.
    pub fn has_observed_edges(&self) -> bool {
        match self {
            FeatureSource::Patterns(patterns) => patterns.has_observed_edges(),
            other => other.edge_rules().iter().any(Rule::looks_at_input),
        }
    }

    /// True if the features are meant for labels with parts, which should then have weights of their own.
    pub fn wants_label_parts(&self) -> bool {
        self.has(Preset::Morphology)
    }

    /// True if words must be counted before features are extracted ([`super::ExtractorBuilder::count_words`]).
    pub fn wants_word_counts(&self) -> bool {
        self.has(Preset::Morphology) || self.has(Preset::Hmm)
    }

    /// True if the cells of the first column are words: neither attributes nor numbers.
    pub fn has_words(&self) -> bool {
        !matches!(self, FeatureSource::Items | FeatureSource::Numbers(_))
    }

    /// True if names of features hold words in lower case, with every digit as `0`.
    pub fn folds_words(&self) -> bool {
        self.has(Preset::Words) || self.has(Preset::Morphology)
    }
}
