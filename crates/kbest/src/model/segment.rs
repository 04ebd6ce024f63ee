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

use super::{EdgeWeights, NodeWeights};
use crate::columns::TextFormat;
use crate::error::{Error, Result};
use crate::feature::segment::{Glance, SegmentFeatures, SegmentKind, Similar};
use crate::feature::{Extractor, FeatureId};
use crate::kernel::{Loop, run};
use crate::label::{LabelId, LabelSet};
use crate::lattice::Edges;
use crate::marginal::Calibration;
use crate::scheme::Spelling;
use crate::segment::LearnedBound;
use std::collections::BTreeSet;

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
    /// How scores become probabilities, if that was learned; its curve is one for segments.
    pub calibration: Option<Calibration>,
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
    bounds: Vec<f32>,     // W x L
    similar: Vec<f32>, // steps x 64 x L: the most that similarity up to this step to a label, modulo 64, can add
    slack: f32,        // of sums of weights
    magnitudes: [f64; 2], // the largest |score of a length| and |bound|
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
        let (bounds, magnitude, slack) = bounds(&parts, longest);
        let similar = similar_bounds(&parts, slack);
        let largest =
            |scores: &[f32]| scores.iter().fold(0.0f64, |most, score| most.max(f64::from(score.abs())));
        let magnitudes = [largest(&parts.durations), largest(&bounds)];
        Ok(SegmentModel { parts, shared_edges, bounds, similar, slack, magnitudes, magnitude })
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

    /// Writes what the own features of the segments from `start` on never exceed: a row of labels for each length from 1 on, as many
    /// as there is room for.
    pub(crate) fn bound_segments(&self, glance: &Glance, start: usize, rows: &mut [f32]) {
        run(BoundSegments { model: self, glance, start, rows });
    }

    /// The largest magnitudes of the scores of lengths and of [`SegmentModel::bounds`].
    pub(crate) fn magnitudes(&self) -> [f64; 2] {
        self.magnitudes
    }

    /// What their absolute value never exceeds.
    pub fn magnitude(&self) -> f64 {
        self.magnitude
    }

    /// What completions will probably score, if that was learned.
    pub fn bound(&self) -> Option<&LearnedBound> {
        self.parts.bound.as_ref()
    }

    /// How scores become probabilities, if that was learned; its curve is one for segments.
    pub fn calibration(&self) -> Option<&Calibration> {
        self.parts.calibration.as_ref()
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
/// A segment has at most one feature of each kind, and of each lexicon, so the best of each add up to a bound. Texts and shapes
/// have as many words as the segment has positions, so their best are found length by length; so are labels that texts are known
/// for, and lexicons: where no known text has this length, they add nothing. The scores are sums in `f32` of as many terms as
/// there are kinds and lexicons: `slack` covers their rounding.
fn bounds(parts: &SegmentModelParts, longest: usize) -> (Vec<f32>, f64, f32) {
    let (labels, keys) = (parts.labels.len(), parts.features.keys());
    let mut of_any_length = vec![0.0f64; SegmentKind::NAMES.len() * labels]; // the best of each kind
    let mut of_length = vec![0.0f64; SegmentKind::NAMES.len() * longest * labels];
    let mut largest = [0.0f64; SegmentKind::NAMES.len()];
    let mut lexicons: Vec<FeatureId> = Vec::new();
    let raise = |best: &mut [f64], id: FeatureId| {
        for (y, weight) in parts.weights.row(id).iter() {
            best[y as usize] = best[y as usize].max(weight.into());
        }
    };
    let words = |text: &[u8]| text.iter().filter(|&&byte| byte == b' ').count() + 1;
    let row = |kind: SegmentKind, length: usize| ((kind as usize * longest + length - 1) * labels, labels);
    for (id, key) in (0..).zip(keys.keys()) {
        let Some(kind) = SegmentKind::of_key(key) else { continue };
        let weights = parts.weights.row(id);
        let magnitude = weights.iter().map(|(_, weight)| f64::from(weight.abs())).fold(0.0, f64::max);
        let of_kind = &mut largest[kind as usize];
        match kind {
            SegmentKind::Lexicon => {
                *of_kind += magnitude;
                lexicons.push(id);
            }
            _ => *of_kind = of_kind.max(magnitude),
        }
        match kind {
            SegmentKind::Known | SegmentKind::Lexicon => {} // by the texts that have them
            SegmentKind::Text | SegmentKind::Shape => {
                let length = words(key);
                if length <= longest {
                    let (start, count) = row(kind, length);
                    raise(&mut of_length[start..][..count], id);
                }
            }
            SegmentKind::Similar | SegmentKind::Ends | SegmentKind::Around | SegmentKind::Line => {
                raise(&mut of_any_length[kind as usize * labels..][..labels], id);
            }
        }
    }
    // Which labels and lexicons the known texts of each length have.
    let mut seen: BTreeSet<(usize, FeatureId)> = BTreeSet::new();
    let (starts, features) = parts.features.text_lists();
    for ((text, &start), &end) in parts.features.texts().keys().zip(starts).zip(&starts[1..]) {
        let length = words(text);
        if length <= longest {
            let list = &features[start as usize..end as usize];
            seen.extend(list.iter().map(|&id| (length, id)));
        }
    }
    for (length, id) in seen {
        match keys.key(id).and_then(SegmentKind::of_key) {
            Some(SegmentKind::Known) => {
                let (start, count) = row(SegmentKind::Known, length);
                raise(&mut of_length[start..][..count], id);
            }
            Some(SegmentKind::Lexicon) => {
                let (start, _) = row(SegmentKind::Lexicon, length);
                for (y, weight) in parts.weights.row(id).iter() {
                    of_length[start + y as usize] += f64::from(weight.max(0.0));
                }
            }
            _ => {}
        }
    }
    let magnitude: f64 = largest.iter().sum();
    let terms = SegmentKind::NAMES.len() + lexicons.len();
    let slack = 2.0 * terms as f64 * f64::from(f32::EPSILON) * magnitude;
    let bound = |i: usize| {
        let y = i % labels;
        let possible = |kind: &SegmentKind| i >= labels || *kind != SegmentKind::Ends; // one word has no two ends
        let kinds = SegmentKind::NAMES.iter().map(|(_, kind)| *kind).filter(possible);
        let best = |kind: SegmentKind| {
            of_any_length[kind as usize * labels + y] + of_length[kind as usize * longest * labels + i]
        };
        (kinds.map(best).sum::<f64>() + slack) as f32
    };
    // Features that may be there, and are not, add roundings of their own.
    ((0..longest * labels).map(bound).collect(), magnitude, (2.0 * slack) as f32)
}

/// What the segments from one start on can score.
struct BoundSegments<'a> {
    model: &'a SegmentModel,
    glance: &'a Glance,
    start: usize,
    rows: &'a mut [f32],
}

impl Loop for BoundSegments<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let BoundSegments { model, glance, start, rows } = self;
        let (labels, parts) = (model.labels().len(), &model.parts);
        let longest = rows.len() / labels;
        // Most often the next word only adds labels to those that similar segments may have.
        let (mut at, mut merged, mut last) = (0, 0, 0);
        glance.similarities(start, longest, |similarity| {
            let (before, rest) = rows.split_at_mut(at);
            let row = &mut rest[..labels];
            if at > 0 && similarity.steps == last {
                row.copy_from_slice(&before[at - labels..]);
            } else {
                row.fill(model.slack);
                (merged, last) = (0, similarity.steps);
            }
            if let Some(step) = similarity.steps.checked_sub(1) {
                let of_step = &model.similar[step * FOLDED * labels..][..FOLDED * labels];
                let mut new = similarity.labels & !merged;
                while new != 0 {
                    let most = &of_step[new.trailing_zeros() as usize * labels..][..labels];
                    for y in 0..labels {
                        row[y] = if most[y] > row[y] { most[y] } else { row[y] };
                    }
                    new &= new - 1;
                }
                merged = similarity.labels;
            }
            at += labels;
        });
        glance.features(&parts.features, start, longest, |length, id| {
            parts.weights.add_positive_to(id, &mut rows[(length - 1) * labels..][..labels]);
        });
    }
}

/// Labels are told apart modulo this.
const FOLDED: usize = 64;

/// For each step of similarity and each label, modulo [`FOLDED`], of the known segment: the largest weights of this step and lower
/// ones, or 0, and the slack.
fn similar_bounds(parts: &SegmentModelParts, slack: f32) -> Vec<f32> {
    let labels = parts.labels.len();
    let mut best = vec![slack; Similar::STEPS * FOLDED * labels];
    for step in 0..Similar::STEPS {
        let (lower, here) = best.split_at_mut(step * FOLDED * labels);
        if step > 0 {
            here[..FOLDED * labels].copy_from_slice(&lower[(step - 1) * FOLDED * labels..]);
        }
        for label in 0..labels {
            let Some(id) = parts.features.similar_feature(label, step) else { continue };
            let row = &mut here[label % FOLDED * labels..][..labels];
            for (y, weight) in parts.weights.row(id).iter() {
                row[y as usize] = row[y as usize].max(weight + slack);
            }
        }
    }
    best
}
