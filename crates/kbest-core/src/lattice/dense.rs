//! Dense edges: one `L x L` matrix for all positions.
//!
//! Rows are padded to whole vectors with minus infinity and lie on cache lines, so the fast Viterbi streams them
//! without a ragged tail. Row and column maxima are computed at once; a sparse view (base value and exceptions) is made
//! when first needed.

use super::base::Base;
use super::blocks::BlockMaxima;
use super::bounds::{Change, MatrixBounds, Maxima, typical_value};
use super::{
    BoundsView, DenseFactors, EdgeScores, ExceptionsInto, LinearFactors, RowInBlocks, SparseEdges,
    checked_magnitude, magnitude_of_legal,
};
use crate::error::{Error, Result};
use crate::simd::{AlignedVec, Float, padded};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many entries are sampled to guess the typical edge.
const SAMPLE: usize = 4096;

/// With at most one exception in this many edges, and more labels than [`COLUMNS_AT_HAND`], a column is built from the
/// exceptions.
const FEW_EXCEPTIONS: usize = 16;

/// Up to this many labels, a second, transposed matrix fits into the cache beside the first: the fastest way to read a
/// column.
const COLUMNS_AT_HAND: usize = 512;

/// With more labels than this, a second copy of the matrix takes so long to make that columns are collected, until so many were
/// requested that it would have been worth it: one for every four labels.
const COLUMNS_UP_TO: usize = 1024;
const WORTH_A_COPY: usize = 4;

/// With more labels than this, a second copy of the matrix costs too much memory: more than 16 MiB in single precision.
const COLUMNS_ON_REQUEST: usize = 2048;

/// The side of the squares in which a matrix is transposed.
const SQUARE: usize = 16;

/// With more labels than this, the products of forward-backward take longer than its exponentials.
const LINEAR_UP_TO: usize = 256;

/// One matrix `[from][to]` shared by all positions.
#[derive(Debug)]
pub struct DenseEdges<S: Float> {
    scores: AlignedVec<S>, // L rows of `padded(L)`
    labels: usize,
    stride: usize,
    pub(super) bounds: MatrixBounds<S>,
    blocks: BlockMaxima<S>,
    columns: OnceLock<AlignedVec<S>>, // the transposed matrix, for up to COLUMNS_ON_REQUEST labels
    collected: AtomicUsize,           // columns read without it
    exceptions: usize,                // edges that differ from the typical one
    sparse: OnceLock<SparseEdges<S>>,
    forward: OnceLock<DenseFactors<S>>,
    backward: OnceLock<DenseFactors<S>>,
    linear: OnceLock<Option<LinearFactors>>,
}

impl<S: Float> DenseEdges<S> {
    pub(super) fn new(labels: usize, scores: &[S]) -> Result<Self> {
        if labels == 0 || Some(scores.len()) != labels.checked_mul(labels) {
            return Err(Error::shape("dense edges", format!("{labels} x {labels} scores"), scores.len()));
        }
        let stride = padded(labels);
        let mut own = AlignedVec::filled(labels * stride, S::FORBIDDEN);
        let mut column = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut row = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut magnitudes = AlignedVec::filled(labels, S::ZERO);
        let mut blocks = BlockMaxima::new(labels);
        for (p, from) in scores.chunks_exact(labels).enumerate() {
            let place = |y| format!("the edge score from label {p} to label {y}");
            magnitudes[p] = checked_magnitude(from, place)?;
            own[p * stride..][..labels].copy_from_slice(from);
            row[p] = blocks.set_row(p, from);
            S::max_row(&mut column, from);
        }
        // A step coprime to most row lengths visits all rows and columns.
        let step = (scores.len() / SAMPLE).max(1) | 1;
        let typical = typical_value(scores.iter().copied().step_by(step));
        let exceptions = scores.iter().filter(|&&w| w != typical).count();
        let bounds = MatrixBounds::new(row, column, magnitudes, typical);
        Ok(DenseEdges {
            scores: own,
            labels,
            stride,
            bounds,
            blocks,
            columns: OnceLock::new(),
            collected: AtomicUsize::new(0),
            exceptions,
            sparse: OnceLock::new(),
            forward: OnceLock::new(),
            backward: OnceLock::new(),
            linear: OnceLock::new(),
        })
    }

    /// Whether some pair is forbidden. Reads all edges.
    pub(crate) fn forbids(&self) -> bool {
        (0..self.labels).any(|p| S::smallest(&self.padded_row(p)[..self.labels]).is_forbidden())
    }

    /// Replaces one score by the result of `score`; nothing changes if that is an error. Values derived from the scores
    /// are updated or, where that costs more than a row, made again when next needed. The typical edge stays the same.
    pub(super) fn change(
        &mut self,
        p: usize,
        y: usize,
        score: impl FnOnce(S) -> Result<S>,
    ) -> Result<Change<S>> {
        let old = self.scores[p * self.stride + y];
        let new = score(old)?;
        self.scores[p * self.stride + y] = new;
        self.exceptions += usize::from(new != self.bounds.typical);
        self.exceptions -= usize::from(old != self.bounds.typical);
        if let Some(columns) = self.columns.get_mut() {
            columns[y * self.stride + p] = new;
        }
        if let Some(sparse) = self.sparse.get_mut() {
            sparse.change(p, y, |_| Ok(new))?;
        }
        let maxima = DenseMaxima { scores: &self.scores, stride: self.stride };
        let change = Change { p, y, old, new };
        self.bounds.follow(change, &maxima);
        self.blocks.follow(change, &self.scores[p * self.stride..][..self.stride]);
        self.forward.take();
        self.backward.take();
        self.linear.take();
        Ok(change)
    }

    /// The whole matrix: `L` rows of [`DenseEdges::stride`] scores, padded with minus infinity.
    pub fn padded_scores(&self) -> &[S] {
        &self.scores
    }

    /// Length of a padded row.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Row `p`, padded.
    #[inline]
    pub fn padded_row(&self, p: usize) -> &[S] {
        &self.scores[p * self.stride..(p + 1) * self.stride]
    }

    /// The largest edges from each label into blocks of labels.
    pub(crate) fn block_maxima(&self) -> &BlockMaxima<S> {
        &self.blocks
    }

    /// The transposed matrix, `L` rows (targets) of padded sources, if there are few enough labels.
    pub(crate) fn padded_columns(&self) -> Option<&[S]> {
        (self.labels <= COLUMNS_UP_TO).then(|| &self.columns.get_or_init(|| self.transposed())[..])
    }

    /// Whether a column is built from the edges that differ from the typical one.
    fn lists_columns(&self) -> bool {
        self.labels > COLUMNS_AT_HAND && self.has_few_exceptions()
    }

    /// Whether few edges differ from the typical one.
    fn has_few_exceptions(&self) -> bool {
        self.exceptions * FEW_EXCEPTIONS <= self.labels * self.labels
    }

    fn transposed(&self) -> AlignedVec<S> {
        let mut columns = AlignedVec::filled(self.labels * self.stride, S::FORBIDDEN);
        // Square by square: of each, both sides stay in the nearest cache.
        for first in (0..self.labels).step_by(SQUARE) {
            for corner in (0..self.labels).step_by(SQUARE) {
                let past = self.labels.min(corner + SQUARE);
                for p in first..self.labels.min(first + SQUARE) {
                    for (y, &w) in (corner..).zip(&self.padded_row(p)[corner..past]) {
                        columns[y * self.stride + p] = w;
                    }
                }
            }
        }
        columns
    }

    /// Number of edges that differ from the typical one.
    pub fn exceptions(&self) -> usize {
        self.exceptions
    }

    /// The same edges as a base value (the typical one) and exceptions; made once.
    pub fn as_sparse(&self) -> &SparseEdges<S> {
        self.sparse.get_or_init(|| {
            let base = self.bounds.typical;
            let exceptions = (0..self.labels).flat_map(|p| {
                let row = &self.padded_row(p)[..self.labels];
                row.iter()
                    .enumerate()
                    .filter(move |&(_, &w)| w != base)
                    .map(move |(y, &w)| (p as u32, y as u32, w))
            });
            SparseEdges::from_sorted(self.labels, Base::one(self.labels, base), exceptions)
        })
    }

    /// `exp` of the scores, for sums over the labels they leave; made once.
    pub(crate) fn factors_forward(&self) -> &DenseFactors<S> {
        self.forward.get_or_init(|| {
            DenseFactors::forward(self.labels, &self.bounds.row, |p| &self.padded_row(p)[..self.labels])
        })
    }

    /// `exp` of the scores, for sums over the labels they enter; made once.
    pub(crate) fn factors_backward(&self) -> &DenseFactors<S> {
        self.backward.get_or_init(|| DenseFactors::backward(self.factors_forward(), |p| self.padded_row(p)))
    }

    /// `exp` of the scores, if they are few and can be summed without scaling each row and column; made once.
    pub(crate) fn linear_factors(&self) -> Option<&LinearFactors> {
        if self.labels > LINEAR_UP_TO {
            return None;
        }
        self.linear
            .get_or_init(|| LinearFactors::new(self.labels, |p| &self.padded_row(p)[..self.labels]))
            .as_ref()
    }
}

/// The scores from which the bounds of dense edges are computed.
struct DenseMaxima<'a, S> {
    scores: &'a [S], // L rows of `stride`, padded with minus infinity
    stride: usize,
}

impl<S: Float> Maxima<S> for DenseMaxima<'_, S> {
    fn row(&self, p: usize) -> S {
        S::largest(&self.scores[p * self.stride..][..self.stride])
    }

    fn column(&self, y: usize) -> S {
        self.scores[y..].iter().step_by(self.stride).fold(S::FORBIDDEN, |best, &w| best.larger(w))
    }

    fn row_magnitude(&self, p: usize) -> S {
        magnitude_of_legal(&self.scores[p * self.stride..][..self.stride])
    }
}

impl<S: Float> EdgeScores<S> for DenseEdges<S> {
    #[inline(always)]
    fn get(&self, _: usize, p: usize, y: usize) -> S {
        self.scores[p * self.stride + y]
    }

    #[inline(always)]
    fn row<'b>(&'b self, _: usize, p: usize, _: &'b mut [S]) -> &'b [S] {
        self.padded_row(p)
    }

    #[inline(always)]
    fn row_in_blocks(&self, _: usize, p: usize) -> Option<RowInBlocks<'_, S>> {
        Some(RowInBlocks { row: self.padded_row(p), bounds: self.blocks.of_label(p)? })
    }

    fn column<'b>(&'b self, t: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        if self.lists_columns() {
            return self.as_sparse().column(t, y, buffer);
        }
        if self.labels > COLUMNS_UP_TO && self.columns.get().is_none() {
            let often = || WORTH_A_COPY * self.collected.fetch_add(1, Ordering::Relaxed) >= self.labels;
            if self.labels > COLUMNS_ON_REQUEST || !often() {
                return super::edges::collect_column(self, self.labels, t, y, buffer);
            }
        }
        let columns = self.columns.get_or_init(|| self.transposed());
        &columns[y * self.stride..(y + 1) * self.stride]
    }

    fn column_bounds(&self, _: usize, y: usize) -> Option<&[S]> {
        let collects = self.labels > COLUMNS_ON_REQUEST && !self.has_few_exceptions();
        collects.then(|| self.blocks.of_block(self.blocks.blocks().block_of(y)))
    }

    fn exceptions_into(&self, t: usize, y: usize) -> Option<ExceptionsInto<'_, S>> {
        if self.lists_columns() { self.as_sparse().exceptions_into(t, y) } else { None }
    }

    #[inline(always)]
    fn bounds(&self, _: usize) -> BoundsView<'_, S> {
        self.bounds.view()
    }
}
