//! What users ask of a tagger.
//!
//! A new option is a row here, and a line in the functions below that hand it to taggers.

use super::Tagger;
use crate::options::{Kind, options};
use crate::scoring::TextModel;
use kbest_core::decode::{Decoder, Lattices};
use kbest_core::{Result, Structure};
use std::sync::Arc;

const TAGGING: &str = "Tagging";

options! {
    /// What users ask of a tagger, by the names that they type.
    pub struct TaggerOptions {
        /// Allow only label sequences that a rule allows: a scheme (auto, iob1, iob2, ioe1, ioe2, iobes, bilou, bmes) or a
        /// transition file; several rules apply together.
        constraints: Vec<String> => { kind: Kind::Texts, heading: TAGGING, placeholder: "RULE", }
        /// Decoder (see `kbest decoders`), with an option if it has one: `astar:m3`, `beam:16`.
        decoder: String = "auto".to_owned() => { heading: TAGGING, placeholder: "NAME", neutral: "auto", }
    }
}

impl TaggerOptions {
    /// A tagger that does what was asked for.
    ///
    /// # Errors
    /// Those of [`TaggerOptions::decoder`] and [`Tagger::with_rules`].
    pub fn tagger<M: TextModel>(&self, model: &Arc<M>) -> Result<Tagger<M>> {
        let decoder = self.decoder(M::Structure::LATTICES, 1)?;
        Tagger::new(model.clone()).with_decoder(decoder).with_rules(&self.constraints)
    }

    /// The decoder, if it reads these lattices and can find the `k` best answers.
    ///
    /// # Errors
    /// [`UnknownName`](kbest_core::Error::UnknownName), [`Unsupported`](kbest_core::Error::Unsupported).
    pub fn decoder(&self, lattices: Lattices, k: usize) -> Result<Decoder> {
        let decoder = Decoder::by_name(&self.decoder)?;
        decoder.supports_on(lattices, k)?;
        Ok(decoder)
    }
}
