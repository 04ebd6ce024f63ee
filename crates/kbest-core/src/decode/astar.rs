//! A*: best-first search, opening only nodes that the best path might go through.
//!
//! **What.** Nodes wait in a heap by `f = g + h` (Huang et al. 2012, Equation 8): `g` is the forward score, added as
//! the judge adds, `h` an estimate never below the remaining score ([`Heuristic`]). The node with the largest `f` is
//! opened: its edges improve the `g` of the labels after it. The search ends once no waiting `f` reaches the best
//! complete path.
//!
//! **Exact to the last bit.** `f` is not added in the judge's order, so the search continues until the best `f` lies
//! below the best complete path by more than the rounding slack. Rounding can also make `h` inconsistent: the `g` of an
//! open node improves. Opening it again could cascade through a long sequence repeatedly; instead one *sweep*, position
//! by position, then opens once more each node whose `f` reaches that path. Either way every node on a best path has
//! plain Viterbi's score, and the path is read back by plain Viterbi's tie rule.
//!
//! **k best** (section 4.3): every node keeps its `k` best partial paths, each of which is opened at most once.
//!
//! **Cost.** `T L` edges at best (one node per position), `T L^2` and a heap at worst, `k` times that for k best; `T L`
//! scores of memory. **When not.** Loose estimates open nearly everything, with a heap on top: the papers, too, found
//! it slower than staggered decoding.
//!
//! ```
//! use kbest_core::{Decode, Edges, Lattice, Scratch, decode::{Astar, Heuristic}};
//! let edges = Edges::dense(2, vec![0.0f32, 1.0, 0.0, 0.0])?;
//! let lattice = Lattice::new(vec![1.0, 0.0, 0.0, 0.5], &edges)?;
//! let answer = Astar { heuristic: Heuristic::M3 }.decode_kbest(&lattice, 2, &mut Scratch::new())?;
//! assert_eq!(answer.paths[0].labels, [0, 1]);
//! assert_eq!(answer.paths[1].score, 1.0);
//! # Ok::<(), kbest_core::Error>(())
//! ```
//!
//! **Paper.** Huang et al. (2012), sections 4.1 and 4.3; Hart, Nilsson & Raphael (1968).

use super::by_score::ByScore;
use super::gather::GatherEdges;
use super::heuristic::{Estimates, Heuristic};
use super::trace_back::push_best;
use super::{Algorithm, Decoded, Job, Tally, astar_kbest};
use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::Lattice;
use crate::simd::{Float, padded};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A* search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Astar {
    /// How the remaining score is estimated.
    pub heuristic: Heuristic,
}

/// A node that waits to be opened, by its `f`: its position and its label, or the number of a partial path. Among
/// equals the longer way comes first, which is closer to a complete path, then the lower number.
pub(super) type Waiting<S> = ByScore<S, (u32, Reverse<u32>)>;

/// Forward scores, estimates and the heap.
#[derive(Debug, Default)]
pub(crate) struct Memory<S: Float> {
    pub(super) estimates: Estimates<S>,
    pub(super) heap: BinaryHeap<Waiting<S>>,
    pub(super) row: Vec<S>, // padded L
    g: Vec<S>,              // T x L: best forward score found
    opened: Vec<bool>,      // (T - 1) x L
    pub(super) kbest: astar_kbest::Memory<S>,
}

impl Algorithm for Astar {
    fn with_option(self, option: &str) -> Result<Self> {
        Ok(Astar { heuristic: option.parse()? })
    }

    fn option(&self) -> Option<String> {
        (*self != Astar::default()).then(|| self.heuristic.name().into())
    }

    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, k, scratch, tally, out } = job;
        let memory = &mut scratch.astar;
        memory.estimates.fill(self.heuristic, lattice, edges, tally);
        memory.row.resize(padded(lattice.labels()), S::FORBIDDEN);
        memory.heap.clear();
        match k {
            1 => one_best(lattice, edges, memory, tally, out),
            _ => astar_kbest::k_best(lattice, edges, k, memory, tally, out),
        }
    }
}

fn one_best<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl GatherEdges<S>,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<()> {
    let (labels, last) = (lattice.labels(), lattice.positions() - 1);
    let places = lattice.edges().ranking().places();
    let slack = lattice.rounding_slack();
    let Memory { estimates, heap, row, g, opened, .. } = memory;
    g.clear();
    g.resize((last + 1) * labels, S::FORBIDDEN);
    opened.clear();
    opened.resize(last * labels, false);
    let mut best = S::FORBIDDEN; // of the complete paths
    let mut improved_late = false; // the score of some node, after it was opened
    tally.round();
    for y in 0..labels {
        let score = lattice.first_score(y);
        g[y] = score;
        if last == 0 {
            best = best.larger(lattice.with_end_score(score, y));
        } else if !(score + estimates.at(0, places[y])).is_forbidden() {
            heap.push(Waiting { score: score + estimates.at(0, places[y]), item: (0, Reverse(y as u32)) });
        }
    }
    while let Some(Waiting { score: f, item: (t, Reverse(p)) }) = heap.pop() {
        // f bounds every path from here on: all those still waiting are strictly worse than a complete path.
        if f < best - slack {
            break;
        }
        let (t, p) = (t as usize, p as usize);
        if std::mem::replace(&mut opened[t * labels + p], true) {
            continue;
        }
        let next = t + 1;
        tally.opened(t, p as LabelId);
        tally.edges(labels);
        let (known, after) = g.split_at_mut(next * labels);
        let score = known[t * labels + p];
        let row = &edges.row(next, p, row)[..labels];
        let nodes = lattice.node_row(next);
        for y in 0..labels {
            let reached = (score + row[y]) + nodes[y];
            if reached <= after[y] {
                continue;
            }
            after[y] = reached;
            if next == last {
                best = best.larger(lattice.with_end_score(reached, y));
                continue;
            }
            improved_late |= opened[next * labels + y];
            let f = reached + estimates.at(next, places[y]);
            // The same bound: anything below the best complete path by more than the slack need not wait.
            if f >= best - slack && !f.is_forbidden() {
                heap.push(Waiting { score: f, item: (next as u32, Reverse(y as u32)) });
            }
        }
    }
    if improved_late {
        sweep(lattice, edges, best - slack, memory, tally);
    }
    let g = &memory.g;
    let column = |t: usize| (0..).zip(g[t * labels..(t + 1) * labels].iter().copied());
    push_best(lattice, edges, column, out)?;
    report_ends(lattice, column, out, tally);
    Ok(())
}

/// Reports the labels that complete a path, and those that were reached but never opened.
pub(super) fn report_ends<S: Float, C: Iterator<Item = (LabelId, S)>>(
    lattice: &Lattice<'_, S>,
    column: impl Fn(usize) -> C,
    out: &Decoded<S>,
    tally: &mut impl Tally,
) {
    let last = lattice.positions() - 1;
    if tally.traces() {
        out.paths.iter().for_each(|path| tally.completed(last, path.labels[last]));
        for t in 0..=last {
            column(t).filter(|(_, g)| !g.is_forbidden()).for_each(|(y, _)| tally.passed_by(t, y));
        }
    }
}

/// Forward scores of all nodes that a path no worse than the threshold may go through, position by position.
fn sweep<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl GatherEdges<S>,
    threshold: S,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
) {
    let (labels, last) = (lattice.labels(), lattice.positions() - 1);
    let places = lattice.edges().ranking().places();
    let Memory { estimates, row, g, .. } = memory;
    g[labels..].fill(S::FORBIDDEN);
    tally.round();
    for t in 0..last {
        let (known, after) = g.split_at_mut((t + 1) * labels);
        for p in 0..labels {
            let score = known[t * labels + p];
            let f = score + estimates.at(t, places[p]);
            // f bounds every path through the node: those left out are strictly worse than a complete path.
            if f < threshold || f.is_forbidden() {
                continue;
            }
            tally.opened(t, p as LabelId);
            tally.edges(labels);
            let row = &edges.row(t + 1, p, row)[..labels];
            S::max_plus_row(&mut after[..labels], score, row);
        }
        S::add_row(&mut after[..labels], lattice.node_row(t + 1));
    }
}
