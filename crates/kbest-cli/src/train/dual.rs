//! `--algorithm dual`: kernels, by perceptron or by the widest margin.

use super::algorithm::AnyTrainer;
use crate::failure::{Failure, Result};
use clap::{Args, ValueEnum};
use kbest::Decoder;
use kbest::feature::token::StandardKernel;
use kbest::train::{
    Averaging, DualOptions, DualTrainingSet, MaxMargin, MaxMarginOptions, Perceptron, PerceptronOptions,
    Rescaling, TrainingSet,
};
use std::sync::Arc;

/// What training minimizes; `--loss` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Loss {
    Perceptron,
    Margin,
    Slack,
}

#[derive(Debug, Args)]
pub(super) struct Dual {
    /// dual: similarity of two tokens: linear, poly:DEGREE[:OFFSET] or rbf:GAMMA [default: linear]
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// dual: minimize errors one by one, violated margins that grow with the number of errors, or violated margins of 1 whose
    /// price grows with it [default: perceptron]
    #[arg(long, value_enum, value_name = "LOSS")]
    loss: Option<Loss>,
    /// dual with --loss perceptron: keep the last coefficients instead of their average
    #[arg(long)]
    no_averaging: bool,
    /// dual with --loss margin or slack: price of violated margins [default: 100]
    #[arg(long = "C", value_name = "C")]
    c: Option<f64>,
    /// dual with --loss margin or slack: stop when the duality gap is at most this share of the objective [default: 0.01]
    #[arg(long, value_name = "SHARE")]
    gap: Option<f64>,
    /// dual with --loss perceptron: keep at most this many support tokens, with their last coefficients
    #[arg(long, value_name = "N")]
    budget: Option<usize>,
}

/// What the other options say.
pub(super) struct Common {
    pub(super) decoder: Decoder,
    pub(super) seed: u64,
    pub(super) threads: Option<usize>,
}

impl Dual {
    /// The options, and whether each was given.
    pub(super) fn given(&self) -> [(&'static str, bool); 6] {
        [
            ("--kernel", self.kernel.is_some()),
            ("--loss", self.loss.is_some()),
            ("--no-averaging", self.no_averaging),
            ("--C", self.c.is_some()),
            ("--gap", self.gap.is_some()),
            ("--budget", self.budget.is_some()),
        ]
    }

    fn loss(&self) -> Loss {
        self.loss.unwrap_or(Loss::Perceptron)
    }

    pub(super) fn is_max_margin(&self) -> bool {
        self.loss() != Loss::Perceptron
    }

    /// Refuses options that would have no effect.
    pub(super) fn check(&self, threads: Option<usize>) -> Result<()> {
        self.kernel()?;
        let refuse = |option: &str, expected: &str| {
            Err(Failure::Usage(format!("{option}: expected with --loss {expected}, got another")))
        };
        if self.is_max_margin() {
            if self.no_averaging || self.budget.is_some() {
                let option = if self.no_averaging { "--no-averaging" } else { "--budget" };
                return refuse(option, "perceptron");
            }
            if threads.is_some_and(|threads| threads != 1) {
                return refuse("--threads", "perceptron");
            }
        } else if self.c.is_some() || self.gap.is_some() {
            return refuse(if self.c.is_some() { "--C" } else { "--gap" }, "margin or slack");
        }
        Ok(())
    }

    fn kernel(&self) -> Result<StandardKernel> {
        self.kernel
            .as_deref()
            .unwrap_or("linear")
            .parse()
            .map_err(|error: kbest::Error| Failure::Usage(format!("--{error}")))
    }

    pub(super) fn trainer(&self, data: &Arc<TrainingSet>, common: Common) -> Result<Box<AnyTrainer>> {
        let options = DualOptions { budget: self.budget, ..DualOptions::default() };
        let data = Arc::new(DualTrainingSet::new(data.clone(), Arc::new(self.kernel()?), options)?);
        let Common { decoder, seed, threads } = common;
        let rescaling = match self.loss() {
            Loss::Margin => Rescaling::Margin,
            Loss::Slack => Rescaling::Slack,
            Loss::Perceptron => {
                let averaging = if self.no_averaging { Averaging::Final } else { Averaging::Averaged };
                let threads = threads.unwrap_or(1);
                let options =
                    PerceptronOptions { averaging, decoder, seed, threads, ..PerceptronOptions::default() };
                return Ok(Box::new(Perceptron::new(data, options)?));
            }
        };
        let usual = MaxMarginOptions::default();
        let (c, gap) = (self.c.unwrap_or(usual.c), self.gap.unwrap_or(usual.gap));
        Ok(Box::new(MaxMargin::new(data, MaxMarginOptions { rescaling, c, gap, decoder, seed })?))
    }
}
