//! From the names of options to a trainer: what the command line and the Python package share.
//!
//! **What.** A [`Recipe`] holds every option of training, by the names that users type; options that were not given keep their
//! defaults. Its [table](crate::options) says what they are. It refuses options that would have no effect ([`Recipe::check`])
//! and makes the [trainer](Recipe::trainer). **When not.** In Rust the trainers and their typed options are at hand: [`Perceptron`],
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
//! let recipe = Recipe { algorithm: Algorithm::Crf, c2: Some(0.1), ..Recipe::default() };
//! recipe.check()?;
//! let features = recipe.feature_source(None, &[sequence.clone()], false)?;
//! let data = Arc::new(TrainingSet::new(&[sequence], features, 1)?);
//! let mut trainer = recipe.trainer(&data)?;
//! recipe.schedule().run(&mut *trainer, Standing::default(), None, &mut |_| (), |_, _| Ok::<_, Error>(()))?;
//! assert_eq!(trainer.model()?.labels().len(), 2);
//! # Ok::<(), Error>(())
//! ```

mod names;
mod options;

pub use names::{Algorithm, Loss};
pub use options::{MOST_THREADS, Recipe};

use super::crf::Optimizer;
use super::{
    BaumWelch, BaumWelchOptions, Crf, CrfOptions, DualOptions, DualTrainingSet, Hmm, HmmOptions, MaxMargin,
    MaxMarginOptions, Perceptron, PerceptronOptions, Schedule, SegmentOptions, SegmentTrainingSet, Trainer,
    TrainingSet,
};
use crate::feature::segment::{Lexicon, SegmentFeaturesBuilder, SegmentKind};
use crate::feature::token::StandardKernel;
use crate::model::{LabelGroups, Model, SegmentModel, USUAL_GROUPS};
use crate::options::Options;
use crate::sequence::Sequence;
use kbest_core::decode::Decoder;
use kbest_core::segment::SegmentDecoder;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// No weights between parts of neighbouring labels; those of the usual groups.
const NONE: &str = "none";
const USUAL: &str = "usual";

/// Where each step of training sees all data, a loss stands still if an epoch lowers it by at most this share of itself.
/// (Measured: `benchmarks/features.md`.)
const STILL: f64 = 0.002;

/// Options that the course of training does not depend on: how long it is, what is done with the model, and files and names
/// whose contents the data shows.
const APART: [&str; 7] = ["epochs", "patience", "prune", "keep_features", "template", "features", "lexicon"];

/// A trainer of text models.
pub type AnyTrainer = dyn Trainer<Model = Model>;

/// A trainer of models of segments.
pub type AnySegmentTrainer = dyn Trainer<Model = SegmentModel>;

impl Recipe {
    /// Refuses options of other algorithms, which would have no effect, and illegal values.
    ///
    /// # Errors
    /// [`Error::Argument`] with the option's name (words joined by `_`), and as expected value a range, or another option and
    /// what it must be: `algorithm crf or semi-crf`, `optimizer sgd`, `loss perceptron`. Errors of names.
    pub fn check(&self) -> Result<()> {
        self.check_rows()?;
        if self.algorithm == Algorithm::Dual && self.is_max_margin() && self.threads.unwrap_or(1) != 1 {
            return Err(Error::argument("threads", "loss perceptron", self.loss.unwrap_or_default().name()));
        }
        if self.keep_features && self.prune.is_some() {
            return Err(Error::argument("keep_features", "no prune, which drops features", "both"));
        }
        self.kernel()?;
        if self.algorithm.is_of_segments() {
            self.segment_decoder().map(drop)
        } else {
            self.decoder().map(drop)
        }
    }

    /// Refuses options that have an effect with held-out data only.
    ///
    /// # Errors
    /// [`Error::Argument`].
    pub fn check_without_dev(&self) -> Result<()> {
        let given = |name: &&&str| Self::row(name).is_some_and(|row| row.given(self).is_some());
        match ["patience", "dev_by"].iter().find(given) {
            Some(option) => Err(Error::argument(*option, "dev (held-out data)", "none")),
            None => Ok(()),
        }
    }

    fn is_max_margin(&self) -> bool {
        self.loss.unwrap_or_default() != Loss::Perceptron
    }

    /// How many epochs are enough, usually.
    fn default_epochs(&self) -> usize {
        match (self.algorithm, self.optimizer.unwrap_or_default()) {
            (Algorithm::Crf | Algorithm::SemiCrf, Optimizer::Lbfgs) | (Algorithm::BaumWelch, _) => 100,
            (Algorithm::Dual, _) if self.is_max_margin() => 100,
            _ => 10,
        }
    }

    /// Whether each step of training sees all data.
    fn is_batch(&self) -> bool {
        self.algorithm.is_crf() && self.optimizer.unwrap_or_default() == Optimizer::Lbfgs
    }

    /// How long to train. With held-out data, training stops after five epochs without improvement, unless
    /// [`Recipe::patience`] says otherwise; where each step sees all data, after ten in which the loss stands still, too.
    pub fn schedule(&self) -> Schedule {
        let (patience, still) = if self.is_batch() { (10, Some(STILL)) } else { (5, None) };
        Schedule {
            epochs: self.epochs.unwrap_or_else(|| self.default_epochs()),
            patience: self.patience.unwrap_or(patience),
            still,
            by: self.dev_by,
        }
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

    /// The algorithm, and the options that were given, as users type them; of files only the names. A seed or a number of threads
    /// that the model does not depend on is left out.
    pub fn as_typed(&self) -> String {
        let is_idle = |name: &str| match name {
            "seed" => self.algorithm == Algorithm::Hmm || self.is_batch(),
            "threads" => self.algorithm.is_crf(),
            _ => false,
        };
        let rows = Self::TABLE.iter().filter(|row| !is_idle(row.name));
        rows.flat_map(|row| row.as_typed(self)).collect::<Vec<_>>().join(" ")
    }

    /// Everything that the course of training depends on besides the data and its features, as text.
    pub fn depends_on(&self) -> String {
        // The sums of a CRF do not depend on the number of threads, so a run may resume with another number.
        let threads = (!self.algorithm.is_crf()).then(|| self.threads.unwrap_or(1));
        let course = Recipe { threads, ..self.clone() };
        let rows = Self::TABLE.iter().filter(|row| !APART.contains(&row.name));
        let given = rows.filter_map(|row| Some(format!("{} {}", row.name, row.given(&course)?)));
        given.collect::<Vec<_>>().join("\n")
    }

    /// How labels become segments, and which features these have; reads the lexicons.
    ///
    /// # Errors
    /// [`Error::Argument`] for names that are not known; errors of [`Lexicon::open`].
    pub fn segment_options(&self) -> Result<SegmentOptions> {
        let of = |option: &'static str| {
            move |error: Error| match error {
                Error::UnknownName { name, expected, .. } => {
                    Error::argument(option, format!("one of {expected}"), name)
                }
                other => other,
            }
        };
        let segments = self.segments.as_deref().unwrap_or("auto").parse().map_err(of("segments"))?;
        let mut features = SegmentFeaturesBuilder::default();
        features = match self.segment_features.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => features,
            [NONE] => features.with_kinds([]),
            ref names => {
                let kinds = names.iter().map(|name| SegmentKind::by_name(name)).collect::<Result<Vec<_>>>();
                features.with_kinds(kinds.map_err(of("segment_features"))?)
            }
        };
        if let Some(column) = self.lines {
            features = features.with_lines(column.saturating_sub(1));
        }
        for file in &self.lexicon {
            features = features.with_lexicon(Lexicon::open(file)?);
        }
        Ok(SegmentOptions { segments, longest: self.longest_segment, features })
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
        BaumWelch::new(sequences, BaumWelchOptions::of(self, states))
    }

    /// The trainer for labelled data.
    ///
    /// # Errors
    /// Errors of the trainer; [`Error::Argument`] for an algorithm that trains without labels.
    pub fn trainer(&self, data: &Arc<TrainingSet>) -> Result<Box<AnyTrainer>> {
        match self.algorithm {
            Algorithm::Averaged | Algorithm::Perceptron | Algorithm::Voted | Algorithm::Pa => {
                let options = PerceptronOptions::of(self, self.decoder()?);
                Ok(Box::new(Perceptron::new(data.clone(), options)?))
            }
            Algorithm::Dual => self.dual_trainer(data),
            Algorithm::Crf => Ok(Box::new(Crf::new(data.clone(), CrfOptions::of(self))?)),
            Algorithm::Hmm => Ok(Box::new(Hmm::new(data.clone(), HmmOptions::of(self))?)),
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
            Algorithm::SemiCrf => Ok(Box::new(Crf::new(data.clone(), CrfOptions::of(self))?)),
            Algorithm::Semi => {
                let options = PerceptronOptions::of(self, self.segment_decoder()?);
                Ok(Box::new(Perceptron::new(data.clone(), options)?))
            }
            other => Err(Error::argument("algorithm", "one for segments", other.name())),
        }
    }

    fn dual_trainer(&self, data: &Arc<TrainingSet>) -> Result<Box<AnyTrainer>> {
        let kernel = Arc::new(self.kernel()?);
        let data = Arc::new(DualTrainingSet::new(data.clone(), kernel, DualOptions::of(self))?);
        let decoder = self.decoder()?;
        Ok(match self.is_max_margin() {
            true => Box::new(MaxMargin::new(data, MaxMarginOptions::of(self, decoder))?),
            false => Box::new(Perceptron::new(data, PerceptronOptions::of(self, decoder))?),
        })
    }

    fn segment_decoder(&self) -> Result<SegmentDecoder> {
        self.decoder.as_deref().unwrap_or("auto").parse()
    }

    fn kernel(&self) -> Result<StandardKernel> {
        self.kernel.as_deref().unwrap_or("linear").parse()
    }

    pub(super) fn decoder(&self) -> Result<Decoder> {
        Decoder::by_name(self.decoder.as_deref().unwrap_or("auto"))
    }
}
