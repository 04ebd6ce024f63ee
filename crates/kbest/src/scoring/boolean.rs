//! Scoring with boolean features, and their ensembles.
//!
//! An ensemble's lattice is carried along as that of [rows](super::rows) is: a feature that fires at `(t, y)` changes
//! that node, one that fires for two labels changes that edge. Edges that see the observation are evaluated on demand,
//! with the weights of the current member.

use super::{Constrain, Members, Scorer};
use crate::feature::FeatureId;
use crate::feature::boolean::{BooleanFeatures, EdgeBound, Observation};
use crate::model::{BooleanModel, Voters};
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::marginal::Calibration;
use kbest_core::simd::Float;
use kbest_core::{Decoder, Positions, Result};
use std::sync::Arc;

/// Scores of one observation.
#[derive(Debug)]
pub struct BooleanMemory<S: Float = f32> {
    nodes: Vec<S>, // T x L
}

impl<S: Float> Default for BooleanMemory<S> {
    fn default() -> Self {
        BooleanMemory { nodes: Vec::new() }
    }
}

impl<S: Float> BooleanMemory<S> {
    /// The lattice of an observation. `shared_edges` are those of the weights, unless features see the observation.
    pub(crate) fn lattice<'a, O: ?Sized + Send + Sync + 'static>(
        &'a mut self,
        features: &BooleanFeatures<O>,
        weights: &Arc<[S]>,
        shared_edges: Option<&'a Edges<S>>,
        observation: &Observation<O>,
    ) -> Result<Lattice<'a, S>> {
        features.node_scores(observation, weights, &mut self.nodes)?;
        match shared_edges {
            Some(edges) => Lattice::new(&self.nodes, edges),
            None => {
                let edges = features.edges(observation, weights, EdgeBound::ExclusiveSets)?;
                Lattice::new(&self.nodes, Arc::new(edges))
            }
        }
    }
}

impl<O: ?Sized + Send + Sync + 'static> Scorer for BooleanModel<O> {
    type Structure = Positions;
    type Input = Observation<O>;
    type Memory = BooleanMemory;

    fn labels(&self) -> usize {
        self.features().labels()
    }

    fn positions(input: &Observation<O>) -> usize {
        input.positions
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        self.shared_edges()
    }

    fn start(&self) -> Option<&[f32]> {
        None
    }

    fn end(&self) -> Option<&[f32]> {
        None
    }

    fn calibration(&self) -> Option<&Calibration> {
        None
    }

    fn prepare_for(&self, _: &Decoder, _: &mut BooleanMemory) {}

    fn lattice<'a>(
        &'a self,
        input: &Observation<O>,
        memory: &'a mut BooleanMemory,
    ) -> Result<Lattice<'a, f32>> {
        memory.lattice(self.features(), self.weights(), self.shared_edges(), input)
    }

    fn members<'a>(
        &'a self,
        input: &Observation<O>,
        constrain: &'a Constrain<'a>,
    ) -> Result<Option<Box<dyn Members<Positions> + 'a>>> {
        let Some(voters) = self.voters() else { return Ok(None) };
        Ok(Some(Box::new(BooleanMembers::new(self, voters, input, constrain)?)))
    }
}

/// A lattice carried from member to member.
struct BooleanMembers<'m, O: ?Sized> {
    model: &'m BooleanModel<O>,
    voters: &'m Voters,
    constrain: &'m Constrain<'m>,
    observation: Observation<O>,
    changes: Vec<(u32, FeatureId, f32)>, // first member that has it, feature, difference; sorted by member
    next: usize,                         // the first change not applied yet
    places: Vec<(FeatureId, usize)>,     // where vertical features fire, as t * L + y, sorted by feature
    sums: Vec<f64>,                      // T x L
    nodes: Vec<f32>,                     // T x L: the sums, rounded
    weights: Arc<[f32]>,                 // one per feature, for edges on demand
    edges: Edges<f32>,
}

impl<'m, O: ?Sized + Send + Sync + 'static> BooleanMembers<'m, O> {
    fn new(
        model: &'m BooleanModel<O>,
        voters: &'m Voters,
        observation: &Observation<O>,
        constrain: &'m Constrain<'m>,
    ) -> Result<Self> {
        let features = model.features();
        let labels = features.labels();
        let mut places = Vec::new();
        features.visit_nodes(observation, |t, y, feature| {
            places.push((feature as FeatureId, t * labels + y as usize));
        });
        places.sort_unstable();
        let weights: Arc<[f32]> = vec![0.0; features.len()].into();
        let edges = match model.transitions() {
            Some(_) => Edges::dense(labels, vec![0.0; labels * labels])?,
            None => features.edges(observation, &weights, EdgeBound::ExclusiveSets)?,
        };
        let nodes = observation.positions * labels;
        Ok(BooleanMembers {
            model,
            voters,
            constrain,
            changes: changes_seen(model, voters, &places, observation.positions),
            next: 0,
            places,
            sums: vec![0.0; nodes],
            nodes: vec![0.0; nodes],
            edges: constrain(edges)?,
            weights,
            observation: observation.clone(),
        })
    }

    fn apply(&mut self, feature: FeatureId, by: f32) -> Result<()> {
        for &(_, place) in places_of(&self.places, feature) {
            let sum = &mut self.sums[place];
            *sum += f64::from(by);
            self.nodes[place] = *sum as f32;
        }
        match self.model.transitions() {
            None => Arc::make_mut(&mut self.weights)[feature as usize] += by,
            Some(fires) => {
                for &(p, y) in fires.pairs(feature as usize) {
                    self.edges.add(p, y, by)?;
                }
            }
        }
        Ok(())
    }
}

fn places_of(places: &[(FeatureId, usize)], feature: FeatureId) -> &[(FeatureId, usize)] {
    let start = places.partition_point(|&(of, _)| of < feature);
    let end = places.partition_point(|&(of, _)| of <= feature);
    &places[start..end]
}

/// The changes that matter to the observation, sorted by member: of features that fire somewhere or, on edges, may.
fn changes_seen<O: ?Sized + Send + Sync + 'static>(
    model: &BooleanModel<O>,
    voters: &Voters,
    places: &[(FeatureId, usize)],
    positions: usize,
) -> Vec<(u32, FeatureId, f32)> {
    let on_edges = |feature: FeatureId| match model.transitions() {
        Some(fires) => !fires.pairs(feature as usize).is_empty(),
        None => model.features().is_horizontal(feature as usize),
    };
    let mut changes = Vec::new();
    for feature in 0..model.features().len() as FeatureId {
        if !places_of(places, feature).is_empty() || positions > 1 && on_edges(feature) {
            let of_feature = voters.node_changes(feature).iter();
            changes.extend(of_feature.map(|change| (change.member, feature, change.by)));
        }
    }
    changes.sort_by_key(|&(member, ..)| member);
    changes
}

impl<O: ?Sized + Send + Sync + 'static> Members<Positions> for BooleanMembers<'_, O> {
    fn votes(&self) -> &[u32] {
        self.voters.votes()
    }

    fn advance(&mut self, member: usize) -> Result<bool> {
        let begun = self.next;
        while let Some(&(_, feature, by)) =
            self.changes.get(self.next).filter(|&&(of, ..)| of as usize <= member)
        {
            self.apply(feature, by)?;
            self.next += 1;
        }
        let changed = self.next > begun;
        if changed && self.model.transitions().is_none() {
            let features = self.model.features();
            let edges = features.edges(&self.observation, &self.weights, EdgeBound::ExclusiveSets)?;
            self.edges = (self.constrain)(edges)?;
        }
        Ok(changed)
    }

    fn lattice(&self) -> Result<Lattice<'_, f32>> {
        Lattice::new(&self.nodes, &self.edges)
    }
}
