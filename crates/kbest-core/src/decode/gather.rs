//! Rows of edges restricted to a few labels, gathered into one contiguous array.
//!
//! **Why.** Decoders that keep a short list of labels per position can then run the vector kernels on short arrays.
//! **Cost.** One load per label for dense edges, none if the list is `0, 1, 2, ...` (the row itself is used); the list
//! plus the exceptions of the row for sparse edges.

use crate::label::LabelId;
use crate::lattice::{
    BoundsView, CallbackEdges, DenseEdges, EdgeScores, ExceptionsInto, Matrix, PerPositionView, RowInBlocks,
    SparseEdges,
};
use crate::simd::Float;

/// The labels of one position for which edges are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Targets<'a> {
    /// The labels.
    pub labels: &'a [LabelId],
    /// For each of the `L` labels: its index in `labels`, or a number not below `labels.len()`.
    pub slots: &'a [u32],
    /// True if `labels` counts up from 0.
    pub prefix: bool,
}

/// Edges whose rows can be gathered.
pub(crate) trait GatherEdges<S: Float>: EdgeScores<S> {
    /// The edges from label `p` into the targets at position `t`, in their order. `out` is as long as the targets.
    fn gather<'b>(&'b self, t: usize, p: usize, targets: Targets<'_>, out: &'b mut [S]) -> &'b [S];
}

impl<S: Float> GatherEdges<S> for DenseEdges<S> {
    #[inline]
    fn gather<'b>(&'b self, _: usize, p: usize, targets: Targets<'_>, out: &'b mut [S]) -> &'b [S] {
        let row = self.padded_row(p);
        if targets.prefix {
            return &row[..targets.labels.len()];
        }
        for (slot, &y) in out.iter_mut().zip(targets.labels) {
            *slot = row[y as usize];
        }
        out
    }
}

impl<S: Float> GatherEdges<S> for SparseEdges<S> {
    #[inline]
    fn gather<'b>(&'b self, t: usize, p: usize, targets: Targets<'_>, out: &'b mut [S]) -> &'b [S] {
        let (to, scores) = self.leaving(p);
        if targets.labels.len() * 8 < to.len() {
            // A binary search for each label reads less than the whole list.
            for (slot, &y) in out.iter_mut().zip(targets.labels) {
                *slot = self.get(t, p, y as usize);
            }
            return out;
        }
        match self.only_base() {
            Some(base) => out.fill(base),
            None => {
                for (slot, &y) in out.iter_mut().zip(targets.labels) {
                    *slot = self.base(p, y as usize);
                }
            }
        }
        for (&y, &w) in to.iter().zip(scores) {
            if let Some(slot) = out.get_mut(targets.slots[y as usize] as usize) {
                *slot = w;
            }
        }
        out
    }
}

impl<S: Float> GatherEdges<S> for PerPositionView<'_, S> {
    #[inline]
    fn gather<'b>(&'b self, t: usize, p: usize, targets: Targets<'_>, out: &'b mut [S]) -> &'b [S] {
        match self.matrix(t) {
            Matrix::Dense(matrix) => matrix.gather(t, p, targets, out),
            Matrix::Sparse(matrix) => matrix.gather(t, p, targets, out),
        }
    }
}

impl<S: Float> GatherEdges<S> for CallbackEdges<S> {
    #[inline]
    fn gather<'b>(&'b self, t: usize, p: usize, targets: Targets<'_>, out: &'b mut [S]) -> &'b [S] {
        for (slot, &y) in out.iter_mut().zip(targets.labels) {
            *slot = self.get(t, p, y as usize);
        }
        out
    }
}

/// Edges of a shape that is known only at run time: one copy of the code that asks them serves all shapes, at the price of a call
/// through a table for every row.
pub(crate) struct AnyEdges<'e, S: Float>(pub(crate) &'e dyn GatherEdges<S>);

impl<S: Float> EdgeScores<S> for AnyEdges<'_, S> {
    fn get(&self, t: usize, p: usize, y: usize) -> S {
        self.0.get(t, p, y)
    }
    fn row<'b>(&'b self, t: usize, p: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.0.row(t, p, buffer)
    }
    fn row_in_blocks(&self, t: usize, p: usize) -> Option<RowInBlocks<'_, S>> {
        self.0.row_in_blocks(t, p)
    }
    fn column<'b>(&'b self, t: usize, y: usize, buffer: &'b mut [S]) -> &'b [S] {
        self.0.column(t, y, buffer)
    }
    fn column_bounds(&self, t: usize, y: usize) -> Option<&[S]> {
        self.0.column_bounds(t, y)
    }
    fn exceptions_into(&self, t: usize, y: usize) -> Option<ExceptionsInto<'_, S>> {
        self.0.exceptions_into(t, y)
    }
    fn bounds(&self, t: usize) -> BoundsView<'_, S> {
        self.0.bounds(t)
    }
}

impl<S: Float> GatherEdges<S> for AnyEdges<'_, S> {
    fn gather<'b>(&'b self, t: usize, p: usize, targets: Targets<'_>, out: &'b mut [S]) -> &'b [S] {
        self.0.gather(t, p, targets, out)
    }
}

/// A list of targets that owns its memory and is refilled for every position.
#[derive(Debug, Default)]
pub(crate) struct TargetList {
    labels: Vec<LabelId>,
    slots: Vec<u32>, // L
    prefix: bool,
}

impl TargetList {
    /// Removes all targets and sets the number of labels.
    pub(crate) fn reset(&mut self, labels: usize) {
        self.labels.clear();
        self.slots.clear();
        self.slots.resize(labels, u32::MAX);
        self.prefix = true;
    }

    /// Replaces the targets; costs the lengths of the old and the new list, not `L`.
    pub(crate) fn fill(&mut self, labels: impl Iterator<Item = LabelId>) {
        for &y in &self.labels {
            self.slots[y as usize] = u32::MAX;
        }
        self.labels.clear();
        self.labels.extend(labels);
        self.prefix = true;
        for (i, &y) in self.labels.iter().enumerate() {
            self.slots[y as usize] = i as u32;
            self.prefix &= i == y as usize;
        }
    }

    /// The targets.
    #[inline]
    pub(crate) fn view(&self) -> Targets<'_> {
        Targets { labels: &self.labels, slots: &self.slots, prefix: self.prefix }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::{Edges, Lattice, with_edges};

    #[test]
    fn every_shape_gathers_what_it_gets() {
        let scores: Vec<f32> = (0..25).map(|i| if i % 3 == 0 { 0.0 } else { i as f32 }).collect();
        let dense = || Edges::dense(5, scores.clone()).unwrap();
        let listed: Vec<u32> = (0..25).filter(|i| i % 3 != 0).collect();
        let (from, to): (Vec<_>, Vec<_>) = listed.iter().map(|i| (i / 5, i % 5)).unzip();
        let values: Vec<f32> = listed.iter().map(|&i| i as f32).collect();
        let sparse = || Edges::sparse(5, 0.0, &from, &to, &values).unwrap();
        let copy = scores.clone();
        let callback = Edges::callback(5, move |_, p, y| copy[p * 5 + y], |_| 25.0, 25.0).unwrap();
        let mixed = Edges::per_position(vec![sparse(), dense()]).unwrap();
        let classes = {
            let base = |p: u32, y: u32| if (p + y).is_multiple_of(2) { 4.0 } else { 0.0 };
            let listed: Vec<u32> = (0..25).filter(|&i| scores[i as usize] != base(i / 5, i % 5)).collect();
            let (from, to): (Vec<_>, Vec<_>) = listed.iter().map(|i| (i / 5, i % 5)).unzip();
            let values: Vec<f32> = listed.iter().map(|&i| scores[i as usize]).collect();
            let parity = [0, 1, 0, 1, 0];
            Edges::classes(&parity, &parity, &[4.0, 0.0, 0.0, 4.0], 2, (&from, &to, &values)).unwrap()
        };
        let mut list = TargetList::default();
        list.reset(5);
        for edges in [dense(), sparse(), classes, callback, mixed] {
            let lattice = Lattice::new(vec![0.0; 10], &edges).unwrap();
            for labels in [vec![0, 1, 2], vec![4, 1], vec![], vec![0, 1, 2, 3, 4], vec![3]] {
                list.fill(labels.iter().copied());
                let mut out = vec![9.0; labels.len()];
                for p in 0..5 {
                    let row =
                        with_edges!(lattice, |edges| edges.gather(1, p, list.view(), &mut out).to_vec());
                    let expected: Vec<f32> = labels.iter().map(|&y| scores[p * 5 + y as usize]).collect();
                    assert_eq!(row, expected, "from {p} to {labels:?}");
                    let any = with_edges!(lattice, |edges| AnyEdges(edges)
                        .gather(1, p, list.view(), &mut out)
                        .to_vec());
                    assert_eq!(any, expected, "of any shape, from {p} to {labels:?}");
                }
            }
        }
    }
}
