//! Smaller models: without the weights that hardly matter.

use super::{EdgeWeights, Model, ModelParts, NodeWeightsBuilder};
use crate::feature::{Dictionary, Extractor, FeatureId};
use kbest_core::{Error, Result};

impl Model {
    /// The model without weights whose absolute value is below `threshold`, and without features that have no weights
    /// left; also returns the number of weights removed. With threshold 0 every score stays the same. Scores of first
    /// and last labels are kept. In models of earlier versions, so are features that are words of the training data, which
    /// distinguish known words from unknown ones there ([`Extractor::knows_word`]).
    ///
    /// # Errors
    /// [`Error::Argument`] for an ensemble that votes, and for support tokens; [`Error::Data`] if the model is checked while it
    /// is used, and damaged.
    pub fn pruned(&self, threshold: f32) -> Result<(Self, usize)> {
        if self.voters().is_some() {
            return Err(Error::argument("model to prune", "weights that do not vote", "an ensemble"));
        }
        if self.support().is_some() {
            return Err(Error::argument("model to prune", "weights", "support tokens"));
        }
        let (old, labels) = (self.extractor(), self.labels().len());
        let is_kept = |weight: f32| weight != 0.0 && weight.abs() >= threshold;

        let mut nodes = NodeWeightsBuilder::new(self.nodes().labels());
        let node_keys = kept_keys(old.nodes(), |id, key| {
            let row = self.nodes().row(id);
            let kept = || row.iter().filter(|&(_, weight)| is_kept(weight));
            let tells_known_words = old.seen_words().is_none() && old.source().is_word_key(key);
            let stays = kept().next().is_some() || tells_known_words;
            if stays {
                nodes.push(kept())?;
            }
            Ok(stays)
        })?;
        let mut pairs = Vec::new();
        let edge_keys = kept_keys(old.edges(), |id, _| {
            let kept = self.edges().pairs(id).iter().copied().filter(|pair| is_kept(pair.weight));
            let kept: Vec<_> = kept.collect();
            let any = !kept.is_empty();
            pairs.extend(any.then_some(kept));
            Ok(any)
        })?;

        self.undamaged()?; // rather than a model without what is damaged
        let (nodes, edges) = (nodes.finish(), EdgeWeights::new(labels, pairs)?);
        let removed = self.nodes().stored() + self.edges().stored() - nodes.stored() - edges.stored();
        let extractor = Extractor::from_parts(
            old.source().clone(),
            node_keys,
            edge_keys,
            old.frequent_words().clone(),
            old.columns(),
        )
        .with_seen_words(old.seen_words().cloned());
        let model = Model::new(ModelParts {
            label_parts: self.label_parts().cloned(),
            agreement: self.agreement().cloned(), // few weights, which say much
            start: self.start().map(<[f32]>::to_vec),
            end: self.end().map(<[f32]>::to_vec),
            calibration: self.calibration().cloned(),
            text_format: self.text_format().cloned(),
            about: self.about().to_vec(),
            ..ModelParts::new(self.labels().clone(), extractor, nodes, edges)
        })?;
        Ok((model, removed))
    }
}

/// The keys whose numbers are kept, in the same order.
fn kept_keys(
    dictionary: &Dictionary,
    mut is_kept: impl FnMut(FeatureId, &[u8]) -> Result<bool>,
) -> Result<Dictionary> {
    let mut kept = Vec::new();
    for (id, key) in (0..).zip(dictionary.keys()) {
        if is_kept(id, key)? {
            kept.push(key);
        }
    }
    Ok(Dictionary::from_keys(kept))
}
