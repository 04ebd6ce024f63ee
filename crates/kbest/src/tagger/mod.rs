//! Tagging: a model, a decoder and the memory they need, in one place.
//!
//! **What.** A [`Tagger`] turns a [`Sequence`] into its `k` best label sequences and, if asked, tells how sure the model is of
//! each label and each path ([`Tagger::with_confidences`]). **Cost.** That of extraction, scoring and the decoder;
//! confidences add forward-backward, which visits every edge that is not at the base value. Nothing is allocated once it has
//! seen the longest sequence, unless labels are known. **Threads.** The model is shared; make one tagger a thread
//! ([`Tagger::another`]).
//!
//! **Constraints.** [`Tagger::with_transitions`] forbids pairs of neighbouring labels, [`Tagger::tag_known`] keeps labels that
//! are known; decoders, k best paths, votes and confidences obey both.
//!
//! ```
//! use kbest::model::import;
//! use kbest::scheme::Tagging;
//! use kbest::transition::Transitions;
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! // A model that likes `I` for both words, whatever stands before.
//! let model = "version: 100\ncost-factor: 1\nmaxid: 3\nxsize: 1\n\nB\nI\nO\n\nU:%x[0,0]\n\n0 U:word\n\n1\n2\n0\n";
//! let model = Arc::new(import::crfpp(model.as_bytes(), "model.txt")?);
//! let tagging = Tagging::detect(model.labels().names()).expect("these names spell spans");
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

mod constrained;
mod parallel;
mod voting;

pub use parallel::ParTag;

use crate::decode::{Decode, Decoded, Decoder, Scratch};
use crate::error::{Error, Result};
use crate::feature::FeatureBuffer;
use crate::label::LabelId;
use crate::marginal::{MarginalScratch, marginals};
use crate::model::Model;
use crate::scoring::{self, ScoreBuffer};
use crate::sequence::Sequence;
use crate::transition::Transitions;
use constrained::{Constrained, Limits};
use std::sync::Arc;

/// Tags sequences.
#[derive(Debug)]
pub struct Tagger {
    model: Arc<Model>,
    decoder: Decoder,
    confidences: bool,
    constrained: Option<Arc<Constrained>>,
    features: FeatureBuffer,
    scores: ScoreBuffer,
    scratch: Scratch<f32>,
    marginals: MarginalScratch,
    tagged: Tagged,
}

/// The answer for one sequence.
#[derive(Debug, Clone, Default)]
pub struct Tagged {
    /// The paths, best first. Of an ensemble that votes, the scores are shares of votes.
    pub decoded: Decoded<f32>,
    /// For each path, the probability of its label at each position; empty unless asked for.
    pub confidences: Vec<Vec<f64>>,
    /// The probability of each path; empty unless asked for.
    pub probabilities: Vec<f64>,
}

impl Tagger {
    /// A tagger with the automatic choice of decoder.
    pub fn new(model: Arc<Model>) -> Self {
        Tagger {
            model,
            decoder: Decoder::default(),
            confidences: false,
            constrained: None,
            features: FeatureBuffer::new(),
            scores: ScoreBuffer::new(),
            scratch: Scratch::new(),
            marginals: MarginalScratch::new(),
            tagged: Tagged::default(),
        }
    }

    /// With this decoder instead.
    pub fn with_decoder(mut self, decoder: Decoder) -> Self {
        self.decoder = decoder;
        self
    }

    /// Whether to tell how sure the model is. An ensemble that votes tells it by its last member.
    pub fn with_confidences(mut self, confidences: bool) -> Self {
        self.confidences = confidences;
        self
    }

    /// Only along transitions that are allowed; scores that they carry are added. An ensemble obeys member by member.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of labels, [`Error::IllegalScore`] if a sum is too large.
    pub fn with_transitions(mut self, transitions: &Transitions) -> Result<Self> {
        self.constrained = Some(Arc::new(Constrained::new(self.model.clone(), transitions)?));
        Ok(self)
    }

    /// Another tagger of the same kind, for another thread: it shares the model and what follows from the constraints.
    pub fn another(&self) -> Self {
        Tagger {
            decoder: self.decoder.clone(),
            confidences: self.confidences,
            constrained: self.constrained.clone(),
            ..Tagger::new(self.model.clone())
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The `k` best label sequences, best first.
    ///
    /// # Errors
    /// What extraction, the lattice and the decoder refuse; [`Error::NoPath`] if constraints leave none.
    pub fn tag(&mut self, sequence: &Sequence, k: usize) -> Result<&Tagged> {
        self.search(sequence, &[], k)
    }

    /// The `k` best label sequences among those that have the labels that are known.
    ///
    /// # Errors
    /// As [`Tagger::tag`]; [`Error::Shape`] unless `known` has an entry a position; [`Error::LabelOutOfRange`].
    pub fn tag_known(&mut self, sequence: &Sequence, known: &[Option<LabelId>], k: usize) -> Result<&Tagged> {
        if known.len() != sequence.len() {
            return Err(Error::shape("known labels", format!("{} positions", sequence.len()), known.len()));
        }
        self.search(sequence, known, k)
    }

    fn search(&mut self, sequence: &Sequence, known: &[Option<LabelId>], k: usize) -> Result<&Tagged> {
        self.model.extractor().extract(sequence, &mut self.features)?;
        let limits = Limits { constrained: self.constrained.as_deref(), known };
        let lattice = match limits.constrained {
            Some(weights) => scoring::lattice(weights, &self.features, &mut self.scores)?,
            None => scoring::lattice(&*self.model, &self.features, &mut self.scores)?,
        };
        let lattice = limits.force(lattice)?;
        let Tagged { decoded, confidences, probabilities } = &mut self.tagged;
        match self.model.voters() {
            Some(voters) => {
                let (model, scratch) = (&self.model, &mut self.scratch);
                *decoded = voting::vote(model, voters, &self.features, limits, k, &self.decoder, scratch)?;
            }
            None => self.decoder.decode_into(&lattice, k, &mut self.scratch, decoded)?,
        }
        confidences.clear();
        probabilities.clear();
        if self.confidences {
            let marginals = marginals(&lattice, &mut self.marginals)?;
            for path in &decoded.paths {
                let labels = path.labels.iter().enumerate();
                confidences.push(labels.map(|(t, &y)| marginals.node(t)[y as usize]).collect());
                probabilities.push(marginals.path_log_probability(&path.labels)?.exp());
            }
        }
        Ok(&self.tagged)
    }
}
