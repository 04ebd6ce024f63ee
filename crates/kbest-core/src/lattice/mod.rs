//! Lattices: `T` positions by `L` labels of node scores, and the edges between neighbours.
//!
//! **What.** A [`Lattice`] joins the node scores of one sequence with the [`Edges`] of a model, optional start and
//! end scores, and constraints. A path's score is
//!
//! ```text
//! start[y_0] + node[0][y_0] + sum over t of (edge[t][y_(t-1)][y_t] + node[t][y_t]) + end[y_last]
//! ```
//!
//! added in exactly that order ([`Lattice::path_score`], the *judge*), so that every decoder reports the same number
//! for the same path. **Cost.** Building reads the node scores once, to reject NaN and plus infinity; edges are
//! borrowed or shared, never copied. **When not.** For segments longer than one position see `segment`.
//!
//! ```
//! use kbest_core::{Edges, Lattice};
//! let edges = Edges::dense(2, vec![0.0f32, 1.0, -1.0, 0.0])?;
//! let lattice = Lattice::new(vec![2.0, 0.0, 0.0, 0.5], &edges)?;
//! assert_eq!(lattice.path_score(&[0, 1])?, 2.0 + 1.0 + 0.5);
//! # Ok::<(), kbest_core::Error>(())
//! ```
//!
//! A lattice that owns its node scores and shares its edges borrows nothing, so an object can keep it and it can be
//! sent to another thread:
//!
//! ```
//! use kbest_core::{Edges, Lattice};
//! use std::sync::Arc;
//! let edges = Arc::new(Edges::uniform(2, 0.5f32)?);
//! let lattice: Lattice<'static, f32> = Lattice::new(vec![2.0, 0.0, 0.0, 0.5], Arc::clone(&edges))?;
//! let score = std::thread::spawn(move || lattice.path_score(&[0, 1])).join().expect("no panic")?;
//! assert_eq!(score, 2.0 + 0.5 + 0.5);
//! # Ok::<(), kbest_core::Error>(())
//! ```

mod base;
mod bitmap;
mod blocks;
mod bounds;
mod callback;
mod constraints;
mod degenerate;
mod dense;
mod edges;
mod held;
mod lists;
mod per_position;
mod potentials;
mod recognise;
mod scaled;
mod sparse;

pub use bounds::{BoundsView, OverallBound, PerLabel};
pub use callback::CallbackEdges;
pub use dense::DenseEdges;
pub use edges::{EdgeScores, Edges, ExceptionsInto, RowInBlocks, Shape};
pub use held::Held;
pub use per_position::{Matrix, PerPositionEdges, PerPositionView};
pub use sparse::SparseEdges;

pub(crate) use blocks::{Blocks, LEAST_BY_LABEL};
pub(crate) use degenerate::Ranking;
pub(crate) use edges::with_edges;
pub(crate) use potentials::{ClassFactors, DenseFactors, LinearFactors, SparseFactors};
pub(crate) use sparse::KEPT_WHOLE;

use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::simd::Float;
use std::borrow::Cow;

/// The scores of one sequence: every decoder reads them and none changes them.
#[derive(Debug, Clone)]
pub struct Lattice<'a, S: Float> {
    nodes: Cow<'a, [S]>, // T x L, row-major
    positions: usize,
    labels: usize,
    edges: Held<'a, Edges<S>>,
    selection: Option<Held<'a, [u32]>>, // T - 1: which matrix leads into position t + 1
    start: Option<Held<'a, [S]>>,       // L
    end: Option<Held<'a, [S]>>,         // L
    node_magnitude: f64,                // sum over t of the largest finite |node[t][y]|
    largest_node_magnitude: f64,        // the largest of these
    border_magnitude: [f64; 2],         // largest finite |start|, largest finite |end|
}

impl<'a, S: Float> Lattice<'a, S> {
    /// A lattice of node scores, `T x L` row-major (position by position), with the given edges: `&Edges` to borrow
    /// them, an [`Arc`](std::sync::Arc) to share them.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of scores is not a multiple of `L`, or if the edges have one matrix per step and
    /// there are too many positions for them; [`Error::IllegalScore`] for NaN or plus infinity, with position and
    /// label; [`Error::Range`] if the score of a path may exceed the range of its type.
    pub fn new(nodes: impl Into<Cow<'a, [S]>>, edges: impl Into<Held<'a, Edges<S>>>) -> Result<Self> {
        let lattice = Self::unchecked_steps(nodes.into(), edges.into())?;
        match lattice.edges.steps() {
            Some(steps) if steps + 1 < lattice.positions => {
                Err(Error::shape("edges", format!("{} steps", lattice.positions - 1), steps))
            }
            _ => lattice.in_range(),
        }
    }

    /// Like [`Lattice::new`], and selects which of the edges' matrices leads into each position: `selection[t - 1]` for
    /// position `t`.
    ///
    /// # Errors
    /// As [`Lattice::new`], and [`Error::Shape`] if there is not exactly one entry per step, or an entry does not name
    /// a matrix.
    pub fn selecting(
        nodes: impl Into<Cow<'a, [S]>>,
        edges: impl Into<Held<'a, Edges<S>>>,
        selection: impl Into<Held<'a, [u32]>>,
    ) -> Result<Self> {
        let mut lattice = Self::unchecked_steps(nodes.into(), edges.into())?;
        let selection = selection.into();
        let steps = lattice.positions.saturating_sub(1);
        if selection.len() != steps {
            return Err(Error::shape("edge selection", format!("{steps} entries"), selection.len()));
        }
        let matrices = lattice.edges.matrices();
        if let Some(&bad) = selection.iter().find(|&&m| m as usize >= matrices) {
            return Err(Error::shape("edge selection", format!("matrix numbers below {matrices}"), bad));
        }
        lattice.selection = Some(selection);
        lattice.in_range()
    }

    /// Checks the node scores, but not whether there are edges for every step.
    fn unchecked_steps(nodes: Cow<'a, [S]>, edges: Held<'a, Edges<S>>) -> Result<Self> {
        let labels = edges.labels();
        if !nodes.len().is_multiple_of(labels) {
            return Err(Error::shape("node scores", format!("a multiple of {labels} labels"), nodes.len()));
        }
        let positions = nodes.len() / labels;
        let (mut node_magnitude, mut largest_node_magnitude) = (0.0, 0.0f64);
        for (t, row) in nodes.chunks_exact(labels).enumerate() {
            let magnitude =
                checked_magnitude(row, |y| format!("the node score of position {t}, label {y}"))?.to_f64();
            node_magnitude += magnitude;
            largest_node_magnitude = largest_node_magnitude.max(magnitude);
        }
        Ok(Lattice {
            nodes,
            positions,
            labels,
            edges,
            selection: None,
            start: None,
            end: None,
            node_magnitude,
            largest_node_magnitude,
            border_magnitude: [0.0; 2],
        })
    }

    /// Sets the scores for the first label of a path.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::IllegalScore`] or [`Error::Range`].
    pub fn with_start(mut self, start: impl Into<Held<'a, [S]>>) -> Result<Self> {
        let start = start.into();
        self.border_magnitude[0] = self.check_border("start", &start)?;
        self.start = Some(start);
        self.in_range()
    }

    /// Sets the scores for the last label of a path.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::IllegalScore`] or [`Error::Range`].
    pub fn with_end(mut self, end: impl Into<Held<'a, [S]>>) -> Result<Self> {
        let end = end.into();
        self.border_magnitude[1] = self.check_border("end", &end)?;
        self.end = Some(end);
        self.in_range()
    }

    /// Sets the scores for the first and the last label, where there are any; the others stay as they are.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::IllegalScore`] or [`Error::Range`].
    pub fn with_borders(mut self, start: Option<&'a [S]>, end: Option<&'a [S]>) -> Result<Self> {
        if let Some(start) = start {
            self = self.with_start(start)?;
        }
        match end {
            Some(end) => self.with_end(end),
            None => Ok(self),
        }
    }

    /// The same node, start and end scores with other edges, and the same selection of matrices per position.
    ///
    /// # Errors
    /// [`Error::Shape`] unless they have the same number of labels and matrices; [`Error::Range`].
    pub fn over(mut self, edges: impl Into<Held<'a, Edges<S>>>) -> Result<Self> {
        let edges = edges.into();
        let size = |edges: &Edges<S>| (edges.labels(), edges.matrices());
        if size(&self.edges) != size(&edges) {
            let told = |(labels, matrices)| format!("{labels} labels, {matrices} matrices");
            return Err(Error::shape("other edges", told(size(&self.edges)), told(size(&edges))));
        }
        self.edges = edges;
        self.in_range()
    }

    fn check_border(&self, what: &str, scores: &[S]) -> Result<f64> {
        if scores.len() != self.labels() {
            return Err(Error::shape(
                format!("{what} scores"),
                format!("{} labels", self.labels()),
                scores.len(),
            ));
        }
        Ok(checked_magnitude(scores, |y| format!("the {what} score of label {y}"))?.to_f64())
    }

    /// Number of positions `T`.
    #[inline]
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Number of labels `L`.
    #[inline]
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// The node scores of position `t`.
    #[inline]
    pub fn node_row(&self, t: usize) -> &[S] {
        let labels = self.labels();
        &self.nodes[t * labels..(t + 1) * labels]
    }

    /// All node scores, `T x L` row-major.
    pub fn nodes(&self) -> &[S] {
        &self.nodes
    }

    /// The edges.
    #[inline]
    pub fn edges(&self) -> &Edges<S> {
        &self.edges
    }

    /// Which matrix leads into each position, if selected.
    pub fn selection(&self) -> Option<&[u32]> {
        self.selection.as_deref()
    }

    /// The start scores, if any.
    #[inline]
    pub fn start(&self) -> Option<&[S]> {
        self.start.as_deref()
    }

    /// The end scores, if any.
    #[inline]
    pub fn end(&self) -> Option<&[S]> {
        self.end.as_deref()
    }

    /// Score of a path's first node: start score plus node score.
    #[inline]
    pub fn first_score(&self, y: usize) -> S {
        let node = self.node_row(0)[y];
        self.start().map_or(node, |start| start[y] + node)
    }

    /// A path's score plus the end score of its last label.
    #[inline]
    pub fn with_end_score(&self, score: S, y: usize) -> S {
        self.end().map_or(score, |end| score + end[y])
    }

    /// The score of the edge from label `p` of position `t - 1` to label `y` of position `t`.
    ///
    /// # Panics
    /// If there is no such position or label, or `t` is 0.
    pub fn edge_score(&self, t: usize, p: LabelId, y: LabelId) -> S {
        with_edges!(self, |edges| edges.get(t, p as usize, y as usize))
    }

    /// The judge: the score of a path, added in the one order that all decoders share.
    ///
    /// # Errors
    /// [`Error::Shape`] if the path is not as long as the lattice, [`Error::LabelOutOfRange`] for a label that is too
    /// large.
    pub fn path_score(&self, path: &[LabelId]) -> Result<S> {
        if path.len() != self.positions {
            return Err(Error::shape("path", format!("{} labels", self.positions), path.len()));
        }
        let score = self.prefix_score(path)?;
        Ok(path.last().map_or(score, |&last| self.with_end_score(score, last as usize)))
    }

    /// The score of a path's first labels, without an end score: the judge's partial sum.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are more labels than positions, [`Error::LabelOutOfRange`] for a label that is too
    /// large.
    pub fn prefix_score(&self, path: &[LabelId]) -> Result<S> {
        if path.len() > self.positions {
            return Err(Error::shape("path", format!("at most {} labels", self.positions), path.len()));
        }
        if let Some((t, &y)) = path.iter().enumerate().find(|&(_, &y)| y as usize >= self.labels()) {
            let what = format!("path, position {t}");
            return Err(Error::LabelOutOfRange { what, label: y.into(), labels: self.labels() });
        }
        let Some(&first) = path.first() else { return Ok(S::ZERO) };
        let mut score = self.first_score(first as usize);
        with_edges!(self, |edges| {
            for t in 1..path.len() {
                let (p, y) = (path[t - 1] as usize, path[t] as usize);
                score = score + edges.get(t, p, y) + self.node_row(t)[y];
            }
        });
        Ok(score)
    }

    /// The largest finite |node score|.
    pub(crate) fn largest_node_magnitude(&self) -> f64 {
        self.largest_node_magnitude
    }

    /// Refuses scores that may add up to more than the type can hold. Then no sum in any decoder is infinite unless a term
    /// is: sums over a path, bounds of them, and the difference or sum of two of either stay within the range.
    fn in_range(self) -> Result<Self> {
        check_range::<S>(self.path_magnitude())?;
        Ok(self)
    }

    /// An upper bound on the finite magnitude of any path's score.
    pub(crate) fn path_magnitude(&self) -> f64 {
        let steps = self.positions.saturating_sub(1) as f64;
        self.node_magnitude + self.border_magnitude() + steps * self.edges.magnitude()
    }

    /// The largest finite |start score| and |end score|, added.
    pub(crate) fn border_magnitude(&self) -> f64 {
        self.border_magnitude.iter().sum()
    }

    /// How far two sums over the same path may lie apart when their additions are ordered differently.
    ///
    /// A sum of `n` numbers, added in any order, is off by at most `n * u * M / (1 - n * u)` (Higham, *Accuracy and
    /// Stability of Numerical Algorithms*, section 4.2), where `u` is the unit roundoff and `M` the sum of the
    /// magnitudes. A path has at most `n = 2T + 1` terms with magnitudes bounded by the largest finite ones of each
    /// position; two such sums, a bound's own additions and the final comparison are covered by the factor four. A
    /// decoder whose bounds are not added in the judge's order may prune only what lies further below than this.
    pub fn rounding_slack(&self) -> S {
        let terms = 2.0 * self.positions as f64 + 4.0;
        let magnitude = self.path_magnitude();
        let relative = terms * S::UNIT_ROUNDOFF;
        if relative >= 0.5 {
            return S::from_f64_up(4.0 * magnitude); // beyond this the bound is void: prune only by magnitude
        }
        S::from_f64_up(4.0 * magnitude * relative / (1.0 - relative))
    }
}

/// Refuses scores that may add up to more than a quarter of what the type can hold.
pub(crate) fn check_range<S: Float>(magnitude: f64) -> Result<()> {
    let largest = S::LARGEST.to_f64() / 4.0;
    if magnitude <= largest { Ok(()) } else { Err(Error::Range { magnitude, largest }) }
}

/// Largest finite magnitude of a row, or an error for NaN or plus infinity.
fn checked_magnitude<S: Float>(row: &[S], what: impl Fn(usize) -> String) -> Result<S> {
    if let Some(largest) = S::largest_magnitude(row) {
        return Ok(largest);
    }
    let i = row.iter().position(|score| !score.is_legal()).expect("the kernel has seen an illegal score");
    Err(Error::IllegalScore { what: what(i), value: row[i].to_f64() })
}

/// Largest finite magnitude of a row that has been checked.
fn magnitude_of_legal<S: Float>(row: &[S]) -> S {
    S::largest_magnitude(row).expect("only legal scores are stored")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_judge_adds_everything_once() {
        let edges = Edges::dense(2, vec![1.0f64, 2.0, 4.0, 8.0]).unwrap();
        let lattice = Lattice::new(vec![16.0, 32.0, 64.0, 128.0], &edges).unwrap();
        let lattice = lattice.with_start(vec![256.0, 512.0]).unwrap().with_end(vec![1024.0, 2048.0]).unwrap();
        assert_eq!(lattice.path_score(&[1, 0]).unwrap(), 512.0 + 32.0 + 4.0 + 64.0 + 1024.0);
    }

    #[test]
    fn bad_scores_are_refused_with_their_place() {
        let edges = Edges::dense(2, vec![0.0f32; 4]).unwrap();
        let error = Lattice::new(vec![0.0, 0.0, 0.0, f32::NAN], &edges).unwrap_err();
        assert!(error.to_string().contains("position 1, label 1"), "{error}");
        assert!(Lattice::new(vec![0.0f32; 3], &edges).is_err());
        assert!(Lattice::new(vec![f32::INFINITY, 0.0], &edges).is_err());
        let lattice = Lattice::new(vec![0.0f32; 4], &edges).unwrap();
        assert!(lattice.path_score(&[0]).is_err() && lattice.path_score(&[0, 2]).is_err());
    }

    #[test]
    fn scores_that_may_add_up_to_infinity_are_refused() {
        let refused = |lattice: Result<Lattice<'_, f32>>| matches!(lattice, Err(Error::Range { .. }));
        let none = Edges::dense(2, vec![0.0f32; 4]).unwrap();
        let lattice = |nodes: [f32; 4]| Lattice::new(nodes.to_vec(), &none);
        assert!(lattice([4e37, 0.0, -4e37, f32::NEG_INFINITY]).is_ok());
        assert!(refused(lattice([5e37, 0.0, 0.0, 4e37])));
        assert!(refused(lattice([0.0, f32::MIN, 0.0, 0.0])));
        assert!(refused(lattice([0.0; 4]).unwrap().with_start(vec![0.0, 9e37])));
        assert!(refused(lattice([4e37; 4]).unwrap().with_end(vec![0.0, -9e37])));
        let large = Edges::dense(2, vec![0.0f32, -5e37, 0.0, 0.0]).unwrap();
        assert!(Lattice::new(vec![0.0f32; 4], &large).is_ok());
        assert!(refused(Lattice::new(vec![0.0f32; 6], &large)), "two steps");
        assert!(refused(Lattice::new(vec![0.0f32; 6], &none).unwrap().over(&large)));
        let one = Edges::per_position(vec![large]).unwrap();
        assert!(refused(Lattice::selecting(vec![0.0f32; 6], &one, vec![0, 0])));
        let wide = Edges::dense(1, vec![1e38f64]).unwrap();
        assert!(Lattice::new(vec![1e38f64; 1000], &wide).is_ok(), "f64 has room");
    }

    #[test]
    fn the_empty_path_scores_zero() {
        let edges = Edges::dense(3, vec![0.0f32; 9]).unwrap();
        assert_eq!(Lattice::new(vec![], &edges).unwrap().path_score(&[]).unwrap(), 0.0);
    }
}
