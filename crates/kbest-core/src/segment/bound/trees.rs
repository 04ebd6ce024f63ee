//! The cheap classifier: boosted decision trees over the features of single tokens.
//!
//! **What.** Trees of depth 3. A node asks whether a feature is present; a leaf has a score for each label. The label of
//! a token is the one whose scores in all trees add up to the largest sum. `grow.rs` learns them.
//! **Cost.** Three look-ups and `L` additions per tree. **Why our own.** Record 0017: crates for boosting want dense
//! matrices, which sparse text features are not.
//!
//! Druck, Narasimhan and Viola (2007), section 5: 46 trees of depth 3.

use crate::error::{Error, Result};
use crate::simd::{Loop, run};

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

    /// Adds up the scores of all labels, for a token whose features have this stamp. `taken` is working memory.
    #[inline]
    pub(super) fn score(&self, stamps: &[u32], stamp: u32, taken: &mut Vec<u32>, scores: &mut [f32]) {
        run(AddLeaves { trees: self, stamps, stamp, taken, scores });
    }
}

struct AddLeaves<'a> {
    trees: &'a BoostedTrees,
    stamps: &'a [u32],
    stamp: u32,
    taken: &'a mut Vec<u32>, // of each tree: where the scores of its leaf begin
    scores: &'a mut [f32],
}

/// Labels whose sums stay in registers while the leaves of all trees are added.
const TOGETHER: usize = 8;

impl Loop for AddLeaves<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let AddLeaves { trees: BoostedTrees { labels, questions, leaves }, stamps, stamp, taken, scores } =
            self;
        let labels = *labels;
        let questions = questions.as_chunks::<INNER>().0;
        taken.resize(questions.len(), 0);
        for (tree, (questions, taken)) in questions.iter().zip(taken.iter_mut()).enumerate() {
            let mut node = 0;
            for _ in 0..DEPTH {
                let present = match stamps.get(questions[node] as usize) {
                    Some(&last) => last == stamp,
                    None => false,
                };
                node = 2 * node + 1 + usize::from(present);
            }
            *taken = ((tree * LEAVES + node - INNER) * labels) as u32;
        }
        // Leaf after leaf for each label, whatever the number of labels at a time: the sums are the same. (The last eight may overlap
        // those before.)
        let Some(last) = labels.checked_sub(TOGETHER) else {
            scores.fill(0.0);
            for &leaf in taken.iter() {
                for y in 0..labels {
                    scores[y] += leaves[leaf as usize + y];
                }
            }
            return;
        };
        for group in 0..labels.div_ceil(TOGETHER) {
            let from = last.min(group * TOGETHER);
            let mut sums = [0.0; TOGETHER];
            for &leaf in taken.iter() {
                let leaf = &leaves[leaf as usize + from..][..TOGETHER];
                for i in 0..TOGETHER {
                    sums[i] += leaf[i];
                }
            }
            scores[from..][..TOGETHER].copy_from_slice(&sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn leaves_are_added_tree_by_tree_whatever_the_number_of_labels() {
        let random = &mut Random::new(4);
        for labels in [1, 5, 8, 9, 16, 23] {
            let (trees, features) = (7, 10);
            let questions: Vec<u32> = (0..trees * INNER)
                .map(|_| if random.chance(0.2) { NOTHING } else { random.below(features) as u32 })
                .collect();
            let leaves: Vec<f32> = (0..trees * LEAVES * labels).map(|_| random.signed() as f32).collect();
            let stamps: Vec<u32> = (0..features).map(|_| random.below(2) as u32).collect();
            let mut expected = vec![0.0f32; labels];
            for (tree, asked) in questions.chunks_exact(INNER).enumerate() {
                let mut leaf = 0;
                let mut node = 0;
                for _ in 0..DEPTH {
                    let present = asked[node] != NOTHING && stamps[asked[node] as usize] == 1;
                    (leaf, node) = (2 * leaf + usize::from(present), 2 * node + 1 + usize::from(present));
                }
                for y in 0..labels {
                    expected[y] += leaves[(tree * LEAVES + leaf) * labels + y];
                }
            }
            let trees = BoostedTrees::from_arrays(labels, questions, leaves);
            let (mut taken, mut scores) = (vec![], vec![9.0; labels]);
            trees.score(&stamps, 1, &mut taken, &mut scores);
            assert_eq!(scores, expected, "{labels} labels");
        }
    }
}
