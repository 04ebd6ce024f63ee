//! The report on a model.

use super::heaviest::{self, EdgeRow, Extremes, Filter, NodeRow};
use super::support::SupportReport;
use crate::failure::Result;
use crate::table::{aligned, grouped};
use kbest::decode::Auto;
use kbest::escaped;
use kbest::feature::FeatureSource;
use kbest::lattice::Shape;
use kbest::scheme::Tagging;
use kbest::{Lattice, Model};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Length of the sequence that the plan is made for: a typical sentence.
const TYPICAL_LENGTH: usize = 20;

/// Number of labels named in the report.
const FEW: usize = 12;

#[derive(Serialize)]
pub(super) struct Report {
    file: String,
    bytes: u64,
    labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheme: Option<&'static str>,
    features: Features,
    edges: Density,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<AgreementReport>,
    start_scores: bool,
    end_scores: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    voters: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    support: Option<SupportReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<BTreeMap<&'static str, String>>,
    #[serde(skip)]
    text_line: Option<String>,
    about: BTreeMap<String, String>,
    plan: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remark: Option<String>,
    heaviest_nodes: Extremes<NodeRow>,
    heaviest_edges: Extremes<EdgeRow>,
    heaviest_agreement: Extremes<EdgeRow>,
}

/// Weights between parts of neighbouring labels.
#[derive(Serialize)]
struct AgreementReport {
    groups: Vec<String>,
    classes: usize,
    weights: usize,
}

#[derive(Serialize)]
struct Features {
    source: String,
    kinds: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    template: Vec<String>,
    columns: usize,
    node_features: usize,
    node_weights: usize,
    edge_features: usize,
    edge_weights: usize,
}

/// How many edges have a score.
#[derive(Serialize)]
struct Density {
    /// Whether edges depend on the input; the other fields then describe those that all steps share.
    look_at_input: bool,
    shape: &'static str,
    pairs: usize,
    not_zero: usize,
    density: f64,
}

impl Report {
    pub(super) fn new(path: &Path, model: &Model, filter: Filter<'_>, top: usize) -> Result<Self> {
        let labels = model.labels().len();
        let lattice = Lattice::new(vec![0.0f32; TYPICAL_LENGTH * labels], model.shared_edges())?;
        Ok(Report {
            file: path.display().to_string(),
            bytes: std::fs::metadata(path).map_or(0, |data| data.len()),
            labels: model.labels().names().map(String::from).collect(),
            scheme: Tagging::detect(model.labels().names()).map(|tagging| tagging.scheme.name()),
            features: Features::of(model),
            edges: Density::of(model),
            agreement: model.agreement().map(|agreement| AgreementReport {
                groups: agreement.groups().names().map(String::from).collect(),
                classes: agreement.groups().classes(),
                weights: agreement.weights().iter().filter(|&&weight| weight != 0.0).count(),
            }),
            start_scores: model.start().is_some(),
            end_scores: model.end().is_some(),
            voters: model.voters().map(|voters| voters.votes().len()),
            support: SupportReport::of(model, filter, top),
            text: model.text_format().map(|text| text.words().into_iter().collect()),
            text_line: model.text_format().map(|text| text.to_string()),
            about: model.about().iter().cloned().collect(),
            plan: Auto::default().plan(&lattice, 1).explain(),
            remark: filter.remark(model.extractor().nodes().keys().chain(model.extractor().edges().keys())),
            heaviest_nodes: heaviest::nodes(model, filter, top),
            heaviest_edges: heaviest::edges(model, filter, top),
            heaviest_agreement: heaviest::agreement(model, filter, top),
        })
    }
}

impl Features {
    fn of(model: &Model) -> Self {
        let extractor = model.extractor();
        let template = match extractor.source() {
            FeatureSource::Patterns(patterns) => {
                patterns.patterns().iter().map(|pattern| pattern.line().to_owned()).collect()
            }
            other => other
                .template()
                .map(|template| template.lines().map(String::from).collect())
                .unwrap_or_default(),
        };
        Features {
            source: extractor.source().name().into_owned(),
            kinds: extractor.kinds().into_iter().map(|kind| (kind.name, kind.features)).collect(),
            template,
            columns: extractor.columns(),
            node_features: model.nodes().features(),
            node_weights: model.nodes().stored(),
            edge_features: model.edges().features(),
            edge_weights: model.edges().stored(),
        }
    }
}

impl Density {
    fn of(model: &Model) -> Self {
        let labels = model.labels().len();
        let shared = model.extractor().shared_edges();
        let mut pairs: Vec<(u32, u32)> =
            shared.iter().flat_map(|&id| model.edges().pairs(id)).map(|pair| (pair.from, pair.to)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Density {
            look_at_input: model.extractor().source().has_observed_edges(),
            shape: if matches!(model.shared_edges().shape(), Shape::Sparse(_)) { "list" } else { "matrix" },
            pairs: labels * labels,
            not_zero: pairs.len(),
            density: pairs.len() as f64 / (labels * labels) as f64,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: intact, {} bytes", escaped(&self.file), grouped(self.bytes as usize))?;
        self.write_parts(f)?;
        if let Some(text) = &self.text_line {
            writeln!(f, "text      {}", escaped(text))?;
        }
        for (name, text) in &self.about {
            writeln!(f, "{:<10}{}", escaped(name), escaped(text))?;
        }
        writeln!(f, "\nHow `auto` decodes it:\n{}", self.plan)?;
        if let Some(support) = &self.support {
            write!(f, "\n{support}")?;
        }
        if let Some(remark) = &self.remark {
            writeln!(f, "\n{remark}")?;
        }
        for (title, rows) in [
            ("Node features in favour of a label", &self.heaviest_nodes.positive),
            ("Node features against a label", &self.heaviest_nodes.negative),
        ] {
            let cells =
                rows.iter().map(|row| vec![weight(row.weight), row.label.clone(), shown(&row.feature)]);
            write_table(f, title, &["weight", "label", "feature"], cells.collect())?;
        }
        for (title, rows) in [
            ("Edge features in favour of a label pair", &self.heaviest_edges.positive),
            ("Edge features against a label pair", &self.heaviest_edges.negative),
        ] {
            let cells = rows
                .iter()
                .map(|row| vec![weight(row.weight), row.from.clone(), row.to.clone(), shown(&row.feature)]);
            write_table(f, title, &["weight", "from", "to", "feature"], cells.collect())?;
        }
        for (title, rows) in [
            ("Parts of neighbouring labels that go together", &self.heaviest_agreement.positive),
            ("Parts of neighbouring labels that do not", &self.heaviest_agreement.negative),
        ] {
            let cells = rows
                .iter()
                .map(|row| vec![weight(row.weight), shown(&row.feature), shown(&row.from), shown(&row.to)]);
            write_table(f, title, &["weight", "group", "from", "to"], cells.collect())?;
        }
        Ok(())
    }
}

impl Report {
    fn write_parts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.labels.iter().take(FEW).map(|name| escaped(name)).collect::<Vec<_>>().join(", ");
        let more = if self.labels.len() > FEW { ", ..." } else { "" };
        let scheme = self.scheme.map_or_else(String::new, |scheme| format!(" ({scheme})"));
        writeln!(f, "labels    {}{scheme}: {names}{more}", grouped(self.labels.len()))?;
        let Features { source, node_features, node_weights, edge_features, edge_weights, .. } =
            &self.features;
        let lines = match self.features.template.len() {
            0 => String::new(),
            lines => format!(", {lines} lines"),
        };
        writeln!(
            f,
            "features  {source}{lines}: {} for nodes, {} for edges",
            grouped(*node_features),
            grouped(*edge_features)
        )?;
        for (kind, count) in &self.features.kinds {
            writeln!(f, "          {} {kind}", grouped(*count))?;
        }
        writeln!(
            f,
            "weights   {} for nodes ({:.1} per feature), {} for edges",
            grouped(*node_weights),
            *node_weights as f64 / (*node_features).max(1) as f64,
            grouped(*edge_weights)
        )?;
        let Density { look_at_input, shape, pairs, not_zero, density } = &self.edges;
        writeln!(
            f,
            "edges     {} of {} label pairs have nonzero scores ({:.2} %), stored as a {shape}{}",
            grouped(*not_zero),
            grouped(*pairs),
            100.0 * density,
            if *look_at_input { "; others depend on the input" } else { "" }
        )?;
        if let Some(AgreementReport { groups, classes, weights }) = &self.agreement {
            let groups = groups.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(", ");
            let (classes, weights) = (grouped(*classes), grouped(*weights));
            writeln!(
                f,
                "agreement {weights} weights between parts of neighbours ({groups}; {classes} classes)"
            )?;
        }
        match (self.start_scores, self.end_scores) {
            (false, false) => {}
            (true, false) => writeln!(f, "borders   scores for first labels")?,
            (false, true) => writeln!(f, "borders   scores for last labels")?,
            (true, true) => writeln!(f, "borders   scores for first and last labels")?,
        }
        match self.voters {
            Some(voters) => {
                writeln!(
                    f,
                    "ensemble  {} members vote; the weights shown are those of the last",
                    grouped(voters)
                )
            }
            None => Ok(()),
        }
    }
}

pub(super) fn weight(weight: f32) -> String {
    format!("{weight:+.4}")
}

/// A name on one line, with control characters escaped.
pub(super) fn shown(name: &str) -> String {
    if name.contains(char::is_control) { name.escape_debug().to_string() } else { name.to_owned() }
}

pub(super) fn write_table(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    header: &[&str],
    rows: Vec<Vec<String>>,
) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let numbers: Vec<bool> = (0..header.len()).map(|i| i == 0).collect();
    write!(f, "\n{title}:\n{}", aligned(header, &numbers, &rows))
}
