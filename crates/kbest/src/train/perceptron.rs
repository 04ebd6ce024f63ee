//! The structured perceptron (Collins 2002), final and averaged, and its passive-aggressive kin.
//!
//! **What.** Each sequence is decoded with the weights as they are; where the answer is wrong, the features of the right
//! labels gain and those of the answer lose. The average of the weights over all moments does better on new text than
//! the last ones ([`Averaging::Averaged`]). **Cost.** A decoding a sequence and, per wrong position, a change a feature: with
//! an exact decoder that prunes, thousands of labels train about as fast as they tag. Every exact decoder gives the same
//! path, ties included, so the weights do not depend on which one is inside.
//!
//! **Paper.** Collins, *Discriminative training methods for hidden Markov models*, EMNLP 2002.

use super::growing_weights::GrowingWeights;
use super::shuffle::shuffled;
use super::{EpochReport, Example, OnProgress, Progress, Trainer, TrainingSet};
use crate::decode::{Decode, Decoded, Decoder, Scratch};
use crate::error::Result;
use crate::label::LabelId;
use crate::model::{Model, ModelParts};
use crate::scoring::{self, ScoreBuffer};

/// Which weights make the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Averaging {
    /// The last ones.
    Final,
    /// The mean over all moments.
    #[default]
    Averaged,
}

/// How a perceptron learns.
#[derive(Debug, Clone)]
pub struct PerceptronOptions {
    /// Which weights make the model.
    pub averaging: Averaging,
    /// The decoder inside.
    pub decoder: Decoder,
    /// Decides the order of the sequences.
    pub seed: u64,
}

impl Default for PerceptronOptions {
    fn default() -> Self {
        PerceptronOptions { averaging: Averaging::default(), decoder: Decoder::default(), seed: 1 }
    }
}

/// A perceptron in training.
#[derive(Debug)]
pub struct Perceptron<'d> {
    data: &'d TrainingSet,
    options: PerceptronOptions,
    weights: GrowingWeights,
    epochs: usize,
    clock: u64, // sequences seen
}

impl<'d> Perceptron<'d> {
    /// All weights zero.
    ///
    /// # Errors
    /// What the weights refuse.
    pub fn new(data: &'d TrainingSet, options: PerceptronOptions) -> Result<Self> {
        let weights = GrowingWeights::new(data.labels().len(), data.extractor())?;
        Ok(Perceptron { data, options, weights, epochs: 0, clock: 0 })
    }
}

impl Trainer for Perceptron<'_> {
    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport> {
        let (mut scores, mut scratch, mut answer) = (ScoreBuffer::new(), Scratch::new(), Decoded::default());
        let mut progress = Progress::default();
        let mut wrong_sequences = 0;
        for i in shuffled(self.data.examples().len(), self.options.seed, self.epochs) {
            let example = &self.data.examples()[i];
            let lattice = scoring::lattice(&self.weights, &example.features, &mut scores)?;
            self.options.decoder.decode_into(&lattice, 1, &mut scratch, &mut answer)?;
            self.clock += 1;
            let wrong = correct(&mut self.weights, example, &answer.best().labels, self.clock as f64)?;
            wrong_sequences += usize::from(wrong > 0);
            progress.done += 1;
            progress.tokens += example.gold.len();
            progress.right += example.gold.len() - wrong;
            on_progress(progress);
        }
        self.epochs += 1;
        Ok(EpochReport {
            sequences: progress.done,
            tokens: progress.tokens,
            right: progress.right,
            loss: wrong_sequences as f64,
            converged: wrong_sequences == 0,
        })
    }

    fn model(&self) -> Result<Model> {
        let averaged = self.options.averaging == Averaging::Averaged;
        let (nodes, edges) = self.weights.finished(averaged.then_some((self.clock + 1) as f64))?;
        Model::new(ModelParts {
            labels: self.data.labels().clone(),
            extractor: self.data.extractor().clone(),
            nodes,
            edges,
            start: None,
            end: None,
            about: vec![],
        })
    }
}

/// Moves the weights from the answer towards the right labels; gives the number of wrong positions.
fn correct(weights: &mut GrowingWeights, example: &Example, answer: &[LabelId], clock: f64) -> Result<usize> {
    let Example { features, gold, weight } = example;
    let step = *weight as f32;
    let mut wrong = 0;
    for t in 0..gold.len() {
        if gold[t] != answer[t] {
            wrong += 1;
            for (i, &feature) in features.nodes(t).iter().enumerate() {
                let change = features.values(t).map_or(step, |values| step * values[i] as f32);
                weights.add_node(feature, gold[t], change, clock);
                weights.add_node(feature, answer[t], -change, clock);
            }
        }
        if t > 0 && (gold[t - 1], gold[t]) != (answer[t - 1], answer[t]) {
            for &feature in features.edges(t) {
                weights.add_edge(feature, gold[t - 1], gold[t], step, clock)?;
                weights.add_edge(feature, answer[t - 1], answer[t], -step, clock)?;
            }
        }
    }
    Ok(wrong)
}
