//! The cheap classifier: boosted decision trees over the features of single tokens.
//!
//! **What.** Trees of depth 3. A node asks whether a feature is present; a leaf has a score for each label. The label of
//! a token is the one whose scores in all trees add up to most. **How it learns.** Gradient boosting of the multinomial
//! likelihood (Friedman 2001, section 4.6), but one tree with leaves for all labels per round instead of one tree per label: a tree splits where
//! the residuals `1[label = y] - p(y)` of its two sides differ most. No gold labels: it imitates the exact decoder.
//! **Cost.** Learning: rounds times tokens times features per token times `L`. Answering: three look-ups and `L` additions per
//! tree. **Why our own.** Record 0017: crates for boosting want dense matrices, which sparse text features are not.
//!
//! Druck, Narasimhan and Viola (2007), section 5: 46 trees of depth 3.

use crate::error::{Error, Result};
use crate::kernel::{Loop, run};
#[cfg(feature = "bounds")]
use crate::label::LabelId;

/// The number of questions on the way to a leaf.
const DEPTH: usize = 3;
const INNER: usize = (1 << DEPTH) - 1; // nodes that ask
const LEAVES: usize = 1 << DEPTH;
#[cfg(feature = "bounds")]
/// How much of each tree's step is taken.
const RATE: f64 = 0.5;
#[cfg(feature = "bounds")]
/// Added to each count of tokens: keeps small groups from being believed.
const PRIOR: f64 = 1.0;

/// Boosted trees.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoostedTrees {
    pub(super) labels: usize,
    /// Trees x 7: the feature asked for at the root, at its two children, at their four; `NOTHING` is never present.
    pub(super) questions: Vec<u32>,
    /// Trees x 8 x L: the scores of the leaves, from "absent" at each question to "present".
    pub(super) leaves: Vec<f32>,
}

/// Asks for no feature.
pub(super) const NOTHING: u32 = u32::MAX;

impl BoostedTrees {
    #[cfg(feature = "bounds")]
    /// Trees that predict the labels of tokens from their features, numbered below `features`; each token has its list.
    pub(super) fn fit(
        tokens: &[&[u32]],
        answers: &[LabelId],
        labels: usize,
        features: usize,
        trees: usize,
        progress: &mut dyn FnMut(usize),
    ) -> Self {
        let mut boosted = BoostedTrees { labels, ..Self::default() };
        let mut learner = Learner {
            tokens,
            answers,
            labels,
            scores: vec![0.0; tokens.len() * labels],
            residuals: vec![0.0; tokens.len() * labels],
            sums: vec![0.0; features * labels],
            counts: vec![0; features],
        };
        for round in 0..trees {
            learner.grow(&mut boosted);
            progress(round + 1);
        }
        boosted
    }

    /// From the arrays of [`BoostedTrees::arrays`]; [`LearnedBound::new`](super::LearnedBound::new) checks them.
    pub fn from_arrays(labels: usize, questions: Vec<u32>, leaves: Vec<f32>) -> Self {
        BoostedTrees { labels, questions, leaves }
    }

    /// Seven questions per tree (places of features, or the largest `u32` for none), and eight leaves of `L` scores.
    pub fn arrays(&self) -> (&[u32], &[f32]) {
        (&self.questions, &self.leaves)
    }

    /// The features asked for.
    #[cfg(feature = "bounds")]
    pub(super) fn questions(&self) -> impl Iterator<Item = u32> {
        self.questions.iter().copied().filter(|&question| question != NOTHING)
    }

    /// Gives features other numbers.
    #[cfg(feature = "bounds")]
    pub(super) fn rename(&mut self, name: impl Fn(u32) -> u32) {
        for question in self.questions.iter_mut().filter(|question| **question != NOTHING) {
            *question = name(*question);
        }
    }

    /// Whether the parts fit together.
    pub(super) fn check(&self, labels: usize, features: usize) -> Result<()> {
        let trees = self.questions.len() / INNER;
        let whole = self.questions.len() == trees * INNER && self.leaves.len() == trees * LEAVES * labels;
        if !whole || (trees > 0 && self.labels != labels) {
            let expected = format!("{INNER} questions and {LEAVES} x {labels} scores per tree");
            let got = format!("{} and {}", self.questions.len(), self.leaves.len());
            return Err(Error::shape("learned bound, trees", expected, got));
        }
        match self.questions.iter().find(|&&question| question != NOTHING && question as usize >= features) {
            Some(question) => {
                Err(Error::shape("learned bound, questions", format!("features below {features}"), question))
            }
            None => Ok(()),
        }
    }

    /// Number of trees.
    pub fn len(&self) -> usize {
        self.questions.len() / INNER
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.questions.is_empty()
    }

    /// Adds up the scores of all labels, for a token whose features have this stamp.
    #[inline]
    pub(super) fn score(&self, stamps: &[u32], stamp: u32, scores: &mut [f32]) {
        run(AddLeaves { trees: self, stamps, stamp, scores });
    }
}

struct AddLeaves<'a> {
    trees: &'a BoostedTrees,
    stamps: &'a [u32],
    stamp: u32,
    scores: &'a mut [f32],
}

impl Loop for AddLeaves<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let (labels, scores) = (self.trees.labels, self.scores);
        scores.fill(0.0);
        let leaves = self.trees.leaves.chunks_exact(LEAVES * labels);
        for (questions, leaves) in self.trees.questions.chunks_exact(INNER).zip(leaves) {
            let mut node = 0;
            while node < INNER {
                let present = self.stamps.get(questions[node] as usize) == Some(&self.stamp);
                node = 2 * node + 1 + usize::from(present);
            }
            let leaf = &leaves[(node - INNER) * labels..][..labels];
            scores.iter_mut().zip(leaf).for_each(|(score, leaf)| *score += leaf);
        }
    }
}

#[cfg(feature = "bounds")]
struct Learner<'a> {
    tokens: &'a [&'a [u32]],
    answers: &'a [LabelId],
    labels: usize,
    scores: Vec<f64>,    // tokens x L
    residuals: Vec<f32>, // tokens x L
    sums: Vec<f32>,      // features x L: residuals of the tokens of one node that have the feature
    counts: Vec<u32>,    // features: how many these are
}

#[cfg(feature = "bounds")]
impl Learner<'_> {
    /// One round: a tree for the residuals.
    fn grow(&mut self, boosted: &mut BoostedTrees) {
        let labels = self.labels;
        for (i, &answer) in self.answers.iter().enumerate() {
            let scores = &self.scores[i * labels..][..labels];
            let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
            for y in 0..labels {
                let probability = (scores[y] - largest).exp() / total;
                let right = if y == answer as usize { 1.0 } else { 0.0 };
                self.residuals[i * labels + y] = (right - probability) as f32;
            }
        }
        let mut groups: Vec<Vec<u32>> = vec![(0..self.tokens.len() as u32).collect()];
        for _ in 0..DEPTH {
            let mut next = vec![];
            for group in groups {
                let question = self.question(&group);
                boosted.questions.push(question);
                let has = |&i: &u32| self.tokens[i as usize].contains(&question);
                let (with, without) = group.into_iter().partition(has);
                next.extend([without, with]);
            }
            groups = next;
        }
        for group in groups {
            let leaf = self.leaf(&group);
            for &i in &group {
                let scores = &mut self.scores[i as usize * labels..][..labels];
                scores.iter_mut().zip(&leaf).for_each(|(score, leaf)| *score += leaf);
            }
            boosted.leaves.extend(leaf.iter().map(|&value| value as f32));
        }
    }

    /// The feature whose presence divides the residuals best: the largest `sum over y of G^2 / n` of both sides. Among equals
    /// the lowest number.
    fn question(&mut self, group: &[u32]) -> u32 {
        let labels = self.labels;
        self.sums.fill(0.0);
        self.counts.fill(0);
        let mut all = vec![0.0f32; labels];
        for &i in group {
            let residuals = &self.residuals[i as usize * labels..][..labels];
            all.iter_mut().zip(residuals).for_each(|(sum, residual)| *sum += residual);
            for &feature in self.tokens[i as usize] {
                self.counts[feature as usize] += 1;
                let sums = &mut self.sums[feature as usize * labels..][..labels];
                sums.iter_mut().zip(residuals).for_each(|(sum, residual)| *sum += residual);
            }
        }
        let whole: f64 = all.iter().map(|&sum| f64::from(sum).powi(2)).sum();
        let mut best = (whole / (group.len() as f64 + PRIOR) + 1e-9, NOTHING);
        for (feature, (&count, sums)) in self.counts.iter().zip(self.sums.chunks_exact(labels)).enumerate() {
            if count == 0 || count as usize == group.len() {
                continue;
            }
            let with: f64 = sums.iter().map(|&sum| f64::from(sum).powi(2)).sum();
            let without: f64 = sums.iter().zip(&all).map(|(sum, all)| f64::from(all - sum).powi(2)).sum();
            let rest = group.len() as f64 - f64::from(count);
            let gain = with / (f64::from(count) + PRIOR) + without / (rest + PRIOR);
            if gain > best.0 {
                best = (gain, feature as u32);
            }
        }
        best.1
    }

    /// Newton's step for each label: `(L - 1) / L * sum(g) / sum(|g| (1 - |g|))` (Friedman, equation 33).
    fn leaf(&self, group: &[u32]) -> Vec<f64> {
        let labels = self.labels;
        let (mut sums, mut curvatures) = (vec![0.0; labels], vec![PRIOR * 0.1; labels]);
        for &i in group {
            for (y, &residual) in self.residuals[i as usize * labels..][..labels].iter().enumerate() {
                let residual = f64::from(residual);
                sums[y] += residual;
                curvatures[y] += residual.abs() * (1.0 - residual.abs());
            }
        }
        let share = (labels as f64 - 1.0) / labels as f64;
        sums.iter()
            .zip(&curvatures)
            .map(|(sum, curvature)| (RATE * share * sum / curvature).clamp(-4.0, 4.0))
            .collect()
    }
}
