//! Huang et al. (2012): Table 1, the cost of the k-best algorithms, counted in edges. (Figure 3 is a test of
//! `decode/viterbi_astar.rs`, which sees the agenda.)

use crate::common::Random;
use kbest_core::decode::{
    Astar, Heuristic, IterativeViterbiAstar, PrefixBeam, RecursiveEnumeration, Viterbi, ViterbiAstar,
};
use kbest_core::simd::padded;
use kbest_core::{Counters, Decode, Edges, Lattice, Scratch};

const POSITIONS: usize = 12;

/// Nothing can be pruned: whole numbers at random, so that sums are exact.
fn noise(labels: usize) -> (Vec<f64>, Edges<f64>) {
    let mut random = Random::new(labels as u64);
    let mut scores = |count: usize| (0..count).map(|_| random.below(50) as f64).collect::<Vec<_>>();
    (scores(POSITIONS * labels), Edges::dense(labels, scores(labels * labels)).unwrap())
}

/// Label 0, the most frequent, wins by far, the next ones follow at a distance, and all edges are equal.
fn clear(labels: usize) -> (Vec<f64>, Edges<f64>) {
    let node = |i: usize| match i % labels {
        0 => 1000.0,
        y @ 1..=3 => 900.0 - (i / labels) as f64 - 20.0 * y as f64,
        _ => 0.0,
    };
    ((0..POSITIONS * labels).map(node).collect(), Edges::dense(labels, vec![1.0; labels * labels]).unwrap())
}

fn counted(decoder: &impl Decode, (nodes, edges): &(Vec<f64>, Edges<f64>), k: usize) -> Counters {
    let lattice = Lattice::new(nodes.as_slice(), edges).unwrap();
    let answer = decoder.decode_kbest(&lattice, k, &mut Scratch::counting()).unwrap();
    assert_eq!(answer.paths.len(), k);
    answer.counters.unwrap()
}

/// `k T L` for the beam, at best and at worst.
#[test]
fn the_beam_reads_k_rows_a_position() {
    for labels in [20, 90] {
        for k in [2, 5, 15] {
            for lattice in [noise(labels), clear(labels)] {
                let counters = counted(&PrefixBeam::default(), &lattice, k);
                assert_eq!(counters.edges, (k * (POSITIONS - 1) * labels) as u64);
            }
        }
    }
}

/// `k T L^2` for k-best Viterbi, at best and at worst: its edges are read once and each of the `k` members of a list
/// is chosen among `L`.
#[test]
fn viterbi_reads_every_edge() {
    for labels in [20, 90] {
        for lattice in [noise(labels), clear(labels)] {
            assert_eq!(counted(&Viterbi, &lattice, 5).edges, ((POSITIONS - 1) * labels * labels) as u64);
        }
    }
}

/// `T L^2 + k T L` for Viterbi A*, at best and at worst: the forward pass, then for each path a walk back and the branches
/// of all its positions.
#[test]
fn viterbi_astar_reads_every_edge_once_and_a_row_for_each_position_of_a_path() {
    for labels in [20, 90] {
        for k in [1, 5, 40] {
            for lattice in [noise(labels), clear(labels)] {
                let forward = ((POSITIONS - 1) * labels * labels) as u64;
                let edges = counted(&ViterbiAstar, &lattice, k).edges;
                let most = (k * (POSITIONS - 1) * (labels + padded(labels))) as u64;
                assert!((forward..=forward + most).contains(&edges), "{edges}, {labels} labels, k = {k}");
                let ours = counted(&RecursiveEnumeration::default(), &lattice, k).edges;
                assert!(ours <= forward + most, "{ours}: recursive enumeration, {labels} labels, k = {k}");
            }
        }
    }
}

/// `k T L` to `k T L^2` for A*: each of the `k` best ways to a node is opened at most once, and with clear nodes and an
/// exact estimate only those of best paths.
#[test]
fn astar_opens_between_one_way_a_position_and_k_ways_a_node() {
    for labels in [20, 90] {
        for k in [2, 5] {
            for heuristic in Heuristic::ALL {
                let worst = counted(&Astar { heuristic }, &noise(labels), k).edges;
                let active = match heuristic {
                    Heuristic::Naive | Heuristic::CarpeDiem => 0,
                    _ => labels + 1, // a backward pass over all labels, at most
                };
                let most = k * POSITIONS * labels * labels + POSITIONS * active * active;
                assert!(worst <= most as u64, "{heuristic:?}: {worst}, {labels} labels, k = {k}");
            }
            let best = counted(&Astar { heuristic: Heuristic::Naive }, &clear(labels), k).edges;
            assert!(best <= (2 * k * POSITIONS * labels) as u64, "{best}, {labels} labels, k = {k}");
        }
    }
}

/// `T + k T` at best for iterative Viterbi A*: beside the beam of its first lower bound (`k T L`), nothing depends on the
/// number of labels.
#[test]
fn iterative_viterbi_astar_does_not_depend_on_the_labels_at_best() {
    for k in [2, 5] {
        let beside_the_beam = |labels: usize| {
            let edges = counted(&IterativeViterbiAstar, &clear(labels), k).edges;
            edges - (k * (POSITIONS - 1) * labels) as u64
        };
        let few = beside_the_beam(64);
        assert_eq!(few, beside_the_beam(1024), "k = {k}");
        assert!(few <= (200 * k * POSITIONS) as u64, "{few}, k = {k}");
    }
}
