//! How much the `k`-th best path loses at most, from the best path with one label changed.
//!
//! One vector pass a position scores the best path with another label there: with the best way into that label, and the
//! best path's own label after it. Two of these paths differ in the last position or in the label there, so they are
//! distinct, and what the `k - 1`-th best of them loses, the `k`-th best path of all does not exceed. The labels that opened
//! labels give the first limit; it falls from position to position.
//!
//! What the pass finds, the *hits*, holds every label that a path within the margin has before a label of the best path:
//! the walk backwards ([`super::keep`]) need not look for them again.

use super::keep::Kept;
use super::search::{Goal, Job, PASS_COST, Search, Source, Stop, as_slice, border};
use crate::decode::Tally;
use crate::kernel::{Float, LANES};
use crate::lattice::EdgeScores;

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
    ends: Vec<(usize, S)>, // by position: where its hits end, and the largest score of all labels that are none
    losses: Vec<S>,        // the least losses met so far
    /// No label is missing that a path losing no more than this needs.
    pub(super) within: S,
}

impl<S: Float> Hits<S> {
    /// The hits of a position, and a bound on the scores of all other labels.
    fn at(&self, t: usize) -> (&[Hit<S>], S) {
        let (end, rest) = self.ends[t];
        let first = if t == 0 { 0 } else { self.ends[t - 1].0 };
        (&self.all[first..end], rest)
    }

    /// The `count`-th least loss, if there are so many; forgets larger ones.
    fn least_losses(&mut self, count: usize) -> Option<S> {
        if self.losses.len() < count {
            return None;
        }
        let (_, &mut last, _) = self.losses.select_nth_unstable_by(count - 1, |a, b| {
            a.partial_cmp(b).expect("losses of legal paths are ordered")
        });
        self.losses.truncate(count);
        Some(last)
    }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After [`Search::run`], with the entries of the best path: a margin within which `k` paths lie (`k` at least 2).
    /// `None` if there are not so many paths with one label changed that lose no more than `limit`.
    pub(super) fn margin_for(&mut self, k: usize, limit: S, kept: &mut Kept<S>) -> Result<Option<S>, Stop> {
        let count = k - 1;
        let slack = self.loss_slack();
        let (best, hits) = (&kept.best, &mut kept.hits);
        self.opened_losses(best, &mut hits.losses);
        let mut margin = hits.least_losses(count);
        hits.losses.clear();
        hits.all.clear();
        hits.ends.clear();
        for t in 0..self.lattice.positions() {
            self.hit(t, margin.unwrap_or(limit) + slack + slack, best, hits)?;
            if hits.losses.len() / 2 >= count.saturating_add(8) {
                margin = least(margin, hits.least_losses(count));
            }
        }
        let margin = least(margin, hits.least_losses(count)).map(|margin| margin + slack);
        hits.within = margin.map_or(S::FORBIDDEN, |margin| margin + slack);
        Ok(margin)
    }

    /// What is lost over each opened label that is not on the best path, if the best path goes on behind it.
    fn opened_losses(&self, best: &[u32], losses: &mut Vec<S>) {
        losses.clear();
        let layers = &self.memory.layers;
        for (t, &here) in best.iter().enumerate() {
            if layers.layer(t).opened == 1 {
                continue;
            }
            let after = best.get(t + 1).map(|&after| layers.entry(after).label as usize);
            let value = |index: u32| {
                let entry = layers.entry(index);
                after.map_or(entry.reach, |y| entry.alpha + self.edges.get(t + 1, entry.label as usize, y))
            };
            let most = value(here);
            let others = layers.opened(t).filter(|&(index, _)| index != here);
            losses.extend(others.map(|(index, _)| value(index)).filter(|v| !v.is_forbidden()).map(|v| most - v));
        }
    }

    /// Finds the hits of a position: labels over which a path may lose no more than `limit`.
    fn hit(&mut self, t: usize, limit: S, best: &[u32], hits: &mut super::margin::Hits<S>) -> Result<(), Stop> {
        let source = self.prepare(t)?;
        let node = self.lattice.node_row(t);
        let least = if t == 0 { S::FORBIDDEN } else { self.memory.layers.layer(t - 1).floor };
        let memory = &mut *self.memory;
        let layers = &memory.layers;
        let here = layers.entry(best[t]);
        let ways_out = match best.get(t + 1) {
            Some(&after) => {
                let after = layers.entry(after).label as usize;
                &self.edges.column(t + 1, after, &mut memory.ways_out)[..node.len()]
            }
            None => as_slice(border(self.lattice.end()), &mut memory.ways_out, node.len()),
        };
        let (add, row) = Self::bounds_of(
            self.lattice,
            self.edges,
            layers,
            &mut memory.values,
            &mut memory.buffer,
            t,
            source,
        );
        let value = here.alpha + ways_out[here.label as usize];
        memory.found.clear();
        let rest =
            S::select_reaching(add, row, least, node, ways_out, value - limit, &mut memory.found);
        for &label in &memory.found {
            let y = label as usize;
            let over_opened = match source {
                Source::Bounded => {
                    let before = layers.entry(best[t - 1]);
                    before.alpha + self.edges.get(t, before.label as usize, y)
                }
                _ => add + row[y],
            };
            let changed = over_opened + node[y] + ways_out[y];
            if label != here.label && !changed.is_forbidden() && value - changed <= limit {
                hits.losses.push((value - changed).larger(S::ZERO));
            }
            let score = (add + row[y]).larger(least) + node[y];
            hits.all.push(Hit { label, score, value: score + ways_out[y] });
        }
        let found = memory.found.len();
        hits.ends.push((hits.all.len(), rest));
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

/// The smaller one of those that are there.
fn least<S: Float>(a: Option<S>, b: Option<S>) -> Option<S> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}
