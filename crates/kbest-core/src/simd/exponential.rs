//! Exponentials and logarithms of whole rows, in `f64`.
//!
//! **Why.** Forward-backward needs a handful of them per label and position; computed one by one by the C library, they
//! cost more than the matrix product beside them. **How.** Both functions are straight-line arithmetic without branches
//! or tables, so the compiler vectorises the loops below for any width; no operation is fused, so every level produces
//! the same bits. Relative error: a few units in the last place (see the tests).

use super::{Loop, run};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};
use std::hint::black_box;

/// `ln 2` in two parts: the upper one ends in 32 zero bits, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() & (!0 << 32));
/// The rest; the last number is the rounding error of `LN_2` itself.
const LN_2_LOW: f64 = (LN_2 - LN_2_HIGH) + 2.319_046_813_846_299_6e-17;
/// Adding it leaves a rounded whole number in the lowest bits of the sum.
const ROUNDER: f64 = 1.5 * (1u64 << 52) as f64;
/// Its lowest mantissa bit has the value 1.
const SPLICED: f64 = (1u64 << 52) as f64;
const ONE_BITS: u64 = 1.0f64.to_bits();
const ROOT_BITS: u64 = FRAC_1_SQRT_2.to_bits();
const MANTISSA: u64 = (1 << 52) - 1;
/// Below this, the result is no longer a normal number and counts as 0.
const LOWEST: f64 = -708.0;
/// Above this, the result would be too large.
const HIGHEST: f64 = 709.0;

/// `1 / n!`, from `n = 13` down to 0: with `|r| <= ln 2 / 2` the next term is below `5e-18`.
const EXP_TERMS: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// `2 / (2n + 1)`, from `n = 11` down to 1: with `f^2 <= 0.0295` the next term is below `2e-19`.
const LN_TERMS: [f64; 11] = [
    2.0 / 23.0,
    2.0 / 21.0,
    2.0 / 19.0,
    2.0 / 17.0,
    2.0 / 15.0,
    2.0 / 13.0,
    2.0 / 11.0,
    2.0 / 9.0,
    2.0 / 7.0,
    2.0 / 5.0,
    2.0 / 3.0,
];

/// `x = n ln 2 + r` with whole `n` and small `r`: `exp x = 2^n exp r`.
#[inline(always)]
fn exp(x: f64) -> f64 {
    let inside = if x > LOWEST { x } else { LOWEST };
    let inside = if inside < HIGHEST { inside } else { HIGHEST };
    let rounded = inside * LOG2_E + ROUNDER;
    let n = rounded - ROUNDER;
    let r = (inside - n * LN_2_HIGH) - n * LN_2_LOW;
    let mut sum = EXP_TERMS[0];
    for &term in &EXP_TERMS[1..] {
        sum = sum * r + term;
    }
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(ONE_BITS));
    if x < LOWEST { 0.0 } else { sum * power }
}

/// `x = 2^e m` with `m` around 1, and `ln m = 2 atanh f` with `f = (m - 1) / (m + 1)`.
#[inline(always)]
fn ln(x: f64) -> f64 {
    let bits = x.to_bits().wrapping_add(ONE_BITS - ROOT_BITS);
    // The exponent as a float: its bits become the last ones of 2^52.
    let e = f64::from_bits((bits >> 52) | SPLICED.to_bits()) - (SPLICED + 1023.0);
    let m = f64::from_bits((bits & MANTISSA) + ROOT_BITS);
    let f = (m - 1.0) / (m + 1.0);
    let square = f * f;
    let mut sum = LN_TERMS[0];
    for &term in &LN_TERMS[1..] {
        sum = sum * square + term;
    }
    let value = e * LN_2_HIGH + (2.0 * f + (f * square * sum + e * LN_2_LOW));
    if x < f64::MIN_POSITIVE { f64::NEG_INFINITY } else { value }
}

/// Numbers in the widest vector.
const WIDTH: usize = 8;

/// Replaces each number by a function of it. The last few are computed as one more vector: one by one they would take longer
/// than all others of a short row.
#[inline(always)]
fn in_vectors(row: &mut [f64], function: impl Fn(f64) -> f64) {
    let replace = |row: &mut [f64]| row.iter_mut().for_each(|x| *x = function(*x));
    let (vectors, rest) = row.split_at_mut(row.len() - row.len() % WIDTH);
    replace(vectors);
    if !rest.is_empty() {
        let mut last = [1.0; WIDTH];
        last[..rest.len()].copy_from_slice(rest);
        // A loop whose length the compiler knows is unrolled, number by number, and then no vectors are made of it.
        replace(&mut last[..black_box(WIDTH)]);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// `row[i] = exp(row[i] - shift)`.
struct Exponentials<'a> {
    row: &'a mut [f64],
    shift: f64,
}

impl Loop for Exponentials<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        in_vectors(self.row, |x| exp(x - self.shift));
    }
}

/// `row[i] = ln(row[i])`.
struct Logarithms<'a> {
    row: &'a mut [f64],
}

impl Loop for Logarithms<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        in_vectors(self.row, ln);
    }
}

/// `row[i] = exp(row[i] - shift)`, 0 below `exp(-708)`, `exp(709)` above it. Minus infinity yields 0. Unlike the
/// kernels over scores, this accepts any number except NaN.
pub fn exp_rows(row: &mut [f64], shift: f64) {
    run(Exponentials { row, shift });
}

/// `row[i] = ln(row[i])`; 0 (and anything too small for a normal number) yields minus infinity.
pub(crate) fn ln_rows(row: &mut [f64]) {
    run(Logarithms { row });
}

#[cfg(test)]
mod tests {
    use super::super::compiled::on_each_level;
    use super::*;

    /// Numbers over the whole range, at a fixed stride that is not a round number, and the corners.
    fn arguments() -> Vec<f64> {
        let every = if cfg!(miri) { 500 } else { 1 }; // an interpreter takes its time
        let grid = (0..60_000).step_by(every).map(|i| -708.0 + f64::from(i) * 0.023_611_7);
        let near_zero = (-300..300).step_by(every).map(|i| f64::from(i) * 1e-3);
        grid.chain(near_zero).chain([0.0, -0.0, 1e-300, -1e-17, LOWEST]).filter(|&x| x < 700.0).collect()
    }

    #[test]
    fn exponentials_are_right_to_a_few_units() {
        let x = arguments();
        let mut row = x.clone();
        exp_rows(&mut row, 0.0);
        for (&x, &got) in x.iter().zip(&row) {
            let expected = x.exp();
            assert!(
                (got - expected).abs() <= 4.0 * f64::EPSILON * expected,
                "exp({x}) = {expected}, got {got}"
            );
        }
        let mut corners = [f64::NEG_INFINITY, -709.0, -1e300, 0.0, 2.5];
        exp_rows(&mut corners, 0.0);
        assert_eq!(corners[..4], [0.0, 0.0, 0.0, 1.0]);
        let mut shifted = [3.0, 3.0 - 1e9];
        exp_rows(&mut shifted, 3.0);
        assert_eq!(shifted, [1.0, 0.0]);
    }

    #[test]
    fn logarithms_are_right_to_a_few_units() {
        let x: Vec<f64> = arguments().iter().map(|x| x.exp()).chain([1.0, 0.5, 1.0 + f64::EPSILON]).collect();
        let mut row = x.clone();
        ln_rows(&mut row);
        for (&x, &got) in x.iter().zip(&row) {
            let expected = x.ln();
            assert!(
                (got - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(),
                "ln({x}) = {expected}, got {got}"
            );
        }
        let mut corners = [0.0, f64::MIN_POSITIVE / 2.0, 1.0];
        ln_rows(&mut corners);
        assert_eq!(corners, [f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0]);
    }

    /// Both functions of these numbers.
    struct Both(Vec<f64>);

    impl Loop for Both {
        type Result = [Vec<f64>; 2];

        #[inline(always)]
        fn run(self) -> [Vec<f64>; 2] {
            let mut row = self.0;
            Exponentials { row: &mut row, shift: 0.25 }.run();
            let powers = row.clone();
            Logarithms { row: &mut row }.run();
            [powers, row]
        }
    }

    /// No operation is fused or reordered, so the vectors produce the same bits as the plain loop.
    #[test]
    fn every_level_gives_the_same_bits() {
        let results = on_each_level(|| Both(arguments()));
        for level in &results[1..] {
            assert_eq!(level, &results[0]);
        }
    }
}
