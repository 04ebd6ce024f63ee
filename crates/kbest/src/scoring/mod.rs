//! From an input to its lattice: the one interface between scoring and search.
//!
//! **What.** A [`Scorer`] turns an input, a sequence of text or any other observation, into a lattice of positions or of
//! segments ([`Structure`]). Taggers, benchmarks and bindings need nothing else, so constraints, known labels, k best paths, confidences and votes work
//! the same for every kind of model:
//!
//! | scorer | input | scores |
//! |---|---|---|
//! | [`Model`](crate::Model) | [`Sequence`](crate::Sequence) | rows of weights, one row per feature that occurs; labels may have parts. Or a kernel and [support tokens](crate::model::Support) |
//! | [`SegmentModel`](crate::SegmentModel) | [`Sequence`](crate::Sequence) | rows of weights, and features of whole segments on demand |
//! | [`BooleanModel`](crate::model::BooleanModel) | [`Observation`](crate::feature::boolean::Observation) | features that are Rust functions |
//!
//! A model of positions may be an ensemble whose members vote ([`Scorer::members`]): then one lattice is carried from member to
//! member. A model in training is scored by the same code, from features that were extracted once ([`rows`]).
//!
//! **Constraints** act on the lattice (its edges, start and end scores, nodes) and never on the weights behind it.
//!
//! **Cost.** That of the kind of model. Memory is kept from input to input in [`Scorer::Memory`], one per thread.
//! **When not.** If you already have scores, build a [`Lattice`](kbest_core::Lattice) from them.
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
mod remembered;
pub mod rows;
mod segment;
mod segment_terms;
mod support;
mod terms;
mod text_model;

pub use boolean::BooleanMemory;
pub use model::{ModelMemory, ModelScores, model_lattice};
pub use segment::{PlaceScores, SegmentModelMemory, place_lattice};
pub use segment_terms::SegmentTerms;
pub use terms::{
    Difference, Term, TermKind, Terms, constraint_terms, differences, lattice_terms, segment_lattice_terms,
};
pub use text_model::TextModel;

use kbest_core::decode::Decoder;
use kbest_core::lattice::Edges;
use kbest_core::marginal::Calibration;
use kbest_core::{Result, Structure};
use std::fmt;

/// Turns an input into its lattice.
///
/// To add a kind of model, implement this trait; nothing above it has to change. No method has a default, so that none
/// can be forgotten.
pub trait Scorer: fmt::Debug + Send + Sync {
    /// What its answers are made of: labels of positions, or segments.
    type Structure: Structure;
    /// The thing to label.
    type Input: Sync;
    /// Working memory, one per thread, kept from input to input.
    type Memory: Default + fmt::Debug + Send + Sync;

    /// Number of labels `L`.
    fn labels(&self) -> usize;

    /// Number of positions `T` of an input.
    fn positions(input: &Self::Input) -> usize;

    /// The edges that all lattices borrow, or `None` if edges depend on the input. Anything derived from shared edges,
    /// such as constrained edges, is computed once per model.
    fn shared_edges(&self) -> Option<&Edges<f32>>;

    /// The scores of the first label in all lattices, if any.
    fn start(&self) -> Option<&[f32]>;

    /// The scores of the last label in all lattices, if any.
    fn end(&self) -> Option<&[f32]>;

    /// How scores become probabilities, if that was learned.
    fn calibration(&self) -> Option<&Calibration>;

    /// Says which decoder will search the lattices, so that they carry what it needs.
    fn prepare_for(&self, decoder: &Decoder, memory: &mut Self::Memory);

    /// The lattice of an input; for an ensemble, that of its last member.
    ///
    /// # Errors
    /// Errors of extraction; [`crate::Error::IllegalScore`] if weights add up to infinity; [`crate::Error::Argument`] if the model
    /// lacks what the decoder needs.
    fn lattice<'a>(
        &'a self,
        input: &Self::Input,
        memory: &'a mut Self::Memory,
    ) -> Result<LatticeOf<'a, Self::Structure>>;

    /// The members of an ensemble that votes, positioned before the first; `None` if this is not an ensemble. All edges
    /// of their lattices must have passed through `constrain`, before or after members change them.
    ///
    /// # Errors
    /// As for [`Scorer::lattice`], and errors of `constrain`.
    fn members<'a>(
        &'a self,
        input: &Self::Input,
        constrain: &'a Constrain<'a>,
    ) -> Result<Option<Box<dyn Members<Self::Structure> + 'a>>>;
}

/// The lattices of a structure.
pub type LatticeOf<'a, St> = <St as Structure>::Lattice<'a, f32>;

/// Turns edges into those that the caller wants: itself, or constrained ones.
pub type Constrain<'a> = dyn Fn(Edges<f32>) -> Result<Edges<f32>> + Sync + 'a;

/// The members of an ensemble, one after another, as one lattice that changes.
///
/// Member 0 is the first, and is also reached by [`Members::advance`]. A member differs from the one before it in a few
/// weights, and only those whose features occur in the input change its lattice.
pub trait Members<St: Structure> {
    /// The votes of each member.
    fn votes(&self) -> &[u32];

    /// Advances to a member, past all members between; returns whether its lattice may differ from the one before.
    ///
    /// # Errors
    /// [`crate::Error::IllegalScore`] if weights add up to infinity.
    fn advance(&mut self, member: usize) -> Result<bool>;

    /// The lattice of the current member.
    ///
    /// # Errors
    /// As for [`Scorer::lattice`].
    fn lattice(&self) -> Result<LatticeOf<'_, St>>;
}
