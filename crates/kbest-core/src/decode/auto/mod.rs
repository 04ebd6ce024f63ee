//! The automatic choice: a plan from facts, then the engines it names.
//!
//! **What.** [`Auto`] looks at the size, the shape and the density of the edges, makes a [`Plan`] ([`Auto::plan`],
//! which can [`Plan::explain`] itself), tries the funnel on a budget where that can pay off, and falls back to a
//! Viterbi whose time does not depend on the scores. **Why.** No single decoder is best everywhere, and none should
//! cost much where it is not the best. **Cost.** That of the better engine, plus a few per cent where nothing can be
//! pruned. **Many sequences.** From those with the same edges it also learns, by the clock, which engine is fastest
//! ([`experience`]), unless [`crate::Scratch::planned`] forbids that.

mod experience;
mod plan;

pub(crate) use experience::Experience;
pub use plan::{Engine, Facts, Plan};

use super::funnel::Budget;
use super::gather::GatherEdges;
use super::{Algorithm, Decode, ForwardPass, Job, Scratch, Tally, Viterbi};
use crate::error::Result;
use crate::lattice::Lattice;
use crate::simd::Float;
use experience::{Key, Way};
use std::time::Instant;

/// The engines that may be chosen; plain Viterbi always may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Engines {
    /// The funnel.
    pub funnel: bool,
    /// Viterbi on sparse edges.
    pub viterbi_sparse: bool,
    /// Viterbi with vector instructions.
    pub viterbi_simd: bool,
    /// The sieve.
    pub sieve: bool,
    /// Recursive enumeration, with the forward pass of any of those three.
    pub recursive_enumeration: bool,
}

impl Default for Engines {
    fn default() -> Self {
        Engines {
            funnel: true,
            viterbi_sparse: true,
            viterbi_simd: true,
            sieve: true,
            recursive_enumeration: true,
        }
    }
}

impl Engines {
    /// Whether both that read tiny edges may be used.
    fn read_tiny(self) -> bool {
        self.viterbi_simd && self.viterbi_sparse
    }

    /// The forward passes that may be used.
    fn passes(self) -> impl Iterator<Item = ForwardPass> {
        let all = [
            (self.viterbi_simd, ForwardPass::Simd),
            (self.viterbi_sparse, ForwardPass::Sparse),
            (self.sieve, ForwardPass::Sieve),
        ];
        all.into_iter().filter(|(on, _)| *on).map(|(_, pass)| pass)
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
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Scratch { planned, counting, tracing, .. } = *job.scratch;
        let learning = !planned && !counting && !tracing;
        if job.k == 1
            && self.engines.read_tiny()
            && let Some(engine) = Plan::tiny(job.lattice, learning)
        {
            job.out.decoder = engine.name();
            return engine.search(job); // making a plan would take longer than the answer
        }
        if learning {
            return self.search_as_learned(job);
        }
        let plan = self.plan(job.lattice, job.k);
        try_in_turn(plan.first.map(|first| (first, plan.budget)), plan.fallback, false, job).map(|_| ())
    }

    // Answers name the engine, never `auto`.
    fn name_for_empty(&self) -> &'static str {
        Viterbi.name()
    }
}

impl Auto {
    /// Goes the way that was fastest for such sequences, or tries another.
    fn search_as_learned<S: Float, E: GatherEdges<S>, T: Tally>(
        &self,
        mut job: Job<'_, '_, S, E, T>,
    ) -> Result<()> {
        let (positions, k) = (job.lattice.positions(), job.k);
        let facts = || Facts::of(job.lattice, k);
        let choice = job.scratch.experience.choose(Key::of(job.lattice, k, self.engines), facts);
        let begun = choice.timed.then(Instant::now);
        let planned = |plan: &Plan| (plan.first.map(|first| (first, plan.budget)), plan.fallback);
        let (first, last) = match choice.way {
            Some(Way::Pass(pass)) => (None, Engine::with_pass(pass, k)),
            Some(Way::Funnel) => {
                let fastest_pass = job.scratch.experience.fastest_pass();
                let plan = job.scratch.experience.plan(positions);
                (Some((Engine::Funnel, plan.whole_budget(positions, fastest_pass))), plan.fallback)
            }
            Some(Way::Planned) => planned(job.scratch.experience.plan(positions)),
            None => planned(&self.plan(job.lattice, k)),
        };
        let answer = try_in_turn(first, last, choice.timed, job.reborrow());
        if let Some(begun) = begun {
            let now = Instant::now();
            let nanoseconds = |begun| now.duration_since(begun).as_nanos() as f64;
            let beside = match (&answer, last.pass()) {
                // Those at which the funnel gave up may be harder than the others.
                (Ok(Some(takeover)), Some(pass)) if 4 * takeover.positions >= 3 * positions => {
                    Some((pass, nanoseconds(takeover.begun) / takeover.positions as f64))
                }
                _ => None,
            };
            job.scratch.experience.record(nanoseconds(begun), positions, beside);
        }
        answer.map(|_| ())
    }
}

/// When the last engine began, because the first one had given up, and how many positions it decoded.
struct Takeover {
    begun: Instant,
    positions: usize,
}

/// Searches with the first engine within its budget, if there is one, and with the last one if that gives up. If timed, returns when that
/// happened.
#[inline(always)] // handing over the arguments would take as long as a position of a few labels
fn try_in_turn<S: Float, E: GatherEdges<S>, T: Tally>(
    first: Option<(Engine, Budget)>,
    last: Engine,
    timed: bool,
    mut job: Job<'_, '_, S, E, T>,
) -> Result<Option<Takeover>> {
    let mut takeover = None;
    if let Some((engine, budget)) = first {
        job.out.decoder = engine.name();
        if engine.search_within(budget, job.reborrow())? {
            return Ok(None);
        }
        job.out.clear_paths();
        let positions = job.lattice.positions();
        if job.k == 1
            && let Some(pass) = last.pass()
        {
            let begun = timed.then(Instant::now);
            if let Some(first) = take_over(pass, job.reborrow())? {
                job.out.decoder = last.name();
                return Ok(begun.map(|begun| Takeover { begun, positions: positions - first }));
            }
        }
        takeover = timed.then(|| Takeover { begun: Instant::now(), positions });
    }
    job.out.decoder = last.name();
    last.search(job)?;
    Ok(takeover)
}

/// At so many positions it is tried to go on from what the funnel has found, but not where fewer positions than this would be saved:
/// a try in vain costs about one.
const TAKE_OVERS: usize = 3;
const LEAST_SAVED: usize = 4;

/// Goes on with a forward pass where the funnel gave up, for one path, and returns from which position on, if that was possible. In the steps
/// before, one label is usually far ahead of the others, and then nothing but what the funnel knows matters.
fn take_over<S: Float, E: GatherEdges<S>, T: Tally>(
    pass: ForwardPass,
    job: Job<'_, '_, S, E, T>,
) -> Result<Option<usize>> {
    let Job { lattice, edges, scratch, tally, out, .. } = job;
    let (funnel, memory) = (&mut scratch.funnel.search, &mut scratch.sieve);
    let last = funnel.last_known().min(lattice.positions().saturating_sub(2));
    for position in (LEAST_SAVED..=last).rev().take(TAKE_OVERS) {
        tally.edges(funnel.opened_before(position) * lattice.labels());
        memory.forward.begin_with(funnel.head_start(lattice, edges, position));
        pass.fill(lattice, memory, tally);
        if memory.forward.is_complete() {
            memory.forward.trace(lattice, edges, out)?;
            tally.edges(funnel.write_labels_before(edges, position, &mut out.paths[0].labels));
            return Ok(Some(position));
        }
    }
    Ok(None)
}
