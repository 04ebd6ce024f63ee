//! Labels that are not opened but may be on a good path, found by one vector pass per position.
//!
//! A *hit* may replace the best path's label at its position: with the best way into it, and the best path's own label
//! after it. The pass finds every label that a path within some limit has before a label of the best path, so the walk
//! backwards ([`super::keep`]) need not search for it again.
//!
//! **Cost.** One pass over the labels at each position where any label may be within the limit, and a few words per
//! hit. **When not.** With an infinite limit, when so few labels are legal that every path is wanted: then all legal
//! labels are hits.

use super::hit_loops::{FindWanted, Hit, Labels, MakeHits, UNKNOWN};
use super::losses::Losses;
use crate::decode::Tally;
use crate::decode::funnel::budget::{EDGE_COST, PASS_COST, Stop};
use crate::decode::funnel::layers::{Entry, LATER, NONE};
use crate::decode::funnel::passes::{Source, largest_ways_out, ways_out_to};
use crate::decode::funnel::search::{Goal, Job, Memory, Search};
use crate::lattice::EdgeScores;
use crate::simd::{self, Float, LANES};
use std::ops::Range;

/// Number of labels looked at first in a pass.
const FIRST_PART: usize = 320;

/// The hits of one position.
#[derive(Debug, Clone)]
struct HitsAt<S> {
    /// Their indices; empty if no pass was made.
    hits: Range<usize>,
    /// How many labels were open at that time.
    opened: u32,
    /// No label that is neither opened nor a hit has a larger score.
    rest: S,
    largest_value: S,
    /// The largest length of a change to any of them.
    length: usize,
}

/// The hits of all positions.
#[derive(Debug, Default)]
pub(super) struct Hits<S> {
    all: Vec<Hit<S>>,   // those of a position are consecutive
    at: Vec<HitsAt<S>>, // T
    /// Complete up to this loss: every label that a path losing no more has before a label of the best path is here.
    pub(super) cover: S,
    wanted: Vec<u32>, // indices of the hits that are about to be opened
}

impl<S: Float> Hits<S> {
    /// Removes all hits.
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.at.clear();
        self.cover = S::FORBIDDEN;
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Hit<S>] {
        &self.all
    }

    /// Whether no label at position `t` that is not opened has a value of at least `needed`, the value of a path that
    /// loses `allowance`: no pass was made, or, if only this value matters (`alone`), none of the hits has it.
    pub(super) fn have_none(&self, t: usize, allowance: S, needed: S, alone: bool) -> bool {
        let none_at = |at: &HitsAt<S>| at.hits.is_empty() || (alone && at.largest_value < needed);
        self.cover >= allowance && none_at(&self.at[t])
    }

    /// Drops forbidden hits after the first `old`, and returns the largest of `rest` and their scores.
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

    /// The hits of a position, and the largest length of a change to any of them.
    #[inline(always)]
    pub(super) fn at(&self, t: usize) -> (&[Hit<S>], usize) {
        let at = &self.at[t];
        (&self.all[at.hits.clone()], at.length)
    }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// Finds the hits of all positions, in this order, and their losses.
    pub(super) fn hit_all(
        &mut self,
        positions: impl Iterator<Item = usize>,
        slack: S,
        best_path: &[u32],
        hits: &mut Hits<S>,
        losses: &mut Losses<S>,
    ) -> Result<(), Stop> {
        hits.clear();
        let none =
            HitsAt { hits: 0..0, opened: 0, rest: S::FORBIDDEN, largest_value: S::FORBIDDEN, length: 0 };
        hits.at.resize(best_path.len(), none);
        for t in positions {
            self.hit(t, slack, best_path, hits, losses)?;
        }
        Ok(())
    }

    /// Finds the hits of a position: labels not opened over which a path may lose no more than the limit plus what two
    /// roundings may hide (`slack` covers one).
    ///
    /// ```text
    /// hits = all y with  (max(add + row[y], floor before) + node[y]) + way_out[y] >= best value - (limit + 2 slack)
    /// ```
    ///
    /// It looks at some labels, then at more: where very many are close, the first ones lower the limit.
    fn hit(
        &mut self,
        t: usize,
        slack: S,
        best_path: &[u32],
        hits: &mut Hits<S>,
        losses: &mut Losses<S>,
    ) -> Result<(), Stop> {
        let (best_value, goal) = self.best_value(t, best_path);
        if !self.may_be_wanted(t, goal, best_value - (losses.limit + slack + slack)) {
            hits.at[t].rest = self.memory.layers.layer(t).rest;
            return Ok(());
        }
        let first = hits.all.len();
        let source = self.prepare(t)?;
        let node_scores = self.lattice.node_row(t);
        let floor_before = self.memory.layers.floor_before(t);
        let Memory { layers, values, edge_buffer, way_out_buffer, selected, open_at, zeros, .. } =
            &mut *self.memory;
        let (bounds, after) = match goal {
            Goal::Label(y) => (self.edges.column_bounds(t + 1, y as usize), y as usize),
            Goal::Any => (None, 0),
        };
        let (ways_out, mut exact_ways_out) = match bounds {
            Some(bounds) => (bounds, Some(&mut way_out_buffer[..node_scores.len()])),
            None => (ways_out_to(goal, self.lattice, self.edges, t, zeros, way_out_buffer), None),
        };
        let (add, row) =
            Self::bounds_of(self.lattice, self.edges, layers, values, edge_buffer, zeros, t, source);
        let way_in = match source {
            Source::Start => NONE,
            Source::Only(index) => index,
            Source::Gathered => LATER,
            Source::Bounded => UNKNOWN,
        };
        layers.mark(t, open_at);
        let (mut rest, mut largest_value) = (S::FORBIDDEN, S::FORBIDDEN);
        let (mut part, mut looked) = (0..node_scores.len().min(FIRST_PART), 0);
        while !part.is_empty() {
            let allowance = losses.limit + slack + slack;
            let needed = best_value - allowance;
            selected.clear();
            let [row, node_scores, ways_out] = [row, node_scores, ways_out].map(|whole| &whole[part.clone()]);
            let open_at = &open_at[part.clone()];
            let others = S::select_reaching(add, row, floor_before, node_scores, ways_out, needed, selected);
            let ways_out = match &mut exact_ways_out {
                Some(exact) => {
                    for &i in &*selected {
                        let y = part.start + i as usize;
                        exact[y] = self.edges.get(t + 1, y, after);
                    }
                    &exact[part.clone()]
                }
                None => ways_out,
            };
            rest = rest.larger(others);
            looked += selected.len();
            let old = hits.all.len();
            let making = MakeHits {
                selected,
                first: part.start as u32,
                t: t as u32,
                add,
                floor_before,
                labels: Labels { row, node_scores, ways_out, open_at },
                best_value,
                way_in,
                hits: &mut hits.all,
            };
            largest_value = largest_value.larger(simd::run(making));
            if source == Source::Bounded {
                // The bounds do not belong to a path, but there is one over the best path's label before.
                let before = layers.entry(best_path[t - 1]);
                for hit in &mut hits.all[old..] {
                    let y = hit.label as usize;
                    let i = y - part.start;
                    let edge = self.edges.get(t, before.label as usize, y);
                    let value = before.alpha + edge + node_scores[i] + ways_out[i];
                    hit.loss = if hit.score.is_forbidden() {
                        hit.loss
                    } else {
                        (best_value - value).larger(S::ZERO)
                    };
                }
            }
            if !allowance.is_legal() {
                rest = hits.drop_forbidden(old, rest); // all labels were selected
            }
            losses.tighten(&hits.all);
            part = part.end..self.lattice.labels().min(3 * part.end);
        }
        let opened = layers.layer(t).opened;
        // If only one label is opened before, it is the best path's; with bounds alone, that label was used.
        let length = if source == Source::Gathered { 1 + losses.lengths[t - 1] } else { 1 };
        hits.at[t] = HitsAt { hits: first..hits.all.len(), opened, rest, largest_value, length };
        self.spend(2 * PASS_COST * node_scores.len().div_ceil(LANES) + looked)
    }

    /// Opens the labels of position `t` that lead to a value of at least `needed` at the best path's next label, or at
    /// the end. They are among the hits.
    pub(super) fn open_hits(
        &mut self,
        t: usize,
        goal: Goal,
        needed: S,
        hits: &mut Hits<S>,
    ) -> Result<(), Stop> {
        let job = Job { t, goal, floor: needed };
        loop {
            let rest = self.gather_wanted(t, needed, hits)?;
            if self.memory.selected.is_empty() {
                self.commit(job, rest);
                return Ok(());
            }
            if self.open_selected(job, Source::Bounded, rest)? {
                return Ok(());
            }
            self.work_off()?; // the jobs they depend on
        }
    }

    /// Gathers the hits of position `t` with a value of at least `needed`: those whose way in is known become fresh
    /// labels, the others selected ones. Returns a bound on the scores of all other labels.
    fn gather_wanted(&mut self, t: usize, needed: S, hits: &mut Hits<S>) -> Result<S, Stop> {
        let ways_out = largest_ways_out(self.lattice, self.edges, t);
        let HitsAt { hits: range, opened, rest, .. } = hits.at[t].clone();
        let first = range.start as u32;
        let Hits { all, wanted, .. } = hits;
        let rest = simd::run(FindWanted { hits: &all[range], first, needed, rest, wanted });
        self.memory.selected.clear();
        let mut looked = 0;
        for &place in &*wanted {
            let Hit { label, back, score, .. } = all[place as usize];
            let back = match back {
                UNKNOWN => {
                    self.memory.selected.push(label);
                    continue;
                }
                LATER => self.best_way_in(t, label as usize, &mut looked).1,
                back => back,
            };
            let reach = score + ways_out.at(label as usize);
            self.memory.fresh.push(Entry { label, back, alpha: score, reach });
        }
        self.tally.edges(looked);
        self.spend(EDGE_COST * looked)?;
        if self.memory.layers.layer(t).opened > opened {
            self.drop_opened(t);
        }
        Ok(rest)
    }
}
