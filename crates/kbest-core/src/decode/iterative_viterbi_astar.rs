//! Iterative Viterbi A*: the k best paths from degenerate lattices that grow until they are proven.
//!
//! **What.** The passes and the pruning of staggered decoding ([`super::Staggered`]), with a lower bound on the *k-th*
//! best path: first from a beam as wide as `k`, then from the best active paths to the labels at the end of a pass,
//! then from Viterbi A* on the small lattice. Viterbi A* runs whenever the best path of the small lattice is active and
//! lists its `k' = 2k` best sequences; the degenerate labels on the mixed ones determine which columns must grow.
//!
//! **Exact to the last bit.** The search ends when every path with an inactive label lies below the lower bound by more
//! than the rounding slack; then `k` active paths are ahead of it, and they are enumerated by [`super::path_space`]
//! from forward scores added in the judge's order. Nodes are pruned only if all paths through them lie as far below.
//!
//! **Cost.** `k T L` for the beam; then `T + k T` at best, and at worst that of staggered decoding (column-wise) plus
//! `2 k T L` for each run of Viterbi A*. **When not.** Large `k`: the best sequences then spread over the whole
//! lattice, and [`super::RecursiveEnumeration`] searches it directly (the paper's Figure 4: from about `k = 90`). **Example.**
//! `Decoder::by_name("iterative-viterbi-astar")`. **Paper.** Huang et al. (2012), section 4.4, Algorithm 4.

use super::agenda::{self, Agenda};
use super::degenerate_lattice::{DegenerateLattice, Direction, Slot};
use super::gather::GatherEdges;
use super::lower_bound::{self, beam_lower_bound};
use super::path_space::{self, Columns, PathSpace, Survivors};
use super::{Algorithm, Decoded, Job, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::Lattice;
use crate::simd::Float;
use std::cmp::Ordering;

/// The iterative k-best decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IterativeViterbiAstar;

/// The degenerate lattice, the searches on it, and the survivors they leave.
#[derive(Debug, Default)]
pub(crate) struct Memory<S: Float> {
    lattice: DegenerateLattice<S>,
    beam: lower_bound::Memory<S>,
    agenda: agenda::Memory<S>,
    ends: Vec<S>, // scores of the known active paths, to find the k-th best
    offsets: Vec<usize>,
    labels: Vec<LabelId>,
    alpha: Vec<S>,
    column: Vec<(LabelId, S)>,
    paths: path_space::Memory<S>,
}

impl Algorithm for IterativeViterbiAstar {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, k, scratch, tally, out } = job;
        let memory = &mut scratch.iterative_viterbi_astar;
        grow_until_proven(lattice, edges, k, memory, tally);
        enumerate(lattice, edges, k, memory, tally, out)
    }
}

/// Algorithm 4, up to the proof. Leaves the scores of a forward pass over active labels that hold all `k` best paths.
fn grow_until_proven<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl GatherEdges<S>,
    k: usize,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
) {
    let slack = lattice.rounding_slack();
    // At least k paths score no less than this.
    let mut lower = beam_lower_bound(lattice, edges, k, &mut memory.beam, tally);
    let small = &mut memory.lattice;
    small.reset(lattice);
    let mut direction = Direction::Forward;
    loop {
        if !small.has_rest() {
            direction = Direction::Forward; // nothing left to bound: scores in the judge's order decide
        }
        tally.round();
        let passed = small.pass(lattice, edges, direction, lower - slack, tally);
        lower = lower.larger(kth_of_ends(lattice, small, k, &mut memory.ends));
        if passed.active >= passed.mixed && !passed.mixed.is_forbidden() {
            // The columns of mixed sequences are marked on the way.
            let agenda = Agenda::new(lattice, edges, small, &mut memory.agenda, lower - slack);
            lower = lower.larger(agenda.list_sequences(k, tally));
        }
        // Paths with an inactive label are bounded by `mixed`: all of them are strictly worse than k others, or
        // forbidden.
        if passed.mixed < lower - slack || passed.mixed.is_forbidden() {
            small.drop_rests();
            if direction == Direction::Backward {
                small.pass(lattice, edges, Direction::Forward, lower - slack, tally);
            }
            return;
        }
        if passed.mixed <= lower {
            small.mark_all(); // only a tie or rounding prevents a proof; any degenerate label may be part of it
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

/// The k-th best of the best active paths to each label at the end of the pass; forbidden if there are fewer.
fn kth_of_ends<S: Float>(
    lattice: &Lattice<'_, S>,
    small: &DegenerateLattice<S>,
    k: usize,
    ends: &mut Vec<S>,
) -> S {
    let nodes = &small.columns()[small.end_of_pass()].nodes;
    if nodes.len() < k {
        return S::FORBIDDEN;
    }
    ends.clear();
    for (i, node) in nodes.iter().enumerate() {
        ends.push(small.completed(lattice, Slot::Active(i), node.active));
    }
    let (_, &mut kth, _) =
        ends.select_nth_unstable_by(k - 1, |a, b| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    kth
}

/// Lists the `k` best paths of the active labels.
fn enumerate<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl GatherEdges<S>,
    k: usize,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<()> {
    let Memory { lattice: small, offsets, labels, alpha, column, paths, .. } = memory;
    offsets.clear();
    labels.clear();
    alpha.clear();
    offsets.push(0);
    for nodes in small.columns().iter().map(|column| &column.nodes) {
        column.clear();
        column.extend(nodes.iter().map(|node| (node.label, node.active)));
        column.sort_unstable_by_key(|&(y, _)| y);
        labels.extend(column.iter().map(|&(y, _)| y));
        alpha.extend(column.iter().map(|&(_, score)| score));
        offsets.push(labels.len());
    }
    let survivors = Survivors { alpha, columns: Columns::Listed { offsets, labels } };
    PathSpace::new(lattice, edges, survivors, paths).push_best(k, tally, out)?;
    if out.paths.is_empty() { Err(Error::NoPath) } else { Ok(()) }
}
