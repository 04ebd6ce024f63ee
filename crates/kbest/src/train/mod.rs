//! Training: from labelled sequences to a model.
//!
//! **What.** [`TrainingSet`] reads labelled sequences once: labels and features become numbers. A [`Trainer`] passes over
//! them, epoch by epoch, and can give a [`Model`](crate::Model) after each. What differs between trainers is what an epoch
//! does:
//!
//! | trainer | an epoch |
//! |---|---|
//! | [`Perceptron`] | decodes each sequence and corrects what was wrong |
//! | [`Crf`] | computes what the model expects of all sequences (L-BFGS, OWL-QN) or of a few at a time (SGD) and moves towards what is right |
//! | [`MaxMargin`] | finds, for each sequence, the labelling that comes closest to the right one, and widens the margin (dual models) |
//! | [`Hmm`] | counts |
//! | [`BaumWelch`] | computes what an HMM expects of sequences without labels, and counts that |
//!
//! Perceptrons and CRFs learn any [`Family`] of models: a [`TrainingSet`] of text, a [`BooleanTrainingSet`] of features that
//! are Rust functions, or one of your own. Perceptrons also learn a [`DualTrainingSet`] of tokens and a kernel. Trainers own their data, or share it by `Arc`.
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
mod change;
mod checkpoint;
mod crf;
mod dual;
pub mod family;
mod hmm;
mod max_margin;
mod perceptron;
mod rows;
mod schedule;

pub use baum_welch::{BaumWelch, BaumWelchOptions};
pub use boolean::{
    BooleanExample, BooleanPoint, BooleanSums, BooleanTrainingSet, BooleanWeights, FlatLayout,
};
pub use change::Change;
pub use checkpoint::{fingerprint, load_checkpoint, save_checkpoint};
pub use crf::{Crf, CrfOptions, Optimiser};
pub use dual::{DualOptions, DualParameter, DualTrainingSet, DualWeights};
pub use family::{Differentiable, Family};
pub use hmm::{Hmm, HmmOptions};
pub use max_margin::{MaxMargin, MaxMarginOptions, Objectives, Rescaling};
pub use perceptron::{Averaging, Perceptron, PerceptronOptions, Update};
pub use rows::{Example, GrowingWeights, RowLayout, RowParameter, RowPoint, RowSums, TrainingSet};
pub use schedule::{EpochEnd, OnHeldOut, Schedule, Standing, accuracy};

use crate::error::Result;
use crate::random::Random;
use crate::state::{StateReader, StateWriter};

/// What an epoch achieved, on the training data.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EpochReport {
    /// Sequences seen.
    pub sequences: usize,
    /// Positions seen.
    pub tokens: usize,
    /// Positions whose predicted label was right, if the trainer predicts.
    pub right: usize,
    /// The trainer's own loss: what it makes smaller.
    pub loss: f64,
    /// Whether another epoch would change nothing.
    pub converged: bool,
}

/// How far an epoch is: called for every sequence, or every few of them.
pub type OnProgress<'a> = &'a mut dyn FnMut(Progress);

/// How far an epoch is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// Sequences done.
    pub done: usize,
    /// Positions done.
    pub tokens: usize,
    /// Positions whose predicted label was right.
    pub right: usize,
}

/// Something that learns, pass by pass.
pub trait Trainer {
    /// What it learns.
    type Model;

    /// One pass over the data.
    ///
    /// # Errors
    /// What scoring and decoding refuse.
    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport>;

    /// The model as it stands.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights have become infinite.
    fn model(&self) -> Result<Self::Model>;

    /// Remembers all that the next epoch depends on.
    fn save(&self, state: &mut StateWriter);

    /// Goes on from what [`Trainer::save`] remembered, with the same data and options.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] or the like for bytes that it did not write.
    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()>;
}

/// An order of `len` examples that depends on seed and epoch alone, so that a resumed run goes on as if it had never
/// stopped.
fn shuffled(len: usize, seed: u64, epoch: usize) -> Vec<u32> {
    Random::new(seed ^ (epoch as u64).rotate_left(32)).shuffled(len)
}
