//! A model whose paths obey transitions.
//!
//! **Cost.** Edges that all steps share are constrained once, in `L^2` steps, and then shared by all taggers of the model; edges
//! that look at the input are constrained as they are made.

use crate::error::Result;
use crate::feature::FeatureId;
use crate::label::LabelId;
use crate::lattice::{Edges, Lattice};
use crate::model::Model;
use crate::scoring::Weights;
use crate::transition::Transitions;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Constrained {
    model: Arc<Model>,
    transitions: Transitions,
    shared: Option<Edges<f32>>,
    start: Option<Vec<f32>>,
    end: Option<Vec<f32>>,
}

impl Constrained {
    pub(super) fn new(model: Arc<Model>, transitions: &Transitions) -> Result<Self> {
        let shared = Weights::shared_edges(&*model).map(|edges| transitions.constrain(edges)).transpose()?;
        let start = transitions.constrain_start(model.start())?;
        let end = transitions.constrain_end(model.end())?;
        Ok(Constrained { model, transitions: transitions.clone(), shared, start, end })
    }

    pub(super) fn transitions(&self) -> &Transitions {
        &self.transitions
    }
}

impl Weights for Constrained {
    fn labels(&self) -> usize {
        self.model.labels().len()
    }

    #[inline]
    fn add_nodes(&self, feature: FeatureId, value: f32, scores: &mut [f32]) {
        self.model.nodes().add_to(feature, value, scores);
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        self.shared.as_ref()
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        self.transitions.constrain(&self.model.observed_edges(features)?)
    }

    fn start(&self) -> Option<&[f32]> {
        self.start.as_deref()
    }

    fn end(&self) -> Option<&[f32]> {
        self.end.as_deref()
    }
}

/// What a sequence's paths must obey: transitions, and labels that are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    pub(super) constrained: Option<&'a Constrained>,
    pub(super) known: &'a [Option<LabelId>], // T, or none
}

impl Limits<'_> {
    /// The lattice with all known labels forced.
    pub(super) fn force<'l>(&self, mut lattice: Lattice<'l, f32>) -> Result<Lattice<'l, f32>> {
        for (t, known) in self.known.iter().enumerate() {
            if let Some(y) = *known {
                lattice = lattice.force(t, y)?;
            }
        }
        Ok(lattice)
    }
}
