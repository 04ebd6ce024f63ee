//! The best way into each label that may reach the floor, and whether it is proven to be the best.
//!
//! [`Search::weigh`] finds the ways in over opened labels; [`Search::settle`] prepares the labels whose way in cannot
//! be improved by any other label, and adds jobs for the position before where a label that is not opened might improve
//! it: a rival, if there is one ([`Search::has_no_rival`]). [`Search::open_only`] does both for a single label, where that is simple.
//!
//! **Cost.** Little where a pass over all labels has found the values: the entries are left for the way back. Otherwise one
//! look-up of an edge for each selected label and each opened label before it whose reach is not below the best value. A
//! pass for each label that might have a rival.

use super::budget::{EDGE_COST, PASS_COST, Stop};
use super::layers::{Entry, LATER, NONE};
use super::passes::{Source, largest_ways_out};
use super::search::{Goal, Job, Memory, Search, smaller};
use crate::decode::Tally;
use crate::lattice::{EdgeScores, PerLabel};
use crate::simd::{Float, LANES};

/// The best way into a label over the opened labels before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<S> {
    label: u32,
    back: u32,
    value: S, // alpha + edge
}

/// Computes what a label is sure to reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct SureReach<'a, S> {
    node_scores: &'a [S],
    ways_out: PerLabel<'a, S>,
    gain: Option<S>, // on the way out of any label that has one; none at the last position
}

impl<S: Float> SureReach<'_, S> {
    /// What a label with this value is sure to reach.
    #[inline(always)]
    pub(super) fn reach(&self, value: S, y: usize) -> S {
        let (score, way_out) = (value + self.node_scores[y], self.ways_out.at(y));
        match self.gain {
            None => score + way_out,
            Some(_) if way_out.is_forbidden() => S::FORBIDDEN, // the score of a dead end says nothing
            Some(gain) => score + gain,
        }
    }
}

impl<'l, S: Float, E: EdgeScores<S>, T: Tally> Search<'_, 'l, S, E, T> {
    /// For the labels of a position.
    #[inline(always)]
    pub(super) fn sure_reach(&self, t: usize) -> SureReach<'l, S> {
        let ways_out = largest_ways_out(self.lattice, self.edges, t);
        let gain = if self.is_last(t) { None } else { Some(self.edges.bounds(t + 1).least_way_out()) };
        SureReach { node_scores: self.lattice.node_row(t), ways_out, gain }
    }

    /// The usual case, in short: opens the only selected label, if only one is opened before it and no other can lead to as much.
    /// Returns whether it did.
    pub(super) fn open_only(&mut self, t: usize, floor: S, rest: S) -> Result<bool, Stop> {
        let (&[label], Some(before)) = (&self.memory.selected[..], t.checked_sub(1)) else {
            return Ok(false);
        };
        let layers = &self.memory.layers;
        let layer = layers.layer(before);
        if layer.opened != 1 || self.tally.traces() {
            return Ok(false);
        }
        let Some((back, entry)) = layers.opened(before).next() else { return Ok(false) };
        let y = label as usize;
        let value = entry.alpha + self.edges.get(t, entry.label as usize, y);
        let alpha = value + self.lattice.node_row(t)[y];
        let reach = alpha + largest_ways_out(self.lattice, self.edges, t).at(y);
        // Upper bound: labels not opened before lead to values strictly below their floor.
        if value < layer.floor || reach < floor || reach.is_forbidden() {
            return Ok(false);
        }
        self.tally.edges(1);
        self.spend(EDGE_COST)?;
        let floor = floor.larger(self.sure_reach(t).reach(value, y));
        self.tally.opened_each(t, std::iter::once(label));
        self.memory.layers.lower(t, &mut [Entry { label, back, alpha, reach }], false, floor, rest);
        Ok(true)
    }

    /// Finds the best way into each selected label, and returns what one of them is sure to reach.
    pub(super) fn weigh(&mut self, t: usize, source: Source) -> Result<S, Stop> {
        let mut candidates = std::mem::take(&mut self.memory.candidates);
        candidates.clear();
        let weighed = match source {
            Source::Only(_) | Source::Gathered if !self.ways_back => {
                self.weigh_known(t, source, &mut candidates)
            }
            _ => self.weigh_each(t, &mut candidates),
        };
        self.memory.candidates = candidates;
        weighed
    }

    /// The same if a pass over all labels has found their values. Entries are left for later, if there is a choice.
    fn weigh_known(
        &mut self,
        t: usize,
        source: Source,
        candidates: &mut Vec<Candidate<S>>,
    ) -> Result<S, Stop> {
        let surely = self.sure_reach(t);
        let Memory { layers, values, selected, .. } = &*self.memory;
        let mut sure = S::FORBIDDEN;
        let mut add = |label: u32, back: u32, value: S| {
            sure = sure.larger(surely.reach(value, label as usize));
            candidates.push(Candidate { label, back, value });
        };
        let looked = match source {
            Source::Only(index) => {
                let Entry { label: only, alpha, .. } = *layers.entry(index);
                let value = |y: u32| alpha + self.edges.get(t, only as usize, y as usize);
                selected.iter().for_each(|&y| add(y, index, value(y)));
                selected.len()
            }
            _ => {
                let values = &values[t % 2];
                selected.iter().for_each(|&y| add(y, LATER, values[y as usize]));
                0
            }
        };
        self.tally.edges(looked);
        self.spend(EDGE_COST * looked)?;
        Ok(sure)
    }

    /// The same, label by label.
    fn weigh_each(&mut self, t: usize, candidates: &mut Vec<Candidate<S>>) -> Result<S, Stop> {
        let (surely, mut sure, mut looked) = (self.sure_reach(t), S::FORBIDDEN, 0);
        for i in 0..self.memory.selected.len() {
            let label = self.memory.selected[i];
            let (value, back) = self.best_way_in(t, label as usize, &mut looked);
            sure = sure.larger(surely.reach(value, label as usize));
            candidates.push(Candidate { label, back, value });
            if EDGE_COST * looked > self.budget.left {
                self.pay_for(&mut looked)?;
            }
        }
        self.pay_for(&mut looked)?;
        Ok(sure)
    }

    /// Pays for the edges looked up so far.
    fn pay_for(&mut self, looked: &mut usize) -> Result<(), Stop> {
        let looked = std::mem::take(looked);
        self.tally.edges(looked);
        self.spend(EDGE_COST * looked)
    }

    /// The best way into label `y` of position `t` over opened labels, as its value and its entry; at the first position, the
    /// start score.
    #[inline(always)]
    pub(super) fn best_way_in(&self, t: usize, y: usize, looked: &mut usize) -> (S, u32) {
        if t == 0 {
            return (self.lattice.start().map_or(S::ZERO, |start| start[y]), NONE);
        }
        self.memory.layers.best_way_in(self.edges, t, y, looked)
    }

    /// Whether no label that is not opened before `t` leads to as much as `value` at label `y`. A look at them tells, and opens none.
    #[cold]
    fn has_no_rival(&mut self, t: usize, y: u32, value: S) -> Result<bool, Stop> {
        let before = t - 1;
        if let Some(none) = self.has_no_listed_rival(t, y as usize, value)? {
            return Ok(none);
        }
        self.memory.swap_selected(); // those of this position are still needed
        let found = self.look(before, Goal::Label(y), Some(value));
        self.memory.swap_selected();
        let Memory { layers, rivals, open_at, .. } = &mut *self.memory;
        layers.mark(before, open_at);
        rivals.retain(|&p| open_at[p as usize] != before as u32);
        let mut rivals = std::mem::take(&mut self.memory.rivals);
        let source = found?.source;
        // The edges may have been bounds.
        let mut looked = 0;
        let none = rivals.iter().all(|&p| {
            looked += 1;
            self.leads_below(before, p as usize, source, y as usize, value)
        });
        rivals.clear();
        self.memory.rivals = rivals;
        self.pay_for(&mut looked)?;
        Ok(none)
    }

    /// The same from the exceptions among the edges into the label, without a look at all labels, if no other edge can lead to as much;
    /// otherwise nothing.
    fn has_no_listed_rival(&mut self, t: usize, y: usize, value: S) -> Result<Option<bool>, Stop> {
        let (before, rest) = (t - 1, self.memory.layers.layer(t - 1).rest);
        let Some(into) = self.edges.exceptions_into(t, y).filter(|into| rest + into.base < value) else {
            return Ok(None);
        };
        let Memory { layers, open_at, .. } = &mut *self.memory;
        layers.mark(before, open_at);
        let floor_before = layers.floor_before(before);
        let node_scores = self.lattice.node_row(before);
        let best_alpha = before.checked_sub(1).map(|t| layers.layer(t).best_alpha);
        let bound_before = best_alpha.map(|alpha| (alpha, self.edges.bounds(before).column));
        self.tally.edges(into.labels.len());
        self.spend(PASS_COST * into.labels.len().div_ceil(LANES))?;
        let mut looked = 0;
        let (mut next, mut none) = (0, true);
        // Upper bound: no label that is not opened has a larger score than the rest.
        while none && let Some(i) = S::first_at_least(&into.scores[next..], rest, value) {
            let (label, edge) = (into.labels[next + i] as usize, into.scores[next + i]);
            next += i + 1;
            if self.memory.open_at[label] == before as u32 {
                continue;
            }
            let leads_below =
                |value_before: S| value_before.larger(floor_before) + node_scores[label] + edge < value;
            // Upper bound: the best score before that, with the largest edge into the label. It settles most of them.
            if !bound_before.is_some_and(|(alpha, column)| leads_below(alpha + column.at(label))) {
                let (value_before, _) = self.best_way_in(before, label, &mut looked);
                none = leads_below(value_before);
                if EDGE_COST * looked > self.budget.left {
                    self.pay_for(&mut looked)?;
                }
            }
        }
        self.pay_for(&mut looked)?;
        Ok(Some(none))
    }

    /// Whether a label of position `t` that a pass has selected surely leads to less than `value` at the label `after`.
    fn leads_below(&self, t: usize, p: usize, source: Source, after: usize, value: S) -> bool {
        let value_before = match source {
            Source::Start => self.best_way_in(t, p, &mut 0).0,
            Source::Only(index) => {
                let only = self.memory.layers.entry(index);
                only.alpha + self.edges.get(t, only.label as usize, p)
            }
            Source::Gathered => self.memory.values[t % 2][p],
            Source::Bounded => return false, // nothing but a bound is known
        };
        let at_most = value_before.larger(self.memory.layers.floor_before(t));
        at_most + self.lattice.node_row(t)[p] + self.edges.get(t + 1, p, after) < value
    }

    /// Adds the candidates of a job to the fresh labels, and returns a bound on the scores of all other labels, given
    /// that of the labels not selected. If one of them may have a better way in over a label that is not opened, adds
    /// jobs that settle this first, and returns `None`.
    ///
    /// ```text
    /// settled:  value >= below       labels not opened before lead to values strictly below this (floors, also those
    ///                                toward y), ...
    ///       or  value >  others      ... and to none above this: rest before + the largest edge into y
    ///       or  no rival             none of them leads to as much as the value, or as is needed to reach the floor
    /// fresh:    settled, and (value + node[y]) + way_out[y] >= floor
    /// ```
    pub(super) fn settle(&mut self, job: Job<S>, mut rest: S) -> Result<Option<S>, Stop> {
        let Job { t, goal, floor } = job;
        let (lattice, edges) = (self.lattice, self.edges);
        let (node_scores, ways_out) = (lattice.node_row(t), largest_ways_out(lattice, edges, t));
        let before =
            t.checked_sub(1).map(|before| (*self.memory.layers.layer(before), edges.bounds(t).column));
        let floor_before = before.map_or(S::FORBIDDEN, |(layer, _)| layer.floor);
        let mut need: Option<S> = None;
        let waiting = self.memory.jobs.len();
        let asks = t > 0 && !self.computes_edges(t); // a look at all of them would take too many calls
        for i in 0..self.memory.candidates.len() {
            let Candidate { label, back, value } = self.memory.candidates[i];
            let y = label as usize;
            let way_out = match goal {
                Goal::Any => ways_out.at(y),
                Goal::Label(after) => edges.get(t + 1, y, after as usize),
            };
            let (mut settled, mut below, mut at_most) = (value >= floor_before, floor_before, value);
            if !settled && let Some((layer, column)) = before {
                let others = layer.rest + column.at(y);
                if value <= others {
                    below = self.floor_toward(t - 1, Goal::Label(label)); // it may have been opened toward this label
                }
                settled = value >= below || value > others;
                at_most = if settled { value } else { value.larger(smaller(below, others)) };
            }
            let score = at_most + node_scores[y];
            let reach = score + way_out;
            if reach < floor || reach.is_forbidden() {
                rest = rest.larger(score); // upper bound: it does not reach the floor
                continue;
            }
            if settled {
                self.memory.fresh.push(Entry { label, back, alpha: score, reach: score + ways_out.at(y) });
                continue;
            }
            // Only values that reach the floor and are not worse than the label's own need to be found. Anything below `further`
            // misses the floor, whatever the rounding.
            let useful = value.larger(floor - way_out - node_scores[y]);
            let magnitude = [floor, way_out, node_scores[y], useful].map(|score| score.to_f64().abs());
            let further = useful - S::from_f64_up(8.0 * S::UNIT_ROUNDOFF * magnitude.iter().sum::<f64>());
            if value.is_forbidden() {
                // No opened label leads to it, so it has few ways in: opening all labels that far would open many in vain.
                let floor = if further < below { further } else { value };
                self.memory.jobs.push(Job { t: t - 1, goal: Goal::Label(label), floor });
                continue;
            }
            let least = value.larger(further);
            let wanted = if useful < below { useful } else { value };
            // Where another label has a rival, the position before is opened further anyway.
            let asks = asks && need.is_none_or(|need| wanted < need);
            if asks && self.has_no_rival(t, label, least)? {
                let score = least + node_scores[y];
                if value == least && score + way_out >= floor {
                    let reach = score + ways_out.at(y);
                    self.memory.fresh.push(Entry { label, back, alpha: score, reach });
                } else {
                    rest = rest.larger(score); // upper bound: no way in leads to more
                }
                continue;
            }
            match goal {
                Goal::Any => need = Some(need.map_or(wanted, |need| smaller(wanted, need))),
                Goal::Label(_) => {
                    self.memory.jobs.push(Job { t: t - 1, goal: Goal::Label(label), floor: wanted });
                }
            }
        }
        if let Some(floor) = need {
            self.memory.jobs.push(Job { t: t - 1, goal: Goal::Any, floor });
        }
        Ok((self.memory.jobs.len() == waiting).then_some(rest))
    }
}
