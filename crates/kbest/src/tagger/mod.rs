//! Tagging: a model, a decoder and the memory they need, in one place.
//!
//! **What.** A [`Tagger`] turns an input, usually a [`Sequence`](crate::Sequence), into its `k` best label sequences
//! and, on request, the probability of each label and each path ([`Tagger::with_confidences`]). It works with any
//! [`Scorer`]: text models, models of boolean features, ensembles of either. **Cost.** That of extraction, scoring and
//! the decoder; confidences add forward-backward, which visits every edge that is not at the base value. Nothing is
//! allocated once it has seen the longest sequence, unless labels are known, edges depend on the input, or members vote.
//! **Threads.** The model is shared; make one
//! tagger per thread ([`Tagger::another`]). An ensemble can also use several threads for one sequence
//! ([`Tagger::with_threads`]).
//!
//! **Probabilities** are those of the model's [`Calibration`], if it has one.
//!
//! **Constraints.** [`Tagger::with_transitions`] forbids pairs of neighbouring labels, [`Tagger::tag_known`] keeps
//! known labels; decoders, k best paths, votes and confidences obey both.
//!
//! ```
//! use kbest::model::import;
//! use kbest::scheme::Tagging;
//! use kbest::transition::Transitions;
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! // A model that prefers `I` for both words, whatever comes before.
//! let model = "version: 100\ncost-factor: 1\nmaxid: 3\nxsize: 1\n\nB\nI\nO\n\nU:%x[0,0]\n\n0 U:word\n\n1\n2\n0\n";
//! let model = Arc::new(import::crfpp(model.as_bytes(), "model.txt")?);
//! let tagging = Tagging::detect(model.labels().names()).expect("these names encode spans");
//! let transitions = Transitions::from_names(model.labels().names(), tagging);
//! let sequence = Sequence::from_tokens(["word", "word"]);
//!
//! let mut free = Tagger::new(model.clone());
//! assert_eq!(free.tag(&sequence, 1)?.decoded.best().labels, [1, 1]);
//! let mut constrained = Tagger::new(model).with_transitions(&transitions)?;
//! assert_eq!(constrained.tag(&sequence, 1)?.decoded.best().labels, [0, 1]);
//! assert_eq!(constrained.tag_known(&sequence, &[Some(2), None], 1)?.decoded.best().labels, [2, 0]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod limits;
mod options;
mod parallel;
mod probabilities;
mod segments;
mod voting;

pub use options::TaggerOptions;
pub use parallel::ParTag;
pub use segments::{SegmentTagged, SegmentTagger};

use crate::model::Model;
use crate::scoring::Scorer;
use kbest_core::LabelId;
use kbest_core::decode::{Decode, Decoded, Decoder, Scratch};
use kbest_core::lattice::Lattice;
use kbest_core::marginal::Calibration;
use kbest_core::transition::Transitions;
use kbest_core::{Error, Result};
use limits::{Constraint, Limits};
use probabilities::Probabilities;
use std::sync::Arc;

/// Tags inputs with a model of any kind.
#[derive(Debug)]
pub struct Tagger<M: Scorer = Model> {
    model: Arc<M>,
    decoder: Decoder,
    confidences: bool,
    distributions: bool,
    threads: usize,
    constraint: Option<Arc<Constraint>>,
    memory: M::Memory,
    scratch: Scratch<f32>,
    probabilities: Probabilities,
    tagged: Tagged,
}

/// The answer for one input.
#[derive(Debug, Clone, Default)]
pub struct Tagged {
    /// The paths, best first. For an ensemble that votes, the scores are shares of votes.
    pub decoded: Decoded<f32>,
    /// For each path, the probability of its label at each position; empty unless requested.
    pub confidences: Vec<Vec<f64>>,
    /// The probability of each path; empty unless requested.
    pub probabilities: Vec<f64>,
    /// The probability of every label at every position, `T x L`; empty unless requested.
    pub distributions: Vec<f64>,
}

impl Tagged {
    fn forget_probabilities(&mut self) {
        self.confidences.clear();
        self.probabilities.clear();
        self.distributions.clear();
    }
}

impl<M: Scorer> Tagger<M> {
    /// A tagger that chooses the decoder automatically.
    pub fn new(model: Arc<M>) -> Self {
        Tagger {
            probabilities: Probabilities::new(&*model),
            model,
            decoder: Decoder::default(),
            confidences: false,
            distributions: false,
            threads: 1,
            constraint: None,
            memory: M::Memory::default(),
            scratch: Scratch::new(),
            tagged: Tagged::default(),
        }
    }

    /// Uses this decoder instead.
    pub fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// Whether to compute probabilities. For an ensemble that votes, they are those of its last member.
    pub fn with_confidences(mut self, confidences: bool) -> Self {
        self.confidences = confidences;
        self
    }

    /// Whether to compute the probabilities of all labels at all positions, too.
    pub fn with_distributions(mut self, distributions: bool) -> Self {
        self.distributions = distributions;
        self
    }

    /// How scores become probabilities, instead of the model's own calibration.
    pub fn with_calibration(mut self, calibration: Option<Calibration>) -> Self {
        self.probabilities.set(calibration);
        self
    }

    /// How many threads the members of an ensemble share; default 1. The answer does not depend on it. If there are
    /// many sequences, one tagger per thread is faster.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Allows only these transitions; scores that they carry are added. In an ensemble, every member obeys them.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong number of labels, [`Error::IllegalScore`] if a sum is too large.
    pub fn with_transitions(mut self, transitions: &Transitions) -> Result<Self> {
        self.constraint = Some(Arc::new(Constraint::new(&*self.model, transitions)?));
        self.probabilities.forget_edges();
        Ok(self)
    }

    /// Another tagger of the same kind, for another thread: it shares the model and the constrained edges.
    pub fn another(&self) -> Self {
        Tagger {
            decoder: self.decoder.clone(),
            confidences: self.confidences,
            distributions: self.distributions,
            threads: self.threads,
            constraint: self.constraint.clone(),
            probabilities: self.probabilities.another(),
            ..Tagger::new(self.model.clone())
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<M> {
        &self.model
    }

    /// The `k` best label sequences, best first.
    ///
    /// # Errors
    /// Errors of extraction, the lattice and the decoder; [`Error::NoPath`] if the constraints leave no path.
    pub fn tag(&mut self, input: &M::Input, k: usize) -> Result<&Tagged> {
        self.search(input, None, k)
    }

    /// The `k` best label sequences among those that contain the known labels.
    ///
    /// # Errors
    /// As for [`Tagger::tag`]; [`Error::Shape`] unless `known` has one entry per position; [`Error::LabelOutOfRange`].
    pub fn tag_known(&mut self, input: &M::Input, known: &[Option<LabelId>], k: usize) -> Result<&Tagged> {
        self.search(input, Some(known), k)
    }

    /// The lattice of an input under the same constraints and known labels (none, or one entry per position): for
    /// marginals, explanations, and searches of your own. For an ensemble that votes, that of its last member.
    ///
    /// # Errors
    /// As for [`Tagger::tag_known`], except those of the decoder.
    pub fn lattice<'a>(
        &'a mut self,
        input: &M::Input,
        known: &'a [Option<LabelId>],
    ) -> Result<Lattice<'a, f32>> {
        let positions = M::positions(input);
        if !known.is_empty() && known.len() != positions {
            return Err(Error::shape("known labels", format!("{positions} positions"), known.len()));
        }
        let limits = Limits { constraint: self.constraint.as_deref(), known };
        limits.limit(self.model.lattice(input, &mut self.memory)?)
    }

    /// The probability of every label at every position, `T x L`, under the same constraints and known labels (none, or one
    /// entry per position), without a search; calibrated if the model is. For an ensemble that votes, those of its last member.
    ///
    /// # Errors
    /// As for [`Tagger::lattice`]; [`Error::NoPath`] if the constraints leave no path.
    pub fn distributions(&mut self, input: &M::Input, known: &[Option<LabelId>]) -> Result<&[f64]> {
        let positions = M::positions(input);
        if !known.is_empty() && known.len() != positions {
            return Err(Error::shape("known labels", format!("{positions} positions"), known.len()));
        }
        let limits = Limits { constraint: self.constraint.as_deref(), known };
        let lattice = limits.limit(self.model.lattice(input, &mut self.memory)?)?;
        self.tagged.forget_probabilities();
        self.probabilities.fill(&lattice, false, true, &mut self.tagged)?;
        Ok(&self.tagged.distributions)
    }

    fn search(&mut self, input: &M::Input, known: Option<&[Option<LabelId>]>, k: usize) -> Result<&Tagged> {
        let limits = Limits { constraint: self.constraint.as_deref(), known: known.unwrap_or_default() };
        let positions = M::positions(input);
        if let Some(known) = known.filter(|known| known.len() != positions) {
            return Err(Error::shape("known labels", format!("{positions} positions"), known.len()));
        }
        self.tagged.forget_probabilities();
        let wanted = self.confidences || self.distributions;
        let (model, scratch) = (&*self.model, &mut self.scratch);
        let votes = voting::vote(model, input, limits, k, &self.decoder, self.threads, scratch)?;
        let is_ensemble = votes.is_some();
        if let Some(votes) = votes {
            self.tagged.decoded = votes;
            if !wanted {
                return Ok(&self.tagged);
            }
        }
        let lattice = limits.limit(model.lattice(input, &mut self.memory)?)?;
        if !is_ensemble {
            self.decoder.decode_into(&lattice, k, scratch, &mut self.tagged.decoded)?;
        }
        if wanted {
            self.probabilities.fill(&lattice, self.confidences, self.distributions, &mut self.tagged)?;
        }
        Ok(&self.tagged)
    }
}
