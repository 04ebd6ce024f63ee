//! The report of the measurement, for people and for programs.

use super::stages::{STAGES, Times};
use crate::table;
use kbest::feature::FeatureBuffer;
use kbest::model::Row;
use kbest::{Model, simd};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    labels: usize,
    sequences: usize,
    tokens: usize,
    level: &'static str,
    /// Known node features per token.
    features_per_token: f64,
    /// Bytes of weights read per token when scoring.
    weight_bytes_per_token: f64,
    /// From text to text, undivided.
    tokens_per_second: f64,
    stages: Vec<Stage>,
}

#[derive(Debug, Serialize)]
struct Stage {
    stage: &'static str,
    /// Sum of the best times of all blocks.
    seconds: f64,
    ns_per_token: f64,
}

impl Report {
    pub(super) fn new(model: &Model) -> Self {
        Report {
            labels: model.labels().len(),
            sequences: 0,
            tokens: 0,
            level: simd::level().name(),
            features_per_token: 0.0,
            weight_bytes_per_token: 0.0,
            tokens_per_second: 0.0,
            stages: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens == 0
    }

    /// Adds a sequence to the sums.
    pub(super) fn count(&mut self, model: &Model, features: &FeatureBuffer) {
        self.sequences += 1;
        self.tokens += features.len();
        for t in 0..features.len() {
            let ids = features.nodes(t);
            self.features_per_token += ids.len() as f64;
            let bytes: usize = ids.iter().map(|&id| bytes(model.nodes().row(id))).sum();
            self.weight_bytes_per_token += bytes as f64;
        }
    }

    /// From sums to means.
    pub(super) fn finish(&mut self, times: &Times) {
        let tokens = self.tokens as f64;
        self.features_per_token /= tokens;
        self.weight_bytes_per_token /= tokens;
        for (i, stage) in STAGES.into_iter().enumerate() {
            let seconds = times.seconds(i);
            self.tokens_per_second = tokens / seconds; // the last stage is the whole
            self.stages.push(Stage { stage, seconds, ns_per_token: 1e9 * seconds / tokens });
        }
    }

    /// The report as text.
    pub(super) fn text(&self) -> String {
        let row = |stage: &Stage| {
            let name = stage.stage.to_owned();
            vec![name, table::number(stage.seconds), table::number(stage.ns_per_token)]
        };
        let rows: Vec<Vec<String>> = self.stages.iter().map(row).collect();
        format!(
            "{} sequences, {} tokens, {} labels, one thread, {}\n{} features and {} bytes of weights per token\n\n\
             {}\n{} tokens/s\n",
            table::grouped(self.sequences),
            table::grouped(self.tokens),
            table::grouped(self.labels),
            self.level,
            table::number(self.features_per_token),
            table::number(self.weight_bytes_per_token),
            table::aligned(&["stage", "seconds", "ns/token"], &[false, true, true], &rows),
            table::grouped(self.tokens_per_second as usize)
        )
    }
}

/// Bytes read for a row, including where it begins and ends.
fn bytes(row: Row<'_>) -> usize {
    2 * size_of::<u32>()
        + match row {
            Row::List(list) => size_of_val(list),
            Row::Whole(whole) => size_of_val(whole),
        }
}
