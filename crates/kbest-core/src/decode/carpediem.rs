//! CarpeDiem: opens the vertices of a layer in order of their own score and stops as soon as no other can win.
//!
//! **What.** Exact 1-best search that reads an edge only if the node scores do not settle the answer. The *forward
//! strategy* (Algorithm 3) finds the best score `gamma*` of each layer, the *backward strategy* (Algorithm 4) opens one
//! vertex by finding its best predecessor, going back to open more of the earlier layers where necessary.
//!
//! ```text
//! B[t]     = gamma*[t-1] + S1*[t]                          no path reaches layer t with more      (equation 4)
//! forward:   open y at t      while  G(best)        <  B[t] + node[t][y]
//! backward:  open p at t - 1  while  G(q) + edge(q) <= B[t-1] + node[t-1][p] + S1*[t]
//! ```
//!
//! Vertices come in descending node score, lower labels first, so the right-hand sides only fall and the first
//! vertex that fails ends the walk.
//!
//! **Why exact, ties and last bits included.** Each bound is added in the judge's order with terms replaced by larger
//! ones, and rounding is monotone: `(gamma* + S1*) + node` is never below `(alpha[p] + edge) + node`, so no allowance
//! for rounding is needed. The paper stops on equality. That is correct where only the value `gamma*` is wanted (all
//! layers except the last), but a vertex that ties may have a lower label, so Algorithm 4 and the last layer continue
//! while equality is possible and then take the lowest label. The end scores are part of the last layer's order and
//! bound. A forbidden vertex has the bound minus infinity and is never opened.
//!
//! **Cost.** `T L` to `T L^2` time; a layer is sorted lazily, 16 labels first, then twice as many. Memory grows with
//! the opened vertices, not with `T L`. **When not.** Edges as strong as nodes: most vertices are opened, one by one.
//! **Paper.** Esposito & Radicioni (2009), section 4, Algorithms 2-4; the recursion of Algorithm 4 is a work list here.

use super::gather::GatherEdges;
use super::{Algorithm, Decoded, Job, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;
use std::cmp::Ordering;

/// Number of labels of a layer that are sorted at first.
const FIRST_SORTED: usize = 16;

/// The bound `S1*` on the best edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CarpeDiemBound {
    /// The best edge of the graph, one for all positions, as in the paper. `graph` on the command line.
    Graph,
    /// The best edge into the position: the same where all positions share their edges. `position` on the command line.
    #[default]
    Position,
    /// The same, and where a vertex is opened the best edge into its label: never more vertices, often fewer. `column` on
    /// the command line.
    Column,
}

impl CarpeDiemBound {
    const NAMES: [(&'static str, CarpeDiemBound); 3] = [
        ("graph", CarpeDiemBound::Graph),
        ("position", CarpeDiemBound::Position),
        ("column", CarpeDiemBound::Column),
    ];
}

/// The CarpeDiem decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CarpeDiem {
    /// The bound on edges.
    pub bound: CarpeDiemBound,
}

/// Layers, and what is known about their most promising vertices.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    layers: Vec<Layer<S>>,
    order: Vec<LabelId>, // each layer's labels by descending node score, as far as sorted
    score: Vec<S>,       // parallel to `order`: the best score of a path that ends there, if opened
    from: Vec<u32>,      // parallel to `order`: the rank of its predecessor in the layer before
    work: Vec<Opening<S>>,
    keys: Vec<S>, // L: the sort keys of the last layer
    unsorted: Vec<LabelId>,
}

/// One layer: the opened vertices are always the first ones of its order.
#[derive(Debug, Clone, Copy)]
struct Layer<S> {
    first: usize,  // where it begins in `order`
    sorted: usize, // labels sorted so far
    opened: usize,
    bound: S, // B[t]: no path arrives with more
}

/// A vertex being opened: one frame of Algorithm 4.
#[derive(Debug, Clone, Copy)]
struct Opening<S> {
    t: usize,
    y: LabelId,
    rank: usize, // next predecessor to look at
    best: S,     // score through the best predecessor so far, without its own node
    from: u32,   // its rank
    from_label: LabelId,
}

impl Algorithm for CarpeDiem {
    fn with_option(self, option: &str) -> Result<Self> {
        let known = CarpeDiemBound::NAMES.iter().find(|(name, _)| *name == option);
        known.map(|&(_, bound)| CarpeDiem { bound }).ok_or_else(|| Error::UnknownName {
            what: "bound of carpediem",
            name: option.into(),
            expected: CarpeDiemBound::NAMES.map(|(name, _)| name).join(", "),
        })
    }

    fn option(&self) -> Option<String> {
        let named = CarpeDiemBound::NAMES.iter().find(|(_, bound)| *bound == self.bound);
        named.filter(|_| *self != CarpeDiem::default()).map(|(name, _)| (*name).into())
    }

    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, scratch, tally, out, .. } = job;
        Search::new(lattice, edges, self.bound, &mut scratch.carpediem, tally).run(out)
    }
}

struct Search<'s, 'l, S: Float, E, T> {
    lattice: &'s Lattice<'l, S>,
    edges: &'s E,
    bound: CarpeDiemBound,
    graph: Option<S>, // the best edge of the graph, if that is the bound
    memory: &'s mut Memory<S>,
    tally: &'s mut T,
}

impl<'s, 'l, S: Float, E: EdgeScores<S>, T: Tally> Search<'s, 'l, S, E, T> {
    fn new(
        lattice: &'s Lattice<'l, S>,
        edges: &'s E,
        bound: CarpeDiemBound,
        memory: &'s mut Memory<S>,
        tally: &'s mut T,
    ) -> Self {
        let largest =
            || (1..lattice.positions()).map(|t| edges.bounds(t).overall).fold(S::FORBIDDEN, S::larger);
        let graph = (bound == CarpeDiemBound::Graph).then(largest);
        Search { lattice, edges, bound, graph, memory, tally }
    }

    /// `S1*` of the edges into position `t`.
    fn best_edge(&self, t: usize) -> S {
        self.graph.unwrap_or_else(|| self.edges.bounds(t).overall)
    }

    /// Algorithm 2.
    fn run(&mut self, out: &mut Decoded<S>) -> Result<()> {
        let last = self.lattice.positions() - 1;
        self.tally.round();
        let mut gamma = self.open_first_layer();
        for t in 1..=last {
            let bound = gamma + self.best_edge(t);
            let first = self.memory.order.len();
            self.memory.layers.push(Layer { first, sorted: 0, opened: 0, bound });
            if t < last {
                gamma = self.best_of_layer(t);
            }
        }
        let (best, rank) = self.best_end(last).ok_or(Error::NoPath)?;
        self.trace_back(last, rank, out.push_path(last + 1, best));
        Ok(())
    }

    /// Opens all of layer 0, in label order since any order will do, and returns its best score.
    fn open_first_layer(&mut self) -> S {
        let labels = self.lattice.labels();
        let Memory { layers, order, score, from, .. } = &mut *self.memory;
        layers.clear();
        layers.push(Layer { first: 0, sorted: labels, opened: labels, bound: S::FORBIDDEN });
        order.clear();
        order.extend(0..labels as LabelId);
        score.clear();
        score.extend((0..labels).map(|y| self.lattice.first_score(y)));
        from.clear();
        from.resize(labels, 0);
        self.tally.opened_each(0, 0..labels as LabelId);
        S::largest(&self.memory.score)
    }

    /// Algorithm 3 on a layer before the last: its best score, which is all that later layers need.
    fn best_of_layer(&mut self, t: usize) -> S {
        let mut best = S::FORBIDDEN;
        for rank in 0..self.lattice.labels() {
            let y = self.label_at(t, rank);
            // Upper bound on this vertex and all after it in the order. A tie would not change the value, so stop.
            let limit = self.memory.layers[t].bound + self.lattice.node_row(t)[y as usize];
            if limit <= best {
                self.tally.pruned(t, y);
                break;
            }
            best = best.larger(self.open(t, y));
        }
        best
    }

    /// Algorithm 3 on the last layer, including end scores: the best score and its rank.
    fn best_end(&mut self, last: usize) -> Option<(S, usize)> {
        self.sort_last_layer_by_bound(last);
        let (mut best, mut best_rank, mut best_label) = (S::FORBIDDEN, None, LabelId::MAX);
        for rank in 0..self.lattice.labels() {
            let y = self.label_at(last, rank);
            // Upper bound on this vertex and, being the sort key, on all after it; with equality a lower label may win.
            let limit = self.memory.keys[y as usize];
            if limit.is_forbidden() || limit < best || (limit == best && best_label == 0) {
                self.tally.pruned(last, y);
                break;
            }
            let reached = if last == 0 { self.memory.score[rank] } else { self.open(last, y) };
            let score = self.lattice.with_end_score(reached, y as usize);
            if score > best || (score == best && y < best_label && !score.is_forbidden()) {
                (best, best_rank, best_label) = (score, Some(rank), y);
            }
        }
        best_rank.map(|rank| (best, rank))
    }

    /// The key of a vertex of the last layer is its upper bound, including the end score, added in the judge's order.
    fn sort_last_layer_by_bound(&mut self, last: usize) {
        let Memory { layers, keys, score, .. } = &mut *self.memory;
        keys.clear();
        if last == 0 {
            // Everything is open and in label order: no walk may stop before the end.
            let highest = (0..score.len()).map(|y| self.lattice.with_end_score(score[y], y));
            let highest = highest.fold(S::FORBIDDEN, S::larger);
            keys.resize(score.len(), highest);
            return;
        }
        let bound = layers[last].bound;
        let nodes = self.lattice.node_row(last).iter().enumerate();
        keys.extend(nodes.map(|(y, &node)| self.lattice.with_end_score(bound + node, y)));
    }

    /// Algorithm 4: opens `y` at `t`, and whatever that requires in earlier layers. Returns its score.
    fn open(&mut self, t: usize, y: LabelId) -> S {
        let opening = |t, y| Opening { t, y, rank: 0, best: S::FORBIDDEN, from: 0, from_label: LabelId::MAX };
        debug_assert!(self.memory.work.is_empty());
        self.memory.work.push(opening(t, y));
        while let Some(mut frame) = self.memory.work.pop() {
            self.look_at_open_vertices(&mut frame);
            if let Some(p) = self.next_to_open(&frame) {
                let before = frame.t - 1;
                self.memory.work.push(frame); // resumes when p is open
                self.memory.work.push(opening(before, p));
                continue;
            }
            let Memory { layers, score, from, .. } = &mut *self.memory;
            let layer = &mut layers[frame.t];
            let slot = layer.first + layer.opened;
            layer.opened += 1;
            score[slot] = frame.best + self.lattice.node_row(frame.t)[frame.y as usize];
            from[slot] = frame.from;
            self.tally.opened(frame.t, frame.y);
        }
        let layer = &self.memory.layers[t];
        self.memory.score[layer.first + layer.opened - 1]
    }

    /// The first loop of Algorithm 4: the best predecessor among the open ones not examined yet.
    fn look_at_open_vertices(&mut self, frame: &mut Opening<S>) {
        let before = self.memory.layers[frame.t - 1];
        self.tally.edges(before.opened - frame.rank);
        while frame.rank < before.opened {
            let slot = before.first + frame.rank;
            let p = self.memory.order[slot];
            let score = self.memory.score[slot] + self.edges.get(frame.t, p as usize, frame.y as usize);
            // Ranks follow node scores, so a tie must be settled by label: the lowest wins.
            if score > frame.best || (score == frame.best && p < frame.from_label && !score.is_forbidden()) {
                (frame.best, frame.from, frame.from_label) = (score, frame.rank as u32, p);
            }
            frame.rank += 1;
        }
    }

    /// The condition of the second loop of Algorithm 4: the closed predecessor that might still win, if any.
    fn next_to_open(&mut self, frame: &Opening<S>) -> Option<LabelId> {
        if frame.rank == self.lattice.labels() {
            return None;
        }
        let p = self.label_at(frame.t - 1, frame.rank);
        let edge = match self.bound {
            CarpeDiemBound::Graph | CarpeDiemBound::Position => self.best_edge(frame.t),
            CarpeDiemBound::Column => self.edges.bounds(frame.t).column.at(frame.y as usize),
        };
        // Upper bound on this and all later predecessors; with equality a lower label may win.
        let node = self.lattice.node_row(frame.t - 1)[p as usize];
        let limit = self.memory.layers[frame.t - 1].bound + node + edge;
        let hopeless = limit.is_forbidden() || limit < frame.best;
        let tie_is_lost = limit == frame.best && frame.from_label == 0;
        if hopeless || tie_is_lost {
            self.tally.pruned(frame.t - 1, p);
            return None;
        }
        Some(p)
    }

    /// The label of that rank in the layer's order, which is sorted further if necessary.
    fn label_at(&mut self, t: usize, rank: usize) -> LabelId {
        if rank == self.memory.layers[t].sorted {
            self.sort_further(t);
        }
        self.memory.order[self.memory.layers[t].first + rank]
    }

    /// Sorts twice as many labels as before and moves the layer to the end of the arrays.
    fn sort_further(&mut self, t: usize) {
        let labels = self.lattice.labels();
        let Memory { layers, order, score, from, unsorted, keys, .. } = &mut *self.memory;
        let is_last = t + 1 == self.lattice.positions();
        let keys: &[S] = if is_last { keys } else { self.lattice.node_row(t) };
        let by_key = |a: &LabelId, b: &LabelId| {
            let by_score = keys[*b as usize].partial_cmp(&keys[*a as usize]).unwrap_or(Ordering::Equal);
            by_score.then(a.cmp(b)) // lower labels first; the paper leaves this open
        };
        let layer = &mut layers[t];
        let sorted = (2 * layer.sorted).max(FIRST_SORTED).min(labels);
        unsorted.clear();
        unsorted.extend(0..labels as LabelId);
        if sorted < labels {
            unsorted.select_nth_unstable_by(sorted - 1, by_key);
            unsorted.truncate(sorted);
        }
        unsorted.sort_unstable_by(by_key);
        let opened = layer.first..layer.first + layer.opened;
        layer.first = order.len();
        layer.sorted = sorted;
        order.extend_from_slice(unsorted);
        score.extend_from_within(opened.clone());
        score.resize(order.len(), S::FORBIDDEN);
        from.extend_from_within(opened);
        from.resize(order.len(), 0);
    }

    /// Follows the ranks of the predecessors.
    fn trace_back(&self, last: usize, mut rank: usize, path: &mut [LabelId]) {
        for t in (0..=last).rev() {
            let slot = self.memory.layers[t].first + rank;
            path[t] = self.memory.order[slot];
            rank = self.memory.from[slot] as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Decode, Scratch};
    use crate::lattice::Edges;

    /// The paper's toy problem, as in `tests/suite/carpediem_paper.rs`: the order of opening, steps (a) to (h).
    #[test]
    fn the_toy_problem_opens_its_vertices_in_the_papers_order() {
        let steps = [[20.0, 20.0, 10.0, 60.0], [10.0, 60.0, 15.0, 0.0], [10.0, 10.0, 10.0, 60.0]];
        let edges = steps.iter().map(|w| Edges::dense(2, w).unwrap()).collect();
        let edges = Edges::per_position(edges).unwrap();
        let nodes = vec![100.0f64, 50.0, 5.0, 100.0, 100.0, 70.0, 5.0, 135.0];
        let lattice = Lattice::new(nodes, &edges).unwrap();
        let (i, j) = (0, 1);
        let out =
            CarpeDiem { bound: CarpeDiemBound::Graph }.decode(&lattice, &mut Scratch::tracing()).unwrap();
        let trace = out.trace.as_ref().unwrap();
        let mut diary: Vec<_> =
            (0..4).flat_map(|t| trace.opened_with_steps(t).map(move |(y, step)| (step, t, y))).collect();
        diary.sort_unstable();
        let diary: Vec<_> = diary.into_iter().map(|(_, t, y)| (t, y)).collect();
        assert_eq!(diary, [(0, i), (0, j), (1, j), (2, i), (1, i), (2, j), (3, j)]);
        assert_eq!(out.best().labels, [0, 1, 1, 1]);
    }
}
