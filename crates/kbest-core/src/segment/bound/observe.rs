//! What an estimate must reach: true completions less the known parts, the one place where signs matter.
//!
//! For a segment `[s, r)` with label `y` the *target* is
//!
//! ```text
//! target = completion(s, r, y) - known(s, r, y) - edge[r][y][z_r] - known parts of the runs of z from r on
//! ```
//!
//! and the paper's `delta_(i,s,r,l)`, chain cost less completion cost, is `target - chain(P)`: positive where the estimate is
//! too low and the search may go wrong, negative where it is too high and the search looks at too much.

use super::finite;
use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::segment::{Segment, SegmentLattice};
use crate::simd::Float;

/// A segment, and what the chain must reach from its first position to the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Inequality {
    pub segment: Segment,
    pub completion: f64,
    pub target: f64,
}

/// A path of the cheap classifier, and what is known of it from each position on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Guess<'a> {
    pub labels: &'a [LabelId],
    pub along: &'a [f64],
}

impl Guess<'_> {
    /// What is known of the segment and what follows it along the path.
    fn known<S: Float>(&self, lattice: &SegmentLattice<'_, S>, segment: Segment) -> f64 {
        let (r, y) = (segment.end, segment.label as usize);
        let joined = match self.labels.get(r) {
            Some(&z) => {
                self.along[r] + with_edges!(lattice.chain(), |edges| finite(edges.get(r, y, z as usize)))
            }
            None => finite(lattice.chain().end().map_or(S::ZERO, |end| end[y])),
        };
        lattice.known(segment.start, r, y) + joined
    }
}

/// The inequalities of the best segmentation (section 4.2). Its completions are its score less what came before.
pub(super) fn on_best_path<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    guess: Guess<'_>,
    segments: &[Segment],
) -> Result<Vec<Inequality>> {
    let score = lattice.segmentation_score(segments)?.to_f64();
    let (mut so_far, mut before) = (S::ZERO, None);
    let mut inequalities = vec![];
    for &segment in segments {
        let (s, r, y) = (segment.start, segment.end, segment.label as usize);
        let entered = match before {
            None => lattice.enter_first(y),
            Some(p) => so_far + with_edges!(lattice.chain(), |edges| edges.get(s, p, y)),
        };
        let completion = score - entered.to_f64();
        let target = completion - guess.known(lattice, segment);
        inequalities.push(Inequality { segment, completion, target });
        so_far = lattice.leave(lattice.inside(entered, s, r, y), r, y);
        before = Some(y);
    }
    Ok(inequalities)
}

/// The inequalities of all segments that some segmentation has: a backward pass with all explicit scores.
pub(super) fn on_all_paths<S: Float>(lattice: &SegmentLattice<'_, S>, guess: Guess<'_>) -> Vec<Inequality> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let mut after_end = vec![f64::NEG_INFINITY; (positions + 1) * labels];
    for y in 0..labels {
        after_end[positions * labels + y] = lattice.chain().end().map_or(0.0, |end| end[y].to_f64());
    }
    let mut inequalities = vec![];
    for s in (0..positions).rev() {
        let mut best = vec![f64::NEG_INFINITY; labels];
        for r in s + 1..=positions.min(s + lattice.longest()) {
            for y in 0..labels {
                let inside = lattice.inside(S::ZERO, s, r, y);
                let completion = lattice.leave(inside, r, y).to_f64() + after_end[r * labels + y];
                if completion == f64::NEG_INFINITY {
                    continue;
                }
                let segment = Segment { start: s, end: r, label: y as LabelId };
                let target = completion - guess.known(lattice, segment);
                inequalities.push(Inequality { segment, completion, target });
                best[y] = best[y].max(completion);
            }
        }
        if s > 0 {
            for p in 0..labels {
                let ways = (0..labels)
                    .map(|y| with_edges!(lattice.chain(), |edges| edges.get(s, p, y)).to_f64() + best[y]);
                after_end[s * labels + p] = ways.fold(f64::NEG_INFINITY, f64::max);
            }
        }
    }
    inequalities
}
