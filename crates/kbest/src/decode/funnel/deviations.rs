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
//! **Cost.** A few steps for each path found, one addition of an edge and a node for each position behind its deviation,
//! and a copy of the labels; of paths that have children, a copy of what each position adds, too. **When not.** Where very
//! many paths lose the same (ties, or rounding as large as the margin): the number of paths found is limited, and beyond
//! that [`crate::decode::path_space`] has to do it, which never finds more than `k`.

use super::graph::{END, Graph, NONE, Way};
use super::sorting::{Buckets, keep_smallest, sort_few};
use crate::decode::Decoded;
use crate::kernel::Float;
use crate::label::LabelId;
use crate::lattice::Lattice;

/// A path found: that of its parent, but over another way.
#[derive(Debug, Clone, Copy)]
struct Found<S> {
    parent: u32,
    way: u32,  // NONE for the best path
    into: u32, // the node that it leads into
    loss: S,
    has_children: bool,
    row: u32, // which of the rows is its own, if it has children
}

/// What a position of a path adds.
#[derive(Debug, Clone, Copy)]
struct Step<S> {
    node: S,
    edge: S, // to the next position (the end score at the last)
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Deviations<S> {
    found: Vec<Found<S>>,
    losses: Vec<S>,
    scores: Vec<S>,
    buckets: Buckets,
    labels: Vec<LabelId>, // rows of parents, one after another
    steps: Vec<Step<S>>,  // the same
    order: Vec<(S, u32)>, // scores, and which path has them
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
        if !self.find(graph, k, limit, slack) {
            return false;
        }
        self.score_all(lattice, graph);
        let Deviations { scores, losses, buckets, order, .. } = self;
        let best = scores[0];
        losses.clear();
        losses.extend(scores.iter().map(|&score| best - score));
        let most = losses.iter().fold(S::ZERO, |most, &loss| most.larger(loss));
        order.clear();
        order.extend(buckets.smallest(losses, most, k).iter().map(|&found| (scores[found as usize], found)));
        let others = &mut order[1..]; // the best path is the first one, whatever others score as much
        sort_few(others, |&(score, _)| -score);
        // As many as are wanted, and those that score as much as the last of them.
        let mut past = k.min(self.order.len());
        while past < self.order.len() && self.order[past].0 == self.order[past - 1].0 {
            past += 1;
        }
        for rank in 0..past {
            self.push_path(graph, lattice.positions(), self.order[rank], out);
        }
        for equal in out.paths[1..].chunk_by_mut(|a, b| a.score == b.score) {
            equal.sort_unstable_by(|a, b| a.labels.iter().rev().cmp(b.labels.iter().rev()));
        }
        out.keep_paths(k);
        true
    }

    /// Finds all paths that may be among the `k` best, unless they are too many.
    fn find(&mut self, graph: &Graph<S>, k: usize, mut limit: S, slack: S) -> bool {
        let new = |parent, way, into, loss| Found { parent, way, into, loss, has_children: false, row: 0 };
        self.found.clear();
        self.found.push(new(NONE, NONE, END, S::ZERO));
        let mut many = k.saturating_mul(2).saturating_add(64);
        let too_many = many.saturating_mul(4);
        let mut at = 0;
        while let Some(&Found { way, loss, .. }) = self.found.get(at) {
            let mut node = if way == NONE { END } else { graph.ways[way as usize].from };
            let known = self.found.len();
            // Lower bound: no path to this node but the best one loses less than its gap.
            while loss + graph.nodes[node as usize].gap <= limit {
                let into = graph.nodes[node as usize].branch;
                let Some(branch) = graph.nodes.get(into as usize) else { break };
                for other in branch.first + 1..branch.past {
                    let loss = loss + graph.ways[other as usize].loss;
                    if loss <= limit {
                        self.found.push(new(at as u32, other, into, loss));
                    }
                }
                node = graph.best_way(into).from;
            }
            self.found[at].has_children = self.found.len() > known;
            if self.found.len() >= many {
                limit = self.tighten(k, limit, slack);
                if self.found.len() >= too_many {
                    return false;
                }
                many += many / 2;
            }
            at += 1;
        }
        true
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

    /// Scores the paths found, and makes the rows of parents.
    fn score_all(&mut self, lattice: &Lattice<'_, S>, graph: &Graph<S>) {
        let (positions, has_end) = (lattice.positions(), lattice.end().is_some());
        self.scores.clear();
        self.labels.clear();
        self.labels.resize(positions, NONE);
        self.steps.clear();
        self.steps.resize(positions, Step { node: S::ZERO, edge: S::ZERO });
        let last = graph.best_way(END);
        change_row(graph, last, positions - 1, &mut self.labels, &mut self.steps);
        self.scores.push(score(graph.nodes[last.from as usize].alpha, last.edge, &[], has_end));
        for i in 1..self.found.len() {
            let Found { parent, way, into, has_children, .. } = self.found[i];
            let (way, t) = (&graph.ways[way as usize], graph.nodes[into as usize].t as usize - 1);
            let first = self.found[parent as usize].row as usize * positions;
            let row = first..first + positions;
            let after = &self.steps[first + t + 1..row.end];
            self.scores.push(score(graph.nodes[way.from as usize].alpha, way.edge, after, has_end));
            if has_children {
                let own = self.labels.len();
                self.labels.extend_from_within(row.clone());
                self.steps.extend_from_within(row);
                self.found[i].row = (own / positions) as u32;
                change_row(graph, way, t, &mut self.labels[own..], &mut self.steps[own..]);
            }
        }
    }

    /// Pushes a path with its score.
    fn push_path(&self, graph: &Graph<S>, positions: usize, (score, found): (S, u32), out: &mut Decoded<S>) {
        let Found { parent, way, into, has_children, row, .. } = self.found[found as usize];
        let is_row = has_children || way == NONE;
        let row = if is_row { row } else { self.found[parent as usize].row } as usize * positions;
        let mut path = out.take_spare();
        path.score = score;
        path.labels.clear();
        path.labels.extend_from_slice(&self.labels[row..row + positions]);
        if !is_row {
            let t = graph.nodes[into as usize].t as usize - 1;
            for (t, way) in graph.ways_back(&graph.ways[way as usize], t) {
                if std::mem::replace(&mut path.labels[t], way.label) == way.label {
                    break; // from here to the start the parent has the best ways, too
                }
            }
        }
        out.paths.push(path);
    }
}

/// Changes a copy of the parent's row by a deviation at position `t`.
fn change_row<S: Float>(
    graph: &Graph<S>,
    way: &Way<S>,
    t: usize,
    labels: &mut [LabelId],
    steps: &mut [Step<S>],
) {
    for (t, way) in graph.ways_back(way, t) {
        steps[t] = Step { node: way.node, edge: way.edge }; // where both meet, the edge is another one
        if std::mem::replace(&mut labels[t], way.label) == way.label {
            break; // from here to the start the parent has the best ways, too
        }
    }
}

/// The judge's score of a path, given its forward score at some position, the edge from there, and what follows.
fn score<S: Float>(alpha: S, edge: S, after: &[Step<S>], has_end: bool) -> S {
    let (mut score, mut edge) = (alpha, edge);
    for step in after {
        score = score + edge + step.node;
        edge = step.edge;
    }
    if has_end { score + edge } else { score }
}
