//! A warning before training takes more memory than a machine is likely to have.

use crate::warning::warn;
use kbest::train::{Algorithm, Optimizer, Recipe, TrainingSet};

/// Gigabytes that need no warning.
const USUAL: f64 = 8.0;

/// A CRF has a weight for every feature and part of a label, and its optimizer keeps several vectors of them.
pub(super) fn warn_of_memory(recipe: &Recipe, data: &TrainingSet) {
    let (Algorithm::Crf, Some(parts)) = (recipe.algorithm, data.label_parts()) else { return };
    let weights = data.extractor().nodes().len() as f64 * parts.parts() as f64;
    let gigabytes = |vectors: f64| weights * vectors * size_of::<f64>() as f64 / 1e9;
    let optimizer = recipe.optimizer.unwrap_or_default();
    let vectors = if optimizer == Optimizer::Lbfgs { 20.0 } else { 4.0 };
    if gigabytes(vectors) <= USUAL {
        return;
    }
    let sgd = match optimizer {
        Optimizer::Lbfgs => format!("; --optimizer sgd needs about {:.0}", gigabytes(4.0).max(1.0)),
        Optimizer::Sgd => String::new(),
    };
    warn(&format!(
        "training will need about {:.0} GB of memory, for weights of {} features and {} parts of labels{sgd}; --min-frequency 2 \
         leaves out rare features",
        gigabytes(vectors),
        data.extractor().nodes().len(),
        parts.parts()
    ));
}
