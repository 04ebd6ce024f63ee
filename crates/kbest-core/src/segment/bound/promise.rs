//! What was measured on data not fitted on.

use crate::error::{Error, Result};

/// How often answers fell short of the best ones, on sequences that the bound was not fitted on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// By how much an answer may fall short.
    pub delta: f64,
    /// The share of sequences that fall short by more: not the share measured, but what it is below with 95 % confidence.
    pub epsilon: f64,
    /// How many sequences were measured.
    pub measured: u64,
    /// How many of them fell short by more than `delta`.
    pub failed: u64,
    /// How many fell short at all.
    pub short: u64,
    /// The largest shortfall.
    pub largest: f64,
}

/// The confidence in `epsilon`.
const CONFIDENCE: f64 = 0.95;

impl Default for Promise {
    /// Nothing measured, nothing promised.
    fn default() -> Self {
        Promise::measured(&[], 0.0)
    }
}

impl Promise {
    /// From the shortfalls of sequences not fitted on.
    pub fn measured(shortfalls: &[f64], delta: f64) -> Self {
        let count = |least: f64| shortfalls.iter().filter(|&&short| short > least).count() as u64;
        let (measured, failed) = (shortfalls.len() as u64, count(delta));
        Promise {
            delta,
            epsilon: upper_share(failed, measured),
            measured,
            failed,
            short: count(0.0),
            largest: shortfalls.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Refuses numbers that cannot have been measured.
    pub(super) fn check(&self) -> Result<()> {
        let Promise { delta, epsilon, measured, failed, short, largest } = *self;
        let numbers = [delta, epsilon, largest].iter().all(|number| number.is_finite() && *number >= 0.0);
        let counts = failed <= short && short <= measured;
        let least = (failed as f64 / measured.max(1) as f64).max(upper_share(0, measured));
        // Files may round.
        if numbers && counts && epsilon <= 1.0 && epsilon >= least - 1e-6 {
            return Ok(());
        }
        Err(Error::shape(
            "learned bound, promise",
            "shares and counts that fit together",
            format!("{self:?}"),
        ))
    }
}

/// The largest share for which at most `failed` of `measured` failures are not improbable (Clopper and Pearson 1934, upper
/// limit, one-sided).
fn upper_share(failed: u64, measured: u64) -> f64 {
    if failed >= measured {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let share: f64 = (low + high) / 2.0;
        if at_most(failed, measured, share) > 1.0 - CONFIDENCE { low = share } else { high = share }
    }
    high
}

/// The probability of at most `failed` failures in `measured` trials, each with this probability below 1.
fn at_most(failed: u64, measured: u64, share: f64) -> f64 {
    let n = measured as f64;
    let mut log = n * (1.0 - share).ln(); // of exactly 0 failures
    let mut total = log.exp();
    for i in 0..failed {
        let i = i as f64;
        log += ((n - i) / (i + 1.0)).ln() + share.ln() - (1.0 - share).ln();
        total += log.exp();
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Textbook values: 3 / n for no failures, and tables of Clopper and Pearson.
    #[test]
    fn shares_have_upper_limits() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-4;
        assert!(near(upper_share(0, 100), 1.0 - 0.05f64.powf(0.01)));
        assert!(near(upper_share(1, 10), 0.394_163), "{}", upper_share(1, 10));
        assert!(near(upper_share(5, 100), 0.102_253), "{}", upper_share(5, 100));
        assert_eq!(upper_share(7, 7), 1.0);
        assert_eq!(upper_share(0, 0), 1.0);
        assert!(upper_share(0, 1_000_000) < 4e-6);
    }

    #[test]
    fn shortfalls_are_counted() {
        let promise = Promise::measured(&[0.0, 0.5, 2.0, 0.0], 0.5);
        assert_eq!((promise.measured, promise.failed, promise.short, promise.largest), (4, 1, 2, 2.0));
        assert!(promise.epsilon > 0.25 && promise.check().is_ok());
        assert!(Promise { failed: 9, ..promise }.check().is_err());
        assert!(Promise { epsilon: f64::NAN, ..promise }.check().is_err());
        assert!(Promise { epsilon: 0.25, ..promise }.check().is_err(), "more than was measured");
        assert_eq!(Promise::default().epsilon, 1.0);
    }
}
