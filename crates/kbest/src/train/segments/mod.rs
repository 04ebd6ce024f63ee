//! Segments as a [family](super::Family): labelled text read as segments, and weights of positions and segments.
//!
//! **What.** [`SegmentTrainingSet`] is the data; perceptrons correct [`SegmentWeights`]; CRFs differentiate [`SegmentLayout`]
//! and [`SegmentPoint`]. **Cost.** The features of all segments
//! up to the longest are computed once, before training, and kept as numbers; while training, all of them are scored: under
//! weights that change with every example, bounds would cost more than they save.
//!
//! ```
//! use kbest::feature::{FeatureSource, Preset};
//! use kbest::train::{Perceptron, PerceptronOptions, SegmentOptions, SegmentTrainingSet, Trainer};
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! let mut sequence = Sequence::new();
//! for (word, label) in [("12", "NUMBER"), ("Long", "STREET"), ("Lane", "STREET"), ("Bath", "CITY")] {
//!     sequence.push([word]);
//!     sequence.set_label(label);
//! }
//! let source = FeatureSource::Preset(Preset::Words);
//! let data = SegmentTrainingSet::new(&[sequence], source, 1, SegmentOptions::default())?;
//! let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
//! for _ in 0..5 {
//!     trainer.epoch(&mut |_| ())?;
//! }
//! let mut tagger = Tagger::new(Arc::new(trainer.model()?));
//! let tagged = tagger.tag(&Sequence::from_tokens(["7", "Long", "Lane", "Bath"]), 1)?;
//! let segments = &tagged.decoded.best().segments;
//! assert_eq!(segments.iter().map(|part| part.end).collect::<Vec<_>>(), [1, 3, 4]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod data;
mod layout;
mod lengths;
mod point;
mod weights;

pub use data::{SegmentExample, SegmentOptions, SegmentTrainingSet, SegmentsFrom, SpanFeatures};
pub use layout::SegmentLayout;
pub use point::{SegmentPoint, SegmentSums};
pub use weights::{SegmentParameter, SegmentWeights};

use super::family::{Differentiable, Family, Scope, Tally};
use super::rows::RowParameter;
use super::{Averaging, Change, Update};
use crate::feature::{FeatureBuffer, FeatureId};
use crate::model::{
    EdgeWeights, NodeWeights, NodeWeightsBuilder, SegmentModel, SegmentModelParts, Voters, VotersBuilder,
};
use crate::scoring::{PlaceScores, place_lattice};
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelId;
use kbest_core::Segments;
use kbest_core::segment::{Segment, SegmentLattice};
use kbest_core::simd::Float;
use kbest_core::{Error, Result};
use point::WholeScores;
use weights::WholeRows;

/// The scores of one example.
#[derive(Debug, Default)]
pub struct SegmentFamilyMemory {
    scores: PlaceScores,
    whole: WholeScores<f32>,
}

/// Scores all segments of an example by what whole segments have; `add` adds a row to `L` scores.
fn whole_scores<S: Float>(
    data: &SegmentTrainingSet,
    SegmentExample { features, spans, .. }: &SegmentExample,
    whole: &mut WholeScores<S>,
    add: impl Fn(u32, &mut [S]),
) {
    let (labels, rows) = (data.labels().len(), WholeRows::of(data));
    let refill = |list: &mut Vec<S>, length: usize| {
        list.clear();
        list.resize(length, S::ZERO);
    };
    refill(&mut whole.spans, features.len() * spans.longest() * labels);
    for (i, scores) in whole.spans.chunks_exact_mut(labels).enumerate() {
        let (s, length) = (i / spans.longest(), i % spans.longest() + 1);
        if s + length <= features.len() {
            spans.of(s, s + length).iter().for_each(|&row| add(row, scores));
        }
    }
    refill(&mut whole.durations, spans.longest() * labels);
    for (scores, length) in whole.durations.chunks_exact_mut(labels).zip(1..) {
        add(rows.length(length), scores);
    }
    for (border, row) in whole.borders.iter_mut().zip([rows.first(), rows.last()]) {
        refill(border, labels);
        add(row, border);
    }
}

/// The model of weights; `whole` are the rows of whole segments.
fn model_of(
    data: &SegmentTrainingSet,
    nodes: NodeWeights,
    edges: EdgeWeights,
    whole: &NodeWeights,
) -> Result<SegmentModel> {
    let (labels, rows) = (data.labels().len(), WholeRows::of(data));
    let dense = |row: u32| {
        let mut scores = vec![0.0; labels];
        whole.add_to(row, 1.0, &mut scores);
        scores
    };
    let mut weights = NodeWeightsBuilder::new(labels);
    for row in 0..data.features().keys().len() as FeatureId {
        weights.push(whole.row(row).iter())?;
    }
    SegmentModel::new(SegmentModelParts {
        labels: data.labels().clone(),
        spelling: data.spelling().clone(),
        extractor: data.extractor().clone(),
        nodes,
        edges,
        start: dense(rows.first()),
        end: dense(rows.last()),
        durations: (1..=data.widest()).flat_map(|length| dense(rows.length(length))).collect(),
        longest: data.longest().to_vec(),
        features: data.features().clone(),
        weights: weights.finish(),
        bound: None,
        calibration: None,
        text_format: None,
        about: Vec::new(),
    })
}

impl Family for SegmentTrainingSet {
    type Structure = Segments;
    type Parameter = SegmentParameter;
    type Weights = SegmentWeights;
    type Memory = SegmentFamilyMemory;
    type Model = SegmentModel;

    fn example_count(&self) -> usize {
        self.examples().len()
    }

    fn gold(&self, example: usize) -> &[Segment] {
        &self.examples()[example].gold
    }

    fn weight(&self, example: usize) -> f64 {
        self.examples()[example].weight
    }

    fn accept(&self, averaging: Averaging, _update: Update) -> Result<()> {
        if averaging == Averaging::Voted {
            let expected = "the last weights or their average";
            return Err(Error::argument("averaging of a model of segments", expected, "votes"));
        }
        Ok(())
    }

    fn zero(&self) -> Result<SegmentWeights> {
        SegmentWeights::new(self)
    }

    fn lattice<'a>(
        &'a self,
        weights: &'a SegmentWeights,
        example: usize,
        memory: &'a mut SegmentFamilyMemory,
    ) -> Result<SegmentLattice<'a, f32>> {
        let example = &self.examples()[example];
        let SegmentFamilyMemory { scores, whole } = memory;
        whole_scores(self, example, whole, |row, scores: &mut [f32]| weights.add_whole(row, scores));
        let longest = self.longest().iter().map(|&longest| longest as usize).collect();
        place_lattice(&weights.places, &example.features, scores, [&whole.borders[0], &whole.borders[1]])?
            .with_durations(&whole.durations[..])?
            .with_scores(example.spans.longest(), &whole.spans[..])?
            .with_longest_by_label(longest)
    }

    fn difference(&self, example: usize, answer: &[Segment], changes: &mut Vec<Change<SegmentParameter>>) {
        let example = &self.examples()[example];
        let (rows, labels) = (WholeRows::of(self), self.labels().len() as u32);
        let push = |parameter: SegmentParameter, by: f32| changes.push(Change { parameter, by });
        let mut counting = Counting { example, rows, labels, push };
        counting.count(&example.gold, answer, 1.0);
        counting.count(answer, &example.gold, -1.0);
    }

    fn apply(
        &self,
        weights: &mut SegmentWeights,
        change: Change<SegmentParameter>,
        clock: f64,
    ) -> Result<()> {
        weights.add(change.parameter, change.by, clock)
    }

    fn settle(&self, _weights: &mut SegmentWeights) -> Result<()> {
        Ok(()) // every change is complete
    }

    fn absorb(&self, weights: &mut SegmentWeights, other: &SegmentWeights, share: f32) -> Result<()> {
        weights.absorb(other, share)
    }

    // Nothing to remember: votes are refused.
    fn record(&self, _voters: &mut VotersBuilder, _change: Change<SegmentParameter>) {}

    fn save(&self, weights: &SegmentWeights, state: &mut StateWriter) {
        weights.save(state);
    }

    fn restore(&self, state: &mut StateReader<'_>) -> Result<SegmentWeights> {
        SegmentWeights::new(self)?.restored(state)
    }

    fn model(
        &self,
        weights: &SegmentWeights,
        average_up_to: Option<f64>,
        _voters: Option<Voters>,
    ) -> Result<SegmentModel> {
        weights.model(self, average_up_to)
    }
}

impl Differentiable for SegmentTrainingSet {
    type Layout = SegmentLayout;
    type Point<'a> = SegmentPoint<'a>;
    type Sums = SegmentSums;

    fn layout(&self, scope: Scope) -> SegmentLayout {
        SegmentLayout::new(self, scope)
    }

    fn visit_rows(&self, layout: &SegmentLayout, example: usize, visit: impl FnMut(usize)) {
        layout.visit_rows(self, &self.examples()[example], visit);
    }

    fn add_gold(&self, layout: &SegmentLayout, example: usize, scale: f64, vector: &mut [f64]) {
        layout.add_gold(self, &self.examples()[example], scale, vector);
    }

    fn point<'a>(&'a self, layout: &'a SegmentLayout, vector: &'a [f64]) -> Result<SegmentPoint<'a>> {
        SegmentPoint::new(self, layout, vector)
    }

    fn begin(&self, _point: &SegmentPoint<'_>, _sums: &mut SegmentSums) -> Result<()> {
        Ok(())
    }

    fn expect(
        &self,
        point: &SegmentPoint<'_>,
        example: usize,
        sums: &mut SegmentSums,
        gradient: &mut [f64],
    ) -> Result<Tally> {
        point.expect(&self.examples()[example], sums, gradient)
    }

    fn end(&self, _point: &SegmentPoint<'_>, _sums: &SegmentSums, _gradient: &mut [f64]) {}

    fn model_at(&self, layout: &SegmentLayout, vector: &[f64]) -> Result<SegmentModel> {
        layout.model(self, vector)
    }
}

/// Counts the parameters of segments.
struct Counting<'a, P> {
    example: &'a SegmentExample,
    rows: WholeRows,
    labels: u32,
    push: P,
}

impl<P: FnMut(SegmentParameter, f32)> Counting<'_, P> {
    /// Counts what `parts` have and `others` have not.
    fn count(&mut self, parts: &[Segment], others: &[Segment], by: f32) {
        for (i, &part) in parts.iter().enumerate() {
            let same_start = others.binary_search_by_key(&part.start, |other| other.start).ok();
            if same_start.is_none_or(|j| others[j] != part) {
                self.segment(part, by);
            }
            if i > 0 {
                let before = parts[i - 1].label;
                let step = |j: usize| (others[j - 1].label, others[j].label);
                if same_start.is_none_or(|j| j == 0 || step(j) != (before, part.label)) {
                    self.edge(before, part, by);
                }
            }
        }
        for (row, mine, theirs) in [
            (self.rows.first(), parts.first(), others.first()),
            (self.rows.last(), parts.last(), others.last()),
        ] {
            let label = |part: Option<&Segment>| part.map(|part| part.label);
            if let Some(label) = label(mine).filter(|_| label(mine) != label(theirs)) {
                (self.push)(SegmentParameter::Whole { row, label }, by);
            }
        }
    }

    /// Counts all that these segments have.
    fn all(&mut self, parts: &[Segment], by: f32) {
        self.count(parts, &[], by);
    }

    fn segment(&mut self, Segment { start, end, label }: Segment, by: f32) {
        (start..end).for_each(|t| self.position(t, label, by));
        self.position(start, self.labels + label, by);
        self.position(end - 1, 2 * self.labels + label, by);
        let SegmentExample { spans, .. } = self.example;
        for &row in spans.of(start, end) {
            (self.push)(SegmentParameter::Whole { row, label }, by);
        }
        (self.push)(SegmentParameter::Whole { row: self.rows.length(end - start), label }, by);
    }

    fn position(&mut self, t: usize, column: u32, by: f32) {
        let features: &FeatureBuffer = &self.example.features;
        for (i, &feature) in features.nodes(t).iter().enumerate() {
            let value = features.values(t).map_or(1.0, |values| values[i] as f32);
            (self.push)(SegmentParameter::Place(RowParameter::Node { feature, column }), by * value);
        }
    }

    fn edge(&mut self, from: LabelId, to: Segment, by: f32) {
        for &feature in self.example.features.edges(to.start) {
            let parameter = RowParameter::Edge { feature, from, to: to.label };
            (self.push)(SegmentParameter::Place(parameter), by);
        }
    }
}
