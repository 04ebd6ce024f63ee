//! Upper bounds on edge scores: what lets a decoder leave an edge unread.
//!
//! Every bound is an exact maximum over a set of edges, so it is never below any of them; `overall` alone may be
//! replaced by a looser one ([`OverallBound`]), to reproduce the bounds of the CarpeDiem paper (section 5).

use crate::error::{Error, Result};
use crate::kernel::{AlignedVec, Float};

/// A bound for each label, or one for all of them.
#[derive(Debug, Clone, Copy)]
pub enum PerLabel<'a, S> {
    /// One bound a label.
    Each(&'a [S]),
    /// The same bound for every label.
    All(S),
}

impl<S: Copy> PerLabel<'_, S> {
    /// The bound for label `y`.
    #[inline(always)]
    pub fn at(&self, y: usize) -> S {
        match *self {
            PerLabel::Each(bounds) => bounds[y],
            PerLabel::All(bound) => bound,
        }
    }
}

/// The bounds of the edges into one position.
#[derive(Debug, Clone, Copy)]
pub struct BoundsView<'a, S> {
    /// At least every edge: the paper's `S1*`.
    pub overall: S,
    /// At least every edge that leaves label `p`.
    pub row: PerLabel<'a, S>,
    /// At least every edge that enters label `y`.
    pub column: PerLabel<'a, S>,
    /// What an edge usually scores: the base of sparse edges, else about the median. A guess, not a bound.
    pub typical: S,
    /// The smallest of `row` that is not forbidden: whatever label a path is in, some edge out of it may score as
    /// much as this (forbidden if every edge is).
    pub smallest_row: S,
    /// Whether every edge out of some label is forbidden.
    pub dead_ends: bool,
}

impl<S: Float> BoundsView<'_, S> {
    /// What a label usually gains on the way out, but no more than any label may that has a way out at all.
    #[inline(always)]
    pub(crate) fn least_way_out(&self) -> S {
        let (typical, smallest) = (self.typical, self.smallest_row);
        if typical.is_forbidden() || smallest < typical { smallest } else { typical }
    }
}

/// Bounds of one matrix, owned by it.
#[derive(Debug, Clone)]
pub(crate) struct MatrixBounds<S: Float> {
    pub overall: S,
    pub row: AlignedVec<S>,
    pub column: AlignedVec<S>,
    pub typical: S,
    pub smallest_row: S,
    pub dead_ends: bool,
    pub magnitude: f64, // largest finite |edge|
}

impl<S: Float> MatrixBounds<S> {
    /// From the largest edge of each row and column.
    pub(crate) fn new(row: AlignedVec<S>, column: AlignedVec<S>, typical: S, magnitude: f64) -> Self {
        let smallest_row = smallest_legal(&row);
        let dead_ends = row.iter().any(|w| w.is_forbidden());
        MatrixBounds { overall: S::largest(&row), row, column, typical, smallest_row, dead_ends, magnitude }
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> BoundsView<'_, S> {
        BoundsView {
            overall: self.overall,
            row: PerLabel::Each(&self.row),
            column: PerLabel::Each(&self.column),
            typical: self.typical,
            smallest_row: self.smallest_row,
            dead_ends: self.dead_ends,
        }
    }

    /// Replaces the overall bound by a looser one.
    pub(crate) fn loosen(&mut self, bound: &OverallBound<'_, S>) -> Result<()> {
        let Some(value) = bound.value() else { return Ok(()) };
        if value < S::largest(&self.row) {
            let expected = format!("at least the largest edge, {}", S::largest(&self.row));
            return Err(Error::shape("bound on the edges", expected, value));
        }
        self.overall = value;
        Ok(())
    }
}

/// Ways to bound the edges from the weights of the features behind them, from tight to loose.
#[derive(Debug, Clone, Copy)]
pub enum OverallBound<'a, S> {
    /// The largest edge itself.
    Exact,
    /// The features fall into sets of which at most one member fires: the sum of each set's best weight (none of a
    /// set may fire, so a set never counts below zero).
    ExclusiveSets(&'a [&'a [S]]),
    /// Any features may fire together: the sum of all positive weights.
    SumOfPositives(&'a [S]),
}

impl<S: Float> OverallBound<'_, S> {
    /// The bound, or `None` for the exact maximum. Rounded up, so that rounding never makes it too small.
    pub fn value(&self) -> Option<S> {
        let sum = match self {
            OverallBound::Exact => return None,
            OverallBound::ExclusiveSets(sets) => {
                sets.iter().map(|set| S::largest(set).larger(S::ZERO).to_f64()).sum::<f64>()
            }
            OverallBound::SumOfPositives(weights) => {
                weights.iter().map(|w| w.larger(S::ZERO).to_f64()).sum::<f64>()
            }
        };
        Some(S::from_f64_up(sum))
    }
}

/// The smallest score that is not forbidden; forbidden if all are.
fn smallest_legal<S: Float>(row: &[S]) -> S {
    let legal = row.iter().copied().filter(|w| !w.is_forbidden());
    legal
        .fold(None, |least: Option<S>, w| Some(least.map_or(w, |l| if w < l { w } else { l })))
        .unwrap_or(S::FORBIDDEN)
}

/// The most frequent finite value of a sample if at least one in five is equal to it, else the sample's median.
pub(crate) fn typical_value<S: Float>(sample: impl Iterator<Item = S>) -> S {
    let mut sorted: Vec<S> = sample.filter(|v| !v.is_forbidden()).collect();
    if sorted.is_empty() {
        return S::FORBIDDEN;
    }
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("legal scores are ordered"));
    let (mut mode, mut longest) = (sorted[0], 0);
    for run in sorted.chunk_by(|a, b| a == b) {
        if run.len() > longest {
            (mode, longest) = (run[0], run.len());
        }
    }
    if longest * 5 >= sorted.len() { mode } else { sorted[sorted.len() / 2] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::{EdgeScores, Edges};
    use crate::score::Score;

    #[test]
    fn from_tight_to_loose() {
        let edges = vec![3.0f64, -1.0, 2.0, 0.0];
        let sets: [&[f64]; 2] = [&[3.0, -1.0], &[2.0, 0.0]];
        let exact = Edges::dense(2, edges.clone()).unwrap();
        let overall = |e: &Edges<f64>| e.as_dense().unwrap().bounds(1).overall;
        assert_eq!(overall(&exact), 3.0);
        let sets = OverallBound::ExclusiveSets(&sets);
        assert_eq!(overall(&Edges::dense(2, edges.clone()).unwrap().bounded_by(&sets).unwrap()), 5.0);
        let positives = OverallBound::SumOfPositives(&[3.0, 2.0, 1.5, -4.0]);
        assert_eq!(overall(&Edges::dense(2, edges.clone()).unwrap().bounded_by(&positives).unwrap()), 6.5);
        let too_small = OverallBound::SumOfPositives(&[1.0]);
        assert!(Edges::dense(2, edges).unwrap().bounded_by(&too_small).is_err());
    }

    #[test]
    fn typical_is_the_mode_or_the_median() {
        assert_eq!(typical_value([1.0f32, 0.0, 0.0, -3.0, 2.0].into_iter()), 0.0);
        assert_eq!(typical_value((0..100).map(|i| i as f64)), 50.0);
        assert!(typical_value([f32::NEG_INFINITY].into_iter()).is_forbidden());
    }
}
