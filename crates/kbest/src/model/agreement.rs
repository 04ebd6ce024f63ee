//! Weights between parts of neighbouring labels: which values follow each other, and which agree.
//!
//! **What.** The parts of a label's name fall into *groups*: `Case=Gen` is the value `Gen` of the group `Case`, and a first
//! part without `=` is the value of the group [`COARSE`] (`NOUN`). A label that has no value of a group has the value *none*
//! there. Each group has a weight for each pair of values, and an edge scores the sum:
//!
//! ```text
//! edge[p][y] = weights of edge features + sum over groups g of weight_g[value of p in g][value of y in g]
//! ```
//!
//! **Why.** Most pairs of a thousand labels are never seen, but most pairs of cases are. **Cost.** Labels with the same values
//! in all groups are one *class*; the sums are one number per pair of classes, which the edges
//! ([`Edges::classes`](crate::Edges::classes)) keep once for all steps. A step of a decoder costs as much more as there are
//! pairs of classes, at most; most decoders look at few of them. **When not.** If the names of the labels have no parts:
//! [`LabelGroups::from_names`] finds no groups. If the values of all groups together make more than [`MOST_CLASSES`] classes.
//!
//! ```
//! use kbest::LabelSet;
//! use kbest::model::LabelGroups;
//! let labels = LabelSet::from_names(["NOUN|Case=Nom", "NOUN|Case=Gen", "ADJ|Case=Gen", "PUNCT"]);
//! let groups = LabelGroups::from_names(&labels, &["coarse", "Case"])?.unwrap();
//! assert_eq!((groups.names().collect::<Vec<_>>(), groups.classes()), (vec!["coarse", "Case"], 4));
//! assert_eq!(groups.weights(), 4 * 4 + 3 * 3); // NOUN, ADJ, PUNCT and none; Nom, Gen and none
//! let [_, case] = groups.of_pair(2, 1)[..] else { panic!("two groups") };
//! assert_eq!(groups.describe(case), ("Case", "Gen", "Gen"));
//! # Ok::<(), kbest::Error>(())
//! ```
//!
//! **Paper.** Müller, Schmid and Schütze, *Efficient higher-order CRFs for morphological tagging*, EMNLP 2013.

use super::label_parts::SEPARATORS;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kbest_core::simd::Float;
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelSet};

/// The group of first parts without `=`.
pub const COARSE: &str = "coarse";

/// There may be this many classes: their scores then take 16 MiB.
pub const MOST_CLASSES: usize = 1 << 11;

/// The groups that agreement is learned of unless others are named, as far as labels have them.
pub const USUAL_GROUPS: [&str; 4] = [COARSE, "Case", "Number", "Gender"];

/// A group of values that exclude each other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    name: String,
    values: Vec<String>, // the first is none, the empty string
    first: usize,        // where its weights begin
}

/// Which values each label has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelGroups {
    groups: Vec<Group>,
    values: Vec<u32>,  // L x G
    classes: Vec<u32>, // L
    members: Vec<u32>, // by class: a label of it
    weights: usize,
}

/// Groups of labels, and a weight for each pair of values of each group.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    groups: LabelGroups,
    weights: Vec<f32>,
}

/// The groups of a label's name, each with its value: `ADJ|Case=Gen`, or fields of CoNLL-U, `ADJ+Case=Gen|Number=Sing`.
fn split(name: &str) -> impl Iterator<Item = (&str, &str)> {
    name.split(['|', '+']).enumerate().filter_map(|(i, piece)| match piece.split_once('=') {
        Some((group, value)) => Some((group, value)).filter(|_| !group.is_empty() && !value.is_empty()),
        None if i == 0 => piece.split(SEPARATORS).find(|part| !part.is_empty()).map(|part| (COARSE, part)),
        None => None,
    })
}

impl LabelGroups {
    /// The names of the groups in which labels differ, in the order of their first occurrence.
    pub fn available(labels: &LabelSet) -> Vec<String> {
        let mut found: Vec<(&str, &str, usize)> = Vec::new(); // name, first value, labels that have this value
        for (group, value) in labels.names().flat_map(split) {
            match found.iter_mut().find(|(name, ..)| *name == group) {
                Some((_, first, count)) => *count += usize::from(*first == value),
                None => found.push((group, value, 1)),
            }
        }
        let differs = |&(_, _, count): &(&str, &str, usize)| count < labels.len();
        found.into_iter().filter(differs).map(|(name, ..)| name.to_owned()).collect()
    }

    /// The groups of these names. `None` if no names are given.
    ///
    /// # Errors
    /// [`Error::Argument`] for a group that labels do not differ in; [`Error::Shape`] if they make more than
    /// [`MOST_CLASSES`] classes.
    pub fn from_names<N: AsRef<str>>(labels: &LabelSet, names: &[N]) -> Result<Option<Self>> {
        let available = Self::available(labels);
        let mut chosen: Vec<&str> = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            if !available.iter().any(|known| known == name) {
                let expected = match available.is_empty() {
                    true => "labels whose names have parts, such as `NOUN|Case=Gen`".to_owned(),
                    false => format!("groups that labels differ in: {}", available.join(", ")),
                };
                return Err(Error::argument("agreement", expected, format!("`{name}`")));
            }
            if !chosen.contains(&name) {
                chosen.push(name);
            }
        }
        if chosen.is_empty() {
            return Ok(None);
        }
        let mut groups: Vec<(String, Vec<String>)> =
            chosen.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
        let mut numbers: HashMap<(usize, &str), u32, FixedState> = HashMap::default();
        let mut values = Vec::with_capacity(labels.len() * chosen.len());
        for name in labels.names() {
            let first = values.len();
            values.resize(first + chosen.len(), 0);
            for (group, value) in split(name) {
                let Some(g) = chosen.iter().position(|chosen| *chosen == group) else { continue };
                let known = &mut groups[g].1;
                values[first + g] = *numbers.entry((g, value)).or_insert_with(|| {
                    known.push(value.to_owned());
                    known.len() as u32
                });
            }
        }
        Self::new(labels.len(), groups, values).map(Some)
    }

    /// The [usual groups](USUAL_GROUPS), as far as labels have them and classes do not become too many; `None` if there are
    /// none.
    pub fn usual(labels: &LabelSet) -> Option<Self> {
        let available = Self::available(labels);
        let names: Vec<&str> =
            USUAL_GROUPS.into_iter().filter(|name| available.iter().any(|known| known == name)).collect();
        (1..=names.len()).rev().find_map(|count| Self::from_names(labels, &names[..count]).ok().flatten())
    }

    /// From the names of groups and of their values, and for each label a value of each group: 0 for none, or one more than
    /// the place of its name.
    ///
    /// # Errors
    /// [`Error::Shape`] without groups, for values that do not exist or are not one per label and group, or for more than
    /// [`MOST_CLASSES`] classes.
    pub fn new(labels: usize, groups: Vec<(String, Vec<String>)>, values: Vec<u32>) -> Result<Self> {
        if groups.is_empty() || values.len() != labels.saturating_mul(groups.len()) {
            let expected = format!("one value for each of {labels} labels and at least one group");
            return Err(Error::shape("groups of labels", expected, values.len()));
        }
        let mut first = 0;
        let groups: Vec<Group> = groups
            .into_iter()
            .map(|(name, names)| {
                let values: Vec<String> = std::iter::once(String::new()).chain(names).collect();
                let group = Group { name, first, values };
                first += group.values.len() * group.values.len();
                group
            })
            .collect();
        let mut numbers: HashMap<&[u32], u32, FixedState> = HashMap::default();
        let (mut classes, mut members) = (Vec::with_capacity(labels), Vec::new());
        for (y, of_label) in (0..).zip(values.chunks_exact(groups.len())) {
            if let Some((g, &value)) =
                (0..).zip(of_label).find(|&(g, &value)| value as usize >= groups[g as usize].values.len())
            {
                let what = format!("the value of label {y} in group {g}");
                let expected = format!("a number below {}", groups[g as usize].values.len());
                return Err(Error::shape(what, expected, value));
            }
            let class = *numbers.entry(of_label).or_insert_with(|| {
                members.push(y);
                members.len() as u32 - 1
            });
            if members.len() > MOST_CLASSES {
                let expected = format!("at most {MOST_CLASSES} combinations of values");
                return Err(Error::shape("groups of labels", expected, "more"));
            }
            classes.push(class);
        }
        drop(numbers);
        Ok(LabelGroups { groups, values, classes, members, weights: first })
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.classes.len()
    }

    /// The names of the groups.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.groups.iter().map(|group| group.name.as_str())
    }

    /// Number of weights: one for each pair of values of each group.
    pub fn weights(&self) -> usize {
        self.weights
    }

    /// Number of classes: combinations of values that some label has.
    pub fn classes(&self) -> usize {
        self.members.len()
    }

    /// The class of each label.
    pub fn class_of_labels(&self) -> &[u32] {
        &self.classes
    }

    /// The values of a label, group by group.
    fn of_label(&self, y: LabelId) -> &[u32] {
        &self.values[y as usize * self.groups.len()..][..self.groups.len()]
    }

    /// The weight of a pair of values.
    #[inline]
    fn weight(&self, group: usize, from: u32, to: u32) -> usize {
        let Group { first, values, .. } = &self.groups[group];
        first + from as usize * values.len() + to as usize
    }

    /// Calls `visit` with the number of each weight that a pair of labels has, one per group.
    #[inline]
    pub fn visit_pair(&self, from: LabelId, to: LabelId, mut visit: impl FnMut(usize)) {
        let (from, to) = (self.of_label(from), self.of_label(to));
        (0..self.groups.len()).for_each(|g| visit(self.weight(g, from[g], to[g])));
    }

    /// The numbers of the weights that a pair of labels has, one per group.
    pub fn of_pair(&self, from: LabelId, to: LabelId) -> Vec<usize> {
        let mut all = Vec::with_capacity(self.groups.len());
        self.visit_pair(from, to, |weight| all.push(weight));
        all
    }

    /// The same for a pair of classes.
    #[inline]
    pub(crate) fn visit_classes(&self, from: usize, to: usize, visit: impl FnMut(usize)) {
        self.visit_pair(self.members[from], self.members[to], visit);
    }

    /// The group of a weight, the value before and the value after; none is the empty string.
    ///
    /// # Panics
    /// If there is no such weight.
    pub fn describe(&self, weight: usize) -> (&str, &str, &str) {
        assert!(weight < self.weights, "weight {weight} of {}", self.weights);
        let (g, from, to) = self.place(weight);
        let Group { name, values, .. } = &self.groups[g];
        (name, &values[from], &values[to])
    }

    /// The group of a weight, and its two values.
    fn place(&self, weight: usize) -> (usize, usize, usize) {
        let g = self.groups.partition_point(|group| group.first <= weight) - 1;
        let Group { values, first, .. } = &self.groups[g];
        (g, (weight - first) / values.len(), (weight - first) % values.len())
    }

    /// The names of groups and of their values without none, as given to [`LabelGroups::new`].
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.groups.iter().map(|group| (group.name.as_str(), &group.values[1..]))
    }

    /// The values of all labels, as given to [`LabelGroups::new`].
    pub(super) fn values(&self) -> &[u32] {
        &self.values
    }
}

/// The sums of weights for all pairs of classes, kept up to date while weights change.
///
/// Each value of each group has a *line*: its weights toward all classes. The scores from a class are the sum of the lines
/// of its values, so a changed weight costs one line, and bringing all scores up to date adds rows of numbers.
#[derive(Debug, Clone)]
pub(crate) struct ClassScores<S> {
    groups: LabelGroups,
    starts: Vec<usize>,     // by group: its first line
    lines: Vec<S>,          // a line of C for each value of each group
    targets: Vec<Vec<u32>>, // by line: the classes with this value
    weights: Vec<S>,
    touched: Vec<usize>, // weights that were set since the last update, maybe to what they were
    changed: Vec<bool>,  // by line
    scores: Vec<S>,      // C x C
}

impl<S: Float> ClassScores<S> {
    /// All weights zero.
    pub(crate) fn new(groups: &LabelGroups) -> Self {
        let classes = groups.classes();
        let mut starts = vec![0];
        groups.groups.iter().for_each(|group| starts.push(starts[starts.len() - 1] + group.values.len()));
        let lines = starts[starts.len() - 1];
        let mut targets = vec![Vec::new(); lines];
        for (class, &y) in (0..).zip(&groups.members) {
            for (g, &value) in groups.of_label(y).iter().enumerate() {
                targets[starts[g] + value as usize].push(class);
            }
        }
        ClassScores {
            groups: groups.clone(),
            starts,
            lines: vec![S::ZERO; lines * classes],
            targets,
            weights: vec![S::ZERO; groups.weights()],
            touched: Vec::new(),
            changed: vec![false; lines],
            scores: vec![S::ZERO; classes * classes],
        }
    }

    /// The scores of these weights.
    pub(crate) fn of(groups: &LabelGroups, weights: impl IntoIterator<Item = S>) -> Vec<S> {
        let mut all = Self::new(groups);
        weights.into_iter().enumerate().for_each(|(i, weight)| all.set(i, weight));
        all.update();
        all.scores
    }

    pub(crate) fn groups(&self) -> &LabelGroups {
        &self.groups
    }

    /// The scores of all pairs of classes, row by row, as of the last update.
    pub(crate) fn scores(&self) -> &[S] {
        &self.scores
    }

    /// Sets a weight; the scores follow with the next [`ClassScores::update`].
    pub(crate) fn set(&mut self, weight: usize, value: S) {
        self.weights[weight] = value;
        self.touched.push(weight);
    }

    /// Brings all scores up to date and returns them, row by row; `None` if none has changed. They are added in the order of
    /// the groups.
    ///
    /// Many weights that a perceptron raises in one place it lowers in another: only lines that differ in the end count.
    pub(crate) fn update(&mut self) -> Option<&[S]> {
        let classes = self.groups.classes();
        while let Some(weight) = self.touched.pop() {
            let (g, from, to) = self.groups.place(weight);
            let targets = &self.targets[self.starts[g] + to];
            let line = self.starts[g] + from;
            let scores = &mut self.lines[line * classes..][..classes];
            if targets.first().is_some_and(|&class| scores[class as usize] != self.weights[weight]) {
                targets.iter().for_each(|&class| scores[class as usize] = self.weights[weight]);
                self.changed[line] = true;
            }
        }
        if !self.changed.contains(&true) {
            return None;
        }
        for (row, &y) in self.scores.chunks_exact_mut(classes).zip(&self.groups.members) {
            let values = self.groups.of_label(y);
            let lines = || self.starts.iter().zip(values).map(|(start, &value)| start + value as usize);
            if !lines().any(|line| self.changed[line]) {
                continue;
            }
            row.fill(S::ZERO);
            for line in lines() {
                let line = &self.lines[line * classes..][..classes];
                row.iter_mut().zip(line).for_each(|(sum, &weight)| *sum += weight);
            }
        }
        self.changed.fill(false);
        Some(&self.scores)
    }
}

impl Agreement {
    /// Groups and the weights of all pairs of values.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of weights; [`Error::IllegalScore`] if one is not finite.
    pub fn new(groups: LabelGroups, weights: Vec<f32>) -> Result<Self> {
        if weights.len() != groups.weights() {
            return Err(Error::shape("weights between parts of labels", groups.weights(), weights.len()));
        }
        if let Some(i) = weights.iter().position(|weight| !weight.is_finite()) {
            let what = format!("weight {i} between parts of labels");
            return Err(Error::IllegalScore { what, value: weights[i].into() });
        }
        Ok(Agreement { groups, weights })
    }

    /// The groups.
    pub fn groups(&self) -> &LabelGroups {
        &self.groups
    }

    /// The weights: see [`LabelGroups::describe`].
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The sum for each pair of classes, row by row.
    pub fn scores(&self) -> Vec<f32> {
        ClassScores::of(&self.groups, self.weights.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbest_core::random::Random;

    const NAMES: [&str; 6] = [
        "NOUN|Case=Nom|Number=Sing",
        "NOUN|Case=Gen|Number=Plur",
        "[/Adj][Nom]|Case=Gen|x=",
        "ADP|Case=Gen",
        "ADP|Case=Gen|Style=Arch",
        "|Foreign=Yes",
    ];

    #[test]
    fn groups_are_found_in_names() {
        let labels = LabelSet::from_names(NAMES);
        assert_eq!(LabelGroups::available(&labels), ["coarse", "Case", "Number", "Style", "Foreign"]);
        let groups = LabelGroups::usual(&labels).unwrap();
        assert_eq!(groups.names().collect::<Vec<_>>(), ["coarse", "Case", "Number"]);
        // The two ADP differ in nothing that counts.
        assert_eq!((groups.class_of_labels(), groups.classes()), (&[0, 1, 2, 3, 3, 4][..], 5));
        let pair: Vec<_> = groups.of_pair(2, 5).into_iter().map(|weight| groups.describe(weight)).collect();
        assert_eq!(pair, [("coarse", "Adj", ""), ("Case", "Gen", ""), ("Number", "", "")]);
        assert!(LabelGroups::from_names(&labels, &["Case", "Mood"]).is_err());
        assert!(LabelGroups::from_names(&labels, &["Case", "Case"]).unwrap().unwrap().names().len() == 1);
        assert_eq!(LabelGroups::from_names::<&str>(&labels, &[]).unwrap(), None);
        // Fields of CoNLL-U as a label joins them.
        let joined = LabelSet::from_names(["NOUN+Case=Nom|Number=Sing", "ADJ+Number=Plur", "PUNCT+_"]);
        assert_eq!(LabelGroups::available(&joined), ["coarse", "Case", "Number"]);
        // One coarse tag for all says nothing.
        let alike = LabelSet::from_names(["N|Case=A", "N|Case=B"]);
        assert_eq!(LabelGroups::available(&alike), ["Case"]);
        let plain = LabelSet::from_names(["|", "="]);
        assert!(LabelGroups::usual(&plain).is_none() && LabelGroups::available(&plain).is_empty());
    }

    /// Sums of lines are the sums of weights, pair by pair, after any changes.
    #[test]
    fn class_scores_are_sums_of_weights() {
        let labels = LabelSet::from_names(NAMES);
        let groups = LabelGroups::from_names(&labels, &["Number", "coarse", "Case"]).unwrap().unwrap();
        let mut scores = ClassScores::<f64>::new(&groups);
        let mut weights = vec![0.0; groups.weights()];
        let mut random = Random::new(4);
        for _ in 0..50 {
            for _ in 0..random.below(4) {
                let weight = random.below(weights.len());
                weights[weight] = random.below(9) as f64 - 4.0;
                scores.set(weight, weights[weight]);
            }
            scores.update();
            let all = scores.scores().to_vec();
            for (p, y) in (0..6).flat_map(|p| (0..6).map(move |y| (p, y))) {
                let sum: f64 = groups.of_pair(p, y).into_iter().map(|weight| weights[weight]).sum();
                let class = |y: u32| groups.class_of_labels()[y as usize] as usize;
                assert_eq!(all[class(p) * groups.classes() + class(y)], sum);
            }
            assert_eq!(all, ClassScores::of(&groups, weights.iter().copied()));
        }
    }

    #[test]
    fn groups_that_do_not_fit_are_refused() {
        let group = |values: &[&str]| ("g".to_owned(), values.iter().map(|&v| v.to_owned()).collect());
        assert!(LabelGroups::new(2, vec![group(&["a"])], vec![0, 1]).is_ok());
        assert!(LabelGroups::new(2, vec![group(&["a"])], vec![0, 2]).is_err());
        assert!(LabelGroups::new(2, vec![group(&["a"])], vec![0]).is_err());
        assert!(LabelGroups::new(2, vec![], vec![]).is_err());
        let many: Vec<String> = (0..MOST_CLASSES).map(|i| i.to_string()).collect();
        let all = |count: u32| {
            LabelGroups::new(count as usize, vec![("g".into(), many.clone())], (0..count).collect())
        };
        assert!(all(MOST_CLASSES as u32).is_ok() && all(MOST_CLASSES as u32 + 1).is_err());
        let groups = LabelGroups::new(2, vec![group(&["a"])], vec![0, 1]).unwrap();
        assert!(Agreement::new(groups.clone(), vec![0.0; 4]).is_ok());
        assert!(Agreement::new(groups.clone(), vec![0.0; 3]).is_err());
        assert!(Agreement::new(groups, vec![0.0, f32::NAN, 0.0, 0.0]).is_err());
    }
}
