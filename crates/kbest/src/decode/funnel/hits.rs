//! Labels that are not opened but may be on a good path, found by one vector pass a position.
//!
//! A *hit* may be the best path's label of its position changed: with the best way into it, and the best path's own label
//! after it. The pass finds every label that a path within some limit has before a label of the best path, so the walk
//! backwards ([`super::keep`]) need not look for it again.
//!
//! **Cost.** A pass over the labels at each position where any label may be within the limit, and a few words a hit. **When
//! not.** With an infinite limit, where so few labels are legal that every path is wanted, all legal labels are hits.

use super::hit_loops::{FindWanted, Hit, Labels, MakeHits, SEVERAL, UNKNOWN};
use super::layers::{Entry, NONE};
use super::margin::Losses;
use super::search::{
    EDGE_COST, Goal, Job, Memory, PASS_COST, Search, Source, Stop, as_slice, border, largest_ways_out,
};
use crate::decode::Tally;
use crate::kernel::{self, Float, LANES};
use crate::lattice::EdgeScores;
use std::ops::Range;

/// Labels looked at first in a pass.
const FIRST_PART: usize = 320;

/// The hits of one position.
#[derive(Debug, Clone)]
struct HitsAt<S> {
    hits: Range<usize>,
    /// How many labels were open.
    opened: u32,
    /// No label that is neither opened nor a hit has a larger score.
    rest: S,
    /// The largest value.
    most: S,
    /// How many labels of the best path are changed with each of them, at most.
    length: usize,
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

    /// Whether no label at position `t` that is not opened has a value of at least `limit`, that of a path losing `slack`:
    /// no pass was made, or, if only this value matters (`alone`), none of the hits has it.
    pub(super) fn have_none(&self, t: usize, slack: S, limit: S, alone: bool) -> bool {
        let none_at = |at: &HitsAt<S>| at.hits.is_empty() || (alone && at.most < limit);
        self.within >= slack && none_at(&self.at[t])
    }

    /// Drops those behind the first `old` that cannot be had, and returns the largest of their scores and this one.
    fn drop_forbidden(&mut self, old: usize, mut rest: S) -> S {
        let mut kept = old;
        for i in old..self.all.len() {
            let hit = self.all[i];
            if hit.value.is_forbidden() {
                rest = rest.larger(hit.score);
            } else {
                self.all[kept] = hit;
                kept += 1;
            }
        }
        self.all.truncate(kept);
        rest
    }

    /// The hits of a position, and how many labels of the best path are changed with each of them, at most.
    #[inline(always)]
    pub(super) fn at(&self, t: usize) -> (&[Hit<S>], usize) {
        let at = &self.at[t];
        (&self.all[at.hits.clone()], at.length)
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
        hits.at.resize(
            best.len(),
            HitsAt { hits: 0..0, opened: 0, rest: S::FORBIDDEN, most: S::FORBIDDEN, length: 0 },
        );
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
        let Memory { layers, values, buffer, ways_out: spread, found, open_at, .. } = &mut *self.memory;
        let ways_out = match goal {
            Goal::Label(y) => &self.edges.column(t + 1, y as usize, spread)[..node.len()],
            Goal::Any => as_slice(border(self.lattice.end()), spread, node.len()),
        };
        let (add, row) = Self::bounds_of(self.lattice, self.edges, layers, values, buffer, t, source);
        let known = match source {
            Source::Start => NONE,
            Source::Only(index) => index,
            Source::Gathered => SEVERAL,
            Source::Bounded => UNKNOWN,
        };
        layers.mark(t, open_at);
        let (mut rest, mut most) = (S::FORBIDDEN, S::FORBIDDEN);
        let (mut part, mut looked) = (0..node.len().min(FIRST_PART), 0);
        while !part.is_empty() {
            let limit = losses.limit + slack + slack;
            found.clear();
            let [row, node, ways_out] = [row, node, ways_out].map(|whole| &whole[part.clone()]);
            let open_at = &open_at[part.clone()];
            rest = rest.larger(S::select_reaching(add, row, least, node, ways_out, value - limit, found));
            looked += found.len();
            let old = hits.all.len();
            let labels = Labels { row, node, ways_out, open_at };
            let making = MakeHits {
                found,
                first: part.start as u32,
                t: t as u32,
                add,
                least,
                labels,
                value,
                known,
                hits: &mut hits.all,
            };
            most = most.larger(kernel::run(making));
            let new = &mut hits.all[old..];
            if source == Source::Bounded {
                let before = layers.entry(best[t - 1]);
                for hit in &mut *new {
                    let y = hit.label as usize;
                    let edge = self.edges.get(t, before.label as usize, y);
                    let over_best = before.alpha + edge + node[y - part.start] + ways_out[y - part.start];
                    hit.loss =
                        if hit.score.is_forbidden() { hit.loss } else { (value - over_best).larger(S::ZERO) };
                }
            }
            if !limit.is_legal() {
                rest = hits.drop_forbidden(old, rest); // all labels were found
            }
            losses.tighten(&hits.all);
            part = part.end..self.lattice.labels().min(3 * part.end);
        }
        let opened = layers.layer(t).opened;
        // Where only one label is opened before, it is the best path's; with bounds alone that one was taken.
        let length = if source == Source::Gathered { 1 + losses.lengths[t - 1] } else { 1 };
        hits.at[t] = HitsAt { hits: first..hits.all.len(), opened, rest, most, length };
        self.spend(2 * PASS_COST * node.len().div_ceil(LANES) + looked)
    }

    /// Opens the labels of position `t` that lead to a value of at least `limit` at the best path's next label, or at the
    /// end. They are among the hits.
    pub(super) fn open_hits(&mut self, t: usize, goal: Goal, limit: S) -> Result<(), Stop> {
        let job = Job { t, goal, floor: limit };
        loop {
            let rest = self.gather_wanted(t, limit)?;
            if self.memory.found.is_empty() {
                self.commit(job, rest);
                return Ok(());
            }
            if self.open_found(job, rest)? {
                return Ok(());
            }
            self.work_off()?; // what they have to wait for
        }
    }

    /// Gathers the hits of position `t` with a value of at least `limit`: those whose way in is known are fresh labels, the
    /// others are found. Returns a bound on the scores of all other labels.
    fn gather_wanted(&mut self, t: usize, limit: S) -> Result<S, Stop> {
        let ways_out = largest_ways_out(self.lattice, self.edges, t);
        let Memory { hits, found, .. } = &mut *self.memory;
        let HitsAt { hits: range, opened, rest, .. } = hits.at[t].clone();
        let first = range.start as u32;
        let rest = kernel::run(FindWanted { hits: &hits.all[range], first, limit, rest, found });
        let (mut unknown, mut looked) = (0, 0);
        for i in 0..self.memory.found.len() {
            let Hit { label, back, score, .. } = self.memory.hits.all[self.memory.found[i] as usize];
            let back = match back {
                UNKNOWN => {
                    self.memory.found[unknown] = label;
                    unknown += 1;
                    continue;
                }
                SEVERAL => self.best_way_in(t, label as usize, &mut looked).1,
                back => back,
            };
            let reach = score + ways_out.at(label as usize);
            self.memory.fresh.push(Entry { label, back, alpha: score, reach });
        }
        self.tally.edges(looked);
        self.spend(EDGE_COST * looked)?;
        self.memory.found.truncate(unknown);
        if self.memory.layers.layer(t).opened > opened {
            self.drop_opened(t);
        }
        Ok(rest)
    }
}
