//! What the CPU can do: detected once, and proven to the code that needs it.
//!
//! Code compiled for an instruction set takes a token of no size ([`Avx512`], [`Avx2`], [`Neon`]). Only detection makes one, so
//! no other code can call it.

use crate::error::{Error, Result};
use std::sync::OnceLock;

/// Declares a token: its features and the macro that detects them.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! token {
    ($name:ident, $detected:path, $($feature:tt),+) => {
        /// Proof that this CPU has the features
        #[doc = concat!($("`", $feature, "` "),+)]
        #[derive(Debug, Clone, Copy)]
        pub(super) struct $name(()); // private: made below, and nowhere else

        impl $name {
            #[cfg(all(test, target_arch = "x86_64"))]
            const FEATURES: &[&str] = &[$($feature),+];

            /// The proof, if this CPU has all of them.
            pub(super) fn detect() -> Option<Self> {
                use $detected as detected;
                ($(detected!($feature))&&+).then_some($name(()))
            }
        }
    };
}

// All features that code for this level is compiled with. (The few CPUs that have AVX-512 without the others use AVX2.)
#[cfg(target_arch = "x86_64")]
token!(
    Avx512,
    std::arch::is_x86_feature_detected,
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "bmi1",
    "bmi2",
    "lzcnt",
    "popcnt"
);
#[cfg(target_arch = "x86_64")]
token!(Avx2, std::arch::is_x86_feature_detected, "avx2", "popcnt");
#[cfg(target_arch = "aarch64")]
token!(Neon, std::arch::is_aarch64_feature_detected, "neon");

/// An instruction set that this CPU has, with the proof.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cpu {
    /// Needs none.
    Scalar,
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Cpu {
    /// All that this CPU has, the best one last.
    pub(super) fn all() -> impl DoubleEndedIterator<Item = Cpu> {
        let all = [
            Some(Cpu::Scalar),
            #[cfg(target_arch = "aarch64")]
            Neon::detect().map(Cpu::Neon),
            #[cfg(target_arch = "x86_64")]
            Avx2::detect().map(Cpu::Avx2),
            #[cfg(target_arch = "x86_64")]
            Avx512::detect().map(Cpu::Avx512),
        ];
        all.into_iter().flatten()
    }

    fn best() -> Cpu {
        Cpu::all().next_back().unwrap_or(Cpu::Scalar)
    }

    fn level(self) -> Level {
        match self {
            Cpu::Scalar => Level::Scalar,
            #[cfg(target_arch = "aarch64")]
            Cpu::Neon(_) => Level::Neon,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx2(_) => Level::Avx2,
            #[cfg(target_arch = "x86_64")]
            Cpu::Avx512(_) => Level::Avx512,
        }
    }

    /// The one that `KBEST_LEVEL` names, else the best.
    fn asked() -> Result<Cpu> {
        let named = std::env::var_os("KBEST_LEVEL").filter(|name| !name.is_empty());
        let Some(named) = named else { return Ok(Cpu::best()) };
        Cpu::all().find(|cpu| named == cpu.level().name()).ok_or_else(|| {
            let names: Vec<&str> = Cpu::all().map(|cpu| cpu.level().name()).collect();
            let expected = format!("one of {} on this CPU", names.join(", "));
            Error::argument("KBEST_LEVEL", expected, named.display())
        })
    }
}

/// The instruction set in use.
#[inline]
pub(super) fn cpu() -> Cpu {
    static CPU: OnceLock<Cpu> = OnceLock::new();
    *CPU.get_or_init(|| Cpu::asked().unwrap_or_else(|_| Cpu::best()))
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
    /// Whether this CPU has it.
    pub fn is_supported(self) -> bool {
        Cpu::all().any(|cpu| cpu.level() == self)
    }

    /// Name for reports, and for `KBEST_LEVEL`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Scalar => "scalar",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }
}

/// The instruction set that every kernel uses in this process: the one that `KBEST_LEVEL` names (`scalar`, `neon`, `avx2`,
/// `avx512`) if the CPU supports it, else the best one that the CPU supports. See [`check_level`].
pub fn level() -> Level {
    cpu().level()
}

/// The instruction set that [`level`] uses, or why it is not the one that `KBEST_LEVEL` names.
///
/// # Errors
/// [`Error::Argument`] if it names none, or one that the CPU does not support.
pub fn check_level() -> Result<Level> {
    Cpu::asked().map(Cpu::level)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// No code is compiled with a feature that the token it takes does not prove.
    #[test]
    fn tokens_prove_all_features_that_code_is_compiled_with() {
        let (mut token, mut checked) = ("", 0);
        for line in [include_str!("x86.rs"), include_str!("compiled.rs")].iter().flat_map(|file| file.lines())
        {
            if let Some(arguments) = line.strip_prefix("compile_kernels!(") {
                token = arguments.split(", ").nth(1).unwrap();
            } else if let Some((_, argument)) = line.split_once("(_: ") {
                token = argument.split(',').next().unwrap();
            }
            if !line.starts_with("compile_kernels!(") && !line.contains("target_feature(enable") {
                continue;
            }
            let proven = if token == "Avx512" { Avx512::FEATURES } else { Avx2::FEATURES };
            assert!(["Avx512", "Avx2"].contains(&token), "{line}");
            let features = line.split('"').nth(1).unwrap();
            assert!(features.split(',').all(|feature| proven.contains(&feature)), "{token}: {line}");
            checked += 1;
        }
        assert_eq!(checked, 6, "two types and levels of kernels, two levels of loops");
    }
}
