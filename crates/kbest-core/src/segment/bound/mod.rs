//! Learned bounds: what completions will probably score, from a plain chain along the path of a cheap classifier.
//!
//! **What.** A [`LearnedBound`] makes a [`LearnedEstimate`] for each sequence, and `semi-astar` with
//! [`Estimate::Learned`](super::Estimate::Learned) searches with it. **Why.** Scores of whole segments are dear: their text, lexicons,
//! similarities. An estimate that is nearly right asks for few of them. **Cost.** `O(T (features + L))` per sequence, nothing
//! per segment. **When not.** Where the best answer is needed, not one that probably is: take `auto`.
//!
//! **The estimate.** Let `z` be the labels that a cheap classifier gives to single tokens. A segment `[s, r)` with label `y`, and
//! after it `z` up to the end, is a path of labels `P(z, s, r, y)`:
//!
//! ```text
//! estimate(s, r, y) = known parts of the segment and of the runs of z after it    node, duration, boundary, edge scores
//!                   + sum over t >= s of (weight[features of t][P_t] + weight[P_t])
//!                   + sum over t >  s of weight[P_(t-1), P_t]                     a plain chain
//! ```
//!
//! The weights are fitted (`fit.rs`) to make up for what the known parts leave out: explicit scores, and that `z` is not the
//! best way on. The paper's chain includes the known parts as features; here they have the weight 1, so that the regulariser
//! pulls the estimate towards the model's own scores instead of towards 0. They are at hand anyway.
//!
//! **Signs.** The paper minimises costs, we maximise scores; a cost is the negative of a score. Its *underestimates* of
//! completion costs are here estimates that are *not too low*, and its `delta_(i,s,r,l)`, the chain's cost less the true
//! completion cost, is here the true completion score less the estimate (`observe.rs` is the one place that subtracts).
//!
//! Druck, Narasimhan and Viola, *Learning A\* underestimates: using inference to guide inference* (2007), sections 3 and 4.

#[cfg(feature = "bounds")]
mod clock;
#[cfg(feature = "bounds")]
mod fit;
#[cfg(feature = "bounds")]
mod grow;
#[cfg(feature = "bounds")]
mod learn;
#[cfg(feature = "bounds")]
mod observe;
#[cfg(feature = "bounds")]
mod programme;
mod promise;
pub(super) mod search;
mod trees;

#[cfg(feature = "bounds")]
pub use fit::{FitSize, Norm};
#[cfg(feature = "bounds")]
pub use learn::{BoundOptions, BoundProgress, BoundReport, BoundSource, LookAtSequence, learn_bound};
pub use promise::Promise;
pub use search::LearnedEstimate;
pub use trees::BoostedTrees;

use super::{Guarantee, SegmentLattice};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::simd::{Float, padded};

/// The features of the tokens of one sequence, as numbers.
pub trait TokenFeatures {
    /// Those of position `t`.
    fn of_token(&self, t: usize) -> &[u32];
}

impl TokenFeatures for [Vec<u32>] {
    fn of_token(&self, t: usize) -> &[u32] {
        &self[t]
    }
}

impl TokenFeatures for Vec<Vec<u32>> {
    fn of_token(&self, t: usize) -> &[u32] {
        &self[t]
    }
}

/// The weights of a chain and a cheap classifier, which estimate completions.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedBound {
    parts: BoundParts,
    known: Vec<u64>, // one bit for each token feature up to the last known one: small enough to stay near
    places: Vec<u32>, // of the same: its place in `features`
    into: Vec<f32>,  // `pairs`, the other way round: `[label][before]`
}

/// What a [`LearnedBound`] consists of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoundParts {
    /// Number of labels `L`.
    pub labels: usize,
    /// Token features that have weights or that trees ask for, ascending.
    pub features: Vec<u32>,
    /// Where the weights of each of them begin, and where the last end.
    pub starts: Vec<u32>,
    /// Labels and weights of all of them.
    pub weights: Vec<(LabelId, f32)>,
    /// `L`: a weight for each token of a label.
    pub bias: Vec<f32>,
    /// `L x L`: weights of neighbouring labels, `[before][label]`.
    pub pairs: Vec<f32>,
    /// The cheap classifier; empty: the label with the best node score.
    pub trees: BoostedTrees,
    /// What was measured on data not fitted on.
    pub promise: Promise,
}

/// Token features have smaller numbers: a table has a place for each.
const MOST_FEATURES: u32 = 1 << 28;

/// Working memory of [`LearnedBound::estimate`].
#[derive(Debug, Default)]
pub struct BoundMemory {
    labels: Vec<LabelId>,
    stamps: Vec<u32>, // of each known feature: the position that had it last, plus 1
    taken: Vec<u32>,
    scores: Vec<f32>,
    along: Vec<f64>, // T + 1: what z scores from here on
}

impl BoundMemory {
    /// The labels that the cheap classifier gave to the tokens of the sequence estimated last.
    pub fn path(&self) -> &[LabelId] {
        &self.labels
    }
}

impl LearnedBound {
    /// Checks that the parts fit together.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::LabelOutOfRange`], [`Error::IllegalScore`].
    pub fn new(parts: BoundParts) -> Result<Self> {
        let BoundParts { labels, features, starts, weights, bias, pairs, trees, .. } = &parts;
        let fits = |what: &str, expected: usize, got: usize| {
            if expected == got {
                Ok(())
            } else {
                Err(Error::shape(format!("learned bound, {what}"), expected, got))
            }
        };
        fits("starts of weights", features.len() + 1, starts.len())?;
        fits("weights of labels", *labels, bias.len())?;
        fits("weights of label pairs", labels * labels, pairs.len())?;
        let rising = |numbers: &[u32], strictly: bool| {
            numbers.windows(2).all(|two| two[0] < two[1] || (!strictly && two[0] == two[1]))
        };
        if !rising(features, true) || features.last().is_some_and(|&last| last >= MOST_FEATURES) {
            let expected = format!("rising numbers below {MOST_FEATURES}");
            return Err(Error::shape("learned bound, features", expected, "others"));
        }
        if !rising(starts, false) || starts.first() != Some(&0) {
            return Err(Error::shape("learned bound, starts of weights", "rising numbers from 0", "others"));
        }
        fits("weights of features", starts.last().map_or(0, |&last| last as usize), weights.len())?;
        if let Some(&(label, _)) = weights.iter().find(|(label, _)| *label as usize >= *labels) {
            let what = "learned bound, weights of features".into();
            return Err(Error::LabelOutOfRange { what, label: label.into(), labels: *labels });
        }
        let numbers = weights.iter().map(|(_, weight)| weight).chain(bias).chain(pairs);
        if let Some(&value) = numbers.chain(&trees.leaves).find(|weight| !weight.is_finite()) {
            return Err(Error::IllegalScore { what: "learned bound, a weight".into(), value: value.into() });
        }
        trees.check(*labels, features.len())?;
        parts.promise.check()?;
        let mut places = vec![0; features.last().map_or(0, |&last| last as usize + 1)];
        let mut known = vec![0; places.len().div_ceil(64)];
        for (place, &feature) in features.iter().enumerate() {
            places[feature as usize] = place as u32;
            known[feature as usize / 64] |= 1 << (feature % 64);
        }
        let into = (0..labels * labels).map(|i| pairs[i % labels * labels + i / labels]).collect();
        Ok(LearnedBound { parts, known, places, into })
    }

    /// Its parts.
    pub fn parts(&self) -> &BoundParts {
        &self.parts
    }

    /// What was measured on data not fitted on.
    pub fn promise(&self) -> &Promise {
        &self.parts.promise
    }

    /// The place of a token feature among those known.
    #[inline]
    fn place(&self, feature: u32) -> Option<usize> {
        let known = self.known.get(feature as usize / 64)? >> (feature % 64) & 1 != 0;
        known.then(|| self.places[feature as usize] as usize)
    }

    /// The estimate for one sequence: give it to [`SegmentLattice::with_learned`].
    ///
    /// # Errors
    /// [`Error::Shape`] if the lattice has another number of labels.
    pub fn estimate<S: Float>(
        &self,
        lattice: &SegmentLattice<'_, S>,
        features: &(impl TokenFeatures + ?Sized),
        memory: &mut BoundMemory,
    ) -> Result<LearnedEstimate> {
        let mut estimate = LearnedEstimate::default();
        self.estimate_into(lattice, features, memory, &mut estimate)?;
        Ok(estimate)
    }

    /// The same, into an estimate whose memory is used again.
    ///
    /// # Errors
    /// As [`LearnedBound::estimate`].
    pub fn estimate_into<S: Float>(
        &self,
        lattice: &SegmentLattice<'_, S>,
        features: &(impl TokenFeatures + ?Sized),
        memory: &mut BoundMemory,
        estimate: &mut LearnedEstimate,
    ) -> Result<()> {
        let BoundParts { labels, starts, weights, bias, pairs, trees, promise, .. } = &self.parts;
        let (positions, labels) = (lattice.positions(), *labels);
        if lattice.labels() != labels {
            return Err(Error::shape("learned bound", format!("{labels} labels"), lattice.labels()));
        }
        let BoundMemory { labels: guess, stamps, taken, scores, along } = memory;
        stamps.clear();
        stamps.resize(self.parts.features.len(), 0);
        scores.clear();
        scores.resize(labels, 0.0);
        guess.clear();
        estimate.guarantee = promise.guarantee();
        estimate.once.clear();
        estimate.once.extend((0..labels).map(|y| f64::from(pairs[y * labels + y])));
        let sums = &mut estimate.sums;
        sums.clear();
        sums.resize((positions + 1) * labels, 0.0);
        for t in 0..positions {
            let (before, rest) = sums[t * labels..].split_at_mut(labels);
            let row = &mut rest[..labels];
            for y in 0..labels {
                row[y] = before[y] + f64::from(bias[y]) + estimate.once[y];
            }
            for place in features.of_token(t).iter().filter_map(|&feature| self.place(feature)) {
                stamps[place] = t as u32 + 1;
                for &(y, weight) in &weights[starts[place] as usize..starts[place + 1] as usize] {
                    row[y as usize] += f64::from(weight);
                }
            }
            guess.push(if trees.is_empty() {
                first_largest(lattice.chain().node_row(t))
            } else {
                trees.score(stamps, t as u32 + 1, taken, scores);
                first_largest(scores)
            });
        }
        along_path(lattice, guess, along);
        // The chain's part along the path, from the right.
        let mut chain = 0.0;
        let mut buffer = vec![S::FORBIDDEN; padded(labels)];
        estimate.after.clear();
        estimate.after.resize((positions + 1) * labels, 0.0);
        for y in 0..labels {
            estimate.after[positions * labels + y] =
                finite(lattice.chain().end().map_or(S::ZERO, |end| end[y]));
        }
        for r in (1..positions).rev() {
            let z = guess[r] as usize;
            if r + 1 < positions {
                chain += f64::from(pairs[z * labels + guess[r + 1] as usize]);
            }
            chain += estimate.sums[(r + 1) * labels + z] - estimate.sums[r * labels + z] - estimate.once[z];
            let after = &mut estimate.after[r * labels..][..labels];
            let into = &self.into[z * labels..][..labels];
            with_edges!(lattice.chain(), |edges| {
                let column = &edges.column(r, z, &mut buffer)[..labels];
                for y in 0..labels {
                    after[y] = finite(column[y]) + f64::from(into[y]) + along[r] + chain;
                }
            });
        }
        Ok(())
    }
}

/// The first of the largest scores.
#[inline]
fn first_largest<S: Float>(scores: &[S]) -> LabelId {
    let most = S::largest(scores);
    scores.iter().position(|&score| score == most).unwrap_or(0) as LabelId
}

/// A score that may be forbidden, as an estimate counts it: forbidden parts are left out, and weights make up for them.
#[inline]
fn finite<S: Float>(score: S) -> f64 {
    if score.is_forbidden() { 0.0 } else { score.to_f64() }
}

/// What is known of the runs of a path from each position on: nodes, durations, boundaries, edges and the end.
fn along_path<S: Float>(lattice: &SegmentLattice<'_, S>, path: &[LabelId], along: &mut Vec<f64>) {
    let positions = path.len();
    along.clear();
    along.resize(positions + 1, 0.0);
    let mut end = positions; // of the run
    for r in (0..positions).rev() {
        let z = path[r] as usize;
        if r + 1 < positions && path[r + 1] != path[r] {
            end = r + 1;
        }
        let then = if end < positions {
            let next = path[end] as usize;
            along[end] + with_edges!(lattice.chain(), |edges| finite(edges.get(end, z, next)))
        } else {
            finite(lattice.chain().end().map_or(S::ZERO, |scores| scores[z]))
        };
        along[r] = lattice.known(r, end, z) + then;
    }
}

/// What an answer of this bound is worth.
impl Promise {
    fn guarantee(&self) -> Guarantee {
        Guarantee::Probable { epsilon: self.epsilon, delta: self.delta }
    }
}
