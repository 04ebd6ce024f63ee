//! Rules in the order given; the last one that matches a step decides.

use super::{FORBIDDEN, Step};
use crate::label::LabelId;
use std::collections::HashMap;
use std::sync::Arc;

/// A set of labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Select {
    One(LabelId),
    /// In ascending order.
    Some(Arc<[LabelId]>),
    All,
}

impl Select {
    /// Number of labels, of `labels` in all.
    pub(super) fn len(&self, labels: usize) -> usize {
        match self {
            Select::One(_) => 1,
            Select::Some(some) => some.len(),
            Select::All => labels,
        }
    }

    pub(super) fn contains(&self, y: usize) -> bool {
        match self {
            Select::One(one) => *one as usize == y,
            Select::Some(some) => some.binary_search(&(y as LabelId)).is_ok(),
            Select::All => true,
        }
    }

    pub(super) fn for_each(&self, labels: usize, mut each: impl FnMut(usize)) {
        match self {
            Select::One(one) => each(*one as usize),
            Select::Some(some) => some.iter().for_each(|&y| each(y as usize)),
            Select::All => (0..labels).for_each(each),
        }
    }
}

/// What is allowed, with its score. Without rules everything is; the first rule about pairs, first labels or last
/// labels sets the default for those that no rule names: forbidden if it allows, allowed if it forbids.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    labels: usize,
    rest: Option<f32>,             // pairs that no rule names; None before the first rule
    sets: Vec<Select>,             // different sets of targets
    numbers: HashMap<Select, u32>, // and their numbers
    pairs: Vec<(u32, f32)>,        // a set of targets and a score
    leaving: Vec<Vec<u32>>,        // L: the rules that match a `from`, in order
    start: Option<Vec<f32>>,
    end: Option<Vec<f32>>,
}

/// The default for all others if this is the first rule.
fn rest_of(score: f32) -> f32 {
    if score == FORBIDDEN { 0.0 } else { FORBIDDEN }
}

impl Rules {
    pub(super) fn new(labels: usize) -> Self {
        Rules {
            labels,
            rest: None,
            sets: Vec::new(),
            numbers: HashMap::new(),
            pairs: Vec::new(),
            leaving: vec![Vec::new(); labels],
            start: None,
            end: None,
        }
    }

    /// Forbids everything that no later rule allows.
    pub(super) fn forbid_all(&mut self) {
        self.rest = Some(FORBIDDEN);
        self.start = Some(vec![FORBIDDEN; self.labels]);
        self.end = Some(vec![FORBIDDEN; self.labels]);
    }

    pub(super) fn set_pairs(&mut self, from: &Select, to: Select, score: f32) {
        self.rest.get_or_insert(rest_of(score));
        let rule = self.pairs.len() as u32;
        from.for_each(self.labels, |p| self.leaving[p].push(rule));
        let set = match self.numbers.get(&to) {
            Some(&known) => known,
            None => {
                let set = self.sets.len() as u32;
                self.sets.push(to.clone());
                self.numbers.insert(to, set);
                set
            }
        };
        self.pairs.push((set, score));
    }

    pub(super) fn labels(&self) -> usize {
        self.labels
    }

    /// The score of pairs that no rule names.
    pub(super) fn rest(&self) -> f32 {
        self.rest.unwrap_or(0.0)
    }

    /// The sets of targets that rules name.
    pub(super) fn sets(&self) -> &[Select] {
        &self.sets
    }

    /// The rules about pairs that leave `p`, in order: the number of the set of targets, and the score.
    pub(super) fn leaving(&self, p: usize) -> impl DoubleEndedIterator<Item = (usize, f32)> {
        self.leaving[p]
            .iter()
            .map(|&rule| self.pairs[rule as usize])
            .map(|(set, score)| (set as usize, score))
    }

    pub(super) fn set_start(&mut self, to: &Select, score: f32) {
        let start = self.start.get_or_insert_with(|| vec![rest_of(score); self.labels]);
        to.for_each(self.labels, |y| start[y] = score);
    }

    pub(super) fn set_end(&mut self, from: &Select, score: f32) {
        let end = self.end.get_or_insert_with(|| vec![rest_of(score); self.labels]);
        from.for_each(self.labels, |y| end[y] = score);
    }

    pub(super) fn score(&self, step: Step) -> f32 {
        match step {
            Step::Start(y) => self.start.as_ref().map_or(0.0, |start| start[y]),
            Step::End(y) => self.end.as_ref().map_or(0.0, |end| end[y]),
            Step::Between(p, y) => {
                let found = self.leaving(p).rev().find(|&(set, _)| self.sets[set].contains(y));
                found.map_or(self.rest(), |(_, score)| score)
            }
        }
    }

    /// The largest score of any pair, at least 0, and the largest finite magnitude.
    pub(super) fn largest_scores(&self) -> (f32, f64) {
        let scores = || self.pairs.iter().map(|&(_, score)| score).filter(|score| score.is_finite());
        (scores().fold(0.0, f32::max), scores().map(|score| f64::from(score.abs())).fold(0.0, f64::max))
    }

    /// Adds the scores of all pairs that leave `p`. `buffer` and `row` have room for `L`.
    pub(super) fn add_row(&self, p: usize, buffer: &mut [f32], row: &mut [f32]) {
        let Some(rest) = self.rest else { return };
        buffer.fill(rest);
        for (set, score) in self.leaving(p) {
            self.sets[set].for_each(self.labels, |y| buffer[y] = score);
        }
        row.iter_mut().zip(buffer).for_each(|(sum, &mut score)| *sum += score);
    }
}
