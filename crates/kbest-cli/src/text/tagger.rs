//! What users ask of a tagger.

use crate::failure::{Result, as_typed};
use crate::options::Typed;
use kbest::segment::SegmentDecoder;
use kbest::{Model, SegmentModel, SegmentTagger, Tagger, TaggerOptions};
use std::path::Path;
use std::sync::Arc;

/// Options of a tagger.
pub(crate) type TaggerArguments = Typed<TaggerOptions>;

impl TaggerArguments {
    /// Rules that may be files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.constraints.iter().map(Path::new)
    }

    pub(crate) fn tagger_of(&self, model: &Arc<Model>) -> Result<Tagger> {
        self.tagger(model).map_err(as_typed)
    }

    pub(crate) fn segment_tagger_of(&self, model: &Arc<SegmentModel>) -> Result<SegmentTagger> {
        self.segment_tagger(model).map_err(as_typed)
    }
}

/// The decoder of segments with this name.
pub(crate) fn segment_decoder(name: &str) -> Result<SegmentDecoder> {
    let options = TaggerOptions { decoder: name.to_owned(), ..TaggerOptions::default() };
    options.segment_decoder().map_err(as_typed)
}
