//! How much the `k`-th best path loses at most, from the best path with single labels changed.
//!
//! The best path with another label at one position, the best way into that label, and its own labels after it: two of
//! these paths differ in the last position changed or in the label there, so they are distinct, and what the `k - 1`-th
//! best of them loses, the `k`-th best path of all does not exceed. The first limit comes from the labels opened already
//! and from what is likely to be lost at each position, or, if these are too few (for many paths: if that is less), from
//! experience. Then a vector pass a position looks for labels within it ([`super::hits`]), where floor and rest leave any,
//! and positions that are likely to have close rivals come first, so that it falls soon. At last, changes at several
//! positions count, too ([`super::combinations`]).
//!
//! **Cost.** The passes; all of them again with a wider limit if it was too low, about one time in ten. **When not.** Where
//! there are not so many paths with labels changed, there is no margin.

use super::combinations::Combinations;
use super::hit_loops::Hit;
use super::hits::Hits;
use super::keep::Kept;
use super::search::{Goal, Search, Stop};
use super::sorting::{by_size, keep_smallest};
use crate::decode::Tally;
use crate::kernel::{self, Float, Loop};
use crate::lattice::EdgeScores;

/// From this many paths on, changes at several positions are counted.
const MANY_PATHS: usize = 16;

/// The step of losses beyond the first limit, and so the number of steps below it.
const BEYOND: usize = 63;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Memory<S> {
    order: Vec<(S, u32)>, // positions, those first that are likely to have hits that lose little
    losses: Losses<S>,
    experience: Experience,
}

/// How many times what is likely to be lost where rivals are closest was the margin for so many paths, on average.
#[derive(Debug, Default)]
struct Experience {
    k: usize,
    times: f64,
}

impl Experience {
    /// A limit that the margin for `k` paths seldom exceeds, from what is likely to be lost where rivals are closest.
    fn limit(&self, k: usize, closest: f64) -> f64 {
        closest * if k == self.k { 1.25 * self.times } else { 3.0 }
    }

    /// Remembers what the margin was.
    fn learn(&mut self, k: usize, closest: f64, margin: f64) {
        let times = margin / closest;
        if closest.is_finite() && times > 0.0 && times.is_finite() {
            *self = Experience { k, times: if k == self.k { 0.8 * self.times + 0.2 * times } else { times } };
        }
    }
}

/// The best path with its label at one position changed to another one that is opened already, and the best way to it.
#[derive(Debug, Clone, Copy)]
struct Change<S> {
    t: usize,
    loss: S,
    /// How many labels of the best path are changed, at most.
    length: usize,
}

/// What single changes lose, and a limit that falls as more of them are known.
#[derive(Debug, Default)]
pub(super) struct Losses<S> {
    /// Larger ones do not count.
    pub(super) limit: S,
    wanted: usize, // how many of the least
    enough: usize, // hits after which it is worth while to see whether the limit falls
    opened: Vec<Change<S>>,
    /// The largest length of these at each position.
    pub(super) lengths: Vec<usize>,
    least: Vec<S>,
    steps_per_loss: f64,
    counts: Vec<u32>, // losses by steps of the first limit, the last for all beyond it
    counted: usize,   // hits among them
}

/// The step of a loss.
#[inline(always)]
fn step<S: Float>(loss: S, steps_per_loss: f64) -> usize {
    usize::from((loss.to_f64() * steps_per_loss).min(BEYOND as f64) as u8)
}

impl<S: Float> Losses<S> {
    /// Begins with those over labels opened.
    fn begin(&mut self, limit: S) {
        (self.limit, self.counted) = (limit, 0);
        self.enough = self.wanted.saturating_add(self.wanted / 2 + 8).saturating_sub(self.opened.len());
        self.steps_per_loss = BEYOND as f64 / limit.to_f64();
        self.counts.clear();
        self.counts.resize(BEYOND + 1, 0);
        for change in &self.opened {
            self.counts[step(change.loss, self.steps_per_loss)] += 1;
        }
    }

    /// Lets the limit fall, if there are enough new hits.
    #[inline(always)]
    pub(super) fn tighten(&mut self, hits: &[Hit<S>]) {
        if hits.len() <= self.enough {
            return;
        }
        self.enough = hits.len().saturating_add(self.wanted / 2 + 8);
        for hit in &hits[self.counted..] {
            self.counts[step(hit.loss, self.steps_per_loss)] += 1;
        }
        self.counted = hits.len();
        let mut within = 0;
        let enough = |&count: &u32| {
            within += count as usize;
            within >= self.wanted
        };
        if let Some(last) = self.counts[..BEYOND].iter().position(enough) {
            self.limit = S::from_f64_up((last + 1) as f64 / self.steps_per_loss);
        }
    }

    /// The largest of those wanted, over the labels opened and all hits, if there are so many.
    fn last(&mut self, hits: &[Hit<S>]) -> Option<S> {
        self.least.clear();
        self.least.extend(self.opened.iter().map(|change| change.loss));
        self.least.extend(hits.iter().map(|hit| hit.loss));
        keep_smallest(&mut self.least, self.wanted).filter(|last| last.is_legal())
    }

    /// The guess at what the largest of those wanted is, from what is likely to be lost at each position.
    fn guess(&mut self, likely: impl Iterator<Item = S>) -> Option<S> {
        self.last(&[]).or_else(|| {
            self.least.extend(likely.map(|loss| loss.larger(S::ZERO)).filter(|loss| loss.is_legal()));
            keep_smallest(&mut self.least, self.wanted)
        })
    }

    /// A margin within which `k` paths lie, changes at several positions counted, if there are so many within the limit.
    /// Not for few paths: it would hardly be less than that of single changes.
    fn combined(&self, k: usize, positions: usize, hits: &Hits<S>) -> Option<S> {
        if k < MANY_PATHS || !self.limit.is_legal() {
            return None;
        }
        kernel::run(CountPaths { losses: self, k, positions, hits })
    }
}

/// Counts the paths with changes, as [`Losses::combined`] needs it.
struct CountPaths<'a, S> {
    losses: &'a Losses<S>,
    k: usize,
    positions: usize,
    hits: &'a Hits<S>,
}

impl<S: Float> Loop for CountPaths<'_, S> {
    type Result = Option<S>;

    #[inline(always)]
    fn run(self) -> Option<S> {
        let CountPaths { losses, k, positions, hits } = self;
        let mut paths = Combinations::within(losses.limit.to_f64());
        let mut opened = losses.opened.iter().peekable();
        for t in 0..positions {
            while let Some(change) = opened.next_if(|change| change.t == t) {
                paths.change(std::iter::once(change.loss.to_f64()), change.length);
            }
            let (hits, length) = hits.at(t);
            paths.change(hits.iter().map(|hit| hit.loss.to_f64()), length);
            paths.next_position();
        }
        paths.margin(k).map(S::from_f64_up)
    }
}

/// What is likely to be lost where rivals are closest: the harmonic mean over three positions, each between two bounds.
fn closest_rivals<S: Float>(order: &[(S, u32)], least: f64, most: f64) -> f64 {
    let three = &order[..order.len().min(3)];
    three.len() as f64 / three.iter().map(|(loss, _)| 1.0 / loss.to_f64().max(least).min(most)).sum::<f64>()
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After [`Search::run`], with the entries of the best path: a margin within which `k` paths lie (`k` at least 2), and
    /// the hits for it. `None` if there are not so many paths with labels changed.
    pub(super) fn margin_for(&mut self, k: usize, kept: &mut Kept<S>) -> Result<Option<S>, Stop> {
        let mut hits = std::mem::take(&mut self.memory.hits);
        let margin = self.margin_and_hits(k, &kept.best, &mut kept.margin, &mut hits);
        self.memory.hits = hits;
        margin
    }

    fn margin_and_hits(
        &mut self,
        k: usize,
        best: &[u32],
        Memory { order, losses, experience }: &mut Memory<S>,
        hits: &mut Hits<S>,
    ) -> Result<Option<S>, Stop> {
        let slack = self.loss_slack();
        self.order_positions(best, order);
        self.change_to_opened(best, &mut losses.opened, &mut losses.lengths);
        losses.wanted = k - 1;
        let closest = closest_rivals(order, 1e-3 * self.spread(), self.spread());
        let guess = losses.guess(order.iter().map(|&(loss, _)| loss));
        let usual = S::from_f64_up(experience.limit(k, closest));
        let mut limit = guess.filter(|&guess| k < MANY_PATHS || guess < usual).unwrap_or(usual);
        loop {
            losses.begin(limit);
            self.hit_all(order.iter().map(|&(_, t)| t as usize), slack, best, hits, losses)?;
            let combined = losses.combined(k, best.len(), hits);
            match combined.or_else(|| losses.last(hits.all())) {
                Some(margin) if margin <= limit => {
                    if guess.is_none() || k >= MANY_PATHS {
                        experience.learn(k, closest, margin.to_f64());
                    }
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
        let wider = (2.0 * limit.to_f64()).max(1e-2 * self.spread());
        S::from_f64_up(if wider < 4.0 * self.spread() { wider } else { f64::INFINITY })
    }

    /// The scale of the scores: the largest of an edge and that of a node.
    pub(super) fn spread(&self) -> f64 {
        self.lattice.edges().magnitude() + self.lattice.largest_node_magnitude()
    }

    /// Puts the positions in order. Each has a label of the score that is its rest, and the edge out of that is likely to be
    /// a usual one: what this loses is the guess at the least that is lost there.
    fn order_positions(&self, best: &[u32], order: &mut Vec<(S, u32)>) {
        order.clear();
        for t in 0..best.len() {
            let (value, goal) = self.best_value(t, best);
            let way_out = if goal == Goal::Any { S::ZERO } else { self.edges.bounds(t + 1).least_way_out() };
            order.push((value - (self.memory.layers.layer(t).rest + way_out), t as u32));
        }
        order.sort_unstable_by(|(a, _), (b, _)| by_size(a, b));
    }

    /// The value that the best path leads to behind position `t`, and where.
    pub(super) fn best_value(&self, t: usize, best: &[u32]) -> (S, Goal) {
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

    /// What is lost over each opened label that is not on the best path, if the best path goes on behind it.
    fn change_to_opened(&self, best: &[u32], changes: &mut Vec<Change<S>>, lengths: &mut Vec<usize>) {
        changes.clear();
        lengths.clear();
        let layers = &self.memory.layers;
        for (t, &here) in best.iter().enumerate() {
            lengths.push(0);
            if layers.layer(t).opened == 1 {
                continue;
            }
            let (most, goal) = self.best_value(t, best);
            for (_, entry) in layers.opened(t).filter(|&(index, _)| index != here) {
                let value = match goal {
                    Goal::Label(y) => entry.alpha + self.edges.get(t + 1, entry.label as usize, y as usize),
                    Goal::Any => entry.reach,
                };
                let length = if t == 0 || entry.back == best[t - 1] { 1 } else { 1 + lengths[t - 1] };
                lengths[t] = length.max(lengths[t]);
                if !value.is_forbidden() {
                    changes.push(Change { t, loss: most - value, length });
                }
            }
        }
    }
}
