//! The degenerate lattice of staggered decoding: a few active labels per column, all others merged into one.
//!
//! **What.** Each column starts with the best-ranked label; *growing* it doubles the active labels. A forward or
//! backward pass is Viterbi over active labels and degenerate ones. It keeps two scores per node: the best partial path
//! of active labels only, and the best *mixed* one, which contains a degenerate label. So one pass finds both the best
//! path of active labels, a lower bound on the answer, and an upper bound on every path that uses an inactive label.
//!
//! **Pruning.** Both directions leave an upper bound at every node, and their sum bounds every path through it: nodes
//! whose sum lies below the lower bound are removed from the column for good, a degenerate label with all its members.
//! New active labels inherit the bounds of the degenerate label they come from; their own node score, which is at most
//! that of the degenerate label, replaces it in the sum, and many never enter the column.
//!
//! **Rounding.** Replacing an addend by a larger one never makes a floating-point sum smaller, so a computed bound is
//! at least the sum of each path below it *added in the bound's order*; that sum and the judge's differ by less than
//! half of [`Lattice::rounding_slack`], and a lower bound from a backward pass by less than the other half. Whatever
//! lies below the lower bound by more than the slack is strictly worse by the judge's score.
//!
//! **Cost.** A pass reads one edge for each pair of neighbouring nodes; the maxima over inactive nodes are computed
//! once per sequence (`T L`). **Paper.** Kaji et al. (2010), section 3; Algorithm 2 of Huang et al. (2012).

mod passes;

use super::Tally;
use super::gather::{GatherEdges, TargetList};
use crate::label::LabelId;
use crate::lattice::{Lattice, Ranking};
use crate::simd::Float;

/// An active label of a column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<S> {
    pub label: LabelId,
    pub node: S,     // node score; in column 0 including the start score
    pub forward: S,  // bound on what comes before it, without its own score
    pub backward: S, // bound on what comes after it
    pub active: S, // last pass: best partial path of active labels (forward: with its own score, backward: without)
    pub mixed: S,  // last pass: best partial path with a degenerate label, in the same way
}

impl<S: Float> Node<S> {
    /// The better of the two partial paths.
    #[inline]
    pub(crate) fn either(&self) -> S {
        self.active.larger(self.mixed)
    }

    #[inline]
    fn bound(&self) -> S {
        (self.forward + self.node) + self.backward
    }
}

/// A column: its active labels and perhaps a degenerate one.
#[derive(Debug)]
pub(crate) struct Column<S> {
    pub nodes: Vec<Node<S>>,
    /// The first `2^level` labels of the ranking were made active.
    pub level: usize,
    /// The degenerate label, while there is one: its `active` score is forbidden, its `label` meaningless.
    pub rest: Option<Node<S>>,
    /// To be grown before the next pass.
    pub marked: bool,
}

impl<S> Default for Column<S> {
    fn default() -> Self {
        Column { nodes: Vec::new(), level: 0, rest: None, marked: false }
    }
}

/// A node of a column: the index of an active label, or the degenerate one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Active(usize),
    Rest,
}

impl<S: Float> Column<S> {
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> &Node<S> {
        match slot {
            Slot::Active(i) => &self.nodes[i],
            Slot::Rest => self.rest.as_ref().expect("a slot is used only while its node exists"),
        }
    }

    /// All nodes, the degenerate label first.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + use<S> {
        self.rest.map(|_| Slot::Rest).into_iter().chain((0..self.nodes.len()).map(Slot::Active))
    }

    fn size(&self) -> usize {
        self.nodes.len() + usize::from(self.rest.is_some())
    }

    /// Reports the column's nodes as opened.
    fn report(&self, t: usize, tally: &mut impl Tally) {
        tally.opened_each(t, self.nodes.iter().map(|node| node.label));
        if self.rest.is_some() {
            tally.opened_merged(t);
        }
    }

    /// Drops forbidden nodes, and nodes below the threshold if both their bounds are known.
    ///
    /// Safe because `bound` is an upper bound on every path through the node and the threshold lies below the lower
    /// bound by the rounding slack: dropped nodes are strictly worse than the answer.
    fn prune(&mut self, t: usize, threshold: Option<S>, tally: &mut impl Tally) {
        let keep = |node: &Node<S>| match threshold {
            Some(threshold) => {
                let bound = node.bound();
                bound >= threshold && !bound.is_forbidden()
            }
            None => !(node.forward + node.node).is_forbidden(),
        };
        self.nodes.retain(|node| keep(node) || drop_at(t, node, tally));
        self.rest = self.rest.filter(keep);
    }
}

/// Direction of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Direction {
    #[default]
    Forward,
    Backward,
}

/// The lattice and the working memory of its passes.
#[derive(Debug)]
pub(crate) struct DegenerateLattice<S: Float> {
    columns: Vec<Column<S>>, // the first `positions` are in use
    positions: usize,
    rest_nodes: Vec<S>, // T x levels: node scores of the degenerate labels
    rest_ends: Vec<S>,  // levels: their end scores
    direction: Direction,
    bounded: bool, // both bounds of every node are known
    targets: TargetList,
    row: Vec<S>,
    active: Vec<S>,
    mixed: Vec<S>,
    first: Vec<S>, // L: start plus node of column 0
}

impl<S: Float> Default for DegenerateLattice<S> {
    fn default() -> Self {
        DegenerateLattice {
            columns: Vec::new(),
            positions: 0,
            rest_nodes: Vec::new(),
            rest_ends: Vec::new(),
            direction: Direction::Forward,
            bounded: false,
            targets: TargetList::default(),
            row: Vec::new(),
            active: Vec::new(),
            mixed: Vec::new(),
            first: Vec::new(),
        }
    }
}

impl<S: Float> DegenerateLattice<S> {
    /// Starts with one active label per column.
    pub(crate) fn reset(&mut self, lattice: &Lattice<'_, S>) {
        let ranking = lattice.edges().ranking();
        let (positions, labels, levels) = (lattice.positions(), lattice.labels(), ranking.levels());
        self.positions = positions;
        self.bounded = false;
        self.targets.reset(labels);
        self.rest_ends.clear();
        self.rest_ends.resize(levels, S::ZERO);
        if let Some(end) = lattice.end() {
            ranking.rest_maxima(end, &mut self.rest_ends);
        }
        self.first.clear();
        self.first.extend((0..labels).map(|y| lattice.first_score(y)));
        self.rest_nodes.resize(positions * levels, S::FORBIDDEN);
        if self.columns.len() < positions {
            self.columns.resize_with(positions, Column::default);
        }
        for t in 0..positions {
            let scores = if t == 0 { &self.first } else { lattice.node_row(t) };
            let maxima = &mut self.rest_nodes[t * levels..(t + 1) * levels];
            ranking.rest_maxima(scores, maxima);
            let column = &mut self.columns[t];
            column.level = 0;
            column.marked = false;
            column.nodes.clear();
            column.nodes.extend(ranking.active(0).iter().map(|&y| fresh(y, scores[y as usize])));
            column.rest = maxima.first().filter(|node| !node.is_forbidden()).map(|&node| fresh(0, node));
        }
    }

    /// The columns.
    #[inline]
    pub(crate) fn columns(&self) -> &[Column<S>] {
        &self.columns[..self.positions]
    }

    /// Marks a column.
    pub(crate) fn mark(&mut self, t: usize) {
        self.columns[t].marked = true;
    }

    /// Marks all columns.
    pub(crate) fn mark_all(&mut self) {
        self.columns[..self.positions].iter_mut().for_each(|column| column.marked = true);
    }

    /// Direction of the last pass.
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// True while some column has a degenerate label.
    pub(crate) fn has_rest(&self) -> bool {
        self.columns().iter().any(|column| column.rest.is_some())
    }

    /// Drops all degenerate labels, after a proof that no path through them can be an answer.
    pub(crate) fn drop_rests(&mut self) {
        self.columns[..self.positions].iter_mut().for_each(|column| column.rest = None);
    }

    /// The column where the last pass ended.
    pub(crate) fn end_of_pass(&self) -> usize {
        if self.direction == Direction::Forward { self.positions - 1 } else { 0 }
    }

    /// Best partial path of the last pass to a node, with the node's own score.
    #[inline]
    pub(crate) fn reached(&self, t: usize, slot: Slot) -> S {
        let node = self.columns[t].get(slot);
        match self.direction {
            Direction::Forward => node.either(),
            Direction::Backward => node.node + node.either(),
        }
    }

    /// The score beyond a node at the end of the last pass: its end score after a forward pass, 0 after a backward one
    /// (the start score belongs to the first nodes).
    pub(crate) fn beyond(&self, lattice: &Lattice<'_, S>, slot: Slot) -> S {
        let column = &self.columns[self.end_of_pass()];
        match (self.direction, slot) {
            (Direction::Backward, _) => S::ZERO,
            (Direction::Forward, Slot::Active(i)) => {
                lattice.with_end_score(S::ZERO, column.nodes[i].label as usize)
            }
            (Direction::Forward, Slot::Rest) => self.rest_ends[column.level],
        }
    }

    /// A partial path at the end of the last pass, completed.
    pub(crate) fn completed(&self, lattice: &Lattice<'_, S>, slot: Slot, partial: S) -> S {
        let column = &self.columns[self.end_of_pass()];
        match (self.direction, slot) {
            (Direction::Forward, Slot::Active(i)) => {
                lattice.with_end_score(partial, column.nodes[i].label as usize)
            }
            (Direction::Forward, Slot::Rest) => partial + self.rest_ends[column.level],
            (Direction::Backward, slot) => column.get(slot).node + partial,
        }
    }

    /// The edge between neighbouring columns, `left` at `t - 1` and `right` at `t`.
    pub(crate) fn edge(
        &self,
        lattice: &Lattice<'_, S>,
        edges: &impl GatherEdges<S>,
        t: usize,
        left: Slot,
        right: Slot,
    ) -> S {
        let (from, to) = (&self.columns[t - 1], &self.columns[t]);
        let label = |column: &Column<S>, i: usize| column.nodes[i].label as usize;
        match (left, right) {
            (Slot::Active(i), Slot::Active(j)) => edges.get(t, label(from, i), label(to, j)),
            (Slot::Active(i), Slot::Rest) => lattice.degenerate(t).entering_rest(to.level).at(label(from, i)),
            (Slot::Rest, Slot::Active(j)) => lattice.degenerate(t).leaving_rest(from.level).at(label(to, j)),
            (Slot::Rest, Slot::Rest) => lattice.degenerate(t).between(from.level, to.level),
        }
    }

    /// Marks the columns whose degenerate label lies on the best mixed path of the last pass.
    ///
    /// The path is followed against the direction of the pass, and its nodes are found again from the scores, which is
    /// cheaper than a back pointer at every node. On a tie the degenerate label is taken, so that ties grow fast.
    pub(crate) fn mark_best_mixed(&mut self, lattice: &Lattice<'_, S>, edges: &impl GatherEdges<S>) {
        let mut t = self.end_of_pass();
        let mut best = (S::FORBIDDEN, None);
        for slot in self.columns[t].slots() {
            let score = self.completed(lattice, slot, self.columns[t].get(slot).mixed);
            if score > best.0 {
                best = (score, Some(slot));
            }
        }
        let mut must_mix = true; // no degenerate label met yet
        while let Some(slot) = best.1 {
            if slot == Slot::Rest {
                self.columns[t].marked = true;
                must_mix = false;
            }
            let forward = self.direction == Direction::Forward;
            if t + self.end_of_pass() == self.positions - 1 {
                return; // at the other end
            }
            let other = if forward { t - 1 } else { t + 1 };
            best = (S::FORBIDDEN, None);
            for candidate in self.columns[other].slots() {
                let node = self.columns[other].get(candidate);
                let partial = if must_mix { node.mixed } else { node.either() };
                let score = if forward {
                    partial + self.edge(lattice, edges, t, candidate, slot)
                } else {
                    self.edge(lattice, edges, t + 1, slot, candidate) + (node.node + partial)
                };
                if score > best.0 {
                    best = (score, Some(candidate));
                }
            }
            t = other;
        }
    }

    /// Doubles the active labels of the marked columns.
    pub(crate) fn grow_marked(&mut self, lattice: &Lattice<'_, S>, threshold: S, tally: &mut impl Tally) {
        let ranking = lattice.edges().ranking();
        let threshold = self.bounded.then_some(threshold);
        for t in 0..self.positions {
            if std::mem::take(&mut self.columns[t].marked) {
                self.grow(lattice, ranking, t, threshold, tally);
            }
        }
    }

    fn grow(
        &mut self,
        lattice: &Lattice<'_, S>,
        ranking: &Ranking,
        t: usize,
        threshold: Option<S>,
        tally: &mut impl Tally,
    ) {
        let scores = if t == 0 { &self.first } else { lattice.node_row(t) };
        let column = &mut self.columns[t];
        let Some(rest) = column.rest else { return };
        let keep = |node: &Node<S>| match threshold {
            // The inherited bounds hold for every member: those left out are strictly worse than the answer.
            Some(threshold) => node.bound() >= threshold,
            None => true,
        };
        let levels = ranking.levels();
        let inherited = |label: LabelId, node: S| Node { label, node, ..rest };
        let added = ranking.added_after(column.level).iter().map(|&y| inherited(y, scores[y as usize]));
        let legal = added.filter(|node| !node.node.is_forbidden());
        column.nodes.extend(legal.filter(|node| keep(node) || drop_at(t, node, tally)));
        column.level += 1;
        let node =
            if column.level < levels { self.rest_nodes[t * levels + column.level] } else { S::FORBIDDEN };
        column.rest = Some(inherited(0, node)).filter(|rest| !rest.node.is_forbidden() && keep(rest));
    }
}

/// Reports a node that is dropped.
fn drop_at<S>(t: usize, node: &Node<S>, tally: &mut impl Tally) -> bool {
    tally.pruned(t, node.label);
    false
}

fn fresh<S: Float>(label: LabelId, node: S) -> Node<S> {
    // The bounds are meaningless until the first pass in each direction has set them.
    let (forward, backward) = (S::ZERO, S::ZERO);
    Node { label, node, forward, backward, active: S::FORBIDDEN, mixed: S::FORBIDDEN }
}
