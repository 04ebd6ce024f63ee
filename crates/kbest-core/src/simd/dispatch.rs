//! The safe interface of every kernel: declared once, run at the level of the CPU in use.

use super::by_block::{ByBlock, Origin, Targets};
use super::cpu::{Cpu, cpu};
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::scalar;
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::score::Score;

/// Declares each kernel once: its documentation and signature here, its loops in `scalar` and `vector`.
macro_rules! kernels {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        /// Loops over rows of scores. Only `f32` and `f64` implement it, and code outside this crate cannot name this
        /// trait.
        #[allow(unnameable_types)] // that is how it seals
        pub trait Kernels: Score {
            $($(#[$doc])* fn $name($($argument: $type),*) $(-> $result)?;)*
        }

        kernels!(@float f32, avx512_f32, avx2_f32, neon_f32, $(fn $name($($argument: $type),*) $(-> $result)?;)*);
        kernels!(@float f64, avx512_f64, avx2_f64, neon_f64, $(fn $name($($argument: $type),*) $(-> $result)?;)*);
    };
    (@float $float:ident, $avx512:ident, $avx2:ident, $neon:ident,
     $(fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        impl Kernels for $float {
            $(#[inline]
            fn $name($($argument: $type),*) $(-> $result)? {
                match cpu() {
                    #[cfg(target_arch = "x86_64")]
                    Cpu::Avx512(proof) => x86::$avx512::$name(proof, $($argument),*),
                    #[cfg(target_arch = "x86_64")]
                    Cpu::Avx2(proof) => x86::$avx2::$name(proof, $($argument),*),
                    #[cfg(target_arch = "aarch64")]
                    Cpu::Neon(proof) => neon::$neon::$name(proof, $($argument),*),
                    Cpu::Scalar => scalar::$name($($argument),*),
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

    /// `out[y] = max(out[y], max over p in rows of (add[p] + matrix[p][first + y]))`: the same with some rows and columns of a
    /// matrix of `add.len()` rows.
    ///
    /// # Panics
    /// If there is no such row or column, or `matrix.len()` is not a multiple of `add.len()`.
    fn max_plus_rows(out: &mut [Self], add: &[Self], rows: &[u32], matrix: &[Self], first: usize);

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

    /// `out[b]` = the largest score of block `b` of a row: `width` scores, but the last block ends with the row and has as many
    /// more from before as make a whole vector of the widest kind.
    ///
    /// # Panics
    /// If there are not so many blocks.
    fn block_maxima(out: &mut [Self], row: &[Self], width: usize);

    /// The smallest score of a row, [`Score::LARGEST`] if it is empty.
    fn smallest(row: &[Self]) -> Self;

    /// The largest finite `|row[y]|`, 0 if there is none; `None` if the row holds an illegal score (NaN or plus
    /// infinity): the only kernel that accepts such scores.
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

    /// The same for the values that some origins lead to, `max over origins of (score + row[y])`, and with fewer reads: only from
    /// blocks whose bounds reach the threshold but for the slack, while the bound of any other stands for its labels. The threshold is the
    /// floor if there is one, else `gain` more than the largest value, with its node, in the block that promises most; if that is
    /// forbidden, nothing is selected. Returns it, with
    /// the largest value or bound of the other labels, and writes the value of every label that is selected (and of those read
    /// with them).
    ///
    /// # Panics
    /// If there are more than [`MOST_BLOCKS`](super::MOST_BLOCKS) blocks, their width is not a multiple of
    /// [`LEAST_WIDTH`](super::LEAST_WIDTH), the row is shorter than a vector, or lengths do not agree.
    fn select_by_block(
        origins: &[Origin<'_, Self>],
        least: Self,
        targets: Targets<'_, Self>,
        floor: Option<Self>,
        gain: Self,
        values: &mut [Self],
        found: &mut Vec<u32>
    ) -> ByBlock<Self>;

    /// The lowest `y` with `row[y] + add >= threshold`, if there is one.
    fn first_at_least(row: &[Self], add: Self, threshold: Self) -> Option<usize>;

    /// The lowest `y` with `row[y] + add[y] >= threshold`, if there is one.
    ///
    /// # Panics
    /// If the lengths differ.
    fn first_sum_at_least(row: &[Self], add: &[Self], threshold: Self) -> Option<usize>;

    /// Appends to `found`, in ascending order, every `y` with `least <= row[y] + add[y] < below`.
    ///
    /// # Panics
    /// If the lengths differ.
    fn select_sums(row: &[Self], add: &[Self], least: Self, below: Self, found: &mut Vec<u32>);

    /// `out[y] += sum over i of weights[i] * matrix[rows[i] * out.len() + y]`: the product of a row vector and chosen
    /// rows of a row-major matrix, summed in `f64`. The order of the additions, and with it the rounding, depends on
    /// the level.
    ///
    /// # Panics
    /// If `weights` and `rows` differ in length, or a row lies outside the matrix.
    fn add_weighted_rows(out: &mut [f64], weights: &[f64], rows: &[u32], matrix: &[Self]);
}
