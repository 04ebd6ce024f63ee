//! Viterbi with the vector kernels: every edge is read once per position, eight rows at a time; no pruning.
//!
//! **Cost.** `T L^2 / 16` steps of single precision with AVX-512, in practice the time to stream the edge matrix
//! through the core once per position; `T L` forward scores of memory. **When.** Nothing can be pruned, or `L` is below
//! about fifty. **When not.** Sparse edges (`viterbi-sparse`), or informative node scores (`funnel`).

use super::forward::Forward;
use super::gather::GatherEdges;
use super::{Algorithm, Job, Tally};
use crate::error::Result;
use crate::lattice::{DenseEdges, EdgeScores, Lattice, Matrix, PerPositionView, Shape};
use crate::simd::Float;

/// The fast Viterbi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViterbiSimd;

/// The forward scores.
pub(crate) type Memory<S> = Forward<S>;

impl Algorithm for ViterbiSimd {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let forward = &mut job.scratch.viterbi_simd;
        fill(job.lattice, forward, job.tally);
        forward.trace(job.lattice, job.edges, job.out)
    }
}

/// Fills the table with exact forward scores, whatever the shape of the edges.
pub(crate) fn fill<S: Float>(lattice: &Lattice<'_, S>, forward: &mut Forward<S>, tally: &mut impl Tally) {
    match lattice.edges().shape() {
        Shape::Dense(edges) => forward.fill(lattice, tally, |_, alpha, out, _| dense_step(edges, alpha, out)),
        Shape::Sparse(edges) => {
            forward.fill(lattice, tally, |t, alpha, out, buffer| {
                row_step(edges, t, alpha, out, &mut buffer.row)
            });
        }
        Shape::PerPosition(matrices) => {
            let view = PerPositionView::new(matrices, lattice.selection());
            forward.fill(lattice, tally, |t, alpha, out, buffer| match view.matrix(t) {
                Matrix::Dense(edges) => dense_step(edges, alpha, out),
                Matrix::Sparse(edges) => row_step(edges, t, alpha, out, &mut buffer.row),
            });
        }
        Shape::Callback(edges) => {
            forward.fill(lattice, tally, |t, alpha, out, buffer| {
                row_step(edges, t, alpha, out, &mut buffer.row)
            });
        }
    }
    tally.edges(forward.steps() * lattice.labels() * lattice.labels());
}

/// One max-plus product with the whole matrix.
pub(super) fn dense_step<S: Float>(edges: &DenseEdges<S>, alpha: &[S], out: &mut [S]) {
    let labels = edges.padded_scores().len() / edges.stride();
    S::max_plus_matrix(out, &alpha[..labels], edges.padded_scores());
}

/// Row by row, for edges that are not stored as a matrix.
pub(super) fn row_step<S: Float>(
    edges: &impl EdgeScores<S>,
    t: usize,
    alpha: &[S],
    out: &mut [S],
    buffer: &mut [S],
) {
    for (p, &a) in alpha.iter().enumerate() {
        if !a.is_forbidden() {
            S::max_plus_row(out, a, edges.row(t, p, buffer));
        }
    }
}
