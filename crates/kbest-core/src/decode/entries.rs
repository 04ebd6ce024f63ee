//! One step over the edges, whatever their shape: for searches that make it themselves, such as those of segments.

use super::forward::StepBuffer;
use super::viterbi_simd::{dense_step, row_step};
use super::viterbi_sparse::sparse_step;
use crate::lattice::{EdgeScores, Lattice, Matrix, PerPositionView, Shape, SparseEdges, with_edges};
use crate::simd::{Float, LANES, padded};

/// Raises `out[y]` (at first minus infinity) to the largest `alpha[p] + edge[t][p][y]`. All rows are padded to whole vectors,
/// `alpha` with minus infinity. Sparse edges cost their exceptions, unless it is faster to spread them out.
pub(crate) fn best_entries<S: Float>(
    lattice: &Lattice<'_, S>,
    t: usize,
    alpha: &[S],
    out: &mut [S],
    buffer: &mut StepBuffer<S>,
) {
    let sparse = |edges: &SparseEdges<S>, out: &mut [S], buffer: &mut StepBuffer<S>| {
        let labels = edges.labels();
        if edges.exceptions() + labels + edges.class_scores().len() / LANES < labels * padded(labels) / LANES
        {
            sparse_step(edges, &alpha[..labels], &mut out[..labels], buffer);
        } else {
            row_step(edges, t, &alpha[..labels], out, &mut buffer.row);
        }
    };
    match lattice.edges().shape() {
        Shape::Dense(edges) => dense_step(edges, alpha, out),
        Shape::Sparse(edges) => sparse(edges, out, buffer),
        Shape::PerPosition(matrices) => match PerPositionView::new(matrices, lattice.selection()).matrix(t) {
            Matrix::Dense(edges) => dense_step(edges, alpha, out),
            Matrix::Sparse(edges) => sparse(edges, out, buffer),
        },
        Shape::Callback(edges) => row_step(edges, t, &alpha[..lattice.labels()], out, &mut buffer.row),
    }
}

/// Raises `out[p]` (at first minus infinity) to the largest `edge[t][p][y] + beta[y]`: the same step, backwards. All rows are
/// padded to whole vectors, `beta` with minus infinity; `row` has room for one.
pub(crate) fn best_exits<S: Float>(
    lattice: &Lattice<'_, S>,
    t: usize,
    beta: &[S],
    out: &mut [S],
    row: &mut [S],
) {
    let labels = lattice.labels();
    if let Shape::Dense(edges) = lattice.edges().shape()
        && let Some(columns) = edges.padded_columns()
    {
        return S::max_plus_matrix(out, &beta[..labels], columns);
    }
    with_edges!(lattice, |edges| {
        for (p, out) in out[..labels].iter_mut().enumerate() {
            *out = S::max_of_sum(edges.row(t, p, row), beta);
        }
    });
}
