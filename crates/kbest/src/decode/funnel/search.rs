//! The funnel's search: forward, one position after another, opening earlier ones further where that is needed.

use super::hits::Hits;
use super::layers::{Entry, Layers, NONE};
use crate::decode::{Decoded, Tally};
use crate::kernel::{AlignedVec, Float, LANES, argmax, padded};
use crate::lattice::{EdgeScores, Lattice, PerLabel};

/// Up to this many opened labels have all their edges read in vector passes; with more, the labels that matter are found
/// by the largest edge into each.
const ROWS_READ: u32 = 24;

/// Why the search ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Every path is forbidden.
    NoPath,
    /// More work than allowed: little can be pruned here.
    OverBudget,
    /// Scores so large that sums of them may be infinite: no k best paths from differences of scores.
    Overflow,
}

/// How much work a search may do, in vector steps of a Viterbi that reads every edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// At hand.
    pub(crate) left: usize,
    /// Added for every position.
    pub(crate) per_position: usize,
}

impl Budget {
    /// As much as it takes.
    pub(crate) const UNLIMITED: Budget = Budget { left: usize::MAX, per_position: 0 };
}

/// What things cost, in the vector steps of a Viterbi that reads every edge: a vector of a pass over the labels, a label
/// weighed, and an edge looked up for it (measured, roughly: their branches are hard to foresee).
pub(super) const PASS_COST: usize = 2;
const LABEL_COST: usize = 24;
pub(super) const EDGE_COST: usize = 3;

/// Working memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    pub(super) layers: Layers<S>,
    pub(super) values: AlignedVec<S>, // L: the largest value over several opened labels, or a bound on it
    gathered: Option<(usize, u32)>,   // where: the position, and the labels opened before it
    pub(super) buffer: AlignedVec<S>, // L: a row of edges that is not stored as one
    pub(super) ways_out: AlignedVec<S>, // L: ways out that are not stored as a row
    pub(super) found: Vec<u32>,       // labels that may reach the floor, or places of hits
    candidates: Vec<Candidate<S>>,    // the best way into each of them
    pub(super) fresh: Vec<Entry<S>>,  // labels about to be opened; none in between
    pub(super) hits: Hits<S>,         // for more than one path, after the search for the best one
    pub(super) jobs: Vec<Job<S>>,     // positions to be opened further
    best: Vec<u32>,                   // the entries of the best path
    pub(super) open_at: Vec<u32>,     // L: the position whose layer was last seen to have the label
}

impl<S: Float> Memory<S> {
    /// After a search: pushes the best path.
    pub(super) fn push_best(&mut self, out: &mut Decoded<S>) {
        self.layers.best_entries(&mut self.best);
        let last = self.layers.entry(self.best[self.best.len() - 1]);
        let path = out.push_path(self.best.len(), last.reach);
        for (label, &entry) in path.iter_mut().zip(&self.best) {
            *label = self.layers.entry(entry).label;
        }
    }
}

/// The best way into a label over the opened labels before it.
#[derive(Debug, Clone, Copy)]
struct Candidate<S> {
    label: u32,
    back: u32,
    value: S, // alpha + edge
}

/// Upper bounds of the values at a position over the opened labels before: `add + row[y]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// The start scores: exact.
    Start,
    /// The edges of the only opened label: exact.
    Only(u32),
    /// The largest over all opened labels, gathered in `values`: exact.
    Gathered,
    /// The best score with the largest edge into each label.
    Bounded,
}

/// What the labels of a position are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// Any label after them, or the end.
    Any,
    /// One label after them.
    Label(u32),
}

/// A position to be opened so far that every label that reaches the floor, on the way to the goal, is open.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job<S> {
    pub(super) t: usize,
    pub(super) goal: Goal,
    pub(super) floor: S,
}

/// One search over one lattice.
pub(super) struct Search<'s, 'l, S: Float, E, T> {
    pub(super) lattice: &'l Lattice<'l, S>,
    pub(super) edges: &'l E,
    pub(super) memory: &'s mut Memory<S>,
    pub(super) tally: &'s mut T,
    pub(super) budget: Budget,
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    pub(super) fn run(&mut self) -> Result<(), Stop> {
        let labels = self.lattice.labels();
        let memory = &mut *self.memory;
        memory.layers.clear();
        memory.values.resize_for_overwrite(labels);
        memory.buffer.resize_for_overwrite(padded(labels));
        memory.ways_out.resize_for_overwrite(padded(labels));
        memory.open_at.clear();
        memory.open_at.resize(labels, NONE);
        memory.jobs.clear();
        memory.fresh.clear();
        memory.hits.clear();
        memory.gathered = None;
        self.tally.round();
        for t in 0..self.lattice.positions() {
            self.budget.left = self.budget.left.saturating_add(self.budget.per_position);
            self.open(t)?;
        }
        Ok(())
    }

    /// Opens position `t` down to a floor that its best label is sure to reach. A label below it is worse than the best
    /// one and cannot lead to any value above the floor; [`Search::deepen`] is there for the values that are not.
    fn open(&mut self, t: usize) -> Result<(), Stop> {
        self.memory.layers.push_layer();
        let mut floor = None;
        loop {
            let source = self.prepare(t)?;
            let first = match floor {
                None => self.first_floor(t, source)?,
                Some(floor) => floor,
            };
            if first.is_forbidden() {
                return self.grope(t);
            }
            let rest = self.select(t, source, Goal::Any, first)?;
            let floor_now = first.larger(self.weigh(t)?);
            let job = Job { t, goal: Goal::Any, floor: floor_now };
            if let Some(rest) = self.settle(job, rest) {
                self.commit(job, rest);
                return Ok(());
            }
            self.memory.fresh.clear();
            self.work_off()?;
            floor = Some(floor_now);
        }
    }

    /// Opens position `t` down to `floor`, on the way to a goal, and positions before it as far as that needs.
    pub(super) fn deepen(&mut self, t: usize, goal: Goal, floor: S) -> Result<(), Stop> {
        self.memory.jobs.push(Job { t, goal, floor });
        self.work_off()
    }

    /// Does all jobs, those first that others have to wait for.
    #[cold]
    pub(super) fn work_off(&mut self) -> Result<(), Stop> {
        while let Some(&job) = self.memory.jobs.last() {
            if self.floor_toward(job.t, job.goal) <= job.floor {
                self.memory.jobs.pop();
                continue;
            }
            self.tally.round();
            let source = self.prepare(job.t)?;
            let rest = self.select(job.t, source, job.goal, job.floor)?;
            self.drop_opened(job.t);
            self.open_found(job, rest)?;
        }
        Ok(())
    }

    /// Opens the labels found for a job, with the fresh ones, or leaves jobs that have to be done first. Returns whether they
    /// were opened.
    pub(super) fn open_found(&mut self, job: Job<S>, rest: S) -> Result<bool, Stop> {
        self.weigh(job.t)?;
        let rest = self.settle(job, rest);
        match rest {
            Some(rest) => self.commit(job, rest),
            None => self.memory.fresh.clear(),
        }
        Ok(rest.is_some())
    }

    /// Every label at `t` that is not opened leads to values strictly below this on the way to the goal.
    fn floor_toward(&self, t: usize, goal: Goal) -> S {
        let floor = self.memory.layers.layer(t).floor;
        match goal {
            Goal::Any => floor,
            Goal::Label(after) => smaller(floor, self.memory.layers.toward(t, after)),
        }
    }

    /// Opens a position whose likeliest label cannot be had: looks at others, step by step, at last at all of them.
    #[cold]
    fn grope(&mut self, t: usize) -> Result<(), Stop> {
        let peak = S::largest(self.lattice.node_row(t));
        let top = if t == 0 { peak } else { self.memory.layers.layer(t - 1).best + peak };
        let mut step = S::from_f64(4.0 * self.lattice.edges().magnitude() + 1.0);
        while self.memory.layers.layer(t).best.is_forbidden() {
            if self.memory.layers.layer(t).floor.is_forbidden() {
                return Err(Stop::NoPath);
            }
            step = step + step + step + step;
            self.deepen(t, Goal::Any, if step.to_f64() < 1e30 { top - step } else { S::FORBIDDEN })?;
        }
        let sure = if self.is_last(t) {
            self.memory.layers.opened(t).fold(S::FORBIDDEN, |sure, (_, entry)| sure.larger(entry.reach))
        } else {
            self.memory.layers.layer(t).best + self.edges.bounds(t + 1).least_way_out()
        };
        self.deepen(t, Goal::Any, sure)
    }

    /// Opens the labels made ready for a job.
    pub(super) fn commit(&mut self, job: Job<S>, rest: S) {
        let Memory { layers, fresh, .. } = &mut *self.memory;
        self.tally.nodes(job.t, fresh.len());
        match job.goal {
            Goal::Any => layers.lower(job.t, fresh, job.floor, rest),
            Goal::Label(after) => layers.open_toward(job.t, fresh, after, job.floor, rest),
        }
        fresh.clear();
    }

    fn is_last(&self, t: usize) -> bool {
        t + 1 == self.lattice.positions()
    }

    /// Chooses how to bound the values at `t`, and gathers them if that takes a pass of its own.
    pub(super) fn prepare(&mut self, t: usize) -> Result<Source, Stop> {
        if t == 0 {
            self.memory.gathered = None; // the start scores may take its place
            return Ok(Source::Start);
        }
        let labels = self.lattice.labels();
        let Memory { layers, values, buffer, gathered, .. } = &mut *self.memory;
        let opened = layers.layer(t - 1).opened;
        // Without a bound for each label, edges are computed one by one: only those that are needed.
        if opened > ROWS_READ || matches!(self.edges.bounds(t).column, PerLabel::All(_)) {
            *gathered = None; // the bounds may take its place
            return Ok(Source::Bounded);
        }
        if let (1, Some((index, _))) = (opened, layers.opened(t - 1).next()) {
            return Ok(Source::Only(index));
        }
        if *gathered == Some((t, opened)) {
            return Ok(Source::Gathered); // for another goal
        }
        *gathered = Some((t, opened));
        values.fill(S::FORBIDDEN);
        for (_, entry) in layers.opened(t - 1) {
            let row = self.edges.row(t, entry.label as usize, buffer);
            S::max_plus_row(values, entry.alpha, &row[..labels]);
        }
        self.tally.edges(opened as usize * labels);
        self.spend(PASS_COST * opened as usize * labels.div_ceil(LANES))?;
        Ok(Source::Gathered)
    }

    /// The bounds of a source: a score to add, and a row to add it to.
    pub(super) fn bounds_of<'a>(
        lattice: &'a Lattice<'_, S>,
        edges: &'a E,
        layers: &Layers<S>,
        values: &'a mut AlignedVec<S>,
        buffer: &'a mut AlignedVec<S>,
        t: usize,
        source: Source,
    ) -> (S, &'a [S]) {
        let labels = lattice.labels();
        match source {
            Source::Start => (S::ZERO, as_slice(border(lattice.start()), values, labels)),
            Source::Only(index) => {
                let only = layers.entry(index);
                (only.alpha, &edges.row(t, only.label as usize, buffer)[..labels])
            }
            Source::Gathered => (S::ZERO, values),
            Source::Bounded => (layers.layer(t - 1).best, as_slice(edges.bounds(t).column, values, labels)),
        }
    }

    /// What some label is sure to reach: the best one, if the values are exact and nothing can keep it from going on,
    /// else the one with the best node score. Forbidden if that cannot be had.
    fn first_floor(&mut self, t: usize, source: Source) -> Result<S, Stop> {
        let node = self.lattice.node_row(t);
        if source != Source::Bounded && !self.is_last(t) && !self.edges.bounds(t + 1).dead_ends {
            let Memory { layers, values, buffer, .. } = &mut *self.memory;
            let (add, row) = Self::bounds_of(self.lattice, self.edges, layers, values, buffer, t, source);
            return Ok(S::largest_value(add, row, node) + self.edges.bounds(t + 1).least_way_out());
        }
        let (likely, _) = argmax(node).ok_or(Stop::NoPath)?;
        let mut looked = 0;
        let (value, _) = self.best_way_in(t, likely, &mut looked);
        self.tally.edges(looked);
        Ok(self.sure_reach(t, value, likely))
    }

    /// What a label with this value is sure to reach.
    #[inline(always)]
    fn sure_reach(&self, t: usize, value: S, y: usize) -> S {
        let score = value + self.lattice.node_row(t)[y];
        if self.is_last(t) {
            return self.lattice.with_end_score(score, y);
        }
        let bounds = self.edges.bounds(t + 1);
        // Nothing follows from how good a dead end is.
        if bounds.row.at(y).is_forbidden() { S::FORBIDDEN } else { score + bounds.least_way_out() }
    }

    /// Finds every label at `t` that may reach `floor`, and returns a bound on the scores of the others.
    ///
    /// Upper bound: over the opened labels their edges, or the best of them with the largest edge into each label; over
    /// labels that are not opened the floor of their layer; then the node and the largest way out. All are sums in the
    /// judge's order, so no label is missed by rounding.
    fn select(&mut self, t: usize, source: Source, goal: Goal, floor: S) -> Result<S, Stop> {
        let node = self.lattice.node_row(t);
        let least = if t == 0 { S::FORBIDDEN } else { self.memory.layers.layer(t - 1).floor };
        let Memory { layers, values, buffer, ways_out: spread, found, .. } = &mut *self.memory;
        let ways_out = match goal {
            Goal::Any => as_slice(largest_ways_out(self.lattice, self.edges, t), spread, node.len()),
            Goal::Label(y) => &self.edges.column(t + 1, y as usize, spread)[..node.len()],
        };
        let (add, row) = Self::bounds_of(self.lattice, self.edges, layers, values, buffer, t, source);
        found.clear();
        let rest = S::select_reaching(add, row, least, node, ways_out, floor, found);
        let found = found.len();
        self.spend(2 * PASS_COST * node.len().div_ceil(LANES) + LABEL_COST * found)?;
        Ok(rest)
    }

    /// Forgets the found and fresh labels that are open already.
    pub(super) fn drop_opened(&mut self, t: usize) {
        let Memory { layers, found, fresh, open_at, .. } = &mut *self.memory;
        layers.mark(t, open_at);
        found.retain(|&y| open_at[y as usize] != t as u32);
        fresh.retain(|entry| open_at[entry.label as usize] != t as u32);
    }

    /// Finds the best way into each found label, and returns what one of them is sure to reach.
    fn weigh(&mut self, t: usize) -> Result<S, Stop> {
        let mut candidates = std::mem::take(&mut self.memory.candidates);
        candidates.clear();
        let mut sure = S::FORBIDDEN;
        let mut looked = 0;
        for &label in &self.memory.found {
            let (value, back) = self.best_way_in(t, label as usize, &mut looked);
            sure = sure.larger(self.sure_reach(t, value, label as usize));
            candidates.push(Candidate { label, back, value });
            if EDGE_COST * looked > self.budget.left {
                break; // found out below
            }
        }
        self.memory.candidates = candidates;
        self.tally.edges(looked);
        self.spend(EDGE_COST * looked)?;
        Ok(sure)
    }

    /// The best opened label before `y` and the value it leads to; the lowest among equals, in whatever order they are
    /// walked. At the first position, the start score.
    #[inline(always)]
    pub(super) fn best_way_in(&self, t: usize, y: usize, looked: &mut usize) -> (S, u32) {
        if t == 0 {
            return (self.lattice.start().map_or(S::ZERO, |start| start[y]), NONE);
        }
        let (mut value, mut back, mut from) = (S::FORBIDDEN, NONE, u32::MAX);
        for run in self.memory.layers.runs(t - 1) {
            for (index, entry) in (run.first..).zip(run.entries) {
                // Upper bound: neither this label nor any of less reach leads to what is found already.
                if entry.reach < value {
                    if run.descending {
                        break;
                    }
                    continue;
                }
                *looked += 1;
                let score = entry.alpha + self.edges.get(t, entry.label as usize, y);
                if score > value || (score == value && entry.label < from) {
                    (value, back, from) = (score, index, entry.label);
                }
            }
        }
        (value, back)
    }

    /// Adds the candidates of a job to the fresh labels, and returns a bound on the scores of all other labels, given that
    /// of the labels not found. If one of them may have a better way in over a label that is not opened, leaves jobs that
    /// settle this first, and returns nothing.
    fn settle(&mut self, job: Job<S>, mut rest: S) -> Option<S> {
        let Job { t, goal, floor } = job;
        let node = self.lattice.node_row(t);
        let ways_out = largest_ways_out(self.lattice, self.edges, t);
        let mut need: Option<S> = None;
        let waiting = self.memory.jobs.len();
        for i in 0..self.memory.candidates.len() {
            let Candidate { label, back, value } = self.memory.candidates[i];
            let y = label as usize;
            let way_out = match goal {
                Goal::Any => ways_out.at(y),
                Goal::Label(after) => self.edges.get(t + 1, y, after as usize),
            };
            // Labels not opened before lead to values strictly below `below`, and to none above `others`. So the best way
            // in is found if its value is not below the one, or above the other.
            let (below, others) = self.bounds_before(t, y, goal);
            let settled = value >= below || value > others;
            let at_most = if settled { value } else { value.larger(smaller(below, others)) };
            let score = at_most + node[y];
            let reach = score + way_out;
            if reach < floor || reach.is_forbidden() {
                rest = rest.larger(score); // upper bound: it does not reach the floor
                continue;
            }
            if settled {
                self.memory.fresh.push(Entry { label, back, alpha: score, reach: score + ways_out.at(y) });
                continue;
            }
            // Only a value that reaches the floor, and is not worse than the label's own, need be found.
            let useful = value.larger(floor - way_out - node[y]);
            let wanted = if useful < below { useful } else { value };
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
        (self.memory.jobs.len() == waiting).then_some(rest)
    }

    /// Bounds of the values that labels not opened before `t` lead to at label `y`: strictly below the first, and not
    /// above the second.
    #[inline(always)]
    fn bounds_before(&self, t: usize, y: usize, goal: Goal) -> (S, S) {
        if t == 0 {
            return (S::FORBIDDEN, S::FORBIDDEN);
        }
        let layer = self.memory.layers.layer(t - 1);
        let below = match goal {
            Goal::Any => layer.floor,
            Goal::Label(_) => self.floor_toward(t - 1, Goal::Label(y as u32)),
        };
        (below, layer.rest + self.edges.bounds(t).column.at(y))
    }

    pub(super) fn spend(&mut self, edges: usize) -> Result<(), Stop> {
        self.budget.left = self.budget.left.checked_sub(edges).ok_or(Stop::OverBudget)?;
        Ok(())
    }
}

fn smaller<S: Float>(a: S, b: S) -> S {
    if a < b { a } else { b }
}

/// Start or end scores as bounds.
pub(super) fn border<S: Float>(scores: Option<&[S]>) -> PerLabel<'_, S> {
    scores.map_or(PerLabel::All(S::ZERO), PerLabel::Each)
}

/// The largest edge out of each label at `t`; at the last position, the end scores.
pub(super) fn largest_ways_out<'a, S: Float, E: EdgeScores<S>>(
    lattice: &'a Lattice<'_, S>,
    edges: &'a E,
    t: usize,
) -> PerLabel<'a, S> {
    if t + 1 == lattice.positions() { border(lattice.end()) } else { edges.bounds(t + 1).row }
}

/// One bound a label, spread out if it is the same for all.
pub(super) fn as_slice<'a, S: Float>(
    bounds: PerLabel<'a, S>,
    buffer: &'a mut AlignedVec<S>,
    labels: usize,
) -> &'a [S] {
    match bounds {
        PerLabel::Each(bounds) => bounds,
        PerLabel::All(bound) => {
            buffer[..labels].fill(bound);
            &buffer[..labels]
        }
    }
}
