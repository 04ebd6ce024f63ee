//! The automatic choice runs the engines of its plan, and reports all the work that was done.

use crate::common::Case;
use kbest::decode::{Auto, Engine, Engines, Funnel};
use kbest::random::Random;
use kbest::{Decode, Decoded, Edges, Error, Lattice, Scratch};
use proptest::prelude::*;

/// Uninformative scores: the funnel opens nearly everything and soon gives up.
fn noise(positions: usize, labels: usize) -> (Vec<f64>, Edges<f64>) {
    let mut random = Random::new(7);
    let mut scores = |count: usize| (0..count).map(|_| random.below(1000) as f64).collect::<Vec<_>>();
    let nodes = scores(positions * labels);
    (nodes, Edges::dense(labels, scores(labels * labels)).unwrap())
}

/// The funnel is tried in vain: its work is counted along with that of the engine that found the paths.
#[test]
fn what_was_tried_in_vain_is_counted() {
    let (nodes, edges) = noise(20, 200);
    let lattice = Lattice::new(nodes, &edges).unwrap();
    for k in [1, 5] {
        let plan = Auto::default().plan(&lattice, k);
        assert_eq!(plan.first, Some(Engine::Funnel));
        let answer = Auto::default().decode_kbest(&lattice, k, &mut Scratch::counting()).unwrap();
        assert_eq!(answer.decoder, plan.fallback.name(), "the funnel should give up");
        let fallback = plan.fallback.decoder().decode_kbest(&lattice, k, &mut Scratch::counting()).unwrap();
        assert_eq!(answer.paths, fallback.paths);
        let (all, alone) = (answer.counters.unwrap(), fallback.counters.unwrap());
        assert!(all.nodes > alone.nodes && all.edges > alone.edges, "{all:?}, {alone:?}");
        assert!(all.rounds > alone.rounds, "{all:?}, {alone:?}");
        assert_eq!(all.nodes, all.nodes_at.iter().map(|&nodes| u64::from(nodes)).sum::<u64>());
    }
}

/// The same where there is no answer.
#[test]
fn a_search_that_fails_is_counted() {
    let edges = Edges::dense(2, vec![f32::NEG_INFINITY; 4]).unwrap();
    let lattice = Lattice::new(vec![0.0; 6], &edges).unwrap();
    let mut out = Decoded::default();
    assert_eq!(Funnel.decode_into(&lattice, 1, &mut Scratch::counting(), &mut out), Err(Error::NoPath));
    assert!(out.counters.is_some_and(|counters| counters.rounds > 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_plan_is_what_is_run(seed in any::<u64>(), k in 1usize..4, switches in 0u8..16) {
        let case = Case::random(seed, 6, 90);
        let edges = case.edges::<f32>();
        let lattice = case.lattice(&edges);
        let on = |bit: u8| switches >> bit & 1 == 1;
        let engines =
            Engines { funnel: on(0), viterbi_sparse: on(1), viterbi_simd: on(2), recursive_enumeration: on(3) };
        let auto = Auto { engines };
        let plan = auto.plan(&lattice, k);
        if let (Ok(answer), true) = (auto.decode_kbest(&lattice, k, &mut Scratch::new()), lattice.positions() > 0) {
            let planned = [plan.first.map_or("", Engine::name), plan.fallback.name()];
            prop_assert!(planned.contains(&answer.decoder), "{} is not in {plan}", answer.decoder);
        }
    }
}

/// Answers name the decoder that found them; for an empty sequence, too.
#[test]
fn auto_is_never_the_name_of_an_answer() {
    let edges = Edges::uniform(3, 0.0f32).unwrap();
    for positions in [0, 1, 5] {
        let lattice = Lattice::new(vec![0.0; positions * 3], &edges).unwrap();
        let answer = Auto::default().decode(&lattice, &mut Scratch::new()).unwrap();
        assert_ne!(answer.decoder, "auto", "{positions} positions");
    }
}
