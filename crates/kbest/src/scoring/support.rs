//! Dual models behind the seam: a row of the kernel per token, all labels at once; tokens that come again are remembered.

use super::remembered::Remembered;
use crate::feature::token::{TokenVector, vector_of};
use crate::feature::{FeatureBuffer, FeatureId};
use crate::model::{Model, Support};
use kbest_core::lattice::Lattice;
use kbest_core::{Error, Result};

/// Scores of one sequence, and what computing them takes.
#[derive(Debug, Default)]
pub(super) struct SupportMemory {
    nodes: Vec<f32>,               // T x L
    vector: Vec<(FeatureId, f32)>, // one token
    features: Vec<FeatureId>,      // the same
    values: Vec<f32>,              // in two lists
    row: Vec<f64>,                 // its likeness to each support token
    sums: Vec<f64>,                // L
    remembered: Remembered,        // scores of tokens seen before
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
    memory.remembered.of(support.identity());
    for (t, scores) in memory.nodes.chunks_exact_mut(labels).enumerate() {
        vector_of(features, t, &mut memory.vector);
        // Too large for f32: every kernel would make something of it, none of it sensible.
        if let Some(&(id, value)) = memory.vector.iter().find(|(_, value)| !value.is_finite()) {
            let what = format!("value of feature {id} at position {t}");
            return Err(Error::shape(what, "a scaled number of at most 3.4e38", value));
        }
        if memory.remembered.recall(&memory.vector, scores) {
            continue;
        }
        memory.features.clear();
        memory.features.extend(memory.vector.iter().map(|&(id, _)| id));
        memory.values.clear();
        memory.values.extend(memory.vector.iter().map(|&(_, value)| value));
        let token = TokenVector { features: &memory.features, values: &memory.values };
        support.score(token, &mut memory.row, &mut memory.sums, scores);
        memory.remembered.remember(scores);
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
