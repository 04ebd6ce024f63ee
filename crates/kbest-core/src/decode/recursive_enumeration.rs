//! Recursive enumeration: exact forward scores once, then paths one after another, best first.
//!
//! **What.** The forward pass computes for every node the best score of a path to it. After that
//! every node keeps its own list of best paths, and finds the next one only when asked: the first path costs one walk
//! back, each further one little. [`super::path_space`] does this half.
//!
//! **Why exact.** The forward scores are sums in the judge's order, and so are the scores of all later paths. **Cost.**
//! `T L^2` for the forward pass (with vector instructions, or that of `viterbi-sparse` if the edges are sparse), then
//! at most `T L` per path; memory `T L`. **When not.** If even one forward pass over all labels is too much: `funnel`
//! prunes first. **Papers.** Jimenez & Marzal (1999); it takes the place of the agenda of Huang et al. (2012), Algorithm 3
//! ([`super::ViterbiAstar`]).

use super::gather::GatherEdges;
use super::path_space::{self, PathSpace};
use super::{Algorithm, Job, Tally, sieve, viterbi_simd, viterbi_sparse};
use crate::error::{Error, Result};
use crate::lattice::Lattice;
use crate::simd::Float;

/// How the forward scores are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForwardPass {
    /// Read every edge, with vector instructions.
    #[default]
    Simd,
    /// Read the base value once and the exceptions one by one.
    Sparse,
    /// Leave out rows of a matrix that cannot matter to a block of labels.
    Sieve,
}

impl ForwardPass {
    /// Fills the table with exact forward scores.
    pub(super) fn fill<S: Float>(
        self,
        lattice: &Lattice<'_, S>,
        memory: &mut sieve::Memory<S>,
        tally: &mut impl Tally,
    ) {
        match self {
            ForwardPass::Simd => viterbi_simd::fill(lattice, &mut memory.forward, tally),
            ForwardPass::Sparse => viterbi_sparse::fill(lattice, &mut memory.forward, tally),
            ForwardPass::Sieve => sieve::fill(lattice, memory, tally),
        }
    }
}

/// The k-best decoder with a forward pass and a list of best paths at every node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecursiveEnumeration {
    /// How its forward scores are computed.
    pub forward: ForwardPass,
}

/// Forward scores and the memory of the enumeration.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    pub(super) pass: sieve::Memory<S>,
    pub(super) paths: path_space::Memory<S>,
}

impl Algorithm for RecursiveEnumeration {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, k, scratch, tally, out } = job;
        let Memory { pass, paths } = &mut scratch.recursive_enumeration;
        self.forward.fill(lattice, pass, tally);
        PathSpace::new(lattice, edges, pass.forward.survivors(lattice), paths).push_best(k, tally, out)?;
        if out.paths.is_empty() { Err(Error::NoPath) } else { Ok(()) }
    }
}
