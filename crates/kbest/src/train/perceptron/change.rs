//! What has to change so that the right labels gain on an answer.

use crate::feature::FeatureId;
use crate::label::LabelId;
use crate::model::LabelParts;
use crate::train::Example;

/// A change of one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Change {
    /// `column` is a label, or `L` and a part of labels.
    Node {
        feature: FeatureId,
        column: u32,
        by: f32,
    },
    Edge {
        feature: FeatureId,
        from: LabelId,
        to: LabelId,
        by: f32,
    },
}

impl Change {
    fn key(&self) -> (bool, FeatureId, LabelId, LabelId) {
        match *self {
            Change::Node { feature, column, .. } => (false, feature, column, 0),
            Change::Edge { feature, from, to, .. } => (true, feature, from, to),
        }
    }

    fn by_mut(&mut self) -> &mut f32 {
        match self {
            Change::Node { by, .. } | Change::Edge { by, .. } => by,
        }
    }

    fn by(mut self) -> f32 {
        *self.by_mut()
    }
}

/// The features of the right labels, less those of an answer, as far as the answer reaches. Gives the number of wrong
/// positions.
pub(super) fn difference(
    example: &Example,
    answer: &[LabelId],
    label_parts: Option<&LabelParts>,
    changes: &mut Vec<Change>,
) -> usize {
    let Example { features, gold, .. } = example;
    changes.clear();
    let mut wrong = 0;
    for t in 0..answer.len() {
        if gold[t] != answer[t] {
            wrong += 1;
            let of = |y| label_parts.map_or(&[][..], |parts| parts.of(y));
            let first_part = label_parts.map_or(0, LabelParts::labels) as u32;
            let (right_parts, wrong_parts) = (of(gold[t]), of(answer[t]));
            for (i, &feature) in features.nodes(t).iter().enumerate() {
                let by = features.values(t).map_or(1.0, |values| values[i] as f32);
                let mut push = |column: u32, by: f32| changes.push(Change::Node { feature, column, by });
                push(gold[t], by);
                push(answer[t], -by);
                // What both have would gain and lose.
                let missed = right_parts.iter().filter(|part| !wrong_parts.contains(part));
                missed.for_each(|part| push(first_part + part, by));
                let false_parts = wrong_parts.iter().filter(|part| !right_parts.contains(part));
                false_parts.for_each(|part| push(first_part + part, -by));
            }
        }
        if t > 0 && (gold[t - 1], gold[t]) != (answer[t - 1], answer[t]) {
            for &feature in features.edges(t) {
                changes.push(Change::Edge { feature, from: gold[t - 1], to: gold[t], by: 1.0 });
                changes.push(Change::Edge { feature, from: answer[t - 1], to: answer[t], by: -1.0 });
            }
        }
    }
    wrong
}

/// Adds up changes of the same weight and gives the sum of their squares.
pub(super) fn merge(changes: &mut Vec<Change>) -> f64 {
    changes.sort_by_key(Change::key);
    changes.dedup_by(|next, kept| {
        let same = next.key() == kept.key();
        if same {
            *kept.by_mut() += next.by();
        }
        same
    });
    changes.iter().map(|change| f64::from(change.by()).powi(2)).sum()
}

/// Multiplies all changes.
pub(super) fn scale(changes: &mut [Change], factor: f32) {
    changes.iter_mut().for_each(|change| *change.by_mut() *= factor);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_one_weight_add_up() {
        let node = |feature, column, by| Change::Node { feature, column, by };
        let edge = |from, to, by| Change::Edge { feature: 0, from, to, by };
        let mut changes =
            vec![node(1, 2, 1.0), edge(0, 1, 1.0), node(1, 2, 2.0), node(0, 2, -1.0), edge(0, 1, -1.0)];
        assert_eq!(merge(&mut changes), 9.0 + 1.0);
        assert_eq!(changes, [node(0, 2, -1.0), node(1, 2, 3.0), edge(0, 1, 0.0)]);
        scale(&mut changes, 0.5);
        assert_eq!(changes[1], node(1, 2, 1.5));
    }
}
