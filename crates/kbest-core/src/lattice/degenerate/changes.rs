//! Updates degenerate maxima after the change of one edge.
//!
//! **Why.** A trainer changes a few edges per sequence. Computing all maxima again would read the whole matrix each
//! time, which costs more than staggered decoding saves.
//!
//! **How.** Level by level, from the smallest rest that holds the changed edge to the largest:
//!
//! ```text
//! rest(j)    = rest(j + 1) and the group j of labels that become active after level j
//! maximum(j) = max(maximum(j + 1), largest of group j)
//! ```
//!
//! A score that rises above a maximum replaces it. If a largest score falls, the maximum is computed again from just
//! the next level and the group. The walk ends at the first level whose maximum stays the same: the rests of the
//! remaining levels contain its rest, and their groups did not change.
//!
//! **Cost.** A rise, or the fall of an edge that was not a maximum: one comparison per level. The fall of a maximum:
//! the groups of the levels that change are read once, together at most twice the rank of the label (or, for sparse
//! edges of one class, the exceptions of the label for each of these levels); where it was also the largest edge between two rests,
//! as many maxima of rows. With frequent labels first, edges that change often are the fastest to update.

use super::{DegenerateBounds, Ranking};
use crate::lattice::base::Line;
use crate::lattice::bounds::Change;
use crate::lattice::{DenseEdges, SparseEdges};
use crate::simd::Float;

/// The largest scores of one row or column over the labels that become active after a level.
pub(in crate::lattice) trait GroupMaxima<S> {
    /// Over the edges from `p` to the labels of the group.
    fn of_row(&self, p: usize, level: usize, ranking: &Ranking) -> S;
    /// Over the edges from the labels of the group to `y`.
    fn of_column(&self, y: usize, level: usize, ranking: &Ranking) -> S;
}

impl<S: Float> GroupMaxima<S> for DenseEdges<S> {
    fn of_row(&self, p: usize, level: usize, ranking: &Ranking) -> S {
        ranking.group_maximum(self.padded_row(p), level)
    }

    fn of_column(&self, y: usize, level: usize, ranking: &Ranking) -> S {
        let scores = ranking.added_after(level).iter().map(|&p| self.padded_row(p as usize)[y]);
        scores.fold(S::FORBIDDEN, S::larger)
    }
}

impl<S: Float> GroupMaxima<S> for SparseEdges<S> {
    fn of_row(&self, p: usize, level: usize, ranking: &Ranking) -> S {
        of_list(self.bases().row(p), self.leaving(p), level, ranking)
    }

    fn of_column(&self, y: usize, level: usize, ranking: &Ranking) -> S {
        of_list(self.bases().column(y), self.entering(y), level, ranking)
    }
}

fn of_list<S: Float>(base: Line<'_, S>, list: (&[u32], &[S]), level: usize, ranking: &Ranking) -> S {
    let group = |other: u32| ranking.last_level_at_rest(other as usize) == Some(level);
    let listed = || list.0.iter().zip(list.1).filter(|&(&other, _)| group(other));
    let best = listed().fold(S::FORBIDDEN, |best, (_, &w)| best.larger(w));
    let sizes = base.count(ranking.added_after(level).iter());
    best.larger(base.largest_among(&sizes, base.best_among(&sizes), listed().map(|(&other, _)| other)))
}

impl<S: Float> DegenerateBounds<S> {
    /// Updates the maxima after the change of one edge of a matrix, which already has its new score.
    pub(in crate::lattice) fn follow(
        &mut self,
        change: Change<S>,
        matrix: &impl GroupMaxima<S>,
        ranking: &Ranking,
    ) {
        let Change { p, y, old, new } = change;
        let (labels, levels) = (self.labels, self.levels);
        let (from, to) = (ranking.last_level_at_rest(p), ranking.last_level_at_rest(y));
        if let Some(last) = from {
            let slots = Levels { slots: &mut self.from_rest, first: y, step: labels };
            slots.follow(last, old, new, |level| matrix.of_column(y, level, ranking), |_, _, _| {});
        }
        let Some(last) = to else { return };
        // By level: the largest edge from `p` to its rest, before and after.
        let mut changed = [None; usize::BITS as usize];
        let slots = Levels { slots: &mut self.to_rest, first: p, step: labels };
        let group = |level| matrix.of_row(p, level, ranking);
        slots.follow(last, old, new, group, |level, before, after| changed[level] = Some((before, after)));
        let Some(last) = from else { return };
        for (to, before, after) in
            changed.iter().enumerate().filter_map(|(to, pair)| pair.map(|(a, b)| (to, a, b)))
        {
            let of_rows = &self.to_rest[to * labels..][..labels];
            let slots = Levels { slots: &mut self.between, first: to, step: levels };
            slots.follow(last, before, after, |level| ranking.group_maximum(of_rows, level), |_, _, _| {});
        }
    }
}

/// The maxima over the rests of all levels of one row, column or pair of them.
struct Levels<'a, S> {
    slots: &'a mut [S],
    first: usize, // the slot of level 0
    step: usize,  // from the slot of a level to that of the next
}

impl<S: Float> Levels<'_, S> {
    /// Updates the maxima after the change of one score, which belongs to the rest of level `last` and of all below it.
    /// `group` returns the maximum over the labels that become active after a level; `changed` is called for each level
    /// whose maximum changes, with the old and the new one.
    fn follow(
        self,
        last: usize,
        old: S,
        new: S,
        group: impl Fn(usize) -> S,
        mut changed: impl FnMut(usize, S, S),
    ) {
        for level in (0..=last).rev() {
            let at = self.first + level * self.step;
            let before = self.slots[at];
            let after = if new >= before {
                new
            } else if old < before {
                before // another one is larger
            } else {
                let next = self.slots.get(at + self.step).copied().unwrap_or(S::FORBIDDEN);
                group(level).larger(next)
            };
            if after == before {
                return;
            }
            self.slots[at] = after;
            changed(level, before, after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, classes, scores, scores_by_class, sparse};
    use crate::lattice::Edges;
    use proptest::prelude::*;

    /// Few distinct scores: ties, falls of one of several largest, forbidden edges that come and go.
    fn score() -> impl Strategy<Value = f64> {
        prop_oneof![4 => (-2i32..3).prop_map(f64::from), 1 => Just(f64::NEG_INFINITY)]
    }

    fn follow(mut edges: Edges<f64>, mut scores: Vec<f64>, changes: &[(usize, f64)]) {
        check(&edges, &scores); // makes the maxima
        for &(at, score) in changes {
            let (labels, at) = (edges.labels(), at % scores.len());
            scores[at] = score;
            edges.set((at / labels) as u32, (at % labels) as u32, score).unwrap();
            check(&edges, &scores);
        }
    }

    proptest! {
        #[test]
        fn changed_maxima_are_those_made_anew(
            labels in 1usize..20,
            constant in prop::option::of(score()),
            order in Just((0..20u32).collect::<Vec<_>>()).prop_shuffle(),
            base in score(),
            changes in prop::collection::vec((0usize..400, score()), 1..30),
        ) {
            let scores = constant.map_or_else(|| scores(labels), |score| vec![score; labels * labels]);
            let order: Vec<u32> = order.into_iter().filter(|&y| (y as usize) < labels).collect();
            let dense = || Edges::dense(labels, scores.clone()).unwrap();
            follow(dense(), scores.clone(), &changes);
            follow(dense().ranked(order.clone()).unwrap(), scores.clone(), &changes);
            follow(sparse(labels, &scores, base), scores.clone(), &changes);
            let by_class = scores_by_class(labels);
            follow(classes(labels, &by_class), by_class.clone(), &changes);
            follow(classes(labels, &by_class).ranked(order.clone()).unwrap(), by_class, &changes);
            follow(sparse(labels, &scores, base).ranked(order).unwrap(), scores.clone(), &changes);
        }
    }
}
