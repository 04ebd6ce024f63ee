//! Rows of weights: how feature rows, finished or in training, become lattices.
//!
//! **What.** [`RowWeights`] and the features of a sequence make a [`Lattice`]: node scores `T x L`, each the sum of the
//! weights of the position's features, added in the features' order from zero, and of its [parts](LabelParts), if labels
//! have any; edges borrowed where all steps share them, made for the sequence where features look at the input.
//!
//! **Cost.** One visit to memory per feature, then one addition per stored weight; a [`ScoreBuffer`] keeps its memory from
//! sequence to sequence. Edges that look at the input cost a matrix for each set of features that differs.
//!
//! ```
//! use kbest::feature::{Dictionary, Extractor, FeatureBuffer, FeatureSource};
//! use kbest::model::{EdgeWeight, EdgeWeights, Model, ModelParts, NodeWeightsBuilder};
//! use kbest::scoring::rows::{ScoreBuffer, lattice};
//! use kbest::{LabelSet, Sequence, Template};
//!
//! let template = Template::parse("U0:%x[0,0]\nB\n", "template")?;
//! let (nodes, edges) = (Dictionary::from_keys(["U0:time"]), Dictionary::from_keys(["B"]));
//! let mut weights = NodeWeightsBuilder::new(2);
//! weights.push([(1, 2.0)])?;
//! let model = Model::new(ModelParts::new(
//!     LabelSet::from_names(["VERB", "NOUN"]),
//!     Extractor::from_parts(FeatureSource::Template(template), nodes, edges, Dictionary::default(), 1),
//!     weights.finish(),
//!     EdgeWeights::new(2, [vec![EdgeWeight { from: 1, to: 0, weight: 0.5 }]])?,
//! ))?;
//! let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
//! model.extractor().extract(&Sequence::from_tokens(["time", "flies"]), &mut features)?;
//! let lattice = lattice(&model, &features, &mut buffer)?;
//! assert_eq!(lattice.path_score(&[1, 0])?, 2.5);
//! # Ok::<(), kbest::Error>(())
//! ```

mod members;

pub(super) use members::RowMembers;

use crate::error::Result;
use crate::feature::{FeatureBuffer, FeatureId};
use crate::kernel::Float;
use crate::lattice::{Edges, Lattice};
use crate::model::LabelParts;
use std::sync::Arc;

/// What scoring asks of weights, finished or in training. Scores are `f32`, unless a trainer needs better ones.
pub trait RowWeights<S: Float = f32> {
    /// Number of labels `L`.
    fn labels(&self) -> usize;

    /// The parts of labels that have weights of their own, if any.
    fn label_parts(&self) -> Option<&LabelParts>;

    /// Adds the weights of a node feature, times `value`, to a row of `L` scores; if labels have parts, to a row of as
    /// many columns as [`LabelParts::columns`] tells.
    fn add_nodes(&self, feature: FeatureId, value: S, columns: &mut [S]);

    /// Asks the cache for where the weights of a node feature lie, or, if `near`, for the weights: called some features
    /// ahead of [`RowWeights::add_nodes`], first far, then near. May do nothing.
    fn prefetch_nodes(&self, feature: FeatureId, near: bool);

    /// The edges of every step, or `None` if edges look at the input.
    fn shared_edges(&self) -> Option<&Edges<S>>;

    /// The edges that these features make together.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if a sum is infinite.
    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<S>>;

    /// Scores of the first label, if any.
    fn start(&self) -> Option<&[S]>;

    /// Scores of the last label, if any.
    fn end(&self) -> Option<&[S]>;
}

/// The memory of a lattice's scores.
#[derive(Debug)]
pub struct ScoreBuffer<S: Float = f32> {
    nodes: Vec<S>,   // T x L
    columns: Vec<S>, // one position's labels and parts
    sums: Vec<S>,    // of parts
}

impl<S: Float> ScoreBuffer<S> {
    /// Empty.
    pub fn new() -> Self {
        ScoreBuffer { nodes: Vec::new(), columns: Vec::new(), sums: Vec::new() }
    }
}

impl<S: Float> Default for ScoreBuffer<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// The lattice of a sequence.
///
/// # Errors
/// [`crate::Error::IllegalScore`] if weights add up to infinity.
pub fn lattice<'a, S: Float, W: RowWeights<S>>(
    weights: &'a W,
    features: &FeatureBuffer,
    buffer: &'a mut ScoreBuffer<S>,
) -> Result<Lattice<'a, S>> {
    score_nodes(weights, features, buffer);
    let lattice = match weights.shared_edges() {
        Some(edges) => Lattice::new(&buffer.nodes, edges)?,
        None => {
            let (distinct, selection) = distinct_edges(features);
            let matrices = distinct.into_iter().map(|ids| weights.observed_edges(ids));
            let edges = Edges::per_position(matrices.collect::<Result<_>>()?)?;
            Lattice::selecting(&buffer.nodes, Arc::new(edges), selection)?
        }
    };
    lattice.with_borders(weights.start(), weights.end())
}

/// Node scores, `T x L`.
fn score_nodes<S: Float>(
    weights: &impl RowWeights<S>,
    features: &FeatureBuffer,
    buffer: &mut ScoreBuffer<S>,
) {
    let labels = weights.labels();
    let ScoreBuffer { nodes, columns, sums, .. } = buffer;
    nodes.clear();
    nodes.resize(features.len() * labels, S::ZERO);
    // The weights of a position's features lie all over memory: ask for them one position ahead, and for where they lie
    // two ahead, so that what waits for memory waits together.
    let prefetch = |t: usize, near: bool| {
        if t < features.len() {
            features.nodes(t).iter().for_each(|&id| weights.prefetch_nodes(id, near));
        }
    };
    [(0, false), (1, false), (0, true)].into_iter().for_each(|(t, near)| prefetch(t, near));
    for (t, row) in nodes.chunks_exact_mut(labels).enumerate() {
        prefetch(t + 2, false);
        prefetch(t + 1, true);
        match weights.label_parts() {
            None => score_position(weights, features, t, row),
            Some(parts) => {
                columns.clear();
                columns.resize(parts.columns(), S::ZERO);
                score_position(weights, features, t, columns);
                parts.spread(columns, row, sums);
            }
        }
    }
}

/// Adds up the weights of a position's features.
fn score_position<S: Float>(
    weights: &impl RowWeights<S>,
    features: &FeatureBuffer,
    t: usize,
    columns: &mut [S],
) {
    match features.values(t) {
        None => features.nodes(t).iter().for_each(|&id| weights.add_nodes(id, S::from_f64(1.0), columns)),
        Some(values) => {
            for (&id, &value) in features.nodes(t).iter().zip(values) {
                weights.add_nodes(id, S::from_f64(value), columns);
            }
        }
    }
}

/// The sets of edge features that differ, at least one, and which of them each step has.
fn distinct_edges(features: &FeatureBuffer) -> (Vec<&[FeatureId]>, Vec<u32>) {
    let mut distinct: Vec<&[FeatureId]> = Vec::new();
    let mut selection = Vec::with_capacity(features.len());
    for t in 1..features.len() {
        let ids = features.edges(t);
        let known = distinct.iter().position(|known| *known == ids);
        selection.push(known.unwrap_or(distinct.len()) as u32);
        if known.is_none() {
            distinct.push(ids);
        }
    }
    if distinct.is_empty() {
        distinct.push(&[]); // a single position: no step, but a lattice has edges
    }
    (distinct, selection)
}
