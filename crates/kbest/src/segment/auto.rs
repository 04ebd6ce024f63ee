//! The automatic choice among the decoders of segments: a plan from facts, with its reason in words.

use super::decoder::SegmentDecoder;
use super::{Estimate, SegmentLattice};
use crate::kernel::{BLOCK, Float};
use std::fmt;

/// What the choice depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFacts {
    /// Positions.
    pub positions: usize,
    /// Labels.
    pub labels: usize,
    /// The longest segment.
    pub longest: usize,
    /// Whether single segments have scores of their own.
    pub explicit: bool,
    /// Whether these are computed on demand.
    pub on_demand: bool,
    /// Segmentations wanted.
    pub k: usize,
}

/// What will be run, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentPlan {
    /// What it was chosen from.
    pub facts: SegmentFacts,
    /// What will be run.
    pub decoder: SegmentDecoder,
}

impl SegmentPlan {
    /// The plan for the `k` best of a lattice.
    pub fn of<S: Float>(lattice: &SegmentLattice<'_, S>, k: usize) -> Self {
        Self::choose(SegmentFacts {
            positions: lattice.positions(),
            labels: lattice.labels(),
            longest: lattice.longest(),
            explicit: lattice.has_explicit(),
            on_demand: lattice.is_on_demand(),
            k,
        })
    }

    /// A pure function of the facts.
    pub fn choose(facts: SegmentFacts) -> Self {
        let bounds_pay = facts.on_demand || (!facts.explicit && facts.longest > 2 * BLOCK);
        let decoder = match () {
            // Half the scores that the funnel asks for: see benchmarks/bounds.md.
            () if facts.on_demand && facts.k == 1 => SegmentDecoder::SemiAstar(Estimate::Admissible),
            () if bounds_pay => SegmentDecoder::SemiFunnel,
            () => SegmentDecoder::SemiViterbiSimd,
        };
        SegmentPlan { facts, decoder }
    }

    /// The plan in words.
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for SegmentPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SegmentFacts { positions, labels, longest, explicit, on_demand, k } = self.facts;
        let why = match () {
            () if on_demand && k == 1 => {
                "scores of segments are computed on demand, and this search asks for the fewest"
            }
            () if on_demand => {
                "scores of segments are computed on demand, so only those that can matter are asked for"
            }
            () if explicit => {
                "every segment has a stored score, and reading all of them once is as fast as any bound"
            }
            () if self.decoder == SegmentDecoder::SemiFunnel => {
                "with so many lengths it pays to leave out blocks of them by their bounds"
            }
            () => "there are too few lengths for bounds to pay",
        };
        write!(
            f,
            "{positions} positions, {labels} labels, segments up to {longest}. `{}`: {why}.",
            self.decoder
        )
    }
}
