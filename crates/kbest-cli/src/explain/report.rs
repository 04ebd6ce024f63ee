//! What `kbest explain` found out: one description for the terminal, the page and JSON.

use super::Input;
use super::why::Strings;
use crate::table::number;
use kbest::LabelId;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// One sequence and the search for its labels.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) version: &'static str,
    /// File and model, as they were named.
    pub(super) file: String,
    pub(super) model: Option<String>,
    /// Counting from 1.
    pub(super) sequence: usize,
    pub(super) positions: usize,
    pub(super) labels: usize,
    /// Whether the answers are segments.
    pub(super) segments: bool,
    pub(super) search: Search,
    pub(super) log_partition: f64,
    /// How the model's calibration changed the probabilities, in words.
    pub(super) calibration: Option<String>,
    /// The first cell of each position, if there is text.
    pub(super) tokens: Option<Vec<String>>,
    /// Names of the labels that occur below.
    pub(super) names: BTreeMap<LabelId, String>,
    pub(super) paths: Vec<Path>,
    pub(super) columns: Vec<Column>,
    /// Names of features and the like; terms refer to them by number.
    pub(super) strings: Vec<String>,
}

/// The search that was watched.
#[derive(Debug, Serialize)]
pub(super) struct Search {
    /// The decoder asked for, and the one that answered.
    pub(super) asked: String,
    pub(super) decoder: &'static str,
    /// For how many paths it searched, and who found the paths if it finds only one.
    pub(super) k: usize,
    pub(super) paths_by: &'static str,
    /// Why somebody else found them.
    pub(super) because: Option<String>,
    pub(super) exact: bool,
    pub(super) plan: Option<String>,
    pub(super) counters: BTreeMap<&'static str, u64>,
    /// Whether vertices were traced (those of positions are, segments are not), and in how many steps they were opened.
    pub(super) traced: bool,
    pub(super) steps: u32,
}

/// One of the best paths.
#[derive(Debug, Serialize)]
pub(super) struct Path {
    pub(super) labels: Vec<LabelId>,
    /// Start, end (not included) and label of each, if the answers are segments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) segments: Vec<(usize, usize, LabelId)>,
    pub(super) score: f64,
    pub(super) probability: f64,
    /// Positions where it differs from the best path: in its label or, for segments, in the segment.
    pub(super) differs: Vec<usize>,
}

/// One position.
#[derive(Debug, Serialize)]
pub(super) struct Column {
    /// How many labels were opened, how many pruned without being opened, and how many after that.
    pub(super) opened: usize,
    pub(super) pruned: usize,
    pub(super) closed: usize,
    /// The ones to be shown, likely ones first.
    pub(super) vertices: Vec<Vertex>,
    /// The uncertainty of the label, in bits.
    pub(super) entropy: f64,
    /// Why the best path has its label here; `None` if there is no other path, or nobody asked.
    pub(super) why: Option<Why>,
}

/// A label at a position: written as a list, because there are many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vertex {
    pub(super) label: LabelId,
    /// 0 never touched, 1 pruned, 2 opened, 3 opened, then pruned.
    pub(super) fate: u8,
    /// When it was opened.
    pub(super) step: Option<u32>,
    pub(super) node: f64,
    pub(super) probability: f64,
}

impl Serialize for Vertex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.label, self.fate, self.step, self.node, self.probability).serialize(serializer)
    }
}

/// The best path against the best one that is different here.
#[derive(Debug, Serialize)]
pub(super) struct Why {
    /// The labels here.
    pub(super) winner: LabelId,
    pub(super) rival: LabelId,
    /// The rival path's score, and how far ahead the best path is.
    pub(super) rival_score: f64,
    pub(super) lead: f64,
    /// From here to here (included) the two paths differ, and these are the rival's labels there.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) rival_labels: Vec<LabelId>,
    /// The heaviest terms.
    pub(super) terms: Vec<TermLine>,
    /// How many more there are, and what they add up to.
    pub(super) others: usize,
    pub(super) others_lead: f64,
}

/// What a term adds to either path; written as a list.
#[derive(Debug, Clone)]
pub(super) struct TermLine {
    pub(super) kind: &'static str,
    pub(super) position: usize,
    /// Number of its name in [`Report::strings`].
    pub(super) name: usize,
    pub(super) winner: f64,
    pub(super) rival: f64,
}

impl Serialize for TermLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.kind, self.position, self.name, self.winner, self.rival).serialize(serializer)
    }
}

/// Few digits, but enough to tell: scores of weights have no more.
pub(super) fn short(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

impl Report {
    /// Everything together; `size` is the number of positions and of labels.
    pub(super) fn new(
        input: &Input<'_>,
        size: (usize, usize),
        search: Search,
        log_partition: f64,
        paths: Vec<Path>,
        columns: Vec<Column>,
        strings: Strings,
    ) -> Self {
        let calibration = input.calibration.map(|calibration| {
            let curve = match calibration.curve().len() {
                0 => String::new(),
                points => format!(", curve of {points} points"),
            };
            format!("temperature {}{curve}", number(calibration.temperature()))
        });
        let mut report = Report {
            version: env!("CARGO_PKG_VERSION"),
            file: input.file.to_owned(),
            model: input.model.map(str::to_owned),
            sequence: input.sequence,
            positions: size.0,
            labels: size.1,
            segments: !search.traced,
            search,
            log_partition,
            calibration,
            tokens: input.tokens.clone(),
            names: BTreeMap::new(),
            paths,
            columns,
            strings: strings.all,
        };
        report.name_labels(&*input.name);
        report
    }

    pub(super) fn name(&self, y: LabelId) -> &str {
        self.names.get(&y).map_or("", String::as_str)
    }

    /// The token, or the number of the position if there is no text.
    pub(super) fn token(&self, t: usize) -> String {
        match &self.tokens {
            Some(tokens) => tokens[t].clone(),
            None => format!("position {}", t + 1),
        }
    }

    /// Collects the names of all labels that are mentioned.
    fn name_labels(&mut self, name: &dyn Fn(LabelId) -> String) {
        let paths = self.paths.iter().flat_map(|path| path.labels.iter().copied());
        let vertices =
            self.columns.iter().flat_map(|column| column.vertices.iter().map(|vertex| vertex.label));
        let rivals = self.columns.iter().filter_map(|column| column.why.as_ref());
        let rivals = rivals.flat_map(|why| why.rival_labels.iter().copied());
        let all: std::collections::BTreeSet<LabelId> = paths.chain(vertices).chain(rivals).collect();
        self.names = all.into_iter().map(|y| (y, name(y))).collect();
    }
}
