//! The automatic choice: a plan from facts, then the engines it names.
//!
//! **What.** [`Auto`] looks at the size, the shape and the density of the edges, makes a [`Plan`] ([`Auto::plan`], which
//! can [`Plan::explain`] itself), tries the funnel on a budget where that can pay, and falls back to a Viterbi that does
//! not depend on the scores. **Why.** No single decoder is best everywhere, and none should cost much where it is not.
//! **Cost.** That of the better engine, plus a few per cent where nothing can be pruned.

mod plan;

pub use plan::{Engine, Facts, Plan};

use super::funnel::{self, Stop};
use super::{Decode, Decoded, Scratch, Viterbi, ViterbiAstar, ViterbiSimd, ViterbiSparse};
use crate::error::{Error, Result};
use crate::kernel::Float;
use crate::lattice::Lattice;

/// Which engines may be chosen; plain Viterbi always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engines {
    /// The funnel.
    pub funnel: bool,
    /// Viterbi on sparse edges.
    pub viterbi_sparse: bool,
    /// Viterbi on vector instructions.
    pub viterbi_simd: bool,
    /// Viterbi A*, on the forward pass of either of those two.
    pub viterbi_astar: bool,
}

impl Default for Engines {
    fn default() -> Self {
        Engines { funnel: true, viterbi_sparse: true, viterbi_simd: true, viterbi_astar: true }
    }
}

/// Chooses among the other decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Auto {
    /// What it may choose from.
    pub engines: Engines,
}

impl Auto {
    /// What will be run for the `k` best paths of this lattice, and why.
    pub fn plan<S: Float>(&self, lattice: &Lattice<'_, S>, k: usize) -> Plan {
        Plan::choose(Facts::of(lattice, k), self.engines)
    }
}

impl<S: Float> Decode<S> for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn supports(&self, _k: usize) -> Result<()> {
        Ok(())
    }

    fn search(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        let plan = self.plan(lattice, k);
        if let Some(engine) = plan.first {
            match funnel::try_search(lattice, k, plan.budget, scratch, out) {
                Ok(()) => {
                    out.decoder = engine.name();
                    return Ok(());
                }
                Err(Stop::NoPath) => return Err(Error::NoPath),
                Err(Stop::OverBudget | Stop::Overflow) => out.clear_paths(),
            }
        }
        out.decoder = plan.fallback.name();
        match plan.fallback {
            Engine::ViterbiSparse => ViterbiSparse.search(lattice, k, scratch, out),
            Engine::ViterbiSimd => ViterbiSimd.search(lattice, k, scratch, out),
            Engine::ViterbiAstar(forward) => ViterbiAstar { forward }.search(lattice, k, scratch, out),
            Engine::Viterbi | Engine::Funnel => Viterbi.search(lattice, k, scratch, out),
        }
    }
}
