//! What else could be done instead of this search, and what that would cost here.
//!
//! The forward passes of Viterbi that `auto` falls back to read all edges, or only the rows that can matter. How many these
//! are is found out by doing a little of their work, at the positions that a [survey](super::survey()) looks at.

use crate::decode::sieve;
use crate::lattice::{Lattice, Matrix, PerPositionView, Shape};
use crate::simd::Float;

/// The cost per position of a forward pass, in the unit of [`super::Budget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alternative {
    /// At least, where few rows matter.
    pub(crate) least: usize,
    /// For each row that matters.
    pub(crate) per_row: usize,
    /// At most, whatever the scores are.
    pub(crate) most: usize,
}

impl Alternative {
    /// It costs the same, whatever the scores are.
    pub(crate) const fn always(steps: usize) -> Self {
        Alternative { least: steps, per_row: 0, most: steps }
    }

    /// With something else that always has to be done.
    pub(crate) fn plus(self, steps: usize) -> Self {
        let [least, most] = [self.least, self.most].map(|cost| cost.saturating_add(steps));
        Alternative { least, most, ..self }
    }

    /// Where so many rows matter.
    pub(crate) fn cost(&self, rows: usize) -> usize {
        self.least.saturating_add(rows.saturating_mul(self.per_row)).min(self.most)
    }
}

/// How many rows may matter on the way into position `t`, given likely forward scores before it; `i` chooses among the parts
/// that could be looked at.
pub(super) fn rows_before<S: Float>(
    lattice: &Lattice<'_, S>,
    t: usize,
    before: &[S],
    i: usize,
    rows: &mut Vec<u32>,
    values: &mut [S],
) -> usize {
    let matrix = match lattice.edges().shape() {
        Shape::Dense(edges) => return sieve::rows_needed(edges, before, i, rows, values),
        Shape::Sparse(edges) => Some(edges),
        Shape::PerPosition(matrices) => match PerPositionView::new(matrices, lattice.selection()).matrix(t) {
            Matrix::Dense(edges) => return sieve::rows_needed(edges, before, i, rows, values),
            Matrix::Sparse(edges) => Some(edges),
        },
        Shape::Callback(_) => None,
    };
    let Some((edges, base)) = matrix.and_then(|edges| Some((edges, edges.only_base()?))) else {
        return 0;
    };
    rows.clear();
    S::select_sums(before, edges.row_bounds(), S::largest(before) + base, S::LARGEST, rows);
    rows.len()
}
