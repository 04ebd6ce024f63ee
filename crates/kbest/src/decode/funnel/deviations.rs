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

use super::graph::{END, Graph, NONE};
use super::layers::by_size;
use crate::decode::{Decoded, Path};
use crate::kernel::Float;
use crate::lattice::Lattice;
use std::cmp::Ordering;

/// A path found: that of its parent, but over another way.
#[derive(Debug, Clone, Copy)]
struct Found<S> {
    parent: u32,
    way: u32,  // NONE for the best path
    into: u32, // the node that it leads into
    loss: S,
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Deviations<S> {
    found: Vec<Found<S>>,
    losses: Vec<S>,
    written: Vec<Path<S>>, // ways in the place of labels: that out of each position
    order: Vec<(S, u32)>,  // scores, and which path has them
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
        // The sum may overflow, as the judge's does: a path less.
        let legal = !self.order.iter().any(|(score, _)| score.is_forbidden());
        if legal {
            let Deviations { written, order, .. } = self;
            // The best path is the first one, whatever others score as much.
            order[1..].sort_unstable_by(|a, b| {
                if a.0 != b.0 {
                    return if a.0 > b.0 { Ordering::Less } else { Ordering::Greater };
                }
                let labels = |i: u32| {
                    written[i as usize].labels.iter().rev().map(|&way| graph.ways[way as usize].label)
                };
                labels(a.1).cmp(labels(b.1))
            });
            for &(_, i) in order.iter().take(k) {
                let mut path = std::mem::take(&mut written[i as usize]);
                path.labels.iter_mut().for_each(|way| *way = graph.ways[*way as usize].label);
                out.paths.push(path);
            }
            order.drain(..k.min(order.len()));
        }
        for &(_, i) in &self.order {
            out.give_back(std::mem::take(&mut self.written[i as usize]));
        }
        legal
    }

    /// Writes the paths found that lose no more than `limit`.
    fn write_all(&mut self, lattice: &Lattice<'_, S>, graph: &Graph<S>, limit: S, out: &mut Decoded<S>) {
        self.written.clear();
        self.order.clear();
        // A parent loses no more than its children: it is written, and before them.
        for i in 0..self.found.len() {
            let Found { parent, way, into, loss } = self.found[i];
            if loss > limit {
                continue;
            }
            let mut path = out.take_spare();
            if way == NONE {
                path.labels.clear();
                path.labels.resize(lattice.positions(), NONE);
            } else {
                let parent = self.found[parent as usize].into as usize;
                path.labels.clone_from(&self.written[parent].labels);
            }
            let changed = deviate(graph, way, into, &mut path.labels);
            path.score = score(lattice, graph, &path.labels[changed..]);
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
                node = graph.best_way(into).1.from;
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
        if self.found.len() < k {
            return limit;
        }
        self.losses.clear();
        self.losses.extend(self.found.iter().map(|found| found.loss));
        let (_, &mut last, _) = self.losses.select_nth_unstable_by(k - 1, by_size);
        let tight = last + slack + slack;
        if tight < limit { tight } else { limit }
    }
}

/// Changes a copy of the parent (way by way: that out of each position) into the path itself, and returns the position
/// from which on the path no longer is the best one to where it is.
fn deviate<S: Float>(graph: &Graph<S>, way: u32, into: u32, ways: &mut [u32]) -> usize {
    let mut t = graph.nodes[into as usize].t as usize;
    let mut node = into;
    if way != NONE {
        t -= 1;
        ways[t] = way;
        node = graph.ways[way as usize].from;
    }
    let deviation = t;
    while t > 0 {
        t -= 1;
        let (best, before) = graph.best_way(node);
        if ways[t] == best {
            break; // where both meet: from here to the start the parent has the best ways, too
        }
        ways[t] = best;
        node = before.from;
    }
    if way == NONE { 0 } else { deviation }
}

/// The judge's score of a path, given the ways from a position on; to that position it is the best one.
fn score<S: Float>(lattice: &Lattice<'_, S>, graph: &Graph<S>, ways: &[u32]) -> S {
    let way = |way: u32| &graph.ways[way as usize];
    let mut at = way(ways[0]);
    let mut score = graph.nodes[at.from as usize].alpha;
    for &next in &ways[1..] {
        let next = way(next);
        score = score + at.edge + next.node;
        at = next;
    }
    if lattice.end().is_some() { score + at.edge } else { score }
}
