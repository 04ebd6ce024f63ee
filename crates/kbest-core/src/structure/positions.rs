//! One label per position.
//!
//! **Sums.** A temperature other than 1 needs scaled edges: those that all lattices share are scaled once and shared by all
//! threads.

use super::{Probabilities, Structure};
use crate::decode::{Decode, Decoded, Decoder, Lattices, Path, Scratch};
use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::{Edges, Lattice};
use crate::marginal::{Calibration, MarginalScratch, Marginals, marginals};
use crate::simd::Float;
use std::sync::{Arc, OnceLock};

/// One label per position.
#[derive(Debug, Clone, Copy, Default)]
pub struct Positions;

/// Working memory for sums over paths of labels.
#[derive(Debug)]
pub struct PositionSums {
    scaled: Option<Arc<OnceLock<Edges<f32>>>>, // the edges of all lattices, divided by the temperature
    scratch: MarginalScratch,
}

/// For another thread.
impl Clone for PositionSums {
    fn clone(&self) -> Self {
        PositionSums { scaled: self.scaled.clone(), scratch: MarginalScratch::new() }
    }
}

impl Structure for Positions {
    const LATTICES: Lattices = Lattices::Positions;

    type Part = LabelId;
    type Path<S: Float> = Path<S>;
    type Lattice<'a, S: Float> = Lattice<'a, S>;
    type Scratch<S: Float> = Scratch<S>;
    type Sums = PositionSums;
    type Known = LabelId;

    fn decode_into<S: Float>(
        decoder: &Decoder,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        decoder.decode_into(lattice, k, scratch, out)
    }

    fn search(
        decoder: &Decoder,
        lattice: &Lattice<'_, f32>,
        right: &[LabelId],
        scratch: &mut Scratch<f32>,
        decoded: &mut Decoded<f32>,
        answer: &mut Vec<LabelId>,
    ) -> Result<()> {
        match decoder {
            Decoder::Beam(beam) => beam.until_lost(lattice, right, scratch, answer),
            decoder => {
                decoder.decode_into(lattice, 1, scratch, decoded)?;
                answer.clone_from(&decoded.best().labels);
                Ok(())
            }
        }
    }

    fn path<S: Float>(labels: Vec<LabelId>, score: S) -> Path<S> {
        Path { labels, score }
    }

    fn score_of<S: Float>(path: &Path<S>) -> S {
        path.score
    }

    fn score<S: Float>(lattice: &Lattice<'_, S>, answer: &[LabelId]) -> Result<S> {
        lattice.prefix_score(answer)
    }

    fn positions(answer: &[LabelId]) -> usize {
        answer.len()
    }

    fn covering(answer: &[LabelId]) -> Vec<usize> {
        (0..answer.len()).collect()
    }

    fn label(part: LabelId) -> LabelId {
        part
    }

    fn wrong(answer: &[LabelId], right: &[LabelId]) -> usize {
        answer.iter().zip(right).filter(|(answer, right)| answer != right).count()
    }

    fn with_chain<'a, S: Float>(
        lattice: Lattice<'a, S>,
        change: impl FnOnce(Lattice<'a, S>) -> Result<Lattice<'a, S>>,
    ) -> Result<Lattice<'a, S>> {
        change(lattice)
    }

    fn force<'a, S: Float + 'a>(lattice: Lattice<'a, S>, t: usize, known: LabelId) -> Result<Lattice<'a, S>> {
        lattice.force(t, known)
    }

    fn sums(shares_edges: bool) -> PositionSums {
        PositionSums { scaled: shares_edges.then(Arc::default), scratch: MarginalScratch::new() }
    }

    fn probabilities(
        lattice: &Lattice<'_, f32>,
        calibration: Option<&Calibration>,
        sums: &mut PositionSums,
        paths: &[Path<f32>],
        wanted: Probabilities<'_>,
    ) -> Result<()> {
        let PositionSums { scaled, scratch } = sums;
        let factor = calibration.map_or(1.0, |calibration| calibration.temperature().recip());
        if factor == 1.0 {
            return fill(&marginals(lattice, scratch)?, calibration, paths, wanted);
        }
        let lattice = match scaled {
            Some(scaled) => {
                if scaled.get().is_none() {
                    let _ = scaled.set(lattice.edges().scaled(factor)?); // or another thread was faster
                }
                lattice.scaled(factor, scaled.get().expect("set above if it was not"))?
            }
            None => lattice.scaled(factor, Arc::new(lattice.edges().scaled(factor)?))?,
        };
        fill(&marginals(&lattice, scratch)?, calibration, paths, wanted)
    }
}

fn fill(
    sums: &Marginals<'_, f32>,
    calibration: Option<&Calibration>,
    paths: &[Path<f32>],
    wanted: Probabilities<'_>,
) -> Result<()> {
    let Probabilities { paths: of_paths, mut distributions } = wanted;
    let curve = calibration.filter(|calibration| !calibration.curve().is_empty());
    let confidences: &mut [Vec<f64>] = match of_paths {
        Some((confidences, probabilities)) => {
            for path in paths {
                confidences.push(vec![0.0; path.labels.len()]);
                probabilities.push(sums.path_log_probability(&path.labels)?.exp());
            }
            &mut confidences[..]
        }
        None => &mut [],
    };
    let mut row = Vec::new();
    for t in 0..sums.positions() {
        row.clear();
        row.extend_from_slice(sums.node(t));
        if let Some(calibration) = curve {
            calibration.apply(&mut row);
        }
        // Without confidences there is no list to fill.
        for (path, confidences) in paths.iter().zip(&mut *confidences) {
            confidences[t] = row[path.labels[t] as usize];
        }
        if let Some(distributions) = &mut distributions {
            distributions.extend_from_slice(&row);
        }
    }
    Ok(())
}
