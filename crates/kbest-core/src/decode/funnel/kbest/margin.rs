//! An upper bound on the loss of the `k`-th best path, from the best path with labels changed.
//!
//! The best path with another label at one position ([`super::losses`]) is a distinct path for each such label, so the
//! `k`-th best path of all loses no more than the `k - 1`-th best of them:
//!
//! ```text
//! margin = the k-1-th smallest loss of a single change                              (few paths)
//! margin = the least d such that k combinations of changes lose at most d           (from 16 paths on)
//! ```
//!
//! The first limit comes from the labels already opened and from the likely loss at each position, or, if these are too
//! few (for many paths: if that is less), from experience. Then a vector pass per position looks for labels within it
//! ([`super::hits`]), where floor and rest leave any; positions that are likely to have close rivals come first, so
//! that the limit falls early. Finally, changes at several positions are counted, too ([`super::combinations`]).
//!
//! **Cost.** The passes; all of them again with a wider limit if it was too low, about one time in ten. **When not.**
//! If there are fewer than `k` paths with labels changed, there is no margin.

use super::hits::Hits;
use super::losses::{Change, Losses, MANY_PATHS};
use super::slack::Slack;
use crate::decode::Tally;
use crate::decode::funnel::budget::Stop;
use crate::decode::funnel::search::{Goal, Search};
use crate::decode::funnel::sorting::by_size;
use crate::lattice::EdgeScores;
use crate::simd::Float;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Memory<S> {
    pub(super) likely_losses: Vec<(S, u32)>, // with their positions, smallest loss first
    pub(super) losses: Losses<S>,
    experience: Experience,
}

/// For `k` paths, the average ratio of the margin to the likely loss where rivals are closest.
#[derive(Debug, Default)]
struct Experience {
    k: usize,
    times: f64,
}

impl Experience {
    /// A limit that the margin for `k` paths seldom exceeds, from the likely loss where rivals are closest.
    fn limit(&self, k: usize, closest: f64) -> f64 {
        closest * if k == self.k { 1.25 * self.times } else { 3.0 }
    }

    /// Records a margin.
    fn learn(&mut self, k: usize, closest: f64, margin: f64) {
        let times = margin / closest;
        if closest.is_finite() && times > 0.0 && times.is_finite() {
            *self = Experience { k, times: if k == self.k { 0.8 * self.times + 0.2 * times } else { times } };
        }
    }
}

/// The likely loss where rivals are closest: the harmonic mean over three positions, each clamped between two bounds.
fn closest_rivals<S: Float>(likely_losses: &[(S, u32)], least: f64, most: f64) -> f64 {
    let three = &likely_losses[..likely_losses.len().min(3)];
    three.len() as f64 / three.iter().map(|(loss, _)| 1.0 / loss.to_f64().max(least).min(most)).sum::<f64>()
}

/// The next margin after one that was too small: `wider`, or infinity from `most` on. It is always larger than `margin`, also
/// where `wider` is not, because a share of the smallest numbers rounds to zero: loops that widen a margin thus end.
pub(crate) fn widened(margin: f64, wider: f64, most: f64) -> f64 {
    let wider = wider.max(margin.next_up());
    if wider < most { wider } else { f64::INFINITY }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After [`Search::run`], with the entries of the best path: a margin within which `k` paths lie (`k` at least 2),
    /// and the hits for it. `None` if there are not that many paths with labels changed.
    pub(super) fn margin_for(
        &mut self,
        k: usize,
        best_path: &[u32],
        slack: Slack<S>,
        Memory { likely_losses, losses, experience }: &mut Memory<S>,
        hits: &mut Hits<S>,
    ) -> Result<Option<S>, Stop> {
        self.find_likely_losses(best_path, likely_losses);
        self.change_to_opened(best_path, losses);
        losses.further = k - 1;
        let closest = closest_rivals(likely_losses, 1e-3 * self.scale(), self.scale());
        let guess = losses.guess(likely_losses.iter().map(|&(loss, _)| loss));
        let experienced = S::from_f64_up(experience.limit(k, closest));
        let mut limit = guess.filter(|&guess| k < MANY_PATHS || guess < experienced).unwrap_or(experienced);
        loop {
            losses.begin(limit);
            let slack = slack.within(limit);
            self.hit_all(likely_losses.iter().map(|&(_, t)| t as usize), slack, best_path, hits, losses)?;
            let combined = losses.combined(k, best_path.len(), hits);
            match combined.or_else(|| losses.last(hits.all())) {
                Some(margin) if margin <= limit => {
                    if guess.is_none() || k >= MANY_PATHS {
                        experience.learn(k, closest, margin.to_f64());
                    }
                    hits.cover = margin + slack + slack;
                    return Ok(Some(margin + slack));
                }
                Some(margin) => limit = margin, // from opened labels alone: now with all others within it
                None if !limit.is_legal() => return Ok(None),
                None => limit = self.wider(limit),
            }
        }
    }

    /// A larger limit; infinity if it exceeds what any label can lose.
    fn wider(&self, limit: S) -> S {
        let (limit, scale) = (limit.to_f64(), self.scale());
        S::from_f64_up(widened(limit, (2.0 * limit).max(1e-2 * scale), 4.0 * scale))
    }

    /// The scale of the scores: the largest magnitude of an edge and that of a node, added.
    pub(super) fn scale(&self) -> f64 {
        self.lattice.edges().magnitude() + self.lattice.largest_node_magnitude()
    }

    /// The likely loss at each position, the least first. Each position usually has a label whose score is its rest, and the
    /// edge out of it is probably a usual one:
    ///
    /// ```text
    /// likely loss = best value - (rest + usual edge)
    /// ```
    fn find_likely_losses(&self, best_path: &[u32], likely_losses: &mut Vec<(S, u32)>) {
        likely_losses.clear();
        for t in 0..best_path.len() {
            let (best_value, goal) = self.best_value(t, best_path);
            let way_out = if goal == Goal::Any { S::ZERO } else { self.edges.bounds(t + 1).least_way_out() };
            likely_losses.push((best_value - (self.memory.layers.layer(t).rest + way_out), t as u32));
        }
        likely_losses.sort_unstable_by(|(a, _), (b, _)| by_size(a, b));
    }

    /// The value that the best path leads to after position `t`, and its goal.
    pub(super) fn best_value(&self, t: usize, best_path: &[u32]) -> (S, Goal) {
        let layers = &self.memory.layers;
        let here = layers.entry(best_path[t]);
        match best_path.get(t + 1) {
            Some(&after) => {
                let y = layers.entry(after).label;
                (here.alpha + self.edges.get(t + 1, here.label as usize, y as usize), Goal::Label(y))
            }
            None => (here.reach, Goal::Any),
        }
    }

    /// The loss over each opened label that is not on the best path, if the best path continues after it.
    ///
    /// ```text
    /// loss(p at t)   = best value - (alpha[p] + edge(p, the best path's next label))
    /// length(p at t) = 1 if the label before p is the best path's, else 1 + the largest length at t - 1
    /// ```
    fn change_to_opened(&self, best_path: &[u32], losses: &mut Losses<S>) {
        let Losses { open_changes, lengths, .. } = losses;
        open_changes.clear();
        lengths.clear();
        let layers = &self.memory.layers;
        for (t, &here) in best_path.iter().enumerate() {
            lengths.push(0);
            if layers.layer(t).opened == 1 {
                continue;
            }
            let (best_value, goal) = self.best_value(t, best_path);
            for (_, entry) in layers.opened(t).filter(|&(index, _)| index != here) {
                let value = match goal {
                    Goal::Label(y) => entry.alpha + self.edges.get(t + 1, entry.label as usize, y as usize),
                    Goal::Any => entry.reach,
                };
                let length = if t == 0 || entry.back == best_path[t - 1] { 1 } else { 1 + lengths[t - 1] };
                lengths[t] = length.max(lengths[t]);
                if !value.is_forbidden() {
                    open_changes.push(Change { t, loss: best_value - value, length });
                }
            }
        }
    }
}
