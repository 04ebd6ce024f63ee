//! What is counted, sequence by sequence: on each thread apart, then added up.

use super::by::{By, Groups};
use super::errors::{Errors, Place};
use crate::failure::{Failure, Result};
use crate::warning::some_names;
use kbest::Sequence;
use kbest::evaluate::{Evaluation, Reliability, Spans};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What to count.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) spans: Option<Spans>,
    pub(super) by: Arc<[By]>,
    pub(super) errors: Option<usize>, // how many to keep
}

/// A sequence with its right and its chosen labels.
#[derive(Debug)]
pub(super) struct Compared<'a> {
    pub(super) sequence: &'a Sequence,
    pub(super) place: Place<'a>,
    pub(super) gold: &'a [&'a str],
    pub(super) chosen: &'a [&'a str],
    /// Which tokens were not seen in training, if that is known.
    pub(super) unknown: Option<&'a [bool]>,
    /// How probable each chosen label is.
    pub(super) sure: Option<&'a [f64]>,
    /// Answers that are not labels of positions but segments: how probable each is, and whether it is right.
    pub(super) segments: Option<&'a [(f64, bool)]>,
}

/// The counts.
#[derive(Debug)]
pub(super) struct Counts {
    pub(super) evaluation: Evaluation,
    pub(super) reliability: Option<Reliability>,
    pub(super) of_segments: bool, // what the reliability is of
    pub(super) groups: Vec<Groups>,
    pub(super) errors: Option<Errors>,
    gold_labels: BTreeSet<String>,
}

impl Counts {
    pub(super) fn new(wanted: &Wanted) -> Self {
        Counts {
            evaluation: Evaluation::new(wanted.spans),
            reliability: None,
            of_segments: false,
            groups: wanted.by.iter().map(|_| Groups::default()).collect(),
            errors: wanted.errors.map(|most| Errors::new(most, wanted.spans)),
            gold_labels: BTreeSet::new(),
        }
    }

    pub(super) fn add(&mut self, wanted: &Wanted, compared: &Compared<'_>) -> Result<()> {
        let Compared { gold, chosen, .. } = *compared;
        match compared.unknown {
            Some(unknown) => self.evaluation.add_knowing(gold, chosen, unknown)?,
            None => self.evaluation.add(gold, chosen)?,
        }
        for label in gold {
            if !self.gold_labels.contains(*label) {
                self.gold_labels.insert((*label).to_owned());
            }
        }
        if let Some(segments) = compared.segments {
            let reliability = self.reliability.get_or_insert_default();
            segments.iter().for_each(|&(sure, right)| reliability.add(sure, right));
            self.of_segments = true;
        } else if let Some(sure) = compared.sure {
            let reliability = self.reliability.get_or_insert_default();
            let right = gold.iter().zip(chosen).map(|(gold, chosen)| gold == chosen);
            sure.iter().zip(right).for_each(|(&sure, right)| reliability.add(sure, right));
        }
        for (by, groups) in wanted.by.iter().zip(&mut self.groups) {
            groups.add(by, compared)?;
        }
        if let Some(errors) = &mut self.errors {
            errors.add(compared);
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, other: Counts) -> Result<()> {
        self.evaluation.merge(&other.evaluation)?;
        if let Some(reliability) = &other.reliability {
            self.reliability.get_or_insert_default().merge(reliability);
        }
        self.of_segments |= other.of_segments;
        self.groups.iter_mut().zip(other.groups).for_each(|(groups, other)| groups.merge(other));
        if let (Some(errors), Some(other)) = (&mut self.errors, other.errors) {
            errors.merge(other);
        }
        self.gold_labels.extend(other.gold_labels);
        Ok(())
    }

    /// Refuses figures that mean nothing because the model has none of the right labels.
    pub(super) fn expect_labels_of<'a>(
        &self,
        file: &str,
        knows: impl Fn(&str) -> bool,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<()> {
        if self.gold_labels.is_empty() || self.gold_labels.iter().any(|label| knows(label)) {
            return Ok(());
        }
        let problem = format!(
            "expected labels of the model, such as {}, got {}; are the right labels where --format (and --label for CoNLL-U) expects them?",
            some_names(names),
            some_names(self.gold_labels.iter().map(String::as_str)),
        );
        Err(Failure::input(file, problem))
    }
}
