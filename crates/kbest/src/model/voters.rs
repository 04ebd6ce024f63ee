//! The voted perceptron: every intermediate weight vector, stored as the changes from one to the next.
//!
//! **What.** Member `i` of the ensemble has the weights after `i` corrections, and as many votes as sequences it got
//! right before the next correction, plus one. **Cost.** Each change is stored once, so the size of the ensemble is
//! that of the corrections, not members times weights. **Paper.** Freund and Schapire 1999.

use crate::feature::FeatureId;
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelId;
use kbest_core::{Error, Result};

/// A change of a node feature's weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeChange {
    /// The first member that has it.
    pub member: u32,
    /// The feature.
    pub feature: FeatureId,
    /// The label, or the column of a part of labels.
    pub label: LabelId,
    /// The difference.
    pub by: f32,
}

/// A change of an edge feature's weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EdgeChange {
    /// The first member that has it.
    pub member: u32,
    /// The feature.
    pub feature: FeatureId,
    /// The label before.
    pub from: LabelId,
    /// The label after.
    pub to: LabelId,
    /// The difference.
    pub by: f32,
}

/// Votes and changes being collected, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct VotersBuilder {
    votes: Vec<u32>, // one per member; the first has no weights at all
    nodes: Vec<NodeChange>,
    edges: Vec<EdgeChange>,
}

impl Default for VotersBuilder {
    fn default() -> Self {
        VotersBuilder { votes: vec![0], nodes: Vec::new(), edges: Vec::new() }
    }
}

impl VotersBuilder {
    /// Records that the newest member has decoded a sequence: it gets a vote or, if it was wrong, a successor.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are more than four billion members.
    pub fn step(&mut self, wrong: bool) -> Result<()> {
        match self.votes.last_mut() {
            Some(votes) if !wrong => *votes = votes.saturating_add(1),
            _ => self.votes.push(1),
        }
        if self.votes.len() > u32::MAX as usize {
            return Err(Error::shape("members that vote", "at most 2^32", "more"));
        }
        Ok(())
    }

    fn member(&self) -> u32 {
        (self.votes.len() - 1) as u32
    }

    /// Records a weight in which the newest member differs from the one before.
    pub fn change_node(&mut self, feature: FeatureId, label: LabelId, by: f32) {
        self.nodes.push(NodeChange { member: self.member(), feature, label, by });
    }

    /// Records a weight in which the newest member differs from the one before.
    pub fn change_edge(&mut self, feature: FeatureId, from: LabelId, to: LabelId, by: f32) {
        self.edges.push(EdgeChange { member: self.member(), feature, from, to, by });
    }

    /// Sorts the changes by feature.
    pub fn finish(mut self) -> Voters {
        self.nodes.sort_by_key(|change| change.feature); // stable: members stay in order
        self.edges.sort_by_key(|change| change.feature);
        Voters { votes: self.votes, nodes: self.nodes, edges: self.edges }
    }

    /// Writes its state.
    pub fn save(&self, state: &mut StateWriter) {
        write(state, &self.votes, &self.nodes, &self.edges);
    }

    /// Reads the state that [`VotersBuilder::save`] wrote.
    ///
    /// # Errors
    /// [`Error::Shape`] for other bytes.
    pub fn restore(state: &mut StateReader<'_>) -> Result<Self> {
        let (votes, nodes, edges) = read(state)?;
        Ok(VotersBuilder { votes, nodes, edges })
    }
}

/// An ensemble that votes.
#[derive(Debug, Clone, PartialEq)]
pub struct Voters {
    votes: Vec<u32>,
    nodes: Vec<NodeChange>, // by feature, then by member
    edges: Vec<EdgeChange>, // by feature, then by member
}

impl Voters {
    /// The votes of each member.
    pub fn votes(&self) -> &[u32] {
        &self.votes
    }

    /// The changes of a node feature, in the order of members.
    pub fn node_changes(&self, feature: FeatureId) -> &[NodeChange] {
        let start = self.nodes.partition_point(|change| change.feature < feature);
        let end = self.nodes.partition_point(|change| change.feature <= feature);
        &self.nodes[start..end]
    }

    /// The changes of an edge feature, in the order of members.
    pub fn edge_changes(&self, feature: FeatureId) -> &[EdgeChange] {
        let start = self.edges.partition_point(|change| change.feature < feature);
        let end = self.edges.partition_point(|change| change.feature <= feature);
        &self.edges[start..end]
    }

    /// Rejects changes of members, features or labels that do not exist.
    pub(super) fn check(
        &self,
        labels: usize,
        columns: usize,
        node_features: usize,
        edge_features: usize,
    ) -> Result<()> {
        let members = self.votes.len();
        if self.votes.iter().all(|&votes| votes == 0) {
            return Err(Error::shape("members that vote", "at least one vote", "none"));
        }
        let nodes =
            self.nodes.iter().map(|c| (c.member, c.feature, node_features, c.label, c.label, columns, c.by));
        let edges =
            self.edges.iter().map(|c| (c.member, c.feature, edge_features, c.from, c.to, labels, c.by));
        for (member, feature, features, from, to, labels, by) in nodes.chain(edges) {
            let legal = (member as usize) < members && (feature as usize) < features && by.is_finite();
            if !legal || from.max(to) as usize >= labels {
                let got = format!("member {member}, feature {feature}, labels {from}, {to}, by {by}");
                let expected = format!("{members} members, {features} features, {labels} labels");
                return Err(Error::shape("changes between voters", expected, got));
            }
        }
        let ordered = self.nodes.is_sorted_by_key(|c| (c.feature, c.member))
            && self.edges.is_sorted_by_key(|c| (c.feature, c.member));
        if ordered {
            Ok(())
        } else {
            Err(Error::shape("changes between voters", "a sorted list", "an unsorted one"))
        }
    }

    /// Writes the ensemble.
    pub fn save(&self, state: &mut StateWriter) {
        write(state, &self.votes, &self.nodes, &self.edges);
    }

    /// Reads what [`Voters::save`] wrote.
    ///
    /// # Errors
    /// [`Error::Shape`] for other bytes.
    pub fn restore(state: &mut StateReader<'_>) -> Result<Self> {
        let (votes, nodes, edges) = read(state)?;
        Ok(Voters { votes, nodes, edges })
    }
}

fn write(state: &mut StateWriter, votes: &[u32], nodes: &[NodeChange], edges: &[EdgeChange]) {
    state.list(votes.iter().copied());
    state.number(nodes.len() as u64);
    for change in nodes {
        let NodeChange { member, feature, label, by } = *change;
        [member, feature, label, by.to_bits()].into_iter().for_each(|word| state.number(word));
    }
    state.number(edges.len() as u64);
    for change in edges {
        let EdgeChange { member, feature, from, to, by } = *change;
        [member, feature, from, to, by.to_bits()].into_iter().for_each(|word| state.number(word));
    }
}

fn read(state: &mut StateReader<'_>) -> Result<(Vec<u32>, Vec<NodeChange>, Vec<EdgeChange>)> {
    let votes = state.list()?;
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for _ in 0..state.number::<u64>()? {
        let (member, feature, label) = (state.number()?, state.number()?, state.number()?);
        nodes.push(NodeChange { member, feature, label, by: f32::from_bits(state.number()?) });
    }
    for _ in 0..state.number::<u64>()? {
        let (member, feature, from, to) =
            (state.number()?, state.number()?, state.number()?, state.number()?);
        edges.push(EdgeChange { member, feature, from, to, by: f32::from_bits(state.number()?) });
    }
    Ok((votes, nodes, edges))
}
