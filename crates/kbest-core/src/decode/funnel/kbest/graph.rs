//! The labels on all paths within a margin of the best one, and the ways between them.
//!
//! A graph of *nodes* (a label at a position) and *ways* (an edge into a node, from a label before it). The first way
//! into a node is its best one; what another way *loses* against it, every path over that way loses. The end, after the
//! last position, is a node, too, and the first of all; then come the nodes of the best path, last position first; then
//! all others, also last position first.
//!
//! **Cost.** A few words per label and per way, and never many more ways than half the nodes of the lattice: where rounding
//! hides much, or many paths are wanted, ways could take the memory of `T L^2` edges, and other decoders need only that of
//! `T L` nodes. Made by one walk backwards ([`super::keep`]), read by the
//! enumeration ([`super::deviations`]).

use crate::decode::funnel::layers::{Entry, Layers, NONE};
use crate::decode::funnel::search::smaller;
use crate::label::LabelId;
use crate::simd::Float;
use std::ops::Range;

/// The end, after the last position.
pub(super) const END: u32 = 0;

/// A label that some path within the margin has at its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<S> {
    /// Position.
    pub(super) t: u32,
    pub(super) label: LabelId,
    /// The search's entry for it.
    pub(super) entry: u32,
    /// Its ways in, the best one first; none at position 0.
    pub(super) first: u32,
    pub(super) past: u32,
    /// Forward score.
    pub(super) alpha: S,
    /// The most that a path may lose on its way to this node.
    pub(super) allowance: S,
    /// The nearest node on the best path to it, itself included, that has a second way in.
    pub(super) fork: u32,
    /// The least that any path to it except the best one loses.
    pub(super) gap: S,
}

impl<S> Node<S> {
    /// Whether no way into it is known yet.
    #[inline(always)]
    pub(super) fn has_no_way(&self) -> bool {
        self.first == self.past
    }
}

/// A way into a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<S> {
    /// The node before, and its label.
    pub(super) from: u32,
    pub(super) label: LabelId,
    /// The node score of that label.
    pub(super) node_score: S,
    /// The edge (the end score, if it leads to the end).
    pub(super) edge: S,
    /// Its loss against the best way into the same node.
    pub(super) loss: S,
}

/// Nodes and ways.
#[derive(Debug, Default)]
pub(super) struct Graph<S> {
    pub(super) nodes: Vec<Node<S>>,
    pub(super) ways: Vec<Way<S>>,
    positions: usize,
    most_ways: usize,
    levels: Vec<u32>, // T: where the nodes off the best path end, of the end (none), of the last position, and so on
    node_of: Vec<u32>, // by entry of the search; NONE if it is not kept
}

impl<S: Float> Graph<S> {
    /// Begins with the best path; on the way to its labels, and to the end, paths may lose up to `allowance`.
    pub(super) fn begin(&mut self, layers: &Layers<S>, best_path: &[u32], allowance: S, most_ways: usize) {
        self.nodes.clear();
        self.ways.clear();
        self.levels.clear();
        self.node_of.clear();
        self.know_entries(layers.len());
        self.positions = best_path.len();
        self.most_ways = most_ways;
        self.push_node(best_path.len(), NONE, 0, S::FORBIDDEN, allowance);
        for (t, &index) in best_path.iter().enumerate().rev() {
            let Entry { label, alpha, .. } = *layers.entry(index);
            self.node_of[index as usize] = self.nodes.len() as u32;
            self.push_node(t, index, label, alpha, allowance);
        }
    }

    /// The node of the best path at a position, or at the end after the last one.
    #[inline(always)]
    pub(super) fn on_best(&self, t: usize) -> u32 {
        (self.positions - t) as u32
    }

    /// Completes the nodes of the next position, and returns those off the best path.
    pub(super) fn end_level(&mut self) -> Range<u32> {
        let first = self.levels.last().map_or(self.positions as u32 + 1, |&past| past);
        let past = self.nodes.len() as u32;
        self.levels.push(past);
        first..past
    }

    #[inline(always)]
    fn push_node(&mut self, t: usize, entry: u32, label: LabelId, alpha: S, allowance: S) {
        let (t, gap) = (t as u32, S::ZERO);
        self.nodes.push(Node { t, label, entry, first: 0, past: 0, alpha, allowance, fork: NONE, gap });
    }

    /// Makes room for entries that the search has added.
    pub(super) fn know_entries(&mut self, count: usize) {
        if self.node_of.len() < count {
            self.node_of.resize(count, NONE);
        }
    }

    /// Begins the ways into a node.
    pub(super) fn begin_ways(&mut self, node: u32) {
        let first = self.ways.len() as u32;
        let node = &mut self.nodes[node as usize];
        (node.first, node.past) = (first, first);
    }

    /// Adds a way into `node`, whose ways were begun last, from an entry at position `t` with this node score. The best
    /// way must come first.
    ///
    /// ```text
    /// allowance(from) = max over the ways out of it of  allowance(node) - loss
    /// ```
    #[inline(always)]
    pub(super) fn add_way(
        &mut self,
        node: u32,
        t: usize,
        (index, entry): (u32, &Entry<S>),
        node_score: S,
        edge: S,
        loss: S,
    ) {
        let allowance = self.nodes[node as usize].allowance - loss;
        let from = self.keep(t, index, entry, allowance);
        self.ways.push(Way { from, label: entry.label, node_score, edge, loss });
    }

    /// Whether it has so many ways that it is no longer worth its memory.
    #[inline(always)]
    pub(super) fn is_crowded(&self) -> bool {
        self.ways.len() > self.most_ways
    }

    /// Ends the ways into a node.
    #[inline(always)]
    pub(super) fn end_ways(&mut self, node: u32) {
        self.nodes[node as usize].past = self.ways.len() as u32;
    }

    /// Adds the only way into a node.
    #[inline(always)]
    pub(super) fn add_only_way(&mut self, node: u32, way: Way<S>) {
        self.begin_ways(node);
        self.ways.push(way);
        self.end_ways(node);
    }

    /// The node of an entry, with at least this allowance.
    #[inline(always)]
    fn keep(&mut self, t: usize, index: u32, entry: &Entry<S>, allowance: S) -> u32 {
        match self.node_of[index as usize] {
            NONE => {
                let new = self.nodes.len() as u32;
                self.node_of[index as usize] = new;
                self.push_node(t, index, entry.label, entry.alpha, allowance);
                new
            }
            old => {
                let node = &mut self.nodes[old as usize];
                if node.allowance < allowance {
                    (node.allowance, node.past) = (allowance, node.first); // the way in may no longer be the only one
                }
                old
            }
        }
    }

    /// Finds forks and gaps, when all ways are known: from the first position on, because a node's follow from those of
    /// the node before it.
    pub(super) fn finish(&mut self) {
        for t in 0..=self.positions {
            self.find_fork(self.on_best(t));
            let level = self.positions - t;
            let past = self.levels.get(level).map_or(self.nodes.len() as u32, |&past| past);
            let first = level.checked_sub(1).map_or(past, |before| self.levels[before]);
            for node in first..past {
                self.find_fork(node);
            }
        }
    }

    /// Finds the fork and the gap of a node, when those of all nodes before it are known.
    ///
    /// ```text
    /// fork = the node itself if it has a second way in, else that of the node before on the best way
    /// gap  = min(gap of the node before on the best way, losses of all other ways in)
    /// ```
    #[inline(always)]
    fn find_fork(&mut self, n: u32) {
        let Node { t, first, past, .. } = self.nodes[n as usize];
        let (mut fork, mut gap) = (NONE, S::from_f64(f64::INFINITY));
        if t > 0 {
            let before = &self.nodes[self.ways[first as usize].from as usize];
            (fork, gap) = (before.fork, before.gap);
            let others = &self.ways[first as usize + 1..past as usize];
            if !others.is_empty() {
                (fork, gap) = (n, others.iter().map(|way| way.loss).fold(gap, smaller));
            }
        }
        (self.nodes[n as usize].fork, self.nodes[n as usize].gap) = (fork, gap);
    }

    /// The best way into a node that is not at position 0.
    #[inline(always)]
    pub(super) fn best_way(&self, node: u32) -> &Way<S> {
        &self.ways[self.nodes[node as usize].first as usize]
    }

    /// A way from position `t`, and the best ways from there back to the start, with their positions.
    #[inline(always)]
    pub(super) fn ways_back<'a>(
        &'a self,
        way: &'a Way<S>,
        t: usize,
    ) -> impl Iterator<Item = (usize, &'a Way<S>)> {
        let before =
            |&(t, way): &(usize, &Way<S>)| Some((usize::checked_sub(t, 1)?, self.best_way(way.from)));
        std::iter::successors(Some((t, way)), before)
    }
}
