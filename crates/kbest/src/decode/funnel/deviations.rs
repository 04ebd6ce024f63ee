//! The `k` best paths of a graph, each written as a deviation from a better one.
//!
//! **How.** A path takes the best way into each of its nodes but for a few; leaving out the one nearest to the start gives
//! its *parent*, which loses less. So all paths that lose at most some limit are found from the best one, by adding to each
//! path found every deviation in front of its own that the limit allows. The limit is the margin of the graph, and falls to
//! what the `k`-th best of the paths found loses. A path is written by copying its parent and walking from the deviation back
//! to where both meet again; its score is added up from the deviation on, as the judge does.
//!
//! **Why exact.** Losses are sums of differences and decide only what is surely not among the `k` best (`slack` allows for
//! their rounding); the paths left are sorted by the judge's score, equal ones by their labels, read from the end.
//!
//! **Cost.** A few steps for each path found, one addition of an edge and a node for each position behind its deviation,
//! and the copy. **When not.** Where very many paths lose the same (ties, or rounding as large as the margin): the number
//! of paths found is limited, and beyond that [`crate::decode::path_space`] has to do it, which never finds more than `k`.

use super::graph::{END, Graph, NONE, Way};
use super::sorting::{by_size, keep_smallest};
use crate::decode::{Decoded, Path};
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
}

/// A position of a path.
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
    written: Vec<Path<S>>,
    steps: Vec<Step<S>>,  // of the paths written, one after another
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
        let Some(limit) = self.find(graph, k, limit, slack) else { return false };
        self.write_all(lattice, graph, limit, out);
        let Deviations { written, order, .. } = self;
        let others = &mut order[1..]; // the best path is the first one, whatever others score as much
        others.sort_unstable_by(|(a, _), (b, _)| by_size(b, a));
        for equal in others.chunk_by_mut(|(a, _), (b, _)| a == b) {
            let labels = |&(_, place): &(S, u32)| written[place as usize].labels.iter().rev();
            equal.sort_unstable_by(|a, b| labels(a).cmp(labels(b)));
        }
        for (rank, &(_, place)) in order.iter().enumerate() {
            let path = std::mem::take(&mut written[place as usize]);
            if rank < k {
                out.paths.push(path);
            } else {
                out.give_back(path);
            }
        }
        true
    }

    /// Writes the paths found that lose no more than `limit`.
    fn write_all(&mut self, lattice: &Lattice<'_, S>, graph: &Graph<S>, limit: S, out: &mut Decoded<S>) {
        let positions = lattice.positions();
        self.written.clear();
        self.order.clear();
        let room = self.found.iter().filter(|found| found.loss <= limit).count() * positions;
        if self.steps.len() < room {
            self.steps.resize(room, Step { node: S::ZERO, edge: S::ZERO });
        }
        // A parent loses no more than its children: it is written, and before them.
        for i in 0..self.found.len() {
            let Found { parent, way, into, loss } = self.found[i];
            if loss > limit {
                continue;
            }
            let mut path = out.take_spare();
            let first = self.written.len() * positions;
            if way == NONE {
                path.labels.clear();
                path.labels.resize(positions, NONE);
            } else {
                let parent = self.found[parent as usize].into as usize;
                path.labels.clone_from(&self.written[parent].labels);
                self.steps.copy_within(parent * positions..(parent + 1) * positions, first);
            }
            let steps = &mut self.steps[first..first + positions];
            let (changed, alpha) = deviate(graph, way, into, &mut path.labels, steps);
            path.score = score(alpha, &steps[changed..], lattice.end().is_some());
            let place = self.written.len() as u32;
            self.found[i].into = place; // from now on: where it is written
            self.order.push((path.score, place));
            self.written.push(path);
        }
    }

    /// Finds all paths that may be among the `k` best, and returns what these lose at most.
    fn find(&mut self, graph: &Graph<S>, k: usize, mut limit: S, slack: S) -> Option<S> {
        self.found.clear();
        self.found.push(Found { parent: NONE, way: NONE, into: END, loss: S::ZERO });
        let mut many = k.saturating_mul(2).saturating_add(64);
        let too_many = many.saturating_mul(4);
        let mut at = 0;
        while let Some(&Found { way, loss, .. }) = self.found.get(at) {
            let mut node = if way == NONE { END } else { graph.ways[way as usize].from };
            // Lower bound: no path to this node but the best one loses less than its gap.
            while loss + graph.nodes[node as usize].gap <= limit {
                let into = graph.nodes[node as usize].branch;
                let Some(branch) = graph.nodes.get(into as usize) else { break };
                for other in branch.first + 1..branch.past {
                    let loss = loss + graph.ways[other as usize].loss;
                    if loss > limit {
                        break; // so do all after it
                    }
                    self.found.push(Found { parent: at as u32, way: other, into, loss });
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
            at += 1;
        }
        limit = self.tighten(k, limit, slack);
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
}

/// Changes a copy of the parent into the path itself, and returns the position from which on the path no longer is the best
/// one to where it is, and its forward score there.
fn deviate<S: Float>(
    graph: &Graph<S>,
    way: u32,
    into: u32,
    labels: &mut [LabelId],
    steps: &mut [Step<S>],
) -> (usize, S) {
    let mut take = |t: usize, way: &Way<S>| {
        let meets = labels[t] == way.label;
        labels[t] = way.label;
        steps[t] = Step { node: way.node, edge: way.edge };
        meets
    };
    let mut t = graph.nodes[into as usize].t as usize;
    let mut node = into;
    let mut deviation = 0;
    if way != NONE {
        t -= 1;
        let way = &graph.ways[way as usize];
        take(t, way);
        (node, deviation) = (way.from, t);
    }
    let deviating = node;
    while t > 0 {
        t -= 1;
        let way = graph.best_way(node);
        node = way.from;
        if take(t, way) {
            break; // where both meet: from here to the start the parent has the best ways, too
        }
    }
    let from = if way == NONE { node } else { deviating };
    (deviation, graph.nodes[from as usize].alpha)
}

/// The judge's score of a path, given its forward score at the first of these steps.
fn score<S: Float>(alpha: S, steps: &[Step<S>], has_end: bool) -> S {
    let mut score = alpha;
    for pair in steps.windows(2) {
        score = score + pair[0].edge + pair[1].node;
    }
    if has_end { score + steps[steps.len() - 1].edge } else { score }
}
