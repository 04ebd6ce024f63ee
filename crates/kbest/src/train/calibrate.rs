//! Learning how scores become probabilities that mean what they say.
//!
//! **What.** [`calibrate`] labels data that the model was not trained on and fits a [`Calibration`]:
//! the temperature under which the chosen labels (or segments) are right as often as they are probable, by likelihood; then,
//! if it does better on held-out folds of the data (by Brier score), a rising curve from probabilities to shares of right
//! answers. **Why.** A perceptron's scores are not logarithms of probabilities: most of its probabilities are near 1. A CRF
//! trained until it fits is too sure of itself, too.
//!
//! ```text
//! temperature: minimise  - sum over answers of  target ln p + (1 - target) ln (1 - p),   p = P(answer | temperature)
//! target of a right answer = (R + 1) / (R + 2), of a wrong one = 1 / (W + 2), for R right and W wrong answers
//! ```
//!
//! **Cost.** About fifteen times that of confidences for 20,000 positions, and twice that for all of the data. **When not.** On
//! the training data, where the model is right more often than elsewhere; or on data for which it will be measured.
//! **Papers.** Guo, Pleiss, Sun & Weinberger (2017) for the temperature, Platt (1999), section 2.2, for the targets, Zadrozny &
//! Elkan (2002) and Ayer et al. (1955, pool adjacent violators) for the curve.

use crate::evaluate::Reliability;
use crate::scoring::TextModel;
use crate::sequence::Sequence;
use crate::tagger::Tagger;
use kbest_core::marginal::Calibration;
use kbest_core::pipeline::map;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// This many positions are enough for a temperature.
const ENOUGH: usize = 20_000;

/// The lowest and highest temperature, as powers of two.
const OCTAVES: (f64, f64) = (-6.0, 14.0);

/// Steps of the golden section, which leave 4 % of the temperature open.
const STEPS: usize = 8;

/// Fewer answers than this are not enough for a curve.
const FEWEST_FOR_A_CURVE: usize = 1000;

/// Answers per point of a curve, and the most points.
const PER_POINT: usize = 50;
const MOST_POINTS: usize = 100;

/// Parts of the data, each held out once.
const FOLDS: usize = 5;

/// A calibration, and how well it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// The calibration.
    pub calibration: Calibration,
    /// How reliable probabilities were without it.
    pub before: Reliability,
    /// How reliable they are with it; a curve is measured on folds of the data that it was not fitted to.
    pub after: Reliability,
}

/// How sure an answer is, and whether it is right.
#[derive(Debug, Clone, Copy)]
struct Sample {
    sure: f64,
    right: bool,
}

/// Called after each temperature that is tried.
pub type OnTemperature<'a> = &'a mut dyn FnMut(f64);

/// Fits a calibration, on this many threads. What is right or wrong are the labels of positions, or segments: these are right if
/// a segment with the same label begins and ends where they do. A label that the model does not know counts as one that it gets
/// wrong.
///
/// # Errors
/// [`Error::Argument`] if there is not one position; errors of tagging.
pub fn calibrate<M: TextModel>(
    model: &Arc<M>,
    sequences: &[Sequence],
    threads: usize,
    on_temperature: OnTemperature<'_>,
) -> Result<Calibrated> {
    fit(sequences, threads, on_temperature, |temperature| {
        let calibration = Calibration::new(temperature, Vec::new())?;
        let tagger = Tagger::new(model.clone()).with_calibration(Some(calibration)).with_confidences(true);
        Ok(move || {
            let mut tagger = tagger.another();
            move |sequence: &Sequence| {
                let tagged = tagger.tag(sequence, 1)?;
                let right = model.right(tagged.decoded.best().as_ref(), sequence);
                let answers = tagged.confidences[0].iter().zip(right);
                Ok(answers.map(|(&sure, right)| Sample { sure, right }).collect())
            }
        })
    })
}

/// `at` makes, for a temperature, what makes for each thread a function from a sequence to its answers.
fn fit<W, C>(
    sequences: &[Sequence],
    threads: usize,
    on_temperature: OnTemperature<'_>,
    at: impl Fn(f64) -> Result<W>,
) -> Result<Calibrated>
where
    W: Fn() -> C + Sync,
    C: FnMut(&Sequence) -> Result<Vec<Sample>>,
{
    let mut answers = |temperature: f64, sequences: &[&Sequence]| {
        let at = at(temperature)?;
        let worker = || {
            let mut answer = at();
            move |i: usize| answer(sequences[i])
        };
        let answers = map(sequences.len(), threads, worker).into_iter().collect::<Result<Vec<_>>>()?;
        on_temperature(temperature);
        Ok::<_, Error>(answers)
    };
    let all: Vec<&Sequence> = sequences.iter().collect();
    let positions: usize = all.iter().map(|sequence| sequence.len()).sum();
    if positions == 0 {
        return Err(Error::argument("data to calibrate on", "at least one position", 0));
    }
    let some: Vec<&Sequence> = all.iter().copied().step_by(positions.div_ceil(ENOUGH)).collect();
    let temperature = best_temperature(|temperature| {
        Ok(loss(&answers(temperature, &some)?.into_iter().flatten().collect::<Vec<_>>()))
    })?;
    let before = reliability(answers(1.0, &all)?.iter().flatten(), |p| p);
    let found = answers(temperature, &all)?;
    let plain = reliability(found.iter().flatten(), |p| p);
    let of_fold = |fold: usize, inside: bool| {
        let numbered = found.iter().enumerate().filter(move |(i, _)| (i % FOLDS == fold) == inside);
        numbered.flat_map(|(_, answers)| answers).copied()
    };
    let mut curved = Reliability::default();
    for fold in 0..FOLDS {
        let calibration = Calibration::new(temperature, curve(of_fold(fold, false).collect()))?;
        curved.merge(&reliability(&of_fold(fold, true).collect::<Vec<_>>(), |p| calibration.at(p)));
    }
    let enough = plain.all().answers as usize >= FEWEST_FOR_A_CURVE;
    Ok(if enough && curved.brier() < plain.brier() {
        let points = curve(found.into_iter().flatten().collect());
        Calibrated { calibration: Calibration::new(temperature, points)?, before, after: curved }
    } else {
        Calibrated { calibration: Calibration::new(temperature, Vec::new())?, before, after: plain }
    })
}

fn reliability<'a>(
    samples: impl IntoIterator<Item = &'a Sample>,
    probability: impl Fn(f64) -> f64,
) -> Reliability {
    let mut reliability = Reliability::default();
    samples.into_iter().for_each(|sample| reliability.add(probability(sample.sure), sample.right));
    reliability
}

/// Minus the mean log likelihood. The targets keep a perfect score on little data from looking like certainty.
fn loss(samples: &[Sample]) -> f64 {
    let right = samples.iter().filter(|sample| sample.right).count() as f64;
    let wrong = samples.len() as f64 - right;
    let targets = [1.0 / (wrong + 2.0), (right + 1.0) / (right + 2.0)];
    let loss = |sample: &Sample| {
        let p = sample.sure.clamp(1e-12, 1.0 - 1e-12);
        let target = targets[usize::from(sample.right)];
        -(target * p.ln() + (1.0 - target) * (-p).ln_1p())
    };
    samples.iter().map(loss).sum::<f64>() / samples.len().max(1) as f64
}

/// The temperature with the smallest loss: octave by octave from 1 until it rises, then a golden section.
fn best_temperature(mut loss: impl FnMut(f64) -> Result<f64>) -> Result<f64> {
    let mut at = |octave: f64| loss(octave.exp2());
    let (mut best, mut smallest) = (0.0, at(0.0)?);
    for direction in [1.0, -1.0] {
        let begun = best;
        loop {
            let next = best + direction;
            let value = if (OCTAVES.0..=OCTAVES.1).contains(&next) { at(next)? } else { f64::INFINITY };
            if value >= smallest {
                break;
            }
            (best, smallest) = (next, value);
        }
        if best != begun {
            break; // it fell in this direction: it rises in the other
        }
    }
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = ((best - 1.0).max(OCTAVES.0), (best + 1.0).min(OCTAVES.1));
    let (mut left, mut right) = (high - golden * (high - low), low + golden * (high - low));
    let (mut at_left, mut at_right) = (at(left)?, at(right)?);
    for _ in 0..STEPS {
        if at_left <= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - golden * (high - low);
            at_left = at(left)?;
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + golden * (high - low);
            at_right = at(right)?;
        }
    }
    let (found, value) = if at_left <= at_right { (left, at_left) } else { (right, at_right) };
    Ok(if value < smallest { found.exp2() } else { best.exp2() })
}

/// Isotonic regression: neighbouring groups of answers are pooled until the shares of right ones rise.
fn curve(mut samples: Vec<Sample>) -> Vec<(f64, f64)> {
    struct Block {
        count: f64,
        sure: f64, // sum
        right: f64,
    }
    samples.sort_by(|a, b| a.sure.total_cmp(&b.sure));
    let size = samples.len().div_ceil(MOST_POINTS).max(PER_POINT);
    let mut blocks: Vec<Block> = Vec::new();
    for group in samples.chunks(size) {
        let mut block = Block {
            count: group.len() as f64,
            sure: group.iter().map(|sample| sample.sure).sum(),
            right: group.iter().filter(|sample| sample.right).count() as f64,
        };
        while let Some(last) = blocks.pop_if(|last| last.right * block.count >= block.right * last.count) {
            block.count += last.count;
            block.sure += last.sure;
            block.right += last.right;
        }
        blocks.push(block);
    }
    let right: f64 = blocks.iter().map(|block| block.right).sum();
    let usual = right / samples.len().max(1) as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for Block { count, sure, right } in blocks {
        // One more answer that is right as often as usual: no share is exactly 0 or 1.
        let (x, y) = (sure / count, (right + usual) / (count + 1.0));
        match points.last() {
            Some(&(before, _)) if x <= before => {}
            Some(&(_, lower)) => points.push((x.min(1.0), y.max(lower))),
            None => points.push((x.min(1.0), y)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use kbest_core::random::Random;

    /// Answers that are right as often as a map of their probability says.
    fn answers(count: usize, truth: impl Fn(f64) -> f64) -> Vec<Sample> {
        let random = &mut Random::new(11);
        let mut share = || (random.below(1 << 20) as f64 + 0.5) / f64::from(1 << 20);
        let mut sample = |_| {
            let sure = share();
            Sample { sure, right: share() < truth(sure) }
        };
        (0..count).map(&mut sample).collect()
    }

    #[test]
    fn a_curve_rises_and_finds_the_truth() {
        let truth = |p: f64| 0.2 + 0.5 * p * p;
        let points = curve(answers(100_000, truth));
        assert!(points.len() > 10 && points.len() <= MOST_POINTS);
        let calibration = Calibration::new(1.0, points).unwrap(); // refuses what does not rise
        for p in [0.1, 0.3, 0.5, 0.7, 0.9] {
            assert!((calibration.at(p) - truth(p)).abs() < 0.03, "{p}: {}", calibration.at(p));
        }
        for samples in [vec![], vec![Sample { sure: 1.0, right: true }; 3], answers(60, |_| 0.0)] {
            assert!(Calibration::new(1.0, curve(samples)).is_ok());
        }
    }

    #[test]
    fn the_temperature_of_a_model_that_is_too_sure_is_found() {
        for wanted in [0.3, 1.0, 5.5, 700.0] {
            let logit = |p: f64| (p / (1.0 - p)).ln();
            let calm = answers(20_000, |p| p);
            let loss_at = |temperature: f64| {
                let heated = calm.iter().map(|sample| Sample {
                    sure: 1.0 / (1.0 + (-logit(sample.sure) * wanted / temperature).exp()),
                    ..*sample
                });
                Ok(loss(&heated.collect::<Vec<_>>()))
            };
            let found = best_temperature(loss_at).unwrap();
            assert!((found / wanted).ln().abs() < 0.08, "{found} for {wanted}");
        }
    }

    #[test]
    fn little_data_without_an_error_is_not_certainty() {
        let all_right = |temperature: f64| {
            let sure = 1.0 / (1.0 + (-2.0 / temperature).exp());
            Ok(loss(&[Sample { sure, right: true }; 5]))
        };
        let temperature = best_temperature(all_right).unwrap();
        assert!(temperature > 0.5 && temperature < 2.0, "{temperature}");
    }
}
