//! Beam search: its answers are legal and have the scores it reports, and certified answers are correct.

use crate::common::{Case, Random, cast};
use kbest_core::decode::{Beam, PrefixBeam, Viterbi};
use kbest_core::{Decode, Edges, Error, Float, Lattice, Scratch};
use proptest::prelude::*;
use std::collections::HashSet;

/// A beam's answer against k-best Viterbi; returns whether it was certified.
pub(super) fn check<S: Float>(case: &Case, width: usize, k: usize) -> bool {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let expected = Viterbi.decode_kbest(&lattice, k, &mut Scratch::new());
    let answer = Beam { width }.decode_kbest(&lattice, k, &mut Scratch::counting());
    let (Ok(expected), Ok(answer)) = (&expected, &answer) else {
        assert_eq!(answer.err(), expected.err(), "width {width}, k {k}, {case:?}");
        return true;
    };
    assert_eq!(answer.paths.len(), expected.paths.len(), "width {width}, k {k}, {case:?}");
    let mut seen = HashSet::new();
    for (path, best) in answer.paths.iter().zip(&expected.paths) {
        assert_eq!(lattice.path_score(&path.labels).unwrap(), path.score);
        assert!(seen.insert(&path.labels));
        assert!(path.score <= best.score, "width {width}, k {k}, {case:?}");
        assert!(!answer.exact || path.score == best.score, "width {width}, k {k}, {case:?}");
    }
    if answer.exact {
        let best = Viterbi.decode(&lattice, &mut Scratch::new()).unwrap();
        assert_eq!(answer.best(), best.best(), "width {width}, k {k}, {case:?}");
    }
    assert!(answer.exact || width < lattice.labels(), "a beam that drops nothing is exact");
    answer.exact
}

/// The same for prefixes: as many paths as exist, legal, distinct and in order, none better than the best; certified ones
/// are the best.
pub(super) fn check_prefixes<S: Float>(case: &Case, width: usize, k: usize) -> bool {
    let edges = case.edges::<S>();
    let lattice = case.lattice(&edges);
    let expected = Viterbi.decode_kbest(&lattice, k, &mut Scratch::new());
    let answer = PrefixBeam { width }.decode_kbest(&lattice, k, &mut Scratch::counting());
    let (Ok(expected), Ok(answer)) = (&expected, &answer) else {
        assert_eq!(answer.err(), expected.err(), "width {width}, k {k}, {case:?}");
        return true;
    };
    assert_eq!(answer.paths.len(), expected.paths.len(), "width {width}, k {k}, {case:?}");
    assert!(answer.paths.is_sorted_by(|a, b| a.score >= b.score), "width {width}, k {k}, {case:?}");
    let mut seen = HashSet::new();
    for (path, best) in answer.paths.iter().zip(&expected.paths) {
        assert_eq!(lattice.path_score(&path.labels).unwrap(), path.score);
        assert!(seen.insert(&path.labels));
        assert!(path.score <= best.score, "width {width}, k {k}, {case:?}");
        assert!(!answer.exact || path.score == best.score, "width {width}, k {k}, {case:?}");
    }
    if answer.exact {
        assert_eq!(answer.best(), Viterbi.decode(&lattice, &mut Scratch::new()).unwrap().best());
    }
    answer.exact
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn prefixes_are_paths(seed in any::<u64>()) {
        let case = Case::random(seed, 8, 9);
        for (width, k) in [(1, 1), (3, 1), (200, 1), (1, 2), (2, 5), (8, 30), (1, 300)] {
            check_prefixes::<f64>(&case, width, k);
            check_prefixes::<f32>(&case, width, k);
        }
    }
}

/// With as many prefixes as there are paths nothing is dropped, and the answer is certified.
#[test]
fn prefixes_that_are_all_kept_are_certified() {
    let edges = Edges::dense(2, vec![0.0f32, 0.0, 0.0, 10.0]).unwrap();
    let lattice = Lattice::new(vec![1.0f32, 0.0, 1.0, 0.0], &edges).unwrap();
    let narrow = PrefixBeam { width: 1 }.decode(&lattice, &mut Scratch::new()).unwrap();
    assert_eq!((narrow.best().score, narrow.exact), (2.0, false));
    let wide = PrefixBeam { width: 4 }.decode(&lattice, &mut Scratch::new()).unwrap();
    assert_eq!((wide.best().score, wide.exact), (10.0, true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn certificates_are_right(seed in any::<u64>()) {
        let case = Case::random(seed, 10, 20);
        for (width, k) in [(1, 1), (3, 1), (8, 1), (20, 1), (1, 2), (2, 5), (8, 30)] {
            check::<f64>(&case, width, k);
            check::<f32>(&case, width, k);
        }
    }
}

/// Strong nodes: the certificate is not only correct but actually given.
#[test]
fn certificates_are_given_when_nodes_are_strong() {
    let (positions, labels) = (12, 60);
    let mut random = Random::new(3);
    let edges: Vec<f64> = (0..labels * labels).map(|_| random.unit()).collect();
    let edges = Edges::dense(labels, edges).unwrap();
    let strong = |y: usize| if y.is_multiple_of(10) { 30.0 } else { 0.0 };
    let nodes: Vec<f64> = (0..positions * labels).map(|i| strong(i % labels) + random.unit()).collect();
    let lattice = Lattice::new(nodes, &edges).unwrap();
    for k in [1, 5] {
        let answer = Beam::default().decode_kbest(&lattice, k, &mut Scratch::new()).unwrap();
        let expected = Viterbi.decode_kbest(&lattice, k, &mut Scratch::new()).unwrap();
        assert!(answer.exact, "k = {k}");
        assert_eq!(answer.best(), expected.best());
    }
}

/// The last position is a position like any other: as many labels are kept as the beam is wide, by scores that include
/// the end.
#[test]
fn the_last_position_is_no_wider_than_the_others() {
    let (positions, labels) = (6, 50);
    let mut random = Random::new(5);
    let mut scores = |count: usize| (0..count).map(|_| (10.0 * random.unit()).floor()).collect::<Vec<f64>>();
    let edges = Edges::dense(labels, scores(labels * labels)).unwrap();
    let plain = Lattice::new(scores(positions * labels), &edges).unwrap();
    let ended =
        plain.clone().with_end(scores(labels).iter().map(|end| 10.0 * end).collect::<Vec<_>>()).unwrap();
    for (lattice, (width, k)) in [&plain, &ended].into_iter().flat_map(|l| [(4, 1), (4, 9)].map(|wk| (l, wk)))
    {
        let answer = Beam { width }.decode_kbest(lattice, k, &mut Scratch::counting()).unwrap();
        assert_eq!(answer.counters.as_ref().unwrap().nodes_at, vec![width.max(k) as u32; positions]);
        // The best paths through all labels of the last position that the beam reaches.
        let reached = Beam { width: labels }.decode_kbest(lattice, k, &mut Scratch::new()).unwrap();
        assert!(reached.exact && answer.best().score <= reached.best().score);
        let last = *answer.best().labels.last().unwrap();
        let mut other = answer.best().labels.clone();
        for y in 0..labels as u32 {
            other[positions - 1] = y;
            let score = lattice.path_score(&other).unwrap();
            assert!(score < answer.best().score || score == answer.best().score && y >= last);
        }
    }
}

/// A beam of one hits a dead end, and returns neither a wrong error nor a wrong certificate.
#[test]
fn a_beam_that_dies_is_widened() {
    let no = f64::NEG_INFINITY;
    #[rustfmt::skip]
    let edges = [
        0.0, 0.0, no,
        0.0, 0.0, no,
        0.0, 0.0, 0.0,
    ];
    let edges = Edges::dense(3, edges).unwrap();
    let nodes = vec![5.0, 4.0, 0.0, no, no, 1.0];
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let answer = Beam { width: 1 }.decode(&lattice, &mut Scratch::counting()).unwrap();
    assert_eq!((answer.best().labels.as_slice(), answer.best().score), (&[2, 2][..], 1.0));
    assert!(answer.counters.unwrap().rounds > 1);

    let lattice = Lattice::new(cast::<f64>(&[5.0, 4.0, no, no, no, 1.0]), &edges).unwrap();
    assert_eq!(Beam { width: 1 }.decode(&lattice, &mut Scratch::new()).unwrap_err(), Error::NoPath);
}

/// The narrow beam is wrong here, and does not claim otherwise.
#[test]
fn a_garden_path_is_not_certified() {
    let edges = Edges::dense(2, vec![0.0f32, 0.0, 0.0, 10.0]).unwrap();
    let lattice = Lattice::new(vec![1.0f32, 0.0, 1.0, 0.0], &edges).unwrap();
    let narrow = Beam { width: 1 }.decode(&lattice, &mut Scratch::new()).unwrap();
    assert_eq!((narrow.best().score, narrow.exact), (2.0, false));
    let wide = Beam { width: 2 }.decode(&lattice, &mut Scratch::new()).unwrap();
    assert_eq!((wide.best().score, wide.exact), (10.0, true));
}
