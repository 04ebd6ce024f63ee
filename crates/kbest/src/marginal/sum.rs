//! Sums that keep track of their rounding errors.

/// A sum and the running total of its rounding errors: about twice the precision of `f64` (Higham, *Accuracy and
/// Stability of Numerical Algorithms*, section 4.3).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    value: f64,
    error: f64,
}

impl Sum {
    /// Adds one number; the rounding error of the addition is computed exactly and kept (Knuth's two-sum).
    #[inline(always)]
    pub(super) fn add(&mut self, term: f64) {
        let total = self.value + term;
        let added = total - self.value;
        self.error += (self.value - (total - added)) + (term - added);
        self.value = total;
    }

    /// The sum as one number.
    pub(super) fn total(self) -> f64 {
        self.value + self.error
    }

    /// The sum minus `part`, accurate to about `2^-100` of the sum.
    #[inline(always)]
    pub(super) fn without(self, part: Sum) -> f64 {
        (self.value - part.value) + (self.error - part.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        let (mut all, mut part) = (Sum::default(), Sum::default());
        for term in [1.0, 1e-20, 1e-25] {
            all.add(term);
        }
        part.add(1.0);
        assert_eq!(all.without(part), 1e-20 + 1e-25);
        let mut sum = Sum::default();
        (0..100_000).for_each(|_| sum.add(0.1));
        assert_eq!(sum.total(), 100_000.0 * 0.1);
    }
}
