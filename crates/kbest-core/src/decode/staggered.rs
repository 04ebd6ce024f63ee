//! Staggered decoding: search a lattice of a few active labels, and grow it until the answer is proven.
//!
//! **What.** All labels of a column except the best-ranked ones are merged into one degenerate label whose score is
//! their maximum. If the best path of that small lattice uses no degenerate label, it is the best path of the whole
//! lattice (Lemma 1). Otherwise active labels are doubled: in every column ([`Expansion::AllColumns`], SD), or only
//! where the best path went through a degenerate label ([`Expansion::ColumnsOnPath`], SD+C-EXP). Forward and backward
//! passes alternate; their bounds prune nodes against a lower bound, first from a beam of one, then from the best path
//! of active labels.
//!
//! **Exact to the last bit.** The search ends when every path with an inactive label lies below the lower bound by more
//! than the rounding slack, so all best paths, including ties, are active; the scores of a forward pass over the active
//! labels are then plain Viterbi's on all of them.
//!
//! **Cost.** `T L` for the maxima of inactive nodes, then `T` at best, `4/3 T L^2` edges at worst (SD, Theorem 2);
//! SD+C-EXP has no such bound on its rounds but opens far fewer labels on trained models. Memory for the kept nodes.
//! **When not.** Labels without a ranking, or scores in which no label stands out: columns grow to all labels.
//!
//! ```
//! use kbest_core::{Decode, Edges, Lattice, Scratch, decode::{Expansion, Staggered}};
//! let edges = Edges::dense(3, vec![0.0f32; 9])?.ranked(vec![2, 0, 1])?; // label 2 is the most frequent
//! let lattice = Lattice::new(vec![0.0, 1.0, 4.0, 0.0, 1.0, 5.0], &edges)?;
//! let decoder = Staggered { expansion: Expansion::ColumnsOnPath };
//! assert_eq!(decoder.decode(&lattice, &mut Scratch::new())?.best().labels, [2, 2]);
//! # Ok::<(), kbest_core::Error>(())
//! ```
//!
//! **Paper.** Kaji, Fujiwara, Yoshinaga & Kitsuregawa (2010), sections 3 and 4.

use super::degenerate_lattice::{DegenerateLattice, Direction};
use super::gather::GatherEdges;
use super::lower_bound::{self, beam_lower_bound};
use super::trace_back::push_best;
use super::{Algorithm, Decoded, Job, Tally};
use crate::error::Result;
use crate::lattice::Lattice;
use crate::simd::Float;

/// Which columns grow while the best path is not proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expansion {
    /// All: at most `log2 L + 1` rounds.
    #[default]
    AllColumns,
    /// Those whose degenerate label the best path goes through: more rounds, fewer labels.
    ColumnsOnPath,
}

/// Staggered decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Staggered {
    /// Which columns grow.
    pub expansion: Expansion,
}

/// The degenerate lattice and the beam of the first lower bound.
#[derive(Debug, Default)]
pub(crate) struct Memory<S: Float> {
    lattice: DegenerateLattice<S>,
    beam: lower_bound::Memory<S>,
}

impl Algorithm for Staggered {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, scratch, tally, out, .. } = job;
        staggered(lattice, edges, self.expansion, &mut scratch.staggered, tally, out)
    }
}

fn staggered<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl GatherEdges<S>,
    expansion: Expansion,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<()> {
    let slack = lattice.rounding_slack();
    let mut lower = beam_lower_bound(lattice, edges, 1, &mut memory.beam, tally);
    let small = &mut memory.lattice;
    small.reset(lattice);
    let mut direction = Direction::Forward;
    loop {
        if !small.has_rest() {
            direction = Direction::Forward; // nothing left to bound: scores in the judge's order decide
        }
        tally.round();
        let passed = small.pass(lattice, edges, direction, lower - slack, tally);
        lower = lower.larger(passed.active);
        // Paths with an inactive label are bounded by `mixed`: all of them are strictly worse, or forbidden.
        if passed.mixed < lower - slack || passed.mixed.is_forbidden() {
            if direction == Direction::Backward {
                small.drop_rests();
                small.pass(lattice, edges, Direction::Forward, lower - slack, tally);
            }
            let column = |t: usize| small.columns()[t].nodes.iter().map(|node| (node.label, node.active));
            return push_best(lattice, edges, column, out);
        }
        // If no mixed path is ahead, only a tie or rounding prevents a proof: any remaining degenerate label may be
        // part of it.
        if expansion == Expansion::AllColumns || passed.mixed <= lower {
            small.mark_all();
        } else {
            small.mark_best_mixed(lattice, edges);
        }
        small.grow_marked(lattice, lower - slack, tally);
        direction = match direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
    }
}
