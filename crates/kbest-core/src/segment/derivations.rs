//! The `k` best segmentations, lazily, from forward scores.
//!
//! **What.** Each node, "enter `y` at `s`" and "end with `y` at `r`", has a list of the ways to reach it, best first, that
//! grows when somebody asks for its next member: its next best is the best of what continues the members taken so far
//! (Huang and Chiang, *Better k-best parsing*, 2005, algorithm 3). The first way to every node is known from the forward
//! scores, so nodes that no path needs cost nothing. **Why exact.** Sums are built from the left, in the judge's order, and
//! rounding is monotone: a better way to a predecessor is never a worse way to the node. **Cost.** `W` or `L` for each node
//! asked for, once, and a logarithm for each of its further ways; memory for at most `k` of them at each. No recursion:
//! requests wait on a stack.

use super::forward::Forward;
use super::{Segment, SegmentLattice, Segmentation};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::simd::Float;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// A node: boundary, label, and whether the label ends there (else it begins). The goal has no label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    Goal,
    End { at: usize, label: usize },
    Enter { at: usize, label: usize },
}

/// A way to reach a node: through `choice` (the start of the segment, or the label before) and its way number `rank`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Way {
    value: f64, // what ways are compared by: inside where a segment ends, else the score itself
    choice: usize,
    rank: usize,
    lower_choice_first: bool,
}

impl Eq for Way {}
impl Ord for Way {
    /// The greatest is the best: value, then the tie rule (lower label, shorter segment), then the earlier way.
    fn cmp(&self, other: &Self) -> Ordering {
        let choices = match self.lower_choice_first {
            true => other.choice.cmp(&self.choice),
            false => self.choice.cmp(&other.choice),
        };
        let values = self.value.partial_cmp(&other.value).unwrap_or(Ordering::Equal);
        values.then(choices).then(other.rank.cmp(&self.rank))
    }
}
impl PartialOrd for Way {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Debug, Default)]
struct Ways {
    taken: Vec<Way>,
    open: BinaryHeap<Way>,
    advanced: usize, // how many of those taken have their successor in `open`, or have none
}

/// All segmentations, best first.
#[derive(Debug)]
pub(super) struct Derivations {
    nodes: HashMap<Node, Ways>,
    given: usize,
    most: usize,
}

impl Default for Derivations {
    fn default() -> Self {
        Self::at_most(usize::MAX)
    }
}

impl Derivations {
    /// Of which no more than so many will be asked for, so that no node needs more first ways.
    pub(super) fn at_most(most: usize) -> Self {
        Derivations { nodes: HashMap::new(), given: 0, most }
    }

    /// The next best segmentation, if there is one. `explicit` adds the explicit score of a segment to an `inside`.
    pub(super) fn next<S: Float>(
        &mut self,
        lattice: &SegmentLattice<'_, S>,
        forward: &Forward<S>,
        explicit: impl Fn(f64, usize, usize, usize) -> f64,
    ) -> Option<Segmentation<S>> {
        let source = Source { lattice, forward, explicit, most: self.most };
        self.ask(&source, Node::Goal, self.given);
        let way = *self.nodes[&Node::Goal].taken.get(self.given)?;
        self.given += 1;
        let (mut end, mut label, mut rank) = (lattice.positions(), way.choice, way.rank);
        let mut segments = vec![];
        loop {
            let last = self.taken(&source, Node::End { at: end, label }, rank);
            segments.push(Segment { start: last.choice, end, label: label as LabelId });
            if last.choice == 0 {
                break;
            }
            let before = self.taken(&source, Node::Enter { at: last.choice, label }, last.rank);
            (end, label, rank) = (last.choice, before.choice, before.rank);
        }
        segments.reverse();
        Some(Segmentation { segments, score: S::from_f64(way.value) })
    }

    /// A way that is known to exist.
    fn taken<S: Float, X: Fn(f64, usize, usize, usize) -> f64>(
        &mut self,
        source: &Source<'_, '_, S, X>,
        node: Node,
        rank: usize,
    ) -> Way {
        self.ask(source, node, rank);
        self.nodes[&node].taken[rank]
    }

    /// Makes sure that the way number `rank` of a node is taken, if there are so many.
    fn ask<S: Float, X: Fn(f64, usize, usize, usize) -> f64>(
        &mut self,
        source: &Source<'_, '_, S, X>,
        node: Node,
        rank: usize,
    ) {
        let mut stack = vec![(node, rank)];
        while let Some(&(node, rank)) = stack.last() {
            let first = || Ways { open: source.first_ways(node), ..Ways::default() };
            let ways = self.nodes.entry(node).or_insert_with(first);
            if ways.taken.len() > rank {
                stack.pop();
                continue;
            }
            // Every way taken must have put its successor forward before the next one is taken.
            if let Some(&way) = ways.taken.get(ways.advanced) {
                let next = match source.predecessor(node, way.choice) {
                    Some(before) => match self.nodes.get(&before) {
                        Some(known) if known.taken.len() > way.rank + 1 => {
                            Some(source.way(node, way.choice, way.rank + 1, known.taken[way.rank + 1].value))
                        }
                        Some(known) if known.exhausted() => None,
                        _ => {
                            stack.push((before, way.rank + 1));
                            continue;
                        }
                    },
                    None => None,
                };
                let ways = self.nodes.get_mut(&node).expect("it was made above");
                ways.advanced += 1;
                ways.open.extend(next.filter(|way| way.value != f64::NEG_INFINITY));
                continue;
            }
            let ways = self.nodes.get_mut(&node).expect("it was made above");
            match ways.open.pop() {
                Some(way) => ways.taken.push(way),
                None => {
                    stack.pop();
                }
            }
        }
    }
}

impl Ways {
    /// Whether there is no further way.
    fn exhausted(&self) -> bool {
        self.open.is_empty() && self.advanced == self.taken.len()
    }
}

/// Where scores come from.
struct Source<'s, 'l, S: Float, X> {
    lattice: &'s SegmentLattice<'l, S>,
    forward: &'s Forward<S>,
    explicit: X,
    most: usize,
}

impl<S: Float, X: Fn(f64, usize, usize, usize) -> f64> Source<'_, '_, S, X> {
    /// The node before, if this choice is taken.
    fn predecessor(&self, node: Node, choice: usize) -> Option<Node> {
        match node {
            Node::Goal => Some(Node::End { at: self.lattice.positions(), label: choice }),
            Node::End { label, .. } => (choice > 0).then_some(Node::Enter { at: choice, label }),
            Node::Enter { at, .. } => Some(Node::End { at, label: choice }),
        }
    }

    /// A way to `node`, if `value` is that of the way before: minus infinity if there is none.
    fn way(&self, node: Node, choice: usize, rank: usize, value: f64) -> Way {
        let lattice = self.lattice;
        let value = match node {
            Node::Goal => {
                let score = lattice.leave(value, lattice.positions(), choice);
                lattice.chain().with_end_score(score, choice).to_f64()
            }
            Node::End { at, label } => {
                let inside = lattice.inside_without_explicit(S::from_f64(value), choice, at, label);
                if inside == f64::NEG_INFINITY { inside } else { (self.explicit)(inside, choice, at, label) }
            }
            Node::Enter { at, label } => {
                let score = lattice.leave(value, at, choice);
                if score.is_forbidden() {
                    f64::NEG_INFINITY
                } else {
                    (score + with_edges!(lattice.chain(), |edges| edges.get(at, choice, label))).to_f64()
                }
            }
        };
        Way { value, choice, rank, lower_choice_first: !matches!(node, Node::End { .. }) }
    }

    /// The best way through each choice, from the forward scores; the best ones, if there are more than will be asked for.
    fn first_ways(&self, node: Node) -> BinaryHeap<Way> {
        let labels = self.lattice.labels();
        let peak = |at: usize, y: usize| self.forward.peak[at * labels + y];
        let mut ways: Vec<Way> = match node {
            Node::Goal => {
                let at = self.lattice.positions();
                (0..labels).map(|y| self.way(node, y, 0, peak(at, y))).collect()
            }
            Node::End { at, label } => (at.saturating_sub(self.lattice.longest())..at)
                .map(|s| self.way(node, s, 0, self.forward.entered[s * labels + label].to_f64()))
                .collect(),
            Node::Enter { at, .. } => (0..labels).map(|p| self.way(node, p, 0, peak(at, p))).collect(),
        };
        ways.retain(|way| way.value != f64::NEG_INFINITY);
        if ways.len() > self.most {
            ways.select_nth_unstable_by(self.most, |a, b| b.cmp(a));
            ways.truncate(self.most);
            ways.shrink_to_fit();
        }
        ways.into()
    }
}
