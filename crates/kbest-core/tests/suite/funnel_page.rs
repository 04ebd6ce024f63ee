//! The worked examples of `docs/decoders/funnel.md`: the paths, and the labels opened on the way.

use kbest_core::decode::{Funnel, Viterbi};
use kbest_core::{Decode, Edges, Lattice, Scratch};

/// The edges and node scores of both.
fn example() -> (Edges<f32>, Vec<f32>) {
    #[rustfmt::skip]
    let edges = Edges::dense(4, vec![
        0.0, 2.0, 0.0,  0.0, // A
        0.0, 0.0, 1.0,  0.0, // B
        0.0, 0.0, 0.0, -4.0, // C
        3.0, 0.0, 0.0,  0.0, // D
    ])
    .unwrap();
    #[rustfmt::skip]
    let nodes = vec![
         5.0, 3.0, 1.0,  3.0,
        -3.0, 1.0, 6.0, -2.0,
         0.0, 1.0, 0.0,  6.0,
    ];
    (edges, nodes)
}

const A: u32 = 0;
const B: u32 = 1;
const C: u32 = 2;
const D: u32 = 3;

#[test]
fn the_worked_example_is_true() {
    let (edges, nodes) = example();
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let answer = Funnel.decode(&lattice, &mut Scratch::counting()).unwrap();
    assert_eq!((answer.best().labels.as_slice(), answer.best().score), (&[A, B, D][..], 14.0));
    assert_eq!(answer.best(), Viterbi.decode(&lattice, &mut Scratch::new()).unwrap().best());
    let counters = answer.counters.unwrap();
    assert_eq!(counters.nodes_at, [2, 2, 1], "A and D; C, then B; D");
    assert_eq!(counters.rounds, 2, "one position is opened further");
}

#[test]
fn the_worked_example_of_three_paths_is_true() {
    let (edges, nodes) = example();
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let answer = Funnel.decode_kbest(&lattice, 3, &mut Scratch::counting()).unwrap();
    let paths: Vec<_> = answer.paths.iter().map(|path| (path.labels.as_slice(), path.score)).collect();
    assert_eq!(paths, [(&[A, B, D][..], 14.0), (&[A, C, D], 13.0), (&[A, C, B], 12.0)]);
    let viterbi = Viterbi.decode_kbest(&lattice, 3, &mut Scratch::new()).unwrap();
    assert_eq!(answer.paths, viterbi.paths);
    let counters = answer.counters.unwrap();
    assert_eq!(counters.nodes_at, [3, 2, 2], "also B at the first and at the last position");
}

/// D has a bad way in, from A, and asks whether a label not opened leads to more. C, from which the largest edge enters, has a low
/// score; B has not, but leads to less over its own edge, unless that is a usual one.
#[test]
fn without_a_rival_nothing_more_is_opened() {
    let mut scores = vec![0.0f32; 16];
    let edge = |p: usize, y: usize| 4 * p + y;
    (scores[edge(0, 3)], scores[edge(1, 2)], scores[edge(2, 3)]) = (-4.0, 2.0, 3.0);
    let nodes = vec![10.0, 7.0, 1.0, 0.0, 0.0, 0.0, 0.0, 20.0];
    for (rival, opened) in [(-4.0, vec![1, 1]), (0.0, vec![2, 1])] {
        scores[edge(1, 3)] = rival;
        let edges = Edges::dense(4, scores.clone()).unwrap();
        let lattice = Lattice::new(nodes.clone(), &edges).unwrap();
        let answer = Funnel.decode(&lattice, &mut Scratch::counting()).unwrap();
        assert_eq!(answer.paths, Viterbi.decode(&lattice, &mut Scratch::new()).unwrap().paths);
        assert_eq!(answer.counters.unwrap().nodes_at, opened, "edge of B: {rival}");
    }
}
