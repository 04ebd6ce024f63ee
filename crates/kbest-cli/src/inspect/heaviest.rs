//! The weights of largest magnitude, found in one pass.

use kbest::feature::{Dictionary, FeatureId};
use kbest::model::{LabelParts, NodeWeights};
use kbest::{LabelId, Model, SegmentModel};
use serde::Serialize;

/// The largest and the smallest of many weights.
#[derive(Debug, Serialize)]
pub(super) struct Extremes<T> {
    /// Above zero, the largest first.
    pub(super) positive: Vec<T>,
    /// Below zero, the smallest first.
    pub(super) negative: Vec<T>,
}

/// The weight of a node feature for or against a label.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Node {
    weight: f32,
    label: LabelId,
    feature: FeatureId,
}

/// The weight of an edge feature for or against two neighbouring labels.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    weight: f32,
    from: LabelId,
    to: LabelId,
    feature: FeatureId,
}

/// A node weight by names.
#[derive(Debug, Serialize)]
pub(super) struct NodeRow {
    pub(super) weight: f32,
    pub(super) label: String,
    pub(super) feature: String,
}

/// An edge weight by names.
#[derive(Debug, Serialize)]
pub(super) struct EdgeRow {
    pub(super) weight: f32,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) feature: String,
}

/// Which weights to consider.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter<'a> {
    /// Only this label, and edges from or to it.
    pub(super) label: Option<LabelId>,
    /// Only features whose name contains this.
    pub(super) feature: Option<&'a str>,
    /// The same text as features of words keep it, if they keep it in another way.
    pub(super) folded: Option<&'a str>,
}

impl Filter<'_> {
    fn has(&self, y: LabelId) -> bool {
        self.label.is_none_or(|wanted| wanted == y)
    }

    /// Whether a column of weights belongs to the label, or to one of its parts.
    fn has_column(&self, column: u32, labels: u32, parts: Option<&LabelParts>) -> bool {
        match (column.checked_sub(labels), parts, self.label) {
            (_, _, None) => true,
            (Some(part), Some(parts), Some(wanted)) => parts.of(wanted).contains(&part),
            _ => self.has(column),
        }
    }

    pub(super) fn names(&self, key: &[u8]) -> bool {
        let Some(wanted) = self.feature else { return true };
        let key = String::from_utf8_lossy(key);
        key.contains(wanted) || self.folded.is_some_and(|folded| key.contains(folded))
    }

    /// What to say about a filter by name; `keys` are the names of all features.
    pub(super) fn remark<'k>(&self, mut keys: impl Iterator<Item = &'k [u8]>) -> Option<String> {
        let wanted = self.feature?;
        let found = keys.any(|key| self.names(key));
        let folded = self.folded.map_or_else(String::new, |folded| {
            format!(
                "; features keep words in lower case, every digit as 0, so `{folded}` was looked for, too"
            )
        });
        match (found, self.folded) {
            (true, None) => None,
            (true, Some(_)) => Some(format!("features with `{wanted}`{folded}")),
            (false, _) => Some(format!("no feature has `{wanted}` in its name{folded}")),
        }
    }
}

/// The `top` heaviest node weights of each sign; weights of parts of labels under the names of the parts.
pub(super) fn nodes(model: &Model, filter: Filter<'_>, top: usize) -> Extremes<NodeRow> {
    let labels = model.labels().len() as u32;
    let parts = model.label_parts();
    let names = parts.map(|parts| parts.names(model.labels())).unwrap_or_default();
    let name = |column: u32| match column.checked_sub(labels) {
        Some(part) => format!("part {}", names.get(part as usize).map_or("", String::as_str)),
        None => label(model, column),
    };
    let has = |column| filter.has_column(column, labels, parts);
    rows(model.extractor().nodes(), model.nodes(), filter, top, has, name)
}

/// The `top` heaviest weights of each sign of a segment model's features of positions; the label says where in a segment.
pub(super) fn places(model: &SegmentModel, filter: Filter<'_>, top: usize) -> Extremes<NodeRow> {
    let labels = model.labels().len() as u32;
    let name = |column: u32| {
        let label = model.labels().name(column % labels).unwrap_or_default();
        match column / labels {
            0 => label.to_owned(),
            1 => format!("{label} (first)"),
            _ => format!("{label} (last)"),
        }
    };
    rows(model.extractor().nodes(), model.nodes(), filter, top, |column| filter.has(column % labels), name)
}

/// The `top` heaviest weights of each sign of a segment model's features of whole segments.
pub(super) fn segments(model: &SegmentModel, filter: Filter<'_>, top: usize) -> Extremes<NodeRow> {
    let name = |y: u32| model.labels().name(y).unwrap_or_default().to_owned();
    rows(model.features().keys(), model.weights(), filter, top, |y| filter.has(y), name)
}

fn rows(
    keys: &Dictionary,
    weights: &NodeWeights,
    filter: Filter<'_>,
    top: usize,
    has: impl Fn(u32) -> bool,
    name: impl Fn(u32) -> String,
) -> Extremes<NodeRow> {
    let chosen = (0..).zip(keys.keys()).filter(|(_, key)| filter.names(key)).flat_map(|(feature, _)| {
        let row = weights.row(feature);
        let chosen: Vec<_> = row.iter().filter(|&(column, _)| has(column)).collect();
        chosen.into_iter().map(move |(label, weight)| Node { weight, label, feature })
    });
    extremes(chosen, top, |node| node.weight).map(|node| NodeRow {
        weight: node.weight,
        label: name(node.label),
        feature: keys.key(node.feature).map_or_else(String::new, text),
    })
}

/// The `top` heaviest edge weights of each sign.
pub(super) fn edges(model: &Model, filter: Filter<'_>, top: usize) -> Extremes<EdgeRow> {
    let keys = (0..).zip(model.extractor().edges().keys());
    let weights = keys.filter(|(_, key)| filter.names(key)).flat_map(|(feature, _)| {
        let pairs = model.edges().pairs(feature).iter();
        let chosen = pairs.filter(|pair| filter.has(pair.from) || filter.has(pair.to));
        chosen.map(move |pair| Edge { weight: pair.weight, from: pair.from, to: pair.to, feature })
    });
    let name = |id| model.extractor().edges().key(id).map_or_else(String::new, text);
    extremes(weights, top, |edge| edge.weight).map(|edge| EdgeRow {
        weight: edge.weight,
        from: label(model, edge.from),
        to: label(model, edge.to),
        feature: name(edge.feature),
    })
}

/// The `top` heaviest weights of each sign between parts of neighbouring labels: `from` and `to` are values, `feature` their
/// group.
pub(super) fn agreement(model: &Model, filter: Filter<'_>, top: usize) -> Extremes<EdgeRow> {
    let agreement = model.agreement().filter(|_| filter.label.is_none());
    let weights = agreement.into_iter().flat_map(|agreement| agreement.weights().iter().copied().enumerate());
    let describe = |i: usize| {
        let (group, from, to) = agreement.map_or(("", "", ""), |agreement| agreement.groups().describe(i));
        let value = |value: &str| if value.is_empty() { "none".to_owned() } else { value.to_owned() };
        (group.to_owned(), value(from), value(to))
    };
    let chosen = weights.filter(|&(i, _)| filter.names(describe(i).0.as_bytes()));
    extremes(chosen, top, |&(_, weight)| weight).map(|(i, weight)| {
        let (feature, from, to) = describe(i);
        EdgeRow { weight, from, to, feature }
    })
}

fn label(model: &Model, y: LabelId) -> String {
    model.labels().name(y).unwrap_or_default().to_owned()
}

/// Names of features are bytes: those in models of other programs need not be UTF-8.
fn text(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

impl<T> Extremes<T> {
    fn map<U>(self, to: impl Fn(T) -> U) -> Extremes<U> {
        let Extremes { positive, negative } = self;
        Extremes {
            positive: positive.into_iter().map(&to).collect(),
            negative: negative.into_iter().map(&to).collect(),
        }
    }
}

/// Equal weights keep their order. Memory is proportional to `top`.
fn extremes<T>(weights: impl Iterator<Item = T>, top: usize, weight: impl Fn(&T) -> f32) -> Extremes<T> {
    let (mut positive, mut negative) = (Vec::new(), Vec::new());
    let cut = |list: &mut Vec<T>| {
        list.sort_by(|a, b| weight(b).abs().total_cmp(&weight(a).abs())); // stable
        list.truncate(top);
    };
    for item in weights {
        let list = match weight(&item) {
            w if w > 0.0 => &mut positive,
            w if w < 0.0 => &mut negative,
            _ => continue,
        };
        list.push(item);
        if list.len() >= 2 * top + 1000 {
            cut(list);
        }
    }
    cut(&mut positive);
    cut(&mut negative);
    Extremes { positive, negative }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_of_each_sign_come_first() {
        let weights: Vec<(usize, f32)> =
            (0..10_000).map(|i| (i, ((i * 7919) % 2001) as f32 - 1000.0)).collect();
        let found = extremes(weights.iter().copied(), 3, |&(_, weight)| weight);
        let mut sorted = weights.clone();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
        assert_eq!(found.positive, sorted[..3]);
        sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!(found.negative, sorted[..3]);
        assert!(extremes([0.0f32; 3].into_iter(), 3, |&weight| weight).positive.is_empty());
    }
}
