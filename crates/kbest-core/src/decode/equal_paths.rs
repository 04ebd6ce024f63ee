//! The order of paths with equal scores.
//!
//! Look at the last position at which two such paths differ. The one that leads to more right after it comes first; if both lead to
//! the same, the one with the lower label there. (Where sums are exact, both lead to the same, and the order is that of the labels, read
//! from the end.)
//!
//! That is the order in which [`super::path_space`] finds paths: by the value that a way leads to, then by label, then by the order of
//! the paths to that label. Rounding is monotone, so a path that leads to more keeps at least as much until the end. The first of
//! several best paths is therefore plain Viterbi's. **Cost.** The scores along each path, once; comparisons look at labels from the end.

use super::{Path, Tally};
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;
use std::cmp::Ordering;

/// Working memory.
#[derive(Debug, Default)]
pub(crate) struct EqualPaths<S> {
    alphas: Vec<S>, // by path, then by position: the score from the start on
    order: Vec<u32>,
}

impl<S: Float> EqualPaths<S> {
    /// Sorts each run of paths with equal scores, so that the first `wanted` of all paths are in their places.
    pub(crate) fn sort<E: EdgeScores<S>>(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &E,
        paths: &mut [Path<S>],
        mut wanted: usize,
        tally: &mut impl Tally,
    ) {
        for equal in paths.chunk_by_mut(|a, b| a.score == b.score) {
            if equal.len() > 1 && wanted > 0 {
                self.sort_run(lattice, edges, equal, wanted);
                tally.edges(equal.len() * (lattice.positions() - 1));
            }
            wanted = wanted.saturating_sub(equal.len());
        }
    }

    fn sort_run<E: EdgeScores<S>>(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &E,
        paths: &mut [Path<S>],
        wanted: usize,
    ) {
        let positions = lattice.positions();
        self.alphas.clear();
        for path in &*paths {
            let mut alpha = lattice.first_score(path.labels[0] as usize);
            self.alphas.push(alpha);
            for (t, pair) in (1..).zip(path.labels.windows(2)) {
                let (p, y) = (pair[0] as usize, pair[1] as usize);
                alpha = alpha + edges.get(t, p, y) + lattice.node_row(t)[y];
                self.alphas.push(alpha);
            }
        }
        let alphas = &self.alphas;
        self.order.clear();
        self.order.extend(0..paths.len() as u32);
        let by_rank = |&a: &u32, &b: &u32| {
            let [one, other] = [a, b].map(|path| &paths[path as usize].labels);
            let Some(t) = (0..positions).rev().find(|&t| one[t] != other[t]) else { return Ordering::Equal };
            let value = |path: u32, label: u32| {
                let alpha = alphas[path as usize * positions + t];
                match one.get(t + 1) {
                    Some(&after) => alpha + edges.get(t + 1, label as usize, after as usize),
                    None => S::ZERO, // both have the same score
                }
            };
            let (left, right) = (value(a, one[t]), value(b, other[t]));
            match right.partial_cmp(&left) {
                Some(Ordering::Equal) | None => one[t].cmp(&other[t]), // scores of paths are ordered
                Some(order) => order,
            }
        };
        let first = match self.order.len() > wanted {
            true => self.order.select_nth_unstable_by(wanted, by_rank).0,
            false => &mut self.order,
        };
        first.sort_unstable_by(by_rank);
        // Each path goes to its place along a cycle of the permutation; those not wanted stay anywhere.
        for i in 0..wanted.min(paths.len()) {
            let mut from = self.order[i] as usize;
            while from < i {
                from = self.order[from] as usize;
            }
            paths.swap(i, from);
        }
    }
}
