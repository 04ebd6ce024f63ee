//! Models of segments: threads, scores from weights, training, files. `crossings.rs` crosses them with every option of the tagger.

use crate::model_file::{Change, Sections, apply, change, put_together, take_apart};
use kbest::decode::{Decoder, Lattices, catalogue};
use kbest::feature::segment::{Lexicon, SegmentFeaturesBuilder, SegmentKind, SegmentMemory};
use kbest::feature::{FeatureSource, Preset};
use kbest::model::AnyModel;
use kbest::random::Random;
use kbest::scheme::Scheme;
use kbest::scoring::{Scorer, SegmentModelMemory, TextModel};
use kbest::segment::{Scratch, Segment, SegmentLattice, Segmentation};
use kbest::train::family::{Layout, Scope};
use kbest::train::{
    Averaging, Crf, CrfOptions, Differentiable, Optimizer, Perceptron, PerceptronOptions, SegmentOptions,
    SegmentTrainingSet, SegmentsFrom, Standing, Trainer, fingerprint, load_checkpoint, save_checkpoint,
};
use kbest::{Error, Model, SegmentModel, Sequence, Tagger, Template};
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::Arc;

const WORDS: [&str; 6] = ["in", "Old", "York", "bank", "17", "new"];

/// Sequences of a token, a line and a label of this spelling; labels depend on words, neighbours and chance.
pub(crate) fn sequences(count: usize, seed: u64, tags: &[&str]) -> Vec<Sequence> {
    let random = &mut Random::new(seed);
    let sequence = |_| {
        let (mut sequence, mut last, mut line) = (Sequence::new(), 0, 1);
        for _ in 0..1 + random.below(4) {
            let word = random.below(WORDS.len());
            last = if random.below(3) == 0 { random.below(tags.len()) } else { (word + last) % tags.len() };
            line += usize::from(random.chance(0.3));
            sequence.push([WORDS[word], &line.to_string()]);
            sequence.set_label(tags[last]);
        }
        sequence
    };
    (0..count).map(sequence).collect()
}

pub(crate) const RUNS: &[&str] = &["A", "B", "C", "O"];
pub(crate) const IOB2: &[&str] = &["O", "B-X", "I-X", "B-Y", "I-Y"];
pub(crate) const IOBES: &[&str] = &["O", "B-X", "I-X", "E-X", "S-X"];

fn template(text: &str) -> FeatureSource {
    FeatureSource::Template(Template::parse(text, "template").unwrap())
}

const SHARED: &str = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n";
const OBSERVED: &str = "U0:%x[0,0]\nB\nB0:%x[0,0]\n";

fn data(tags: &[&str], source: FeatureSource) -> SegmentTrainingSet {
    let features = SegmentFeaturesBuilder::default()
        .with_lines(1)
        .with_lexicon(Lexicon::new("places", "york\nold york\n"))
        .with_lexicon(Lexicon::new("words", "new\nyork"));
    let options = SegmentOptions { features, ..SegmentOptions::default() };
    SegmentTrainingSet::new(&sequences(60, 5, tags), source, 1, options).unwrap()
}

/// After a few passes, and through a file: full of mistakes.
pub(crate) fn trained(tags: &[&str], source: FeatureSource, averaging: Averaging) -> Arc<SegmentModel> {
    let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
    let mut trainer = Perceptron::new(Arc::new(data(tags, source)), options).unwrap();
    (0..4).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    let bytes = trainer.model().unwrap().to_bytes().unwrap();
    let model = SegmentModel::from_bytes(&bytes, "saved").unwrap();
    assert_eq!(model.to_bytes().unwrap(), bytes);
    Arc::new(model)
}

/// All segmentations of a lattice, in no order.
pub(crate) fn segmentations<S: kbest::Float>(lattice: &SegmentLattice<'_, S>) -> Vec<Segmentation<S>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let mut all = vec![];
    let mut open: Vec<Vec<Segment>> = vec![vec![]];
    while let Some(parts) = open.pop() {
        let at = parts.last().map_or(0, |last| last.end);
        if at == positions {
            let score = lattice.segmentation_score(&parts).unwrap();
            if !score.is_forbidden() {
                all.push(Segmentation { segments: parts, score });
            }
            continue;
        }
        for end in at + 1..=positions {
            let next = |label| parts.iter().copied().chain([Segment { start: at, end, label }]).collect();
            open.extend((0..labels as u32).map(next));
        }
    }
    all
}

#[test]
fn threads_answer_in_order() {
    let model = trained(RUNS, template(SHARED), Averaging::Averaged);
    let inputs = sequences(40, 21, RUNS);
    let mut alone = Tagger::new(model.clone());
    let expected = inputs.iter().map(|input| alone.tag(input, 2).unwrap().decoded.paths.clone());
    let expected: Vec<_> = expected.collect();
    let found = alone.par_tag(inputs.into_iter().map(Ok), 2, 3);
    let found: Vec<_> = found.map(|answer| answer.unwrap().1.decoded.paths).collect();
    assert_eq!(found, expected);
}

/// The score of a segmentation, from weights alone, feature by feature.
#[test]
fn scores_are_sums_of_weights() {
    let model = trained(RUNS, template(SHARED), Averaging::Final);
    let labels = model.labels().len();
    let mut memory = kbest::scoring::SegmentModelMemory::default();
    let mut words = SegmentMemory::default();
    let mut features = kbest::feature::FeatureBuffer::new();
    for input in sequences(10, 33, RUNS) {
        model.extractor().extract(&input, &mut features).unwrap();
        model.features().prepare(&input, &mut words).unwrap();
        let weight = |t: usize, column: usize| -> f32 {
            let row = |&id: &u32| {
                let mut scores = vec![0.0; 3 * labels];
                model.nodes().add_to(id, 1.0, &mut scores);
                scores[column]
            };
            features.nodes(t).iter().map(row).sum()
        };
        let lattice = model.lattice(&input, &mut memory).unwrap();
        for found in segmentations(&lattice) {
            let mut sum = 0.0;
            let mut before: Option<usize> = None;
            for &Segment { start, end, label } in &found.segments {
                let y = label as usize;
                sum += (start..end).map(|t| weight(t, y)).sum::<f32>();
                sum += weight(start, labels + y) + weight(end - 1, 2 * labels + y);
                sum += model.durations()[(end - start - 1) * labels + y];
                let mut own = 0.0;
                model.features().visit(&mut words, start, end, None, |id| {
                    let mut scores = vec![0.0; labels];
                    model.weights().add_to(id, 1.0, &mut scores);
                    own += scores[y];
                });
                assert!(own <= model.bounds()[(end - start - 1) * labels + y]);
                sum += own;
                let edge = |p: usize| {
                    let pairs = model.edges().pairs(model.extractor().shared_edges()[0]);
                    let pair = pairs.iter().find(|pair| (pair.from as usize, pair.to as usize) == (p, y));
                    pair.map_or(0.0, |pair| pair.weight)
                };
                sum += before.map_or_else(|| model.start()[y], edge);
                before = Some(y);
            }
            sum += model.end()[before.unwrap()];
            assert_eq!(found.score, sum, "{found:?}");
        }
    }
}

/// The gradient of the loss against differences of the loss.
#[test]
fn the_gradient_of_a_semi_crf_is_that_of_its_loss() {
    for (tags, text) in [(RUNS, SHARED), (IOB2, OBSERVED)] {
        let data = data(tags, template(text));
        let layout = data.layout(Scope::default());
        let random = &mut Random::new(1);
        let mut w: Vec<f64> = (0..layout.len()).map(|_| random.signed()).collect();
        let evaluate = |w: &[f64]| {
            let point = data.point(&layout, w).unwrap();
            let (mut sums, mut gradient) = (Default::default(), vec![0.0; layout.len()]);
            let mut loss = 0.0;
            for example in 0..12 {
                loss += data.expect(&point, example, &mut sums, &mut gradient).unwrap().loss;
                data.add_gold(&layout, example, -1.0, &mut gradient);
            }
            (loss, gradient)
        };
        let (_, gradient) = evaluate(&w);
        for _ in 0..60 {
            let i = random.below(w.len());
            let (old, step) = (w[i], 1e-5);
            w[i] = old + step;
            let above = evaluate(&w).0;
            w[i] = old - step;
            let below = evaluate(&w).0;
            w[i] = old;
            let slope = (above - below) / (2.0 * step);
            assert!((slope - gradient[i]).abs() < 1e-5, "{tags:?} {i}: {slope}, {}", gradient[i]);
        }
    }
}

#[test]
fn semi_crfs_learn_on_any_number_of_threads() {
    let data = Arc::new(data(RUNS, template(SHARED)));
    let train = |options: CrfOptions| {
        let mut crf = Crf::new(data.clone(), options).unwrap();
        let losses: Vec<f64> = (0..8).map(|_| crf.epoch(&mut |_| ()).unwrap().loss).collect();
        (losses, crf.model().unwrap().to_bytes().unwrap())
    };
    let alone = train(CrfOptions::default());
    assert!(alone.0.windows(2).all(|two| two[1] <= two[0]), "{:?}", alone.0);
    assert_eq!(train(CrfOptions { threads: 3, ..CrfOptions::default() }), alone);
    let sgd = train(CrfOptions { optimizer: Optimizer::Sgd, rate: 0.3, ..CrfOptions::default() });
    assert!(sgd.0[7] < sgd.0[0], "{:?}", sgd.0);
}

#[test]
fn interrupted_runs_end_like_others() {
    let data = Arc::new(data(IOB2, template(SHARED)));
    let new = || Perceptron::new(data.clone(), PerceptronOptions::default()).unwrap();
    let mut straight = new();
    (0..4).for_each(|_| _ = straight.epoch(&mut |_| ()).unwrap());
    let mut first = new();
    (0..2).for_each(|_| _ = first.epoch(&mut |_| ()).unwrap());
    let key = fingerprint(&*data, "options");
    let standing = Standing { epochs: 2, ..Standing::default() };
    let bytes = save_checkpoint(key, &standing, &first);
    let mut second = new();
    assert_eq!(load_checkpoint("c", &bytes, key, &mut second).unwrap(), standing);
    (0..2).for_each(|_| _ = second.epoch(&mut |_| ()).unwrap());
    let bytes = |trainer: &Perceptron<SegmentTrainingSet>| trainer.model().unwrap().to_bytes().unwrap();
    assert_eq!(bytes(&second), bytes(&straight));
}

/// What is known from one sequence alone is not known to it.
#[test]
fn training_leaves_out_the_sequence_at_hand() {
    let mut texts = Vec::new();
    for words in [["Bad", "Ems"], ["Bad", "Ems"], ["Lone", "Pine"]] {
        let mut sequence = Sequence::from_tokens(words);
        sequence.set_label("CITY"); // the last; both have one
        texts.push(sequence);
    }
    let gold = [(0usize, 2usize, 0u32)];
    let data: Vec<_> = texts.iter().map(|text| (text, &gold[..])).collect();
    let builder = SegmentFeaturesBuilder::default().with_kinds([SegmentKind::Known, SegmentKind::Similar]);
    let (features, leave_out) = builder.build(&data, &["CITY"], |_| false).unwrap();
    let mut memory = SegmentMemory::default();
    let mut names = |i: usize, leave: bool| {
        features.prepare(&texts[i], &mut memory).unwrap();
        let own = leave_out.own(&features, &memory, i as u32, &gold);
        let mut found = Vec::new();
        let own = leave.then_some(&own);
        features.visit(&mut memory, 0, 2, own, |id| found.push(features.keys().key(id).unwrap().to_vec()));
        found.into_iter().map(|key| String::from_utf8(key).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(0, true), ["known=CITY", "similar=CITY/0.9"], "another sequence has it, too");
    assert_eq!(names(2, false), ["known=CITY", "similar=CITY/0.9"]);
    assert!(names(2, true).is_empty());
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let text = sequences(20, 1, RUNS);
    let source = || template(SHARED);
    let with = |options: SegmentOptions| SegmentTrainingSet::new(&text, source(), 1, options);
    let longest = |longest| SegmentOptions { longest: Some(longest), ..SegmentOptions::default() };
    assert!(matches!(with(longest(0)), Err(Error::Argument { .. })));
    assert!(with(longest(1)).unwrap_err().to_string().contains("the longest of label"));
    assert!(matches!(with(longest(usize::MAX)), Err(Error::Argument { .. })));
    let scheme =
        SegmentOptions { segments: SegmentsFrom::Scheme(Scheme::Iobes), ..SegmentOptions::default() };
    let plain = sequences(20, 1, &["N", "P", "Q"]);
    let refused = SegmentTrainingSet::new(&plain, source(), 1, scheme);
    assert!(matches!(refused, Err(Error::Argument { .. })), "runs are no tags");
    let lines =
        SegmentOptions { features: SegmentFeaturesBuilder::default().with_lines(7), ..Default::default() };
    assert!(matches!(with(lines), Err(Error::Shape { .. })));
    let voted = PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() };
    let set = Arc::new(with(SegmentOptions::default()).unwrap());
    assert!(Perceptron::new(set, voted).unwrap_err().to_string().contains("got votes"));
}

#[test]
fn a_file_says_which_kind_of_model_it_holds() {
    let model = trained(RUNS, template(SHARED), Averaging::Averaged);
    let bytes = model.to_bytes().unwrap();
    assert!(matches!(AnyModel::from_bytes(&bytes, "f").unwrap(), AnyModel::Segments(_)));
    let error = Model::from_any_bytes(&bytes, "f").unwrap_err().to_string();
    assert!(error.contains("got a model of segments"), "{error}");
    assert!(Model::from_bytes(&bytes, "f").is_err());
}

/// Bounds of segments are told from hashes of words: signs that keys use, empty words and lines must not make them too low.
#[test]
fn every_decoder_finds_the_same_segments() {
    const STRANGE: [&str; 8] = ["in", "Old", "York", "a|b", "|", "", "b", "17,"];
    let random = &mut Random::new(11);
    let mut sequence = |longest: usize| {
        let (mut sequence, mut label) = (Sequence::new(), 0);
        for t in 0..1 + random.below(longest) {
            let word = random.below(STRANGE.len());
            label = if random.chance(0.4) { (word + random.below(2)) % 3 } else { label };
            sequence.push([STRANGE[word], &(t / 3).to_string()]);
            sequence.set_label(RUNS[label]);
        }
        sequence
    };
    let known: Vec<Sequence> = (0..80).map(|_| sequence(6)).collect();
    let features =
        SegmentFeaturesBuilder::default().with_lines(1).with_lexicon(Lexicon::new("few", "b\nin old"));
    let options = SegmentOptions { features, ..SegmentOptions::default() };
    let set = SegmentTrainingSet::new(&known, template(SHARED), 1, options).unwrap();
    let mut trainer = Perceptron::new(Arc::new(set), PerceptronOptions::default()).unwrap();
    (0..3).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    let model = Arc::new(trainer.model().unwrap());
    let tagger = |name: &str| Tagger::new(model.clone()).with_decoder(name.parse().unwrap());
    let mut taggers: Vec<(&str, Tagger<SegmentModel>)> =
        catalogue(Lattices::Segments).map(|entry| (entry.name, tagger(entry.name))).collect();
    let mut asked = [0; 2];
    for _ in 0..150 {
        let input = sequence(14);
        let forced = model.known(RUNS[1]);
        let known: Vec<_> = (0..input.len()).map(|t| forced.filter(|_| t % 5 == 4)).collect();
        for k in [1, 4] {
            let expected = taggers[2].1.tag(&input, k).unwrap().decoded.paths.clone();
            let limited = taggers[2].1.tag_known(&input, &known, k).map(|found| found.decoded.paths.clone());
            for (name, tagger) in taggers.iter_mut().filter(|(name, _)| k == 1 || *name != "semi-astar") {
                assert_eq!(tagger.tag(&input, k).unwrap().decoded.paths, expected, "{name}, k = {k}");
                if k == 1 && name.ends_with("simd") {
                    asked[0] += tagger.asked();
                } else if k == 1 && *name == "semi-funnel" {
                    asked[1] += tagger.asked();
                }
                let found = tagger.tag_known(&input, &known, k).map(|found| found.decoded.paths.clone());
                assert_eq!(found, limited, "{name}, k = {k}, known labels");
            }
        }
    }
    assert_eq!(taggers[2].0, "semi-viterbi");
    assert!(asked[1] < asked[0], "{asked:?}: bounds leave out segments");
}

/// Bounds count each kind once, and each known segment once for a word of it.
#[test]
fn what_bounds_tell_of_features_changes_no_score() {
    let model = trained(RUNS, FeatureSource::Preset(Preset::Words), Averaging::Final);
    let (mut memory, mut scratch) = (SegmentModelMemory::default(), Scratch::default());
    let mut found = 0;
    for sequence in sequences(100, 6, RUNS) {
        let mut scores = |bounded: bool| -> Vec<u32> {
            let lattice = model.lattice(&sequence, &mut memory).unwrap();
            if bounded {
                Decoder::SemiFunnel.decode_segments(&lattice, 1, &mut scratch).unwrap();
            }
            let (positions, labels) = (lattice.positions(), lattice.labels() as u32);
            let ends = |s: usize| s + 1..=positions.min(s + lattice.longest());
            let spans = (0..positions).flat_map(|s| ends(s).map(move |r| (s, r)));
            let scores = spans.flat_map(|(s, r)| (0..labels).map(move |y| (s, r, y)));
            scores.map(|(s, r, y)| lattice.explicit(s, r, y).to_bits()).collect()
        };
        let plain = scores(false);
        assert_eq!(scores(true), plain);
        found += plain.iter().filter(|&&bits| bits != 0).count();
    }
    assert!(found > 1000, "{found} scores");
}

#[test]
fn files_that_break_bounds_are_refused() {
    let refusal = |changes: &[(&str, &[u8])]| {
        let mut sections = files().swap_remove(0);
        for (section, content) in changes {
            let place = sections.iter().position(|(name, _)| name == section).unwrap();
            let length = sections[place].1.len();
            sections[place].1 = if content.is_empty() { vec![0; length] } else { content.to_vec() };
        }
        SegmentModel::from_bytes(&put_together(&sections), "f").unwrap_err().to_string()
    };
    let ends: Vec<u8> = [5u32, 10].into_iter().flat_map(u32::to_le_bytes).collect();
    let twice = refusal(&[("segments.kinds", b"shapeshape"), ("segments.kinds.ends", &ends)]);
    assert!(twice.contains("expected each once, got shape twice"), "{twice}");
    let zeros = refusal(&[("similar.segments", b"")]);
    assert!(zeros.contains("postings that do not rise"), "{zeros}");
}

/// Loads and, if that succeeds, tags.
fn survive(file: &[u8]) -> bool {
    let Ok(model) = SegmentModel::from_bytes(file, "f") else { return false };
    let mut tagger = Tagger::new(Arc::new(model));
    for input in sequences(4, 2, RUNS) {
        let _ = tagger.tag(&input, 2).map(|tagged| tagged.decoded.best().segments.clone());
    }
    true
}

/// A small model with these labels.
pub(crate) fn small(tags: &[&str]) -> Arc<SegmentModel> {
    trained(tags, template(if tags == RUNS { SHARED } else { OBSERVED }), Averaging::Averaged)
}

fn files() -> Vec<Sections> {
    [RUNS, IOB2].map(|tags| take_apart(&small(tags).to_bytes().unwrap())).into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]
    #[test]
    fn hostile_files_do_no_harm(source in 0usize..2, changes in vec(change(), 1..4)) {
        thread_local! {
            static FILES: Vec<Sections> = files();
        }
        let mut sections = FILES.with(|files| files[source].clone());
        changes.into_iter().for_each(|change| apply(&mut sections, change));
        survive(&put_together(&sections));
    }
}

/// Every number of the sections that only models of segments have, one at a time, with correct checksums.
#[test]
fn no_single_number_does_harm() {
    let whole = &files()[0];
    let mut loaded = 0;
    for (section, (name, content)) in whole.iter().enumerate() {
        if !name.starts_with("segments.") && !name.starts_with("similar.") {
            continue;
        }
        for at in (0..content.len()).step_by(4).take(400) {
            for value in [u32::MAX, 0x7f80_0000, 3] {
                let mut sections = whole.clone();
                apply(&mut sections, (section, Change::Word(at, value)));
                loaded += usize::from(survive(&put_together(&sections)));
            }
        }
    }
    assert!(loaded > 50, "{loaded}: some changes only make another model");
}
