//! Priority-driven search with a learned estimate: fast, and probably nearly right.
//!
//! **What.** A segment `[s, r)` with label `y` that has yet to be scored waits with the priority
//!
//! ```text
//! entered[s][y] + node[s..r][y] + duration[r-s][y] + expected(s, r, y) + after[r][y]
//! ```
//!
//! where `expected` stands for the segment's explicit score and `after` for everything that follows; both come from a
//! [`LearnedEstimate`]. What can be proven is not left to it: where the admissible bound (`completions.rs`) is lower, that is the
//! priority. The first complete segmentation that comes off the agenda is the answer (Druck, Narasimhan and Viola
//! 2007, lemma 3): if on some best segmentation no priority is too low by more than `delta`, the answer is at most `delta`
//! worse. How often that holds was measured when the estimate was learned; the answer's
//! [`Guarantee`] repeats it.
//!
//! **Cost.** The backward pass of the admissible bound, `T L^2 + T W L` cheap steps; then `O(1)` per segment on the agenda, and
//! explicit scores only for what comes off. Estimates may be inconsistent, so a label may be entered again with a better score; after
//! `(T (W + 1) + 1) L` steps the search gives up, and the exact one is asked. **When not.** Where the answer must be the best one.

use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::segment::astar::{self, Item, Waiting};
use crate::segment::completions::{Completions, Raise};
use crate::segment::decoder::Scratch;
use crate::segment::lattice::Explicit;
use crate::segment::scores::SpanBounds;
use crate::segment::{Counters, Estimate, Guarantee, Segment, SegmentLattice, Segmentation};
use crate::simd::{Float, padded, run};
use std::collections::BinaryHeap;

/// What segments and completions of one sequence will probably score.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedEstimate {
    /// `(T + 1) x L`: a segment `[s, r)` is expected to score `sums[r][y] - sums[s][y] - once[y]` explicitly.
    pub(in crate::segment) sums: Vec<f64>,
    pub(in crate::segment) once: Vec<f64>,
    /// `(T + 1) x L`: what follows a segment that ends here with this label; the first row is not used.
    pub(in crate::segment) after: Vec<f64>,
    pub(in crate::segment) guarantee: Guarantee,
}

impl Default for LearnedEstimate {
    fn default() -> Self {
        LearnedEstimate { sums: vec![], once: vec![], after: vec![], guarantee: Guarantee::None }
    }
}

impl LearnedEstimate {
    /// What a segment and all that follows it are expected to score, the edge into it not counted.
    ///
    /// # Panics
    /// If the lattice cannot have such a segment.
    pub fn completion<S: Float>(&self, lattice: &SegmentLattice<'_, S>, segment: Segment) -> f64 {
        let Segment { start, end, label } = segment;
        let (labels, y) = (self.once.len(), label as usize);
        let expected = self.sums[end * labels + y] - self.sums[start * labels + y] - self.once[y];
        lattice.known(start, end, y) + expected + self.after[end * labels + y]
    }
}

/// Working memory.
#[derive(Debug, Default)]
pub(in crate::segment) struct Memory<S> {
    agenda: BinaryHeap<Waiting>,
    entered: Vec<S>,    // T x L
    before: Vec<u32>,   // T x L: the label before
    peak: Vec<f64>,     // (T + 1) x L: the best `inside` found
    began: Vec<u32>,    // (T + 1) x L: where that segment began
    explicit: Vec<f64>, // (T + 1) x L: its explicit score
    reach: Vec<f64>,    // (T + 1) x L: all that depends on the end of a segment only
    ahead: Vec<f64>,    // T x L: the best that entering here is expected to lead to
    reached: Vec<bool>, // T: `ahead` is known
    buffer: Vec<S>,     // padded: one row of edges
}

fn refill<V: Clone>(values: &mut Vec<V>, count: usize, value: V) {
    values.clear();
    values.resize(count, value);
}

impl<S: Float> Memory<S> {
    fn reset(&mut self, lattice: &SegmentLattice<'_, S>, estimate: &LearnedEstimate) {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        self.agenda.clear();
        refill(&mut self.entered, positions * labels, S::FORBIDDEN);
        refill(&mut self.before, positions * labels, 0);
        refill(&mut self.peak, (positions + 1) * labels, f64::NEG_INFINITY);
        refill(&mut self.began, (positions + 1) * labels, 0);
        refill(&mut self.explicit, (positions + 1) * labels, 0.0);
        refill(&mut self.ahead, positions * labels, f64::NEG_INFINITY);
        refill(&mut self.reached, positions, false);
        refill(&mut self.buffer, padded(labels), S::FORBIDDEN);
        let sums = &lattice.prepared().sums;
        self.reach.clear();
        self.reach.extend((0..sums.len()).map(|i| sums[i] + estimate.sums[i] + estimate.after[i]));
    }

    /// Enters a label, if that is better than before.
    fn enter(
        &mut self,
        lattice: &SegmentLattice<'_, S>,
        estimate: &LearnedEstimate,
        completions: &Completions,
        s: usize,
        y: usize,
        entered: S,
        before: usize,
    ) {
        let (labels, at) = (lattice.labels(), s * lattice.labels() + y);
        if entered <= self.entered[at] {
            return;
        }
        self.entered[at] = entered;
        self.before[at] = before as u32;
        if !std::mem::replace(&mut self.reached[s], true) {
            let p = lattice.prepared();
            let ahead = &mut self.ahead[s * labels..][..labels];
            run(Raise { best: ahead, reach: &self.reach[(s + 1) * labels..], gains: &p.durations });
            for y in 0..labels {
                ahead[y] -= p.opening()[s * labels + y] + estimate.sums[s * labels + y] + estimate.once[y];
                ahead[y] = ahead[y].min(completions.after_enter[s * labels + y]);
            }
        }
        let entered = entered.to_f64();
        let (priority, item) =
            (entered + self.ahead[at], Item::Enter { at: s as u32, label: y as u32, entered });
        if priority != f64::NEG_INFINITY {
            self.agenda.push(Waiting { priority, item });
        }
    }
}

/// A segmentation that is probably nearly the best, or the best one if that takes too long, and what is known of it.
///
/// # Errors
/// [`Error::Unsupported`] if the lattice has no estimate, [`Error::NoPath`].
pub(in crate::segment) fn best<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    scratch: &mut Scratch<S>,
    counters: &mut Counters,
) -> Result<(Segmentation<S>, Guarantee)> {
    let Some(estimate) = &lattice.learned else {
        let reason = "learned bounds belong to models, and this lattice has none; \
                      use the estimate admissible, or a model that `kbest learn-bound` has given one";
        return Err(Error::Unsupported { decoder: "semi-astar", reason: reason.into() });
    };
    let Scratch { completions, bounds, learned: memory, .. } = &mut *scratch;
    match search(lattice, estimate, completions, bounds, memory, counters)? {
        Some(found) if lattice.as_learned => Ok((found, estimate.guarantee)),
        Some(found) => Ok((found, Guarantee::None)),
        None => Ok((astar::search(lattice, Estimate::Admissible, scratch, counters)?, Guarantee::Exact)),
    }
}

/// A segmentation that is probably nearly the best; `None` if the search takes too long.
///
/// # Errors
/// [`Error::NoPath`] if all are forbidden.
fn search<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    estimate: &LearnedEstimate,
    completions: &mut Completions,
    bounds: &mut SpanBounds<S>,
    memory: &mut Memory<S>,
    counters: &mut Counters,
) -> Result<Option<Segmentation<S>>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    memory.reset(lattice, estimate);
    bounds.reset(lattice);
    completions.fill(lattice, bounds);
    let completions = &*completions;
    let sums = &lattice.prepared().sums;
    for y in 0..labels {
        memory.enter(lattice, estimate, completions, 0, y, lattice.enter_first(y), 0);
    }
    let mut steps = positions.saturating_mul(lattice.longest() + 1).saturating_add(1).saturating_mul(labels);
    while let Some(Waiting { item, .. }) = memory.agenda.pop() {
        if steps == 0 {
            return Ok(None);
        }
        steps -= 1;
        match item {
            Item::Enter { at, label, entered } => {
                let (s, y) = (at as usize, label as usize);
                if entered < memory.entered[s * labels + y].to_f64() {
                    continue; // a better way in has been found since
                }
                let less = estimate.sums[s * labels + y] + estimate.once[y];
                let rows = bounds.of_start(lattice, s);
                let ends = s + 1..=positions.min(s + lattice.longest());
                counters.segments += ends.clone().count() as u64;
                memory.agenda.extend(ends.filter_map(|r| {
                    let inside = lattice.inside_without_explicit(S::from_f64(entered), s, r, y);
                    let at = r * labels + y;
                    let most = match &lattice.explicit {
                        Explicit::None => 0.0,
                        Explicit::Array { .. } => lattice.explicit(s, r, label).to_f64(),
                        Explicit::Function { .. } | Explicit::Rows { .. } => {
                            rows[(r - s - 1) * labels + y].to_f64()
                        }
                    };
                    // The lower of what is expected and what is possible.
                    let possible = most + sums[at] + completions.after_end[at];
                    let priority = inside + (memory.reach[at] - less).min(possible);
                    let item = Item::Segment { start: s as u32, end: r as u32, label, entered };
                    (priority != f64::NEG_INFINITY).then_some(Waiting { priority, item })
                }));
            }
            Item::Segment { start, end, label, entered } => {
                let (s, r, y) = (start as usize, end as usize, label as usize);
                if entered < memory.entered[s * labels + y].to_f64() {
                    continue;
                }
                let explicit = if lattice.has_explicit() {
                    counters.explicit += 1;
                    lattice.explicit(s, r, label).to_f64()
                } else {
                    0.0
                };
                let inside = lattice.inside_without_explicit(S::from_f64(entered), s, r, y) + explicit;
                let at = r * labels + y;
                if inside <= memory.peak[at] {
                    continue;
                }
                (memory.peak[at], memory.began[at], memory.explicit[at]) = (inside, start, explicit);
                let score = lattice.leave(inside, r, y);
                if r == positions {
                    let priority = lattice.chain().with_end_score(score, y).to_f64();
                    if priority != f64::NEG_INFINITY {
                        memory.agenda.push(Waiting { priority, item: Item::End { at: end, label, inside } });
                    }
                    continue;
                }
                counters.edges += labels as u64;
                let mut buffer = std::mem::take(&mut memory.buffer);
                with_edges!(lattice.chain(), |edges| {
                    let row = edges.row(r, y, &mut buffer);
                    for next in 0..labels {
                        memory.enter(lattice, estimate, completions, r, next, score + row[next], y);
                    }
                });
                memory.buffer = buffer;
            }
            // Only complete segmentations wait as ends. The first one off is the answer.
            Item::End { label, .. } => return trace(lattice, memory, label).map(Some),
        }
    }
    Err(Error::NoPath)
}

/// The way back. Where a label was entered again since with a better score, the answer has the better way.
fn trace<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    memory: &Memory<S>,
    last: LabelId,
) -> Result<Segmentation<S>> {
    let labels = lattice.labels();
    let (mut end, mut label, mut segments) = (lattice.positions(), last, vec![]);
    while end > 0 {
        let start = memory.began[end * labels + label as usize] as usize;
        segments.push(Segment { start, end, label });
        label = memory.before.get(start * labels + label as usize).map_or(0, |&before| before);
        end = start;
    }
    segments.reverse();
    let with_explicit = |inside: f64, _, r: usize, y: usize| {
        if lattice.has_explicit() { inside + memory.explicit[r * labels + y] } else { inside }
    };
    let score = lattice.score_with(&segments, with_explicit)?;
    Ok(Segmentation { segments, score })
}
