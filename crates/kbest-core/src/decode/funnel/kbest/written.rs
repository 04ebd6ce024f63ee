//! Paths written out: the labels, and the terms that each position adds to the score.
//!
//! The paths that others deviate from are written out one after another, the best path first; each as a copy of its
//! parent, changed at the positions where it differs. **Cost.** That copy: a few words per position.

use super::graph::{END, Graph, Way};
use crate::decode::funnel::layers::NONE;
use crate::label::LabelId;
use crate::simd::Float;

/// What a position of a path adds to its score.
#[derive(Debug, Clone, Copy)]
struct Terms<S> {
    node_score: S,
    edge: S, // to the next position (the end score at the last)
}

/// The paths written out, by number.
#[derive(Debug, Default)]
pub(super) struct Written<S> {
    positions: usize,
    labels: Vec<LabelId>, // paths x T
    terms: Vec<Terms<S>>, // paths x T
}

impl<S: Float> Written<S> {
    /// Begins with the best path.
    pub(super) fn begin(&mut self, graph: &Graph<S>, positions: usize) {
        self.positions = positions;
        self.labels.clear();
        self.labels.resize(positions, NONE);
        self.terms.clear();
        self.terms.resize(positions, Terms { node_score: S::ZERO, edge: S::ZERO });
        self.change(0, graph, graph.best_way(END), positions - 1);
    }

    /// Writes out one more path, its parent's but over another way from position `t`, and returns its number.
    pub(super) fn add(&mut self, parent: u32, graph: &Graph<S>, way: &Way<S>, t: usize) -> u32 {
        let first = parent as usize * self.positions;
        let new = self.labels.len();
        self.labels.extend_from_within(first..first + self.positions);
        self.terms.extend_from_within(first..first + self.positions);
        self.change(new, graph, way, t);
        (new / self.positions) as u32
    }

    /// Changes a copy of a path, or the first one.
    fn change(&mut self, first: usize, graph: &Graph<S>, way: &Way<S>, t: usize) {
        let (labels, terms) = (&mut self.labels[first..], &mut self.terms[first..]);
        change_labels(labels, graph, way, t, |t, way| {
            terms[t] = Terms { node_score: way.node_score, edge: way.edge };
        });
    }

    /// The labels of a path.
    pub(super) fn labels(&self, number: u32) -> &[LabelId] {
        &self.labels[number as usize * self.positions..][..self.positions]
    }

    /// The judge's score of a path that continues like a written one after its own way from position `t`:
    ///
    /// ```text
    /// score = alpha(from) + edge + node[t + 1] + edge[t + 1] + node[t + 2] + ... + end
    /// ```
    #[inline(always)]
    pub(super) fn score(&self, number: u32, graph: &Graph<S>, way: &Way<S>, t: usize, has_end: bool) -> S {
        let (mut score, mut edge) = (graph.nodes[way.from as usize].alpha, way.edge);
        let path = &self.terms[number as usize * self.positions..][..self.positions];
        for terms in &path[t + 1..] {
            score = score + edge + terms.node_score;
            edge = terms.edge;
        }
        if has_end { score + edge } else { score }
    }
}

/// Changes a copy of a path's labels to those over another way from position `t`. `note` is called with each position
/// and its way, including the one where both meet again, whose edge differs.
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
            break; // from here back to the start, the path takes the best ways, too
        }
    }
}
