//! From features to lattices: the one bridge between text and search.
//!
//! **What.** Something that has [`Weights`], a model or a trainer, and the features of a sequence make a [`Lattice`]: node
//! scores `T x L`, each the sum of the weights of the position's features, added in the features' order from zero, and of
//! its [parts](LabelParts), if labels have any; edges borrowed where all steps share them, made for the sequence where features look at the input.
//!
//! **Cost.** One visit to memory a feature, then one addition a stored weight; a [`ScoreBuffer`] keeps its memory from
//! sequence to sequence. Edges that look at the input cost a matrix for each set of features that differs.
//!
//! ```
//! use kbest::feature::{Dictionary, Extractor, FeatureBuffer, FeatureSource};
//! use kbest::model::{EdgeWeight, EdgeWeights, Model, ModelParts, NodeWeightsBuilder};
//! use kbest::scoring::{ScoreBuffer, lattice};
//! use kbest::{LabelSet, Sequence, Template};
//!
//! let template = Template::parse("U0:%x[0,0]\nB\n", "template")?;
//! let (nodes, edges) = (Dictionary::from_keys(["U0:time"]), Dictionary::from_keys(["B"]));
//! let mut weights = NodeWeightsBuilder::new(2);
//! weights.push([(1, 2.0)])?;
//! let model = Model::new(ModelParts {
//!     labels: LabelSet::from_names(["VERB", "NOUN"]),
//!     extractor: Extractor::from_parts(FeatureSource::Template(template), nodes, edges, Dictionary::default(), 1),
//!     label_parts: None,
//!     nodes: weights.finish(),
//!     edges: EdgeWeights::new(2, [vec![EdgeWeight { from: 1, to: 0, weight: 0.5 }]])?,
//!     start: None,
//!     end: None,
//!     voters: None,
//!     about: vec![],
//! })?;
//! let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
//! model.extractor().extract(&Sequence::from_tokens(["time", "flies"]), &mut features)?;
//! let lattice = lattice(&model, &features, &mut buffer)?;
//! assert_eq!(lattice.path_score(&[1, 0])?, 2.5);
//! # Ok::<(), kbest::Error>(())
//! ```

use crate::error::Result;
use crate::feature::{FeatureBuffer, FeatureId};
use crate::lattice::{Edges, Lattice};
use crate::model::{LabelParts, Model};

/// What scoring asks of a model, finished or in training.
pub trait Weights {
    /// Number of labels `L`.
    fn labels(&self) -> usize;

    /// The parts of labels that have weights of their own, if any.
    fn label_parts(&self) -> Option<&LabelParts> {
        None
    }

    /// Adds the weights of a node feature, times `value`, to a row of `L` scores; if labels have parts, to a row of as
    /// many columns as [`LabelParts::columns`] tells.
    fn add_nodes(&self, feature: FeatureId, value: f32, columns: &mut [f32]);

    /// The edges of every step, or `None` if edges look at the input.
    fn shared_edges(&self) -> Option<&Edges<f32>>;

    /// The edges that these features make together.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if a sum is infinite.
    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>>;

    /// Scores of the first label, if any.
    fn start(&self) -> Option<&[f32]>;

    /// Scores of the last label, if any.
    fn end(&self) -> Option<&[f32]>;
}

impl Weights for Model {
    fn labels(&self) -> usize {
        self.labels().len()
    }

    fn label_parts(&self) -> Option<&LabelParts> {
        self.label_parts()
    }

    #[inline]
    fn add_nodes(&self, feature: FeatureId, value: f32, columns: &mut [f32]) {
        self.nodes().add_to(feature, value, columns);
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        (!self.extractor().source().has_observed_edges()).then(|| self.shared_edges())
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        self.edges().sum(features)
    }

    fn start(&self) -> Option<&[f32]> {
        self.start()
    }

    fn end(&self) -> Option<&[f32]> {
        self.end()
    }
}

/// The memory of a lattice's scores.
#[derive(Debug, Default)]
pub struct ScoreBuffer {
    nodes: Vec<f32>,            // T x L
    columns: Vec<f32>,          // one position's labels and parts
    sums: Vec<f32>,             // of parts
    observed: Option<Observed>, // edges of this sequence alone
}

/// One matrix for each set of edge features that differs, and which of them each step takes.
#[derive(Debug)]
struct Observed {
    edges: Edges<f32>,
    selection: Vec<u32>,
}

impl ScoreBuffer {
    /// Empty.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The lattice of a sequence.
///
/// # Errors
/// [`crate::Error::IllegalScore`] if weights add up to infinity.
pub fn lattice<'a, W: Weights>(
    weights: &'a W,
    features: &FeatureBuffer,
    buffer: &'a mut ScoreBuffer,
) -> Result<Lattice<'a, f32>> {
    score_nodes(weights, features, buffer);
    let lattice = match weights.shared_edges() {
        Some(edges) => Lattice::new(&buffer.nodes, edges)?,
        None => {
            let observed = buffer.observed.insert(observe(weights, features)?);
            Lattice::selecting(&buffer.nodes, &observed.edges, &observed.selection)?
        }
    };
    let lattice = match weights.start() {
        Some(start) => lattice.with_start(start)?,
        None => lattice,
    };
    match weights.end() {
        Some(end) => lattice.with_end(end),
        None => Ok(lattice),
    }
}

/// Node scores, `T x L`.
fn score_nodes(weights: &impl Weights, features: &FeatureBuffer, buffer: &mut ScoreBuffer) {
    let labels = weights.labels();
    let ScoreBuffer { nodes, columns, sums, .. } = buffer;
    nodes.clear();
    nodes.resize(features.len() * labels, 0.0);
    for (t, row) in nodes.chunks_exact_mut(labels).enumerate() {
        match weights.label_parts() {
            None => score_position(weights, features, t, row),
            Some(parts) => {
                columns.clear();
                columns.resize(parts.columns(), 0.0);
                score_position(weights, features, t, columns);
                parts.spread(columns, row, sums);
            }
        }
    }
}

/// Adds up the weights of a position's features.
fn score_position(weights: &impl Weights, features: &FeatureBuffer, t: usize, columns: &mut [f32]) {
    match features.values(t) {
        None => features.nodes(t).iter().for_each(|&id| weights.add_nodes(id, 1.0, columns)),
        Some(values) => {
            for (&id, &value) in features.nodes(t).iter().zip(values) {
                weights.add_nodes(id, value as f32, columns);
            }
        }
    }
}

/// The edges of a sequence whose features look at the input.
fn observe(weights: &impl Weights, features: &FeatureBuffer) -> Result<Observed> {
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
    let matrices = distinct.into_iter().map(|ids| weights.observed_edges(ids)).collect::<Result<_>>()?;
    Ok(Observed { edges: Edges::per_position(matrices)?, selection })
}
