//! Ours: bounds first, scores only where they can matter.
//!
//! **Durations.** The convolution over lengths leaves out whole blocks of starts (`lengths.rs`); every forward score stays
//! exact, so it serves any `k`. **Scores on demand.** Three steps, the funnel's:
//!
//! 1. *Completions*: a backward pass with a bound in the place of each explicit score says what can still be gained after each
//!    end (`completions.rs`).
//! 2. *Floor*: judge the segmentation that these bounds favour by its true score: the best is at least as good. (For `k` of them:
//!    the `k` best with bounds by length; the worst of their true scores is a floor of the `k`-th best.)
//! 3. *Forward*, exactly: a segment's score is asked for only if the exact score before it, its bound and the completion after
//!    it reach the floor.
//!
//! **Why exact.** Bounds of step 3 are added in another order than the judge's, so only what lies below the floor by more
//! than [`SegmentLattice::rounding_slack`] is left out; everything on any of the `k` best segmentations, ties included, is
//! asked for, and exact forward scores decide. **Cost.** `T L^2 + T W L` of cheap bounds, and few scores where bounds are
//! good. **When it loses.** Scores that cost no more than their bounds; bounds far above the scores.

use super::completions::Completions;
use super::decoder::{Scratch, best_of, fill};
use super::derivations::Derivations;
use super::forward::Inside;
use super::judge::Prepared;
use super::lattice::Explicit;
use super::scores::SpanBounds;
use super::{Counters, Segment, SegmentLattice, Segmentation};
use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::{EdgeScores, with_edges};
use crate::simd::Float;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Explicit scores that were asked for: start, end, label.
pub(super) type Asked = HashMap<(u32, u32, u32), f64, BuildHasherDefault<Mixed>>;

/// A hash of three small numbers: they come from the search, not from a stranger, so a multiplication per number suffices.
#[derive(Debug, Default)]
pub(super) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }
}

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub asked: Asked,
    path: Vec<Segment>,
    alive: Vec<(u32, f64)>, // labels that a segment may have here, and their scores less the node scores before
    began: Vec<u32>, // (T + 1) x L: where the best segment with this end and label starts; the shortest if several do
}

/// The `k` best segmentations.
pub(super) fn search<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    k: usize,
    scratch: &mut Scratch<S>,
    counters: &mut Counters,
) -> Result<Vec<Segmentation<S>>> {
    let Some(by_length) = lattice.bounds_by_length() else {
        fill(lattice, scratch, true, counters);
        return best_of(lattice, &scratch.forward, k, |inside, s, r, y| {
            lattice.plus_explicit(inside, s, r, y)
        });
    };
    scratch.funnel.asked.clear();
    scratch.bounds.reset(lattice);
    scratch.completions.fill(lattice, &mut scratch.bounds);
    let floor = match k {
        1 => likely(lattice, scratch)?,
        _ => floor_of_many(lattice, &relax(lattice, by_length), k, scratch, counters)?,
    };
    let Scratch { forward, completions, bounds, peaks, funnel, .. } = scratch;
    let cells = (lattice.positions() + 1) * lattice.labels();
    peaks.clear();
    peaks.resize(cells, f64::NEG_INFINITY);
    funnel.began.clear();
    funnel.began.resize(cells, 0);
    let least = floor - lattice.rounding_slack();
    let mut asking =
        Asking { lattice, completions, bounds, least, remember: k > 1, memory: funnel, peaks, done: 0 };
    forward.fill(lattice, &mut asking, counters);
    counters.explicit += asking.done;
    if k == 1 {
        let labels = lattice.labels();
        return Ok(vec![forward.trace_starts(lattice, |end, y| funnel.began[end * labels + y] as usize)?]);
    }
    best_of(lattice, forward, k, |inside, s, r, y| inside + asked_for(&funnel.asked, s, r, y))
}

/// The score that was asked for; minus infinity if it cannot matter.
pub(super) fn asked_for(asked: &Asked, s: usize, r: usize, y: usize) -> f64 {
    asked.get(&(s as u32, r as u32, y as u32)).copied().unwrap_or(f64::NEG_INFINITY)
}

/// The score of a segment, asked for once.
pub(super) fn ask<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    asked: &mut Asked,
    s: usize,
    r: usize,
    y: usize,
) -> f64 {
    let key = (s as u32, r as u32, y as u32);
    *asked.entry(key).or_insert_with(|| lattice.explicit(s, r, y as LabelId).to_f64())
}

/// The lattice with a bound in the place of each explicit score.
fn relax<'a, S: Float>(lattice: &SegmentLattice<'a, S>, bounds: &[S]) -> SegmentLattice<'a, S> {
    let mut prepared: Prepared = lattice.prepared().clone();
    for (duration, bound) in prepared.durations.iter_mut().zip(bounds) {
        *duration += bound.to_f64();
    }
    SegmentLattice { explicit: Explicit::None, prepared: prepared.into(), ..lattice.clone() }
}

/// The true score of the segmentation that bounds favour; minus infinity if it is forbidden.
pub(super) fn likely<S: Float>(lattice: &SegmentLattice<'_, S>, scratch: &mut Scratch<S>) -> Result<f64> {
    let Scratch { completions, bounds, funnel, .. } = scratch;
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let Completions { after_enter, after_end, .. } = completions;
    let sums = &lattice.prepared().sums;
    funnel.path.clear();
    let mut s = 0;
    let mut best = largest(labels, |y| lattice.enter_first(y).to_f64() + after_enter[y]);
    while let Some(y) = best {
        let rows = bounds.of_start(lattice, s);
        let end = largest(positions.min(s + lattice.longest()) - s, |d| {
            let at = (s + d + 1) * labels + y;
            let inside = lattice.inside_without_explicit(S::ZERO, s, s + d + 1, y);
            inside + rows[d * labels + y].to_f64() + sums[at] + after_end[at]
        });
        let Some(d) = end else { return Ok(f64::NEG_INFINITY) };
        let r = s + d + 1;
        funnel.path.push(Segment { start: s, end: r, label: y as LabelId });
        if r == positions {
            let asked = &mut funnel.asked;
            let score =
                lattice.score_with(&funnel.path, |inside, s, r, y| inside + ask(lattice, asked, s, r, y))?;
            return Ok(score.to_f64());
        }
        best = with_edges!(lattice.chain, |edges| largest(labels, |next| {
            edges.get(r, y, next).to_f64() + after_enter[r * labels + next]
        }));
        s = r;
    }
    Ok(f64::NEG_INFINITY)
}

/// The first of the largest values, if any is above minus infinity.
fn largest(count: usize, value: impl Fn(usize) -> f64) -> Option<usize> {
    let mut best = (f64::NEG_INFINITY, None);
    for i in 0..count {
        let value = value(i);
        if value > best.0 {
            best = (value, Some(i));
        }
    }
    best.1
}

/// A score that the `k`-th best segmentation attains at least; minus infinity if none is known.
fn floor_of_many<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    relaxed: &SegmentLattice<'_, S>,
    k: usize,
    scratch: &mut Scratch<S>,
    counters: &mut Counters,
) -> Result<f64> {
    fill(relaxed, scratch, true, counters);
    let mut derivations = Derivations::default();
    let (mut found, mut worst) = (0, f64::INFINITY);
    let asked = &mut scratch.funnel.asked;
    for _ in 0..k.saturating_mul(2).saturating_add(4) {
        let Some(best) = derivations.next(relaxed, &scratch.forward, |inside, _, _, _| inside) else { break };
        let score =
            lattice.score_with(&best.segments, |inside, s, r, y| inside + ask(lattice, asked, s, r, y))?;
        if !score.is_forbidden() {
            found += 1;
            worst = worst.min(score.to_f64());
            if found == k {
                return Ok(worst);
            }
        }
    }
    Ok(f64::NEG_INFINITY)
}

/// Step 3: asks for the scores that can matter.
struct Asking<'f, 'l, S: Float> {
    lattice: &'f SegmentLattice<'l, S>,
    completions: &'f Completions,
    bounds: &'f mut SpanBounds<S>,
    least: f64, // what reaches less cannot be among the best
    remember: bool,
    memory: &'f mut Memory,
    peaks: &'f mut [f64], // (T + 1) x L
    done: u64,
}

impl<S: Float> Inside<S> for Asking<'_, '_, S> {
    fn start(&mut self, s: usize, entered: &[S]) {
        let (lattice, labels, least) = (self.lattice, entered.len(), self.least);
        let Memory { asked, alive, began, .. } = &mut *self.memory;
        let p = lattice.prepared();
        // Bound: no completion after entering here reaches the floor.
        let after = &self.completions.after_enter[s * labels..][..labels];
        alive.clear();
        for (y, (&entered, after)) in entered.iter().zip(after).enumerate() {
            if entered.to_f64() + after >= least && !entered.is_forbidden() {
                alive.push((y as u32, entered.to_f64() - p.opening()[s * labels + y]));
            }
        }
        if alive.is_empty() || p.closed[s] {
            return;
        }
        let rows = self.bounds.of_start(lattice, s).chunks_exact(labels);
        for (r, bounds) in (s + 1..).zip(rows) {
            let at = r * labels;
            let durations = &p.durations[(r - s - 1) * labels..][..labels];
            // Bound: nor does one through this segment.
            let reaches = |y: usize, start: f64| {
                let bound = (start + durations[y]) + bounds[y].to_f64();
                let total = bound + p.sums[at + y] + self.completions.after_end[at + y];
                total >= least && total != f64::NEG_INFINITY && lattice.may_be(s, r, y)
            };
            if !alive.iter().any(|&(y, start)| reaches(y as usize, start)) {
                continue;
            }
            let of_rows = matches!(lattice.explicit, Explicit::Rows { .. });
            let mut raise = |y: usize, start: f64, explicit: f64| {
                let bound = bounds[y].to_f64();
                debug_assert!(!of_rows || explicit <= bound, "[{s}, {r}), label {y}: {explicit} > {bound}");
                self.done += 1;
                let inside = (start + durations[y]) + explicit;
                // The shortest of equally good ones: starts rise.
                if inside >= self.peaks[at + y] {
                    (self.peaks[at + y], began[at + y]) = (inside, s as u32);
                }
            };
            let survivors = alive.iter().map(|&(y, start)| (y as usize, start));
            let survivors = survivors.filter(|&(y, start)| reaches(y, start));
            match &lattice.explicit {
                Explicit::Rows { scores, .. } if !self.remember => scores.show(s, r, &mut |row| {
                    survivors.clone().for_each(|(y, start)| raise(y, start, row[y].to_f64()));
                }),
                _ => survivors.for_each(|(y, start)| raise(y, start, ask(lattice, asked, s, r, y))),
            }
        }
    }

    fn best(&mut self, r: usize, peak: &mut [f64]) {
        peak.copy_from_slice(&self.peaks[r * peak.len()..][..peak.len()]);
    }
}
