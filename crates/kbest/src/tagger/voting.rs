//! An ensemble's answer: every member decodes, the paths with most votes win.
//!
//! **Cost.** A member differs from the one before in a few weights, and only in those that the sequence has features for;
//! where it has none, the answer is known already. Still many decodings a sequence: for small problems.

use super::constrained::Limits;
use crate::decode::{Decode, Decoded, Decoder, Scratch};
use crate::error::Result;
use crate::feature::{FeatureBuffer, FeatureId};
use crate::label::LabelId;
use crate::lattice::Edges;
use crate::model::{EdgeWeight, EdgeWeights, LabelParts, Model, Voters};
use crate::scoring::{self, ScoreBuffer, Weights};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

type Pairs = HashMap<(LabelId, LabelId), f32, FixedState>;

/// The weights of one member, as far as a sequence sees them.
struct Member<'m> {
    model: &'m Model,
    limits: Limits<'m>,
    nodes: HashMap<FeatureId, Vec<(LabelId, f32)>, FixedState>,
    edges: HashMap<FeatureId, Pairs, FixedState>,
    shared: Option<Edges<f32>>,
}

/// What a member changes.
#[derive(Clone, Copy)]
enum Change {
    Node(FeatureId, LabelId),
    Edge(FeatureId, LabelId, LabelId),
}

/// The `k` paths with most votes, of equals the one that came first; their scores are their shares of all votes.
pub(super) fn vote(
    model: &Model,
    voters: &Voters,
    features: &FeatureBuffer,
    limits: Limits<'_>,
    k: usize,
    decoder: &Decoder,
    scratch: &mut Scratch<f32>,
) -> Result<Decoded<f32>> {
    let changes = changes_seen(voters, features);
    let mut member = Member::new(model, limits);
    let (mut scores, mut answer) = (ScoreBuffer::new(), Decoded::default());
    let mut ballots: Vec<(Vec<LabelId>, u64)> = Vec::new();
    let mut next = 0; // the first change that is still to come
    let mut choice = None;
    for (i, &votes) in (0..).zip(voters.votes()) {
        let begun = next;
        while let Some(&(_, change, by)) = changes.get(next).filter(|&&(member, ..)| member == i) {
            member.apply(change, by);
            next += 1;
        }
        if next > begun || choice.is_none() {
            member.share_edges(features)?;
            let lattice = limits.force(scoring::lattice(&member, features, &mut scores)?)?;
            decoder.decode_into(&lattice, 1, scratch, &mut answer)?;
            let path = &answer.best().labels;
            let known = ballots.iter().position(|(labels, _)| labels == path);
            choice = Some(known.unwrap_or_else(|| {
                ballots.push((path.clone(), 0));
                ballots.len() - 1
            }));
        }
        if let Some(choice) = choice {
            ballots[choice].1 += u64::from(votes);
        }
    }
    ballots.sort_by_key(|&(_, votes)| std::cmp::Reverse(votes));
    let all = ballots.iter().map(|&(_, votes)| votes).sum::<u64>().max(1) as f64;
    answer.clear_paths();
    for (labels, votes) in ballots.iter().take(k) {
        answer.push_path(labels.len(), (*votes as f64 / all) as f32).copy_from_slice(labels);
    }
    Ok(answer)
}

/// The changes that concern the sequence's features, member by member.
fn changes_seen(voters: &Voters, features: &FeatureBuffer) -> Vec<(u32, Change, f32)> {
    let collect = |of: &dyn Fn(usize) -> Vec<FeatureId>| {
        let mut ids: Vec<FeatureId> = (0..features.len()).flat_map(of).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    };
    let mut changes = Vec::new();
    for id in collect(&|t| features.nodes(t).to_vec()) {
        changes.extend(voters.node_changes(id).iter().map(|c| (c.member, Change::Node(id, c.label), c.by)));
    }
    for id in collect(&|t| features.edges(t).to_vec()) {
        changes
            .extend(voters.edge_changes(id).iter().map(|c| (c.member, Change::Edge(id, c.from, c.to), c.by)));
    }
    changes.sort_by_key(|&(member, ..)| member);
    changes
}

impl<'m> Member<'m> {
    fn new(model: &'m Model, limits: Limits<'m>) -> Self {
        Member { model, limits, nodes: HashMap::default(), edges: HashMap::default(), shared: None }
    }

    fn apply(&mut self, change: Change, by: f32) {
        match change {
            Change::Node(feature, label) => {
                let row = self.nodes.entry(feature).or_default();
                match row.iter_mut().find(|(known, _)| *known == label) {
                    Some((_, weight)) => *weight += by,
                    None => row.push((label, by)),
                }
            }
            Change::Edge(feature, from, to) => {
                *self.edges.entry(feature).or_default().entry((from, to)).or_default() += by;
                self.shared = None;
            }
        }
    }

    /// Adds the shared edges up again after a change.
    fn share_edges(&mut self, features: &FeatureBuffer) -> Result<()> {
        if self.shared.is_none() && !self.model.extractor().source().has_observed_edges() {
            let ids = if features.len() > 1 { features.edges(1) } else { &[] };
            self.shared = Some(self.observed_edges(ids)?);
        }
        Ok(())
    }
}

impl Weights for Member<'_> {
    fn labels(&self) -> usize {
        self.model.labels().len()
    }

    fn label_parts(&self) -> Option<&LabelParts> {
        self.model.label_parts()
    }

    fn add_nodes(&self, feature: FeatureId, value: f32, columns: &mut [f32]) {
        for &(y, weight) in self.nodes.get(&feature).into_iter().flatten() {
            columns[y as usize] += value * weight;
        }
    }

    fn shared_edges(&self) -> Option<&Edges<f32>> {
        self.shared.as_ref()
    }

    fn observed_edges(&self, features: &[FeatureId]) -> Result<Edges<f32>> {
        let of = |id: &FeatureId| {
            let pairs = self.edges.get(id).into_iter().flatten();
            pairs.map(|(&(from, to), &weight)| EdgeWeight { from, to, weight }).collect()
        };
        let weights = EdgeWeights::new(Weights::labels(self), features.iter().map(of))?;
        let edges = weights.sum(&(0..features.len() as FeatureId).collect::<Vec<_>>())?;
        match self.limits.constrained {
            Some(constrained) => constrained.transitions().constrain(&edges),
            None => Ok(edges),
        }
    }

    fn start(&self) -> Option<&[f32]> {
        self.limits.constrained.and_then(Weights::start)
    }

    fn end(&self) -> Option<&[f32]> {
        self.limits.constrained.and_then(Weights::end)
    }
}
