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
use crate::feature::segment::{Glance, Hints, Possible, SegmentFeatures, SegmentKind, Similar, Similarity};
use crate::feature::{Extractor, FeatureId};
use crate::text::TextFormat;
use kbest_core::lattice::Edges;
use kbest_core::marginal::Calibration;
use kbest_core::scheme::Spelling;
use kbest_core::segment::LearnedBound;
use kbest_core::simd::{Loop, run};
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelSet};
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
    bounds: Vec<f32>,  // W x L
    similar: Vec<f32>, // steps x 64 x L: the most that similarity up to this step to a label, modulo 64, can add
    positive: PositiveWeights,
    slack: f32,           // of sums of weights
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
        let positive = PositiveWeights::of_rows(&parts.weights);
        Ok(SegmentModel { parts, shared_edges, bounds, similar, positive, slack, magnitudes, magnitude })
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
    /// as there is room for. Likewise which look-ups can find these features.
    pub(crate) fn bound_segments(
        &self,
        glance: &Glance,
        start: usize,
        memory: &mut BoundedMemory,
        rows: &mut [f32],
        hints: &mut [Option<Hints>],
    ) {
        run(BoundSegments { model: self, glance, start, memory, rows, hints });
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
pub(crate) fn allowed<S: kbest_core::simd::Float>(
    mut edges: Edges<S>,
    spelling: &Spelling,
) -> Result<Edges<S>> {
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

/// The positive weights of each feature of segments: what it can add at most, if it is not certain to occur.
#[derive(Debug)]
struct PositiveWeights {
    starts: Vec<u32>, // one more than features
    weights: Vec<(LabelId, f32)>,
}

impl PositiveWeights {
    fn of_rows(rows: &NodeWeights) -> Self {
        let (mut starts, mut weights) = (vec![0], vec![]);
        for id in 0..rows.features() as FeatureId {
            let row = rows.row(id);
            // No label is out of range, unless a file with the right checksums says so.
            weights.extend(row.iter().filter(|&(y, weight)| weight > 0.0 && (y as usize) < rows.labels()));
            starts.push(weights.len() as u32);
        }
        PositiveWeights { starts, weights }
    }

    #[inline(always)]
    fn of(&self, feature: FeatureId) -> &[(LabelId, f32)] {
        let feature = feature as usize;
        &self.weights[self.starts[feature] as usize..self.starts[feature + 1] as usize]
    }
}

/// Working memory of [`SegmentModel::bound_segments`].
#[derive(Debug, Default)]
pub(crate) struct BoundedMemory {
    similar: Vec<Similarity>,
    possible: Vec<Possible>,
}

/// What the segments from one start on can score.
struct BoundSegments<'a> {
    model: &'a SegmentModel,
    glance: &'a Glance,
    start: usize,
    memory: &'a mut BoundedMemory,
    rows: &'a mut [f32],
    hints: &'a mut [Option<Hints>], // of the first lengths, or none
}

impl Loop for BoundSegments<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let BoundSegments { model, glance, start, memory, rows, hints } = self;
        let BoundedMemory { similar, possible } = memory;
        let labels = model.labels().len();
        let longest = rows.len() / labels;
        // Most often the next word only adds labels to those that similar segments may have.
        let (mut merged, mut last) = (0, 0);
        glance.similarities(start, longest, similar);
        for (i, similarity) in similar.iter().enumerate() {
            if let Some(hint) = hints.get_mut(i) {
                *hint = Some(if similarity.steps > 0 { Hints::SIMILAR } else { Hints::NONE });
            }
            let at = i * labels;
            if i > 0 && similarity.steps == last {
                let (before, rest) = rows.split_at_mut(at);
                raise_row(&mut rest[..labels], &before[at - labels..], false);
            } else {
                rows[at..][..labels].fill(model.slack);
                (merged, last) = (0, similarity.steps);
            }
            if similarity.steps > 0 {
                let row = &mut rows[at..][..labels];
                let of_step = &model.similar[(similarity.steps - 1) * FOLDED * labels..][..FOLDED * labels];
                let mut new = similarity.labels & !merged;
                while new != 0 {
                    let most = &of_step[new.trailing_zeros() as usize * labels..][..labels];
                    raise_row(row, most, true);
                    new &= new - 1;
                }
                merged = similarity.labels;
            }
        }
        glance.features(&model.parts.features, start, longest, possible);
        for &Possible { length, hint, feature } in possible.iter() {
            let i = length as usize - 1;
            if let Some(Some(hints)) = hints.get_mut(i) {
                *hints = hints.and(hint);
            }
            let row = &mut rows[i * labels..][..labels];
            for &(y, weight) in model.positive.of(feature) {
                row[y as usize] += weight;
            }
        }
    }
}

/// Raises a row to another, or, unless `raise`, copies that. Eight labels at a time, of which the last may overlap those before: doing it
/// twice changes nothing, and no label is left to be done alone.
#[inline(always)]
fn raise_row(row: &mut [f32], to: &[f32], raise: bool) {
    const EIGHT: usize = 8;
    let labels = row.len();
    let (width, groups) = if labels < EIGHT { (labels, 1) } else { (EIGHT, labels.div_ceil(EIGHT)) };
    for group in 0..groups {
        let from = (group * EIGHT).min(labels - width);
        if let (Some(row), Some(to)) =
            (row[from..].first_chunk_mut::<EIGHT>(), to[from..].first_chunk::<EIGHT>())
        {
            for i in 0..EIGHT {
                row[i] = if !raise || to[i] > row[i] { to[i] } else { row[i] };
            }
        } else {
            for i in from..labels {
                row[i] = if !raise || to[i] > row[i] { to[i] } else { row[i] };
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_raised_or_copied_whatever_their_length() {
        for labels in 1..=20 {
            let row: Vec<f32> = (0..labels).map(|y| (7 * y % 5) as f32).collect();
            let to: Vec<f32> = (0..labels).map(|y| (5 * y % 7) as f32).collect();
            let larger: Vec<f32> = row.iter().zip(&to).map(|(a, b)| a.max(*b)).collect();
            for (raise, expected) in [(true, &larger), (false, &to)] {
                let mut row = row.clone();
                raise_row(&mut row, &to, raise);
                assert_eq!(&row, expected, "{labels} labels");
            }
        }
    }
}
