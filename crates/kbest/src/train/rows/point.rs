//! Row weights at one point of the parameter space, in `f64`, and the model's expectations there.

use super::Example;
use super::layout::{RowLayout, Shared};
use crate::feature::FeatureId;
use crate::model::{ClassScores, LabelParts, OverClasses, edges_of_best_shape};
use crate::scoring::rows::{self, RowWeights, ScoreBuffer};
use crate::train::family::{Tally, judged};
use kbest_core::LabelId;
use kbest_core::Result;
use kbest_core::lattice::{Edges, Shape};
use kbest_core::marginal::{MarginalScratch, Marginals, PairSums};

/// A vector of weights, ready to score.
#[derive(Debug)]
pub struct RowPoint<'a> {
    pub(super) layout: &'a RowLayout,
    vector: &'a [f64],
    class_scores: Vec<f64>, // C x C: of agreement, if there is any
    shared: Option<Edges<f64>>,
}

impl<'a> RowPoint<'a> {
    pub(super) fn new(layout: &'a RowLayout, vector: &'a [f64]) -> Result<Self> {
        let between = vector[layout.agreement_range()].iter().copied();
        let groups = layout.agreement();
        let class_scores = groups.map_or_else(Vec::new, |groups| ClassScores::of(groups, between));
        let over = groups.map(|groups| OverClasses::new(groups, &class_scores));
        let shared = layout.shared().map(|shared| {
            let mut sums = vec![0.0; shared.pairs.len()];
            shared.weights.iter().for_each(|&(slot, place)| sums[slot as usize] += vector[place]);
            // Zero weights stay exceptions, so that the expectations of all pairs with a weight are computed.
            let triples = shared.pairs.iter().zip(&sums).map(|(&(from, to), &sum)| (from, to, sum));
            edges_of_best_shape(layout.labels, over, triples)
        });
        let shared = shared.transpose()?;
        Ok(RowPoint { layout, vector, class_scores, shared })
    }
}

impl RowWeights<f64> for RowPoint<'_> {
    fn labels(&self) -> usize {
        self.layout.labels
    }

    fn label_parts(&self) -> Option<&LabelParts> {
        self.layout.label_parts()
    }

    #[inline]
    fn prefetch_nodes(&self, feature: FeatureId, near: bool) {
        self.layout.prefetch(feature, near.then_some(self.vector));
    }

    #[inline]
    fn add_nodes(&self, feature: FeatureId, value: f64, columns: &mut [f64]) {
        let (parts, weights) = self.layout.split(feature, self.vector);
        let (scores, of_parts) = columns.split_at_mut(self.layout.labels);
        of_parts.iter_mut().zip(parts).for_each(|(score, weight)| *score += value * weight);
        if weights.len() == scores.len() {
            // All labels: a vector loop.
            scores.iter_mut().zip(weights).for_each(|(score, weight)| *score += value * weight);
            return;
        }
        for (&y, weight) in self.layout.row(feature).iter().zip(weights) {
            scores[y as usize] += value * weight;
        }
    }

    fn shared_edges(&self) -> Option<&Edges<f64>> {
        self.shared.as_ref()
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f64>> {
        let of = |id: FeatureId| {
            let weights = &self.vector[self.layout.edge_range(id)];
            self.layout.pairs_of(id).iter().zip(weights).map(|(&(from, to), &weight)| (from, to, weight))
        };
        let mut triples: Vec<(LabelId, LabelId, f64)> = features.iter().flat_map(|&id| of(id)).collect();
        triples.sort_by_key(|&(from, to, _)| (from, to)); // stable: added in the order of the features
        triples.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let groups = self.layout.agreement();
        let over = groups.map(|groups| OverClasses::new(groups, &self.class_scores));
        edges_of_best_shape(self.layout.labels, over, triples.into_iter())
    }

    fn start(&self) -> Option<&[f64]> {
        None
    }

    fn end(&self) -> Option<&[f64]> {
        None
    }
}

/// The memory of one thread, and its sums over pairs of labels.
#[derive(Debug, Default)]
pub struct RowSums {
    pairs: PairSums,
    scores: ScoreBuffer<f64>,
    marginals: MarginalScratch,
    parts: PartSums,
}

/// Posteriors of the parts of labels at one position, and working memory.
#[derive(Debug, Default)]
struct PartSums {
    posteriors: Vec<f64>,
    sums: Vec<f64>,
}

impl RowPoint<'_> {
    pub(super) fn begin(&self, sums: &mut RowSums) -> Result<()> {
        match self.shared_edges() {
            Some(edges) if self.layout.agreement().is_some() => sums.pairs.reset_with_classes(edges),
            Some(edges) => sums.pairs.reset(edges),
            None => Ok(()),
        }
    }

    pub(super) fn expect(
        &self,
        example: &Example,
        sums: &mut RowSums,
        gradient: &mut [f64],
    ) -> Result<Tally> {
        let lattice = rows::lattice(self, &example.features, &mut sums.scores)?;
        let (marginals, tally) = judged(&lattice, &example.gold, example.weight, &mut sums.marginals)?;
        add_nodes(self.layout, example, &marginals, &mut sums.parts, gradient);
        match self.layout.shared() {
            Some(_) => sums.pairs.add(&marginals, example.weight),
            None => {
                add_observed_edges(self.layout, example, &marginals, gradient);
                add_observed_agreement(self.layout, example, &marginals, gradient);
            }
        }
        Ok(tally)
    }

    pub(super) fn end(&self, sums: &RowSums, gradient: &mut [f64]) {
        if let (Some(shared), Some(edges)) = (self.layout.shared(), self.shared_edges()) {
            add_shared_edges(shared, &sums.pairs, edges, gradient);
            add_agreement(self.layout, &sums.pairs, edges, gradient);
        }
    }
}

fn add_nodes(
    layout: &RowLayout,
    example: &Example,
    marginals: &Marginals<'_, f64>,
    parts: &mut PartSums,
    gradient: &mut [f64],
) {
    let features = &example.features;
    for t in 0..features.len() {
        if t + 1 < features.len() {
            // Where the labels of the rows are was looked up for the scores; their gradient lies elsewhere.
            features.nodes(t + 1).iter().for_each(|&feature| layout.prefetch(feature, Some(gradient)));
        }
        let posteriors = marginals.node(t);
        if let Some(label_parts) = layout.label_parts() {
            label_parts.collect(posteriors, &mut parts.posteriors, &mut parts.sums);
        }
        for (i, &feature) in features.nodes(t).iter().enumerate() {
            let scale = features.values(t).map_or(example.weight, |values| example.weight * values[i]);
            let (of_parts, row) = layout.split_mut(feature, gradient);
            of_parts.iter_mut().zip(&parts.posteriors).for_each(|(g, posterior)| *g += scale * posterior);
            if row.len() == posteriors.len() {
                row.iter_mut().zip(posteriors).for_each(|(g, posterior)| *g += scale * posterior);
                continue;
            }
            for (g, &y) in row.iter_mut().zip(layout.row(feature)) {
                *g += scale * posteriors[y as usize];
            }
        }
    }
}

/// Pair by pair: features that depend on the input seldom have many.
fn add_observed_edges(
    layout: &RowLayout,
    example: &Example,
    marginals: &Marginals<'_, f64>,
    gradient: &mut [f64],
) {
    for t in 1..example.features.len() {
        for &feature in example.features.edges(t) {
            let row = &mut gradient[layout.edge_range(feature)];
            for (g, &(p, y)) in row.iter_mut().zip(layout.pairs_of(feature)) {
                *g += example.weight * marginals.edge(t, p as usize, y as usize);
            }
        }
    }
}

/// The same for parts of neighbouring labels: every pair of labels counts.
fn add_observed_agreement(
    layout: &RowLayout,
    example: &Example,
    marginals: &Marginals<'_, f64>,
    gradient: &mut [f64],
) {
    let Some(groups) = layout.agreement() else { return };
    let between = &mut gradient[layout.agreement_range()];
    let labels = 0..layout.labels as LabelId;
    for (p, y) in labels.clone().flat_map(|p| labels.clone().map(move |y| (p, y))) {
        let steps = 1..example.features.len();
        let sum: f64 = steps.map(|t| marginals.edge(t, p as usize, y as usize)).sum();
        groups.visit_pair(p, y, |weight| between[weight] += example.weight * sum);
    }
}

/// Weights between parts: of classes, or of all pairs of labels if the edges are a matrix.
fn add_agreement(layout: &RowLayout, sums: &PairSums, edges: &Edges<f64>, gradient: &mut [f64]) {
    let Some(groups) = layout.agreement() else { return };
    let between = &mut gradient[layout.agreement_range()];
    if matches!(edges.shape(), Shape::Dense(_)) {
        sums.visit(edges, |p, y, sum| {
            groups.visit_pair(p as LabelId, y as LabelId, |weight| between[weight] += sum);
        });
    } else {
        sums.visit_classes(edges, |c, d, sum| groups.visit_classes(c, d, |weight| between[weight] += sum));
    }
}

/// Both the sums and the pairs are in ascending order.
fn add_shared_edges(shared: &Shared, sums: &PairSums, edges: &Edges<f64>, gradient: &mut [f64]) {
    let mut expected = Vec::with_capacity(shared.pairs.len());
    sums.visit(edges, |p, y, sum| {
        if shared.pairs.get(expected.len()) == Some(&(p as LabelId, y as LabelId)) {
            expected.push(sum);
        }
    });
    shared.weights.iter().for_each(|&(slot, place)| gradient[place] += expected[slot as usize]);
}
