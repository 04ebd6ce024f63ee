//! Probabilities that mean what they say: of the labels that a calibrated model gives a probability of 0.9, nine in ten
//! are right.
//!
//! **What.** A [`Calibration`] has two parts, both learned from data that the model was not trained on (see
//! `train::calibrate`):
//!
//! ```text
//! temperature   P(path) = exp(score(path) / temperature) / Z
//! curve         a rising map from the probability of the best label of a position to the share of those that are right
//! ```
//!
//! The temperature acts on scores, so probabilities of labels, pairs, paths and segments all follow from one
//! distribution, and constraints and known labels act on it as on any other. The curve, if there is one, acts on the
//! probabilities of labels: the likeliest label `y` of a position with probability `p` gets `curve(p)`, and the others share
//! the rest as before. Neither changes which path is best.
//!
//! ```text
//! q(y) = curve(p(y)),     q(z) = p(z) (1 - q(y)) / (1 - p(y))   for all other labels z
//! ```
//!
//! Two limits: `q(y)` is never below that of another label, so that the order of labels stays the same; and a label without
//! alternative (because it is known, or constraints leave no other) has probability 1.
//!
//! **Cost.** Nothing unless probabilities are asked for; then a copy of the node scores and a look-up per position.
//! **When not.** Where only the best labels matter. **Papers.** Guo, Pleiss, Sun & Weinberger (2017), section 4.2; Zadrozny &
//! Elkan (2002) for the curve.
//!
//! ```
//! use kbest_core::marginal::Calibration;
//! let calibration = Calibration::new(2.5, vec![(0.2, 0.1), (0.9, 0.8)])?;
//! let mut row = [0.55, 0.25, 0.2];
//! calibration.apply(&mut row);
//! assert!((row[0] - 0.45).abs() < 1e-12 && (row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
//! # Ok::<(), kbest_core::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::simd::argmax;

/// How a model's scores become probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    temperature: f64,
    curve: Vec<(f64, f64)>, // rising in both; none: probabilities stay as they are
}

impl Calibration {
    /// A temperature, and the points of a curve, which may be none.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the temperature lies between 1e-6 and 1e6, and the points are probabilities that rise:
    /// the first of each strictly, the second not necessarily.
    pub fn new(temperature: f64, curve: Vec<(f64, f64)>) -> Result<Self> {
        if !(1e-6..=1e6).contains(&temperature) {
            return Err(Error::argument("temperature", "a number from 1e-6 to 1e6", temperature));
        }
        let is_share = |p: f64| (0.0..=1.0).contains(&p);
        if let Some((x, y)) = curve.iter().find(|(x, y)| !is_share(*x) || !is_share(*y)) {
            return Err(Error::argument("points of a curve", "probabilities", format!("({x}, {y})")));
        }
        if let Some(pair) = curve.windows(2).find(|pair| pair[0].0 >= pair[1].0 || pair[0].1 > pair[1].1) {
            let got = format!("{:?}, then {:?}", pair[0], pair[1]);
            return Err(Error::argument("points of a curve", "rising probabilities", got));
        }
        Ok(Calibration { temperature, curve })
    }

    /// What scores are divided by.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }

    /// The points of the curve; none if it leaves probabilities as they are.
    pub fn curve(&self) -> &[(f64, f64)] {
        &self.curve
    }

    /// The temperature, then the points one after another: what a file holds.
    pub fn to_flat(&self) -> Vec<f64> {
        let points = self.curve.iter().flat_map(|&(x, y)| [x, y]);
        std::iter::once(self.temperature).chain(points).collect()
    }

    /// The reverse of [`Calibration::to_flat`].
    ///
    /// # Errors
    /// As [`Calibration::new`]; [`Error::Shape`] for an even number of numbers.
    pub fn from_flat(numbers: &[f64]) -> Result<Self> {
        match numbers {
            [temperature, points @ ..] if points.len().is_multiple_of(2) => {
                Self::new(*temperature, points.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
            }
            _ => Err(Error::shape("calibration", "a temperature and pairs of numbers", numbers.len())),
        }
    }

    /// The curve at `p`: straight lines from (0, 0) through its points, and no further rise after the last.
    pub fn at(&self, p: f64) -> f64 {
        let after = self.curve.partition_point(|&(x, _)| x < p);
        let (x0, y0) = if after == 0 { (0.0, 0.0) } else { self.curve[after - 1] };
        match self.curve.get(after) {
            _ if self.curve.is_empty() => p,
            None => y0,
            Some(&(x1, y1)) if x1 > x0 => y0 + (y1 - y0) * (p - x0) / (x1 - x0),
            Some(&(_, y1)) => y1, // at 0
        }
    }

    /// Applies the curve to the probabilities of all labels at one position, which sum to 1 before and after.
    pub fn apply(&self, row: &mut [f64]) {
        let Some((best, p)) = argmax(row).filter(|_| !self.curve.is_empty()) else { return };
        let (mut rest, mut second) = (0.0, 0.0f64);
        for (_, &other) in row.iter().enumerate().filter(|(y, _)| *y != best) {
            rest += other;
            second = second.max(other);
        }
        if rest == 0.0 {
            return; // no alternative: certain
        }
        let q = self.at(p).max(second / (rest + second));
        row.iter_mut().for_each(|other| *other = *other / rest * (1.0 - q));
        row[best] = q;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn distributions_stay_distributions_in_the_same_order() {
        let random = &mut Random::new(3);
        for _ in 0..500 {
            let mut share = |steps: usize| random.below(steps) as f64 / (steps - 1) as f64;
            let mut ys: Vec<f64> = (0..4).map(|_| share(11)).collect();
            ys.sort_by(f64::total_cmp);
            let curve = [0.1, 0.3, 0.6, 0.9].into_iter().zip(ys).collect();
            let calibration = Calibration::new(1.0, curve).unwrap();
            let mut row: Vec<f64> = (0..5).map(|_| share(7)).collect();
            row[share(5) as usize] += 0.25;
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
            let before = row.clone();
            calibration.apply(&mut row);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{before:?} {row:?}");
            for (y, z) in (0..25).map(|i| (i / 5, i % 5)) {
                assert!(before[y] <= before[z] || row[y] >= row[z] - 1e-12, "{before:?} {row:?}");
            }
        }
    }

    #[test]
    fn what_has_no_alternative_is_certain() {
        let calibration = Calibration::new(1.0, vec![(0.5, 0.2), (1.0, 0.7)]).unwrap();
        let mut row = [0.0, 1.0, 0.0];
        calibration.apply(&mut row);
        assert_eq!(row, [0.0, 1.0, 0.0]);
        let mut row = [1e-300, 1.0, 0.0];
        calibration.apply(&mut row);
        assert!((row[1] - 0.7).abs() < 1e-12 && (row[0] - 0.3).abs() < 1e-12);
        for (p, expected) in [(0.0, 0.0), (0.25, 0.1), (0.5, 0.2), (0.75, 0.45), (1.0, 0.7)] {
            assert!((calibration.at(p) - expected).abs() < 1e-12, "{p}");
        }
    }

    #[test]
    fn senseless_numbers_are_refused() {
        for (temperature, curve) in [
            (0.0, vec![]),
            (f64::NAN, vec![]),
            (f64::INFINITY, vec![]),
            (1.0, vec![(0.5, 1.5)]),
            (1.0, vec![(f64::NAN, 0.5)]),
            (1.0, vec![(0.5, 0.5), (0.5, 0.6)]),
            (1.0, vec![(0.5, 0.5), (0.6, 0.4)]),
        ] {
            assert!(Calibration::new(temperature, curve.clone()).is_err(), "{temperature} {curve:?}");
        }
        let calibration = Calibration::new(3.0, vec![(0.25, 0.0), (0.5, 0.0)]).unwrap();
        assert_eq!(Calibration::from_flat(&calibration.to_flat()), Ok(calibration));
        assert!(Calibration::from_flat(&[]).is_err() && Calibration::from_flat(&[1.0, 0.5]).is_err());
    }
}
