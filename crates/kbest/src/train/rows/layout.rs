//! The weights of a linear model, and their indices in the one vector that trainers of all weights at once work on.
//!
//! ```text
//! node weights, by feature, labels ascending | edge weights, by feature, pairs ascending
//! ```
//!
//! Pairs of feature and label that never occur together in the training data have no weight unless requested, so the
//! vector has only a few times as many entries as there are features, whatever `L` is.

use super::{Example, Observed};
use crate::error::Result;
use crate::feature::{Extractor, FeatureId};
use crate::kernel::prefetch;
use crate::label::LabelId;
use crate::model::{EdgeWeight, EdgeWeights, NodeWeights, NodeWeightsBuilder};
use crate::train::family::{Layout, Scope};
use std::ops::Range;

/// Two neighbouring labels: the one before, the one after.
pub(super) type Pair = (LabelId, LabelId);

/// The layout of the vector. It has weights only of labels, not of their parts.
#[derive(Debug)]
pub struct RowLayout {
    pub(super) labels: usize,
    row_starts: Vec<usize>,   // F + 1: where the node weights of each feature begin
    row_labels: Vec<LabelId>, // one per node weight
    pair_starts: Vec<usize>,  // F + 1: where the pairs of each edge feature begin
    pairs: Vec<Pair>,         // one per edge weight
    shared: Option<Shared>,
}

/// The edges of every step, if none depend on the input.
#[derive(Debug)]
pub(in crate::train) struct Shared {
    /// The pairs that any feature has a weight for, ascending.
    pub(in crate::train) pairs: Vec<Pair>,
    /// For each edge weight, its pair above and its index in the vector.
    pub(super) weights: Vec<(u32, usize)>,
}

impl RowLayout {
    /// The weights of what occurs in the examples; of all labels or pairs of labels if requested.
    pub(in crate::train) fn new(
        labels: usize,
        extractor: &Extractor,
        examples: &[Example],
        scope: Scope,
    ) -> Self {
        Self::of_observed(labels, extractor, Observed::of(examples), scope)
    }

    /// The same, from what occurs.
    pub(in crate::train) fn of_observed(
        labels: usize,
        extractor: &Extractor,
        observed: Observed,
        scope: Scope,
    ) -> Self {
        let ids = 0..labels as LabelId;
        let (row_starts, row_labels) = if scope.all_states {
            let starts = (0..=extractor.nodes().len()).map(|i| i * labels).collect();
            (starts, (0..extractor.nodes().len()).flat_map(|_| ids.clone()).collect())
        } else {
            lists(extractor.nodes().len(), observed.states.into_iter().collect())
        };
        let (pair_starts, pairs) = if scope.all_transitions {
            let starts = (0..=extractor.edges().len()).map(|i| i * labels * labels).collect();
            let all = || ids.clone().flat_map(|p| ids.clone().map(move |y| (p, y)));
            (starts, (0..extractor.edges().len()).flat_map(|_| all()).collect())
        } else {
            lists(extractor.edges().len(), observed.transitions.into_iter().collect())
        };
        let mut layout = RowLayout { labels, row_starts, row_labels, pair_starts, pairs, shared: None };
        if !extractor.source().has_observed_edges() {
            layout.shared = Some(layout.share(extractor.shared_edges()));
        }
        layout
    }

    fn share(&self, features: &[FeatureId]) -> Shared {
        let mut pairs: Vec<Pair> = features.iter().flat_map(|&id| self.pairs_of(id)).copied().collect();
        pairs.sort_unstable();
        pairs.dedup();
        let weights = features.iter().flat_map(|&id| self.pairs_of(id).iter().zip(self.edge_range(id)));
        let slot = |pair: &Pair| pairs.binary_search(pair).expect("a pair of one of these features") as u32;
        let weights = weights.map(|(pair, place)| (slot(pair), place)).collect();
        Shared { pairs, weights }
    }

    /// The labels that a node feature has weights for, ascending.
    #[inline]
    pub(in crate::train) fn row(&self, feature: FeatureId) -> &[LabelId] {
        &self.row_labels[self.node_range(feature)]
    }

    /// The indices of these weights.
    #[inline]
    pub(in crate::train) fn node_range(&self, feature: FeatureId) -> Range<usize> {
        self.row_starts[feature as usize]..self.row_starts[feature as usize + 1]
    }

    /// Prefetches where the weights of a node feature begin or, with a vector, their labels and their entries in it.
    #[inline]
    pub(super) fn prefetch(&self, feature: FeatureId, vector: Option<&[f64]>) {
        match vector {
            None => prefetch(&self.row_starts, feature as usize),
            Some(vector) => {
                let start = self.row_starts[feature as usize];
                prefetch(&self.row_labels, start);
                prefetch(vector, start);
            }
        }
    }

    /// The pairs that an edge feature has weights for, ascending.
    pub(in crate::train) fn pairs_of(&self, feature: FeatureId) -> &[Pair] {
        &self.pairs[self.pair_starts[feature as usize]..self.pair_starts[feature as usize + 1]]
    }

    /// The indices of these weights.
    pub(in crate::train) fn edge_range(&self, feature: FeatureId) -> Range<usize> {
        let first = self.row_labels.len();
        first + self.pair_starts[feature as usize]..first + self.pair_starts[feature as usize + 1]
    }

    /// The row of a node feature.
    pub(in crate::train) fn row_of_node(&self, feature: FeatureId) -> usize {
        feature as usize
    }

    /// The row of an edge feature.
    pub(in crate::train) fn row_of_edge(&self, feature: FeatureId) -> usize {
        self.row_starts.len() - 1 + feature as usize
    }

    /// The edges of every step, if none depend on the input.
    pub(in crate::train) fn shared(&self) -> Option<&Shared> {
        self.shared.as_ref()
    }

    /// Adds to `vector`, for each weight, `scale` times its count in the right labels of an example. All of them have a
    /// weight, because they are observed.
    pub(in crate::train) fn add_gold(&self, example: &Example, scale: f64, vector: &mut [f64]) {
        let Example { features, gold, .. } = example;
        for t in 0..gold.len() {
            for (i, &feature) in features.nodes(t).iter().enumerate() {
                if let Ok(at) = self.row(feature).binary_search(&gold[t]) {
                    let value = features.values(t).map_or(1.0, |values| values[i]);
                    vector[self.row_starts[feature as usize] + at] += scale * value;
                }
            }
            for &feature in features.edges(t) {
                if let Ok(at) = self.pairs_of(feature).binary_search(&(gold[t - 1], gold[t])) {
                    vector[self.edge_range(feature).start + at] += scale;
                }
            }
        }
    }

    /// The weights in the form that a model stores.
    pub(in crate::train) fn finished(&self, weights: &[f64]) -> Result<(NodeWeights, EdgeWeights)> {
        let mut nodes = NodeWeightsBuilder::new(self.labels);
        for feature in 0..self.row_starts.len() as FeatureId - 1 {
            let weights = weights[self.node_range(feature)].iter().map(|&weight| weight as f32);
            nodes.push(self.row(feature).iter().copied().zip(weights))?;
        }
        let edges = (0..self.pair_starts.len() as FeatureId - 1).map(|feature| {
            let weights = weights[self.edge_range(feature)].iter().map(|&weight| weight as f32);
            let pairs = self.pairs_of(feature).iter().zip(weights);
            pairs.map(|(&(from, to), weight)| EdgeWeight { from, to, weight }).collect()
        });
        Ok((nodes.finish(), EdgeWeights::new(self.labels, edges)?))
    }
}

impl Layout for RowLayout {
    fn len(&self) -> usize {
        self.row_labels.len() + self.pairs.len()
    }

    fn rows(&self) -> usize {
        self.row_starts.len() + self.pair_starts.len() - 2
    }

    fn range_of_row(&self, row: usize) -> Range<usize> {
        match row.checked_sub(self.row_starts.len() - 1) {
            None => self.node_range(row as FeatureId),
            Some(edge) => self.edge_range(edge as FeatureId),
        }
    }
}

/// One sorted list per feature, end to end, and where each begins.
pub(in crate::train) fn lists<M: Ord + Copy>(
    features: usize,
    mut members: Vec<(FeatureId, M)>,
) -> (Vec<usize>, Vec<M>) {
    members.sort_unstable();
    let mut starts = vec![0; features + 1];
    members.iter().for_each(|(feature, _)| starts[*feature as usize + 1] += 1);
    for feature in 0..features {
        starts[feature + 1] += starts[feature];
    }
    (starts, members.into_iter().map(|(_, member)| member).collect())
}
