//! Vector kernels behind a safe API: the only place with `unsafe`.
//!
//! **What.** A handful of loops over rows of scores: max-plus of rows, maxima, additions, and the selection of
//! labels above a threshold. **Why.** Every exact decoder spends its time in one of them. **How.** Each loop is
//! written once over a small vector vocabulary (`vector::Vector`) and compiled for AVX-512, AVX2 and NEON; the
//! CPU is asked at run time, so an ordinary release build is fast everywhere. `scalar` holds a plain twin of
//! each loop: the fallback, and the judge in tests. `KBEST_FORCE_SCALAR=1` in the environment forces it.
//!
//! Loops that are written elsewhere can be compiled for the same levels (`compiled`). Three more things live here because of
//! their `unsafe` alone: arrays that may lie in a mapped file (`Blob`), hints to the CPU's cache (`prefetch`), and aligned
//! arrays (`AlignedVec`), which leave out a check at each look-up of an edge.
//!
//! All inputs must be legal scores (no NaN, no plus infinity); results are then the same on every level, bit for
//! bit, because additions are lane-wise and maxima do not depend on order. Two exceptions say so:
//! [`Float::largest_magnitude`] is what finds illegal scores, [`Float::add_weighted_rows`] sums in an order of its
//! level.
#![allow(unsafe_code)]

mod aligned;
#[cfg(feature = "text")]
mod blob;
mod compiled;
mod exponential;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(feature = "text")]
mod prefetch;
mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use aligned::AlignedVec;
#[cfg(feature = "text")]
pub(crate) use blob::Blob;
pub(crate) use compiled::{Loop, run};
pub use exponential::{exp_rows, ln_rows};
#[cfg(feature = "text")]
pub(crate) use prefetch::prefetch;

use crate::score::Score;
use std::sync::OnceLock;

/// Rows are padded to a multiple of this many scores, so that no kernel needs a ragged tail on them.
pub const LANES: usize = 16;

/// `labels` rounded up to whole vectors.
pub const fn padded(labels: usize) -> usize {
    labels.div_ceil(LANES) * LANES
}

/// Instruction set in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Plain Rust.
    Scalar,
    /// 128-bit vectors on ARM.
    Neon,
    /// 256-bit vectors on x86-64.
    Avx2,
    /// 512-bit vectors on x86-64.
    Avx512,
}

impl Level {
    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// The instruction set every kernel uses in this process: the best the CPU has, or scalar if
/// `KBEST_FORCE_SCALAR` is set to anything but `0`.
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| match std::env::var_os("KBEST_FORCE_SCALAR") {
        Some(value) if value != "0" && !value.is_empty() => Level::Scalar,
        _ => best_level(),
    })
}

#[cfg(target_arch = "x86_64")]
fn best_level() -> Level {
    // All that `compiled::run_avx512` is compiled with: it must not be called with less. (The few CPUs that have AVX-512
    // without the rest take AVX2.)
    let has_avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt");
    if has_avx512 {
        Level::Avx512
    } else if is_x86_feature_detected!("avx2") {
        Level::Avx2
    } else {
        Level::Scalar
    }
}

#[cfg(target_arch = "aarch64")]
fn best_level() -> Level {
    if std::arch::is_aarch64_feature_detected!("neon") { Level::Neon } else { Level::Scalar }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn best_level() -> Level {
    Level::Scalar
}

/// Declares each kernel once: its documentation and signature here, its loops in `scalar` and `vector`.
macro_rules! kernels {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        /// A score type with vector kernels. Sealed by construction: only `f32` and `f64` have them.
        pub trait Float: Score {
            $($(#[$doc])* fn $name($($argument: $type),*) $(-> $result)?;)*
        }

        kernels!(@float f32, avx512_f32, avx2_f32, neon_f32, $(fn $name($($argument: $type),*) $(-> $result)?;)*);
        kernels!(@float f64, avx512_f64, avx2_f64, neon_f64, $(fn $name($($argument: $type),*) $(-> $result)?;)*);
    };
    (@float $float:ident, $avx512:ident, $avx2:ident, $neon:ident,
     $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl Float for $float {
            $(#[inline]
            fn $name($($argument: $type),*) $(-> $result)? {
                match level() {
                    // SAFETY: this level is only ever chosen after the CPU reported the feature.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => unsafe { x86::$avx512::$name($($argument),*) },
                    // SAFETY: as above.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => unsafe { x86::$avx2::$name($($argument),*) },
                    // SAFETY: as above.
                    #[cfg(target_arch = "aarch64")]
                    Level::Neon => unsafe { neon::$neon::$name($($argument),*) },
                    _ => scalar::$name($($argument),*),
                }
            })*
        }
    };
}

kernels! {
    /// `out[y] = max(out[y], add + row[y])`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn max_plus_row(out: &mut [Self], add: Self, row: &[Self]);

    /// `out[y] = max(out[y], max_p (add[p] + matrix[p * out.len() + y]))`: one max-plus product of a row vector
    /// and a row-major matrix, read once from front to back.
    ///
    /// # Panics
    /// If `matrix.len()` is not `add.len() * out.len()`.
    fn max_plus_matrix(out: &mut [Self], add: &[Self], matrix: &[Self]);

    /// `out[y] += row[y]`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn add_row(out: &mut [Self], row: &[Self]);

    /// `out[y] = max(out[y], row[y])`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn max_row(out: &mut [Self], row: &[Self]);

    /// The largest score of a row, minus infinity if it is empty.
    fn largest(row: &[Self]) -> Self;

    /// The largest finite `|row[y]|`, 0 if there is none; `None` if the row holds an illegal score (NaN or plus
    /// infinity): the one kernel that may be given such.
    fn largest_magnitude(row: &[Self]) -> Option<Self>;

    /// The largest `row[y] + add[y]`, minus infinity if the rows are empty.
    ///
    /// # Panics
    /// If the lengths differ.
    fn max_of_sum(row: &[Self], add: &[Self]) -> Self;

    /// The largest `(add + row[y]) + node[y]`, minus infinity if the rows are empty.
    ///
    /// # Panics
    /// If the lengths differ.
    fn largest_value(add: Self, row: &[Self], node: &[Self]) -> Self;

    /// With `value[y] = max(add + row[y], least) + node[y]`: appends to `found`, in ascending order, every `y` with
    /// `value[y] + way_out[y] >= threshold`, and returns the largest value of the other labels.
    ///
    /// # Panics
    /// If the lengths differ.
    fn select_reaching(
        add: Self,
        row: &[Self],
        least: Self,
        node: &[Self],
        way_out: &[Self],
        threshold: Self,
        found: &mut Vec<u32>
    ) -> Self;

    /// The lowest `y` with `row[y] + add >= threshold`, if there is one.
    fn first_at_least(row: &[Self], add: Self, threshold: Self) -> Option<usize>;

    /// The lowest `y` with `row[y] + add[y] >= threshold`, if there is one.
    ///
    /// # Panics
    /// If the lengths differ.
    fn first_sum_at_least(row: &[Self], add: &[Self], threshold: Self) -> Option<usize>;

    /// `out[y] += sum over i of weights[i] * matrix[rows[i] * out.len() + y]`: the product of a row vector and chosen
    /// rows of a row-major matrix, summed in `f64`. The order of the additions, and with it the rounding, depends on
    /// the level.
    ///
    /// # Panics
    /// If `weights` and `rows` differ in length, or a row lies outside of the matrix.
    fn add_weighted_rows(out: &mut [f64], weights: &[f64], rows: &[u32], matrix: &[Self]);
}

/// The largest score of a row and the lowest label that has it; `None` if all are minus infinity.
pub fn argmax<S: Float>(row: &[S]) -> Option<(usize, S)> {
    let best = S::largest(row);
    if best.is_forbidden() {
        return None;
    }
    S::first_at_least(row, S::ZERO, best).map(|y| (y, best))
}

#[cfg(test)]
mod tests;
