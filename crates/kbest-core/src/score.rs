//! The two float types a lattice may hold.
//!
//! A score is a finite number or minus infinity (*forbidden*); NaN and plus infinity are rejected when a lattice is
//! built, so comparisons inside the library are a total order.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

/// `f32` or `f64`, with the constants and operations that decoders need.
pub trait Score:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + AddAssign
    + Sub<Output = Self>
    + Neg<Output = Self>
    + Sum
    + Debug
    + Display
    + Default
    + Send
    + Sync
    + 'static
{
    /// The neutral score.
    const ZERO: Self;
    /// The score of a forbidden node or edge.
    const FORBIDDEN: Self;
    /// The largest finite score.
    const LARGEST: Self;
    /// Largest relative error of one addition (half of the type's machine epsilon).
    const UNIT_ROUNDOFF: f64;
    /// The smallest positive number of full precision.
    const SMALLEST_NORMAL: f64;

    /// The value as `f64`; exact for both types.
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;
    /// The smallest value of this type that is at least `value`.
    fn from_f64_up(value: f64) -> Self;
    /// True for finite numbers and minus infinity.
    fn is_legal(self) -> bool;
    /// True for minus infinity.
    fn is_forbidden(self) -> bool {
        self == Self::FORBIDDEN
    }
    /// The larger of the two; `other` if they are equal.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
}

macro_rules! implement_score {
    ($float:ty) => {
        impl Score for $float {
            const ZERO: Self = 0.0;
            const FORBIDDEN: Self = <$float>::NEG_INFINITY;
            const LARGEST: Self = <$float>::MAX;
            const UNIT_ROUNDOFF: f64 = <$float>::EPSILON as f64 / 2.0;
            const SMALLEST_NORMAL: f64 = <$float>::MIN_POSITIVE as f64;

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $float
            }
            fn from_f64_up(value: f64) -> Self {
                let nearest = value as $float;
                if (nearest as f64) < value { nearest.next_up() } else { nearest }
            }
            #[inline(always)]
            fn is_legal(self) -> bool {
                self < <$float>::INFINITY
            }
        }
    };
}

implement_score!(f32);
implement_score!(f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_scores_are_finite_or_minus_infinity() {
        assert!(1.5f32.is_legal() && f64::MIN.is_legal() && f32::NEG_INFINITY.is_legal());
        assert!(!f32::NAN.is_legal() && !f64::INFINITY.is_legal());
    }

    #[test]
    fn rounding_up_never_goes_below() {
        for value in [0.1f64, -0.1, 1e-40, 3.0, 16_777_217.0, -16_777_217.0] {
            assert!(f64::from(f32::from_f64_up(value)) >= value);
        }
    }
}
