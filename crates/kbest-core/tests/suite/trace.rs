//! What a trace says agrees with the answer, the counters and itself, for every decoder of the catalogue.

use crate::common::Case;
use kbest_core::decode::{Answers, Beam, Fate, Lattices, catalogue};
use kbest_core::{Decode, Decoded, Decoder, Edges, Error, Lattice, Scratch};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Cases this small have ties, blocks of minus infinity and no paths at all; labels from 1 to 40 cover several doublings of
/// the iterative decoders, and the funnel opens, selects and deepens.
const MOST: (usize, usize) = (6, 40);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn traces_agree_with_answers_and_counters(seed in any::<u64>(), k in 1usize..5) {
        let case = Case::random(seed, MOST.0, MOST.1);
        let edges = case.edges::<f32>();
        let lattice = case.lattice(&edges);
        for entry in catalogue(Lattices::Positions).filter(|entry| k == 1 || entry.answers != Answers::One) {
            check(&lattice, &Decoder::by_name(entry.name).unwrap(), k)?;
        }
        check(&lattice, &Decoder::from(Beam { width: 2 }), k)?;
    }
}

fn check(lattice: &Lattice<'_, f32>, decoder: &Decoder, k: usize) -> Result<(), TestCaseError> {
    let mut untraced = Decoded::default();
    let plain = decoder.decode_into(lattice, k, &mut Scratch::counting(), &mut untraced);
    let mut answer = Decoded::default();
    prop_assert_eq!(decoder.decode_into(lattice, k, &mut Scratch::tracing(), &mut answer), plain.clone());
    prop_assert!(untraced.trace.is_none());
    if lattice.positions() == 0 {
        prop_assert!(answer.trace.is_none() && answer.counters.is_none());
        return Ok(());
    }
    prop_assert_eq!(&answer.counters, &untraced.counters);
    let (trace, counters) = (answer.trace.as_ref().unwrap(), answer.counters.as_ref().unwrap());
    prop_assert_eq!((trace.positions(), trace.labels()), (lattice.positions(), lattice.labels()));
    let mut steps = BTreeSet::new();
    for t in 0..lattice.positions() {
        let opened: Vec<_> = trace.opened(t).collect();
        let distinct: BTreeSet<_> = opened.iter().copied().collect();
        prop_assert_eq!((opened.len(), distinct.len()), (trace.opened_count(t), trace.opened_count(t)));
        // A* counts no opening at the end of a path, where nothing is left to score.
        let ends = if t + 1 == lattice.positions() { answer.paths.len() } else { 0 };
        prop_assert!(counters.nodes_at[t] as usize + ends >= opened.len(), "{decoder} at {t}");
        let with_steps: Vec<_> = trace.opened_with_steps(t).collect();
        prop_assert!(
            with_steps.iter().zip(&opened).all(|(&(y, step), &z)| y == z && trace.step(t, y) == Some(step))
        );
        prop_assert!(with_steps.is_sorted_by_key(|&(_, step)| step));
        steps.extend(with_steps.iter().map(|&(_, step)| step));
        let pruned: BTreeSet<_> = trace.pruned(t).collect();
        for y in 0..lattice.labels() as u32 {
            let expected = match (distinct.contains(&y), pruned.contains(&y)) {
                (true, true) => Fate::OpenedThenPruned,
                (true, false) => Fate::Opened,
                (false, true) => Fate::Pruned,
                (false, false) => Fate::Untouched,
            };
            prop_assert_eq!(trace.fate(t, y), expected);
        }
    }
    prop_assert!(steps.iter().copied().eq(0..trace.steps()), "{decoder}: every step opened something");
    if plain.is_err() {
        return Ok(());
    }
    for path in &answer.paths {
        for (t, &y) in path.labels.iter().enumerate() {
            prop_assert_eq!(trace.fate(t, y), Fate::Opened, "{} label {} of position {}", decoder, y, t);
        }
    }
    let everything = ["viterbi", "viterbi-simd", "viterbi-sparse", "viterbi-astar", "recursive-enumeration"]
        .contains(&answer.decoder);
    if everything && decoder.name() != "auto" {
        let whole = |t: usize| trace.opened_count(t) == lattice.labels() && trace.pruned(t).count() == 0;
        prop_assert!((0..lattice.positions()).all(whole));
    }
    if decoder.name() == "carpediem" {
        let all = (0..lattice.positions()).map(|t| trace.opened_count(t) as u32);
        prop_assert!(counters.nodes_at.iter().copied().eq(all), "CarpeDiem opens a vertex once");
    }
    Ok(())
}

/// A search that fails has a trace, too: it shows where it ran into a wall.
#[test]
fn a_search_without_an_answer_is_traced() {
    let edges = Edges::dense(2, vec![f32::NEG_INFINITY; 4]).unwrap();
    let lattice = Lattice::new(vec![0.0; 6], &edges).unwrap();
    let mut out = Decoded::default();
    let carpediem = Decoder::by_name("carpediem").unwrap();
    assert_eq!(carpediem.decode_into(&lattice, 1, &mut Scratch::tracing(), &mut out), Err(Error::NoPath));
    assert_eq!(out.trace.unwrap().opened_count(0), 2);
}

/// A scratch that stops tracing leaves no trace of an earlier search behind.
#[test]
fn traces_do_not_outlive_the_wish_for_them() {
    let edges = Edges::uniform(3, 0.0f32).unwrap();
    let lattice = Lattice::new(vec![0.0; 6], &edges).unwrap();
    let (mut scratch, mut out) = (Scratch::tracing(), Decoded::default());
    Decoder::default().decode_into(&lattice, 1, &mut scratch, &mut out).unwrap();
    assert!(out.trace.is_some());
    (scratch.tracing, scratch.counting) = (false, false);
    Decoder::default().decode_into(&lattice, 1, &mut scratch, &mut out).unwrap();
    assert!(out.trace.is_none() && out.counters.is_none());
}
