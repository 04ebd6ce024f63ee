//! Plain loops, compiled for the CPU in use.
//!
//! **Why.** The baseline of x86-64 has short vectors, and no instruction that selects one of two floats, so a loop
//! meant to have no branch gets one. **How.** A [`Loop`] is inlined into one function per level, and the compiler uses
//! the instructions of that level. No operation is fused or reordered: the results are the same. **When not.** A loop
//! must be long, or its branches hard to predict, to be worth the call.

#[cfg(target_arch = "x86_64")]
use super::cpu::{Avx2, Avx512};
use super::cpu::{Cpu, cpu};

/// A loop, with its inputs.
pub trait Loop {
    /// What it returns.
    type Result;

    /// Runs it. Must be marked `#[inline(always)]`, as must everything it calls often: code that is not inlined is
    /// compiled for the baseline.
    fn run(self) -> Self::Result;
}

/// Runs a loop, compiled for this CPU. (On ARM, every build uses vectors.)
#[inline]
pub fn run<L: Loop>(work: L) -> L::Result {
    run_on(cpu(), work)
}

#[inline]
fn run_on<L: Loop>(cpu: Cpu, work: L) -> L::Result {
    match cpu {
        #[cfg(target_arch = "x86_64")]
        Cpu::Avx512(proof) => run_avx512(proof, work),
        #[cfg(target_arch = "x86_64")]
        Cpu::Avx2(proof) => run_avx2(proof, work),
        _ => work.run(),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn run_avx512<L: Loop>(_: Avx512, work: L) -> L::Result {
    /// # Safety
    /// The CPU must have these features.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
    fn compiled<L: Loop>(work: L) -> L::Result {
        work.run()
    }
    // SAFETY: the token proves that this CPU has all of these features.
    unsafe { compiled(work) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn run_avx2<L: Loop>(_: Avx2, work: L) -> L::Result {
    /// # Safety
    /// The CPU must have the feature.
    #[target_feature(enable = "avx2")]
    fn compiled<L: Loop>(work: L) -> L::Result {
        work.run()
    }
    // SAFETY: the token proves that this CPU has the feature.
    unsafe { compiled(work) }
}

/// The results of a loop on every level that this CPU supports, plain first.
#[cfg(test)]
pub(super) fn on_each_level<L: Loop>(make: impl Fn() -> L) -> Vec<L::Result> {
    Cpu::all().map(|cpu| run_on(cpu, make())).collect()
}
