//! The order of paths with equal scores: the same from plain Viterbi, recursive enumeration with every forward pass, the funnel, `auto`
//! with any of its engines, and the lazy iterator, so that it does not matter which of them answers.
//!
//! Ties come from whole numbers, where sums are exact, and from sums so large that rounding makes different paths equal.

use crate::common::{Case, enumerate};
use kbest_core::decode::{Auto, Engines, ForwardPass, Funnel, RecursiveEnumeration, Viterbi, kbest_iter};
use kbest_core::random::Random;
use kbest_core::{Decode, Decoder, Edges, Error, Float, Lattice, Path, Scratch};
use proptest::prelude::*;
use std::cmp::Ordering;

fn decoders() -> Vec<Decoder> {
    let passes = [ForwardPass::Simd, ForwardPass::Sparse, ForwardPass::Sieve];
    let by_pass = passes.map(|forward| RecursiveEnumeration { forward }.into());
    let all = Engines::default();
    let autos = [
        all,
        Engines { funnel: false, ..all },
        Engines { recursive_enumeration: false, ..all },
        Engines { funnel: false, recursive_enumeration: false, ..all },
    ]
    .map(|engines| Auto { engines }.into());
    by_pass.into_iter().chain([Viterbi.into(), Funnel.into()]).chain(autos).collect()
}

/// The order by its definition, read from the end: the score up to a position, with the edge out of it, then the label there.
fn by_definition<S: Float>(lattice: &Lattice<'_, S>, a: &Path<S>, b: &Path<S>) -> Ordering {
    let positions = lattice.positions();
    let value = |path: &Path<S>, t: usize| {
        let before = lattice.prefix_score(&path.labels[..t]).unwrap();
        before + lattice.edge_score(t, path.labels[t - 1], path.labels[t])
    };
    let descending = |a: S, b: S| b.partial_cmp(&a).unwrap();
    let mut order = descending(a.score, b.score);
    for t in (0..positions).rev() {
        if order != Ordering::Equal {
            break;
        }
        order = a.labels[t].cmp(&b.labels[t]);
        if order == Ordering::Equal && t > 0 {
            order = descending(value(a, t), value(b, t));
        }
    }
    order
}

/// Labels, and scores to the last bit: the sign of a zero, too.
fn lists<S: Float>(paths: &[Path<S>]) -> Vec<(&[u32], u64)> {
    paths.iter().map(|path| (&*path.labels, path.score.to_f64().to_bits())).collect()
}

/// Where every term is a negative zero, a path scores zero, whoever finds it.
#[test]
fn no_score_is_a_negative_zero() {
    let edges = Edges::dense(3, vec![-0.0f32; 9]).unwrap();
    let lattice = Lattice::new(vec![-0.0; 12], &edges).unwrap().with_start(vec![-0.0; 3]).unwrap();
    let all: Vec<Path<f32>> = kbest_iter(&lattice).collect();
    assert!(all.iter().all(|path| path.score.is_sign_positive()));
    all_give(&lattice, &[2, 40], &all, "negative zeros");
}

/// All decoders give the first `k` of these paths.
fn all_give<S: Float>(lattice: &Lattice<'_, S>, ks: &[usize], expected: &[Path<S>], context: &str) {
    let mut scratch = Scratch::new();
    for &k in ks {
        let wanted = lists(&expected[..k.min(expected.len())]);
        for decoder in decoders() {
            match decoder.decode_kbest(lattice, k, &mut scratch) {
                Ok(answer) => assert_eq!(lists(&answer.paths), wanted, "{decoder:?}, k = {k}, {context}"),
                Err(error) => assert!(error == Error::NoPath && wanted.is_empty(), "{error} {context}"),
            }
        }
    }
    let most = ks.iter().copied().max().unwrap().min(expected.len());
    let paths: Vec<Path<S>> = kbest_iter(lattice).take(most).collect();
    assert_eq!(lists(&paths), lists(&expected[..most]), "{context}");
}

fn follow_the_definition<S: Float>(case: &Case) {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let mut all = enumerate(&lattice);
    all.sort_by(|a, b| by_definition(&lattice, a, b));
    all_give(&lattice, &[2, 3, 10, 60, 500], &all, &format!("{case:?}"));
}

fn agree<S: Float>(lattice: &Lattice<'_, S>, ks: &[usize], context: &str) {
    let most = ks.iter().copied().max().unwrap();
    let expected = RecursiveEnumeration::default().decode_kbest(lattice, most, &mut Scratch::new());
    all_give(lattice, ks, &expected.map_or(vec![], |answer| answer.paths), context);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn short_lattices(seed in any::<u64>()) {
        let sizes = [(4, 5), (3, 9), (8, 2), (2, 30)];
        let (positions, labels) = sizes[seed as usize % sizes.len()];
        let case = Case::random(seed, positions, labels);
        follow_the_definition::<f32>(&case);
        follow_the_definition::<f64>(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn longer_lattices(seed in any::<u64>()) {
        let case = Case::random(seed, 20, 30);
        let edges = case.edges::<f32>();
        agree(&case.lattice(&edges), &[2, 5, 40, 300], &format!("{case:?}"));
    }

    /// Huge and tiny scores, negative zeros, near-ties.
    #[test]
    fn wild_lattices(seed in any::<u64>()) {
        let (case, _) = Case::wild(seed, 12, 12);
        if !case.is_out_of_range::<f32>() {
            let edges = case.edges::<f32>();
            agree(&case.lattice(&edges), &[2, 20, 150], &format!("{case:?}"));
        }
        let edges = case.edges::<f64>();
        agree(&case.lattice(&edges), &[2, 20, 150], &format!("{case:?}"));
    }

    /// Sums in which an edge changes the last bits or nothing at all.
    #[test]
    fn rounding_makes_paths_equal(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let r = &mut random;
        let (positions, labels) = (2 + r.below(12), 2 + r.below(12));
        let (large, step) = ([300.0, 5e3, 2e5][r.below(3)], [1e-4, 3e-3, 0.07][r.below(3)]);
        let edges: Vec<f32> = (0..labels * labels).map(|_| (step * r.below(9) as f64) as f32).collect();
        let nodes: Vec<f32> =
            (0..positions * labels).map(|_| (large + step * r.below(7) as f64) as f32).collect();
        let edges = if r.chance(0.5) {
            Edges::dense(labels, edges).unwrap()
        } else {
            let to: Vec<u32> = (0..labels as u32).rev().collect();
            let from: Vec<u32> = (0..labels as u32).collect();
            let base = if r.chance(0.3) { f32::NEG_INFINITY } else { edges[0] };
            let both = |a: &[u32], b: &[u32]| [a, b].concat();
            let (from, to) = (both(&from, &from[1..]), both(&from, &to[1..]));
            let mut pairs: Vec<(u32, u32)> = from.into_iter().zip(to).collect();
            pairs.sort_unstable();
            pairs.dedup();
            let (from, to): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
            Edges::sparse(labels, base, &from, &to, &edges[..from.len()]).unwrap()
        };
        let mut border = || (0..labels).map(|_| (step * r.below(5) as f64) as f32).collect::<Vec<_>>();
        let (start, end) = (border(), border());
        let lattice = Lattice::new(nodes, &edges).unwrap().with_start(start).unwrap().with_end(end).unwrap();
        agree(&lattice, &[2, 10, 100], &format!("seed {seed}"));
        if labels.pow(positions as u32) <= 3000 {
            let mut all = enumerate(&lattice);
            all.sort_by(|a, b| by_definition(&lattice, a, b));
            all_give(&lattice, &[2, 30, 200], &all, &format!("seed {seed}"));
        }
    }
}
