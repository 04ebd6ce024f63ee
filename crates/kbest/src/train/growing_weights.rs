//! Weights that grow while a trainer corrects them.
//!
//! **What.** For each node feature a row of (label, weight) that grows with the labels it meets, or all labels once it has
//! met many; for each edge feature the pairs it has met. Beside each weight lies the sum of its changes, each times the
//! clock when it came: the average over all moments is `weight - sum / clock`, with no work for weights that rest.
//!
//! **Cost.** A row lies in one piece, so scoring is as in a finished model; a row that outgrows its place moves to the end,
//! to a place twice as large. The edges of all steps are kept up to date one by one, bounds included.

use crate::error::{Error, Result};
use crate::feature::{Extractor, FeatureId};
use crate::label::LabelId;
use crate::lattice::Edges;
use crate::model::{EdgeWeight, EdgeWeights, NodeWeights, NodeWeightsBuilder};
use crate::scoring::Weights;
use crate::state::{StateReader, StateWriter};
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

    /// A copy.
    pub(super) fn duplicate(&self, extractor: &Extractor) -> Result<Self> {
        let mut copy = Self::new(self.labels, extractor)?;
        copy.absorb(self, 1.0)?;
        Ok(copy)
    }

    /// Adds the weights of another, times `share`.
    pub(super) fn absorb(&mut self, other: &GrowingWeights, share: f32) -> Result<()> {
        for (feature, &place) in (0..).zip(&other.places) {
            for (y, Averaged { weight, sum }) in other.row(place) {
                self.add_sum(feature, y, share * weight, f64::from(share) * sum);
            }
        }
        for (feature, pairs) in (0..).zip(&other.edges) {
            let mut pairs: Vec<_> = pairs.iter().map(|(&pair, &averaged)| (pair, averaged)).collect();
            pairs.sort_unstable_by_key(|&(pair, _)| pair);
            for ((from, to), Averaged { weight, sum }) in pairs {
                self.add_edge_sum(feature, from, to, share * weight, f64::from(share) * sum)?;
            }
        }
        Ok(())
    }

    /// The weights of a row with their sums.
    fn row(&self, place: Place) -> impl Iterator<Item = (LabelId, Averaged)> + '_ {
        let whole = place.room == WHOLE;
        let len = if whole { self.labels } else { place.len as usize };
        (place.start..place.start + len).zip(0..).map(move |(at, y)| {
            if whole {
                (y, Averaged { weight: self.whole[at], sum: self.whole_sums[at] })
            } else {
                let Entry { label, weight } = self.entries[at];
                (label, Averaged { weight, sum: self.entry_sums[at] })
            }
        })
    }

    /// Remembers all weights.
    pub(super) fn save(&self, state: &mut StateWriter) {
        for &place in &self.places {
            let row: Vec<_> = self.row(place).collect();
            state.list(row.iter().map(|&(y, _)| y));
            row.iter().for_each(|(_, averaged)| averaged.save(state));
        }
        for pairs in &self.edges {
            let mut keys: Vec<_> = pairs.keys().copied().collect();
            keys.sort_unstable();
            state.list(keys.iter().map(|&(from, to)| u64::from(from) << 32 | u64::from(to)));
            keys.iter().for_each(|key| pairs[key].save(state));
        }
    }

    /// What [`GrowingWeights::save`] remembered.
    pub(super) fn restore(labels: usize, extractor: &Extractor, state: &mut StateReader<'_>) -> Result<Self> {
        let mut weights = Self::new(labels, extractor)?;
        let check = |y: LabelId| match y {
            y if (y as usize) < labels => Ok(y),
            y => Err(Error::LabelOutOfRange { what: "training state".into(), label: y.into(), labels }),
        };
        for feature in 0..weights.places.len() as FeatureId {
            for y in state.list::<LabelId>()? {
                let Averaged { weight, sum } = Averaged::restore(state)?;
                weights.add_sum(feature, check(y)?, weight, sum);
            }
        }
        for feature in 0..weights.edges.len() as FeatureId {
            for key in state.list::<u64>()? {
                let Averaged { weight, sum } = Averaged::restore(state)?;
                let (from, to) = (check((key >> 32) as LabelId)?, check(key as LabelId)?);
                weights.add_edge_sum(feature, from, to, weight, sum)?;
            }
        }
        Ok(weights)
    }

    /// Changes a weight of a node feature.
    pub(super) fn add_node(&mut self, feature: FeatureId, y: LabelId, change: f32, clock: f64) {
        self.add_sum(feature, y, change, f64::from(change) * clock);
    }

    fn add_sum(&mut self, feature: FeatureId, y: LabelId, change: f32, change_of_sum: f64) {
        let place = self.places[feature as usize];
        let (weight, sum) = if place.room == WHOLE {
            let at = place.start + y as usize;
            (&mut self.whole[at], &mut self.whole_sums[at])
        } else {
            let row = &self.entries[place.start..][..place.len as usize];
            match row.iter().position(|entry| entry.label == y) {
                Some(i) => (&mut self.entries[place.start + i].weight, &mut self.entry_sums[place.start + i]),
                None => return self.grow_row(feature, y, change, change_of_sum),
            }
        };
        *weight += change;
        *sum += change_of_sum;
    }

    /// Gives a row one more label.
    fn grow_row(&mut self, feature: FeatureId, y: LabelId, weight: f32, sum: f64) {
        let mut place = self.places[feature as usize];
        if place.len as usize >= WHOLE_FROM.max(self.labels / WHOLE_PART) {
            self.make_whole(feature);
            return self.add_sum(feature, y, weight, sum);
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
        self.entries[at] = Entry { label: y, weight };
        self.entry_sums[at] = sum;
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
        self.add_edge_sum(feature, from, to, change, f64::from(change) * clock)
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
            row.extend(self.row(*place).map(|(y, averaged)| (y, value(averaged.weight, averaged.sum))));
            row.sort_unstable_by_key(|&(y, _)| y);
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
