//! Training: from labelled sequences to a model.
//!
//! **What.** [`TrainingSet`] reads labelled sequences once, and turns labels and features into numbers. A [`Trainer`]
//! passes over them, epoch by epoch, and can return a [`Model`](crate::Model) after each. Trainers differ in what an
//! epoch does:
//!
//! | trainer | an epoch |
//! |---|---|
//! | [`Perceptron`] | decodes each sequence and corrects the errors |
//! | [`Crf`] | computes the model's expectations over all sequences (L-BFGS, OWL-QN) or a few at a time (SGD), and moves towards the right labels |
//! | [`MaxMargin`] | finds, for each sequence, the labelling closest to the right one, and widens the margin (dual models) |
//! | [`Hmm`] | counts |
//! | [`BaumWelch`] | computes an HMM's expectations over unlabelled sequences, and counts those |
//!
//! Perceptrons and CRFs train any [`Family`] of models: a [`TrainingSet`] of text, a [`BooleanTrainingSet`] of features
//! that are Rust functions, a [`SegmentTrainingSet`] of segments, or one of your own. Perceptrons also train a [`DualTrainingSet`] of tokens and a
//! kernel. Trainers own their data, or share it by `Arc`.
//!
//! ```
//! use kbest::feature::{FeatureSource, Preset};
//! use kbest::train::{Perceptron, PerceptronOptions, Trainer, TrainingSet};
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! let mut sequence = Sequence::new();
//! for (word, label) in [("the", "DET"), ("old", "NOUN"), ("man", "VERB"), ("the", "DET"), ("boats", "NOUN")] {
//!     sequence.push([word]);
//!     sequence.set_label(label);
//! }
//! let data = TrainingSet::new(&[sequence], FeatureSource::Preset(Preset::Words), 1)?;
//! let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
//! for _ in 0..5 {
//!     trainer.epoch(&mut |_| ())?;
//! }
//! let mut tagger = Tagger::new(Arc::new(trainer.model()?));
//! let answer = tagger.tag(&Sequence::from_tokens(["the", "boats"]), 1)?.decoded.best().labels.clone();
//! let names: Vec<_> = answer.iter().map(|&y| tagger.model().labels().name(y).unwrap()).collect();
//! assert_eq!(names, ["DET", "NOUN"]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod baum_welch;
mod boolean;
mod calibrate;
mod change;
mod checkpoint;
mod crf;
mod dual;
pub mod family;
mod feature_sets;
mod hmm;
mod max_margin;
mod perceptron;
mod product;
mod recipe;
mod rows;
mod schedule;
mod segments;
pub mod shards;

pub use baum_welch::{BaumWelch, BaumWelchOptions};
pub use boolean::{
    BooleanExample, BooleanPoint, BooleanSums, BooleanTrainingSet, BooleanWeights, FlatLayout,
};
pub use calibrate::{Calibrated, OnTemperature, calibrate};
pub use change::Change;
pub use checkpoint::{
    Distinguished, Mark, fingerprint, fingerprint_of_sequences, is_checkpoint, load_checkpoint,
    save_checkpoint,
};
pub use crf::{Crf, CrfOptions, Optimizer};
pub use dual::{DualOptions, DualParameter, DualTrainingSet, DualWeights};
pub use family::{Differentiable, Family};
pub use hmm::{Hmm, HmmOptions};
pub use max_margin::{MaxMargin, MaxMarginOptions, Objectives, Rescaling};
pub use perceptron::{Averaging, Perceptron, PerceptronOptions, Update};
pub use product::Product;
pub use recipe::{Algorithm, AnySegmentTrainer, AnyTrainer, Loss, MOST_THREADS, Recipe};
pub use rows::{Example, GrowingWeights, RowLayout, RowParameter, RowPoint, RowSums, TrainingSet};
pub use schedule::{End, EpochEnd, HeldOut, Measure, OnHeldOut, Schedule, Standing, accuracy, held_out};
pub use segments::{
    SegmentExample, SegmentFamilyMemory, SegmentLayout, SegmentOptions, SegmentParameter, SegmentPoint,
    SegmentSums, SegmentTrainingSet, SegmentWeights, SegmentsFrom, SpanFeatures,
};

use crate::state::{StateReader, StateWriter};
use kbest_core::Result;
use kbest_core::random::Random;

/// The result of an epoch, on the training data.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EpochReport {
    /// Sequences seen.
    pub sequences: usize,
    /// Positions seen.
    pub tokens: usize,
    /// Positions whose predicted label was right; `None` if the trainer does not predict while it learns.
    pub right: Option<usize>,
    /// The trainer's own loss, which it minimises.
    pub loss: f64,
    /// Whether another epoch would change nothing.
    pub converged: bool,
}

impl EpochReport {
    /// The share of right labels, if the trainer predicts.
    pub fn accuracy(&self) -> Option<f64> {
        self.right.map(|right| right as f64 / self.tokens.max(1) as f64)
    }
}

/// A callback for progress: called for every sequence, or every few of them.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress);

/// How far an epoch has come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Sequences done.
    pub done: usize,
    /// Positions done.
    pub tokens: usize,
    /// Positions whose predicted label was right.
    pub right: usize,
}

/// A training algorithm, run epoch by epoch.
pub trait Trainer {
    /// The model that it trains.
    type Model;

    /// One pass over the data.
    ///
    /// # Errors
    /// Errors of scoring and decoding.
    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport>;

    /// The current model.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights have become infinite.
    fn model(&self) -> Result<Self::Model>;

    /// Writes everything the next epoch depends on.
    fn save(&self, state: &mut StateWriter);

    /// Resumes from the state that [`Trainer::save`] wrote, with the same data and options.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] or similar for other bytes.
    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()>;
}

/// An order of `len` examples that depends only on seed and epoch, so that a resumed run continues as if it had never
/// stopped.
fn shuffled(len: usize, seed: u64, epoch: usize) -> Vec<u32> {
    Random::new(seed ^ (epoch as u64).rotate_left(32)).shuffled(len)
}
