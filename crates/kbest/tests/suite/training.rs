//! Trainers learn, and what they learn depends only on data, options and seed.

use kbest::decode::Beam;
use kbest::feature::{FeatureSource, Preset};
use kbest::model::Model;
use kbest::synthetic::Language;
use kbest::train::{
    Algorithm, Averaging, Crf, CrfOptions, End, Optimizer, Perceptron, PerceptronOptions, Recipe, Schedule,
    Standing, Trainer, TrainingSet, Update, fingerprint, load_checkpoint, save_checkpoint,
};
use kbest::{Decoder, Error, Sequence, Tagger, Template};
use std::sync::Arc;

/// Sentences of a made-up language: (to train on, to test with).
fn corpus(labels: usize) -> (Vec<Sequence>, Vec<Sequence>) {
    let language = Language::new(labels, 3).unwrap();
    (language.text(0, 8).take(150).collect(), language.text(1, 8).take(50).collect())
}

fn training_set(sequences: &[Sequence]) -> Arc<TrainingSet> {
    Arc::new(TrainingSet::new(sequences, FeatureSource::Preset(Preset::Words), 1).unwrap())
}

fn trained(data: &Arc<TrainingSet>, options: PerceptronOptions, epochs: usize) -> Perceptron {
    let mut trainer = Perceptron::new(data.clone(), options).unwrap();
    for _ in 0..epochs {
        trainer.epoch(&mut |_| ()).unwrap();
    }
    trainer
}

fn accuracy(model: Model, sequences: &[Sequence]) -> f64 {
    let mut tagger = Tagger::new(Arc::new(model));
    let (mut right, mut all) = (0, 0);
    for sequence in sequences {
        let labels = tagger.tag(sequence, 1).unwrap().decoded.best().labels.clone();
        for (t, &y) in labels.iter().enumerate() {
            all += 1;
            right += usize::from(tagger.model().labels().name(y) == sequence.label(t));
        }
    }
    f64::from(right as u32) / f64::from(all as u32)
}

/// (feature, label, weight) and (from, to, weight).
type Weights = (Vec<(u32, u32, f32)>, Vec<(u32, u32, f32)>);

/// All weights of a model, in a form that can be compared.
fn weights(model: &Model) -> Weights {
    let nodes = (0..model.nodes().features() as u32)
        .flat_map(|id| model.nodes().row(id).iter().map(|(y, weight)| (id, y, weight)).collect::<Vec<_>>());
    let edges = (0..model.edges().features() as u32)
        .flat_map(|id| model.edges().pairs(id).iter().map(|pair| (pair.from, pair.to, pair.weight)));
    (nodes.collect(), edges.collect())
}

#[test]
fn labels_are_numbered_by_frequency() {
    let (train, _) = corpus(40);
    let data = training_set(&train);
    let count = |name: &str| {
        let labels = train.iter().flat_map(|sequence| (0..sequence.len()).map(|t| sequence.label(t)));
        labels.filter(|&label| label == Some(name)).count()
    };
    let counts: Vec<usize> = data.labels().names().map(count).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b) && counts[0] > counts[counts.len() - 1], "{counts:?}");
    let first = train.iter().position(|sequence| !sequence.is_empty()).unwrap();
    let gold: Vec<_> = data.examples()[0].gold.iter().map(|&y| data.labels().name(y)).collect();
    assert_eq!(gold, (0..train[first].len()).map(|t| train[first].label(t)).collect::<Vec<_>>());
}

#[test]
fn weights_are_the_same_whichever_exact_decoder_is_inside() {
    let (train, _) = corpus(40);
    let data = training_set(&train);
    let with = |name: &str| {
        let options =
            PerceptronOptions { decoder: Decoder::by_name(name).unwrap(), ..PerceptronOptions::default() };
        weights(&trained(&data, options, 2).model().unwrap())
    };
    let expected = with("viterbi");
    assert!(expected.1.len() > 100);
    for name in ["auto", "funnel", "viterbi-simd", "viterbi-sparse", "carpediem", "staggered-column", "astar"]
    {
        assert!(with(name) == expected, "{name} trains other weights than viterbi");
    }
}

#[test]
fn every_kind_of_perceptron_learns() {
    let (train, test) = corpus(20);
    let data = training_set(&train);
    let kinds = [
        ("final", PerceptronOptions { averaging: Averaging::Final, ..PerceptronOptions::default() }),
        ("averaged", PerceptronOptions::default()),
        ("voted", PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() }),
        (
            "passive-aggressive",
            PerceptronOptions {
                update: Update::PassiveAggressive { longest: 1.0 },
                ..PerceptronOptions::default()
            },
        ),
        (
            "beam",
            PerceptronOptions { decoder: Decoder::Beam(Beam { width: 4 }), ..PerceptronOptions::default() },
        ),
        ("mixed", PerceptronOptions { threads: 3, ..PerceptronOptions::default() }),
        ("three runs", PerceptronOptions { runs: 3, ..PerceptronOptions::default() }),
        ("two mixed runs", PerceptronOptions { runs: 2, threads: 2, ..PerceptronOptions::default() }),
    ];
    for (name, options) in kinds {
        let model = trained(&data, options, 4).model().unwrap();
        let accuracy = accuracy(model, &test);
        assert!(accuracy > 0.5, "{name} has not learned: {accuracy}");
    }
}

#[test]
fn the_average_is_the_mean_of_the_weights_after_every_sequence() {
    let (train, _) = corpus(10);
    let train = &train[..12];
    let data = training_set(train);
    // The same run, stopped after each sequence: the k-th has the first k sequences of the order.
    let averaged = trained(&data, PerceptronOptions::default(), 1).model().unwrap();
    let voted = PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() };
    let ensemble = trained(&data, voted, 1).model().unwrap();
    let voters = ensemble.voters().unwrap();
    let members = voters.votes().len();
    let moments: u32 = voters.votes().iter().sum();
    assert_eq!(moments as usize, train.len());
    for feature in 0..ensemble.nodes().features() as u32 {
        let mut sums = vec![0.0; ensemble.labels().len()];
        for change in voters.node_changes(feature) {
            let after: u32 = voters.votes()[change.member as usize..members].iter().sum();
            sums[change.label as usize] += f64::from(change.by) * f64::from(after);
        }
        for (y, weight) in averaged.nodes().row(feature).iter() {
            // One more state than there are sequences: the beginning, when all weights were zero.
            let expected = sums[y as usize] / f64::from(moments + 1);
            assert!((f64::from(weight) - expected).abs() < 1e-6, "{weight} {expected}");
        }
    }
}

/// Several runs are runs with neighbouring seeds, and their model is the mean of the models.
#[test]
fn the_model_of_several_runs_is_their_mean() {
    let (train, _) = corpus(10);
    let data = training_set(&train[..30]);
    let row = |model: &kbest::Model, feature: u32| {
        let mut row = vec![0.0; model.labels().len()];
        model.nodes().row(feature).iter().for_each(|(y, weight)| row[y as usize] = f64::from(weight));
        row
    };
    for averaging in [Averaging::Final, Averaging::Averaged] {
        let options =
            |seed, runs| PerceptronOptions { averaging, seed, runs, ..PerceptronOptions::default() };
        let mut together = Perceptron::new(data.clone(), options(5, 3)).unwrap();
        let (mut done, mut report) = (Vec::new(), None);
        for _ in 0..2 {
            report = Some(together.epoch(&mut |progress| done.push(progress.done)).unwrap());
        }
        let report = report.unwrap();
        assert_eq!((report.sequences, report.tokens), (3 * 30, 3 * data.tokens()));
        assert!(done[..90].is_sorted() && done[89] == 30);
        let alone: Vec<_> = (5..8).map(|seed| trained(&data, options(seed, 1), 2)).collect();
        let models: Vec<_> = alone.iter().map(|trainer| trainer.model().unwrap()).collect();
        let mean = together.model().unwrap();
        let mut differing = 0;
        for feature in 0..mean.nodes().features() as u32 {
            let rows: Vec<_> = models.iter().map(|model| row(model, feature)).collect();
            for (y, weight) in row(&mean, feature).into_iter().enumerate() {
                let expected = rows.iter().map(|row| row[y]).sum::<f64>() / 3.0;
                assert!((weight - expected).abs() < 1e-5, "{averaging:?}: {weight} {expected}");
                differing += usize::from(rows[0][y] != rows[1][y]);
            }
        }
        assert!(differing > 0, "the runs saw the data in the same order");
    }
    for (averaging, runs) in [(Averaging::Voted, 2), (Averaging::Averaged, 0)] {
        let options = PerceptronOptions { averaging, runs, ..PerceptronOptions::default() };
        assert!(matches!(Perceptron::new(data.clone(), options), Err(Error::Argument { .. })));
    }
}

#[test]
fn an_ensemble_of_one_opinion_is_of_that_opinion() {
    let mut sequence = Sequence::new();
    for (word, label) in [("a", "X"), ("b", "Y"), ("a", "X")] {
        sequence.push([word]);
        sequence.set_label(label);
    }
    let data = training_set(std::slice::from_ref(&sequence));
    let voted = PerceptronOptions { averaging: Averaging::Voted, ..PerceptronOptions::default() };
    let model = trained(&data, voted, 20).model().unwrap();
    let mut tagger = Tagger::new(Arc::new(model));
    let tagged = tagger.tag(&sequence, 5).unwrap();
    assert_eq!(tagged.decoded.best().labels, [0, 1, 0]);
    let shares: Vec<f32> = tagged.decoded.paths.iter().map(|path| path.score).collect();
    assert!(shares[0] > 0.5 && shares.is_sorted_by(|a, b| a >= b));
    assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
}

#[test]
fn a_resumed_run_goes_on_as_if_never_stopped() {
    let (train, _) = corpus(70);
    let data = training_set(&train);
    let kinds =
        [(Averaging::Final, 1), (Averaging::Averaged, 1), (Averaging::Averaged, 3), (Averaging::Voted, 1)];
    for (averaging, runs) in kinds {
        let options = PerceptronOptions { averaging, runs, ..PerceptronOptions::default() };
        let expected = trained(&data, options.clone(), 4);
        let stopped = trained(&data, options.clone(), 2);
        let key = fingerprint(&data, "options");
        let standing = Standing {
            epochs: 2,
            best: Some(0.5),
            since_best: 1,
            loss: 7.5,
            still_for: 4,
            ..Standing::default()
        };
        let bytes = save_checkpoint(key, &standing, &stopped);
        let mut resumed = Perceptron::new(data.clone(), options.clone()).unwrap();
        assert_eq!(load_checkpoint("file", &bytes, key, &mut resumed).unwrap(), standing);
        for _ in 0..2 {
            resumed.epoch(&mut |_| ()).unwrap();
        }
        let (resumed, expected) = (resumed.model().unwrap(), expected.model().unwrap());
        assert!(weights(&resumed) == weights(&expected), "{averaging:?}");
        assert_eq!(resumed.voters(), expected.voters());
    }
}

#[test]
fn damaged_or_foreign_checkpoints_are_refused() {
    let (train, _) = corpus(10);
    let data = training_set(&train[..5]);
    let trainer = trained(&data, PerceptronOptions::default(), 1);
    let key = fingerprint(&data, "a");
    assert_ne!(key, fingerprint(&data, "b"));
    assert_ne!(key, fingerprint(&training_set(&train[..6]), "a"));
    let bytes = save_checkpoint(key, &Standing::default(), &trainer);
    let mut other = Perceptron::new(data.clone(), PerceptronOptions::default()).unwrap();
    let mut load = |bytes: &[u8], key| load_checkpoint("file", bytes, key, &mut other).unwrap_err();
    assert!(load(&bytes, key + 1).to_string().contains("same data and options"));
    for end in 0..bytes.len() {
        load(&bytes[..end], key);
    }
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 64;
        load(&damaged, key);
    }
}

#[test]
fn the_best_model_on_held_out_data_is_announced_and_patience_ends() {
    let (train, test) = corpus(40);
    let data = training_set(&train);
    let mut trainer = Perceptron::new(data.clone(), PerceptronOptions::default()).unwrap();
    let schedule = Schedule { epochs: 50, patience: 2, ..Schedule::default() };
    let measure = &mut |model: &Arc<kbest::Model>| kbest::train::held_out(model, &test, 2, None);
    let (mut best, mut announced, mut since) = (0.0, 0, 0);
    let standing = schedule
        .run(&mut trainer, Standing::default(), Some(measure), &mut |_| (), |end, _| {
            let accuracy = end.held_out.unwrap().accuracy;
            since = if accuracy > best { 0 } else { since + 1 };
            assert_eq!(end.best_model.is_some(), accuracy > best);
            best = accuracy.max(best);
            announced += 1;
            Ok::<_, Error>(())
        })
        .unwrap();
    assert_eq!((standing.epochs, standing.best), (announced, Some(best)));
    assert!(standing.converged || standing.epochs == 50 || (since == 2 && standing.since_best == 2));
}

/// While the loss of a batch optimiser falls, standing still on the held-out data does not end training.
#[test]
fn patience_waits_for_the_loss() {
    let batch = Schedule { epochs: 50, patience: 3, still: Some(0.01), ..Schedule::default() };
    let standing = |since_best, still_for| Standing {
        epochs: 10,
        best: Some(0.9),
        since_best,
        still_for,
        ..Standing::default()
    };
    assert_eq!(batch.end(&standing(9, 2)), None);
    assert_eq!(batch.end(&standing(2, 9)), None);
    assert_eq!(batch.end(&standing(3, 3)), Some(End::NoImprovement));
    assert_eq!(Schedule { still: None, ..batch }.end(&standing(3, 0)), Some(End::NoImprovement));
    assert_eq!(batch.end(&Standing { epochs: 50, ..standing(0, 0) }), Some(End::Epochs));
    assert_eq!(batch.end(&Standing { converged: true, ..standing(0, 0) }), Some(End::Converged));
    assert_eq!(standing(3, 0).kept(), 7);
    assert_eq!(Standing { best: None, ..standing(3, 0) }.kept(), 10);
    // What counts as still: the losses of a CRF, epoch by epoch.
    let (train, _) = corpus(40);
    let mut trainer = Crf::new(training_set(&train), CrfOptions::default()).unwrap();
    let (mut last, mut still) = (f64::INFINITY, 0);
    let ended = batch.run(&mut trainer, Standing::default(), None, &mut |_| (), |end, _| {
        still = if last - end.report.loss <= 0.01 * end.report.loss { still + 1 } else { 0 };
        last = end.report.loss;
        assert_eq!((end.standing.still_for, end.standing.loss), (still, last));
        Ok::<_, Error>(())
    });
    assert!(ended.unwrap().still_for > 0);
    let lbfgs = Recipe { algorithm: Algorithm::Crf, ..Recipe::default() };
    assert!(lbfgs.schedule().still.is_some() && Recipe::default().schedule().still.is_none());
    let sgd = Recipe { optimizer: Some(Optimizer::Sgd), ..lbfgs };
    assert!(sgd.schedule().still.is_none());
}

#[test]
fn edges_that_look_at_the_input_are_learnt() {
    // The label repeats after `same` and changes after `other`: no node feature and no plain label bigram determines
    // it.
    let template = "U0:%x[0,0]\nB0:%x[0,0]\n";
    let mut sequences = Vec::new();
    for first in ["X", "Y"] {
        let mut sequence = Sequence::new();
        let mut label = first;
        sequence.push([first]);
        sequence.set_label(label);
        for word in ["same", "other", "other", "same", "same", "other"] {
            if word == "other" {
                label = if label == "X" { "Y" } else { "X" };
            }
            sequence.push([word]);
            sequence.set_label(label);
        }
        sequences.push(sequence);
    }
    let source = FeatureSource::Template(Template::parse(template, "template").unwrap());
    let data = Arc::new(TrainingSet::new(&sequences, source, 1).unwrap());
    for averaging in [Averaging::Final, Averaging::Voted] {
        let options = PerceptronOptions { averaging, ..PerceptronOptions::default() };
        let model = trained(&data, options, 200).model().unwrap();
        assert_eq!(accuracy(model, &sequences), 1.0, "{averaging:?}");
    }
}

#[test]
fn data_without_labels_is_refused() {
    let words = FeatureSource::Preset(Preset::Words);
    let unlabelled = [Sequence::from_tokens(["a"])];
    assert!(matches!(TrainingSet::new(&unlabelled, words.clone(), 1), Err(Error::Shape { .. })));
    assert!(matches!(TrainingSet::new(&[], words, 1), Err(Error::Shape { .. })));
}
