//! Which trainer, with which options.

use crate::decoders;
use crate::failure::{Failure, Result};
use clap::{Args, ValueEnum};
use kbest::Sequence;
use kbest::feature::FeatureSource;
use kbest::train::{Averaging, Perceptron, PerceptronOptions, Trainer, TrainingSet, Update};

/// What learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Perceptron, mean of the weights over all moments
    Averaged,
    /// Perceptron, last weights
    Perceptron,
    /// Perceptron, all weights there ever were vote; for small problems
    Voted,
    /// Passive-aggressive: corrections as long as needed, averaged
    Pa,
}

#[derive(Debug, Args)]
pub(super) struct Algorithm {
    /// What learns
    #[arg(long, value_enum, default_value = "averaged")]
    algorithm: Name,
    /// Decoder of the perceptrons, see `kbest decoders`; `beam:16` corrects at the first error that it cannot mend
    #[arg(long, value_name = "NAME", default_value = "auto")]
    decoder: String,
    /// Seed of the order of sequences
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Threads; perceptrons of several threads learn apart and are averaged after each pass [default: 1]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Longest correction of `pa`
    #[arg(long, value_name = "C", default_value_t = 1.0)]
    longest: f32,
}

impl Algorithm {
    pub(super) fn default_epochs(&self) -> usize {
        10
    }

    /// Features that the algorithm brings with it.
    pub(super) fn feature_source(&self) -> Option<FeatureSource> {
        None
    }

    pub(super) fn training_set(
        &self,
        sequences: &[Sequence],
        source: FeatureSource,
        min_frequency: u32,
    ) -> Result<TrainingSet> {
        Ok(TrainingSet::new(sequences, source, min_frequency)?)
    }

    pub(super) fn trainer<'d>(&self, data: &'d TrainingSet) -> Result<Box<dyn Trainer + 'd>> {
        let perceptron = |averaging, update| -> Result<Box<dyn Trainer + 'd>> {
            let options = PerceptronOptions {
                averaging,
                update,
                decoder: decoders::by_name(&self.decoder)?,
                seed: self.seed,
                threads: self.threads.unwrap_or(1),
            };
            Ok(Box::new(Perceptron::new(data, options)?))
        };
        match self.algorithm {
            Name::Averaged => perceptron(Averaging::Averaged, Update::Perceptron),
            Name::Perceptron => perceptron(Averaging::Final, Update::Perceptron),
            Name::Voted => perceptron(Averaging::Voted, Update::Perceptron),
            Name::Pa if self.longest > 0.0 => {
                perceptron(Averaging::Averaged, Update::PassiveAggressive { longest: self.longest })
            }
            Name::Pa => Err(Failure::Usage(format!("--longest: expected more than 0, got {}", self.longest))),
        }
    }

    /// What the course of training depends on, as text.
    pub(super) fn depends_on(&self) -> String {
        format!("{self:?}")
    }

    /// The name users say.
    pub(super) fn name(&self) -> String {
        self.algorithm.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
