//! The automatic choice among the decoders of segments: a plan from facts, with its reason in words.

use super::lattice::spans;
use super::{Estimate, SegmentLattice};
use crate::decode::Decoder;
use crate::simd::{BLOCK, Float};
use std::fmt;

/// What the choice depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
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
    /// Whether computing one takes no longer than a few steps of a search ([`SegmentLattice::with_cheap_scores`]).
    pub cheap: bool,
    /// Segmentations wanted.
    pub k: usize,
}

/// With fewer segments than this, computing all scores takes less time than finding out which of them matter, if each is
/// cheap (measured: benchmarks/segments.md).
const FEW_SEGMENTS: usize = 4;

/// Best-first search may put every segment with every label on its agenda, 32 bytes each: beyond this the funnel, which has none.
const AGENDA: usize = 1 << 23;

impl Facts {
    /// How many segments there are, labels apart.
    fn segments(&self) -> usize {
        spans(self.positions, self.longest)
    }

    /// Whether a search may put every segment on its agenda.
    fn fit_an_agenda(&self) -> bool {
        self.segments().saturating_mul(self.labels) <= AGENDA
    }
}

/// What will be run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// What it was chosen from.
    pub facts: Facts,
    /// What will be run.
    pub decoder: Decoder,
}

impl Plan {
    /// The plan for the `k` best of a lattice.
    pub fn of<S: Float>(lattice: &SegmentLattice<'_, S>, k: usize) -> Self {
        Self::choose(Facts {
            positions: lattice.positions(),
            labels: lattice.labels(),
            longest: lattice.longest(),
            explicit: lattice.has_explicit(),
            on_demand: lattice.is_on_demand(),
            cheap: lattice.cheap,
            k,
        })
    }

    /// A pure function of the facts.
    pub fn choose(facts: Facts) -> Self {
        // The floor of several segmentations is low: half of the scores would be asked for, one by one.
        let all_scores = facts.on_demand && facts.cheap && (facts.k > 1 || facts.segments() < FEW_SEGMENTS);
        let bounds_pay = facts.on_demand || (!facts.explicit && facts.longest > 4 * BLOCK);
        let decoder = match () {
            () if all_scores => Decoder::SemiViterbiSimd,
            // Half the scores that the funnel asks for, in more time of its own: see benchmarks/bounds.md and segments.md.
            () if facts.on_demand && facts.k == 1 && !facts.cheap && facts.fit_an_agenda() => {
                Decoder::SemiAstar(Estimate::Admissible)
            }
            () if bounds_pay => Decoder::SemiFunnel,
            () => Decoder::SemiViterbiSimd,
        };
        Plan { facts, decoder }
    }

    /// The plan in words.
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Facts { positions, labels, longest, explicit, on_demand, k, .. } = self.facts;
        let why = match () {
            () if on_demand && k > 1 && self.decoder == Decoder::SemiViterbiSimd => {
                "for several segmentations, computing all scores is faster than choosing among them"
            }
            () if on_demand && self.decoder == Decoder::SemiViterbiSimd => {
                "there are so few segments that computing all their scores is faster than choosing among them"
            }
            () if on_demand && k == 1 && self.decoder != Decoder::SemiFunnel => {
                "scores of segments are computed on demand, and this search asks for the fewest"
            }
            () if on_demand => {
                "scores of segments are computed on demand, so only those that can matter are asked for"
            }
            () if explicit => {
                "every segment has a stored score, and reading all of them once is as fast as any bound"
            }
            () if self.decoder == Decoder::SemiFunnel => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_sequences_with_cheap_scores_compute_all() {
        let plan = |positions, longest, cheap, k| {
            let facts = Facts { positions, labels: 5, longest, explicit: true, on_demand: true, cheap, k };
            Plan::choose(facts)
        };
        assert_eq!(plan(7, 7, true, 1).facts.segments(), 28);
        assert_eq!(plan(22, 8, true, 1).facts.segments(), 22 * 8 - 28);
        assert_eq!(plan(7, 7, true, 1).decoder, Decoder::SemiFunnel);
        assert_eq!(plan(2, 2, true, 1).decoder, Decoder::SemiViterbiSimd);
        assert_eq!(plan(7, 7, true, 5).decoder, Decoder::SemiViterbiSimd);
        assert_eq!(plan(7, 7, false, 1).decoder, Decoder::SemiAstar(Estimate::Admissible));
        assert_eq!(plan(30, 30, false, 1).decoder, Decoder::SemiAstar(Estimate::Admissible));
        assert_eq!(plan(20_000, 200, false, 1).decoder, Decoder::SemiFunnel, "no agenda of gigabytes");
        assert_eq!(plan(30, 30, true, 1).decoder, Decoder::SemiFunnel);
        assert_eq!(plan(30, 30, true, 5).decoder, Decoder::SemiViterbiSimd);
        assert_eq!(plan(30, 30, false, 5).decoder, Decoder::SemiFunnel);
        assert!(plan(2, 2, true, 1).explain().contains("all their scores"));
    }
}
