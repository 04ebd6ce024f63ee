//! Decoders: one file each, one trait, one scratch, one result type.
//!
//! Every decoder except the beams returns a best path, and they all return the same one: among equally good paths, the one
//! whose labels, read from the last position to the first, are smallest. They differ in how they find it; see each
//! module and `docs/decoders/`. [`Auto`] chooses for you.
//!
//! **Why all agree to the last bit.** Rounding is monotone: `a <= b` implies `a + w <= b + w` in floating point. So a
//! forward pass that adds in the judge's order finds the maximum over all paths of the *judge's* score, not merely a
//! number near it. Decoders that also add in other orders (backward bounds, heuristics) prune only what lies below by
//! more than [`Lattice::rounding_slack`], and let forward scores decide among the rest.

mod agenda;
mod astar;
mod astar_kbest;
mod auto;
mod beam;
mod by_score;
mod carpediem;
mod catalogue;
mod class_step;
mod counters;
mod degenerate_lattice;
mod entries;
mod equal_paths;
mod estimate;
mod forward;
mod funnel;
mod gather;
mod heuristic;
mod iterative_astar;
mod iterative_viterbi_astar;
mod lazy;
mod lower_bound;
mod path_space;
mod prefix_beam;
mod recursive_enumeration;
mod shell;
mod sieve;
mod staggered;
mod table;
mod trace;
mod trace_back;
mod unique;
mod viterbi;
mod viterbi_astar;
mod viterbi_kbest;
mod viterbi_simd;
mod viterbi_sparse;

pub use astar::Astar;
pub use auto::{Auto, Engine, Engines, Facts, Plan};
pub use beam::Beam;
pub use carpediem::{CarpeDiem, CarpeDiemBound};
pub use catalogue::{Answers, CATALOGUE, Decoder, Entry, Lattices, Scratch, catalogue};
pub use counters::Counters;
pub use estimate::Estimate;
pub use funnel::Funnel;
pub use heuristic::Heuristic;
pub use iterative_astar::IterativeAstar;
pub use iterative_viterbi_astar::IterativeViterbiAstar;
pub use lazy::{KbestIter, kbest_iter};
pub use prefix_beam::PrefixBeam;
pub use recursive_enumeration::{ForwardPass, RecursiveEnumeration};
pub use sieve::Sieve;
pub use staggered::{Expansion, Staggered};
pub use trace::{Fate, Trace};
pub use unique::UniqueBy;
pub use viterbi::Viterbi;
pub use viterbi_astar::ViterbiAstar;
pub use viterbi_simd::ViterbiSimd;
pub use viterbi_sparse::ViterbiSparse;

use catalogue::supports;
pub(crate) use counters::Tally;
pub(crate) use entries::{best_entries, best_exits};
pub(crate) use forward::StepBuffer;
pub(crate) use shell::{Algorithm, Job};
pub(crate) use trace_back::lowest_best;

use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::Lattice;
use crate::simd::Float;
use std::fmt;
use std::marker::PhantomData;

/// A path and its score.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path<S> {
    /// One label per position.
    pub labels: Vec<LabelId>,
    /// The score of these labels according to the judge, [`Lattice::path_score`].
    pub score: S,
}

impl<S> AsRef<[LabelId]> for Path<S> {
    fn as_ref(&self) -> &[LabelId] {
        &self.labels
    }
}

/// What is known of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Guarantee {
    /// There is nothing better.
    Exact,
    /// With probability `1 - epsilon` nothing is better by more than `delta`.
    Probable {
        /// The share of inputs for which it need not hold.
        epsilon: f64,
        /// By how much the best may be better.
        delta: f64,
    },
    /// Nothing.
    #[default]
    None,
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guarantee::Exact => f.write_str("exact"),
            Guarantee::Probable { epsilon, delta } => {
                write!(f, "within {delta} with probability {}", 1.0 - epsilon)
            }
            Guarantee::None => f.write_str("none"),
        }
    }
}

/// A decoder's answer: paths of labels, or [segmentations](crate::segment::Segmentation).
#[derive(Debug, Default)]
pub struct Decoded<S, P = Path<S>> {
    /// The paths, best first.
    pub paths: Vec<P>,
    /// True if these are proven to be the best paths.
    pub exact: bool,
    /// The decoder that found them; for `auto`, the one it chose.
    pub decoder: &'static str,
    /// The work it took, if [`Scratch::counting`] asked for it; decoders of segments always count.
    pub counters: Option<Counters>,
    /// Which vertices it opened, if [`Scratch::tracing`] asked for it.
    pub trace: Option<Trace>,
    measured: Guarantee, // of answers that are not exact
    spare: Vec<P>,       // paths of earlier answers, kept for their memory
    score: PhantomData<S>,
}

/// Without the memory kept of earlier answers.
impl<S, P: Clone> Clone for Decoded<S, P> {
    fn clone(&self) -> Self {
        let Decoded { paths, exact, decoder, counters, trace, measured, spare: _, score } = self;
        let (paths, counters, trace) = (paths.clone(), counters.clone(), trace.clone());
        let (exact, measured, score) = (*exact, *measured, *score);
        Decoded { paths, exact, decoder, counters, trace, measured, spare: Vec::new(), score }
    }
}

/// The answers alone: neither memory kept of earlier ones nor who found them counts.
impl<S, P: PartialEq> PartialEq for Decoded<S, P> {
    fn eq(&self, other: &Self) -> bool {
        let worked = self.counters == other.counters && self.trace == other.trace;
        self.paths == other.paths && self.guarantee() == other.guarantee() && worked
    }
}

impl<S, P> Decoded<S, P> {
    /// The best path.
    ///
    /// # Panics
    /// If nothing has been decoded into this value yet.
    pub fn best(&self) -> &P {
        &self.paths[0]
    }

    /// What is known of the paths: more than whether they are [exact](Self#structfield.exact), if answers of this kind were
    /// compared with exact ones.
    pub fn guarantee(&self) -> Guarantee {
        if self.exact { Guarantee::Exact } else { self.measured }
    }

    /// Replaces the answer.
    pub(crate) fn set(
        &mut self,
        paths: Vec<P>,
        guarantee: Guarantee,
        decoder: &'static str,
        counters: Counters,
    ) {
        (self.paths, self.decoder) = (paths, decoder);
        (self.exact, self.measured) = (guarantee == Guarantee::Exact, guarantee);
        (self.counters, self.trace) = (Some(counters), None);
    }
}

impl<S: Float> Decoded<S> {
    /// Drops all paths except the first `k`, but keeps their memory.
    pub(crate) fn keep_paths(&mut self, k: usize) {
        if k < self.paths.len() {
            self.spare.extend(self.paths.drain(k..));
        }
    }

    /// Drops the paths but keeps their memory.
    pub(crate) fn clear_paths(&mut self) {
        self.spare.append(&mut self.paths);
    }

    /// Drops the last answer but keeps its memory.
    fn clear(&mut self, decoder: &'static str) {
        self.clear_paths();
        (self.exact, self.measured) = (true, Guarantee::None);
        self.decoder = decoder;
        self.counters = None;
        self.trace = None;
    }

    /// Appends a path with room for `positions` labels (all 0), to be filled in by the decoder.
    #[doc(hidden)] // for models and trainers
    pub fn push_path(&mut self, positions: usize, score: S) -> &mut [LabelId] {
        let mut path = self.spare.pop().unwrap_or_default();
        path.labels.clear();
        path.labels.resize(positions, 0);
        path.score = score + S::ZERO; // 0 for -0: the sign depends on where a decoder begins to add
        self.paths.push(path);
        let last = self.paths.len() - 1;
        &mut self.paths[last].labels
    }

    /// A path of an earlier answer, to reuse its memory.
    pub(crate) fn take_spare(&mut self) -> Path<S> {
        self.spare.pop().unwrap_or_default()
    }
}

/// One way of finding the best paths.
///
/// ```
/// use kbest_core::{Decode, Edges, Lattice, Scratch, decode::Viterbi};
/// let edges = Edges::dense(2, vec![0.0f32, 1.0, 0.0, 0.0])?;
/// let lattice = Lattice::new(vec![1.0, 0.0, 0.0, 0.5], &edges)?;
/// let answer = Viterbi.decode(&lattice, &mut Scratch::new())?;
/// assert_eq!((answer.best().labels.as_slice(), answer.best().score), (&[0, 1][..], 2.5));
/// assert_eq!(Viterbi.name(), "viterbi");
/// # Ok::<(), kbest_core::Error>(())
/// ```
pub trait Decode: shell::Sealed {
    /// This decoder's entry in the catalogue.
    fn entry(&self) -> &'static Entry;

    /// The name users type, as in `kbest decode --decoder NAME`.
    fn name(&self) -> &'static str {
        self.entry().name
    }

    /// Whether it can find `k` best paths (`k >= 1`).
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported) with the reason and a list of the decoders that can.
    fn supports(&self, k: usize) -> Result<()> {
        supports(self.entry(), Lattices::Positions, k)
    }

    /// Finds the `k` best paths, or fewer if there are not that many legal ones; reuses the memory of `out`.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for `k = 0`, [`Error::Unsupported`](crate::Error::Unsupported), [`Error::NoPath`](crate::Error::NoPath).
    fn decode_into<S: Float>(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        self.run(lattice, k, scratch, out)
    }

    /// The best path.
    ///
    /// # Errors
    /// [`Error::NoPath`](crate::Error::NoPath).
    fn decode<S: Float>(&self, lattice: &Lattice<'_, S>, scratch: &mut Scratch<S>) -> Result<Decoded<S>> {
        self.decode_kbest(lattice, 1, scratch)
    }

    /// The `k` best paths, or fewer if there are not that many legal ones.
    ///
    /// # Errors
    /// As [`Decode::decode_into`].
    fn decode_kbest<S: Float>(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
    ) -> Result<Decoded<S>> {
        let mut out = Decoded::default();
        self.decode_into(lattice, k, scratch, &mut out)?;
        Ok(out)
    }
}
