//! The chain of trust for k-best: enumeration of all paths -> every exact k-best decoder, k-best Viterbi among them;
//! on lattices too large to enumerate, k-best Viterbi -> all others.
//!
//! Among equal scores not all decoders have the same order (those that do: `equal_paths.rs`), except for the first path, which is plain
//! Viterbi's. So lists are compared by score; they are correct if each path is also legal, distinct and has the score it claims. Up to 20,000
//! paths are enumerated: five positions of seven labels, or three of twenty-seven.

use crate::common::{Case, enumerate, exact_kbest_decoders, soak_seeds};
use kbest_core::decode::{Viterbi, kbest_iter};
use kbest_core::random::Random;
use kbest_core::{Decode, Decoded, Decoder, Edges, Error, Float, Lattice, Scratch};
use proptest::prelude::*;
use std::collections::HashSet;

/// The largest number of paths to enumerate.
const ENUMERATED: usize = 20_000;

/// The properties of every list of best paths, whatever the scores.
fn check_list<S: Float>(
    lattice: &Lattice<'_, S>,
    k: usize,
    answer: &Decoded<S>,
    context: &dyn Fn() -> String,
) {
    assert!(answer.exact, "{}", context());
    assert!(answer.paths.len() <= k, "{}", context());
    let mut seen = HashSet::new();
    for path in &answer.paths {
        assert!(!path.score.is_forbidden(), "{}", context());
        assert_eq!(lattice.path_score(&path.labels).unwrap(), path.score, "{}", context());
        assert!(seen.insert(path.labels.clone()), "twice {:?}: {}", path.labels, context());
    }
    assert!(answer.paths.is_sorted_by(|a, b| a.score >= b.score), "{}", context());
    let best = Viterbi.decode(lattice, &mut Scratch::new()).unwrap();
    assert_eq!(answer.best(), best.best(), "{}", context());
}

fn scores<S: Float>(answer: &Decoded<S>) -> Vec<S> {
    answer.paths.iter().map(|path| path.score).collect()
}

/// Every decoder against all paths.
pub(super) fn all_are_right<S: Float>(case: &Case, scratch: &mut Scratch<S>, decoders: &[Decoder]) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let all = enumerate(&lattice);
    for decoder in decoders {
        for k in [1, 2, 3, 5, 10, 20, all.len() + 3, usize::MAX] {
            let context = || format!("{decoder:?}, k = {k}, {case:?}");
            match decoder.decode_kbest(&lattice, k, scratch) {
                Err(error) => {
                    assert_eq!(error, Error::NoPath, "{}", context());
                    assert!(all.is_empty(), "{}", context());
                }
                Ok(answer) => {
                    let expected: Vec<S> = all.iter().take(k).map(|path| path.score).collect();
                    assert_eq!(scores(&answer), expected, "{}", context());
                    check_list(&lattice, k, &answer, &context);
                }
            }
        }
    }
}

/// Every decoder against k-best Viterbi.
pub(super) fn all_agree<S: Float>(case: &Case, ks: &[usize], scratch: &mut Scratch<S>, decoders: &[Decoder]) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let most = ks.iter().copied().max().unwrap();
    let expected = Viterbi.decode_kbest(&lattice, most, scratch);
    for decoder in decoders {
        for &k in ks {
            let context = || format!("{decoder:?}, k = {k}, {case:?}");
            match (&expected, decoder.decode_kbest(&lattice, k, scratch)) {
                (Ok(expected), Ok(answer)) => {
                    let first = &scores(expected)[..k.min(expected.paths.len())];
                    assert_eq!(scores(&answer), first, "{}", context());
                    check_list(&lattice, k, &answer, &context);
                    if matches!(decoder, Decoder::Funnel(_) | Decoder::Auto(_)) {
                        assert_eq!(answer.paths, expected.paths[..answer.paths.len()], "{}", context());
                    }
                }
                (expected, answer) => {
                    assert_eq!(answer.as_ref().err(), expected.as_ref().err(), "{}", context());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_decoders_equal_enumeration_on_short_lattices(seed in any::<u64>()) {
        let case = Case::random(seed, 3, 9);
        let decoders = exact_kbest_decoders();
        all_are_right::<f64>(&case, &mut Scratch::counting(), &decoders);
        all_are_right::<f32>(&case, &mut Scratch::new(), &decoders);
    }

    #[test]
    fn all_decoders_equal_enumeration_on_long_lattices(seed in any::<u64>()) {
        let case = Case::random(seed, 8, 2);
        let decoders = exact_kbest_decoders();
        all_are_right::<f64>(&case, &mut Scratch::new(), &decoders);
        all_are_right::<f32>(&case, &mut Scratch::new(), &decoders);
    }

    #[test]
    fn all_decoders_agree(seed in any::<u64>()) {
        let case = Case::random(seed, 15, 30);
        let decoders = exact_kbest_decoders();
        all_agree::<f64>(&case, &[1, 2, 5, 10, 50], &mut Scratch::new(), &decoders);
        all_agree::<f32>(&case, &[1, 2, 5, 10, 50], &mut Scratch::counting(), &decoders);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_decoders_equal_enumeration_up_to_many_paths(seed in any::<u64>()) {
        let sizes = [(5, 7), (3, 27), (14, 2), (9, 3), (2, 140)];
        let (positions, labels) = sizes[seed as usize % sizes.len()];
        let case = Case::random(seed, positions, labels);
        prop_assume!(case.paths().is_some_and(|paths| paths <= ENUMERATED));
        let decoders = exact_kbest_decoders();
        all_are_right::<f64>(&case, &mut Scratch::new(), &decoders);
        all_are_right::<f32>(&case, &mut Scratch::new(), &decoders);
    }

    #[test]
    fn all_decoders_agree_on_many_paths(seed in any::<u64>()) {
        let case = Case::random(seed, 25, 40);
        let decoders = exact_kbest_decoders();
        all_agree::<f64>(&case, &[100, 1000], &mut Scratch::new(), &decoders);
        all_agree::<f32>(&case, &[100, 1000], &mut Scratch::new(), &decoders);
    }
}

/// `make soak`: one lattice for every hundred decoded for one path.
#[test]
#[ignore = "long: run by `make soak`"]
fn soak() {
    let seeds = soak_seeds();
    let decoders = ["funnel", "auto"].map(|name| Decoder::by_name(name).unwrap());
    let (mut single, mut double) = (Scratch::new(), Scratch::new());
    for seed in seeds.clone().step_by(100) {
        let (positions, labels) = [(3, 9), (15, 30), (60, 5), (4, 80), (25, 40)][(seed / 100) as usize % 5];
        let (case, _) = Case::wild(seed, positions, labels);
        if !case.is_out_of_range::<f32>() {
            all_agree::<f32>(&case, &[2, 7, 20, 100, 700], &mut single, &decoders);
        }
        all_agree::<f64>(&case, &[2, 7, 20, 100, 700], &mut double, &decoders);
    }
    println!("every hundredth of the seeds {seeds:?}, up to 700 paths, f32 and f64: all agree");
}

/// A long sequence over sparse edges. Where whole numbers are divided, many paths differ by rounding alone.
fn long<S: Float>(seed: u64, positions: usize, labels: usize, divisor: f64) -> (Vec<S>, Edges<S>) {
    let mut random = Random::new(seed);
    let mut score = |strength: f64| {
        let score = random.normal() * strength;
        S::from_f64(if divisor > 0.0 { (score * divisor).round() / divisor } else { score })
    };
    let nodes = (0..positions * labels).map(|_| score(3.0)).collect();
    let (mut from, mut to) = (vec![], vec![]);
    for p in 0..labels as u32 {
        let some = (0..labels as u32).step_by((labels / 20).max(1)).map(|y| (y + p) % labels as u32);
        to.extend(some);
        from.resize(to.len(), p);
    }
    let scores: Vec<S> = to.iter().map(|_| score(2.0)).collect();
    (nodes, Edges::sparse(labels, S::ZERO, &from, &to, &scores).unwrap())
}

/// Rounding errors add up over long sequences, so that what they may hide decides which labels are kept.
#[test]
fn all_decoders_agree_on_long_sequences() {
    let decoders = ["funnel", "auto"].map(|name| Decoder::by_name(name).unwrap());
    let mut scratch = Scratch::new();
    for seed in 0..24 {
        let (positions, labels) = [(150, 6), (400, 3), (90, 25), (1500, 2)][seed as usize % 4];
        let (nodes, edges) = long::<f32>(seed, positions, labels, [0.0, 10.0, 1.0][seed as usize % 3]);
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let expected = scores(&Viterbi.decode_kbest(&lattice, 60, &mut scratch).unwrap());
        for (decoder, k) in decoders.iter().flat_map(|decoder| [2, 9, 60].map(|k| (decoder, k))) {
            let context = || format!("{decoder:?}, k = {k}, seed {seed}");
            let answer = decoder.decode_kbest(&lattice, k, &mut scratch).unwrap();
            assert_eq!(scores(&answer), expected[..k.min(expected.len())], "{}", context());
            check_list(&lattice, k, &answer, &context);
        }
    }
}

/// Single precision keeps few more labels than double precision does.
#[test]
fn long_sequences_in_single_precision_are_pruned() {
    fn work<S: Float>() -> u64 {
        let (nodes, edges) = long::<S>(7, 1000, 150, 0.0);
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let funnel = Decoder::by_name("funnel").unwrap();
        let answer = funnel.decode_kbest(&lattice, 5, &mut Scratch::counting()).unwrap();
        answer.counters.unwrap().edges
    }
    let (single, double) = (work::<f32>(), work::<f64>());
    assert!(single < 4 * double, "{single} edges in single precision, {double} in double precision");
}

/// The same on a few, at every run of the tests, with every decoder and small `k`.
#[test]
fn wild_lattices() {
    let decoders = exact_kbest_decoders();
    let (mut single, mut double) = (Scratch::new(), Scratch::new());
    for seed in 0..400 {
        let (case, _) = Case::wild(seed, 7, 12);
        if !case.is_out_of_range::<f32>() {
            all_agree::<f32>(&case, &[1, 2, 9], &mut single, &decoders);
        }
        all_agree::<f64>(&case, &[1, 2, 9], &mut double, &decoders);
    }
}

/// More paths than there are labels to change at all positions.
#[test]
fn very_many_paths() {
    for seed in 0..4 {
        let case = Case::random(seed, 12, 9);
        let decoders = [Decoder::by_name("funnel").unwrap(), Decoder::by_name("auto").unwrap()];
        all_agree::<f32>(&case, &[3_000, 20_000], &mut Scratch::new(), &decoders);
    }
}

/// What a decoder remembers from earlier lattices and other `k` (the funnel: losses) may change how it searches, not
/// its answer.
#[test]
fn answers_do_not_depend_on_what_came_before() {
    let (mut single, mut double) = (Scratch::new(), Scratch::new());
    let decoders = exact_kbest_decoders();
    for seed in 0..250 {
        let (positions, labels) = [(3, 9), (15, 30), (60, 5), (4, 80)][seed as usize % 4];
        let case = Case::random(seed, positions, labels);
        let ks: &[usize] = if seed % 10 == 0 { &[2, 300] } else { &[40, 3, 2] };
        all_agree::<f32>(&case, ks, &mut single, &decoders);
        all_agree::<f64>(&case, ks, &mut double, &decoders);
    }
}

/// A published k-best decoder merges its lists at the wrong index: it takes the `i`-th path of the `i`-th best
/// predecessor. Here the best four paths all run through one predecessor, as its first to fourth.
#[test]
fn lists_are_merged_at_the_right_index() {
    let edges = Edges::dense(3, vec![0.0f64; 9]).unwrap();
    #[rustfmt::skip]
    let nodes = vec![
         3.0,  2.0,  0.0,
         0.5,  0.0,  0.0,
        50.0,  0.0,  0.0,
         0.0, 99.0,  0.0,
    ];
    let lattice = Lattice::new(nodes, &edges).unwrap();
    for decoder in exact_kbest_decoders() {
        let answer = decoder.decode_kbest(&lattice, 5, &mut Scratch::new()).unwrap();
        assert_eq!(scores(&answer), [152.5, 152.0, 152.0, 151.5, 151.0], "{decoder:?}");
        assert_eq!(answer.paths[0].labels, [0, 0, 0, 1], "{decoder:?}");
        assert_eq!(answer.paths[3].labels, [1, 0, 0, 1], "{decoder:?}");
        assert!(answer.paths.iter().all(|path| path.labels[2..] == [0, 1]), "{decoder:?}");
    }
}

/// Countless ties: every one of `3^60` paths scores the same, and a thousand distinct ones are wanted.
#[test]
fn all_paths_equal() {
    let edges = Edges::dense(3, vec![0.0f32; 9]).unwrap();
    let lattice = Lattice::new(vec![0.0f32; 3 * 60], &edges).unwrap();
    for decoder in exact_kbest_decoders() {
        let answer = decoder.decode_kbest(&lattice, 1000, &mut Scratch::new()).unwrap();
        assert_eq!(answer.paths.len(), 1000);
        check_list(&lattice, 1000, &answer, &|| format!("{decoder:?}"));
    }
}

/// As large as scores may be: no sum is infinite, and every decoder finds the same paths.
#[test]
fn scores_near_the_end_of_the_range() {
    let edges = Edges::dense(2, vec![0.0f32, 1e37, -2e37, f32::NEG_INFINITY]).unwrap();
    for nodes in [[3e37f32; 4], [0.0, -1.0, 4e37, -4e37], [1.0, -3e37, -3e37, 2.0]] {
        let lattice = Lattice::new(nodes.to_vec(), &edges).unwrap();
        for k in 1..6 {
            let mut scratch = Scratch::new();
            let expected = Viterbi.decode_kbest(&lattice, k, &mut scratch).unwrap();
            for decoder in exact_kbest_decoders() {
                let answer = decoder.decode_kbest(&lattice, k, &mut scratch).unwrap();
                assert_eq!(scores(&answer), scores(&expected), "{decoder:?}: {nodes:?}, k = {k}");
            }
            let lazy: Vec<f32> = kbest_iter(&lattice).take(k).map(|path| path.score).collect();
            assert_eq!(lazy, scores(&expected), "{nodes:?}, k = {k}");
        }
    }
}

#[test]
fn no_positions_one_path() {
    let edges = Edges::dense(2, vec![0.0f32; 4]).unwrap();
    let lattice = Lattice::new(vec![], &edges).unwrap();
    for decoder in exact_kbest_decoders() {
        let answer = decoder.decode_kbest(&lattice, 7, &mut Scratch::new()).unwrap();
        assert_eq!((answer.paths.len(), answer.best().score), (1, 0.0));
        let refused = decoder.decode_kbest(&lattice, 0, &mut Scratch::new());
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
    }
}

/// A hundred thousand positions: no recursion, and little time for a second and third path.
#[test]
fn long_sequences() {
    let (positions, labels) = (100_000, 3);
    let mut random = crate::common::Random::new(5);
    let edges: Vec<f32> = (0..labels * labels).map(|_| random.unit() as f32).collect();
    let edges = Edges::dense(labels, edges).unwrap();
    let nodes: Vec<f32> = (0..positions * labels).map(|_| random.unit() as f32).collect();
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let expected = Viterbi.decode_kbest(&lattice, 5, &mut Scratch::new()).unwrap();
    for decoder in exact_kbest_decoders() {
        let answer = decoder.decode_kbest(&lattice, 5, &mut Scratch::new()).unwrap();
        assert_eq!(scores(&answer), scores(&expected), "{decoder:?}");
        check_list(&lattice, 5, &answer, &|| format!("{decoder:?}"));
    }
}
