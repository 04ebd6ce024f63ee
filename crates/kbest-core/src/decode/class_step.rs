//! One step of Viterbi over edges in classes.
//!
//! ```text
//! max over p of (alpha[p] + edge[p][y]) = max( alpha[p'] + base[class of p'][class of y],
//!                                              max over exceptions p of y of (alpha[p] + edge[p][y]) )
//! ```
//!
//! where `p'` is the best label for the class of `y` that is not an exception of `y`. The best score of each class of
//! origins decides the best value for each class of targets (a max-plus product with the class scores). Only if an
//! exception of `y` attains that value, a list of the best labels for the class of `y` is made, from the best labels of
//! each class, and walked until one fits. **Cost.** `L`, plus the exceptions, plus the pairs of classes.

use super::viterbi_sparse::BEST;
use crate::lattice::SparseEdges;
use crate::simd::{AlignedVec, Float};

/// The best labels of each class.
#[derive(Debug, Default)]
pub(super) struct ClassLists<S> {
    origins: Vec<List>,         // by class of origins: its best labels; empty until needed
    targets: Vec<Option<List>>, // by class of targets: the best labels for it, once needed
    alpha: AlignedVec<S>,       // by class of origins: the largest forward score
    values: AlignedVec<S>,      // by class of targets: the largest value without exceptions
}

/// Labels, best first; if there are fewer than [`BEST`], all others are forbidden.
#[derive(Debug, Clone, Copy, Default)]
struct List {
    labels: [u32; BEST],
    found: usize,
}

impl List {
    /// Adds a label, if it is among the best; returns whether it is. Among equals, the one that came first is better.
    #[inline(always)]
    fn offer<S: Float>(&mut self, p: u32, value: S, of: impl Fn(u32) -> S) -> bool {
        if value.is_forbidden() || (self.found == BEST && value <= of(self.labels[BEST - 1])) {
            return false;
        }
        let mut i = self.found.min(BEST - 1);
        while i > 0 && value > of(self.labels[i - 1]) {
            self.labels[i] = self.labels[i - 1];
            i -= 1;
        }
        self.labels[i] = p;
        self.found = (self.found + 1).min(BEST);
        true
    }

    fn labels(&self) -> &[u32] {
        &self.labels[..self.found]
    }
}

/// `out[y] = max over p of (alpha[p] + edge[p][y])`.
pub(super) fn class_step<S: Float>(
    edges: &SparseEdges<S>,
    alpha: &[S],
    out: &mut [S],
    lists: &mut ClassLists<S>,
) {
    lists.reset(edges, alpha);
    for (y, out) in out.iter_mut().enumerate() {
        let class = edges.target_class(y);
        let plain = lists.values[class];
        *out = plain;
        let (from, scores) = edges.entering(y);
        if from.is_empty() {
            continue;
        }
        let mut value = S::FORBIDDEN;
        for (&p, &w) in from.iter().zip(scores) {
            value = value.larger(alpha[p as usize] + w);
        }
        let attains = |&p: &u32| alpha[p as usize] + edges.base(p as usize, y) >= plain;
        let attained = !plain.is_forbidden() && from.iter().any(attains);
        let best = if attained { lists.best_but(edges, alpha, y, class, from) } else { plain };
        *out = value.larger(best);
    }
}

impl<S: Float> ClassLists<S> {
    /// Finds the value for each class of targets.
    fn reset(&mut self, edges: &SparseEdges<S>, alpha: &[S]) {
        let (origins, targets) = edges.classes();
        self.origins.clear();
        self.alpha.reset(origins, S::FORBIDDEN);
        if origins == 1 {
            self.alpha[0] = S::largest(alpha);
        } else {
            for (p, &a) in alpha.iter().enumerate() {
                let best = &mut self.alpha[edges.origin_class(p)];
                *best = best.larger(a);
            }
        }
        self.values.reset(edges.class_stride(), S::FORBIDDEN);
        S::max_plus_matrix(&mut self.values, &self.alpha, edges.class_scores());
        self.targets.clear();
        self.targets.resize(targets, None);
    }

    /// The largest value at `y` over the labels that are not in the ascending list `from`.
    fn best_but(&mut self, edges: &SparseEdges<S>, alpha: &[S], y: usize, class: usize, from: &[u32]) -> S {
        if self.origins.is_empty() {
            self.origins.resize(edges.classes().0, List::default());
            for (p, &a) in alpha.iter().enumerate() {
                self.origins[edges.origin_class(p)].offer(p as u32, a, |p| alpha[p as usize]);
            }
        }
        let value = |p: u32| alpha[p as usize] + edges.base(p as usize, y);
        let best = self.targets[class].get_or_insert_with(|| {
            let mut best = List::default();
            for origin in &self.origins {
                for &p in origin.labels() {
                    if !best.offer(p, value(p), value) {
                        break; // those after it are no better
                    }
                }
            }
            best
        });
        match best.labels().iter().find(|p| from.binary_search(p).is_err()) {
            Some(&p) => value(p),
            None if best.found < BEST => S::FORBIDDEN,
            None => {
                let others = (0..alpha.len() as u32).filter(|p| from.binary_search(p).is_err());
                others.fold(S::FORBIDDEN, |best, p| best.larger(value(p)))
            }
        }
    }
}
