//! The funnel, our own decoder: reads every node score once and opens only labels that can matter.
//!
//! **Idea.** Walk forward. At each position one vector pass finds the few labels that could still be the best way to
//! anything: those whose *reach*, the forward score plus the largest edge out of the label, is at least what the best
//! label is sure to reach. Only these are opened, that is, their exact forward score is computed from the few opened
//! labels before them. With the
//! edges of trained models (a base value, few exceptions, tight row maxima) one to five labels per position are opened,
//! out of thousands.
//!
//! **Why it is exact.** A label left out at `t` reaches less than the floor of its layer. A label at `t + 1` whose best
//! value over opened labels is at least that floor has therefore found its true predecessor. Where a value is smaller
//! (the best labels before have bad edges to it, or forbidden ones) and the label could matter, the layer before is
//! opened further, and so on backwards, by a work list. Scores are forward sums in the judge's order and every
//! comparison keeps equals, so the answer is plain Viterbi's to the last bit, including ties. (Only
//! which blocks of labels to read closely is decided with a slack for rounding.)
//!
//! **Cost.** One scan of the node scores (two with few labels), plus opened labels times the few predecessors walked: about `T L` on trained
//! models; `T L^2` at worst, with a larger constant than SIMD Viterbi, so [`super::Auto`] runs it on a budget and
//! switches to another decoder when that is used up. Memory: the opened labels only. **When not.** Uninformative node
//! scores.
//!
//! **Where.** The order of the work is in [`search`], what it remembers in [`layers`], the vector passes in [`passes`] and, for
//! many labels, in [`by_block`], ways into labels in [`ways_in`], and everything that is needed only for more than one path in [`kbest`].
//!
//! **Related.** It generalises CarpeDiem (Esposito & Radicioni 2009), which orders labels by node score alone and
//! bounds every edge by one number; see `docs/decisions/0002-funnel.md` for how it developed from the
//! bound-and-survivors prototype.

mod alternative;
mod budget;
mod by_block;
mod head_start;
mod kbest;
mod layers;
mod passes;
mod search;
mod sorting;
mod survey;
mod ways_in;

use super::gather::GatherEdges;
use super::{Algorithm, Job, RecursiveEnumeration, Tally, Viterbi};
use crate::error::{Error, Result};
use crate::simd::Float;
use search::Search;

pub(crate) use alternative::Alternative;
pub(crate) use budget::{Budget, Stop, least_cost};
pub(crate) use kbest::{keep_within, widened};
pub(crate) use search::smaller;
pub(crate) use survey::cost_of_look;

/// Our own decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Funnel;

/// Working memory for one path and for many.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    pub(crate) search: search::Memory<S>,
    pub(crate) many: kbest::Memory<S>,
}

impl Algorithm for Funnel {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, mut job: Job<'_, '_, S, E, T>) -> Result<()> {
        match try_search(job.reborrow(), Budget::UNLIMITED) {
            Ok(()) => Ok(()),
            Err(Stop::NoPath) => Err(Error::NoPath),
            Err(Stop::OverBudget) => unreachable!("the budget has no limit"),
            Err(Stop::Crowded) => {
                job.out.clear_paths(); // of a margin that was too small
                RecursiveEnumeration::default().search(job)
            }
            Err(Stop::Full) => {
                job.out.clear_paths();
                Viterbi.search(job)
            }
        }
    }
}

/// The `k` best paths, if they are found within the budget.
#[inline(never)] // a copy for each caller was up to a tenth slower in one of them, depending on what the compiler made of it
pub(crate) fn try_search<S: Float, E: GatherEdges<S>, T: Tally>(
    job: Job<'_, '_, S, E, T>,
    budget: Budget,
) -> Result<(), Stop> {
    let Job { lattice, edges, k, scratch, tally, out } = job;
    let Memory { search: memory, many } = &mut scratch.funnel;
    if k == 1 {
        let mut search = Search { lattice, edges, memory, tally, budget, ways_back: false };
        search.run()?;
        search.push_best(out);
        return Ok(());
    }
    kbest::push_kbest(lattice, edges, k, budget, memory, many, tally, out)
}
