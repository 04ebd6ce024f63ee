//! Constraints as classes of labels and few single pairs, so that constrained edges need no matrix.
//!
//! **What.** Each source of constraints (a tagging scheme, the rules of a file) is split into classes of labels that it
//! treats alike, with a score for each pair of classes, and a list of *pairs* to which that score does not apply. A
//! scheme treats labels alike that have the same role, and its pairs are those of the same type; rules about many
//! labels make classes, rules about few make pairs. **Cost.** Time and memory in proportion to labels, pairs of classes
//! and listed pairs. **When not.** Rules with thousands of different large sets of labels have nearly as many classes as
//! labels; then a matrix is as good.

use super::rules::Rules;
use super::tags::TagRule;
use super::{FORBIDDEN, Part, Step};
use crate::scheme::Role;
use std::collections::HashMap;
use std::hash::Hash;

/// A pair of classes is worth this many fewer steps than a listed pair: it is read by vector instructions.
const PAIR_COST: usize = 32;

/// A set of targets is left to single pairs if all rules about it together name at most this many pairs per label.
const FEW_PAIRS: usize = 4;

/// One part of the constraints.
pub(super) struct Split {
    pub(super) origins: Vec<u32>,      // L: the class of each label as origin
    pub(super) targets: Vec<u32>,      // L: and as target
    pub(super) scores: Vec<f32>,       // by class of origins, then of targets
    pub(super) width: usize,           // classes of targets
    pub(super) pairs: Vec<(u32, u32)>, // pairs that may have other scores
}

impl Split {
    /// The score of a pair that is not listed.
    pub(super) fn score(&self, p: usize, y: usize) -> f32 {
        self.scores[self.origins[p] as usize * self.width + self.targets[y] as usize]
    }
}

/// Numbers things in the order in which they are first seen.
pub(super) struct Numbers<T> {
    numbers: HashMap<T, u32>,
}

impl<T: Eq + Hash> Numbers<T> {
    pub(super) fn new() -> Self {
        Numbers { numbers: HashMap::new() }
    }

    pub(super) fn of(&mut self, thing: T) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(thing).or_insert(next)
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }
}

/// A label of each class.
pub(super) fn examples(classes: &[u32]) -> Vec<usize> {
    let mut examples = vec![0; classes.iter().map(|&class| class as usize + 1).max().unwrap_or(0)];
    classes.iter().enumerate().rev().for_each(|(label, &class)| examples[class as usize] = label);
    examples
}

impl Part {
    /// The classes and pairs of this part; `None` if there are more pairs of classes than `most`.
    pub(super) fn split(&self, most: usize) -> Option<Split> {
        match self {
            Part::Tags(rule) => split_tags(rule, most),
            Part::Rules(rules) => split_rules(rules, most),
        }
    }
}

/// What labels have in common that a scheme treats alike.
#[derive(Clone, Copy)]
enum Alike {
    /// Role, type and rest: no pair is listed.
    Everything,
    /// Role and rest: pairs of the same type are listed where the type matters.
    Role,
    /// Nothing: everything is forbidden except listed pairs of the same rest.
    Nothing,
}

fn split_tags(rule: &TagRule, most: usize) -> Option<Split> {
    let labels = rule.labels();
    let classes = |alike: Alike| {
        let mut numbers = Numbers::new();
        let class = |y: usize| {
            let (role, kind, rest) = rule.tag(y);
            numbers.of(match alike {
                Alike::Everything => (Some(role), kind, rest),
                Alike::Role => (Some(role), 0, rest),
                Alike::Nothing => (None, 0, 0),
            })
        };
        (0..labels).map(class).collect::<Vec<u32>>()
    };
    let by = |key: fn(Role, u32, u32) -> (u32, u32)| {
        let mut groups: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for y in 0..labels {
            let (role, kind, rest) = rule.tag(y);
            groups.entry(key(role, kind, rest)).or_default().push(y as u32);
        }
        groups.into_values().collect::<Vec<_>>()
    };
    let (same_type, same_rest) = (by(|_, kind, rest| (kind, rest)), by(|_, _, rest| (0, rest)));
    let square = |groups: &[Vec<u32>]| groups.iter().map(|group| group.len() * group.len()).sum::<usize>();
    let cost = |alike: Alike| {
        let largest = |classes: Vec<u32>| classes.into_iter().max().map_or(0, |last| last as usize + 1);
        let count = largest(classes(alike));
        let listed = match alike {
            Alike::Everything => 0,
            Alike::Role => square(&same_type),
            Alike::Nothing => square(&same_rest),
        };
        count.saturating_mul(count) + PAIR_COST * listed
    };
    let choices = [Alike::Everything, Alike::Role, Alike::Nothing];
    let alike = choices.into_iter().min_by_key(|&alike| cost(alike)).unwrap_or(Alike::Everything);

    let origins = classes(alike);
    let examples = examples(&origins);
    if examples.len().saturating_mul(examples.len()) > most {
        return None;
    }
    let pair = |p: usize, y: usize| match alike {
        Alike::Everything => rule.allows(Step::Between(p, y)),
        Alike::Role => rule.allows_if_same(p, y, false),
        Alike::Nothing => false,
    };
    let scores = examples
        .iter()
        .flat_map(|&p| examples.iter().map(move |&y| if pair(p, y) { 0.0 } else { FORBIDDEN }));
    let scores: Vec<f32> = scores.collect();
    let groups = match alike {
        Alike::Everything => Vec::new(),
        Alike::Role => same_type,
        Alike::Nothing => same_rest,
    };
    let mut pairs = Vec::new();
    for group in &groups {
        for &p in group {
            let differs = |&&y: &&u32| {
                rule.allows(Step::Between(p as usize, y as usize)) != pair(p as usize, y as usize)
            };
            pairs.extend(group.iter().filter(differs).map(|&y| (p, y)));
        }
    }
    Some(Split { targets: origins.clone(), width: examples.len(), origins, scores, pairs })
}

fn split_rules(rules: &Rules, most: usize) -> Option<Split> {
    let labels = rules.labels();
    let (sets, rest) = (rules.sets(), rules.rest());
    // How many pairs all rules about a set of targets name.
    let mut sizes = vec![0usize; sets.len()];
    for p in 0..labels {
        rules.leaving(p).for_each(|(set, _)| sizes[set] += sets[set].len(labels));
    }
    let large: Vec<bool> = sizes.iter().map(|&pairs| pairs > FEW_PAIRS * labels).collect();
    let mut numbers = Numbers::new();
    let origins: Vec<u32> = (0..labels)
        .map(|p| {
            let rules = rules.leaving(p).filter(|&(set, _)| large[set]);
            numbers.of(rules.map(|(set, score)| (set, score.to_bits())).collect::<Vec<_>>())
        })
        .collect();
    let mut named = vec![Vec::new(); labels]; // by target: the large sets that contain it
    for (set, select) in sets.iter().enumerate().filter(|&(set, _)| large[set]) {
        select.for_each(labels, |y| named[y].push(set));
    }
    let mut numbers = Numbers::new();
    let targets: Vec<u32> = named.into_iter().map(|sets| numbers.of(sets)).collect();
    let (from, to) = (examples(&origins), examples(&targets));
    if from.len().saturating_mul(to.len()) > most {
        return None;
    }
    let mut scores = Vec::with_capacity(from.len() * to.len());
    for &p in &from {
        let own: Vec<(usize, f32)> = rules.leaving(p).filter(|&(set, _)| large[set]).collect();
        for &y in &to {
            let last = own.iter().rev().find(|&&(set, _)| sets[set].contains(y));
            scores.push(last.map_or(rest, |&(_, score)| score));
        }
    }
    let mut pairs = Vec::new();
    for p in 0..labels {
        for (set, _) in rules.leaving(p).filter(|&(set, _)| !large[set]) {
            sets[set].for_each(labels, |y| pairs.push((p as u32, y as u32)));
        }
    }
    Some(Split { origins, targets, scores, width: to.len(), pairs })
}
