//! Tagging: a model, a decoder and the memory they need, in one place.
//!
//! **What.** A [`Tagger`] turns a [`Sequence`] into its `k` best label sequences and, if asked, tells how sure the model is of
//! each label and each path ([`Tagger::with_confidences`]). **Cost.** That of extraction, scoring and the decoder;
//! confidences add forward-backward, which visits every edge that is not at the base value. Nothing is allocated once it has
//! seen the longest sequence. **Threads.** The model is shared; make one tagger a thread.
//!
//! An example stands in [`crate::train`].

mod voting;

use crate::decode::{Decode, Decoded, Decoder, Scratch};
use crate::error::Result;
use crate::feature::FeatureBuffer;
use crate::marginal::{MarginalScratch, marginals};
use crate::model::Model;
use crate::scoring::{self, ScoreBuffer};
use crate::sequence::Sequence;
use std::sync::Arc;

/// Tags sequences.
#[derive(Debug)]
pub struct Tagger {
    model: Arc<Model>,
    decoder: Decoder,
    confidences: bool,
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

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The `k` best label sequences, best first.
    ///
    /// # Errors
    /// What extraction, the lattice and the decoder refuse.
    pub fn tag(&mut self, sequence: &Sequence, k: usize) -> Result<&Tagged> {
        self.model.extractor().extract(sequence, &mut self.features)?;
        let lattice = scoring::lattice(&*self.model, &self.features, &mut self.scores)?;
        let Tagged { decoded, confidences, probabilities } = &mut self.tagged;
        match self.model.voters() {
            Some(voters) => {
                *decoded =
                    voting::vote(&self.model, voters, &self.features, k, &self.decoder, &mut self.scratch)?;
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
