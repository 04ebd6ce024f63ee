//! Tagging: a model, a decoder and the memory they need, in one place.
//!
//! **What.** A [`Tagger`] owns everything but the model, which it shares: make one a thread. It turns a [`Sequence`] into
//! the `k` best label sequences ([`Tagger::tag`]), and tells how sure the model is of each label ([`Tagger::confidences`]).
//! **Cost.** That of extraction, scoring and the decoder; nothing is allocated once it has seen the longest sequence.

use crate::decode::{Decode, Decoded, Decoder, Scratch};
use crate::error::Result;
use crate::feature::FeatureBuffer;
use crate::lattice::Lattice;
use crate::model::Model;
use crate::scoring::{self, ScoreBuffer};
use crate::sequence::Sequence;
use std::sync::Arc;

/// Tags sequences.
#[derive(Debug)]
pub struct Tagger {
    model: Arc<Model>,
    decoder: Decoder,
    features: FeatureBuffer,
    scores: ScoreBuffer,
    scratch: Scratch<f32>,
    answer: Decoded<f32>,
}

impl Tagger {
    /// A tagger with the automatic choice of decoder.
    pub fn new(model: Arc<Model>) -> Self {
        Self::with_decoder(model, Decoder::default())
    }

    /// A tagger with a decoder of your own.
    pub fn with_decoder(model: Arc<Model>, decoder: Decoder) -> Self {
        Tagger {
            model,
            decoder,
            features: FeatureBuffer::new(),
            scores: ScoreBuffer::new(),
            scratch: Scratch::new(),
            answer: Decoded::default(),
        }
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The `k` best label sequences, best first.
    ///
    /// # Errors
    /// What extraction, the lattice and the decoder refuse.
    pub fn tag(&mut self, sequence: &Sequence, k: usize) -> Result<&Decoded<f32>> {
        self.model.extractor().extract(sequence, &mut self.features)?;
        let lattice: Lattice<'_, f32> = scoring::lattice(&*self.model, &self.features, &mut self.scores)?;
        self.decoder.decode_into(&lattice, k, &mut self.scratch, &mut self.answer)?;
        Ok(&self.answer)
    }
}
