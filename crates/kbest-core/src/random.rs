//! Random numbers that are the same on every platform: our own seeded generator, and only operations that IEEE 754
//! rounds exactly (no logarithm, no sine: math libraries differ in the last bit).
//!
//! For synthetic data and shuffling. **When not.** Not for cryptography.
//!
//! ```
//! use kbest_core::random::Random;
//! let (mut one, mut same) = (Random::new(7), Random::new(7));
//! assert_eq!(one.shuffled(10), same.shuffled(10));
//! assert!(one.below(3) < 3);
//! ```

/// SplitMix64 (Steele, Lea, Flood 2014): tiny, seeded, good enough for synthetic data.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator for this seed; neighbouring seeds produce unrelated numbers.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed ^ 0x6B62_6573_745F_3031);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in `[-1, 1)`.
    pub fn signed(&mut self) -> f64 {
        self.unit() * 2.0 - 1.0
    }

    /// Uniform below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// Below `n`, low numbers more often: uniform below a number that is itself uniform. 0 if `n` is 0.
    pub fn low(&mut self, n: usize) -> usize {
        let bound = self.below(n) + 1;
        self.below(bound)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Nearly normal with mean 0 and variance 1: four 16-bit uniforms of one number, summed.
    pub fn normal(&mut self) -> f64 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|i| bits >> (16 * i) & 0xffff).sum();
        // The sum of four uniforms has mean 2 and variance 1/3.
        (sum as f64 / 65536.0 - 2.0) * 1.732_050_807_568_877_2
    }

    /// All numbers below `n` in random order.
    pub fn shuffled(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
}

/// Ranks with probability proportional to `(rank + 2)^(-5/4)`: about Zipf's law.
#[derive(Debug)]
pub struct Zipf(Vec<f64>); // cumulative weights

impl Zipf {
    /// Over `n` ranks; over one if `n` is 0.
    pub fn new(n: usize) -> Self {
        let n = n.max(1);
        let mut sum = 0.0;
        let cumulative = (0..n).map(|rank| {
            let place = rank as f64 + 2.0;
            sum += 1.0 / (place * place.sqrt().sqrt());
            sum
        });
        Zipf(cumulative.collect())
    }

    /// Draws a rank.
    pub fn draw(&self, random: &mut Random) -> usize {
        let total = self.0[self.0.len() - 1];
        let at = random.unit() * total;
        self.0.partition_point(|&sum| sum <= at).min(self.0.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_never_change() {
        let mut random = Random::new(7);
        let first: Vec<_> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, PINNED, "files generated from a seed would change");
    }
    const PINNED: [u64; 3] =
        [15_921_289_772_486_677_011, 13_193_274_288_791_450_922, 2_300_606_588_188_068_102];

    #[test]
    fn normal_has_mean_0_and_variance_1() {
        let mut random = Random::new(1);
        let draws: Vec<f64> = (0..20_000).map(|_| random.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 20_000.0;
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }

    #[test]
    fn low_ranks_are_drawn_more_often() {
        let (zipf, mut random) = (Zipf::new(100), Random::new(3));
        let mut counts = [0; 100];
        for _ in 0..10_000 {
            counts[zipf.draw(&mut random)] += 1;
        }
        assert!(counts[0] > counts[9] && counts[9] > counts[99]);
    }
}
