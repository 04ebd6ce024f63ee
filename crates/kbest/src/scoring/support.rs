//! Dual models behind the seam: a row of the kernel per token, all labels at once.

use crate::error::Result;
use crate::feature::token::{TokenVector, vector_of};
use crate::feature::{FeatureBuffer, FeatureId};
use crate::lattice::Lattice;
use crate::model::{Model, Support};

/// Scores of one sequence, and what computing them takes.
#[derive(Debug, Default)]
pub(super) struct SupportMemory {
    nodes: Vec<f32>,               // T x L
    vector: Vec<(FeatureId, f32)>, // one token
    features: Vec<FeatureId>,      // the same
    values: Vec<f32>,              // in two lists
    row: Vec<f64>,                 // its likeness to each support token
    sums: Vec<f64>,                // L
}

/// The lattice of a sequence under a model of support tokens.
pub(super) fn lattice<'a>(
    model: &'a Model,
    support: &Support,
    features: &FeatureBuffer,
    memory: &'a mut SupportMemory,
) -> Result<Lattice<'a, f32>> {
    let labels = support.labels();
    memory.nodes.clear();
    memory.nodes.resize(features.len() * labels, 0.0);
    for (t, scores) in memory.nodes.chunks_exact_mut(labels).enumerate() {
        vector_of(features, t, &mut memory.vector);
        memory.features.clear();
        memory.features.extend(memory.vector.iter().map(|&(id, _)| id));
        memory.values.clear();
        memory.values.extend(memory.vector.iter().map(|&(_, value)| value));
        let token = TokenVector { features: &memory.features, values: &memory.values };
        support.score(token, &mut memory.row, &mut memory.sums, scores);
    }
    let mut lattice = Lattice::new(&memory.nodes, model.shared_edges())?;
    if let Some(start) = model.start() {
        lattice = lattice.with_start(start)?;
    }
    match model.end() {
        Some(end) => lattice.with_end(end),
        None => Ok(lattice),
    }
}
