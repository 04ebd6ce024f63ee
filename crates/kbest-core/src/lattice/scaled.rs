//! Every score multiplied by one factor: the same paths in the same order, with other probabilities.
//!
//! **Why.** Dividing all scores by a temperature makes a model less sure of itself, or surer, and changes none of its
//! answers (see [`Calibration`](crate::marginal::Calibration)). **Cost.** A copy of the node scores; edges keep their shape,
//! so sparse ones cost as much as they have exceptions. Scale edges that lattices share once, and keep them.

use super::{DenseEdges, Edges, Held, Lattice, Matrix, Shape, SparseEdges};
use crate::error::{Error, Result};
use crate::simd::Float;

impl<S: Float> Edges<S> {
    /// These edges with all scores multiplied by `factor`; what is forbidden stays forbidden. The shape is the same.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the factor is a finite number above 0; [`Error::IllegalScore`] if a product is too large.
    pub fn scaled(&self, factor: f64) -> Result<Self> {
        check(factor)?;
        match self.shape() {
            Shape::Dense(edges) => scaled_dense(edges, factor),
            Shape::Sparse(edges) => scaled_sparse(edges, factor),
            Shape::PerPosition(edges) => {
                let scaled = edges.matrices().iter().map(|matrix| match matrix {
                    Matrix::Dense(edges) => scaled_dense(edges, factor),
                    Matrix::Sparse(edges) => scaled_sparse(edges, factor),
                });
                Edges::per_position(scaled.collect::<Result<_>>()?)
            }
            Shape::Callback(edges) => Ok(edges.times(factor)),
        }
    }
}

impl<S: Float> Lattice<'_, S> {
    /// This lattice with all scores multiplied by `factor`, over edges that have been [scaled](Edges::scaled) by it.
    ///
    /// ```
    /// use kbest_core::{Edges, Lattice, MarginalScratch, marginals};
    /// let edges = Edges::dense(2, vec![0.0f64; 4])?;
    /// let lattice = Lattice::new(vec![0.0, 2.0], &edges)?;
    /// let half = edges.scaled(0.5)?;
    /// let lattice = lattice.scaled(0.5, &half)?;
    /// let mut scratch = MarginalScratch::new();
    /// let sure = marginals(&lattice, &mut scratch)?.node(0)[1];
    /// assert!((sure - 1.0 / (1.0 + (-1f64).exp())).abs() < 1e-12);
    /// # Ok::<(), kbest_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Edges::scaled`] and [`Lattice::new`].
    pub fn scaled<'b>(&self, factor: f64, edges: impl Into<Held<'b, Edges<S>>>) -> Result<Lattice<'b, S>> {
        check(factor)?;
        let all = |scores: &[S]| scores.iter().map(|&score| times(score, factor)).collect::<Vec<S>>();
        let (nodes, edges) = (all(self.nodes()), edges.into());
        let mut lattice = match self.selection() {
            Some(selection) => Lattice::selecting(nodes, edges, selection.to_vec())?,
            None => Lattice::new(nodes, edges)?,
        };
        if let Some(start) = self.start() {
            lattice = lattice.with_start(all(start))?;
        }
        if let Some(end) = self.end() {
            lattice = lattice.with_end(all(end))?;
        }
        Ok(lattice)
    }
}

fn check(factor: f64) -> Result<()> {
    match factor.is_finite() && factor > 0.0 {
        true => Ok(()),
        false => Err(Error::argument("factor of scores", "a finite number above 0", factor)),
    }
}

/// Minus infinity stays what it is, and no other score becomes it: a product that is too large is the lowest number there is,
/// which the checks of a lattice refuse.
pub(super) fn times<S: Float>(score: S, factor: f64) -> S {
    if score.is_forbidden() {
        score
    } else {
        S::from_f64(score.to_f64() * factor).larger(S::from_f64(-S::LARGEST.to_f64()))
    }
}

fn scaled_dense<S: Float>(edges: &DenseEdges<S>, factor: f64) -> Result<Edges<S>> {
    let labels = edges.bounds.row.len();
    let rows = (0..labels).flat_map(|p| &edges.padded_row(p)[..labels]);
    Edges::dense(labels, rows.map(|&score| times(score, factor)).collect::<Vec<S>>())
}

fn scaled_sparse<S: Float>(edges: &SparseEdges<S>, factor: f64) -> Result<Edges<S>> {
    let labels = edges.labels();
    let (mut from, mut to, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for p in 0..labels {
        let (members, exceptions) = edges.leaving(p);
        from.extend(members.iter().map(|_| p as u32));
        to.extend_from_slice(members);
        scores.extend(exceptions.iter().map(|&score| times(score, factor)));
    }
    if let Some(base) = edges.only_base() {
        return Edges::sparse(labels, times(base, factor), &from, &to, &scores);
    }
    let (origins, targets) = edges.classes();
    let rows = edges.class_scores().chunks(edges.class_stride()).take(origins);
    let base: Vec<S> = rows.flat_map(|row| &row[..targets]).map(|&score| times(score, factor)).collect();
    let class = |of: &dyn Fn(usize) -> usize| (0..labels).map(|y| of(y) as u32).collect::<Vec<_>>();
    let (origin, target) = (class(&|y| edges.origin_class(y)), class(&|y| edges.target_class(y)));
    Edges::classes(&origin, &target, &base, targets, (&from, &to, &scores))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::{EdgeScores, with_edges};

    /// Each edge of each shape is the product, and what is forbidden stays so.
    #[test]
    fn every_shape_is_scaled() {
        let no = f64::NEG_INFINITY;
        let dense = || Edges::dense(3, vec![1.0, 2.0, no, -4.0, 0.0, 0.5, no, no, 8.0]).unwrap();
        let sparse = || Edges::sparse(3, 0.25, &[0, 2], &[1, 2], &[3.0, no]).unwrap();
        let classes = || {
            Edges::classes(&[0, 1, 1], &[0, 0, 1], &[1.0, no, 2.0, -3.0], 2, (&[0], &[2], &[5.0])).unwrap()
        };
        let callback = || Edges::callback(3, |t, p, y| (t + 2 * p + 3 * y) as f64, |_| 20.0, 20.0).unwrap();
        let both = || Edges::per_position(vec![dense(), classes()]).unwrap();
        for edges in [dense(), sparse(), classes(), both(), callback()] {
            for factor in [0.5, 1.0, 4.0] {
                let scaled = edges.scaled(factor).unwrap();
                let (from, to) = (Lattice::new(vec![1.0; 9], &edges), Lattice::new(vec![1.0; 9], &scaled));
                let (from, to) = (from.unwrap(), to.unwrap());
                for (t, p, y) in (1..3).flat_map(|t| (0..9).map(move |i| (t, i / 3, i % 3))) {
                    let before: f64 = with_edges!(&from, |edges| edges.get(t, p, y));
                    let after: f64 = with_edges!(&to, |edges| edges.get(t, p, y));
                    assert_eq!(after, before * factor, "{t} {p} {y}");
                }
            }
            assert!(edges.scaled(0.0).is_err() && edges.scaled(f64::NAN).is_err());
        }
    }
}
