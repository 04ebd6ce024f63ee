//! The terms of a score add up to it, for every kind of model, with and without constraints; and so do the terms in which
//! two labellings differ.
//!
//! All labellings of up to four positions are compared with the best one. Weights that are whole numbers make sums exact, and
//! then nothing but equality will do.

use crate::common::{Case, enumerate};
use crate::crossings::{Kind, OBSERVED, SHARED, dual, hidden, rows, template};
use crate::segment_models::{IOB2, RUNS, segmentations, sequences, trained};
use kbest::feature::{FeatureSource, Preset};
use kbest::model::import;
use kbest::scoring::{
    SegmentTerms, Term, TermKind, Terms, constraint_terms, differences, lattice_terms, segment_lattice_terms,
};
use kbest::segment::SegmentLattice;
use kbest::train::Averaging;
use kbest::transition::Transitions;
use kbest::{Error, LabelId, Model, Sequence, Tagger};
use std::collections::BTreeSet;
use std::sync::Arc;

fn sum(terms: &[Term]) -> f64 {
    terms.iter().map(|term| term.score).sum()
}

fn equal(ours: f64, expected: f64, whole: bool, place: &str) {
    let tolerance = if whole { 0.0 } else { 2e-4 };
    assert!((ours - expected).abs() <= tolerance, "{place}: {ours} is not {expected}");
}

/// The same for scores without a model, of positions and of segments; scores are whole numbers.
#[test]
fn scores_without_a_model() {
    for seed in 0..40 {
        let case = Case::random(seed, 4, 4);
        let edges = case.edges::<f64>();
        let lattice = case.lattice(&edges);
        for path in enumerate(&lattice) {
            equal(
                sum(&lattice_terms(&lattice, &path.labels).unwrap()),
                path.score,
                false,
                &format!("seed {seed}"),
            );
        }
        let labels = lattice.labels();
        let durations = (0..2 * labels).map(|i| (i % 5) as f64 - 2.0).collect::<Vec<_>>();
        let scores = (0..lattice.positions() * 2 * labels).map(|i| (i % 7) as f64).collect::<Vec<_>>();
        if lattice.positions() < 2 {
            continue;
        }
        let lattice = SegmentLattice::new(lattice).with_durations(durations).unwrap();
        let lattice = lattice.with_scores(2, scores).unwrap();
        for found in segmentations(&lattice) {
            let terms = segment_lattice_terms(&lattice, &found.segments).unwrap();
            equal(sum(&terms), found.score, false, &format!("seed {seed}, {:?}", found.segments));
        }
    }
}

/// Constraints with scores of their own, between all labels: they are terms, too.
const SCORED: &str = "*\t*\n*\tB-*\t2\n^\t*\t1\n*\t$\t4\n";

fn check(kind: &Kind<Model>, whole: bool) -> BTreeSet<TermKind> {
    let mut kinds = BTreeSet::new();
    let scored = Transitions::parse(SCORED, "transitions", kind.model.labels()).unwrap();
    for (transitions, input) in
        [None, Some(&scored)].iter().flat_map(|t| kind.inputs.iter().map(move |i| (t, i)))
    {
        let mut tagger = Tagger::new(kind.model.clone());
        if let Some(transitions) = transitions {
            tagger = tagger.with_transitions(transitions).unwrap();
        }
        let mut free = Tagger::new(kind.model.clone());
        let own = free.lattice(input, &[]).unwrap();
        let limited = tagger.lattice(input, &[]).unwrap();
        let mut terms = Terms::new(&kind.model, input).unwrap();
        let mut of = |labels: &[LabelId]| {
            let at: Vec<_> = labels.iter().copied().enumerate().collect();
            let mut all = terms.of(labels).unwrap();
            all.extend(constraint_terms(&own, &limited, &at).unwrap());
            all
        };
        let paths = enumerate(&limited);
        let best = of(&paths[0].labels);
        for path in &paths {
            let place = format!("{}, {:?}", kind.name, path.labels);
            let rival = of(&path.labels);
            equal(sum(&rival), path.score.into(), whole, &place);
            let why = differences(best.clone(), rival);
            let difference: f64 = why.iter().map(|both| both.term.score).sum();
            equal(difference, f64::from(paths[0].score) - f64::from(path.score), whole, &place);
            assert!(
                why.iter().all(|both| both.term.score == both.winner - both.rival && both.term.score != 0.0)
            );
            assert!(why.is_sorted_by(|a, b| a.term.score.abs() >= b.term.score.abs()));
            kinds.extend(why.iter().map(|both| both.term.kind));
            // What lies where both agree cancels, so the terms around the difference are enough.
            let differ = |t: &usize| path.labels[*t] != paths[0].labels[*t];
            let places: Vec<usize> = (0..path.labels.len()).filter(differ).collect();
            if let (Some(&first), Some(&last)) = (places.first(), places.last()) {
                let within = |labels: &[LabelId]| {
                    Terms::new(&kind.model, input).unwrap().within(labels, first, last + 1).unwrap()
                };
                let near = differences(within(&paths[0].labels), within(&path.labels));
                let of_model = why.iter().filter(|both| both.term.kind != TermKind::Constraint);
                assert!(near.iter().eq(of_model), "{place}");
            }
        }
    }
    kinds
}

#[test]
fn rows_of_weights() {
    let kinds = check(&rows("shared", template(SHARED), false, Averaging::Final), true);
    assert_eq!(kinds, BTreeSet::from([TermKind::Feature, TermKind::Edge, TermKind::Constraint]));
    check(&rows("observed", template(OBSERVED), false, Averaging::Final), true);
    check(&rows("items", FeatureSource::Items, false, Averaging::Final), true);
    check(&rows("averaged", template(SHARED), false, Averaging::Averaged), false);
}

#[test]
fn label_parts() {
    let kind = rows("parts", template(OBSERVED), true, Averaging::Final);
    assert!(check(&kind, true).contains(&TermKind::Part));
    let names = kind.model.label_parts().unwrap().names(kind.model.labels());
    assert!(names.contains(&"s".to_owned()), "{names:?}");
}

#[test]
fn hidden_markov_models() {
    let kinds = check(&hidden(), false);
    assert!(kinds.contains(&TermKind::Start) && kinds.contains(&TermKind::End));
}

#[test]
fn support_tokens() {
    assert!(check(&dual("poly:2", Averaging::Final), true).contains(&TermKind::Support));
    check(&dual("rbf:0.5", Averaging::Averaged), false);
}

#[test]
fn imported_models() {
    let text = "version: 100\ncost-factor: 1\nmaxid: 12\nxsize: 1\n\nB\nI\nO\n\nU:%x[0,0]\nB\n\n0 U:in\n3 B\n\n\
                1\n2\n0\n1\n0\n-1\n0\n3\n0\n0\n1\n5\n";
    let model = Arc::new(import::crfpp(text.as_bytes(), "model.txt").unwrap());
    let labels = model.labels().clone();
    assert_eq!(labels.len(), 3);
    let inputs = vec![Sequence::from_tokens(["in", "new"]), Sequence::from_tokens(["new", "in", "in"])];
    for input in &inputs {
        let mut tagger = Tagger::new(model.clone());
        let lattice = tagger.lattice(input, &[]).unwrap();
        let mut terms = Terms::new(&model, input).unwrap();
        for path in enumerate(&lattice) {
            equal(sum(&terms.of(&path.labels).unwrap()), path.score.into(), true, "crfpp");
        }
        let named: BTreeSet<_> =
            terms.of(&vec![1; input.len()]).unwrap().iter().map(|term| terms.name(term)).collect();
        assert_eq!(named, BTreeSet::from(["B".to_owned(), "U:in".to_owned()]));
    }
}

#[test]
fn segments() {
    for (tags, source, averaging) in [
        (RUNS, template(SHARED), Averaging::Final),
        (IOB2, template(OBSERVED), Averaging::Final),
        (IOB2, FeatureSource::Preset(Preset::Words), Averaging::Averaged),
    ] {
        let whole = averaging == Averaging::Final;
        let model = trained(tags, source, averaging);
        let scored = Transitions::parse("*\t*\n^\t*\t1\n*\t$\t4\n", "transitions", model.labels()).unwrap();
        let mut kinds = BTreeSet::new();
        for input in sequences(10, 9, tags) {
            let mut free = Tagger::new(model.clone());
            let mut tagger = Tagger::new(model.clone()).with_transitions(&scored).unwrap();
            let own = free.lattice(&input, &[]).unwrap();
            let limited = tagger.lattice(&input, &[]).unwrap();
            let mut terms = SegmentTerms::new(&model, &input).unwrap();
            for found in segmentations(&limited) {
                let mut all = terms.of(&found.segments).unwrap();
                let at: Vec<_> = found.segments.iter().map(|part| (part.start, part.label)).collect();
                all.extend(constraint_terms(own.chain(), limited.chain(), &at).unwrap());
                equal(sum(&all), found.score.into(), whole, &format!("{:?}", found.segments));
                assert!(all.iter().all(|term| term.position < input.len()));
                kinds.extend(all.iter().map(|term| term.kind));
            }
            let broken = &segmentations(&limited)[0].segments[1..];
            assert!(matches!(terms.of(broken), Err(Error::Shape { .. })));
        }
        for kind in
            [TermKind::First, TermKind::Last, TermKind::Length, TermKind::Segment, TermKind::Constraint]
        {
            assert!(kinds.contains(&kind), "{kind:?} of {tags:?}");
        }
    }
}

#[test]
fn what_has_no_single_sum_is_refused() {
    let kind = rows("shared", template(SHARED), false, Averaging::Voted);
    let error = Terms::new(&kind.model, &kind.inputs[0]).unwrap_err().to_string();
    assert!(error.contains("members that vote"), "{error}");
    let kind = rows("shared", template(SHARED), false, Averaging::Final);
    let mut terms = Terms::new(&kind.model, &kind.inputs[0]).unwrap();
    assert!(matches!(terms.of(&[]), Err(Error::Shape { .. })));
    assert!(matches!(terms.of(&vec![99; kind.inputs[0].len()]), Err(Error::LabelOutOfRange { .. })));
}
