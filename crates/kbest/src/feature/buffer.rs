//! The features of one sequence, by position.

use super::lookups::{BATCH, Lookups, UNKNOWN};
use super::windows::Remembered;
use super::{Dictionary, FeatureId, Renumbering};
use crate::state::{StateReader, StateWriter};
use kbest_core::{Error, Result};

/// The feature ids of a sequence. An extractor refills it; it keeps its memory.
#[derive(Debug, Clone, Default)]
pub struct FeatureBuffer {
    nodes: Vec<FeatureId>,   // position by position
    node_ends: Vec<usize>,   // T
    values: Vec<f64>,        // as many as nodes, or none if all are 1
    edges: Vec<FeatureId>,   // position by position
    edge_ends: Vec<usize>,   // T; the first position has none
    pub(super) key: Vec<u8>, // the feature string being built
    lookups: Lookups,        // node features not yet numbered
    pub(super) remembered: Remembered,
}

/// The range of the entries of position `t`.
#[inline]
fn range(ends: &[usize], t: usize) -> std::ops::Range<usize> {
    let start = if t == 0 { 0 } else { ends[t - 1] };
    start..ends[t]
}

impl FeatureBuffer {
    /// An empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.node_ends.clear();
        self.values.clear();
        self.edges.clear();
        self.edge_ends.clear();
        self.lookups.clear();
    }

    #[inline]
    pub(super) fn push_node(&mut self, id: FeatureId) {
        self.nodes.push(id);
    }

    #[inline]
    pub(super) fn push_value(&mut self, value: f64) {
        self.values.push(value);
    }

    #[inline]
    pub(super) fn push_edge(&mut self, id: FeatureId) {
        self.edges.push(id);
    }

    /// Adds all node features of a position.
    #[inline]
    pub(super) fn push_nodes(&mut self, ids: &[FeatureId]) {
        self.nodes.extend_from_slice(ids);
    }

    /// Adds a node feature whose number is looked up later, together with others.
    #[inline]
    pub(super) fn ask_node(&mut self, dictionary: &Dictionary, key: &[u8]) {
        dictionary.ask(&mut self.lookups, self.nodes.len(), |out| {
            out.extend_from_slice(key);
            true
        });
        self.nodes.push(UNKNOWN);
        if self.lookups.len() >= BATCH {
            dictionary.answer(&mut self.lookups, &mut self.nodes);
        }
    }

    /// Looks up the pending features, and drops the unknown ones.
    pub(super) fn answer_nodes(&mut self, dictionary: &Dictionary) {
        dictionary.answer(&mut self.lookups, &mut self.nodes);
        self.replace_nodes(|id| (id != UNKNOWN).then_some(id));
    }

    pub(super) fn end_position(&mut self) {
        self.node_ends.push(self.nodes.len());
        self.edge_ends.push(self.edges.len());
    }

    /// Number of positions `T`.
    pub fn len(&self) -> usize {
        self.node_ends.len()
    }

    /// True if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.node_ends.is_empty()
    }

    /// The node features of position `t`.
    ///
    /// # Panics
    /// If there is no such position.
    #[inline]
    pub fn nodes(&self, t: usize) -> &[FeatureId] {
        &self.nodes[range(&self.node_ends, t)]
    }

    /// The values of the node features of position `t`; `None` if all values of the sequence are 1.
    ///
    /// # Panics
    /// If there is no such position.
    #[inline]
    pub fn values(&self, t: usize) -> Option<&[f64]> {
        (!self.values.is_empty()).then(|| &self.values[range(&self.node_ends, t)])
    }

    /// The edge features of the step to position `t`: none for the first position.
    ///
    /// # Panics
    /// If there is no such position.
    #[inline]
    pub fn edges(&self, t: usize) -> &[FeatureId] {
        &self.edges[range(&self.edge_ends, t)]
    }

    /// Writes numbers and values.
    pub(crate) fn save(&self, state: &mut StateWriter) {
        for ends in [&self.node_ends, &self.edge_ends] {
            state.list(ends.iter().map(|&end| end as u64));
        }
        state.list(self.nodes.iter().copied());
        state.list(self.values.iter().copied());
        state.list(self.edges.iter().copied());
    }

    /// Reads what [`FeatureBuffer::save`] wrote, of features with numbers below these.
    pub(crate) fn restore(state: &mut StateReader<'_>, nodes: usize, edges: usize) -> Result<Self> {
        let wrong = |what: &str| Error::shape("features of a shard", "numbers that fit together", what);
        let mut ends = || Ok::<_, Error>(state.list::<u64>()?.into_iter().map(|end| end as usize).collect());
        let (node_ends, edge_ends): (Vec<usize>, Vec<usize>) = (ends()?, ends()?);
        let buffer = FeatureBuffer {
            node_ends,
            edge_ends,
            nodes: state.list()?,
            values: state.list()?,
            edges: state.list()?,
            ..FeatureBuffer::default()
        };
        let fits = |ends: &[usize], ids: &[FeatureId], below: usize| {
            ends.is_sorted()
                && ends.last().copied().unwrap_or(0) == ids.len()
                && ids.iter().all(|&id| (id as usize) < below)
        };
        if buffer.node_ends.len() != buffer.edge_ends.len()
            || !fits(&buffer.node_ends, &buffer.nodes, nodes)
            || !fits(&buffer.edge_ends, &buffer.edges, edges)
            || buffer.edge_ends.first().is_some_and(|&end| end > 0)
        {
            return Err(wrong("others"));
        }
        if !buffer.values.is_empty() && buffer.values.len() != buffer.nodes.len() {
            return Err(wrong("values of other features"));
        }
        Ok(buffer)
    }

    /// Replaces the provisional numbers of a builder by the final ones; dropped features are removed from the buffer.
    pub fn renumber(&mut self, nodes: &Renumbering, edges: &Renumbering) {
        self.replace_nodes(|id| nodes.get(id));
        let (mut kept, mut start) = (0, 0);
        for end in &mut self.edge_ends {
            for i in start..*end {
                let Some(id) = edges.get(self.edges[i]) else { continue };
                self.edges[kept] = id;
                kept += 1;
            }
            (start, *end) = (*end, kept);
        }
        self.edges.truncate(kept);
    }

    /// Renumbers node features; those without a new number are removed from the buffer, with their values.
    fn replace_nodes(&mut self, new_id: impl Fn(FeatureId) -> Option<FeatureId>) {
        let valued = !self.values.is_empty();
        let (mut kept, mut start) = (0, 0);
        for end in &mut self.node_ends {
            for i in start..*end {
                let Some(id) = new_id(self.nodes[i]) else { continue };
                self.nodes[kept] = id;
                if valued {
                    self.values[kept] = self.values[i];
                }
                kept += 1;
            }
            (start, *end) = (*end, kept);
        }
        self.nodes.truncate(kept);
        self.values.truncate(kept);
    }
}

/// Compares contents only.
impl PartialEq for FeatureBuffer {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.node_ends == other.node_ends
            && self.values == other.values
            && self.edges == other.edges
            && self.edge_ends == other.edge_ends
    }
}

impl kbest_core::segment::TokenFeatures for FeatureBuffer {
    #[inline]
    fn of_token(&self, t: usize) -> &[u32] {
        self.nodes(t)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::{ExtractorBuilder, FeatureSource};
    use crate::sequence::Sequence;

    #[test]
    fn values_stay_with_their_features() {
        let mut sequence = Sequence::new();
        for item in [&[("a", 0.5), ("b", 2.0)][..], &[("c", 3.0), ("b", 4.0)], &[("b", 5.0)], &[]] {
            sequence.push_position();
            item.iter().for_each(|&(name, value)| sequence.push_valued_cell(name, value));
        }
        let mut builder = ExtractorBuilder::new(FeatureSource::Items);
        let mut buffer = FeatureBuffer::new();
        builder.observe(&sequence, &mut buffer).unwrap();
        assert_eq!((buffer.nodes(1), buffer.values(1)), (&[2, 1][..], Some(&[3.0, 4.0][..])));
        let frozen = builder.freeze(2); // only b and the label bigram
        buffer.renumber(&frozen.nodes, &frozen.edges);
        for (t, value) in [2.0, 4.0, 5.0].into_iter().enumerate() {
            assert_eq!((buffer.nodes(t), buffer.values(t)), (&[0][..], Some(&[value][..])));
            assert_eq!(buffer.edges(t).len(), t.min(1));
        }
        assert_eq!((buffer.len(), buffer.nodes(3).len(), buffer.edges(3)), (4, 0, &[0][..]));
    }
}
