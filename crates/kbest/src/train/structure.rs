//! What an answer is made of: labels of positions, or segments.
//!
//! **What.** A trainer that corrects errors decodes a lattice and compares the answer with the right one. What the lattice,
//! the decoder and the parts of an answer are is a [`Structure`]: [`Positions`] or [`Segments`]. So each trainer exists once
//! and trains models of both kinds.

use kbest_core::LabelId;
use kbest_core::Result;
use kbest_core::decode::{Decode, Decoded, Decoder, Scratch};
use kbest_core::lattice::Lattice;
use kbest_core::segment::{Segment, SegmentDecoder, SegmentLattice, SegmentScratch};
use std::fmt;

/// What the answers of a family of models are made of.
pub trait Structure: fmt::Debug + Send + Sync + 'static {
    /// One part of an answer.
    type Part: Copy + PartialEq + fmt::Debug + Send + Sync;
    /// What is decoded.
    type Lattice<'a>;
    /// What decodes it.
    type Decoder: Clone + Default + fmt::Debug + Send + Sync;
    /// Working memory of a decoder.
    type Scratch: Default + fmt::Debug + Send;

    /// Number of positions that an answer covers.
    fn positions(answer: &[Self::Part]) -> usize;

    /// Finds the best answer; a beam stops where the right one falls out of it.
    ///
    /// # Errors
    /// Errors of the decoder.
    fn search(
        lattice: &Self::Lattice<'_>,
        decoder: &Self::Decoder,
        right: &[Self::Part],
        scratch: &mut Self::Scratch,
        answer: &mut Vec<Self::Part>,
    ) -> Result<()>;

    /// The number of wrong positions, as far as the answer reaches; 0 only if it is right.
    fn wrong(answer: &[Self::Part], right: &[Self::Part]) -> usize;

    /// The score of an answer, or of its beginning; without the score of the last label if it does not reach the end.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] if it is none of the lattice's.
    fn score(lattice: &Self::Lattice<'_>, answer: &[Self::Part]) -> Result<f32>;
}

/// One label per position.
#[derive(Debug, Clone, Copy)]
pub struct Positions;

/// Working memory of decoders of positions.
#[derive(Debug)]
pub struct PositionScratch {
    scratch: Scratch<f32>,
    decoded: Decoded<f32>,
}

impl Default for PositionScratch {
    fn default() -> Self {
        PositionScratch { scratch: Scratch::new(), decoded: Decoded::default() }
    }
}

impl Structure for Positions {
    type Part = LabelId;
    type Lattice<'a> = Lattice<'a, f32>;
    type Decoder = Decoder;
    type Scratch = PositionScratch;

    fn positions(answer: &[LabelId]) -> usize {
        answer.len()
    }

    fn search(
        lattice: &Lattice<'_, f32>,
        decoder: &Decoder,
        right: &[LabelId],
        memory: &mut PositionScratch,
        answer: &mut Vec<LabelId>,
    ) -> Result<()> {
        match decoder {
            Decoder::Beam(beam) => beam.until_lost(lattice, right, &mut memory.scratch, answer),
            decoder => {
                decoder.decode_into(lattice, 1, &mut memory.scratch, &mut memory.decoded)?;
                answer.clone_from(&memory.decoded.best().labels);
                Ok(())
            }
        }
    }

    fn wrong(answer: &[LabelId], right: &[LabelId]) -> usize {
        answer.iter().zip(right).filter(|(answer, right)| answer != right).count()
    }

    fn score(lattice: &Lattice<'_, f32>, answer: &[LabelId]) -> Result<f32> {
        lattice.prefix_score(answer)
    }
}

/// Segments that cover all positions.
#[derive(Debug, Clone, Copy)]
pub struct Segments;

impl Structure for Segments {
    type Part = Segment;
    type Lattice<'a> = SegmentLattice<'a, f32>;
    type Decoder = SegmentDecoder;
    type Scratch = SegmentScratch<f32>;

    fn positions(answer: &[Segment]) -> usize {
        answer.last().map_or(0, |last| last.end)
    }

    fn search(
        lattice: &SegmentLattice<'_, f32>,
        decoder: &SegmentDecoder,
        _right: &[Segment],
        scratch: &mut SegmentScratch<f32>,
        answer: &mut Vec<Segment>,
    ) -> Result<()> {
        let decoded = decoder.decode(lattice, 1, scratch)?;
        answer.clear();
        answer.extend(decoded.segmentations.into_iter().next().unwrap_or_default().segments);
        Ok(())
    }

    fn wrong(answer: &[Segment], right: &[Segment]) -> usize {
        let labels = |parts: &[Segment]| -> Vec<LabelId> {
            parts.iter().flat_map(|part| std::iter::repeat_n(part.label, part.end - part.start)).collect()
        };
        let wrong = Positions::wrong(&labels(answer), &labels(right));
        wrong.max(usize::from(answer != right)) // the same labels in other segments
    }

    fn score(lattice: &SegmentLattice<'_, f32>, answer: &[Segment]) -> Result<f32> {
        lattice.segmentation_score(answer)
    }
}
