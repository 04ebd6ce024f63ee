//! A lower bound on the k-th best path, from a beam of width k: cheap, and lets pruning take effect early.
//!
//! The beam's hypotheses are distinct paths and their scores are the judge's, so there are at least `k` paths that
//! score no less than its worst survivor. Width one is left-to-right deterministic decoding (Kaji et al. 2010, section
//! 3.5); width `k` is line 1 of Algorithm 4 of Huang et al. (2012). **Cost.** `T L k`.

use super::Tally;
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::{Float, padded};
use std::cmp::Ordering;

/// Working memory of the beam.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    beam: Best<S>,
    next: Best<S>,
    row: Vec<S>, // padded L
}

/// The `k` best items added so far, in no particular order; up to `2k` are held, so that selecting the best costs
/// little per item.
#[derive(Debug, Default)]
struct Best<S> {
    k: usize,
    held: Vec<(S, LabelId)>,
    floor: S, // at least k are known to be better or equal
}

impl<S: Float> Best<S> {
    fn clear(&mut self, k: usize) {
        (self.k, self.floor) = (k, S::FORBIDDEN);
        self.held.clear();
    }

    #[inline]
    fn insert(&mut self, score: S, y: usize) {
        if score > self.floor {
            self.held.push((score, y as LabelId));
            if self.held.len() >= self.k.saturating_mul(2) {
                self.cut();
            }
        }
    }

    /// Drops all except the `k` best.
    fn cut(&mut self) {
        if self.held.len() >= self.k {
            let last = self.k - 1;
            self.held.select_nth_unstable_by(last, |a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
            self.held.truncate(self.k);
            self.floor = self.held[last].0;
        }
    }
}

/// A score that at least `k` paths reach; forbidden if the beam found fewer.
pub(crate) fn beam_lower_bound<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    k: usize,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
) -> S {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let Memory { beam, next, row } = memory;
    row.resize(padded(labels), S::FORBIDDEN);
    beam.clear(k);
    for y in 0..labels {
        beam.insert(lattice.first_score(y), y);
    }
    beam.cut();
    for t in 1..positions {
        let nodes = lattice.node_row(t);
        next.clear(k);
        for &(score, p) in &beam.held {
            let row = &edges.row(t, p as usize, row)[..labels];
            for (y, (&w, &node)) in row.iter().zip(nodes).enumerate() {
                next.insert((score + w) + node, y);
            }
        }
        next.cut();
        tally.edges(beam.held.len() * labels);
        std::mem::swap(beam, next);
    }
    next.clear(k);
    for &(score, y) in &beam.held {
        next.insert(lattice.with_end_score(score, y as usize), y as usize);
    }
    next.cut();
    next.floor
}
