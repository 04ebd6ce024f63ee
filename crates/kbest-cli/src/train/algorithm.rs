//! The options of training algorithms, as typed. What they mean and which belong together is decided by
//! [`Recipe`](kbest::train::Recipe); a new algorithm needs its name there, and a line in `kbest train --help`.

use super::segments::SegmentArguments;
use crate::failure::{Failure, Result, as_typed};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use kbest::train::{Algorithm, Loss, Optimizer, Recipe, SegmentOptions};
use std::path::PathBuf;

/// Reads one of these names.
macro_rules! named {
    ($kind:ty) => {
        PossibleValuesParser::new(<$kind>::NAMES.map(|(name, _)| name))
            .try_map(|name| <$kind>::by_name(&name))
    };
}

#[derive(Debug, Args)]
pub(super) struct AlgorithmOptions {
    /// Training algorithm
    #[arg(long, value_parser = named!(Algorithm), value_name = "NAME", default_value = "averaged")]
    algorithm: Algorithm,
    /// Seed for the order of sequences (baum-welch: for the random start)
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Number of threads; perceptrons train separately on each and are averaged after each pass [default: 1; crf: all
    /// cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// averaged, perceptron, pa, semi: number of runs over the data in different orders, whose mean is the model: better, and as many
    /// times the work [default: 1]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// perceptrons: decoder (see `kbest decoders`); with `beam:16`, updates at the first error it cannot recover from
    /// [default: auto]
    #[arg(long, value_name = "NAME")]
    decoder: Option<String>,
    /// averaged, perceptron, pa, crf: weights between parts of neighbouring labels: none, usual (coarse+Case+Number+Gender,
    /// as far as labels have them) or groups of parts; `NOUN|Case=Gen` has the groups coarse and Case [default: none]
    #[arg(long, value_name = "GROUPS")]
    agreement: Option<String>,
    /// pa: largest correction [default: 1]
    #[arg(long, value_name = "X")]
    longest: Option<f32>,
    /// crf: optimizer; lbfgs uses all data in each step (OWL-QN with --c1), sgd a few sequences [default: lbfgs]
    #[arg(long, value_parser = named!(Optimizer), value_name = "NAME")]
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
    /// dual: how alike two tokens are: linear, poly:DEGREE[:OFFSET] or rbf:GAMMA [default: linear]
    #[arg(long, value_name = "KERNEL")]
    kernel: Option<String>,
    /// dual: what to minimize: errors (perceptron), or the extent to which wrong labels come too close to the right ones,
    /// where the number of errors scales the margin or the price of missing it (slack) [default: perceptron]
    #[arg(long, value_parser = named!(Loss), value_name = "LOSS")]
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
    #[command(flatten)]
    segments: Box<SegmentArguments>,
}

impl AlgorithmOptions {
    /// The options, by the names of the library.
    pub(super) fn recipe(&self) -> Recipe {
        let AlgorithmOptions { algorithm, seed, threads, runs, longest, optimizer, c1, c2, .. } = *self;
        let AlgorithmOptions { all_states, all_transitions, rate, batch, smoothing, states, .. } = *self;
        let AlgorithmOptions { loss, no_averaging, c, gap, budget, .. } = *self;
        Recipe {
            algorithm,
            seed,
            threads,
            runs,
            decoder: self.decoder.clone(),
            agreement: self.agreement.clone(),
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
            kernel: self.kernel.clone(),
            loss,
            no_averaging,
            c,
            gap,
            budget,
        }
    }

    /// Refuses options that would have no effect, and illegal values.
    pub(super) fn check(&self) -> Result<()> {
        let recipe = self.recipe();
        recipe.check().map_err(as_typed)?;
        if recipe.algorithm.is_of_segments() {
            self.segments.options()?; // refused before anything is read
        } else if let Some((option, _)) = self.segments.given().iter().find(|(_, given)| *given) {
            let name = self.name();
            return Err(Failure::Usage(format!(
                "{option}: expected --algorithm semi or semi-crf, got {name}"
            )));
        }
        Ok(())
    }

    /// How labels become segments, and which features these have.
    pub(super) fn segment_options(&self) -> Result<SegmentOptions> {
        self.segments.options()
    }

    /// The lexicons that it reads.
    pub(super) fn lexicons(&self) -> &[PathBuf] {
        self.segments.lexicons()
    }

    /// Everything that the course of training depends on, as text.
    pub(super) fn depends_on(&self) -> String {
        format!("{} {:?}", self.recipe().depends_on(), self.segments)
    }

    /// The options that shaped the model, as they can be typed again.
    pub(super) fn as_typed(&self) -> String {
        [self.recipe().as_typed()].into_iter().chain(self.segments.as_typed()).collect::<Vec<_>>().join(" ")
    }

    /// The name as users type it.
    pub(super) fn name(&self) -> &'static str {
        self.algorithm.name()
    }
}
