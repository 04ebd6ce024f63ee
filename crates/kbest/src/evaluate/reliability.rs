//! Whether probabilities mean what they say: of all answers given with probability 0.9, are nine in ten right?
//!
//! **What.** A [`Reliability`] sorts answers by their probability into bins of equal width and compares, in each, the mean
//! probability with the share of right answers. Their mean absolute difference, weighted by the number of answers, is the
//! *expected calibration error*. **Cost.** A few additions per answer. **When not.** To compare models by their answers: a
//! calibrated model need not be a good one. **Paper.** Guo, Pleiss, Sun & Weinberger (2017), section 2, with 15 bins.
//!
//! ```
//! use kbest::evaluate::Reliability;
//! let mut reliability = Reliability::default();
//! [true, true, true, false].into_iter().for_each(|right| reliability.add(0.95, right));
//! assert!((reliability.expected_error() - 0.2).abs() < 1e-12);
//! ```

/// Number of bins.
const BINS: usize = 15;

/// Answers by their probability.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reliability {
    bins: [Bin; BINS],
    squares: f64, // sum of squared differences between probability and outcome
}

/// The answers whose probability lies in one range.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bin {
    /// Their number.
    pub answers: u64,
    /// The number of right ones.
    pub right: u64,
    /// The sum of their probabilities.
    pub sum: f64,
}

impl Bin {
    /// The mean probability; 0 if there are no answers.
    pub fn confidence(&self) -> f64 {
        if self.answers == 0 { 0.0 } else { self.sum / self.answers as f64 }
    }

    /// The share of right answers; 0 if there are none.
    pub fn accuracy(&self) -> f64 {
        if self.answers == 0 { 0.0 } else { self.right as f64 / self.answers as f64 }
    }

    fn merge(&mut self, other: &Bin) {
        self.answers += other.answers;
        self.right += other.right;
        self.sum += other.sum;
    }
}

impl Reliability {
    /// Counts an answer. A probability that is not from 0 to 1 counts as the nearest that is.
    pub fn add(&mut self, probability: f64, right: bool) {
        let p = if probability.is_nan() { 0.0 } else { probability.clamp(0.0, 1.0) };
        let bin = &mut self.bins[((p * BINS as f64) as usize).min(BINS - 1)];
        bin.merge(&Bin { answers: 1, right: u64::from(right), sum: p });
        self.squares += (p - f64::from(u8::from(right))).powi(2);
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Reliability) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, other)| bin.merge(other));
        self.squares += other.squares;
    }

    /// The bins from the lowest probability to the highest, each with its lower and upper end.
    pub fn bins(&self) -> impl Iterator<Item = (f64, f64, Bin)> {
        let end = |i: usize| i as f64 / BINS as f64;
        self.bins.iter().enumerate().map(move |(i, &bin)| (end(i), end(i + 1), bin))
    }

    /// All answers in one bin.
    pub fn all(&self) -> Bin {
        let mut all = Bin::default();
        self.bins.iter().for_each(|bin| all.merge(bin));
        all
    }

    /// The expected calibration error: 0 is perfect; 0 if there are no answers.
    pub fn expected_error(&self) -> f64 {
        let weighted = |bin: &Bin| bin.answers as f64 * (bin.confidence() - bin.accuracy()).abs();
        self.bins.iter().map(weighted).sum::<f64>() / self.all().answers.max(1) as f64
    }

    /// The Brier score: the mean squared difference between probability and outcome. It rewards being sure and right, too.
    pub fn brier(&self) -> f64 {
        self.squares / self.all().answers.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_add_up() {
        let answers = [(0.0, false), (0.05, true), (0.5, true), (0.5, false), (1.0, true), (f64::NAN, false)];
        let mut whole = Reliability::default();
        let mut parts = [Reliability::default(), Reliability::default()];
        for (i, (p, right)) in answers.into_iter().enumerate() {
            whole.add(p, right);
            parts[i % 2].add(p, right);
        }
        let [mut first, second] = parts;
        first.merge(&second);
        assert_eq!((first.all().answers, first.all().right), (6, 3));
        assert!((first.expected_error() - whole.expected_error()).abs() < 1e-12);
        // The lowest bin: 3 answers, mean 0.05 / 3, a third right; the others are right as often as they say.
        assert!((whole.expected_error() - (1.0 - 0.05) / 6.0).abs() < 1e-12);
        assert!((whole.brier() - (0.95f64.powi(2) + 2.0 * 0.25) / 6.0).abs() < 1e-12);
        assert_eq!(Reliability::default().expected_error(), 0.0);
    }
}
