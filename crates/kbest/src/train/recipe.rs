//! From the names of options to a trainer: what the command line and the Python package share.
//!
//! **What.** A [`Recipe`] holds every option of every training algorithm, by the names that users type; options that were
//! not given keep their defaults. It refuses options that would have no effect ([`Recipe::check`]) and makes the
//! [trainer](Recipe::trainer). **When not.** In Rust the trainers and their typed options are at hand: [`Perceptron`],
//! [`Crf`] and the others.
//!
//! ```
//! use kbest::train::{Algorithm, Recipe, Standing, TrainingSet};
//! use kbest::{Error, Sequence};
//! use std::sync::Arc;
//!
//! let mut sequence = Sequence::new();
//! for (word, label) in [("old", "ADJ"), ("boats", "NOUN")] {
//!     sequence.push([word]);
//!     sequence.set_label(label);
//! }
//! let recipe = Recipe { algorithm: Algorithm::by_name("crf")?, c2: Some(0.1), ..Recipe::default() };
//! recipe.check()?;
//! let features = recipe.feature_source(None, None, &[sequence.clone()], false)?;
//! let data = Arc::new(TrainingSet::new(&[sequence], features, 1)?);
//! let mut trainer = recipe.trainer(&data)?;
//! recipe.schedule().run(&mut *trainer, Standing::default(), None, &mut |_| (), |_, _| Ok::<_, Error>(()))?;
//! assert_eq!(trainer.model()?.labels().len(), 2);
//! # Ok::<(), Error>(())
//! ```

use super::{
    Averaging, BaumWelch, BaumWelchOptions, Crf, CrfOptions, DualOptions, DualTrainingSet, Hmm, HmmOptions,
    MaxMargin, MaxMarginOptions, Optimiser, Perceptron, PerceptronOptions, Rescaling, Schedule,
    SegmentTrainingSet, Trainer, TrainingSet, Update,
};
use crate::feature::token::StandardKernel;
use crate::model::{LabelGroups, Model, SegmentModel, USUAL_GROUPS};
use crate::sequence::Sequence;
use kbest_core::decode::Decoder;
use kbest_core::segment::SegmentDecoder;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// No weights between parts of neighbouring labels; those of the usual groups.
const NONE: &str = "none";
const USUAL: &str = "usual";

/// More threads than this are taken for a slip of the finger: each has its own memory.
pub const MOST_THREADS: usize = 1024;

/// So are more runs than this: each has weights of its own.
const MOST_RUNS: usize = 100;

/// Where each step of training sees all data, a loss stands still if an epoch lowers it by at most this share of itself.
/// (Measured: `benchmarks/features.md`.)
const STILL: f64 = 0.002;

/// A trainer of text models.
pub type AnyTrainer = dyn Trainer<Model = Model>;

/// A trainer of models of segments.
pub type AnySegmentTrainer = dyn Trainer<Model = SegmentModel>;

/// A training algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Perceptron, averaged over all intermediate weight vectors.
    #[default]
    Averaged,
    /// Perceptron, final weights.
    Perceptron,
    /// Perceptron, every intermediate weight vector votes.
    Voted,
    /// Passive-aggressive, averaged.
    Pa,
    /// Conditional random field.
    Crf,
    /// Kernels between tokens.
    Dual,
    /// Perceptron on segments, averaged.
    Semi,
    /// Conditional random field on segments.
    SemiCrf,
    /// Hidden Markov model, by counting.
    Hmm,
    /// Hidden Markov model of unlabelled data.
    BaumWelch,
}

impl Algorithm {
    /// All of them, by the names that users type.
    pub const NAMES: [(&'static str, Algorithm); 10] = [
        ("averaged", Algorithm::Averaged),
        ("perceptron", Algorithm::Perceptron),
        ("voted", Algorithm::Voted),
        ("pa", Algorithm::Pa),
        ("crf", Algorithm::Crf),
        ("dual", Algorithm::Dual),
        ("semi", Algorithm::Semi),
        ("semi-crf", Algorithm::SemiCrf),
        ("hmm", Algorithm::Hmm),
        ("baum-welch", Algorithm::BaumWelch),
    ];

    /// Those that decode while they learn.
    const DECODING: &[Algorithm] = &[
        Algorithm::Averaged,
        Algorithm::Perceptron,
        Algorithm::Voted,
        Algorithm::Pa,
        Algorithm::Dual,
        Algorithm::Semi,
    ];

    /// Those of which several runs can be averaged.
    const AVERAGING: &[Algorithm] =
        &[Algorithm::Averaged, Algorithm::Perceptron, Algorithm::Pa, Algorithm::Semi];

    /// Those that can learn weights between parts of neighbouring labels.
    const AGREEING: &[Algorithm] =
        &[Algorithm::Averaged, Algorithm::Perceptron, Algorithm::Pa, Algorithm::Crf];

    /// Those that fit probabilities.
    const CRF: &[Algorithm] = &[Algorithm::Crf, Algorithm::SemiCrf];

    /// The algorithm with this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        by_name("algorithm", &Self::NAMES, name)
    }

    /// The name users type.
    pub fn name(self) -> &'static str {
        name_in(&Self::NAMES, self)
    }

    /// Whether it trains on unlabelled data.
    pub fn is_unsupervised(self) -> bool {
        self == Algorithm::BaumWelch
    }

    /// Whether it trains models of segments.
    pub fn is_of_segments(self) -> bool {
        matches!(self, Algorithm::Semi | Algorithm::SemiCrf)
    }

    /// Whether its models can be pruned.
    pub fn can_be_pruned(self) -> bool {
        !matches!(self, Algorithm::Voted | Algorithm::Dual) && !self.is_of_segments()
    }
}

/// How a CRF is fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Optimizer {
    /// All data in each step.
    #[default]
    Lbfgs,
    /// A few sequences in each step.
    Sgd,
}

impl Optimizer {
    /// Both, by name.
    pub const NAMES: [(&'static str, Optimizer); 2] = [("lbfgs", Optimizer::Lbfgs), ("sgd", Optimizer::Sgd)];

    /// The optimizer with this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        by_name("optimizer", &Self::NAMES, name)
    }

    /// The name users type.
    pub fn name(self) -> &'static str {
        name_in(&Self::NAMES, self)
    }
}

/// What the training of a dual model minimizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Loss {
    /// Errors, one by one.
    #[default]
    Perceptron,
    /// How far margins are missed that grow with the number of errors.
    Margin,
    /// How far margins of 1 are missed, at a price that grows with the number of errors.
    Slack,
}

impl Loss {
    /// All of them, by name.
    pub const NAMES: [(&'static str, Loss); 3] =
        [("perceptron", Loss::Perceptron), ("margin", Loss::Margin), ("slack", Loss::Slack)];

    /// The loss with this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        by_name("loss", &Self::NAMES, name)
    }

    /// The name users type.
    pub fn name(self) -> &'static str {
        name_in(&Self::NAMES, self)
    }
}

pub(super) fn by_name<T: Copy>(what: &'static str, names: &[(&'static str, T)], name: &str) -> Result<T> {
    let found = names.iter().find(|(known, _)| *known == name);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let expected = names.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        Error::UnknownName { what, name: name.to_owned(), expected }
    })
}

pub(super) fn name_in<T: PartialEq>(names: &[(&'static str, T)], value: T) -> &'static str {
    names.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// An algorithm and its options. `None` and `false` mean the default of the algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The order of sequences; for Baum-Welch the random start.
    pub seed: u64,
    /// Threads; by default one, for a CRF all cores.
    pub threads: Option<usize>,
    /// Perceptrons: independent runs, whose mean is the model.
    pub runs: Option<usize>,
    /// Perceptrons: the decoder.
    pub decoder: Option<String>,
    /// Weights between parts of neighbouring labels: `none`, `usual`, or groups of parts joined by `+`, such as
    /// `coarse+Case`. See [`Recipe::with_agreement`].
    pub agreement: Option<String>,
    /// Passive-aggressive: largest correction.
    pub longest: Option<f32>,
    /// CRF: how it is fitted.
    pub optimizer: Option<Optimizer>,
    /// CRF: strength of L1 regularization.
    pub c1: Option<f64>,
    /// CRF: strength of L2 regularization.
    pub c2: Option<f64>,
    /// CRF: weights for labels that a feature was never seen with.
    pub all_states: bool,
    /// CRF: weights for label pairs that were never seen.
    pub all_transitions: bool,
    /// CRF by SGD: size of the first step.
    pub rate: Option<f64>,
    /// CRF by SGD: sequences per step.
    pub batch: Option<usize>,
    /// HMM, Baum-Welch: added to every count.
    pub smoothing: Option<f64>,
    /// Baum-Welch: number of hidden states.
    pub states: Option<usize>,
    /// Dual: the kernel, such as `rbf:1`.
    pub kernel: Option<String>,
    /// Dual: what is minimized.
    pub loss: Option<Loss>,
    /// Dual: the last coefficients instead of their average.
    pub no_averaging: bool,
    /// Dual with margins: price of missed ones.
    pub c: Option<f64>,
    /// Dual with margins: the duality gap at which to stop, as a share of the objective.
    pub gap: Option<f64>,
    /// Dual: at most this many support tokens.
    pub budget: Option<usize>,
}

impl Default for Recipe {
    fn default() -> Self {
        Recipe {
            algorithm: Algorithm::default(),
            seed: 1,
            threads: None,
            runs: None,
            decoder: None,
            agreement: None,
            longest: None,
            optimizer: None,
            c1: None,
            c2: None,
            all_states: false,
            all_transitions: false,
            rate: None,
            batch: None,
            smoothing: None,
            states: None,
            kernel: None,
            loss: None,
            no_averaging: false,
            c: None,
            gap: None,
            budget: None,
        }
    }
}

impl Recipe {
    /// Refuses options of other algorithms, which would have no effect, and illegal values.
    ///
    /// # Errors
    /// [`Error::Argument`] with the option's name (words joined by `_`), and as expected value the option that it belongs
    /// to: `algorithm crf`, `optimizer sgd`, `loss perceptron`.
    pub fn check(&self) -> Result<()> {
        use Algorithm::{BaumWelch, Dual, Hmm, Pa};
        let options: [(&str, bool, &[Algorithm]); 19] = [
            ("runs", self.runs.is_some_and(|runs| runs != 1), Algorithm::AVERAGING),
            ("decoder", self.decoder.is_some(), Algorithm::DECODING),
            ("agreement", self.agreement.as_deref().is_some_and(|given| given != NONE), Algorithm::AGREEING),
            ("longest", self.longest.is_some(), &[Pa]),
            ("optimizer", self.optimizer.is_some(), Algorithm::CRF),
            ("c1", self.c1.is_some(), Algorithm::CRF),
            ("c2", self.c2.is_some(), Algorithm::CRF),
            ("all_states", self.all_states, Algorithm::CRF),
            ("all_transitions", self.all_transitions, Algorithm::CRF),
            ("rate", self.rate.is_some(), Algorithm::CRF),
            ("batch", self.batch.is_some(), Algorithm::CRF),
            ("smoothing", self.smoothing.is_some(), &[Hmm, BaumWelch]),
            ("states", self.states.is_some(), &[BaumWelch]),
            ("kernel", self.kernel.is_some(), &[Dual]),
            ("loss", self.loss.is_some(), &[Dual]),
            ("no_averaging", self.no_averaging, &[Dual]),
            ("C", self.c.is_some(), &[Dual]),
            ("gap", self.gap.is_some(), &[Dual]),
            ("budget", self.budget.is_some(), &[Dual]),
        ];
        for (option, given, owners) in options {
            if given && !owners.contains(&self.algorithm) {
                let owners: Vec<_> = owners.iter().map(|owner| owner.name()).collect();
                let expected = format!("algorithm {}", owners.join(" or "));
                return Err(Error::argument(option, expected, self.algorithm.name()));
            }
        }
        match self.threads {
            Some(0) => return Err(Error::argument("threads", "at least 1", 0)),
            Some(threads) if threads > MOST_THREADS => {
                return Err(Error::argument("threads", format!("at most {MOST_THREADS}"), threads));
            }
            _ => {}
        }
        if let Some(runs) = self.runs.filter(|runs| !(1..=MOST_RUNS).contains(runs)) {
            return Err(Error::argument("runs", format!("1 to {MOST_RUNS}"), runs));
        }
        for (option, given) in [("rate", self.rate.is_some()), ("batch", self.batch.is_some())] {
            if given && self.optimizer != Some(Optimizer::Sgd) {
                return Err(Error::argument(option, "optimizer sgd", "lbfgs"));
            }
        }
        if let Some(longest) = self.longest.filter(|longest| longest.is_nan() || *longest <= 0.0) {
            return Err(Error::argument("longest", "more than 0", longest));
        }
        if self.algorithm.is_of_segments() {
            self.segment_decoder()?;
        } else {
            self.decoder()?;
        }
        self.check_dual()
    }

    /// Refuses options of dual training that would have no effect.
    fn check_dual(&self) -> Result<()> {
        self.kernel()?;
        let threads = self.algorithm == Algorithm::Dual && self.threads.is_some_and(|threads| threads != 1);
        // A removed token would leave dual variables that no longer add up: neither objective nor gap would mean anything.
        let options = [
            ("no_averaging", self.no_averaging, false),
            ("budget", self.budget.is_some(), false),
            ("threads", threads, false),
            ("C", self.c.is_some(), true),
            ("gap", self.gap.is_some(), true),
        ];
        for (option, given, of_margins) in options {
            if given && of_margins != self.is_max_margin() {
                let expected = if of_margins { "loss margin or slack" } else { "loss perceptron" };
                return Err(Error::argument(option, expected, self.loss.unwrap_or_default().name()));
            }
        }
        for (option, number) in [("C", self.c), ("gap", self.gap)] {
            if let Some(number) = number.filter(|number| !(*number > 0.0 && number.is_finite())) {
                return Err(Error::argument(option, "a number above 0", number));
            }
        }
        if self.budget == Some(0) {
            return Err(Error::argument("budget", "at least 1", 0));
        }
        Ok(())
    }

    fn is_max_margin(&self) -> bool {
        self.loss.unwrap_or_default() != Loss::Perceptron
    }

    /// How many epochs are enough, usually.
    pub fn default_epochs(&self) -> usize {
        match (self.algorithm, self.optimizer.unwrap_or_default()) {
            (Algorithm::Crf | Algorithm::SemiCrf, Optimizer::Lbfgs) | (Algorithm::BaumWelch, _) => 100,
            (Algorithm::Dual, _) if self.is_max_margin() => 100,
            _ => 10,
        }
    }

    /// Whether each step of training sees all data.
    fn is_batch(&self) -> bool {
        Algorithm::CRF.contains(&self.algorithm) && self.optimizer.unwrap_or_default() == Optimizer::Lbfgs
    }

    /// How long to train, usually: [`Recipe::default_epochs`] at most. With held-out data, training stops after five epochs
    /// without improvement; where each step sees all data, after ten in which the loss stands still, too.
    pub fn schedule(&self) -> Schedule {
        let usual = Schedule { epochs: self.default_epochs(), ..Schedule::default() };
        if self.is_batch() { Schedule { patience: 10, still: Some(STILL), ..usual } } else { usual }
    }

    /// What the loss is that training reports after each epoch.
    pub fn loss_means(&self) -> &'static str {
        match self.algorithm {
            Algorithm::Crf | Algorithm::SemiCrf => {
                "minus the log-likelihood of the right labels, plus the penalty for large weights"
            }
            Algorithm::Hmm => "minus the log-likelihood of words and labels",
            Algorithm::BaumWelch => "minus the log-likelihood of the words",
            Algorithm::Dual if self.is_max_margin() => {
                "the duality gap: how far the objective may be from its best"
            }
            _ => "the number of sequences that were not all right when they were learnt from",
        }
    }

    /// The algorithm, and the options that were given, as users type them. What has no effect on the model is left out.
    pub fn as_typed(&self) -> String {
        let mut typed = format!("--algorithm {}", self.algorithm.name());
        let mut add = |name: &str, value: Option<String>| {
            typed.extend(value.map(|value| format!(" --{name} {value}")));
        };
        fn shown<T: ToString>(value: &Option<T>) -> Option<String> {
            value.as_ref().map(T::to_string)
        }
        let seeded = !matches!(self.algorithm, Algorithm::Hmm) && !self.is_batch();
        add("seed", seeded.then(|| self.seed.to_string()));
        add("threads", shown(&self.threads).filter(|_| !Algorithm::CRF.contains(&self.algorithm)));
        add("runs", shown(&self.runs));
        add("decoder", self.decoder.clone());
        add("agreement", self.agreement.clone());
        add("longest", shown(&self.longest));
        add("optimizer", self.optimizer.map(|optimizer| optimizer.name().to_owned()));
        add("c1", shown(&self.c1));
        add("c2", shown(&self.c2));
        add("rate", shown(&self.rate));
        add("batch", shown(&self.batch));
        add("smoothing", shown(&self.smoothing));
        add("states", shown(&self.states));
        add("kernel", self.kernel.clone());
        add("loss", self.loss.map(|loss| loss.name().to_owned()));
        add("C", shown(&self.c));
        add("gap", shown(&self.gap));
        add("budget", shown(&self.budget));
        for (name, given) in [
            ("all-states", self.all_states),
            ("all-transitions", self.all_transitions),
            ("no-averaging", self.no_averaging),
        ] {
            if given {
                typed.push_str(&format!(" --{name}"));
            }
        }
        typed
    }

    /// The data with the parts of neighbouring labels to learn weights between: none unless [`Recipe::agreement`] names them;
    /// `usual` are the [usual groups](USUAL_GROUPS).
    ///
    /// # Errors
    /// [`Error::Argument`] for groups that the labels do not have, or if there are none.
    pub fn with_agreement(&self, data: TrainingSet) -> Result<TrainingSet> {
        let groups = match self.agreement.as_deref() {
            Some(NONE) | None => None,
            Some(USUAL) => {
                let missing = || {
                    let expected = format!("labels that differ in one of {}", USUAL_GROUPS.join(", "));
                    Error::argument("agreement", expected, "none")
                };
                Some(LabelGroups::usual(data.labels()).ok_or_else(missing)?)
            }
            Some(names) => LabelGroups::from_names(data.labels(), &names.split('+').collect::<Vec<_>>())?,
        };
        data.with_agreement(groups)
    }

    /// The trainer for sequences without labels.
    ///
    /// # Errors
    /// [`Error::Argument`] without a number of states; errors of [`BaumWelch::new`].
    pub fn unsupervised(&self, sequences: &[Sequence]) -> Result<BaumWelch> {
        let Some(states) = self.states else {
            return Err(Error::argument("states", "a number with algorithm baum-welch", "none"));
        };
        let usual = BaumWelchOptions::default();
        let smoothing = self.smoothing.unwrap_or(usual.smoothing);
        BaumWelch::new(sequences, BaumWelchOptions { states, smoothing, seed: self.seed, ..usual })
    }

    /// The trainer for labelled data.
    ///
    /// # Errors
    /// Errors of the trainer; [`Error::Argument`] for an algorithm that trains without labels.
    pub fn trainer(&self, data: &Arc<TrainingSet>) -> Result<Box<AnyTrainer>> {
        match self.algorithm {
            Algorithm::Averaged => self.perceptron(data, Averaging::Averaged, Update::Perceptron),
            Algorithm::Perceptron => self.perceptron(data, Averaging::Final, Update::Perceptron),
            Algorithm::Voted => self.perceptron(data, Averaging::Voted, Update::Perceptron),
            Algorithm::Pa => {
                let longest = self.longest.unwrap_or(1.0);
                self.perceptron(data, Averaging::Averaged, Update::PassiveAggressive { longest })
            }
            Algorithm::Dual => self.dual(data),
            Algorithm::Crf => Ok(Box::new(Crf::new(data.clone(), self.crf_options())?)),
            Algorithm::Hmm => {
                let usual = HmmOptions::default();
                let transitions = self.smoothing.unwrap_or(usual.transitions);
                let emissions = self.smoothing.unwrap_or(usual.emissions);
                Ok(Box::new(Hmm::new(data.clone(), HmmOptions { transitions, emissions, ..usual })?))
            }
            Algorithm::BaumWelch => {
                Err(Error::argument("algorithm", "one that trains on labels", self.algorithm.name()))
            }
            Algorithm::Semi | Algorithm::SemiCrf => {
                Err(Error::argument("algorithm", "one for single positions", self.algorithm.name()))
            }
        }
    }

    /// The trainer for segments.
    ///
    /// # Errors
    /// Errors of the trainer; [`Error::Argument`] for an algorithm that trains on single positions.
    pub fn segment_trainer(&self, data: &Arc<SegmentTrainingSet>) -> Result<Box<AnySegmentTrainer>> {
        match self.algorithm {
            Algorithm::SemiCrf => Ok(Box::new(Crf::new(data.clone(), self.crf_options())?)),
            Algorithm::Semi => {
                let (decoder, seed) = (self.segment_decoder()?, self.seed);
                let threads = self.threads.unwrap_or(1);
                let runs = self.runs.unwrap_or(1);
                let options =
                    PerceptronOptions { decoder, seed, threads, runs, ..PerceptronOptions::default() };
                Ok(Box::new(Perceptron::new(data.clone(), options)?))
            }
            other => Err(Error::argument("algorithm", "one for segments", other.name())),
        }
    }

    fn segment_decoder(&self) -> Result<SegmentDecoder> {
        self.decoder.as_deref().unwrap_or("auto").parse()
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
            runs: self.runs.unwrap_or(1),
        };
        Ok(Box::new(Perceptron::new(data.clone(), options)?))
    }

    fn dual(&self, data: &Arc<TrainingSet>) -> Result<Box<AnyTrainer>> {
        let options = DualOptions { budget: self.budget, ..DualOptions::default() };
        let data = Arc::new(DualTrainingSet::new(data.clone(), Arc::new(self.kernel()?), options)?);
        let (decoder, seed) = (self.decoder()?, self.seed);
        let rescaling = match self.loss.unwrap_or_default() {
            Loss::Margin => Rescaling::Margin,
            Loss::Slack => Rescaling::Slack,
            Loss::Perceptron => {
                let averaging = if self.no_averaging { Averaging::Final } else { Averaging::Averaged };
                let threads = self.threads.unwrap_or(1);
                let options =
                    PerceptronOptions { averaging, decoder, seed, threads, ..PerceptronOptions::default() };
                return Ok(Box::new(Perceptron::new(data, options)?));
            }
        };
        let usual = MaxMarginOptions::default();
        let (c, gap) = (self.c.unwrap_or(usual.c), self.gap.unwrap_or(usual.gap));
        Ok(Box::new(MaxMargin::new(data, MaxMarginOptions { rescaling, c, gap, decoder, seed })?))
    }

    fn kernel(&self) -> Result<StandardKernel> {
        self.kernel.as_deref().unwrap_or("linear").parse()
    }

    pub(super) fn decoder(&self) -> Result<Decoder> {
        Decoder::by_name(self.decoder.as_deref().unwrap_or("auto"))
    }

    pub(super) fn crf_options(&self) -> CrfOptions {
        let usual = CrfOptions::default();
        let optimiser = match self.optimizer.unwrap_or_default() {
            Optimizer::Lbfgs => Optimiser::Lbfgs,
            Optimizer::Sgd => Optimiser::Sgd {
                rate: self.rate.unwrap_or(0.1),
                batch: self.batch.unwrap_or(1),
                seed: self.seed,
            },
        };
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        CrfOptions {
            optimiser,
            c1: self.c1.unwrap_or(usual.c1),
            c2: self.c2.unwrap_or(usual.c2),
            all_states: self.all_states,
            all_transitions: self.all_transitions,
            threads: self.threads.unwrap_or_else(cores),
            ..usual
        }
    }

    /// Everything that the course of training depends on, as text.
    pub fn depends_on(&self) -> String {
        // The sums of a CRF do not depend on the number of threads, so a run may resume with another number.
        let threads = (!Algorithm::CRF.contains(&self.algorithm)).then(|| self.threads.unwrap_or(1));
        format!("{:?}", Recipe { threads, ..self.clone() })
    }
}
