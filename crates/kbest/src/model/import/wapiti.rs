//! Wapiti's text models.
//!
//! ```text
//! #mdl#2#3780                     type (0 maxent, 1 memm, 2 crf; absent in old files), number of weights
//! #rdr#15/1/0                     patterns, columns (unused here), 1 if trained with --me (absent in old files)
//! 12:u00:%x[-2,0],                patterns
//! #qrk#19                         labels
//! 4:B-NP,
//! #qrk#2079                       observations: expanded patterns
//! 8:u00:_x-2,
//! 39810=0x1.1d24f59c239e3p-1      nonzero weights with their indices
//! ```
//!
//! Indices are implicit: in the order of the observations, `u` takes `L` of them, `b` takes `L x L`
//! (`[label before][label]`), `*` takes `L` and then `L x L`.

use super::text::{Text, shown};
use super::{Model, dictionary, label_set, ranked};
use crate::feature::{Dictionary, Extractor, FeatureSource};
use crate::model::{EdgeWeight, EdgeWeights, ModelParts, NodeWeights, NodeWeightsBuilder};
use crate::pattern::{Pattern, PatternKind, Patterns};
use crate::text::{Format, TextFormat};
use kbest_core::Result;
use kbest_core::{LabelId, LabelSet};

/// The types that decode as a chain of label pairs.
const TYPES: [(&str, &str); 2] = [("0", "maxent"), ("2", "crf")];

/// An observation: a feature string.
struct Observation<'a> {
    key: &'a [u8],
    kind: PatternKind,
}

/// A model from the text that Wapiti wrote; `file` is its name in errors.
///
/// # Errors
/// [`Error::Data`](crate::Error::Data) with the line, [`Error::Template`](crate::Error::Template) for its patterns.
pub fn wapiti(bytes: &[u8], file: &str) -> Result<Model> {
    let mut text = Text::new(bytes, file);
    let header = text.after("#mdl#")?;
    let (name, weight_count) = match header.split_once('#') {
        Some((number, count)) => (type_name(&text, number)?, count),
        None => ("maxent", header),
    };
    let weight_count = text.count(weight_count)?;
    let patterns = read_patterns(&mut text, file)?;
    let labels = read_labels(&mut text)?;
    let observations = read_observations(&mut text)?;
    let keys = |wanted: fn(PatternKind) -> bool| {
        dictionary(observations.iter().filter(move |one| wanted(one.kind)).map(|one| one.key))
            .map_err(|()| text.error("each feature once", "a repeated one"))
    };
    let (node_keys, edge_keys) = (keys(PatternKind::has_nodes)?, keys(PatternKind::has_edges)?);
    let places = count_places(&text, &observations, labels.len() as u64)?;
    let weights = read_weights(&mut text, weight_count, places)?;
    text.finish(&format!("the end after {weight_count} weights"))?;

    let (nodes, edges) = arrange(labels.len(), &observations, &weights)?;
    let columns = patterns.columns();
    let source = FeatureSource::Patterns(patterns);
    let extractor = Extractor::from_parts(source, node_keys, edge_keys, Dictionary::default(), columns);
    let about = vec![("origin".into(), format!("Wapiti text model, {name}"))];
    let text_format = Some(TextFormat::new(Format::Columns));
    ranked(Model::new(ModelParts { about, text_format, ..ModelParts::new(labels, extractor, nodes, edges) })?)
}

fn type_name(text: &Text<'_>, number: &str) -> Result<&'static str> {
    if let Some((_, name)) = TYPES.iter().find(|(known, _)| *known == number) {
        return Ok(name);
    }
    let got = if number == "1" {
        "a memm model, whose scores are normalised at each position: train it as a crf instead".into()
    } else {
        format!("type {number}")
    };
    Err(text.error("a model of type 0 (maxent) or 2 (crf)", got))
}

fn read_patterns(text: &mut Text<'_>, file: &str) -> Result<Patterns> {
    let header = text.after("#rdr#")?;
    let mut numbers = header.split('/').map(|number| text.count(number));
    let wrong = || text.error("#rdr#patterns/columns/flag", shown(header.as_bytes()));
    let count = numbers.next().ok_or_else(wrong)??;
    numbers.next().ok_or_else(wrong)??;
    let lone = match numbers.next().transpose()? {
        None | Some(0) => false,
        Some(_) => true,
    };
    if numbers.next().is_some() {
        return Err(wrong());
    }
    let mut patterns = Vec::new(); // grows with the lines read, whatever `count` says
    for _ in 0..count {
        let line = text.netstring()?;
        patterns.push(Pattern::parse(text.utf8(line)?, file, text.line())?);
    }
    Ok(Patterns::new(patterns, lone))
}

fn read_labels(text: &mut Text<'_>) -> Result<LabelSet> {
    let count = text.after("#qrk#")?;
    let count = text.count(count)?;
    let mut names = Vec::new();
    for _ in 0..count {
        let name = text.netstring()?;
        names.push(text.utf8(name)?);
    }
    if names.is_empty() {
        return Err(text.error("labels", "none"));
    }
    label_set(&names).map_err(|twice| text.error("each label once", format!("{:?} repeated", names[twice])))
}

fn read_observations<'a>(text: &mut Text<'a>) -> Result<Vec<Observation<'a>>> {
    let count = text.after("#qrk#")?;
    let count = text.count(count)?;
    let mut observations = Vec::new();
    for _ in 0..count {
        let key = text.netstring()?;
        let kind = key.first().and_then(|&letter| PatternKind::of(letter));
        let kind = kind.ok_or_else(|| text.error("a feature that begins with u, b or *", shown(key)))?;
        observations.push(Observation { key, kind });
    }
    Ok(observations)
}

/// The number of indices for weights.
fn count_places(text: &Text<'_>, observations: &[Observation<'_>], labels: u64) -> Result<u64> {
    let places = |kind: PatternKind| {
        let nodes = if kind.has_nodes() { labels } else { 0 };
        let edges = if kind.has_edges() { labels.checked_mul(labels)? } else { 0 };
        nodes.checked_add(edges)
    };
    let sum = observations.iter().try_fold(0u64, |sum, one| sum.checked_add(places(one.kind)?));
    sum.ok_or_else(|| text.error("fewer than 2^64 weights", "more"))
}

/// Weights by index, each index once.
fn read_weights(text: &mut Text<'_>, count: u64, places: u64) -> Result<Vec<(u64, f32)>> {
    const EXPECTED: &str = "place=weight";
    let mut weights = Vec::new();
    for _ in 0..count {
        let line = text.expect(EXPECTED)?;
        let equals = line.iter().position(|&byte| byte == b'=');
        let equals = equals.ok_or_else(|| text.error(EXPECTED, shown(line)))?;
        let place = text.count(text.utf8(&line[..equals])?)?;
        if place >= places {
            return Err(text.error(format!("an index below {places}"), place));
        }
        weights.push((place, text.weight(&line[equals + 1..])? as f32));
    }
    weights.sort_by_key(|&(place, _)| place); // usually already sorted by Wapiti
    match weights.windows(2).find(|two| two[0].0 == two[1].0) {
        Some(twice) => Err(text.error("each index once", format!("{} twice", twice[0].0))),
        None => Ok(weights),
    }
}

/// Weights by feature, in the order of the observations; `count` is the number of labels.
fn arrange(
    count: usize,
    observations: &[Observation<'_>],
    mut weights: &[(u64, f32)],
) -> Result<(NodeWeights, EdgeWeights)> {
    let labels = count as u64;
    let mut start = 0; // of the next indices
    let mut take = |length: u64| {
        let first = start;
        start += length; // at most the number of indices, counted above
        let (taken, rest) = weights.split_at(weights.partition_point(|&(place, _)| place < start));
        weights = rest;
        taken.iter().map(move |&(place, weight)| (place - first, weight))
    };
    let mut nodes = NodeWeightsBuilder::new(count);
    let mut edges = Vec::new();
    for observation in observations {
        if observation.kind.has_nodes() {
            nodes.push(take(labels).map(|(y, weight)| (y as LabelId, weight)))?;
        }
        if observation.kind.has_edges() {
            let pair = |(place, weight)| EdgeWeight {
                from: (place / labels) as LabelId,
                to: (place % labels) as LabelId,
                weight,
            };
            edges.push(take(labels * labels).map(pair).collect());
        }
    }
    Ok((nodes.finish(), EdgeWeights::new(count, edges)?))
}
