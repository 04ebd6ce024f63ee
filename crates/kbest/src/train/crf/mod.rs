//! Conditional random fields: the weights that make the right labels most likely.
//!
//! **What.** A [`Crf`] minimises
//!
//! ```text
//! sum over sequences of weight * (log Z - score of the right labels)  +  c1 * sum |w|  +  c2 * sum w^2
//! ```
//!
//! which is convex: every optimizer ends at the same model. [`Optimizer::Lbfgs`] descends the whole sum; with `c1 > 0`
//! it becomes OWL-QN, and most weights become exactly zero. [`Optimizer::Sgd`] learns from a few sequences at a time
//! and is near the minimum, though not quite there, after a few epochs. There is a weight for each pair of feature and
//! label, and each triple of edge feature and two labels, that occurs in the training data; or for all of them
//! ([`CrfOptions::all_states`], [`CrfOptions::all_transitions`]).
//!
//! **Why.** Its scores are log probabilities, so posteriors are meaningful, unlike those of a perceptron. **Cost.** One
//! forward-backward per sequence and epoch: `T L^2` multiplications with few labels, `T` times the number of observed
//! label pairs with many. A dozen vectors as long as the weights, plus one per thread. Sums do not depend on the number
//! of threads. **When not.** With thousands of labels the perceptron, which only decodes, learns much faster.
//!
//! An epoch of L-BFGS is an iteration: one pass over the data, sometimes more. **Papers.** Lafferty, McCallum & Pereira
//! 2001; Sha & Pereira 2003. Options, defaults and convergence tests are those of CRFsuite (Okazaki 2007).
//!
//! ```
//! use kbest::feature::{FeatureSource, Preset};
//! use kbest::train::{Crf, CrfOptions, Trainer, TrainingSet};
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! let mut sequence = Sequence::new();
//! for (word, label) in [("the", "DET"), ("old", "NOUN"), ("man", "VERB"), ("the", "DET"), ("boats", "NOUN")] {
//!     sequence.push([word]);
//!     sequence.set_label(label);
//! }
//! let data = TrainingSet::new(&[sequence], FeatureSource::Preset(Preset::Words), 1)?;
//! let mut trainer = Crf::new(Arc::new(data), CrfOptions { c2: 0.1, ..CrfOptions::default() })?;
//! while !trainer.epoch(&mut |_| ())?.converged {}
//! let mut tagger = Tagger::new(Arc::new(trainer.model()?));
//! let answer = tagger.tag(&Sequence::from_tokens(["the", "boats"]), 1)?.decoded.best().labels.clone();
//! let names: Vec<_> = answer.iter().map(|&y| tagger.model().labels().name(y).unwrap()).collect();
//! assert_eq!(names, ["DET", "NOUN"]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod batch;
mod lbfgs;
mod sgd;
#[cfg(test)]
mod tests;

use super::family::{Differentiable, Layout, Scope, Tally, positions};
use super::{EpochReport, OnProgress, Recipe, Trainer, TrainingSet};
use crate::options::named;
use crate::state::{StateReader, StateWriter};
use batch::Batch;
pub(super) use batch::Expectations;
use kbest_core::{Error, Result};
pub(super) use lbfgs::Lbfgs;
use sgd::{Pace, Sgd};
use std::collections::VecDeque;
use std::sync::Arc;

/// The method of minimisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimizer {
    /// L-BFGS: all data in each step. OWL-QN if `c1` is above zero.
    #[default]
    Lbfgs,
    /// Stochastic gradient descent with AdaGrad's step sizes: a few sequences in each step.
    Sgd,
}

named! { Optimizer, "optimizer": "lbfgs" => Lbfgs, "sgd" => Sgd }

/// Options of CRF training.
#[derive(Debug, Clone, PartialEq)]
pub struct CrfOptions {
    /// The method of minimisation.
    pub optimizer: Optimizer,
    /// Strength of the L1 term `c1 * sum |w|`; L-BFGS only.
    pub c1: f64,
    /// Strength of the L2 term `c2 * sum w^2`.
    pub c2: f64,
    /// Size of the first step of each weight; SGD only.
    pub rate: f64,
    /// Sequences per step; SGD only.
    pub batch: usize,
    /// Determines the order of the sequences; SGD only.
    pub seed: u64,
    /// Weights for all labels of each feature, observed or not.
    pub all_states: bool,
    /// Weights for all pairs of labels of each edge feature, observed or not.
    pub all_transitions: bool,
    /// Converged if the norm of the gradient is less than this times the norm of the weights, or times 1 if that
    /// norm is less than 1.
    pub epsilon: f64,
    /// Converged if the loss this many epochs ago exceeds the current loss by at most `delta` times the current loss.
    pub period: usize,
    /// See `period`.
    pub delta: f64,
    /// Threads that compute gradients; L-BFGS only. The result does not depend on their number.
    pub threads: usize,
}

impl Default for CrfOptions {
    fn default() -> Self {
        CrfOptions {
            optimizer: Optimizer::Lbfgs,
            c1: 0.0,
            c2: 1.0,
            rate: 0.1,
            batch: 1,
            seed: 1,
            all_states: false,
            all_transitions: false,
            epsilon: 1e-5,
            period: 10,
            delta: 1e-5,
            threads: 1,
        }
    }
}

impl CrfOptions {
    /// Those of a recipe for a CRF of any kind.
    pub(super) fn of(recipe: &Recipe) -> Self {
        let usual = CrfOptions::default();
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        CrfOptions {
            optimizer: recipe.optimizer.unwrap_or_default(),
            c1: recipe.c1.unwrap_or(usual.c1),
            c2: recipe.c2.unwrap_or(usual.c2),
            rate: recipe.rate.unwrap_or(usual.rate),
            batch: recipe.batch.unwrap_or(usual.batch),
            seed: recipe.seed,
            all_states: recipe.all_states,
            all_transitions: recipe.all_transitions,
            threads: recipe.threads.unwrap_or_else(cores),
            ..usual
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let positive = |what: &str, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(Error::argument(what, "a finite number, zero or above", value)),
        };
        positive("c1", self.c1)?;
        positive("c2", self.c2)?;
        if self.optimizer == Optimizer::Sgd {
            positive("the rate of SGD", self.rate)?;
            if self.batch == 0 {
                return Err(Error::argument("sequences per step of SGD", "at least 1", 0));
            }
            if self.c1 > 0.0 {
                return Err(Error::argument("c1 (an L1 term needs L-BFGS)", "0 with SGD", self.c1));
            }
        }
        Ok(())
    }
}

/// A CRF in training, for any differentiable family of models.
#[derive(Debug)]
pub struct Crf<F: Differentiable = TrainingSet> {
    data: Arc<F>,
    options: CrfOptions,
    layout: F::Layout,
    descent: Descent<F>,
    losses: VecDeque<f64>,     // of the last `period` epochs
    last: Option<EpochReport>, // set once converged
}

/// The optimizer in use.
#[derive(Debug)]
enum Descent<F: Differentiable> {
    Lbfgs(Box<Lbfgs>, Batch<F>),
    Sgd(Box<Sgd<F>>),
}

impl<F: Differentiable> Crf<F> {
    /// Starts with all weights zero.
    ///
    /// # Errors
    /// [`Error::Argument`] for an option out of range.
    pub fn new(data: Arc<F>, options: CrfOptions) -> Result<Self> {
        options.check()?;
        let CrfOptions { c2, rate, batch, seed, all_states, all_transitions, .. } = options;
        let layout = data.layout(Scope { all_states, all_transitions });
        let descent = match options.optimizer {
            Optimizer::Lbfgs => {
                let batch = Batch::new(&*data, &layout, options.threads);
                Descent::Lbfgs(Box::new(Lbfgs::new(vec![0.0; layout.len()], options.c1)), batch)
            }
            Optimizer::Sgd => Descent::Sgd(Box::new(Sgd::new(&layout, Pace { rate, batch, seed, c2 }))),
        };
        Ok(Crf { data, options, layout, descent, losses: VecDeque::new(), last: None })
    }

    /// Number of weights, zero or not.
    pub fn weights(&self) -> usize {
        self.layout.len()
    }

    fn vector(&self) -> &[f64] {
        match &self.descent {
            Descent::Lbfgs(lbfgs, _) => lbfgs.x(),
            Descent::Sgd(sgd) => sgd.weights(),
        }
    }

    /// One iteration: the number of right positions, the loss, and whether the gradient has vanished.
    fn descend(&mut self, on_progress: OnProgress<'_>) -> Result<(usize, f64, bool)> {
        let (data, layout, c2) = (&*self.data, &self.layout, self.options.c2);
        match &mut self.descent {
            Descent::Lbfgs(lbfgs, batch) => iterate(lbfgs, &self.options, &mut |weights, gradient| {
                batch.evaluate(data, &data.point(layout, weights)?, gradient, on_progress)
            }),
            Descent::Sgd(sgd) => {
                let Tally { loss, right } = sgd.epoch(data, layout, on_progress)?;
                Ok((right, loss + c2 * squared_length(sgd.weights()), false))
            }
        }
    }
}

/// Writes the gradient of the loss at a point.
pub(super) type Evaluate<'a> = &'a mut dyn FnMut(&[f64], &mut [f64]) -> Result<Tally>;

/// One iteration of L-BFGS: the number of right positions, the loss, and whether the gradient has vanished. `evaluate`
/// leaves out the penalty.
pub(super) fn iterate(
    lbfgs: &mut Lbfgs,
    options: &CrfOptions,
    evaluate: Evaluate<'_>,
) -> Result<(usize, f64, bool)> {
    let (mut right, c2) = (0, options.c2);
    let iteration = lbfgs.iterate(&mut |weights: &[f64], gradient: &mut [f64]| {
        let tally = evaluate(weights, gradient)?;
        right = tally.right;
        gradient.iter_mut().zip(weights).for_each(|(g, w)| *g += 2.0 * c2 * w);
        Ok(tally.loss + c2 * squared_length(weights))
    })?;
    let flat = iteration.gradient_ratio <= options.epsilon;
    Ok((right, iteration.value, flat || !iteration.moved))
}

/// Whether the loss has hardly changed for `period` epochs; `losses` are those of the last ones.
pub(super) fn stands_still(losses: &mut VecDeque<f64>, options: &CrfOptions, loss: f64) -> bool {
    if options.period == 0 {
        return false;
    }
    let before = if losses.len() >= options.period { losses.pop_front() } else { None };
    losses.push_back(loss);
    before.is_some_and(|before| before - loss <= options.delta * loss)
}

fn squared_length(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum()
}

impl<F: Differentiable> Trainer for Crf<F> {
    type Model = F::Model;

    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport> {
        if let Some(last) = self.last {
            return Ok(last);
        }
        let (right, loss, flat) = self.descend(on_progress)?;
        let report = EpochReport {
            sequences: self.data.example_count(),
            tokens: (0..self.data.example_count()).map(|example| positions(&*self.data, example)).sum(),
            right: Some(right),
            loss,
            converged: stands_still(&mut self.losses, &self.options, loss) || flat,
        };
        self.last = report.converged.then_some(report);
        Ok(report)
    }

    fn model(&self) -> Result<F::Model> {
        self.data.model_at(&self.layout, self.vector())
    }

    fn save(&self, state: &mut StateWriter) {
        state.list(self.losses.iter().copied());
        match &self.descent {
            Descent::Lbfgs(lbfgs, _) => lbfgs.save(state),
            Descent::Sgd(sgd) => sgd.save(state),
        }
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        self.losses = state.list()?.into();
        match &mut self.descent {
            Descent::Lbfgs(lbfgs, _) => lbfgs.restore(state),
            Descent::Sgd(sgd) => sgd.restore(state),
        }
    }
}
