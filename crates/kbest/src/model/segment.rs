//! Models of segments: labels of segments, features of positions and of segments, and their weights.
//!
//! **What.** The score of a segment `[s, r)` with label `y` is
//!
//! ```text
//!   sum over its positions t of   w[feature][y]         features of t
//! + w[feature][begin y] of s    + w[feature][end y] of r - 1
//! + duration[r - s][y]
//! + sum over its own features of  v[feature][y]         see feature::segment
//! ```
//!
//! and edges join the labels of neighbouring segments, with scores for the first and the last. So the weights of a feature of
//! positions have `3 L` columns: for every position of a segment, for its first, and for its last. **Cost.** As a model of
//! positions; segments' own features are computed only where a decoder asks for them, which [`SegmentModel::bounds`] allow.
//!
//! **When not.** If labels are not segments, or segments are no more than their positions: then a [`Model`](super::Model).

use super::{EdgeWeights, NodeWeights, Row};
use crate::columns::TextFormat;
use crate::error::{Error, Result};
use crate::feature::segment::{SegmentFeatures, SegmentKind};
use crate::feature::{Extractor, FeatureId};
use crate::label::{LabelId, LabelSet};
use crate::lattice::Edges;
use crate::scheme::Spelling;
use crate::segment::LearnedBound;

/// The columns of a feature of positions: all positions of a segment, its first, its last.
pub const PLACES: usize = 3;

/// The parts of a model of segments.
#[derive(Debug)]
pub struct SegmentModelParts {
    /// Names of the segment labels.
    pub labels: LabelSet,
    /// How labels of positions spell segments.
    pub spelling: Spelling,
    /// From sequences to features of positions.
    pub extractor: Extractor,
    /// Weights of the node features, `3 L` columns: of any position of a segment, of its first, of its last.
    pub nodes: NodeWeights,
    /// Weights of the edge features.
    pub edges: EdgeWeights,
    /// Scores of the first label.
    pub start: Vec<f32>,
    /// Scores of the last label.
    pub end: Vec<f32>,
    /// Scores of lengths, `W x L`.
    pub durations: Vec<f32>,
    /// The longest segment of each label.
    pub longest: Vec<u32>,
    /// From segments to their own features.
    pub features: SegmentFeatures,
    /// Weights of these, `L` columns.
    pub weights: NodeWeights,
    /// What completions will probably score, if that was learned.
    pub bound: Option<LearnedBound>,
    /// The format of the text the model was trained on, if known.
    pub text_format: Option<TextFormat>,
    /// Where the model comes from: pairs of name and text, for human readers.
    pub about: Vec<(String, String)>,
}

/// A model of segments, ready to score sequences.
#[derive(Debug)]
pub struct SegmentModel {
    parts: SegmentModelParts,
    shared_edges: Edges<f32>,
    bounds: Vec<f32>, // W x L
    magnitude: f64,
}

impl SegmentModel {
    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not, [`Error::IllegalScore`] for a score that is not finite.
    pub fn new(parts: SegmentModelParts) -> Result<Self> {
        let labels = parts.labels.len();
        let fits = |what: &str, expected: usize, got: usize| {
            if expected == got { Ok(()) } else { Err(Error::shape(what, expected, got)) }
        };
        if labels == 0 {
            return Err(Error::shape("labels of the model", "at least 1", 0));
        }
        fits("labels that are spelled", labels, parts.spelling.labels())?;
        fits("node features with weights", parts.extractor.nodes().len(), parts.nodes.features())?;
        fits("edge features with weights", parts.extractor.edges().len(), parts.edges.features())?;
        fits("columns of the node weights", PLACES * labels, parts.nodes.labels())?;
        fits("labels of the edge weights", labels, parts.edges.labels())?;
        fits("labels with a longest segment", labels, parts.longest.len())?;
        fits("segment features with weights", parts.features.keys().len(), parts.weights.features())?;
        fits("labels of the segment weights", labels, parts.weights.labels())?;
        if let Some(bound) = &parts.bound {
            fits("labels of the learned bound", labels, bound.parts().labels)?;
        }
        fits("start scores", labels, parts.start.len())?;
        fits("end scores", labels, parts.end.len())?;
        let longest = parts.longest.iter().max().map_or(0, |&longest| longest as usize);
        let expected = longest.checked_mul(labels).filter(|_| longest > 0);
        if expected != Some(parts.durations.len()) {
            let expected = format!("{} lengths x {labels} labels", longest.max(1));
            return Err(Error::shape("scores of lengths", expected, parts.durations.len()));
        }
        for (what, scores) in [
            ("start scores", &parts.start),
            ("end scores", &parts.end),
            ("scores of lengths", &parts.durations),
        ] {
            if let Some(i) = scores.iter().position(|score| !score.is_finite()) {
                let what = format!("{what}, label {}", i % labels);
                return Err(Error::IllegalScore { what, value: scores[i].into() });
            }
        }
        if parts.text_format.as_ref().is_some_and(|format| format.fields.is_empty()) {
            return Err(Error::shape("fields of the text format", "at least 1", 0)); // no file could say so
        }
        let shared = parts.edges.sum(parts.extractor.shared_edges())?;
        let shared_edges = allowed(shared, &parts.spelling)?;
        let (bounds, magnitude) = bounds(&parts, longest);
        Ok(SegmentModel { parts, shared_edges, bounds, magnitude })
    }

    /// Names of the segment labels.
    pub fn labels(&self) -> &LabelSet {
        &self.parts.labels
    }

    /// How labels of positions spell segments.
    pub fn spelling(&self) -> &Spelling {
        &self.parts.spelling
    }

    /// From sequences to features of positions.
    pub fn extractor(&self) -> &Extractor {
        &self.parts.extractor
    }

    /// Weights of the node features, `3 L` columns.
    pub fn nodes(&self) -> &NodeWeights {
        &self.parts.nodes
    }

    /// Weights of the edge features.
    pub fn edges(&self) -> &EdgeWeights {
        &self.parts.edges
    }

    /// The sum of the edge features that occur in every step; what the spelling forbids is forbidden.
    pub fn shared_edges(&self) -> &Edges<f32> {
        &self.shared_edges
    }

    /// Scores of the first label.
    pub fn start(&self) -> &[f32] {
        &self.parts.start
    }

    /// Scores of the last label.
    pub fn end(&self) -> &[f32] {
        &self.parts.end
    }

    /// Scores of lengths, `W x L`.
    pub fn durations(&self) -> &[f32] {
        &self.parts.durations
    }

    /// The longest segment of each label.
    pub fn longest(&self) -> &[u32] {
        &self.parts.longest
    }

    /// From segments to their own features.
    pub fn features(&self) -> &SegmentFeatures {
        &self.parts.features
    }

    /// Weights of these, `L` columns.
    pub fn weights(&self) -> &NodeWeights {
        &self.parts.weights
    }

    /// What a segment's own features never exceed, by length and label: `W x L`.
    pub fn bounds(&self) -> &[f32] {
        &self.bounds
    }

    /// What their absolute value never exceeds.
    pub fn magnitude(&self) -> f64 {
        self.magnitude
    }

    /// What completions will probably score, if that was learned.
    pub fn bound(&self) -> Option<&LearnedBound> {
        self.parts.bound.as_ref()
    }

    /// The format of the text the model was trained on, if known.
    pub fn text_format(&self) -> Option<&TextFormat> {
        self.parts.text_format.as_ref()
    }

    /// Where the model comes from.
    pub fn about(&self) -> &[(String, String)] {
        &self.parts.about
    }

    /// Splits the model into its parts.
    pub fn into_parts(self) -> SegmentModelParts {
        self.parts
    }

    /// The parts, to be looked at.
    pub(crate) fn parts(&self) -> &SegmentModelParts {
        &self.parts
    }
}

/// Edges without those that the spelling cannot express: two runs of one label are one run.
pub(crate) fn allowed<S: crate::kernel::Float>(mut edges: Edges<S>, spelling: &Spelling) -> Result<Edges<S>> {
    if !spelling.may_repeat() {
        for y in 0..edges.labels() as LabelId {
            edges.set(y, y, S::FORBIDDEN)?;
        }
    }
    Ok(edges)
}

/// Upper bounds of the sum of a segment's own features by length and label, and a bound of its magnitude.
///
/// A segment has at most one feature of each kind (of each lexicon, one), so the best of each kind add up to a bound; the
/// text has as many words as the segment has positions. Sums are rounded up, because `f32` sums may be.
fn bounds(parts: &SegmentModelParts, longest: usize) -> (Vec<f32>, f64) {
    let labels = parts.labels.len();
    let keys = parts.features.keys();
    let mut by_kind = vec![vec![0.0f64; labels]; SegmentKind::NAMES.len()];
    let mut by_length = vec![0.0f64; longest * labels]; // the best text of each length
    let mut lexicons = vec![0.0f64; labels];
    let mut magnitude = 0.0f64;
    let mut largest = vec![0.0f64; SegmentKind::NAMES.len()];
    for (id, key) in (0..).zip(keys.keys()) {
        let Some(kind) = SegmentKind::of_key(key) else { continue };
        let row = weights_of(&parts.weights, id);
        let most = row.iter().map(|(_, weight)| f64::from(weight.abs())).fold(0.0, f64::max);
        match kind {
            SegmentKind::Lexicon => magnitude += most,
            kind => largest[kind as usize] = largest[kind as usize].max(most),
        }
        for (y, weight) in row {
            let (y, weight) = (y as usize, f64::from(weight));
            match kind {
                SegmentKind::Text => {
                    let length = key.iter().filter(|&&byte| byte == b' ').count() + 1;
                    if let Some(best) = by_length.get_mut((length - 1) * labels + y) {
                        *best = best.max(weight);
                    }
                }
                SegmentKind::Lexicon => lexicons[y] += weight.max(0.0),
                kind => by_kind[kind as usize][y] = by_kind[kind as usize][y].max(weight),
            }
        }
    }
    magnitude += largest.iter().sum::<f64>();
    let slack = magnitude * f64::from(f32::EPSILON) * (keys.len().min(1 << 12) as f64 + 8.0);
    for (i, bound) in by_length.iter_mut().enumerate() {
        let (y, single) = (i % labels, i < labels);
        let kinds = SegmentKind::NAMES.iter().map(|&(_, kind)| kind);
        let possible = kinds.filter(|kind| !(single && *kind == SegmentKind::Ends));
        *bound += possible.map(|kind| by_kind[kind as usize][y]).sum::<f64>() + lexicons[y] + slack;
    }
    (by_length.into_iter().map(|bound| bound as f32 + f32::MIN_POSITIVE).collect(), magnitude)
}

fn weights_of(weights: &NodeWeights, id: FeatureId) -> Vec<(LabelId, f32)> {
    let row: Row<'_> = weights.row(id);
    row.iter().collect()
}
