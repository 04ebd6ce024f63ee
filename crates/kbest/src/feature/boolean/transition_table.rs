//! Where features that see only labels fire: the edges to change when a trainer or an ensemble changes such a weight.

use super::BooleanFeatures;
use kbest_core::LabelId;

/// Where the features that see only labels fire, feature by feature.
#[derive(Debug, Clone)]
pub(crate) struct TransitionTable {
    starts: Vec<usize>,             // features + 1
    pairs: Vec<(LabelId, LabelId)>, // feature by feature
}

impl TransitionTable {
    pub(crate) fn new<O: ?Sized + Send + Sync + 'static>(features: &BooleanFeatures<O>) -> Self {
        let mut fired = Vec::new();
        features.visit_transitions(|p, y, feature| fired.push((feature, (p, y))));
        fired.sort_unstable();
        let mut starts = vec![0; features.len() + 1];
        fired.iter().for_each(|&(feature, _)| starts[feature + 1] += 1);
        for feature in 0..features.len() {
            starts[feature + 1] += starts[feature];
        }
        TransitionTable { starts, pairs: fired.into_iter().map(|(_, pair)| pair).collect() }
    }

    /// The pairs of labels that a feature fires for.
    pub(crate) fn pairs(&self, feature: usize) -> &[(LabelId, LabelId)] {
        &self.pairs[self.starts[feature]..self.starts[feature + 1]]
    }
}
