//! Ranks the labels of imported models from frequent to rare.
//!
//! Labels keep the numbers of the program that trained the model, so that ties are broken as in that program. Decoders
//! that begin with the most likely labels ([`Staggered`](kbest_core::decode::Staggered)) therefore get a separate order. No
//! format stores how frequent a label was; the number of weights that mention it is used instead, because a frequent
//! label occurs with many features. **Cost.** One look at each weight, little compared with reading them. Our own model
//! file stores the numbers and not this order: counting again would slow down loading for everyone who does not need
//! it.

use super::Model;
use crate::feature::FeatureId;
use kbest_core::LabelId;
use kbest_core::Result;
use std::cmp::Reverse;

/// The same model, with its shared edges ranked by the number of weights of each label; ties by number.
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
