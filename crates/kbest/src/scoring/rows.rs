//! Rows of weights: how the rows of features, finished or in training, become lattices.
//!
//! **What.** [`RowWeights`] and the features of a sequence form a [`Lattice`]: node scores `T x L`, each the sum of the
//! weights of the position's features, added in the features' order starting from zero, plus those of its
//! [parts](LabelParts), if labels have any; edges are borrowed if all steps share them, or built for the sequence if
//! features depend on the input.
//!
//! **Cost.** One memory access per feature, then one addition per stored weight; a [`ScoreBuffer`] keeps its memory
//! from sequence to sequence. Edges that depend on the input cost a matrix for each distinct set of features.
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

use crate::feature::{FeatureBuffer, FeatureId};
use crate::model::LabelParts;
use kbest_core::Result;
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::simd::Float;
use std::sync::Arc;

/// What scoring needs from weights, finished or in training. Scores are `f32`, unless a trainer needs more precision.
pub trait RowWeights<S: Float = f32> {
    /// Number of labels `L`.
    fn labels(&self) -> usize;

    /// The parts of labels that have weights of their own, if any.
    fn label_parts(&self) -> Option<&LabelParts>;

    /// Adds the weights of a node feature, times `value`, to a row of `L` scores; if labels have parts, to a row of
    /// [`LabelParts::columns`] columns.
    fn add_nodes(&self, feature: FeatureId, value: S, columns: &mut [S]);

    /// Prefetches the offset of a node feature's weights or, if `near`, the weights: called some features ahead of
    /// [`RowWeights::add_nodes`], first far, then near. May do nothing.
    fn prefetch_nodes(&self, feature: FeatureId, near: bool);

    /// The edges of every step, or `None` if edges depend on the input.
    fn shared_edges(&self) -> Option<&Edges<S>>;

    /// The sum of the edges of these features.
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
    /// An empty buffer.
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
    over_edges(weights, features, &buffer.nodes)
}

/// The lattice of node scores and the edges of a sequence.
pub(super) fn over_edges<'a, S: Float, W: RowWeights<S>>(
    weights: &'a W,
    features: &FeatureBuffer,
    nodes: &'a [S],
) -> Result<Lattice<'a, S>> {
    let lattice = match weights.shared_edges() {
        Some(edges) => Lattice::new(nodes, edges)?,
        None => {
            let (distinct, selection) = distinct_edges(features);
            let matrices = distinct.into_iter().map(|ids| weights.observed_edges(ids));
            let edges = Edges::per_position(matrices.collect::<Result<_>>()?)?;
            Lattice::selecting(nodes, Arc::new(edges), selection)?
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
    // The weights of a position's features are scattered in memory: prefetch them one position ahead, and their offsets
    // two ahead, so that memory accesses overlap.
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

/// Sums the weights of a position's features.
#[inline(always)]
pub(super) fn score_position<S: Float>(
    weights: &impl RowWeights<S>,
    features: &FeatureBuffer,
    t: usize,
    columns: &mut [S],
) {
    match features.values(t) {
        // Plain loops: what a closure does may be compiled for the baseline (`simd/compiled.rs`).
        None => {
            for &id in features.nodes(t) {
                weights.add_nodes(id, S::from_f64(1.0), columns);
            }
        }
        Some(values) => {
            for (&id, &value) in features.nodes(t).iter().zip(values) {
                weights.add_nodes(id, S::from_f64(value), columns);
            }
        }
    }
}

/// The distinct sets of edge features, at least one, and the index of each step's set.
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
        distinct.push(&[]); // a single position: no step, but a lattice needs edges
    }
    (distinct, selection)
}
