//! k-best A*: every node keeps its `k` best partial paths (Huang et al. 2012, section 4.3).
//!
//! **What.** The search of [`super::astar`] with partial paths in the heap instead of nodes. A partial path is a label, its
//! score and the partial path before it; each is opened at most once, so no two complete paths are equal. The search
//! ends when no waiting `f` reaches the k-th best complete path.
//!
//! **Why k a node suffice.** Of `k` partial paths that reach a node no worse than another one, each can be completed as that one is, and
//! as rounding is monotone none of the `k` results scores below its own.
//!
//! **Cost.** At most `k T L` partial paths are opened, `k T L^2` edges; memory for the partial paths found. Many equal scores
//! do not change that: a partial path no better than the `k` known ones is dropped at once.

use super::astar::{self, Waiting, read_back};
use super::gather::GatherEdges;
use super::{Decoded, Tally};
use crate::error::{Error, Result};
use crate::kernel::Float;
use crate::label::LabelId;
use crate::lattice::Lattice;

/// No partial path.
const NONE: u32 = u32::MAX;

/// A partial path.
#[derive(Debug, Clone, Copy)]
struct Partial<S> {
    g: S,
    label: LabelId,
    before: u32, // the partial path it continues
    next: u32,   // the next best at the same node
    dropped: bool,
}

/// The best partial paths of a node, as a chain.
#[derive(Debug, Clone, Copy)]
struct Chain<S> {
    first: u32,
    length: u32,
    worst: S, // score to beat: that of the k-th, forbidden while there are fewer
}

/// Partial paths and their chains.
#[derive(Debug)]
pub(crate) struct Memory<S> {
    partials: Vec<Partial<S>>,
    chains: Vec<Chain<S>>,   // T x L
    complete: Vec<(S, u32)>, // at most k, best first
    path: Vec<LabelId>,
}

impl<S> Default for Memory<S> {
    fn default() -> Self {
        Memory { partials: Vec::new(), chains: Vec::new(), complete: Vec::new(), path: Vec::new() }
    }
}

impl<S: Float> Memory<S> {
    fn reset(&mut self, nodes: usize) {
        self.partials.clear();
        self.complete.clear();
        self.chains.clear();
        self.chains.resize(nodes, Chain { first: NONE, length: 0, worst: S::FORBIDDEN });
    }

    /// Adds a partial path to a node's chain if it is among the `k` best there; those that came first win a tie.
    fn add(&mut self, node: usize, k: usize, g: S, label: usize, before: u32) -> Result<Option<u32>> {
        let chain = &mut self.chains[node];
        if g <= chain.worst {
            return Ok(None);
        }
        let new = self.partials.len() as u32;
        if new == NONE {
            let reason = format!("the {k} best paths need more than {NONE} partial ones");
            return Err(Error::Unsupported { decoder: "astar", reason });
        }
        let (mut previous, mut next) = (NONE, chain.first);
        while next != NONE && self.partials[next as usize].g >= g {
            (previous, next) = (next, self.partials[next as usize].next);
        }
        self.partials.push(Partial { g, label: label as LabelId, before, next, dropped: false });
        if previous == NONE {
            chain.first = new;
        } else {
            self.partials[previous as usize].next = new;
        }
        chain.length += 1;
        if chain.length as usize >= k {
            self.cut(node, k);
        }
        Ok(Some(new))
    }

    /// Drops what lies beyond the k-th of a chain and notes the score to beat.
    fn cut(&mut self, node: usize, k: usize) {
        let chain = &mut self.chains[node];
        let mut last = chain.first;
        for _ in 1..k {
            last = self.partials[last as usize].next;
        }
        let beyond = std::mem::replace(&mut self.partials[last as usize].next, NONE);
        if beyond != NONE {
            self.partials[beyond as usize].dropped = true;
            chain.length -= 1;
        }
        chain.worst = self.partials[last as usize].g;
    }

    /// Notes a complete path if it is among the `k` best.
    fn finish(&mut self, k: usize, score: S, partial: u32) {
        let full = self.complete.len() == k;
        if score.is_forbidden() || full && score <= self.complete[k - 1].0 {
            return;
        }
        if full {
            self.complete.pop();
        }
        let place = self.complete.partition_point(|&(other, _)| other >= score);
        self.complete.insert(place, (score, partial));
    }

    /// Score of the k-th best complete path, forbidden if there are fewer.
    #[inline]
    fn kth(&self, k: usize) -> S {
        self.complete.get(k - 1).map_or(S::FORBIDDEN, |&(score, _)| score)
    }

    /// Best score at a node.
    fn best_at(&self, node: usize) -> S {
        match self.chains[node].first {
            NONE => S::FORBIDDEN,
            first => self.partials[first as usize].g,
        }
    }
}

pub(super) fn k_best<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl GatherEdges<S>,
    k: usize,
    memory: &mut astar::Memory<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<()> {
    let (labels, last) = (lattice.labels(), lattice.positions() - 1);
    let places = lattice.edges().ranking().places();
    let slack = lattice.rounding_slack();
    let astar::Memory { estimates, heap, row, kbest: paths, .. } = memory;
    paths.reset((last + 1) * labels);
    tally.round();
    for y in 0..labels {
        let g = lattice.first_score(y);
        let Some(item) = paths.add(y, k, g, y, NONE)? else { continue };
        if last == 0 {
            paths.finish(k, lattice.with_end_score(g, y), item);
        } else if !(g + estimates.at(0, places[y])).is_forbidden() {
            heap.push(Waiting { f: g + estimates.at(0, places[y]), t: 0, item, g });
        }
    }
    while let Some(Waiting { f, t, item, .. }) = heap.pop() {
        // f bounds every completion: all that still wait are strictly worse than k complete paths.
        if f < paths.kth(k) - slack {
            break;
        }
        let from = paths.partials[item as usize];
        if from.dropped {
            continue; // k partial paths no worse reach this node
        }
        let next = t as usize + 1;
        tally.nodes(t as usize, 1);
        tally.edges(labels);
        let row = &edges.row(next, from.label as usize, row)[..labels];
        let nodes = lattice.node_row(next);
        for y in 0..labels {
            let g = (from.g + row[y]) + nodes[y];
            let f = g + estimates.at(next, places[y]);
            // The same bound: what lies below k complete paths by more than the slack need not be kept.
            if f.is_forbidden() || f < paths.kth(k) - slack {
                continue;
            }
            let Some(item) = paths.add(next * labels + y, k, g, y, item)? else { continue };
            if next == last {
                paths.finish(k, lattice.with_end_score(g, y), item);
            } else {
                heap.push(Waiting { f, t: next as u32, item, g });
            }
        }
    }
    // The tie rule of the best path looks at all equally good ones, not only at the k that were kept.
    read_back(lattice, edges, |t, y| paths.best_at(t * labels + y), out)?;
    for i in 0..paths.complete.len() {
        let (score, partial) = paths.complete[i];
        paths.path.resize(last + 1, 0);
        let mut at = partial;
        for t in (0..=last).rev() {
            let partial = paths.partials[at as usize];
            paths.path[t] = partial.label;
            at = partial.before;
        }
        // If the best path was not kept, then k others score the same, and the last of them gives way.
        if paths.path != out.best().labels && out.paths.len() < k {
            out.push_path(last + 1, score).copy_from_slice(&paths.path);
        }
    }
    Ok(())
}
