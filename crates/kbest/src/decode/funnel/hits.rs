//! Labels that are not opened but may be on a good path, found by one vector pass a position.
//!
//! A *hit* may be the best path's label of its position changed: with the best way into it, and the best path's own label
//! after it. The pass finds every label that a path within some limit has before a label of the best path, so the walk
//! backwards ([`super::keep`]) need not look for it again.
//!
//! **Cost.** A pass over the labels at each position where any label may be within the limit, and a few words a hit. **When
//! not.** With an infinite limit, where so few labels are legal that every path is wanted, all legal labels are hits.

use super::layers::{Entry, NONE};
use super::margin::Losses;
use super::search::{Goal, Job, Memory, PASS_COST, Search, Source, Stop, as_slice, border, largest_ways_out};
use crate::decode::Tally;
use crate::kernel::{Float, LANES};
use crate::lattice::EdgeScores;
use std::ops::Range;

/// Labels looked at first in a pass.
const FIRST_PART: usize = 320;

/// A label that may be wanted before the best path's label of the next position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<S> {
    label: u32,
    /// Its best way in, if that was known at once, else [`NONE`].
    back: u32,
    /// Its forward score, or, if the way in is not known, an upper bound.
    score: S,
    /// The same with the edge to the best path's next label.
    value: S,
    /// What the best path loses if it is changed to this label, over labels opened; infinity if it cannot be.
    pub(super) loss: S,
}

/// The hits of one position.
#[derive(Debug, Clone)]
struct HitsAt<S> {
    hits: Range<usize>,
    /// No label that is neither opened nor a hit has a larger score.
    rest: S,
    /// Whether the best path comes to each of them by its own label before.
    on_best: bool,
}

/// The hits of all positions.
#[derive(Debug, Default)]
pub(super) struct Hits<S> {
    all: Vec<Hit<S>>,
    at: Vec<HitsAt<S>>, // none: no pass was made
    /// No label is missing that a path losing no more than this needs.
    pub(super) within: S,
}

impl<S: Float> Hits<S> {
    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.at.clear();
        self.within = S::FORBIDDEN;
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Hit<S>] {
        &self.all
    }

    /// The hits of a position, and whether the best path comes to each of them by its own label before.
    pub(super) fn at(&self, t: usize) -> (&[Hit<S>], bool) {
        let at = &self.at[t];
        (&self.all[at.hits.clone()], at.on_best)
    }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// Finds the hits of all positions, in this order, and what is lost over them.
    pub(super) fn hit_all(
        &mut self,
        order: impl Iterator<Item = usize>,
        slack: S,
        best: &[u32],
        hits: &mut Hits<S>,
        losses: &mut Losses<S>,
    ) -> Result<(), Stop> {
        hits.clear();
        hits.at.resize(best.len(), HitsAt { hits: 0..0, rest: S::FORBIDDEN, on_best: false });
        for t in order {
            self.hit(t, slack, best, hits, losses)?;
        }
        Ok(())
    }

    /// Finds the hits of a position: labels not opened over which a path may lose no more than the limit, and what two
    /// roundings may hide (`slack` is for one). It looks at some labels, then at more: where very many are close, the first
    /// of them let the limit fall.
    fn hit(
        &mut self,
        t: usize,
        slack: S,
        best: &[u32],
        hits: &mut Hits<S>,
        losses: &mut Losses<S>,
    ) -> Result<(), Stop> {
        let (value, goal) = self.best_value(t, best);
        if !self.may_be_wanted(t, goal, value - (losses.limit + slack + slack)) {
            hits.at[t].rest = self.memory.layers.layer(t).rest;
            return Ok(());
        }
        let first = hits.all.len();
        let source = self.prepare(t)?;
        let node = self.lattice.node_row(t);
        let least = if t == 0 { S::FORBIDDEN } else { self.memory.layers.layer(t - 1).floor };
        let Memory { layers, values, buffer, ways_out: spread, found, is_open, .. } = &mut *self.memory;
        let ways_out = match goal {
            Goal::Label(y) => &self.edges.column(t + 1, y as usize, spread)[..node.len()],
            Goal::Any => as_slice(border(self.lattice.end()), spread, node.len()),
        };
        let (add, row) = Self::bounds_of(self.lattice, self.edges, layers, values, buffer, t, source);
        let only = if let Source::Only(index) = source { index } else { NONE };
        layers.mark(t, is_open, true);
        let (mut rest, mut part, mut looked) = (S::FORBIDDEN, 0..node.len().min(FIRST_PART), 0);
        while !part.is_empty() {
            let limit = losses.limit + slack + slack;
            found.clear();
            let [part_row, part_node, part_out] = [row, node, ways_out].map(|whole| &whole[part.clone()]);
            let others = S::select_reaching(add, part_row, least, part_node, part_out, value - limit, found);
            rest = rest.larger(others);
            looked += found.len();
            for y in found.iter().map(|&i| part.start + i as usize).filter(|&y| !is_open[y]) {
                let bound = add + row[y];
                let over_opened = match source {
                    Source::Bounded => {
                        let before = layers.entry(best[t - 1]);
                        before.alpha + self.edges.get(t, before.label as usize, y)
                    }
                    _ => bound,
                };
                let score = bound.larger(least) + node[y];
                if (score + ways_out[y]).is_forbidden() {
                    rest = rest.larger(score);
                    continue; // found only because the limit is infinite
                }
                let loss = (value - (over_opened + node[y] + ways_out[y])).larger(S::ZERO);
                // Labels not opened lead to values below the floor of their layer.
                let back = if bound >= least { only } else { NONE };
                hits.all.push(Hit { label: y as u32, back, score, value: score + ways_out[y], loss });
            }
            losses.tighten(&hits.all);
            part = part.end..node.len().min(3 * part.end);
        }
        layers.mark(t, is_open, false);
        // Where only one label is opened before, it is the best path's; with bounds alone that one was taken.
        hits.at[t] = HitsAt { hits: first..hits.all.len(), rest, on_best: source != Source::Gathered };
        self.spend(2 * PASS_COST * node.len().div_ceil(LANES) + looked)
    }

    /// Opens the labels of position `t` that lead to a value of at least `limit` at the best path's next label, or at the
    /// end. They are among the hits.
    pub(super) fn open_hits(&mut self, t: usize, goal: Goal, limit: S) -> Result<(), Stop> {
        let ways_out = largest_ways_out(self.lattice, self.edges, t);
        let Memory { layers, hits, found, fresh, is_open, .. } = &mut *self.memory;
        let HitsAt { hits: range, mut rest, .. } = hits.at[t].clone();
        found.clear();
        layers.mark(t, is_open, true);
        for &Hit { label, back, score, value, .. } in &hits.all[range] {
            if is_open[label as usize] {
                continue;
            }
            if value < limit {
                rest = rest.larger(score);
            } else if back == NONE {
                found.push(label);
            } else {
                fresh.push(Entry { label, back, alpha: score, reach: score + ways_out.at(label as usize) });
            }
        }
        layers.mark(t, is_open, false);
        let job = Job { t, goal, floor: limit };
        self.memory.jobs.push(job);
        self.open_found(job, rest)?;
        self.work_off()
    }
}
