//! The schedule of epochs: when to stop, and which model to keep.
//!
//! Without held-out data the model of the last epoch is kept; with it, the model with the highest accuracy on it, and
//! training stops after a few epochs in a row without improvement.

use super::{EpochReport, OnProgress, Trainer};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::model::{Model, SegmentModel};
use crate::sequence::Sequence;
use crate::tagger::{SegmentTagger, Tagger};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

/// How long to train.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// At most this many epochs.
    pub epochs: usize,
    /// Stop after this many epochs in a row without improvement on the held-out data.
    pub patience: usize,
}

/// Measures a model on held-out data: larger is better.
pub type OnHeldOut<'a, M> = &'a mut dyn FnMut(&Arc<M>) -> Result<f64>;

/// The progress of training: what a resumed run needs in addition to the trainer's own state.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Standing {
    /// Epochs done.
    pub epochs: usize,
    /// The best accuracy on the held-out data, if there is any.
    pub best: Option<f64>,
    /// Epochs since the best one.
    pub since_best: usize,
    /// Whether another epoch would change nothing.
    pub converged: bool,
}

/// The results after an epoch.
#[derive(Debug)]
pub struct EpochEnd<'a, M> {
    /// The trainer's report.
    pub report: EpochReport,
    /// The progress of training.
    pub standing: Standing,
    /// Accuracy on the held-out data.
    pub dev_accuracy: Option<f64>,
    /// The model, if it is the best so far on the held-out data.
    pub best_model: Option<&'a M>,
}

impl Schedule {
    /// Whether to stop here.
    pub fn is_over(&self, standing: &Standing) -> bool {
        let tired = standing.best.is_some() && standing.since_best >= self.patience.max(1);
        standing.epochs >= self.epochs || standing.converged || tired
    }

    /// Trains from the current progress until it is time to stop. With held-out data, `measure` returns how good a
    /// model is. `on_epoch` may save what it is given.
    ///
    /// # Errors
    /// Errors of the trainer, `measure` or `on_epoch`.
    pub fn run<T: Trainer + ?Sized, E: From<Error>>(
        &self,
        trainer: &mut T,
        mut standing: Standing,
        mut measure: Option<OnHeldOut<'_, T::Model>>,
        on_progress: OnProgress<'_>,
        mut on_epoch: impl FnMut(&EpochEnd<'_, T::Model>, &T) -> Result<(), E>,
    ) -> Result<Standing, E> {
        while !self.is_over(&standing) {
            let report = trainer.epoch(on_progress)?;
            standing.epochs += 1;
            standing.converged = report.converged;
            let mut best_model = None;
            let mut dev_accuracy = None;
            if let Some(measure) = &mut measure {
                let model = Arc::new(trainer.model()?);
                let accuracy = measure(&model)?;
                dev_accuracy = Some(accuracy);
                if standing.best.is_none_or(|best| accuracy > best) {
                    (standing.best, standing.since_best) = (Some(accuracy), 0);
                    best_model = Some(model);
                } else {
                    standing.since_best += 1;
                }
            }
            let end = EpochEnd { report, standing, dev_accuracy, best_model: best_model.as_deref() };
            on_epoch(&end, trainer)?;
        }
        Ok(standing)
    }
}

/// The share of positions that the model labels correctly, computed on this many threads.
///
/// # Errors
/// Errors of tagging.
pub fn accuracy(model: &Arc<Model>, sequences: &[Sequence], threads: usize) -> Result<f64> {
    share_of_right(sequences, threads, || {
        let mut tagger = Tagger::new(model.clone());
        move |sequence: &Sequence| {
            let model = tagger.model().clone();
            let labels = &tagger.tag(sequence, 1)?.decoded.best().labels;
            let right = |&(t, &y): &(usize, &LabelId)| model.labels().name(y) == sequence.label(t);
            Ok(labels.iter().enumerate().filter(right).count())
        }
    })
}

/// The same for a model of segments.
///
/// # Errors
/// Errors of tagging.
pub fn segment_accuracy(model: &Arc<SegmentModel>, sequences: &[Sequence], threads: usize) -> Result<f64> {
    share_of_right(sequences, threads, || {
        let mut tagger = SegmentTagger::new(model.clone());
        move |sequence: &Sequence| {
            let segments = tagger.tag(sequence, 1)?.best().to_vec();
            let labels = tagger.spell(&segments);
            Ok((0..sequence.len()).filter(|&t| sequence.label(t) == Some(labels[t])).count())
        }
    })
}

/// The share of positions that are right; each thread makes a function that counts those of a sequence.
fn share_of_right<C: FnMut(&Sequence) -> Result<usize>>(
    sequences: &[Sequence],
    threads: usize,
    count: impl Fn() -> C + Sync,
) -> Result<f64> {
    let right = |part: &[Sequence]| {
        let mut count = count();
        part.iter().try_fold(0, |sum, sequence| Ok(sum + count(sequence)?))
    };
    let part = sequences.len().div_ceil(threads.max(1)).max(1);
    let right: usize = thread::scope(|scope| {
        let right = &right;
        let parts: Vec<_> = sequences.chunks(part).map(|part| scope.spawn(move || right(part))).collect();
        parts
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .sum::<Result<_>>()
    })?;
    let all: usize = sequences.iter().map(Sequence::len).sum();
    Ok(right as f64 / all.max(1) as f64)
}
