//! The automatic choice: a plan from facts, then the engines it names.
//!
//! **What.** [`Auto`] looks at the size, the shape and the density of the edges, makes a [`Plan`] ([`Auto::plan`],
//! which can [`Plan::explain`] itself), tries the funnel on a budget where that can pay off, and falls back to a
//! Viterbi whose time does not depend on the scores. **Why.** No single decoder is best everywhere, and none should
//! cost much where it is not the best. **Cost.** That of the better engine, plus a few per cent where nothing can be
//! pruned.

mod plan;

pub use plan::{Engine, Facts, Plan};

use super::gather::GatherEdges;
use super::{Algorithm, Decode, Job, Tally, Viterbi, ViterbiSimd};
use crate::error::Result;
use crate::kernel::Float;
use crate::lattice::Lattice;

/// The engines that may be chosen; plain Viterbi always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engines {
    /// The funnel.
    pub funnel: bool,
    /// Viterbi on sparse edges.
    pub viterbi_sparse: bool,
    /// Viterbi with vector instructions.
    pub viterbi_simd: bool,
    /// Recursive enumeration, with the forward pass of either of those two.
    pub recursive_enumeration: bool,
}

impl Default for Engines {
    fn default() -> Self {
        Engines { funnel: true, viterbi_sparse: true, viterbi_simd: true, recursive_enumeration: true }
    }
}

/// Chooses among the other decoders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Auto {
    /// The engines it may choose from.
    pub engines: Engines,
}

impl Auto {
    /// Which engines will search for the `k` best paths of this lattice, and why.
    pub fn plan<S: Float>(&self, lattice: &Lattice<'_, S>, k: usize) -> Plan {
        Plan::choose(Facts::of(lattice, k), self.engines)
    }
}

impl Algorithm for Auto {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, mut job: Job<'_, '_, S, E, T>) -> Result<()> {
        if self.engines.viterbi_simd && job.k == 1 && Plan::is_tiny(job.lattice) {
            job.out.decoder = ViterbiSimd.name();
            return ViterbiSimd.search(job); // as any plan would say: making one would take longer than the answer
        }
        let plan = self.plan(job.lattice, job.k);
        if let Some(first) = plan.first {
            job.out.decoder = first.name();
            if first.search_within(plan.budget, job.reborrow())? {
                return Ok(());
            }
            job.out.clear_paths();
        }
        job.out.decoder = plan.fallback.name();
        plan.fallback.decoder().search(job)
    }

    // Answers name the engine, never `auto`.
    fn name_for_empty(&self) -> &'static str {
        Viterbi.name()
    }
}
