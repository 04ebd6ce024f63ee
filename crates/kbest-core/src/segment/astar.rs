//! Priority-driven search over segments, with an estimate of what completes them.
//!
//! **What.** Partial segmentations wait on an agenda by their score plus an estimate that their completion never exceeds;
//! the best one is taken off and continued, until nothing left can beat a complete one (Druck, Narasimhan and Viola 2007,
//! section 3). What is continued: *entering* a label at a position, a *segment* that has yet to be scored, and *ends*. A
//! segment's own score is asked for only when the segment comes off the agenda.
//!
//! **Estimates.** [`Estimate::Admissible`](super::Estimate::Admissible) is a backward pass over the lattice with bounds in the place of explicit scores
//! (`completions.rs`); [`Estimate::None`](super::Estimate::None) knows one number for all positions, the most that any of them can gain.
//!
//! **Why exact.** Estimates are never too low but for rounding, so the search goes on until priorities fall below the best
//! answer by more than [`SegmentLattice::rounding_slack`]; forward scores and the tie rule decide. **Cost.** The backward pass
//! (`T L^2 + T W L` cheap steps), then the segments near the best answer, each with a logarithm: of all searches it asks for
//! the fewest explicit scores. **When it loses.** Where scores are in memory, the backward pass costs as much as decoding.

use super::completions::Completions;
use super::decoder::Scratch;
use super::funnel::{ask, asked_for, likely};
use super::lattice::Explicit;
use super::{Counters, Estimate, SegmentLattice, Segmentation};
use crate::error::Result;
use crate::lattice::{EdgeScores, with_edges};
use crate::simd::Float;
use std::cmp::Ordering;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Item {
    /// Label entered, with this score.
    Enter { at: u32, label: u32, entered: f64 },
    /// A segment, entered with this score, whose own score is not yet known.
    Segment { start: u32, end: u32, label: u32, entered: f64 },
    /// A segment has ended, with this `inside`.
    End { at: u32, label: u32, inside: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Waiting {
    pub priority: f64,
    pub item: Item,
}

impl Waiting {
    /// Among equal priorities, what has come further is first.
    fn position(&self) -> u32 {
        match self.item {
            Item::Enter { at, .. } | Item::End { at, .. } => at,
            Item::Segment { end, .. } => end,
        }
    }
}

impl Eq for Waiting {}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        let priorities = self.priority.partial_cmp(&other.priority).unwrap_or(Ordering::Equal);
        priorities.then(self.position().cmp(&other.position()))
    }
}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best segmentation. The search with a learned estimate falls back on this one, with the admissible estimate.
pub(super) fn search<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    estimate: Estimate,
    scratch: &mut Scratch<S>,
    counters: &mut Counters,
) -> Result<Segmentation<S>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let on_demand = lattice.is_on_demand();
    scratch.bounds.reset(lattice);
    scratch.funnel.asked.clear();
    let mut best = f64::NEG_INFINITY; // of a complete segmentation
    match estimate {
        Estimate::None => scratch.completions.fill_uninformed(lattice),
        Estimate::Admissible | Estimate::Learned => {
            scratch.completions.fill(lattice, &mut scratch.bounds);
            if on_demand {
                best = likely(lattice, scratch)?; // what is worse need not wait on the agenda
            }
        }
    }
    let Scratch { forward, completions, bounds, funnel, agenda, .. } = scratch;
    let Completions { after_enter, after_end, .. } = completions;
    let slack = lattice.rounding_slack();
    let sums = &lattice.prepared().sums;
    forward.reset(lattice);
    let asked = &mut funnel.asked;
    agenda.clear();
    for y in 0..labels {
        let entered = lattice.enter_first(y);
        if !entered.is_forbidden() {
            forward.entered[y] = entered;
            let (priority, entered) = (entered.to_f64() + after_enter[y], entered.to_f64());
            agenda.push(Waiting { priority, item: Item::Enter { at: 0, label: y as u32, entered } });
        }
    }
    while let Some(Waiting { priority, item }) = agenda.pop() {
        // Bound: priorities are never below the score of the best completion, but for rounding.
        if priority < best - slack || priority == f64::NEG_INFINITY {
            break;
        }
        match item {
            Item::Enter { at: at_start, label, entered } => {
                let (s, y) = (at_start as usize, label as usize);
                if entered < forward.entered[s * labels + y].to_f64() {
                    continue; // a better way in has been found since
                }
                let rows = bounds.of_start(lattice, s);
                for r in s + 1..=positions.min(s + lattice.longest()) {
                    counters.segments += 1;
                    let (entered_with, at) = (S::from_f64(entered), r * labels + y);
                    let (inside, more) = match on_demand {
                        true => {
                            let inside = lattice.inside_without_explicit(entered_with, s, r, y);
                            (inside, rows[(r - s - 1) * labels + y].to_f64())
                        }
                        false => (lattice.inside(entered_with, s, r, y), 0.0),
                    };
                    let priority = inside + more + sums[at] + after_end[at];
                    // Bound: as above.
                    if priority < best - slack || priority == f64::NEG_INFINITY {
                        continue;
                    }
                    if on_demand {
                        let item = Item::Segment { start: at_start, end: r as u32, label, entered };
                        agenda.push(Waiting { priority, item });
                    } else if inside > forward.peak[at] {
                        forward.peak[at] = inside;
                        agenda.push(Waiting { priority, item: Item::End { at: r as u32, label, inside } });
                    }
                }
            }
            Item::Segment { start, end, label, entered } => {
                let (s, r, y) = (start as usize, end as usize, label as usize);
                if entered < forward.entered[s * labels + y].to_f64() {
                    continue;
                }
                let explicit = ask(lattice, asked, s, r, y);
                let inside = lattice.inside_without_explicit(S::from_f64(entered), s, r, y) + explicit;
                if inside > forward.peak[r * labels + y] {
                    forward.peak[r * labels + y] = inside;
                    let priority = inside + sums[r * labels + y] + after_end[r * labels + y];
                    agenda.push(Waiting { priority, item: Item::End { at: end, label, inside } });
                }
            }
            Item::End { at, label, inside } => {
                let (r, y) = (at as usize, label as usize);
                if inside < forward.peak[r * labels + y] {
                    continue;
                }
                let score = lattice.leave(inside, r, y);
                if r == positions {
                    best = best.max(lattice.chain.with_end_score(score, y).to_f64());
                    continue;
                }
                counters.edges += labels as u64;
                with_edges!(lattice.chain, |edges| {
                    for next in 0..labels {
                        let entered = score + edges.get(r, y, next);
                        let known = &mut forward.entered[r * labels + next];
                        if entered > *known {
                            *known = entered;
                            let entered = entered.to_f64();
                            let priority = entered + after_enter[r * labels + next];
                            // Bound: as above.
                            if priority < best - slack {
                                continue;
                            }
                            let item = Item::Enter { at, label: next as u32, entered };
                            agenda.push(Waiting { priority, item });
                        }
                    }
                });
            }
        }
    }
    counters.explicit += match &lattice.explicit {
        Explicit::None => 0,
        Explicit::Function { .. } | Explicit::Rows { .. } => asked.len() as u64,
        Explicit::Array { .. } => counters.segments, // and all of them in the backward pass
    };
    forward.trace(lattice, |inside, s, r, y| {
        if on_demand { inside + asked_for(asked, s, r, y) } else { lattice.plus_explicit(inside, s, r, y) }
    })
}
