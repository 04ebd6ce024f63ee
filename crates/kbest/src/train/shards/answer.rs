//! What shards answer, and how answers are added.

use super::ShardPlan;
use crate::state::{StateReader, StateWriter};
use crate::train::crf::Expectations;
use crate::train::family::{Differentiable, Family, Tally};
use crate::train::perceptron::{Tally as Errors, learn};
use crate::train::rows::{GrowingWeights, RowLayout, TrainingSet};
use crate::train::{EpochReport, PerceptronOptions, shuffled};
use kbest_core::{Error, Result};

/// The weights of shards after a pass, added up.
pub(super) struct Mixed {
    errors: Errors,
    /// Passes over the data take this many steps: the length of the largest shard.
    pub(super) steps: u64,
    shards: u64, // that are not empty
    weights: GrowingWeights,
}

impl Mixed {
    /// One pass over a shard.
    pub(super) fn learn(
        data: &TrainingSet,
        options: &PerceptronOptions,
        index: u64,
        step: &mut StateReader<'_>,
    ) -> Result<Vec<u8>> {
        let (epoch, clock) = (step.number::<u64>()?, step.number::<u64>()?);
        let mut weights = data.restore(step)?; // of an empty shard, too: the step is read to its end
        let examples = data.example_count();
        if examples == 0 {
            return Ok(Self::none(data)?.write(data));
        }
        // Every shard its own order, which depends on nothing else.
        let seed = options.seed ^ (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let order = shuffled(examples, seed, epoch as usize);
        let errors = learn(data, options, clock, &order, &mut weights, None, &mut |_, _| ())?;
        Ok(Mixed { errors, steps: examples as u64, shards: 1, weights }.write(data))
    }

    fn none(data: &TrainingSet) -> Result<Self> {
        Ok(Mixed { errors: Errors::default(), steps: 0, shards: 0, weights: data.zero()? })
    }

    pub(super) fn add(plan: &ShardPlan, answers: &[&[u8]]) -> Result<Vec<u8>> {
        if let [only] = answers {
            return Ok(only.to_vec());
        }
        let mut sum = Self::none(plan.empty())?;
        for answer in answers {
            let one = Self::read(plan, answer)?;
            plan.empty().absorb(&mut sum.weights, &one.weights, 1.0)?;
            sum.errors.join(one.errors);
            sum.steps = sum.steps.max(one.steps);
            sum.shards += one.shards;
        }
        Ok(sum.write(plan.empty()))
    }

    fn write(&self, data: &TrainingSet) -> Vec<u8> {
        let Errors { sequences, wrong_sequences, tokens, wrong } = self.errors;
        let mut state = StateWriter::new();
        for number in [sequences, wrong_sequences, tokens, wrong] {
            state.number(number as u64);
        }
        state.number(self.steps);
        state.number(self.shards);
        data.save(&self.weights, &mut state);
        state.into_bytes()
    }

    pub(super) fn read(plan: &ShardPlan, bytes: &[u8]) -> Result<Self> {
        let mut state = StateReader::new(bytes);
        let mut number = || Ok::<_, Error>(state.number::<u64>()? as usize);
        let (sequences, wrong_sequences, tokens, wrong) = (number()?, number()?, number()?, number()?);
        let errors = Errors { sequences, wrong_sequences, tokens, wrong };
        let (steps, shards) = (state.number()?, state.number()?);
        let weights = plan.empty().restore(&mut state)?;
        state.finish()?;
        Ok(Mixed { errors, steps, shards, weights })
    }

    /// The mean of the weights of all shards.
    pub(super) fn mean(&self, plan: &ShardPlan) -> Result<GrowingWeights> {
        let mut mean = plan.empty().zero()?;
        plan.empty().absorb(&mut mean, &self.weights, 1.0 / self.shards.max(1) as f32)?;
        Ok(mean)
    }

    pub(super) fn report(&self) -> EpochReport {
        let Errors { sequences, wrong_sequences, tokens, wrong } = self.errors;
        let (right, loss) = (tokens - wrong.min(tokens), wrong_sequences as f64);
        EpochReport { sequences, tokens, right: Some(right), loss, converged: wrong_sequences == 0 }
    }
}

/// Loss and gradient of shards at one point.
#[derive(Default)]
pub(super) struct Gradient {
    pub(super) tally: Tally,
    pub(super) sequences: u64,
    pub(super) tokens: u64,
    pub(super) vector: Vec<f64>,
}

impl Gradient {
    /// The gradient of a shard: expected minus observed counts.
    pub(super) fn of(data: &TrainingSet, layout: &RowLayout, step: &mut StateReader<'_>) -> Result<Vec<u8>> {
        let mut at = vec![0.0; crate::train::family::Layout::len(layout)];
        step.list_into(&mut at)?;
        let point = data.point(layout, &at)?;
        let mut expected = Expectations::new(layout);
        expected.add(data, &point, 0..data.example_count())?;
        let Expectations { gradient: mut vector, tally, .. } = expected;
        (0..data.example_count()).for_each(|i| data.add_gold(layout, i, -data.weight(i), &mut vector));
        let (sequences, tokens) = (data.example_count() as u64, data.tokens() as u64);
        Ok(Gradient { tally, sequences, tokens, vector }.write())
    }

    pub(super) fn add(plan: &ShardPlan, answers: &[&[u8]]) -> Result<Vec<u8>> {
        let mut sum = Gradient { vector: vec![0.0; plan.weights()?], ..Gradient::default() };
        for answer in answers {
            let one = Self::read(plan, answer)?;
            sum.vector.iter_mut().zip(&one.vector).for_each(|(sum, one)| *sum += one);
            sum.tally.add(one.tally);
            sum.sequences += one.sequences;
            sum.tokens += one.tokens;
        }
        Ok(sum.write())
    }

    fn write(&self) -> Vec<u8> {
        let mut state = StateWriter::new();
        state.number(self.tally.loss);
        state.number(self.tally.right as u64);
        state.number(self.sequences);
        state.number(self.tokens);
        state.list(self.vector.iter().copied());
        state.into_bytes()
    }

    pub(super) fn read(plan: &ShardPlan, bytes: &[u8]) -> Result<Self> {
        let mut state = StateReader::new(bytes);
        let tally = Tally { loss: state.number()?, right: state.number::<u64>()? as usize };
        let (sequences, tokens) = (state.number()?, state.number()?);
        let mut vector = vec![0.0; plan.weights()?];
        state.list_into(&mut vector)?;
        state.finish()?;
        Ok(Gradient { tally, sequences, tokens, vector })
    }
}
