//! The structured perceptron (final, averaged and voted) and its passive-aggressive variant.
//!
//! **What.** Each sequence is decoded with the current weights; where the answer is wrong, the features of the right
//! labels gain weight and those of the answer lose it. The average of the weights over all steps does better on new
//! text than the last weights ([`Averaging::Averaged`]); a vote of every intermediate weight vector may do better
//! still, at the price of many decodings ([`Averaging::Voted`]). A passive-aggressive step
//! ([`Update::PassiveAggressive`]) is just long enough for the right labels to win by a margin.
//!
//! It trains any [`Family`] of models: rows of text features, boolean features. Weights between parts of neighbouring labels, which are
//! dear to update, take effect after every eighth wrong sequence; until then sequences are decoded, and margins measured, with
//! the older ones.
//!
//! **Cost.** One decoding per sequence and, for each wrong position, one change per feature: with an exact decoder that
//! prunes, training with thousands of labels is about as fast as tagging. Every exact decoder returns the same path,
//! ties included, so the weights do not depend on the choice. With a beam, the answer ends at the first position where
//! the right labels fall out of the beam (*early update*), so that every correction corrects an error. With several
//! threads each learns from a part of the data, and their weights are averaged after each epoch (*iterative parameter
//! mixing*): a different model, but equally good. With several [runs](PerceptronOptions::runs), each sees all data in an order
//! of its own, and the model is their mean: better, because what an order left behind differs from run to run, at the price of as
//! many trainings. Tagging costs what it costs otherwise.
//!
//! **Papers.** Collins, *Discriminative training methods for hidden Markov models*, EMNLP 2002; Freund and Schapire,
//! *Large margin classification using the perceptron algorithm*, 1999 (votes); Crammer et al., *Online
//! passive-aggressive algorithms*, 2006; Collins and Roark, *Incremental parsing with the perceptron algorithm*, 2004
//! (early update); McDonald, Hall and Mann, *Distributed training strategies for the structured perceptron*, 2010
//! (mixing).

use super::change::{Change, merge, scale};
use super::family::{Family, Part, positions};
use super::{Algorithm, EpochReport, OnProgress, Progress, Recipe, Trainer, TrainingSet, shuffled};
use crate::model::VotersBuilder;
use crate::state::{StateReader, StateWriter};
use kbest_core::Structure;
use kbest_core::decode::{Decoded, Decoder};
use kbest_core::{Error, Result};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The weights that form the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Averaging {
    /// The last weights.
    Final,
    /// The mean over all steps.
    #[default]
    Averaged,
    /// Every intermediate weight vector, with one vote for every sequence it got right. For small problems.
    Voted,
}

/// The size of a correction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Update {
    /// A fixed size.
    #[default]
    Perceptron,
    /// As large as needed for the right labels to win by the square root of the number of errors, but no larger than
    /// this.
    PassiveAggressive {
        /// The largest step, `C` of PA-I.
        longest: f32,
    },
}

/// Options of perceptron training.
#[derive(Debug, Clone)]
pub struct PerceptronOptions {
    /// The weights that form the model.
    pub averaging: Averaging,
    /// The size of a correction.
    pub update: Update,
    /// The decoder used in training.
    pub decoder: Decoder,
    /// Determines the order of the sequences.
    pub seed: u64,
    /// Threads; more than one means parameter mixing.
    pub threads: usize,
    /// Independent runs; the model is the mean of theirs. The order of run `i`, from 0, is that of the seed plus `i`.
    pub runs: usize,
}

impl Default for PerceptronOptions {
    fn default() -> Self {
        PerceptronOptions {
            averaging: Averaging::default(),
            update: Update::default(),
            decoder: Decoder::default(),
            seed: 1,
            threads: 1,
            runs: 1,
        }
    }
}

impl PerceptronOptions {
    /// Those of a recipe for a perceptron of any kind.
    pub(super) fn of(recipe: &Recipe, decoder: Decoder) -> Self {
        PerceptronOptions {
            averaging: match recipe.algorithm {
                Algorithm::Perceptron => Averaging::Final,
                Algorithm::Voted => Averaging::Voted,
                _ if recipe.no_averaging => Averaging::Final,
                _ => Averaging::Averaged,
            },
            update: match recipe.algorithm {
                Algorithm::Pa => Update::PassiveAggressive { longest: recipe.longest.unwrap_or(1.0) },
                _ => Update::Perceptron,
            },
            decoder,
            seed: recipe.seed,
            threads: recipe.threads.unwrap_or(1),
            runs: recipe.runs.unwrap_or(1),
        }
    }
}

/// A perceptron in training, for any family of models.
#[derive(Debug)]
pub struct Perceptron<F: Family = TrainingSet> {
    data: Arc<F>,
    options: PerceptronOptions,
    weights: Vec<F::Weights>, // one per run
    voters: Option<VotersBuilder>,
    epochs: usize,
    clock: u64, // steps so far, the same in every run: sequences seen, by the slowest thread
}

impl<F: Family> Perceptron<F> {
    /// Starts with all weights zero.
    ///
    /// # Errors
    /// [`Error::Argument`] for zero threads or runs, voting with several, or what [`Family::accept`] refuses.
    pub fn new(data: Arc<F>, options: PerceptronOptions) -> Result<Self> {
        let voted = options.averaging == Averaging::Voted;
        let counts =
            [("threads of the perceptron", options.threads), ("runs of the perceptron", options.runs)];
        for (what, count) in counts {
            if count == 0 || voted && count > 1 {
                let expected = if voted { "1 with voting" } else { "at least 1" };
                return Err(Error::argument(what, expected, count));
            }
        }
        if let Update::PassiveAggressive { longest } = options.update
            && (longest.is_nan() || longest <= 0.0)
        {
            return Err(Error::argument("the longest step of a correction", "a number above zero", longest));
        }
        if data.example_count() == 0 {
            return Err(Error::shape("training data", "at least one example", 0));
        }
        data.accept(options.averaging, options.update)?;
        let weights = (0..options.runs).map(|_| data.zero()).collect::<Result<_>>()?;
        let voters = voted.then(VotersBuilder::default);
        Ok(Perceptron { data, options, weights, voters, epochs: 0, clock: 0 })
    }

    /// One pass of a run; returns what was seen and how many steps it took.
    fn learn(&mut self, run: usize, on_progress: OnProgress<'_>) -> Result<(Tally, u64)> {
        let seed = self.options.seed.wrapping_add(run as u64);
        let order = shuffled(self.data.example_count(), seed, self.epochs);
        if self.options.threads > 1 {
            return self.learn_in_parts(run, &order, on_progress);
        }
        let mut progress = Progress::default();
        let on_step = &mut |positions: usize, wrong: usize| {
            progress.done += 1;
            progress.tokens += positions;
            progress.right += positions - wrong;
            on_progress(progress);
        };
        let (weights, voters) = (&mut self.weights[run], self.voters.as_mut());
        let tally = learn(&*self.data, &self.options, self.clock, &order, weights, voters, on_step)?;
        Ok((tally, order.len() as u64))
    }

    /// Each thread learns from a part of the data; then their weights are averaged.
    fn learn_in_parts(
        &mut self,
        run: usize,
        order: &[u32],
        on_progress: OnProgress<'_>,
    ) -> Result<(Tally, u64)> {
        let part = order.len().div_ceil(self.options.threads);
        let parts: Vec<&[u32]> = order.chunks(part).collect();
        let (data, options, clock) = (&*self.data, &self.options, self.clock);
        let copy = |_| {
            let mut copy = data.zero()?;
            data.absorb(&mut copy, &self.weights[run], 1.0)?;
            Ok(copy)
        };
        let copies = parts.iter().map(copy).collect::<Result<Vec<_>>>()?;
        let (done, tokens, right) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let on_step = |positions: usize, wrong: usize| {
            done.fetch_add(1, Ordering::Relaxed);
            tokens.fetch_add(positions, Ordering::Relaxed);
            right.fetch_add(positions - wrong, Ordering::Relaxed);
        };
        let learned: Vec<Result<(F::Weights, Tally)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = parts
                .iter()
                .zip(copies)
                .map(|(part, mut weights)| {
                    scope.spawn(move || {
                        let tally =
                            learn(data, options, clock, part, &mut weights, None, &mut |p, w| on_step(p, w))?;
                        Ok((weights, tally))
                    })
                })
                .collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                std::thread::sleep(std::time::Duration::from_millis(20));
                on_progress(Progress {
                    done: done.load(Ordering::Relaxed),
                    tokens: tokens.load(Ordering::Relaxed),
                    right: right.load(Ordering::Relaxed),
                });
            }
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        });
        let mut tally = Tally::default();
        let mut mixed = data.zero()?;
        let share = 1.0 / learned.len() as f32;
        for part in learned {
            let (weights, of_part) = part?;
            data.absorb(&mut mixed, &weights, share)?;
            tally.join(of_part);
        }
        self.weights[run] = mixed;
        Ok((tally, part as u64))
    }
}

/// Wrong answers after which weights that are dear to update take effect (measured: benchmarks/accuracy.md).
const SETTLED_EVERY: usize = 8;

/// One thread learns from the sequences in this order, starting at step `clock`.
pub(super) fn learn<F: Family>(
    data: &F,
    options: &PerceptronOptions,
    clock: u64,
    order: &[u32],
    weights: &mut F::Weights,
    mut voters: Option<&mut VotersBuilder>,
    on_step: &mut dyn FnMut(usize, usize),
) -> Result<Tally> {
    let mut learner = Learner::<F>::default();
    let mut tally = Tally::default();
    let mut unsettled = 0; // examples with changes
    for (clock, &i) in (clock + 1..).zip(order) {
        let example = i as usize;
        let wrong = learner.answer(data, weights, example, options)?;
        if let Some(voters) = &mut voters {
            voters.step(wrong > 0)?;
        }
        if wrong > 0 {
            scale(&mut learner.changes, data.weight(example) as f32);
            for &change in &learner.changes {
                data.apply(weights, change, clock as f64)?;
                if let Some(voters) = &mut voters {
                    data.record(voters, change);
                }
            }
            unsettled += 1;
            if unsettled == SETTLED_EVERY {
                data.settle(weights)?;
                unsettled = 0;
            }
        }
        let positions = positions(data, example);
        tally.join(Tally { sequences: 1, wrong_sequences: usize::from(wrong > 0), tokens: positions, wrong });
        on_step(positions, wrong);
    }
    data.settle(weights)?;
    Ok(tally)
}

/// What was seen and how much of it was right.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) sequences: usize,
    pub(super) wrong_sequences: usize,
    pub(super) tokens: usize,
    pub(super) wrong: usize,
}

impl Tally {
    pub(super) fn join(&mut self, other: Tally) {
        self.sequences += other.sequences;
        self.wrong_sequences += other.wrong_sequences;
        self.tokens += other.tokens;
        self.wrong += other.wrong;
    }
}

/// The memory of one thread.
#[derive(Debug)]
struct Learner<F: Family> {
    memory: F::Memory,
    scratch: <F::Structure as Structure>::Scratch<f32>,
    decoded: Decoded<f32, <F::Structure as Structure>::Path<f32>>,
    answer: Vec<Part<F>>,
    changes: Vec<Change<F::Parameter>>,
}

impl<F: Family> Default for Learner<F> {
    fn default() -> Self {
        Learner {
            memory: F::Memory::default(),
            scratch: Default::default(),
            decoded: Decoded::default(),
            answer: Vec::new(),
            changes: Vec::new(),
        }
    }
}

impl<F: Family> Learner<F> {
    /// Decodes an example and finds the necessary changes; returns the number of wrong positions.
    fn answer(
        &mut self,
        data: &F,
        weights: &F::Weights,
        example: usize,
        options: &PerceptronOptions,
    ) -> Result<usize> {
        let gold = data.gold(example);
        let Learner { memory, scratch, decoded, answer, changes } = self;
        let lattice = data.lattice(weights, example, memory)?;
        F::Structure::search(&options.decoder, &lattice, gold, scratch, decoded, answer)?;
        let answer = &answer[..];
        let wrong = F::Structure::wrong(answer, gold);
        changes.clear();
        if wrong == 0 {
            return Ok(0);
        }
        data.difference(example, answer, changes);
        if let Update::PassiveAggressive { longest } = options.update {
            let squares = merge(changes);
            let reached = if F::Structure::positions(answer) < F::Structure::positions(gold) {
                answer.len()
            } else {
                gold.len()
            };
            let score = |answer| F::Structure::score(&lattice, answer);
            let (loses, wins) = (score(answer)?, score(&gold[..reached])?);
            let loss = f64::from(loses) - f64::from(wins) + (wrong as f64).sqrt();
            let step = if squares > 0.0 { (loss / squares).min(f64::from(longest)) } else { 0.0 };
            scale(changes, step.max(0.0) as f32);
        }
        // Positions that the beam never reached are reported as wrong.
        Ok(wrong + F::Structure::positions(gold) - F::Structure::positions(answer))
    }
}

impl<F: Family> Trainer for Perceptron<F> {
    type Model = F::Model;

    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport> {
        let (runs, mut tally, mut steps) = (self.options.runs, Tally::default(), 0);
        for run in 0..runs {
            // All runs together are one pass.
            let before = Progress {
                done: run * self.data.example_count(),
                tokens: tally.tokens,
                right: tally.tokens - tally.wrong,
            };
            let of_run = self.learn(run, &mut |progress: Progress| {
                on_progress(Progress {
                    done: (before.done + progress.done) / runs,
                    tokens: before.tokens + progress.tokens,
                    right: before.right + progress.right,
                });
            })?;
            tally.join(of_run.0);
            steps = of_run.1;
        }
        self.clock += steps;
        self.epochs += 1;
        Ok(EpochReport {
            sequences: tally.sequences,
            tokens: tally.tokens,
            right: Some(tally.tokens - tally.wrong),
            loss: tally.wrong_sequences as f64 / runs as f64,
            converged: tally.wrong_sequences == 0,
        })
    }

    fn model(&self) -> Result<F::Model> {
        let averaged = self.options.averaging == Averaging::Averaged;
        let voters = self.voters.clone().map(VotersBuilder::finish);
        let average_up_to = averaged.then_some((self.clock + 1) as f64);
        match &self.weights[..] {
            [weights] => self.data.model(weights, average_up_to, voters),
            runs => {
                let mut mean = self.data.zero()?;
                let share = 1.0 / runs.len() as f32;
                runs.iter().try_for_each(|run| self.data.absorb(&mut mean, run, share))?;
                self.data.model(&mean, average_up_to, voters)
            }
        }
    }

    fn save(&self, state: &mut StateWriter) {
        state.number(self.epochs as u64);
        state.number(self.clock);
        self.weights.iter().for_each(|weights| self.data.save(weights, state));
        if let Some(voters) = &self.voters {
            voters.save(state);
        }
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        self.epochs = state.number::<u64>()? as usize;
        self.clock = state.number()?;
        for weights in &mut self.weights {
            *weights = self.data.restore(state)?;
        }
        if self.voters.is_some() {
            self.voters = Some(VotersBuilder::restore(state)?);
        }
        Ok(())
    }
}
