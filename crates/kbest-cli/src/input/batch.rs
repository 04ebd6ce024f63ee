//! From arrays to lattices: the meaning and the possible shapes of each key.
//!
//! Node scores are read once and never copied: the lattices of a batch borrow their rows. The mask `allowed` is written
//! into them as minus infinity.

use super::array::{Array, Data, Scores};
use super::files::Arrays;
use super::segments::SegmentScores;
use crate::failure::{Failure, Result};
use kbest::transition::Transitions;
use kbest::{Edges, Float, LabelId, Lattice};

/// All sequences of a file and the edges they share.
#[derive(Debug)]
pub struct Batch<S: Float> {
    pub(super) file: String,
    nodes: Vec<S>,          // B x T x L
    pub(super) rows: usize, // T
    lengths: Vec<usize>,    // B, none above T
    edges: Edges<S>,
    start: Option<Vec<S>>, // L
    end: Option<Vec<S>>,   // L
    pub(super) segments: Option<SegmentScores<S>>,
}

/// The arrays of a file, taken out one by one.
pub(super) struct Keys(Arrays);

impl Keys {
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.arrays.contains_key(key)
    }

    pub(super) fn error(&self, key: &str, problem: impl std::fmt::Display) -> Failure {
        Failure::input(&self.0.file, format!("key `{key}`: {problem}"))
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Array> {
        self.0.arrays.remove(key)
    }

    /// An array that must have one of these shapes, described by `expected`.
    pub(super) fn shaped(&mut self, key: &str, expected: &str, shapes: &[&[usize]]) -> Result<Option<Array>> {
        let Some(array) = self.take(key) else { return Ok(None) };
        if shapes.contains(&array.shape.as_slice()) {
            return Ok(Some(array));
        }
        let shapes: Vec<_> = shapes.iter().map(|shape| super::array::shape_text(shape)).collect();
        let problem =
            format!("expected {expected} = {}, got shape {}", shapes.join(" or "), array.shape_text());
        Err(self.error(key, problem))
    }

    pub(super) fn scores<S: Scores>(&self, key: &str, array: Array) -> Result<Vec<S>> {
        array.into_scores().map_err(|problem| self.error(key, problem))
    }

    /// Checks that none of several keys is missing.
    fn all_of(&self, needed: &[&str]) -> Result<()> {
        match needed.iter().find(|key| !self.has(key)) {
            None => Ok(()),
            Some(key) => {
                let problem = format!("missing key `{key}`: expected all of {}", needed.join(", "));
                Err(Failure::input(&self.0.file, problem))
            }
        }
    }

    fn indices(&self, key: &str, array: Array, largest: usize) -> Result<Vec<u32>> {
        array.into_indices(largest).map_err(|problem| self.error(key, problem))
    }
}

impl<S: Scores> Batch<S> {
    /// Checks everything except the node scores, which [`Batch::lattices`] checks.
    pub(super) fn new(arrays: Arrays) -> Result<Self> {
        let mut keys = Keys(arrays);
        let Some(node) = keys.take("node") else {
            return Err(Failure::input(
                &keys.0.file,
                "missing key `node`: expected node scores (T, L) or (B, T, L)",
            ));
        };
        let (sequences, rows, labels) = match *node.shape.as_slice() {
            [rows, labels] => (1, rows, labels),
            [sequences, rows, labels] => (sequences, rows, labels),
            _ => {
                let got = node.shape_text();
                return Err(keys.error("node", format!("expected shape (T, L) or (B, T, L), got {got}")));
            }
        };
        if labels == 0 || u32::try_from(labels).is_err() {
            return Err(keys.error("node", format!("expected 1 to {} labels, got {labels}", u32::MAX)));
        }
        let batched = node.shape.len() == 3;
        let mut nodes: Vec<S> = keys.scores("node", node)?;

        let lengths = match keys.shaped("lengths", "shape (B,)", &[&[sequences]])? {
            Some(array) => keys.indices("lengths", array, rows)?.into_iter().map(|n| n as usize).collect(),
            None => vec![rows; sequences],
        };
        let masks: [&[usize]; 2] = [&[rows, labels], &[sequences, rows, labels]];
        let masks = if batched { &masks[..] } else { &masks[..1] };
        if let Some(array) = keys.shaped("allowed", "shape (T, L) or (B, T, L)", masks)? {
            let Data::Truth(allowed) = &array.data else {
                return Err(keys.error("allowed", format!("expected bool, got {}", array.kind())));
            };
            // One chunk per sequence if they share a mask, else a single chunk.
            for chunk in nodes.chunks_mut(allowed.len().max(1)) {
                for (node, _) in chunk.iter_mut().zip(allowed).filter(|(_, allowed)| !**allowed) {
                    *node = S::FORBIDDEN;
                }
            }
        }
        let segments = SegmentScores::take(&mut keys, [sequences, rows, labels], batched)?;
        let edges = edges(&mut keys, rows, labels)?;
        let order = match keys.shaped("order", "shape (L,)", &[&[labels]])? {
            Some(array) => keys.indices("order", array, labels - 1)?,
            None => by_mean(&nodes, rows, labels, &lengths),
        };
        let edges = edges.ranked(order).map_err(|error| keys.error("order", error))?;
        let mut border = |key: &str| match keys.shaped(key, "shape (L,)", &[&[labels]])? {
            Some(array) => keys.scores(key, array).map(Some),
            None => Ok(None),
        };
        let (start, end) = (border("start")?, border("end")?);
        Ok(Batch { file: keys.0.file, nodes, rows, lengths, edges, start, end, segments })
    }
}

impl<S: Float> Batch<S> {
    /// A batch from memory: `nodes` holds `rows` positions per sequence, of which the first `lengths[b]` are valid.
    pub(crate) fn from_parts(nodes: Vec<S>, rows: usize, lengths: Vec<usize>, edges: Edges<S>) -> Self {
        Batch { file: "<memory>".into(), nodes, rows, lengths, edges, start: None, end: None, segments: None }
    }

    /// Number of labels `L`.
    pub(crate) fn labels(&self) -> usize {
        self.edges.labels()
    }

    /// The same sequences under constraints.
    ///
    /// # Errors
    /// [`Failure::Library`] if scores of transitions add up to too much.
    pub(crate) fn constrained(mut self, transitions: &Transitions) -> Result<Self> {
        let order = self.edges.order().map(<[LabelId]>::to_vec);
        let edges = transitions.constrain(&self.edges)?;
        self.edges = match order {
            Some(order) => edges.ranked(order)?,
            None => edges,
        };
        let start = transitions.constrain_start(self.start.as_deref())?;
        let end = transitions.constrain_end(self.end.as_deref())?;
        (self.start, self.end) = (start.or(self.start), end.or(self.end));
        Ok(self)
    }

    /// One lattice per sequence, borrowing the node scores; all of them are checked, so that a bad score is reported
    /// before anything is decoded.
    ///
    /// # Errors
    /// [`Failure::Input`] for NaN or plus infinity, with sequence, position and label.
    pub fn lattices(&self) -> Result<Vec<Lattice<'_, S>>> {
        let stride = self.rows * self.labels();
        let lattice = |(b, &length): (usize, &usize)| {
            let nodes = &self.nodes[b * stride..][..length * self.labels()];
            let refuse = |key: &str, error: kbest::Error| {
                Failure::input(&self.file, format!("key `{key}`, sequence {b}: {error}"))
            };
            let mut lattice = Lattice::new(nodes, &self.edges).map_err(|error| refuse("node", error))?;
            if let Some(start) = &self.start {
                lattice = lattice.with_start(start.as_slice()).map_err(|error| refuse("start", error))?;
            }
            if let Some(end) = &self.end {
                lattice = lattice.with_end(end.as_slice()).map_err(|error| refuse("end", error))?;
            }
            Ok(lattice)
        };
        self.lengths.iter().enumerate().map(lattice).collect()
    }
}

/// The keys of sparse edges.
const SPARSE: [&str; 4] = ["edge_base", "edge_from", "edge_to", "edge_value"];
/// The keys of edges in classes, which may have those of listed pairs, too.
const CLASSES: [&str; 3] = ["edge_class_from", "edge_class_to", "edge_class_base"];

fn edges<S: Scores>(keys: &mut Keys, rows: usize, labels: usize) -> Result<Edges<S>> {
    let classes = CLASSES.into_iter().find(|key| keys.has(key));
    let sparse = SPARSE.into_iter().find(|key| keys.has(key));
    let base = classes.filter(|_| keys.has("edge_base")).map(|_| "edge_base");
    let both = match keys.has("edge") {
        true => sparse.or(classes).map(|key| ("edge", key)),
        false => base.and(classes).map(|key| ("edge_base", key)),
    };
    let choices = || format!("`edge`, or {}, or {}", SPARSE.join(", "), CLASSES.join(", "));
    if let Some((one, other)) = both {
        let problem = format!("expected either {}, got both `{one}` and `{other}`", choices());
        return Err(Failure::input(&keys.0.file, problem));
    }
    match (keys.has("edge"), classes, sparse) {
        (true, ..) => dense_edges(keys, rows, labels),
        (false, Some(_), _) => class_edges(keys, labels),
        (false, None, Some(_)) => sparse_edges(keys, labels),
        (false, None, None) => {
            let problem = format!("missing edge scores: expected key {}", choices());
            Err(Failure::input(&keys.0.file, problem))
        }
    }
}

fn dense_edges<S: Scores>(keys: &mut Keys, rows: usize, labels: usize) -> Result<Edges<S>> {
    let steps = rows.saturating_sub(1);
    let shapes: [&[usize]; 2] = [&[labels, labels], &[steps, labels, labels]];
    let array = keys.shaped("edge", "shape (L, L) or (T-1, L, L)", &shapes)?;
    let array = array.expect("the caller found the key");
    let shared = array.shape.len() == 2;
    let scores: Vec<S> = keys.scores("edge", array)?;
    let edges = if shared {
        Edges::dense(labels, scores)
    } else if steps == 0 {
        Edges::uniform(labels, S::ZERO) // without steps, the edges do not matter
    } else {
        let matrices = scores.chunks_exact(labels * labels).map(|matrix| Edges::dense(labels, matrix));
        matrices.collect::<kbest::Result<_>>().and_then(Edges::per_position)
    };
    edges.map_err(|error| keys.error("edge", error))
}

fn sparse_edges<S: Scores>(keys: &mut Keys, labels: usize) -> Result<Edges<S>> {
    keys.all_of(&SPARSE)?;
    let (from, to, values) = listed_pairs(keys, labels)?;
    let base = keys.take("edge_base").expect("checked above");
    if base.shape.iter().product::<usize>() != 1 {
        let got = base.shape_text();
        return Err(keys.error("edge_base", format!("expected a scalar, got shape {got}")));
    }
    let base: Vec<S> = keys.scores("edge_base", base)?;
    Edges::sparse(labels, base[0], &from, &to, &values).map_err(|error| keys.error("edge_value", error))
}

fn class_edges<S: Scores>(keys: &mut Keys, labels: usize) -> Result<Edges<S>> {
    keys.all_of(&CLASSES)?;
    let base = keys.take("edge_class_base").expect("checked above");
    let (origins, targets) = match base.shape[..] {
        [origins, targets] if origins > 0 && targets > 0 => (origins, targets),
        _ => {
            let got = base.shape_text();
            return Err(keys.error("edge_class_base", format!("expected shape (C, D), got {got}")));
        }
    };
    let base: Vec<S> = keys.scores("edge_class_base", base)?;
    let mut classes = |key: &str, classes: usize| {
        let array = keys.shaped(key, "shape (L,)", &[&[labels]])?.expect("checked above");
        keys.indices(key, array, classes - 1)
    };
    let (from_class, to_class) = (classes("edge_class_from", origins)?, classes("edge_class_to", targets)?);
    let pairs = if SPARSE[1..].iter().any(|key| keys.has(key)) {
        keys.all_of(&SPARSE[1..])?;
        listed_pairs(keys, labels)?
    } else {
        Default::default()
    };
    let (from, to, values) = &pairs;
    let edges = Edges::classes(&from_class, &to_class, &base, targets, (from, to, values));
    edges.map_err(|error| keys.error("edge_class_base", error))
}

/// `edge_from`, `edge_to` and `edge_value`, all of which the file has.
fn listed_pairs<S: Scores>(keys: &mut Keys, labels: usize) -> Result<(Vec<u32>, Vec<u32>, Vec<S>)> {
    let mut list = |key: &str, length: Option<usize>| {
        let array = keys.take(key).expect("checked by the caller");
        let fits = array.shape.len() == 1 && length.is_none_or(|n| array.shape[0] == n);
        if fits {
            return Ok(array);
        }
        let expected = length.map_or("(n,)".into(), |n| format!("({n},) like `edge_value`"));
        Err(keys.error(key, format!("expected shape {expected}, got {}", array.shape_text())))
    };
    let values = list("edge_value", None)?;
    let length = Some(values.shape[0]);
    let (from, to) = (list("edge_from", length)?, list("edge_to", length)?);
    let from = keys.indices("edge_from", from, labels - 1)?;
    let to = keys.indices("edge_to", to, labels - 1)?;
    Ok((from, to, keys.scores("edge_value", values)?))
}

/// Labels by mean node score over the valid positions, best first; ties in label order. Forbidden nodes count as the
/// lowest finite score, so that rarely allowed labels come late.
fn by_mean<S: Float>(nodes: &[S], rows: usize, labels: usize, lengths: &[usize]) -> Vec<LabelId> {
    let stride = rows * labels;
    let valid = || {
        let sequences = lengths.iter().enumerate();
        sequences.flat_map(move |(b, &n)| nodes[b * stride..][..n * labels].chunks_exact(labels))
    };
    let finite = valid().flatten().map(|node| node.to_f64()).filter(|node| node.is_finite());
    let lowest = finite.fold(0.0, f64::min);
    let mut sums = vec![0.0f64; labels];
    for row in valid() {
        for (sum, node) in sums.iter_mut().zip(row) {
            *sum += node.to_f64().max(lowest);
        }
    }
    let mut order: Vec<LabelId> = (0..labels as LabelId).collect();
    order.sort_by(|&a, &b| sums[b as usize].total_cmp(&sums[a as usize]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranked_by_the_mean_of_valid_positions() {
        let forbidden = f32::NEG_INFINITY;
        // Two sequences of two rows, the second with one valid position.
        let nodes = [1.0, 0.0, forbidden, 1.0, 5.0, 9.0, 0.0, 1.0, 2.0, 100.0, 0.0, 0.0];
        assert_eq!(by_mean(&nodes, 2, 3, &[2, 1]), [2, 1, 0]);
        assert_eq!(by_mean(&nodes, 2, 3, &[1, 0]), [0, 1, 2]);
        assert_eq!(by_mean::<f32>(&[], 0, 2, &[]), [0, 1]);
    }
}
