//! Labels with parts: trained, saved and resumed, mixed and voted, with every exact decoder.
//!
//! The data is a small artificial language: a stem determines the word class, an ending the case and number, and
//! adjectives agree with the nouns that follow. Most combinations are rare, so weights of parts must generalise.

use kbest::decode::Decoder;
use kbest::feature::{FeatureBuffer, FeatureSource, Preset};
use kbest::model::{LabelParts, ModelParts};
use kbest::scoring::rows::{ScoreBuffer, lattice};
use kbest::state::{StateReader, StateWriter};
use kbest::train::{Averaging, Perceptron, PerceptronOptions, Trainer, TrainingSet, Update};
use kbest::{Error, Model, Sequence, Tagger};
use std::sync::Arc;

const CASES: usize = 7;
const NUMBERS: [&str; 3] = ["Sing", "Dual", "Plur"];

/// A random number generator: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Phrases of an adjective and a noun; the noun's ending does not distinguish its case from the next one.
fn corpus(sequences: usize, seed: u64) -> Vec<Sequence> {
    let mut random = Random(seed);
    let one = |random: &mut Random| {
        let mut sequence = Sequence::new();
        for _ in 0..1 + random.below(4) {
            let (case, number) = (random.below(CASES), random.below(NUMBERS.len()));
            let ending = |case: usize| format!("{}{}", (b'a' + case as u8) as char, NUMBERS[number]);
            let features = format!("Case={case}|Number={}", NUMBERS[number]);
            sequence.push([format!("stem{}gr{}", random.below(200), ending(case))]);
            sequence.set_label(&format!("ADJ|{features}"));
            sequence.push([format!("root{}ik{}", random.below(200), ending(case / 2))]);
            sequence.set_label(&format!("NOUN|{features}"));
        }
        sequence
    };
    (0..sequences).map(|_| one(&mut random)).collect()
}

fn data(sequences: &[Sequence], with_parts: bool) -> Arc<TrainingSet> {
    let source = FeatureSource::Preset(Preset::Morphology);
    Arc::new(TrainingSet::new(sequences, source, 1).unwrap().with_label_parts(with_parts))
}

pub(crate) fn trained(data: &Arc<TrainingSet>, options: PerceptronOptions, epochs: usize) -> Perceptron {
    let mut perceptron = Perceptron::new(data.clone(), options).unwrap();
    (0..epochs).for_each(|_| {
        perceptron.epoch(&mut |_| ()).unwrap();
    });
    perceptron
}

pub(crate) fn state(perceptron: &Perceptron) -> Vec<u8> {
    let mut state = StateWriter::new();
    perceptron.save(&mut state);
    state.into_bytes()
}

pub(crate) fn right(model: Model, test: &[Sequence]) -> f64 {
    let mut tagger = Tagger::new(Arc::new(model));
    let (mut right, mut all) = (0, 0);
    for sequence in test {
        let labels = tagger.tag(sequence, 1).unwrap().decoded.best().labels.clone();
        let names = labels.iter().map(|&y| tagger.model().labels().name(y));
        right += names.enumerate().filter(|&(t, name)| name == sequence.label(t)).count();
        all += sequence.len();
    }
    right as f64 / all as f64
}

#[test]
fn parts_help_where_labels_are_rare() {
    let test = corpus(300, 100);
    let accuracy = |with_parts| {
        let of_seed = |seed| {
            let train = corpus(12, seed);
            let data = data(&train, with_parts);
            assert_eq!(data.label_parts().is_some(), with_parts);
            right(trained(&data, PerceptronOptions::default(), 5).model().unwrap(), &test)
        };
        (1..=8).map(of_seed).sum::<f64>() / 8.0
    };
    let (with, without) = (accuracy(true), accuracy(false));
    assert!(with > without, "{with} with parts, {without} without");
}

#[test]
fn presets_decide_unless_told_otherwise() {
    let train = corpus(5, 3);
    for (preset, expected) in [(Preset::Morphology, true), (Preset::Words, false)] {
        let data = Arc::new(TrainingSet::new(&train, FeatureSource::Preset(preset), 1).unwrap());
        assert_eq!(data.label_parts().is_some(), expected);
    }
}

#[test]
fn weights_are_the_same_whichever_exact_decoder_is_inside() {
    let train = corpus(30, 4);
    let data = data(&train, true);
    let with = |name: &str| {
        let decoder = Decoder::by_name(name).unwrap();
        state(&trained(&data, PerceptronOptions { decoder, ..PerceptronOptions::default() }, 3))
    };
    let expected = with("viterbi");
    for name in ["auto", "funnel", "carpediem", "staggered", "viterbi-simd"] {
        assert_eq!(with(name), expected, "{name}");
    }
}

#[test]
fn training_goes_on_where_it_was_saved() {
    let train = corpus(30, 5);
    let data = data(&train, true);
    for update in [Update::Perceptron, Update::PassiveAggressive { longest: 0.5 }] {
        let options = PerceptronOptions { update, ..PerceptronOptions::default() };
        let saved = state(&trained(&data, options.clone(), 2));
        let mut resumed = Perceptron::new(data.clone(), options.clone()).unwrap();
        let mut reader = StateReader::new(&saved);
        resumed.restore(&mut reader).unwrap();
        assert!(reader.is_done());
        resumed.epoch(&mut |_| ()).unwrap();
        assert_eq!(state(&resumed), state(&trained(&data, options, 3)));
    }
    // Columns of parts are not labels of a training set without parts.
    let without = TrainingSet::new(&train, FeatureSource::Preset(Preset::Morphology), 1)
        .unwrap()
        .with_label_parts(false);
    let saved = state(&trained(&data, PerceptronOptions::default(), 1));
    let mut other = Perceptron::new(Arc::new(without), PerceptronOptions::default()).unwrap();
    assert!(matches!(other.restore(&mut StateReader::new(&saved)), Err(Error::LabelOutOfRange { .. })));
}

#[test]
fn threads_and_votes_learn_parts_too() {
    let (train, test) = (corpus(80, 6), corpus(15, 7));
    let data = data(&train, true);
    let mixed = PerceptronOptions { threads: 3, ..PerceptronOptions::default() };
    let voted = PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() };
    for options in [mixed, voted] {
        let accuracy = right(trained(&data, options.clone(), 5).model().unwrap(), &test);
        assert!(accuracy > 0.8, "{accuracy} with {options:?}");
    }
}

#[test]
fn a_score_is_the_labels_weights_and_those_of_its_parts() {
    let train = corpus(20, 8);
    let data = data(&train, true);
    let model = trained(&data, PerceptronOptions { averaging: Averaging::Final, ..Default::default() }, 2)
        .model()
        .unwrap();
    let parts = model.label_parts().unwrap();
    let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
    for sequence in corpus(5, 9) {
        model.extractor().extract(&sequence, &mut features).unwrap();
        let lattice = lattice(&model, &features, &mut buffer).unwrap();
        for t in 0..sequence.len() {
            for y in 0..model.labels().len() as u32 {
                let columns =
                    [y].into_iter().chain(parts.of(y).iter().map(|part| parts.labels() as u32 + part));
                let of_column = |column: u32| -> f32 {
                    let rows = features.nodes(t).iter().map(|&id| model.nodes().row(id));
                    rows.map(|row| row.iter().find(|&(c, _)| c == column).map_or(0.0, |(_, weight)| weight))
                        .sum()
                };
                // Weights that were never averaged are whole numbers, so sums are exact.
                assert_eq!(lattice.node_row(t)[y as usize], columns.map(of_column).sum::<f32>());
            }
        }
    }
}

#[test]
fn models_with_parts_that_do_not_fit_are_refused() {
    let train = corpus(10, 10);
    let data = data(&train, true);
    let parts = || trained(&data, PerceptronOptions::default(), 1).model().unwrap().into_parts();
    let labels = data.labels().len();
    let refused = |parts: ModelParts| assert!(matches!(Model::new(parts), Err(Error::Shape { .. })));
    refused(ModelParts { label_parts: None, ..parts() });
    let every_part: Vec<u32> = (0..data.label_parts().unwrap().parts() as u32).collect();
    let one_label = LabelParts::new(every_part.len(), vec![0, every_part.len() as u32], every_part).unwrap();
    refused(ModelParts { label_parts: Some(one_label), ..parts() });
    let mut starts = vec![1; labels + 1];
    starts[0] = 0;
    let one_part = LabelParts::new(1, starts, vec![0]).unwrap();
    refused(ModelParts { label_parts: Some(one_part), ..parts() });
    assert!(Model::new(parts()).is_ok());
}
