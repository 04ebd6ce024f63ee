//! Limits on answers: transitions and what is known of positions. Both act only on the lattice.
//!
//! **Cost.** Edges that all lattices share are constrained once, in `L^2` steps, and then shared by all taggers of the
//! model; edges that depend on the input are constrained for each input.
//!
//! **Segments.** Transitions are those between neighbouring *segments*, by the names of their labels. A known label forces its
//! position into a segment of that label; a tag such as `B-X` also says that the segment begins there, `I-X` that it does not (so
//! there is no answer if it is known of the first position; in the schemes IOB1 and IOE1, where `I-X` may begin or end a span,
//! only the label counts).

use crate::scoring::{LatticeOf, Scorer};
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::transition::Transitions;
use kbest_core::{Result, Structure};
use std::sync::Arc;

/// Transitions, and the constrained edges of one model.
#[derive(Debug)]
pub(super) struct Constraint {
    transitions: Transitions,
    shared: Option<Edges<f32>>, // `None` if edges depend on the input
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

    fn constrain<'a>(&'a self, lattice: Lattice<'a, f32>) -> Result<Lattice<'a, f32>> {
        let lattice = match &self.shared {
            Some(edges) => lattice.over(edges)?,
            None => {
                let edges = self.transitions.constrain(lattice.edges())?;
                lattice.over(Arc::new(edges))?
            }
        };
        self.constrain_borders(lattice)
    }

    fn constrain_borders<'a>(&'a self, lattice: Lattice<'a, f32>) -> Result<Lattice<'a, f32>> {
        lattice.with_borders(self.start.as_deref(), self.end.as_deref())
    }
}

/// The limits on the answers for one input.
#[derive(Debug)]
pub(super) struct Limits<'a, St: Structure> {
    pub(super) constraint: Option<&'a Constraint>,
    pub(super) known: &'a [Option<St::Known>], // T, or none
}

impl<St: Structure> Clone for Limits<'_, St> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<St: Structure> Copy for Limits<'_, St> {}

impl<'a, St: Structure> Limits<'a, St> {
    /// Edges that obey the transitions, if there are any.
    pub(super) fn constrain(&self, edges: Edges<f32>) -> Result<Edges<f32>> {
        match self.constraint {
            Some(constraint) => constraint.transitions.constrain(&edges),
            None => Ok(edges),
        }
    }

    /// The lattice of a model, limited.
    pub(super) fn limit<'l>(&self, lattice: LatticeOf<'l, St>) -> Result<LatticeOf<'l, St>>
    where
        'a: 'l,
    {
        match self.constraint {
            Some(constraint) => self.force(St::with_chain(lattice, |chain| constraint.constrain(chain))?),
            None => self.force(lattice),
        }
    }

    /// The lattice of an ensemble's member, limited; its edges already obey the transitions.
    pub(super) fn limit_member<'l>(&self, lattice: LatticeOf<'l, St>) -> Result<LatticeOf<'l, St>>
    where
        'a: 'l,
    {
        match self.constraint {
            Some(constraint) => {
                self.force(St::with_chain(lattice, |chain| constraint.constrain_borders(chain))?)
            }
            None => self.force(lattice),
        }
    }

    /// The lattice with everything known forced.
    fn force<'l>(&self, mut lattice: LatticeOf<'l, St>) -> Result<LatticeOf<'l, St>> {
        for (t, known) in self.known.iter().enumerate() {
            if let Some(known) = *known {
                lattice = St::force(lattice, t, known)?;
            }
        }
        Ok(lattice)
    }
}
