//! The key of every heap: best score first.

use crate::simd::Float;
use std::cmp::Ordering;

/// A member of a heap, ordered by score, and among equal scores by `item`. Scores are never NaN, so this is a total
/// order.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByScore<S, T> {
    pub score: S,
    pub item: T,
}

impl<S: Float, T: Ord> Ord for ByScore<S, T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.partial_cmp(&other.score).unwrap_or(Ordering::Equal);
        by_score.then_with(|| self.item.cmp(&other.item))
    }
}
impl<S: Float, T: Ord> PartialOrd for ByScore<S, T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<S: Float, T: Ord> PartialEq for ByScore<S, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<S: Float, T: Ord> Eq for ByScore<S, T> {}
