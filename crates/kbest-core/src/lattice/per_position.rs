//! Edges that change with the position: a few matrices, one of them chosen for each step.
//!
//! Observation-dependent horizontal features (the boolean features framework of the CarpeDiem paper, `B` templates that
//! look at the input) have as many matrices as there are distinct observations. The lattice selects which one leads
//! into each position ([`super::Lattice::selecting`]); without a selection, matrix `t - 1` leads into position `t`.

use super::{BoundsView, DenseEdges, EdgeScores, ExceptionsInto, RowInBlocks, SparseEdges};
use crate::simd::Float;

/// A matrix of either shape.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // one per model; a box would only add a step to every look-up
pub enum Matrix<S: Float> {
    /// Dense.
    Dense(DenseEdges<S>),
    /// A base value and exceptions.
    Sparse(SparseEdges<S>),
}

/// Runs one expression on a matrix of either shape.
macro_rules! with_matrix {
    ($matrix:expr, |$inner:ident| $body:expr) => {
        match $matrix {
            Matrix::Dense($inner) => $body,
            Matrix::Sparse($inner) => $body,
        }
    };
}

impl<S: Float> EdgeScores<S> for Matrix<S> {
    #[inline(always)]
    fn get(&self, t: usize, p: usize, y: usize) -> S {
        with_matrix!(self, |matrix| matrix.get(t, p, y))
    }
    fn row<'b>(&'b self, t: usize, p: usize, buffer: &'b mut [S]) -> &'b [S] {
        with_matrix!(self, |matrix| matrix.row(t, p, buffer))
    }
    fn row_in_blocks(&self, t: usize, p: usize) -> Option<RowInBlocks<'_, S>> {
        with_matrix!(self, |matrix| matrix.row_in_blocks(t, p))
    }
    fn column<'b>(&'b self, t: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        with_matrix!(self, |matrix| matrix.column(t, y, buffer))
    }
    fn column_bounds(&self, t: usize, y: usize) -> Option<&[S]> {
        with_matrix!(self, |matrix| matrix.column_bounds(t, y))
    }
    fn exceptions_into(&self, t: usize, y: usize) -> Option<ExceptionsInto<'_, S>> {
        with_matrix!(self, |matrix| matrix.exceptions_into(t, y))
    }
    fn bounds(&self, t: usize) -> BoundsView<'_, S> {
        with_matrix!(self, |matrix| matrix.bounds(t))
    }
}

/// The matrices, shared by all sequences.
#[derive(Debug)]
pub struct PerPositionEdges<S: Float> {
    pub(super) matrices: Vec<Matrix<S>>,
    pub(super) labels: usize,
}

impl<S: Float> PerPositionEdges<S> {
    /// The matrices.
    pub fn matrices(&self) -> &[Matrix<S>] {
        &self.matrices
    }
}

/// The matrices as one sequence uses them.
#[derive(Debug, Clone, Copy)]
pub struct PerPositionView<'a, S: Float> {
    matrices: &'a [Matrix<S>],
    selection: Option<&'a [u32]>,
}

impl<'a, S: Float> PerPositionView<'a, S> {
    pub(crate) fn new(edges: &'a PerPositionEdges<S>, selection: Option<&'a [u32]>) -> Self {
        PerPositionView { matrices: &edges.matrices, selection }
    }

    /// Number of the matrix that leads into position `t`.
    #[inline(always)]
    pub fn selected(&self, t: usize) -> usize {
        self.selection.map_or(t - 1, |selection| selection[t - 1] as usize)
    }

    /// The matrix that leads into position `t`.
    #[inline(always)]
    pub fn matrix(&self, t: usize) -> &'a Matrix<S> {
        &self.matrices[self.selected(t)]
    }
}

impl<S: Float> EdgeScores<S> for PerPositionView<'_, S> {
    #[inline(always)]
    fn get(&self, t: usize, p: usize, y: usize) -> S {
        self.matrix(t).get(t, p, y)
    }
    fn row<'b>(&'b self, t: usize, p: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.matrix(t).row(t, p, buffer)
    }
    fn row_in_blocks(&self, t: usize, p: usize) -> Option<RowInBlocks<'_, S>> {
        self.matrix(t).row_in_blocks(t, p)
    }
    fn column<'b>(&'b self, t: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.matrix(t).column(t, y, buffer)
    }
    fn column_bounds(&self, t: usize, y: usize) -> Option<&[S]> {
        self.matrix(t).column_bounds(t, y)
    }
    fn exceptions_into(&self, t: usize, y: usize) -> Option<ExceptionsInto<'_, S>> {
        self.matrix(t).exceptions_into(t, y)
    }
    fn bounds(&self, t: usize) -> BoundsView<'_, S> {
        self.matrix(t).bounds(t)
    }
}
