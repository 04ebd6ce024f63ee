//! Scores of single segments that are computed on demand, and what is known of them before.
//!
//! **What.** [`SegmentScores`] gives the scores of a segment for all labels at once, and cheaper upper bounds of them;
//! [`SpanBounds`] hands such bounds to the searches, start by start. **Why.** What a segment's text scores is computed once for all
//! labels, and a look at its first and last word often tells that it cannot score much. **Cost.** Bounds of all `T W` segments
//! are computed once per search; if they would take more than a few megabytes, those of the starts asked for lately are kept.

use super::SegmentLattice;
use super::lattice::Explicit;
use crate::simd::Float;

/// Computes the scores of segments, all labels at once.
///
/// Both functions must give the same answer whenever they are asked for the same segment.
pub trait SegmentScores<S>: Send + Sync {
    /// Shows the scores of the segment `[start, end)`, one for each label. Some decoders ask for a segment several times: what
    /// is dear should be remembered.
    fn show(&self, start: usize, end: usize, see: &mut dyn FnMut(&[S]));

    /// Writes what scores do not exceed, for all segments from `start` on: a row of labels for each end, `start + 1` first, as
    /// many as there is room for.
    fn bound(&self, start: usize, rows: &mut [S]);
}

/// More bounds than this (16 MiB in single precision) are not kept, but those of one start always are.
const MOST_KEPT: usize = 1 << 22;

/// Upper bounds of explicit scores, by segment.
#[derive(Debug, Default)]
pub(super) struct SpanBounds<S> {
    rows: Vec<S>,               // one place after another, W x L each
    starts: Vec<Option<usize>>, // of each place: whose rows these are; start `s` has place `s % places`
}

impl<S: Float> SpanBounds<S> {
    /// Forgets everything; the next questions are about this lattice.
    pub(super) fn reset(&mut self, lattice: &SegmentLattice<'_, S>) {
        self.reset_within(lattice, MOST_KEPT);
    }

    fn reset_within(&mut self, lattice: &SegmentLattice<'_, S>, most: usize) {
        self.starts.clear();
        if !matches!(lattice.explicit, Explicit::Rows { .. }) {
            return;
        }
        let row = lattice.longest() * lattice.labels();
        let places = (most / row).min(lattice.positions()).max(1);
        self.starts.resize(places, None);
        if self.rows.len() < places * row {
            self.rows.resize(places * row, S::ZERO);
        }
    }

    /// The bounds of all segments from `s` on, by length: `W x L`, as far as the sequence goes. Empty if scores are not computed
    /// on demand.
    #[inline]
    pub(super) fn of_start<'b>(&'b mut self, lattice: &'b SegmentLattice<'_, S>, s: usize) -> &'b [S] {
        let (labels, longest) = (lattice.labels(), lattice.longest());
        let lengths = longest.min(lattice.positions() - s);
        let scores = match &lattice.explicit {
            Explicit::None | Explicit::Array { .. } => return &[],
            Explicit::Function { bounds, .. } => return &bounds[..lengths * labels],
            Explicit::Rows { scores, .. } => scores,
        };
        let place = s % self.starts.len();
        let rows = &mut self.rows[place * longest * labels..][..lengths * labels];
        if self.starts[place].replace(s) != Some(s) {
            scores.bound(s, rows);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::{Edges, Lattice};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Bounds that say where they belong, counted.
    struct Counted<'a>(&'a AtomicUsize);

    impl SegmentScores<f64> for Counted<'_> {
        fn show(&self, _: usize, _: usize, see: &mut dyn FnMut(&[f64])) {
            see(&[0.0, 0.0]);
        }

        fn bound(&self, start: usize, rows: &mut [f64]) {
            self.0.fetch_add(1, Ordering::Relaxed);
            rows.iter_mut().enumerate().for_each(|(i, bound)| *bound = (100 * start + i) as f64);
        }
    }

    #[test]
    fn bounds_are_computed_once_if_there_is_room() {
        let (asked, nodes) = (AtomicUsize::new(0), [0.0; 10 * 2]);
        let edges = Edges::dense(2, [0.0; 4]).unwrap();
        let chain = Lattice::new(&nodes[..], &edges).unwrap();
        let lattice =
            SegmentLattice::new(chain).with_score_rows(vec![9e3; 3 * 2], 9e3, Counted(&asked)).unwrap();
        // Room for all starts; for four of them; for one, however little there is.
        for (most, expected) in [(MOST_KEPT, 10), (4 * 3 * 2, 10), (1, 15)] {
            let mut bounds = SpanBounds::default();
            bounds.reset_within(&lattice, most);
            asked.store(0, Ordering::Relaxed);
            for s in (0..10).chain([9, 8, 7, 6, 9, 8]) {
                let rows = bounds.of_start(&lattice, s);
                assert_eq!((rows.len(), rows[0]), (2 * 3.min(10 - s), 100.0 * s as f64));
            }
            assert_eq!(asked.load(Ordering::Relaxed), expected, "{most}");
        }
    }
}
