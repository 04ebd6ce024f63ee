//! Viterbi A* on a degenerate lattice: its best sequences, active and mixed, best first.
//!
//! **What.** After a pass, every node knows the best partial path on the side that the pass came from. A sequence in
//! the agenda is a *tail* on the other side, from some node to the end, completed by the best partial path to that
//! node; its priority is the score of the whole sequence. When one is popped, a walk along its completion pushes every
//! sequence that leaves it by one edge (Huang et al. 2012, Algorithm 3; here in either direction).
//!
//! **Why.** They tell iterative Viterbi A* which columns must grow, and give a lower bound on the k-th best path.
//! Scores are sums in this search's own order: good enough for bounds, within the rounding slack, but not for answers.
//! **Cost.** At most `T n` pushes per sequence, with `n` nodes per column.

use super::Tally;
use super::by_score::ByScore;
use super::degenerate_lattice::{DegenerateLattice, Direction, Slot};
use super::gather::GatherEdges;
use crate::lattice::Lattice;
use crate::simd::Float;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No next node.
const END: u32 = u32::MAX;
/// Number of links after which the search gives up: its list helps the caller but is not required.
const MOST_LINKS: usize = 1 << 24;

/// A node of a tail.
#[derive(Debug, Clone, Copy)]
struct Link<S> {
    t: u32,
    slot: Slot,
    after: u32,  // the next link
    done: S,     // score of the tail, without this node
    mixed: bool, // the tail, including this node, has a degenerate label
}

/// A waiting sequence, by the link its tail begins with; among equals, the first one added.
type Waiting<S> = ByScore<S, Reverse<u32>>;

/// Links and the heap.
#[derive(Debug, Default)]
pub(crate) struct Memory<S: Float> {
    links: Vec<Link<S>>,
    heap: BinaryHeap<Waiting<S>>,
}

/// One search.
pub(crate) struct Agenda<'a, 'l, S: Float, E> {
    lattice: &'a Lattice<'l, S>,
    edges: &'a E,
    small: &'a mut DegenerateLattice<S>,
    memory: &'a mut Memory<S>,
    threshold: S,
}

impl<'a, 'l, S: Float, E: GatherEdges<S>> Agenda<'a, 'l, S, E> {
    /// A search among the sequences that reach the threshold.
    pub(crate) fn new(
        lattice: &'a Lattice<'l, S>,
        edges: &'a E,
        small: &'a mut DegenerateLattice<S>,
        memory: &'a mut Memory<S>,
        threshold: S,
    ) -> Self {
        memory.links.clear();
        memory.heap.clear();
        Agenda { lattice, edges, small, memory, threshold }
    }

    /// Lists the `2k` best sequences, or fewer once `k` of them are active; marks the columns whose degenerate labels
    /// they use, and returns the score of the k-th active one, forbidden if there are fewer.
    pub(crate) fn list_sequences(mut self, k: usize, tally: &mut impl Tally) -> S {
        let first = self.small.end_of_pass();
        for slot in self.small.columns()[first].slots() {
            self.push(first, slot, END, self.small.beyond(self.lattice, slot));
        }
        let mut active = 0;
        for _ in 0..k.saturating_mul(2) {
            let Some(Waiting { score, item: Reverse(link) }) = self.memory.heap.pop() else { break };
            if self.memory.links.len() > MOST_LINKS {
                break;
            }
            if !self.walk(link, tally) {
                active += 1;
                if active == k {
                    return score;
                }
            }
        }
        S::FORBIDDEN
    }

    /// Adds the sequence with the tail that begins in `slot`.
    fn push(&mut self, t: usize, slot: Slot, after: u32, done: S) {
        let score = self.small.reached(t, slot) + done;
        // A sequence below the threshold is strictly worse than k paths: neither it nor any sequence derived from it is
        // useful.
        if score < self.threshold || score.is_forbidden() {
            return;
        }
        let link = self.link(t, slot, after, done);
        self.memory.heap.push(Waiting { score, item: Reverse(link) });
    }

    fn link(&mut self, t: usize, slot: Slot, after: u32, done: S) -> u32 {
        let further = self.memory.links.get(after as usize).is_some_and(|link| link.mixed);
        let mixed = further || slot == Slot::Rest;
        self.memory.links.push(Link { t: t as u32, slot, after, done, mixed });
        (self.memory.links.len() - 1) as u32
    }

    /// Walks along the completion of a tail and pushes the sequences that leave it; returns true if the sequence is
    /// mixed, and then marks its columns.
    fn walk(&mut self, tail: u32, tally: &mut impl Tally) -> bool {
        let forward = self.small.direction() == Direction::Forward;
        let last = self.lattice.positions() - 1;
        let mut at = tail;
        loop {
            let Link { t, slot, done, .. } = self.memory.links[at as usize];
            let t = t as usize;
            if t == if forward { 0 } else { last } {
                break;
            }
            let next = if forward { t - 1 } else { t + 1 };
            let done = self.small.columns()[t].get(slot).node + done;
            // The best completion goes on; all others leave the sequence here.
            let mut best: Option<(S, Slot, S)> = None;
            let mut count = 0;
            for candidate in self.small.columns()[next].slots() {
                let edge = if forward {
                    self.small.edge(self.lattice, self.edges, t, candidate, slot)
                } else {
                    self.small.edge(self.lattice, self.edges, next, slot, candidate)
                };
                count += 1;
                let done = edge + done;
                let score = self.small.reached(next, candidate) + done;
                let left = match best {
                    Some((highest, ..)) if score <= highest => Some((candidate, done)),
                    previous => {
                        best = Some((score, candidate, done));
                        previous.map(|(_, candidate, done)| (candidate, done))
                    }
                };
                if let Some((candidate, done)) = left {
                    self.push(next, candidate, at, done);
                }
            }
            tally.edges(count);
            let Some((_, slot, done)) = best else { break };
            at = self.link(next, slot, at, done);
        }
        let mixed = self.memory.links[at as usize].mixed;
        while mixed && at != END {
            let Link { t, slot, after, .. } = self.memory.links[at as usize];
            if slot == Slot::Rest {
                self.small.mark(t as usize);
            }
            at = after;
        }
        mixed
    }
}
