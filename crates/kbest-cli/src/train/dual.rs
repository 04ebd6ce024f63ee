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
    /// dual: how alike two tokens are: linear, poly:DEGREE[:OFFSET] or rbf:GAMMA [default: linear]
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// dual: what to minimize: errors (perceptron), or the extent to which wrong labels come too close to the right ones,
    /// where the number of errors scales the margin or the price of missing it (slack) [default: perceptron]
    #[arg(long, value_enum, value_name = "LOSS")]
    loss: Option<Loss>,
    /// dual with --loss perceptron: keep the last coefficients instead of their average
    #[arg(long)]
    no_averaging: bool,
    /// dual with --loss margin or slack: price of missed margins [default: 100]
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

    /// Refuses options that would have no effect, and numbers that make no sense.
    pub(super) fn check(&self, threads: Option<usize>) -> Result<()> {
        self.kernel()?;
        let threads = threads.is_some_and(|threads| threads != 1);
        // A removed token would leave dual variables that no longer add up: neither objective nor gap would mean anything.
        let of_perceptron = [
            ("--no-averaging", self.no_averaging),
            ("--budget", self.budget.is_some()),
            ("--threads", threads && self.is_max_margin()),
        ];
        let of_margin = [("--C", self.c.is_some()), ("--gap", self.gap.is_some())];
        let (foreign, owner) = match self.is_max_margin() {
            true => (&of_perceptron[..], "perceptron"),
            false => (&of_margin[..], "margin or slack"),
        };
        if let Some((option, _)) = foreign.iter().find(|(_, given)| *given) {
            let got = self.loss().to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned());
            return Err(Failure::Usage(format!("{option}: expected --loss {owner}, got {got}")));
        }
        for (option, number) in [("--C", self.c), ("--gap", self.gap)] {
            if let Some(number) = number.filter(|number| !(*number > 0.0 && number.is_finite())) {
                return Err(Failure::Usage(format!("{option}: expected a number above 0, got {number}")));
            }
        }
        if self.budget == Some(0) {
            return Err(Failure::Usage("--budget: expected at least 1, got 0".into()));
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
