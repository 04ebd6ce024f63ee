//! Edges computed on demand: a function of position and labels, with an upper bound for each position.
//!
//! **When.** Horizontal features that look at the observation, where most edges are never needed: CarpeDiem, A* and the
//! funnel call the function only for the edges they open. **When not.** If all edges are needed anyway (Viterbi), a
//! matrix is faster.

use super::scaled::times;
use super::{BoundsView, EdgeScores, Edges, PerLabel, Shape};
use crate::simd::{Float, padded};
use std::fmt;
use std::sync::Arc;

/// Computes the score of the edge from label `p` to label `y` into position `t`.
type EdgeFunction<S> = dyn Fn(usize, usize, usize) -> S + Send + Sync;
/// Bounds the edges into position `t` from above.
type BoundFunction<S> = dyn Fn(usize) -> S + Send + Sync;

/// Edges from a function.
///
/// The function must return the same legal score (finite or minus infinity) for the same arguments, and never a score
/// above the bound of its position. Otherwise a decoder panics in a debug build, and may return a worse path in a
/// release build.
pub struct CallbackEdges<S: Float> {
    labels: usize,
    score: Arc<EdgeFunction<S>>,
    bound: Arc<BoundFunction<S>>,
    magnitude: f64,
}

impl<S: Float> CallbackEdges<S> {
    pub(super) fn new(
        labels: usize,
        score: Arc<EdgeFunction<S>>,
        bound: Arc<BoundFunction<S>>,
        magnitude: f64,
    ) -> Self {
        CallbackEdges { labels, score, bound, magnitude }
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// These edges plus `more(from, to)`, which is never above `most` and has a finite magnitude of at most
    /// `magnitude`.
    ///
    /// No sum exceeds the sum of the bounds, because rounding is monotone.
    pub(crate) fn plus(
        &self,
        more: impl Fn(usize, usize) -> S + Send + Sync + 'static,
        most: S,
        magnitude: f64,
    ) -> Edges<S> {
        let (score, bound) = (Arc::clone(&self.score), Arc::clone(&self.bound));
        let sum = move |t: usize, p: usize, y: usize| match more(p, y) {
            forbidden if forbidden.is_forbidden() => forbidden, // no need to call `more`
            more => score(t, p, y) + more,
        };
        let bound = move |t: usize| bound(t) + most;
        let edges = Self::new(self.labels, Arc::new(sum), Arc::new(bound), self.magnitude + magnitude);
        Edges::from_shape(Shape::Callback(edges))
    }

    /// These edges times a factor above 0.
    pub(super) fn times(&self, factor: f64) -> Edges<S> {
        let (score, bound) = (Arc::clone(&self.score), Arc::clone(&self.bound));
        let score = move |t: usize, p: usize, y: usize| times(score(t, p, y), factor);
        let bound = move |t: usize| times(bound(t), factor); // rounding is monotone: no product exceeds it
        let edges = Self::new(self.labels, Arc::new(score), Arc::new(bound), self.magnitude * factor);
        Edges::from_shape(Shape::Callback(edges))
    }

    /// Largest finite magnitude of any edge, as stated by the caller.
    pub fn magnitude(&self) -> f64 {
        self.magnitude
    }
}

impl<S: Float> fmt::Debug for CallbackEdges<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackEdges").field("labels", &self.labels).finish_non_exhaustive()
    }
}

impl<S: Float> EdgeScores<S> for CallbackEdges<S> {
    #[inline(always)]
    fn get(&self, t: usize, p: usize, y: usize) -> S {
        let score = (self.score)(t, p, y);
        debug_assert!(score <= (self.bound)(t), "edge {p} -> {y} into position {t} exceeds its bound");
        score
    }

    fn row<'b>(&'b self, t: usize, p: usize, buffer: &'b mut [S]) -> &'b [S] {
        let buffer = &mut buffer[..padded(self.labels)];
        for y in 0..self.labels {
            buffer[y] = self.get(t, p, y);
        }
        buffer[self.labels..].fill(S::FORBIDDEN);
        buffer
    }

    fn column<'b>(&'b self, t: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        super::edges::collect_column(self, self.labels, t, y, buffer)
    }

    fn bounds(&self, t: usize) -> BoundsView<'_, S> {
        let overall = (self.bound)(t);
        let all = PerLabel::All(overall);
        let dead_ends = overall.is_forbidden();
        BoundsView { overall, row: all, column: all, typical: overall, smallest_row: overall, dead_ends }
    }
}
