//! The shell around every search: one lattice, its edges in their own type, a tally that counts or does not.
//!
//! **What.** A decoder writes one loop, [`Algorithm::search`], generic over the shape of the edges and over the tally.
//! [`start`] matches on both once per sequence and calls the loop compiled for them, so no inner loop asks what
//! shape its edges have or whether work is counted. **Why here.** The counts belong to the shell, not to the search:
//! however a search ends, with paths, an error or a `?` in the middle, its work is reported. A decoder that hands its
//! [`Job`] to another (`auto` to its engines) adds to the same counts. **Sealed.** The trait is private to the crate: a
//! search is only ever called with arguments that [`start`] has checked. **Copies.** Each loop is compiled for both types of
//! scores, in this crate alone ([`precompiled`]), for a matrix, for a list, and for [`AnyEdges`]: other shapes, and whatever
//! counts.

use super::counters::{Tally, Uncounted, Work};
use super::gather::{AnyEdges, GatherEdges};
use super::{Decode, Decoded, Decoder, Scratch};
use crate::error::{Error, Result};
use crate::lattice::{Lattice, Shape, with_edges};
use crate::simd::{Float, precompiled};

/// The input and output of a search.
#[derive(Debug)]
pub(crate) struct Job<'j, 'l, S: Float, E, T> {
    /// At least one position.
    pub(crate) lattice: &'j Lattice<'l, S>,
    /// The edges of the lattice.
    pub(crate) edges: &'j E,
    /// Paths wanted: at least 1; more only for decoders that support it.
    pub(crate) k: usize,
    pub(crate) scratch: &'j mut Scratch<S>,
    pub(crate) tally: &'j mut T,
    /// Empty at first; the search pushes the paths, best first.
    pub(crate) out: &'j mut Decoded<S>,
}

impl<'l, S: Float, E, T> Job<'_, 'l, S, E, T> {
    /// The same job, for another search to try first.
    pub(crate) fn reborrow(&mut self) -> Job<'_, 'l, S, E, T> {
        let Job { lattice, edges, k, ref mut scratch, ref mut tally, ref mut out } = *self;
        Job { lattice, edges, k, scratch, tally, out }
    }
}

/// The search of a decoder, and the option that users can type, if it has one.
pub(crate) trait Algorithm: Decode + Clone + Into<Decoder> {
    /// Pushes the requested paths, or as many as exist.
    ///
    /// # Errors
    /// [`crate::Error::NoPath`] if every path is forbidden.
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()>;

    /// The same decoder with the option of `NAME:OPTION`.
    ///
    /// # Errors
    /// If it takes no option, or not this one.
    fn with_option(self, option: &str) -> Result<Self> {
        Err(no_option(self.name(), option))
    }

    /// What is reported to have answered an empty sequence, for which nothing searches.
    fn name_for_empty(&self) -> &'static str {
        self.name()
    }

    /// The option that [`Algorithm::with_option`] would take, if it is not the default.
    fn option(&self) -> Option<String> {
        None
    }
}

/// An option for a decoder that takes none.
pub(super) fn no_option(decoder: &'static str, option: &str) -> Error {
    let reason = format!("it takes no option, so `{option}` cannot be set");
    Error::Unsupported { decoder, reason }
}

/// The work before and after the search. Only types with a search implement it, so only the decoders of this crate can
/// implement [`Decode`].
#[allow(unnameable_types)] // that is how it seals
pub trait Sealed {
    /// See [`Decode::decode_into`].
    fn run<S: Float>(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()>;
}

impl<D: Algorithm> Sealed for D {
    fn run<S: Float>(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        let decoder: Decoder = self.clone().into();
        decoder.run(lattice, k, scratch, out)
    }
}

impl Sealed for Decoder {
    fn run<S: Float>(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        S::call::<Decoding<'_>>(Call { decoder: self, lattice, k, scratch, out })
    }
}

/// The arguments of [`Decode::decode_into`].
pub(crate) struct Call<'c, S: Float> {
    pub(super) decoder: &'c Decoder,
    lattice: &'c Lattice<'c, S>,
    k: usize,
    scratch: &'c mut Scratch<S>,
    out: &'c mut Decoded<S>,
}

precompiled!(Decoding<'c>: Call<'c, S> => Result<()>, Decoder::start);

/// Checks the arguments, searches, and reports the work if that is wanted.
pub(super) fn start<S: Float>(decoder: &impl Algorithm, call: Call<'_, S>) -> Result<()> {
    let Call { lattice, k, scratch, out, .. } = call;
    if k == 0 {
        return Err(Error::argument("k", "at least 1", k));
    }
    decoder.supports(k)?;
    out.clear(decoder.name());
    if lattice.positions() == 0 {
        out.decoder = decoder.name_for_empty();
        out.push_path(0, S::ZERO);
        return Ok(());
    }
    if !scratch.counting && !scratch.tracing {
        return search(decoder, lattice, k, scratch, out);
    }
    let mut work = Work::over(lattice.positions(), lattice.labels(), scratch.tracing);
    let answer = search_any(decoder, lattice, k, scratch, &mut work, out);
    (out.counters, out.trace) = (Some(work.counters), work.trace);
    answer
}

/// Searches with the edges as their own type.
fn search<S: Float>(
    decoder: &impl Algorithm,
    lattice: &Lattice<'_, S>,
    k: usize,
    scratch: &mut Scratch<S>,
    out: &mut Decoded<S>,
) -> Result<()> {
    let tally = &mut Uncounted;
    match lattice.edges().shape() {
        Shape::Dense(edges) => decoder.search(Job { lattice, edges, k, scratch, tally, out }),
        Shape::Sparse(edges) => decoder.search(Job { lattice, edges, k, scratch, tally, out }),
        _ => search_any(decoder, lattice, k, scratch, tally, out),
    }
}

/// Searches edges of any shape.
fn search_any<S: Float>(
    decoder: &impl Algorithm,
    lattice: &Lattice<'_, S>,
    k: usize,
    scratch: &mut Scratch<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<()> {
    with_edges!(lattice, |edges| {
        let edges = &AnyEdges(edges);
        decoder.search(Job { lattice, edges, k, scratch, tally, out })
    })
}
