//! Weights of a model of segments in training.

use super::data::SegmentTrainingSet;
use super::{lengths, model_of};
use crate::model::{PLACES, SegmentModel};
use crate::scoring::rows::RowWeights;
use crate::state::{StateReader, StateWriter};
use crate::train::rows::{Finished, GrowingWeights, RowParameter, Size};
use kbest_core::LabelId;
use kbest_core::Result;

/// Which weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SegmentParameter {
    /// Of a feature of positions, or of an edge.
    Place(RowParameter),
    /// Of a row that whole segments have: their own features, lengths, the first and the last label.
    Whole {
        /// The row.
        row: u32,
        /// The label.
        label: LabelId,
    },
}

/// The rows that whole segments have: their own features, then steps of lengths, the first and the last segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct WholeRows {
    features: usize,
}

impl WholeRows {
    pub(super) fn of(data: &SegmentTrainingSet) -> Self {
        WholeRows { features: data.features().keys().len() }
    }

    pub(super) fn length(self, length: usize) -> u32 {
        (self.features + lengths::step(length)) as u32
    }

    pub(super) fn first(self) -> u32 {
        (self.features + lengths::STEPS) as u32
    }

    pub(super) fn last(self) -> u32 {
        self.first() + 1
    }

    pub(super) fn count(self) -> usize {
        self.features + lengths::STEPS + 2
    }
}

/// The weights of a model in training.
#[derive(Debug)]
pub struct SegmentWeights {
    pub(super) places: GrowingWeights,
    pub(super) whole: GrowingWeights,
}

impl SegmentWeights {
    /// All weights zero.
    pub(super) fn new(data: &SegmentTrainingSet) -> Result<Self> {
        let (labels, extractor) = (data.labels().len(), data.extractor());
        let places = Size {
            labels,
            label_parts: None,
            agreement: None,
            columns: PLACES * labels,
            nodes: extractor.nodes().len(),
            edges: extractor.edges().len(),
            shared: extractor.shared_edges(),
            observed: extractor.source().has_observed_edges(),
            may_repeat: data.spelling().may_repeat(),
        };
        let nodes = WholeRows::of(data).count();
        let whole = Size {
            columns: labels,
            nodes,
            edges: 0,
            shared: &[],
            observed: false,
            may_repeat: true,
            ..places
        };
        Ok(SegmentWeights {
            places: GrowingWeights::of_size(places)?,
            whole: GrowingWeights::of_size(whole)?,
        })
    }

    pub(super) fn add(&mut self, parameter: SegmentParameter, by: f32, clock: f64) -> Result<()> {
        match parameter {
            SegmentParameter::Place(parameter) => self.places.add(parameter, by, clock),
            SegmentParameter::Whole { row, label } => {
                self.whole.add(RowParameter::Node { feature: row, column: label }, by, clock)
            }
        }
    }

    pub(super) fn absorb(&mut self, other: &SegmentWeights, share: f32) -> Result<()> {
        self.places.absorb(&other.places, share)?;
        self.whole.absorb(&other.whole, share)
    }

    pub(super) fn save(&self, state: &mut StateWriter) {
        self.places.save(state);
        self.whole.save(state);
    }

    pub(super) fn restored(self, state: &mut StateReader<'_>) -> Result<Self> {
        Ok(SegmentWeights { places: self.places.restored(state)?, whole: self.whole.restored(state)? })
    }

    /// One row of whole segments, added to `L` scores.
    pub(super) fn add_whole(&self, row: u32, scores: &mut [f32]) {
        self.whole.add_nodes(row, 1.0, scores);
    }

    pub(super) fn model(
        &self,
        data: &SegmentTrainingSet,
        average_up_to: Option<f64>,
    ) -> Result<SegmentModel> {
        let Finished { nodes, edges, .. } = self.places.finished(average_up_to)?;
        let Finished { nodes: whole, .. } = self.whole.finished(average_up_to)?;
        model_of(data, nodes, edges, &whole)
    }
}
