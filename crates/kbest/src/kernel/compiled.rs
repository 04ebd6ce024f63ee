//! Plain loops, compiled for the CPU at hand.
//!
//! **Why.** What every build for x86-64 is made for has short vectors, and no instruction that selects one of two floats, so
//! that a loop meant to have no branch gets one. **How.** A [`Loop`] is inlined into a function for each level, and the
//! compiler makes of it what that level has. No operation is fused or reordered: the results are the same. **When not.**
//! A loop must be long, or hard to foresee, to be worth the call.

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::level;

/// A loop, with all that it needs.
pub(crate) trait Loop {
    /// What it leaves.
    type Result;

    /// Runs it. To be marked `#[inline(always)]`, as all that it calls often: what is not inlined is compiled for any CPU.
    fn run(self) -> Self::Result;
}

/// Runs a loop, compiled for this CPU. (On ARM, every build has its vectors.)
#[inline]
pub(crate) fn run<L: Loop>(work: L) -> L::Result {
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

// `best_level` in `mod.rs` asks for all of these.
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

/// The results of a loop on every level that this CPU has, plain first.
#[cfg(test)]
pub(super) fn on_each_level<L: Loop>(make: impl Fn() -> L) -> Vec<L::Result> {
    let mut results = vec![make().run()];
    #[cfg(target_arch = "x86_64")]
    {
        if super::best_level() == Level::Avx512 {
            // SAFETY: the CPU has just said so.
            results.push(unsafe { run_avx512(make()) });
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            results.push(unsafe { run_avx2(make()) });
        }
    }
    results
}
