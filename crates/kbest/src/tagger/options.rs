//! What users ask of a tagger.
//!
//! A new option is a row here, and a line in the functions below that hand it to taggers.

use super::{SegmentTagger, Tagger};
use crate::model::{Model, SegmentModel};
use crate::options::{Kind, options};
use kbest_core::decode::Decoder;
use kbest_core::segment::SegmentDecoder;
use kbest_core::transition::Transitions;
use kbest_core::{Error, Result};
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
    /// Those of [`TaggerOptions::decoder`] and [`Transitions::from_rules`].
    pub fn tagger(&self, model: &Arc<Model>) -> Result<Tagger> {
        let tagger = Tagger::new(model.clone()).with_decoder(self.decoder()?);
        match Transitions::from_rules(&self.constraints, model.labels())? {
            Some(transitions) => tagger.with_transitions(&transitions),
            None => Ok(tagger),
        }
    }

    /// A tagger of segments that does what was asked for.
    ///
    /// # Errors
    /// Those of [`TaggerOptions::segment_decoder`] and [`SegmentTagger::with_rules`].
    pub fn segment_tagger(&self, model: &Arc<SegmentModel>) -> Result<SegmentTagger> {
        let tagger = SegmentTagger::new(model.clone()).with_decoder(self.segment_decoder()?);
        tagger.with_rules(&self.constraints)
    }

    /// The decoder for a model of single positions.
    ///
    /// # Errors
    /// [`Error::UnknownName`], [`Error::Argument`] for one of segments.
    pub fn decoder(&self) -> Result<Decoder> {
        if self.decoder.starts_with("semi-") {
            let expected = format!("a model or scores of segments for `{}`", self.decoder);
            return Err(Error::argument("decoder", expected, "single positions"));
        }
        Decoder::by_name(&self.decoder)
    }

    /// The decoder for a model of segments.
    ///
    /// # Errors
    /// [`Error::UnknownName`], [`Error::Argument`] for one of single positions.
    pub fn segment_decoder(&self) -> Result<SegmentDecoder> {
        if self.decoder != "auto" && Decoder::by_name(&self.decoder).is_ok() {
            let expected = "a decoder of segments (auto, semi-...), because the model is one of segments";
            return Err(Error::argument("decoder", expected, &self.decoder));
        }
        self.decoder.parse()
    }
}
