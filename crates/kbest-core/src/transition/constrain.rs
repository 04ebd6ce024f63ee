//! From transitions to the scores that decoders read.

use super::split::{Numbers, Split, examples};
use super::{FORBIDDEN, Part, Step, Transitions};
use crate::error::{Error, Result};
use crate::lattice::{DenseEdges, EdgeScores, Edges, Matrix, Shape, SparseEdges};
use crate::simd::{Float, padded};

/// A list of exceptions takes four times the memory of a matrix per pair, and is faster only if it is much shorter.
const FEW: usize = 8;

/// With at most this many labels a matrix is always best.
const SMALL: usize = 64;

impl Transitions {
    /// The same edges with all forbidden transitions at minus infinity, and scores added. Sparse edges stay sparse, in
    /// [classes](Edges::classes), and no matrix is made, unless the constraints tell nearly all labels apart; there, and
    /// for dense edges, the result is sparse if few pairs are allowed, or few differ from the typical one, and otherwise
    /// a matrix. Up to 64 labels, it always is. Looser [bounds](Edges::bounded_by) are
    /// dropped. Edges from a function remain a function: each edge is checked when it is requested.
    ///
    /// # Errors
    /// [`Error::Shape`] for a wrong number of labels, [`Error::IllegalScore`] if a sum is too large.
    pub fn constrain<S: Float>(&self, edges: &Edges<S>) -> Result<Edges<S>> {
        if edges.labels() != self.labels {
            return Err(Error::shape("edges", format!("{} labels", self.labels), edges.labels()));
        }
        let constrained = match edges.shape() {
            Shape::Dense(matrix) => self.constrain_dense(matrix)?,
            Shape::Sparse(matrix) => self.constrain_sparse(matrix)?,
            Shape::PerPosition(several) => {
                let constrained = several.matrices().iter().map(|matrix| match matrix {
                    Matrix::Dense(matrix) => self.constrain_dense(matrix),
                    Matrix::Sparse(matrix) => self.constrain_sparse(matrix),
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

    fn constrain_dense<S: Float>(&self, edges: &DenseEdges<S>) -> Result<Edges<S>> {
        if self.labels > SMALL && edges.exceptions() <= self.labels * self.labels / FEW {
            return self.constrain_sparse(edges.as_sparse());
        }
        self.constrain_matrix(edges)
    }

    fn constrain_sparse<S: Float>(&self, edges: &SparseEdges<S>) -> Result<Edges<S>> {
        match self.labels > SMALL {
            true => self.constrain_classes(edges).unwrap_or_else(|| self.constrain_matrix(edges)),
            false => self.constrain_matrix(edges),
        }
    }

    /// Classes of labels that edges and constraints treat alike, and exceptions: those of the edges, and the pairs that
    /// the constraints list. `None` if they would be too many.
    fn constrain_classes<S: Float>(&self, edges: &SparseEdges<S>) -> Option<Result<Edges<S>>> {
        let most = self.labels * self.labels / FEW;
        let splits = self.parts.iter().map(|part| part.split(most)).collect::<Option<Vec<Split>>>()?;
        let (mut origins, mut targets) = (Numbers::new(), Numbers::new());
        let (mut from, mut to) = (Vec::new(), Vec::new());
        for y in 0..self.labels {
            let classes = splits.iter().map(|split| split.origins[y]);
            from.push(origins.of((edges.origin_class(y), classes.collect::<Vec<_>>())));
            let classes = splits.iter().map(|split| split.targets[y]);
            to.push(targets.of((edges.target_class(y), classes.collect::<Vec<_>>())));
        }
        if origins.len().saturating_mul(targets.len()) > most {
            return None;
        }
        let (rows, columns) = (examples(&from), examples(&to));
        let base = rows.iter().flat_map(|&p| {
            let splits = &splits;
            columns
                .iter()
                .map(move |&y| sum(edges.base(p, y), splits.iter().map(|split| split.score(p, y)).sum()))
        });
        let base: Vec<S> = base.collect();
        let (from, to, base, width) = merge(from, to, base, columns.len());

        let mut pairs: Vec<(u32, u32)> = splits.into_iter().flat_map(|split| split.pairs).collect();
        for p in 0..self.labels {
            pairs.extend(edges.leaving(p).0.iter().map(|&y| (p as u32, y)));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let (mut exceptions_from, mut exceptions_to, mut scores) = (Vec::new(), Vec::new(), Vec::new());
        for (p, y) in pairs {
            let score = sum(edges.get(1, p as usize, y as usize), self.score(p as usize, y as usize));
            if score != base[from[p as usize] as usize * width + to[y as usize] as usize] {
                exceptions_from.push(p);
                exceptions_to.push(y);
                scores.push(score);
            }
        }
        if scores.len() > most {
            return None;
        }
        Some(Edges::classes(&from, &to, &base, width, (&exceptions_from, &exceptions_to, &scores)))
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
                sums[y] = sum(row[y], own[y]);
            }
            each(p, &sums);
        }
    }
}

/// A score is changed only if there is something to add: -0 stays -0.
fn sum<S: Float>(score: S, own: f32) -> S {
    if own == 0.0 { score } else { score + S::from_f64(own.into()) }
}

/// Classes with the same scores become one: the roles of a scheme matter less to what comes next than to what comes
/// before.
fn merge<S: Float>(
    from: Vec<u32>,
    to: Vec<u32>,
    base: Vec<S>,
    width: usize,
) -> (Vec<u32>, Vec<u32>, Vec<S>, usize) {
    let (from, base) = merge_rows(&from, &base, width);
    let (to, base) = merge_rows(&to, &transposed(&base, width), base.len() / width);
    let height = from.iter().map(|&class| class as usize + 1).max().unwrap_or(1);
    let base = transposed(&base, height);
    let width = base.len() / height;
    (from, to, base, width)
}

fn merge_rows<S: Float>(classes: &[u32], rows: &[S], width: usize) -> (Vec<u32>, Vec<S>) {
    let (mut numbers, mut kept) = (Numbers::new(), Vec::new());
    let mut merged = Vec::new();
    for row in rows.chunks_exact(width) {
        let before = numbers.len();
        // Equal scores have equal bits, except for the sign of 0, which only keeps classes apart.
        merged.push(numbers.of(row.iter().map(|score| score.to_f64().to_bits()).collect::<Vec<_>>()));
        if numbers.len() > before {
            kept.extend_from_slice(row);
        }
    }
    (classes.iter().map(|&class| merged[class as usize]).collect(), kept)
}

/// Rows of `width` scores, turned into columns.
fn transposed<S: Float>(rows: &[S], width: usize) -> Vec<S> {
    (0..width).flat_map(|column| rows[column..].iter().copied().step_by(width)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::label::LabelSet;
    use crate::random::Random;
    use crate::scheme::{Scheme, Tagging};

    /// Scores in classes and as a matrix are the same: schemes, files and both, on edges of one base and in classes.
    #[test]
    fn classes_are_as_good_as_a_matrix() {
        let roles = ["O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b", "I-c"];
        let names: Vec<String> =
            roles.iter().flat_map(|tag| ["", "@x", "@y"].map(|rest| format!("{tag}{rest}"))).collect();
        let labels = names.len();
        let set = LabelSet::from_names(&names);
        let patterns = ["O*", "B-*", "I-*", "*@x", "*", "I-a", "E-b@y", "*-a*", "S-a@x"];
        let (mut classes, mut refused) = (0, 0);
        for seed in 0..400u64 {
            let mut random = Random::new(seed);
            let mut below = |n: usize| random.below(n);
            let mut transitions = Transitions::free(labels);
            if below(2) == 0 {
                let scheme = [Scheme::Iob1, Scheme::Iob2, Scheme::Ioe2, Scheme::Iobes][below(4)];
                let mut tagging = Tagging::detect(&names).unwrap();
                tagging.scheme = scheme;
                let tags = match below(2) {
                    0 => Transitions::from_names(&names, tagging),
                    _ => Transitions::from_names_keeping_rest(&names, tagging),
                };
                transitions = transitions.and(tags).unwrap();
            }
            let mut text = String::new();
            for _ in 0..below(9) {
                let (from, to) = (patterns[below(9)], patterns[below(9)]);
                text += &match below(3) {
                    0 => format!("!{from}\t{to}\n"),
                    1 => format!("{from}\t{to}\n"),
                    _ => format!("{from}\t{to}\t{}\n", below(3) as f32 - 1.5),
                };
            }
            transitions = transitions.and(Transitions::parse(&text, "file", &set).unwrap()).unwrap();
            let from: Vec<u32> = (0..7).map(|_| below(labels) as u32).collect();
            let to: Vec<u32> = (0..7).map(|i| (below(3) * 9 + i) as u32).collect();
            let scores: Vec<f32> = (0..7).map(|_| below(5) as f32).collect();
            let edges = match below(2) {
                0 => Edges::sparse(labels, 0.5, &from, &to, &scores),
                _ => {
                    let class: Vec<u32> = (0..labels).map(|_| below(2) as u32).collect();
                    Edges::classes(
                        &class,
                        &class,
                        &[0.0, 1.0, f32::NEG_INFINITY, -2.0],
                        2,
                        (&from, &to, &scores),
                    )
                }
            };
            let edges = edges.unwrap();
            let Shape::Sparse(sparse) = edges.shape() else { panic!("sparse edges") };
            let matrix = transitions.constrain_matrix(sparse).unwrap();
            let Shape::Dense(matrix) = matrix.shape() else { panic!("few labels make a matrix") };
            let Some(made) = transitions.constrain_classes(sparse) else {
                refused += 1;
                continue;
            };
            let made = made.unwrap();
            let Shape::Sparse(made) = made.shape() else { panic!("sparse edges stay sparse") };
            for i in 0..labels * labels {
                let (p, y) = (i / labels, i % labels);
                assert_eq!(
                    made.get(1, p, y),
                    matrix.get(1, p, y),
                    "seed {seed}, {} to {}\n{text}",
                    names[p],
                    names[y]
                );
            }
            classes += usize::from(made.only_base().is_none());
        }
        assert!(classes > 80 && refused < 250, "{classes} in classes, {refused} refused");
    }
}
