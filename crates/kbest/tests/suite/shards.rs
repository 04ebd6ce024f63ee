//! Training in shards: the same to the last bit wherever they run, and the same optimum as on one machine.

use kbest::evaluate::Evaluation;
use kbest::feature::{FeatureSource, Preset};
use kbest::random::Random;
use kbest::state::{StateReader, StateWriter};
use kbest::train::shards::{FAN, InThreads, ShardPlan, Sharded, Vocabulary, Workers, total};
use kbest::train::{Algorithm, Crf, CrfOptions, Optimizer, Recipe, Trainer, TrainingSet};
use kbest::{Model, Result, Sequence, Tagger};
use std::sync::{Arc, Mutex};

/// Sentences with a little noise, so that nothing is learned in one pass.
fn sentences(count: usize, seed: u64) -> Vec<Sequence> {
    let words = ["the", "a", "old", "big", "man", "boat", "sees", "eats"];
    let labels = ["DET", "DET", "ADJ", "ADJ", "NOUN", "NOUN", "VERB", "VERB"];
    let mut random = Random::new(seed);
    let mut sentence = |_| {
        let mut sequence = Sequence::new();
        for _ in 0..random.below(8) {
            let word = random.below(words.len());
            sequence.push([words[word]]);
            sequence.set_label(labels[if random.chance(0.1) { random.below(8) } else { word }]);
        }
        sequence
    };
    (0..count).map(&mut sentence).collect()
}

fn recipe(algorithm: &str) -> Recipe {
    Recipe { algorithm: Algorithm::by_name(algorithm).unwrap(), ..Recipe::default() }
}

/// The plan and the shards as bytes.
fn numbered(
    shards: &[Vec<Sequence>],
    source: &FeatureSource,
    recipe: &Recipe,
    min_frequency: u32,
) -> (Arc<ShardPlan>, Vec<Vec<u8>>) {
    let mut all = Vocabulary::new(source.clone());
    if all.wants_words() {
        for shard in shards {
            let mut words = Vocabulary::new(source.clone());
            words.count_words(shard);
            all.absorb_words(&words.words_to_bytes()).unwrap();
        }
    }
    let words = all.words_to_bytes();
    for shard in shards {
        let mut vocabulary = Vocabulary::new(source.clone());
        vocabulary.absorb_words(&words).unwrap();
        vocabulary.observe(shard).unwrap();
        all.absorb(&vocabulary.to_bytes()).unwrap();
    }
    let model = all.freeze(min_frequency).unwrap().to_bytes().unwrap(); // as it would travel
    let plan = ShardPlan::new(Model::from_bytes(&model, "plan").unwrap(), recipe).unwrap();
    let bytes: Vec<Vec<u8>> = shards.iter().map(|shard| plan.number(shard).unwrap()).collect();
    let observed: Vec<Vec<u8>> = bytes.iter().map(|shard| plan.observed(shard).unwrap()).collect();
    let merged = plan.merge_observed(&observed).unwrap();
    (Arc::new(plan.with_observed(&[merged]).unwrap()), bytes)
}

fn trained(plan: &Arc<ShardPlan>, shards: &[Vec<u8>], threads: usize, epochs: usize) -> Vec<u8> {
    let workers = InThreads::new(plan.clone(), shards.to_vec(), threads);
    let mut trainer = Sharded::new(plan.clone(), workers).unwrap();
    for _ in 0..epochs {
        trainer.epoch(&mut |_| ()).unwrap();
    }
    trainer.model().unwrap().to_bytes().unwrap()
}

fn split(sequences: &[Sequence], shards: usize) -> Vec<Vec<Sequence>> {
    let part = |i: usize| sequences.iter().skip(i).step_by(shards).cloned().collect();
    (0..shards).map(part).collect()
}

#[test]
fn threads_change_nothing() {
    let sequences = sentences(60, 1);
    for algorithm in ["averaged", "perceptron", "pa", "crf"] {
        for preset in [Preset::Words, Preset::Morphology] {
            // More shards than one group, and some of them empty.
            let mut shards = split(&sequences, FAN * 2 + 3);
            shards[3].clear();
            let (plan, bytes) = numbered(&shards, &FeatureSource::Preset(preset), &recipe(algorithm), 1);
            let one = trained(&plan, &bytes, 1, 4);
            assert!(one == trained(&plan, &bytes, 3, 4), "{algorithm} {preset:?}");
            let accuracy = accuracy(&one, &sequences);
            assert!(accuracy > 0.85, "{algorithm} {preset:?}: {accuracy}");
        }
    }
}

/// Weights between parts of labels travel, are averaged and added up like all others.
#[test]
fn agreement_is_learned_in_shards() {
    let sequences = sentences(60, 6);
    for algorithm in ["averaged", "perceptron", "pa", "crf"] {
        let recipe = Recipe { agreement: Some("coarse".into()), ..recipe(algorithm) };
        let source = FeatureSource::Preset(Preset::Words);
        let (plan, bytes) = numbered(&split(&sequences, FAN + 3), &source, &recipe, 1);
        let one = trained(&plan, &bytes, 1, 4);
        assert!(one == trained(&plan, &bytes, 3, 4), "{algorithm}");
        let model = Model::from_bytes(&one, "model").unwrap();
        let weights = model.agreement().unwrap().weights();
        assert!(weights.iter().filter(|&&weight| weight != 0.0).count() > 4, "{algorithm}: {weights:?}");
        let accuracy = accuracy(&one, &sequences);
        assert!(accuracy > 0.85, "{algorithm}: {accuracy}");
    }
}

fn accuracy(model: &[u8], sequences: &[Sequence]) -> f64 {
    let model = Arc::new(Model::from_bytes(model, "model").unwrap());
    let (mut tagger, mut evaluation) = (Tagger::new(model.clone()), Evaluation::new(None));
    for sequence in sequences {
        let labels = &tagger.tag(sequence, 1).unwrap().decoded.best().labels;
        let predicted: Vec<&str> = labels.iter().map(|&y| model.labels().name(y).unwrap()).collect();
        let gold: Vec<&str> = (0..sequence.len()).map(|t| sequence.label(t).unwrap()).collect();
        evaluation.add(&gold, &predicted).unwrap();
    }
    evaluation.tokens().share()
}

/// Labels and features are numbered as if all sequences had been read one shard after the other.
#[test]
fn vocabularies_add_up() {
    for (preset, min_frequency) in [(Preset::Words, 1), (Preset::Words, 3), (Preset::Morphology, 2)] {
        let shards = split(&sentences(40, 2), 5);
        let source = FeatureSource::Preset(preset);
        let (plan, bytes) = numbered(&shards, &source, &recipe("crf"), min_frequency);
        let whole = TrainingSet::new(&shards.concat(), source, min_frequency).unwrap();
        let model = Model::from_bytes(&trained(&plan, &bytes, 1, 1), "model").unwrap();
        assert_eq!(model.labels(), whole.labels());
        assert!(model.extractor().nodes().keys().eq(whole.extractor().nodes().keys()));
        assert!(model.extractor().edges().keys().eq(whole.extractor().edges().keys()));
        assert!(model.extractor().frequent_words().keys().eq(whole.extractor().frequent_words().keys()));
        let known = shards[0][0].cell(0, 0).unwrap();
        assert_eq!(model.extractor().knows_word(known), Some(true));
        assert_eq!(model.extractor().knows_word("never-seen"), Some(false));
    }
}

/// The objective is convex, so shards end where one machine ends.
#[test]
fn a_crf_in_shards_finds_the_same_minimum() {
    let sequences = sentences(40, 3);
    for (c1, all_states) in [(0.0, false), (0.5, false), (0.0, true)] {
        let recipe = Recipe { c1: Some(c1), c2: Some(0.1), all_states, ..recipe("crf") };
        let (plan, bytes) =
            numbered(&split(&sequences, 3), &FeatureSource::Preset(Preset::Words), &recipe, 1);
        let mut sharded = Sharded::new(plan.clone(), InThreads::new(plan, bytes, 2)).unwrap();
        let data = TrainingSet::new(&sequences, FeatureSource::Preset(Preset::Words), 1).unwrap();
        let options = CrfOptions { c1, c2: 0.1, all_states, ..CrfOptions::default() };
        let mut single = Crf::new(Arc::new(data), options).unwrap();
        let first = [sharded.epoch(&mut |_| ()).unwrap(), single.epoch(&mut |_| ()).unwrap()];
        assert!((first[0].loss - first[1].loss).abs() < 1e-9 * first[1].loss, "{first:?}");
        assert_eq!((first[0].sequences, first[0].tokens), (first[1].sequences, first[1].tokens));
        let end = |trainer: &mut dyn Trainer<Model = Model>| loop {
            let report = trainer.epoch(&mut |_| ()).unwrap();
            if report.converged {
                return report.loss;
            }
        };
        let (one, other) = (end(&mut sharded), end(&mut single));
        assert!((one - other).abs() < 1e-3 * other, "{one}, not {other}");
    }
}

#[test]
fn a_stopped_run_goes_on_as_if_nothing_had_happened() {
    for algorithm in ["averaged", "crf"] {
        let source = FeatureSource::Preset(Preset::Words);
        let (plan, bytes) = numbered(&split(&sentences(50, 4), 4), &source, &recipe(algorithm), 1);
        let new = || {
            let workers = InThreads::new(plan.clone(), bytes.clone(), 2);
            Sharded::new(plan.clone(), workers).unwrap()
        };
        let mut first = new();
        first.epoch(&mut |_| ()).unwrap();
        first.epoch(&mut |_| ()).unwrap();
        let mut state = StateWriter::new();
        first.save(&mut state);
        let (mut second, state) = (new(), state.into_bytes());
        second.restore(&mut StateReader::new(&state)).unwrap();
        second.epoch(&mut |_| ()).unwrap();
        assert!(second.model().unwrap().to_bytes().unwrap() == trained(&plan, &bytes, 1, 3), "{algorithm}");
    }
}

/// Answers are added in groups, and groups of groups: whoever adds must come to the same bits.
#[test]
fn sums_have_one_order() {
    let source = FeatureSource::Preset(Preset::Words);
    for algorithm in ["averaged", "crf"] {
        let (plan, bytes) = numbered(&split(&sentences(80, 5), FAN + 3), &source, &recipe(algorithm), 1);
        struct ByHand(Arc<ShardPlan>, Vec<Vec<u8>>);
        impl Workers for ByHand {
            fn run(&mut self, step: &[u8]) -> Result<Vec<u8>> {
                let answer = |(i, shard): (usize, &Vec<u8>)| self.0.answer(i as u64, shard, step).unwrap();
                let answers: Vec<Vec<u8>> = self.1.iter().enumerate().map(answer).collect();
                let (left, right) = answers.split_at(FAN);
                let add = |part: &[Vec<u8>]| total(&self.0, part.to_vec());
                self.0.add(&[&add(left)?, &add(right)?])
            }
        }
        let mut trainer = Sharded::new(plan.clone(), ByHand(plan.clone(), bytes.clone())).unwrap();
        for _ in 0..3 {
            trainer.epoch(&mut |_| ()).unwrap();
        }
        assert!(trainer.model().unwrap().to_bytes().unwrap() == trained(&plan, &bytes, 2, 3), "{algorithm}");
    }
}

#[test]
fn what_does_not_work_in_shards_is_refused() {
    let source = FeatureSource::Preset(Preset::Words);
    let model = || {
        let mut vocabulary = Vocabulary::new(source.clone());
        vocabulary.observe(&sentences(5, 6)).unwrap();
        vocabulary.freeze(1).unwrap()
    };
    for algorithm in ["voted", "dual", "semi", "hmm"] {
        let error = ShardPlan::new(model(), &recipe(algorithm)).unwrap_err().to_string();
        assert!(error.contains("in shards"), "{error}");
    }
    let sgd = Recipe { optimizer: Some(Optimizer::Sgd), ..recipe("crf") };
    assert!(ShardPlan::new(model(), &sgd).is_err());
    assert!(Vocabulary::new(source.clone()).freeze(1).is_err(), "no data");
    let plan = Arc::new(ShardPlan::new(model(), &recipe("crf")).unwrap());
    assert!(Sharded::new(plan.clone(), InThreads::new(plan, vec![], 1)).is_err(), "observations are missing");
    let plan = ShardPlan::new(model(), &recipe("averaged")).unwrap();
    let mut other = Sequence::new();
    other.push(["word"]);
    assert!(plan.number(&[other.clone()]).is_err(), "no label");
    other.set_label("NOSUCH");
    assert!(plan.number(&[other]).is_err(), "a label that nobody saw before");
}

/// Bytes that were cut or changed are errors, or numbers that are merely wrong; nothing panics.
#[test]
fn damaged_bytes_do_no_harm() {
    let mut random = Random::new(7);
    for algorithm in ["averaged", "crf"] {
        let source = FeatureSource::Preset(Preset::Words);
        let (plan, bytes) = numbered(&split(&sentences(12, 7), 2), &source, &recipe(algorithm), 1);
        let shard = &bytes[0];
        /// Keeps the first step.
        struct Listening(InThreads, Arc<Mutex<Vec<u8>>>);
        impl Workers for Listening {
            fn run(&mut self, step: &[u8]) -> Result<Vec<u8>> {
                *self.1.lock().unwrap() = step.to_vec();
                self.0.run(step)
            }
        }
        let heard = Arc::default();
        let workers = Listening(InThreads::new(plan.clone(), bytes.clone(), 1), Arc::clone(&heard));
        Sharded::new(plan.clone(), workers).unwrap().epoch(&mut |_| ()).unwrap();
        let step = heard.lock().unwrap().clone();
        let answer = plan.answer(0, shard, &step).unwrap();
        for end in 0..shard.len() {
            assert!(plan.answer(0, &shard[..end], &step).is_err());
        }
        let longer = |bytes: &[u8]| [bytes, &[0]].concat();
        let observed = plan.observed(shard).unwrap();
        assert!(plan.answer(0, &longer(shard), &step).is_err(), "more bytes after a shard");
        assert!(plan.answer(0, shard, &longer(&step)).is_err(), "after a step");
        assert!(plan.add(&[&answer, &longer(&answer)]).is_err(), "after an answer");
        assert!(plan.observed(&longer(shard)).is_err() && plan.merge_observed(&[longer(&observed)]).is_err());
        let mut vocabulary = Vocabulary::new(source.clone());
        vocabulary.observe(&sentences(5, 6)).unwrap();
        let (words, all) = (vocabulary.words_to_bytes(), vocabulary.to_bytes());
        assert!(
            vocabulary.absorb_words(&longer(&words)).is_err() && vocabulary.absorb(&longer(&all)).is_err()
        );
        assert!(vocabulary.absorb_words(&words).is_ok() && vocabulary.absorb(&all).is_ok());
        for _ in 0..2000 {
            let damage = |bytes: &[u8], random: &mut Random| {
                let mut bytes = bytes.to_vec();
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
                bytes
            };
            let _ = plan.observed(&damage(shard, &mut random));
            let _ = plan.answer(0, &damage(shard, &mut random), &step);
            let _ = plan.add(&[&answer, &damage(&answer, &mut random)]);
            let _ = plan.merge_observed(&[damage(&plan.observed(shard).unwrap(), &mut random)]);
        }
    }
}
