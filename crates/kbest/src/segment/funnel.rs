//! Ours: bounds first, scores only where they can matter.
//!
//! **Durations.** The convolution over lengths leaves out whole blocks of starts (`lengths.rs`); every forward score stays
//! exact, so it serves any `k`. **Scores on demand.** Four steps, the funnel's:
//!
//! 1. *Relax*: replace each explicit score by its bound for that length and label. The relaxed lattice has no explicit scores,
//!    so its forward scores are cheap; they are upper bounds.
//! 2. *Floor*: judge the `k` best segmentations of the relaxed lattice by their true scores. The worst of them is a floor:
//!    the `k`-th best is at least as good.
//! 3. *Completions*: a backward pass over the relaxed lattice bounds what can still be gained after each end.
//! 4. *Forward*, exactly: a segment's score is asked for only if the exact score before it, its bound and the completion after
//!    it reach the floor.
//!
//! **Why exact.** Bounds of step 4 are added in another order than the judge's, so only what lies below the floor by more
//! than [`SegmentLattice::rounding_slack`] is left out; everything on any of the `k` best segmentations, ties included, is
//! asked for, and exact forward scores decide. **Cost.** `T L^2 + T W L` of cheap bounds, and few scores where bounds are
//! good. **When it loses.** Scores that cost no more than their bounds; bounds far above the scores.

use super::completions::Completions;
use super::decoder::{SegmentScratch, best_of, fill};
use super::derivations::Derivations;
use super::forward::Inside;
use super::judge::Prepared;
use super::lattice::Explicit;
use super::{SegmentCounters, SegmentLattice, Segmentation};
use crate::error::Result;
use crate::kernel::Float;
use crate::label::LabelId;
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

/// The `k` best segmentations.
pub(super) fn search<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    k: usize,
    scratch: &mut SegmentScratch<S>,
    counters: &mut SegmentCounters,
) -> Result<Vec<Segmentation<S>>> {
    let Explicit::Function { bounds, .. } = &lattice.explicit else {
        fill(lattice, scratch, true, counters);
        return best_of(lattice, &scratch.forward, k, |inside, s, r, y| {
            lattice.plus_explicit(inside, s, r, y)
        });
    };
    let relaxed = relax(lattice, bounds);
    fill(&relaxed, scratch, true, counters);
    let mut asked = Asked::default();
    let floor = floor(lattice, &relaxed, k, scratch, &mut asked)?;
    scratch.completions.fill(&relaxed);
    let mut asking = Asking {
        lattice,
        relaxed: &relaxed,
        completions: &scratch.completions,
        least: floor - lattice.rounding_slack(),
        asked,
        peaks: std::mem::take(&mut scratch.peaks),
    };
    asking.peaks.clear();
    asking.peaks.resize((lattice.positions() + 1) * lattice.labels(), f64::NEG_INFINITY);
    scratch.forward.fill(lattice, &mut asking, counters);
    let Asking { asked, peaks, .. } = asking;
    scratch.peaks = peaks;
    counters.explicit += asked.len() as u64;
    best_of(lattice, &scratch.forward, k, |inside, s, r, y| inside + asked_for(&asked, s, r, y))
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

/// A score that the `k`-th best segmentation attains at least; minus infinity if none is known.
fn floor<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    relaxed: &SegmentLattice<'_, S>,
    k: usize,
    scratch: &SegmentScratch<S>,
    asked: &mut Asked,
) -> Result<f64> {
    let mut derivations = Derivations::default();
    let (mut found, mut worst) = (0, f64::INFINITY);
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

/// Step 4: asks for the scores that can matter.
struct Asking<'f, 'l, S: Float> {
    lattice: &'f SegmentLattice<'l, S>,
    relaxed: &'f SegmentLattice<'l, S>,
    completions: &'f Completions,
    least: f64, // what reaches less cannot be among the best
    asked: Asked,
    peaks: Vec<f64>, // (T + 1) x L
}

impl<S: Float> Inside<S> for Asking<'_, '_, S> {
    fn start(&mut self, s: usize, entered: &[S]) {
        let (lattice, labels) = (self.lattice, entered.len());
        let sums = &lattice.prepared().sums;
        for (y, &entered) in entered.iter().enumerate() {
            // Bound: no completion after entering here reaches the floor.
            if entered.to_f64() + self.completions.after_enter[s * labels + y] < self.least {
                continue;
            }
            for r in s + 1..=lattice.positions().min(s + lattice.longest()) {
                let at = r * labels + y;
                let bound = self.relaxed.inside_without_explicit(entered, s, r, y);
                // Bound: nor does one through this segment.
                if bound == f64::NEG_INFINITY
                    || bound + sums[at] + self.completions.after_end[at] < self.least
                {
                    continue;
                }
                let explicit = ask(lattice, &mut self.asked, s, r, y);
                let inside = lattice.inside_without_explicit(entered, s, r, y) + explicit;
                self.peaks[at] = self.peaks[at].max(inside);
            }
        }
    }

    fn best(&mut self, r: usize, peak: &mut [f64]) {
        peak.copy_from_slice(&self.peaks[r * peak.len()..][..peak.len()]);
    }
}
