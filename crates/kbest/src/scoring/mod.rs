//! From an input to its lattice: the one seam between whatever scores and whatever searches.
//!
//! **What.** A [`Scorer`] turns an input, a sequence of text or any other observation, into a [`Lattice`]. Taggers,
//! benchmarks and bindings ask for nothing else, so that constraints, known labels, k best paths, confidences and votes
//! work the same for every kind of model:
//!
//! | scorer | input | scores |
//! |---|---|---|
//! | [`Model`](crate::Model) | [`Sequence`](crate::Sequence) | rows of weights, one row per feature that occurs; labels may have parts. Or a kernel and [support tokens](crate::model::Support) |
//! | [`BooleanModel`](crate::model::BooleanModel) | [`Observation`](crate::feature::boolean::Observation) | features that are Rust functions |
//!
//! Either may be an ensemble whose members vote ([`Scorer::members`]): then one lattice is carried from member to member.
//! A model in training scores through the same code, from features that were extracted once ([`rows`]).
//!
//! **Constraints** act on the lattice (its edges, start and end scores, nodes) and never reach behind this seam.
//!
//! **Cost.** That of the kind of model. Memory is kept from input to input in [`Scorer::Memory`], one per thread.
//! **When not.** If you have scores already, make a [`Lattice`] of them.
//!
//! ```
//! use kbest::model::import;
//! use kbest::scoring::Scorer;
//! use kbest::{Model, Sequence};
//!
//! let text = "version: 100\ncost-factor: 1\nmaxid: 3\nxsize: 1\n\nB\nI\nO\n\nU:%x[0,0]\n\n0 U:word\n\n1\n2\n0\n";
//! let model = import::crfpp(text.as_bytes(), "model.txt")?;
//! let mut memory = <Model as Scorer>::Memory::default();
//! let lattice = model.lattice(&Sequence::from_tokens(["word", "new"]), &mut memory)?;
//! assert_eq!(lattice.nodes(), [1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod boolean;
mod model;
pub mod rows;
mod support;

pub use boolean::BooleanMemory;
pub use model::{ModelMemory, ModelScores, model_lattice};

use crate::error::Result;
use crate::lattice::{Edges, Lattice};
use crate::transition::Transitions;
use std::fmt;

/// Something that scores: from an input to its lattice.
///
/// To add a kind of model, implement this trait; nothing above it has to change. No method has a default, so that none
/// can be forgotten.
pub trait Scorer: fmt::Debug + Send + Sync {
    /// What is labelled.
    type Input: Sync;
    /// Working memory, one per thread, that is kept from input to input.
    type Memory: Default + fmt::Debug + Send;

    /// Number of labels `L`.
    fn labels(&self) -> usize;

    /// Number of positions `T` of an input.
    fn positions(input: &Self::Input) -> usize;

    /// The edges that all lattices borrow, or `None` if edges look at the input. What follows from them, such as
    /// constrained edges, is then computed once per model.
    fn shared_edges(&self) -> Option<&Edges<f32>>;

    /// The scores of the first label that all lattices have, if any.
    fn start(&self) -> Option<&[f32]>;

    /// The scores of the last label that all lattices have, if any.
    fn end(&self) -> Option<&[f32]>;

    /// The lattice of an input. Of an ensemble, that of its last member.
    ///
    /// # Errors
    /// What extraction refuses; [`crate::Error::IllegalScore`] if weights add up to infinity.
    fn lattice<'a>(&'a self, input: &Self::Input, memory: &'a mut Self::Memory) -> Result<Lattice<'a, f32>>;

    /// The members of an ensemble that votes, before the first; `None` if this is none. Their edges obey the transitions;
    /// start and end scores are the caller's to constrain.
    ///
    /// # Errors
    /// As [`Scorer::lattice`], and what [`Transitions::constrain`] refuses.
    fn members<'a>(
        &'a self,
        input: &Self::Input,
        transitions: Option<&'a Transitions>,
    ) -> Result<Option<Box<dyn Members + 'a>>>;
}

/// The members of an ensemble, one after the other, as one lattice that changes.
///
/// Member 0 is the first, and [`Members::advance`] leads there, too. A member differs from the one before it in a few weights, and of those only the ones whose
/// features occur in the input change its lattice.
pub trait Members {
    /// The votes of each member.
    fn votes(&self) -> &[u32];

    /// Goes on to a member, past all between; returns whether its lattice may differ from the one before.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights add up to infinity.
    fn advance(&mut self, member: usize) -> Result<bool>;

    /// The lattice of the member at hand.
    ///
    /// # Errors
    /// As [`Scorer::lattice`].
    fn lattice(&self) -> Result<Lattice<'_, f32>>;
}
