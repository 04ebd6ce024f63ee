//! k-best A*: every node keeps its `k` best partial paths (Huang et al. 2012, section 4.3).
//!
//! **What.** The search of [`super::astar`] with partial paths in the heap instead of nodes. A partial path is a label,
//! its score and the partial path before it; each is opened at most once, so no two complete paths are equal. The
//! search ends when no waiting `f` reaches the k-th best complete path.
//!
//! **Why k per node are enough.** If `k` partial paths reach a node with scores no worse than that of another one, each
//! can be completed in the same way, and because rounding is monotone none of the `k` results scores lower.
//!
//! **Rounding.** Where it makes the estimates inconsistent, a node may get a better partial path after `k` of them were
//! opened. As in 1-best A*, it is not opened then, and a sweep over the positions corrects the scores.
//!
//! **Cost.** At most `k T L` partial paths are opened, `k T L^2` edges; memory for the partial paths found. Many equal
//! scores do not change that: a partial path no better than the `k` known ones is dropped immediately.

use super::astar::{self, Waiting};
use super::by_score::ByScore;
use super::gather::GatherEdges;
use super::heuristic::Estimates;
use super::trace_back::push_best;
use super::{Decoded, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::Lattice;
use crate::simd::Float;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No partial path.
const NONE: u32 = u32::MAX;

/// A partial path.
#[derive(Debug, Clone, Copy)]
struct Partial<S> {
    g: S,
    label: LabelId,
    before: u32, // the partial path it continues
    dropped: bool,
}

/// A partial path kept at a node; the worst is the greatest; among equals, the last one added.
type Kept<S> = Reverse<ByScore<S, Reverse<u32>>>;

/// The best partial paths of a node.
#[derive(Debug)]
struct Node<S: Float> {
    kept: BinaryHeap<Kept<S>>, // at most k, the worst on top
    worst: S,                  // score to beat: that of the k-th, forbidden while there are fewer
    best: S,
    opened: usize, // how many were opened, including dropped ones
}

impl<S: Float> Default for Node<S> {
    fn default() -> Self {
        Node { kept: BinaryHeap::new(), worst: S::FORBIDDEN, best: S::FORBIDDEN, opened: 0 }
    }
}

/// Partial paths and the nodes that keep them.
#[derive(Debug, Default)]
pub(crate) struct Memory<S: Float> {
    partials: Vec<Partial<S>>,
    nodes: Vec<Node<S>>,     // T x L, or more after longer sequences
    complete: Vec<(S, u32)>, // at most k, best first
    path: Vec<LabelId>,
    column: Vec<u32>, // the partial paths of a position, for the sweep
}

impl<S: Float> Memory<S> {
    fn reset(&mut self, nodes: usize) {
        self.partials.clear();
        self.complete.clear();
        if self.nodes.len() < nodes {
            self.nodes.resize_with(nodes, Node::default);
        }
        for node in &mut self.nodes[..nodes] {
            node.kept.clear();
            (node.worst, node.best, node.opened) = (S::FORBIDDEN, S::FORBIDDEN, 0);
        }
    }

    /// Adds a partial path to a node if it is among the `k` best there; earlier ones win a tie.
    fn add(&mut self, node: usize, k: usize, g: S, label: usize, before: u32) -> Result<Option<u32>> {
        let node = &mut self.nodes[node];
        // No better than k others: any completion of it also completes those.
        if g <= node.worst {
            return Ok(None);
        }
        let item = self.partials.len() as u32;
        node.kept.push(Reverse(ByScore { score: g, item: Reverse(item) }));
        if node.kept.len() > k
            && let Some(Reverse(ByScore { item: Reverse(worst), .. })) = node.kept.pop()
        {
            self.partials[worst as usize].dropped = true;
        }
        if node.kept.len() == k {
            node.worst = node.kept.peek().map_or(S::FORBIDDEN, |worst| worst.0.score);
        }
        node.best = node.best.larger(g);
        if item == NONE {
            let reason = format!("the {k} best paths need more than {NONE} partial paths");
            return Err(Error::Unsupported { decoder: "astar", reason });
        }
        self.partials.push(Partial { g, label: label as LabelId, before, dropped: false });
        Ok(Some(item))
    }

    /// Records a complete path if it is among the `k` best.
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
    while let Some(Waiting { score: f, item: (t, Reverse(item)) }) = heap.pop() {
        // f bounds every completion: all those still waiting are strictly worse than k complete paths.
        if f < search.threshold() {
            break;
        }
        let partial = search.paths.partials[item as usize];
        if partial.dropped {
            continue; // k partial paths no worse reach the node
        }
        let node = &mut search.paths.nodes[t as usize * labels + partial.label as usize];
        if node.opened == k {
            improved_late = true;
            continue;
        }
        node.opened += 1;
        search.open(t as usize, item, tally, |waiting| heap.push(waiting))?;
    }
    if improved_late {
        search.sweep(tally)?;
    }
    // The tie rule of the best path considers all equally good ones, not only the k that were kept.
    let column = |t: usize| (0..).zip(paths.nodes[t * labels..(t + 1) * labels].iter().map(|node| node.best));
    push_best(lattice, edges, column, out)?;
    for i in 0..paths.complete.len() {
        let (score, mut at) = paths.complete[i];
        paths.path.resize(last + 1, 0);
        for t in (0..=last).rev() {
            let partial = paths.partials[at as usize];
            paths.path[t] = partial.label;
            at = partial.before;
        }
        // If the best path was not kept, then k others score the same, and the last of them is dropped.
        if paths.path != out.best().labels && out.paths.len() < k {
            out.push_path(last + 1, score).copy_from_slice(&paths.path);
        }
    }
    astar::report_ends(lattice, column, out, tally);
    Ok(())
}

/// The search of one sequence.
struct Search<'a, 'l, S: Float, E> {
    lattice: &'a Lattice<'l, S>,
    edges: &'a E,
    estimates: &'a Estimates<S>,
    places: &'a [u32],
    k: usize,
    slack: S,
    floor: S, // k paths are known to score no less, though they are not stored
    paths: &'a mut Memory<S>,
    row: &'a mut Vec<S>,
}

impl<S: Float, E: GatherEdges<S>> Search<'_, '_, S, E> {
    /// Anything below this is strictly worse than k complete paths.
    #[inline]
    fn threshold(&self) -> S {
        self.paths.kth(self.k).larger(self.floor) - self.slack
    }

    /// Adds a partial path to its node; if it is new there and not complete, it waits to be opened.
    #[inline]
    fn reach(&mut self, t: usize, y: usize, g: S, before: u32, wait: impl FnOnce(Waiting<S>)) -> Result<()> {
        let (labels, last) = (self.lattice.labels(), self.lattice.positions() - 1);
        let f = g + self.estimates.at(t, self.places[y]);
        // f bounds every completion: anything below k complete paths by more than the slack need not be kept.
        if f.is_forbidden() || f < self.threshold() {
            return Ok(());
        }
        let Some(item) = self.paths.add(t * labels + y, self.k, g, y, before)? else { return Ok(()) };
        if t == last {
            self.paths.finish(self.k, self.lattice.with_end_score(g, y), item);
        } else {
            wait(Waiting { score: f, item: (t as u32, Reverse(item)) });
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
        let Partial { g, label, .. } = self.paths.partials[item as usize];
        tally.opened(t, label);
        tally.edges(labels);
        let mut buffer = std::mem::take(self.row);
        let row = &self.edges.row(t + 1, label as usize, &mut buffer)[..labels];
        for (y, &w) in row.iter().enumerate() {
            self.reach(t + 1, y, (g + w) + self.lattice.node_row(t + 1)[y], item, &mut wait)?;
        }
        *self.row = buffer;
        Ok(())
    }

    /// Finds all partial paths again, position by position: those of a position are final when the next one begins.
    fn sweep(&mut self, tally: &mut impl Tally) -> Result<()> {
        self.floor = self.paths.kth(self.k);
        let (labels, last) = (self.lattice.labels(), self.lattice.positions() - 1);
        self.paths.reset((last + 1) * labels);
        tally.round();
        self.start(|_| ())?;
        let mut column = std::mem::take(&mut self.paths.column);
        for t in 0..last {
            column.clear();
            let nodes = &self.paths.nodes[t * labels..(t + 1) * labels];
            column.extend(nodes.iter().flat_map(|node| node.kept.iter().map(|kept| kept.0.item.0)));
            for &item in &column {
                let Partial { g, label, .. } = self.paths.partials[item as usize];
                let f = g + self.estimates.at(t, self.places[label as usize]);
                // The bound of `reach`, with a threshold that may have risen since.
                if f >= self.threshold() {
                    self.open(t, item, tally, |_| ())?;
                }
            }
        }
        self.paths.column = column;
        Ok(())
    }
}
