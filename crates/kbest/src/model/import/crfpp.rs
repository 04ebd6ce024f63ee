//! CRF++'s text models (`crf_learn -t`, `model.txt`).
//!
//! ```text
//! version: 100
//! cost-factor: 1            weights are multiplied by it
//! maxid: 118427             number of weights
//! xsize: 2                  number of columns
//!                           (a blank line after each section)
//! B-NP ...                  labels, one per line
//! U00:%x[-2,0] ...          templates
//! 361 U00:# ...             features: index of the first weight, feature string
//! -0.0731 ...               weights: L per U feature, [label before][label] per B feature
//! ```

use super::text::{Text, shown};
use super::{Model, dictionary, label_set, ranked};
use crate::feature::{Dictionary, Extractor, FeatureSource};
use crate::model::{EdgeWeight, EdgeWeights, ModelParts, NodeWeights, NodeWeightsBuilder};
use crate::template::Template;
use crate::text::{Format, TextFormat};
use kbest_core::LabelSet;
use kbest_core::{Error, Result};

/// A feature, and where its weights begin.
#[derive(Debug, Clone, Copy)]
struct Feature<'a> {
    key: &'a [u8],
    start: u64,
    line: u64,
}

impl Feature<'_> {
    fn is_edge(&self) -> bool {
        self.key[0] == b'B'
    }
}

/// A model from the text that CRF++ wrote; `file` is its name in errors.
///
/// # Errors
/// [`Error::Data`] with the line, [`Error::Template`] for its templates.
pub fn crfpp(bytes: &[u8], file: &str) -> Result<Model> {
    let mut text = Text::new(bytes, file);
    let version = text.after("version: ")?;
    if version.trim_ascii() != "100" {
        return Err(text.error("version: 100", version));
    }
    let cost_factor = text.after("cost-factor: ")?;
    let cost_factor = text.weight(cost_factor.as_bytes())?;
    let weight_count = text.after("maxid: ")?;
    let weight_count = text.count(weight_count)?;
    let columns = text.after("xsize: ")?;
    let columns = text.count(columns)?;
    if let Some(line) = text.in_section("a blank line")? {
        return Err(text.error("a blank line", shown(line)));
    }
    let labels = read_labels(&mut text)?;
    let template = read_template(&mut text, file)?;
    if template.columns() as u64 > columns {
        let got = format!("xsize: {columns} with a template that reads column {}", template.columns() - 1);
        return Err(text.error(format!("at least {} columns", template.columns()), got));
    }
    let features = read_features(&mut text)?;
    let keys = |of_edges| features.iter().filter(move |one| one.is_edge() == of_edges).map(|one| one.key);
    let twice = |()| text.error("each feature once", "a repeated one");
    let (node_keys, edge_keys) =
        (dictionary(keys(false)).map_err(twice)?, dictionary(keys(true)).map_err(twice)?);
    check_blocks(&features, labels.len() as u64, weight_count, &text)?;
    let weights = read_weights(&mut text, weight_count, cost_factor)?;
    text.finish(&format!("the end after {weight_count} weights"))?;

    let (nodes, edges) = arrange(labels.len(), &features, &weights)?;
    let source = FeatureSource::Template(template);
    let extractor =
        Extractor::from_parts(source, node_keys, edge_keys, Dictionary::default(), columns as usize);
    let about = vec![("origin".into(), "CRF++ text model".into())];
    let text_format = Some(TextFormat::new(Format::Columns));
    ranked(Model::new(ModelParts { about, text_format, ..ModelParts::new(labels, extractor, nodes, edges) })?)
}

fn read_labels(text: &mut Text<'_>) -> Result<LabelSet> {
    let mut names = Vec::new();
    let first = text.line() + 1;
    while let Some(line) = text.in_section("a label, or a blank line after the last one")? {
        names.push(text.utf8(line)?);
    }
    if names.is_empty() {
        return Err(text.error("labels", "none"));
    }
    label_set(&names).map_err(|twice| {
        let got = format!("{:?} repeated in line {}", names[twice], first + twice as u64);
        text.error("each label once", got)
    })
}

fn read_template(text: &mut Text<'_>, file: &str) -> Result<Template> {
    let (section, before) = (text.rest(), text.line());
    let mut end = 0;
    while text.in_section("a template, or a blank line after the last one")?.is_some() {
        end = section.len() - text.rest().len();
    }
    Template::parse_bytes(&section[..end], file).map_err(|mut error| {
        if let Error::Template { line, .. } = &mut error {
            *line += before; // it was counted from the first template
        }
        error
    })
}

fn read_features<'a>(text: &mut Text<'a>) -> Result<Vec<Feature<'a>>> {
    const EXPECTED: &str = "a number, a blank and a feature that begins with U or B";
    let mut features = Vec::new();
    while let Some(line) = text.in_section("a feature, or a blank line after the last one")? {
        let wrong = || text.error(EXPECTED, shown(line));
        let blank = line.iter().position(|&byte| byte == b' ').ok_or_else(wrong)?;
        let (start, key) = (&line[..blank], &line[blank + 1..]);
        let start = text.count(text.utf8(start)?)?;
        if !matches!(key.first(), Some(b'U' | b'B')) {
            return Err(wrong());
        }
        features.push(Feature { key, start, line: text.line() });
    }
    Ok(features)
}

/// The weights of each feature must exist, and belong to no other feature.
fn check_blocks(features: &[Feature<'_>], labels: u64, weights: u64, text: &Text<'_>) -> Result<()> {
    let error = |feature: &Feature<'_>, expected: String| {
        let got = format!("{} in line {}", feature.start, feature.line);
        text.error(expected, got)
    };
    let mut by_start: Vec<&Feature<'_>> = features.iter().collect();
    by_start.sort_by_key(|feature| feature.start);
    let mut free = 0; // the first weight not taken yet
    for feature in by_start {
        if feature.start < free {
            return Err(error(feature, format!("a feature whose weights begin at {free} or later")));
        }
        let length = if feature.is_edge() { labels.checked_mul(labels) } else { Some(labels) };
        let end = length.and_then(|length| feature.start.checked_add(length));
        match end.filter(|&end| end <= weights) {
            Some(end) => free = end,
            None => {
                return Err(error(feature, format!("a feature whose weights end within maxid: {weights}")));
            }
        }
    }
    Ok(())
}

fn read_weights(text: &mut Text<'_>, count: u64, factor: f64) -> Result<Vec<f32>> {
    let mut weights = Vec::new(); // grows with the lines read, whatever `count` says
    for _ in 0..count {
        let line = text.expect("a weight")?;
        let weight = (text.weight(line)? * factor) as f32;
        if !weight.is_finite() {
            return Err(text.error("a weight that is finite after the cost factor", shown(line)));
        }
        weights.push(weight);
    }
    Ok(weights)
}

/// Weights by feature, in the order of the features; `count` is the number of labels.
fn arrange(count: usize, features: &[Feature<'_>], weights: &[f32]) -> Result<(NodeWeights, EdgeWeights)> {
    let mut nodes = NodeWeightsBuilder::new(count);
    for feature in features.iter().filter(|feature| !feature.is_edge()) {
        let row = &weights[feature.start as usize..][..count];
        nodes.push((0..).zip(row.iter().copied()))?;
    }
    let edges = features.iter().filter(|feature| feature.is_edge()).map(|feature| {
        let block = &weights[feature.start as usize..][..count * count];
        let pairs = block.chunks_exact(count).zip(0..).flat_map(|(row, from)| {
            row.iter().zip(0..).map(move |(&weight, to)| EdgeWeight { from, to, weight })
        });
        pairs.filter(|pair| pair.weight != 0.0).collect()
    });
    Ok((nodes.finish(), EdgeWeights::new(count, edges)?))
}
