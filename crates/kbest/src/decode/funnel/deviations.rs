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
        // A parent loses no more than its children: it is written, and before them.
        for i in 0..self.found.len() {
            let Found { parent, way, into, loss } = self.found[i];
            if loss > limit {
                continue;
            }
            self.found[i].into = out.paths.len() as u32; // from now on: where it is written
            let path = if way == NONE {
                out.push_path(lattice.positions(), S::ZERO);
                out.paths.last_mut()
            } else {
                Some(out.push_copy(self.found[parent as usize].into as usize))
            };
            let path = path.expect("a path was pushed");
            write(lattice, graph, way, into, path);
            if path.score.is_forbidden() {
                return false; // the sum overflowed, as the judge's does: a path less
            }
        }
        for path in &mut out.paths {
            path.labels.iter_mut().for_each(|way| *way = graph.ways[*way as usize].label);
        }
        // The best path is the first one whatever others score as much.
        out.paths[1..].sort_unstable_by(|a, b| {
            if a.score != b.score {
                return if a.score > b.score { Ordering::Less } else { Ordering::Greater };
            }
            a.labels.iter().rev().cmp(b.labels.iter().rev())
        });
        out.truncate(k);
        true
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
        let (_, &mut last, _) = self.losses.select_nth_unstable_by(k - 1, |a, b| {
            a.partial_cmp(b).expect("losses of legal paths are ordered")
        });
        let tight = last + slack + slack;
        if tight < limit { tight } else { limit }
    }
}

/// Changes a copy of the parent (way by way: the one out of each position) into the path itself, and scores it.
fn write<S: Float>(lattice: &Lattice<'_, S>, graph: &Graph<S>, way: u32, into: u32, path: &mut Path<S>) {
    let row = &mut path.labels[..];
    let ways = &graph.ways[..];
    let mut node = into;
    let mut t = graph.nodes[into as usize].t as usize;
    if way != NONE {
        t -= 1;
        row[t] = way;
        node = ways[way as usize].from;
    }
    let from = t;
    // Back to where both meet: from there on the parent has the best ways, too.
    while t > 0 {
        t -= 1;
        let (best, before) = graph.best_way(node);
        if way != NONE && row[t] == best {
            break;
        }
        row[t] = best;
        node = before.from;
    }
    // For the best path, from the start.
    let from = if way == NONE { 0 } else { from };
    let Some((&first, rest)) = row[from..].split_first() else { return };
    let mut at = &ways[first as usize];
    let mut score = graph.nodes[at.from as usize].alpha;
    for &next in rest {
        let next = &ways[next as usize];
        score = score + at.edge + next.node;
        at = next;
    }
    path.score = if lattice.end().is_some() { score + at.edge } else { score };
}
