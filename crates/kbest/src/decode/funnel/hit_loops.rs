//! A label that may be on a good path, and the loops over such labels, compiled for the CPU at hand.
//!
//! What is found at a position, and how much of it is wanted, cannot be foreseen, so these loops have no branch but their
//! end.

use super::layers::NONE;
use crate::kernel::{Float, Loop};
use std::hint::select_unpredictable;

/// The best way in is over one of several labels that are opened.
pub(super) const SEVERAL: u32 = NONE - 1;

/// The best way in may be over a label that is not opened.
pub(super) const UNKNOWN: u32 = NONE - 2;

/// A label that may be wanted before the best path's label of the next position. (A label that is open has a forbidden
/// score here.)
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<S> {
    pub(super) label: u32,
    /// Its best way in, if that was known at once, else [`SEVERAL`] or [`UNKNOWN`].
    pub(super) back: u32,
    /// Its forward score, or, if the way in is unknown, an upper bound.
    pub(super) score: S,
    /// The same with the edge to the best path's next label.
    pub(super) value: S,
    /// What the best path loses if it is changed to this label, over labels opened; infinity if it cannot be.
    pub(super) loss: S,
}

/// What is known of some labels of a position, one after another.
pub(super) struct Labels<'a, S> {
    /// Bounds of the values that labels before lead to.
    pub(super) row: &'a [S],
    pub(super) node: &'a [S],
    /// The edges to the best path's next label.
    pub(super) ways_out: &'a [S],
    /// The position where each was last seen to be open.
    pub(super) open_at: &'a [u32],
}

/// Makes hits of the labels found, and returns the largest of their values. A label that is open becomes a hit that cannot
/// be had.
pub(super) struct MakeHits<'a, S> {
    pub(super) found: &'a [u32],
    /// The label that they are counted from.
    pub(super) first: u32,
    pub(super) t: u32,
    /// To be added to the bounds.
    pub(super) add: S,
    /// Labels that are not opened at the position before lead to values below this.
    pub(super) least: S,
    pub(super) labels: Labels<'a, S>,
    /// The best path's value.
    pub(super) value: S,
    /// The way in to labels whose bound is at least `least`.
    pub(super) known: u32,
    pub(super) hits: &'a mut Vec<Hit<S>>,
}

impl<S: Float> Loop for MakeHits<'_, S> {
    type Result = S;

    #[inline(always)]
    fn run(self) -> S {
        let MakeHits { found, first, t, add, least, labels, value, known, hits } = self;
        let Labels { row, node, ways_out, open_at } = labels;
        let old = hits.len();
        let none = Hit { label: NONE, back: NONE, score: S::ZERO, value: S::ZERO, loss: S::ZERO };
        hits.resize(old + found.len(), none);
        let mut most = S::FORBIDDEN;
        for (hit, &i) in hits[old..].iter_mut().zip(found) {
            let y = i as usize;
            let bound = add + row[y];
            let node = select_unpredictable(open_at[y] == t, S::FORBIDDEN, node[y]);
            let score = bound.larger(least) + node;
            let loss = (value - (bound + node + ways_out[y])).larger(S::ZERO);
            let back = select_unpredictable(bound >= least, known, UNKNOWN);
            *hit = Hit { label: first + i, back, score, value: score + ways_out[y], loss };
            most = most.larger(hit.value);
        }
        most
    }
}

/// Finds those of some hits that have a value of at least `limit`, and returns the largest score of the others and `rest`.
pub(super) struct FindWanted<'a, S> {
    pub(super) hits: &'a [Hit<S>],
    /// The place of the first.
    pub(super) first: u32,
    pub(super) limit: S,
    pub(super) rest: S,
    /// Their places.
    pub(super) found: &'a mut Vec<u32>,
}

impl<S: Float> Loop for FindWanted<'_, S> {
    type Result = S;

    #[inline(always)]
    fn run(self) -> S {
        let FindWanted { hits, first, limit, mut rest, found } = self;
        found.clear();
        found.reserve(hits.len());
        for (place, hit) in (first..).zip(hits) {
            let is_wanted = (hit.value >= limit) & !hit.value.is_forbidden();
            found.push(place);
            found.truncate(found.len() - usize::from(!is_wanted));
            rest = rest.larger(select_unpredictable(is_wanted, S::FORBIDDEN, hit.score));
        }
        rest
    }
}
