//! Random numbers that depend on a seed and nothing else.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        // The high half of the product is uniform enough for any data that fits into memory.
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A number from 0 to 1, 1 left out.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The numbers below `len` in an order that depends on seed and epoch alone, so that a resumed run goes on as if it had
/// never stopped.
pub(super) fn shuffled(len: usize, seed: u64, epoch: usize) -> Vec<usize> {
    let mut random = Random::new(seed ^ (epoch as u64).wrapping_mul(0xA24B_AED4_963E_E407));
    let mut order: Vec<usize> = (0..len).collect();
    for i in (1..len).rev() {
        order.swap(i, random.below(i + 1));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once_and_an_order_of_its_own() {
        let orders: Vec<_> = (0..3).map(|epoch| shuffled(100, 7, epoch)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..100));
        }
        assert!(orders[0] != orders[1] && orders[1] != orders[2]);
        assert_eq!(orders[1], shuffled(100, 7, 1));
        assert!(shuffled(0, 1, 0).is_empty());
    }
}
