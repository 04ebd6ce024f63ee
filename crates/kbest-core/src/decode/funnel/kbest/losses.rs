//! The losses of single changes to the best path, and a limit that falls as more of these losses are known.
//!
//! A *change* takes another label at a position, the best way into that label, and the best path's own labels after it.
//! Two changes differ in the last position changed or in the label there, so they make distinct paths. Losses are
//! counted in steps of the first limit, which is cheaper than selecting the `k - 1`-th of them again and again.
//!
//! **Cost.** A few steps per loss.

use super::combinations::Combinations;
use super::hit_loops::Hit;
use super::hits::Hits;
use super::smallest::keep_smallest;
use crate::simd::{self, Float, Loop};

/// From this many paths on, combinations of changes at several positions are counted.
pub(super) const MANY_PATHS: usize = 16;

/// The step of losses beyond the first limit, and so the number of steps below it.
const BEYOND: usize = 63;

/// The best path with its label at one position changed to another one that is already opened, and the best way to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<S> {
    pub(super) t: usize,
    pub(super) loss: S,
    /// How many labels of the best path it replaces, at most.
    pub(super) length: usize,
}

/// The losses of single changes, and the limit.
#[derive(Debug, Default)]
pub(super) struct Losses<S> {
    /// Larger losses do not count.
    pub(super) limit: S,
    /// How many paths are wanted besides the best one: `k - 1`.
    pub(super) further: usize,
    /// Changes to labels that are opened, by position.
    pub(super) open_changes: Vec<Change<S>>,
    /// The largest length of these at each position.
    pub(super) lengths: Vec<usize>,
    steps_per_loss: f64,
    counts: Vec<u32>, // number of losses by steps of the first limit, the last for all beyond it
    counted: usize,   // hits among them
    check_at: usize,  // number of hits at which to check whether the limit falls
    smallest: Vec<S>, // a buffer
}

/// The step of a loss.
#[inline(always)]
fn step<S: Float>(loss: S, steps_per_loss: f64) -> usize {
    usize::from((loss.to_f64() * steps_per_loss).min(BEYOND as f64) as u8)
}

impl<S: Float> Losses<S> {
    /// Begins with the changes to opened labels.
    pub(super) fn begin(&mut self, limit: S) {
        (self.limit, self.counted) = (limit, 0);
        self.check_at =
            self.further.saturating_add(self.further / 2 + 8).saturating_sub(self.open_changes.len());
        self.steps_per_loss = BEYOND as f64 / limit.to_f64();
        self.counts.clear();
        self.counts.resize(BEYOND + 1, 0);
        for change in &self.open_changes {
            self.counts[step(change.loss, self.steps_per_loss)] += 1;
        }
    }

    /// Lowers the limit, if there are enough new hits.
    ///
    /// ```text
    /// step(loss) = loss * steps per loss, rounded down, at most BEYOND
    /// limit      = (s + 1) / steps per loss,  s the first step with  counts[0] + ... + counts[s] >= k - 1
    /// ```
    #[inline(always)]
    pub(super) fn tighten(&mut self, hits: &[Hit<S>]) {
        if hits.len() <= self.check_at {
            return;
        }
        self.check_at = hits.len().saturating_add(self.further / 2 + 8);
        for hit in &hits[self.counted..] {
            self.counts[step(hit.loss, self.steps_per_loss)] += 1;
        }
        self.counted = hits.len();
        let mut changes = 0;
        let enough = |&count: &u32| {
            changes += count as usize;
            changes >= self.further
        };
        if let Some(last) = self.counts[..BEYOND].iter().position(enough) {
            self.limit = S::from_f64_up((last + 1) as f64 / self.steps_per_loss);
        }
    }

    /// The `k - 1`-th smallest loss, over opened labels and all hits, if there are that many.
    pub(super) fn last(&mut self, hits: &[Hit<S>]) -> Option<S> {
        self.smallest.clear();
        self.smallest.extend(self.open_changes.iter().map(|change| change.loss));
        self.smallest.extend(hits.iter().map(|hit| hit.loss));
        keep_smallest(&mut self.smallest, self.further).filter(|last| last.is_legal())
    }

    /// A guess at the `k - 1`-th smallest loss, from the likely loss at each position.
    pub(super) fn guess(&mut self, likely: impl Iterator<Item = S>) -> Option<S> {
        self.last(&[]).or_else(|| {
            self.smallest.extend(likely.map(|loss| loss.larger(S::ZERO)).filter(|loss| loss.is_legal()));
            keep_smallest(&mut self.smallest, self.further)
        })
    }

    /// A margin within which `k` paths lie, counting changes at several positions, if there are that many within the
    /// limit. Not for few paths: it would hardly be less than that of single changes.
    pub(super) fn combined(&self, k: usize, positions: usize, hits: &Hits<S>) -> Option<S> {
        if k < MANY_PATHS || !self.limit.is_legal() {
            return None;
        }
        simd::run(CountPaths { losses: self, k, positions, hits })
    }
}

/// Counts the paths with changes for [`Losses::combined`].
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
        let mut open_changes = losses.open_changes.iter().peekable();
        for t in 0..positions {
            while let Some(change) = open_changes.next_if(|change| change.t == t) {
                paths.change(std::iter::once(change.loss.to_f64()), change.length);
            }
            let (hits, length) = hits.at(t);
            paths.change(hits.iter().map(|hit| hit.loss.to_f64()), length);
            paths.next_position();
        }
        paths.margin(k).map(S::from_f64_up)
    }
}
