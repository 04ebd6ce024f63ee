//! Dual models against the definitions.
//!
//! The chain of trust: the inner product of two labelled sequences as the appendix writes it, and `f` as the sum over all
//! dual variables, both by loops over positions -> scores `a` and `b` -> the lattice -> enumeration. With a linear kernel, a
//! primal perceptron is the judge: its data has one more item at the first position, whose weight is the start transition.

use crate::common::enumerate;
use kbest::feature::token::{StandardKernel, TokenKernel, TokenVector, TokenVectors};
use kbest::feature::{FeatureSource, Numbers};
use kbest::random::Random;
use kbest::train::{
    Averaging, Change, DualOptions, DualParameter, DualTrainingSet, Family, MaxMargin, MaxMarginOptions,
    Perceptron, PerceptronOptions, Rescaling, Trainer, TrainingSet, Update, load_checkpoint, save_checkpoint,
};
use kbest::{Decode, Decoder, LabelId, Model, Positions, Scratch, Sequence, Tagger};
use std::sync::Arc;

const KERNELS: [&str; 4] = ["linear", "poly:2", "poly:3:0.5", "rbf:0.5"];

/// Items whose labels depend on them, on the label before and on chance. `start`: an item more at the first position.
pub(crate) fn items(count: usize, start: bool) -> Vec<Sequence> {
    let random = &mut Random::new(11);
    let sequence = |_| {
        let mut sequence = Sequence::new();
        let mut last = 0;
        for t in 0..1 + random.below(4) {
            sequence.push_position();
            let (one, other) = (random.below(4), random.below(3));
            sequence.push_valued_cell(["a", "b", "c", "d"][one], [1.0, 2.0][random.below(2)]);
            sequence.push_cell(["x", "y", "z"][other]);
            if t == 0 && start {
                sequence.push_cell("START");
            }
            last = if random.below(4) == 0 { random.below(3) } else { (one * other + last) % 3 };
            sequence.set_label(["A", "B", "C"][last]);
        }
        sequence
    };
    (0..count).map(sequence).collect()
}

fn dual(count: usize, kernel: &str, options: DualOptions) -> Arc<DualTrainingSet> {
    let data = TrainingSet::new(&items(count, false), FeatureSource::Items, 1).unwrap();
    let kernel = Arc::new(kernel.parse::<StandardKernel>().unwrap());
    Arc::new(DualTrainingSet::new(Arc::new(data), kernel, options).unwrap())
}

fn best<F: Family<Structure = Positions>>(data: &F, weights: &F::Weights, example: usize) -> Vec<LabelId> {
    let mut memory = F::Memory::default();
    let lattice = data.lattice(weights, example, &mut memory).unwrap();
    Decoder::by_name("viterbi").unwrap().decode(&lattice, &mut Scratch::new()).unwrap().best().labels.clone()
}

fn correct<F: Family<Structure = Positions>>(
    data: &F,
    weights: &mut F::Weights,
    example: usize,
    answer: &[LabelId],
    clock: f64,
) {
    let mut changes = Vec::new();
    data.difference(example, answer, &mut changes);
    changes.into_iter().for_each(|change| data.apply(weights, change, clock).unwrap());
}

#[test]
fn dual_and_primal_predict_the_same_all_through_training() {
    let primal = TrainingSet::new(&items(60, true), FeatureSource::Items, 1).unwrap();
    let dual = dual(60, "linear", DualOptions { row_memory: 1, ..DualOptions::default() });
    let (mut rows, mut coefficients) = (primal.zero().unwrap(), dual.zero().unwrap());
    let (mut errors, mut clock) = (0, 0.0);
    for _ in 0..6 {
        for example in 0..dual.example_count() {
            clock += 1.0;
            let answer = best(&primal, &rows, example);
            assert_eq!(answer, best(&*dual, &coefficients, example), "example {example} at {clock}");
            if answer != dual.gold(example) {
                errors += 1;
                correct(&primal, &mut rows, example, &answer, clock);
                correct(&*dual, &mut coefficients, example, &answer, clock);
            }
        }
    }
    assert!(errors > 100, "{errors}");
    for average in [None, Some(clock + 1.0)] {
        let rows = Arc::new(primal.model(&rows, average, None).unwrap());
        let collapsed = Arc::new(dual.model(&coefficients, average, None).unwrap());
        assert!(collapsed.support().is_none(), "a linear kernel becomes weights");
        let (mut rows, mut collapsed) = (Tagger::new(rows), Tagger::new(collapsed));
        for (with_start, without) in items(60, true).iter().zip(&items(60, false)) {
            let [one, other] = [rows.tag(with_start, 1), collapsed.tag(without, 1)];
            let (one, other) = (one.unwrap().decoded.best(), other.unwrap().decoded.best());
            assert!((one.score - other.score).abs() < 1e-4, "{one:?} {other:?}");
            assert!(average.is_some() || one == other, "whole numbers are exact: {one:?} {other:?}");
        }
    }
}

/// The inner product of the appendix, by its definition.
fn joint_product(data: &DualTrainingSet, (i, y): (usize, &[LabelId]), (j, z): (usize, &[LabelId])) -> f64 {
    let before = |labels: &[LabelId], t: usize| t.checked_sub(1).map(|before| labels[before]);
    let vector = |example: usize, t: usize| data.tokens().vector(data.sequence(example)[t] as usize);
    let mut sum = 0.0;
    for s in 0..y.len() {
        for t in 0..z.len() {
            if y[s] == z[t] {
                sum += data.kernel().value(vector(i, s), vector(j, t));
                sum += f64::from(u8::from(before(y, s) == before(z, t)));
            }
        }
    }
    sum
}

#[test]
fn scores_are_those_of_the_dual_expansion() {
    let random = &mut Random::new(7);
    for kernel in KERNELS {
        let data = dual(12, kernel, DualOptions::default());
        let mut weights = data.zero().unwrap();
        let mut alphas: Vec<(usize, Vec<LabelId>, f64)> = Vec::new();
        for _ in 0..15 {
            let example = random.below(data.example_count());
            let gold = data.gold(example);
            let other: Vec<LabelId> = gold.iter().map(|_| random.below(3) as LabelId).collect();
            let alpha = [0.5, 1.0, 2.0][random.below(3)];
            let mut changes = Vec::new();
            data.difference(example, &other, &mut changes);
            for Change { parameter, by } in changes {
                data.apply(&mut weights, Change { parameter, by: alpha * by }, 0.0).unwrap();
            }
            alphas.push((example, other, f64::from(alpha)));
        }
        let model = data.model(&weights, None, None).unwrap();
        let mut tagger = Tagger::new(Arc::new(model));
        for (example, input) in items(12, false).iter().enumerate() {
            let f = |y: &[LabelId]| -> f64 {
                let term = |(i, other, alpha): &(usize, Vec<LabelId>, f64)| {
                    let right = joint_product(&data, (*i, data.gold(*i)), (example, y));
                    alpha * (right - joint_product(&data, (*i, other), (example, y)))
                };
                alphas.iter().map(term).sum()
            };
            let mut memory = Vec::new();
            let lattice = data.lattice(&weights, example, &mut memory).unwrap();
            let paths = enumerate(&lattice);
            assert_eq!(paths.len(), 3usize.pow(data.gold(example).len() as u32));
            for path in &paths {
                let expected = f(&path.labels);
                let close = 1e-5 * expected.abs().max(100.0);
                assert!((f64::from(path.score) - expected).abs() < close, "{kernel}: {path:?} {expected}");
            }
            // The recursion over positions finds the largest of all.
            let largest = paths.iter().map(|path| f(&path.labels)).fold(f64::MIN, f64::max);
            let best = tagger.tag(input, 1).unwrap().decoded.best().score;
            assert!((f64::from(best) - largest).abs() < 1e-5 * largest.abs().max(100.0), "{kernel}");
        }
    }
}

#[test]
fn equal_tokens_are_merged_and_what_cancels_is_dropped() {
    let data = dual(40, "rbf:1", DualOptions::default());
    assert!(data.tokens().len() <= 4 * 2 * 3, "{} different tokens", data.tokens().len());
    let mut weights = data.zero().unwrap();
    let example = (0..40).find(|&i| data.gold(i).len() == 4).unwrap();
    let other: Vec<LabelId> = data.gold(example).iter().map(|y| (y + 1) % 3).collect();
    for by in [1.0, 1.0, -2.0] {
        let mut changes = Vec::new();
        data.difference(example, &other, &mut changes);
        for change in changes {
            data.apply(&mut weights, Change { by: by * change.by, ..change }, 0.0).unwrap();
        }
        let distinct = {
            let mut tokens = data.sequence(example).to_vec();
            tokens.sort_unstable();
            tokens.dedup();
            tokens.len()
        };
        assert!(weights.support_tokens() <= distinct);
    }
    assert_eq!(weights.support_tokens(), 0);
    let model = data.model(&weights, None, None).unwrap();
    assert_eq!(model.support().unwrap().tokens().len(), 0);
    assert_eq!(model.edges().stored(), 0);
}

/// A kernel of the user's own: how many features two tokens share.
#[derive(Debug)]
struct Shared;

impl TokenKernel for Shared {
    fn name(&self) -> String {
        "shared".into()
    }

    fn value(&self, one: TokenVector<'_>, other: TokenVector<'_>) -> f64 {
        one.features.iter().filter(|id| other.features.contains(id)).count() as f64
    }
}

fn trained(data: Arc<DualTrainingSet>, options: PerceptronOptions) -> Model {
    let mut trainer = Perceptron::new(data, options).unwrap();
    (0..5).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    trainer.model().unwrap()
}

/// A small model with support tokens.
pub(crate) fn small() -> Model {
    trained(dual(30, "poly:2", DualOptions::default()), PerceptronOptions::default())
}

fn answers(model: Model) -> Vec<(Vec<LabelId>, f32)> {
    let mut tagger = Tagger::new(Arc::new(model));
    let best = |sequence: &Sequence| {
        let path = tagger.tag(sequence, 1).unwrap().decoded.best().clone();
        (path.labels, path.score)
    };
    items(80, false).iter().map(best).collect()
}

#[test]
fn models_of_every_kernel_are_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    for kernel in KERNELS {
        let model = trained(dual(60, kernel, DualOptions::default()), PerceptronOptions::default());
        let path = folder.path().join("dual.kbest");
        model.save(&path).unwrap();
        let loaded = Model::load(&path).unwrap();
        assert_eq!(loaded.support().map(|support| support.kernel().name()).is_none(), kernel == "linear");
        let bytes = model.to_bytes().unwrap();
        assert_eq!(loaded.to_bytes().unwrap(), bytes);
        assert_eq!(answers(model), answers(loaded), "{kernel}");
        for at in (0..bytes.len()).step_by(23) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 4;
            assert!(Model::from_bytes(&damaged, "damaged").is_err(), "{kernel}: byte {at}");
        }
    }
    let data = TrainingSet::new(&items(60, false), FeatureSource::Items, 1).unwrap();
    let data = DualTrainingSet::new(Arc::new(data), Arc::new(Shared), DualOptions::default()).unwrap();
    let model = trained(Arc::new(data), PerceptronOptions::default());
    let path = folder.path().join("own.kbest");
    model.save(&path).unwrap();
    assert!(Model::load(&path).is_err(), "nobody knows this kernel");
    assert!(Model::load_with_kernel(&path, Arc::new(StandardKernel::Linear)).is_err(), "another kernel");
    assert_eq!(answers(model), answers(Model::load_with_kernel(&path, Arc::new(Shared)).unwrap()));
}

#[test]
fn the_memory_for_rows_changes_no_answer() {
    let model = |row_memory| {
        let options = DualOptions { row_memory, ..DualOptions::default() };
        trained(dual(60, "rbf:0.7", options), PerceptronOptions::default()).to_bytes().unwrap()
    };
    assert_eq!(model(0), model(1 << 20));
    assert_eq!(model(0), model(500));
}

#[test]
fn the_budget_is_kept() {
    for averaging in [Averaging::Final, Averaging::Averaged] {
        for (budget, threads) in [(1, 1), (5, 1), (9, 2)] {
            let options = DualOptions { budget: Some(budget), ..DualOptions::default() };
            let perceptron = PerceptronOptions { averaging, threads, ..PerceptronOptions::default() };
            let model = trained(dual(60, "poly:2", options), perceptron);
            let support = model.support().unwrap();
            assert_eq!(support.tokens().len(), budget, "{averaging:?}");
        }
    }
    let data = dual(60, "poly:2", DualOptions { budget: Some(4), ..DualOptions::default() });
    let mut weights = data.zero().unwrap();
    for example in 0..data.example_count() {
        let answer = best(&*data, &weights, example);
        correct(&*data, &mut weights, example, &answer, 1.0);
        assert!(weights.support_tokens() <= 4);
    }
    assert_eq!(weights.support_tokens(), 4);
    assert!(MaxMargin::new(data, MaxMarginOptions::default()).is_err(), "a margin needs all its support");
    let refused = TrainingSet::new(&items(3, false), FeatureSource::Items, 1).unwrap();
    let options = DualOptions { budget: Some(0), ..DualOptions::default() };
    assert!(DualTrainingSet::new(Arc::new(refused), Arc::new(StandardKernel::Linear), options).is_err());
}

#[test]
fn votes_and_passive_aggressive_steps_are_refused_before_training() {
    let data = dual(20, "rbf:1", DualOptions::default());
    let voted = PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() };
    assert!(Perceptron::new(data.clone(), voted).unwrap_err().to_string().contains("votes"));
    let update = Update::PassiveAggressive { longest: 1.0 };
    let refused = Perceptron::new(data, PerceptronOptions { update, ..PerceptronOptions::default() });
    assert!(refused.unwrap_err().to_string().contains("steps of a fixed size"));
}

/// What is left of a sequence's dual variables: per token and label, how much of them has that label there.
fn check_constraints(trainer: &MaxMargin, data: &DualTrainingSet, example: usize, place: &str) {
    let price = trainer.price(example);
    let (gold, tokens) = (data.gold(example), data.sequence(example));
    let value = |wanted: DualParameter| {
        let found = trainer.part(example).iter().find(|(parameter, _)| *parameter == wanted);
        found.map_or(0.0, |&(_, value)| value)
    };
    let mut distinct = tokens.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    for token in distinct {
        let places = (0..gold.len()).filter(|&t| tokens[t] == token);
        let count = places.clone().count() as f64;
        let mut all = 0.0;
        for label in 0..3 {
            let right = places.clone().filter(|&t| gold[t] == label).count() as f64;
            let mass = price * right - value(DualParameter::Token { token, label });
            assert!(mass > -1e-9 && mass < price * count + 1e-9, "{place}: {mass}");
            all += mass;
        }
        assert!((all - price * count).abs() < 1e-9, "{place}: {all} {price}");
    }
    let first: f64 = (0..3).map(|to| value(DualParameter::Start { to })).sum();
    assert!(first.abs() < 1e-9, "{place}: {first}");
}

#[test]
fn max_margin_keeps_its_promises() {
    for (kernel, rescaling, c) in [
        ("linear", Rescaling::Margin, 10.0),
        ("poly:2", Rescaling::Margin, 100.0),
        ("rbf:0.5", Rescaling::Margin, 1000.0),
        ("rbf:0.5", Rescaling::Slack, 20.0),
        ("linear", Rescaling::Slack, 1.0),
    ] {
        let place = format!("{kernel} {rescaling:?}");
        let data = dual(30, kernel, DualOptions::default());
        let options = MaxMarginOptions { rescaling, c, gap: 0.02, ..MaxMarginOptions::default() };
        let mut trainer = MaxMargin::new(data.clone(), options.clone()).unwrap();
        let (mut dual_before, mut primal_before) = (0.0, f64::INFINITY);
        let mut epochs = 0;
        loop {
            let report = trainer.epoch(&mut |_| ()).unwrap();
            epochs += 1;
            assert!(trainer.dual_objective() >= dual_before, "{place}: the objective got worse");
            dual_before = trainer.dual_objective();
            let objectives = trainer.objectives().unwrap();
            assert!(
                (objectives.dual - dual_before).abs() < 1e-4 * dual_before.max(1.0),
                "{place}: {objectives:?}"
            );
            assert!(objectives.gap() > -1e-4 * objectives.primal, "{place}: {objectives:?}");
            primal_before = objectives.primal.min(primal_before);
            // Weak duality, between any two points.
            assert!(primal_before >= dual_before * (1.0 - 1e-5), "{place}: {primal_before} {dual_before}");
            if rescaling == Rescaling::Margin {
                (0..30).for_each(|example| check_constraints(&trainer, &data, example, &place));
            }
            if report.converged {
                assert!(objectives.gap() <= 0.02 * objectives.primal, "{place}: {objectives:?}");
                break;
            }
            assert!(epochs < 3000, "{place}: {objectives:?}");
        }
        // The primal objective by enumeration of all labellings.
        let objectives = trainer.objectives().unwrap();
        let model = trainer.model().unwrap();
        let mut primal = 0.0;
        let mut tagger = Tagger::new(Arc::new(model));
        for (example, input) in items(30, false).iter().enumerate() {
            let paths = tagger.tag(input, 100).unwrap().decoded.paths.clone();
            let gold = data.gold(example);
            let right = f64::from(paths.iter().find(|path| path.labels == gold).unwrap().score);
            let hinge = |path: &kbest::Path<f32>| {
                let errors = path.labels.iter().zip(gold).filter(|(a, b)| a != b).count() as f64;
                match rescaling {
                    Rescaling::Margin => errors + f64::from(path.score) - right,
                    Rescaling::Slack => errors * (1.0 + f64::from(path.score) - right),
                }
            };
            primal += trainer.price(example) * paths.iter().map(hinge).fold(0.0, f64::max);
            primal +=
                trainer.part(example).iter().map(|&(p, value)| value * score(&tagger, &data, p)).sum::<f64>()
                    / 2.0;
        }
        assert!((primal - objectives.primal).abs() < 1e-3 * primal, "{place}: {primal} {objectives:?}");
    }
}

/// The score of a parameter under a finished model.
fn score(tagger: &Tagger, data: &DualTrainingSet, parameter: DualParameter) -> f64 {
    let model = tagger.model();
    match parameter {
        DualParameter::Start { to } => model.start().unwrap()[to as usize].into(),
        DualParameter::Edge { from, to } => {
            let pairs = model.edges().pairs(model.extractor().shared_edges()[0]);
            pairs
                .iter()
                .find(|pair| (pair.from, pair.to) == (from, to))
                .map_or(0.0, |pair| pair.weight.into())
        }
        DualParameter::Token { token, label } => {
            let vector = data.tokens().vector(token as usize);
            let mut scores = [0.0; 3];
            match model.support() {
                Some(support) => support.score(vector, &mut vec![], &mut vec![], &mut scores),
                None => vector.iter().for_each(|(id, value)| model.nodes().add_to(id, value, &mut scores)),
            }
            scores[label as usize].into()
        }
    }
}

#[test]
fn a_stopped_run_goes_on_as_if_it_had_not() {
    let perceptron = || {
        let data = dual(40, "rbf:0.5", DualOptions { budget: Some(10), ..DualOptions::default() });
        Box::new(Perceptron::new(data, PerceptronOptions::default()).unwrap())
            as Box<dyn Trainer<Model = Model>>
    };
    let max_margin = || {
        let data = dual(40, "poly:2", DualOptions::default());
        Box::new(MaxMargin::new(data, MaxMarginOptions::default()).unwrap())
            as Box<dyn Trainer<Model = Model>>
    };
    let makers: [&dyn Fn() -> Box<dyn Trainer<Model = Model>>; 2] = [&perceptron, &max_margin];
    for make in makers {
        let mut whole = make();
        whole.epoch(&mut |_| ()).unwrap();
        let bytes = save_checkpoint(1, &Default::default(), &*whole);
        whole.epoch(&mut |_| ()).unwrap();
        let mut resumed = make();
        load_checkpoint("state", &bytes, 1, &mut *resumed).unwrap();
        resumed.epoch(&mut |_| ()).unwrap();
        assert_eq!(whole.model().unwrap().to_bytes().unwrap(), resumed.model().unwrap().to_bytes().unwrap());
        assert!(load_checkpoint("state", &bytes[..bytes.len() / 2], 1, &mut *make()).is_err());
    }
}

#[test]
fn numbers_are_features_of_every_algorithm() {
    let mut sequence = Sequence::new();
    for (x, y, label) in [("1", "10", "A"), ("2", "30", "B"), ("1.5", "10", "A"), ("-1e0", "35", "B")] {
        sequence.push([x, y]);
        sequence.set_label(label);
    }
    let sequences = [sequence];
    let source = FeatureSource::Numbers(Numbers::fit(&sequences).unwrap());
    let data = TrainingSet::new(&sequences, source, 1).unwrap();
    let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default()).unwrap();
    (0..5).for_each(|_| _ = trainer.epoch(&mut |_| ()).unwrap());
    let model = trainer.model().unwrap();
    let model = Model::from_bytes(&model.to_bytes().unwrap(), "saved").unwrap();
    assert_eq!(model.extractor().source().name(), "numbers");
    let mut tagger = Tagger::new(Arc::new(model));
    let names = |tagger: &mut Tagger, sequence: &Sequence| -> Vec<String> {
        let labels = tagger.tag(sequence, 1).unwrap().decoded.best().labels.clone();
        labels.iter().map(|&y| tagger.model().labels().name(y).unwrap().to_owned()).collect()
    };
    assert_eq!(names(&mut tagger, &sequences[0]), ["A", "B", "A", "B"]);
    let mut words = Sequence::new();
    words.push(["1", "ten"]);
    let error = tagger.tag(&words, 1).unwrap_err().to_string();
    assert!(error.contains("column 2") && error.contains("ten"), "{error}");
}

#[test]
fn edges_that_look_at_the_input_are_refused() {
    let template = kbest::Template::parse("U:%x[0,0]\nB:%x[0,0]\n", "template").unwrap();
    let mut sequence = Sequence::from_tokens(["a", "b"]);
    sequence.set_label("A");
    let data = TrainingSet::new(&[sequence], FeatureSource::Template(template), 1).unwrap();
    let kernel = Arc::new(StandardKernel::Linear);
    assert!(DualTrainingSet::new(Arc::new(data), kernel, DualOptions::default()).is_err());
    assert!(TokenVectors::builder(1).finish().is_empty());
}
