//! Segments instead of single positions: semi-Markov models.
//!
//! **What.** A [`SegmentLattice`] scores segments `[start, end)` with a label: the sum of its node scores, a score for its
//! length, and a score of its own, each part optional; edges join the labels of neighbouring segments. Decoders find the
//! best segmentation or the `k` best ([`Decoder::decode_segments`](crate::Decoder::decode_segments), [`segmentations`]); [`Marginals`] sums over all.
//! **Why.** Names, addresses, genes and chords are segments: their length and their text as a whole say more than any of
//! their tokens. **Cost.** `T L^2 + T W L` for the longest segment `W`, or less; memory `O(T L)` beyond the scores that you
//! give. **When not.** If segments only differ by their tokens, a chain with labels such as `B-`, `I-` and `O` is faster.
//!
//! **Ties.** Among equally good segmentations, read from the end: the lowest label, then the shortest segment, then the
//! lowest label before it, and so on. All decoders obey it, and the order of the `k` best follows it, too. Where rounding
//! makes two segmentations equal, the sums inside decide, which are kept in `f64`: the larger one before the shorter segment.
//!
//! ```
//! use kbest_core::segment::{Scratch, Segment, SegmentLattice};
//! use kbest_core::{Decoder, Edges, Lattice};
//! let edges = Edges::uniform(2, -1.0f32)?;
//! let nodes = vec![1.0, 0.0, 1.0, 0.0, 0.0, 3.0]; // three positions, two labels
//! let lattice = SegmentLattice::new(Lattice::new(nodes, &edges)?).with_longest(2)?;
//! let answer = Decoder::by_name("auto")?.decode_segments(&lattice, 1, &mut Scratch::default())?;
//! let best = answer.best();
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
mod lengths;
mod marginal;
mod pushed;
mod scores;
mod semi_viterbi;

pub use crate::decode::{Estimate, Guarantee};
pub use auto::{Facts, Plan};
pub use bound::{
    BoostedTrees, BoundMemory, BoundParts, LearnedBound, LearnedEstimate, Promise, TokenFeatures,
};
#[cfg(feature = "bounds")]
pub use bound::{
    BoundOptions, BoundProgress, BoundReport, BoundSource, FitSize, LookAtSequence, Norm, learn_bound,
};
pub use decoder::Scratch;
pub use lattice::SegmentLattice;
pub use lazy::{Segmentations, segmentations};
pub use marginal::Marginals;
pub use scores::SegmentScores;

use crate::decode::{Counters, Decoded};
use crate::label::LabelId;

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

impl<S> AsRef<[Segment]> for Segmentation<S> {
    fn as_ref(&self) -> &[Segment] {
        &self.segments
    }
}

impl<S> Segmentation<S> {
    /// The label of each position.
    pub fn labels(&self) -> Vec<LabelId> {
        self.segments.iter().flat_map(|s| std::iter::repeat_n(s.label, s.end - s.start)).collect()
    }
}
