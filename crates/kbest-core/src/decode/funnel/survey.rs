//! A look at a few positions ahead of the search: how many labels would be opened there, and what that would cost.
//!
//! **What.** At each position looked at, the label with the best node score at the position before stands for the labels
//! opened there. One pass then finds the labels that may reach the floor, just as [`super::passes`] does:
//!
//! ```text
//! value[y] = edge(likely label before, y) + node[y]
//! floor    = max over y of value[y],  plus what a label usually gains on the way out
//! may      = number of labels y with  max(value[y], least edge + node[y]) + way_out[y] >= floor
//! blocked  = number of those that the likely label cannot lead to
//! ways out = share of all labels that it can lead to, the least of all positions at which some are blocked
//! ```
//!
//! **Why.** On lattices of forty families and 40 to 1,500 labels, `may` is close to the number of labels opened per
//! position, and the time of the search follows from it: labels that may reach the floor are compared with those before
//! them, and blocked labels send the search back to earlier positions, again and again. So it is known for one pass per
//! position looked at whether the search is worth going on with. Only a guess: nothing is pruned by it.
//!
//! Beside it, the [alternative](super::alternative) tells how many rows of edges it would have to read there.
//!
//! **Cost.** About eight scans of `L` scores per position looked at.

use super::alternative::{Alternative, rows_before};
use super::by_block::looks_by_block;
use super::passes::{as_slice, largest_ways_out};
use super::search::Memory;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::{Float, LANES, argmax};

/// What a look at some positions suggests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Survey {
    /// Positions looked at.
    pub(super) looked: usize,
    /// Rows that may matter to the alternative, per position.
    pub(super) rows: usize,
    /// The likely cost of the search per position, in the unit of [`super::Budget`].
    pub(super) cost: usize,
}

impl Survey {
    /// The same without a look, from one position at which so many labels may reach the floor.
    pub(super) fn of_one(labels: usize, may: usize) -> Self {
        Survey { looked: 0, rows: may, cost: likely_cost(labels, may as f64, 0.0, 1.0) }
    }
}

/// The cost of looking at one position, in the same unit.
pub(crate) fn cost_of_look(labels: usize) -> usize {
    150 + 16 * labels.div_ceil(LANES)
}

/// Looks at up to `count` positions, spread evenly over those from `first` on; not at position 0, and at the last one only
/// if there is no other.
pub(super) fn survey<S: Float, E: EdgeScores<S>>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    first: usize,
    count: usize,
    alternative: &Alternative,
    memory: &mut Memory<S>,
) -> Survey {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let first = first.max(1);
    let range = match positions.saturating_sub(first) {
        0 => 0,
        all => (all - 1).max(1),
    };
    let looked = count.min(range);
    let (mut may, mut blocked, mut rows, mut least_open) = (0, 0, 0, labels);
    let Memory { edge_buffer, way_out_buffer, likely_scores, seen, .. } = memory; // what the search is at must stay as it is
    for i in 0..looked {
        let t = first + (2 * i + 1) * range / (2 * looked);
        let Some((likely, _)) = argmax(lattice.node_row(t - 1)) else { continue };
        let row = &edges.row(t, likely, edge_buffer)[..labels];
        let (node_scores, least) = (lattice.node_row(t), edges.bounds(t).least_way_out());
        let way_out = if t + 1 < positions { edges.bounds(t + 1).least_way_out() } else { S::ZERO };
        let floor = S::largest_value(S::ZERO, row, node_scores) + way_out;
        let ways_out = as_slice(largest_ways_out(lattice, edges, t), way_out_buffer, labels);
        seen.clear();
        S::select_reaching(S::ZERO, row, least, node_scores, ways_out, floor, seen);
        may += seen.len();
        let blocked_here = seen.iter().filter(|&&y| row[y as usize].is_forbidden()).count();
        blocked += blocked_here;
        if blocked_here > 0 {
            least_open = least_open.min(row.iter().filter(|score| !score.is_forbidden()).count());
        }
        if t + 1 < positions && alternative.per_row > 0 {
            likely_scores.resize_for_overwrite(labels);
            likely_scores.copy_from_slice(row);
            S::add_row(likely_scores, node_scores);
            rows += rows_before(lattice, t + 1, likely_scores, i, seen, way_out_buffer);
        }
    }
    let each = |sum: usize| sum as f64 / looked.max(1) as f64;
    let ways_out = least_open as f64 / labels as f64;
    let cost = likely_cost(labels, each(may), each(blocked), ways_out);
    Survey { looked, rows: rows / looked.max(1), cost }
}

/// With up to so many labels that may reach the floor, looking at them is nearly all that a position costs; with more, positions before it are
/// opened again and again.
const FEW: f64 = 10.0;

/// The cost of a position if so many labels of each may reach the floor, so many of them blocked, and labels lead to this share of all others
/// (measured, roughly: for up to ten labels within a fifth).
fn likely_cost(labels: usize, may: f64, blocked: f64, ways_out: f64) -> usize {
    let (vectors, all) = (labels.div_ceil(LANES) as f64, labels as f64);
    let passes = if looks_by_block(labels) { 145.0 + vectors } else { 45.0 + 4.0 * vectors };
    let selected = may * (45.0 + vectors / 2.0);
    // With very many labels, the best of those before them soon settle the matter.
    let comparisons = may * (10.0 * (may - FEW).max(0.0)).min(125.0 + 1.5 * all);
    // Where labels lead to few others, going back mostly opens labels that do not help.
    let in_vain = (0.25 / ways_out.max(0.5 / all).powi(2)).max(1.0);
    let sent_back = blocked * (blocked + 1.0) / 2.0 * (40.0 + all / 3.0) * in_vain;
    (passes + selected + comparisons + sent_back) as usize
}
