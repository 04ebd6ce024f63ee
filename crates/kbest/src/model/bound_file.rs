//! The sections of a learned bound in the file of a model of segments.
//!
//! **A hostile file** is an error: sizes are compared with what the model has before anything is allocated by them, and
//! [`LearnedBound::new`] checks the rest.

use super::container::{Container, ContainerWriter};
use kbest_core::segment::{BoostedTrees, BoundParts, LearnedBound, Promise};
use kbest_core::{Error, Result};

const FEATURES: &str = "bound.features";
const STARTS: &str = "bound.starts";
const LABELS: &str = "bound.labels";
const WEIGHTS: &str = "bound.weights";
const BIAS: &str = "bound.bias";
const PAIRS: &str = "bound.pairs";
const QUESTIONS: &str = "bound.questions";
const LEAVES: &str = "bound.leaves";
const PROMISE: &str = "bound.promise";
const COUNTS: &str = "bound.counts";

/// All of them.
pub(super) const SECTIONS: [&str; 10] =
    [FEATURES, STARTS, LABELS, WEIGHTS, BIAS, PAIRS, QUESTIONS, LEAVES, PROMISE, COUNTS];

pub(super) fn write(writer: &mut ContainerWriter<'_>, bound: &LearnedBound) {
    let BoundParts { features, starts, weights, bias, pairs, trees, promise, .. } = bound.parts();
    let Promise { delta, epsilon, measured, failed, short, largest } = *promise;
    let (questions, leaves) = trees.arrays();
    writer.section(FEATURES, features.clone());
    writer.section(STARTS, starts.clone());
    writer.section(LABELS, weights.iter().map(|weight| weight.0).collect::<Vec<u32>>());
    writer.section(WEIGHTS, weights.iter().map(|weight| weight.1).collect::<Vec<f32>>());
    writer.section(BIAS, bias.clone());
    writer.section(PAIRS, pairs.clone());
    writer.section(QUESTIONS, questions.to_vec());
    writer.section(LEAVES, leaves.to_vec());
    writer.section(PROMISE, vec![delta, epsilon, largest]);
    writer.section(COUNTS, vec![measured, failed, short]);
}

/// The bound, if the file has one; the model has so many labels and token features.
pub(super) fn read(file: &Container, labels: usize, token_features: usize) -> Result<Option<LearnedBound>> {
    if !file.has(FEATURES) {
        return match SECTIONS.iter().find(|name| file.has(name)) {
            Some(name) => Err(file.error(format!("a section `{FEATURES}` beside `{name}`"), "none")),
            None => Ok(None),
        };
    }
    let features = file.array::<u32>(FEATURES)?;
    if let Some(feature) = features.iter().find(|&&feature| feature as usize >= token_features) {
        return Err(file.error(format!("features of the bound below {token_features}"), feature));
    }
    let (columns, weights) = (file.array::<u32>(LABELS)?, file.array::<f32>(WEIGHTS)?);
    if columns.len() != weights.len() {
        return Err(file.error(format!("{} weights of the bound", columns.len()), weights.len()));
    }
    let (numbers, counts) = (file.array::<f64>(PROMISE)?, file.array::<u64>(COUNTS)?);
    let (&[delta, epsilon, largest], &[measured, failed, short]) = (&numbers[..], &counts[..]) else {
        return Err(file.error("a promise of three numbers and three counts", "others"));
    };
    let (questions, leaves) = (file.array::<u32>(QUESTIONS)?, file.array::<f32>(LEAVES)?);
    let parts = BoundParts {
        labels,
        features: features.to_vec(),
        starts: file.array::<u32>(STARTS)?.to_vec(),
        weights: columns.iter().copied().zip(weights.iter().copied()).collect(),
        bias: file.array::<f32>(BIAS)?.to_vec(),
        pairs: file.array::<f32>(PAIRS)?.to_vec(),
        trees: BoostedTrees::from_arrays(labels, questions.to_vec(), leaves.to_vec()),
        promise: Promise { delta, epsilon, measured, failed, short, largest },
    };
    let fits = |error: Error| file.error("a learned bound", format!("this: {error}"));
    LearnedBound::new(parts).map(Some).map_err(fits)
}
