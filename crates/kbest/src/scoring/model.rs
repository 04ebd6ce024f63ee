//! Scoring with text models: extract features, sum their rows or ask the support tokens, and for an ensemble carry rows
//! along.

use super::rows::{self, RowMembers, RowWeights, ScoreBuffer};
use super::support::{self, SupportMemory};
use super::{Constrain, Members, Scorer};
use crate::feature::{FeatureBuffer, FeatureId};
use crate::model::{LabelParts, Model};
use crate::sequence::Sequence;
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::marginal::Calibration;
use kbest_core::{Decoder, Positions, Result};

/// Features and scores of one sequence.
#[derive(Debug, Default)]
pub struct ModelMemory {
    features: FeatureBuffer,
    scores: ModelScores,
}

/// Scores of one sequence, whichever way the model makes them.
#[derive(Debug, Default)]
pub struct ModelScores {
    rows: ScoreBuffer,
    support: SupportMemory,
}

/// The lattice of a sequence whose features are extracted.
///
/// # Errors
/// [`crate::Error::IllegalScore`] if weights add up to infinity.
pub fn model_lattice<'a>(
    model: &'a Model,
    features: &FeatureBuffer,
    scores: &'a mut ModelScores,
) -> Result<Lattice<'a, f32>> {
    match model.support() {
        Some(support) => support::lattice(model, support, features, &mut scores.support),
        None => rows::lattice(model, features, &mut scores.rows),
    }
}

impl Scorer for Model {
    type Structure = Positions;
    type Input = Sequence;
    type Memory = ModelMemory;

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
        self.start()
    }

    fn end(&self) -> Option<&[f32]> {
        self.end()
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.calibration()
    }

    fn prepare_for(&self, _: &Decoder, _: &mut ModelMemory) {}

    fn lattice<'a>(&'a self, input: &Sequence, memory: &'a mut ModelMemory) -> Result<Lattice<'a, f32>> {
        self.extractor().extract(input, &mut memory.features)?;
        let lattice = model_lattice(self, &memory.features, &mut memory.scores);
        self.undamaged()?; // rather than what damage led to
        lattice
    }

    fn members<'a>(
        &'a self,
        input: &Sequence,
        constrain: &'a Constrain<'a>,
    ) -> Result<Option<Box<dyn Members<Positions> + 'a>>> {
        let Some(voters) = self.voters() else { return Ok(None) };
        let mut features = FeatureBuffer::new();
        self.extractor().extract(input, &mut features)?;
        Ok(Some(Box::new(RowMembers::new(self, voters, &features, constrain)?)))
    }
}

impl RowWeights for Model {
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

    #[inline]
    fn prefetch_nodes(&self, feature: FeatureId, near: bool) {
        self.nodes().prefetch(feature, near);
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        Scorer::shared_edges(self)
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        self.edges_of(features)
    }

    fn start(&self) -> Option<&[f32]> {
        self.start()
    }

    fn end(&self) -> Option<&[f32]> {
        self.end()
    }
}
