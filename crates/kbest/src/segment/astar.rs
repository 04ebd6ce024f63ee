//! Priority-driven search over segments, with an estimate of what completes them.
//!
//! **What.** Partial segmentations wait on an agenda by their score plus an estimate that their completion never exceeds;
//! the best one is taken off and continued, until nothing left can beat a complete one (Druck, Narasimhan and Viola 2007,
//! section 3). What is continued: *entering* a label at a position, a *segment* that has yet to be scored, and *ends*. A
//! segment's own score is asked for only when the segment comes off the agenda.
//!
//! **Estimates.** With `rate[y] = max over d of (duration[d][y] + largest explicit[d][y] + best edge into y) / d`, no segment
//! gains more than the sum of `node + rate` over its positions. [`Estimate::Admissible`] takes the best label at each
//! position; [`Estimate::None`] knows one number for all positions, the best there is anywhere.
//!
//! **Why exact.** Estimates are never too low but for rounding, so the search goes on until priorities fall below the best
//! answer by more than [`SegmentLattice::rounding_slack`]; forward scores and the tie rule decide. **Cost.** From about the
//! segments near the best answer up to `T W L` of them, each with a logarithm. **When it loses.** Where the estimate is loose:
//! durations and edges that gain much now and then.

use super::decoder::SegmentScratch;
use super::funnel::{Asked, ask, asked_for};
use super::lattice::Explicit;
use super::{SegmentCounters, SegmentLattice, Segmentation};
use crate::error::{Error, Result};
use crate::kernel::Float;
use crate::lattice::{EdgeScores, Shape, with_edges};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// What the search knows of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Estimate {
    /// Nothing but how many positions are left.
    None,
    /// The best node score and rate at each position.
    #[default]
    Admissible,
}

impl Estimate {
    /// The name users say.
    pub fn name(self) -> &'static str {
        match self {
            Estimate::None => "none",
            Estimate::Admissible => "admissible",
        }
    }
}

impl std::str::FromStr for Estimate {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Estimate::None, Estimate::Admissible].into_iter().find(|e| e.name() == name).ok_or_else(|| {
            Error::UnknownName {
                what: "completion estimate",
                name: name.into(),
                expected: "none, admissible".into(),
            }
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Item {
    /// Label entered, with this score.
    Enter { at: u32, label: u32, entered: f64 },
    /// A segment, entered with this score, whose own score is not yet known.
    Segment { start: u32, end: u32, label: u32, entered: f64 },
    /// A segment has ended, with this `inside`.
    End { at: u32, label: u32, inside: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Waiting {
    priority: f64,
    item: Item,
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

/// Upper bounds of completions.
struct Bounds {
    ahead: Vec<f64>,    // T + 1: what the positions from here on can gain, and the end
    edge: Vec<f64>,     // L: the best edge into a label; 0 if there is none
    explicit: Vec<f64>, // W x L: the largest explicit score of a length and label; empty if there are none
}

impl Bounds {
    fn new<S: Float>(lattice: &SegmentLattice<'_, S>, estimate: Estimate) -> Self {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        let count = lattice.longest() * labels;
        let explicit: Vec<f64> = match &lattice.explicit {
            Explicit::None => vec![],
            Explicit::Function { bounds, .. } => bounds[..count].iter().map(|bound| bound.to_f64()).collect(),
            Explicit::Array { longest, scores } => {
                let mut largest = vec![f64::NEG_INFINITY; count];
                for (s, rows) in scores.chunks_exact(longest * labels).enumerate() {
                    let legal = count.min((positions - s) * labels);
                    for (largest, score) in largest.iter_mut().zip(&rows[..legal]) {
                        *largest = largest.max(score.to_f64());
                    }
                }
                largest
            }
        };
        let mut edge = vec![f64::NEG_INFINITY; labels];
        let several = matches!(lattice.chain.edges().shape(), Shape::PerPosition(_) | Shape::Callback(_));
        with_edges!(lattice.chain, |edges| {
            for t in 1..if several { positions } else { positions.min(2) } {
                let column = edges.bounds(t).column;
                (0..labels).for_each(|y| edge[y] = edge[y].max(column.at(y).to_f64()));
            }
        });
        for edge in &mut edge {
            *edge = if *edge == f64::NEG_INFINITY { 0.0 } else { *edge };
        }
        let mut rate = vec![f64::NEG_INFINITY; labels];
        for (i, &duration) in lattice.prepared().durations.iter().enumerate() {
            let y = i % labels;
            let gain = duration + explicit.get(i).copied().unwrap_or(0.0) + edge[y];
            rate[y] = rate[y].max(gain / (i / labels + 1) as f64);
        }
        let best = |t: usize| {
            let boundary = |y: usize| {
                let at = |scores: &[S]| scores[t * labels + y].to_f64().max(0.0);
                lattice.boundaries.as_ref().map_or(0.0, |[begin, end]| at(begin) + at(end))
            };
            let nodes = lattice.chain.node_row(t).iter().zip(&rate).enumerate();
            nodes
                .map(|(y, (node, rate))| node.to_f64() + rate + boundary(y))
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let mut gains: Vec<f64> = (0..positions).map(best).collect();
        if estimate == Estimate::None {
            let largest = gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            gains.fill(largest);
        }
        let end = lattice.chain.end().map_or(0.0, |end| S::largest(end).to_f64());
        let mut ahead = vec![end; positions + 1];
        for t in (0..positions).rev() {
            ahead[t] = ahead[t + 1] + gains[t];
        }
        Bounds { ahead, edge, explicit }
    }
}

/// The best segmentation.
pub(super) fn search<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    estimate: Estimate,
    scratch: &mut SegmentScratch<S>,
    counters: &mut SegmentCounters,
) -> Result<Segmentation<S>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let bounds = Bounds::new(lattice, estimate);
    let slack = lattice.rounding_slack();
    let sums = &lattice.prepared().sums;
    let forward = &mut scratch.forward;
    forward.reset(lattice);
    let mut asked = Asked::default();
    let mut agenda = BinaryHeap::new();
    let mut best = f64::NEG_INFINITY; // of a complete segmentation
    for y in 0..labels {
        let entered = lattice.enter_first(y);
        if !entered.is_forbidden() {
            forward.entered[y] = entered;
            let (priority, entered) = (entered.to_f64() - bounds.edge[y] + bounds.ahead[0], entered.to_f64());
            agenda.push(Waiting { priority, item: Item::Enter { at: 0, label: y as u32, entered } });
        }
    }
    while let Some(Waiting { priority, item }) = agenda.pop() {
        // Bound: priorities are never below the score of the best completion, but for rounding.
        if priority < best - slack || priority == f64::NEG_INFINITY {
            break;
        }
        match item {
            Item::Enter { at, label, entered } => {
                let (s, y) = (at as usize, label as usize);
                if entered < forward.entered[s * labels + y].to_f64() {
                    continue; // a better way in has been found since
                }
                for r in s + 1..=positions.min(s + lattice.longest()) {
                    counters.segments += 1;
                    let inside = lattice.inside_without_explicit(S::from_f64(entered), s, r, y);
                    let more = bounds.explicit.get((r - s - 1) * labels + y).copied().unwrap_or(0.0);
                    let priority = inside + more + sums[r * labels + y] + bounds.ahead[r];
                    if priority < best - slack || priority == f64::NEG_INFINITY {
                        continue;
                    }
                    if lattice.has_explicit() {
                        let item = Item::Segment { start: at, end: r as u32, label, entered };
                        agenda.push(Waiting { priority, item });
                    } else if inside > forward.peak[r * labels + y] {
                        forward.peak[r * labels + y] = inside;
                        agenda.push(Waiting { priority, item: Item::End { at: r as u32, label, inside } });
                    }
                }
            }
            Item::Segment { start, end, label, entered } => {
                let (s, r, y) = (start as usize, end as usize, label as usize);
                if entered < forward.entered[s * labels + y].to_f64() {
                    continue;
                }
                let explicit = ask(lattice, &mut asked, s, r, y);
                let inside = lattice.inside_without_explicit(S::from_f64(entered), s, r, y) + explicit;
                if inside > forward.peak[r * labels + y] {
                    forward.peak[r * labels + y] = inside;
                    let priority = inside + sums[r * labels + y] + bounds.ahead[r];
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
                            let priority = entered - bounds.edge[next] + bounds.ahead[r];
                            let item = Item::Enter { at, label: next as u32, entered };
                            agenda.push(Waiting { priority, item });
                        }
                    }
                });
            }
        }
    }
    counters.explicit += asked.len() as u64;
    forward.trace(
        lattice,
        |inside, s, r, y| {
            if lattice.has_explicit() { inside + asked_for(&asked, s, r, y) } else { inside }
        },
    )
}
