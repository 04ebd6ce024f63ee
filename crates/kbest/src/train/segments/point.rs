//! Weights of segments at one point of the parameter space, in `f64`, and the model's expectations there.

use super::data::{SegmentExample, SegmentTrainingSet};
use super::layout::{Pair, SegmentLayout};
use super::weights::WholeRows;
use super::whole_scores;
use crate::feature::FeatureId;
use crate::model::{LabelParts, allowed, edges_of_best_shape};
use crate::scoring::rows::RowWeights;
use crate::scoring::{PlaceScores, place_lattice};
use crate::train::family::Tally;
use kbest_core::Result;
use kbest_core::lattice::Edges;
use kbest_core::segment::Marginals;

/// A vector of weights, ready to score.
#[derive(Debug)]
pub struct SegmentPoint<'a> {
    data: &'a SegmentTrainingSet,
    layout: &'a SegmentLayout,
    vector: &'a [f64],
    shared: Option<Edges<f64>>,
}

/// The memory of one thread.
#[derive(Debug, Default)]
pub struct SegmentSums {
    scores: PlaceScores<f64>,
    whole: WholeScores<f64>,
    begin: Vec<f64>, // T x L: probability that a segment of a label begins here
    end: Vec<f64>,   // T x L
    segment: Vec<f64>,
}

/// Scores of an example that whole segments have.
#[derive(Debug, Default)]
pub(super) struct WholeScores<S> {
    pub(super) spans: Vec<S>,     // T x W x L
    pub(super) durations: Vec<S>, // W x L
    pub(super) borders: [Vec<S>; 2],
}

impl<'a> SegmentPoint<'a> {
    pub(super) fn new(
        data: &'a SegmentTrainingSet,
        layout: &'a SegmentLayout,
        vector: &'a [f64],
    ) -> Result<Self> {
        let mut point = SegmentPoint { data, layout, vector, shared: None };
        if !data.extractor().source().has_observed_edges() {
            point.shared = Some(point.observed_edges(data.extractor().shared_edges())?);
        }
        Ok(point)
    }

    /// Adds the expected counts of an example to the gradient.
    pub(super) fn expect(
        &self,
        example: &SegmentExample,
        sums: &mut SegmentSums,
        gradient: &mut [f64],
    ) -> Result<Tally> {
        let SegmentSums { scores, whole, begin, end, segment } = sums;
        let (labels, positions) = (self.layout.labels, example.features.len());
        whole_scores(self.data, example, whole, |row, scores: &mut [f64]| self.add_whole(row, scores));
        let longest = self.data.longest().iter().map(|&longest| longest as usize).collect();
        let lattice = place_lattice(self, &example.features, scores, [&whole.borders[0], &whole.borders[1]])?
            .with_durations(&whole.durations[..])?
            .with_scores(example.spans.longest(), &whole.spans[..])?
            .with_longest_by_label(longest)?;
        let marginals = Marginals::new(&lattice)?;
        let loss = marginals.log_partition() - lattice.segmentation_score(&example.gold)?;
        for list in [&mut *begin, end] {
            list.clear();
            list.resize(positions * labels, 0.0);
        }
        let rows = WholeRows::of(self.data);
        for s in 0..positions {
            for length in 1..=example.spans.longest().min(positions - s) {
                segment.clear();
                segment.extend((0..labels).map(|y| marginals.segment(s, s + length, y as u32)));
                for (y, p) in segment.iter().enumerate() {
                    begin[s * labels + y] += p;
                    end[(s + length - 1) * labels + y] += p;
                }
                let own = example.spans.of(s, s + length).iter().copied();
                for row in own.chain([rows.length(length)]) {
                    self.add_row(row, segment, example.weight, gradient);
                }
            }
        }
        let inside = marginals.labels();
        self.add_row(rows.first(), &begin[..labels], example.weight, gradient);
        self.add_row(rows.last(), &end[(positions - 1) * labels..], example.weight, gradient);
        let places = [&inside[..], begin, end];
        for t in 0..positions {
            for (i, &feature) in example.features.nodes(t).iter().enumerate() {
                let value = example.features.values(t).map_or(1.0, |values| values[i]);
                let range = self.layout.node_range(feature);
                for (g, &column) in gradient[range].iter_mut().zip(self.layout.columns_of(feature)) {
                    let (place, y) = (column as usize / labels, column as usize % labels);
                    *g += example.weight * value * places[place][t * labels + y];
                }
            }
            for &feature in example.features.edges(t) {
                let range = self.layout.edge_range(feature);
                for (g, &(p, y)) in gradient[range].iter_mut().zip(self.layout.pairs_of(feature)) {
                    *g += example.weight * marginals.transition(t, p, y);
                }
            }
        }
        let likeliest = |t: usize, y: u32| {
            let row = &inside[t * labels..][..labels];
            row.iter().all(|p| *p <= row[y as usize])
        };
        let gold = example.gold.iter();
        let right = gold.flat_map(|part| (part.start..part.end).map(|t| likeliest(t, part.label)));
        let right = right.filter(|right| *right).count();
        Ok(Tally { loss: example.weight * loss.max(0.0), right }) // below zero only by rounding
    }

    fn add_whole(&self, row: u32, scores: &mut [f64]) {
        let weights = &self.vector[self.layout.whole_range(row)];
        for (&y, weight) in self.layout.whole_of(row).iter().zip(weights) {
            scores[y as usize] += weight;
        }
    }

    fn add_row(&self, row: u32, expected: &[f64], weight: f64, gradient: &mut [f64]) {
        let range = self.layout.whole_range(row);
        for (g, &y) in gradient[range].iter_mut().zip(self.layout.whole_of(row)) {
            *g += weight * expected[y as usize];
        }
    }
}

impl RowWeights<f64> for SegmentPoint<'_> {
    fn labels(&self) -> usize {
        self.layout.labels
    }

    fn label_parts(&self) -> Option<&LabelParts> {
        None
    }

    #[inline]
    fn prefetch_nodes(&self, _feature: FeatureId, _near: bool) {}

    #[inline]
    fn add_nodes(&self, feature: FeatureId, value: f64, columns: &mut [f64]) {
        let weights = &self.vector[self.layout.node_range(feature)];
        for (&column, weight) in self.layout.columns_of(feature).iter().zip(weights) {
            columns[column as usize] += value * weight;
        }
    }

    fn shared_edges(&self) -> Option<&Edges<f64>> {
        self.shared.as_ref()
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f64>> {
        let of = |id: FeatureId| {
            let weights = &self.vector[self.layout.edge_range(id)];
            self.layout.pairs_of(id).iter().copied().zip(weights.iter().copied())
        };
        let mut sums: Vec<(Pair, f64)> = features.iter().flat_map(|&id| of(id)).collect();
        sums.sort_by_key(|&(pair, _)| pair); // stable: added in the order of the features
        sums.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let triples = sums.into_iter().map(|((from, to), sum)| (from, to, sum));
        allowed(edges_of_best_shape(self.layout.labels, None, triples)?, self.data.spelling())
    }

    fn start(&self) -> Option<&[f64]> {
        None // handed to `place_lattice`
    }

    fn end(&self) -> Option<&[f64]> {
        None
    }
}
