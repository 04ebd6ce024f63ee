//! The best `inside` at every end where segments have scores of their own.
//!
//! Each start raises all ends it can reach: the explicit scores of one start lie one after another, so they are read once,
//! from front to back. **Cost.** `T W L`, and a call for each segment (or for each of its labels) if scores are computed on
//! demand. Starts of forbidden segments are done segment by segment.

use super::SegmentLattice;
use super::forward::Inside;
use super::lattice::Explicit;
use crate::simd::{Float, Loop, run};

/// Ends that are being raised.
pub(super) struct Pushed<'p, 'l, S: Float> {
    lattice: &'p SegmentLattice<'l, S>,
    peaks: &'p mut Vec<f64>, // (T + 1) x L
    hindered: Vec<bool>,     // T: a segment that starts here is forbidden; empty if none is
}

impl<'p, 'l, S: Float> Pushed<'p, 'l, S> {
    pub(super) fn new(lattice: &'p SegmentLattice<'l, S>, peaks: &'p mut Vec<f64>) -> Self {
        peaks.clear();
        peaks.resize((lattice.positions() + 1) * lattice.labels(), f64::NEG_INFINITY);
        let mut hindered = vec![false; if lattice.forbidden.is_empty() { 0 } else { lattice.positions() }];
        lattice.forbidden.iter().for_each(|&(_, start, _)| hindered[start] = true);
        Pushed { lattice, peaks, hindered }
    }
}

impl<S: Float> Inside<S> for Pushed<'_, '_, S> {
    fn start(&mut self, s: usize, entered: &[S]) {
        let (lattice, labels) = (self.lattice, entered.len());
        let last = lattice.positions().min(s + lattice.longest());
        let free = self.hindered.get(s) != Some(&true);
        match &lattice.explicit {
            Explicit::Array { longest, scores } if free => {
                let prepared = lattice.prepared();
                let count = (last - s) * labels;
                let from = (s + 1) * labels;
                run(Push {
                    entered,
                    sums: &prepared.opening()[s * labels..][..labels],
                    durations: &prepared.durations[..count],
                    scores: &scores[s * longest * labels..][..count],
                    earliest: prepared
                        .earliest
                        .as_ref()
                        .map(|earliest| (s as u32, &earliest[from..][..count])),
                    peaks: &mut self.peaks[from..][..count],
                });
            }
            Explicit::Rows { scores, .. } if free => {
                let prepared = lattice.prepared();
                if prepared.closed[s] {
                    return;
                }
                for r in (s + 1..=last).filter(|&r| !prepared.closed[r]) {
                    let at = r * labels..(r + 1) * labels;
                    let peaks = &mut self.peaks[at.clone()];
                    scores.show(s, r, &mut |scores| {
                        run(Push {
                            entered,
                            sums: &prepared.opening()[s * labels..][..labels],
                            durations: &prepared.durations[(r - s - 1) * labels..][..labels],
                            scores,
                            earliest: prepared
                                .earliest
                                .as_ref()
                                .map(|earliest| (s as u32, &earliest[at.clone()])),
                            peaks: &mut *peaks,
                        });
                    });
                }
            }
            _ => {
                for (y, &entered) in entered.iter().enumerate().filter(|(_, entered)| !entered.is_forbidden())
                {
                    for r in s + 1..=last {
                        let peak = &mut self.peaks[r * labels + y];
                        *peak = peak.max(lattice.inside(entered, s, r, y));
                    }
                }
            }
        }
    }

    fn best(&mut self, r: usize, peak: &mut [f64]) {
        peak.copy_from_slice(&self.peaks[r * peak.len()..][..peak.len()]);
    }
}

/// One start with some of its lengths, one after another.
struct Push<'a, S> {
    entered: &'a [S],
    sums: &'a [f64],
    durations: &'a [f64],
    scores: &'a [S],
    earliest: Option<(u32, &'a [u32])>, // the start, and the earliest that each end takes
    peaks: &'a mut [f64],
}

impl<S: Float> Loop for Push<'_, S> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let labels = self.entered.len();
        let rows = self.durations.chunks_exact(labels).zip(self.scores.chunks_exact(labels));
        for (d, (peaks, (durations, scores))) in self.peaks.chunks_exact_mut(labels).zip(rows).enumerate() {
            for y in 0..labels {
                let mut inside =
                    ((self.entered[y].to_f64() - self.sums[y]) + durations[y]) + scores[y].to_f64();
                if let Some((start, earliest)) = self.earliest {
                    inside = if earliest[d * labels + y] > start { f64::NEG_INFINITY } else { inside };
                }
                peaks[y] = if inside > peaks[y] { inside } else { peaks[y] };
            }
        }
    }
}
