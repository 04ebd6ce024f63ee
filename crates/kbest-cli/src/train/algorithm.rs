//! Which trainer, with which options.
//!
//! A new one needs a [`Name`], its options (each of which says in [`Algorithm::check`] whose it is) and an arm of
//! [`Algorithm::trainer`].

use super::dual::{Common, Dual};
use crate::failure::{Failure, Result};
use crate::text;
use clap::{Args, ValueEnum};
use kbest::feature::{FeatureSource, Preset};
use kbest::train::{
    Averaging, BaumWelch, BaumWelchOptions, Crf, CrfOptions, Hmm, HmmOptions, Optimiser, Perceptron,
    PerceptronOptions, Trainer, TrainingSet, Update,
};
use kbest::{Decoder, Model, Sequence};
use std::sync::Arc;

/// A trainer of models of text.
pub(super) type AnyTrainer = dyn Trainer<Model = Model>;

/// The training algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Perceptron, mean of the weights over all moments
    Averaged,
    /// Perceptron, last weights
    Perceptron,
    /// Perceptron, every intermediate weight vector votes; for small problems
    Voted,
    /// Passive-aggressive: corrections as long as needed, averaged
    Pa,
    /// Conditional random field: labels get probabilities
    Crf,
    /// Kernels between tokens, see --kernel and --loss
    Dual,
    /// Hidden Markov model, by counts
    Hmm,
    /// Hidden Markov model of data without labels: finds --states of its own
    BaumWelch,
}

impl Name {
    const DECODING: &[Name] = &[Name::Averaged, Name::Perceptron, Name::Voted, Name::Pa, Name::Dual];

    fn as_typed(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// How a CRF is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Optimizer {
    /// All data at each step; with --c1, OWL-QN
    #[default]
    Lbfgs,
    /// A few sequences at each step
    Sgd,
}

#[derive(Debug, Args)]
pub(super) struct Algorithm {
    /// Training algorithm
    #[arg(long, value_enum, default_value = "averaged")]
    algorithm: Name,
    /// Seed of the order of sequences
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Threads; perceptrons of several threads learn apart and are averaged after each pass [default: 1; crf: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Decoder of the perceptrons, see `kbest decoders`; `beam:16` corrects at the first error that it cannot mend
    /// [default: auto]
    #[arg(long, value_name = "NAME")]
    decoder: Option<String>,
    /// pa: longest correction [default: 1]
    #[arg(long, value_name = "C")]
    longest: Option<f32>,
    /// crf: how it is fitted [default: lbfgs]
    #[arg(long, value_enum, value_name = "NAME")]
    optimizer: Option<Optimizer>,
    /// crf: strength of the L1 term, which makes most weights zero; lbfgs only [default: 0]
    #[arg(long, value_name = "C1")]
    c1: Option<f64>,
    /// crf: strength of the L2 term [default: 1]
    #[arg(long, value_name = "C2")]
    c2: Option<f64>,
    /// crf: weights for labels that a feature was never seen with, too
    #[arg(long)]
    all_states: bool,
    /// crf: weights for pairs of labels that were never seen, too
    #[arg(long)]
    all_transitions: bool,
    /// crf with sgd: size of the first step [default: 0.1]
    #[arg(long, value_name = "RATE")]
    rate: Option<f64>,
    /// crf with sgd: sequences a step [default: 1]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// hmm, baum-welch: added to every count, so that nothing is impossible
    #[arg(long, value_name = "COUNT")]
    smoothing: Option<f64>,
    /// baum-welch: number of hidden states
    #[arg(long, value_name = "N")]
    states: Option<usize>,
    #[command(flatten)]
    dual: Box<Dual>,
}

impl Algorithm {
    /// Refuses options of other algorithms, which would be without effect.
    pub(super) fn check(&self) -> Result<()> {
        let dual = self.dual.given().map(|(option, given)| (option, given, &[Name::Dual][..]));
        let options: [(&str, bool, &[Name]); 11] = [
            ("--decoder", self.decoder.is_some(), Name::DECODING),
            ("--longest", self.longest.is_some(), &[Name::Pa]),
            ("--optimizer", self.optimizer.is_some(), &[Name::Crf]),
            ("--c1", self.c1.is_some(), &[Name::Crf]),
            ("--c2", self.c2.is_some(), &[Name::Crf]),
            ("--all-states", self.all_states, &[Name::Crf]),
            ("--all-transitions", self.all_transitions, &[Name::Crf]),
            ("--rate", self.rate.is_some(), &[Name::Crf]),
            ("--batch", self.batch.is_some(), &[Name::Crf]),
            ("--smoothing", self.smoothing.is_some(), &[Name::Hmm, Name::BaumWelch]),
            ("--states", self.states.is_some(), &[Name::BaumWelch]),
        ];
        for (option, given, owners) in options.into_iter().chain(dual) {
            if given && !owners.contains(&self.algorithm) {
                let owners: Vec<String> = owners.iter().map(|name| name.as_typed()).collect();
                return Err(Failure::Usage(format!(
                    "{option}: expected with --algorithm {}, got {}",
                    owners.join(" or "),
                    self.name()
                )));
            }
        }
        for (option, given) in [("--rate", self.rate.is_some()), ("--batch", self.batch.is_some())] {
            if given && self.optimizer != Some(Optimizer::Sgd) {
                return Err(Failure::Usage(format!("{option}: expected with --optimizer sgd, got lbfgs")));
            }
        }
        self.dual.check(self.threads)?;
        text::threads(self.threads).map(|_| ())
    }

    pub(super) fn default_epochs(&self) -> usize {
        match (self.algorithm, self.optimizer.unwrap_or_default()) {
            (Name::Crf, Optimizer::Lbfgs) | (Name::BaumWelch, _) => 100,
            (Name::Dual, _) if self.dual.is_max_margin() => 100,
            _ => 10,
        }
    }

    /// Whether small weights may be left out of its models.
    pub(super) fn can_be_pruned(&self) -> bool {
        !matches!(self.algorithm, Name::Voted | Name::Dual)
    }

    /// Features that the algorithm brings with it.
    pub(super) fn feature_source(&self) -> Option<FeatureSource> {
        let hidden = matches!(self.algorithm, Name::Hmm | Name::BaumWelch);
        hidden.then_some(FeatureSource::Preset(Preset::Hmm))
    }

    /// Whether it learns without labels.
    pub(super) fn is_unsupervised(&self) -> bool {
        self.algorithm == Name::BaumWelch
    }

    /// The trainer for sequences without labels.
    pub(super) fn unsupervised(&self, sequences: &[Sequence]) -> Result<BaumWelch> {
        let Some(states) = self.states else {
            return Err(Failure::Usage("--algorithm baum-welch: expected --states, got none".into()));
        };
        let usual = BaumWelchOptions::default();
        let smoothing = self.smoothing.unwrap_or(usual.smoothing);
        Ok(BaumWelch::new(sequences, BaumWelchOptions { states, smoothing, seed: self.seed, ..usual })?)
    }

    pub(super) fn training_set(
        &self,
        sequences: &[Sequence],
        source: FeatureSource,
        min_frequency: u32,
    ) -> Result<TrainingSet> {
        Ok(TrainingSet::new(sequences, source, min_frequency)?)
    }

    pub(super) fn trainer(&self, data: &Arc<TrainingSet>) -> Result<Box<AnyTrainer>> {
        match self.algorithm {
            Name::Averaged => self.perceptron(data, Averaging::Averaged, Update::Perceptron),
            Name::Perceptron => self.perceptron(data, Averaging::Final, Update::Perceptron),
            Name::Voted => self.perceptron(data, Averaging::Voted, Update::Perceptron),
            Name::Pa => {
                let longest = self.longest.unwrap_or(1.0);
                if longest.is_nan() || longest <= 0.0 {
                    return Err(Failure::Usage(format!("--longest: expected more than 0, got {longest}")));
                }
                self.perceptron(data, Averaging::Averaged, Update::PassiveAggressive { longest })
            }
            Name::Dual => {
                let decoder = self.decoder()?;
                self.dual.trainer(data, Common { decoder, seed: self.seed, threads: self.threads })
            }
            Name::Crf => Ok(Box::new(Crf::new(data.clone(), self.crf_options()?)?)),
            Name::Hmm | Name::BaumWelch => {
                let usual = HmmOptions::default();
                let transitions = self.smoothing.unwrap_or(usual.transitions);
                let emissions = self.smoothing.unwrap_or(usual.emissions);
                Ok(Box::new(Hmm::new(data.clone(), HmmOptions { transitions, emissions, ..usual })?))
            }
        }
    }

    fn perceptron(
        &self,
        data: &Arc<TrainingSet>,
        averaging: Averaging,
        update: Update,
    ) -> Result<Box<AnyTrainer>> {
        let options = PerceptronOptions {
            averaging,
            update,
            decoder: self.decoder()?,
            seed: self.seed,
            threads: self.threads.unwrap_or(1),
        };
        Ok(Box::new(Perceptron::new(data.clone(), options)?))
    }

    fn decoder(&self) -> Result<Decoder> {
        Ok(Decoder::by_name(self.decoder.as_deref().unwrap_or("auto"))?)
    }

    fn crf_options(&self) -> Result<CrfOptions> {
        let usual = CrfOptions::default();
        let optimiser = match self.optimizer.unwrap_or_default() {
            Optimizer::Lbfgs => Optimiser::Lbfgs,
            Optimizer::Sgd => Optimiser::Sgd {
                rate: self.rate.unwrap_or(0.1),
                batch: self.batch.unwrap_or(1),
                seed: self.seed,
            },
        };
        Ok(CrfOptions {
            optimiser,
            c1: self.c1.unwrap_or(usual.c1),
            c2: self.c2.unwrap_or(usual.c2),
            all_states: self.all_states,
            all_transitions: self.all_transitions,
            threads: text::threads(self.threads)?,
            ..usual
        })
    }

    /// What the course of training depends on, as text.
    pub(super) fn depends_on(&self) -> String {
        // The sums of a CRF do not depend on the number of threads, so a run may go on with another.
        let threads = if self.algorithm == Name::Crf { None } else { Some(self.threads.unwrap_or(1)) };
        let Algorithm {
            algorithm,
            seed,
            decoder,
            longest,
            optimizer,
            c1,
            c2,
            all_states,
            all_transitions,
            rate,
            batch,
            smoothing,
            states,
            dual,
            threads: _,
        } = self;
        format!(
            "{:?}",
            (
                (algorithm, seed, threads, decoder, longest),
                (optimizer, c1, c2, all_states, all_transitions, rate, batch, smoothing, states),
                dual
            )
        )
    }

    /// The name users say.
    pub(super) fn name(&self) -> String {
        self.algorithm.as_typed()
    }
}
