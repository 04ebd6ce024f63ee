//! What an answer is made of: labels of positions, or segments.
//!
//! **What.** A [`Structure`] says what the lattice, the answers and their parts are, and how both are searched, judged, summed
//! and constrained: [`Positions`] or [`Segments`]. **Why.** Whatever stands on a lattice, such as taggers and trainers, is
//! written once and works on both. **When not.** If you have lattices of one kind, call their decoders yourself.
//!
//! ```
//! use kbest_core::structure::{Positions, Structure};
//! use kbest_core::{Decoded, Decoder, Edges, Lattice, Scratch};
//!
//! fn best<St: Structure>(lattice: &St::Lattice<'_, f32>) -> kbest_core::Result<Vec<St::Part>> {
//!     let (mut scratch, mut answer) = (St::Scratch::default(), Decoded::default());
//!     St::decode_into(&Decoder::default(), lattice, 1, &mut scratch, &mut answer)?;
//!     Ok(answer.best().as_ref().to_vec())
//! }
//! let edges = Edges::dense(2, vec![0.0f32, 1.0, 0.0, 0.0])?;
//! let lattice = Lattice::new(vec![1.0, 0.0, 0.0, 0.5], &edges)?;
//! assert_eq!(best::<Positions>(&lattice)?, [0, 1]);
//! # Ok::<(), kbest_core::Error>(())
//! ```

mod positions;
mod segments;

pub use positions::{PositionSums, Positions};
pub use segments::Segments;

use crate::decode::{Decoded, Decoder, Lattices};
use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::Lattice;
use crate::marginal::Calibration;
use crate::simd::Float;
use std::fmt;
use std::hash::Hash;

/// What answers are made of, and everything that depends on it.
pub trait Structure: fmt::Debug + Copy + Default + Send + Sync + 'static {
    /// Which decoders read its lattices.
    const LATTICES: Lattices;

    /// One part of an answer.
    type Part: Copy + Eq + Hash + fmt::Debug + Send + Sync;
    /// An answer with its score.
    type Path<S: Float>: AsRef<[Self::Part]> + Clone + Default + PartialEq + fmt::Debug + Send + Sync;
    /// What is decoded.
    type Lattice<'a, S: Float>;
    /// Working memory of a decoder, one per thread.
    type Scratch<S: Float>: Default + fmt::Debug + Send + Sync;
    /// Working memory for sums over all answers. Clones, one per thread, share what the lattices share.
    type Sums: Clone + fmt::Debug + Send + Sync;
    /// What can be known of a position before it is decoded.
    type Known: Copy + fmt::Debug + Send + Sync;

    /// Finds the `k` best answers, or fewer if there are not that many legal ones.
    ///
    /// # Errors
    /// [`Argument`](crate::Error::Argument) for `k = 0`, [`Unsupported`](crate::Error::Unsupported) if the decoder reads no
    /// such lattices or finds only one answer, [`NoPath`](crate::Error::NoPath).
    fn decode_into<S: Float>(
        decoder: &Decoder,
        lattice: &Self::Lattice<'_, S>,
        k: usize,
        scratch: &mut Self::Scratch<S>,
        out: &mut Decoded<S, Self::Path<S>>,
    ) -> Result<()>;

    /// Finds the best answer for a trainer that knows the right one: a beam stops where the right one falls out of it.
    ///
    /// # Errors
    /// Errors of the decoder.
    fn search(
        decoder: &Decoder,
        lattice: &Self::Lattice<'_, f32>,
        right: &[Self::Part],
        scratch: &mut Self::Scratch<f32>,
        decoded: &mut Decoded<f32, Self::Path<f32>>,
        answer: &mut Vec<Self::Part>,
    ) -> Result<()>;

    /// An answer of these parts.
    fn path<S: Float>(parts: Vec<Self::Part>, score: S) -> Self::Path<S>;

    /// The score of an answer.
    fn score_of<S: Float>(path: &Self::Path<S>) -> S;

    /// The judge's score of an answer, or of its beginning; without the score of the last label if it does not reach the end.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) if it is none of the lattice's.
    fn score<S: Float>(lattice: &Self::Lattice<'_, S>, answer: &[Self::Part]) -> Result<S>;

    /// Number of positions that an answer covers.
    fn positions(answer: &[Self::Part]) -> usize;

    /// For each position, the place in the answer of the part that covers it.
    fn covering(answer: &[Self::Part]) -> Vec<usize>;

    /// The label of a part.
    fn label(part: Self::Part) -> LabelId;

    /// The number of wrong positions, as far as the answer reaches; 0 only if it is right.
    fn wrong(answer: &[Self::Part], right: &[Self::Part]) -> usize;

    /// Changes the lattice of positions that this one is or stands on: its edges, its start and end scores.
    ///
    /// # Errors
    /// Those of the change.
    fn with_chain<'a, S: Float>(
        lattice: Self::Lattice<'a, S>,
        change: impl FnOnce(Lattice<'a, S>) -> Result<Lattice<'a, S>>,
    ) -> Result<Self::Lattice<'a, S>>;

    /// Leaves only answers in which this is so of position `t`.
    ///
    /// # Errors
    /// [`LabelOutOfRange`](crate::Error::LabelOutOfRange), [`Shape`](crate::Error::Shape); [`NoPath`](crate::Error::NoPath) if
    /// it cannot be so.
    fn force<'a, S: Float + 'a>(
        lattice: Self::Lattice<'a, S>,
        t: usize,
        known: Self::Known,
    ) -> Result<Self::Lattice<'a, S>>;

    /// Working memory for sums. `shares_edges` promises that all lattices it will see have the same edges.
    fn sums(shares_edges: bool) -> Self::Sums;

    /// Fills in the probabilities that are wanted, calibrated if there is a calibration.
    ///
    /// # Errors
    /// [`NoPath`](crate::Error::NoPath).
    fn probabilities(
        lattice: &Self::Lattice<'_, f32>,
        calibration: Option<&Calibration>,
        sums: &mut Self::Sums,
        paths: &[Self::Path<f32>],
        wanted: Probabilities<'_>,
    ) -> Result<()>;
}

/// Where to write probabilities. What is `None` is not wanted; what is wanted must be empty.
#[derive(Debug, Default)]
pub struct Probabilities<'o> {
    /// For each path, the probability of each of its parts; and the probability of each path.
    pub paths: Option<(&'o mut Vec<Vec<f64>>, &'o mut Vec<f64>)>,
    /// The probability of every label at every position, `T x L`.
    pub distributions: Option<&'o mut Vec<f64>>,
}
