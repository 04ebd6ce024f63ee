//! The judge of segmentations: one order of additions that all decoders share.
//!
//! ```text
//! entered = start[y], or score so far + edge[s][p][y]                    in the score's own type
//! inside  = ((entered - sum[s][y]) + duration[r-s][y]) + explicit[s][r][y]      in f64
//! score   = inside + sum[r][y], rounded to the score's own type
//! ...       and at last + end[y]
//! ```
//!
//! `sum[t][y]` are the node scores of label `y` before position `t`, added from the left in `f64`; parts that are absent are
//! not added. Scores of where a segment begins and ends are part of these sums: what is subtracted is `sum[s][y] - begin[s][y]`,
//! what is added `sum[r][y] + end[r - 1][y]`, each computed once. Every step adds something fixed to what came before, so rounding
//! is monotone along the whole sum: a forward pass that takes maxima at each step finds the largest *judge's* score, bit for bit. And because `sum[r][y]` comes last,
//! the maximum over lengths is one over `inside`: a max-plus convolution. `f64` keeps sums over long inputs accurate where
//! scores are `f32`. Record: `docs/decisions/0013-judge-of-segments.md`.

use super::lattice::Explicit;
use super::{Segment, SegmentLattice};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::score::Score;
use crate::simd::{Float, Loop, run};

/// What follows from the scores of a lattice, made at the first use. `O(T L)`.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub sums: Vec<f64>, // (T + 1) x L: node scores before a position, with the score of ending there; forbidden ones count 0
    opening: Option<Vec<f64>>, // T x L: node scores before a position, less the score of beginning there; `None`: `sums`
    pub durations: Vec<f64>, // W x L: score of length index + 1, minus infinity where the label may not be so long
    pub earliest: Option<Vec<u32>>, // (T + 1) x L: no segment that ends here starts before; `None` if all may start at 0
    pub closed: Vec<bool>,          // T + 1: no segment begins or ends here
}

impl Prepared {
    fn new<S: Float>(lattice: &SegmentLattice<'_, S>) -> Self {
        let (positions, labels, longest) = (lattice.positions(), lattice.labels(), lattice.longest());
        let mut sums = vec![0.0; (positions + 1) * labels];
        let forbids = run(SumNodes { nodes: lattice.chain.nodes(), sums: &mut sums, labels });
        let forbids = forbids || !lattice.required.is_empty();
        let earliest = forbids.then(|| {
            let mut earliest = vec![0u32; (positions + 1) * labels];
            for t in 0..positions {
                for (y, &node) in lattice.chain.node_row(t).iter().enumerate() {
                    let before = earliest[t * labels + y];
                    earliest[(t + 1) * labels + y] = match () {
                        () if node.is_forbidden() => t as u32 + 1,
                        () if lattice.required.contains(&t) => before.max(t as u32),
                        () => before,
                    };
                }
            }
            earliest
        });
        let mut durations: Vec<f64> = match &lattice.durations {
            Some(scores) => scores[..longest * labels].iter().map(|score| score.to_f64()).collect(),
            None => vec![0.0; longest * labels],
        };
        if let Some(most) = &lattice.longest_of {
            for (length, row) in (1..).zip(durations.chunks_exact_mut(labels)) {
                for (duration, &most) in row.iter_mut().zip(most) {
                    *duration = if length > most { f64::NEG_INFINITY } else { *duration };
                }
            }
        }
        let closed = (0..=positions).map(|t| lattice.closed.contains(&t)).collect();
        let opening = lattice.boundaries.as_ref().map(|[begin, end]| {
            let less = sums.iter().zip(begin.iter()).map(|(sum, begin)| sum - begin.to_f64()).collect();
            sums[labels..].iter_mut().zip(end.iter()).for_each(|(sum, end)| *sum += end.to_f64());
            less
        });
        Prepared { sums, opening, durations, earliest, closed }
    }

    /// At least `T x L`: what a segment that begins at a position subtracts.
    #[inline]
    pub(super) fn opening(&self) -> &[f64] {
        self.opening.as_deref().unwrap_or(&self.sums)
    }
}

/// Sums the node scores of each label from the left; says whether any is forbidden.
struct SumNodes<'a, S> {
    nodes: &'a [S],
    sums: &'a mut [f64], // one row more than nodes; the first is 0
    labels: usize,
}

impl<S: Float> Loop for SumNodes<'_, S> {
    type Result = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let SumNodes { nodes, sums, labels } = self;
        let mut forbids = false;
        for (t, nodes) in nodes.chunks_exact(labels).enumerate() {
            let (before, here) = sums[t * labels..][..2 * labels].split_at_mut(labels);
            for y in 0..labels {
                let forbidden = nodes[y].is_forbidden();
                forbids |= forbidden;
                here[y] = before[y] + if forbidden { 0.0 } else { nodes[y].to_f64() };
            }
        }
        forbids
    }
}

impl<S: Float> SegmentLattice<'_, S> {
    /// What follows from the scores.
    #[inline]
    pub(super) fn prepared(&self) -> &Prepared {
        self.prepared.get_or_init(|| Prepared::new(self))
    }

    /// The score with which a segmentation enters its first label.
    #[inline]
    pub(super) fn enter_first(&self, y: usize) -> S {
        self.chain.start().map_or(S::ZERO, |start| start[y])
    }

    /// `inside` of the segment `[s, r)`, entered with this score; minus infinity if it may not be.
    #[inline]
    pub(super) fn inside(&self, entered: S, s: usize, r: usize, y: usize) -> f64 {
        let inside = self.inside_without_explicit(entered, s, r, y);
        if inside == f64::NEG_INFINITY { inside } else { self.plus_explicit(inside, s, r, y) }
    }

    /// The same before its explicit score is added.
    #[inline]
    pub(super) fn inside_without_explicit(&self, entered: S, s: usize, r: usize, y: usize) -> f64 {
        let (p, labels) = (self.prepared(), self.labels());
        if entered.is_forbidden() || !self.may_be(s, r, y) {
            return f64::NEG_INFINITY;
        }
        match p.durations.get((r - s - 1) * labels + y) {
            Some(duration) => (entered.to_f64() - p.opening()[s * labels + y]) + duration,
            None => f64::NEG_INFINITY,
        }
    }

    /// Whether no constraint and no forbidden position is in the way of this segment; its length may be.
    #[inline]
    pub(super) fn may_be(&self, s: usize, r: usize, y: usize) -> bool {
        let p = self.prepared();
        let early = p.earliest.as_ref().is_some_and(|earliest| (s as u32) < earliest[r * self.labels() + y]);
        !(early || p.closed[s] || p.closed[r] || self.is_forbidden_span(s, r, y))
    }

    /// Node scores, boundaries and duration of a segment; what is forbidden counts 0.
    #[inline]
    pub(super) fn known(&self, s: usize, r: usize, y: usize) -> f64 {
        let (p, labels) = (self.prepared(), self.labels());
        let duration = p.durations.get((r - s - 1) * labels + y).filter(|duration| duration.is_finite());
        (p.sums[r * labels + y] - p.opening()[s * labels + y]) + duration.copied().unwrap_or(0.0)
    }

    /// With the explicit score of this segment.
    #[inline]
    pub(super) fn plus_explicit(&self, inside: f64, s: usize, r: usize, y: usize) -> f64 {
        match self.explicit {
            Explicit::None => inside,
            _ => inside + self.explicit(s, r, y as LabelId).to_f64(),
        }
    }

    #[inline]
    fn is_forbidden_span(&self, s: usize, r: usize, y: usize) -> bool {
        !self.forbidden.is_empty() && self.forbidden.contains(&(r, s, y as LabelId))
    }

    /// The score of a segmentation up to `r` whose last segment has this `inside`.
    #[inline]
    pub(super) fn leave(&self, inside: f64, r: usize, y: usize) -> S {
        S::from_f64(inside + self.prepared().sums[r * self.labels() + y])
    }

    /// [`SegmentLattice::leave`] for all labels.
    #[inline]
    pub(super) fn leave_row(&self, inside: &[f64], r: usize, out: &mut [S]) {
        let sums = &self.prepared().sums[r * self.labels()..];
        for ((out, inside), sum) in out.iter_mut().zip(inside).zip(sums) {
            *out = S::from_f64(inside + sum);
        }
    }

    /// The judge: the score of a segmentation, added in the one order that all decoders share; minus infinity if any part
    /// of it is forbidden.
    ///
    /// # Errors
    /// [`Error::Shape`] if the segments do not cover the positions from first to last, each once and in order;
    /// [`Error::LabelOutOfRange`].
    pub fn segmentation_score(&self, segments: &[Segment]) -> Result<S> {
        self.score_with(segments, |inside, s, r, y| self.plus_explicit(inside, s, r, y))
    }

    /// The same, with explicit scores from elsewhere: `explicit` adds that of a segment to an `inside`.
    pub(super) fn score_with(
        &self,
        segments: &[Segment],
        mut explicit: impl FnMut(f64, usize, usize, usize) -> f64,
    ) -> Result<S> {
        let mut score = S::ZERO;
        let mut position = 0;
        let mut before = None;
        for &Segment { start, end, label } in segments {
            self.check_span(start, end, label)?;
            if start != position {
                let expected = format!("a segment that starts at {position}");
                return Err(Error::shape("segmentation", expected, format!("[{start}, {end})")));
            }
            let y = label as usize;
            let entered = match before {
                None => self.enter_first(y),
                Some(p) => score + with_edges!(self.chain, |edges| edges.get(start, p, y)),
            };
            let inside = self.inside_without_explicit(entered, start, end, y);
            let allowed = inside != f64::NEG_INFINITY;
            let inside = if allowed { explicit(inside, start, end, y) } else { inside };
            score = self.leave(inside, end, y);
            (position, before) = (end, Some(y));
        }
        if position != self.positions() {
            let expected = format!("segments up to position {}", self.positions());
            return Err(Error::shape("segmentation", expected, position));
        }
        Ok(before.map_or(score, |y| self.chain.with_end_score(score, y)))
    }

    /// An upper bound on the finite magnitude of any segmentation's score.
    pub(super) fn magnitude(&self) -> f64 {
        let segments = self.positions() as f64 + 1.0;
        self.chain.path_magnitude() + segments * self.magnitudes.iter().sum::<f64>()
    }

    /// How far two sums over the same segmentation may lie apart when their additions are ordered differently.
    ///
    /// A segmentation has at most `T` segments. Each adds two roundings in the score's own type and four in `f64`, of
    /// numbers that are at most `magnitude` (with the node sums in `f64`: three times that). Two such sums are compared.
    pub fn rounding_slack(&self) -> f64 {
        let (segments, magnitude) = (self.positions() as f64 + 1.0, self.magnitude());
        let relative = 2.0 * segments * (2.0 * S::UNIT_ROUNDOFF + 12.0 * f64::UNIT_ROUNDOFF);
        if relative >= 0.5 { 4.0 * magnitude } else { 2.0 * magnitude * relative / (1.0 - relative) }
    }
}
