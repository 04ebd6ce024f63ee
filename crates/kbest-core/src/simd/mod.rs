//! Vector kernels behind a safe API: the only module with `unsafe` code.
//!
//! **What.** A handful of loops over rows of scores: max-plus of rows, maxima, additions, and the selection of labels
//! above a threshold. **Why.** Every exact decoder spends its time in one of them. **How.** Each loop is written once
//! over a small vector vocabulary (`vector::Vector`) and compiled for AVX-512, AVX2 and NEON; the CPU's features are
//! detected at run time (`cpu`), so an ordinary release build is fast everywhere. `scalar` holds a plain twin of each loop: the
//! fallback, and the reference in tests. `KBEST_LEVEL=scalar` in the environment selects it.
//!
//! Loops written elsewhere can be compiled for the same levels (`compiled`). Three more things are here only because
//! they need `unsafe`: arrays that may lie in a mapped file (`Blob`), hints to the CPU's cache (`prefetch`), and
//! aligned arrays (`AlignedVec`), which skip a check at each look-up of an edge.
//!
//! **Public:** the two types of scores ([`Float`]), the instruction set in use ([`level`]), and the length of a padded
//! row ([`padded`]). The loops themselves are private to the decoders.
//!
//! All inputs must be legal scores (no NaN, no plus infinity); results are then the same on every level, bit for bit,
//! because additions are lane-wise and maxima do not depend on order. There are two documented exceptions:
//! `largest_magnitude` detects illegal scores, and `add_weighted_rows` sums in an order that depends on the level.
#![allow(unsafe_code)]

mod aligned;
mod by_block;
mod compiled;
mod convolution;
mod cpu;
mod dispatch;
mod exponential;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

#[doc(hidden)] // for the command line, which measures a lower bound on any decoder's time
pub use aligned::AlignedVec;
pub(crate) use by_block::{ByBlock, Origin, Targets};
pub use compiled::{Loop, run};
pub(crate) use convolution::{
    BLOCK, Bounds, ENDS, NOTHING, Octet, PART, convolve, convolve_bounded, widen_maxima,
};
pub use cpu::{Level, check_level, level};
pub(crate) use dispatch::Kernels;
pub use exponential::exp_rows;
pub(crate) use exponential::ln_rows;

/// Rows are padded to a multiple of this many scores, so that no kernel has to handle a ragged tail.
pub(crate) const LANES: usize = 16;

/// Most blocks that a row is divided into: with more, comparing bounds takes a good part of the time, and so few edges of a row are
/// read at once that the hardware cannot look ahead.
pub(crate) const MOST_BLOCKS: usize = 32;

/// The least width of a block, of which every width is a multiple: four of the widest vectors in single precision. (In a simulation
/// with 1,500 labels, blocks of twice the width needed half as many edges again.)
pub(crate) const LEAST_WIDTH: usize = 64;

/// Most origins of a look at blocks.
pub(crate) const MOST_ORIGINS: usize = 128;

/// `labels` rounded up to whole vectors.
pub const fn padded(labels: usize) -> usize {
    labels.div_ceil(LANES) * LANES
}

/// A score type that lattices and decoders support: `f32` or `f64`, and no other.
pub trait Float: Kernels {
    /// Calls the function of `P` for this type. See [`Precompiled`].
    #[doc(hidden)]
    fn call<P: Precompiled>(arguments: P::Arguments<Self>) -> P::Answer<Self>;
}

/// A large function over either type of scores that is compiled in this crate, for both. [`precompiled`] makes one.
///
/// A generic function is compiled again in each crate that calls it. Without this, every program and every test that decodes
/// would compile all decoders.
#[doc(hidden)]
pub trait Precompiled {
    /// What it is called with.
    type Arguments<S: Float>;
    /// What it returns.
    type Answer<S: Float>;
    /// The function over `f32`.
    fn single(arguments: Self::Arguments<f32>) -> Self::Answer<f32>;
    /// The function over `f64`.
    fn double(arguments: Self::Arguments<f64>) -> Self::Answer<f64>;
}

/// Declares a [`Precompiled`] function: its name, the types of its arguments and of its answer over scores `S`, what it calls.
macro_rules! precompiled {
    ($name:ident<$life:lifetime>: $arguments:ty => $answer:ty, $function:expr) => {
        struct $name<$life>(std::marker::PhantomData<&$life()>);

        // Neither function has type parameters, and neither is inlined: else their callers would compile them.
        impl<$life> $crate::simd::Precompiled for $name<$life> {
            type Arguments<S: $crate::simd::Float> = $arguments;
            type Answer<S: $crate::simd::Float> = $answer;

            #[inline(never)]
            fn single(arguments: Self::Arguments<f32>) -> Self::Answer<f32> {
                $function(arguments)
            }

            #[inline(never)]
            fn double(arguments: Self::Arguments<f64>) -> Self::Answer<f64> {
                $function(arguments)
            }
        }
    };
}
pub(crate) use precompiled;

impl Float for f32 {
    #[inline]
    fn call<P: Precompiled>(arguments: P::Arguments<f32>) -> P::Answer<f32> {
        P::single(arguments)
    }
}

impl Float for f64 {
    #[inline]
    fn call<P: Precompiled>(arguments: P::Arguments<f64>) -> P::Answer<f64> {
        P::double(arguments)
    }
}

/// The largest score of a row and the lowest label that has it; `None` if all are minus infinity.
pub(crate) fn argmax<S: Float>(row: &[S]) -> Option<(usize, S)> {
    let best = S::largest(row);
    if best.is_forbidden() {
        return None;
    }
    S::first_at_least(row, S::ZERO, best).map(|y| (y, best))
}

#[cfg(test)]
mod tests;
