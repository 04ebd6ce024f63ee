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

    /// Adds a product, with its rounding error (Dekker's two-product; the numbers are far from the limits of `f64`).
    #[inline(always)]
    pub(super) fn add_product(&mut self, x: f64, y: f64) {
        let ((x_high, x_low), (y_high, y_low)) = (halves(x), halves(y));
        let product = x * y;
        self.error += ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
        self.add(product);
    }

    /// Adds another sum, multiplied by a number.
    pub(super) fn add_scaled(&mut self, other: Sum, by: f64) {
        self.add_product(other.value, by);
        self.error += other.error * by;
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

/// A number as the sum of two with half as many digits, whose products are exact (Veltkamp's split).
#[inline(always)]
fn halves(x: f64) -> (f64, f64) {
    let shifted = x * ((1u64 << 27) + 1) as f64;
    let high = shifted - (shifted - x);
    (high, x - high)
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
        let (mut all, mut part) = (Sum::default(), Sum::default());
        let mut tenth = Sum::default();
        tenth.add(0.1);
        tenth.add(1e-20);
        all.add_scaled(tenth, 0.3);
        part.add_product(0.1, 0.3);
        assert!((all.without(part) / (1e-20 * 0.3) - 1.0).abs() < 1e-9);
        let mut sum = Sum::default();
        (0..100_000).for_each(|_| sum.add(0.1));
        assert_eq!(sum.total(), 100_000.0 * 0.1);
    }
}
