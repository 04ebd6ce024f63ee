//! From the slices of a call to lattices, without the interpreter.

use crate::edges::EdgeView;
use crate::parallel::Number;
use kbest::transition::Transitions;
use kbest::{Edges, Lattice};
use std::borrow::Cow;
use std::sync::Arc;

/// The arguments as slices.
pub(crate) struct View<'a, S: Number> {
    pub(super) nodes: Vec<&'a [S]>,
    pub(super) labels: usize,
    pub(super) edges: EdgeView<'a, S>,
    pub(super) start: Option<&'a [S]>,
    pub(super) end: Option<&'a [S]>,
    pub(super) allowed: Option<(usize, &'a [bool])>, // dimensions, mask
    pub(super) steps: usize,
    pub(super) forced: &'a [Vec<(usize, u32)>],
    pub(super) transitions: [Option<&'a Transitions>; 2], // of edges; of the first and last labels
}

/// What all lattices of a call share, ready.
pub(crate) struct Ready<'a, S: Number> {
    view: View<'a, S>,
    edges: Vec<Arc<Edges<S>>>, // one, or one per sequence
    start: Option<Cow<'a, [S]>>,
    end: Option<Cow<'a, [S]>>,
}

impl<'a, S: Number> View<'a, S> {
    pub(crate) fn ready(self) -> kbest::Result<Ready<'a, S>> {
        let count = self.edges.sequences().unwrap_or(1);
        let mut edges = Vec::with_capacity(count);
        let [between, at_ends] = self.transitions;
        for sequence in 0..count {
            let made = self.edges.build(self.labels, sequence)?;
            edges.push(match between {
                Some(transitions) => Arc::new(transitions.constrain(&made)?),
                None => made,
            });
        }
        let (mut start, mut end) = (self.start.map(Cow::Borrowed), self.end.map(Cow::Borrowed));
        if let Some(transitions) = at_ends {
            start = transitions.constrain_start(start.as_deref())?.map(Cow::Owned);
            end = transitions.constrain_end(end.as_deref())?.map(Cow::Owned);
        }
        Ok(Ready { view: self, edges, start, end })
    }
}

impl<S: Number> Ready<'_, S> {
    /// Number of sequences.
    pub(crate) fn len(&self) -> usize {
        self.view.nodes.len()
    }

    /// The edges of the first sequence: of all, unless each has its own.
    pub(crate) fn shared_edges(&self) -> &Edges<S> {
        &self.edges[0]
    }

    /// The lattice of a sequence.
    pub(crate) fn lattice(&self, i: usize) -> kbest::Result<Lattice<'_, S>> {
        let edges = &self.edges[if self.edges.len() > 1 { i } else { 0 }];
        let lattice = Lattice::new(self.view.nodes[i], &**edges)?;
        let lattice = lattice.with_borders(self.start.as_deref(), self.end.as_deref())?;
        self.limit(lattice, i)
    }

    /// The same lattice, borrowing nothing.
    pub(crate) fn owned(&self, i: usize) -> kbest::Result<Lattice<'static, S>> {
        let edges = &self.edges[if self.edges.len() > 1 { i } else { 0 }];
        let mut lattice = Lattice::new(self.view.nodes[i].to_vec(), edges.clone())?;
        if let Some(start) = &self.start {
            lattice = lattice.with_start(start.to_vec())?;
        }
        if let Some(end) = &self.end {
            lattice = lattice.with_end(end.to_vec())?;
        }
        self.limit(lattice, i)
    }

    fn limit<'l>(&self, mut lattice: Lattice<'l, S>, i: usize) -> kbest::Result<Lattice<'l, S>> {
        let (labels, positions) = (self.view.labels, lattice.positions());
        if let Some((dimensions, mask)) = self.view.allowed {
            let size = positions * labels;
            lattice = match dimensions {
                1 => lattice.allow_mask(&mask.repeat(positions))?,
                2 => lattice.allow_mask(&mask[..size])?,
                _ => lattice.allow_mask(&mask[i * self.view.steps * labels..][..size])?,
            };
        }
        for &(t, y) in self.view.forced.get(i).into_iter().flatten() {
            lattice = lattice.force(t, y)?;
        }
        Ok(lattice)
    }
}
