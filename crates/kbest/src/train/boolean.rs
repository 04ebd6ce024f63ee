//! Boolean features as a [family](super::Family): observations with their right labels, and one weight per feature.
//!
//! **What.** This trains the system of the CarpeDiem paper, section 5 (a voted perceptron over vertical and horizontal
//! features that see the whole observation), and every other perceptron and CRF over such features. **Cost.** Features
//! are called again whenever an example is scored: `T L` calls per vertical set, edges on demand; a CRF needs all of
//! them.
//!
//! ```
//! use kbest::Tagger;
//! use kbest::feature::boolean::{BooleanFeatures, Observation};
//! use kbest::train::{BooleanExample, BooleanTrainingSet, Perceptron, PerceptronOptions, Trainer};
//! use std::sync::Arc;
//!
//! // Labels: 0 down, 1 up. The observation: a curve.
//! let mut features = BooleanFeatures::<[f64]>::new(2);
//! features.vertical(|x, t, y| t > 0 && x[t] != x[t - 1] && (y == 1) == (x[t] > x[t - 1]));
//! features.horizontal(|x, t, p, y| p == y && x[t] == x[t - 1]); // as before, where nothing changes
//! let curve = |points: &[f64]| Observation::new(Arc::<[f64]>::from(points), points.len());
//! let examples = [(&[1.0, 2.0, 2.0, 1.0, 1.0][..], vec![0, 1, 1, 0, 0]), (&[3.0, 1.0, 1.0, 4.0], vec![0, 0, 0, 1])];
//! let examples = examples.map(|(points, gold)| BooleanExample { observation: curve(points), gold, weight: 1.0 });
//!
//! let data = BooleanTrainingSet::new(Arc::new(features), examples.into())?;
//! let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
//! for _ in 0..5 {
//!     trainer.epoch(&mut |_| ())?;
//! }
//! let mut tagger = Tagger::new(Arc::new(trainer.model()?));
//! assert_eq!(tagger.tag(&curve(&[1.0, 5.0, 5.0, 2.0]), 1)?.decoded.best().labels[1..], [1, 1, 0]);
//! # Ok::<(), kbest::Error>(())
//! ```

use super::change::{Change, merge};
use super::family::{Differentiable, Family, Layout, Scope, Tally, judged};
use super::{Averaging, Update};
use crate::feature::FeatureId;
use crate::feature::boolean::{BooleanFeatures, EdgeBound, Observation, TransitionTable};
use crate::model::{BooleanModel, Voters, VotersBuilder};
use crate::scoring::BooleanMemory;
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelId;
use kbest_core::Positions;
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::marginal::MarginalScratch;
use kbest_core::{Error, Result};
use std::ops::Range;
use std::sync::Arc;

/// An observation and its right labels.
#[derive(Debug)]
pub struct BooleanExample<O: ?Sized> {
    /// What the features see.
    pub observation: Observation<O>,
    /// The right labels, one per position.
    pub gold: Vec<LabelId>,
    /// Its weight in training.
    pub weight: f64,
}

/// The training data of boolean features.
pub struct BooleanTrainingSet<O: ?Sized> {
    features: Arc<BooleanFeatures<O>>,
    examples: Vec<BooleanExample<O>>,
    transitions: Option<TransitionTable>, // where horizontal features fire, if they see only labels
}

impl<O: ?Sized> std::fmt::Debug for BooleanTrainingSet<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("BooleanTrainingSet");
        shown
            .field("features", &self.features)
            .field("examples", &self.examples.len())
            .finish_non_exhaustive()
    }
}

impl<O: ?Sized + Send + Sync + 'static> BooleanTrainingSet<O> {
    /// Examples without positions are skipped.
    ///
    /// # Errors
    /// [`Error::Shape`] unless there is at least one example and one right label per position,
    /// [`Error::LabelOutOfRange`].
    pub fn new(features: Arc<BooleanFeatures<O>>, mut examples: Vec<BooleanExample<O>>) -> Result<Self> {
        for (i, BooleanExample { observation, gold, .. }) in examples.iter().enumerate() {
            if gold.len() != observation.positions {
                let what = format!("right labels of example {i}");
                return Err(Error::shape(what, format!("{} positions", observation.positions), gold.len()));
            }
            if let Some(&y) = gold.iter().find(|&&y| y as usize >= features.labels()) {
                let what = format!("right labels of example {i}");
                return Err(Error::LabelOutOfRange { what, label: y.into(), labels: features.labels() });
            }
        }
        examples.retain(|example| !example.gold.is_empty());
        if examples.is_empty() {
            return Err(Error::shape("training data", "at least one example with a position", 0));
        }
        let transitions = (!features.has_observed_edges()).then(|| TransitionTable::new(&features));
        Ok(BooleanTrainingSet { features, examples, transitions })
    }

    /// The features.
    pub fn features(&self) -> &Arc<BooleanFeatures<O>> {
        &self.features
    }

    /// The examples.
    pub fn examples(&self) -> &[BooleanExample<O>] {
        &self.examples
    }
}

/// The weights of a model in training, each with the sum of its changes times the clock.
#[derive(Debug)]
pub struct BooleanWeights {
    weights: Arc<[f32]>,              // one per feature
    sums: Vec<f64>,                   // one per feature
    shared_edges: Option<Edges<f32>>, // kept up to date, if horizontal features see only labels
}

impl<O: ?Sized + Send + Sync + 'static> BooleanTrainingSet<O> {
    fn add(
        &self,
        weights: &mut BooleanWeights,
        feature: FeatureId,
        by: f32,
        change_of_sum: f64,
    ) -> Result<()> {
        let feature = feature as usize;
        Arc::make_mut(&mut weights.weights)[feature] += by;
        weights.sums[feature] += change_of_sum;
        if let (Some(transitions), Some(edges)) = (&self.transitions, &mut weights.shared_edges) {
            // From the weights alone, so that the edges of a resumed run are the same to the last bit.
            for &(p, y) in transitions.pairs(feature) {
                edges.set(p, y, self.features.transition_score(&weights.weights, p, y))?;
            }
        }
        Ok(())
    }
}

impl<O: ?Sized + Send + Sync + 'static> Family for BooleanTrainingSet<O> {
    type Structure = Positions;
    type Parameter = FeatureId;
    type Weights = BooleanWeights;
    type Memory = BooleanMemory;
    type Model = BooleanModel<O>;

    fn example_count(&self) -> usize {
        self.examples.len()
    }

    fn gold(&self, example: usize) -> &[LabelId] {
        &self.examples[example].gold
    }

    fn weight(&self, example: usize) -> f64 {
        self.examples[example].weight
    }

    fn accept(&self, _averaging: Averaging, _update: Update) -> Result<()> {
        Ok(())
    }

    fn zero(&self) -> Result<BooleanWeights> {
        let weights: Arc<[f32]> = vec![0.0; self.features.len()].into();
        let edges = || self.features.shared_edges(&weights, EdgeBound::Exact);
        let shared_edges = self.transitions.as_ref().map(|_| edges()).transpose()?;
        Ok(BooleanWeights { sums: vec![0.0; weights.len()], weights, shared_edges })
    }

    fn lattice<'a>(
        &'a self,
        weights: &'a BooleanWeights,
        example: usize,
        memory: &'a mut BooleanMemory,
    ) -> Result<Lattice<'a, f32>> {
        let observation = &self.examples[example].observation;
        memory.lattice(&self.features, &weights.weights, weights.shared_edges.as_ref(), observation)
    }

    fn difference(&self, example: usize, answer: &[LabelId], changes: &mut Vec<Change<FeatureId>>) {
        let BooleanExample { observation, gold, .. } = &self.examples[example];
        for (path, by) in [(&gold[..answer.len()], 1.0), (answer, -1.0)] {
            self.features.visit_path(&observation.content, path, |feature| {
                changes.push(Change { parameter: feature as FeatureId, by });
            });
        }
        // Most features fire for both, and gain as much as they lose.
        merge(changes);
        changes.retain(|change| change.by != 0.0);
    }

    fn apply(&self, weights: &mut BooleanWeights, change: Change<FeatureId>, clock: f64) -> Result<()> {
        self.add(weights, change.parameter, change.by, f64::from(change.by) * clock)
    }

    fn settle(&self, _weights: &mut BooleanWeights) -> Result<()> {
        Ok(()) // every change is complete
    }

    fn absorb(&self, weights: &mut BooleanWeights, other: &BooleanWeights, share: f32) -> Result<()> {
        for ((feature, &weight), &sum) in (0..).zip(&*other.weights).zip(&other.sums) {
            self.add(weights, feature, share * weight, f64::from(share) * sum)?;
        }
        Ok(())
    }

    fn record(&self, voters: &mut VotersBuilder, change: Change<FeatureId>) {
        voters.change_node(change.parameter, 0, change.by); // a feature has one weight
    }

    fn save(&self, weights: &BooleanWeights, state: &mut StateWriter) {
        state.list(weights.weights.iter().copied());
        state.list(weights.sums.iter().copied());
    }

    fn restore(&self, state: &mut StateReader<'_>) -> Result<BooleanWeights> {
        let mut weights = self.zero()?;
        let (mut list, mut sums) = (vec![0.0f32; self.features.len()], vec![0.0f64; self.features.len()]);
        state.list_into(&mut list)?;
        state.list_into(&mut sums)?;
        for ((feature, &weight), &sum) in (0..).zip(&list).zip(&sums) {
            self.add(&mut weights, feature, weight, sum)?;
        }
        Ok(weights)
    }

    fn model(
        &self,
        weights: &BooleanWeights,
        average_up_to: Option<f64>,
        voters: Option<Voters>,
    ) -> Result<BooleanModel<O>> {
        let value = |(&weight, &sum): (&f32, &f64)| match average_up_to {
            Some(clock) => (f64::from(weight) - sum / clock) as f32,
            None => weight,
        };
        let list: Vec<f32> = weights.weights.iter().zip(&weights.sums).map(value).collect();
        let model = BooleanModel::new(Arc::clone(&self.features), list)?;
        match voters {
            Some(voters) => model.with_voters(voters),
            None => Ok(model),
        }
    }
}

/// The layout of a vector with one parameter per feature.
#[derive(Debug, Clone, Copy)]
pub struct FlatLayout {
    features: usize,
}

impl Layout for FlatLayout {
    fn len(&self) -> usize {
        self.features
    }

    fn rows(&self) -> usize {
        self.features
    }

    fn range_of_row(&self, row: usize) -> Range<usize> {
        row..row + 1
    }
}

/// Boolean features with one vector of weights.
#[derive(Debug)]
pub struct BooleanPoint {
    weights: Arc<[f64]>,
    shared_edges: Option<Edges<f64>>,
}

/// The memory of one thread.
#[derive(Debug, Default)]
pub struct BooleanSums {
    memory: BooleanMemory<f64>,
    marginals: MarginalScratch,
}

impl<O: ?Sized + Send + Sync + 'static> Differentiable for BooleanTrainingSet<O> {
    type Layout = FlatLayout;
    type Point<'a> = BooleanPoint;
    type Sums = BooleanSums;

    fn layout(&self, _scope: Scope) -> FlatLayout {
        FlatLayout { features: self.features.len() } // every feature has a weight, seen or not
    }

    fn visit_rows(&self, layout: &FlatLayout, _example: usize, visit: impl FnMut(usize)) {
        (0..layout.features).for_each(visit); // any feature may fire somewhere
    }

    fn add_gold(&self, _layout: &FlatLayout, example: usize, scale: f64, vector: &mut [f64]) {
        let BooleanExample { observation, gold, .. } = &self.examples[example];
        self.features.visit_path(&observation.content, gold, |feature| vector[feature] += scale);
    }

    fn point<'a>(&'a self, _layout: &'a FlatLayout, vector: &'a [f64]) -> Result<BooleanPoint> {
        let edges = || self.features.shared_edges(vector, EdgeBound::Exact);
        let shared_edges = self.transitions.as_ref().map(|_| edges()).transpose()?;
        Ok(BooleanPoint { weights: vector.into(), shared_edges })
    }

    fn begin(&self, _point: &BooleanPoint, _sums: &mut BooleanSums) -> Result<()> {
        Ok(())
    }

    fn expect(
        &self,
        point: &BooleanPoint,
        example: usize,
        sums: &mut BooleanSums,
        gradient: &mut [f64],
    ) -> Result<Tally> {
        let BooleanExample { observation, gold, weight } = &self.examples[example];
        let shared = point.shared_edges.as_ref();
        let lattice = sums.memory.lattice(&self.features, &point.weights, shared, observation)?;
        let (marginals, tally) = judged(&lattice, gold, *weight, &mut sums.marginals)?;
        self.features.visit_nodes(observation, |t, y, feature| {
            gradient[feature] += weight * marginals.node(t)[y as usize];
        });
        for t in 1..observation.positions {
            self.features.visit_edges(&observation.content, t, |p, y, feature| {
                gradient[feature] += weight * marginals.edge(t, p as usize, y as usize);
            });
        }
        Ok(tally)
    }

    fn end(&self, _point: &BooleanPoint, _sums: &BooleanSums, _gradient: &mut [f64]) {}

    fn model_at(&self, _layout: &FlatLayout, vector: &[f64]) -> Result<BooleanModel<O>> {
        let weights: Vec<f32> = vector.iter().map(|&weight| weight as f32).collect();
        BooleanModel::new(Arc::clone(&self.features), weights)
    }
}
