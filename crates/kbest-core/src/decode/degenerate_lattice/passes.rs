//! Forward and backward passes over a degenerate lattice: Viterbi over active and degenerate labels, pruning on the
//! way.

use super::{DegenerateLattice, Direction, Slot};
use crate::decode::Tally;
use crate::decode::gather::GatherEdges;
use crate::lattice::Lattice;
use crate::simd::Float;

/// The result of a pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passed<S> {
    /// Score of the best path of active labels.
    pub active: S,
    /// Upper bound on every path with an inactive label.
    pub mixed: S,
}

impl<S: Float> DegenerateLattice<S> {
    /// One pass; nodes whose bound lies below the threshold are dropped on the way. The caller counts the round, as the
    /// papers do: a last pass that only repeats the judge's additions is none.
    pub(crate) fn pass(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl GatherEdges<S>,
        direction: Direction,
        threshold: S,
        tally: &mut impl Tally,
    ) -> Passed<S> {
        // The bounds from the other side are known once a backward pass has begun: the first pass goes forward.
        self.bounded |= direction == Direction::Backward;
        let threshold = self.bounded.then_some(threshold);
        self.direction = direction;
        match direction {
            Direction::Forward => self.forward(lattice, edges, threshold, tally),
            Direction::Backward => self.backward(lattice, edges, threshold, tally),
        }
        self.passed(lattice)
    }

    fn forward(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl GatherEdges<S>,
        threshold: Option<S>,
        tally: &mut impl Tally,
    ) {
        for node in &mut self.columns[0].nodes {
            (node.forward, node.active, node.mixed) = (S::ZERO, node.node, S::FORBIDDEN);
        }
        if let Some(rest) = &mut self.columns[0].rest {
            (rest.forward, rest.mixed) = (S::ZERO, rest.node);
        }
        self.columns[0].prune(0, threshold, tally);
        self.columns[0].report(0, tally);
        for t in 1..self.positions {
            let (before, from) = self.columns.split_at_mut(t);
            let (previous, column) = (&before[t - 1], &mut from[0]);
            let bounds = lattice.degenerate(t);
            column.report(t, tally);
            tally.edges(previous.size() * column.size());
            let size = column.nodes.len();
            self.targets.fill(column.nodes.iter().map(|node| node.label));
            for buffer in [&mut self.row, &mut self.active, &mut self.mixed] {
                buffer.clear();
                buffer.resize(size, S::FORBIDDEN);
            }
            let mut into_rest = S::FORBIDDEN;
            let to_rest = column.rest.map(|_| bounds.entering_rest(column.level));
            for p in &previous.nodes {
                let row = edges.gather(t, p.label as usize, self.targets.view(), &mut self.row);
                S::max_plus_row(&mut self.active, p.active, row);
                if !p.mixed.is_forbidden() {
                    S::max_plus_row(&mut self.mixed, p.mixed, row);
                }
                if let Some(to_rest) = to_rest {
                    into_rest = into_rest.larger(p.either() + to_rest.at(p.label as usize));
                }
            }
            if let Some(rest) = previous.rest {
                let from_rest = bounds.leaving_rest(previous.level);
                for (mixed, node) in self.mixed.iter_mut().zip(&column.nodes) {
                    *mixed = mixed.larger(rest.mixed + from_rest.at(node.label as usize));
                }
                if column.rest.is_some() {
                    into_rest = into_rest.larger(rest.mixed + bounds.between(previous.level, column.level));
                }
            }
            for (i, node) in column.nodes.iter_mut().enumerate() {
                node.forward = self.active[i].larger(self.mixed[i]);
                (node.active, node.mixed) = (self.active[i] + node.node, self.mixed[i] + node.node);
            }
            if let Some(rest) = &mut column.rest {
                (rest.forward, rest.mixed) = (into_rest, into_rest + rest.node);
            }
            column.prune(t, threshold, tally);
        }
    }

    fn backward(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl GatherEdges<S>,
        threshold: Option<S>,
        tally: &mut impl Tally,
    ) {
        let last = &mut self.columns[self.positions - 1];
        for node in &mut last.nodes {
            let end = lattice.with_end_score(S::ZERO, node.label as usize);
            (node.backward, node.active, node.mixed) = (end, end, S::FORBIDDEN);
        }
        if let Some(rest) = &mut last.rest {
            (rest.backward, rest.mixed) = (self.rest_ends[last.level], self.rest_ends[last.level]);
        }
        last.prune(self.positions - 1, threshold, tally);
        last.report(self.positions - 1, tally);
        for t in (0..self.positions - 1).rev() {
            let (until, after) = self.columns.split_at_mut(t + 1);
            let (column, next) = (&mut until[t], &after[0]);
            let bounds = lattice.degenerate(t + 1);
            column.report(t, tally);
            tally.edges(column.size() * next.size());
            self.targets.fill(next.nodes.iter().map(|node| node.label));
            self.row.resize(next.nodes.len(), S::FORBIDDEN);
            for buffer in [&mut self.active, &mut self.mixed] {
                buffer.clear();
            }
            self.active.extend(next.nodes.iter().map(|node| node.node + node.active));
            self.mixed.extend(next.nodes.iter().map(|node| node.node + node.mixed));
            let row = &mut self.row[..next.nodes.len()];
            let any_mixed = next.nodes.iter().any(|node| !node.mixed.is_forbidden());
            let into_rest = next.rest.map(|rest| (bounds.entering_rest(next.level), rest.node + rest.mixed));
            for node in &mut column.nodes {
                let row = edges.gather(t + 1, node.label as usize, self.targets.view(), row);
                node.active = S::max_of_sum(row, &self.active);
                node.mixed = if any_mixed { S::max_of_sum(row, &self.mixed) } else { S::FORBIDDEN };
                if let Some((to_rest, score)) = into_rest {
                    node.mixed = node.mixed.larger(to_rest.at(node.label as usize) + score);
                }
                node.backward = node.either();
            }
            if let Some(rest) = &mut column.rest {
                let from_rest = bounds.leaving_rest(column.level);
                let mut best = S::FORBIDDEN;
                for (i, node) in next.nodes.iter().enumerate() {
                    let score = self.active[i].larger(self.mixed[i]);
                    best = best.larger(from_rest.at(node.label as usize) + score);
                }
                if let Some((_, score)) = into_rest {
                    best = best.larger(bounds.between(column.level, next.level) + score);
                }
                (rest.backward, rest.mixed) = (best, best);
            }
            column.prune(t, threshold, tally);
        }
    }

    fn passed(&self, lattice: &Lattice<'_, S>) -> Passed<S> {
        let column = &self.columns[self.end_of_pass()];
        let mut passed = Passed { active: S::FORBIDDEN, mixed: S::FORBIDDEN };
        for (i, node) in column.nodes.iter().enumerate() {
            let slot = Slot::Active(i);
            passed.active = passed.active.larger(self.completed(lattice, slot, node.active));
            passed.mixed = passed.mixed.larger(self.completed(lattice, slot, node.mixed));
        }
        if let Some(rest) = &column.rest {
            passed.mixed = passed.mixed.larger(self.completed(lattice, Slot::Rest, rest.mixed));
        }
        passed
    }
}
