//! The funnel for more than one path.
//!
//! After the search for the best path, one pass backwards keeps every label on any path that loses no more than a margin
//! `d` against it. A label kept at `t` with slack `s` (it is on a path that loses `d - s`) wants every label before it that
//! leads to a value within `s` of its best one; what that label loses is taken from the slack. Layers are opened further
//! where a label not opened could be wanted. The labels kept are exactly those that some path within the margin uses: two or
//! three a position. On them the `k` best paths are enumerated; they are the `k` best of all if the last of them lies within
//! the margin.
//!
//! The margin comes from paths that differ from the best one in a single label, which one vector pass a position scores:
//! what the `k`-th best of them loses is enough. Only where there are not so many (short sequences, many forbidden labels)
//! is it widened step by step.

use super::layers::Layers;
use super::search::{Budget, Goal, Memory, Search, Stop, as_slice, border};
use crate::decode::path_space::{self, Columns, PathSpace, Survivors};
use crate::decode::{Decoded, Tally};
use crate::kernel::{AlignedVec, Float, LANES};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The labels on paths within a margin, in the form that the enumeration wants, and its memory.
#[derive(Debug, Default)]
pub(crate) struct Kept<S> {
    offsets: Vec<usize>, // T + 1
    labels: Vec<LabelId>,
    alpha: Vec<S>,
    wanted: Vec<Wanted<S>>,       // of the position at hand
    before: Vec<Wanted<S>>,       // of the position before it
    place: Vec<u32>,              // by entry: where it stands in `before`, plus one
    backwards: Vec<(LabelId, S)>, // all kept labels, the last position first
    best: Vec<u32>,               // the entries of the best path
    losses: BinaryHeap<Loss>,     // the smallest losses of a single label changed, largest on top
    usual: f64,                   // the margin that was enough last time
    pub(crate) paths: path_space::Memory<S>,
}

/// A label on some path within the margin, and how much of the margin is left for the way to it.
#[derive(Debug, Clone, Copy)]
struct Wanted<S> {
    entry: u32,
    slack: S,
}

impl<S: Float> Kept<S> {
    /// For the enumeration: the kept labels, and its memory.
    pub(crate) fn parts(&mut self) -> (Survivors<'_, S>, &mut path_space::Memory<S>) {
        let columns = Columns::Listed { offsets: &self.offsets, labels: &self.labels };
        (Survivors { alpha: &self.alpha, columns }, &mut self.paths)
    }

    /// Wants an entry of the position before, with at least this slack.
    fn want_before(&mut self, entry: u32, slack: S) {
        match self.place[entry as usize] {
            0 => {
                self.before.push(Wanted { entry, slack });
                self.place[entry as usize] = self.before.len() as u32;
            }
            place => {
                let wanted = &mut self.before[place as usize - 1];
                wanted.slack = wanted.slack.larger(slack);
            }
        }
    }

    /// Notes the labels of the position at hand and moves on to the one before it.
    fn step_back(&mut self, layers: &Layers<S>) {
        let first = self.backwards.len();
        let notes = self.wanted.iter().map(|wanted| layers.entry(wanted.entry));
        self.backwards.extend(notes.map(|entry| (entry.label, entry.alpha)));
        self.backwards[first..].sort_unstable_by_key(|&(label, _)| std::cmp::Reverse(label));
        self.offsets.push(self.backwards.len());
        for wanted in &self.before {
            self.place[wanted.entry as usize] = 0;
        }
        std::mem::swap(&mut self.wanted, &mut self.before);
        self.before.clear();
    }

    /// Turns the notes around: first position first, labels ascending.
    fn turn_around(&mut self) {
        let all = self.backwards.len();
        self.offsets.reverse();
        self.offsets.iter_mut().for_each(|offset| *offset = all - *offset);
        self.labels.clear();
        self.alpha.clear();
        for &(label, alpha) in self.backwards.iter().rev() {
            self.labels.push(label);
            self.alpha.push(alpha);
        }
    }
}

/// What a path loses against the best one.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Loss(f64);

impl Eq for Loss {}

impl PartialOrd for Loss {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Loss {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After [`Search::run`]: a margin within which `k` paths lie, from the best path with one label changed. `None` if
    /// there are not so many of these that lose no more than `limit`.
    fn margin_for(&mut self, k: usize, limit: f64, kept: &mut Kept<S>) -> Result<Option<f64>, Stop> {
        let (positions, labels) = (self.lattice.positions(), self.lattice.labels());
        self.memory.layers.best_entries(&mut kept.best);
        kept.losses.clear();
        for t in 0..positions {
            let node = self.lattice.node_row(t);
            let Memory { layers, values, buffer, ways_out, found, .. } = &mut *self.memory;
            let here = layers.entry(kept.best[t]);
            let (add, row) = match t {
                0 => (S::ZERO, spread(self.lattice.start(), values, labels)),
                _ => {
                    let before = layers.entry(kept.best[t - 1]);
                    (before.alpha, &self.edges.row(t, before.label as usize, buffer)[..labels])
                }
            };
            let way_out = match kept.best.get(t + 1) {
                Some(&after) => {
                    &self.edges.column(t + 1, layers.entry(after).label as usize, ways_out)[..labels]
                }
                None => spread(self.lattice.end(), ways_out, labels),
            };
            let best = here.alpha + way_out[here.label as usize];
            let worst =
                if kept.losses.len() < k - 1 { limit } else { kept.losses.peek().map_or(limit, |l| l.0) };
            found.clear();
            S::select_reaching(add, row, S::FORBIDDEN, node, way_out, best - S::from_f64(worst), found);
            for &y in found.iter().filter(|&&y| y != here.label) {
                let y = y as usize;
                let loss = best - (add + row[y] + node[y] + way_out[y]);
                kept.losses.push(Loss(loss.to_f64().max(0.0)));
                if kept.losses.len() == k {
                    kept.losses.pop();
                }
            }
            let found = found.len();
            self.spend(2 * labels.div_ceil(LANES) + found)?;
        }
        Ok(kept.losses.peek().filter(|_| kept.losses.len() == k - 1).map(|loss| loss.0))
    }

    /// After [`Search::run`]: keeps every label on any path that loses at most `margin` against the best (infinity: on
    /// any legal path).
    pub(super) fn keep_within(&mut self, margin: f64, kept: &mut Kept<S>) -> Result<(), Stop> {
        // Slacks are differences of rounded sums; what that may cost is added to begin with.
        let margin = S::from_f64_up(margin) + self.lattice.rounding_slack();
        let last = self.lattice.positions() - 1;
        kept.backwards.clear();
        kept.offsets.clear();
        kept.offsets.push(0);
        kept.wanted.clear();
        kept.before.clear();
        kept.place.clear();
        self.tally.round();
        let best =
            self.memory.layers.opened(last).fold(S::FORBIDDEN, |best, (_, entry)| best.larger(entry.reach));
        self.deepen(last, Goal::Any, best - margin)?;
        let reaching = self.memory.layers.opened(last).filter(|(_, entry)| entry.reach >= best - margin);
        kept.wanted
            .extend(reaching.map(|(i, entry)| Wanted { entry: i, slack: margin - (best - entry.reach) }));
        for t in (1..=last).rev() {
            for i in 0..kept.wanted.len() {
                self.want_predecessors(t, kept.wanted[i], kept)?;
            }
            kept.step_back(&self.memory.layers);
        }
        kept.step_back(&self.memory.layers);
        kept.turn_around();
        Ok(())
    }

    /// Wants every label before `wanted`, which is at position `t`, that leads to a value within its slack of the best.
    fn want_predecessors(&mut self, t: usize, wanted: Wanted<S>, kept: &mut Kept<S>) -> Result<(), Stop> {
        let entry = *self.memory.layers.entry(wanted.entry);
        let y = entry.label as usize;
        let back = self.memory.layers.entry(entry.back);
        let value = back.alpha + self.edges.get(t, back.label as usize, y);
        let limit = value - wanted.slack;
        let layer = self.memory.layers.layer(t - 1);
        // Upper bounds: labels not opened lead to values below the layer's floor, and to none above `others`.
        let others = layer.rest + self.edges.bounds(t).column.at(y);
        if layer.floor > limit && others >= limit {
            self.deepen(t - 1, Goal::Label(entry.label), limit)?;
        }
        kept.place.resize(self.memory.layers.len(), 0);
        let mut looked = 1;
        let mut opened = self.memory.layers.opened(t - 1);
        while let Some((index, before)) = opened.next() {
            if before.reach < limit {
                opened.end_run(); // upper bound: neither this label nor any after it in its run leads to as much
                continue;
            }
            looked += 1;
            let score = before.alpha + self.edges.get(t, before.label as usize, y);
            if score >= limit && !score.is_forbidden() {
                kept.want_before(index, wanted.slack - (value - score));
            }
        }
        self.tally.edges(looked);
        self.spend(looked)
    }
}

/// Searches, and keeps every label on any path that loses at most `margin` (infinity: on any legal path).
pub(crate) fn keep_within<S: Float, E: EdgeScores<S>, T: Tally>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    margin: f64,
    budget: Budget,
    memory: &mut Memory<S>,
    kept: &mut Kept<S>,
    tally: &mut T,
) -> Result<(), Stop> {
    let mut search = Search { lattice, edges, memory, tally, budget };
    search.run()?;
    search.keep_within(margin, kept)
}

/// Pushes the `k` best paths, if they are found within the budget.
pub(super) fn push_kbest<S: Float, E: EdgeScores<S>, T: Tally>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    k: usize,
    budget: Budget,
    memory: &mut Memory<S>,
    kept: &mut Kept<S>,
    tally: &mut T,
    out: &mut Decoded<S>,
) -> Result<(), Stop> {
    let mut search = Search { lattice, edges, memory, tally, budget };
    search.run()?;
    let spread = lattice.edges().magnitude() + lattice.largest_node_magnitude();
    // Rather too many changed labels than too few; but not all of them.
    let limit = if kept.usual > 0.0 { 4.0 * kept.usual } else { spread };
    let mut margin = match search.margin_for(k, limit, kept)? {
        Some(margin) => margin,
        None => search.margin_for(k, f64::INFINITY, kept)?.unwrap_or(limit),
    };
    loop {
        search.keep_within(margin, kept)?;
        out.clear_paths();
        let (survivors, paths) = kept.parts();
        PathSpace::new(lattice, edges, survivors, paths).push_best(k, search.tally, out);
        let best = out.paths.first().ok_or(Stop::NoPath)?.score.to_f64();
        let gap = match out.paths.get(k - 1) {
            Some(last) => best - last.score.to_f64(),
            None if margin == f64::INFINITY => return Ok(()), // there are no more
            None => f64::INFINITY,
        };
        if gap <= margin {
            kept.usual = margin;
            return Ok(());
        }
        // Too few paths within the margin: widen it until there are enough, then to where the last of them lies.
        let wider = 2.0 * margin + 0.02 * spread;
        margin = if gap.is_finite() {
            gap
        } else if wider < 16.0 * spread {
            wider
        } else {
            f64::INFINITY
        };
    }
}

/// Start or end scores; zeros if there are none.
fn spread<'a, S: Float>(scores: Option<&'a [S]>, buffer: &'a mut AlignedVec<S>, labels: usize) -> &'a [S] {
    as_slice(border(scores), buffer, labels)
}
