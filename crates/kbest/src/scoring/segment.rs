//! Scoring with models of segments: extract the features of positions, sum their rows, and leave the features of segments to
//! the decoder that asks for them.
//!
//! **Cost.** That of a model of positions with three times as many labels. What a segment's own features score is computed at
//! the first question for that segment, for all labels at once, and remembered for the sequence.

use super::rows::{self, RowWeights};
use super::{Constrain, Members, Scorer};
use crate::feature::segment::{Glance, Hints, SegmentMemory};
use crate::feature::{FeatureBuffer, FeatureId};
use crate::model::{BoundedMemory, LabelParts, SegmentModel};
use crate::sequence::Sequence;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kbest_core::lattice::Edges;
use kbest_core::marginal::Calibration;
use kbest_core::segment::{
    BoundMemory, Estimate, LearnedBound, LearnedEstimate, SegmentLattice, SegmentScores,
};
use kbest_core::simd::{Float, Loop, run};
use kbest_core::{Decoder, Error, Result, Segments};
use std::sync::{Mutex, PoisonError};

/// Scores of the positions of one sequence: every position of a segment, its first, its last.
#[derive(Debug)]
pub struct PlaceScores<S: Float = f32> {
    columns: Vec<S>, // of one position
    nodes: Vec<S>,   // T x L
    begin: Vec<S>,   // T x L
    end: Vec<S>,     // T x L
}

impl<S: Float> Default for PlaceScores<S> {
    fn default() -> Self {
        PlaceScores { columns: vec![], nodes: vec![], begin: vec![], end: vec![] }
    }
}

/// The lattice of a sequence, as far as positions, edges and `borders` (first and last label) go. The columns of `weights` are
/// three for each of their labels.
///
/// # Errors
/// [`crate::Error::IllegalScore`] if weights add up to infinity.
pub fn place_lattice<'a, S: Float, W: RowWeights<S>>(
    weights: &'a W,
    features: &FeatureBuffer,
    scores: &'a mut PlaceScores<S>,
    borders: [&'a [S]; 2],
) -> Result<SegmentLattice<'a, S>> {
    let PlaceScores { columns, nodes, begin, end } = scores;
    for list in [&mut *nodes, begin, end] {
        list.clear();
    }
    run(SumPlaces { weights, features, columns, places: [&mut *nodes, &mut *begin, &mut *end] });
    let chain =
        rows::over_edges(weights, features, nodes)?.with_borders(Some(borders[0]), Some(borders[1]))?;
    SegmentLattice::new(chain).with_boundaries(&begin[..], &end[..])
}

/// Sums the weights of all positions.
struct SumPlaces<'s, S, W> {
    weights: &'s W,
    features: &'s FeatureBuffer,
    columns: &'s mut Vec<S>,
    places: [&'s mut Vec<S>; 3],
}

impl<S: Float, W: RowWeights<S>> Loop for SumPlaces<'_, S, W> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let SumPlaces { weights, features, columns, mut places } = self;
        let labels = weights.labels();
        for t in 0..features.len() {
            columns.clear();
            columns.resize(3 * labels, S::ZERO);
            rows::score_position(weights, features, t, columns);
            let [nodes, begin, end] = &mut places;
            nodes.extend_from_slice(&columns[..labels]);
            begin.extend_from_slice(&columns[labels..2 * labels]);
            end.extend_from_slice(&columns[2 * labels..]);
        }
    }
}

/// Memory of a scorer of segments.
#[derive(Debug, Default)]
pub struct SegmentModelMemory {
    features: FeatureBuffer,
    scores: PlaceScores,
    asked: Mutex<AskedSegments>,
    glance: Glance,
    bounded: bool, // lattices carry the estimate of the model's learned bound
    bound: BoundMemory,
    estimate: LearnedEstimate,
}

/// What segments score by their own features, as far as somebody has asked.
#[derive(Debug, Default)]
struct AskedSegments {
    memory: SegmentMemory,
    rows: HashMap<(u32, u32), usize, FixedState>, // where the scores of a segment begin
    scores: Vec<f32>,
    forgotten: usize,          // how many rows were forgotten since the sequence began
    hints: Vec<Option<Hints>>, // T x longest: what bounding a segment told of its features; empty if there are too many segments
    longest: usize,
    bounded: BoundedMemory,
}

/// Hints are kept for so many segments.
const HINTED: usize = 1 << 22;

/// Scores remembered before all are forgotten, so that memory does not grow with `T W L`.
const REMEMBERED: usize = 1 << 22;

impl AskedSegments {
    /// Makes room for another sequence.
    fn reset(&mut self, positions: usize, longest: usize) {
        self.rows.clear();
        self.scores.clear();
        self.forgotten = 0;
        self.longest = longest.min(positions);
        let segments = positions.saturating_mul(self.longest);
        self.hints.clear();
        self.hints.resize(if segments <= HINTED { segments } else { 0 }, None);
    }

    fn row(&mut self, model: &SegmentModel, s: usize, r: usize) -> &[f32] {
        let AskedSegments { memory, rows, scores, forgotten, hints, longest, .. } = self;
        let (features, weights) = (model.features(), model.weights());
        if scores.len() >= REMEMBERED {
            *forgotten += rows.len();
            rows.clear();
            scores.clear();
        }
        let row = *rows.entry((s as u32, r as u32)).or_insert_with(|| {
            let start = scores.len();
            scores.resize(start + weights.labels(), 0.0);
            // Longer segments, which only explanations ask for, have none.
            let hint = if r - s <= *longest { hints.get(s * *longest + r - s - 1) } else { None };
            let hints = hint.copied().flatten().unwrap_or(Hints::ALL);
            let scores = &mut scores[start..];
            features.visit_hinted(memory, s, r, hints, None, |id| weights.add_to(id, 1.0, scores));
            start
        });
        &scores[row..][..weights.labels()]
    }
}

/// The segments of one sequence, as their own features score them.
struct OwnScores<'a> {
    model: &'a SegmentModel,
    asked: &'a Mutex<AskedSegments>,
    glance: &'a Glance,
}

impl SegmentScores<f32> for OwnScores<'_> {
    fn show(&self, start: usize, end: usize, see: &mut dyn FnMut(&[f32])) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        see(asked.row(self.model, start, end));
    }

    fn bound(&self, start: usize, rows: &mut [f32]) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let AskedSegments { hints, longest, bounded, .. } = &mut *asked;
        let (from, count) = (start * *longest, rows.len() / self.model.labels().len());
        let hints = hints.get_mut(from..from + count.min(*longest)).unwrap_or_default();
        self.model.bound_segments(self.glance, start, bounded, rows, hints);
    }
}

impl SegmentModel {
    fn lattice_with<'a>(
        &'a self,
        sequence: &Sequence,
        memory: &'a mut SegmentModelMemory,
        bound: Option<&LearnedBound>,
    ) -> Result<SegmentLattice<'a, f32>> {
        self.extractor().extract(sequence, &mut memory.features)?;
        let asked = memory.asked.get_mut().unwrap_or_else(PoisonError::into_inner);
        let longest = self.durations().len() / self.labels().len();
        asked.reset(sequence.len(), longest);
        self.features().prepare(sequence, &mut asked.memory)?;
        self.features().glance(&asked.memory, &mut memory.glance);
        let (asked, glance) = (&memory.asked, &memory.glance);
        let borders = [self.start(), self.end()];
        let lattice = place_lattice(self, &memory.features, &mut memory.scores, borders)?
            .with_checked_durations(self.durations(), self.magnitudes()[0])?
            .with_longest_by_label(self.longest().iter().map(|&longest| longest as usize).collect())?;
        let lattice = match self.features().keys().is_empty() {
            true => lattice,
            false => {
                let scores = OwnScores { model: self, asked, glance };
                let largest = self.magnitudes()[1];
                lattice
                    .with_checked_rows(self.bounds(), largest, self.magnitude(), scores)?
                    .with_cheap_scores()
            }
        };
        match bound {
            None => Ok(lattice),
            Some(bound) => {
                bound.estimate_into(&lattice, &memory.features, &mut memory.bound, &mut memory.estimate)?;
                lattice.with_learned(&memory.estimate)
            }
        }
    }

    /// Learns a bound from unlabelled sequences, for this model.
    ///
    /// # Errors
    /// Errors of extraction; those of [`learn_bound`](kbest_core::segment::learn_bound).
    #[cfg(feature = "bounds")]
    pub fn learn_bound(
        &self,
        sequences: &[Sequence],
        options: &kbest_core::segment::BoundOptions,
        progress: &mut dyn FnMut(kbest_core::segment::BoundProgress),
    ) -> Result<(LearnedBound, kbest_core::segment::BoundReport)> {
        let (memory, features) = (SegmentModelMemory::default(), FeatureBuffer::new());
        let source = &mut Unlabelled { model: self, sequences, memory, features };
        kbest_core::segment::learn_bound(source, options, progress)
    }

    /// How often the own features of a segment were computed for the last sequence: once for each segment asked for, unless there
    /// were millions.
    pub fn asked(memory: &mut SegmentModelMemory) -> usize {
        let asked = memory.asked.get_mut().unwrap_or_else(PoisonError::into_inner);
        asked.rows.len() + asked.forgotten
    }
}

/// Sequences to learn a bound from.
#[cfg(feature = "bounds")]
struct Unlabelled<'a> {
    model: &'a SegmentModel,
    sequences: &'a [Sequence],
    memory: SegmentModelMemory,
    features: FeatureBuffer,
}

#[cfg(feature = "bounds")]
impl kbest_core::segment::BoundSource<f32> for Unlabelled<'_> {
    fn count(&self) -> usize {
        self.sequences.len()
    }

    fn show(&mut self, i: usize, look: &mut kbest_core::segment::LookAtSequence<'_, f32>) -> Result<()> {
        self.model.extractor().extract(&self.sequences[i], &mut self.features)?;
        look(&self.model.lattice(&self.sequences[i], &mut self.memory)?, &self.features)
    }
}

impl Scorer for SegmentModel {
    type Structure = Segments;
    type Input = Sequence;
    type Memory = SegmentModelMemory;

    fn labels(&self) -> usize {
        self.labels().len()
    }

    fn positions(input: &Sequence) -> usize {
        input.len()
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        (!self.extractor().source().has_observed_edges()).then(|| self.shared_edges())
    }

    fn start(&self) -> Option<&[f32]> {
        Some(self.start())
    }

    fn end(&self) -> Option<&[f32]> {
        Some(self.end())
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.calibration()
    }

    fn prepare_for(&self, decoder: &Decoder, memory: &mut SegmentModelMemory) {
        memory.bounded = *decoder == Decoder::SemiAstar(Estimate::Learned);
    }

    /// Segments' own features are computed when a decoder asks for them.
    fn lattice<'a>(
        &'a self,
        sequence: &Sequence,
        memory: &'a mut SegmentModelMemory,
    ) -> Result<SegmentLattice<'a, f32>> {
        let bound = match memory.bounded {
            false => None,
            true => Some(self.bound().ok_or_else(|| {
                let expected = "a model with a learned bound (see `kbest learn-bound`)";
                Error::argument("decoder semi-astar:learned", expected, "one without")
            })?),
        };
        self.lattice_with(sequence, memory, bound)
    }

    fn members<'a>(
        &'a self,
        _: &Sequence,
        _: &'a Constrain<'a>,
    ) -> Result<Option<Box<dyn Members<Segments> + 'a>>> {
        Ok(None)
    }
}

impl RowWeights for SegmentModel {
    fn labels(&self) -> usize {
        self.labels().len()
    }

    fn label_parts(&self) -> Option<&LabelParts> {
        None
    }

    #[inline(always)]
    fn add_nodes(&self, feature: FeatureId, value: f32, columns: &mut [f32]) {
        self.nodes().add_wide_to(feature, value, columns);
    }

    #[inline]
    fn prefetch_nodes(&self, feature: FeatureId, near: bool) {
        self.nodes().prefetch(feature, near);
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        Scorer::shared_edges(self)
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        crate::model::allowed(self.edges().sum(features)?, self.spelling())
    }

    fn start(&self) -> Option<&[f32]> {
        None // handed to `place_lattice`
    }

    fn end(&self) -> Option<&[f32]> {
        None
    }
}
