//! What the papers prove about the work of staggered decoding and A*, checked by counters (never by timing).
//!
//! Kaji et al. (2010): Lemma 2 (at most `log2 L + 1` rounds), Theorem 2 (`T` at best, `4/3 T L^2` at worst; `T L` at
//! best with the beam of one, section 3.5). Huang et al. (2012), section 4.1: A* opens one node per position at best.

use crate::common::{Case, Random};
use kbest_core::decode::{Astar, Expansion, Heuristic, IterativeAstar, Staggered, Viterbi};
use kbest_core::{Counters, Decode, Edges, Error, Lattice, Scratch};
use proptest::prelude::*;

const BOTH: [Staggered; 2] =
    [Staggered { expansion: Expansion::AllColumns }, Staggered { expansion: Expansion::ColumnsOnPath }];

fn counters(decoder: &impl Decode, lattice: &Lattice<'_, f64>) -> Counters {
    let answer = decoder.decode(lattice, &mut Scratch::counting()).unwrap();
    assert_eq!(answer.best(), Viterbi.decode(lattice, &mut Scratch::new()).unwrap().best());
    answer.counters.unwrap()
}

/// `ceil(log2 L)`: the levels that have a degenerate label.
fn levels(labels: usize) -> u64 {
    labels.next_power_of_two().trailing_zeros().into()
}

/// The largest number of edges that staggered decoding reads: in round `m`, columns have `2^m` active labels and a
/// degenerate one, but the last round has all `L` and none; before that, the beam of one reads `L` per step.
fn most_edges(positions: usize, labels: usize) -> u64 {
    let (steps, labels) = (positions as u64 - 1, labels as u64);
    let growing: u64 = (0..levels(labels as usize)).map(|m| (2u64.pow(m as u32) + 1).pow(2)).sum();
    steps * (labels + growing + labels * labels)
}

/// Every label ranked by `order`; the first one wins at every position.
fn first_label_wins(positions: usize, labels: usize, order: Vec<u32>) -> (Vec<f64>, Edges<f64>) {
    let mut random = Random::new(7);
    let mut nodes: Vec<f64> = (0..positions * labels).map(|_| random.unit()).collect();
    for row in nodes.chunks_exact_mut(labels) {
        row[order[0] as usize] = 9.0;
    }
    let edges = (0..labels * labels).map(|_| random.unit()).collect::<Vec<_>>();
    (nodes, Edges::dense(labels, edges).unwrap().ranked(order).unwrap())
}

#[test]
fn one_round_if_the_first_label_wins_everywhere() {
    let (positions, labels) = (30, 100);
    let (nodes, edges) = first_label_wins(positions, labels, Random::new(1).shuffled(labels));
    let lattice = Lattice::new(nodes, &edges).unwrap();
    for decoder in BOTH {
        let counters = counters(&decoder, &lattice);
        assert_eq!(counters.rounds, 1, "{decoder:?}");
        assert_eq!(counters.nodes, 2 * positions as u64, "an active and a degenerate label per column");
        // Four edges per step, and those of the beam of one.
        assert_eq!(counters.edges, (positions as u64 - 1) * (4 + labels as u64), "{decoder:?}");
    }
    let counters = counters(&IterativeAstar, &lattice);
    assert_eq!(counters.rounds, 1);
    assert!(counters.edges <= 6 * positions as u64, "no more than three ways open at a position");
}

#[test]
fn more_active_labels_only_where_the_path_needs_them() {
    let (positions, labels) = (40, 256);
    let (mut nodes, edges) = first_label_wins(positions, labels, (0..labels as u32).collect());
    nodes[17 * labels + 200] = 50.0;
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let (all, on_path) = (counters(&BOTH[0], &lattice), counters(&BOTH[1], &lattice));
    // Label 200 becomes active in the last round, whatever columns grow.
    assert!(on_path.edges < all.edges, "{} < {}", on_path.edges, all.edges);
    let elsewhere = |t: usize| t.abs_diff(17) > 1;
    let most =
        |nodes_at: &[u32]| (0..positions).filter(|&t| elsewhere(t)).map(|t| nodes_at[t]).max().unwrap();
    assert!(u64::from(most(&on_path.nodes_at)) <= 2 * on_path.rounds, "columns off the path did not grow");
}

/// All paths tie: nothing can be pruned or proven before every label is active.
#[test]
fn the_worst_case_is_four_thirds_of_viterbi() {
    for labels in [1, 2, 3, 16, 64, 100, 128] {
        let positions = 10;
        let edges = Edges::dense(labels, vec![0.0; labels * labels]).unwrap();
        let lattice = Lattice::new(vec![0.0; positions * labels], &edges).unwrap();
        for decoder in BOTH {
            let counters = counters(&decoder, &lattice);
            assert_eq!(counters.rounds, levels(labels) + 1, "{decoder:?}, {labels} labels");
            assert_eq!(counters.edges, most_edges(positions, labels), "{decoder:?}, {labels} labels");
        }
        // Theorem 2's constant, for powers of two: 4/3 L^2 and lower-order terms.
        if labels.is_power_of_two() {
            let (steps, l) = (positions as f64 - 1.0, labels as f64);
            assert!(most_edges(positions, labels) as f64 <= steps * (4.0 / 3.0 * l * l + 3.0 * l + l.log2()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// On any lattice, with any order and any ties.
    #[test]
    fn rounds_and_edges_stay_within_the_theorems(seed in any::<u64>()) {
        let case = Case::random(seed, 12, 70);
        prop_assume!(case.positions > 0);
        let edges = case.edges::<f64>();
        let lattice = case.lattice(&edges);
        let rounds = [levels(case.labels) + 1, case.positions as u64 * levels(case.labels) + 2];
        for (decoder, rounds) in BOTH.into_iter().zip(rounds) {
            match decoder.decode(&lattice, &mut Scratch::counting()) {
                Ok(answer) => {
                    let counters = answer.counters.unwrap();
                    prop_assert!(counters.rounds <= rounds, "{} rounds, {case:?}", counters.rounds);
                    if decoder.expansion == Expansion::AllColumns {
                        prop_assert!(counters.edges <= most_edges(case.positions, case.labels), "{case:?}");
                    }
                }
                Err(error) => prop_assert_eq!(error, Error::NoPath),
            }
        }
    }
}

#[test]
fn a_star_opens_one_node_a_position_at_best() {
    let (positions, labels) = (30, 60);
    let (nodes, edges) = first_label_wins(positions, labels, (0..labels as u32).collect());
    let lattice = Lattice::new(nodes, &edges).unwrap();
    // 64 active labels are all of them: the estimate is exact.
    let counters = counters(&Astar { heuristic: Heuristic::M6 }, &lattice);
    let backward = (positions as u64 - 1) * (labels * labels) as u64;
    assert_eq!(counters.nodes, positions as u64 - 1, "the last position needs no opening");
    assert_eq!(counters.edges - backward, (positions as u64 - 1) * labels as u64);
}

/// A hundred thousand positions, where single-precision sums are too coarse to prove much: still few rounds, and
/// each node opened once or twice.
#[test]
fn long_sequences_do_not_cascade() {
    let (positions, labels) = (100_000, 3);
    let mut random = Random::new(11);
    let mut scores =
        |n: usize| (0..n).map(|_| (random.unit() * 10.0).round() as f32 / 10.0).collect::<Vec<_>>();
    let edges = Edges::dense(labels, scores(labels * labels)).unwrap();
    let lattice = Lattice::new(scores(positions * labels), &edges).unwrap();
    let expected = Viterbi.decode(&lattice, &mut Scratch::new()).unwrap();
    let mut scratch = Scratch::counting();
    for heuristic in Heuristic::ALL {
        let answer = Astar { heuristic }.decode(&lattice, &mut scratch).unwrap();
        assert_eq!(answer.best(), expected.best(), "{heuristic:?}");
        assert!(answer.counters.unwrap().nodes <= 2 * (positions * labels) as u64, "{heuristic:?}");
    }
    for decoder in BOTH {
        let answer = decoder.decode(&lattice, &mut scratch).unwrap();
        assert_eq!(answer.best(), expected.best(), "{decoder:?}");
        assert!(answer.counters.unwrap().rounds <= 30, "{decoder:?}");
    }
    let answer = IterativeAstar.decode(&lattice, &mut scratch).unwrap();
    assert_eq!(answer.best(), expected.best());
    assert!(answer.counters.unwrap().rounds <= 30);
}
