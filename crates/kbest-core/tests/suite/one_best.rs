//! The chain of trust for 1-best: enumeration of all paths -> plain Viterbi -> every other exact decoder.
//!
//! Small cases (up to a few thousand paths) are enumerated; larger ones are compared with Viterbi, which is trusted by
//! then. With whole numbers, sums are exact and ties frequent, so score *and* path must be equal; with real numbers the
//! forward order of additions is the judge's, so they must be equal there, too.

use crate::common::{Case, Family, enumerate, exact_decoders, soak_seeds};
use kbest_core::decode::{Auto, Engines, Viterbi};
use kbest_core::{Decode, Decoder, Error, Float, Scratch};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Viterbi against all paths.
fn viterbi_is_right<S: Float>(case: &Case) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let answer = Viterbi.decode(&lattice, &mut Scratch::new());
    match enumerate(&lattice).first() {
        None => assert_eq!(answer.unwrap_err(), Error::NoPath, "{case:?}"),
        Some(best) => {
            let answer = answer.unwrap();
            assert_eq!(answer.best().score, best.score, "{case:?}");
            if case.numbers == crate::common::Numbers::Whole {
                assert_eq!(answer.best().labels, best.labels, "{case:?}");
            }
        }
    }
}

/// Every exact decoder against Viterbi, with one scratch for all, as users do.
pub(super) fn all_agree<S: Float>(case: &Case, scratch: &mut Scratch<S>, decoders: &[Decoder]) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let expected = Viterbi.decode(&lattice, scratch);
    for decoder in decoders {
        let answer = decoder.decode(&lattice, scratch);
        match (&expected, &answer) {
            (Ok(expected), Ok(answer)) => {
                assert!(answer.exact, "{decoder:?} does not claim to be exact for {case:?}");
                assert_eq!(answer.best(), expected.best(), "{decoder:?} on {case:?}");
                assert_eq!(lattice.path_score(&answer.best().labels).unwrap(), answer.best().score);
            }
            (expected, answer) => {
                assert_eq!(answer.as_ref().err(), expected.as_ref().err(), "{decoder:?} on {case:?}")
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn viterbi_equals_enumeration(seed in any::<u64>()) {
        let case = Case::random(seed, 5, 5);
        viterbi_is_right::<f64>(&case);
        viterbi_is_right::<f32>(&case);
    }

    #[test]
    fn all_decoders_agree_on_small_lattices(seed in any::<u64>()) {
        let case = Case::random(seed, 6, 6);
        let decoders = exact_decoders();
        all_agree::<f64>(&case, &mut Scratch::counting(), &decoders);
        all_agree::<f32>(&case, &mut Scratch::new(), &decoders);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_decoders_agree_on_larger_lattices(seed in any::<u64>()) {
        let case = Case::random(seed, 20, 70);
        let decoders = exact_decoders();
        all_agree::<f64>(&case, &mut Scratch::new(), &decoders);
        all_agree::<f32>(&case, &mut Scratch::counting(), &decoders);
    }
}

/// Auto with each engine switched off in turn, with each alone, and with none: every branch of the choice is taken.
fn auto_variants() -> Vec<Decoder> {
    let mut variants = vec![];
    for bits in 0..32 {
        let on = |bit: u32| bits >> bit & 1 == 1;
        let (funnel, viterbi_sparse) = (on(0), on(1));
        let engines = Engines {
            funnel,
            viterbi_sparse,
            viterbi_simd: on(2),
            sieve: on(4),
            recursive_enumeration: on(3),
        };
        variants.push(Decoder::Auto(Auto { engines }));
    }
    variants
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn auto_is_right_whatever_is_switched_off(seed in any::<u64>(), k in 1usize..7) {
        let case = Case::random(seed, 12, 90);
        let variants = auto_variants();
        all_agree::<f32>(&case, &mut Scratch::new(), &variants);
        let edges = case.edges::<f64>();
        let lattice = case.lattice(&edges);
        let scores = |decoder: &Decoder| {
            let answer = decoder.decode_kbest(&lattice, k, &mut Scratch::new());
            answer.map(|answer| answer.paths.iter().map(|path| path.score).collect::<Vec<_>>())
        };
        let expected = scores(&Viterbi.into());
        for variant in &variants {
            prop_assert_eq!(scores(variant), expected.clone(), "{:?} on {:?}", variant, case);
        }
    }
}

/// `make soak`: runs `KBEST_SOAK` lattices of every family, with one scratch for all shapes, refusals between them.
#[test]
#[ignore = "long: run by `make soak`"]
fn soak() {
    let seeds = soak_seeds();
    let (first, lattices) = (seeds.start, seeds.end - seeds.start);
    let decoders = exact_decoders();
    let (mut single, mut double) = (Scratch::new(), Scratch::new());
    let mut families = BTreeMap::new();
    for seed in seeds {
        let (positions, labels) = if seed.is_multiple_of(8) { (20, 60) } else { (8, 12) };
        let (case, family) = Case::wild(seed, positions, labels);
        let (count, refused) = families.entry(format!("{family:?}")).or_insert((0, 0));
        *count += 1;
        if case.is_out_of_range::<f32>() {
            *refused += 1;
        } else {
            all_agree::<f32>(&case, &mut single, &decoders);
        }
        all_agree::<f64>(&case, &mut double, &decoders);
        if (seed - first + 1).is_multiple_of(100_000) {
            println!("{} lattices, {} decoders, all agree", seed - first + 1, decoders.len());
        }
    }
    println!("lattices by family, and how many of them are out of range in f32: {families:?}");
    println!(
        "{lattices} lattices (seeds from {first}), {} decoders, f32 and f64, level {}: all agree",
        decoders.len(),
        kbest_core::simd::level().name()
    );
}

/// The same on a few, at every run of the tests.
#[test]
fn wild_lattices() {
    let decoders = exact_decoders();
    let (mut single, mut double) = (Scratch::new(), Scratch::new());
    let mut refused = 0;
    for seed in 0..1500 {
        let (case, family) = Case::wild(seed, 8, 20);
        match case.is_out_of_range::<f32>() {
            true => {
                assert_eq!(family, Family::Huge, "{case:?}");
                refused += 1;
            }
            false => all_agree::<f32>(&case, &mut single, &decoders),
        }
        all_agree::<f64>(&case, &mut double, &decoders);
    }
    assert!((20..180).contains(&refused), "{refused} of about 190");
}
