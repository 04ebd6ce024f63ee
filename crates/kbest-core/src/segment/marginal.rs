//! Sums over all segmentations: log partition, probabilities of segments, of boundaries and of labels.
//!
//! **What.** Forward and backward sums in logarithms, `f64` throughout:
//!
//! ```text
//! P([s, r), y) = exp(enter[s][y] + segment(s, r, y) + after[r][y] - log Z)
//! P(boundary before t) = sum over y of exp(end[t][y] + after[t][y] - log Z)
//! ```
//!
//! **Cost.** `T L^2 + T W L` exponentials, twice; memory `O(T L)`. Explicit scores computed on demand are computed for every
//! segment, twice. **When not.** If only the best segmentation is wanted.
//!
//! ```
//! use kbest_core::segment::{SegmentLattice, Marginals};
//! use kbest_core::{Edges, Lattice};
//! let edges = Edges::uniform(1, 0.0f64)?;
//! let lattice = SegmentLattice::new(Lattice::new(vec![0.0; 3], &edges)?);
//! let marginals = Marginals::new(&lattice)?;
//! assert!((marginals.log_partition() - 4f64.ln()).abs() < 1e-12); // 3, 1 + 2, 2 + 1, 1 + 1 + 1
//! assert!((marginals.boundary(1) - 0.5).abs() < 1e-12);
//! assert!((marginals.segment(0, 2, 0) - 0.25).abs() < 1e-12);
//! # Ok::<(), kbest_core::Error>(())
//! ```

use super::SegmentLattice;
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::simd::{Float, exp_rows, padded, precompiled};

precompiled!(Filling<'a>: (&'a SegmentLattice<'a, S>, f64) => Result<(f64, [Vec<f64>; 4])>, Marginals::fill);

/// Probabilities under the distribution `exp(score) / Z` over segmentations.
#[derive(Debug)]
pub struct Marginals<'m, 'l, S: Float> {
    lattice: &'m SegmentLattice<'l, S>,
    factor: f64, // of all scores
    log_partition: f64,
    enter: Vec<f64>,  // T x L: log sum of what enters a label at a position
    end: Vec<f64>,    // (T + 1) x L: log sum of what ends there with a label
    after: Vec<f64>,  // (T + 1) x L: log sum of what follows an end
    follow: Vec<f64>, // T x L: log sum of what follows an entry
}

impl<'m, 'l, S: Float> Marginals<'m, 'l, S> {
    /// Runs forward and backward.
    ///
    /// # Errors
    /// [`Error::NoPath`] if every segmentation is forbidden.
    pub fn new(lattice: &'m SegmentLattice<'l, S>) -> Result<Self> {
        Self::at_temperature(lattice, 1.0)
    }

    /// The same with all scores divided by a temperature: the distribution `exp(score / temperature) / Z`.
    ///
    /// # Errors
    /// As [`Marginals::new`]; [`Error::Argument`] unless the temperature is a finite number above 0.
    pub fn at_temperature(lattice: &'m SegmentLattice<'l, S>, temperature: f64) -> Result<Self> {
        if !(temperature.is_finite() && temperature > 0.0) {
            return Err(Error::argument("temperature", "a finite number above 0", temperature));
        }
        let factor = temperature.recip();
        let (log_partition, [enter, end, after, follow]) = S::call::<Filling<'_>>((lattice, factor))?;
        Ok(Marginals { lattice, factor, log_partition, enter, end, after, follow })
    }

    /// `log Z` and the four tables.
    fn fill((lattice, factor): (&SegmentLattice<'_, S>, f64)) -> Result<(f64, [Vec<f64>; 4])> {
        let segment_score = |s: usize, r: usize, y: usize| factor * segment_score(lattice, s, r, y);
        let (positions, labels, longest) = (lattice.positions(), lattice.labels(), lattice.longest());
        let nothing = |rows: usize| vec![f64::NEG_INFINITY; rows * labels];
        let (mut enter, mut follow) = (nothing(positions), nothing(positions));
        let (mut end, mut after) = (nothing(positions + 1), nothing(positions + 1));
        let mut terms = vec![];
        let mut buffer = vec![S::FORBIDDEN; padded(labels)];
        let closed = &lattice.prepared().closed;
        for t in 0..=positions {
            for y in 0..labels {
                terms.clear();
                for s in t.saturating_sub(longest)..t {
                    terms.push(enter[s * labels + y] + segment_score(s, t, y));
                }
                end[t * labels + y] = log_sum(&mut terms);
            }
            if t == positions || closed[t] {
                continue;
            }
            for y in 0..labels {
                terms.clear();
                if t == 0 {
                    terms.push(factor * lattice.enter_first(y).to_f64());
                } else {
                    with_edges!(lattice.chain(), |edges| {
                        let column = edges.column(t, y, &mut buffer);
                        terms.extend((0..labels).map(|p| end[t * labels + p] + factor * column[p].to_f64()));
                    });
                }
                enter[t * labels + y] = log_sum(&mut terms);
            }
        }
        for y in 0..labels {
            after[positions * labels + y] = lattice.chain().end().map_or(0.0, |end| factor * end[y].to_f64());
        }
        for t in (0..positions).rev().filter(|&t| !closed[t]) {
            for y in 0..labels {
                terms.clear();
                for r in t + 1..=positions.min(t + longest) {
                    terms.push(segment_score(t, r, y) + after[r * labels + y]);
                }
                follow[t * labels + y] = log_sum(&mut terms);
            }
            for p in 0..if t == 0 { 0 } else { labels } {
                terms.clear();
                with_edges!(lattice.chain(), |edges| {
                    let row = edges.row(t, p, &mut buffer);
                    terms.extend((0..labels).map(|y| factor * row[y].to_f64() + follow[t * labels + y]));
                });
                after[t * labels + p] = log_sum(&mut terms);
            }
        }
        let last = positions * labels;
        let log_partition = match positions {
            0 => 0.0,
            _ => log_sum(&mut (last..last + labels).map(|i| end[i] + after[i]).collect::<Vec<_>>()),
        };
        if log_partition == f64::NEG_INFINITY {
            return Err(Error::NoPath);
        }
        Ok((log_partition, [enter, end, after, follow]))
    }

    /// The logarithm of the probability of a segmentation with this score.
    pub fn log_probability(&self, score: f64) -> f64 {
        (self.factor * score - self.log_partition).min(0.0)
    }

    /// `log Z`: the logarithm of the sum of `exp(score)` over all segmentations.
    pub fn log_partition(&self) -> f64 {
        self.log_partition
    }

    /// The probability of the segment `[start, end)` with this label.
    ///
    /// # Panics
    /// If there is no such segment.
    pub fn segment(&self, start: usize, end: usize, label: LabelId) -> f64 {
        let (labels, y) = (self.lattice.labels(), label as usize);
        assert!(start < end && end <= self.lattice.positions() && y < labels, "no such segment");
        let score = self.factor * segment_score(self.lattice, start, end, y);
        (self.enter[start * labels + y] + score + self.after[end * labels + y] - self.log_partition).exp()
    }

    /// The probability that a segment ends before position `t` (0 and `T`: always).
    ///
    /// # Panics
    /// If `t` is above `T`.
    pub fn boundary(&self, t: usize) -> f64 {
        (0..self.lattice.labels()).map(|y| self.ends(t, y)).sum::<f64>().max(if t == 0 { 1.0 } else { 0.0 })
    }

    /// The probability that a segment with label `from` ends before position `t` and one with label `to` begins there.
    ///
    /// # Panics
    /// If there is no such position, or no such label.
    pub fn transition(&self, t: usize, from: LabelId, to: LabelId) -> f64 {
        let (labels, p, y) = (self.lattice.labels(), from as usize, to as usize);
        assert!(t < self.lattice.positions() && p < labels && y < labels, "no such transition");
        if t == 0 {
            return 0.0;
        }
        let edge = self.factor * with_edges!(self.lattice.chain(), |edges| edges.get(t, p, y)).to_f64();
        (self.end[t * labels + p] + edge + self.follow[t * labels + y] - self.log_partition).exp()
    }

    /// The probability that position `t` belongs to a segment with each label: `L` numbers a position, `T x L`.
    pub fn labels(&self) -> Vec<f64> {
        let (positions, labels) = (self.lattice.positions(), self.lattice.labels());
        let mut open = vec![0.0; labels]; // segments that cover a position: those begun, less those that have ended
        let mut all = Vec::with_capacity(positions * labels);
        for t in 0..positions {
            for (y, open) in open.iter_mut().enumerate() {
                let at = t * labels + y;
                let begun = (self.enter[at] + self.follow[at] - self.log_partition).exp();
                *open = (*open + begun - if t == 0 { 0.0 } else { self.ends(t, y) }).clamp(0.0, 1.0);
            }
            all.extend_from_slice(&open);
        }
        all
    }

    /// The probability that a segment with label `y` ends before position `t`.
    fn ends(&self, t: usize, y: usize) -> f64 {
        let at = t * self.lattice.labels() + y;
        (self.end[at] + self.after[at] - self.log_partition).exp()
    }
}

/// Node scores, duration and explicit score of one segment.
fn segment_score<S: Float>(lattice: &SegmentLattice<'_, S>, s: usize, r: usize, y: usize) -> f64 {
    let (sums, labels) = (&lattice.prepared().sums, lattice.labels());
    let inside = lattice.inside(S::ZERO, s, r, y); // that is: - sum before + duration + explicit
    if inside == f64::NEG_INFINITY { inside } else { inside + sums[r * labels + y] }
}

/// `ln(sum of exp(terms))`.
fn log_sum(terms: &mut [f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    exp_rows(terms, largest);
    largest + terms.iter().sum::<f64>().ln()
}
