//! How much the `k`-th best path loses at most, from the best path with one label changed.
//!
//! One vector pass a position scores the best path with another label there: with the best way into that label, and the
//! best path's own label after it. Two of these paths differ in the last position or in the label there, so they are
//! distinct, and what the `k - 1`-th best of them loses, the `k`-th best path of all does not exceed. The labels opened
//! already give the first limit, without any pass. Positions that are likely to have close rivals come first, so that it
//! falls soon; where floor and rest leave no label within it there is no pass.
//!
//! What the pass finds, the *hits*, holds every label that a path within the margin has before a label of the best path:
//! the walk backwards ([`super::keep`]) need not look for them again.

use super::keep::Kept;
use super::layers::{by_size, sort_few};
use super::search::{Goal, Job, Memory, PASS_COST, Search, Source, Stop, as_slice, border};
use crate::decode::Tally;
use crate::kernel::{Float, LANES};
use crate::lattice::EdgeScores;
use std::ops::Range;

/// A label that may be wanted before the best path's label of the next position.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<S> {
    label: u32,
    /// Upper bound of its forward score.
    score: S,
    /// The same with the edge to the best path's next label.
    value: S,
}

/// The hits of all positions.
#[derive(Debug, Default)]
pub(super) struct Hits<S> {
    all: Vec<Hit<S>>,
    at: Vec<(Range<usize>, S)>, // by position: its hits, and the largest score of all labels that are none
    order: Vec<(S, u32)>,       // positions, those first that are likely to have hits that lose little
    losses: Vec<S>,             // the least losses met so far
    /// No label is missing that a path losing no more than this needs.
    pub(super) within: S,
}

impl<S: Float> Hits<S> {
    /// The hits of a position, and a bound on the scores of all other labels.
    fn at(&self, t: usize) -> (&[Hit<S>], S) {
        let (hits, rest) = &self.at[t];
        (&self.all[hits.clone()], *rest)
    }

    /// The `count`-th least loss, if there are so many; forgets larger ones.
    fn least_losses(&mut self, count: usize) -> Option<S> {
        if self.losses.len() < count {
            return None;
        }
        let (_, &mut last, _) = self.losses.select_nth_unstable_by(count - 1, by_size);
        self.losses.truncate(count);
        Some(last)
    }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After [`Search::run`], with the entries of the best path: a margin within which `k` paths lie (`k` at least 2), and
    /// the hits for it. `None` if there are not so many paths with one label changed. `usual` is what was enough last time.
    pub(super) fn margin_for(&mut self, k: usize, usual: S, kept: &mut Kept<S>) -> Result<Option<S>, Stop> {
        let count = k - 1;
        let slack = self.loss_slack();
        let (best, hits) = (&kept.best, &mut kept.hits);
        hits.within = S::FORBIDDEN;
        self.order_positions(best, &mut hits.order);
        self.opened_losses(best, &mut hits.losses);
        let mut limit = match hits.least_losses(count) {
            Some(proven) => proven,
            None => {
                let guesses = hits.order.iter().map(|&(loss, _)| loss.larger(S::ZERO));
                hits.losses.extend(guesses.filter(|loss| loss.is_legal()));
                hits.least_losses(count).unwrap_or(usual)
            }
        };
        loop {
            self.opened_losses(best, &mut hits.losses);
            match self.hit_all(count, limit, slack, best, hits)? {
                Some(margin) if margin <= limit => {
                    hits.within = margin + slack + slack;
                    return Ok(Some(margin + slack));
                }
                Some(margin) => limit = margin, // over opened labels alone: now with all others within that
                None if !limit.is_legal() => return Ok(None),
                None => limit = self.wider(limit),
            }
        }
    }

    /// More than this limit; infinity if it is past what any label can lose.
    fn wider(&self, limit: S) -> S {
        let wider = 2.0 * limit.to_f64();
        let spread = self.lattice.edges().magnitude() + self.lattice.largest_node_magnitude();
        S::from_f64_up(if wider > 0.0 && wider < 4.0 * spread { wider } else { f64::INFINITY })
    }

    /// Puts the positions in order. Each has a label of the score that is its rest, and the edge out of that is likely to be
    /// a usual one: what this loses is the guess at the least that is lost there.
    fn order_positions(&self, best: &[u32], order: &mut Vec<(S, u32)>) {
        order.clear();
        for t in 0..best.len() {
            let (value, goal) = self.best_value(t, best);
            let way_out = if goal == Goal::Any { S::ZERO } else { self.edges.bounds(t + 1).typical };
            order.push((value - (self.memory.layers.layer(t).rest + way_out), t as u32));
        }
        sort_few(order, |a, b| by_size(&a.0, &b.0));
    }

    /// The value that the best path leads to behind position `t`, and where.
    fn best_value(&self, t: usize, best: &[u32]) -> (S, Goal) {
        let layers = &self.memory.layers;
        let here = layers.entry(best[t]);
        match best.get(t + 1) {
            Some(&after) => {
                let y = layers.entry(after).label;
                (here.alpha + self.edges.get(t + 1, here.label as usize, y as usize), Goal::Label(y))
            }
            None => (here.reach, Goal::Any),
        }
    }

    /// Finds the hits of all positions, and the `count`-th least loss over them and the opened labels.
    fn hit_all(
        &mut self,
        count: usize,
        mut limit: S,
        slack: S,
        best: &[u32],
        hits: &mut Hits<S>,
    ) -> Result<Option<S>, Stop> {
        hits.all.clear();
        hits.at.clear();
        hits.at.resize(best.len(), (0..0, S::FORBIDDEN));
        for i in 0..best.len() {
            let t = hits.order[i].1 as usize;
            self.hit(t, limit + slack + slack, best, hits)?;
            if hits.losses.len() >= count.saturating_add(count / 2 + 4) {
                let proven = hits.least_losses(count);
                limit = proven.filter(|&proven| proven < limit).unwrap_or(limit);
            }
        }
        Ok(hits.least_losses(count))
    }

    /// What is lost over each opened label that is not on the best path, if the best path goes on behind it.
    fn opened_losses(&self, best: &[u32], losses: &mut Vec<S>) {
        losses.clear();
        let layers = &self.memory.layers;
        for (t, &here) in best.iter().enumerate() {
            if layers.layer(t).opened == 1 {
                continue;
            }
            let (most, goal) = self.best_value(t, best);
            for (_, entry) in layers.opened(t).filter(|&(index, _)| index != here) {
                let value = match goal {
                    Goal::Label(y) => entry.alpha + self.edges.get(t + 1, entry.label as usize, y as usize),
                    Goal::Any => entry.reach,
                };
                if !value.is_forbidden() {
                    losses.push(most - value);
                }
            }
        }
    }

    /// Finds the hits of a position: labels not opened over which a path may lose no more than `limit`.
    fn hit(&mut self, t: usize, limit: S, best: &[u32], hits: &mut Hits<S>) -> Result<(), Stop> {
        let (value, goal) = self.best_value(t, best);
        if !self.may_be_wanted(t, goal, value - limit) {
            hits.at[t].1 = self.memory.layers.layer(t).rest;
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
        found.clear();
        let rest = S::select_reaching(add, row, least, node, ways_out, value - limit, found);
        layers.opened(t).for_each(|(_, entry)| is_open[entry.label as usize] = true);
        for &label in found.iter().filter(|&&label| !is_open[label as usize]) {
            let y = label as usize;
            let over_opened = match source {
                Source::Bounded => {
                    let before = layers.entry(best[t - 1]);
                    before.alpha + self.edges.get(t, before.label as usize, y)
                }
                _ => add + row[y],
            };
            let changed = over_opened + node[y] + ways_out[y];
            if !changed.is_forbidden() && value - changed <= limit {
                hits.losses.push((value - changed).larger(S::ZERO));
            }
            let score = (add + row[y]).larger(least) + node[y];
            hits.all.push(Hit { label, score, value: score + ways_out[y] });
        }
        layers.opened(t).for_each(|(_, entry)| is_open[entry.label as usize] = false);
        hits.at[t] = (first..hits.all.len(), rest);
        let found = found.len();
        self.spend(2 * PASS_COST * node.len().div_ceil(LANES) + found)
    }

    /// Opens the labels of position `t` that lead to a value of at least `limit` at the best path's next label, or at the
    /// end. They are among the hits.
    pub(super) fn open_hits(&mut self, t: usize, goal: Goal, limit: S, hits: &Hits<S>) -> Result<(), Stop> {
        let (hits, mut rest) = hits.at(t);
        let found = &mut self.memory.found;
        found.clear();
        for hit in hits {
            if hit.value >= limit {
                found.push(hit.label);
            } else {
                rest = rest.larger(hit.score);
            }
        }
        let job = Job { t, goal, floor: limit };
        self.memory.jobs.push(job);
        self.open_found(job, rest)?;
        self.work_off()
    }
}
