//! Sparse edges: one base value and a list of exceptions.
//!
//! Trained models with thousands of labels look like this: label pairs never seen in training have the base score
//! (usually 0), and tens of pairs per row do not. With a base of minus infinity they are a list of allowed transitions
//! (banded HMMs, map matching). Exceptions are kept by row and by column, both sorted. They may change while a model is
//! trained ([`super::Edges::add`]): look-ups and bounds are updated after each change, and nothing is rebuilt.

use super::bitmap::Bitmap;
use super::bounds::{Change, MatrixBounds, Maxima};
use super::lists::Lists;
use super::{BoundsView, EdgeScores, SparseFactors, checked_magnitude, magnitude_of_legal};
use crate::error::{Error, Result};
use crate::kernel::{AlignedVec, Float, padded};
use std::sync::OnceLock;

/// Up to this many labels, rows that were requested are kept whole: few rows are requested often, and all of them take
/// at most 4 MiB in single precision. (Measured with taggers: this saves a fifth of all their time at 319 and 851
/// labels, a twenty-fifth at 1,712.)
const KEPT_WHOLE: usize = 1 << 10;

/// A base value and exceptions, shared by all positions.
#[derive(Debug, Clone)]
pub struct SparseEdges<S: Float> {
    labels: usize,
    base: S,
    rows: Lists<S>,    // exceptions by `from`, sorted by `to`
    columns: Lists<S>, // exceptions by `to`, sorted by `from`
    pub(super) bounds: MatrixBounds<S>,
    bitmap: OnceLock<Option<Bitmap>>, // made at the first look-up of a single pair
    whole_rows: OnceLock<Vec<OnceLock<AlignedVec<S>>>>, // L, each row made when first requested; or empty
    forward: OnceLock<SparseFactors>,
    backward: OnceLock<SparseFactors>,
}

impl<S: Float> SparseEdges<S> {
    /// Checks and sorts the exceptions; a pair listed twice is an error.
    pub(super) fn new(labels: usize, base: S, from: &[u32], to: &[u32], scores: &[S]) -> Result<Self> {
        if labels == 0 {
            return Err(Error::shape("sparse edges", "at least one label", 0));
        }
        if from.len() != scores.len() || to.len() != scores.len() {
            let got = format!("{} from, {} to, {} scores", from.len(), to.len(), scores.len());
            return Err(Error::shape("sparse edges", "three arrays of equal length", got));
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
        let mut lengths = vec![0u32; labels];
        let (mut to, mut scores) = (Vec::new(), Vec::new());
        for (p, y, w) in exceptions {
            lengths[p as usize] += 1;
            to.push(y);
            scores.push(w);
        }
        let rows = Lists::new(&lengths, to, scores);
        let columns = rows.transposed();
        let maxima = SparseMaxima { labels, base, rows: &rows, columns: &columns };
        let mut row = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut column = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut magnitudes = AlignedVec::filled(labels, S::ZERO);
        for i in 0..labels {
            (row[i], column[i], magnitudes[i]) = (maxima.row(i), maxima.column(i), maxima.row_magnitude(i));
        }
        let bounds = MatrixBounds::new(row, column, magnitudes, base);
        SparseEdges {
            labels,
            base: base + S::ZERO, // turns -0 into 0
            rows,
            columns,
            bounds,
            bitmap: OnceLock::new(),
            whole_rows: OnceLock::new(),
            forward: OnceLock::new(),
            backward: OnceLock::new(),
        }
    }

    /// Replaces the score of one pair by the result of `score`; nothing changes if that is an error. A pair whose score
    /// becomes the base is no longer an exception. Costs time in proportion to the exceptions of both labels and
    /// `L / 64`, rarely `L`.
    pub(super) fn change(
        &mut self,
        p: usize,
        y: usize,
        score: impl FnOnce(S) -> Result<S>,
    ) -> Result<Change<S>> {
        let listed = self.rows.find(p, y as u32);
        let old = listed.unwrap_or(self.base);
        let new = score(old)?;
        let kept = (new != self.base).then_some(new);
        self.rows.set(p, y as u32, kept);
        self.columns.set(y, p as u32, kept);
        if let Some(Some(bitmap)) = self.bitmap.get_mut()
            && listed.is_some() != kept.is_some()
        {
            bitmap.toggle(p, y);
        }
        let whole_rows = self.whole_rows.get_mut().map_or(&mut [][..], Vec::as_mut_slice);
        if let Some(row) = whole_rows.get_mut(p).and_then(OnceLock::get_mut) {
            row[y] = new;
        }
        let maxima =
            SparseMaxima { labels: self.labels, base: self.base, rows: &self.rows, columns: &self.columns };
        let change = Change { p, y, old, new };
        self.bounds.follow(change, &maxima);
        self.forward.take();
        self.backward.take();
        Ok(change)
    }

    /// Writes a list of exceptions out as a padded row.
    fn spread<'b>(&self, (labels, scores): (&[u32], &[S]), buffer: &'b mut [S]) -> &'b [S] {
        let buffer = &mut buffer[..padded(self.labels)];
        // The base of trained models is zero, and filling in zeros runs at memory speed.
        if self.base == S::ZERO {
            buffer[..self.labels].fill(S::ZERO);
        } else {
            buffer[..self.labels].fill(self.base);
        }
        buffer[self.labels..].fill(S::FORBIDDEN);
        for (&i, &w) in labels.iter().zip(scores) {
            buffer[i as usize] = w;
        }
        buffer
    }

    /// The score of every pair that is not an exception.
    pub fn base(&self) -> S {
        self.base
    }

    /// Number of labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Number of exceptions.
    pub fn exceptions(&self) -> usize {
        self.rows.members()
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

    /// `exp` of the scores, for sums over the labels they leave; made once.
    pub(crate) fn factors_forward(&self) -> &SparseFactors {
        self.forward.get_or_init(|| SparseFactors::new(self, &self.bounds.column, |y| self.entering(y)))
    }

    /// `exp` of the scores, for sums over the labels they enter; made once.
    pub(crate) fn factors_backward(&self) -> &SparseFactors {
        self.backward.get_or_init(|| SparseFactors::new(self, &self.bounds.row, |p| self.leaving(p)))
    }
}

/// The scores from which the bounds of sparse edges are computed.
struct SparseMaxima<'a, S> {
    labels: usize,
    base: S,
    rows: &'a Lists<S>,
    columns: &'a Lists<S>,
}

impl<S: Float> SparseMaxima<'_, S> {
    fn of_list(&self, (members, scores): (&[u32], &[S])) -> S {
        // A list that names every label leaves no edge at the base.
        let rest = if members.len() < self.labels { self.base } else { S::FORBIDDEN };
        S::largest(scores).larger(rest)
    }
}

impl<S: Float> Maxima<S> for SparseMaxima<'_, S> {
    fn row(&self, p: usize) -> S {
        self.of_list(self.rows.list(p))
    }

    fn column(&self, y: usize) -> S {
        self.of_list(self.columns.list(y))
    }

    /// The base counts whether or not an edge has it, so there is no need to check.
    fn row_magnitude(&self, p: usize) -> S {
        magnitude_of_legal(self.rows.list(p).1).larger(magnitude_of_legal(&[self.base]))
    }
}

impl<S: Float> EdgeScores<S> for SparseEdges<S> {
    #[inline]
    fn get(&self, _: usize, p: usize, y: usize) -> S {
        match self.bitmap.get_or_init(|| Bitmap::new(self.labels, |p| self.leaving(p).0)) {
            Some(bitmap) => bitmap.find(p, y).map_or(self.base, |i| self.rows.score(p, i)),
            None => self.rows.find(p, y as u32).unwrap_or(self.base),
        }
    }

    fn row<'b>(&'b self, _: usize, p: usize, buffer: &'b mut [S]) -> &'b [S] {
        let kept = if self.labels <= KEPT_WHOLE { self.labels } else { 0 };
        match self.whole_rows.get_or_init(|| vec![OnceLock::new(); kept]).get(p) {
            Some(row) => row.get_or_init(|| {
                let mut row = AlignedVec::default();
                row.resize_for_overwrite(padded(self.labels));
                self.spread(self.leaving(p), &mut row);
                row
            }),
            None => self.spread(self.leaving(p), buffer),
        }
    }

    fn column<'b>(&'b self, _: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.spread(self.entering(y), buffer)
    }

    #[inline(always)]
    fn bounds(&self, _: usize) -> BoundsView<'_, S> {
        self.bounds.view()
    }
}
