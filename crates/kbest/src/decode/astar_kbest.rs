//! k-best A*: every node keeps its `k` best partial paths (Huang et al. 2012, section 4.3).
//!
//! **What.** The search of [`super::astar`] with partial paths in the heap instead of nodes. A partial path is a label, its
//! score and the partial path before it; each is opened at most once, so no two complete paths are equal. The search
//! ends when no waiting `f` reaches the k-th best complete path.
//!
//! **Why k a node suffice.** Of `k` partial paths that reach a node no worse than another one, each can be completed as that one is, and
//! as rounding is monotone none of the `k` results scores below its own.
//!
//! **Rounding.** Where it makes the estimates inconsistent, a node may get a better partial path after `k` of them were
//! opened. As in 1-best A*, it is not opened then, and a sweep position by position settles the scores.
//!
//! **Cost.** At most `k T L` partial paths are opened, `k T L^2` edges; memory for the partial paths found. Many equal scores
//! do not change that: a partial path no better than the `k` known ones is dropped at once.

use super::astar::{self, Waiting, read_back};
use super::gather::GatherEdges;
use super::heuristic::Estimates;
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
    last: u32,
    length: usize,
    opened: usize, // how many were opened, dropped ones among them
    worst: S,      // score to beat: that of the k-th, forbidden while there are fewer
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
        self.chains
            .resize(nodes, Chain { first: NONE, last: NONE, length: 0, opened: 0, worst: S::FORBIDDEN });
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
        if chain.last != NONE && self.partials[chain.last as usize].g >= g {
            (previous, next) = (chain.last, NONE); // most come in falling order
        }
        while next != NONE && self.partials[next as usize].g >= g {
            (previous, next) = (next, self.partials[next as usize].next);
        }
        self.partials.push(Partial { g, label: label as LabelId, before, next, dropped: false });
        if previous == NONE {
            chain.first = new;
        } else {
            self.partials[previous as usize].next = new;
        }
        if next == NONE {
            chain.last = new;
        }
        chain.length += 1;
        if chain.length >= k {
            self.cut(node, k);
        }
        Ok(Some(new))
    }

    /// Drops what lies beyond the k-th of a chain and notes the score to beat.
    fn cut(&mut self, node: usize, k: usize) {
        let chain = &mut self.chains[node];
        if chain.length > k {
            let mut last = chain.first;
            for _ in 1..k {
                last = self.partials[last as usize].next;
            }
            let beyond = std::mem::replace(&mut self.partials[last as usize].next, NONE);
            self.partials[beyond as usize].dropped = true;
            chain.length = k;
            chain.last = last;
        }
        chain.worst = self.partials[chain.last as usize].g;
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
    let astar::Memory { estimates, heap, row, kbest: paths, .. } = memory;
    let (labels, last) = (lattice.labels(), lattice.positions() - 1);
    paths.reset((last + 1) * labels);
    let mut search = Search {
        lattice,
        edges,
        estimates,
        places: lattice.edges().ranking().places(),
        k,
        slack: lattice.rounding_slack(),
        floor: S::FORBIDDEN,
        paths,
        row,
    };
    let mut improved_late = false; // some node got a better partial path after k others were opened
    tally.round();
    search.start(|waiting| heap.push(waiting))?;
    while let Some(Waiting { f, t, item }) = heap.pop() {
        // f bounds every completion: all that still wait are strictly worse than k complete paths.
        if f < search.threshold() {
            break;
        }
        let partial = search.paths.partials[item as usize];
        if partial.dropped {
            continue; // k partial paths no worse reach the node
        }
        let chain = &mut search.paths.chains[t as usize * labels + partial.label as usize];
        if chain.opened == k {
            improved_late = true;
            continue;
        }
        chain.opened += 1;
        search.open(t as usize, item, tally, |waiting| heap.push(waiting))?;
    }
    if improved_late {
        search.sweep(tally)?;
    }
    // The tie rule of the best path looks at all equally good ones, not only at the k that were kept.
    read_back(lattice, edges, |t, y| paths.best_at(t * labels + y), out)?;
    for i in 0..paths.complete.len() {
        let (score, mut at) = paths.complete[i];
        paths.path.resize(last + 1, 0);
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

/// One sequence's search.
struct Search<'a, 'l, S: Float, E> {
    lattice: &'a Lattice<'l, S>,
    edges: &'a E,
    estimates: &'a Estimates<S>,
    places: &'a [u32],
    k: usize,
    slack: S,
    floor: S, // k paths are known to score no less, though they are not at hand
    paths: &'a mut Memory<S>,
    row: &'a mut Vec<S>,
}

impl<S: Float, E: GatherEdges<S>> Search<'_, '_, S, E> {
    /// What lies below this is strictly worse than k complete paths.
    #[inline]
    fn threshold(&self) -> S {
        self.paths.kth(self.k).larger(self.floor) - self.slack
    }

    /// Adds a partial path to its node; if it is new there and not complete, it waits to be opened.
    #[inline]
    fn reach(&mut self, t: usize, y: usize, g: S, before: u32, wait: impl FnOnce(Waiting<S>)) -> Result<()> {
        let (labels, last) = (self.lattice.labels(), self.lattice.positions() - 1);
        let f = g + self.estimates.at(t, self.places[y]);
        // f bounds every completion: what lies below k complete paths by more than the slack need not be kept.
        if f.is_forbidden() || f < self.threshold() {
            return Ok(());
        }
        let Some(item) = self.paths.add(t * labels + y, self.k, g, y, before)? else { return Ok(()) };
        if t == last {
            self.paths.finish(self.k, self.lattice.with_end_score(g, y), item);
        } else {
            wait(Waiting { f, t: t as u32, item });
        }
        Ok(())
    }

    fn start(&mut self, mut wait: impl FnMut(Waiting<S>)) -> Result<()> {
        for y in 0..self.lattice.labels() {
            self.reach(0, y, self.lattice.first_score(y), NONE, &mut wait)?;
        }
        Ok(())
    }

    fn open(
        &mut self,
        t: usize,
        item: u32,
        tally: &mut impl Tally,
        mut wait: impl FnMut(Waiting<S>),
    ) -> Result<()> {
        let labels = self.lattice.labels();
        tally.nodes(t, 1);
        tally.edges(labels);
        let Partial { g, label, .. } = self.paths.partials[item as usize];
        let mut buffer = std::mem::take(self.row);
        let row = &self.edges.row(t + 1, label as usize, &mut buffer)[..labels];
        for (y, &w) in row.iter().enumerate() {
            self.reach(t + 1, y, (g + w) + self.lattice.node_row(t + 1)[y], item, &mut wait)?;
        }
        *self.row = buffer;
        Ok(())
    }

    /// Finds all partial paths anew, position by position: those of a position are final when the next one begins.
    fn sweep(&mut self, tally: &mut impl Tally) -> Result<()> {
        self.floor = self.paths.kth(self.k);
        let (labels, last) = (self.lattice.labels(), self.lattice.positions() - 1);
        self.paths.reset((last + 1) * labels);
        tally.round();
        self.start(|_| ())?;
        for t in 0..last {
            for p in 0..labels {
                let mut item = self.paths.chains[t * labels + p].first;
                while item != NONE {
                    let Partial { g, next, .. } = self.paths.partials[item as usize];
                    let f = g + self.estimates.at(t, self.places[p]);
                    if f < self.threshold() {
                        break; // the bound of `reach`, raised since; those that follow are no better
                    }
                    self.open(t, item, tally, |_| ())?;
                    item = next;
                }
            }
        }
        Ok(())
    }
}
