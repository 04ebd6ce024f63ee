//! An ensemble of row weights: one lattice, carried from member to member.
//!
//! **What.** All changes of weights whose features occur in the sequence, in the order of members. Advancing to a
//! member adds its changes where the features occur: to some columns of some positions, and to some edges.
//!
//! ```text
//! sums[t][c] += value of the feature at t * change of its weight for column c
//! node[t][y]  = sums[t][y] + sum over the parts p of y of sums[t][L + p]
//! ```
//!
//! **Cost.** One look-up per feature of the sequence, a sort of the changes found, then one addition per change and
//! position, and a new row for each position touched. **Rounding.** Node sums are kept in `f64`, where adding `f32` weights
//! loses nothing unless they differ by more than a factor of 2^29; so a member's node scores do not depend on the
//! members before it. Edges are added in `f32`: exact for whole-number steps, else the last bit may depend on them.

use super::distinct_edges;
use crate::feature::{FeatureBuffer, FeatureId};
use crate::model::{LabelParts, Model, Voters};
use crate::scoring::{Constrain, Members};
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::{LabelId, Positions, Result};

/// The effect on the lattice of changing one weight.
#[derive(Debug, Clone, Copy)]
enum Change {
    Node { t: u32, column: u32 },
    Edge { matrix: u32, from: LabelId, to: LabelId },
}

/// A lattice carried from member to member.
#[derive(Debug)]
pub(in crate::scoring) struct RowMembers<'m> {
    voters: &'m Voters,
    model: &'m Model,
    changes: Vec<(u32, Change, f64)>, // first member that has it, change, difference; sorted by member
    next: usize,                      // the first change not applied yet
    columns: usize,                   // labels and their parts
    sums: Vec<f64>,                   // T x columns
    nodes: Vec<f32>,                  // T x L
    touched: Vec<u32>,                // positions whose node scores must be recomputed
    row: Vec<f64>,                    // L: the scores of a position with parts
    part_sums: Vec<f64>,
    edges: Edges<f32>,
    selection: Option<Vec<u32>>, // which matrix each step uses, if edges depend on the input
}

impl<'m> RowMembers<'m> {
    pub(in crate::scoring) fn new(
        model: &'m Model,
        voters: &'m Voters,
        features: &FeatureBuffer,
        constrain: &Constrain<'_>,
    ) -> Result<Self> {
        let (labels, positions) = (model.labels().len(), features.len());
        let columns = model.label_parts().map_or(labels, LabelParts::columns);
        let observed = model.extractor().source().has_observed_edges();
        let (distinct, selection) = distinct_edges(features);
        let matrices = if observed { &distinct[..] } else { &distinct[..1] };
        Ok(RowMembers {
            voters,
            model,
            changes: changes_seen(voters, features, matrices),
            next: 0,
            columns,
            sums: vec![0.0; positions * columns],
            nodes: vec![0.0; positions * labels],
            touched: Vec::new(),
            row: vec![0.0; labels],
            part_sums: Vec::new(),
            edges: constrain(zero_edges(model, matrices.len(), observed)?)?,
            selection: observed.then_some(selection),
        })
    }

    /// Recomputes the node scores of the touched positions.
    fn refresh(&mut self) {
        self.touched.sort_unstable();
        self.touched.dedup();
        let labels = self.row.len();
        for t in self.touched.drain(..) {
            let sums = &self.sums[t as usize * self.columns..][..self.columns];
            let scores = match self.model.label_parts() {
                None => sums,
                Some(parts) => {
                    parts.spread(sums, &mut self.row, &mut self.part_sums);
                    &self.row
                }
            };
            let nodes = &mut self.nodes[t as usize * labels..][..labels];
            nodes.iter_mut().zip(scores).for_each(|(node, &score)| *node = score as f32);
        }
    }
}

/// The changes that affect the sequence, member by member.
fn changes_seen(
    voters: &Voters,
    features: &FeatureBuffer,
    matrices: &[&[FeatureId]],
) -> Vec<(u32, Change, f64)> {
    let mut nodes: Vec<(FeatureId, u32, f64)> = Vec::new(); // where each feature occurs, with its value
    for t in 0..features.len() {
        let values = features.values(t);
        let value = |i: usize| values.map_or(1.0, |values| values[i]);
        nodes.extend(features.nodes(t).iter().enumerate().map(|(i, &id)| (id, t as u32, value(i))));
    }
    nodes.sort_by_key(|&(feature, ..)| feature);
    let mut edges: Vec<(FeatureId, u32)> = Vec::new(); // the matrices that each feature is part of
    for (matrix, ids) in (0..).zip(matrices) {
        edges.extend(ids.iter().map(|&id| (id, matrix)));
    }
    edges.sort_unstable();
    let mut changes = Vec::new();
    for places in nodes.chunk_by(|one, next| one.0 == next.0) {
        for change in voters.node_changes(places[0].0) {
            let (member, column, by) = (change.member, change.label, f64::from(change.by));
            changes
                .extend(places.iter().map(|&(_, t, value)| (member, Change::Node { t, column }, value * by)));
        }
    }
    for places in edges.chunk_by(|one, next| one.0 == next.0) {
        for change in voters.edge_changes(places[0].0) {
            let (from, to) = (change.from, change.to);
            let at = |&(_, matrix): &(FeatureId, u32)| {
                (change.member, Change::Edge { matrix, from, to }, f64::from(change.by))
            };
            changes.extend(places.iter().map(at));
        }
    }
    changes.sort_by_key(|&(member, ..)| member);
    changes
}

/// Edges with score zero, in the shape that suits the last member, which has all edges that any member has.
fn zero_edges(model: &Model, matrices: usize, observed: bool) -> Result<Edges<f32>> {
    let labels = model.labels().len();
    let matrix = || match model.shared_edges().as_dense() {
        Some(_) => Edges::dense(labels, vec![0.0; labels * labels]),
        None => Edges::uniform(labels, 0.0),
    };
    if !observed {
        return matrix();
    }
    Edges::per_position((0..matrices).map(|_| matrix()).collect::<Result<_>>()?)
}

impl Members<Positions> for RowMembers<'_> {
    fn votes(&self) -> &[u32] {
        self.voters.votes()
    }

    fn advance(&mut self, member: usize) -> Result<bool> {
        let begun = self.next;
        while let Some(&(_, change, by)) =
            self.changes.get(self.next).filter(|&&(of, ..)| of as usize <= member)
        {
            match change {
                Change::Node { t, column } => {
                    self.sums[t as usize * self.columns + column as usize] += by;
                    self.touched.push(t);
                }
                Change::Edge { matrix, from, to } => {
                    self.edges.add_in(matrix as usize, from, to, by as f32)?;
                }
            }
            self.next += 1;
        }
        self.refresh();
        Ok(self.next > begun)
    }

    fn lattice(&self) -> Result<Lattice<'_, f32>> {
        let lattice = match &self.selection {
            Some(selection) => Lattice::selecting(&self.nodes, &self.edges, selection)?,
            None => Lattice::new(&self.nodes, &self.edges)?,
        };
        lattice.with_borders(self.model.start(), self.model.end())
    }
}
