//! The table of forward scores of segments, and the way back through it.
//!
//! Two tables, `T x L` each: with which score a segmentation enters label `y` at position `s` (`entered`), and the largest
//! `inside` of the segments that end at `r` with label `y` (`peak`). The best predecessor is thus found once for each
//! position and label, not once for each segment. Nothing points back: the length is found again where it attains the
//! peak, in time of the segments' lengths.

use super::{Counters, Segment, SegmentLattice, Segmentation};
use crate::decode::{StepBuffer, best_entries, lowest_best};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::simd::{AlignedVec, Float, padded};

/// Best `inside` of all segments that end at a position, for every label.
pub(super) trait Inside<S: Float> {
    /// Segments may start at `s`, entered with these scores.
    fn start(&mut self, s: usize, entered: &[S]);
    /// Writes the largest `inside` of the segments that end at `r`; `r` is one more at each call.
    fn best(&mut self, r: usize, peak: &mut [f64]);
}

/// Forward scores of one lattice.
#[derive(Debug, Default)]
pub(super) struct Forward<S> {
    pub entered: Vec<S>, // T x L
    pub peak: Vec<f64>,  // (T + 1) x L; the first row is not used
    row: AlignedVec<S>,  // padded: scores at one position
    next: AlignedVec<S>, // padded
    buffer: StepBuffer<S>,
}

impl<S: Float> Forward<S> {
    /// Empty tables.
    pub(super) fn reset(&mut self, lattice: &SegmentLattice<'_, S>) {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        self.entered.clear();
        self.entered.resize(positions * labels, S::FORBIDDEN);
        self.peak.clear();
        self.peak.resize((positions + 1) * labels, f64::NEG_INFINITY);
    }

    /// Fills the tables; `inside` does the part that depends on lengths.
    pub(super) fn fill(
        &mut self,
        lattice: &SegmentLattice<'_, S>,
        inside: &mut impl Inside<S>,
        counters: &mut Counters,
    ) {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        self.reset(lattice);
        self.buffer.reset(labels);
        for row in [&mut self.row, &mut self.next] {
            row.reset(padded(labels), S::FORBIDDEN);
        }
        let closed = &lattice.prepared().closed;
        for t in 0..positions {
            if t == 0 {
                for y in 0..labels {
                    self.next[y] = lattice.enter_first(y);
                }
            } else {
                let peak = &mut self.peak[t * labels..][..labels];
                inside.best(t, peak);
                if closed[t] {
                    peak.fill(f64::NEG_INFINITY);
                }
                self.next.fill(S::FORBIDDEN);
                // Where no segment ends, none begins.
                if peak.iter().any(|&peak| peak != f64::NEG_INFINITY) {
                    lattice.leave_row(peak, t, &mut self.row[..labels]);
                    counters.edges += (labels * labels) as u64;
                    best_entries(lattice.chain(), t, &self.row, &mut self.next, &mut self.buffer);
                }
            }
            let entered = &mut self.entered[t * labels..][..labels];
            entered.copy_from_slice(&self.next[..labels]);
            inside.start(t, entered);
        }
        inside.best(positions, &mut self.peak[positions * labels..]);
    }

    /// The best score of a segmentation up to `r` that ends in `y`.
    #[inline]
    pub(super) fn score(&self, lattice: &SegmentLattice<'_, S>, r: usize, y: usize) -> S {
        lattice.leave(self.peak[r * lattice.labels() + y], r, y)
    }

    /// The best segmentation by the tie rule: the lowest best label, then the shortest best segment, then the lowest label
    /// before it.
    ///
    /// # Errors
    /// [`Error::NoPath`] if all are forbidden.
    pub(super) fn trace(
        &self,
        lattice: &SegmentLattice<'_, S>,
        explicit: impl Fn(f64, usize, usize, usize) -> f64,
    ) -> Result<Segmentation<S>> {
        let labels = lattice.labels();
        self.trace_starts(lattice, |end, y| {
            let peak = self.peak[end * labels + y];
            let attains = |&s: &usize| {
                let inside = lattice.inside_without_explicit(self.entered[s * labels + y], s, end, y);
                inside != f64::NEG_INFINITY && explicit(inside, s, end, y) == peak
            };
            // The shortest first. Forward scores that a search left unfinished are too low, so they attain nothing.
            let start = (end.saturating_sub(lattice.longest())..end).rev().find(attains);
            start.expect("the peak is one of these sums")
        })
    }

    /// The same if it is known where the shortest best segment with this end and label starts.
    ///
    /// # Errors
    /// [`Error::NoPath`] if all are forbidden.
    pub(super) fn trace_starts(
        &self,
        lattice: &SegmentLattice<'_, S>,
        start_of: impl Fn(usize, usize) -> usize,
    ) -> Result<Segmentation<S>> {
        let (mut end, labels) = (lattice.positions(), lattice.labels());
        let scores = |r: usize| (0..labels).map(move |y| (y as LabelId, self.score(lattice, r, y)));
        let lasts = scores(end).map(|(y, score)| (y, lattice.chain().with_end_score(score, y as usize)));
        let (mut label, score) = lowest_best(lasts).ok_or(Error::NoPath)?;
        let mut segments = vec![];
        loop {
            let y = label as usize;
            let start = start_of(end, y);
            segments.push(Segment { start, end, label });
            if start == 0 {
                break;
            }
            let ways = scores(start).filter(|(_, score)| !score.is_forbidden());
            let best = with_edges!(lattice.chain(), |edges| {
                lowest_best(ways.map(|(p, score)| (p, score + edges.get(start, p as usize, y))))
            });
            label = best.expect("what was entered has a way in").0;
            end = start;
        }
        segments.reverse();
        Ok(Segmentation { segments, score })
    }
}
