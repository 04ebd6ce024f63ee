//! The worked example of `docs/decoders/funnel.md`: the path, and what was opened on the way.

use kbest::decode::{Funnel, Viterbi};
use kbest::{Decode, Edges, Lattice, Scratch};

#[test]
fn the_worked_example_is_true() {
    #[rustfmt::skip]
    let edges = Edges::dense(4, vec![
        0.0f32, 2.0, 0.0,  0.0, // A
        0.0,    0.0, 1.0,  0.0, // B
        0.0,    0.0, 0.0, -4.0, // C
        3.0,    0.0, 0.0,  0.0, // D
    ])
    .unwrap();
    #[rustfmt::skip]
    let nodes = vec![
         5.0, 3.0, 1.0,  3.0,
        -3.0, 1.0, 6.0, -2.0,
         0.0, 1.0, 0.0,  6.0,
    ];
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let answer = Funnel.decode(&lattice, &mut Scratch::counting()).unwrap();
    let (a, b, d) = (0, 1, 3);
    assert_eq!((answer.best().labels.as_slice(), answer.best().score), (&[a, b, d][..], 14.0));
    assert_eq!(answer.best(), Viterbi.decode(&lattice, &mut Scratch::new()).unwrap().best());
    let counters = answer.counters.unwrap();
    assert_eq!(counters.nodes_at, [2, 2, 1], "A and D; C, then B; D");
    assert_eq!(counters.rounds, 2, "one position is opened further");
}
