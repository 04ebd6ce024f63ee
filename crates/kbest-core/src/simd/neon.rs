//! NEON vectors.

use super::vector::{Vector, Widen, compile_kernels};
use std::arch::aarch64::*;

impl Vector for float32x4_t {
    type Element = f32;
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises four readable scores.
        unsafe { vld1q_f32(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises four writable scores.
        unsafe { vst1q_f32(to, self) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vdupq_n_f32(value) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vaddq_f32(self, other) }
    }
    #[inline(always)]
    unsafe fn larger(self, other: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vmaxq_f32(self, other) }
    }
    #[inline(always)]
    unsafe fn smaller(self, other: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vminq_f32(self, other) }
    }
    #[inline(always)]
    unsafe fn finite_magnitude(self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe {
            let magnitude = vabsq_f32(self);
            let finite = vcltq_f32(magnitude, vdupq_n_f32(f32::INFINITY));
            vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(magnitude), finite))
        }
    }
    #[inline(always)]
    unsafe fn largest_lane(self) -> f32 {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vmaxvq_f32(self) }
    }
    #[inline(always)]
    unsafe fn at_least(self, other: Self) -> u32 {
        // SAFETY: the caller promises the CPU feature. Each true lane keeps its own bit; the bits are summed.
        unsafe {
            let bits = vld1q_u32([1u32, 2, 4, 8].as_ptr());
            vaddvq_u32(vandq_u32(vcgeq_f32(self, other), bits))
        }
    }
    #[inline(always)]
    unsafe fn split_at_least(self, key: Self, limit: Self) -> (u32, Self) {
        // SAFETY: the caller promises the CPU feature.
        unsafe {
            let hits = vcgeq_f32(key, limit);
            (key.at_least(limit), vbslq_f32(hits, vdupq_n_f32(f32::NEG_INFINITY), self))
        }
    }
}

impl Vector for float64x2_t {
    type Element = f64;
    const LANES: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises two readable scores.
        unsafe { vld1q_f64(from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises two writable scores.
        unsafe { vst1q_f64(to, self) }
    }
    #[inline(always)]
    unsafe fn splat(value: f64) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vdupq_n_f64(value) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vaddq_f64(self, other) }
    }
    #[inline(always)]
    unsafe fn larger(self, other: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vmaxq_f64(self, other) }
    }
    #[inline(always)]
    unsafe fn smaller(self, other: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vminq_f64(self, other) }
    }
    #[inline(always)]
    unsafe fn finite_magnitude(self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe {
            let magnitude = vabsq_f64(self);
            let finite = vcltq_f64(magnitude, vdupq_n_f64(f64::INFINITY));
            vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(magnitude), finite))
        }
    }
    #[inline(always)]
    unsafe fn largest_lane(self) -> f64 {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vmaxvq_f64(self) }
    }
    #[inline(always)]
    unsafe fn at_least(self, other: Self) -> u32 {
        // SAFETY: the caller promises the CPU feature. Each true lane keeps its own bit; the bits are summed.
        unsafe {
            let bits = vld1q_u64([1u64, 2].as_ptr());
            vaddvq_u64(vandq_u64(vcgeq_f64(self, other), bits)) as u32
        }
    }
    #[inline(always)]
    unsafe fn split_at_least(self, key: Self, limit: Self) -> (u32, Self) {
        // SAFETY: the caller promises the CPU feature.
        unsafe {
            let hits = vcgeq_f64(key, limit);
            (key.at_least(limit), vbslq_f64(hits, vdupq_n_f64(f64::NEG_INFINITY), self))
        }
    }
}

impl Widen<f32> for float64x2_t {
    #[inline(always)]
    unsafe fn widen(from: *const f32) -> Self {
        // SAFETY: the caller promises two readable scores and the CPU feature.
        unsafe { vcvt_f64_f32(vld1_f32(from)) }
    }
    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vfmaq_f64(sum, self, factor) }
    }
}

impl Widen<f64> for float64x2_t {
    #[inline(always)]
    unsafe fn widen(from: *const f64) -> Self {
        // SAFETY: the caller promises two readable scores and the CPU feature.
        unsafe { vld1q_f64(from) }
    }
    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        // SAFETY: the caller promises the CPU feature.
        unsafe { vfmaq_f64(sum, self, factor) }
    }
}

compile_kernels!(neon_f32, Neon, "neon", float32x4_t, float64x2_t, f32);
compile_kernels!(neon_f64, Neon, "neon", float64x2_t, float64x2_t, f64);
