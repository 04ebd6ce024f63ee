//! Weights that grow while a trainer corrects them.
//!
//! **What.** Each node feature has a row of (column, weight), where a column is a label or a part of labels; the row
//! grows with the columns it meets, and holds all of them once it has met many. Each edge feature has the pairs it has
//! met. Next to each weight is the sum of its changes, each times the clock at that moment: the average over all steps
//! is `weight - sum / clock`, with no work for weights that do not change.
//!
//! **Cost.** A row is contiguous, so scoring is as in a finished model; a row that outgrows its space moves to the end,
//! with twice as much space. The edges of all steps are kept up to date one by one, including bounds. A change of a weight
//! between parts of neighbouring labels touches thousands of edges, so these follow only when the trainer says so
//! ([`GrowingWeights::settle`]), by passes over the pairs of classes and the pairs of labels that have weights.

use super::{RowParameter, TrainingSet};
use crate::feature::FeatureId;
use crate::model::{Agreement, ClassScores, EdgeWeight, EdgeWeights, LabelGroups, LabelParts, OverClasses};
use crate::model::{NodeWeights, NodeWeightsBuilder};
use crate::scoring::rows::RowWeights;
use crate::state::{StateReader, StateWriter};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kbest_core::LabelId;
use kbest_core::lattice::Edges;
use kbest_core::{Error, Result};

/// A row that meets this many columns, or one in [`WHOLE_PART`] of all, is stored whole.
const WHOLE_FROM: usize = 8;
const WHOLE_PART: usize = 8;

/// The initial capacity of a row with few columns.
const FIRST_ROOM: u32 = 2;

/// `Place::room` of rows that are stored whole.
const WHOLE: u32 = u32::MAX;

/// Where a row is stored.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    start: usize,
    len: u32,
    room: u32,
}

/// A column's weight in a row.
#[derive(Debug, Clone, Copy)]
struct Entry {
    column: u32,
    weight: f32,
}

/// A weight and the sum of its changes, each times the clock.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Averaged {
    weight: f32,
    sum: f64,
}

impl Averaged {
    fn save(self, state: &mut StateWriter) {
        state.number(self.weight);
        state.number(self.sum);
    }

    fn restore(state: &mut StateReader<'_>) -> Result<Self> {
        Ok(Averaged { weight: state.number()?, sum: state.number()? })
    }
}

type Pairs = HashMap<(LabelId, LabelId), Averaged, FixedState>;

/// The weights of a model in training.
#[derive(Debug)]
pub struct GrowingWeights {
    labels: usize,
    label_parts: Option<LabelParts>,
    columns: usize,         // labels and parts
    places: Vec<Place>,     // one per node feature
    entries: Vec<Entry>,    // rows with few columns
    entry_sums: Vec<f64>,   // one per entry
    whole: Vec<f32>,        // rows with many columns, all of them
    whole_sums: Vec<f64>,   // one per weight of `whole`
    edges: Vec<Pairs>,      // one per edge feature
    shared: Vec<FeatureId>, // edge features that every step has
    shared_edges: Edges<f32>,
    agreement: Option<Agreeing>,
    observed: bool,   // whether edges depend on the input
    may_repeat: bool, // whether a label may follow itself
}

/// Weights between parts of neighbouring labels.
#[derive(Debug)]
struct Agreeing {
    weights: Vec<Averaged>,
    scores: ClassScores<f32>,
}

/// How many weights there may be.
#[derive(Debug, Clone, Copy)]
pub(in crate::train) struct Size<'a> {
    pub(in crate::train) labels: usize,
    pub(in crate::train) label_parts: Option<&'a LabelParts>,
    pub(in crate::train) agreement: Option<&'a LabelGroups>,
    pub(in crate::train) columns: usize, // of node features
    pub(in crate::train) nodes: usize,
    pub(in crate::train) edges: usize,
    pub(in crate::train) shared: &'a [FeatureId],
    pub(in crate::train) observed: bool,
    pub(in crate::train) may_repeat: bool,
}

impl GrowingWeights {
    /// All weights zero.
    pub(super) fn new(data: &TrainingSet) -> Result<Self> {
        let (labels, extractor, label_parts) = (data.labels().len(), data.extractor(), data.label_parts());
        Self::of_size(Size {
            labels,
            label_parts,
            agreement: data.agreement(),
            columns: label_parts.map_or(labels, LabelParts::columns),
            nodes: extractor.nodes().len(),
            edges: extractor.edges().len(),
            shared: extractor.shared_edges(),
            observed: extractor.source().has_observed_edges(),
            may_repeat: true,
        })
    }

    /// All weights zero.
    pub(in crate::train) fn of_size(size: Size<'_>) -> Result<Self> {
        let Size { labels, may_repeat, .. } = size;
        let mut shared_edges = match size.agreement {
            Some(groups) => Edges::rising(groups.class_of_labels(), groups.classes())?,
            None => EdgeWeights::new(labels, [vec![]])?.sum(&[0])?,
        };
        let agreement = size.agreement.map(|groups| Agreeing {
            weights: vec![Averaged::default(); groups.weights()],
            scores: ClassScores::new(groups),
        });
        if !may_repeat {
            forbid_repeats(&mut shared_edges)?;
        }
        Ok(GrowingWeights {
            labels,
            label_parts: size.label_parts.cloned(),
            columns: size.columns,
            places: vec![Place::default(); size.nodes],
            entries: Vec::new(),
            entry_sums: Vec::new(),
            whole: Vec::new(),
            whole_sums: Vec::new(),
            edges: vec![Pairs::default(); size.edges],
            shared: size.shared.to_vec(),
            shared_edges,
            agreement,
            observed: size.observed,
            may_repeat,
        })
    }

    /// Adds the weights of another, times `share`.
    pub(in crate::train) fn absorb(&mut self, other: &GrowingWeights, share: f32) -> Result<()> {
        for (feature, &place) in (0..).zip(&other.places) {
            for (column, Averaged { weight, sum }) in other.row(place) {
                self.add_sum(feature, column, share * weight, f64::from(share) * sum);
            }
        }
        for (feature, pairs) in (0..).zip(&other.edges) {
            let mut pairs: Vec<_> = pairs.iter().map(|(&pair, &averaged)| (pair, averaged)).collect();
            pairs.sort_unstable_by_key(|&(pair, _)| pair);
            for ((from, to), Averaged { weight, sum }) in pairs {
                self.add_edge_sum(feature, from, to, share * weight, f64::from(share) * sum)?;
            }
        }
        let between = other.agreement.iter().flat_map(|other| &other.weights).enumerate();
        for (weight, averaged) in between.filter(|(_, averaged)| **averaged != Averaged::default()) {
            self.add_agreement_sum(weight, share * averaged.weight, f64::from(share) * averaged.sum);
        }
        self.settle()
    }

    /// The weights of a row with their sums.
    fn row(&self, place: Place) -> impl Iterator<Item = (u32, Averaged)> + '_ {
        let whole = place.room == WHOLE;
        let len = if whole { self.columns } else { place.len as usize };
        (place.start..place.start + len).zip(0..).map(move |(at, column)| {
            if whole {
                (column, Averaged { weight: self.whole[at], sum: self.whole_sums[at] })
            } else {
                let Entry { column, weight } = self.entries[at];
                (column, Averaged { weight, sum: self.entry_sums[at] })
            }
        })
    }

    /// Writes all weights.
    pub(in crate::train) fn save(&self, state: &mut StateWriter) {
        for &place in &self.places {
            let row: Vec<_> = self.row(place).collect();
            state.list(row.iter().map(|&(column, _)| column));
            row.iter().for_each(|(_, averaged)| averaged.save(state));
        }
        for pairs in &self.edges {
            let mut keys: Vec<_> = pairs.keys().copied().collect();
            keys.sort_unstable();
            state.list(keys.iter().map(|&(from, to)| u64::from(from) << 32 | u64::from(to)));
            keys.iter().for_each(|key| pairs[key].save(state));
        }
        let between = self.agreement.iter().flat_map(|agreement| &agreement.weights);
        between.for_each(|averaged| averaged.save(state));
    }

    /// Reads what [`GrowingWeights::save`] wrote.
    pub(super) fn restore(data: &TrainingSet, state: &mut StateReader<'_>) -> Result<Self> {
        Self::new(data)?.restored(state)
    }

    /// These weights, all zero, with what [`GrowingWeights::save`] wrote.
    pub(in crate::train) fn restored(self, state: &mut StateReader<'_>) -> Result<Self> {
        let mut weights = self;
        let (labels, columns) = (weights.labels, weights.columns);
        let check = |y: u32, labels: usize| match y {
            y if (y as usize) < labels => Ok(y),
            y => Err(Error::LabelOutOfRange { what: "training state".into(), label: y.into(), labels }),
        };
        for feature in 0..weights.places.len() as FeatureId {
            for column in state.list::<u32>()? {
                let Averaged { weight, sum } = Averaged::restore(state)?;
                weights.add_sum(feature, check(column, columns)?, weight, sum);
            }
        }
        for feature in 0..weights.edges.len() as FeatureId {
            for key in state.list::<u64>()? {
                let Averaged { weight, sum } = Averaged::restore(state)?;
                let (from, to) = (check((key >> 32) as LabelId, labels)?, check(key as LabelId, labels)?);
                weights.add_edge_sum(feature, from, to, weight, sum)?;
            }
        }
        for i in 0..weights.agreement.as_ref().map_or(0, |agreement| agreement.weights.len()) {
            let Averaged { weight, sum } = Averaged::restore(state)?;
            weights.add_agreement_sum(i, weight, sum);
        }
        weights.settle()?;
        Ok(weights)
    }

    /// Changes a weight.
    pub(in crate::train) fn add(&mut self, parameter: RowParameter, change: f32, clock: f64) -> Result<()> {
        let change_of_sum = f64::from(change) * clock;
        match parameter {
            RowParameter::Node { feature, column } => self.add_sum(feature, column, change, change_of_sum),
            RowParameter::Edge { feature, from, to } => {
                self.add_edge_sum(feature, from, to, change, change_of_sum)?;
            }
            RowParameter::Agreement { weight } => {
                self.add_agreement_sum(weight as usize, change, change_of_sum);
            }
        }
        Ok(())
    }

    fn add_agreement_sum(&mut self, weight: usize, change: f32, change_of_sum: f64) {
        let Some(agreement) = &mut self.agreement else { return };
        let averaged = &mut agreement.weights[weight];
        averaged.weight += change;
        averaged.sum += change_of_sum;
        agreement.scores.set(weight, averaged.weight);
    }

    /// Lets the edges of all steps follow the weights between parts of labels.
    pub(in crate::train) fn settle(&mut self) -> Result<()> {
        match self.agreement.as_mut().and_then(|agreement| agreement.scores.update()) {
            Some(scores) => self.shared_edges.rebase(scores),
            None => Ok(()),
        }
    }

    fn add_sum(&mut self, feature: FeatureId, column: u32, change: f32, change_of_sum: f64) {
        let place = self.places[feature as usize];
        let (weight, sum) = if place.room == WHOLE {
            let at = place.start + column as usize;
            (&mut self.whole[at], &mut self.whole_sums[at])
        } else {
            let row = &self.entries[place.start..][..place.len as usize];
            match row.iter().position(|entry| entry.column == column) {
                Some(i) => (&mut self.entries[place.start + i].weight, &mut self.entry_sums[place.start + i]),
                None => return self.grow_row(feature, column, change, change_of_sum),
            }
        };
        *weight += change;
        *sum += change_of_sum;
    }

    /// Adds a column to a row.
    fn grow_row(&mut self, feature: FeatureId, column: u32, weight: f32, sum: f64) {
        let mut place = self.places[feature as usize];
        if place.len as usize >= WHOLE_FROM.max(self.columns / WHOLE_PART) {
            self.make_whole(feature);
            return self.add_sum(feature, column, weight, sum);
        }
        if place.len == place.room {
            let old = place.start..place.start + place.len as usize;
            place.room = (place.room * 2).max(FIRST_ROOM);
            place.start = self.entries.len();
            self.entries.extend_from_within(old.clone());
            self.entry_sums.extend_from_within(old);
            let end = place.start + place.room as usize;
            self.entries.resize(end, Entry { column: 0, weight: 0.0 });
            self.entry_sums.resize(end, 0.0);
        }
        let at = place.start + place.len as usize;
        self.entries[at] = Entry { column, weight };
        self.entry_sums[at] = sum;
        place.len += 1;
        self.places[feature as usize] = place;
    }

    fn make_whole(&mut self, feature: FeatureId) {
        let place = self.places[feature as usize];
        let start = self.whole.len();
        self.whole.resize(start + self.columns, 0.0);
        self.whole_sums.resize(start + self.columns, 0.0);
        for i in place.start..place.start + place.len as usize {
            let at = start + self.entries[i].column as usize;
            (self.whole[at], self.whole_sums[at]) = (self.entries[i].weight, self.entry_sums[i]);
        }
        self.places[feature as usize] = Place { start, len: 0, room: WHOLE };
    }

    fn add_edge_sum(
        &mut self,
        feature: FeatureId,
        from: LabelId,
        to: LabelId,
        change: f32,
        change_of_sum: f64,
    ) -> Result<()> {
        let averaged = self.edges[feature as usize].entry((from, to)).or_default();
        averaged.weight += change;
        averaged.sum += change_of_sum;
        if !self.observed && self.shared.contains(&feature) {
            // From the weights alone, so that the edges of a resumed run are the same to the last bit.
            let weight =
                |id: &FeatureId| self.edges[*id as usize].get(&(from, to)).map(|averaged| averaged.weight);
            let sum = self.shared.iter().filter_map(weight).sum();
            match self.agreement {
                Some(_) => self.shared_edges.set_beyond(from, to, sum)?,
                None => self.shared_edges.set(from, to, sum)?,
            }
        }
        Ok(())
    }

    /// The current weights, or their average up to `clock`.
    pub(in crate::train) fn finished(&self, average_up_to: Option<f64>) -> Result<Finished> {
        let value = |weight: f32, sum: f64| match average_up_to {
            Some(clock) => (f64::from(weight) - sum / clock) as f32,
            None => weight,
        };
        let mut nodes = NodeWeightsBuilder::new(self.columns);
        let mut row: Vec<(u32, f32)> = Vec::new();
        for place in &self.places {
            row.clear();
            row.extend(
                self.row(*place).map(|(column, averaged)| (column, value(averaged.weight, averaged.sum))),
            );
            row.sort_unstable_by_key(|&(column, _)| column);
            nodes.push(row.iter().copied())?;
        }
        let edges = self.edges.iter().map(|pairs| {
            let pairs = pairs.iter().map(|(&(from, to), averaged)| EdgeWeight {
                from,
                to,
                weight: value(averaged.weight, averaged.sum),
            });
            pairs.collect()
        });
        let agreement = self.agreement.as_ref().map(|agreement| {
            let weights = agreement.weights.iter().map(|averaged| value(averaged.weight, averaged.sum));
            Agreement::new(agreement.scores.groups().clone(), weights.collect())
        });
        Ok(Finished {
            nodes: nodes.finish(),
            edges: EdgeWeights::new(self.labels, edges)?,
            agreement: agreement.transpose()?,
        })
    }
}

/// Weights in the form that a model stores.
#[derive(Debug)]
pub(in crate::train) struct Finished {
    pub(in crate::train) nodes: NodeWeights,
    pub(in crate::train) edges: EdgeWeights,
    pub(in crate::train) agreement: Option<Agreement>,
}

/// Forbids every label to follow itself.
fn forbid_repeats(edges: &mut Edges<f32>) -> Result<()> {
    (0..edges.labels() as LabelId).try_for_each(|y| edges.set(y, y, f32::NEG_INFINITY))
}

impl RowWeights for GrowingWeights {
    fn labels(&self) -> usize {
        self.labels
    }

    fn label_parts(&self) -> Option<&LabelParts> {
        self.label_parts.as_ref()
    }

    #[inline]
    fn add_nodes(&self, feature: FeatureId, value: f32, columns: &mut [f32]) {
        let place = self.places[feature as usize];
        if place.room == WHOLE {
            let row = &self.whole[place.start..][..self.columns];
            columns.iter_mut().zip(row).for_each(|(score, &weight)| *score += value * weight);
        } else {
            let row = &self.entries[place.start..][..place.len as usize];
            row.iter().for_each(|entry| columns[entry.column as usize] += value * entry.weight);
        }
    }

    #[inline]
    fn prefetch_nodes(&self, _feature: FeatureId, _near: bool) {}

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        (!self.observed).then_some(&self.shared_edges)
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        let of = |id: FeatureId| {
            let pairs = self.edges[id as usize].iter();
            pairs.map(|(&(from, to), averaged)| EdgeWeight { from, to, weight: averaged.weight }).collect()
        };
        let weights = EdgeWeights::new(self.labels, features.iter().map(|&id| of(id)))?;
        let scores = self.agreement.as_ref().map(|agreement| &agreement.scores);
        let over = scores.map(|scores| OverClasses::new(scores.groups(), scores.scores()));
        let mut edges = weights.sum_over(&(0..features.len() as FeatureId).collect::<Vec<_>>(), over)?;
        if !self.may_repeat {
            forbid_repeats(&mut edges)?;
        }
        Ok(edges)
    }

    fn start(&self) -> Option<&[f32]> {
        None
    }

    fn end(&self) -> Option<&[f32]> {
        None
    }
}
