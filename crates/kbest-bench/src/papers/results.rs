//! What was measured, as it is written to `results.json` and between runs: no text of any corpus, only numbers.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number in `results.json` that changes when its layout does.
pub(crate) const FORMAT: u32 = 2;

/// One decoder on one task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Timed {
    pub(crate) decoder: String,
    /// Sequences done before the time limit.
    pub(crate) sequences: usize,
    /// Sequences per second; if the limit stopped it, scaled by positions from those done to all.
    pub(crate) per_second: f64,
    pub(crate) ns_per_position: f64,
    /// Whether the time limit stopped it.
    pub(crate) limited: bool,
    /// Whether its answers are proven to be best.
    pub(crate) exact: bool,
    /// Share of its answers that are the exact ones.
    pub(crate) right: f64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) nodes_per_position: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) edges_per_position: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) rounds: Option<f64>,
}

/// What explains a task's speeds: how strong nodes are, and how strong edges are.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Strengths {
    /// Median over positions of the lead of the best node score over the second best.
    pub(crate) lead: f64,
    /// The largest edge score, `S1*`.
    pub(crate) largest_edge: f64,
    /// Median magnitude of the edge scores that are not zero.
    pub(crate) typical_edge: f64,
    /// Share of edge scores that are not zero.
    pub(crate) edge_density: f64,
    /// Share of positions at which the best path takes another label than the best node score.
    pub(crate) decided_by_edges: f64,
}

/// Decoders side by side on one task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Decoding {
    pub(crate) task: String,
    pub(crate) k: usize,
    pub(crate) labels: usize,
    pub(crate) sequences: usize,
    pub(crate) positions: usize,
    /// Share of test tokens labelled correctly by the exact decoders.
    pub(crate) accuracy: f64,
    /// Nanoseconds to read the node scores of a position once.
    pub(crate) scan_ns_per_position: f64,
    pub(crate) strengths: Strengths,
    pub(crate) rows: Vec<Timed>,
}

impl Decoding {
    pub(crate) fn row(&self, decoder: &str) -> Option<&Timed> {
        self.rows.iter().find(|row| row.decoder == decoder)
    }

    /// The fastest of some decoders.
    pub(crate) fn fastest(&self, decoders: &[&str]) -> Option<&Timed> {
        let named = decoders.iter().filter_map(|name| self.row(name));
        named.max_by(|a, b| a.per_second.total_cmp(&b.per_second))
    }
}

/// Training the same model with different decoders.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Training {
    pub(crate) task: String,
    pub(crate) labels: usize,
    pub(crate) sequences: usize,
    pub(crate) epochs: usize,
    /// Decoder and seconds.
    pub(crate) seconds: Vec<(String, f64)>,
    /// Whether all models are the same to the last bit.
    pub(crate) same_model: bool,
}

/// A beam that is widened until it is nearly as accurate as exact decoding.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Beams {
    pub(crate) task: String,
    pub(crate) exact_accuracy: f64,
    /// Width, token accuracy, sentences per second.
    pub(crate) widths: Vec<(usize, f64, f64)>,
    /// The first width whose accuracy is within a tenth of a point, if any was.
    pub(crate) enough: Option<usize>,
    /// Sentences per second of exact decoders in the same run.
    pub(crate) exact: Vec<(String, f64)>,
}

/// Speed against the number of paths.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AgainstK {
    pub(crate) task: String,
    pub(crate) labels: usize,
    pub(crate) sequences: usize,
    /// Decoder, then (k, sequences per second).
    pub(crate) lines: Vec<(String, Vec<(usize, f64)>)>,
    /// Decoder and the `k` at which it first hit the time limit.
    pub(crate) stopped: Vec<(String, usize)>,
}

/// One of the hundred classifiers of a CarpeDiem problem, on the whole test set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Classifier {
    /// Tenths of the training data.
    pub(crate) tenths: usize,
    pub(crate) iterations: usize,
    pub(crate) accuracy: f64,
    /// Decoder and seconds for the test set.
    pub(crate) seconds: BTreeMap<String, f64>,
    /// Vertices that CarpeDiem with the paper's bound opened per position.
    pub(crate) opened: f64,
    pub(crate) vote: Vote,
}

/// The vote of the vectors of weights that training passed through, each of which labels the whole test set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Vote {
    /// Vectors that voted.
    pub(crate) members: usize,
    pub(crate) accuracy: f64,
    /// Accuracy of the last member alone.
    pub(crate) accuracy_of_last: f64,
    /// Decoder and seconds for the searches of all members.
    pub(crate) seconds: BTreeMap<String, f64>,
}

/// A beam on the test data of a CarpeDiem problem.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct BeamRow {
    pub(crate) width: usize,
    pub(crate) seconds: f64,
    /// Shares of sequences and of positions whose labels are not those of the best path.
    pub(crate) wrong_sequences: f64,
    pub(crate) wrong_positions: f64,
    pub(crate) accuracy: f64,
}

/// A CarpeDiem problem.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Problem {
    pub(crate) task: String,
    pub(crate) labels: usize,
    pub(crate) vertical_features: usize,
    pub(crate) horizontal_features: usize,
    pub(crate) train_sequences: usize,
    pub(crate) train_events: usize,
    pub(crate) test_sequences: usize,
    pub(crate) test_events: usize,
    pub(crate) classifiers: Vec<Classifier>,
    /// The last classifier in detail: decoders with all bounds.
    pub(crate) last: Decoding,
    /// The same with features of edges evaluated when a decoder asks for an edge, as in the paper's system.
    pub(crate) on_demand: Vec<Timed>,
    /// Beams of many widths.
    pub(crate) beams: Vec<BeamRow>,
    /// Vertices opened at each position of one sequence, by bound.
    pub(crate) trace: Vec<(String, Vec<u32>)>,
    /// For each bound: vertices opened per position over the test set.
    pub(crate) opened: Vec<(String, f64)>,
    /// Weights of single vertical features: name, then (update, weight); and the updates at which iterations begin.
    pub(crate) weights: Vec<(String, Vec<(usize, f64)>)>,
    pub(crate) iterations_begin: Vec<usize>,
    /// Token accuracy of the last classifier if edges are left out.
    pub(crate) accuracy_without_edges: f64,
}

/// A kernel beside the same model in primal form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DualRow {
    pub(crate) kernel: String,
    pub(crate) accuracy: f64,
    pub(crate) support_tokens: usize,
    pub(crate) training_seconds: f64,
    pub(crate) tokens_per_second: f64,
    /// Share of test sequences answered exactly as the primal model does.
    pub(crate) same_as_primal: f64,
}

/// Kernel models on one data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Dual {
    pub(crate) task: String,
    pub(crate) labels: usize,
    pub(crate) train_sequences: usize,
    pub(crate) test_sequences: usize,
    pub(crate) rows: Vec<DualRow>,
}

/// One way of segmenting.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SegmentRow {
    pub(crate) decoder: String,
    pub(crate) token_accuracy: f64,
    pub(crate) record_accuracy: f64,
    /// Microseconds per record: lattice and decoding, with the features that it asks for.
    pub(crate) microseconds: f64,
    /// Decoding alone.
    pub(crate) decode_microseconds: f64,
    /// Share of all segments whose features were computed.
    pub(crate) asked: f64,
    /// Share of answers that are the exact ones; none for another model.
    pub(crate) right: Option<f64>,
    /// Microseconds per record by group of lengths; 0 where there is none.
    pub(crate) by_length: Vec<f64>,
}

/// One way of fitting a bound.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BoundRow {
    pub(crate) name: String,
    pub(crate) sequences: usize,
    pub(crate) inequalities: usize,
    pub(crate) variables: usize,
    pub(crate) rows: usize,
    pub(crate) coefficients: usize,
    pub(crate) fit_seconds: f64,
    pub(crate) classifier_agrees: f64,
    pub(crate) delta: f64,
    pub(crate) epsilon: f64,
    pub(crate) measured: u64,
    pub(crate) short: u64,
    pub(crate) largest_shortfall: f64,
    pub(crate) asked_exact: f64,
    pub(crate) asked_learned: f64,
    /// On the test set: share of answers short by more than delta.
    pub(crate) short_on_test: f64,
    pub(crate) failed: Option<String>,
}

/// Models of segments on one data set.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SegmentTask {
    pub(crate) task: String,
    pub(crate) labels: usize,
    pub(crate) train_records: usize,
    pub(crate) test_records: usize,
    pub(crate) longest: usize,
    /// Borders of the groups of lengths, first lengths of each.
    pub(crate) groups: Vec<usize>,
    pub(crate) rows: Vec<SegmentRow>,
    pub(crate) bounds: Vec<BoundRow>,
}

/// The result of one step.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Measured {
    Decoding(Decoding),
    Training(Training),
    Beams(Beams),
    AgainstK(AgainstK),
    Problem(Box<Problem>),
    Dual(Dual),
    Segments(SegmentTask),
    /// The data are not in the folder, or of no use.
    Missing {
        reason: String,
    },
}

/// Where and how it was measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) level: String,
    pub(crate) cores: usize,
    pub(crate) load: String,
}

/// A cell of a table.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Cell {
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<f64>,
    /// The paper's figure, or a name: shown plainly. Ours are shown strongly.
    pub(crate) ours: bool,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Cell { text: text.into(), value: None, ours: false }
    }

    /// One of our measurements.
    pub(crate) fn ours(value: f64) -> Self {
        Cell { text: kbest_cli::table::number(value), value: value.is_finite().then_some(value), ours: true }
    }

    /// A whole number of ours.
    pub(crate) fn count(value: usize) -> Self {
        Cell { text: kbest_cli::table::grouped(value), value: Some(value as f64), ours: true }
    }

    /// One of ours, as a ratio: `3.2x`.
    pub(crate) fn ratio(value: f64) -> Self {
        let text =
            if value.is_finite() { format!("{}x", kbest_cli::table::number(value)) } else { "-".into() };
        Cell { text, value: value.is_finite().then_some(value), ours: true }
    }

    /// One of ours, as a share of 1.
    pub(crate) fn percent(share: f64) -> Self {
        let text = if share.is_finite() { kbest_cli::table::percent(share) } else { "-".into() };
        Cell { text, value: share.is_finite().then_some(share), ours: true }
    }

    /// A figure of the paper.
    pub(crate) fn paper(value: f64) -> Self {
        let text = kbest_cli::table::number(value);
        Cell { text, value: value.is_finite().then_some(value), ours: false }
    }

    /// A ratio of the paper's figures.
    pub(crate) fn paper_ratio(value: f64) -> Self {
        Cell { ours: false, ..Cell::ratio(value) }
    }
}

/// A table of the report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A picture of the report.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    /// Its file is `NAME.svg`.
    pub(crate) name: String,
    pub(crate) caption: String,
    #[serde(skip)]
    pub(crate) svg: String,
}

/// Whether what a paper says holds here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Agrees,
    Partly,
    Differs,
    Unknown,
}

impl Verdict {
    /// From the number of cases in which it holds.
    pub(crate) fn of(holds: usize, cases: usize) -> Self {
        match (holds, cases) {
            (_, 0) => Verdict::Unknown,
            (holds, cases) if holds == cases => Verdict::Agrees,
            (0, _) => Verdict::Differs,
            _ => Verdict::Partly,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Partly => "partly",
            Verdict::Differs => "differs",
            Verdict::Unknown => "not measured",
        }
    }
}

/// A claim of a paper and what was measured.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Finding {
    pub(crate) claim: String,
    pub(crate) verdict: Verdict,
    /// The measurements that say so.
    pub(crate) because: String,
}

/// An experiment's part of the report.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Outcome {
    pub(crate) tables: Vec<Table>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) findings: Vec<Finding>,
    /// Missing data, time limits.
    pub(crate) notes: Vec<String>,
}
