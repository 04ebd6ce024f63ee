//! The labels on all paths within a margin of the best one, and the ways between them.
//!
//! A graph of *nodes* (a label at a position) and *ways* (an edge into a node, from a label before it). The first way into
//! a node is its best one; what another way *loses* against it, every path that takes it loses. The end behind the last
//! position is a node, too, the first of all; then follow those of the last position, and so on towards the start.
//!
//! **Cost.** A few words a label and a way. Made by one walk backwards (`keep.rs`), read by the enumeration
//! (`deviations.rs`).

use super::layers::Entry;
use super::sorting::sort_few;
use crate::kernel::Float;
use crate::label::LabelId;

/// No node, no way.
pub(super) const NONE: u32 = u32::MAX;

/// The end behind the last position.
pub(super) const END: u32 = 0;

/// A label that some path within the margin has at its position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<S> {
    /// Position.
    pub(super) t: u32,
    pub(super) label: LabelId,
    /// The search's entry for it.
    pub(super) entry: u32,
    /// Its ways in, the best one first, then what loses least; none at position 0.
    pub(super) first: u32,
    pub(super) past: u32,
    /// Forward score.
    pub(super) alpha: S,
    /// How much of the margin is left for the way to it.
    pub(super) slack: S,
    /// The nearest node on the best path to it, itself included, that has a second way in.
    pub(super) branch: u32,
    /// The least that any path to it loses but the best one.
    pub(super) gap: S,
}

/// A way into a node.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<S> {
    /// The node before, and its label.
    pub(super) from: u32,
    pub(super) label: LabelId,
    /// The node score of that label.
    pub(super) node: S,
    /// The edge (the end score, if it leads to the end).
    pub(super) edge: S,
    /// What it loses against the best way into the same node.
    pub(super) loss: S,
}

/// Nodes and ways.
#[derive(Debug, Default)]
pub(super) struct Graph<S> {
    pub(super) nodes: Vec<Node<S>>,
    pub(super) ways: Vec<Way<S>>,
    node_of: Vec<u32>, // by entry of the search
}

impl<S: Float> Graph<S> {
    /// Forgets everything but the end, to which paths may lose as much as `slack`.
    pub(super) fn begin(&mut self, positions: usize, slack: S) {
        self.nodes.clear();
        self.ways.clear();
        self.node_of.clear();
        self.push_node(positions, NONE, 0, S::FORBIDDEN, slack);
    }

    fn push_node(&mut self, t: usize, entry: u32, label: LabelId, alpha: S, slack: S) {
        let node =
            Node { t: t as u32, label, entry, first: 0, past: 0, alpha, slack, branch: NONE, gap: S::ZERO };
        self.nodes.push(node);
    }

    /// Makes room for entries that were added to the search.
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
    #[inline(always)]
    pub(super) fn add_way(
        &mut self,
        node: u32,
        t: usize,
        (index, entry): (u32, &Entry<S>),
        score: S,
        edge: S,
        loss: S,
    ) {
        let slack = self.nodes[node as usize].slack - loss;
        let from = self.want(t, index, entry, slack);
        self.ways.push(Way { from, label: entry.label, node: score, edge, loss });
    }

    /// Ends the ways into a node, and sorts those behind the best one.
    #[inline(always)]
    pub(super) fn end_ways(&mut self, node: u32) {
        let node = &mut self.nodes[node as usize];
        node.past = self.ways.len() as u32;
        let others = &mut self.ways[node.first as usize + 1..];
        if others.len() > 1 {
            sort_few(others, |way| way.loss);
        }
    }

    /// The node of an entry, with at least this slack.
    fn want(&mut self, t: usize, index: u32, entry: &Entry<S>, slack: S) -> u32 {
        match self.node_of[index as usize] {
            NONE => {
                let node = self.nodes.len() as u32;
                self.node_of[index as usize] = node;
                self.push_node(t, index, entry.label, entry.alpha, slack);
                node
            }
            node => {
                let known = &mut self.nodes[node as usize];
                known.slack = known.slack.larger(slack);
                node
            }
        }
    }

    /// Finds the branches, when all ways are known.
    pub(super) fn finish(&mut self) {
        // From the first position to the end: the nodes before stand behind.
        for n in (0..self.nodes.len()).rev() {
            let Node { t, first, past, .. } = self.nodes[n];
            let (mut branch, mut gap) = (NONE, S::from_f64(f64::INFINITY));
            if t > 0 {
                let before = &self.nodes[self.ways[first as usize].from as usize];
                (branch, gap) = (before.branch, before.gap);
                if past - first > 1 {
                    let second = self.ways[first as usize + 1].loss;
                    (branch, gap) = (n as u32, if second < gap { second } else { gap });
                }
            }
            (self.nodes[n].branch, self.nodes[n].gap) = (branch, gap);
        }
    }

    /// The best way into a node that is not at position 0.
    #[inline(always)]
    pub(super) fn best_way(&self, node: u32) -> &Way<S> {
        &self.ways[self.nodes[node as usize].first as usize]
    }
}
