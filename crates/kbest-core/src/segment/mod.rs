//! Segments instead of single positions: semi-Markov models.
//!
//! **What.** A [`SegmentLattice`] scores segments `[start, end)` with a label: the sum of its node scores, a score for its
//! length, and a score of its own, each part optional; edges join the labels of neighbouring segments. Decoders find the
//! best segmentation or the `k` best ([`SegmentDecoder`], [`segmentations`]); [`SegmentMarginals`] sums over all.
//! **Why.** Names, addresses, genes and chords are segments: their length and their text as a whole say more than any of
//! their tokens. **Cost.** `T L^2 + T W L` for the longest segment `W`, or less; memory `O(T L)` beyond the scores that you
//! give. **When not.** If segments only differ by their tokens, a chain with labels such as `B-`, `I-` and `O` is faster.
//!
//! **Ties.** Among equally good segmentations, read from the end: the lowest label, then the shortest segment, then the
//! lowest label before it, and so on. All decoders obey it, and the order of the `k` best follows it, too. Where rounding
//! makes two segmentations equal, the sums inside decide, which are kept in `f64`: the larger one before the shorter segment.
//!
//! ```
//! use kbest_core::segment::{Segment, SegmentDecoder, SegmentLattice, SegmentScratch};
//! use kbest_core::{Edges, Lattice};
//! let edges = Edges::uniform(2, -1.0f32)?;
//! let nodes = vec![1.0, 0.0, 1.0, 0.0, 0.0, 3.0]; // three positions, two labels
//! let lattice = SegmentLattice::new(Lattice::new(nodes, &edges)?).with_longest(2)?;
//! let answer = SegmentDecoder::default().decode(&lattice, 1, &mut SegmentScratch::default())?;
//! let best = &answer.segmentations[0];
//! assert_eq!(best.segments, [Segment { start: 0, end: 2, label: 0 }, Segment { start: 2, end: 3, label: 1 }]);
//! assert_eq!(best.score, 2.0 - 1.0 + 3.0);
//! # Ok::<(), kbest_core::Error>(())
//! ```
//!
//! Papers: Sarawagi and Cohen, *Semi-Markov conditional random fields for information extraction* (2004); Druck, Narasimhan
//! and Viola, *Learning A\* underestimates* (2007).

mod astar;
mod auto;
mod bound;
mod completions;
mod constraints;
mod decoder;
mod derivations;
mod forward;
mod funnel;
mod judge;
mod lattice;
mod lazy;
mod learned;
mod lengths;
mod marginal;
mod pushed;
mod scores;
mod semi_viterbi;

pub use astar::Estimate;
pub use auto::{SegmentFacts, SegmentPlan};
pub use bound::{BoostedTrees, BoundMemory, BoundParts, LearnedBound, Promise, TokenFeatures};
#[cfg(feature = "bounds")]
pub use bound::{
    BoundOptions, BoundProgress, BoundReport, BoundSource, FitSize, LookAtSequence, Norm, learn_bound,
};
pub use decoder::{SEGMENT_CATALOGUE, SegmentDecoder, SegmentEntry, SegmentScratch};
pub use lattice::SegmentLattice;
pub use lazy::{Segmentations, segmentations};
pub use learned::LearnedEstimate;
pub use marginal::SegmentMarginals;
pub use scores::SegmentScores;

use crate::label::LabelId;
use std::fmt;

/// A segment with its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Segment {
    /// Its first position.
    pub start: usize,
    /// The position after its last.
    pub end: usize,
    /// Its label.
    pub label: LabelId,
}

/// Segments that cover a sequence, and their score.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Segmentation<S> {
    /// The segments, from left to right.
    pub segments: Vec<Segment>,
    /// What the judge, [`SegmentLattice::segmentation_score`], gives for them.
    pub score: S,
}

impl<S> Segmentation<S> {
    /// The label of each position.
    pub fn labels(&self) -> Vec<LabelId> {
        self.segments.iter().flat_map(|s| std::iter::repeat_n(s.label, s.end - s.start)).collect()
    }
}

/// What is known of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Guarantee {
    /// There is nothing better.
    Exact,
    /// With probability `1 - epsilon` nothing is better by more than `delta`.
    Probable {
        /// The share of inputs for which it need not hold.
        epsilon: f64,
        /// By how much the best may be better.
        delta: f64,
    },
    /// Nothing.
    #[default]
    None,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guarantee::Exact => f.write_str("exact"),
            Guarantee::Probable { epsilon, delta } => {
                write!(f, "within {delta} with probability {}", 1.0 - epsilon)
            }
            Guarantee::None => f.write_str("none"),
        }
    }
}

/// What a decoder of segments answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SegmentDecoded<S> {
    /// The segmentations, best first.
    pub segmentations: Vec<Segmentation<S>>,
    /// What is known of them.
    pub guarantee: Guarantee,
    /// The decoder that found them (never `auto`: the one it chose).
    pub decoder: &'static str,
    /// What it cost.
    pub counters: SegmentCounters,
}

/// What a search cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentCounters {
    /// Segments (start, end, label) whose score was looked at.
    pub segments: u64,
    /// Explicit scores read or computed.
    pub explicit: u64,
    /// Edge scores looked at.
    pub edges: u64,
}
