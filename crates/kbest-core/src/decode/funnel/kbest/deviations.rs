//! The `k` best paths of a graph, each written as a deviation from a better one.
//!
//! **How.** A path takes the best way into each of its nodes except a few; without the exception nearest to the start,
//! it is its *parent*, which loses less. So all paths that lose at most some limit are listed from the best one, by
//! adding to each path every deviation before its own that the limit allows:
//!
//! ```text
//! loss(path) = loss(parent) + loss(way)                      0 for the best path
//! limit      = min(margin + slack, k-th smallest loss listed + 2 slack)
//! score      = alpha(way.from) + what the parent adds behind the way, in the judge's order
//! ```
//!
//! A path's labels are its parent's except for those between the deviation and the point where both meet again.
//!
//! **Why exact.** Losses are sums of differences and only rule out paths that are surely not among the `k` best
//! (`slack` allows for their rounding); the remaining paths are sorted by the judge's score, equal ones as
//! [`crate::decode::equal_paths`] says.
//!
//! **Cost.** A few steps per path listed; for each path that may be among the best, one addition of an edge and a node
//! per position after its deviation; for their parents and the paths pushed, a copy of the labels. **When not.** Where
//! very many paths lose the same (ties, or rounding as large as the margin): the number of paths listed is limited, and
//! beyond that [`crate::decode::path_space`] takes over, which never lists more than `k`.

use super::graph::{END, Graph, Way};
use super::smallest::{Buckets, keep_smallest};
use super::written::{Written, change_labels};
use crate::decode::equal_paths::EqualPaths;
use crate::decode::funnel::layers::NONE;
use crate::decode::funnel::sorting::sort_few;
use crate::decode::{Decoded, Tally};
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;

/// A path: its parent's path, but over another way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deviation<S> {
    pub(super) parent: u32, // index in `listed`
    way: u32,               // NONE for the best path
    into: u32,              // the node that the way leads into
    pub(super) loss: S,
    written: u32, // its number among the paths written out; NONE if it is not
}

impl<S: Float> Deviation<S> {
    /// The way over which it deviates, and the position that this way leaves. Not for the best path.
    #[inline(always)]
    fn way<'a>(&self, graph: &'a Graph<S>) -> (&'a Way<S>, usize) {
        (&graph.ways[self.way as usize], graph.nodes[self.into as usize].t as usize - 1)
    }
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Deviations<S> {
    pub(super) listed: Vec<Deviation<S>>, // parents before their children, the best path first
    parents: Vec<u32>,                    // those that may have children
    losses: Vec<S>,
    buckets: Buckets,
    written: Written<S>,
    scores: Vec<(S, u32)>, // scores and their paths
    ranked: Vec<(S, u32)>, // the same in order
    equals: EqualPaths<S>,
}

impl<S: Float> Deviations<S> {
    /// Pushes the `k` best of the paths that lose no more than `limit`, and returns whether it could: not if too many
    /// paths are as good as the `k`-th.
    pub(super) fn push_best(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl EdgeScores<S>,
        graph: &Graph<S>,
        k: usize,
        limit: S,
        slack: S,
        tally: &mut impl Tally,
        out: &mut Decoded<S>,
    ) -> bool {
        let Some(limit) = self.list(graph, k, limit, slack) else { return false };
        self.score_best(lattice, graph, k, limit, slack);
        let others = &mut self.ranked[1..]; // the best path comes first, even if others score as much
        sort_few(others, |&(score, _)| -score);
        // The paths requested, and those that score as much as the last of them.
        let mut past = k.min(self.ranked.len());
        while past < self.ranked.len() && self.ranked[past].0 == self.ranked[past - 1].0 {
            past += 1;
        }
        for rank in 0..past {
            self.push_path(graph, self.ranked[rank], out);
        }
        self.equals.sort(lattice, edges, &mut out.paths[1..], k - 1, tally);
        out.keep_paths(k);
        true
    }

    /// Lists all paths that may be among the `k` best, unless there are too many, and returns the most that they lose
    /// (except for some that were listed before the limit fell).
    fn list(&mut self, graph: &Graph<S>, k: usize, mut limit: S, slack: S) -> Option<S> {
        let new = |parent, way, into, loss| Deviation { parent, way, into, loss, written: NONE };
        self.listed.clear();
        self.listed.push(Deviation { written: 0, ..new(NONE, NONE, END, S::ZERO) });
        let mut check_at = k.saturating_mul(2).saturating_add(64);
        let too_many = check_at.saturating_mul(4);
        self.parents.clear();
        self.parents.push(0);
        let mut next = 0;
        while let Some(&parent) = self.parents.get(next) {
            next += 1;
            let Deviation { way, loss, .. } = self.listed[parent as usize];
            let mut node = if way == NONE { END } else { graph.ways[way as usize].from };
            // Lower bound: except for the best path to this node, none loses less than its gap.
            while loss + graph.nodes[node as usize].gap <= limit {
                let into = graph.nodes[node as usize].fork;
                let Some(fork) = graph.nodes.get(into as usize) else { break };
                for other in fork.first + 1..fork.past {
                    let way = &graph.ways[other as usize];
                    let loss = loss + way.loss;
                    if loss <= limit {
                        let child = self.listed.len() as u32;
                        self.listed.push(new(parent, other, into, loss));
                        // No branch, as it could not be predicted.
                        let has_children = loss + graph.nodes[way.from as usize].gap <= limit;
                        self.parents.push(child);
                        self.parents.truncate(self.parents.len() - usize::from(!has_children));
                    }
                }
                node = graph.best_way(into).from;
            }
            if self.listed.len() >= check_at {
                limit = self.tighten(k, limit, slack);
                if self.listed.len() >= too_many {
                    return None;
                }
                check_at += check_at / 2;
            }
        }
        Some(limit)
    }

    /// The limit, or the loss of the `k`-th best path listed if that is less. A path that is among the `k` best by its
    /// score may lose more than that only because of rounding, twice.
    fn tighten(&mut self, k: usize, limit: S, slack: S) -> S {
        self.losses.clear();
        self.losses.extend(self.listed.iter().map(|path| path.loss));
        let Some(last) = keep_smallest(&mut self.losses, k) else { return limit };
        let tight = last + slack + slack;
        if tight < limit { tight } else { limit }
    }

    /// Scores the paths listed that may be among the `k` best, and puts them nearly in order, the best one first.
    fn score_best(&mut self, lattice: &Lattice<'_, S>, graph: &Graph<S>, k: usize, limit: S, slack: S) {
        let Deviations { listed, written, buckets, scores, .. } = self;
        let (positions, has_end) = (lattice.positions(), lattice.end().is_some());
        written.begin(graph, positions);
        let losses = listed.iter().map(|path| path.loss);
        let large = if limit.is_legal() { limit } else { losses.clone().fold(S::ZERO, S::larger) };
        let good = buckets.smallest(losses, k, slack + slack, large);
        scores.clear();
        scores.push((written.score(0, graph, graph.best_way(END), positions - 1, has_end), 0));
        // In the order in which they were listed: siblings deviate ever nearer to the start, which is predictable.
        for &i in &good[1..] {
            let path = listed[i as usize];
            let parent = listed[path.parent as usize];
            let mut number = parent.written;
            if number == NONE {
                // The parent loses less, so it was also among these, and its own parent has been written.
                let (way, t) = parent.way(graph);
                number = written.add(listed[parent.parent as usize].written, graph, way, t);
                listed[path.parent as usize].written = number;
            }
            let (way, t) = path.way(graph);
            scores.push((written.score(number, graph, way, t, has_end), i));
        }
        buckets.put_in_order(scores.iter().copied(), &mut self.ranked);
    }

    /// Pushes a path with its score.
    fn push_path(&self, graph: &Graph<S>, (score, i): (S, u32), out: &mut Decoded<S>) {
        let deviation = self.listed[i as usize];
        let as_parent = deviation.written == NONE;
        let number =
            if as_parent { self.listed[deviation.parent as usize].written } else { deviation.written };
        let mut path = out.take_spare();
        path.score = score + S::ZERO; // as `Decoded::push_path`
        path.labels.clear();
        path.labels.extend_from_slice(self.written.labels(number));
        if as_parent {
            let (way, t) = deviation.way(graph);
            change_labels(&mut path.labels, graph, way, t, |_, _| ());
        }
        out.paths.push(path);
    }
}
