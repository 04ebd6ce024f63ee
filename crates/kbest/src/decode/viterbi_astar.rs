//! k-best Viterbi A*: exact forward scores once, then paths from the back, best first.
//!
//! **What.** The forward pass gives every node the best score of a path to it. Searching backwards with that as
//! the estimate of what is still to come is A* with a perfect heuristic: nothing is expanded in vain, so after the first
//! path each further one is cheap. [`super::path_space`] does the backward half.
//!
//! **Why exact.** The forward scores are sums in the judge's order, and so are the scores of all later paths.
//! **Cost.** `T L^2` for the forward pass (on vectors; that of `viterbi-sparse` if the edges ask for it), then at most `T L`
//! a path; memory `T L`. **When not.** If even one forward pass over all labels is too much: `funnel` prunes first.
//! **Paper.** Huang et al. (2012), section 3.5, Algorithm 3.

use super::forward::Forward;
use super::gather::GatherEdges;
use super::path_space::{self, PathSpace};
use super::{Algorithm, Job, Tally, viterbi_simd, viterbi_sparse};
use crate::error::{Error, Result};
use crate::kernel::Float;
use crate::lattice::Lattice;

/// How the forward scores are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForwardPass {
    /// Every edge is read, with vector instructions.
    #[default]
    Simd,
    /// The base value once and the exceptions one by one.
    Sparse,
}

impl ForwardPass {
    /// Fills the table with exact forward scores.
    pub(super) fn fill<S: Float>(
        self,
        lattice: &Lattice<'_, S>,
        forward: &mut Forward<S>,
        tally: &mut impl Tally,
    ) {
        match self {
            ForwardPass::Simd => viterbi_simd::fill(lattice, forward, tally),
            ForwardPass::Sparse => viterbi_sparse::fill(lattice, forward, tally),
        }
    }
}

/// The k-best decoder with a forward pass and a backward search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViterbiAstar {
    /// The first half.
    pub forward: ForwardPass,
}

/// Forward scores and the backward search's memory.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    pub(super) forward: Forward<S>,
    pub(super) paths: path_space::Memory<S>,
}

impl Algorithm for ViterbiAstar {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, k, scratch, tally, out } = job;
        let Memory { forward, paths } = &mut scratch.viterbi_astar;
        self.forward.fill(lattice, forward, tally);
        PathSpace::new(lattice, edges, forward.survivors(lattice), paths).push_best(k, tally, out)?;
        if out.paths.is_empty() { Err(Error::NoPath) } else { Ok(()) }
    }
}
