//! Backwards from the best path: every label on any path within a margin of it.
//!
//! A label kept at `t` with an allowance (the most that a path may lose on its way to it) *wants* every label before it
//! that leads to a value within that allowance of its best one; the loss of that label is subtracted from the
//! allowance:
//!
//! ```text
//! allowance(end)  = margin + slack
//! loss(p -> y)    = value(best way into y) - value(p -> y),   value(p -> y) = alpha[p] + edge(p, y)
//! p is wanted       if loss(p -> y) <= allowance(y), that is, value(p -> y) >= needed = best value - allowance(y)
//! allowance(p)    = max over all y that want p of  allowance(y) - loss(p -> y)
//! ```
//!
//! Where a label that is not opened could be wanted, by floor and rest of its position, the position is opened toward
//! that one label. The labels kept are exactly those that some path within the margin (and the slack) uses.
//!
//! **Cost.** One vector pass for each label kept whose predecessors the search has not opened far enough (those before
//! the best path are known from [`super::hits`]), and a step for each opened label before each label kept.

use super::graph::{END, Graph, Node, Way};
use super::hits::Hits;
use super::slack::Slack;
use crate::decode::Tally;
use crate::decode::funnel::budget::{Budget, Stop};
use crate::decode::funnel::layers::Entry;
use crate::decode::funnel::search::{Goal, Memory, Search};
use crate::decode::path_space::{self, Columns, Survivors};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;

/// So many ways, about a megabyte, are always worth their memory.
const FEW_WAYS: usize = 1 << 16;

/// The labels on paths within a margin.
#[derive(Debug, Default)]
pub(crate) struct Kept<S> {
    pub(super) best_path: Vec<u32>, // T: the search's entries
    pub(super) hits: Hits<S>,       // known already, if the margin was found with them
    pub(super) graph: Graph<S>,
    offsets: Vec<usize>, // the same labels in columns: T + 1
    labels: Vec<LabelId>,
    alpha: Vec<S>,
    paths: path_space::Memory<S>,
}

impl<S: Float> Kept<S> {
    /// Puts the labels kept into columns, ascending at each position, for the enumeration of [`path_space`].
    pub(super) fn fill_columns(&mut self) {
        let nodes = &mut self.graph.nodes[1..];
        nodes.sort_unstable_by_key(|node| (node.t, node.label));
        let positions = nodes.last().map_or(0, |last| last.t as usize + 1);
        self.offsets.clear();
        self.offsets.push(0);
        self.offsets.resize(positions + 1, 0);
        nodes.iter().for_each(|node| self.offsets[node.t as usize + 1] += 1);
        for t in 0..positions {
            self.offsets[t + 1] += self.offsets[t];
        }
        self.labels.clear();
        self.labels.extend(nodes.iter().map(|node| node.label));
        self.alpha.clear();
        self.alpha.extend(nodes.iter().map(|node| node.alpha));
        self.graph.nodes.truncate(1); // their order no longer agrees with the ways
    }

    /// The labels in columns, and the memory of their enumeration.
    pub(crate) fn parts(&mut self) -> (Survivors<'_, S>, &mut path_space::Memory<S>) {
        let columns = Columns::Listed { offsets: &self.offsets, labels: &self.labels };
        (Survivors { alpha: &self.alpha, columns }, &mut self.paths)
    }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After [`Search::run`], with the entries of the best path: keeps every label on any path that loses at most
    /// `margin` (infinity: on any legal path).
    pub(super) fn keep_within(&mut self, margin: S, slack: Slack<S>, kept: &mut Kept<S>) -> Result<(), Stop> {
        let positions = self.lattice.positions();
        let Kept { best_path, hits, graph, .. } = kept;
        self.tally.round();
        let most_ways =
            (positions.saturating_mul(self.lattice.labels()) / 2).max(FEW_WAYS).min(self.budget.ways);
        graph.begin(&self.memory.layers, best_path, margin + slack.within(margin), most_ways);
        let done = (1..=positions).rev().try_for_each(|t| self.keep_before(t, best_path, hits, graph));
        hits.cover = S::FORBIDDEN; // they were made for this margin
        done
    }

    /// Keeps the labels before those of position `t`, or before the end.
    fn keep_before(
        &mut self,
        t: usize,
        best_path: &[u32],
        hits: &mut Hits<S>,
        graph: &mut Graph<S>,
    ) -> Result<(), Stop> {
        let off_best = graph.end_level();
        if !self.add_way_on_best(t, best_path, off_best.is_empty(), hits, graph) {
            let first_new = graph.nodes.len() as u32;
            self.want_predecessors(graph.on_best(t), best_path, hits, graph)?;
            self.add_only_ways(t - 1, first_new, best_path, graph);
        }
        for node in off_best {
            if graph.nodes[node as usize].has_no_way() {
                self.want_predecessors(node, best_path, hits, graph)?;
            }
        }
        Ok(())
    }

    /// Adds the way that the best path takes to position `t`, or to the end, if it surely is the only one there. If
    /// other labels are kept at `t`, too, a hit that is not wanted here must be considered for their sake (`alone`:
    /// there are none).
    fn add_way_on_best(
        &self,
        t: usize,
        best_path: &[u32],
        alone: bool,
        hits: &Hits<S>,
        graph: &mut Graph<S>,
    ) -> bool {
        let on_best = graph.on_best(t);
        let Node { label, allowance, .. } = graph.nodes[on_best as usize];
        let before = self.memory.layers.entry(best_path[t - 1]);
        let (value, edge) = self.value_into(t, label as usize, before, on_best == END);
        let is_only = self.memory.layers.layer(t - 1).opened == 1
            && hits.have_none(t - 1, allowance, value - allowance, alone);
        if is_only {
            let node_score = self.lattice.node_row(t - 1)[before.label as usize];
            let from = graph.on_best(t - 1);
            graph.add_only_way(on_best, Way { from, label: before.label, node_score, edge, loss: S::ZERO });
        }
        is_only
    }

    /// Adds the way into each of the new nodes of position `t` that surely have only one, from the best path. Most do.
    ///
    /// ```text
    /// only way:  max(rest, best other alpha) + largest edge into y  <  alpha + edge - allowance
    /// ```
    fn add_only_ways(&self, t: usize, first_new: u32, best_path: &[u32], graph: &mut Graph<S>) {
        let Some(before) = t.checked_sub(1) else { return };
        let (layer, back) = (self.memory.layers.layer(before), best_path[before]);
        let Entry { label, alpha, .. } = *self.memory.layers.entry(back);
        let others = layer.rest.larger(layer.best_but(alpha));
        let (from, node_score) = (graph.on_best(before), self.lattice.node_row(before)[label as usize]);
        let largest = self.edges.bounds(t).column;
        for new in first_new..graph.nodes.len() as u32 {
            let Node { label: y, entry, allowance, .. } = graph.nodes[new as usize];
            if self.memory.layers.entry(entry).back != back {
                continue;
            }
            let edge = self.edges.get(t, label as usize, y as usize);
            // Upper bound: no other label, even with the largest edge, leads to as much as is needed.
            if others + largest.at(y as usize) < alpha + edge - allowance {
                graph.add_only_way(new, Way { from, label, node_score, edge, loss: S::ZERO });
            }
        }
    }

    /// Adds every way into a node that leads to a value within its allowance of the best one, opening labels before it
    /// as far as necessary.
    fn want_predecessors(
        &mut self,
        node: u32,
        best_path: &[u32],
        hits: &mut Hits<S>,
        graph: &mut Graph<S>,
    ) -> Result<(), Stop> {
        let Node { t, label, entry, allowance, .. } = graph.nodes[node as usize];
        let t = t as usize;
        graph.begin_ways(node);
        let (at_end, y) = (node == END, label as usize);
        let back = if at_end { best_path[t - 1] } else { self.memory.layers.entry(entry).back };
        let (best_value, edge) = self.value_into(t, y, self.memory.layers.entry(back), at_end);
        let needed = best_value - allowance;
        let goal = if at_end { Goal::Any } else { Goal::Label(label) };
        if self.may_be_wanted(t - 1, goal, needed) {
            let on_best = at_end || best_path[t] == entry;
            if on_best && hits.cover >= allowance {
                self.open_hits(t - 1, goal, needed, hits)?;
            } else {
                self.deepen(t - 1, goal, needed)?;
            }
        }
        graph.know_entries(self.memory.layers.len());
        let node_scores = self.lattice.node_row(t - 1);
        let before = self.memory.layers.entry(back);
        graph.add_way(node, t - 1, (back, before), node_scores[before.label as usize], edge, S::ZERO);
        let mut looked = 1;
        // Upper bound: no other label, even with the largest edge, leads to as much.
        let largest = if at_end { S::ZERO } else { self.edges.bounds(t).column.at(y) };
        if at_end || self.memory.layers.layer(t - 1).best_but(before.alpha) + largest >= needed {
            for run in self.memory.layers.runs(t - 1).filter(|run| run.largest_reach >= needed) {
                for (index, before) in (run.first..).zip(run.entries) {
                    // Upper bound: neither this label nor any of less reach leads to as much.
                    if before.reach < needed {
                        if run.descending {
                            break;
                        }
                        continue;
                    }
                    // The same for this label alone.
                    if index == back || (!at_end && before.alpha + largest < needed) {
                        continue;
                    }
                    looked += 1;
                    let (value, edge) = self.value_into(t, y, before, at_end);
                    if value >= needed && !value.is_forbidden() {
                        let node_score = node_scores[before.label as usize];
                        graph.add_way(node, t - 1, (index, before), node_score, edge, best_value - value);
                    }
                }
            }
        }
        graph.end_ways(node);
        self.tally.edges(looked);
        self.spend(looked)?;
        if graph.is_crowded() { Err(Stop::Crowded) } else { Ok(()) }
    }

    /// The value that an entry at `t - 1` leads to at label `y` of position `t`, or at the end, and the edge there.
    #[inline(always)]
    fn value_into(&self, t: usize, y: usize, before: &Entry<S>, at_end: bool) -> (S, S) {
        let p = before.label as usize;
        if at_end {
            return (before.reach, self.lattice.end().map_or(S::ZERO, |end| end[p]));
        }
        let edge = self.edges.get(t, p, y);
        (before.alpha + edge, edge)
    }

    /// Whether a label at `t` that is not opened may lead to a value of at least `needed` on the way to the goal.
    #[inline(always)]
    pub(super) fn may_be_wanted(&self, t: usize, goal: Goal, needed: S) -> bool {
        let layer = self.memory.layers.layer(t);
        // Upper bounds: labels not opened lead to values below the layer's floor, and have scores not above its rest.
        layer.floor > needed
            && match goal {
                Goal::Any => true,
                Goal::Label(y) => layer.rest + self.edges.bounds(t + 1).column.at(y as usize) >= needed,
            }
    }
}

/// Searches, and keeps every label on any path that loses at most `margin` (infinity: on any legal path).
pub(crate) fn keep_within<S: Float, E: EdgeScores<S>, T: Tally>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    margin: f64,
    budget: Budget,
    memory: &mut Memory<S>,
    kept: &mut Kept<S>,
    tally: &mut T,
) -> Result<(), Stop> {
    let mut search = Search { lattice, edges, memory, tally, budget, ways_back: true };
    search.run()?;
    search.find_best_path(&mut kept.best_path);
    kept.hits.clear();
    let slack = search.slack(&kept.best_path);
    search.keep_within(S::from_f64_up(margin), slack, kept)?;
    kept.fill_columns();
    Ok(())
}
