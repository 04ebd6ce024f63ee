//! Which labels may follow one another, as requested by the user.

use crate::failure::{Result, as_typed};
use clap::Args;
use kbest::segment::SegmentDecoder;
use kbest::transition::Transitions;
use kbest::{Decoder, Model, SegmentModel, SegmentTagger, Tagger};
use std::path::Path;
use std::sync::Arc;

/// Options that constrain paths.
#[derive(Debug, Args)]
pub(crate) struct Constraints {
    /// Allow only label sequences that RULE allows: a scheme (auto, iob1, iob2, ioe1, ioe2, iobes, bilou, bmes) or a
    /// transition file; may be repeated, then all rules apply
    #[arg(long, value_name = "RULE")]
    constraints: Vec<String>,
}

impl Constraints {
    /// Whether there are any.
    pub(crate) fn is_given(&self) -> bool {
        !self.constraints.is_empty()
    }

    /// Rules that may be files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.constraints.iter().map(Path::new)
    }

    /// A tagger that obeys the constraints.
    pub(crate) fn tagger(&self, model: &Arc<Model>, decoder: Decoder) -> Result<Tagger> {
        let tagger = Tagger::new(model.clone()).with_decoder(decoder);
        match Transitions::from_rules(&self.constraints, model.labels()).map_err(as_typed)? {
            Some(transitions) => Ok(tagger.with_transitions(&transitions)?),
            None => Ok(tagger),
        }
    }

    /// A tagger of segments that obeys the constraints: they are about labels of neighbouring segments. What a scheme demands,
    /// spans fulfil by themselves.
    pub(crate) fn segment_tagger(
        &self,
        model: &Arc<SegmentModel>,
        decoder: SegmentDecoder,
    ) -> Result<SegmentTagger> {
        let tagger = SegmentTagger::new(model.clone()).with_decoder(decoder);
        tagger.with_rules(&self.constraints).map_err(as_typed)
    }
}
