//! The report on a model of segments.

use super::heaviest::{self, Extremes, Filter, NodeRow};
use super::report::{shown, weight, write_table};
use crate::table::grouped;
use kbest::SegmentModel;
use kbest::feature::segment::SegmentKind;
use kbest::segment::LearnedBound;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

#[derive(Serialize)]
pub(super) struct SegmentReport {
    file: String,
    bytes: u64,
    /// Each label with its longest segment.
    labels: Vec<LabelRow>,
    segments: &'static str,
    longest: u32,
    source: String,
    kinds: BTreeMap<String, usize>,
    node_features: usize,
    node_weights: usize,
    edge_features: usize,
    edge_weights: usize,
    /// Features of segments of each kind.
    segment_features: BTreeMap<&'static str, usize>,
    segment_weights: usize,
    known_texts: usize,
    known_segments: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<BoundRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<BTreeMap<&'static str, String>>,
    #[serde(skip)]
    text_line: Option<String>,
    about: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
    heaviest_segments: Extremes<NodeRow>,
    heaviest_nodes: Extremes<NodeRow>,
}

/// The learned bound, and what was measured of it.
#[derive(Serialize)]
struct BoundRow {
    trees: usize,
    weights: usize,
    delta: f64,
    epsilon: f64,
    measured: u64,
    short_by_more_than_delta: u64,
}

impl From<&LearnedBound> for BoundRow {
    fn from(bound: &LearnedBound) -> Self {
        let parts = bound.parts();
        let dense = parts.bias.iter().chain(&parts.pairs).filter(|weight| **weight != 0.0).count();
        BoundRow {
            trees: parts.trees.len(),
            weights: parts.weights.len() + dense,
            delta: parts.promise.delta,
            epsilon: parts.promise.epsilon,
            measured: parts.promise.measured,
            short_by_more_than_delta: parts.promise.failed,
        }
    }
}

#[derive(Serialize)]
struct LabelRow {
    name: String,
    longest: u32,
}

impl SegmentReport {
    pub(super) fn new(path: &Path, model: &SegmentModel, filter: Filter<'_>, top: usize) -> Self {
        let mut kinds: BTreeMap<&'static str, usize> =
            model.features().kinds().iter().map(|kind| (kind.name(), 0)).collect();
        for key in model.features().keys().keys() {
            if let Some(kind) = SegmentKind::of_key(key) {
                *kinds.entry(kind.name()).or_default() += 1;
            }
        }
        let longest = model.longest().iter().copied();
        let labels = model.labels().names().zip(longest.clone());
        let text = model.text_format();
        SegmentReport {
            file: path.display().to_string(),
            bytes: std::fs::metadata(path).map_or(0, |data| data.len()),
            labels: labels.map(|(name, longest)| LabelRow { name: name.to_owned(), longest }).collect(),
            segments: model.spelling().name(),
            longest: longest.max().unwrap_or_default(),
            source: model.extractor().source().name().into_owned(),
            kinds: model.extractor().kinds().into_iter().map(|kind| (kind.name, kind.features)).collect(),
            node_features: model.nodes().features(),
            node_weights: model.nodes().stored(),
            edge_features: model.edges().features(),
            edge_weights: model.edges().stored(),
            segment_features: kinds,
            segment_weights: model.weights().stored(),
            known_texts: model.features().texts().len(),
            known_segments: model.features().similar().len(),
            bound: model.bound().map(BoundRow::from),
            line_column: model.features().line_column().map(|column| column + 1),
            text: text.map(|text| text.words().into_iter().collect()),
            text_line: text.map(ToString::to_string),
            about: model.about().iter().cloned().collect(),
            remark: filter.remark(model.extractor().nodes().keys().chain(model.features().keys().keys())),
            heaviest_segments: heaviest::segments(model, filter, top),
            heaviest_nodes: heaviest::places(model, filter, top),
        }
    }
}

impl fmt::Display for SegmentReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: intact, {} bytes, a model of segments", self.file, grouped(self.bytes as usize))?;
        let names: Vec<String> =
            self.labels.iter().take(12).map(|row| format!("{} (up to {})", row.name, row.longest)).collect();
        let more = if self.labels.len() > names.len() { ", ..." } else { "" };
        writeln!(f, "labels    {}: {}{more}", grouped(self.labels.len()), names.join(", "))?;
        let how = if self.segments == "runs" { "runs of one label" } else { "spans by the scheme" };
        let scheme = if self.segments == "runs" { "" } else { self.segments };
        writeln!(f, "segments  {}, up to {} tokens", format!("{how} {scheme}").trim_end(), self.longest)?;
        writeln!(
            f,
            "features  {}: {} for positions, {} for edges; weights {} and {}",
            self.source,
            grouped(self.node_features),
            grouped(self.edge_features),
            grouped(self.node_weights),
            grouped(self.edge_weights)
        )?;
        for (kind, count) in &self.kinds {
            writeln!(f, "          {} {kind}", grouped(*count))?;
        }
        let kinds: Vec<String> =
            self.segment_features.iter().map(|(kind, count)| format!("{kind} {}", grouped(*count))).collect();
        let kinds = if kinds.is_empty() { "none".into() } else { kinds.join(", ") };
        writeln!(f, "          of segments: {kinds}; weights {}", grouped(self.segment_weights))?;
        writeln!(
            f,
            "known     {} texts, {} segments to compare with",
            grouped(self.known_texts),
            grouped(self.known_segments)
        )?;
        if let Some(bound) = &self.bound {
            writeln!(
                f,
                "bound     {} trees, {} weights; within {} with probability {:.4}, measured on {} sequences",
                bound.trees,
                grouped(bound.weights),
                bound.delta,
                1.0 - bound.epsilon,
                grouped(bound.measured as usize)
            )?;
        }
        if let Some(column) = self.line_column {
            writeln!(f, "lines     column {column}")?;
        }
        if let Some(text) = &self.text_line {
            writeln!(f, "text      {text}")?;
        }
        for (name, text) in &self.about {
            writeln!(f, "{name:<10}{text}")?;
        }
        if let Some(remark) = &self.remark {
            writeln!(f, "\n{remark}")?;
        }
        for (title, rows) in [
            ("Segment features in favour of a label", &self.heaviest_segments.positive),
            ("Segment features against a label", &self.heaviest_segments.negative),
            ("Node features in favour of a label", &self.heaviest_nodes.positive),
            ("Node features against a label", &self.heaviest_nodes.negative),
        ] {
            let cells =
                rows.iter().map(|row| vec![weight(row.weight), row.label.clone(), shown(&row.feature)]);
            write_table(f, title, &["weight", "label", "feature"], cells.collect())?;
        }
        Ok(())
    }
}
