//! From transitions to the scores that decoders read.

use super::{FORBIDDEN, Part, Step, Transitions};
use crate::error::{Error, Result};
use crate::kernel::{Float, padded};
use crate::lattice::{EdgeScores, Edges, Matrix, Shape};

/// A list of exceptions takes four times the memory of a matrix per pair, and is faster only if it is much shorter.
const FEW: usize = 8;

/// With at most this many labels a matrix is always best.
const SMALL: usize = 64;

impl Transitions {
    /// The same edges with all forbidden transitions at minus infinity, and scores added. They are sparse if few pairs
    /// are allowed, or few differ from the typical one; otherwise a matrix. Looser [bounds](Edges::bounded_by) are
    /// dropped. Edges from a function remain a function: each edge is checked when it is requested.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong number of labels, [`Error::IllegalScore`] if a sum is too large.
    pub fn constrain<S: Float>(&self, edges: &Edges<S>) -> Result<Edges<S>> {
        if edges.labels() != self.labels {
            return Err(Error::shape("edges", format!("{} labels", self.labels), edges.labels()));
        }
        let constrained = match edges.shape() {
            Shape::Dense(matrix) => self.constrain_matrix(matrix)?,
            Shape::Sparse(matrix) => self.constrain_matrix(matrix)?,
            Shape::PerPosition(several) => {
                let constrained = several.matrices().iter().map(|matrix| match matrix {
                    Matrix::Dense(matrix) => self.constrain_matrix(matrix),
                    Matrix::Sparse(matrix) => self.constrain_matrix(matrix),
                });
                Edges::per_position(constrained.collect::<Result<_>>()?)?
            }
            Shape::Callback(edges) => {
                let (most, magnitude) = self.largest_scores();
                let largest = edges.magnitude() + magnitude;
                if largest > S::LARGEST.to_f64() {
                    let what = "the largest constrained edge score".into();
                    return Err(Error::IllegalScore { what, value: largest });
                }
                let transitions = self.clone();
                let own = move |p: usize, y: usize| S::from_f64(transitions.score(p, y).into());
                edges.plus(own, S::from_f64(most.into()), magnitude)
            }
        };
        match edges.order() {
            Some(order) => constrained.ranked(order.to_vec()),
            None => Ok(constrained),
        }
    }

    /// Start scores (0 if there were none) with forbidden first labels at minus infinity; `None` if nothing is
    /// constrained and there were none.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong number of labels.
    pub fn constrain_start<S: Float>(&self, start: Option<&[S]>) -> Result<Option<Vec<S>>> {
        self.constrain_border("start scores", start, |y| self.score_of(Step::Start(y)))
    }

    /// As [`Transitions::constrain_start`], for end scores.
    ///
    /// # Errors
    /// See [`Transitions::constrain_start`].
    pub fn constrain_end<S: Float>(&self, end: Option<&[S]>) -> Result<Option<Vec<S>>> {
        self.constrain_border("end scores", end, |y| self.score_of(Step::End(y)))
    }

    fn constrain_border<S: Float>(
        &self,
        what: &str,
        scores: Option<&[S]>,
        own: impl Fn(usize) -> f32,
    ) -> Result<Option<Vec<S>>> {
        if let Some(scores) = scores
            && scores.len() != self.labels
        {
            return Err(Error::shape(what, format!("{} labels", self.labels), scores.len()));
        }
        if scores.is_none() && (0..self.labels).all(|y| own(y) == 0.0) {
            return Ok(None);
        }
        let given = |y: usize| scores.map_or(S::ZERO, |scores| scores[y]);
        let sums: Vec<S> = (0..self.labels).map(|y| given(y) + S::from_f64(own(y).into())).collect();
        match sums.iter().position(|sum| !sum.is_legal()) {
            None => Ok(Some(sums)),
            Some(y) => {
                let what = format!("the constrained {what} of label {y}");
                Err(Error::IllegalScore { what, value: sums[y].to_f64() })
            }
        }
    }

    fn constrain_matrix<S: Float>(&self, edges: &impl EdgeScores<S>) -> Result<Edges<S>> {
        let labels = self.labels;
        let typical = edges.bounds(1).typical;
        let (mut allowed, mut untypical) = (0, 0);
        self.for_each_row(edges, |_, row| {
            allowed += row.iter().filter(|w| !w.is_forbidden()).count();
            untypical += row.iter().filter(|&&w| w != typical).count();
        });
        let base = if allowed <= untypical { S::FORBIDDEN } else { typical };
        if labels > SMALL && allowed.min(untypical) <= labels * labels / FEW {
            let (mut from, mut to, mut scores) = (Vec::new(), Vec::new(), Vec::new());
            self.for_each_row(edges, |p, row| {
                for (y, &w) in row.iter().enumerate().filter(|&(_, &w)| w != base) {
                    from.push(p as u32);
                    to.push(y as u32);
                    scores.push(w);
                }
            });
            return Edges::sparse(labels, base, &from, &to, &scores);
        }
        let mut scores = Vec::with_capacity(labels * labels);
        self.for_each_row(edges, |_, row| scores.extend_from_slice(row));
        Edges::dense(labels, scores)
    }

    /// Calls `each` with every `p` and the constrained edges that leave it.
    fn for_each_row<S: Float>(&self, edges: &impl EdgeScores<S>, mut each: impl FnMut(usize, &[S])) {
        let labels = self.labels;
        let mut buffer = vec![S::ZERO; padded(labels)];
        let (mut own, mut spare) = (vec![0.0; labels], vec![0.0; labels]);
        let mut sums = vec![S::ZERO; labels];
        for p in 0..labels {
            own.fill(0.0);
            for part in &*self.parts {
                match part {
                    Part::Rules(rules) => rules.add_row(p, &mut spare, &mut own),
                    Part::Tags(rule) => {
                        let forbidden =
                            own.iter_mut().enumerate().filter(|(y, _)| !rule.allows(Step::Between(p, *y)));
                        forbidden.for_each(|(_, score)| *score = FORBIDDEN);
                    }
                }
            }
            let row = edges.row(1, p, &mut buffer);
            for y in 0..labels {
                // A score is changed only if there is something to add: -0 stays -0.
                sums[y] = if own[y] == 0.0 { row[y] } else { row[y] + S::from_f64(own[y].into()) };
            }
            each(p, &sums);
        }
    }
}
