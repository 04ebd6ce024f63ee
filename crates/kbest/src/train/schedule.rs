//! The schedule of epochs: when to stop, and which model to keep.
//!
//! Without held-out data the model of the last epoch is kept; with it, the model that does best on it. Training stops after a
//! few epochs in a row without improvement there. An optimizer that sees all data in each step, as L-BFGS does, may stand still on
//! the held-out data for many epochs while its loss still falls, and improve again: for those, the loss must stand still, too
//! ([`Schedule::still`]). [`Recipe::schedule`](super::Recipe::schedule) knows what suits an algorithm.

use super::{EpochReport, OnProgress, Trainer};
use crate::evaluate::{Evaluation, Spans};
use crate::options::named;
use crate::scoring::TextModel;
use crate::sequence::Sequence;
use crate::tagger::Tagger;
use kbest_core::pipeline::map;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// How long to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// At most this many epochs.
    pub epochs: usize,
    /// Stop after this many epochs in a row without improvement on the held-out data.
    pub patience: usize,
    /// If given, do so only if the loss, too, stood still in all of them: it fell by at most this share of itself in each.
    pub still: Option<f64>,
    /// What improvement on the held-out data is.
    pub by: Measure,
}

impl Default for Schedule {
    /// Ten epochs; with held-out data, until accuracy has not improved for five of them.
    fn default() -> Self {
        Schedule { epochs: 10, patience: 5, still: None, by: Measure::Accuracy }
    }
}

/// What says which of two models is better on held-out data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// The share of positions with the right label.
    #[default]
    Accuracy,
    /// The F1 of spans.
    SpanF1,
}

named! { Measure, "measure": "accuracy" => Accuracy, "f1" => SpanF1 }

/// How good a model is on held-out data.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HeldOut {
    /// The share of positions with the right label.
    pub accuracy: f64,
    /// The F1 of spans, if labels spell spans.
    pub span_f1: Option<f64>,
}

impl HeldOut {
    fn by(&self, measure: Measure) -> Result<f64> {
        match measure {
            Measure::Accuracy => Ok(self.accuracy),
            Measure::SpanF1 => self
                .span_f1
                .ok_or_else(|| Error::argument("held-out data", "spans, to choose by their F1", "none")),
        }
    }
}

/// Measures a model on held-out data.
pub type OnHeldOut<'a, M> = &'a mut dyn FnMut(&Arc<M>) -> Result<HeldOut>;

/// The progress of training: what a resumed run needs in addition to the trainer's own state.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Standing {
    /// Epochs done.
    pub epochs: usize,
    /// The best result on the held-out data, by the schedule's measure, if there is any.
    pub best: Option<f64>,
    /// Epochs since the best one.
    pub since_best: usize,
    /// Whether another epoch would change nothing.
    pub converged: bool,
    /// The loss of the last epoch.
    pub loss: f64,
    /// Epochs in a row in which the loss stood still.
    pub still_for: usize,
}

impl Standing {
    /// The epoch whose model is kept: the best one on held-out data, else the last.
    pub fn kept(&self) -> usize {
        if self.best.is_some() { self.epochs - self.since_best.min(self.epochs) } else { self.epochs }
    }
}

/// Why training is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The trainer has converged.
    Converged,
    /// There was no improvement on the held-out data for too long.
    NoImprovement,
    /// All epochs are done.
    Epochs,
}

/// The results after an epoch.
#[derive(Debug)]
pub struct EpochEnd<'a, M> {
    /// The trainer's report.
    pub report: EpochReport,
    /// The progress of training.
    pub standing: Standing,
    /// How good the model is on the held-out data.
    pub held_out: Option<HeldOut>,
    /// The model, if it is the best so far on the held-out data.
    pub best_model: Option<&'a Arc<M>>,
}

impl Schedule {
    /// Why to stop here; `None` if there is more to do.
    pub fn end(&self, standing: &Standing) -> Option<End> {
        let patience = self.patience.max(1);
        let is_still = self.still.is_none() || standing.still_for >= patience;
        let tired = standing.best.is_some() && standing.since_best >= patience && is_still;
        match standing {
            Standing { converged: true, .. } => Some(End::Converged),
            _ if tired => Some(End::NoImprovement),
            _ if standing.epochs >= self.epochs => Some(End::Epochs),
            _ => None,
        }
    }

    /// Whether to stop here.
    pub fn is_over(&self, standing: &Standing) -> bool {
        self.end(standing).is_some()
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
            let fell = if standing.epochs == 0 { f64::INFINITY } else { standing.loss - report.loss };
            let is_still = self.still.is_some_and(|share| fell <= share * report.loss.abs());
            standing.still_for = if is_still { standing.still_for + 1 } else { 0 };
            standing.epochs += 1;
            standing.converged = report.converged;
            standing.loss = report.loss;
            let mut best_model = None;
            let mut held_out = None;
            if let Some(measure) = &mut measure {
                let model = Arc::new(trainer.model()?);
                let found = measure(&model)?;
                let result = found.by(self.by)?;
                held_out = Some(found);
                if standing.best.is_none_or(|best| result > best) {
                    (standing.best, standing.since_best) = (Some(result), 0);
                    best_model = Some(model);
                } else {
                    standing.since_best += 1;
                }
            }
            let end = EpochEnd { report, standing, held_out, best_model: best_model.as_ref() };
            on_epoch(&end, trainer)?;
        }
        Ok(standing)
    }
}

/// The share of positions that the model labels correctly, computed on this many threads.
///
/// # Errors
/// Errors of tagging.
pub fn accuracy<M: TextModel>(model: &Arc<M>, sequences: &[Sequence], threads: usize) -> Result<f64> {
    Ok(held_out(model, sequences, threads, None)?.accuracy)
}

/// How good the model is on these sequences; spans are counted if `spans` says how to find them.
///
/// # Errors
/// Errors of tagging.
pub fn held_out<M: TextModel>(
    model: &Arc<M>,
    sequences: &[Sequence],
    threads: usize,
    spans: Option<Spans>,
) -> Result<HeldOut> {
    evaluate(sequences, threads, spans, || {
        let mut tagger = Tagger::new(model.clone());
        move |sequence: &Sequence, evaluation: &mut Evaluation, gold: &[&str]| {
            let best = tagger.tag(sequence, 1)?.decoded.best();
            evaluation.add(gold, &model.spell(best.as_ref()))
        }
    })
}

/// Evaluates on many threads; each makes a function that answers a sequence and adds it to the evaluation.
fn evaluate<A: FnMut(&Sequence, &mut Evaluation, &[&str]) -> Result<()>>(
    sequences: &[Sequence],
    threads: usize,
    spans: Option<Spans>,
    answer: impl Fn() -> A + Sync,
) -> Result<HeldOut> {
    let measure = |part: &[Sequence]| {
        let (mut answer, mut evaluation) = (answer(), Evaluation::new(spans));
        for sequence in part {
            let gold: Vec<&str> =
                (0..sequence.len()).map(|t| sequence.label(t).unwrap_or_default()).collect();
            answer(sequence, &mut evaluation, &gold)?;
        }
        Ok::<_, Error>(evaluation)
    };
    let part = sequences.len().div_ceil(threads.max(1)).max(1);
    let parts: Vec<&[Sequence]> = sequences.chunks(part).collect();
    let mut whole = Evaluation::new(spans);
    for measured in map(parts.len(), threads, || |i| measure(parts[i])) {
        whole.merge(&measured?)?;
    }
    Ok(HeldOut { accuracy: whole.tokens().share(), span_f1: whole.spans().map(|spans| spans.all.f1()) })
}
