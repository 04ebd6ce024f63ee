//! The cheap classifier: boosted decision trees over the features of single tokens.
//!
//! **What.** Trees of depth 3. A node asks whether a feature is present; a leaf has a score for each label. The label of
//! a token is the one whose scores in all trees add up to the largest sum. `grow.rs` learns them.
//! **Cost.** Three look-ups and `L` additions per tree. **Why our own.** Record 0017: crates for boosting want dense
//! matrices, which sparse text features are not.
//!
//! Druck, Narasimhan and Viola (2007), section 5: 46 trees of depth 3.

use crate::error::{Error, Result};
use crate::kernel::{Loop, run};

/// The number of questions on the way to a leaf.
pub(super) const DEPTH: usize = 3;
const INNER: usize = (1 << DEPTH) - 1; // nodes that ask
const LEAVES: usize = 1 << DEPTH;

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
