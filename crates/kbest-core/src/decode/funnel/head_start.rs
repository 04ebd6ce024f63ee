//! What a search that gave up knows, for a forward pass that takes over.
//!
//! At a position `s`, the opened labels before it give every label a value. Labels that are not opened lead to values below
//! their floor, so a value of at least the floor is exact; any other label's is below the floor:
//!
//! ```text
//! value[y]  = max over the labels p opened before of  alpha[p] + edge(p, y)
//! known     = value[y] + node[y]         if value[y] >= floor before
//! bound     = floor before + node[y]     otherwise
//! ```
//!
//! If what is known leads to more, at every label of the next position, than the bounds of the others allow, all forward
//! scores from there on follow from it ([`HeadStart`]), and nothing before `s` has to be done again. **Cost.** A pass per opened
//! label.

use super::layers::LATER;
use super::search::Memory;
use crate::decode::forward::HeadStart;
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::{AlignedVec, Float};

impl<S: Float> Memory<S> {
    /// The position before the one at which the search gave up, which was hard; 0 if there is none.
    pub(crate) fn last_known(&self) -> usize {
        self.layers.positions().saturating_sub(2)
    }

    /// Number of labels opened before a position after the first.
    pub(crate) fn opened_before(&self, s: usize) -> usize {
        self.layers.layer(s - 1).opened as usize
    }

    /// What is known of a position after the first.
    pub(crate) fn head_start(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl EdgeScores<S>,
        s: usize,
    ) -> HeadStart<S> {
        let (labels, node_scores) = (lattice.labels(), lattice.node_row(s));
        let floor = self.layers.floor_before(s);
        let mut known = AlignedVec::filled(labels, S::FORBIDDEN);
        let mut others = AlignedVec::filled(labels, S::FORBIDDEN);
        for (_, entry) in self.layers.opened(s - 1) {
            let row = edges.row(s, entry.label as usize, &mut self.edge_buffer);
            S::max_plus_row(&mut known, entry.alpha, &row[..labels]);
        }
        for y in 0..labels {
            if known[y] >= floor {
                known[y] += node_scores[y];
            } else {
                (known[y], others[y]) = (S::FORBIDDEN, floor + node_scores[y]);
            }
        }
        HeadStart { position: s, known, others }
    }

    /// Writes the labels before position `s` of the best path to a label that is known there, and returns how many edges that took.
    pub(crate) fn write_labels_before(
        &self,
        edges: &impl EdgeScores<S>,
        s: usize,
        path: &mut [LabelId],
    ) -> usize {
        let mut looked = 0;
        let mut way_back =
            |t: usize, y: LabelId| self.layers.best_way_in(edges, t, y as usize, &mut looked).1;
        let mut at = way_back(s, path[s]);
        for t in (0..s).rev() {
            let entry = self.layers.entry(at);
            path[t] = entry.label;
            at = if entry.back == LATER { way_back(t, entry.label) } else { entry.back };
        }
        looked
    }
}
