//! Limits on paths: transitions and known labels. Both act only on the lattice.
//!
//! **Cost.** Edges that all lattices share are constrained once, in `L^2` steps, and then shared by all taggers of the
//! model; edges that depend on the input are constrained for each input.

use crate::scoring::Scorer;
use kbest_core::LabelId;
use kbest_core::Result;
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::transition::Transitions;
use std::sync::Arc;

/// Transitions, and the constrained edges of one model.
#[derive(Debug)]
pub(super) struct Constraint {
    transitions: Transitions,
    shared: Option<Edges<f32>>,
    start: Option<Vec<f32>>,
    end: Option<Vec<f32>>,
}

impl Constraint {
    pub(super) fn new(scorer: &impl Scorer, transitions: &Transitions) -> Result<Self> {
        let shared = scorer.shared_edges().map(|edges| transitions.constrain(edges)).transpose()?;
        let start = transitions.constrain_start(scorer.start())?;
        let end = transitions.constrain_end(scorer.end())?;
        Ok(Constraint { transitions: transitions.clone(), shared, start, end })
    }

    fn constrain_borders<'a>(&'a self, lattice: Lattice<'a, f32>) -> Result<Lattice<'a, f32>> {
        lattice.with_borders(self.start.as_deref(), self.end.as_deref())
    }
}

/// The limits on the paths of one sequence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    pub(super) constraint: Option<&'a Constraint>,
    pub(super) known: &'a [Option<LabelId>], // T, or none
}

impl<'a> Limits<'a> {
    /// Edges that obey the transitions, if there are any.
    pub(super) fn constrain(&self, edges: Edges<f32>) -> Result<Edges<f32>> {
        match self.constraint {
            Some(constraint) => constraint.transitions.constrain(&edges),
            None => Ok(edges),
        }
    }

    /// The lattice of a model, limited.
    pub(super) fn limit<'l>(&self, lattice: Lattice<'l, f32>) -> Result<Lattice<'l, f32>>
    where
        'a: 'l,
    {
        let Some(constraint) = self.constraint else { return self.force(lattice) };
        let lattice = match &constraint.shared {
            Some(edges) => lattice.over(edges)?,
            None => {
                let edges = constraint.transitions.constrain(lattice.edges())?;
                lattice.over(Arc::new(edges))?
            }
        };
        self.force(constraint.constrain_borders(lattice)?)
    }

    /// The lattice of an ensemble's member, limited; its edges already obey the transitions.
    pub(super) fn limit_member<'l>(&self, lattice: Lattice<'l, f32>) -> Result<Lattice<'l, f32>>
    where
        'a: 'l,
    {
        match self.constraint {
            Some(constraint) => self.force(constraint.constrain_borders(lattice)?),
            None => self.force(lattice),
        }
    }

    /// The lattice with all known labels forced.
    fn force<'l>(&self, mut lattice: Lattice<'l, f32>) -> Result<Lattice<'l, f32>> {
        for (t, known) in self.known.iter().enumerate() {
            if let Some(y) = *known {
                lattice = lattice.force(t, y)?;
            }
        }
        Ok(lattice)
    }
}
