//! Models: labels, features and their weights.
//!
//! **What.** A [`Model`] is everything needed for tagging: the names of the labels, the frozen [`Extractor`], the
//! weights of node features ([`NodeWeights`]: `L` numbers each, nearly all zero) and of edge features ([`EdgeWeights`]:
//! `L x L` numbers each, nearly all zero), and optional scores of first and last labels. Labels may have
//! [parts](LabelParts) with weights of their own: node features then have a weight for each of `L + P` columns.
//! [Agreement] adds weights between parts of neighbouring labels to the edges.
//! Trainers and importers build [`ModelParts`]; [`Model::new`] checks that the parts fit together and sums the edges
//! that all steps share.
//!
//! A *dual* model has [tokens of its training data](Support) instead of node weights, and a kernel that compares them with
//! the tokens of the input.
//!
//! A model is written to one file ([`Model::save`]), which is mapped and used in place ([`Model::load`]);
//! [`Model::load_any`] also reads models of other programs; [`Model::pruned`] drops weights that hardly matter, and
//! `Model::to_safetensors` (cargo feature `safetensors`) exports the weights to other programs.
//!
//! **Cost.** Zeros are not stored. A model is read-only, so threads share it.
//!
//! **When not.** With a neural network, start from the [lattice](kbest_core::lattice): no model is needed.

mod agreement;
mod any;
mod boolean;
mod bound_file;
pub(crate) mod container;
mod edge_weights;
#[cfg(feature = "safetensors")]
mod export;
mod file;
pub mod import;
mod label_parts;
mod node_weights;
mod prune;
mod segment;
mod segment_file;
mod support;
mod text_format;
mod voters;
mod whole_file;

pub(crate) use agreement::ClassScores;
pub use agreement::{Agreement, COARSE, LabelGroups, MOST_CLASSES, USUAL_GROUPS};
pub use any::AnyModel;
pub use boolean::BooleanModel;
pub use edge_weights::{EdgeWeight, EdgeWeights};
pub use label_parts::LabelParts;
pub use node_weights::{NodeWeights, NodeWeightsBuilder, Row};
pub(crate) use segment::{BoundedMemory, allowed};
pub use segment::{PLACES, SegmentModel, SegmentModelParts};
pub use support::{Coefficient, Support, SupportBuilder};
pub use voters::{EdgeChange, NodeChange, Voters, VotersBuilder};
pub use whole_file::WholeFile;

use crate::checked::Damage;
use crate::feature::{Extractor, FeatureId};
use crate::text::TextFormat;
use kbest_core::lattice::Edges;
use kbest_core::marginal::Calibration;
use kbest_core::simd::Float;
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelSet};
use std::sync::Arc;

/// A matrix is stored whole with at most this many labels, or if at least one edge in this many is an exception.
const FEW_LABELS: usize = 64;
const FEW_EXCEPTIONS: usize = 4;

/// The parts of a model.
#[derive(Debug)]
pub struct ModelParts {
    /// Names of the labels.
    pub labels: LabelSet,
    /// From sequences to features.
    pub extractor: Extractor,
    /// The parts of labels that have weights of their own, if any.
    pub label_parts: Option<LabelParts>,
    /// Weights of the node features: one column per label, then one per part.
    pub nodes: NodeWeights,
    /// Tokens that score nodes by their likeness, instead of weights, if the model is a dual one.
    pub support: Option<Support>,
    /// Weights of the edge features.
    pub edges: EdgeWeights,
    /// Weights between parts of neighbouring labels, if any.
    pub agreement: Option<Agreement>,
    /// Scores of the first label, if the model has them.
    pub start: Option<Vec<f32>>,
    /// Scores of the last label, if the model has them.
    pub end: Option<Vec<f32>>,
    /// The ensemble, if the model votes; the weights above are then those of its last member.
    pub voters: Option<Voters>,
    /// How scores become probabilities, if that was learned.
    pub calibration: Option<Calibration>,
    /// The format of the text the model was trained on, if known.
    pub text_format: Option<TextFormat>,
    /// Where the model comes from: pairs of name and text, for human readers.
    pub about: Vec<(String, String)>,
}

impl ModelParts {
    /// Weights of features and nothing else.
    pub fn new(labels: LabelSet, extractor: Extractor, nodes: NodeWeights, edges: EdgeWeights) -> Self {
        ModelParts {
            labels,
            extractor,
            label_parts: None,
            nodes,
            support: None,
            edges,
            agreement: None,
            start: None,
            end: None,
            voters: None,
            calibration: None,
            text_format: None,
            about: Vec::new(),
        }
    }
}

/// A model, ready to score sequences.
#[derive(Debug)]
pub struct Model {
    parts: ModelParts,
    class_scores: Vec<f32>, // C x C: of agreement, if there is any
    shared_edges: Edges<f32>,
    damage: Vec<Arc<Damage>>, // of files that are checked while they are used: nearly always none or one
}

impl Model {
    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not, [`Error::IllegalScore`] for a score that is NaN or infinite.
    pub fn new(parts: ModelParts) -> Result<Self> {
        let labels = parts.labels.len();
        if labels == 0 {
            return Err(Error::shape("labels of the model", "at least 1", 0));
        }
        let fits = |what: &str, expected: usize, got: usize| {
            if expected == got { Ok(()) } else { Err(Error::shape(what, expected, got)) }
        };
        fits("node features with weights", parts.extractor.nodes().len(), parts.nodes.features())?;
        fits("edge features with weights", parts.extractor.edges().len(), parts.edges.features())?;
        let columns = match &parts.label_parts {
            Some(label_parts) => {
                fits("labels that have parts", labels, label_parts.labels())?;
                label_parts.columns()
            }
            None => labels,
        };
        fits("labels of the node weights, with their parts", columns, parts.nodes.labels())?;
        fits("labels of the edge weights", labels, parts.edges.labels())?;
        for (what, scores) in [("start scores", &parts.start), ("end scores", &parts.end)] {
            let Some(scores) = scores else { continue };
            fits(what, labels, scores.len())?;
            if let Some(y) = scores.iter().position(|w| w.is_nan() || *w == f32::INFINITY) {
                let what = format!("{what} of label {y}");
                return Err(Error::IllegalScore { what, value: scores[y].into() });
            }
        }
        if let Some(support) = &parts.support {
            fits("features of the support tokens", parts.nodes.features(), support.tokens().dimension())?;
            fits("labels of the support tokens", labels, support.labels())?;
            fits("node weights beside support tokens", 0, parts.nodes.stored())?;
            if parts.label_parts.is_some() || parts.voters.is_some() {
                let expected = "neither parts of labels nor voters";
                return Err(Error::shape("a model of support tokens", expected, "one of them"));
            }
        }
        if parts.text_format.as_ref().is_some_and(|format| format.fields.is_empty()) {
            return Err(Error::shape("fields of the text format", "at least 1", 0)); // no file could say so
        }
        if let Some(voters) = &parts.voters {
            voters.check(labels, columns, parts.nodes.features(), parts.edges.features())?;
        }
        if let Some(agreement) = &parts.agreement {
            fits("labels of the weights between parts", labels, agreement.groups().labels())?;
            if parts.voters.is_some() || parts.support.is_some() {
                let expected = "neither voters nor support tokens";
                return Err(Error::shape(
                    "a model with weights between parts of labels",
                    expected,
                    "one of them",
                ));
            }
        }
        let class_scores = parts.agreement.as_ref().map_or_else(Vec::new, Agreement::scores);
        let over =
            parts.agreement.as_ref().map(|agreement| OverClasses::new(agreement.groups(), &class_scores));
        let shared_edges = parts.edges.sum_over(parts.extractor.shared_edges(), over)?;
        let mut damage: Vec<Arc<Damage>> =
            parts.extractor.damage().chain(parts.nodes.damage()).cloned().collect();
        damage.dedup_by(|a, b| Arc::ptr_eq(a, b));
        Ok(Model { parts, class_scores, shared_edges, damage })
    }

    /// An error if the model, or the one that its parts come from, is checked while it is used ([`AnyModel::open`]), and
    /// something that was used is damaged.
    ///
    /// # Errors
    /// [`Error::Data`].
    #[inline]
    pub fn undamaged(&self) -> Result<()> {
        match self.damage.iter().find(|damage| damage.is_found()) {
            None => Ok(()),
            Some(damage) => Err(damage.error()),
        }
    }

    /// Names of the labels.
    pub fn labels(&self) -> &LabelSet {
        &self.parts.labels
    }

    /// From sequences to features.
    pub fn extractor(&self) -> &Extractor {
        &self.parts.extractor
    }

    /// The parts of labels that have weights of their own, if any.
    pub fn label_parts(&self) -> Option<&LabelParts> {
        self.parts.label_parts.as_ref()
    }

    /// Weights of the node features.
    pub fn nodes(&self) -> &NodeWeights {
        &self.parts.nodes
    }

    /// The tokens that score nodes, if the model is a dual one; its node features then have no weights.
    pub fn support(&self) -> Option<&Support> {
        self.parts.support.as_ref()
    }

    /// Weights of the edge features.
    pub fn edges(&self) -> &EdgeWeights {
        &self.parts.edges
    }

    /// Weights between parts of neighbouring labels, if any.
    pub fn agreement(&self) -> Option<&Agreement> {
        self.parts.agreement.as_ref()
    }

    /// The edges of a step that has these features.
    ///
    /// # Errors
    /// [`Error::IllegalScore`] if a sum is infinite.
    pub(crate) fn edges_of(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        let over = self.agreement().map(|agreement| OverClasses::new(agreement.groups(), &self.class_scores));
        self.edges().sum_over(features, over)
    }

    /// The sum of the edge features that occur in every step, and of agreement.
    pub fn shared_edges(&self) -> &Edges<f32> {
        &self.shared_edges
    }

    /// Scores of the first label, if the model has them.
    pub fn start(&self) -> Option<&[f32]> {
        self.parts.start.as_deref()
    }

    /// Scores of the last label, if the model has them.
    pub fn end(&self) -> Option<&[f32]> {
        self.parts.end.as_deref()
    }

    /// The ensemble, if the model votes.
    pub fn voters(&self) -> Option<&Voters> {
        self.parts.voters.as_ref()
    }

    /// How scores become probabilities, if that was learned.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.parts.calibration.as_ref()
    }

    /// The format of the text the model was trained on, if known: text to tag is best in the same format.
    pub fn text_format(&self) -> Option<&TextFormat> {
        self.parts.text_format.as_ref()
    }

    /// Where the model comes from.
    pub fn about(&self) -> &[(String, String)] {
        &self.parts.about
    }

    /// Splits the model into its parts.
    pub fn into_parts(self) -> ModelParts {
        self.parts
    }
}

/// Scores of pairs of classes, which the weights of pairs of labels are added to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverClasses<'a, S> {
    classes: &'a [u32], // L
    count: usize,       // C
    scores: &'a [S],    // C x C
}

impl<'a, S: Float> OverClasses<'a, S> {
    pub(crate) fn new(groups: &'a LabelGroups, scores: &'a [S]) -> Self {
        OverClasses { classes: groups.class_of_labels(), count: groups.classes(), scores }
    }

    fn at(&self, from: LabelId, to: LabelId) -> S {
        let class = |y: LabelId| self.classes[y as usize] as usize;
        self.scores[class(from) * self.count + class(to)]
    }
}

/// Edges in the shape that suits their number: a whole matrix for few labels or many exceptions, otherwise exceptions
/// from zero, or from the scores of classes. Pairs are sorted by (from, to) and unique.
pub(crate) fn edges_of_best_shape<S: Float>(
    labels: usize,
    over: Option<OverClasses<'_, S>>,
    pairs: impl ExactSizeIterator<Item = (LabelId, LabelId, S)>,
) -> Result<Edges<S>> {
    let base = |from: LabelId, to: LabelId| over.map_or(S::ZERO, |over| over.at(from, to));
    let known = |label: LabelId| match label as usize {
        y if y < labels => Ok(y),
        _ => Err(Error::LabelOutOfRange { what: "edge weights".into(), label: label.into(), labels }),
    };
    if labels <= FEW_LABELS || pairs.len() * FEW_EXCEPTIONS >= labels * labels {
        let mut matrix = vec![S::ZERO; labels * labels];
        if over.is_some() {
            for (row, from) in matrix.chunks_exact_mut(labels).zip(0..) {
                row.iter_mut().zip(0..).for_each(|(score, to)| *score = base(from, to));
            }
        }
        for (from, to, weight) in pairs {
            matrix[known(from)? * labels + known(to)?] = base(from, to) + weight;
        }
        return Edges::dense(labels, matrix);
    }
    let (mut from, mut to, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for (p, y, weight) in pairs {
        known(p)?;
        known(y)?;
        from.push(p);
        to.push(y);
        scores.push(base(p, y) + weight);
    }
    match over {
        None => Edges::sparse(labels, S::ZERO, &from, &to, &scores),
        Some(over) => {
            let exceptions = (&from[..], &to[..], &scores[..]);
            Edges::classes(over.classes, over.classes, over.scores, over.count, exceptions)
        }
    }
}
