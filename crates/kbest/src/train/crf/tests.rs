//! Gradients compared with differences, optimisers with each other, on small random data of every kind.

use super::*;
use crate::feature::FeatureSource;
use crate::feature::boolean::{BooleanFeatures, Observation};
use crate::model::LabelGroups;
use crate::scoring::rows::{self, ScoreBuffer};
use crate::sequence::Sequence;
use crate::template::Template;
use crate::train::rows::RowLayout;
use crate::train::{BooleanExample, BooleanTrainingSet, Family};
use kbest_core::LabelSet;
use kbest_core::random::Random;

/// The features of the random data.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Template,
    ObservedEdges,
    TwoSharedEdges,
    NoEdges,
    ValuedItems,
}

const KINDS: [Kind; 5] =
    [Kind::Template, Kind::ObservedEdges, Kind::TwoSharedEdges, Kind::NoEdges, Kind::ValuedItems];

/// Labels that depend on the word and on the label before.
fn data(kind: Kind, labels: usize, sequences: usize, seed: u64) -> Arc<TrainingSet> {
    let mut random = Random::new(seed);
    let mut all = Vec::new();
    for _ in 0..sequences {
        let mut sequence = Sequence::new();
        let mut last = 0;
        for _ in 0..1 + random.below(6) {
            let word = random.below(2 * labels);
            if random.below(3) > 0 {
                last = (word + last) % labels;
            }
            sequence.push_position();
            for name in [format!("w{word}"), format!("c{}", word % 3)] {
                let value = if kind == Kind::ValuedItems { random.unit() * 2.0 - 0.5 } else { 1.0 };
                sequence.push_valued_cell(&name, value);
            }
            sequence.set_label(&format!("L{last}"));
        }
        sequence.set_weight([1.0, 0.5, 3.0][random.below(3)]);
        all.push(sequence);
    }
    let template = |bigrams: &str| {
        let text = format!("U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\n{bigrams}");
        FeatureSource::Template(Template::parse(&text, "template").unwrap())
    };
    let source = match kind {
        Kind::Template => template("B\n"),
        Kind::ObservedEdges => template("B\nB0:%x[0,1]\n"),
        Kind::TwoSharedEdges => template("B\nB1:again\n"),
        Kind::NoEdges => template(""),
        Kind::ValuedItems => FeatureSource::Items,
    };
    Arc::new(TrainingSet::new(&all, source, 1).unwrap())
}

fn layout(data: &TrainingSet, all: bool) -> RowLayout {
    data.layout(Scope { all_states: all, all_transitions: all })
}

fn evaluate<F: Differentiable>(data: &F, layout: &F::Layout, w: &[f64], threads: usize) -> (f64, Vec<f64>) {
    let mut gradient = vec![9.0; w.len()];
    let mut batch = Batch::new(data, layout, threads);
    let point = data.point(layout, w).unwrap();
    let tally = batch.evaluate(data, &point, &mut gradient, &mut |_| ()).unwrap();
    (tally.loss, gradient)
}

/// Compares the gradient with differences of the loss, weight by weight.
fn check_gradient<F: Differentiable>(data: &F, layout: &F::Layout, what: &str) {
    let mut random = Random::new(3);
    let mut w: Vec<f64> = (0..layout.len()).map(|_| random.unit() * 4.0 - 2.0).collect();
    let (_, gradient) = evaluate(data, layout, &w, 1);
    for i in 0..w.len() {
        const STEP: f64 = 1e-4;
        let kept = w[i];
        w[i] = kept + STEP;
        let up = evaluate(data, layout, &w, 1).0;
        w[i] = kept - STEP;
        let down = evaluate(data, layout, &w, 1).0;
        w[i] = kept;
        let expected = (up - down) / (2.0 * STEP);
        assert!((gradient[i] - expected).abs() < 1e-5, "{what}, {i}: {} {expected}", gradient[i]);
    }
}

#[test]
fn gradients_are_differences_of_the_loss() {
    for (kind, labels, all) in KINDS.into_iter().flat_map(|kind| [(kind, 3, false), (kind, 4, true)]) {
        let data = data(kind, labels, 12, 7);
        check_gradient(&*data, &layout(&data, all), &format!("{kind:?}"));
    }
}

/// Labels with parts, and weights between parts of neighbours: a matrix, edges in classes, edges that depend on the input.
#[test]
fn gradients_of_label_parts_and_agreement_are_differences_of_the_loss() {
    for (kind, labels, sequences) in
        [(Kind::Template, 9, 12), (Kind::ObservedEdges, 6, 6), (Kind::TwoSharedEdges, 100, 60)]
    {
        let data = data(kind, labels, sequences, 7);
        let name = |y: usize| format!("{}|Case={}|Number={}", ["N", "V"][y % 2], y % 5, y % 3);
        let named = LabelSet::from_names((0..data.labels().len()).map(|y| format!("{}|x={y}", name(y))));
        let (extractor, examples) = (data.extractor().clone(), data.examples().to_vec());
        let data = TrainingSet::of_examples(named, extractor, examples).with_label_parts(true);
        let groups = LabelGroups::usual(data.labels());
        let data = data.with_agreement(groups).unwrap();
        assert!(data.label_parts().is_some() && data.agreement().unwrap().names().len() == 3);
        assert_eq!(data.labels().len() > 64, labels > 64, "in classes, or a matrix");
        let layout = layout(&data, false);
        let mut random = Random::new(3);
        let mut w: Vec<f64> = (0..layout.len()).map(|_| random.unit() * 2.0 - 1.0).collect();
        let (_, gradient) = evaluate(&data, &layout, &w, 1);
        // All weights between parts, which come last, and some of the others.
        let between = data.agreement().unwrap().weights();
        let step = if labels > 64 { 97 } else { 7 };
        for i in (0..w.len() - between).step_by(step).chain(w.len() - between..w.len()) {
            const STEP: f64 = 1e-4;
            let kept = w[i];
            w[i] = kept + STEP;
            let up = evaluate(&data, &layout, &w, 1).0;
            w[i] = kept - STEP;
            let down = evaluate(&data, &layout, &w, 1).0;
            w[i] = kept;
            let expected = (up - down) / (2.0 * STEP);
            assert!((gradient[i] - expected).abs() < 1e-5, "{kind:?}, {i}: {} {expected}", gradient[i]);
        }
        // The model scores as the point does.
        let (model, point) = (data.model_at(&layout, &w).unwrap(), data.point(&layout, &w).unwrap());
        for example in data.examples() {
            let (mut single, mut double) = (ScoreBuffer::new(), ScoreBuffer::new());
            let single = rows::lattice(&model, &example.features, &mut single).unwrap();
            let double = rows::lattice(&point, &example.features, &mut double).unwrap();
            let scores =
                (single.path_score(&example.gold).unwrap(), double.path_score(&example.gold).unwrap());
            assert!((f64::from(scores.0) - scores.1).abs() < 1e-4);
        }
    }
}

#[test]
fn gradients_of_boolean_features_are_differences_of_the_loss() {
    for observed in [false, true] {
        let mut features = BooleanFeatures::<[usize]>::new(3);
        features.vertical_set(6, |x, t, y| Some((x[t] + y as usize) % 7));
        features.vertical(|x, t, y| t + 1 < x.len() && x[t + 1] == y as usize);
        features.label_bigrams();
        if observed {
            features.horizontal(|x, t, p, y| x[t] == x[t - 1] && p == y);
        }
        let mut random = Random::new(5);
        let example = |_| {
            let x: Vec<usize> = (0..1 + random.below(5)).map(|_| random.below(4)).collect();
            let gold = x.iter().map(|_| random.below(3) as u32).collect();
            let observation = Observation::new(Arc::<[usize]>::from(&x[..]), x.len());
            BooleanExample { observation, gold, weight: [1.0, 2.5][random.below(2)] }
        };
        let examples = (0..8).map(example).collect();
        let data = BooleanTrainingSet::new(Arc::new(features), examples).unwrap();
        check_gradient(&data, &data.layout(Scope::default()), &format!("boolean, observed: {observed}"));
    }
}

/// More labels than fit a whole matrix, few pairs: edges are exceptions, including zeros.
#[test]
fn gradients_of_sparse_edges_are_those_of_dense_ones() {
    let data = data(Kind::Template, 90, 40, 5);
    let (some, all) = (layout(&data, false), layout(&data, true));
    let mut random = Random::new(8);
    let mut wide = vec![0.0; all.len()];
    let mut narrow = vec![0.0; some.len()];
    for i in 0..some.rows() {
        // The same weights in both layouts; weights that only one of them has are zero.
        let wide_row = all.range_of_row(i);
        let is_edge = i >= data.extractor().nodes().len();
        let edge = (i.saturating_sub(data.extractor().nodes().len())) as u32;
        for (k, at) in some.range_of_row(i).enumerate() {
            let place = if is_edge {
                all.pairs_of(edge).binary_search(&some.pairs_of(edge)[k]).unwrap()
            } else {
                some.row(i as u32)[k] as usize
            };
            narrow[at] = if random.below(4) == 0 { 0.0 } else { random.unit() - 0.5 };
            wide[wide_row.start + place] = narrow[at];
        }
    }
    let (narrow_loss, narrow_gradient) = evaluate(&*data, &some, &narrow, 1);
    let (wide_loss, wide_gradient) = evaluate(&*data, &all, &wide, 1);
    assert!((narrow_loss - wide_loss).abs() < 1e-9 * wide_loss);
    let total = |gradient: &[f64]| gradient.iter().map(|g| g * g).sum::<f64>();
    assert!(total(&wide_gradient) > total(&narrow_gradient));
    let shared = some.shared().unwrap();
    assert!(shared.pairs.len() * 8 < 90 * 90, "few enough to be exceptions");
    for (i, &(p, y)) in some.pairs_of(0).iter().enumerate() {
        let got = narrow_gradient[some.edge_range(0).start + i];
        let expected = wide_gradient[all.edge_range(0).start + p as usize * data.labels().len() + y as usize];
        assert!((got - expected).abs() < 1e-9, "{p} to {y}: {got}, {expected}");
    }
}

#[test]
fn threads_change_no_bit() {
    for kind in KINDS {
        let data = data(kind, 5, 60, 2);
        let train = |threads: usize| {
            let mut crf = Crf::new(data.clone(), CrfOptions { threads, ..CrfOptions::default() }).unwrap();
            let losses: Vec<f64> = (0..5).map(|_| crf.epoch(&mut |_| ()).unwrap().loss).collect();
            (losses, crf.vector().to_vec())
        };
        let alone = train(1);
        for threads in [2, 3, 7, 100] {
            assert!(train(threads) == alone, "{kind:?}, {threads} threads");
        }
    }
}

/// Runs epochs until it converges.
fn converge(crf: &mut Crf) -> (EpochReport, Vec<f64>) {
    let mut losses = Vec::new();
    for _ in 0..2000 {
        let report = crf.epoch(&mut |_| ()).unwrap();
        losses.push(report.loss);
        if report.converged {
            return (report, losses);
        }
    }
    panic!("no convergence: {losses:?}");
}

#[test]
fn the_loss_falls_to_a_minimum() {
    for kind in KINDS {
        let data = data(kind, 4, 40, 11);
        let options = CrfOptions { c2: 0.3, delta: 0.0, ..CrfOptions::default() };
        let mut crf = Crf::new(data.clone(), options).unwrap();
        let (report, losses) = converge(&mut crf);
        assert!(losses.windows(2).all(|two| two[1] <= two[0]), "{losses:?}");
        assert!(report.right.unwrap() <= report.tokens && report.tokens == data.tokens());
        assert_eq!(crf.epoch(&mut |_| ()).unwrap(), report, "stays converged");
        let w = crf.vector();
        let (_, gradient) = evaluate(&*data, &crf.layout, w, 1);
        let steepest = gradient.iter().zip(w).map(|(g, w)| (g + 0.6 * w).abs()).fold(0.0, f64::max);
        assert!(steepest < 1e-2, "{kind:?}: {steepest}");
    }
}

#[test]
fn an_l1_term_makes_zeros() {
    let data = data(Kind::Template, 4, 60, 13);
    let train = |c1: f64| {
        let options = CrfOptions { c1, c2: 0.01, ..CrfOptions::default() };
        let mut crf = Crf::new(data.clone(), options).unwrap();
        converge(&mut crf);
        let zeros = crf.vector().iter().filter(|w| **w == 0.0).count();
        let model = crf.model().unwrap();
        assert_eq!(model.nodes().stored() + model.edges().stored(), crf.weights() - zeros);
        zeros as f64 / crf.weights() as f64
    };
    let shares: Vec<f64> = [0.0, 1.0, 4.0, 1e4].map(train).to_vec();
    assert!(shares[0] < 0.05 && shares[1] > shares[0] && shares[2] > 0.3 && shares[3] == 1.0, "{shares:?}");
}

#[test]
fn sgd_comes_close_to_the_same_minimum() {
    for (kind, batch) in [(Kind::Template, 1), (Kind::ObservedEdges, 4), (Kind::ValuedItems, 7)] {
        let data = data(kind, 4, 50, 17);
        let mut lbfgs = Crf::new(data.clone(), CrfOptions::default()).unwrap();
        let best = converge(&mut lbfgs).0.loss;
        let optimizer = Optimizer::Sgd;
        let options = CrfOptions { optimizer, rate: 0.3, batch, period: 0, ..CrfOptions::default() };
        let run = |epochs: usize| {
            let mut sgd = Crf::new(data.clone(), options.clone()).unwrap();
            (0..epochs).for_each(|_| assert!(!sgd.epoch(&mut |_| ()).unwrap().converged));
            let w = sgd.vector().to_vec();
            (evaluate(&*data, &sgd.layout, &w, 1).0 + squared_length(&w), w)
        };
        let (loss, w) = run(60);
        assert!(loss >= best - 1e-6 * best && loss < 1.01 * best, "{kind:?}: {loss}, best {best}");
        assert_eq!(run(60).1, w, "depends only on the seed");
    }
}

/// An update touches only features that occur, and the rest is caught up: as if every weight were divided in every
/// batch.
#[test]
fn lazy_shrinking_is_eager_shrinking() {
    let data = data(Kind::Template, 3, 20, 19);
    let layout = layout(&data, false);
    let pace = Pace { rate: 0.5, batch: 2, seed: 4, c2: 2.0 };
    let mut sgd = Sgd::new(&layout, pace);
    for _ in 0..3 {
        sgd.epoch(&*data, &layout, &mut |_| ()).unwrap();
    }

    let (mut w, mut squares) = (vec![0.0; layout.len()], vec![0.0; layout.len()]);
    for epoch in 0..3 {
        let order = crate::train::shuffled(data.examples().len(), 4, epoch);
        for batch in order.chunks(2) {
            let mut expectations = batch::Expectations::new(&layout);
            let examples = || batch.iter().map(|&i| i as usize);
            expectations.add(&*data, &data.point(&layout, &w).unwrap(), examples()).unwrap();
            let gradient = &mut expectations.gradient;
            examples().for_each(|example| data.add_gold(&layout, example, -data.weight(example), gradient));
            for i in 0..w.len() {
                squares[i] += gradient[i] * gradient[i];
                if squares[i] > 0.0 {
                    let rate = pace.rate / f64::sqrt(squares[i]);
                    w[i] = (w[i] - rate * gradient[i]) / (1.0 + 2.0 * pace.c2 / 10.0 * rate);
                }
            }
        }
    }
    for (lazy, eager) in sgd.weights().iter().zip(&w) {
        assert!((lazy - eager).abs() < 1e-9, "{lazy}, {eager}");
    }
}

#[test]
fn weights_are_those_observed_unless_all_are_asked_for() {
    let data = data(Kind::Template, 4, 30, 23);
    let (labels, nodes) = (data.labels().len(), data.extractor().nodes().len());
    let count = |all_states, all_transitions| {
        Crf::new(data.clone(), CrfOptions { all_states, all_transitions, ..CrfOptions::default() })
            .unwrap()
            .weights()
    };
    let observed = count(false, false);
    assert_eq!(count(true, true), nodes * labels + labels * labels);
    assert!(observed < count(true, false) && count(false, true) <= observed + labels * labels);
}

#[test]
fn options_out_of_range_are_refused() {
    let data = data(Kind::Template, 2, 3, 1);
    let sgd = || CrfOptions { optimizer: Optimizer::Sgd, ..CrfOptions::default() };
    for options in [
        CrfOptions { c2: -1.0, ..CrfOptions::default() },
        CrfOptions { c1: f64::NAN, ..CrfOptions::default() },
        CrfOptions { c1: 1.0, ..sgd() },
        CrfOptions { batch: 0, ..sgd() },
        CrfOptions { rate: f64::INFINITY, ..sgd() },
    ] {
        assert!(
            matches!(Crf::new(data.clone(), options.clone()), Err(Error::Argument { .. })),
            "{options:?}"
        );
    }
}
