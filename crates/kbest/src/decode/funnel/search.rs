//! The funnel's search: forward, one position after another, opening earlier ones further where that is needed.

use super::layers::{Entry, Layers, NONE};
use crate::decode::Tally;
use crate::kernel::{AlignedVec, Float, LANES, argmax};
use crate::lattice::{EdgeScores, Lattice, PerLabel};

/// Why the search ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Every path is forbidden.
    NoPath,
    /// More work than allowed: little can be pruned here.
    OverBudget,
}

/// Working memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    pub(super) layers: Layers<S>,
    gains: AlignedVec<S>, // L: largest edge in plus largest way out, where no matrix has it ready
    found: Vec<u32>,      // labels that a scan could not rule out
    candidates: Vec<Candidate<S>>, // the best way into each of them
    fresh: Vec<Entry<S>>, // labels about to be opened
    pending: Vec<(usize, S)>, // positions to be opened further, and how far
    is_open: Vec<bool>,   // L: labels that the layer at hand has already
}

/// The best way into a label over the opened labels before it.
#[derive(Debug, Clone, Copy)]
struct Candidate<S> {
    label: u32,
    back: u32,
    value: S, // alpha + edge
}

/// One search over one lattice.
pub(super) struct Search<'s, 'l, S: Float, E, T> {
    lattice: &'l Lattice<'l, S>,
    edges: &'l E,
    memory: &'s mut Memory<S>,
    tally: &'s mut T,
    /// Keep every label on any path that loses at most this much against the best.
    margin: S,
    /// Edges that may still be looked at (a vector of a scan counts as one).
    budget: usize,
    /// No term of a scan's sums is larger, but for node scores and forward scores.
    magnitude: f64,
}

impl<'s, 'l, S: Float, E: EdgeScores<S>, T: Tally> Search<'s, 'l, S, E, T> {
    pub(super) fn new(
        lattice: &'l Lattice<'l, S>,
        edges: &'l E,
        memory: &'s mut Memory<S>,
        tally: &'s mut T,
        margin: S,
        budget: usize,
    ) -> Self {
        let magnitude = 2.0 * lattice.edges().magnitude() + lattice.border_magnitude();
        Search { lattice, edges, memory, tally, margin, budget, magnitude }
    }

    pub(super) fn run(&mut self) -> Result<(), Stop> {
        self.memory.layers.clear();
        self.memory.is_open.clear();
        self.memory.is_open.resize(self.lattice.labels(), false);
        self.memory.pending.clear();
        self.tally.round();
        for t in 0..self.lattice.positions() {
            self.open(t)?;
        }
        Ok(())
    }

    /// Opens position `t` down to a floor that its best label is sure to reach. A label below it is worse than the best
    /// one and cannot lead to any value above the floor; [`Search::deepen`] is there for the values that are not.
    fn open(&mut self, t: usize) -> Result<(), Stop> {
        let (likely, peak) = argmax(self.lattice.node_row(t)).ok_or(Stop::NoPath)?;
        self.memory.layers.push_layer(peak);
        let mut looked = 0;
        let (value, _) = self.best_way_in(t, likely, &mut looked);
        let mut floor = self.sure_reach(t, value, likely) - self.margin;
        if floor.is_forbidden() {
            return self.grope(t, peak);
        }
        loop {
            self.scan(t, floor)?;
            floor = floor.larger(self.weigh(t)? - self.margin);
            match self.settle(t, floor) {
                Some(need) => self.deepen(t - 1, need)?,
                None => break,
            }
        }
        self.commit(t, floor);
        Ok(())
    }

    /// Opens a position whose likeliest label cannot be had: looks at others, step by step, at last at all of them.
    #[cold]
    fn grope(&mut self, t: usize, peak: S) -> Result<(), Stop> {
        let top = if t == 0 { peak } else { self.memory.layers.best(t - 1) + peak };
        let mut step = S::from_f64(4.0 * self.lattice.edges().magnitude() + 1.0);
        while self.memory.layers.best(t).is_forbidden() {
            if self.memory.layers.layer(t).floor.is_forbidden() {
                return Err(Stop::NoPath);
            }
            step = step + step + step + step;
            self.deepen(t, if step.to_f64() < 1e30 { top - step } else { S::FORBIDDEN })?;
        }
        let sure = if self.is_last(t) {
            self.memory.layers.opened(t).fold(S::FORBIDDEN, |sure, (_, entry)| sure.larger(entry.reach))
        } else {
            self.memory.layers.best(t) + self.edges.bounds(t + 1).least_way_out()
        };
        self.deepen(t, sure - self.margin)
    }

    /// What a label with this value is sure to reach: more than this for at least one label after it, or the end.
    #[inline(always)]
    fn sure_reach(&self, t: usize, value: S, y: usize) -> S {
        let score = value + self.lattice.node_row(t)[y];
        if self.is_last(t) {
            return self.lattice.with_end_score(score, y);
        }
        let bounds = self.edges.bounds(t + 1);
        // Dead ends do not count: nothing follows from how good they are.
        let way_out = if bounds.row.at(y).is_forbidden() { S::FORBIDDEN } else { bounds.least_way_out() };
        score + way_out
    }

    /// Opens position `t` down to `floor`, and positions before it as far as that needs.
    fn deepen(&mut self, t: usize, floor: S) -> Result<(), Stop> {
        let bottom = self.memory.pending.len();
        self.memory.pending.push((t, floor));
        while let Some(&(t, floor)) = self.memory.pending[bottom..].last() {
            if self.memory.layers.layer(t).floor <= floor {
                self.memory.pending.pop();
                continue;
            }
            self.tally.round();
            self.scan(t, floor)?;
            self.weigh(t)?;
            match self.settle(t, floor) {
                Some(need) => self.memory.pending.push((t - 1, need)),
                None => self.commit(t, floor),
            }
        }
        Ok(())
    }

    fn commit(&mut self, t: usize, floor: S) {
        self.tally.nodes(t, self.memory.fresh.len());
        self.memory.layers.extend(t, &mut self.memory.fresh, floor);
    }

    fn is_last(&self, t: usize) -> bool {
        t + 1 == self.lattice.positions()
    }

    /// Finds every label of position `t` that may reach `floor` and is not opened.
    ///
    /// Upper bound: the best score before, plus the largest edge in, plus the node, plus the largest way out. The sum is
    /// not added in the judge's order. Three roundings there and two here are each off by at most the unit roundoff
    /// times the sum of the terms' magnitudes (those of a label that passes are bounded by the others'), so a threshold
    /// lowered by eight such units misses no label.
    fn scan(&mut self, t: usize, floor: S) -> Result<(), Stop> {
        let node = self.lattice.node_row(t);
        let before = if t == 0 { S::ZERO } else { self.memory.layers.best(t - 1) };
        let peak = self.memory.layers.layer(t).peak;
        let threshold = if floor.is_forbidden() {
            S::FORBIDDEN
        } else {
            let (floor, before) = (floor.to_f64(), before.to_f64());
            let magnitude = floor.abs() + 2.0 * before.abs() + peak.to_f64().abs() + self.magnitude;
            S::from_f64(floor - before - 8.0 * S::UNIT_ROUNDOFF * magnitude)
        };
        let Memory { layers, gains, found, is_open, .. } = &mut *self.memory;
        found.clear();
        let gains = gains_at(self.lattice, self.edges, t, gains);
        S::select_at_least(node, gains, threshold, found);
        if layers.is_opened(t) {
            layers.opened(t).for_each(|(_, entry)| is_open[entry.label as usize] = true);
            found.retain(|&y| !is_open[y as usize]);
            layers.opened(t).for_each(|(_, entry)| is_open[entry.label as usize] = false);
        }
        self.spend(2 * node.len().div_ceil(LANES))
    }

    /// Finds the best way into each found label, and returns what is sure to be reached by one of them.
    fn weigh(&mut self, t: usize) -> Result<S, Stop> {
        let mut sure = S::FORBIDDEN;
        let mut looked = 0;
        self.memory.candidates.clear();
        for i in 0..self.memory.found.len() {
            let label = self.memory.found[i];
            let (value, back) = self.best_way_in(t, label as usize, &mut looked);
            sure = sure.larger(self.sure_reach(t, value, label as usize));
            self.memory.candidates.push(Candidate { label, back, value });
        }
        self.tally.edges(looked);
        self.spend(looked)?;
        Ok(sure)
    }

    /// Makes the candidates that reach `floor` ready to be opened. If one of them may have a better way in over a label
    /// that is not opened, returns how far the position before must be opened for all of them to be settled.
    fn settle(&mut self, t: usize, floor: S) -> Option<S> {
        let node = self.lattice.node_row(t);
        let floor_before = if t == 0 { S::FORBIDDEN } else { self.memory.layers.layer(t - 1).floor };
        let ways_out =
            if self.is_last(t) { border(self.lattice.end()) } else { self.edges.bounds(t + 1).row };
        let mut need: Option<S> = None;
        let Memory { candidates, fresh, .. } = &mut *self.memory;
        fresh.clear();
        for &Candidate { label, back, value } in candidates.iter() {
            let y = label as usize;
            let way_out = ways_out.at(y);
            // Labels not opened before lead to values strictly below `floor_before`, so this label is settled if its own
            // value, less the margin, is not below that.
            let settled = value - self.margin >= floor_before;
            let at_most = if settled { value } else { value.larger(floor_before) };
            let reach = at_most + node[y] + way_out;
            if reach < floor || reach.is_forbidden() {
                continue; // upper bound: it does not reach the floor
            }
            if settled {
                fresh.push(Entry { label, back, alpha: value + node[y], reach });
            } else {
                // Only a value that reaches the floor, and is not worse than the label's own, need be found.
                let useful = value.larger(floor - way_out - node[y]) - self.margin;
                let wanted = if useful < floor_before { useful } else { value - self.margin };
                need = Some(need.map_or(wanted, |need| if wanted < need { wanted } else { need }));
            }
        }
        need
    }

    /// The best opened label before `y` and the value it leads to; the lowest among equals, though they are walked in
    /// descending reach. At the first position, the start score.
    #[inline(always)]
    fn best_way_in(&self, t: usize, y: usize, looked: &mut usize) -> (S, u32) {
        if t == 0 {
            return (self.lattice.start().map_or(S::ZERO, |start| start[y]), NONE);
        }
        let (mut value, mut back, mut from) = (S::FORBIDDEN, NONE, u32::MAX);
        for (index, entry) in self.memory.layers.opened(t - 1) {
            // Upper bound: neither this label nor any after it leads to what is found already.
            if entry.reach < value {
                break;
            }
            *looked += 1;
            let score = entry.alpha + self.edges.get(t, entry.label as usize, y);
            if score > value || (score == value && entry.label < from) {
                (value, back, from) = (score, index, entry.label);
            }
        }
        (value, back)
    }

    fn spend(&mut self, edges: usize) -> Result<(), Stop> {
        match self.budget.checked_sub(edges) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(Stop::OverBudget),
        }
    }
}

/// For every label the largest edge in (or start score) plus the largest way out (or end score).
fn gains_at<'a, S: Float>(
    lattice: &'a Lattice<'_, S>,
    edges: &'a impl EdgeScores<S>,
    t: usize,
    buffer: &'a mut AlignedVec<S>,
) -> &'a [S] {
    let (first, last) = (t == 0, t + 1 == lattice.positions());
    if !first
        && !last
        && let Some(through) = edges.bounds(t).through
    {
        return through;
    }
    let into = if first { border(lattice.start()) } else { edges.bounds(t).column };
    let out = if last { border(lattice.end()) } else { edges.bounds(t + 1).row };
    match (into, out) {
        (PerLabel::Each(only), PerLabel::All(other)) | (PerLabel::All(other), PerLabel::Each(only))
            if other == S::ZERO =>
        {
            return only;
        }
        _ => {}
    }
    buffer.resize_for_overwrite(lattice.labels());
    match into {
        PerLabel::Each(into) => buffer.copy_from_slice(into),
        PerLabel::All(into) => buffer.fill(into),
    }
    match out {
        PerLabel::Each(out) => S::add_row(buffer, out),
        PerLabel::All(out) => buffer.iter_mut().for_each(|gain| *gain += out),
    }
    buffer
}

/// Start or end scores as bounds.
fn border<S: Float>(scores: Option<&[S]>) -> PerLabel<'_, S> {
    scores.map_or(PerLabel::All(S::ZERO), PerLabel::Each)
}
