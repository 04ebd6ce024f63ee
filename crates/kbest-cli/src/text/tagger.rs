//! What users ask of a tagger.

use crate::failure::{Result, as_typed};
use crate::options::Typed;
use kbest::scoring::TextModel;
use kbest::{Structure, Tagger, TaggerOptions};
use std::path::Path;
use std::sync::Arc;

/// Options of a tagger.
pub(crate) type TaggerArguments = Typed<TaggerOptions>;

impl TaggerArguments {
    /// Rules that may be files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.constraints.iter().map(Path::new)
    }

    /// A tagger that does what was asked for, if its decoder can find the `k` best.
    pub(crate) fn tagger_of<M: TextModel>(&self, model: &Arc<M>, k: usize) -> Result<Tagger<M>> {
        self.decoder(M::Structure::LATTICES, k).map_err(as_typed)?;
        self.tagger(model).map_err(as_typed)
    }
}
