//! Weights between parts of neighbouring labels: scores, decoders, constraints, training, files.
//!
//! The artificial language has 85 labels, so that edges are stored in classes: a word class, a case and a number, and
//! commas. Words of a phrase agree in case and number; only the first word of a phrase shows them. Phrases end with a comma:
//! next to each other, the end of one would agree with the beginning of the next as well as with its own.

use crate::common::enumerate;
use crate::label_parts::{right, state, trained};
use crate::model_file::{Change, apply, put_together, take_apart};
use kbest::decode::Decoder;
use kbest::feature::{FeatureBuffer, FeatureSource, Preset};
use kbest::lattice::Shape;
use kbest::model::{Agreement, LabelGroups, MOST_CLASSES, ModelParts};
use kbest::random::Random;
use kbest::scoring::rows::{ScoreBuffer, lattice};
use kbest::scoring::{Terms, differences};
use kbest::state::StateReader;
use kbest::train::{
    Algorithm, Averaging, Crf, CrfOptions, Optimizer, Perceptron, PerceptronOptions, Recipe, Trainer,
    TrainingSet, Update,
};
use kbest::transition::Transitions;
use kbest::{Error, Lattice, MarginalScratch, Model, Sequence, Tagger, Template, marginals};
use std::sync::Arc;

const CLASSES: [&str; 4] = ["ADP", "ADJ", "NOUN", "DET"];
const CASES: usize = 7;
const NUMBERS: [&str; 3] = ["Sing", "Dual", "Plur"];
const GROUPS: [&str; 3] = ["coarse", "Case", "Number"];

fn label(class: usize, case: usize, number: usize) -> String {
    format!("{}|Case={case}|Number={}", CLASSES[class], NUMBERS[number])
}

/// Every label once, in sequences of one word, and phrases.
fn corpus(sequences: usize, seed: u64) -> Vec<Sequence> {
    let single = |i: usize| {
        let (class, case, number) = (i % 4, i / 4 % CASES, i / 4 / CASES);
        let mut sequence = Sequence::new();
        sequence.push([format!("{}{case}{number}", CLASSES[class])]);
        sequence.set_label(&label(class, case, number));
        sequence
    };
    (0..CLASSES.len() * CASES * NUMBERS.len()).map(single).chain(phrases(sequences, seed)).collect()
}

/// Phrases whose words agree.
pub(crate) fn phrases(sequences: usize, seed: u64) -> Vec<Sequence> {
    let random = &mut Random::new(seed);
    let one = |_| {
        let mut sequence = Sequence::new();
        for _ in 0..1 + random.below(3) {
            let (case, number) = (random.below(CASES), random.below(NUMBERS.len()));
            let class = random.below(2) * 3;
            sequence.push([format!("{}{case}{number}", CLASSES[class])]);
            sequence.set_label(&label(class, case, number));
            for class in [1, 2].into_iter().skip(random.below(2)) {
                sequence.push([CLASSES[class].to_lowercase()]);
                sequence.set_label(&label(class, case, number));
            }
            sequence.push([","]);
            sequence.set_label("PUNCT");
        }
        sequence
    };
    (0..sequences).map(one).collect()
}

fn source(text: &str) -> FeatureSource {
    FeatureSource::Template(Template::parse(text, "template").unwrap())
}

fn data(train: &[Sequence], text: &str, groups: &[&str]) -> Arc<TrainingSet> {
    let data = TrainingSet::new(train, source(text), 1).unwrap().with_label_parts(true);
    let groups = LabelGroups::from_names(data.labels(), groups).unwrap();
    Arc::new(data.with_agreement(groups).unwrap())
}

const SHARED: &str = "U0:%x[0,0]\nB\n";
pub(crate) const OBSERVED: &str = "U0:%x[0,0]\nB0:%x[0,0]\n";

/// A model of whole numbers, so that sums are exact and ties frequent.
pub(crate) fn whole(text: &str) -> Model {
    let options = PerceptronOptions { averaging: Averaging::Final, ..PerceptronOptions::default() };
    trained(&data(&corpus(30, 3), text, &GROUPS), options, 2).model().unwrap()
}

#[test]
fn an_edge_is_the_sum_of_its_weights() {
    for text in [SHARED, OBSERVED] {
        let model = whole(text);
        let agreement = model.agreement().unwrap();
        assert!(agreement.weights().iter().any(|&weight| weight != 0.0));
        let sequence = &phrases(5, 8)[4];
        let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
        model.extractor().extract(sequence, &mut features).unwrap();
        let lattice = lattice(&model, &features, &mut buffer).unwrap();
        assert_eq!(matches!(lattice.edges().shape(), Shape::Sparse(_)), text == SHARED);
        let labels = 0..model.labels().len() as u32;
        for (p, y) in labels.clone().flat_map(|p| labels.clone().map(move |y| (p, y))) {
            let own = features.edges(1).iter().flat_map(|&id| model.edges().pairs(id));
            let own: f32 = own.filter(|pair| (pair.from, pair.to) == (p, y)).map(|pair| pair.weight).sum();
            let between = agreement.groups().of_pair(p, y).into_iter();
            let between: f32 = between.map(|weight| agreement.weights()[weight]).sum();
            assert_eq!(lattice.edge_score(1, p, y), own + between, "{p} {y}");
        }
    }
}

/// Two positions of 85 labels have 7,225 paths: decoders, k best, constraints and posteriors against all of them.
#[test]
fn answers_are_those_of_enumeration() {
    let model = Arc::new(whole(SHARED));
    let names: Vec<String> = model.labels().names().map(String::from).collect();
    let gold = |sequence: &Sequence| -> Vec<u32> {
        (0..sequence.len()).map(|t| model.labels().id(sequence.label(t).unwrap()).unwrap()).collect()
    };
    let seen: Vec<Vec<u32>> = corpus(60, 11).iter().map(gold).collect();
    let rules = Transitions::seen(names.len(), seen.iter().map(Vec::as_slice)).unwrap();
    for sequence in &phrases(12, 9) {
        let two = Sequence::from_tokens((0..2).map(|t| sequence.cell(t, 0).unwrap()));
        let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
        model.extractor().extract(&two, &mut features).unwrap();
        let lattice: Lattice<'_, f32> = lattice(&*model, &features, &mut buffer).unwrap();
        let every = enumerate(&lattice);
        let all = &every[..40];
        for name in ["viterbi", "auto", "funnel", "viterbi-sparse", "carpediem", "staggered", "viterbi-astar"]
        {
            let decoder = Decoder::by_name(name).unwrap();
            let mut tagger = Tagger::new(model.clone()).with_decoder(decoder);
            assert_eq!(tagger.tag(&two, 1).unwrap().decoded.paths, all[..1], "{name}");
        }
        let mut tagger = Tagger::new(model.clone());
        assert_eq!(tagger.tag(&two, 40).unwrap().decoded.paths, all);
        let kept: Vec<_> =
            every.iter().filter(|path| rules.allows_path(&path.labels)).take(40).cloned().collect();
        let mut tagger = Tagger::new(model.clone()).with_transitions(&rules).unwrap();
        assert_eq!(tagger.tag(&two, 40).unwrap().decoded.paths, kept);
        let mut scratch = MarginalScratch::new();
        let found = marginals(&lattice, &mut scratch).unwrap();
        let weight = |score: f32| f64::from(score - all[0].score).exp();
        let sum: f64 = every.iter().map(|path| weight(path.score)).sum();
        for y in 0..names.len() as u32 {
            let own = every.iter().filter(|path| path.labels[1] == y).map(|path| weight(path.score));
            assert!((found.node(1)[y as usize] - own.sum::<f64>() / sum).abs() < 1e-9);
        }
    }
}

#[test]
fn every_decoder_learns_the_same_weights() {
    let data = data(&corpus(25, 4), SHARED, &GROUPS);
    let with = |name: &str| {
        let decoder = Decoder::by_name(name).unwrap();
        state(&trained(&data, PerceptronOptions { decoder, ..PerceptronOptions::default() }, 3))
    };
    let expected = with("viterbi");
    for name in ["auto", "funnel", "carpediem", "staggered", "viterbi-simd", "viterbi-sparse"] {
        assert_eq!(with(name), expected, "{name}");
    }
}

#[test]
fn training_goes_on_where_it_was_saved() {
    let data = data(&corpus(30, 5), SHARED, &GROUPS);
    let aggressive = Update::PassiveAggressive { longest: 0.3 };
    let plain = Update::Perceptron;
    for (update, threads, runs) in [(plain, 1, 1), (aggressive, 1, 1), (plain, 3, 1), (plain, 1, 2)] {
        let options = PerceptronOptions { update, threads, runs, ..PerceptronOptions::default() };
        let saved = state(&trained(&data, options.clone(), 2));
        let mut resumed = Perceptron::new(data.clone(), options.clone()).unwrap();
        let mut reader = StateReader::new(&saved);
        resumed.restore(&mut reader).unwrap();
        assert!(reader.is_done());
        resumed.epoch(&mut |_| ()).unwrap();
        assert_eq!(state(&resumed), state(&trained(&data, options, 3)));
    }
}

/// Many pairs of labels are rare: agreement generalises to those that were never seen.
#[test]
fn agreement_is_learned() {
    let test = phrases(40, 7);
    let with = |groups: &[&str], threads| {
        let options = PerceptronOptions { threads, ..PerceptronOptions::default() };
        let of = |seed| {
            let data = data(&corpus(100, seed), SHARED, groups);
            right(trained(&data, options.clone(), 15).model().unwrap(), &test)
        };
        [21, 22, 23].map(of).iter().sum::<f64>() / 3.0
    };
    let (without, one, three) = (with(&[], 1), with(&GROUPS, 1), with(&GROUPS, 3));
    assert!(one > without + 0.01 && three > 0.7, "{without} {one} {three}");
}

#[test]
fn a_crf_learns_agreement() {
    let (train, test) = (corpus(25, 6), phrases(40, 7));
    let with = |groups: &[&str], optimizer| {
        let options = CrfOptions { optimizer, rate: 0.3, c2: 0.05, threads: 1, ..CrfOptions::default() };
        let mut crf = Crf::new(data(&train, SHARED, groups), options).unwrap();
        (0..12).for_each(|_| _ = crf.epoch(&mut |_| ()).unwrap());
        right(crf.model().unwrap(), &test)
    };
    for optimizer in [Optimizer::Lbfgs, Optimizer::Sgd] {
        let (without, agreeing) = (with(&[], optimizer), with(&GROUPS, optimizer));
        assert!(agreeing > without + 0.03, "{without} {agreeing} {optimizer:?}");
    }
}

#[test]
fn recipes_choose_groups() {
    let train = corpus(3, 1);
    let of = |preset, algorithm, agreement: Option<&str>| {
        let agreement = agreement.map(String::from);
        let recipe = Recipe { algorithm, agreement, ..Recipe::default() };
        let data = TrainingSet::new(&train, FeatureSource::Preset(preset), 1).unwrap();
        let data = recipe.with_agreement(data)?;
        let names = data.agreement().map(|groups| groups.names().collect::<Vec<_>>().join("+"));
        Ok::<_, Error>(names.unwrap_or_default())
    };
    use Algorithm::{Averaged, Crf, Voted};
    let usual = "coarse+Case+Number";
    assert_eq!(of(Preset::Words, Averaged, Some("usual")).unwrap(), usual);
    assert_eq!(of(Preset::Morphology, Averaged, None).unwrap(), "");
    assert_eq!(of(Preset::Morphology, Averaged, Some("none")).unwrap(), "");
    assert_eq!(of(Preset::Morphology, Crf, Some("Number+Case")).unwrap(), "Number+Case");
    let refused = of(Preset::Morphology, Averaged, Some("Mood")).unwrap_err().to_string();
    assert!(refused.contains("`Mood`") && refused.contains("coarse, Case, Number"), "{refused}");
    let voted = Recipe { algorithm: Voted, agreement: Some("usual".into()), ..Recipe::default() };
    assert!(voted.check().is_err());
    let data = data(&train, SHARED, &GROUPS);
    let options = PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() };
    assert!(matches!(Perceptron::new(data, options), Err(Error::Argument { .. })));
}

#[test]
fn the_terms_of_a_score_name_the_parts() {
    let model = whole(SHARED);
    let sequence = &phrases(3, 2)[2];
    let gold: Vec<u32> =
        (0..sequence.len()).map(|t| model.labels().id(sequence.label(t).unwrap()).unwrap()).collect();
    let other: Vec<u32> = gold.iter().map(|y| (y + 1) % model.labels().len() as u32).collect();
    let mut terms = Terms::new(&model, sequence).unwrap();
    let sum = |terms: &[kbest::scoring::Term]| terms.iter().map(|term| term.score).sum::<f64>();
    let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
    model.extractor().extract(sequence, &mut features).unwrap();
    let lattice = lattice(&model, &features, &mut buffer).unwrap();
    for labels in [&gold, &other] {
        assert_eq!(sum(&terms.of(labels).unwrap()), f64::from(lattice.path_score(labels).unwrap()));
    }
    let why = differences(terms.of(&gold).unwrap(), terms.of(&other).unwrap());
    assert!(why.iter().any(|both| terms.name(&both.term).starts_with("Case ")));
}

#[test]
fn files_keep_agreement() {
    let model = whole(SHARED);
    let bytes = model.to_bytes().unwrap();
    let loaded = Model::from_bytes(&bytes, "f").unwrap();
    assert_eq!(loaded.agreement(), model.agreement());
    assert_eq!(loaded.to_bytes().unwrap(), bytes);
    assert_eq!(model.pruned(0.5).unwrap().0.agreement(), model.agreement());
    let answers = |model: Model| {
        let mut tagger = Tagger::new(Arc::new(model));
        let tag = |sequence: &Sequence| tagger.tag(sequence, 2).unwrap().decoded.paths.clone();
        corpus(6, 4).iter().map(tag).collect::<Vec<_>>()
    };
    assert_eq!(answers(loaded), answers(model));
    #[cfg(feature = "safetensors")]
    {
        let folder = tempfile::tempdir().unwrap();
        let refused = whole(SHARED).to_safetensors(folder.path().join("x")).unwrap_err().to_string();
        assert!(refused.contains("weights between parts of labels"), "{refused}");
    }
}

#[test]
fn sections_that_do_not_fit_are_refused() {
    let sections = take_apart(&whole(SHARED).to_bytes().unwrap());
    let ours: Vec<usize> = (0..sections.len()).filter(|&i| sections[i].0.starts_with("agreement")).collect();
    assert_eq!(ours.len(), 5);
    let error =
        |sections: &_| Model::from_bytes(&put_together(sections), "f").map(|_| ()).unwrap_err().to_string();
    for &i in &ours {
        let mut without = sections.clone();
        without.remove(i);
        assert!(error(&without).contains("agreement"), "{}", sections[i].0);
        for longer in [false, true] {
            let mut changed = sections.clone();
            if longer {
                changed[i].1.extend([1, 0, 0, 0]);
            } else {
                let kept = changed[i].1.len() - 4;
                changed[i].1.truncate(kept);
            }
            error(&changed);
        }
    }
    // Every number, one at a time: an error, or a model that answers.
    let sequence = &phrases(2, 4)[1];
    let (mut refused, mut loaded) = (0, 0);
    for &i in &ours {
        for at in (0..sections[i].1.len()).step_by(4 * 7) {
            for value in [u32::MAX, 0x7f80_0000, 1] {
                let mut changed = sections.clone();
                apply(&mut changed, (i, Change::Word(at, value)));
                match Model::from_bytes(&put_together(&changed), "hostile") {
                    Err(_) => refused += 1,
                    Ok(model) => {
                        loaded += 1;
                        assert!(Tagger::new(Arc::new(model)).tag(sequence, 2).is_ok());
                    }
                }
            }
        }
    }
    assert!(refused > 50 && loaded > 20, "{refused} {loaded}");
}

#[test]
fn models_that_do_not_fit_are_refused() {
    let parts = || whole(SHARED).into_parts();
    let agreement = parts().agreement.unwrap();
    let one = LabelGroups::new(1, vec![("g".into(), vec!["a".into()])], vec![1]).unwrap();
    let other = Agreement::new(one, vec![0.0; 4]).unwrap();
    assert!(matches!(Model::new(ModelParts { agreement: Some(other), ..parts() }), Err(Error::Shape { .. })));
    let mut huge = vec![0.0; agreement.weights().len()];
    agreement.groups().of_pair(0, 1).into_iter().for_each(|weight| huge[weight] = f32::MAX);
    let huge = Agreement::new(agreement.groups().clone(), huge).unwrap();
    let refused = Model::new(ModelParts { agreement: Some(huge), ..parts() });
    assert!(matches!(refused, Err(Error::IllegalScore { .. })));
    let labels = MOST_CLASSES + 1;
    let values = (0..labels as u32).map(|y| y + 1).collect();
    let names = (0..labels).map(|y| y.to_string()).collect();
    assert!(matches!(LabelGroups::new(labels, vec![("g".into(), names)], values), Err(Error::Shape { .. })));
}
