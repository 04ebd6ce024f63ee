//! Weights that grow while a trainer corrects them.
//!
//! **What.** For each node feature a row of (label, weight) that grows with the labels it meets, or all labels once it has
//! met many; for each edge feature the pairs it has met. Beside each weight lies the sum of its changes, each times the
//! clock when it came: the average over all moments is `weight - sum / clock`, with no work for weights that rest.
//!
//! **Cost.** A row lies in one piece, so scoring is as in a finished model; a row that outgrows its place moves to the end,
//! to a place twice as large. The edges of all steps are kept up to date one by one, bounds included.

use crate::error::Result;
use crate::feature::{Extractor, FeatureId};
use crate::label::LabelId;
use crate::lattice::Edges;
use crate::model::{EdgeWeight, EdgeWeights, NodeWeights, NodeWeightsBuilder};
use crate::scoring::Weights;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A row that meets as many labels, or one in [`WHOLE_PART`] of all, is stored whole.
const WHOLE_FROM: usize = 8;
const WHOLE_PART: usize = 4;

/// A row of few labels first has room for this many.
const FIRST_ROOM: u32 = 2;

/// `Place::room` of rows that are stored whole.
const WHOLE: u32 = u32::MAX;

/// Where a row lies.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    start: usize,
    len: u32,
    room: u32,
}

/// A label's weight in a row.
#[derive(Debug, Clone, Copy)]
struct Entry {
    label: LabelId,
    weight: f32,
}

/// A weight and the sum of its changes, each times the clock.
#[derive(Debug, Clone, Copy, Default)]
struct Averaged {
    weight: f32,
    sum: f64,
}

impl Averaged {
    fn add(&mut self, change: f32, clock: f64) {
        self.weight += change;
        self.sum += f64::from(change) * clock;
    }
}

type Pairs = HashMap<(LabelId, LabelId), Averaged, FixedState>;

/// The weights of a model in training.
#[derive(Debug)]
pub(super) struct GrowingWeights {
    labels: usize,
    places: Vec<Place>,   // one a node feature
    entries: Vec<Entry>,  // rows with few labels
    entry_sums: Vec<f64>, // one an entry
    whole: Vec<f32>,      // rows with many labels, L each
    whole_sums: Vec<f64>, // one a weight of `whole`
    edges: Vec<Pairs>,    // one an edge feature
    shared: Vec<bool>,    // one an edge feature: whether every step has it
    shared_edges: Edges<f32>,
    observed: bool, // whether edges look at the input
}

impl GrowingWeights {
    /// All zero.
    pub(super) fn new(labels: usize, extractor: &Extractor) -> Result<Self> {
        let mut shared = vec![false; extractor.edges().len()];
        extractor.shared_edges().iter().for_each(|&id| shared[id as usize] = true);
        Ok(GrowingWeights {
            labels,
            places: vec![Place::default(); extractor.nodes().len()],
            entries: Vec::new(),
            entry_sums: Vec::new(),
            whole: Vec::new(),
            whole_sums: Vec::new(),
            edges: vec![Pairs::default(); extractor.edges().len()],
            shared,
            shared_edges: EdgeWeights::new(labels, [vec![]])?.sum(&[0])?,
            observed: extractor.source().has_observed_edges(),
        })
    }

    /// Changes a weight of a node feature.
    pub(super) fn add_node(&mut self, feature: FeatureId, y: LabelId, change: f32, clock: f64) {
        let place = self.places[feature as usize];
        let (weight, sum) = if place.room == WHOLE {
            let at = place.start + y as usize;
            (&mut self.whole[at], &mut self.whole_sums[at])
        } else {
            let row = &self.entries[place.start..][..place.len as usize];
            match row.iter().position(|entry| entry.label == y) {
                Some(i) => (&mut self.entries[place.start + i].weight, &mut self.entry_sums[place.start + i]),
                None => return self.grow_row(feature, y, change, clock),
            }
        };
        *weight += change;
        *sum += f64::from(change) * clock;
    }

    /// Gives a row one more label.
    fn grow_row(&mut self, feature: FeatureId, y: LabelId, change: f32, clock: f64) {
        let mut place = self.places[feature as usize];
        if place.len as usize >= WHOLE_FROM.max(self.labels / WHOLE_PART) {
            self.make_whole(feature);
            return self.add_node(feature, y, change, clock);
        }
        if place.len == place.room {
            let old = place.start..place.start + place.len as usize;
            place.room = (place.room * 2).max(FIRST_ROOM);
            place.start = self.entries.len();
            self.entries.extend_from_within(old.clone());
            self.entry_sums.extend_from_within(old);
            let end = place.start + place.room as usize;
            self.entries.resize(end, Entry { label: 0, weight: 0.0 });
            self.entry_sums.resize(end, 0.0);
        }
        let at = place.start + place.len as usize;
        self.entries[at] = Entry { label: y, weight: change };
        self.entry_sums[at] = f64::from(change) * clock;
        place.len += 1;
        self.places[feature as usize] = place;
    }

    fn make_whole(&mut self, feature: FeatureId) {
        let place = self.places[feature as usize];
        let start = self.whole.len();
        self.whole.resize(start + self.labels, 0.0);
        self.whole_sums.resize(start + self.labels, 0.0);
        for i in place.start..place.start + place.len as usize {
            let at = start + self.entries[i].label as usize;
            (self.whole[at], self.whole_sums[at]) = (self.entries[i].weight, self.entry_sums[i]);
        }
        self.places[feature as usize] = Place { start, len: 0, room: WHOLE };
    }

    /// Changes a weight of an edge feature.
    pub(super) fn add_edge(
        &mut self,
        feature: FeatureId,
        from: LabelId,
        to: LabelId,
        change: f32,
        clock: f64,
    ) -> Result<()> {
        self.edges[feature as usize].entry((from, to)).or_default().add(change, clock);
        if self.shared[feature as usize] && !self.observed {
            self.shared_edges.add(from, to, change)?;
        }
        Ok(())
    }

    /// The weights as they stand, or averaged up to `clock`.
    pub(super) fn finished(&self, average_up_to: Option<f64>) -> Result<(NodeWeights, EdgeWeights)> {
        let value = |weight: f32, sum: f64| match average_up_to {
            Some(clock) => (f64::from(weight) - sum / clock) as f32,
            None => weight,
        };
        let mut nodes = NodeWeightsBuilder::new(self.labels);
        let mut row: Vec<(LabelId, f32)> = Vec::new();
        for place in &self.places {
            row.clear();
            if place.room == WHOLE {
                let at = place.start..place.start + self.labels;
                let weights = self.whole[at.clone()].iter().zip(&self.whole_sums[at]);
                row.extend((0..).zip(weights.map(|(&weight, &sum)| value(weight, sum))));
            } else {
                let at = place.start..place.start + place.len as usize;
                let entries = self.entries[at.clone()].iter().zip(&self.entry_sums[at]);
                row.extend(entries.map(|(entry, &sum)| (entry.label, value(entry.weight, sum))));
                row.sort_unstable_by_key(|&(y, _)| y);
            }
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
        Ok((nodes.finish(), EdgeWeights::new(self.labels, edges)?))
    }
}

impl Weights for GrowingWeights {
    fn labels(&self) -> usize {
        self.labels
    }

    #[inline]
    fn add_nodes(&self, feature: FeatureId, value: f32, scores: &mut [f32]) {
        let place = self.places[feature as usize];
        if place.room == WHOLE {
            let row = &self.whole[place.start..][..self.labels];
            scores.iter_mut().zip(row).for_each(|(score, &weight)| *score += value * weight);
        } else {
            let row = &self.entries[place.start..][..place.len as usize];
            row.iter().for_each(|entry| scores[entry.label as usize] += value * entry.weight);
        }
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        (!self.observed).then_some(&self.shared_edges)
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        let of = |id: FeatureId| {
            let pairs = self.edges[id as usize].iter();
            pairs.map(|(&(from, to), averaged)| EdgeWeight { from, to, weight: averaged.weight }).collect()
        };
        let weights = EdgeWeights::new(self.labels, features.iter().map(|&id| of(id)))?;
        weights.sum(&(0..features.len() as FeatureId).collect::<Vec<_>>())
    }

    fn start(&self) -> Option<&[f32]> {
        None
    }

    fn end(&self) -> Option<&[f32]> {
        None
    }
}
