//! Edge bounds of degenerate labels: many labels treated as one.
//!
//! **What.** Rank the labels. At *level* `j` the first `2^j` of them are *active* and all others, the *rest*, are
//! merged into one degenerate label. An edge from or to the rest scores the maximum over its members (Kaji et al. 2010,
//! Equations 1-4):
//!
//! ```text
//! leaving_rest(i)[y]  = max over p in rest(i) of edge[p][y]
//! entering_rest(j)[p] = max over y in rest(j) of edge[p][y]
//! between(i, j)       = max over p in rest(i), y in rest(j) of edge[p][y]
//! ```
//!
//! **Why.** Staggered decoding, iterative A* and the coarse heuristics of A* search lattices of such labels. **Cost.**
//! Each matrix is read once (`L^2`, or `L log L` plus the exceptions of sparse edges) when the bounds are first needed;
//! they are then shared by all sequences and threads; `2 L log L` scores per matrix. They are updated when edges change
//! ([`changes`]). Edges from a function use the bound of their position instead, since their maxima would cost `L^2`
//! calls per position. **Paper.** Kaji, Fujiwara, Yoshinaga & Kitsuregawa (2010), sections 3.1 and 4.

pub(super) mod changes;

use super::base::Line;
use super::{BoundsView, DenseEdges, EdgeScores, Lattice, Matrix, PerLabel, Shape, SparseEdges};
use crate::label::LabelId;
use crate::simd::Float;

/// The labels, best first, and the rank of each.
#[derive(Debug)]
pub(crate) struct Ranking {
    order: Vec<LabelId>,
    place: Vec<u32>,
    in_label_order: bool,
}

impl Ranking {
    pub(super) fn new(labels: usize, order: Option<&[LabelId]>) -> Self {
        let order: Vec<_> = order.map_or_else(|| (0..labels as LabelId).collect(), <[_]>::to_vec);
        let mut place = vec![0; labels];
        for (i, &y) in order.iter().enumerate() {
            place[y as usize] = i as u32;
        }
        let in_label_order = order.is_sorted();
        Ranking { order, place, in_label_order }
    }

    /// Number of levels that have a degenerate label: those with `2^level < L`.
    #[inline]
    pub(crate) fn levels(&self) -> usize {
        self.order.len().next_power_of_two().trailing_zeros() as usize
    }

    /// The active labels of a level.
    #[inline]
    pub(crate) fn active(&self, level: usize) -> &[LabelId] {
        &self.order[..self.cut(level)]
    }

    /// The labels that become active between a level and the next.
    #[inline]
    pub(crate) fn added_after(&self, level: usize) -> &[LabelId] {
        &self.order[self.cut(level)..self.cut(level + 1)]
    }

    /// The rank of each label.
    #[inline]
    pub(crate) fn places(&self) -> &[u32] {
        &self.place
    }

    /// True if labels are ranked in their own order.
    #[inline]
    pub(crate) fn in_label_order(&self) -> bool {
        self.in_label_order
    }

    /// `maxima[j]` = the largest of `scores` over the rest of level `j`, for every level.
    pub(crate) fn rest_maxima<S: Float>(&self, scores: &[S], maxima: &mut [S]) {
        let mut best = S::FORBIDDEN;
        for level in (0..self.levels()).rev() {
            best = best.larger(self.group_maximum(scores, level));
            maxima[level] = best;
        }
    }

    /// The largest of `scores` over the labels that become active between a level and the next.
    fn group_maximum<S: Float>(&self, scores: &[S], level: usize) -> S {
        let added = self.cut(level)..self.cut(level + 1);
        if self.in_label_order {
            return S::largest(&scores[added]);
        }
        self.order[added].iter().fold(S::FORBIDDEN, |best, &y| best.larger(scores[y as usize]))
    }

    #[inline]
    fn cut(&self, level: usize) -> usize {
        // Levels are at most log2(L) + 1, so the shift cannot overflow.
        (1usize << level).min(self.order.len())
    }

    /// The highest level whose rest holds the label; `None` for the first label, which is always active.
    #[inline]
    fn last_level_at_rest(&self, y: usize) -> Option<usize> {
        self.place[y].checked_ilog2().map(|level| level as usize)
    }
}

/// The bounds of one matrix at every level.
#[derive(Debug)]
pub(crate) struct DegenerateBounds<S> {
    labels: usize,
    levels: usize,
    from_rest: Vec<S>, // levels x L
    to_rest: Vec<S>,   // levels x L
    between: Vec<S>,   // levels x levels: from, to
}

impl<S: Float> DegenerateBounds<S> {
    pub(super) fn of_dense(matrix: &DenseEdges<S>, ranking: &Ranking) -> Self {
        let labels = ranking.order.len();
        let mut bounds = Self::empty(ranking);
        let mut maxima = vec![S::FORBIDDEN; bounds.levels];
        for p in 0..labels {
            let row = &matrix.padded_row(p)[..labels];
            ranking.rest_maxima(row, &mut maxima);
            for (level, &best) in maxima.iter().enumerate() {
                bounds.to_rest[level * labels + p] = best;
            }
            if let Some(level) = ranking.last_level_at_rest(p) {
                S::max_row(&mut bounds.from_rest[level * labels..][..labels], row);
            }
        }
        // The rest of a level contains that of the next.
        for level in (1..bounds.levels).rev() {
            let (lower, higher) = bounds.from_rest.split_at_mut(level * labels);
            S::max_row(&mut lower[(level - 1) * labels..], &higher[..labels]);
        }
        bounds.fill_between(ranking);
        bounds
    }

    pub(super) fn of_sparse(matrix: &SparseEdges<S>, ranking: &Ranking) -> Self {
        let mut bounds = Self::empty(ranking);
        let base = matrix.bases();
        let labels = 0..ranking.order.len();
        let rows = labels.clone().map(|p| (base.origin(p), base.row(p), matrix.leaving(p)));
        Self::fill_sparse(rows, ranking, &mut bounds.to_rest);
        let columns = labels.map(|y| (base.target(y), base.column(y), matrix.entering(y)));
        Self::fill_sparse(columns, ranking, &mut bounds.from_rest);
        bounds.fill_between(ranking);
        bounds
    }

    /// The maxima of all rows or columns, each with its class, its base and its exceptions.
    fn fill_sparse<'a>(
        lines: impl Iterator<Item = (usize, Line<'a, S>, (&'a [u32], &'a [S]))>,
        ranking: &Ranking,
        out: &mut [S],
    ) {
        let labels = ranking.order.len();
        let mut sizes: Vec<Vec<u32>> = Vec::new(); // by level: the labels of its rest in each class
        let mut best: Vec<Vec<usize>> = Vec::new(); // by class of the line, then level: the best class of the rest
        for (y, (class, line, list)) in lines.enumerate() {
            if sizes.is_empty() {
                let count = |level| line.count(ranking.order[ranking.cut(level)..].iter());
                sizes.extend((0..ranking.levels()).map(count));
            }
            if best.len() <= class {
                best.resize(class + 1, Vec::new());
            }
            if best[class].is_empty() {
                best[class].extend(sizes.iter().map(|sizes| line.best_among(sizes)));
            }
            for (&other, &w) in list.0.iter().zip(list.1) {
                if let Some(level) = ranking.last_level_at_rest(other as usize) {
                    let slot = &mut out[level * labels + y];
                    *slot = slot.larger(w);
                }
            }
            let mut largest = S::FORBIDDEN;
            for level in (0..ranking.levels()).rev() {
                largest = largest.larger(out[level * labels + y]);
                let at_rest = |other: &u32| ranking.last_level_at_rest(*other as usize) >= Some(level);
                let exceptions = list.0.iter().copied().filter(at_rest);
                let base = line.largest_among(&sizes[level], best[class][level], exceptions);
                out[level * labels + y] = largest.larger(base);
            }
        }
    }

    fn empty(ranking: &Ranking) -> Self {
        let (labels, levels) = (ranking.order.len(), ranking.levels());
        let rows = vec![S::FORBIDDEN; levels * labels];
        let between = vec![S::FORBIDDEN; levels * levels];
        DegenerateBounds { labels, levels, from_rest: rows.clone(), to_rest: rows, between }
    }

    fn fill_between(&mut self, ranking: &Ranking) {
        let mut maxima = vec![S::FORBIDDEN; self.levels];
        for to in 0..self.levels {
            ranking.rest_maxima(&self.to_rest[to * self.labels..][..self.labels], &mut maxima);
            for (from, &best) in maxima.iter().enumerate() {
                self.between[from * self.levels + to] = best;
            }
        }
    }
}

/// The bounds of the edges into one position.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DegenerateView<'a, S> {
    /// Exact maxima.
    Exact(&'a DegenerateBounds<S>),
    /// One bound for all.
    Overall(S),
}

impl<'a, S: Float> DegenerateView<'a, S> {
    /// Bounds of the edges from the rest of `level` to each label.
    #[inline]
    pub(crate) fn leaving_rest(&self, level: usize) -> PerLabel<'a, S> {
        match *self {
            DegenerateView::Exact(b) => PerLabel::Each(&b.from_rest[level * b.labels..][..b.labels]),
            DegenerateView::Overall(bound) => PerLabel::All(bound),
        }
    }

    /// Bounds of the edges from each label to the rest of `level`.
    #[inline]
    pub(crate) fn entering_rest(&self, level: usize) -> PerLabel<'a, S> {
        match *self {
            DegenerateView::Exact(b) => PerLabel::Each(&b.to_rest[level * b.labels..][..b.labels]),
            DegenerateView::Overall(bound) => PerLabel::All(bound),
        }
    }

    /// Bound of the edges from the rest of one level to the rest of another.
    #[inline]
    pub(crate) fn between(&self, from: usize, to: usize) -> S {
        match *self {
            DegenerateView::Exact(b) => b.between[from * b.levels + to],
            DegenerateView::Overall(bound) => bound,
        }
    }
}

impl<S: Float> Lattice<'_, S> {
    /// Bounds of the edges into position `t` from and to degenerate labels.
    pub(crate) fn degenerate(&self, t: usize) -> DegenerateView<'_, S> {
        let edges = self.edges();
        let of_matrix = |number: usize, matrix: &Matrix<S>| match matrix {
            Matrix::Dense(matrix) => {
                edges.cached_degenerate(number, |ranking| DegenerateBounds::of_dense(matrix, ranking))
            }
            Matrix::Sparse(matrix) => {
                edges.cached_degenerate(number, |ranking| DegenerateBounds::of_sparse(matrix, ranking))
            }
        };
        DegenerateView::Exact(match edges.shape() {
            Shape::Dense(matrix) => {
                edges.cached_degenerate(0, |ranking| DegenerateBounds::of_dense(matrix, ranking))
            }
            Shape::Sparse(matrix) => {
                edges.cached_degenerate(0, |ranking| DegenerateBounds::of_sparse(matrix, ranking))
            }
            Shape::PerPosition(matrices) => {
                let number = self.selection().map_or(t - 1, |selection| selection[t - 1] as usize);
                of_matrix(number, &matrices.matrices()[number])
            }
            Shape::Callback(edges) => {
                let BoundsView { overall, .. } = edges.bounds(t);
                return DegenerateView::Overall(overall);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::Edges;
    use crate::score::Score;

    /// Pseudo-random scores with some forbidden ones.
    pub(super) fn scores(labels: usize) -> Vec<f64> {
        let value = |i: usize| match (i * 7919 + 13) % 23 {
            r if r < 3 => f64::NEG_INFINITY,
            r => r as f64 - 11.0,
        };
        (0..labels * labels).map(value).collect()
    }

    pub(super) fn sparse(labels: usize, scores: &[f64], base: f64) -> Edges<f64> {
        let listed = || (0..scores.len()).filter(|&i| scores[i] != base);
        let from: Vec<u32> = listed().map(|i| (i / labels) as u32).collect();
        let to: Vec<u32> = listed().map(|i| (i % labels) as u32).collect();
        let values: Vec<f64> = listed().map(|i| scores[i]).collect();
        Edges::sparse(labels, base, &from, &to, &values).unwrap()
    }

    /// The same edges in classes, with as many exceptions as that takes.
    pub(super) fn classes(labels: usize, scores: &[f64]) -> Edges<f64> {
        let class = |y: usize, count: usize| (y * 5 % 7 % count) as u32;
        let (from, to): (Vec<u32>, Vec<u32>) = (0..labels).map(|y| (class(y, 3), class(y, 4))).unzip();
        let base: Vec<f64> = (0..12).map(|i| [0.0, -2.0, 5.0, f64::NEG_INFINITY, 1.0][i * 3 % 5]).collect();
        let base_of = |i: usize| base[(from[i / labels] * 4 + to[i % labels]) as usize];
        let listed: Vec<usize> = (0..scores.len()).filter(|&i| scores[i] != base_of(i)).collect();
        let exceptions_from: Vec<u32> = listed.iter().map(|i| (i / labels) as u32).collect();
        let exceptions_to: Vec<u32> = listed.iter().map(|i| (i % labels) as u32).collect();
        let values: Vec<f64> = listed.iter().map(|&i| scores[i]).collect();
        Edges::classes(&from, &to, &base, 4, (&exceptions_from, &exceptions_to, &values)).unwrap()
    }

    /// Scores of which most are those of the classes.
    pub(super) fn scores_by_class(labels: usize) -> Vec<f64> {
        let edges = classes(labels, &vec![1.0; labels * labels]);
        let Shape::Sparse(edges) = edges.shape() else { panic!("edges in classes are sparse") };
        let score = |i: usize| match i % 11 {
            0 => i as f64 % 5.0,
            _ => edges.base(i / labels, i % labels),
        };
        (0..labels * labels).map(score).collect()
    }

    /// All maxima are those over the members.
    pub(super) fn check(edges: &Edges<f64>, scores: &[f64]) {
        let labels = edges.labels();
        let ranking = edges.ranking();
        let lattice = Lattice::new(vec![0.0; 2 * labels], edges).unwrap();
        let view = lattice.degenerate(1);
        let rest = |level: usize| ranking.order[ranking.cut(level)..].iter().map(|&y| y as usize);
        let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max);
        assert!(labels == 1 || 1 << ranking.levels() >= labels && 1 << (ranking.levels() - 1) < labels);
        for i in 0..ranking.levels() {
            for y in 0..labels {
                let from = largest(&mut rest(i).map(|p| scores[p * labels + y]));
                assert_eq!(view.leaving_rest(i).at(y), from, "from rest {i} to {y} of {labels}");
                let to = largest(&mut rest(i).map(|x| scores[y * labels + x]));
                assert_eq!(view.entering_rest(i).at(y), to, "from {y} to rest {i} of {labels}");
            }
            for j in 0..ranking.levels() {
                let both = largest(&mut rest(i).flat_map(|p| rest(j).map(move |y| scores[p * labels + y])));
                assert_eq!(view.between(i, j), both);
            }
        }
    }

    #[test]
    fn bounds_are_the_maxima_over_the_members() {
        for labels in [1, 2, 3, 4, 5, 8, 9, 16, 17, 21] {
            let scores = scores(labels);
            let order: Vec<u32> = (0..labels as u32).rev().collect();
            check(&Edges::dense(labels, scores.clone()).unwrap(), &scores);
            check(&Edges::dense(labels, scores.clone()).unwrap().ranked(order.clone()).unwrap(), &scores);
            for scores in [scores_by_class(labels), scores.clone(), vec![-1.0; labels * labels]] {
                check(&classes(labels, &scores), &scores);
                check(&classes(labels, &scores).ranked(order.clone()).unwrap(), &scores);
            }
            for base in [0.0, 3.0, f64::NEG_INFINITY, 99.0] {
                check(&sparse(labels, &scores, base), &scores);
                check(&sparse(labels, &scores, base).ranked(order.clone()).unwrap(), &scores);
            }
        }
    }

    /// Lemma 1 relies on this: a degenerate path never scores below the paths it stands for.
    #[test]
    fn bounds_of_functions_never_lie_below_an_edge() {
        let labels = 6;
        let scores = scores(labels);
        let copy = scores.clone();
        let edges = Edges::callback(labels, move |_, p, y| copy[p * 6 + y], |_| 12.0, 12.0).unwrap();
        let lattice = Lattice::new(vec![0.0; 2 * labels], &edges).unwrap();
        let view = lattice.degenerate(1);
        assert!(scores.iter().all(|&w| w <= view.between(0, 1) && w <= view.leaving_rest(2).at(3)));
        assert!(!view.entering_rest(0).at(0).is_forbidden());
    }
}
