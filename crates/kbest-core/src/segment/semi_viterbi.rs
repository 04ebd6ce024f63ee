//! The textbook: every segment after every label before it, the `k` best of them kept.
//!
//! ```text
//! best[r][y] = max over s < r and p of ( best[s][p] + edge[s][p][y] + segment(s, r, y) )
//! ```
//!
//! **Cost.** `k T W L^2`, and it keeps `T L` lists of `k`. **When not.** Always, but for reading and for checking the others:
//! it is short, plain, and never optimised.

use super::{Counters, Segment, SegmentLattice, Segmentation};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::simd::Float;
use std::cmp::Ordering;

/// One of the best segmentations up to `r` that end in `y`.
#[derive(Debug, Clone, Copy)]
struct Ending<S> {
    score: S,
    inside: f64,   // of the last segment
    entered: S,    // with which it was entered
    start: usize,  // of the last segment
    before: usize, // its label before
    rank: usize,   // which of the endings there
}

impl<S: Float> Ending<S> {
    /// The tie rule: the larger sum, the shorter segment, the larger sum before it, the lower label before it.
    fn order(&self, other: &Self) -> Ordering {
        let descending = |a: f64, b: f64| b.partial_cmp(&a).unwrap_or(Ordering::Equal);
        descending(self.inside, other.inside)
            .then(other.start.cmp(&self.start))
            .then_with(|| descending(self.entered.to_f64(), other.entered.to_f64()))
            .then(self.before.cmp(&other.before))
            .then(self.rank.cmp(&other.rank))
    }
}

pub(super) fn search<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    k: usize,
    counters: &mut Counters,
) -> Result<Vec<Segmentation<S>>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let mut endings: Vec<Vec<Ending<S>>> = vec![vec![]; (positions + 1) * labels];
    for r in 1..=positions {
        for y in 0..labels {
            let mut found = vec![];
            for s in r.saturating_sub(lattice.longest())..r {
                let mut end_with = |entered: S, before: usize, rank: usize| {
                    let inside = lattice.inside(entered, s, r, y);
                    if inside != f64::NEG_INFINITY {
                        let score = lattice.leave(inside, r, y);
                        found.push(Ending { score, inside, entered, start: s, before, rank });
                    }
                };
                if s == 0 {
                    end_with(lattice.enter_first(y), 0, 0);
                    continue;
                }
                counters.edges += labels as u64;
                for p in 0..labels {
                    let edge = with_edges!(lattice.chain(), |edges| edges.get(s, p, y));
                    for (rank, ending) in endings[s * labels + p].iter().enumerate() {
                        end_with(ending.score + edge, p, rank);
                    }
                }
            }
            counters.segments += r.min(lattice.longest()) as u64;
            found.sort_by(Ending::order);
            found.truncate(k);
            endings[r * labels + y] = found;
        }
    }
    let last = &endings[positions * labels..];
    let mut best: Vec<(S, usize, usize)> = vec![]; // score, label, rank
    for (y, endings) in last.iter().enumerate() {
        let scores = endings.iter().map(|ending| lattice.chain().with_end_score(ending.score, y));
        best.extend(scores.enumerate().map(|(rank, score)| (score, y, rank)));
    }
    best.retain(|(score, ..)| !score.is_forbidden());
    best.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then((a.1, a.2).cmp(&(b.1, b.2))));
    best.truncate(k);
    if best.is_empty() {
        return Err(Error::NoPath);
    }
    let trace = |&(score, mut y, mut rank): &(S, usize, usize)| {
        let (mut end, mut segments) = (positions, vec![]);
        while end > 0 {
            let Ending { start, before, rank: rank_before, .. } = endings[end * labels + y][rank];
            segments.push(Segment { start, end, label: y as LabelId });
            (end, y, rank) = (start, before, rank_before);
        }
        segments.reverse();
        Segmentation { segments, score }
    };
    Ok(best.iter().map(trace).collect())
}
