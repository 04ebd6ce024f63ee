//! Which trainer, with which options.
//!
//! A new one needs a [`Name`], a line in `kbest train --help`, its options (which [`Algorithm::check`] assigns to it)
//! and an arm of [`Algorithm::trainer`].

use super::dual::{Common, Dual};
use super::segments::SegmentArguments;
use crate::failure::{Failure, Result};
use crate::text;
use clap::{Args, ValueEnum};
use kbest::feature::{FeatureSource, Preset};
use kbest::segment::SegmentDecoder;
use kbest::train::{
    Averaging, BaumWelch, BaumWelchOptions, Crf, CrfOptions, Hmm, HmmOptions, Optimiser, Perceptron,
    PerceptronOptions, SegmentTrainingSet, Trainer, TrainingSet, Update,
};
use kbest::{Decoder, Model, SegmentModel, Sequence};
use std::sync::Arc;

/// A trainer of text models.
pub(super) type AnyTrainer = dyn Trainer<Model = Model>;

/// A trainer of models of segments.
pub(super) type AnySegmentTrainer = dyn Trainer<Model = SegmentModel>;

/// The training algorithm. `kbest train --help` describes each below the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    Averaged,
    Perceptron,
    Voted,
    Pa,
    Crf,
    Dual,
    Semi,
    SemiCrf,
    Hmm,
    BaumWelch,
}

impl Name {
    const DECODING: &[Name] =
        &[Name::Averaged, Name::Perceptron, Name::Voted, Name::Pa, Name::Dual, Name::Semi];
    const CRF: &[Name] = &[Name::Crf, Name::SemiCrf];
    const SEGMENTS: &[Name] = &[Name::Semi, Name::SemiCrf];

    fn as_typed(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// How a CRF is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum Optimizer {
    #[default]
    Lbfgs,
    Sgd,
}

#[derive(Debug, Args)]
pub(super) struct Algorithm {
    /// Training algorithm
    #[arg(long, value_enum, value_name = "NAME", default_value = "averaged")]
    algorithm: Name,
    /// Seed for the order of sequences (baum-welch: for the random start)
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of threads; perceptrons train separately on each and are averaged after each pass [default: 1; crf: all
    /// cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// perceptrons: decoder (see `kbest decoders`); with `beam:16`, updates at the first error it cannot recover from
    /// [default: auto]
    #[arg(long, value_name = "NAME")]
    decoder: Option<String>,
    /// pa: largest correction [default: 1]
    #[arg(long, value_name = "X")]
    longest: Option<f32>,
    /// crf: optimizer; lbfgs uses all data in each step (OWL-QN with --c1), sgd a few sequences [default: lbfgs]
    #[arg(long, value_enum, value_name = "NAME")]
    optimizer: Option<Optimizer>,
    /// crf with lbfgs: strength of L1 regularization, which makes most weights zero [default: 0]
    #[arg(long, value_name = "X")]
    c1: Option<f64>,
    /// crf: strength of L2 regularization [default: 1]
    #[arg(long, value_name = "X")]
    c2: Option<f64>,
    /// crf: also give weights to labels that a feature was never seen with
    #[arg(long)]
    all_states: bool,
    /// crf: also give weights to label pairs that were never seen
    #[arg(long)]
    all_transitions: bool,
    /// crf with sgd: size of the first step [default: 0.1]
    #[arg(long, value_name = "X")]
    rate: Option<f64>,
    /// crf with sgd: sequences per step [default: 1]
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// hmm, baum-welch: added to every count, so that nothing is impossible [default: 0.01; label pairs of hmm: 0.1]
    #[arg(long, value_name = "X")]
    smoothing: Option<f64>,
    /// baum-welch: number of hidden states
    #[arg(long, value_name = "N")]
    states: Option<usize>,
    #[command(flatten)]
    dual: Box<Dual>,
    #[command(flatten)]
    segments: Box<SegmentArguments>,
}

impl Algorithm {
    /// Refuses options of other algorithms, which would have no effect.
    pub(super) fn check(&self) -> Result<()> {
        let dual = self.dual.given().map(|(option, given)| (option, given, &[Name::Dual][..]));
        let segments = self.segments.given().map(|(option, given)| (option, given, Name::SEGMENTS));
        let options: [(&str, bool, &[Name]); 11] = [
            ("--decoder", self.decoder.is_some(), Name::DECODING),
            ("--longest", self.longest.is_some(), &[Name::Pa]),
            ("--optimizer", self.optimizer.is_some(), Name::CRF),
            ("--c1", self.c1.is_some(), Name::CRF),
            ("--c2", self.c2.is_some(), Name::CRF),
            ("--all-states", self.all_states, Name::CRF),
            ("--all-transitions", self.all_transitions, Name::CRF),
            ("--rate", self.rate.is_some(), Name::CRF),
            ("--batch", self.batch.is_some(), Name::CRF),
            ("--smoothing", self.smoothing.is_some(), &[Name::Hmm, Name::BaumWelch]),
            ("--states", self.states.is_some(), &[Name::BaumWelch]),
        ];
        for (option, given, owners) in options.into_iter().chain(dual).chain(segments) {
            if given && !owners.contains(&self.algorithm) {
                let owners: Vec<String> = owners.iter().map(|name| name.as_typed()).collect();
                return Err(Failure::Usage(format!(
                    "{option}: expected --algorithm {}, got {}",
                    owners.join(" or "),
                    self.name()
                )));
            }
        }
        for (option, given) in [("--rate", self.rate.is_some()), ("--batch", self.batch.is_some())] {
            if given && self.optimizer != Some(Optimizer::Sgd) {
                return Err(Failure::Usage(format!("{option}: expected --optimizer sgd, got lbfgs")));
            }
        }
        self.dual.check(self.threads)?;
        if self.is_of_segments() {
            self.segments.options()?; // refused before anything is read
        }
        text::threads(self.threads).map(|_| ())
    }

    pub(super) fn default_epochs(&self) -> usize {
        match (self.algorithm, self.optimizer.unwrap_or_default()) {
            (Name::Crf | Name::SemiCrf, Optimizer::Lbfgs) | (Name::BaumWelch, _) => 100,
            (Name::Dual, _) if self.dual.is_max_margin() => 100,
            _ => 10,
        }
    }

    /// Whether its models can be pruned.
    pub(super) fn can_be_pruned(&self) -> bool {
        !matches!(self.algorithm, Name::Voted | Name::Dual | Name::Semi | Name::SemiCrf)
    }

    /// The algorithm's own features, if it has any.
    pub(super) fn feature_source(&self) -> Option<FeatureSource> {
        let hidden = matches!(self.algorithm, Name::Hmm | Name::BaumWelch);
        hidden.then_some(FeatureSource::Preset(Preset::Hmm))
    }

    /// The lexicons that it reads.
    pub(super) fn lexicons(&self) -> &[std::path::PathBuf] {
        self.segments.lexicons()
    }

    /// Whether it trains models of segments.
    pub(super) fn is_of_segments(&self) -> bool {
        Name::SEGMENTS.contains(&self.algorithm)
    }

    pub(super) fn segment_training_set(
        &self,
        sequences: &[Sequence],
        source: FeatureSource,
        min_frequency: u32,
    ) -> Result<SegmentTrainingSet> {
        Ok(SegmentTrainingSet::new(sequences, source, min_frequency, self.segments.options()?)?)
    }

    pub(super) fn segment_trainer(&self, data: &Arc<SegmentTrainingSet>) -> Result<Box<AnySegmentTrainer>> {
        if self.algorithm == Name::SemiCrf {
            return Ok(Box::new(Crf::new(data.clone(), self.crf_options()?)?));
        }
        let decoder = self.decoder.as_deref().unwrap_or("auto");
        let decoder: SegmentDecoder = decoder.parse()?;
        let (seed, threads) = (self.seed, self.threads.unwrap_or(1));
        let options = PerceptronOptions { decoder, seed, threads, ..PerceptronOptions::default() };
        Ok(Box::new(Perceptron::new(data.clone(), options)?))
    }

    /// Whether it trains on unlabelled data.
    pub(super) fn is_unsupervised(&self) -> bool {
        self.algorithm == Name::BaumWelch
    }

    /// The trainer for sequences without labels.
    pub(super) fn unsupervised(&self, sequences: &[Sequence]) -> Result<BaumWelch> {
        let Some(states) = self.states else {
            return Err(Failure::Usage("--algorithm baum-welch: expected --states N, got none".into()));
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
            Name::Semi | Name::SemiCrf => {
                let expected = "expected an algorithm for single positions";
                Err(Failure::Usage(format!("--algorithm: {expected}, got {}", self.name())))
            }
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

    /// Everything that the course of training depends on, as text.
    pub(super) fn depends_on(&self) -> String {
        // The sums of a CRF do not depend on the number of threads, so a run may resume with another number.
        let threads =
            if Name::CRF.contains(&self.algorithm) { None } else { Some(self.threads.unwrap_or(1)) };
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
            segments,
            threads: _,
        } = self;
        format!(
            "{:?}",
            (
                (algorithm, seed, threads, decoder, longest),
                (optimizer, c1, c2, all_states, all_transitions, rate, batch, smoothing, states),
                dual,
                segments
            )
        )
    }

    /// The name as users type it.
    pub(super) fn name(&self) -> String {
        self.algorithm.as_typed()
    }
}
