//! Feature rows as a [family](super::Family): labelled text, and weights of the features that occur in it.
//!
//! **What.** [`TrainingSet`] is the data; perceptrons correct [`GrowingWeights`]; CRFs differentiate [`RowLayout`] and
//! [`RowPoint`]. **Cost.** Weights exist only for what has occurred, never for all pairs of feature and label.

mod data;
mod growing_weights;
mod layout;
mod observed;
mod point;

pub use data::{Example, TrainingSet};
pub use growing_weights::GrowingWeights;
pub(in crate::train) use growing_weights::{Finished, Size};
pub use layout::RowLayout;
pub(in crate::train) use layout::{Names, lists};
pub(in crate::train) use observed::Observed;
pub use point::{RowPoint, RowSums};

use super::family::{Differentiable, Family, Scope, Tally};
use super::{Averaging, Change, Update};
use crate::feature::FeatureId;
use crate::model::{LabelGroups, LabelParts, Model, ModelParts, Voters, VotersBuilder};
use crate::scoring::rows::{self, ScoreBuffer};
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelId;
use kbest_core::Positions;
use kbest_core::lattice::Lattice;
use kbest_core::{Error, Result};

/// A weight of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowParameter {
    /// Of a node feature.
    Node {
        /// The feature.
        feature: FeatureId,
        /// A label, or `L` plus a part of labels.
        column: u32,
    },
    /// Of an edge feature.
    Edge {
        /// The feature.
        feature: FeatureId,
        /// The label before.
        from: LabelId,
        /// The label after.
        to: LabelId,
    },
    /// Of parts of neighbouring labels.
    Agreement {
        /// Its number: see [`LabelGroups::describe`].
        weight: u32,
    },
}

impl Family for TrainingSet {
    type Structure = Positions;
    type Parameter = RowParameter;
    type Weights = GrowingWeights;
    type Memory = ScoreBuffer;
    type Model = Model;

    fn example_count(&self) -> usize {
        self.examples().len()
    }

    fn gold(&self, example: usize) -> &[LabelId] {
        &self.examples()[example].gold
    }

    fn weight(&self, example: usize) -> f64 {
        self.examples()[example].weight
    }

    fn accept(&self, averaging: Averaging, _update: Update) -> Result<()> {
        match self.agreement() {
            Some(_) if averaging == Averaging::Voted => {
                let expected = "a perceptron that does not vote, for weights between parts of labels";
                Err(Error::argument("algorithm", expected, "voted"))
            }
            _ => Ok(()),
        }
    }

    fn zero(&self) -> Result<GrowingWeights> {
        GrowingWeights::new(self)
    }

    fn lattice<'a>(
        &'a self,
        weights: &'a GrowingWeights,
        example: usize,
        memory: &'a mut ScoreBuffer,
    ) -> Result<Lattice<'a, f32>> {
        rows::lattice(weights, &self.examples()[example].features, memory)
    }

    fn difference(&self, example: usize, answer: &[LabelId], changes: &mut Vec<Change<RowParameter>>) {
        difference(&self.examples()[example], answer, self.label_parts(), changes);
        if let Some(groups) = self.agreement() {
            agreement_difference(&self.examples()[example].gold, answer, groups, changes);
        }
    }

    fn apply(&self, weights: &mut GrowingWeights, change: Change<RowParameter>, clock: f64) -> Result<()> {
        weights.add(change.parameter, change.by, clock)
    }

    fn settle(&self, weights: &mut GrowingWeights) -> Result<()> {
        weights.settle()
    }

    fn absorb(&self, weights: &mut GrowingWeights, other: &GrowingWeights, share: f32) -> Result<()> {
        weights.absorb(other, share)
    }

    fn record(&self, voters: &mut VotersBuilder, Change { parameter, by }: Change<RowParameter>) {
        match parameter {
            RowParameter::Node { feature, column } => voters.change_node(feature, column, by),
            RowParameter::Edge { feature, from, to } => voters.change_edge(feature, from, to, by),
            RowParameter::Agreement { .. } => unreachable!("`accept` refuses to vote on these"),
        }
    }

    fn save(&self, weights: &GrowingWeights, state: &mut StateWriter) {
        weights.save(state);
    }

    fn restore(&self, state: &mut StateReader<'_>) -> Result<GrowingWeights> {
        GrowingWeights::restore(self, state)
    }

    fn model(
        &self,
        weights: &GrowingWeights,
        average_up_to: Option<f64>,
        voters: Option<Voters>,
    ) -> Result<Model> {
        let Finished { nodes, edges, agreement } = weights.finished(average_up_to)?;
        let (labels, extractor) = (self.labels().clone(), self.extractor().clone());
        let label_parts = self.label_parts().cloned();
        let parts = ModelParts::new(labels, extractor, nodes, edges);
        Model::new(ModelParts { label_parts, agreement, voters, ..parts })
    }
}

/// The features of the right labels, minus those of an answer, as far as it reaches.
fn difference(
    Example { features, gold, .. }: &Example,
    answer: &[LabelId],
    label_parts: Option<&LabelParts>,
    changes: &mut Vec<Change<RowParameter>>,
) {
    for t in 0..answer.len() {
        if gold[t] != answer[t] {
            let of = |y| label_parts.map_or(&[][..], |parts| parts.of(y));
            let first_part = label_parts.map_or(0, LabelParts::labels) as u32;
            let (right_parts, wrong_parts) = (of(gold[t]), of(answer[t]));
            for (i, &feature) in features.nodes(t).iter().enumerate() {
                let by = features.values(t).map_or(1.0, |values| values[i] as f32);
                let mut push = |column: u32, by: f32| {
                    changes.push(Change { parameter: RowParameter::Node { feature, column }, by });
                };
                push(gold[t], by);
                push(answer[t], -by);
                // Parts that both have would gain and lose the same.
                let missed = right_parts.iter().filter(|part| !wrong_parts.contains(part));
                missed.for_each(|part| push(first_part + part, by));
                let false_parts = wrong_parts.iter().filter(|part| !right_parts.contains(part));
                false_parts.for_each(|part| push(first_part + part, -by));
            }
        }
        if t > 0 && (gold[t - 1], gold[t]) != (answer[t - 1], answer[t]) {
            for &feature in features.edges(t) {
                let pair =
                    |labels: &[LabelId]| RowParameter::Edge { feature, from: labels[t - 1], to: labels[t] };
                changes.push(Change { parameter: pair(gold), by: 1.0 });
                changes.push(Change { parameter: pair(answer), by: -1.0 });
            }
        }
    }
}

/// The pairs of parts of the right labels, minus those of an answer. Pairs that both have would gain and lose the same.
fn agreement_difference(
    gold: &[LabelId],
    answer: &[LabelId],
    groups: &LabelGroups,
    changes: &mut Vec<Change<RowParameter>>,
) {
    for t in 1..answer.len() {
        if (gold[t - 1], gold[t]) == (answer[t - 1], answer[t]) {
            continue;
        }
        let (right, wrong) = (groups.of_pair(gold[t - 1], gold[t]), groups.of_pair(answer[t - 1], answer[t]));
        for (right, wrong) in right.into_iter().zip(wrong).filter(|(right, wrong)| right != wrong) {
            for (weight, by) in [(right, 1.0), (wrong, -1.0)] {
                let parameter = RowParameter::Agreement { weight: weight as u32 };
                changes.push(Change { parameter, by });
            }
        }
    }
}

impl Differentiable for TrainingSet {
    type Layout = RowLayout;
    type Point<'a> = RowPoint<'a>;
    type Sums = RowSums;

    fn layout(&self, scope: Scope) -> RowLayout {
        RowLayout::new(Names::of(self), self.extractor(), self.examples(), scope)
    }

    fn visit_rows(&self, layout: &RowLayout, example: usize, mut visit: impl FnMut(usize)) {
        let features = &self.examples()[example].features;
        for t in 0..features.len() {
            features.nodes(t).iter().for_each(|&feature| visit(layout.row_of_node(feature)));
            features.edges(t).iter().for_each(|&feature| visit(layout.row_of_edge(feature)));
        }
        layout.row_of_agreement().into_iter().for_each(visit);
    }

    fn add_gold(&self, layout: &RowLayout, example: usize, scale: f64, vector: &mut [f64]) {
        layout.add_gold(&self.examples()[example], scale, vector);
    }

    fn point<'a>(&'a self, layout: &'a RowLayout, vector: &'a [f64]) -> Result<RowPoint<'a>> {
        RowPoint::new(layout, vector)
    }

    fn begin(&self, point: &RowPoint<'_>, sums: &mut RowSums) -> Result<()> {
        point.begin(sums)
    }

    fn expect(
        &self,
        point: &RowPoint<'_>,
        example: usize,
        sums: &mut RowSums,
        gradient: &mut [f64],
    ) -> Result<Tally> {
        point.expect(&self.examples()[example], sums, gradient)
    }

    fn end(&self, point: &RowPoint<'_>, sums: &RowSums, gradient: &mut [f64]) {
        point.end(sums, gradient);
    }

    fn model_at(&self, layout: &RowLayout, vector: &[f64]) -> Result<Model> {
        let Finished { nodes, edges, agreement } = layout.finished(vector)?;
        let label_parts = layout.label_parts().cloned();
        let parts = ModelParts::new(self.labels().clone(), self.extractor().clone(), nodes, edges);
        Model::new(ModelParts { label_parts, agreement, ..parts })
    }
}
