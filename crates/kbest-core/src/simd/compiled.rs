//! Plain loops, compiled for the CPU in use.
//!
//! **Why.** The baseline of x86-64 has short vectors, and no instruction that selects one of two floats, so a loop
//! meant to have no branch gets one. **How.** A [`Loop`] is inlined into one function per level, and the compiler uses
//! the instructions of that level. No operation is fused or reordered: the results are the same. **When not.** A loop
//! must be long, or its branches hard to predict, to be worth the call.

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::level;

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
    match level() {
        // SAFETY: this level is only ever chosen after the CPU reported its features.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { run_avx512(work) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { run_avx2(work) },
        _ => work.run(),
    }
}

// `best_level` in `mod.rs` checks for all of these.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx512<L: Loop>(work: L) -> L::Result {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<L: Loop>(work: L) -> L::Result {
    work.run()
}

/// The results of a loop on every level that this CPU supports, plain first.
#[cfg(test)]
pub(super) fn on_each_level<L: Loop>(make: impl Fn() -> L) -> Vec<L::Result> {
    let mut results = vec![make().run()];
    #[cfg(target_arch = "x86_64")]
    {
        if super::best_level() == Level::Avx512 {
            // SAFETY: the CPU has just reported these features.
            results.push(unsafe { run_avx512(make()) });
        }
        if super::has_avx2() {
            // SAFETY: as above.
            results.push(unsafe { run_avx2(make()) });
        }
    }
    results
}
