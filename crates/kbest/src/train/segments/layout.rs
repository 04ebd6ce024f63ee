//! The weights of a model of segments in one vector.
//!
//! ```text
//! node weights, by feature, columns ascending | edge weights, by feature, pairs ascending | rows of whole segments
//! ```
//!
//! Weights exist for what occurs in the training data, as in models of positions.

use super::data::{SegmentExample, SegmentTrainingSet};
use super::weights::{SegmentParameter, WholeRows};
use super::{Counting, model_of};
use crate::feature::FeatureId;
use crate::model::{EdgeWeight, EdgeWeights, NodeWeights, NodeWeightsBuilder, PLACES, SegmentModel};
use crate::train::family::{Layout, Scope};
use crate::train::rows::{RowParameter, lists};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use kbest_core::LabelId;
use kbest_core::Result;
use std::ops::Range;

/// Two neighbouring labels: the one before, the one after.
pub(super) type Pair = (LabelId, LabelId);

/// The layout of the vector.
#[derive(Debug)]
pub struct SegmentLayout {
    pub(super) labels: usize,
    node_starts: Vec<usize>,  // one more than node features
    columns: Vec<u32>,        // one per node weight
    pair_starts: Vec<usize>,  // one more than edge features
    pairs: Vec<Pair>,         // one per edge weight
    whole_starts: Vec<usize>, // one more than rows of whole segments
    whole: Vec<LabelId>,      // one per weight of these
}

impl SegmentLayout {
    pub(super) fn new(data: &SegmentTrainingSet, scope: Scope) -> Self {
        let labels = data.labels().len();
        let (nodes, edges) = (data.extractor().nodes().len(), data.extractor().edges().len());
        let rows = WholeRows::of(data);
        let mut seen: HashSet<SegmentParameter, FixedState> = HashSet::default();
        for example in data.examples() {
            Counting {
                example,
                rows,
                labels: labels as u32,
                push: |parameter, _| _ = seen.insert(parameter),
            }
            .all(&example.gold, 1.0);
        }
        let (mut node_list, mut pair_list, mut whole_list) = (vec![], vec![], vec![]);
        for parameter in seen {
            match parameter {
                SegmentParameter::Place(RowParameter::Node { feature, column }) => {
                    node_list.push((feature, column))
                }
                SegmentParameter::Place(RowParameter::Edge { feature, from, to }) => {
                    pair_list.push((feature, (from, to)));
                }
                SegmentParameter::Place(RowParameter::Agreement { .. }) => {} // segments have none
                SegmentParameter::Whole { row, label } => whole_list.push((row, label)),
            }
        }
        let all = |rows: usize, columns: usize| -> Vec<(u32, u32)> {
            (0..rows as u32).flat_map(|row| (0..columns as u32).map(move |column| (row, column))).collect()
        };
        if scope.all_states {
            node_list = all(nodes, PLACES * labels);
            whole_list = all(rows.count(), labels);
        }
        if scope.all_transitions {
            let may_repeat = data.spelling().may_repeat();
            let pairs = all(labels, labels).into_iter().filter(|(from, to)| may_repeat || from != to);
            let pairs: Vec<Pair> = pairs.collect();
            pair_list = (0..edges as u32).flat_map(|id| pairs.iter().map(move |&pair| (id, pair))).collect();
        }
        let (node_starts, columns) = lists(nodes, node_list);
        let (pair_starts, pairs) = lists(edges, pair_list);
        let (whole_starts, whole) = lists(rows.count(), whole_list);
        SegmentLayout { labels, node_starts, columns, pair_starts, pairs, whole_starts, whole }
    }

    /// The columns that a node feature has weights for.
    #[inline]
    pub(super) fn columns_of(&self, feature: FeatureId) -> &[u32] {
        &self.columns[self.node_range(feature)]
    }

    #[inline]
    pub(super) fn node_range(&self, feature: FeatureId) -> Range<usize> {
        self.node_starts[feature as usize]..self.node_starts[feature as usize + 1]
    }

    /// The pairs that an edge feature has weights for.
    pub(super) fn pairs_of(&self, feature: FeatureId) -> &[Pair] {
        &self.pairs[self.pair_starts[feature as usize]..self.pair_starts[feature as usize + 1]]
    }

    pub(super) fn edge_range(&self, feature: FeatureId) -> Range<usize> {
        let first = self.columns.len();
        first + self.pair_starts[feature as usize]..first + self.pair_starts[feature as usize + 1]
    }

    /// The labels that a row of whole segments has weights for.
    #[inline]
    pub(super) fn whole_of(&self, row: u32) -> &[LabelId] {
        &self.whole[self.whole_starts[row as usize]..self.whole_starts[row as usize + 1]]
    }

    #[inline]
    pub(super) fn whole_range(&self, row: u32) -> Range<usize> {
        let first = self.columns.len() + self.pairs.len();
        first + self.whole_starts[row as usize]..first + self.whole_starts[row as usize + 1]
    }

    /// The index of a parameter, if it has a weight.
    fn index(&self, parameter: SegmentParameter) -> Option<usize> {
        fn find<T: Ord>(list: &[T], wanted: &T, range: Range<usize>) -> Option<usize> {
            list.binary_search(wanted).ok().map(|at| range.start + at)
        }
        match parameter {
            SegmentParameter::Place(RowParameter::Node { feature, column }) => {
                find(self.columns_of(feature), &column, self.node_range(feature))
            }
            SegmentParameter::Place(RowParameter::Edge { feature, from, to }) => {
                find(self.pairs_of(feature), &(from, to), self.edge_range(feature))
            }
            SegmentParameter::Place(RowParameter::Agreement { .. }) => None, // segments have none
            SegmentParameter::Whole { row, label } => find(self.whole_of(row), &label, self.whole_range(row)),
        }
    }

    /// Adds `scale` times the count of each parameter in the right segments.
    pub(super) fn add_gold(
        &self,
        data: &SegmentTrainingSet,
        example: &SegmentExample,
        scale: f64,
        vector: &mut [f64],
    ) {
        let push = |parameter: SegmentParameter, by: f32| {
            if let Some(at) = self.index(parameter) {
                vector[at] += scale * f64::from(by);
            }
        };
        Counting { example, rows: WholeRows::of(data), labels: self.labels as u32, push }
            .all(&example.gold, 1.0);
    }

    /// Visits the rows that an example has.
    pub(super) fn visit_rows(
        &self,
        data: &SegmentTrainingSet,
        example: &SegmentExample,
        mut visit: impl FnMut(usize),
    ) {
        let (nodes, edges) = (self.node_starts.len() - 1, self.pair_starts.len() - 1);
        let whole = |row: u32| nodes + edges + row as usize;
        let (features, rows) = (&example.features, WholeRows::of(data));
        for t in 0..features.len() {
            features.nodes(t).iter().for_each(|&id| visit(id as usize));
            features.edges(t).iter().for_each(|&id| visit(nodes + id as usize));
        }
        example.spans.all().iter().for_each(|&row| visit(whole(row)));
        (1..=example.spans.longest()).for_each(|length| visit(whole(rows.length(length))));
        [rows.first(), rows.last()].into_iter().for_each(|row| visit(whole(row)));
    }

    /// The model at a point.
    pub(super) fn model(&self, data: &SegmentTrainingSet, vector: &[f64]) -> Result<SegmentModel> {
        let mut nodes = NodeWeightsBuilder::new(PLACES * self.labels);
        for feature in 0..self.node_starts.len() as FeatureId - 1 {
            let weights = vector[self.node_range(feature)].iter().map(|&weight| weight as f32);
            nodes.push(self.columns_of(feature).iter().copied().zip(weights))?;
        }
        let edges = (0..self.pair_starts.len() as FeatureId - 1).map(|feature| {
            let weights = vector[self.edge_range(feature)].iter().map(|&weight| weight as f32);
            let pairs = self.pairs_of(feature).iter().zip(weights);
            pairs.map(|(&(from, to), weight)| EdgeWeight { from, to, weight }).collect()
        });
        let edges = EdgeWeights::new(self.labels, edges)?;
        let whole: NodeWeights = {
            let mut rows = NodeWeightsBuilder::new(self.labels);
            for row in 0..self.whole_starts.len() as u32 - 1 {
                let weights = vector[self.whole_range(row)].iter().map(|&weight| weight as f32);
                rows.push(self.whole_of(row).iter().copied().zip(weights))?;
            }
            rows.finish()
        };
        model_of(data, nodes.finish(), edges, &whole)
    }
}

impl Layout for SegmentLayout {
    fn len(&self) -> usize {
        self.columns.len() + self.pairs.len() + self.whole.len()
    }

    fn rows(&self) -> usize {
        self.node_starts.len() + self.pair_starts.len() + self.whole_starts.len() - 3
    }

    fn range_of_row(&self, row: usize) -> Range<usize> {
        let (nodes, edges) = (self.node_starts.len() - 1, self.pair_starts.len() - 1);
        match row {
            row if row < nodes => self.node_range(row as FeatureId),
            row if row < nodes + edges => self.edge_range((row - nodes) as FeatureId),
            row => self.whole_range((row - nodes - edges) as u32),
        }
    }
}
