//! Taggers under constraints: what they find is what a free tagger finds, less the paths that are forbidden.
//!
//! Five labels and up to four positions have at most 625 paths, so the free tagger lists all of them, best first, and
//! nothing is left to chance.

use kbest::feature::FeatureSource;
use kbest::scheme::Tagging;
use kbest::train::{Averaging, Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::transition::Transitions;
use kbest::{Error, LabelId, Model, Sequence, Tagger, Template};
use std::sync::Arc;

const ALL: usize = 700;
const TEXT: &[&[(&str, &str)]] = &[
    &[("in", "O"), ("old", "B-X"), ("york", "I-X"), ("now", "O")],
    &[("old", "O"), ("york", "B-X"), ("bank", "B-Y"), ("now", "I-Y")],
    &[("york", "B-X"), ("in", "I-X"), ("old", "I-X"), ("bank", "O")],
    &[("bank", "B-Y"), ("york", "I-Y"), ("old", "O")],
];

fn sequences() -> Vec<Sequence> {
    let sequence = |words: &&[(&str, &str)]| {
        let mut sequence = Sequence::new();
        for (word, label) in *words {
            sequence.push([word]);
            sequence.set_label(label);
        }
        sequence
    };
    TEXT.iter().map(sequence).collect()
}

/// A model after a single pass: full of mistakes.
fn model(template: &str, averaging: Averaging) -> Arc<Model> {
    let template = Template::parse(template, "template").unwrap();
    let data = TrainingSet::new(&sequences(), FeatureSource::Template(template), 1).unwrap();
    let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data), options).unwrap();
    trainer.epoch(&mut |_| ()).unwrap();
    Arc::new(trainer.model().unwrap())
}

const SHARED: &str = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n";
const OBSERVED: &str = "U0:%x[0,0]\nB\nB0:%x[0,0]\n";

fn iob2(model: &Model) -> Transitions {
    let tagging = Tagging::detect(model.labels().names()).unwrap();
    Transitions::from_names(model.labels().names(), tagging)
}

/// Paths, scores and probabilities of a tagger, all of them.
fn all(tagger: &mut Tagger, sequence: &Sequence, known: &[Option<LabelId>]) -> Vec<(Vec<LabelId>, f32, f64)> {
    let tagged = tagger.tag_known(sequence, known, ALL).unwrap();
    let paths = tagged.decoded.paths.iter().zip(&tagged.probabilities);
    paths.map(|(path, &probability)| (path.labels.clone(), path.score, probability)).collect()
}

#[test]
fn constrained_answers_are_the_free_ones_without_what_is_forbidden() {
    for template in [SHARED, OBSERVED] {
        let model = model(template, Averaging::Averaged);
        let transitions = iob2(&model);
        let mut free = Tagger::new(model.clone()).with_confidences(true);
        let mut constrained = free.another().with_transitions(&transitions).unwrap();
        for (i, sequence) in sequences().iter().enumerate() {
            let mut known = vec![None; sequence.len()];
            for round in 0..2 {
                if round == 1 {
                    known[i % 3] = Some(i as LabelId % 5);
                    known[2] = Some(model.labels().id("O").unwrap());
                }
                let kept = |path: &[LabelId]| known.iter().zip(path).all(|(k, y)| k.is_none_or(|k| k == *y));
                let mut expected = all(&mut free, sequence, &vec![None; sequence.len()]);
                expected.retain(|(path, ..)| transitions.allows_path(path) && kept(path));
                let got = match constrained.tag_known(sequence, &known, 1) {
                    Err(Error::NoPath) => Vec::new(),
                    _ => all(&mut constrained, sequence, &known),
                };
                let shown = |list: &[(Vec<LabelId>, f32, f64)]| {
                    list.iter().map(|(path, score, _)| (path.clone(), *score)).collect::<Vec<_>>()
                };
                assert_eq!(shown(&got), shown(&expected), "{template} sequence {i} round {round}");
                let sum: f64 = expected.iter().map(|(_, _, probability)| probability).sum();
                for (got, expected) in got.iter().zip(&expected) {
                    assert!((got.2 - expected.2 / sum).abs() < 1e-6, "probabilities are of what is left");
                }
            }
        }
    }
}

#[test]
fn confidences_are_those_of_the_paths_that_are_left() {
    let model = model(SHARED, Averaging::Averaged);
    let mut tagger = Tagger::new(model.clone()).with_confidences(true);
    tagger = tagger.with_transitions(&iob2(&model)).unwrap();
    for sequence in sequences() {
        let paths = all(&mut tagger, &sequence, &vec![None; sequence.len()]);
        let tagged = tagger.tag(&sequence, 1).unwrap();
        for (t, &y) in tagged.decoded.best().labels.iter().enumerate() {
            let sum: f64 = paths.iter().filter(|(path, ..)| path[t] == y).map(|(_, _, p)| p).sum();
            assert!((tagged.confidences[0][t] - sum).abs() < 1e-6);
        }
    }
}

#[test]
fn ensembles_obey_member_by_member() {
    for template in [SHARED, OBSERVED] {
        let model = model(template, Averaging::Voted);
        let transitions = iob2(&model);
        let mut tagger = Tagger::new(model.clone()).with_transitions(&transitions).unwrap();
        let known = [None, model.labels().id("B-Y"), None];
        let mut forbidden = 0;
        for sequence in sequences().iter().filter(|sequence| sequence.len() > 3) {
            let known = [&known[..], &[None]].concat();
            for path in &tagger.tag_known(sequence, &known, 50).unwrap().decoded.paths {
                assert!(transitions.allows_path(&path.labels) && path.labels[1] == known[1].unwrap());
            }
            let free = Tagger::new(model.clone()).tag(sequence, 50).unwrap().decoded.clone();
            forbidden += free.paths.iter().filter(|path| !transitions.allows_path(&path.labels)).count();
        }
        assert!(forbidden > 0, "members that would not obey by themselves");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = model(SHARED, Averaging::Averaged);
    let sequence = &sequences()[0];
    let mut tagger = Tagger::new(model.clone());
    assert!(matches!(tagger.tag_known(sequence, &[None], 1), Err(Error::Shape { .. })));
    let wrong = [None, None, None, Some(99)];
    assert!(matches!(tagger.tag_known(sequence, &wrong, 1), Err(Error::LabelOutOfRange { .. })));
    assert!(Tagger::new(model.clone()).with_transitions(&Transitions::free(3)).is_err());
    let [outside, inside] = ["O", "I-X"].map(|name| model.labels().id(name));
    let mut tagger = tagger.with_transitions(&iob2(&model)).unwrap();
    let clash = [outside, inside, None, None];
    assert_eq!(tagger.tag_known(sequence, &clash, 1).unwrap_err(), Error::NoPath);
}
