//! Segments that cover all positions.

use super::{Positions, Probabilities, Structure};
use crate::decode::{Decoded, Decoder, Lattices};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::Lattice;
use crate::marginal::Calibration;
use crate::scheme::KnownTag;
use crate::segment::{Marginals, Scratch, Segment, SegmentLattice, Segmentation};
use crate::simd::Float;

/// A segment at least as probable has no alternative, apart from rounding: no curve is asked.
const CERTAIN: f64 = 1.0 - 1e-12;

/// Segments that cover all positions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segments;

impl Structure for Segments {
    const LATTICES: Lattices = Lattices::Segments;

    type Part = Segment;
    type Path<S: Float> = Segmentation<S>;
    type Lattice<'a, S: Float> = SegmentLattice<'a, S>;
    type Scratch<S: Float> = Scratch<S>;
    type Sums = ();
    type Known = KnownTag;

    fn decode_into<S: Float>(
        decoder: &Decoder,
        lattice: &SegmentLattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S, Segmentation<S>>,
    ) -> Result<()> {
        decoder.decode_segments_into(lattice, k, scratch, out)
    }

    fn search(
        decoder: &Decoder,
        lattice: &SegmentLattice<'_, f32>,
        _right: &[Segment],
        scratch: &mut Scratch<f32>,
        decoded: &mut Decoded<f32, Segmentation<f32>>,
        answer: &mut Vec<Segment>,
    ) -> Result<()> {
        decoder.decode_segments_into(lattice, 1, scratch, decoded)?;
        answer.clone_from(&decoded.best().segments);
        Ok(())
    }

    fn path<S: Float>(segments: Vec<Segment>, score: S) -> Segmentation<S> {
        Segmentation { segments, score }
    }

    fn score_of<S: Float>(path: &Segmentation<S>) -> S {
        path.score
    }

    fn score<S: Float>(lattice: &SegmentLattice<'_, S>, answer: &[Segment]) -> Result<S> {
        lattice.segmentation_score(answer)
    }

    fn positions(answer: &[Segment]) -> usize {
        answer.last().map_or(0, |last| last.end)
    }

    fn covering(answer: &[Segment]) -> Vec<usize> {
        let parts = answer.iter().enumerate();
        parts.flat_map(|(i, part)| std::iter::repeat_n(i, part.end - part.start)).collect()
    }

    fn label(part: Segment) -> LabelId {
        part.label
    }

    fn wrong(answer: &[Segment], right: &[Segment]) -> usize {
        let labels = |parts: &[Segment]| -> Vec<LabelId> {
            Self::covering(parts).into_iter().map(|i| parts[i].label).collect()
        };
        let wrong = Positions::wrong(&labels(answer), &labels(right));
        wrong.max(usize::from(answer != right)) // the same labels in other segments
    }

    fn with_chain<'a, S: Float>(
        lattice: SegmentLattice<'a, S>,
        change: impl FnOnce(Lattice<'a, S>) -> Result<Lattice<'a, S>>,
    ) -> Result<SegmentLattice<'a, S>> {
        lattice.with_chain(change)
    }

    fn force<'a, S: Float + 'a>(
        lattice: SegmentLattice<'a, S>,
        t: usize,
        KnownTag { label, begins, ends }: KnownTag,
    ) -> Result<SegmentLattice<'a, S>> {
        let positions = lattice.positions();
        let mut lattice = lattice.with_chain(|chain| chain.force(t, label))?;
        for (boundary, there) in [(t, begins), (t + 1, ends)] {
            lattice = match there {
                Some(false) if boundary == 0 || boundary == positions => return Err(Error::NoPath),
                Some(true) if boundary > 0 && boundary < positions => lattice.require_boundary(boundary)?,
                Some(false) => lattice.forbid_boundary(boundary)?,
                _ => lattice,
            };
        }
        Ok(lattice)
    }

    fn sums(_shares_edges: bool) {}

    fn probabilities(
        lattice: &SegmentLattice<'_, f32>,
        calibration: Option<&Calibration>,
        (): &mut (),
        paths: &[Segmentation<f32>],
        wanted: Probabilities<'_>,
    ) -> Result<()> {
        let marginals =
            Marginals::at_temperature(lattice, calibration.map_or(1.0, Calibration::temperature))?;
        if let Some((confidences, probabilities)) = wanted.paths {
            let sure = |part: &Segment| {
                let p = marginals.segment(part.start, part.end, part.label).min(1.0);
                match calibration {
                    Some(calibration) if p < CERTAIN => calibration.at(p),
                    _ => p,
                }
            };
            for found in paths {
                confidences.push(found.segments.iter().map(sure).collect());
                probabilities.push(marginals.log_probability(found.score.into()).exp());
            }
        }
        if let Some(distributions) = wanted.distributions {
            *distributions = marginals.labels();
        }
        Ok(())
    }
}
