//! Max-margin training in the dual: block-coordinate Frank-Wolfe.
//!
//! **What.** Coefficients such that the right labels win against every other labelling `ȳ` by a margin that grows with the
//! number `Δ(ȳ)` of its errors. With `ψ_i(ȳ) = Φ(x_i, y_i) - Φ(x_i, ȳ)`, as a minimum over `w` and as a maximum over `α`:
//!
//! ```text
//! 1/2 |w|^2 + sum over i of C_i max over ȳ of (Δ(ȳ) - <w, ψ_i(ȳ)>)
//! sum of α_i(ȳ) Δ(ȳ) - 1/2 |w|^2,    w = sum of α_i(ȳ) ψ_i(ȳ),    α_i(ȳ) >= 0,  sum over ȳ of α_i(ȳ) = C_i = C / n
//! ```
//!
//! An example that counts for more has a larger `C_i`. With [`Rescaling::Slack`], `ψ_i(ȳ)` is multiplied by `Δ(ȳ)`: the margin
//! is always 1, and errors cost in proportion to their number.
//!
//! **How.** For one sequence after the other, the labelling that violates its margin most is decoded, and the sequence's part
//! of `w` moves towards it, exactly as far as the dual objective rises (a parabola in closed form): it never gets worse. The
//! gap between both objectives, which bounds what is left to gain, comes with it, and training stops when it is a small share
//! of the objective.
//!
//! **Cost.** A decoding per sequence and step; then, per token of the sequence and label in play, `N` additions. Margin
//! rescaling decodes an ordinary lattice with any decoder; slack rescaling asks for the best path for every number of errors,
//! `T^2 L^2` (`slack.rs`). **When not.** Many sequences: a perceptron is as good after a few passes.
//!
//! **Papers.** Tsochantaridis et al., *Large margin methods for structured and interdependent output variables*, 2005;
//! Lacoste-Julien et al., *Block-coordinate Frank-Wolfe optimization for structural SVMs*, 2013, algorithm 4.

mod slack;

use super::change::merge;
use super::dual::{DualParameter, DualTrainingSet, DualWeights};
use super::family::Family;
use super::{Change, EpochReport, Loss, OnProgress, Progress, Recipe, Trainer, shuffled};
use crate::model::Model;
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelId;
use kbest_core::decode::{Decode, Decoded, Decoder, Scratch};
use kbest_core::lattice::Lattice;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// What the number of errors scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rescaling {
    /// The margin.
    #[default]
    Margin,
    /// The price of missing a margin of 1.
    Slack,
}

/// How a max-margin trainer learns.
#[derive(Debug, Clone)]
pub struct MaxMarginOptions {
    /// What errors scale.
    pub rescaling: Rescaling,
    /// The price of violated margins against the length of `w`.
    pub c: f64,
    /// Stop when the gap is at most this share of the primal objective.
    pub gap: f64,
    /// The decoder inside, for [`Rescaling::Margin`].
    pub decoder: Decoder,
    /// Decides the order of the sequences.
    pub seed: u64,
}

impl Default for MaxMarginOptions {
    fn default() -> Self {
        MaxMarginOptions {
            rescaling: Rescaling::default(),
            c: 100.0,
            gap: 0.01,
            decoder: Decoder::default(),
            seed: 1,
        }
    }
}

impl MaxMarginOptions {
    /// Those of a recipe.
    pub(super) fn of(recipe: &Recipe, decoder: Decoder) -> Self {
        let usual = MaxMarginOptions::default();
        MaxMarginOptions {
            rescaling: if recipe.loss == Some(Loss::Slack) { Rescaling::Slack } else { Rescaling::Margin },
            c: recipe.c.unwrap_or(usual.c),
            gap: recipe.gap.unwrap_or(usual.gap),
            decoder,
            seed: recipe.seed,
        }
    }
}

/// A sequence's part of the solution.
#[derive(Debug, Clone, Default)]
struct Block {
    vector: Vec<(DualParameter, f64)>, // sum of α_i(ȳ) ψ_i(ȳ), sorted
    loss: f64,                         // sum of α_i(ȳ) Δ(ȳ)
}

/// The corner of the feasible set that a sequence moves towards, and what that promises.
#[derive(Debug)]
struct Corner {
    vector: Vec<(DualParameter, f64)>, // C_i ψ_i(ȳ), sorted
    loss: f64,                         // C_i Δ(ȳ)
    gap: f64,                          // this sequence's part of the gap
}

/// Both objectives at one point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objectives {
    /// The primal one: an upper bound of the optimum.
    pub primal: f64,
    /// The dual one: a lower bound.
    pub dual: f64,
}

impl Objectives {
    /// How far from the optimum either may be.
    pub fn gap(&self) -> f64 {
        self.primal - self.dual
    }
}

/// A max-margin model in training.
#[derive(Debug)]
pub struct MaxMargin {
    data: Arc<DualTrainingSet>,
    options: MaxMarginOptions,
    weights: DualWeights,
    blocks: Vec<Block>, // one per example
    dual: f64,          // the dual objective
    epochs: usize,
    memory: Memory,
}

#[derive(Debug, Default)]
struct Memory {
    nodes: Vec<f32>,
    scratch: Scratch<f32>,
    answer: Decoded<f32>,
    changes: Vec<Change<DualParameter>>,
}

impl MaxMargin {
    /// `α` all on the right labels: `w = 0`.
    ///
    /// # Errors
    /// [`Error::Argument`] if `C` or the gap is not positive, or the data has a budget: the widest margin needs all its
    /// support.
    pub fn new(data: Arc<DualTrainingSet>, options: MaxMarginOptions) -> Result<Self> {
        for (what, number) in
            [("C of max-margin training", options.c), ("gap of max-margin training", options.gap)]
        {
            if !(number > 0.0 && number.is_finite()) {
                return Err(Error::argument(what, "a number above 0", number));
            }
        }
        if data.has_budget() {
            let expected = "none for max-margin training";
            return Err(Error::argument("budget of support tokens", expected, "one"));
        }
        let weights = data.zero()?;
        let blocks = vec![Block::default(); data.example_count()];
        Ok(MaxMargin { data, options, weights, blocks, dual: 0.0, epochs: 0, memory: Memory::default() })
    }

    /// The dual objective, as the steps have raised it.
    pub fn dual_objective(&self) -> f64 {
        self.dual
    }

    /// A sequence's part of the weight vector: `sum of α_i(ȳ) ψ_i(ȳ)`, by parameter.
    pub fn part(&self, example: usize) -> &[(DualParameter, f64)] {
        &self.blocks[example].vector
    }

    /// The sum of `α_i(ȳ)` that a sequence may hand out.
    pub fn price(&self, example: usize) -> f64 {
        self.options.c * self.data.weight(example) / self.data.example_count() as f64
    }

    /// Both objectives, computed anew: a decoding per sequence.
    ///
    /// # Errors
    /// What scoring and decoding refuse.
    pub fn objectives(&mut self) -> Result<Objectives> {
        let mut gap = 0.0;
        for example in 0..self.blocks.len() {
            gap += self.corner(example)?.gap;
        }
        let square: f64 = self.blocks.iter().map(|block| along(&self.weights, &block.vector)).sum();
        let loss: f64 = self.blocks.iter().map(|block| block.loss).sum();
        let dual = loss - square / 2.0;
        Ok(Objectives { primal: dual + gap, dual })
    }

    /// The labelling that violates an example's margin most.
    fn corner(&mut self, example: usize) -> Result<Corner> {
        let price = self.price(example);
        let Memory { nodes, scratch, answer, changes } = &mut self.memory;
        let gold = self.data.gold(example);
        self.weights.node_scores(self.data.sequence(example), nodes);
        let path = match self.options.rescaling {
            Rescaling::Margin => {
                let labels = nodes.len() / gold.len();
                for (row, &right) in nodes.chunks_exact_mut(labels).zip(gold) {
                    row.iter_mut().for_each(|score| *score += 1.0);
                    row[right as usize] -= 1.0;
                }
                let lattice =
                    Lattice::new(&nodes[..], self.weights.edges())?.with_start(self.weights.start())?;
                self.options.decoder.decode_into(&lattice, 1, scratch, answer)?;
                answer.best().labels.clone()
            }
            Rescaling::Slack => {
                let lattice =
                    Lattice::new(&nodes[..], self.weights.edges())?.with_start(self.weights.start())?;
                slack::most_violating(&lattice, gold)?
            }
        };
        changes.clear();
        self.data.difference(example, &path, changes);
        merge(changes);
        let errors = errors(&path, gold) as f64;
        let scale = match self.options.rescaling {
            Rescaling::Margin => price,
            Rescaling::Slack => price * errors,
        };
        let scaled = |change: &Change<DualParameter>| (change.parameter, scale * f64::from(change.by));
        let vector: Vec<_> = changes.iter().filter(|change| change.by != 0.0).map(scaled).collect();
        let (loss, block) = (price * errors, &self.blocks[example]);
        let towards = along(&self.weights, &block.vector) - along(&self.weights, &vector);
        // Staying, with no violation, is a corner, too; rounding may hide it from the decoder.
        let gap = (towards - block.loss + loss).max(along(&self.weights, &block.vector) - block.loss);
        Ok(Corner { vector, loss, gap: gap.max(0.0) })
    }

    /// Moves an example's part towards a corner as far as the dual objective rises.
    fn step(&mut self, example: usize, corner: &Corner) -> Result<()> {
        let block = &self.blocks[example];
        let difference = combined(&corner.vector, 1.0, &block.vector, -1.0);
        let rise = along(&self.weights, &difference);
        let slope = corner.loss - block.loss - rise;
        let square = self.weights.square(&self.data, &difference);
        if slope <= 0.0 || difference.is_empty() {
            return Ok(());
        }
        // D(γ) = D + γ slope - γ^2 square / 2.
        let part = if square > 0.0 { (slope / square).min(1.0) } else { 1.0 };
        for &(parameter, value) in &difference {
            self.weights.add(&self.data, parameter, part * value, 0.0)?;
        }
        let block = &mut self.blocks[example];
        block.vector = combined(&block.vector, 1.0 - part, &corner.vector, part);
        block.loss += part * (corner.loss - block.loss);
        self.dual += part * slope - part * part * square / 2.0;
        Ok(())
    }
}

fn errors(path: &[LabelId], gold: &[LabelId]) -> usize {
    path.iter().zip(gold).filter(|(y, right)| y != right).count()
}

/// The inner product with the weight vector.
fn along(weights: &DualWeights, vector: &[(DualParameter, f64)]) -> f64 {
    vector.iter().map(|&(parameter, value)| value * weights.score(parameter)).sum()
}

/// `a * one + b * other`, both sorted; zeros are left out.
fn combined(
    one: &[(DualParameter, f64)],
    a: f64,
    other: &[(DualParameter, f64)],
    b: f64,
) -> Vec<(DualParameter, f64)> {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut sum = Vec::new();
    loop {
        let next = match (one.peek(), other.peek()) {
            (Some((p, _)), Some((q, _))) => *p.min(q),
            (Some((p, _)), None) | (None, Some((p, _))) => *p,
            (None, None) => return sum,
        };
        let mine = one.next_if(|(p, _)| *p == next).map_or(0.0, |(_, value)| a * value);
        let value = mine + other.next_if(|(p, _)| *p == next).map_or(0.0, |(_, value)| b * value);
        if value != 0.0 {
            sum.push((next, value));
        }
    }
}

impl Trainer for MaxMargin {
    type Model = Model;

    /// One step per sequence. The reported loss is the gap, estimated from the steps; it is computed anew before training
    /// ends.
    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport> {
        let order = shuffled(self.blocks.len(), self.options.seed, self.epochs);
        let mut progress = Progress::default();
        let mut gap = 0.0;
        for example in order {
            let corner = self.corner(example as usize)?;
            gap += corner.gap;
            self.step(example as usize, &corner)?;
            progress.done += 1;
            progress.tokens += self.data.gold(example as usize).len();
            on_progress(progress);
        }
        self.epochs += 1;
        let mut converged = false;
        if gap <= self.options.gap * (self.dual + gap) {
            let objectives = self.objectives()?;
            gap = objectives.gap();
            converged = gap <= self.options.gap * objectives.primal;
        }
        Ok(EpochReport {
            sequences: progress.done,
            tokens: progress.tokens,
            right: None,
            loss: gap,
            converged,
        })
    }

    fn model(&self) -> Result<Model> {
        self.data.model(&self.weights, None, None)
    }

    fn save(&self, state: &mut StateWriter) {
        state.number(self.epochs as u64);
        state.number(self.dual);
        self.weights.save(state);
        for Block { vector, loss } in &self.blocks {
            state.number(*loss);
            let key = |parameter: DualParameter| match parameter {
                DualParameter::Start { to } => (0, 0, to),
                DualParameter::Edge { from, to } => (1, from, to),
                DualParameter::Token { token, label } => (2, token, label),
            };
            let keys: Vec<_> = vector.iter().map(|&(parameter, _)| key(parameter)).collect();
            state.list(keys.iter().flat_map(|&(kind, a, b)| [kind, a, b]).collect::<Vec<u32>>().into_iter());
            state.list(vector.iter().map(|&(_, value)| value));
        }
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        self.epochs = state.number::<u64>()? as usize;
        self.dual = state.number()?;
        self.weights = DualWeights::restore(&self.data, state)?;
        let (labels, tokens) = (self.data.data().labels().len() as u32, self.data.tokens().len() as u32);
        for block in &mut self.blocks {
            block.loss = state.number()?;
            let (keys, values) = (state.list::<u32>()?, state.list::<f64>()?);
            let parameters = keys.as_chunks().0.iter().map(|key| match *key {
                [0, 0, to] if to < labels => Some(DualParameter::Start { to }),
                [1, from, to] if from < labels && to < labels => Some(DualParameter::Edge { from, to }),
                [2, token, label] if token < tokens && label < labels => {
                    Some(DualParameter::Token { token, label })
                }
                _ => None,
            });
            let parameters = parameters.collect::<Option<Vec<_>>>().filter(|list| list.len() == values.len());
            let wrong = || Error::shape("training state", "parameters of a dual model", "others");
            block.vector = parameters.ok_or_else(wrong)?.into_iter().zip(values).collect();
        }
        Ok(())
    }
}
