//! A lower bound on the k-th best path, from a beam as wide as k: cheap, and what makes pruning bite early.
//!
//! The beam's hypotheses are distinct paths and their scores are the judge's, so there are at least `k` paths that score
//! no less than its worst survivor. Width one is left-to-right deterministic decoding (Kaji et al. 2010, section 3.5); width
//! `k` is line 1 of Algorithm 4 of Huang et al. (2012). **Cost.** `T L k`.

use super::Tally;
use crate::kernel::{Float, padded};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};

/// Working memory of the beam.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    beam: Vec<(S, LabelId)>, // at most k, best first
    next: Vec<(S, LabelId)>,
    row: Vec<S>, // padded L
}

/// Keeps the `k` best, best first; among equals the first come.
#[inline]
fn insert<S: Float>(beam: &mut Vec<(S, LabelId)>, k: usize, score: S, y: usize) {
    let full = beam.len() == k;
    if score.is_forbidden() || full && score <= beam[k - 1].0 {
        return;
    }
    if full {
        beam.pop();
    }
    let place = beam.partition_point(|&(other, _)| other >= score);
    beam.insert(place, (score, y as LabelId));
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
    beam.clear();
    for y in 0..labels {
        insert(beam, k, lattice.first_score(y), y);
    }
    for t in 1..positions {
        let nodes = lattice.node_row(t);
        next.clear();
        for &(score, p) in beam.iter() {
            let row = &edges.row(t, p as usize, row)[..labels];
            for (y, (&w, &node)) in row.iter().zip(nodes).enumerate() {
                insert(next, k, (score + w) + node, y);
            }
        }
        tally.edges(beam.len() * labels);
        std::mem::swap(beam, next);
    }
    next.clear();
    for &(score, y) in beam.iter() {
        insert(next, k, lattice.with_end_score(score, y as usize), y as usize);
    }
    if next.len() < k { S::FORBIDDEN } else { next[k - 1].0 }
}
