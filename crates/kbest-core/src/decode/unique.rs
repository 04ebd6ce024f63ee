//! Paths that differ after their labels are mapped to classes, best first.
//!
//! **What.** [`UniqueBy`] returns, of all paths whose labels look the same after a projection, the best. **How.** At first
//! it goes through the paths on demand and leaves out those that look like one returned before: cheap while few do. When
//! too many in a row do, it divides the sequences of classes not yet returned into disjoint sets (Lawler 1972): those that
//! agree with an answer up to a position `t` and have another class there. The best path of a set is that of the lattice
//! with all other labels forbidden. Each answer divides its set into at most `T` smaller ones.
//!
//! ```text
//! set (classes c, t, X):   class of label[j] = c[j] for j < t,   class of label[t] not in X
//! its best path a gives:   (c, t, X + class of a[t]),   (classes of a, j, { class of a[j] }) for t < j < T
//! ```
//!
//! **Cost.** At most `T + 1` decodings per path returned, whatever the projection; memory of a set: one number per class left
//! out, and the classes of the answer that it came from, shared by its siblings.
//!
//! Paper: Lawler, *A procedure for computing the k best solutions to discrete optimization problems* (1972).

use super::auto::Auto;
use super::by_score::ByScore;
use super::lazy::KbestIter;
use super::{Decode, Path, Scratch};
use crate::label::LabelId;
use crate::lattice::Lattice;
use crate::simd::Float;
use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

/// Paths in a row that may look like earlier ones before the space is divided: per position, and at least.
const PATIENCE: (usize, usize) = (16, 64);

/// Iterator over paths that differ after projection, made by [`KbestIter::unique_by`].
#[derive(Debug)]
pub struct UniqueBy<'l, S: Float, L, F> {
    paths: KbestIter<'l, S, L>,
    projection: F,
    patience: usize,
    state: State<S>,
}

#[derive(Debug)]
enum State<S: Float> {
    /// Paths one by one, and what those returned look like.
    Enumerating(HashSet<Vec<LabelId>>),
    Divided(Box<Divided<S>>),
    Finished,
}

impl<'l, S: Float, L: Borrow<Lattice<'l, S>>, F: Fn(LabelId) -> LabelId> UniqueBy<'l, S, L, F> {
    pub(super) fn new(paths: KbestIter<'l, S, L>, projection: F) -> Self {
        let (per_position, least) = PATIENCE;
        let patience = least.max(per_position * paths.lattice().positions());
        UniqueBy { paths, projection, patience, state: State::Enumerating(HashSet::new()) }
    }
}

impl<'l, S: Float, L: Borrow<Lattice<'l, S>>, F: Fn(LabelId) -> LabelId> Iterator for UniqueBy<'l, S, L, F> {
    type Item = Path<S>;

    fn next(&mut self) -> Option<Path<S>> {
        if let State::Enumerating(seen) = &mut self.state {
            for _ in 0..self.patience {
                let Some(path) = self.paths.next() else {
                    self.state = State::Finished;
                    return None;
                };
                if seen.insert(path.labels.iter().map(|&y| (self.projection)(y)).collect()) {
                    return Some(path);
                }
            }
            let lattice = self.paths.lattice();
            let classes = (0..lattice.labels() as LabelId).map(&self.projection).collect();
            self.state = State::Divided(Box::new(Divided::new(lattice, classes, std::mem::take(seen))));
        }
        match &mut self.state {
            State::Divided(divided) => divided.next(self.paths.lattice()),
            State::Enumerating(_) | State::Finished => None,
        }
    }
}

/// The sequences of classes that were not returned, in disjoint sets.
#[derive(Debug)]
struct Divided<S: Float> {
    classes: Vec<LabelId>, // of each label
    sets: BinaryHeap<ByScore<S, Set>>,
    made: u64,
    scratch: Scratch<S>,
}

/// Sequences with these classes before `position`, and none of the others there. Earlier sets come first among equals.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Set {
    age: Reverse<u64>,
    before: Arc<[LabelId]>,
    position: usize,
    without: Vec<LabelId>,
}

impl<S: Float> Divided<S> {
    /// All sequences but those seen.
    fn new(lattice: &Lattice<'_, S>, classes: Vec<LabelId>, seen: HashSet<Vec<LabelId>>) -> Self {
        let mut divided = Divided { classes, sets: BinaryHeap::new(), made: 0, scratch: Scratch::new() };
        let mut seen: Vec<Arc<[LabelId]>> = seen.into_iter().map(Arc::from).collect();
        seen.sort_unstable();
        for position in 0..lattice.positions() {
            // Answers with the same beginning are neighbours, and what follows it ascends.
            for alike in seen.chunk_by(|a, b| a[..position] == b[..position]) {
                let mut without: Vec<LabelId> = alike.iter().map(|answer| answer[position]).collect();
                without.dedup();
                divided.add(lattice, alike[0].clone(), position, without);
            }
        }
        divided
    }

    /// Adds a set, unless it is empty.
    fn add(
        &mut self,
        lattice: &Lattice<'_, S>,
        before: Arc<[LabelId]>,
        position: usize,
        without: Vec<LabelId>,
    ) {
        if self.classes.iter().all(|class| without.contains(class)) {
            return;
        }
        self.made += 1;
        let set = Set { age: Reverse(self.made), before, position, without };
        if let Some(best) = self.best(lattice, &set) {
            self.sets.push(ByScore { score: best.score, item: set });
        }
    }

    /// The best path of a set.
    fn best(&mut self, lattice: &Lattice<'_, S>, set: &Set) -> Option<Path<S>> {
        let labels_where = |allowed: &dyn Fn(LabelId) -> bool| -> Vec<LabelId> {
            let numbered = (0..).zip(&self.classes);
            numbered.filter(|&(_, &class)| allowed(class)).map(|(y, _)| y).collect()
        };
        let mut limited = lattice.clone();
        for t in 0..set.position {
            limited = limited.allow(t, &labels_where(&|class| class == set.before[t])).ok()?;
        }
        let others = labels_where(&|class| !set.without.contains(&class));
        limited = limited.allow(set.position, &others).ok()?;
        // The only possible error is that there is no legal path.
        Auto::default().decode(&limited, &mut self.scratch).ok()?.paths.pop()
    }

    /// The best path of all sets; its set is divided.
    fn next(&mut self, lattice: &Lattice<'_, S>) -> Option<Path<S>> {
        let set = self.sets.pop()?.item;
        let best = self.best(lattice, &set)?;
        let answer: Arc<[LabelId]> = best.labels.iter().map(|&y| self.classes[y as usize]).collect();
        let Set { before, position, mut without, .. } = set;
        without.push(answer[position]);
        self.add(lattice, before, position, without);
        for t in position + 1..answer.len() {
            self.add(lattice, answer.clone(), t, vec![answer[t]]);
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::kbest_iter;
    use crate::lattice::Edges;
    use crate::random::Random;

    /// Divided at once or never, the answers have the same scores, and each looks different.
    #[test]
    fn dividing_changes_nothing() {
        let mut random = Random::new(3);
        for case in 0..60 {
            let (positions, labels) = (1 + random.below(4), 1 + random.below(6));
            let mut score = || match random.below(9) {
                0 => f32::NEG_INFINITY,
                n => n as f32,
            };
            let edges =
                Edges::dense(labels, (0..labels * labels).map(|_| score()).collect::<Vec<_>>()).unwrap();
            let nodes: Vec<f32> = (0..positions * labels).map(|_| score()).collect();
            let lattice = Lattice::new(nodes, &edges).unwrap();
            for classes in 1..4 {
                let class = |y: LabelId| y % classes;
                let with_patience = |patience: usize| -> Vec<Path<f32>> {
                    let mut unique = kbest_iter(&lattice).unique_by(class);
                    unique.patience = patience;
                    unique.collect()
                };
                let (divided, enumerated) = (with_patience(1), with_patience(usize::MAX));
                let scores = |paths: &[Path<f32>]| paths.iter().map(|path| path.score).collect::<Vec<_>>();
                assert_eq!(scores(&divided), scores(&enumerated), "case {case}, {classes} classes");
                let looks: HashSet<Vec<LabelId>> =
                    divided.iter().map(|path| path.labels.iter().map(|&y| class(y)).collect()).collect();
                assert_eq!(looks.len(), divided.len(), "case {case}, {classes} classes");
                for path in &divided {
                    assert_eq!(lattice.path_score(&path.labels).unwrap(), path.score);
                }
            }
        }
    }

    /// One class for all labels: there is one answer, and the search ends.
    #[test]
    fn one_class_ends() {
        let mut random = Random::new(5);
        let (positions, labels) = (40, 50);
        let edges = Edges::uniform(labels, 0.0f32).unwrap();
        let nodes: Vec<f32> = (0..positions * labels).map(|_| random.unit() as f32).collect();
        let lattice = Lattice::new(nodes, &edges).unwrap();
        assert_eq!(kbest_iter(&lattice).unique_by(|_| 0).count(), 1);
        // Two classes: paths come at once, where billions would have to be left out.
        let some: Vec<f32> =
            kbest_iter(&lattice).unique_by(|y| y % 2).take(20).map(|path| path.score).collect();
        assert_eq!(some.len(), 20);
        assert!(some.is_sorted_by(|a, b| a >= b));
    }
}
