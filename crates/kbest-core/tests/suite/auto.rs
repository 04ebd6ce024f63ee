//! The automatic choice runs the engines of its plan, and reports all the work that was done.

use crate::common::Case;
use kbest_core::decode::{
    Auto, Engine, Engines, Funnel, RecursiveEnumeration, Viterbi, ViterbiSimd, ViterbiSparse,
};
use kbest_core::random::Random;
use kbest_core::{Decode, Decoded, Decoder, Edges, Error, Lattice, Scratch};
use proptest::prelude::*;

/// Uninformative scores: the funnel would open nearly everything, and soon gives up.
fn noise(positions: usize, labels: usize) -> (Vec<f64>, Edges<f64>) {
    let mut random = Random::new(7);
    let mut scores = |count: usize| (0..count).map(|_| random.below(1000) as f64).collect::<Vec<_>>();
    let nodes = scores(positions * labels);
    (nodes, Edges::dense(labels, scores(labels * labels)).unwrap())
}

/// The funnel is tried in vain: its work is counted along with that of the engine that found the paths, and it is little.
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
        assert!(
            all.edges >= alone.edges && all.edges <= alone.edges + alone.edges / 20,
            "{all:?}, {alone:?}"
        );
        assert!(all.nodes <= alone.nodes + alone.nodes / 20, "{all:?}, {alone:?}");
        assert!(all.rounds > alone.rounds, "{all:?}, {alone:?}");
        assert_eq!(all.nodes, all.nodes_at.iter().map(|&nodes| u64::from(nodes)).sum::<u64>());
    }
}

/// Normal scores: node scores of this strength beside edges of strength 1.
fn normal(strength: f64, positions: usize, labels: usize) -> (Vec<f32>, Edges<f32>) {
    let mut random = Random::new(positions as u64);
    let edges = (0..labels * labels).map(|_| random.normal() as f32).collect::<Vec<_>>();
    let nodes = (0..positions * labels).map(|_| (strength * random.normal()) as f32).collect();
    (nodes, Edges::dense(labels, edges).unwrap())
}

/// Having tried costs at most a twentieth of the edges where nearly nothing can be pruned, however short the sequence.
#[test]
fn trying_costs_little_where_nothing_can_be_pruned() {
    for (labels, positions) in [(100, 5), (100, 25), (600, 5), (600, 25)] {
        for strength in [0.0, 0.3] {
            let (nodes, edges) = normal(strength, positions, labels);
            let lattice = Lattice::new(nodes, &edges).unwrap();
            let tried = Auto::default().decode(&lattice, &mut Scratch::counting()).unwrap();
            assert_eq!(tried.decoder, "sieve");
            let plain = ViterbiSimd.decode(&lattice, &mut Scratch::counting()).unwrap();
            let [tried, plain] = [tried, plain].map(|answer| answer.counters.unwrap().edges);
            assert!(20 * tried <= 21 * plain, "{labels} labels, {positions} positions: {tried}, {plain}");
        }
    }
}

/// Where the funnel is far ahead, it is all that runs: nothing is looked at beforehand.
#[test]
fn easy_lattices_need_no_look_ahead() {
    for (labels, positions) in [(200, 5), (200, 25), (600, 5), (600, 25)] {
        let (mut nodes, edges) = normal(1.0, positions, labels);
        (0..positions).for_each(|t| nodes[t * labels + 7 * t % labels] += 40.0);
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let auto = Auto::default().decode(&lattice, &mut Scratch::counting()).unwrap();
        let funnel = Funnel.decode(&lattice, &mut Scratch::counting()).unwrap();
        assert_eq!((auto.decoder, auto.counters), ("funnel", funnel.counters), "{labels} labels");
    }
}

/// Left-to-right edges block the labels that look best: the funnel would go back again and again, so it gives up early.
#[test]
fn blocked_labels_end_the_attempt() {
    let (labels, positions, no) = (300, 25, f32::NEG_INFINITY);
    let mut random = Random::new(5);
    let pairs = (0..labels as u32).flat_map(|p| (p..(p + 5).min(labels as u32)).map(move |y| (p, y)));
    let (from, to): (Vec<u32>, Vec<u32>) = pairs.unzip();
    let scores: Vec<f32> = from.iter().map(|_| random.normal() as f32).collect();
    let edges = Edges::sparse(labels, no, &from, &to, &scores).unwrap();
    for strength in [1.0, 10.0] {
        let nodes: Vec<f32> = (0..positions * labels).map(|_| (strength * random.normal()) as f32).collect();
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let auto = Auto::default().decode(&lattice, &mut Scratch::counting()).unwrap();
        let funnel = Funnel.decode(&lattice, &mut Scratch::counting()).unwrap();
        assert_eq!(auto.decoder, "viterbi-sparse");
        assert_eq!(auto.paths, funnel.paths);
        let [auto, funnel] = [auto, funnel].map(|answer| answer.counters.unwrap().rounds);
        assert!(10 * auto < funnel, "{auto} rounds instead of {funnel}");
    }
}

/// Where most pairs are forbidden, every edge is searched for in a list, so that little is spent on trying. A few paths are tried, too.
#[test]
fn little_is_spent_where_most_pairs_are_forbidden() {
    let (labels, positions) = (900, 5);
    let random = &mut Random::new(8);
    let pairs: Vec<(u32, u32)> = (0..labels as u32)
        .flat_map(|p| (0..labels as u32).map(move |y| (p, y)))
        .filter(|_| random.below(20) == 0)
        .collect();
    let (from, to): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
    let scores: Vec<f32> = from.iter().map(|_| random.normal() as f32).collect();
    let edges = Edges::sparse(labels, f32::NEG_INFINITY, &from, &to, &scores).unwrap();
    let nodes: Vec<f32> = (0..positions * labels).map(|_| random.normal() as f32).collect();
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let tries = |k| Auto::default().plan(&lattice, k).first == Some(Engine::Funnel);
    assert_eq!([1, 5, 15, 16].map(tries), [true, true, true, false]);
    let auto = Auto::default().decode(&lattice, &mut Scratch::counting()).unwrap();
    let sparse = ViterbiSparse.decode(&lattice, &mut Scratch::counting()).unwrap();
    assert_eq!((auto.decoder, &auto.paths), ("viterbi-sparse", &sparse.paths));
    let [auto, sparse] = [auto, sparse].map(|answer| answer.counters.unwrap());
    // One position has 42,000, read one by one. What the funnel reads is counted, too, though it reads sixteen at a time.
    assert!(auto.edges <= sparse.edges + 16_000, "{auto:?}, {sparse:?}");
}

/// Where at most twice as many paths are possible as are wanted, nothing is tried; otherwise it is.
#[test]
fn most_of_all_paths_are_enumerated_at_once() {
    let (nodes, edges) = normal(3.0, 2, 20);
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let tries = |k| Auto::default().plan(&lattice, k).first == Some(Engine::Funnel);
    assert_eq!([30, 199, 200, 400, usize::MAX].map(tries), [true, true, false, false, false]);
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
    fn the_plan_is_what_is_run(seed in any::<u64>(), k in 1usize..4, switches in 0u8..32) {
        let case = Case::random(seed, 6, 90);
        let edges = case.edges::<f32>();
        let lattice = case.lattice(&edges);
        let on = |bit: u8| switches >> bit & 1 == 1;
        let engines =
            Engines { funnel: on(0), viterbi_sparse: on(1), viterbi_simd: on(2), sieve: on(4), recursive_enumeration: on(3) };
        let auto = Auto { engines };
        let plan = auto.plan(&lattice, k);
        if let (Ok(answer), true) = (auto.decode_kbest(&lattice, k, &mut Scratch::new()), lattice.positions() > 0) {
            let planned = [plan.first.map_or("", Engine::name), plan.fallback.name()];
            prop_assert!(planned.contains(&answer.decoder), "{} is not in {plan}", answer.decoder);
        }
    }
}

/// The same for every number of labels that is handled apart, whatever the shape of the edges.
#[test]
fn the_plan_of_few_edges_is_what_is_run() {
    let no = f32::NEG_INFINITY;
    for (labels, score) in (1..70).flat_map(|labels| [(labels, 0.0f32), (labels, no)]) {
        let matrix = || {
            let mut scores = vec![score; labels * labels];
            scores[0] = 1.0;
            Edges::dense(labels, scores).unwrap()
        };
        let all: Vec<u32> = (0..labels as u32).collect();
        let list = || Edges::sparse(labels, score, &all, &all, &vec![1.0; labels]).unwrap();
        let of_two: Vec<u32> = (0..labels as u32).map(|label| label % 2).collect();
        let classes =
            Edges::classes(&of_two, &of_two, &[0.0, score, score, 1.0], 2, (&[], &[], &[])).unwrap();
        let shapes = [
            matrix(),
            list(),
            Edges::per_position(vec![matrix(), matrix()]).unwrap(),
            Edges::per_position(vec![list(), matrix()]).unwrap(),
            Edges::per_position(vec![list(), list()]).unwrap(),
            classes,
        ];
        for (edges, is_planned) in shapes.iter().flat_map(|edges| [(edges, true), (edges, false)]) {
            let nodes = (0..3 * labels).map(|i| (i * 7 % 5) as f32).collect::<Vec<_>>();
            let lattice = Lattice::new(nodes, edges).unwrap();
            let plan = Auto::default().plan(&lattice, 1);
            let mut scratch = if is_planned { Scratch::planned() } else { Scratch::new() };
            let _unknown = Auto::default().decode(&lattice, &mut scratch).unwrap();
            let answer = Auto::default().decode(&lattice, &mut scratch).unwrap();
            let planned = [plan.first.map_or("", Engine::name), plan.fallback.name()];
            assert!(planned.contains(&answer.decoder), "{} is not in {plan}", answer.decoder);
            assert_eq!(answer.paths, Viterbi.decode(&lattice, &mut Scratch::new()).unwrap().paths);
        }
    }
}

/// What many easy positions have saved pays for a last one at which every label is as good.
#[test]
fn a_hard_end_does_not_undo_an_easy_sequence() {
    let (positions, labels) = (300, 400);
    let mut random = Random::new(5);
    let edges: Vec<f32> = (0..labels * labels).map(|_| random.normal() as f32).collect();
    let edges = Edges::dense(labels, edges).unwrap();
    let mut nodes = vec![0.0f32; positions * labels];
    for t in 0..positions - 1 {
        nodes[t * labels + 7 * t % labels] = 100.0;
    }
    let lattice = Lattice::new(nodes, &edges).unwrap();
    assert_eq!(Auto::default().decode(&lattice, &mut Scratch::new()).unwrap().decoder, "funnel");
}

/// Answers name the decoder that found them; for an empty sequence, too.
#[test]
fn auto_is_never_the_name_of_an_answer() {
    let edges = Edges::uniform(3, 0.0f32).unwrap();
    for positions in [0, 1, 5] {
        let lattice = Lattice::new(vec![0.0; positions * 3], &edges).unwrap();
        let answer = Auto::default().decode(&lattice, &mut Scratch::new()).unwrap();
        assert_ne!(answer.decoder, "auto", "{positions} positions");
        let named = Decoder::by_name("auto").unwrap().decode(&lattice, &mut Scratch::new()).unwrap();
        assert_ne!(named.decoder, "auto", "{positions} positions, by name");
    }
}

/// Whatever `auto` learns from the clock, the best path is the same; counters come by the plan.
#[test]
fn what_it_learns_changes_no_answer() {
    let labels = 40;
    let mut random = Random::new(11);
    let mut scores = |count: usize, size: f32| -> Vec<f32> {
        (0..count)
            .map(|_| if random.below(9) == 0 { f32::NEG_INFINITY } else { size * random.normal() as f32 })
            .collect()
    };
    let dense = Edges::dense(labels, scores(labels * labels, 1.0)).unwrap();
    let pairs: Vec<(u32, u32)> = (0..labels as u32).flat_map(|p| [(p, p), (p, (7 * p + 3) % 40)]).collect();
    let (from, to): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
    let listed = Edges::sparse(labels, 0.0, &from, &to, &scores(from.len(), 1.0)).unwrap();
    let forbidden = Edges::sparse(labels, f32::NEG_INFINITY, &from, &to, &scores(from.len(), 1.0)).unwrap();
    let mut learning = Scratch::new();
    for round in 0..3 {
        for edges in [&dense, &listed, &forbidden] {
            for i in 0..300 {
                let (positions, strength) = (5 + i % 4, [0.1, 1.0, 20.0][i / 100]);
                let lattice = Lattice::new(scores(positions * labels, strength), edges).unwrap();
                let found = Auto::default().decode(&lattice, &mut learning);
                let expected = ViterbiSimd.decode(&lattice, &mut Scratch::new());
                match (found, expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(found.paths, expected.paths, "{round}, {i}"),
                    (found, expected) => assert_eq!(found.err(), expected.err(), "{round}, {i}"),
                }
            }
        }
    }
    let lattice = Lattice::new(scores(5 * labels, 1.0), &listed).unwrap();
    learning.counting = true;
    let counted = Auto::default().decode(&lattice, &mut learning).unwrap();
    let planned = Auto::default().decode(&lattice, &mut Scratch::counting()).unwrap();
    assert_eq!((counted.decoder, counted.counters), (planned.decoder, planned.counters));
}

/// The same for several paths, of which many are equal: every way finds them in one order, whatever is forbidden.
#[test]
fn what_it_learns_changes_no_list_of_paths() {
    let mut random = Random::new(12);
    let mut learning = Scratch::new();
    let mut unplanned = 0;
    for (labels, rare) in [(6, 9), (40, 9), (40, 2)] {
        let mut whole = |count: usize, size: usize, rare: usize| -> Vec<f32> {
            let score = |random: &mut Random| match random.below(rare) {
                0 => f32::NEG_INFINITY,
                _ => random.below(size) as f32,
            };
            (0..count).map(|_| score(&mut random)).collect()
        };
        let dense = Edges::dense(labels, whole(labels * labels, 3, rare)).unwrap();
        let from: Vec<u32> = (0..labels as u32).flat_map(|p| [p, p]).collect();
        let to: Vec<u32> = (0..labels as u32).flat_map(|p| [p, (7 * p + 3) % labels as u32]).collect();
        let listed = Edges::sparse(labels, 0.0, &from, &to, &whole(from.len(), 3, rare)).unwrap();
        for (edges, k) in [(&dense, 2), (&listed, 2), (&dense, 30), (&listed, 30)] {
            for i in 0..360 {
                let (positions, size) = (5 + i % 4, [2, 9, 99][i / 120]);
                let lattice = Lattice::new(whole(positions * labels, size, 30), edges).unwrap();
                let found = Auto::default().decode_kbest(&lattice, k, &mut learning);
                let expected = RecursiveEnumeration::default().decode_kbest(&lattice, k, &mut Scratch::new());
                match (found, expected) {
                    (Ok(found), Ok(expected)) => {
                        assert_eq!(found.paths, expected.paths, "{labels} labels, k = {k}, {i}");
                        let planned =
                            Auto::default().decode_kbest(&lattice, k, &mut Scratch::planned()).unwrap();
                        unplanned += usize::from(found.decoder != planned.decoder);
                    }
                    (found, expected) => assert_eq!(found.err(), expected.err(), "{labels} labels, {i}"),
                }
            }
        }
    }
    assert!(unplanned > 0, "nothing was tried");
}

/// Easy positions, then hard ones: a forward pass goes on where the funnel gave up, and does not begin anew.
#[test]
fn a_forward_pass_takes_over_from_the_funnel() {
    let (positions, labels) = (60, 200);
    let mut random = Random::new(3);
    let mut normal = |count: usize| (0..count).map(|_| random.normal() as f32).collect::<Vec<_>>();
    let dense = Edges::dense(labels, normal(labels * labels)).unwrap();
    let listed: Vec<(u32, u32)> =
        (0..labels as u32).flat_map(|p| (0..20).map(move |i| (p, (7 * p + 11 * i) % 200))).collect();
    let (from, to): (Vec<u32>, Vec<u32>) = listed.into_iter().unzip();
    let sparse = Edges::sparse(labels, 0.0, &from, &to, &normal(from.len())).unwrap();
    for edges in [&dense, &sparse] {
        let mut nodes = normal(positions * labels);
        (0..positions / 2).for_each(|t| nodes[t * labels + 7 * t % labels] += 40.0);
        let lattice = Lattice::new(nodes, edges).unwrap();
        let auto = Auto::default().decode(&lattice, &mut Scratch::counting()).unwrap();
        let plan = Auto::default().plan(&lattice, 1);
        assert_eq!(auto.decoder, plan.fallback.name());
        let alone = plan.fallback.decoder().decode(&lattice, &mut Scratch::counting()).unwrap();
        assert_eq!(auto.paths, alone.paths);
        let [auto, alone] = [auto, alone].map(|answer| answer.counters.unwrap().nodes);
        assert!(4 * auto < 3 * alone, "{auto} nodes instead of {alone}");
    }
}

/// Easy and hard positions in every order, ties, forbidden edges, border scores, matrices and lists: wherever one engine takes over
/// from another, the path is plain Viterbi's.
#[test]
fn taking_over_is_exact() {
    let mut random = Random::new(17);
    let mut taken_over = 0;
    for round in 0..400 {
        let (labels, positions) = (128 + random.below(40), 4 + random.below(24));
        let (whole, forbidden) = (random.below(3) == 0, [0, 0, 40, 4][random.below(4)]);
        let score = |random: &mut Random, strength: f64| {
            let score = strength * random.normal();
            let no = forbidden > 0 && random.below(forbidden) == 0;
            if no { f32::NEG_INFINITY } else { (if whole { score.round() } else { score }) as f32 }
        };
        let matrix = |random: &mut Random| {
            Edges::dense(labels, (0..labels * labels).map(|_| score(random, 1.0)).collect::<Vec<_>>())
                .unwrap()
        };
        let edges = match random.below(3) {
            0 => matrix(&mut random),
            1 => {
                let steps = (1..positions).map(|_| matrix(&mut random)).collect();
                Edges::per_position(steps).unwrap()
            }
            _ => {
                let pairs = (0..labels as u32).flat_map(|p| (0..9).map(move |i| (p, (7 * p + 11 * i) % 128)));
                let (from, to): (Vec<u32>, Vec<u32>) = pairs.unzip();
                let scores: Vec<f32> = from.iter().map(|_| score(&mut random, 2.0)).collect();
                Edges::sparse(labels, 0.0, &from, &to, &scores).unwrap()
            }
        };
        let nodes: Vec<f32> = (0..positions)
            .flat_map(|_| {
                let strength = [0.0, 1.0, 30.0, 30.0, 30.0][random.below(5)];
                let scores: Vec<f32> = (0..labels).map(|_| (strength * random.normal()) as f32).collect();
                scores.into_iter().map(|score| if whole { score.round() } else { score })
            })
            .collect();
        let mut lattice = Lattice::new(nodes, &edges).unwrap();
        if random.below(2) == 0 {
            let border: Vec<f32> = (0..labels).map(|_| random.normal() as f32).collect();
            lattice = lattice.with_start(border.clone()).unwrap().with_end(border).unwrap();
        }
        let found = Auto::default().decode(&lattice, &mut Scratch::counting());
        let expected = kbest_core::decode::Viterbi.decode(&lattice, &mut Scratch::new());
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.paths, expected.paths, "round {round}, {}", found.decoder);
                let nodes = found.counters.unwrap().nodes;
                taken_over += usize::from(found.decoder != "funnel" && nodes < (positions * labels) as u64);
            }
            (found, expected) => assert_eq!(found.err(), expected.err(), "round {round}"),
        }
    }
    assert!(taken_over > 20, "only {taken_over} times");
}

/// Where nothing else can be pruned, most edges are left out; and they are plain Viterbi's scores, also after edges have changed.
#[test]
fn the_sieve_leaves_out_most_edges() {
    for (labels, part) in [(130, 1), (600, 4), (1100, 6)] {
        let (nodes, mut edges) = normal(1.0, 12, labels);
        let mut random = Random::new(9);
        for changed in [0, 300] {
            for _ in 0..changed {
                let (p, y) = (random.below(labels) as u32, random.below(labels) as u32);
                edges.add(p, y, random.normal() as f32).unwrap();
            }
            let lattice = Lattice::new(&nodes, &edges).unwrap();
            let sieved = kbest_core::decode::Sieve.decode(&lattice, &mut Scratch::counting()).unwrap();
            let whole = ViterbiSimd.decode(&lattice, &mut Scratch::counting()).unwrap();
            assert_eq!(sieved.paths, whole.paths);
            let [sieved, whole] = [sieved, whole].map(|answer| answer.counters.unwrap().edges);
            assert!(part * sieved < whole, "{labels} labels: {sieved} of {whole} edges");
        }
    }
}

/// Of labels that reach less than the best one does by the base, no exception is read.
#[test]
fn exceptions_that_cannot_matter_are_not_read() {
    let (labels, positions) = (400, 10);
    let mut random = Random::new(4);
    let pairs = (0..labels as u32).flat_map(|p| (0..20).map(move |i| (p, (3 * p + 17 * i) % 400)));
    let (from, to): (Vec<u32>, Vec<u32>) = pairs.unzip();
    let scores: Vec<f32> = from.iter().map(|_| random.normal() as f32).collect();
    let edges = Edges::sparse(labels, 0.0, &from, &to, &scores).unwrap();
    let nodes: Vec<f32> = (0..positions * labels).map(|_| 10.0 * random.normal() as f32).collect();
    let lattice = Lattice::new(nodes, &edges).unwrap();
    let answer = kbest_core::decode::ViterbiSparse.decode(&lattice, &mut Scratch::counting()).unwrap();
    let plain = kbest_core::decode::Viterbi.decode(&lattice, &mut Scratch::new()).unwrap();
    assert_eq!(answer.paths, plain.paths);
    let steps = positions as u64 - 1;
    assert!(answer.counters.unwrap().edges < steps * (labels as u64 + 2000), "of {} exceptions", from.len());
}
