//! AVX-512 and AVX2 vectors.

use super::vector::{PLACES, Vector, Widen, compile_kernels};
use std::arch::x86_64::*;

macro_rules! implement_vector {
    ($vector:ty, $element:ty, $lanes:literal, $load:ident, $store:ident, $splat:ident, $add:ident, $max:ident, $min:ident,
     |$x:ident| $finite_magnitude:expr, |$v:ident| $largest_lane:expr, |$a:ident, $b:ident| $at_least:expr,
     |$rest:ident, $key:ident, $limit:ident| $split:expr
     $(, largest_lanes: $largest_lanes:ident)? $(, write_places: $write_places:ident)?) => {
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
            unsafe fn smaller(self, other: Self) -> Self {
                // SAFETY: the caller promises the CPU feature.
                unsafe { $min(self, other) }
            }
            #[inline(always)]
            unsafe fn finite_magnitude(self) -> Self {
                let $x = self;
                // SAFETY: the caller promises the CPU feature.
                unsafe { $finite_magnitude }
            }
            #[inline(always)]
            unsafe fn largest_lane(self) -> $element {
                let $v = self;
                // SAFETY: the caller promises the CPU feature.
                unsafe { $largest_lane }
            }
            #[inline(always)]
            unsafe fn at_least(self, other: Self) -> u32 {
                let ($a, $b) = (self, other);
                // SAFETY: the caller promises the CPU feature.
                unsafe { $at_least as u32 }
            }
            #[inline(always)]
            unsafe fn split_at_least(self, key: Self, limit: Self) -> (u32, Self) {
                let ($rest, $key, $limit) = (self, key, limit);
                // SAFETY: the caller promises the CPU feature.
                unsafe { $split }
            }
            $(
                #[inline(always)]
                unsafe fn largest_lanes(four: [Self; 4]) -> [$element; 4] {
                    // SAFETY: the caller promises the CPU feature.
                    unsafe { $largest_lanes(four) }
                }
            )?
            $(
                #[inline(always)]
                unsafe fn write_places(hits: u32, first: u32, next: *mut u32) -> *mut u32 {
                    // SAFETY: the caller promises room and the CPU feature.
                    unsafe { $write_places(hits, first, next) }
                }
            )?
        }
    };
}

/// Largest of four single-precision lanes.
///
/// # Safety
/// The CPU must have SSE, as every x86-64 has.
#[inline(always)]
unsafe fn largest_of_four(v: __m128) -> f32 {
    // SAFETY: SSE is part of x86-64.
    unsafe {
        let pairs = _mm_max_ps(v, _mm_movehl_ps(v, v));
        _mm_cvtss_f32(_mm_max_ss(pairs, _mm_shuffle_ps::<1>(pairs, pairs)))
    }
}

/// The largest of sixteen lanes, of four vectors at once.
///
/// # Safety
/// The CPU must have AVX-512.
#[inline(always)]
unsafe fn largest_of_sixteen([a, b, c, d]: [__m512; 4]) -> [f32; 4] {
    // SAFETY: as the caller promises.
    unsafe {
        let ab = _mm512_max_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let cd = _mm512_max_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        // In every quarter now one lane of each.
        let all = _mm512_max_ps(
            _mm512_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm512_shuffle_ps::<0b11_10_11_10>(ab, cd),
        );
        let upper = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(all)));
        largest_of_halves(_mm256_max_ps(_mm512_castps512_ps256(all), upper))
    }
}

/// The largest of eight lanes, of four vectors at once.
///
/// # Safety
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn largest_of_eight([a, b, c, d]: [__m256; 4]) -> [f32; 4] {
    // SAFETY: as the caller promises.
    unsafe {
        let ab = _mm256_max_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let cd = _mm256_max_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        // In both halves now one lane of each.
        largest_of_halves(_mm256_max_ps(
            _mm256_shuffle_ps::<0b01_00_01_00>(ab, cd),
            _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd),
        ))
    }
}

/// The larger of two halves, lane by lane.
///
/// # Safety
/// The CPU must have AVX2.
#[inline(always)]
unsafe fn largest_of_halves(v: __m256) -> [f32; 4] {
    let mut four = [0.0; 4];
    // SAFETY: as the caller promises; there is room for four.
    unsafe {
        let larger = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        _mm_storeu_ps(four.as_mut_ptr(), larger);
    }
    four
}

/// Largest of two double-precision lanes.
///
/// # Safety
/// The CPU must have SSE2, as every x86-64 has.
#[inline(always)]
unsafe fn largest_of_two(v: __m128d) -> f64 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_cvtsd_f64(_mm_max_sd(v, _mm_unpackhi_pd(v, v))) }
}

/// The positions of up to sixteen set bits, without a loop whose end cannot be predicted.
///
/// # Safety
/// There must be room for sixteen positions; the CPU must have AVX-512 and POPCNT.
#[inline(always)]
unsafe fn write_compressed(hits: u32, first: u32, next: *mut u32) -> *mut u32 {
    // SAFETY: as the caller promises; there are at most sixteen bits.
    unsafe {
        let lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
        let places = _mm512_add_epi32(lanes, _mm512_set1_epi32(first as i32));
        _mm512_storeu_epi32(next.cast(), _mm512_maskz_compress_epi32(hits as __mmask16, places));
        next.add(hits.count_ones() as usize)
    }
}

/// The positions of up to eight set bits, without a loop whose end cannot be predicted. (Of the plain twin the compiler makes one
/// instruction for each position, sometimes.)
///
/// # Safety
/// There must be room for eight positions; the CPU must have AVX2 and POPCNT.
#[inline(always)]
unsafe fn write_looked_up(hits: u32, first: u32, next: *mut u32) -> *mut u32 {
    let places = &PLACES[hits as usize & (PLACES.len() - 1)];
    // SAFETY: as the caller promises; eight bytes are read of eight.
    unsafe {
        let places = _mm256_cvtepu8_epi32(_mm_loadl_epi64(places.as_ptr().cast()));
        _mm256_storeu_si256(next.cast(), _mm256_add_epi32(places, _mm256_set1_epi32(first as i32)));
        next.add(hits.count_ones() as usize)
    }
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
    _mm512_min_ps,
    |x| {
        let magnitude = _mm512_abs_ps(x);
        let finite = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(magnitude, _mm512_set1_ps(f32::INFINITY));
        _mm512_maskz_mov_ps(finite, magnitude)
    },
    |v| _mm512_reduce_max_ps(v),
    |a, b| _mm512_cmp_ps_mask::<_CMP_GE_OQ>(a, b),
    |rest, key, limit| {
        let hits = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(key, limit);
        (hits as u32, _mm512_mask_mov_ps(rest, hits, _mm512_set1_ps(f32::NEG_INFINITY)))
    },
    largest_lanes: largest_of_sixteen,
    write_places: write_compressed
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
    _mm512_min_pd,
    |x| {
        let magnitude = _mm512_abs_pd(x);
        let finite = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(magnitude, _mm512_set1_pd(f64::INFINITY));
        _mm512_maskz_mov_pd(finite, magnitude)
    },
    |v| _mm512_reduce_max_pd(v),
    |a, b| _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a, b),
    |rest, key, limit| {
        let hits = _mm512_cmp_pd_mask::<_CMP_GE_OQ>(key, limit);
        (hits as u32, _mm512_mask_mov_pd(rest, hits, _mm512_set1_pd(f64::NEG_INFINITY)))
    },
    write_places: write_compressed
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
    _mm256_min_ps,
    |x| {
        let magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0), x);
        _mm256_and_ps(magnitude, _mm256_cmp_ps::<_CMP_LT_OQ>(magnitude, _mm256_set1_ps(f32::INFINITY)))
    },
    |v| largest_of_four(_mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v))),
    |a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(a, b)),
    |rest, key, limit| {
        let hits = _mm256_cmp_ps::<_CMP_GE_OQ>(key, limit);
        let others = _mm256_blendv_ps(rest, _mm256_set1_ps(f32::NEG_INFINITY), hits);
        (_mm256_movemask_ps(hits) as u32, others)
    },
    largest_lanes: largest_of_eight,
    write_places: write_looked_up
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
    _mm256_min_pd,
    |x| {
        let magnitude = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
        _mm256_and_pd(magnitude, _mm256_cmp_pd::<_CMP_LT_OQ>(magnitude, _mm256_set1_pd(f64::INFINITY)))
    },
    |v| largest_of_two(_mm_max_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v))),
    |a, b| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a, b)),
    |rest, key, limit| {
        let hits = _mm256_cmp_pd::<_CMP_GE_OQ>(key, limit);
        let others = _mm256_blendv_pd(rest, _mm256_set1_pd(f64::NEG_INFINITY), hits);
        (_mm256_movemask_pd(hits) as u32, others)
    },
    write_places: write_looked_up
);

/// Widening loads, and multiply-add.
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

// AVX-512 has fused multiply-add; AVX2 alone does not guarantee it.
implement_widen!(__m512d, f32, |from| _mm512_cvtps_pd(_mm256_loadu_ps(from)), |a, b, c| _mm512_fmadd_pd(
    a, b, c
));
implement_widen!(__m512d, f64, |from| _mm512_loadu_pd(from), |a, b, c| _mm512_fmadd_pd(a, b, c));
implement_widen!(__m256d, f32, |from| _mm256_cvtps_pd(_mm_loadu_ps(from)), |a, b, c| {
    _mm256_add_pd(_mm256_mul_pd(a, b), c)
});
implement_widen!(__m256d, f64, |from| _mm256_loadu_pd(from), |a, b, c| _mm256_add_pd(_mm256_mul_pd(a, b), c));

compile_kernels!(avx512_f32, Avx512, "avx512f,popcnt", __m512, __m512d, f32);
compile_kernels!(avx512_f64, Avx512, "avx512f,popcnt", __m512d, __m512d, f64);
compile_kernels!(avx2_f32, Avx2, "avx2,popcnt", __m256, __m256d, f32);
compile_kernels!(avx2_f64, Avx2, "avx2,popcnt", __m256d, __m256d, f64);
