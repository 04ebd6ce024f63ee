//! The same look at a position as in [`super::passes`], block by block: reads every node score once, and edges only into the few
//! blocks of labels that matter.
//!
//! ```text
//! value[b]  = max over the labels p opened before of  alpha[p] + the largest edge from p into the block
//! bound[b]  = max(value[b], floor before)
//! matters   = all b with  bound[b] + the largest node + way out of a label of the block >= floor
//! read      = for each of these, all p whose part of value[b] is the largest, or leads to as much, too
//! rest      = max over all others (b, or p in b) of  bound[b], or the part of p,  + the largest node score of the block
//! ```
//!
//! The sums that decide which blocks matter are not added in the judge's order, so they are compared with a slack ([`slack_of`]); labels are then
//! selected from these blocks by sums that are. The value of a selected label may lack a way in from a label `p` that was not read there. That
//! way misses the floor, and the rest bounds it.
//! The first floor is what the best label of the most promising block is sure to reach. **Cost.** One scan of the node scores and of the
//! ways out, which stay in the nearest cache, a few operations on bounds by block, and one pass per block that matters; with the edges of trained models two to six of thirty do.
//! **When not.** Few blocks, many opened labels before, rows that are not stored, or, for the first floor, labels that
//! lead nowhere: see [`super::passes`].

use super::budget::{LABEL_COST, LOOK_COST, PASS_COST, ROW_COST, Stop};
use super::passes::{Found, Source, ways_out_to};
use super::search::{Goal, Memory, Search};
use crate::decode::Tally;
use crate::lattice::{Blocks, EdgeScores, LEAST_BY_LABEL, Lattice};
use crate::simd::{ByBlock, Float, LANES, MOST_BLOCKS, MOST_ORIGINS, Origin, Targets, padded};

/// Usually no more labels are opened before than the first number, and hardly ever more than the second: writing places for all that may
/// be would take longer than the rest of the preparation.
const FEW_ORIGINS: usize = 3;
const SOME_ORIGINS: usize = 24;

/// Finding out whether one of several origins can lead to enough in a block.
const CHOICE_COST: usize = 1;

/// Whether positions of so many labels are looked at block by block, where edges allow that. With fewer, reading all of them takes less
/// time than choosing. (Measured with lattices of taggers: five blocks were slower by a tenth, seven as fast, twelve faster by a tenth.)
pub(super) fn looks_by_block(labels: usize) -> bool {
    Blocks::of(labels).count >= LEAST_BY_LABEL
}

/// How far two sums of a value, a node score and a way out may lie apart when they are added in another order.
///
/// Each order adds twice, and each addition is off by at most `u` times its result, where `u` is the unit roundoff. No result is larger
/// than what the magnitudes of a path add up to, with an edge or two more for bounds. So four times `u` would do; eight times covers
/// scores that are off themselves after millions of positions.
pub(super) fn slack_of<S: Float>(lattice: &Lattice<'_, S>) -> S {
    let magnitude = lattice.path_magnitude() + 2.0 * lattice.edges().magnitude();
    S::from_f64_up(8.0 * S::UNIT_ROUNDOFF * magnitude)
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// Whether the position after `t` is looked at block by block, if so many labels are about to be opened at `t`.
    pub(super) fn reads_by_block_after(&self, t: usize, fresh: usize) -> bool {
        let opened = self.memory.layers.layer(t).opened as usize + fresh;
        if self.is_last(t) {
            return true; // nothing is looked at
        }
        let Some(first) = self.memory.fresh.first() else { return true };
        opened <= MOST_ORIGINS
            && looks_by_block(self.lattice.labels())
            && self.sure_way_out(t + 1).is_some()
            && self.edges.row_in_blocks(t + 1, first.label as usize).is_some()
    }

    /// As [`Search::look`]; nothing if that has to look at all labels.
    pub(super) fn look_by_block(
        &mut self,
        t: usize,
        goal: Goal,
        floor: Option<S>,
    ) -> Result<Option<Found<S>>, Stop> {
        let (lattice, edges, labels) = (self.lattice, self.edges, self.lattice.labels());
        // Nothing but the sums of their caller bounds edges that are computed.
        if !looks_by_block(labels) || (t == 0 && !self.is_last(0) && self.computes_edges(1)) {
            return Ok(None);
        }
        let (blocks, gain) = (Blocks::of(labels), self.sure_way_out(t));
        if floor.is_none() && gain.is_none() {
            return Ok(None);
        }
        let Memory { layers, values, gathered, way_out_buffer, selected, block_slack, zeros, .. } =
            &mut *self.memory;
        let opened = if t > 0 { layers.layer(t - 1).opened as usize } else { 1 };
        let (mut few, mut some, mut many, mut start_bounds);
        let origins = if opened <= FEW_ORIGINS {
            few = [Origin::none(); FEW_ORIGINS];
            &mut few[..opened]
        } else if opened <= SOME_ORIGINS {
            some = [Origin::none(); SOME_ORIGINS];
            &mut some[..opened]
        } else if opened <= MOST_ORIGINS {
            many = [Origin::none(); MOST_ORIGINS];
            &mut many[..opened]
        } else {
            return Ok(None);
        };
        let mut source = Source::Gathered;
        if t == 0 {
            let row = lattice.start().unwrap_or(&zeros[..labels]);
            start_bounds = [S::FORBIDDEN; MOST_BLOCKS];
            S::block_maxima(&mut start_bounds[..blocks.count], row, blocks.width);
            origins[0] = Origin { score: S::ZERO, row, bounds: &start_bounds[..padded(blocks.count)] };
            source = Source::Start;
        } else {
            for (origin, (index, entry)) in origins.iter_mut().zip(layers.opened(t - 1)) {
                let Some(edges) = edges.row_in_blocks(t, entry.label as usize) else { return Ok(None) };
                *origin = Origin { score: entry.alpha, row: edges.row, bounds: edges.bounds };
                if opened == 1 {
                    source = Source::Only(index);
                }
            }
        }
        let node = lattice.node_row(t);
        let way_out = ways_out_to(goal, lattice, edges, t, zeros, way_out_buffer);
        let targets = Targets { node, way_out, slack: *block_slack, width: blocks.width };
        let floor_before = layers.floor_before(t);
        selected.clear();
        let gain = gain.unwrap_or(S::ZERO);
        let values = &mut values[t % 2];
        gathered[t % 2] = None; // the values of selected labels alone are written
        let found = S::select_by_block(origins, floor_before, targets, floor, gain, values, selected);
        let ByBlock { floor: reached, rest, read, edges } = found;
        if t > 0 {
            self.tally.edges(edges);
        }
        let passes = PASS_COST * (labels + read).div_ceil(LANES) + ROW_COST * edges.div_ceil(LANES);
        let choices = if opened > 1 { CHOICE_COST * opened * (1 + read / blocks.width) } else { 0 };
        let selected = LABEL_COST * self.memory.selected.len();
        self.spend(LOOK_COST + passes + choices + selected)?;
        // Where the block that promises most holds nothing, all labels must be looked at.
        Ok((floor.is_some() || !reached.is_forbidden()).then_some(Found { floor: reached, rest, source }))
    }
}
