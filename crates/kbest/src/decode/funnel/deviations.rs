//! The `k` best paths of a graph, each written as a deviation from a better one.
//!
//! **How.** A path takes the best way into each of its nodes but for a few; leaving out the one nearest to the start gives
//! its *parent*, which loses less. So all paths that lose at most some limit are found from the best one, by adding to each
//! path found every deviation in front of its own that the limit allows. The limit is the margin of the graph, and falls to
//! what the `k`-th best of the paths found loses. A path's score is added up from its deviation on, as the judge does, over
//! what its parent adds there; its labels are its parent's but for those between the deviation and where both meet again.
//!
//! **Why exact.** Losses are sums of differences and decide only what is surely not among the `k` best (`slack` allows for
//! their rounding); the paths left are sorted by the judge's score, equal ones by their labels, read from the end.
//!
//! **Cost.** A few steps for each path found; for each that may be among the best, one addition of an edge and a node for
//! each position behind its deviation; for their parents and the paths pushed, a copy of the labels. **When not.** Where very
//! many paths lose the same (ties, or rounding as large as the margin): the number of paths found is limited, and beyond that
//! [`crate::decode::path_space`] has to do it, which never finds more than `k`.

use super::graph::{END, Graph, NONE, Way};
use super::rows::{Rows, change_labels};
use super::sorting::{Buckets, keep_smallest, sort_few};
use crate::decode::Decoded;
use crate::kernel::Float;
use crate::lattice::Lattice;

/// A path found: that of its parent, but over another way.
#[derive(Debug, Clone, Copy)]
struct Found<S> {
    parent: u32,
    way: u32,  // NONE for the best path
    into: u32, // the node that it leads into
    loss: S,
    row: u32, // which of the rows is its own, if it has one
}

impl<S: Float> Found<S> {
    /// The way over which it deviates, and the position from which that leads. Not of the best path.
    #[inline(always)]
    fn deviation<'a>(&self, graph: &'a Graph<S>) -> (&'a Way<S>, usize) {
        (&graph.ways[self.way as usize], graph.nodes[self.into as usize].t as usize - 1)
    }
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Deviations<S> {
    found: Vec<Found<S>>,
    parents: Vec<u32>, // those that may have children
    losses: Vec<S>,
    buckets: Buckets,
    rows: Rows<S>,
    scores: Vec<(S, u32)>, // scores, and which path has them
    order: Vec<(S, u32)>,  // the same in order
}

impl<S: Float> Deviations<S> {
    /// Pushes the `k` best of the paths that lose no more than `limit`, and says whether it could: not if too many paths
    /// are as good as the `k`-th.
    pub(super) fn push_best(
        &mut self,
        lattice: &Lattice<'_, S>,
        graph: &Graph<S>,
        k: usize,
        limit: S,
        slack: S,
        out: &mut Decoded<S>,
    ) -> bool {
        let Some(limit) = self.find(graph, k, limit, slack) else { return false };
        self.score_best(lattice, graph, k, limit, slack);
        let others = &mut self.order[1..]; // the best path is the first one, whatever others score as much
        sort_few(others, |&(score, _)| -score);
        // As many as are wanted, and those that score as much as the last of them.
        let mut past = k.min(self.order.len());
        while past < self.order.len() && self.order[past].0 == self.order[past - 1].0 {
            past += 1;
        }
        for rank in 0..past {
            self.push_path(graph, self.order[rank], out);
        }
        for equal in out.paths[1..].chunk_by_mut(|a, b| a.score == b.score) {
            equal.sort_unstable_by(|a, b| a.labels.iter().rev().cmp(b.labels.iter().rev()));
        }
        out.keep_paths(k);
        true
    }

    /// Finds all paths that may be among the `k` best, unless they are too many, and returns what they lose at most (but for
    /// some that were found before the limit fell).
    fn find(&mut self, graph: &Graph<S>, k: usize, mut limit: S, slack: S) -> Option<S> {
        let new = |parent, way, into, loss| Found { parent, way, into, loss, row: NONE };
        self.found.clear();
        self.found.push(Found { row: 0, ..new(NONE, NONE, END, S::ZERO) });
        let mut many = k.saturating_mul(2).saturating_add(64);
        let too_many = many.saturating_mul(4);
        self.parents.clear();
        self.parents.push(0);
        let mut next = 0;
        while let Some(&parent) = self.parents.get(next) {
            next += 1;
            let Found { way, loss, .. } = self.found[parent as usize];
            let mut node = if way == NONE { END } else { graph.ways[way as usize].from };
            // Lower bound: no path to this node but the best one loses less than its gap.
            while loss + graph.nodes[node as usize].gap <= limit {
                let into = graph.nodes[node as usize].branch;
                let Some(branch) = graph.nodes.get(into as usize) else { break };
                for other in branch.first + 1..branch.past {
                    let way = &graph.ways[other as usize];
                    let loss = loss + way.loss;
                    if loss <= limit {
                        let found = self.found.len() as u32;
                        self.found.push(new(parent, other, into, loss));
                        // No branch, as none could be foreseen.
                        let has_children = loss + graph.nodes[way.from as usize].gap <= limit;
                        self.parents.push(found);
                        self.parents.truncate(self.parents.len() - usize::from(!has_children));
                    }
                }
                node = graph.best_way(into).from;
            }
            if self.found.len() >= many {
                limit = self.tighten(k, limit, slack);
                if self.found.len() >= too_many {
                    return None;
                }
                many += many / 2;
            }
        }
        Some(limit)
    }

    /// The limit, or what the `k`-th best of the paths found loses if that is less. A path that is among the `k` best by
    /// its score, too, may lose more than that only by rounding, twice.
    fn tighten(&mut self, k: usize, limit: S, slack: S) -> S {
        self.losses.clear();
        self.losses.extend(self.found.iter().map(|found| found.loss));
        let Some(last) = keep_smallest(&mut self.losses, k) else { return limit };
        let tight = last + slack + slack;
        if tight < limit { tight } else { limit }
    }

    /// Scores the paths found that may be among the `k` best, and puts them nearly in order, the best one first.
    fn score_best(&mut self, lattice: &Lattice<'_, S>, graph: &Graph<S>, k: usize, limit: S, slack: S) {
        let Deviations { found: all, rows, buckets, scores, .. } = self;
        let (positions, has_end) = (lattice.positions(), lattice.end().is_some());
        rows.begin(graph, positions);
        let losses = all.iter().map(|found| found.loss);
        let large = if limit.is_legal() { limit } else { losses.clone().fold(S::ZERO, S::larger) };
        let wanted = buckets.smallest(losses, k, slack + slack, large);
        scores.clear();
        scores.push((rows.score(0, graph, graph.best_way(END), positions - 1, has_end), 0));
        // In the order in which they were found: siblings deviate ever nearer to the start, which can be foreseen.
        for &i in &wanted[1..] {
            let found = all[i as usize];
            let parent = all[found.parent as usize];
            let mut row = parent.row;
            if row == NONE {
                let (way, t) = parent.deviation(graph);
                row = rows.add(all[parent.parent as usize].row, graph, way, t);
                all[found.parent as usize].row = row;
            }
            let (way, t) = found.deviation(graph);
            scores.push((rows.score(row, graph, way, t, has_end), i));
        }
        buckets.put_in_order(scores.iter().copied(), &mut self.order);
    }

    /// Pushes a path with its score.
    fn push_path(&self, graph: &Graph<S>, (score, found): (S, u32), out: &mut Decoded<S>) {
        let found = self.found[found as usize];
        let of_parent = found.row == NONE;
        let row = if of_parent { self.found[found.parent as usize].row } else { found.row };
        let mut path = out.take_spare();
        path.score = score;
        path.labels.clear();
        path.labels.extend_from_slice(self.rows.labels(row));
        if of_parent {
            let (way, t) = found.deviation(graph);
            change_labels(&mut path.labels, graph, way, t, |_, _| ());
        }
        out.paths.push(path);
    }
}
