//! Upper bounds on edge scores, which let a decoder skip edges without reading them.
//!
//! Every bound is an exact maximum over a set of edges, so it is never below any of them; only `overall` may be
//! replaced by a looser one ([`OverallBound`]), to reproduce the bounds of the CarpeDiem paper (section 5). When an
//! edge changes, its bounds are updated (`MatrixBounds::follow`).

use crate::error::{Error, Result};
use crate::simd::{AlignedVec, Float};

/// One bound per label, or one for all of them.
#[derive(Debug, Clone, Copy)]
pub enum PerLabel<'a, S> {
    /// One bound per label.
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
    /// The usual score of an edge: the base of sparse edges, otherwise about the median. A guess, not a bound.
    pub typical: S,
    /// The smallest of `row` that is not forbidden: whatever label a path is in, an edge out of it may score this much
    /// (forbidden if every edge is).
    pub smallest_row: S,
    /// Whether every edge out of some label is forbidden.
    pub dead_ends: bool,
}

impl<S: Float> BoundsView<'_, S> {
    /// The usual score of an edge out of a label, but no more than what every label that has a way out can gain.
    #[inline(always)]
    pub(crate) fn least_way_out(&self) -> S {
        let (typical, smallest) = (self.typical, self.smallest_row);
        if typical.is_forbidden() || smallest < typical { smallest } else { typical }
    }
}

/// Bounds of one matrix, owned by it and updated when its edges change.
#[derive(Debug, Clone)]
pub(crate) struct MatrixBounds<S: Float> {
    pub row: AlignedVec<S>,    // L: the largest edge of each row
    pub column: AlignedVec<S>, // L: and of each column
    pub magnitude: f64,        // largest finite |edge|
    pub typical: S,
    magnitudes: AlignedVec<S>, // L: the largest finite |edge| of each row
    largest: S,                // of all edges
    loose: S,                  // the looser bound, if one was given; else forbidden
    smallest_row: Smallest<S>,
}

impl<S: Float> MatrixBounds<S> {
    /// From the largest edge of each row and column, and the largest finite |edge| of each row.
    pub(crate) fn new(
        row: AlignedVec<S>,
        column: AlignedVec<S>,
        magnitudes: AlignedVec<S>,
        typical: S,
    ) -> Self {
        let (smallest_row, largest) = (Smallest::of(&row), S::largest(&row));
        let magnitude = S::largest(&magnitudes).to_f64();
        MatrixBounds {
            row,
            column,
            magnitude,
            typical,
            magnitudes,
            largest,
            loose: S::FORBIDDEN,
            smallest_row,
        }
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> BoundsView<'_, S> {
        BoundsView {
            overall: self.largest.larger(self.loose),
            row: PerLabel::Each(&self.row),
            column: PerLabel::Each(&self.column),
            typical: self.typical,
            smallest_row: self.smallest_row.score,
            dead_ends: self.smallest_row.forbidden > 0,
        }
    }

    /// Replaces the overall bound by a looser one.
    pub(crate) fn loosen(&mut self, bound: &OverallBound<'_, S>) -> Result<()> {
        let Some(value) = bound.value() else { return Ok(()) };
        if value < self.largest {
            let expected = format!("at least the largest edge, {}", self.largest);
            return Err(Error::shape("bound on the edges", expected, value));
        }
        self.loose = value;
        Ok(())
    }

    /// Computes all bounds again, except the typical score.
    pub(super) fn renew(&mut self, anew: &impl Maxima<S>) {
        for i in 0..self.row.len() {
            (self.row[i], self.column[i], self.magnitudes[i]) =
                (anew.row(i), anew.column(i), anew.row_magnitude(i));
        }
        (self.smallest_row, self.largest) = (Smallest::of(&self.row), S::largest(&self.row));
        self.magnitude = S::largest(&self.magnitudes).to_f64();
    }

    /// Updates the bounds after the change of one edge. Costs a few comparisons, unless the edge was the largest of its
    /// row or column and fell: then `anew`, which knows the changed edges, computes that maximum again, and if it was
    /// also the largest of all rows, they are compared again.
    pub(super) fn follow(&mut self, change: Change<S>, anew: &impl Maxima<S>) {
        let Change { p, y, old, new } = change;
        let before = self.row[p];
        self.row[p] = maximum_after(before, old, new, || anew.row(p));
        self.column[y] = maximum_after(self.column[y], old, new, || anew.column(y));
        self.largest = maximum_after(self.largest, before, self.row[p], || S::largest(&self.row));
        self.smallest_row.follow(before, &self.row, p);
        let before = self.magnitudes[p];
        self.magnitudes[p] =
            maximum_after(before, finite_magnitude(old), finite_magnitude(new), || anew.row_magnitude(p));
        let all = S::from_f64(self.magnitude); // exact: it came from this type
        self.magnitude =
            maximum_after(all, before, self.magnitudes[p], || S::largest(&self.magnitudes)).to_f64();
    }
}

/// The change of one edge score.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<S> {
    pub p: usize,
    pub y: usize,
    pub old: S,
    pub new: S,
}

/// Maxima over the edges of one row or column, computed from the edges.
pub(super) trait Maxima<S> {
    /// The largest edge that leaves label `p`.
    fn row(&self, p: usize) -> S;
    /// The largest edge that enters label `y`.
    fn column(&self, y: usize) -> S;
    /// The largest finite |edge| that leaves label `p`.
    fn row_magnitude(&self, p: usize) -> S;
}

/// A maximum after one of its elements changed from `old` to `new`; `anew` computes it from all elements.
#[inline]
fn maximum_after<S: Float>(maximum: S, old: S, new: S, anew: impl FnOnce() -> S) -> S {
    if new >= maximum {
        new
    } else if old == maximum {
        anew()
    } else {
        maximum
    }
}

/// |score|, 0 if it is forbidden.
fn finite_magnitude<S: Float>(score: S) -> S {
    if score.is_forbidden() {
        S::ZERO
    } else if score < S::ZERO {
        -score
    } else {
        score
    }
}

/// The smallest score that is not forbidden, and how many scores equal it: as long as one of them is left, no search is
/// needed.
#[derive(Debug, Clone, Copy)]
struct Smallest<S> {
    score: S,         // forbidden if all are
    count: usize,     // how many scores are equal to it; 0 if all are forbidden
    forbidden: usize, // how many scores are forbidden
}

impl<S: Float> Smallest<S> {
    fn of(scores: &[S]) -> Self {
        let mut smallest = Smallest { score: S::FORBIDDEN, count: 0, forbidden: 0 };
        scores.iter().for_each(|&score| smallest.gain(score));
        smallest
    }

    /// Updates after a change of `scores[i]`, which was `before`.
    fn follow(&mut self, before: S, scores: &[S], i: usize) {
        if before.is_forbidden() {
            self.forbidden -= 1;
        } else if before == self.score {
            self.count -= 1;
        }
        self.gain(scores[i]);
        if self.count == 0 {
            *self = Self::of(scores);
        }
    }

    fn gain(&mut self, score: S) {
        if score.is_forbidden() {
            self.forbidden += 1;
        } else if score == self.score {
            self.count += 1;
        } else if score < self.score || self.score.is_forbidden() {
            (self.score, self.count) = (score, 1);
        }
    }
}

/// Ways to bound the edges from the weights of the features behind them, from tight to loose.
#[derive(Debug, Clone, Copy)]
pub enum OverallBound<'a, S> {
    /// The largest edge itself.
    Exact,
    /// The features fall into sets with at most one active member each: the sum of each set's best weight (a set may
    /// have no active member, so it never counts below zero).
    ExclusiveSets(&'a [&'a [S]]),
    /// Any features may be active together: the sum of all positive weights.
    SumOfPositives(&'a [S]),
}

impl<S: Float> OverallBound<'_, S> {
    /// The bound, or `None` for the exact maximum. Rounded up, so it is never too small.
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

/// The most frequent finite value of a sample if at least one in five is equal to it, otherwise the sample's median.
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
