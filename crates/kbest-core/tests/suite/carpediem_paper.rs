//! CarpeDiem against its paper (Esposito & Radicioni 2009): the worked example of section 4.4 and both ends of Theorem
//! 3.

use crate::common::{Case, Random};
use kbest_core::decode::{CarpeDiem, CarpeDiemBound, Viterbi};
use kbest_core::lattice::OverallBound;
use kbest_core::{Counters, Decode, Edges, Lattice, Scratch};

const I: u32 = 0;
const J: u32 = 1;

fn counters(lattice: &Lattice<'_, f64>) -> Counters {
    let answer = CarpeDiem::default().decode(lattice, &mut Scratch::counting()).unwrap();
    assert_eq!(answer.best(), Viterbi.decode(lattice, &mut Scratch::new()).unwrap().best());
    answer.counters.unwrap()
}

/// Section 4.4: four events, labels i and j, S1* = 60. The text names `G(j2) = 220`, `B2 + S0(i2) = 165`,
/// `G(j2) + S1(i3, j2) = 235` against 225, `G(i3) = 335` against 350, `G(i2) = 125`, `G(j4) = 485` through j3; the
/// weights it leaves unnamed (j1, i4, j4 and some edges) are chosen to reproduce all of these.
#[test]
fn the_worked_example_opens_what_the_paper_opens() {
    #[rustfmt::skip]
    let steps: [[f64; 4]; 3] = [
        // i -> i, i -> j, j -> i, j -> j
        [20.0, 20.0, 10.0, 60.0],
        [10.0, 60.0, 15.0,  0.0],
        [10.0, 10.0, 10.0, 60.0],
    ];
    #[rustfmt::skip]
    let nodes: [f64; 8] = [
        100.0,  50.0,
          5.0, 100.0,
        100.0,  70.0,
          5.0, 135.0,
    ];
    let matrix = |t: usize| Edges::dense(2, steps[t - 1]).unwrap();
    // Layer by layer: the best path to layers 1, 2, 3, 4 and the vertices open by then (steps a, b, f, h).
    let expected: [(&[u32], f64, &[u32]); 4] = [
        (&[I], 100.0, &[2]),
        (&[I, J], 220.0, &[2, 1]),
        (&[I, J, I], 335.0, &[2, 2, 2]),
        (&[I, J, J, J], 485.0, &[2, 2, 2, 1]),
    ];
    for (layers, (labels, score, opened)) in (1..).zip(expected) {
        let edges = Edges::per_position((1..layers.max(2)).map(matrix).collect()).unwrap();
        let lattice = Lattice::new(nodes[..2 * layers].to_vec(), &edges).unwrap();
        let answer = CarpeDiem::default().decode(&lattice, &mut Scratch::counting()).unwrap();
        assert_eq!((answer.best().labels.as_slice(), answer.best().score), (labels, score));
        assert_eq!(answer.counters.unwrap().nodes_at, opened, "vertices opened for {layers} layers");
    }

    // Steps (b), (c) and (e): the scores of the vertices that the text names.
    let edges = Edges::per_position((1..3).map(matrix).collect()).unwrap();
    let score = |path: &[u32]| {
        let lattice = Lattice::new(nodes[..2 * path.len()].to_vec(), &edges).unwrap();
        lattice.path_score(path).unwrap()
    };
    assert_eq!(score(&[I, I]), 125.0);
    assert_eq!(score(&[I, J]), 220.0);
    assert_eq!(score(&[I, J, I]), 335.0);

    // Step (c): with j3 out of reach, i3 is opened and i2 stays closed.
    let mut weak = nodes[..6].to_vec();
    weak[5] = 50.0;
    let lattice = Lattice::new(weak, &edges).unwrap();
    assert_eq!(counters(&lattice).nodes_at, [2, 1, 1]);
}

/// Theorem 3, best case: equal edges, so one vertex per layer after the first, and one edge after the second.
#[test]
fn equal_edges_open_one_vertex_a_layer() {
    let (positions, labels) = (40, 50);
    let mut random = Random::new(1);
    let nodes: Vec<f64> = (0..positions).flat_map(|_| random.shuffled(labels)).map(f64::from).collect();
    for bound in [CarpeDiemBound::Position, CarpeDiemBound::Column] {
        let edges = Edges::dense(labels, vec![3.0; labels * labels]).unwrap();
        let lattice = Lattice::new(nodes.clone(), &edges).unwrap();
        let answer = CarpeDiem { bound }.decode(&lattice, &mut Scratch::counting()).unwrap();
        let counters = answer.counters.unwrap();
        assert_eq!(counters.nodes_at[0], labels as u32);
        assert!(counters.nodes_at[1..].iter().all(|&opened| opened == 1), "{counters:?}");
        assert_eq!(counters.edges, (labels + positions - 2) as u64);
    }
}

/// Theorem 3, worst case: equal nodes, and a bound that no edge reaches; everything is opened, each edge read at most
/// once.
#[test]
fn equal_nodes_open_every_vertex_once() {
    let (positions, labels) = (12, 30);
    let mut random = Random::new(2);
    let scores: Vec<f64> = (0..labels * labels).map(|_| random.below(10) as f64).collect();
    let bound = OverallBound::SumOfPositives(&[10.0]);
    let edges = Edges::dense(labels, scores).unwrap().bounded_by(&bound).unwrap();
    let lattice = Lattice::new(vec![7.0; positions * labels], &edges).unwrap();
    let counters = counters(&lattice);
    assert_eq!(counters.nodes_at, vec![labels as u32; positions]);
    assert_eq!(counters.edges, ((positions - 1) * labels * labels) as u64);
}

/// The column bound finds the same path and never opens more vertices.
#[test]
fn the_column_bound_is_exact_and_opens_no_more() {
    let column = CarpeDiem { bound: CarpeDiemBound::Column };
    let mut scratch = Scratch::counting();
    for seed in 0..400 {
        let case = Case::random(seed, 12, 24);
        let edges = case.edges::<f32>();
        let lattice = case.lattice(&edges);
        if lattice.positions() == 0 {
            continue;
        }
        let Ok(expected) = CarpeDiem::default().decode(&lattice, &mut scratch) else {
            assert!(column.decode(&lattice, &mut scratch).is_err());
            continue;
        };
        let answer = column.decode(&lattice, &mut scratch).unwrap();
        assert_eq!(answer.best(), expected.best(), "{case:?}");
        let (fewer, more) = (answer.counters.unwrap(), expected.counters.unwrap());
        assert!(fewer.nodes <= more.nodes, "{case:?}");
    }
}

/// One bound for the graph, as in the paper, finds the same path and opens at least as many vertices as one per position;
/// where all positions share their edges it is the same bound.
#[test]
fn one_bound_for_the_graph_is_exact_and_opens_no_fewer() {
    let graph = CarpeDiem { bound: CarpeDiemBound::Graph };
    let mut scratch = Scratch::counting();
    let mut more = 0;
    for seed in 0..400 {
        let case = Case::random(seed, 12, 24);
        let edges = case.edges::<f32>();
        let lattice = case.lattice(&edges);
        if lattice.positions() == 0 {
            continue;
        }
        let Ok(expected) = CarpeDiem::default().decode(&lattice, &mut scratch) else {
            assert!(graph.decode(&lattice, &mut scratch).is_err());
            continue;
        };
        let answer = graph.decode(&lattice, &mut scratch).unwrap();
        assert_eq!(answer.best(), expected.best(), "{case:?}");
        let (by_graph, by_position) = (answer.counters.unwrap(), expected.counters.unwrap());
        assert!(by_graph.nodes >= by_position.nodes, "{case:?}");
        assert!(lattice.selection().is_some() || edges.matrices() > 1 || by_graph.nodes == by_position.nodes);
        more += u32::from(by_graph.nodes > by_position.nodes);
    }
    assert!(more > 0, "some case has edges that change");
}

/// A million positions: Algorithm 4 goes back to the first layer without recursion.
#[test]
fn long_sequences_do_not_recurse() {
    let positions = 1_000_000;
    // Label 1 looks worse at every position, but the edges show at the very end that it was needed all along.
    let forbidden = f32::NEG_INFINITY;
    let edges = Edges::dense(2, vec![0.0f32, forbidden, forbidden, 0.0]).unwrap();
    let nodes: Vec<f32> = (0..positions).flat_map(|_| [0.0, -0.5]).collect();
    let lattice = Lattice::new(nodes, &edges).unwrap().with_end(vec![forbidden, 0.0]).unwrap();
    let answer = CarpeDiem::default().decode(&lattice, &mut Scratch::new()).unwrap();
    assert!(answer.best().labels.iter().all(|&y| y == 1));
}
