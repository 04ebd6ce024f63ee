//! A label that may be on a good path, and the loops over such labels, compiled for the CPU in use.
//!
//! How many labels a position has, and how many of them are wanted, cannot be predicted, so these loops have no branch
//! except their end.

use crate::decode::funnel::layers::{LATER, NONE};
use crate::simd::{Float, Loop};
use std::hint::select_unpredictable;

/// The best way in may be over a label that is not opened.
pub(super) const UNKNOWN: u32 = LATER - 1;

/// A label that may be wanted before the best path's label of the next position. (A label that is open has a forbidden
/// score here.)
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<S> {
    pub(super) label: u32,
    /// Its best way in, if that was known at once, [`LATER`] if it is over one of several opened labels, otherwise [`UNKNOWN`].
    pub(super) back: u32,
    /// Its forward score, or, if the way in is unknown, an upper bound.
    pub(super) score: S,
    /// The same with the edge to the best path's next label.
    pub(super) value: S,
    /// The loss of the best path if it is changed to this label, over opened labels; infinity if that is impossible.
    pub(super) loss: S,
}

/// Data about consecutive labels of a position.
pub(super) struct Labels<'a, S> {
    /// Bounds on the values that the labels before lead to.
    pub(super) row: &'a [S],
    pub(super) node_scores: &'a [S],
    /// The edges to the best path's next label.
    pub(super) ways_out: &'a [S],
    /// The position where each was last seen to be open.
    pub(super) open_at: &'a [u32],
}

/// Turns the selected labels into hits, and returns the largest of their values. A label that is open becomes a
/// forbidden hit.
pub(super) struct MakeHits<'a, S> {
    pub(super) selected: &'a [u32],
    /// The label from which they are counted.
    pub(super) first: u32,
    pub(super) t: u32,
    /// Added to the bounds.
    pub(super) add: S,
    /// Labels that are not opened at the position before lead to values below this.
    pub(super) floor_before: S,
    pub(super) labels: Labels<'a, S>,
    pub(super) best_value: S,
    /// The way in to labels whose bound is at least `floor_before`.
    pub(super) way_in: u32,
    pub(super) hits: &'a mut Vec<Hit<S>>,
}

impl<S: Float> Loop for MakeHits<'_, S> {
    type Result = S;

    /// ```text
    /// bound = add + row[y]                               over labels opened before
    /// score = max(bound, floor before) + node[y]         ... and over all others
    /// value = score + way_out[y]
    /// loss  = max(0, best value - (bound + node[y] + way_out[y]))
    /// ```
    #[inline(always)]
    fn run(self) -> S {
        let MakeHits { selected, first, t, add, floor_before, labels, best_value, way_in, hits } = self;
        let Labels { row, node_scores, ways_out, open_at } = labels;
        let old = hits.len();
        let none = Hit { label: NONE, back: NONE, score: S::ZERO, value: S::ZERO, loss: S::ZERO };
        hits.resize(old + selected.len(), none);
        let mut largest_value = S::FORBIDDEN;
        for (hit, &i) in hits[old..].iter_mut().zip(selected) {
            let y = i as usize;
            let bound = add + row[y];
            let node_score = select_unpredictable(open_at[y] == t, S::FORBIDDEN, node_scores[y]);
            let score = bound.larger(floor_before) + node_score;
            let loss = (best_value - (bound + node_score + ways_out[y])).larger(S::ZERO);
            let back = select_unpredictable(bound >= floor_before, way_in, UNKNOWN);
            *hit = Hit { label: first + i, back, score, value: score + ways_out[y], loss };
            largest_value = largest_value.larger(hit.value);
        }
        largest_value
    }
}

/// Finds those of some hits that are wanted, and returns the largest score of the others and `rest`.
pub(super) struct FindWanted<'a, S> {
    pub(super) hits: &'a [Hit<S>],
    /// The index of the first.
    pub(super) first: u32,
    /// The least value that is wanted.
    pub(super) needed: S,
    pub(super) rest: S,
    /// Their indices.
    pub(super) wanted: &'a mut Vec<u32>,
}

impl<S: Float> Loop for FindWanted<'_, S> {
    type Result = S;

    /// ```text
    /// wanted = all hits with  value >= needed
    /// rest   = max(rest, scores of all other hits)
    /// ```
    #[inline(always)]
    fn run(self) -> S {
        let FindWanted { hits, first, needed, mut rest, wanted } = self;
        wanted.clear();
        wanted.reserve(hits.len());
        for (place, hit) in (first..).zip(hits) {
            let is_wanted = (hit.value >= needed) & !hit.value.is_forbidden();
            wanted.push(place);
            wanted.truncate(wanted.len() - usize::from(!is_wanted));
            rest = rest.larger(select_unpredictable(is_wanted, S::FORBIDDEN, hit.score));
        }
        rest
    }
}
