//! Sparse edges: one base value and a list of exceptions.
//!
//! Trained models with thousands of labels look like this: label pairs never met in training score the base
//! (usually 0), tens of pairs a row do not. With base minus infinity it is a transition list whose rest is forbidden
//! (banded HMMs, map matching). Exceptions are kept by row and by column, both sorted.

use super::bitmap::Bitmap;
use super::bounds::MatrixBounds;
use super::{BoundsView, EdgeScores, SparseFactors, checked_magnitude};
use crate::error::{Error, Result};
use crate::kernel::{AlignedVec, Float, padded};
use std::sync::OnceLock;

/// A base value and exceptions, shared by all positions.
#[derive(Debug, Clone)]
pub struct SparseEdges<S: Float> {
    labels: usize,
    base: S,
    rows: Lists<S>,    // exceptions by `from`, sorted by `to`
    columns: Lists<S>, // exceptions by `to`, sorted by `from`
    pub(super) bounds: MatrixBounds<S>,
    bitmap: OnceLock<Option<Bitmap>>, // made at the first look-up of a single pair
    forward: OnceLock<SparseFactors>,
    backward: OnceLock<SparseFactors>,
}

/// Lists of (label, score), one a label, stored end to end.
#[derive(Debug, Clone)]
struct Lists<S> {
    offsets: Vec<usize>, // L + 1
    labels: Vec<u32>,
    scores: Vec<S>,
}

impl<S: Copy> Lists<S> {
    #[inline(always)]
    fn list(&self, i: usize) -> (&[u32], &[S]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.labels[range.clone()], &self.scores[range])
    }
}

impl<S: Float> SparseEdges<S> {
    /// Checks and sorts the exceptions; a pair named twice is an error.
    pub(super) fn new(labels: usize, base: S, from: &[u32], to: &[u32], scores: &[S]) -> Result<Self> {
        if labels == 0 {
            return Err(Error::shape("sparse edges", "at least one label", 0));
        }
        if from.len() != scores.len() || to.len() != scores.len() {
            let got = format!("{} from, {} to, {} scores", from.len(), to.len(), scores.len());
            return Err(Error::shape("sparse edges", "three arrays of one length", got));
        }
        if !base.is_legal() {
            return Err(Error::IllegalScore {
                what: "the base score of the edges".into(),
                value: base.to_f64(),
            });
        }
        for (what, side) in [("edge_from", from), ("edge_to", to)] {
            if let Some((i, &y)) = side.iter().enumerate().find(|&(_, &y)| y as usize >= labels) {
                return Err(Error::LabelOutOfRange { what: format!("{what}[{i}]"), label: y.into(), labels });
            }
        }
        checked_magnitude(scores, |i| format!("the edge score from label {} to label {}", from[i], to[i]))?;
        let mut order: Vec<u32> = (0..scores.len() as u32).collect();
        order.sort_unstable_by_key(|&i| (from[i as usize], to[i as usize]));
        let pair = |i: u32| (from[i as usize], to[i as usize]);
        if let Some(twice) = order.windows(2).find(|two| pair(two[0]) == pair(two[1])) {
            let (p, y) = pair(twice[0]);
            return Err(Error::shape(
                "sparse edges",
                "each pair once",
                format!("label {p} to label {y} twice"),
            ));
        }
        let sorted = order.into_iter().map(|i| (from[i as usize], to[i as usize], scores[i as usize]));
        Ok(Self::from_sorted(labels, base, sorted))
    }

    /// Builds both orientations and the bounds from exceptions sorted by (from, to).
    pub(super) fn from_sorted(
        labels: usize,
        base: S,
        exceptions: impl Iterator<Item = (u32, u32, S)>,
    ) -> Self {
        let mut rows = Lists { offsets: vec![0; labels + 1], labels: Vec::new(), scores: Vec::new() };
        let mut column_sizes = vec![0usize; labels];
        let mut magnitude = if base.is_forbidden() { 0.0 } else { base.to_f64().abs() };
        for (p, y, w) in exceptions {
            rows.offsets[p as usize + 1] += 1;
            column_sizes[y as usize] += 1;
            rows.labels.push(y);
            rows.scores.push(w);
            if !w.is_forbidden() {
                magnitude = magnitude.max(w.to_f64().abs());
            }
        }
        for p in 0..labels {
            rows.offsets[p + 1] += rows.offsets[p];
        }
        let mut columns = Lists {
            offsets: std::iter::once(0)
                .chain(column_sizes.iter().scan(0, |sum, &size| {
                    *sum += size;
                    Some(*sum)
                }))
                .collect(),
            labels: vec![0; rows.labels.len()],
            scores: vec![S::ZERO; rows.labels.len()],
        };
        let mut next = columns.offsets.clone();
        for p in 0..labels {
            let (to, scores) = rows.list(p);
            for (&y, &w) in to.iter().zip(scores) {
                let slot = &mut next[y as usize];
                (columns.labels[*slot], columns.scores[*slot]) = (p as u32, w);
                *slot += 1;
            }
        }
        // A list that names every label leaves no edge at the base.
        let largest = |lists: &Lists<S>, i: usize| {
            let (members, scores) = lists.list(i);
            let rest = if members.len() < labels { base } else { S::FORBIDDEN };
            S::largest(scores).larger(rest)
        };
        let mut row = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut column = AlignedVec::filled(labels, S::FORBIDDEN);
        for i in 0..labels {
            (row[i], column[i]) = (largest(&rows, i), largest(&columns, i));
        }
        let bounds = MatrixBounds::new(row, column, base, magnitude);
        SparseEdges {
            labels,
            base,
            rows,
            columns,
            bounds,
            bitmap: OnceLock::new(),
            forward: OnceLock::new(),
            backward: OnceLock::new(),
        }
    }

    /// Writes a list of exceptions out as a padded row.
    fn spread<'b>(&self, (labels, scores): (&[u32], &[S]), buffer: &'b mut [S]) -> &'b [S] {
        let buffer = &mut buffer[..padded(self.labels)];
        buffer[..self.labels].fill(self.base);
        buffer[self.labels..].fill(S::FORBIDDEN);
        for (&i, &w) in labels.iter().zip(scores) {
            buffer[i as usize] = w;
        }
        buffer
    }

    /// The score of every pair that is no exception.
    pub fn base(&self) -> S {
        self.base
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of exceptions.
    pub fn exceptions(&self) -> usize {
        self.rows.labels.len()
    }

    /// The exceptions that leave label `p`: labels in ascending order, and scores.
    #[inline]
    pub fn leaving(&self, p: usize) -> (&[u32], &[S]) {
        self.rows.list(p)
    }

    /// The exceptions that enter label `y`: labels in ascending order, and scores.
    #[inline]
    pub fn entering(&self, y: usize) -> (&[u32], &[S]) {
        self.columns.list(y)
    }

    /// `exp` of the scores, summed over where they come from; made once.
    pub(crate) fn factors_forward(&self) -> &SparseFactors {
        self.forward.get_or_init(|| SparseFactors::new(self, &self.bounds.column, |y| self.entering(y)))
    }

    /// `exp` of the scores, summed over where they lead to; made once.
    pub(crate) fn factors_backward(&self) -> &SparseFactors {
        self.backward.get_or_init(|| SparseFactors::new(self, &self.bounds.row, |p| self.leaving(p)))
    }
}

impl<S: Float> EdgeScores<S> for SparseEdges<S> {
    #[inline]
    fn get(&self, _: usize, p: usize, y: usize) -> S {
        match self.bitmap.get_or_init(|| Bitmap::new(self.labels, |p| self.leaving(p).0)) {
            Some(bitmap) => bitmap.find(p, y).map_or(self.base, |i| self.rows.scores[i]),
            None => {
                let (to, scores) = self.leaving(p);
                to.binary_search(&(y as u32)).map_or(self.base, |i| scores[i])
            }
        }
    }

    fn row<'b>(&'b self, _: usize, p: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.spread(self.leaving(p), buffer)
    }

    fn column<'b>(&'b self, _: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.spread(self.entering(y), buffer)
    }

    #[inline(always)]
    fn bounds(&self, _: usize) -> BoundsView<'_, S> {
        self.bounds.view()
    }
}
