//! Scores of single segments that are computed on demand, and what is known of them before.
//!
//! **What.** [`SegmentScores`] gives the scores of a segment for all labels at once, and cheaper upper bounds of them;
//! [`SpanBounds`] hands such bounds to the searches, start by start. **Why.** What a segment's text scores is computed once for all
//! labels, and a look at its first and last word often tells that it cannot score much. **Cost.** Bounds of all `T W` segments
//! are computed once per search, or, if they would take more than a few megabytes, at each pass.

use super::SegmentLattice;
use super::lattice::Explicit;
use crate::kernel::Float;

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

/// More bounds than this (16 MiB in single precision) are not kept.
const MOST_KEPT: usize = 1 << 22;

/// Upper bounds of explicit scores, by segment.
#[derive(Debug, Default)]
pub(super) struct SpanBounds<S> {
    rows: Vec<S>,         // kept: start after start, W x L each; else those of one start
    known: Vec<bool>,     // kept: of each start, whether its rows are there
    shown: Option<usize>, // not kept: whose rows these are
    kept: bool,
}

impl<S: Float> SpanBounds<S> {
    /// Forgets everything; the next questions are about this lattice.
    pub(super) fn reset(&mut self, lattice: &SegmentLattice<'_, S>) {
        let (positions, row) = (lattice.positions(), lattice.longest() * lattice.labels());
        let all = positions.saturating_mul(row);
        let rows = matches!(lattice.explicit, Explicit::Rows { .. });
        self.kept = rows && all <= MOST_KEPT;
        self.shown = None;
        self.known.clear();
        self.known.resize(if self.kept { positions } else { 0 }, false);
        let wanted = if self.kept { all } else { row };
        if rows && self.rows.len() < wanted {
            self.rows.resize(wanted, S::ZERO);
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
        let from = if self.kept { s * longest * labels } else { 0 };
        let rows = &mut self.rows[from..][..lengths * labels];
        let known = match self.kept {
            true => std::mem::replace(&mut self.known[s], true),
            false => self.shown.replace(s) == Some(s),
        };
        if !known {
            scores.bound(s, rows);
        }
        rows
    }
}
