//! What rounding may hide when losses are added up instead of scores.
//!
//! A path's loss is added up from differences of forward scores, its score from scores; both are rounded at each step. Let
//! `D[t]` be how far the path, up to position `t`, lies below the best path to its label there, in the judge's scores.
//! Going back over a way of loss `l` changes it by `l`, except for the roundings of the four sums on both sides:
//!
//! ```text
//! | D[t-1] - (D[t] - l) |  <=  4 u A[t],      A[t] = the largest magnitude of these sums at t,   u = unit roundoff
//! ```
//!
//! **A bound for every path** is [`Lattice::rounding_slack`], twice: each sum is at most as large as all magnitudes together.
//! That grows with `T^2` times the largest scores, so that in single precision a long sequence would keep every label.
//!
//! **A bound for paths that lose little.** Let `b` be the best path with forward scores `B[t]`, and let `p` be a path that loses at
//! most `reach`. If every edge from and to the labels of `b` is legal, `b` up to `t` can be joined to `p` after `t`, and
//! the other way round; neither joined path is better than `b`. So what `p` has added up at `t` differs from `B[t]` by at
//! most `reach` and twice the largest edge, and
//!
//! ```text
//! A[t] <= |B[t]| + reach + 2 |edge| + 2 |node| + |start| + |end|
//! slack = sum over t of 6 u A[t]        four for the sums, two for losses, allowances and comparisons
//! ```
//!
//! **Cost.** `T`, and a look at the edges from and to the best path's labels, `T L`, where the first bound is so large that it
//! matters.

use crate::decode::Tally;
use crate::decode::funnel::search::Search;
use crate::lattice::EdgeScores;
use crate::simd::Float;

/// The first bound is good enough below this share of the scale of scores.
const SMALL: f64 = 1e-3;

/// From this share of the scale of scores on, a bound tells apart too few labels.
const LARGE: f64 = 0.25;

/// Up to how many times the scale of scores a loss is little.
const REACH: f64 = 4.0;

/// Bounds on what rounding hides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slack<S> {
    any: S,    // for every path
    reach: S,  // for paths that lose no more than this ...
    little: S, // ... this is enough
}

impl<S: Float> Slack<S> {
    /// For paths that lose at most `margin`.
    #[inline(always)]
    pub(super) fn within(&self, margin: S) -> S {
        if margin <= self.reach { self.little } else { self.any }
    }

    /// Whether it hides so much, beside scores of this scale, that most labels would be kept.
    pub(super) fn hides_most(&self, scale: f64) -> bool {
        self.little.to_f64() > LARGE * scale
    }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After [`Search::run`], with the entries of the best path.
    pub(super) fn slack(&self, best_path: &[u32]) -> Slack<S> {
        let once = self.lattice.rounding_slack();
        let any = once + once;
        let mut slack = Slack { any, reach: S::FORBIDDEN, little: any };
        if any.to_f64() <= SMALL * self.scale() || !self.may_be_joined(best_path) {
            return slack;
        }
        let reach = REACH * self.scale();
        // What paths lose by their scores is known up to the first bound.
        let beside = reach + 2.0 * any.to_f64() + 2.0 * self.scale() + self.lattice.border_magnitude();
        let alpha = |&entry: &u32| self.memory.layers.entry(entry).alpha.to_f64().abs();
        let sums: f64 = best_path.iter().map(|entry| alpha(entry) + beside).sum::<f64>() + 2.0 * beside;
        let little = S::from_f64_up(6.0 * S::UNIT_ROUNDOFF * sums);
        if little < any {
            slack = Slack { any, reach: S::from_f64(reach), little };
        }
        slack
    }

    /// Whether every edge from and to the labels of the best path is legal.
    fn may_be_joined(&self, best_path: &[u32]) -> bool {
        let label = |t: usize| self.memory.layers.entry(best_path[t]).label as usize;
        (1..best_path.len()).all(|t| {
            let (before, here) = (label(t - 1), label(t));
            (0..self.lattice.labels()).all(|y| {
                !self.edges.get(t, before, y).is_forbidden() && !self.edges.get(t, y, here).is_forbidden()
            })
        })
    }
}
