//! Labels of imported models, from frequent to rare.
//!
//! Labels keep the numbers of the program that trained the model, so that ties are decided as there. Decoders that begin
//! with the likeliest labels ([`Staggered`](crate::decode::Staggered)) get an order of their own, then. No format says how
//! frequent a label was; how many weights speak for or against it stands in for that, for a label met often is met with
//! many features. **Cost.** One look at each weight, little next to reading them. Our own model file keeps the numbers and
//! not this order: counting again would make loading slower for all who never ask for it.

use super::Model;
use crate::error::Result;
use crate::feature::FeatureId;
use crate::label::LabelId;
use std::cmp::Reverse;

/// The same model, its shared edges ranked by the number of weights of each label; equals in their own order.
pub(super) fn ranked(model: Model) -> Result<Model> {
    let mut weights = vec![0u64; model.labels().len()];
    for feature in 0..model.nodes().features() as FeatureId {
        let row = model.nodes().row(feature);
        row.iter().filter(|&(_, weight)| weight != 0.0).for_each(|(y, _)| weights[y as usize] += 1);
    }
    for pair in (0..model.edges().features() as FeatureId).flat_map(|feature| model.edges().pairs(feature)) {
        weights[pair.from as usize] += 1;
        weights[pair.to as usize] += 1;
    }
    let mut order: Vec<LabelId> = (0..weights.len() as LabelId).collect();
    order.sort_by_key(|&y| Reverse(weights[y as usize])); // stable
    Ok(Model { shared_edges: model.shared_edges.ranked(order)?, ..model })
}
