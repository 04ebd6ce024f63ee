//! The same perceptron trained with different decoders: time, and whether the models are the same to the last bit.
//!
//! Textbook Viterbi over thousands of labels would take days on all sentences, so only as many are taken as keep it to
//! seconds; every label that these lack is added as a sentence of one token, so that all labels take part.

use super::super::data::Data;
use super::super::results::{Measured, Training};
use super::missing;
use kbest::feature::{FeatureSource, Preset};
use kbest::train::{Perceptron, PerceptronOptions, Trainer, TrainingSet};
use kbest::{Decoder, Sequence};
use kbest_cli::failure::Result;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

const DECODERS: [&str; 5] = ["auto", "staggered-column", "staggered", "viterbi-simd", "viterbi"];

pub(super) fn run(data: &mut Data, task: &str) -> Result<Measured> {
    let corpus = match data.corpus(task)? {
        Ok(corpus) => corpus,
        Err(reason) => return Ok(missing(reason)),
    };
    let mut labels = HashSet::new();
    for sequence in &corpus.train {
        labels.extend((0..sequence.len()).filter_map(|t| sequence.label(t)));
    }
    let all = labels.len();
    // Edges that Viterbi reads in all epochs, counted until there are enough.
    let (mut work, mut taken) = (0.0, 0);
    for sequence in &corpus.train {
        work += (sequence.len() * all * all * data.size.epochs) as f64;
        if work > data.size.training_work && taken > 0 {
            break;
        }
        taken += 1;
    }
    let mut sentences: Vec<Sequence> = corpus.train[..taken].to_vec();
    for sequence in &sentences {
        (0..sequence.len()).filter_map(|t| sequence.label(t)).for_each(|label| {
            labels.remove(label);
        });
    }
    for sequence in &corpus.train {
        for t in 0..sequence.len() {
            let label = sequence.label(t).unwrap_or_default();
            if labels.remove(label) {
                let mut one = Sequence::new();
                one.push(sequence.cells(t));
                one.set_label(label);
                sentences.push(one);
            }
        }
    }
    let set = Arc::new(TrainingSet::new(&sentences, FeatureSource::Preset(Preset::Words), 1)?);
    let (mut seconds, mut models) = (vec![], vec![]);
    for name in DECODERS {
        let options = PerceptronOptions { decoder: Decoder::by_name(name)?, ..PerceptronOptions::default() };
        let begun = Instant::now();
        let mut trainer = Perceptron::new(Arc::clone(&set), options)?;
        for _ in 0..data.size.epochs {
            trainer.epoch(&mut |_| ())?;
        }
        seconds.push((name.to_owned(), begun.elapsed().as_secs_f64()));
        models.push(trainer.model()?.to_bytes()?);
    }
    Ok(Measured::Training(Training {
        task: task.to_owned(),
        labels: all,
        sequences: taken,
        epochs: data.size.epochs,
        seconds,
        same_model: models.windows(2).all(|pair| pair[0] == pair[1]),
    }))
}
