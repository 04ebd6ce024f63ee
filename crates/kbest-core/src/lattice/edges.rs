//! Edge scores of every shape behind one interface.
//!
//! An [`Edges`] value belongs to a model and is shared by all sequences and threads; a trainer may change it between
//! two sequences ([`Edges::add`]). Decoders match on the shape once per sequence (`with_edges!`) and run code compiled
//! for it, so no inner loop asks what shape its edges have.

use super::base::Base;
use super::bounds::{BoundsView, Change};
use super::degenerate::changes::GroupMaxima;
use super::degenerate::{DegenerateBounds, Ranking};
use super::recognise::mostly_forbidden;
use super::{CallbackEdges, DenseEdges, Matrix, OverallBound, PerPositionEdges, SparseEdges};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::simd::{Float, padded};
use std::sync::{Arc, OnceLock};

/// The interface between edges and decoders: everything a decoder may ask about the edges into position `t`.
pub trait EdgeScores<S: Float> {
    /// Score of the edge from label `p` at `t - 1` to label `y` at `t`.
    fn get(&self, t: usize, p: usize, y: usize) -> S;

    /// All edges that leave label `p` into position `t`, padded to whole vectors with minus infinity. `buffer` must
    /// have room for a padded row; only shapes that do not store rows use it.
    fn row<'b>(&'b self, t: usize, p: usize, buffer: &'b mut [S]) -> &'b [S];

    /// The same row, and a bound on its edges into each block of labels, padded likewise; `None` if either is not stored.
    #[inline(always)]
    fn row_in_blocks(&self, _t: usize, _p: usize) -> Option<RowInBlocks<'_, S>> {
        None
    }

    /// All edges that enter label `y` at position `t`, padded and buffered in the same way.
    fn column<'b>(&'b self, t: usize, y: usize, buffer: &'b mut [S]) -> &'b [S];

    /// An upper bound on each of these edges, if there are so many labels that the edges are always collected one by one, and
    /// bounds are at hand.
    #[inline(always)]
    fn column_bounds(&self, _t: usize, _y: usize) -> Option<&[S]> {
        None
    }

    /// The same edges as exceptions from a score that most of them have; `None` if they are not stored like that.
    #[inline(always)]
    fn exceptions_into(&self, _t: usize, _y: usize) -> Option<ExceptionsInto<'_, S>> {
        None
    }

    /// Upper bounds on the edges into position `t`.
    fn bounds(&self, t: usize) -> BoundsView<'_, S>;
}

/// A row of edges, and a bound on those into each block of labels.
#[derive(Debug, Clone, Copy)]
pub struct RowInBlocks<'a, S> {
    /// The edges.
    pub row: &'a [S],
    /// The bounds.
    pub bounds: &'a [S],
}

/// The edges that enter a label, as exceptions from a base.
#[derive(Debug, Clone, Copy)]
pub struct ExceptionsInto<'a, S> {
    /// The score of all edges but the exceptions.
    pub base: S,
    /// Labels that the exceptions leave, in ascending order.
    pub labels: &'a [u32],
    /// Their scores.
    pub scores: &'a [S],
}

/// A column, edge by edge, for shapes that do not store columns.
pub(super) fn collect_column<'b, S: Float>(
    edges: &impl EdgeScores<S>,
    labels: usize,
    t: usize,
    y: usize,
    buffer: &'b mut [S],
) -> &'b [S] {
    let buffer = &mut buffer[..padded(labels)];
    for p in 0..labels {
        buffer[p] = edges.get(t, p, y);
    }
    buffer[labels..].fill(S::FORBIDDEN);
    buffer
}

/// How the edges are stored.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // one per model; a box would only add a step to every look-up
pub enum Shape<S: Float> {
    /// One matrix.
    Dense(DenseEdges<S>),
    /// One base value, or one for each pair of classes, and exceptions; where the base is minus infinity, all other edges
    /// are forbidden.
    Sparse(SparseEdges<S>),
    /// A few matrices, selected by position.
    PerPosition(PerPositionEdges<S>),
    /// A function.
    Callback(CallbackEdges<S>),
}

/// Edge scores of a model.
#[derive(Debug)]
pub struct Edges<S: Float> {
    shape: Shape<S>,
    order: Option<Vec<LabelId>>,
    ranking: OnceLock<Ranking>,
    degenerate: Box<[OnceLock<DegenerateBounds<S>>]>, // one per matrix
}

impl<S: Float> Edges<S> {
    pub(super) fn from_shape(shape: Shape<S>) -> Self {
        let matrices = if let Shape::PerPosition(edges) = &shape { edges.matrices.len() } else { 1 };
        let degenerate = (0..matrices).map(|_| OnceLock::new()).collect();
        Edges { shape, order: None, ranking: OnceLock::new(), degenerate }
    }

    /// One `L x L` matrix, row-major `[from][to]`. If it has more than 64 labels and forbids almost everything, it is
    /// stored as a list of the pairs that it allows, as by [`Edges::sparse`].
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not `L * L` scores, [`Error::IllegalScore`] for NaN or plus infinity.
    pub fn dense(labels: usize, scores: impl AsRef<[S]>) -> Result<Self> {
        let scores = scores.as_ref();
        let shape = match mostly_forbidden(labels, scores)? {
            Some(allowed) => Shape::Sparse(allowed),
            None => Shape::Dense(DenseEdges::new(labels, scores)?),
        };
        Ok(Self::from_shape(shape))
    }

    /// A base score for every pair except the listed exceptions. A base of minus infinity forbids all other pairs:
    /// banded models, transition lists.
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays of different lengths or a pair listed twice, [`Error::LabelOutOfRange`],
    /// [`Error::IllegalScore`].
    pub fn sparse(labels: usize, base: S, from: &[u32], to: &[u32], scores: &[S]) -> Result<Self> {
        Ok(Self::from_shape(Shape::Sparse(SparseEdges::new(labels, base, from, to, scores)?)))
    }

    /// Edges in classes: `from[p]` and `to[y]` are the classes of a label as origin and as target, and the pair of `p` and
    /// `y` scores `base[from[p]][to[y]]`, unless it is one of the exceptions `(from, to, score)`. An exception replaces
    /// the base, and may allow what the base forbids.
    ///
    /// `base` holds its rows one after another, each with a score for every class of targets; `targets` is their number.
    /// These are sparse edges, too: those of [`Edges::sparse`] have one class.
    ///
    /// ```
    /// use kbest_core::{Edges, Lattice};
    /// // O B-X I-X B-Y I-Y: no I, except after B or I of the same type.
    /// let no = f32::NEG_INFINITY;
    /// let exceptions = (&[1, 2, 3, 4][..], &[2, 2, 4, 4][..], &[0.0; 4][..]);
    /// let edges = Edges::classes(&[0; 5], &[0, 0, 1, 0, 1], &[0.0, no], 2, exceptions)?;
    /// let lattice = Lattice::new(vec![1.0f32; 15], &edges)?;
    /// assert_eq!(lattice.path_score(&[0, 1, 2])?, 3.0);
    /// assert_eq!(lattice.path_score(&[0, 1, 4])?, no);
    /// # Ok::<(), kbest_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for arrays of unsuitable lengths, classes that do not exist, or a pair listed twice,
    /// [`Error::LabelOutOfRange`], [`Error::IllegalScore`].
    pub fn classes(
        from: &[u32],
        to: &[u32],
        base: &[S],
        targets: usize,
        exceptions: (&[u32], &[u32], &[S]),
    ) -> Result<Self> {
        let base = Base::classes(from, to, base, targets)?;
        let edges = SparseEdges::with_base(from.len(), base, exceptions.0, exceptions.1, exceptions.2)?;
        Ok(Self::from_shape(Shape::Sparse(edges)))
    }

    /// The same score for every pair of labels: sparse edges without exceptions.
    ///
    /// ```
    /// use kbest_core::{Edges, Lattice};
    /// let edges = Edges::uniform(1000, -0.5f32)?;
    /// assert_eq!(Lattice::new(vec![0.0; 3000], &edges)?.path_score(&[7, 8, 7])?, -1.0);
    /// # Ok::<(), kbest_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no labels, [`Error::IllegalScore`] for NaN or plus infinity.
    pub fn uniform(labels: usize, score: S) -> Result<Self> {
        Self::sparse(labels, score, &[], &[], &[])
    }

    /// Several matrices, each dense or sparse: pass edges made by [`Edges::dense`] and [`Edges::sparse`].
    ///
    /// # Errors
    /// [`Error::Shape`] if they differ in their number of labels, if there are none, or if one is not a single matrix.
    pub fn per_position(matrices: Vec<Edges<S>>) -> Result<Self> {
        let Some(first) = matrices.first() else {
            return Err(Error::shape("per-position edges", "at least one matrix", 0));
        };
        let labels = first.labels();
        let matrices = matrices
            .into_iter()
            .map(|edges| match edges.shape {
                Shape::Dense(matrix) if matrix.bounds.row.len() == labels => Ok(Matrix::Dense(matrix)),
                Shape::Sparse(matrix) if matrix.bounds.row.len() == labels => Ok(Matrix::Sparse(matrix)),
                _ => {
                    Err(Error::shape("per-position edges", format!("matrices of {labels} labels"), "another"))
                }
            })
            .collect::<Result<_>>()?;
        Ok(Self::from_shape(Shape::PerPosition(PerPositionEdges { matrices, labels })))
    }

    /// Edges computed on demand by `score(t, from, to)`, never above `bound(t)`; `magnitude` is the largest finite
    /// absolute value it returns (used to bound rounding errors). See [`CallbackEdges`] for the contract.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no labels.
    pub fn callback(
        labels: usize,
        score: impl Fn(usize, usize, usize) -> S + Send + Sync + 'static,
        bound: impl Fn(usize) -> S + Send + Sync + 'static,
        magnitude: f64,
    ) -> Result<Self> {
        if labels == 0 {
            return Err(Error::shape("callback edges", "at least one label", 0));
        }
        let edges = CallbackEdges::new(labels, Arc::new(score), Arc::new(bound), magnitude);
        Ok(Self::from_shape(Shape::Callback(edges)))
    }

    /// Ranks the labels, best first, for decoders that start with the most likely ones (staggered decoding). Unranked
    /// labels are taken in their own order.
    ///
    /// # Errors
    /// [`Error::Shape`] unless every label is named exactly once.
    pub fn ranked(self, order: Vec<LabelId>) -> Result<Self> {
        let labels = self.labels();
        let mut seen = vec![false; labels];
        for &y in &order {
            match seen.get_mut(y as usize) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(Error::shape("label order", "each label once", format!("{y} twice"))),
                None => {
                    return Err(Error::LabelOutOfRange {
                        what: "label order".into(),
                        label: y.into(),
                        labels,
                    });
                }
            }
        }
        if order.len() != labels {
            return Err(Error::shape("label order", format!("{labels} labels"), order.len()));
        }
        let mut edges = Self::from_shape(self.shape); // drops everything derived from the old order
        edges.order = Some(order);
        Ok(edges)
    }

    /// Replaces the exact overall bound by a looser one, computed from the weights of features; only CarpeDiem and the
    /// simple A* heuristics use it.
    ///
    /// # Errors
    /// [`Error::Shape`] if the bound lies below an edge.
    pub fn bounded_by(mut self, bound: &OverallBound<'_, S>) -> Result<Self> {
        match &mut self.shape {
            Shape::Dense(edges) => edges.bounds.loosen(bound)?,
            Shape::Sparse(edges) => edges.bounds.loosen(bound)?,
            Shape::PerPosition(edges) => {
                for matrix in &mut edges.matrices {
                    match matrix {
                        Matrix::Dense(edges) => edges.bounds.loosen(bound)?,
                        Matrix::Sparse(edges) => edges.bounds.loosen(bound)?,
                    }
                }
            }
            Shape::Callback(_) => {} // uses the caller's own bound
        }
        Ok(self)
    }

    /// Adds to the score of one edge, as a step of training does. Afterwards the edges behave as if they had just been
    /// made from their new scores, except for [`BoundsView::typical`], a guess, which stays the same.
    ///
    /// Costs time in proportion to the exceptions of both labels for sparse edges, a few comparisons for dense ones, at
    /// most `O(L)`: bounds and look-ups are updated, and so are the maxima of staggered decoding once they exist. An
    /// exception whose score becomes the base is no longer an exception.
    ///
    /// ```
    /// use kbest_core::{Edges, Lattice};
    /// let mut edges = Edges::uniform(1000, 0.0f32)?;
    /// edges.add(7, 8, 1.5)?;
    /// edges.add(7, 8, -0.5)?;
    /// assert_eq!(Lattice::new(vec![0.0; 2000], &edges)?.path_score(&[7, 8])?, 1.0);
    /// # Ok::<(), kbest_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::LabelOutOfRange`]; [`Error::IllegalScore`] if the sum is NaN or plus infinity; [`Error::Shape`] for
    /// edges that are not one matrix (see [`Edges::add_in`]). After an error, nothing has changed.
    pub fn add(&mut self, from: LabelId, to: LabelId, change: S) -> Result<()> {
        self.one_matrix()?;
        self.change(0, from, to, |old| old + change)
    }

    /// Adds to the score of one edge in one of several [matrices](Edges::per_position); otherwise like [`Edges::add`].
    ///
    /// # Errors
    /// As [`Edges::add`], and [`Error::Shape`] if there is no such matrix.
    pub fn add_in(&mut self, matrix: usize, from: LabelId, to: LabelId, change: S) -> Result<()> {
        self.change(matrix, from, to, |old| old + change)
    }

    /// Replaces the score of one edge; otherwise like [`Edges::add`].
    ///
    /// # Errors
    /// As [`Edges::add`].
    pub fn set(&mut self, from: LabelId, to: LabelId, score: S) -> Result<()> {
        self.one_matrix()?;
        self.change(0, from, to, |_| score)
    }

    /// Edges in classes whose base scores may change ([`Edges::rebase`]), all of them zero: `classes[y]` is the class of a label
    /// on either side, below `count`.
    ///
    /// # Errors
    /// [`Error::Shape`] for a class that does not exist.
    #[doc(hidden)] // for models and trainers
    pub fn rising(classes: &[u32], count: usize) -> Result<Self> {
        let base = Base::classes(classes, classes, &vec![S::ZERO; count * count], count)?;
        Ok(Self::from_shape(Shape::Sparse(SparseEdges::rising(classes.len(), base))))
    }

    /// Sets what one pair of labels scores beyond the base, in edges made by [`Edges::rising`].
    ///
    /// # Errors
    /// [`Error::Shape`] for other edges, [`Error::LabelOutOfRange`], [`Error::IllegalScore`] if the sum is not finite.
    #[doc(hidden)] // for models and trainers
    pub fn set_beyond(&mut self, from: LabelId, to: LabelId, score: S) -> Result<()> {
        let labels = self.labels();
        if let Some(&label) = [from, to].iter().find(|&&y| y as usize >= labels) {
            let what = "edge to change".into();
            return Err(Error::LabelOutOfRange { what, label: label.into(), labels });
        }
        let made = self.degenerate[0].get_mut().zip(self.ranking.get());
        match &mut self.shape {
            Shape::Sparse(edges) => {
                follow(edges.set_beyond(from as usize, to as usize, score)?, edges, made);
                Ok(())
            }
            _ => Err(Error::shape("edges to change", "edges in classes", "other edges")),
        }
    }

    /// Replaces the base scores of edges in classes, row by row, and moves every exception by the same amount. Afterwards
    /// bounds are as if the edges had just been made, except for [`BoundsView::typical`].
    ///
    /// # Errors
    /// [`Error::Shape`] for other edges or another number of scores; [`Error::IllegalScore`] if a sum is not finite.
    #[doc(hidden)] // for models and trainers
    pub fn rebase(&mut self, base: &[S]) -> Result<()> {
        self.degenerate.iter_mut().for_each(|made| drop(made.take()));
        match &mut self.shape {
            Shape::Sparse(edges) => edges.rebase(base),
            _ => Err(Error::shape("edges to change", "edges in classes", "other edges")),
        }
    }

    /// Rejects edges that consist of several matrices.
    fn one_matrix(&self) -> Result<()> {
        match &self.shape {
            Shape::PerPosition(_) => Err(Error::shape("edges to change", "one matrix", "several matrices")),
            _ => Ok(()),
        }
    }

    fn change(
        &mut self,
        matrix: usize,
        from: LabelId,
        to: LabelId,
        score: impl FnOnce(S) -> S,
    ) -> Result<()> {
        let (labels, matrices) = (self.labels(), self.matrices());
        if matrix >= matrices {
            let expected = format!("a matrix below {matrices}");
            return Err(Error::shape("edges to change", expected, format!("matrix {matrix}")));
        }
        for (what, y) in [("from", from), ("to", to)] {
            if y as usize >= labels {
                let what = format!("edge to change, {what}");
                return Err(Error::LabelOutOfRange { what, label: y.into(), labels });
            }
        }
        let legal = |old: S| match score(old) {
            score if score.is_legal() => Ok(score),
            score => {
                let what = format!("the changed edge score from label {from} to label {to}");
                Err(Error::IllegalScore { what, value: score.to_f64() })
            }
        };
        let (p, y) = (from as usize, to as usize);
        let made = self.degenerate[matrix].get_mut().zip(self.ranking.get());
        match &mut self.shape {
            Shape::Dense(edges) => follow(edges.change(p, y, legal)?, edges, made),
            Shape::Sparse(edges) => follow(edges.change(p, y, legal)?, edges, made),
            Shape::PerPosition(edges) => match &mut edges.matrices[matrix] {
                Matrix::Dense(edges) => follow(edges.change(p, y, legal)?, edges, made),
                Matrix::Sparse(edges) => follow(edges.change(p, y, legal)?, edges, made),
            },
            Shape::Callback(_) => {
                return Err(Error::shape("edges to change", "stored scores", "a function"));
            }
        }
        Ok(())
    }

    /// Number of labels `L`.
    #[inline]
    pub fn labels(&self) -> usize {
        match &self.shape {
            Shape::Dense(edges) => edges.bounds.row.len(),
            Shape::Sparse(edges) => edges.bounds.row.len(),
            Shape::PerPosition(edges) => edges.labels,
            Shape::Callback(edges) => edges.labels(),
        }
    }

    /// How the edges are stored.
    #[inline]
    pub fn shape(&self) -> &Shape<S> {
        &self.shape
    }

    /// The dense matrix, if that is the shape.
    pub fn as_dense(&self) -> Option<&DenseEdges<S>> {
        match &self.shape {
            Shape::Dense(edges) => Some(edges),
            _ => None,
        }
    }

    /// Labels, best first, if they were ranked.
    pub fn order(&self) -> Option<&[LabelId]> {
        self.order.as_deref()
    }

    /// The labels, best first, ranked or not.
    pub(crate) fn ranking(&self) -> &Ranking {
        self.ranking.get_or_init(|| Ranking::new(self.labels(), self.order()))
    }

    /// The bounds of degenerate labels of one matrix, made when first needed.
    pub(super) fn cached_degenerate(
        &self,
        matrix: usize,
        make: impl FnOnce(&Ranking) -> DegenerateBounds<S>,
    ) -> &DegenerateBounds<S> {
        self.degenerate[matrix].get_or_init(|| make(self.ranking()))
    }

    /// Number of distinct matrices.
    pub fn matrices(&self) -> usize {
        match &self.shape {
            Shape::PerPosition(edges) => edges.matrices.len(),
            _ => 1,
        }
    }

    /// Number of steps that per-position matrices cover without a selection; `None` if any number.
    pub(super) fn steps(&self) -> Option<usize> {
        match &self.shape {
            Shape::PerPosition(edges) => Some(edges.matrices.len()),
            _ => None,
        }
    }

    /// Largest finite |edge|.
    pub(crate) fn magnitude(&self) -> f64 {
        let of_matrix = |matrix: &Matrix<S>| match matrix {
            Matrix::Dense(edges) => edges.bounds.magnitude,
            Matrix::Sparse(edges) => edges.bounds.magnitude,
        };
        match &self.shape {
            Shape::Dense(edges) => edges.bounds.magnitude,
            Shape::Sparse(edges) => edges.bounds.magnitude,
            Shape::PerPosition(edges) => edges.matrices.iter().map(of_matrix).fold(0.0, f64::max),
            Shape::Callback(edges) => edges.magnitude(),
        }
    }
}

/// Updates the maxima of degenerate labels, if they exist.
fn follow<S: Float>(
    change: Change<S>,
    matrix: &impl GroupMaxima<S>,
    made: Option<(&mut DegenerateBounds<S>, &Ranking)>,
) {
    if let Some((bounds, ranking)) = made {
        bounds.follow(change, matrix, ranking);
    }
}

/// Runs one expression with the lattice's edges as a concrete type that implements [`EdgeScores`].
macro_rules! with_edges {
    ($lattice:expr, |$edges:ident| $body:expr) => {
        match $lattice.edges().shape() {
            $crate::lattice::Shape::Dense($edges) => $body,
            $crate::lattice::Shape::Sparse($edges) => $body,
            $crate::lattice::Shape::PerPosition(matrices) => {
                let $edges = &$crate::lattice::PerPositionView::new(matrices, $lattice.selection());
                $body
            }
            $crate::lattice::Shape::Callback($edges) => $body,
        }
    };
}
pub(crate) use with_edges;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Lattice;
    use crate::score::Score;

    /// The same small matrix has the same scores in every shape, and bounds that hold.
    #[test]
    fn all_shapes_tell_the_same() {
        let scores = vec![0.0f64, 3.0, 0.0, -2.0, 0.0, f64::NEG_INFINITY, 0.0, 0.0, 1.0];
        let dense = || Edges::dense(3, scores.clone()).unwrap();
        let sparse = || {
            Edges::sparse(3, 0.0, &[2, 0, 1, 1], &[2, 1, 2, 0], &[1.0, 3.0, f64::NEG_INFINITY, -2.0]).unwrap()
        };
        // Origins 0 and 2 are one class, and targets 1 and 2.
        let classes = || {
            let exceptions = (&[0, 1, 2][..], &[1, 1, 2][..], &[3.0, 0.0, 1.0][..]);
            Edges::classes(&[0, 1, 0], &[0, 1, 1], &[0.0, 0.0, -2.0, f64::NEG_INFINITY], 2, exceptions)
                .unwrap()
        };
        let copy = scores.clone();
        let callback = Edges::callback(3, move |_, p, y| copy[p * 3 + y], |_| 3.0, 3.0).unwrap();
        let mixed = Edges::per_position(vec![sparse(), dense()]).unwrap();
        let others = Edges::per_position(vec![classes(), dense()]).unwrap();
        for edges in [dense(), sparse(), classes(), callback, mixed, others] {
            let lattice = Lattice::new(vec![0.0; 9], &edges).unwrap();
            let mut buffer = vec![9.0; 16];
            with_edges!(lattice, |view| {
                for t in 1..3 {
                    for p in 0..3 {
                        let row = view.row(t, p, &mut buffer).to_vec();
                        assert_eq!(row.len(), 16);
                        assert!(row[3..].iter().all(|w| w.is_forbidden()));
                        for y in 0..3 {
                            assert_eq!(view.column(t, y, &mut buffer)[p], scores[p * 3 + y]);
                            let w = scores[p * 3 + y];
                            assert_eq!((view.get(t, p, y), row[y]), (w, w));
                            let bounds = view.bounds(t);
                            assert!(w <= bounds.overall && w <= bounds.row.at(p) && w <= bounds.column.at(y));
                        }
                    }
                }
            });
        }
    }

    /// Columns of dense edges come from a transposed matrix, from the exceptions, or from a walk down the rows.
    #[test]
    fn columns_of_dense_edges() {
        for (labels, every) in [(40, 3), (513, 100), (513, 3), (1025, 3)] {
            let scores: Vec<f32> =
                (0..labels * labels).map(|i| if i % every == 0 { i as f32 } else { 0.5 }).collect();
            let edges = Edges::dense(labels, scores.clone()).unwrap();
            let Shape::Dense(dense) = edges.shape() else { panic!("dense edges are dense") };
            let mut buffer = vec![9.0; labels + 16];
            for y in [0, 7, labels - 1] {
                let expected: Vec<f32> = scores[y..].iter().copied().step_by(labels).collect();
                assert_eq!(dense.column(1, y, &mut buffer)[..labels], expected);
            }
        }
    }

    /// Look-ups by bitmap, with more labels than fit into a word.
    #[test]
    fn sparse_look_ups_find_every_exception() {
        let labels = 150u32;
        let pairs: Vec<(u32, u32)> =
            (0..labels * labels).filter(|i| i % 7 == 0).map(|i| (i / labels, i % labels)).collect();
        let (from, to): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
        let scores: Vec<f64> = (1..=pairs.len()).map(|i| i as f64).collect();
        let edges = Edges::sparse(labels as usize, 0.0, &from, &to, &scores).unwrap();
        let Shape::Sparse(sparse) = edges.shape() else { panic!("sparse edges are sparse") };
        let mut expected = vec![0.0; (labels * labels) as usize];
        for ((p, y), &score) in pairs.iter().zip(&scores) {
            expected[(p * labels + y) as usize] = score;
        }
        for (i, &score) in expected.iter().enumerate() {
            assert_eq!(sparse.get(1, i / labels as usize, i % labels as usize), score);
        }
    }

    /// Kept rows, and rows with too many labels to be kept, reflect changes.
    #[test]
    fn sparse_rows_are_whole() {
        for labels in [40, 2048, 2049] {
            let mut edges =
                Edges::sparse(labels, -1.0f32, &[0, 0, 39], &[3, 39, 1], &[1.0, 2.0, 3.0]).unwrap();
            let mut buffer = vec![9.0; labels + 16];
            let mut expected = vec![-1.0; labels];
            (expected[3], expected[39]) = (1.0, 2.0);
            for (y, change) in [(3, 0.0), (3, -2.0), (5, 4.0), (39, 1.0)] {
                edges.add(0, y, change).unwrap();
                expected[y as usize] += change;
                let Shape::Sparse(sparse) = edges.shape() else { panic!("sparse edges are sparse") };
                let row = sparse.row(1, 0, &mut buffer);
                assert_eq!(row[..labels], expected);
                assert!(row[labels..].iter().all(|w| w.is_forbidden()));
                assert_eq!(sparse.row(1, 39, &mut buffer)[..2], [-1.0, 3.0]);
            }
        }
    }

    /// Maxima made for degenerate lattices are still there after a change, even a failed one.
    #[test]
    fn degenerate_maxima_stay_made() {
        for mut edges in [Edges::dense(3, vec![0.0f32; 9]).unwrap(), Edges::uniform(3, 0.0f32).unwrap()] {
            edges.add(0, 1, 1.0).unwrap();
            assert!(edges.degenerate[0].get().is_none(), "not before they are asked for");
            Lattice::new(vec![0.0; 6], &edges).unwrap().degenerate(1);
            edges.add(0, 1, -2.0).unwrap();
            assert!(edges.add(0, 1, f32::NAN).is_err());
            assert!(edges.degenerate[0].get().is_some());
        }
    }

    /// Edges over base scores that change are always those that would be made anew, bounds included.
    #[test]
    fn edges_over_changing_scores_are_as_new() {
        use crate::decode::{Decode, Decoder, Scratch, Viterbi};
        const LABELS: usize = 9;
        let mut random = crate::random::Random::new(5);
        let classes: [u32; LABELS] = std::array::from_fn(|y| y as u32 % 3);
        let mut edges = Edges::<f32>::rising(&classes, 3).unwrap();
        let mut base = [0.0f32; 9];
        let mut beyond = std::collections::BTreeMap::new();
        for round in 0..300 {
            let number = |random: &mut crate::random::Random| random.below(9) as f32 - 4.0;
            if round % 5 == 4 {
                base = std::array::from_fn(|_| number(&mut random));
                edges.rebase(&base).unwrap();
            } else {
                let pair = (random.below(LABELS) as u32, random.below(LABELS) as u32);
                let score = number(&mut random);
                edges.set_beyond(pair.0, pair.1, score).unwrap();
                beyond.insert(pair, score);
            }
            let kept = beyond.iter().filter(|(_, score)| **score != 0.0);
            let sum = |&(p, y): &(u32, u32), score: f32| {
                base[(classes[p as usize] * 3 + classes[y as usize]) as usize] + score
            };
            let (from, (to, scores)): (Vec<u32>, (Vec<u32>, Vec<f32>)) =
                kept.map(|(pair, &score)| (pair.0, (pair.1, sum(pair, score)))).unzip();
            let anew = Edges::classes(&classes, &classes, &base, 3, (&from, &to, &scores)).unwrap();
            let (Shape::Sparse(changed), Shape::Sparse(made)) = (edges.shape(), anew.shape()) else {
                panic!("edges in classes are sparse")
            };
            let (bounds, expected) = (changed.bounds(1), made.bounds(1));
            assert_eq!((bounds.overall, bounds.smallest_row), (expected.overall, expected.smallest_row));
            for p in 0..LABELS {
                assert_eq!(bounds.row.at(p), expected.row.at(p), "round {round}");
                assert_eq!(bounds.column.at(p), expected.column.at(p), "round {round}");
                (0..LABELS).for_each(|y| assert_eq!(changed.get(1, p, y), made.get(1, p, y)));
                let (mut one, mut other) = ([0.0; 16], [0.0; 16]);
                assert_eq!(changed.row(1, p, &mut one), made.row(1, p, &mut other));
                assert_eq!(changed.column(1, p, &mut one), made.column(1, p, &mut other));
            }
            // With what is made for degenerate labels, once they are asked for.
            let nodes: Vec<f32> = (0..4 * LABELS).map(|_| number(&mut random)).collect();
            let lattice = Lattice::new(nodes.clone(), &edges).unwrap();
            let new_lattice = Lattice::new(nodes, &anew).unwrap();
            for decoder in ["staggered", "iterative-astar", "funnel", "viterbi-sparse"] {
                let decoder = Decoder::by_name(decoder).unwrap();
                let answer = decoder.decode(&lattice, &mut Scratch::new()).unwrap();
                assert_eq!(answer.best(), Viterbi.decode(&new_lattice, &mut Scratch::new()).unwrap().best());
            }
        }
        assert!(edges.set_beyond(0, 0, f32::INFINITY).is_err() && edges.set_beyond(0, 9, 1.0).is_err());
        // What rounding swallows beside a large score is there again beside a small one.
        edges.rebase(&[33_554_432.0; 9]).unwrap();
        edges.set_beyond(0, 0, 1.0).unwrap();
        edges.rebase(&[0.0; 9]).unwrap();
        let Shape::Sparse(changed) = edges.shape() else { panic!("edges in classes are sparse") };
        assert_eq!(changed.get(1, 0, 0), 1.0);
    }

    #[test]
    fn bad_edges_are_refused() {
        assert!(Edges::dense(2, vec![0.0f32; 3]).is_err());
        assert!(Edges::dense(0, Vec::<f32>::new()).is_err());
        assert!(Edges::dense(1, vec![f32::NAN]).is_err());
        assert!(Edges::sparse(2, 0.0f32, &[0], &[2], &[1.0]).is_err());
        assert!(Edges::sparse(2, 0.0f32, &[0, 0], &[1, 1], &[1.0, 2.0]).is_err());
        assert!(Edges::uniform(2, f32::INFINITY).is_err() && Edges::uniform(0, 0.0f32).is_err());
        assert!(Edges::sparse(2, 0.0f32, &[0], &[1, 1], &[1.0]).is_err());
        assert!(Edges::<f32>::per_position(vec![]).is_err());
        let edges = Edges::dense(2, vec![0.0f32; 4]).unwrap();
        assert!(edges.ranked(vec![0, 0]).is_err());
        let steps = Edges::per_position(vec![Edges::dense(1, vec![0.0f32]).unwrap()]).unwrap();
        assert!(Lattice::new(vec![0.0; 3], &steps).is_err(), "two steps, one matrix");
    }
}
