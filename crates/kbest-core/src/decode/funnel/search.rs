//! The funnel's search: forward, one position after another, opening earlier ones further where needed.
//!
//! This file defines the order of the work; [`super::passes`] looks at all labels of a position, [`super::ways_in`] at
//! the few that these select, and [`super::layers`] holds the opened labels. Between two calls of [`Search::open`],
//! [`Search::deepen`] or [`Search::work_off`] there are no jobs and no fresh labels, and the floor and rest of every
//! layer hold.

use super::alternative::Alternative;
use super::budget::{Budget, EDGE_COST, LABEL_COST, Stop};
use super::by_block::{looks_by_block, slack_of};
use super::layers::{Entry, Layers, NONE};
use super::passes::{Found, ROWS_READ, Source};
use super::survey::{Survey, survey};
use super::ways_in::Candidate;
use crate::decode::{Decoded, Tally};
use crate::lattice::{EdgeScores, Lattice, PerLabel};
use crate::simd::{AlignedVec, Float, padded};

/// Working memory of the search.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    pub(super) layers: Layers<S>,
    pub(super) values: [AlignedVec<S>; 2], // at even and odd positions, L: the largest value over several opened labels, or a bound on it
    pub(super) gathered: [Option<(usize, u32)>; 2], // for which position, and how many labels were opened before it
    pub(super) edge_buffer: AlignedVec<S>,          // L: a row of edges that is not stored as one
    pub(super) way_out_buffer: AlignedVec<S>,       // L: ways out that are not stored as a row
    pub(super) selected: Vec<u32>,                  // labels that may reach the floor
    pub(super) rivals: Vec<u32>,                    // labels before that may lead to as much as some value
    pub(super) candidates: Vec<Candidate<S>>,       // the best way into each of them
    pub(super) fresh: Vec<Entry<S>>,                // labels about to be opened
    pub(super) jobs: Vec<Job<S>>,                   // positions to be opened further
    pub(super) zeros: AlignedVec<S>, // L or more: start scores and ways out where there are none
    pub(super) open_at: Vec<u32>,    // L: the position at which the label was last seen to be open
    pub(super) seen: Vec<u32>,       // labels that a survey found
    pub(super) block_slack: S,       // of sums that are not added in the judge's order
    pub(super) likely_scores: AlignedVec<S>, // L: forward scores, as a survey guesses them
    best_path: Vec<u32>,             // its entries
}

impl<S> Memory<S> {
    /// Exchanges the selected labels and the rivals, which are empty except while a label asks for them.
    pub(super) fn swap_selected(&mut self) {
        std::mem::swap(&mut self.selected, &mut self.rivals);
    }
}

/// What the labels of a position are needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// Any label after them, or the end.
    Any,
    /// One label after them.
    Label(u32),
}

/// A position to be opened until every label that reaches the floor, on the way to the goal, is open.
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
    /// Whether every opened label needs its way back; otherwise only those of the best path do, in the end.
    pub(super) ways_back: bool,
}

impl<S: Float, E: EdgeScores<S>, T: Tally> Search<'_, '_, S, E, T> {
    /// After a search: pushes the best path.
    pub(super) fn push_best(&mut self, out: &mut Decoded<S>) {
        let mut best_path = std::mem::take(&mut self.memory.best_path);
        self.find_best_path(&mut best_path);
        let layers = &self.memory.layers;
        let path = out.push_path(best_path.len(), layers.entry(best_path[best_path.len() - 1]).reach);
        for (label, &entry) in path.iter_mut().zip(&best_path) {
            *label = layers.entry(entry).label;
        }
        self.memory.best_path = best_path;
    }

    /// After a search: the entries of the best path.
    pub(super) fn find_best_path(&mut self, entries: &mut Vec<u32>) {
        let mut looked = 0;
        self.memory.layers.best_entries(entries, |t, y| self.best_way_in(t, y as usize, &mut looked).1);
        self.tally.edges(looked);
    }

    pub(super) fn run(&mut self) -> Result<(), Stop> {
        let labels = self.lattice.labels();
        let memory = &mut *self.memory;
        memory.layers.unmark(&mut memory.open_at);
        memory.layers.clear();
        memory.values.iter_mut().for_each(|values| values.resize_for_overwrite(labels));
        memory.edge_buffer.resize_for_overwrite(padded(labels));
        memory.way_out_buffer.resize_for_overwrite(padded(labels));
        if looks_by_block(labels) {
            memory.block_slack = slack_of(self.lattice);
        }
        if memory.zeros.len() < labels {
            memory.zeros = AlignedVec::filled(labels, S::ZERO);
        }
        memory.open_at.resize(labels, NONE);
        memory.jobs.clear();
        memory.fresh.clear();
        memory.gathered = [None; 2];
        self.tally.round();
        for t in 0..self.lattice.positions() {
            self.open(t)?;
            self.budget.add_position();
        }
        self.budget.release();
        self.budget.left = self.budget.left.saturating_add(std::mem::take(&mut self.budget.later));
        Ok(())
    }

    /// Subtracts the cost of some work from the budget.
    #[inline(always)]
    pub(super) fn spend(&mut self, cost: usize) -> Result<(), Stop> {
        match self.budget.left.checked_sub(cost) {
            Some(left) => {
                self.budget.left = left;
                Ok(())
            }
            None => self.go_on(),
        }
    }

    /// When the budget is used up: goes on, with a larger one, if a look at the positions to come, or at this one, says that the
    /// alternative is likely to take longer. Not after the search for the best path: nothing tells what several paths take.
    #[cold]
    fn go_on(&mut self) -> Result<(), Stop> {
        let (positions, labels) = (self.lattice.positions(), self.lattice.labels());
        let next = self.memory.layers.positions();
        if next == positions && self.budget.release() {
            return Ok(()); // only the last position was hard
        }
        let all_open = next == positions && self.memory.layers.layer(next - 1).floor.is_legal();
        let here = self.memory.selected.len().max(self.memory.rivals.len());
        if !all_open && self.is_hard_alone(next, here) {
            return Ok(());
        }
        let looks = self.budget.looks.take().filter(|_| !all_open).ok_or(Stop::OverBudget)?;
        let survey = survey(self.lattice, self.edges, next, looks, &self.budget.alternative, self.memory);
        self.tally.edges(survey.looked * labels);
        let Survey { rows, cost, .. } = if survey.looked > 0 { survey } else { Survey::of_one(labels, here) };
        let anew = self.budget.alternative.cost(rows).saturating_mul(positions);
        let ahead = cost.saturating_mul(positions - next.saturating_sub(1));
        if ahead > anew {
            return Err(Stop::OverBudget);
        }
        // Part of what would be saved, because the look may be wrong; and something for a position at which all labels compete, if
        // that would cost the alternative more than usual, too.
        let Alternative { least, most, .. } = self.budget.alternative;
        self.budget.left =
            if most > least { (anew - ahead) / 2 + (most / 2).min(anew / 4) } else { anew / 4 };
        self.budget.most = self.budget.most.max(self.budget.left);
        Ok(())
    }

    /// Whether the position being opened is hard after easy ones: many labels may reach its floor, but few are opened before it. Then it
    /// costs less than the alternative would there, and is paid for.
    fn is_hard_alone(&mut self, next: usize, here: usize) -> bool {
        let Some(before) = next.checked_sub(2).map(|t| self.memory.layers.layer(t).opened as usize) else {
            return false;
        };
        // Each label is compared with those before it, and a few after it are compared with each.
        let cost = here * (3 * LABEL_COST + EDGE_COST * before);
        let alone = 8 * before <= here && 2 * cost <= self.budget.alternative.cost(here);
        let alone = alone && self.budget.paid_for != next; // once
        if alone {
            self.budget.paid_for = next;
            self.budget.left = 2 * cost;
            self.budget.most = self.budget.most.max(self.budget.left);
        }
        alone
    }

    /// Opens position `t` down to a floor that its best label is sure to reach. A label below it is worse than the best
    /// one and cannot lead to any value above the floor; smaller values are left to [`Search::deepen`].
    fn open(&mut self, t: usize) -> Result<(), Stop> {
        self.memory.layers.push_layer();
        let mut floor = None;
        loop {
            let Found { floor: first, rest, source } = self.look(t, Goal::Any, floor)?;
            if first.is_forbidden() {
                return self.grope(t);
            }
            if self.open_only(t, first, rest)? {
                return Ok(());
            }
            let floor_now = first.larger(self.weigh(t, source)?);
            let job = Job { t, goal: Goal::Any, floor: floor_now };
            if let Some(rest) = self.settle(job, rest)? {
                self.commit(job, rest);
                return Ok(());
            }
            self.memory.fresh.clear();
            self.work_off()?;
            floor = Some(floor_now);
        }
    }

    /// Opens position `t` down to `floor`, on the way to a goal, and positions before it as far as necessary.
    pub(super) fn deepen(&mut self, t: usize, goal: Goal, floor: S) -> Result<(), Stop> {
        self.memory.jobs.push(Job { t, goal, floor });
        self.work_off()
    }

    /// Does all jobs, those that others depend on first.
    #[cold]
    pub(super) fn work_off(&mut self) -> Result<(), Stop> {
        while let Some(&job) = self.memory.jobs.last() {
            if self.floor_toward(job.t, job.goal) <= job.floor {
                self.memory.jobs.pop();
                continue;
            }
            self.tally.round();
            let found = self.look(job.t, job.goal, Some(job.floor))?;
            self.drop_opened(job.t);
            self.open_selected(job, found.source, found.rest)?;
        }
        Ok(())
    }

    /// Opens the labels selected for a job, with the fresh ones, or adds jobs that must be done first. Returns whether
    /// they were opened.
    pub(super) fn open_selected(&mut self, job: Job<S>, source: Source, rest: S) -> Result<bool, Stop> {
        self.weigh(job.t, source)?;
        let rest = self.settle(job, rest)?;
        match rest {
            Some(rest) => self.commit(job, rest),
            None => self.memory.fresh.clear(),
        }
        Ok(rest.is_some())
    }

    /// Every label at `t` that is not opened leads to values strictly below this on the way to the goal.
    pub(super) fn floor_toward(&self, t: usize, goal: Goal) -> S {
        let floor = self.memory.layers.layer(t).floor;
        match goal {
            Goal::Any => floor,
            Goal::Label(after) => smaller(floor, self.memory.layers.toward(t, after)),
        }
    }

    /// Opens a position whose most likely label cannot be reached: tries others, step by step, in the end all of them.
    #[cold]
    fn grope(&mut self, t: usize) -> Result<(), Stop> {
        let peak = S::largest(self.lattice.node_row(t));
        let top = if t == 0 { peak } else { self.memory.layers.layer(t - 1).best_alpha + peak };
        let mut step = S::from_f64(4.0 * self.lattice.edges().magnitude() + 1.0);
        while self.memory.layers.layer(t).best_alpha.is_forbidden() {
            if self.memory.layers.layer(t).floor.is_forbidden() {
                return Err(Stop::NoPath);
            }
            step = step + step + step + step;
            self.deepen(t, Goal::Any, if step.to_f64() < 1e30 { top - step } else { S::FORBIDDEN })?;
        }
        let sure = if self.is_last(t) {
            self.memory.layers.opened(t).fold(S::FORBIDDEN, |sure, (_, entry)| sure.larger(entry.reach))
        } else {
            self.memory.layers.layer(t).best_alpha + self.edges.bounds(t + 1).least_way_out()
        };
        self.deepen(t, Goal::Any, sure)
    }

    /// Opens the labels prepared for a job.
    pub(super) fn commit(&mut self, job: Job<S>, rest: S) {
        let many = self.memory.fresh.len();
        // Where labels are compared one by one, the best ones settle the matter.
        let sorts = job.goal == Goal::Any
            && (self.ways_back
                || !self.is_last(job.t) && self.computes_edges(job.t + 1)
                || many > ROWS_READ && !self.reads_by_block_after(job.t, many));
        let Memory { layers, fresh, selected, .. } = &mut *self.memory;
        if self.tally.traces() {
            selected.iter().for_each(|&y| self.tally.pruned(job.t, y)); // opening takes it back
        }
        self.tally.opened_each(job.t, fresh.iter().map(|entry| entry.label));
        match job.goal {
            Goal::Any => layers.lower(job.t, fresh, sorts, job.floor, rest),
            Goal::Label(after) => layers.open_toward(job.t, fresh, after, job.floor, rest),
        }
        fresh.clear();
    }

    /// Whether the edges into position `t` are computed one by one, on demand: then nothing bounds each of them.
    #[inline(always)]
    pub(super) fn computes_edges(&self, t: usize) -> bool {
        matches!(self.edges.bounds(t).column, PerLabel::All(_))
    }

    pub(super) fn is_last(&self, t: usize) -> bool {
        t + 1 == self.lattice.positions()
    }

    /// Drops the selected and fresh labels that are already open.
    pub(super) fn drop_opened(&mut self, t: usize) {
        let Memory { layers, selected, fresh, open_at, .. } = &mut *self.memory;
        layers.mark(t, open_at);
        selected.retain(|&y| open_at[y as usize] != t as u32);
        fresh.retain(|entry| open_at[entry.label as usize] != t as u32);
    }
}

pub(crate) fn smaller<S: Float>(a: S, b: S) -> S {
    if a < b { a } else { b }
}
