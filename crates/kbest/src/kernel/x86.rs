//! AVX-512 and AVX2 vectors.

use super::vector::{Vector, Widen, compile_kernels};
use std::arch::x86_64::*;

macro_rules! implement_vector {
    ($vector:ty, $element:ty, $lanes:literal, $load:ident, $store:ident, $splat:ident, $add:ident, $max:ident,
     |$a:ident, $b:ident| $at_least:expr) => {
        impl Vector for $vector {
            type Element = $element;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: the caller promises `LANES` readable scores and the CPU feature.
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: the caller promises `LANES` writable scores and the CPU feature.
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            unsafe fn splat(value: $element) -> Self {
                // SAFETY: the caller promises the CPU feature.
                unsafe { $splat(value) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller promises the CPU feature.
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            unsafe fn larger(self, other: Self) -> Self {
                // SAFETY: the caller promises the CPU feature.
                unsafe { $max(self, other) }
            }
            #[inline(always)]
            unsafe fn at_least(self, other: Self) -> u32 {
                let ($a, $b) = (self, other);
                // SAFETY: the caller promises the CPU feature.
                unsafe { $at_least as u32 }
            }
        }
    };
}

implement_vector!(
    __m512,
    f32,
    16,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    _mm512_add_ps,
    _mm512_max_ps,
    |a, b| _mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b)
);
implement_vector!(
    __m512d,
    f64,
    8,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_set1_pd,
    _mm512_add_pd,
    _mm512_max_pd,
    |a, b| _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a, b)
);
implement_vector!(
    __m256,
    f32,
    8,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_add_ps,
    _mm256_max_ps,
    |a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a, b))
);
implement_vector!(
    __m256d,
    f64,
    4,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_set1_pd,
    _mm256_add_pd,
    _mm256_max_pd,
    |a, b| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a, b))
);

/// Widening loads, and the product that is added to a sum.
macro_rules! implement_widen {
    ($vector:ty, $element:ty, |$from:ident| $widen:expr, |$a:ident, $b:ident, $c:ident| $multiply_add:expr) => {
        impl Widen<$element> for $vector {
            #[inline(always)]
            unsafe fn widen($from: *const $element) -> Self {
                // SAFETY: the caller promises `LANES` readable scores and the CPU feature.
                unsafe { $widen }
            }
            #[inline(always)]
            unsafe fn multiply_add(self, $b: Self, $c: Self) -> Self {
                let $a = self;
                // SAFETY: the caller promises the CPU feature.
                unsafe { $multiply_add }
            }
        }
    };
}

// AVX-512 has fused multiply-add; AVX2 alone does not promise it.
implement_widen!(__m512d, f32, |from| _mm512_cvtps_pd(_mm256_loadu_ps(from)), |a, b, c| _mm512_fmadd_pd(
    a, b, c
));
implement_widen!(__m512d, f64, |from| _mm512_loadu_pd(from), |a, b, c| _mm512_fmadd_pd(a, b, c));
implement_widen!(__m256d, f32, |from| _mm256_cvtps_pd(_mm_loadu_ps(from)), |a, b, c| {
    _mm256_add_pd(_mm256_mul_pd(a, b), c)
});
implement_widen!(__m256d, f64, |from| _mm256_loadu_pd(from), |a, b, c| _mm256_add_pd(_mm256_mul_pd(a, b), c));

compile_kernels!(avx512_f32, "avx512f", __m512, __m512d, f32);
compile_kernels!(avx512_f64, "avx512f", __m512d, __m512d, f64);
compile_kernels!(avx2_f32, "avx2", __m256, __m256d, f32);
compile_kernels!(avx2_f64, "avx2", __m256d, __m256d, f64);
