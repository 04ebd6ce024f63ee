//! Training in shards: the data lies in parts, perhaps on other machines, and only weights travel.
//!
//! **What.** A [`ShardPlan`] is what every part of a run must agree on: numbered labels and features, the algorithm and its
//! options. A shard is a part of the data, numbered by the plan and kept as bytes. In each step the trainer ([`Sharded`]) sends
//! the same bytes to all shards, each [answers](ShardPlan::answer), and the answers are [added](ShardPlan::add):
//!
//! | algorithm | a step sends | a shard answers | after the sum |
//! |---|---|---|---|
//! | perceptrons (averaged, final, passive-aggressive) | weights | the weights after a pass over the shard | their mean (iterative parameter mixing) |
//! | CRF | weights | loss and gradient of the shard | a step of L-BFGS (or OWL-QN) |
//!
//! Who runs the shards is not decided here: [`Workers`] does, with threads ([`InThreads`]), Spark, or anything else.
//! Labels and features are numbered before, from [`Vocabulary`] counts of the shards.
//!
//! **Why.** One machine is not always enough. **Exact.** Every sum is added in the order of the shards' numbers, in groups of
//! [`FAN`]; the order of the sequences inside a shard depends on the seed, the shard's number and the epoch alone. So the result is
//! the same to the last bit wherever the shards run, and whoever dies and is replaced. It does depend on the number of shards and on
//! which sequence is in which: other shards mix other weights.
//!
//! **Cost.** An epoch sends the weights to each machine once and returns them once per group of shards. **When not.** The data
//! fits on one machine: a single perceptron learns from every sequence what it can, mixed ones forget some of it in the mean.
//!
//! **Paper.** McDonald, Hall and Mann, *Distributed training strategies for the structured perceptron*, 2010, section 4.2 with
//! uniform mixing.
//!
//! ```
//! use kbest::train::shards::{InThreads, Sharded, ShardPlan, Vocabulary};
//! use kbest::feature::{FeatureSource, Preset};
//! use kbest::train::{Recipe, Trainer};
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! let mut sequence = Sequence::new();
//! for (word, label) in [("the", "DET"), ("old", "NOUN"), ("man", "VERB"), ("the", "DET"), ("boats", "NOUN")] {
//!     sequence.push([word]);
//!     sequence.set_label(label);
//! }
//! let shards = [vec![sequence.clone()], vec![sequence]]; // as if they lay far apart
//! let mut all = Vocabulary::new(FeatureSource::Preset(Preset::Words));
//! for shard in &shards {
//!     let mut vocabulary = Vocabulary::new(FeatureSource::Preset(Preset::Words));
//!     vocabulary.observe(shard)?;
//!     all.absorb(&vocabulary.to_bytes())?;
//! }
//! let plan = Arc::new(ShardPlan::new(all.freeze(1)?, &Recipe::default())?);
//! let numbered = shards.iter().map(|shard| plan.number(shard)).collect::<kbest::Result<Vec<_>>>()?;
//! let mut trainer = Sharded::new(plan.clone(), InThreads::new(plan, numbered, 2))?;
//! while !trainer.epoch(&mut |_| ())?.converged {}
//! let mut tagger = Tagger::new(Arc::new(trainer.model()?));
//! let labels = tagger.tag(&Sequence::from_tokens(["the", "boats"]), 1)?.decoded.best().labels.clone();
//! assert_eq!(labels.iter().map(|&y| tagger.model().labels().name(y).unwrap()).collect::<Vec<_>>(), ["DET", "NOUN"]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod answer;
mod plan;
mod vocabulary;

pub use plan::ShardPlan;
pub use vocabulary::Vocabulary;

use super::crf::{Lbfgs, iterate, stands_still};
use super::family::Family;
use super::rows::GrowingWeights;
use super::{EpochReport, OnProgress, Progress, Trainer};
use crate::model::Model;
use crate::state::{StateReader, StateWriter};
use answer::{Gradient, Mixed};
use kbest_core::Result;
use kbest_core::pipeline::map;
use plan::Method;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// How many answers are added at once: shards 0 to 7 are one group, their sums again.
pub const FAN: usize = 8;

/// Runs a step on every shard.
pub trait Workers: Send {
    /// The answers of all shards to a step, added up as [`total`] adds them.
    ///
    /// # Errors
    /// Whatever goes wrong there.
    fn run(&mut self, step: &[u8]) -> Result<Vec<u8>>;
}

/// Adds answers in their order, in groups of [`FAN`], groups of groups, and so on: the one order that all workers keep.
///
/// # Errors
/// Those of [`ShardPlan::add`].
pub fn total(plan: &ShardPlan, mut answers: Vec<Vec<u8>>) -> Result<Vec<u8>> {
    loop {
        let add = |group: &[Vec<u8>]| plan.add(&group.iter().map(Vec::as_slice).collect::<Vec<_>>());
        answers = answers.chunks(FAN).map(add).collect::<Result<_>>()?;
        if answers.len() <= 1 {
            return answers.pop().map_or_else(|| plan.add(&[]), Ok);
        }
    }
}

/// Shards in the memory of this machine, on its threads.
#[derive(Debug)]
pub struct InThreads {
    plan: Arc<ShardPlan>,
    shards: Vec<Vec<u8>>,
    threads: usize,
}

impl InThreads {
    /// These shards, as [`ShardPlan::number`] made them.
    pub fn new(plan: Arc<ShardPlan>, shards: Vec<Vec<u8>>, threads: usize) -> Self {
        InThreads { plan, shards, threads: threads.max(1) }
    }
}

impl Workers for InThreads {
    fn run(&mut self, step: &[u8]) -> Result<Vec<u8>> {
        let (plan, shards) = (&*self.plan, &self.shards);
        let answers = map(shards.len(), self.threads, || |i| plan.answer(i as u64, &shards[i], step));
        total(plan, answers.into_iter().collect::<Result<_>>()?)
    }
}

/// Training on shards; what is kept between epochs is here, the data is with the workers.
pub struct Sharded<W> {
    plan: Arc<ShardPlan>,
    workers: W,
    course: Course,
}

impl<W> fmt::Debug for Sharded<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sharded").field("plan", &self.plan).finish_non_exhaustive()
    }
}

enum Course {
    Mixing { weights: Box<GrowingWeights>, epochs: u64, clock: u64 },
    Descent { lbfgs: Box<Lbfgs>, losses: VecDeque<f64>, last: Option<EpochReport> },
}

impl<W: Workers> Sharded<W> {
    /// Starts with all weights zero.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) if the plan is for a CRF and it is not yet known which weights there are
    /// ([`ShardPlan::with_observed`]).
    pub fn new(plan: Arc<ShardPlan>, workers: W) -> Result<Self> {
        let course = match plan.method() {
            Method::Mixing(_) => {
                Course::Mixing { weights: Box::new(plan.empty().zero()?), epochs: 0, clock: 0 }
            }
            Method::Crf(options) => {
                let zeros = vec![0.0; plan.weights()?];
                let lbfgs = Box::new(Lbfgs::new(zeros, options.c1));
                Course::Descent { lbfgs, losses: VecDeque::new(), last: None }
            }
        };
        Ok(Sharded { plan, workers, course })
    }
}

impl<W: Workers> Trainer for Sharded<W> {
    type Model = Model;

    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport> {
        let (plan, workers) = (&*self.plan, &mut self.workers);
        let report = match &mut self.course {
            Course::Mixing { weights, epochs, clock } => {
                let mut step = StateWriter::new();
                step.number(*epochs);
                step.number(*clock);
                plan.empty().save(weights, &mut step);
                let mixed = Mixed::read(plan, &workers.run(&step.into_bytes())?)?;
                (*epochs, *clock) = (*epochs + 1, *clock + mixed.steps);
                **weights = mixed.mean(plan)?;
                mixed.report()
            }
            Course::Descent { last: Some(last), .. } => *last,
            Course::Descent { lbfgs, losses, last } => {
                let options = plan.crf_options();
                let mut seen = Gradient::default();
                let (right, loss, flat) = iterate(lbfgs, options, &mut |weights, gradient| {
                    let mut step = StateWriter::new();
                    step.list(weights.iter().copied());
                    seen = Gradient::read(plan, &workers.run(&step.into_bytes())?)?;
                    gradient.copy_from_slice(&seen.vector);
                    Ok(seen.tally)
                })?;
                let converged = stands_still(losses, options, loss) || flat;
                let (sequences, tokens) = (seen.sequences as usize, seen.tokens as usize);
                let report = EpochReport { sequences, tokens, right: Some(right), loss, converged };
                *last = converged.then_some(report);
                report
            }
        };
        let right = report.right.unwrap_or(0);
        on_progress(Progress { done: report.sequences, tokens: report.tokens, right });
        Ok(report)
    }

    fn model(&self) -> Result<Model> {
        match &self.course {
            Course::Mixing { weights, clock, .. } => {
                let average_up_to = self.plan.is_averaged().then_some((clock + 1) as f64);
                self.plan.empty().model(weights, average_up_to, None)
            }
            Course::Descent { lbfgs, .. } => self.plan.model_at(lbfgs.x()),
        }
    }

    fn save(&self, state: &mut StateWriter) {
        match &self.course {
            Course::Mixing { weights, epochs, clock } => {
                state.number(*epochs);
                state.number(*clock);
                self.plan.empty().save(weights, state);
            }
            Course::Descent { lbfgs, losses, .. } => {
                state.list(losses.iter().copied());
                lbfgs.save(state);
            }
        }
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        match &mut self.course {
            Course::Mixing { weights, epochs, clock } => {
                (*epochs, *clock) = (state.number()?, state.number()?);
                **weights = self.plan.empty().restore(state)?;
            }
            Course::Descent { lbfgs, losses, .. } => {
                *losses = state.list()?.into();
                lbfgs.restore(state)?;
            }
        }
        Ok(())
    }
}
