//! Iterative A*: best-first search on degenerate lattices that grow until the answer is proven.
//!
//! **What.** As in staggered decoding, each column starts with one active label and a degenerate one that stands for
//! all others; A* with the naive heuristic finds the best path of that small lattice. If it uses degenerate labels, the
//! active labels of their columns are doubled and the search starts over. The naive heuristic is computed only once:
//! the largest node and edge of a column are the same, however its labels are merged.
//!
//! **Exact to the last bit.** A node has two scores: the best way to it over active labels, added as the judge adds,
//! and the best *mixed* way. The search ends when all mixed ways lie below the best active path by more than the
//! rounding slack and no waiting `f` reaches it; it is read back by plain Viterbi's tie rule.
//!
//! **Cost.** `T L` for the maxima; then per round `T` at best and `T L^2` with a heap at worst, and up to `T log2 L`
//! rounds. **When not.** Each round starts from scratch and prunes nothing, so it is nearly always slower than
//! [`super::Staggered`] (as in the paper's Table 4): it is here for comparison. **Example.**
//! `Decoder::by_name("iterative-astar")`. **Paper.** Huang et al. (2012), section 4.2.

use super::astar::report_ends;
use super::by_score::ByScore;
use super::gather::{GatherEdges, Targets};
use super::heuristic::{Estimates, Heuristic};
use super::trace_back::push_best;
use super::{Algorithm, Decoded, Job, Tally};
use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::{Lattice, Ranking};
use crate::simd::Float;
use std::collections::BinaryHeap;

/// Iterative A*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IterativeAstar;

/// A node that waits to be opened, by its `f`. Among equals the longer way comes first, mixed before active, and the
/// higher slot: ties then show early how far the lattice must grow.
type Waiting<S> = ByScore<S, Way>;

/// A way to a node: over active labels, or a mixed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    t: u32,
    mixed: bool,
    slot: u32, // place of the label; the degenerate label comes after the active ones
}

/// Levels of the columns and the scores of their nodes.
#[derive(Debug, Default)]
pub(crate) struct Memory<S: Float> {
    estimates: Estimates<S>,
    heap: BinaryHeap<Waiting<S>>,
    levels: Vec<usize>,     // T: the first 2^level labels are active
    rest_nodes: Vec<S>,     // T x levels: node scores of the degenerate labels
    rest_ends: Vec<S>,      // levels: their end scores
    first: Vec<S>,          // L: start plus node of position 0
    offsets: Vec<usize>,    // T + 1: where a column's scores begin
    active: Vec<S>,         // best way over active labels, by column and slot
    mixed: Vec<S>,          // best way with a degenerate label, by column and slot
    opened: Vec<[bool; 2]>, // whether a node was opened by its active way and by its mixed way
    improved_late: bool,    // a way improved after its node was opened by it
    row: Vec<S>,
}

impl Algorithm for IterativeAstar {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, scratch, tally, out, .. } = job;
        let memory = &mut scratch.iterative_astar;
        memory.estimates.fill(Heuristic::Naive, lattice, edges, tally);
        let mut search = Search { lattice, edges, ranking: lattice.edges().ranking(), memory };
        search.reset();
        // At least the score of some path of active labels, in this round or an earlier one.
        let mut lower = S::FORBIDDEN;
        while let Found::Mixed(score) = search.round(&mut lower, tally) {
            // If no mixed path is ahead, only a tie or rounding prevents a proof, and it may be anywhere.
            if score <= lower { search.grow_all() } else { search.grow() }
        }
        search.read_back(out, tally)
    }
}

/// The result of a round.
enum Found<S> {
    /// All best paths are active.
    Proof,
    /// A mixed path of this score prevents a proof: the lattice must grow.
    Mixed(S),
}

/// The search of one sequence.
struct Search<'a, 'l, S: Float, E> {
    lattice: &'a Lattice<'l, S>,
    edges: &'a E,
    ranking: &'a Ranking,
    memory: &'a mut Memory<S>,
}

impl<S: Float, E: GatherEdges<S>> Search<'_, '_, S, E> {
    fn reset(&mut self) {
        let (positions, levels) = (self.lattice.positions(), self.ranking.levels());
        let memory = &mut *self.memory;
        memory.levels.clear();
        memory.levels.resize(positions, 0);
        memory.first.clear();
        memory.first.extend((0..self.lattice.labels()).map(|y| self.lattice.first_score(y)));
        memory.rest_nodes.resize(positions * levels, S::FORBIDDEN);
        for t in 0..positions {
            let scores = if t == 0 { &memory.first } else { self.lattice.node_row(t) };
            self.ranking.rest_maxima(scores, &mut memory.rest_nodes[t * levels..(t + 1) * levels]);
        }
        memory.rest_ends.clear();
        memory.rest_ends.resize(levels, S::ZERO);
        if let Some(end) = self.lattice.end() {
            self.ranking.rest_maxima(end, &mut memory.rest_ends);
        }
    }

    /// The active labels of a column.
    fn active(&self, t: usize) -> &[LabelId] {
        self.ranking.active(self.memory.levels[t])
    }

    /// Score of the degenerate label of a column; forbidden if there is none.
    fn rest_node(&self, t: usize) -> S {
        let (level, levels) = (self.memory.levels[t], self.ranking.levels());
        if level < levels { self.memory.rest_nodes[t * levels + level] } else { S::FORBIDDEN }
    }

    /// Score of a complete path that ends in a slot.
    fn completed(&self, slot: usize, score: S) -> S {
        let last = self.lattice.positions() - 1;
        match self.active(last).get(slot) {
            Some(&y) => self.lattice.with_end_score(score, y as usize),
            None if score.is_forbidden() => score, // the column may no longer have a degenerate label
            None => score + self.memory.rest_ends[self.memory.levels[last]],
        }
    }

    /// The edge into position `t` between two slots.
    fn edge(&self, t: usize, left: usize, right: usize) -> S {
        let bounds = || self.lattice.degenerate(t);
        let (from, to) = (self.memory.levels[t - 1], self.memory.levels[t]);
        match (self.active(t - 1).get(left), self.active(t).get(right)) {
            (Some(&p), Some(&y)) => self.edges.get(t, p as usize, y as usize),
            (Some(&p), None) => bounds().entering_rest(to).at(p as usize),
            (None, Some(&y)) => bounds().leaving_rest(from).at(y as usize),
            (None, None) => bounds().between(from, to),
        }
    }

    /// One search.
    fn round(&mut self, lower: &mut S, tally: &mut impl Tally) -> Found<S> {
        let last = self.lattice.positions() - 1;
        let slack = self.lattice.rounding_slack();
        tally.round();
        self.start_round();
        let mut best_mixed = S::FORBIDDEN; // of the complete ones
        if last == 0 {
            for slot in 0..self.memory.offsets[1] {
                *lower = lower.larger(self.completed(slot, self.memory.active[slot]));
                best_mixed = best_mixed.larger(self.completed(slot, self.memory.mixed[slot]));
            }
        }
        while let Some(waiting) = self.memory.heap.pop() {
            // All waiting nodes are strictly worse than a path of active labels.
            if waiting.score < *lower - slack {
                break;
            }
            // No path beats this mixed one by more than rounding: no proof, whatever else is found.
            if best_mixed >= waiting.score && best_mixed >= *lower - slack {
                return Found::Mixed(best_mixed);
            }
            self.open(waiting.item, lower, &mut best_mixed, slack, tally);
        }
        if self.memory.improved_late {
            best_mixed = self.sweep(lower, slack, tally);
        }
        if best_mixed < *lower - slack || best_mixed.is_forbidden() {
            Found::Proof
        } else {
            Found::Mixed(best_mixed)
        }
    }

    /// Finds all scores again, position by position, where rounding made the estimates inconsistent: opening nodes
    /// again could cascade repeatedly. Returns the best complete mixed score.
    fn sweep(&mut self, lower: &mut S, slack: S, tally: &mut impl Tally) -> S {
        tally.round();
        self.start_round();
        let mut best_mixed = S::FORBIDDEN;
        for t in 0..self.lattice.positions() - 1 {
            for slot in 0..=self.active(t).len() {
                let index = self.memory.offsets[t] + slot;
                for (mixed, way) in [(false, self.memory.active[index]), (true, self.memory.mixed[index])] {
                    let f = way + self.memory.estimates.at(t, 0);
                    // f bounds every path on from here: those left out are strictly worse than an active path.
                    if f >= *lower - slack && !f.is_forbidden() {
                        let way = Way { t: t as u32, mixed, slot: slot as u32 };
                        self.open(way, lower, &mut best_mixed, slack, tally);
                    }
                }
            }
            self.memory.heap.clear(); // nothing needs to wait: the next column is opened in turn
        }
        best_mixed
    }

    /// Clears the scores and puts the first column into the heap.
    fn start_round(&mut self) {
        self.memory.offsets.clear();
        self.memory.offsets.push(0);
        let mut size = 0;
        for t in 0..self.lattice.positions() {
            size += self.active(t).len() + 1;
            self.memory.offsets.push(size);
        }
        let firsts = self.active(0).len();
        let rest = self.rest_node(0);
        let memory = &mut *self.memory;
        for scores in [&mut memory.active, &mut memory.mixed] {
            scores.clear();
            scores.resize(size, S::FORBIDDEN);
        }
        memory.opened.clear();
        memory.opened.resize(size, [false; 2]);
        memory.improved_late = false;
        memory.heap.clear();
        for (slot, &y) in self.ranking.active(memory.levels[0]).iter().enumerate() {
            memory.active[slot] = memory.first[y as usize];
        }
        memory.mixed[firsts] = rest;
        if self.lattice.positions() > 1 {
            for slot in 0..=firsts {
                let mixed = slot == firsts;
                let g = if mixed { rest } else { memory.active[slot] };
                let f = g + memory.estimates.at(0, 0);
                if !f.is_forbidden() {
                    memory.heap.push(Waiting { score: f, item: Way { t: 0, mixed, slot: slot as u32 } });
                }
            }
        }
    }

    /// Opens a node: improves the nodes after it.
    fn open(&mut self, from: Way, lower: &mut S, best_mixed: &mut S, slack: S, tally: &mut impl Tally) {
        let (t, slot) = (from.t as usize, from.slot as usize);
        let index = self.memory.offsets[t] + slot;
        if std::mem::replace(&mut self.memory.opened[index][usize::from(from.mixed)], true) {
            return;
        }
        let way = if from.mixed { self.memory.mixed[index] } else { self.memory.active[index] };
        let next = t + 1;
        let last = self.lattice.positions() - 1;
        let rest = self.rest_node(next);
        let into_rest =
            if rest.is_forbidden() { rest } else { self.edge(next, slot, self.active(next).len()) };
        let labels = self.ranking.active(self.memory.levels[next]);
        match self.active(t).get(slot) {
            Some(&p) => tally.opened(t, p),
            None => tally.opened_merged(t),
        }
        tally.edges(labels.len() + usize::from(!rest.is_forbidden()));
        let mut row = std::mem::take(&mut self.memory.row);
        row.resize(labels.len(), S::FORBIDDEN);
        let row_of_edges = match self.active(t).get(slot) {
            Some(&p) => {
                let prefix = self.ranking.in_label_order();
                let targets = Targets { labels, slots: self.ranking.places(), prefix };
                self.edges.gather(next, p as usize, targets, &mut row)
            }
            None => {
                let bounds = self.lattice.degenerate(next).leaving_rest(self.memory.levels[t]);
                row.iter_mut().zip(labels).for_each(|(w, &y)| *w = bounds.at(y as usize));
                &row[..]
            }
        };
        let nodes = self.lattice.node_row(next);
        for to in 0..=labels.len() {
            let (edge, node, mixed) = match labels.get(to) {
                Some(&y) => (row_of_edges[to], nodes[y as usize], from.mixed),
                None => (into_rest, rest, true),
            };
            let g = (way + edge) + node;
            let index = self.memory.offsets[next] + to;
            let known = if mixed { &mut self.memory.mixed[index] } else { &mut self.memory.active[index] };
            if g <= *known {
                continue;
            }
            *known = g;
            self.memory.improved_late |= self.memory.opened[index][usize::from(mixed)];
            if next == last {
                let score = self.completed(to, g);
                let best = if mixed { &mut *best_mixed } else { &mut *lower };
                *best = best.larger(score);
                continue;
            }
            let f = g + self.memory.estimates.at(next, 0);
            // The bound of the round: strictly worse than a path of active labels.
            if f >= *lower - slack && !f.is_forbidden() {
                let way = Way { t: next as u32, mixed, slot: to as u32 };
                self.memory.heap.push(Waiting { score: f, item: way });
            }
        }
        self.memory.row = row;
    }

    /// Doubles the active labels where the best mixed path goes through a degenerate label; on a tie the degenerate
    /// label is taken, so that ties grow fast.
    fn grow(&mut self) {
        let last = self.lattice.positions() - 1;
        let rest = |search: &Self, t: usize| search.active(t).len();
        let either =
            |search: &Self, index: usize| search.memory.active[index].larger(search.memory.mixed[index]);
        let mut best = (S::FORBIDDEN, rest(self, last));
        for slot in (0..=rest(self, last)).rev() {
            let mixed = self.memory.mixed[self.memory.offsets[last] + slot];
            if mixed.is_forbidden() {
                continue;
            }
            let score = self.completed(slot, mixed);
            if score > best.0 {
                best = (score, slot);
            }
        }
        let mut must_mix = true;
        for t in (0..=last).rev() {
            let (slot, on_rest) = (best.1, best.1 == rest(self, t));
            must_mix &= !on_rest;
            if t > 0 {
                best = (S::FORBIDDEN, rest(self, t - 1));
                for candidate in (0..=rest(self, t - 1)).rev() {
                    let index = self.memory.offsets[t - 1] + candidate;
                    let score = if must_mix { self.memory.mixed[index] } else { either(self, index) };
                    if score.is_forbidden() {
                        continue;
                    }
                    let score = score + self.edge(t, candidate, slot);
                    if score > best.0 {
                        best = (score, candidate);
                    }
                }
            }
            // The way back does not read the column again, so it may change.
            if on_rest {
                self.memory.levels[t] += 1;
            }
        }
    }

    /// Doubles the active labels of every column.
    fn grow_all(&mut self) {
        let levels = self.ranking.levels();
        self.memory.levels.iter_mut().for_each(|level| *level = levels.min(*level + 1));
    }

    /// Pushes the best path of active labels.
    fn read_back(&self, out: &mut Decoded<S>, tally: &mut impl Tally) -> Result<()> {
        let column = |t: usize| {
            let ways = &self.memory.active[self.memory.offsets[t]..];
            self.active(t).iter().copied().zip(ways.iter().copied())
        };
        push_best(self.lattice, self.edges, column, out)?;
        report_ends(self.lattice, column, out, tally);
        Ok(())
    }
}
