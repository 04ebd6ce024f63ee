//! Paths written out: the labels, and what each position adds to the score.
//!
//! One row for each path that others deviate from, one after another; the best path is row 0. **Cost.** A copy of the
//! parent's row, and the positions that are changed in it.

use super::graph::{END, Graph, NONE, Way};
use crate::kernel::Float;
use crate::label::LabelId;

/// What a position of a path adds.
#[derive(Debug, Clone, Copy)]
struct Step<S> {
    node: S,
    edge: S, // to the next position (the end score at the last)
}

/// The rows.
#[derive(Debug, Default)]
pub(super) struct Rows<S> {
    positions: usize,
    labels: Vec<LabelId>,
    steps: Vec<Step<S>>,
}

impl<S: Float> Rows<S> {
    /// Begins with the best path.
    pub(super) fn begin(&mut self, graph: &Graph<S>, positions: usize) {
        self.positions = positions;
        self.labels.clear();
        self.labels.resize(positions, NONE);
        self.steps.clear();
        self.steps.resize(positions, Step { node: S::ZERO, edge: S::ZERO });
        self.change(0, graph, graph.best_way(END), positions - 1);
    }

    /// Adds a row: that of a parent, but over another way from position `t`.
    pub(super) fn add(&mut self, parent: u32, graph: &Graph<S>, way: &Way<S>, t: usize) -> u32 {
        let first = parent as usize * self.positions;
        let new = self.labels.len();
        self.labels.extend_from_within(first..first + self.positions);
        self.steps.extend_from_within(first..first + self.positions);
        self.change(new, graph, way, t);
        (new / self.positions) as u32
    }

    /// Changes a copy of a row.
    fn change(&mut self, first: usize, graph: &Graph<S>, way: &Way<S>, t: usize) {
        let (labels, steps) = (&mut self.labels[first..], &mut self.steps[first..]);
        change_labels(labels, graph, way, t, |t, way| steps[t] = Step { node: way.node, edge: way.edge });
    }

    /// The labels of a row.
    pub(super) fn labels(&self, row: u32) -> &[LabelId] {
        &self.labels[row as usize * self.positions..][..self.positions]
    }

    /// The judge's score of a path that goes on as a row does behind its way from position `t`.
    #[inline(always)]
    pub(super) fn score(&self, row: u32, graph: &Graph<S>, way: &Way<S>, t: usize, has_end: bool) -> S {
        let (mut score, mut edge) = (graph.nodes[way.from as usize].alpha, way.edge);
        let row = &self.steps[row as usize * self.positions..][..self.positions];
        for step in &row[t + 1..] {
            score = score + edge + step.node;
            edge = step.edge;
        }
        if has_end { score + edge } else { score }
    }
}

/// Changes a copy of a path's labels to those over another way from position `t`. `note` is called with each position and
/// its way, the one where both meet again included: the edge there is another one.
#[inline(always)]
pub(super) fn change_labels<S: Float>(
    labels: &mut [LabelId],
    graph: &Graph<S>,
    way: &Way<S>,
    t: usize,
    mut note: impl FnMut(usize, &Way<S>),
) {
    for (t, way) in graph.ways_back(way, t) {
        note(t, way);
        if std::mem::replace(&mut labels[t], way.label) == way.label {
            break; // from here to the start the path has the best ways, too
        }
    }
}
