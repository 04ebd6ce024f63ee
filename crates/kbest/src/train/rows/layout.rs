//! The weights of a linear model, and their indices in the one vector that trainers of all weights at once work on.
//!
//! ```text
//! node weights, by feature: parts of labels, then labels ascending | edge weights, by feature, pairs ascending
//!     | weights between parts of neighbouring labels
//! ```
//!
//! Pairs of feature and label that never occur together in the training data have no weight unless requested, so the
//! vector has only a few times as many entries as there are features, whatever `L` is. If labels have
//! [parts](LabelParts), every feature has a weight for each of them, observed or not: they are few, and that a feature
//! speaks against a part is worth knowing.

use super::{Example, Finished, Observed, TrainingSet};
use crate::feature::{Extractor, FeatureId};
use crate::memory::prefetch;
use crate::model::{Agreement, EdgeWeight, EdgeWeights, LabelGroups, LabelParts, NodeWeightsBuilder};
use crate::train::family::{Layout, Scope};
use kbest_core::LabelId;
use kbest_core::Result;
use std::ops::Range;

/// Two neighbouring labels: the one before, the one after.
pub(super) type Pair = (LabelId, LabelId);

/// The layout of the vector.
#[derive(Debug)]
pub struct RowLayout {
    pub(super) labels: usize,
    label_parts: Option<LabelParts>,
    agreement: Option<LabelGroups>,
    parts: usize,             // P, or 0 if labels have none
    row_starts: Vec<usize>,   // F + 1: where the node weights of each feature begin, those of parts first
    row_labels: Vec<LabelId>, // one per node weight of a label
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

/// What weights are of, besides features.
#[derive(Debug, Clone, Copy)]
pub(in crate::train) struct Names<'a> {
    pub(in crate::train) labels: usize,
    pub(in crate::train) label_parts: Option<&'a LabelParts>,
    pub(in crate::train) agreement: Option<&'a LabelGroups>,
}

impl<'a> Names<'a> {
    /// Labels, their parts and groups of parts, as far as they have any.
    pub(in crate::train) fn of(data: &'a TrainingSet) -> Self {
        let labels = data.labels().len();
        Names { labels, label_parts: data.label_parts(), agreement: data.agreement() }
    }

    /// Labels alone.
    pub(in crate::train) fn labels(labels: usize) -> Self {
        Names { labels, label_parts: None, agreement: None }
    }
}

impl RowLayout {
    /// The weights of what occurs in the examples; of all labels or pairs of labels if requested; of all parts of labels,
    /// if they have any.
    pub(in crate::train) fn new(
        names: Names<'_>,
        extractor: &Extractor,
        examples: &[Example],
        scope: Scope,
    ) -> Self {
        Self::of_observed(names, extractor, Observed::of(examples), scope)
    }

    /// The same, from what occurs.
    pub(in crate::train) fn of_observed(
        names: Names<'_>,
        extractor: &Extractor,
        observed: Observed,
        scope: Scope,
    ) -> Self {
        let Names { labels, label_parts, agreement } = names;
        let ids = 0..labels as LabelId;
        let (row_starts, row_labels) = if scope.all_states {
            let starts: Vec<usize> = (0..=extractor.nodes().len()).map(|i| i * labels).collect();
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
        let parts = label_parts.map_or(0, LabelParts::parts);
        let row_starts =
            row_starts.into_iter().zip(0..).map(|(start, feature)| start + feature * parts).collect();
        let mut layout = RowLayout {
            labels,
            label_parts: label_parts.cloned(),
            agreement: agreement.cloned(),
            parts,
            row_starts,
            row_labels,
            pair_starts,
            pairs,
            shared: None,
        };
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

    /// The parts of labels that have weights, if any.
    pub(super) fn label_parts(&self) -> Option<&LabelParts> {
        self.label_parts.as_ref()
    }

    /// The groups of parts of neighbouring labels that have weights, if any.
    pub(super) fn agreement(&self) -> Option<&LabelGroups> {
        self.agreement.as_ref()
    }

    /// The indices of these weights.
    pub(super) fn agreement_range(&self) -> Range<usize> {
        let start = self.row_starts[self.row_starts.len() - 1] + self.pairs.len();
        start..start + self.agreement().map_or(0, LabelGroups::weights)
    }

    /// Their row, if there are any.
    pub(super) fn row_of_agreement(&self) -> Option<usize> {
        self.agreement().map(|_| self.row_starts.len() + self.pair_starts.len() - 2)
    }

    /// The labels that a node feature has weights for, ascending.
    #[inline]
    pub(in crate::train) fn row(&self, feature: FeatureId) -> &[LabelId] {
        &self.row_labels[self.first_label(feature)..self.first_label(feature + 1)]
    }

    /// Where the labels of a node feature begin.
    #[inline]
    fn first_label(&self, feature: FeatureId) -> usize {
        self.row_starts[feature as usize] - feature as usize * self.parts
    }

    /// The weights of a node feature in a vector: those of all parts, and those of its labels.
    #[inline]
    pub(super) fn split<'v>(&self, feature: FeatureId, vector: &'v [f64]) -> (&'v [f64], &'v [f64]) {
        vector[self.node_range(feature)].split_at(self.parts)
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn split_mut<'v>(
        &self,
        feature: FeatureId,
        vector: &'v mut [f64],
    ) -> (&'v mut [f64], &'v mut [f64]) {
        vector[self.node_range(feature)].split_at_mut(self.parts)
    }

    /// The indices of the weights of a node feature.
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
                prefetch(&self.row_labels, self.first_label(feature));
                prefetch(vector, self.row_starts[feature as usize]);
            }
        }
    }

    /// The pairs that an edge feature has weights for, ascending.
    pub(in crate::train) fn pairs_of(&self, feature: FeatureId) -> &[Pair] {
        &self.pairs[self.pair_starts[feature as usize]..self.pair_starts[feature as usize + 1]]
    }

    /// The indices of these weights.
    pub(in crate::train) fn edge_range(&self, feature: FeatureId) -> Range<usize> {
        let first = self.row_starts[self.row_starts.len() - 1];
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
                let value = features.values(t).map_or(1.0, |values| values[i]);
                let (parts, labels) = self.split_mut(feature, vector);
                if let Ok(at) = self.row(feature).binary_search(&gold[t]) {
                    labels[at] += scale * value;
                }
                let of_gold = self.label_parts().map_or(&[][..], |parts| parts.of(gold[t]));
                of_gold.iter().for_each(|&part| parts[part as usize] += scale * value);
            }
            for &feature in features.edges(t) {
                if let Ok(at) = self.pairs_of(feature).binary_search(&(gold[t - 1], gold[t])) {
                    vector[self.edge_range(feature).start + at] += scale;
                }
            }
        }
        if let Some(groups) = self.agreement() {
            let between = &mut vector[self.agreement_range()];
            for pair in gold.windows(2) {
                groups.visit_pair(pair[0], pair[1], |weight| between[weight] += scale);
            }
        }
    }

    /// The weights in the form that a model stores.
    pub(in crate::train) fn finished(&self, weights: &[f64]) -> Result<Finished> {
        let mut nodes = NodeWeightsBuilder::new(self.labels + self.parts);
        for feature in 0..self.row_starts.len() as FeatureId - 1 {
            let (parts, labels) = self.split(feature, weights);
            let labels = self.row(feature).iter().copied().zip(labels);
            let parts = (self.labels as u32..).zip(parts);
            nodes.push(labels.chain(parts).map(|(column, &weight)| (column, weight as f32)))?;
        }
        let edges = (0..self.pair_starts.len() as FeatureId - 1).map(|feature| {
            let weights = weights[self.edge_range(feature)].iter().map(|&weight| weight as f32);
            let pairs = self.pairs_of(feature).iter().zip(weights);
            pairs.map(|(&(from, to), weight)| EdgeWeight { from, to, weight }).collect()
        });
        let agreement = self.agreement().map(|groups| {
            let between = weights[self.agreement_range()].iter().map(|&weight| weight as f32);
            Agreement::new(groups.clone(), between.collect())
        });
        Ok(Finished {
            nodes: nodes.finish(),
            edges: EdgeWeights::new(self.labels, edges)?,
            agreement: agreement.transpose()?,
        })
    }
}

impl Layout for RowLayout {
    fn len(&self) -> usize {
        self.agreement_range().end
    }

    fn rows(&self) -> usize {
        self.row_starts.len() + self.pair_starts.len() - 2 + usize::from(self.agreement.is_some())
    }

    fn range_of_row(&self, row: usize) -> Range<usize> {
        if Some(row) == self.row_of_agreement() {
            return self.agreement_range();
        }
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
