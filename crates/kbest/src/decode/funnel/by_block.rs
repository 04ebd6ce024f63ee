//! The same look at a position as in [`super::passes`], block by block: reads every node score once, and edges only into the few
//! blocks of labels that matter.
//!
//! ```text
//! value[b]  = max over the labels p opened before of  alpha[p] + the largest edge from p into the block
//! bound[b]  = max(value[b], floor before) + the largest node score of the block
//! matters   = all b with  bound[b] + the largest way out of the block >= floor
//! rest      = max over all others of  bound[b]
//! ```
//!
//! Every bound is a sum in the judge's order of numbers not below those of the block's labels, so rounding never hides a label.
//! The first floor is what the best label of the most promising block is sure to reach. **Cost.** One scan of the node scores, a
//! few operations on bounds by block, and one pass per block that matters; with the edges of trained models two to six of thirty do.
//! **When not.** Few blocks, many opened labels before, rows that are not stored, the first position, or, for the first floor, labels that
//! lead nowhere: see [`super::passes`].

use super::budget::{LABEL_COST, LOOK_COST, PASS_COST, ROW_COST, Stop};
use super::passes::{Found, Source, as_slice, border, ways_out_to};
use super::search::{Goal, Memory, Search};
use crate::decode::Tally;
use crate::kernel::{ByBlock, Float, LANES, Origin, Targets, padded};
use crate::lattice::{Blocks, EdgeScores, LEAST_BY_LABEL};

/// With more opened labels before, all blocks are looked at.
const MOST_ORIGINS: usize = 12;

/// Whether positions of so many labels are looked at block by block, where edges allow that. With fewer, reading all of them takes less
/// time than choosing. (Measured with real lattices of 12 and 21 blocks whose edges were not in the nearest caches.)
pub(super) fn looks_by_block(labels: usize) -> bool {
    Blocks::of(labels).count >= LEAST_BY_LABEL
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// As [`Search::look`]; nothing if that has to look at all labels.
    pub(super) fn look_by_block(
        &mut self,
        t: usize,
        goal: Goal,
        floor: Option<S>,
    ) -> Result<Option<Found<S>>, Stop> {
        let (lattice, edges, labels) = (self.lattice, self.edges, self.lattice.labels());
        if t == 0 || !looks_by_block(labels) {
            return Ok(None);
        }
        let (blocks, gain) = (Blocks::of(labels), self.sure_way_out(t));
        if floor.is_none() && gain.is_none() {
            return Ok(None);
        }
        let Memory { layers, values, gathered, way_out_buffer, selected, block_ways_out, .. } =
            &mut *self.memory;
        let opened = layers.layer(t - 1).opened as usize;
        if opened > MOST_ORIGINS {
            return Ok(None);
        }
        let mut origins = [Origin::none(); MOST_ORIGINS];
        let mut source = Source::Gathered;
        for (origin, (index, entry)) in origins.iter_mut().zip(layers.opened(t - 1)) {
            let Some(edges) = edges.row_in_blocks(t, entry.label as usize) else { return Ok(None) };
            *origin = Origin { score: entry.alpha, row: edges.row, bounds: edges.bounds };
            if opened == 1 {
                source = Source::Only(index);
            }
        }
        let node = lattice.node_row(t);
        let way_out = ways_out_to(goal, lattice, edges, t, way_out_buffer);
        let block_way_out = match (goal, t + 1 == lattice.positions()) {
            (Goal::Any, false) => {
                as_slice(edges.bounds(t + 1).row_blocks, block_ways_out, padded(blocks.count))
            }
            (Goal::Any, true) if lattice.end().is_none() => {
                as_slice(border(None), block_ways_out, padded(blocks.count))
            }
            _ => {
                S::block_maxima(&mut block_ways_out[..blocks.count], way_out, blocks.width);
                &block_ways_out[..padded(blocks.count)]
            }
        };
        let targets = Targets { node, way_out, block_way_out, width: blocks.width };
        let floor_before = layers.floor_before(t);
        selected.clear();
        let origins = &origins[..opened];
        let gain = gain.unwrap_or(S::ZERO);
        let values = &mut values[t % 2];
        gathered[t % 2] = None; // the values of selected labels alone are written
        let found = S::select_by_block(origins, floor_before, targets, floor, gain, values, selected);
        let ByBlock { floor: reached, rest, read } = found;
        self.tally.edges(read * opened);
        let passes = PASS_COST * (labels + read).div_ceil(LANES) + ROW_COST * (read * opened).div_ceil(LANES);
        let selected = LABEL_COST * self.memory.selected.len();
        self.spend(LOOK_COST + passes + selected)?;
        // Where the block that promises most holds nothing, all labels must be looked at.
        Ok((floor.is_some() || !reached.is_forbidden()).then_some(Found { floor: reached, rest, source }))
    }
}
