//! The best `inside` at every end, from node sums and durations alone: a max-plus convolution for each label.
//!
//! ```text
//! peak[r][y] = max over s of (entered[s][y] - sum[s][y]) + duration[r - s][y]
//! ```
//!
//! **How.** Labels go by eights, ends by eights (`simd::convolve`). With bounds, whole blocks of starts are left out whose
//! best member, with the best duration it could have, is no better than what was found: rounding is monotone, so the bound
//! needs no slack, and all forward scores stay exact. Where more than half would have to be done anyway, bounds rest for a
//! while, so that trying them costs a few hundredths at most. **Flat tails.** If no length is too long, and from some length on all
//! score the same, starts that lie further back are merged into one running maximum: without durations and a longest
//! segment this takes `T L`, besides the edges. **What is forbidden.** A position that a label may not cover, or a boundary that must be,
//! kills all starts before it for good, each once.

use super::SegmentLattice;
use super::forward::Inside;
use crate::label::LabelId;
use crate::simd::{
    BLOCK, Bounds, ENDS, Float, NOTHING, Octet, PART, convolve, convolve_bounded, widen_maxima,
};

/// Durations as the convolution reads them, for eight labels at a time.
#[derive(Debug, Default)]
struct Durations {
    rows: Vec<Octet>, // a group after another: from the longest (and `ENDS - 1` longer ones: forbidden, or the tail) to 1
    of_block: Vec<Octet>, // as `rows`: the largest of the next `BLOCK + ENDS - 1` rows; empty without bounds
    of_part: Vec<Octet>, // likewise, of the next `PART + ENDS - 1` rows
    count: usize,     // rows of a group
    tail: Vec<Octet>, // one of each group: the score of all lengths that the rows do not have, if there are any
}

/// Tiles without bounds after one in which they left out less than half.
const REST: usize = 31;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    durations: Durations,
    window: usize, // lengths that are convolved; longer ones are in the tail
    flat: bool,    // whether there is a tail
    positions: usize,
    starts: Vec<Octet>,          // a group after another, T each: entered - sum
    blocks: Vec<Octet>, // a group after another: the largest of each block of starts; empty without bounds
    parts: Vec<Octet>,  // likewise, of each part of a block
    favourites: Vec<[usize; 8]>, // one of each group
    bounded: bool,
    bounded_to: usize,        // starts before are in `blocks` and `parts`
    resting: usize,           // tiles that will be done without bounds, since these did not help
    tile: Vec<[Octet; ENDS]>, // one of each group: the ends after `tile_from`
    tile_from: usize,
    merged: usize,        // starts before are in `old`
    old: Vec<Octet>,      // one of each group
    dead: Vec<u32>,       // L: starts before are dead
    pub(super) done: u64, // segments looked at
}

impl Lengths {
    /// Prepares for a lattice.
    pub(super) fn reset<S: Float>(&mut self, lattice: &SegmentLattice<'_, S>, bounded: bool) {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        let groups = labels.div_ceil(8);
        let durations = &lattice.prepared().durations;
        let longest = lattice.longest();
        let row = |length: usize| &durations[(length - 1) * labels..][..labels];
        self.positions = positions;
        self.window = longest;
        if longest == positions {
            while self.window > 0 && row(self.window) == row(longest) {
                self.window -= 1;
            }
        }
        self.flat = self.window < longest;
        let octet = |row: &[f64], group: usize| -> Octet {
            std::array::from_fn(|lane| row.get(group * 8 + lane).copied().unwrap_or(f64::NEG_INFINITY))
        };
        let d = &mut self.durations;
        d.count = self.window + ENDS - 1;
        d.rows.clear();
        d.of_block.clear();
        d.of_part.clear();
        d.tail.clear();
        for group in 0..groups {
            // With a tail, the lengths just beyond the window are convolved by the ends that lie further on in a tile.
            let beyond =
                |length: usize| if self.flat { octet(row(length.min(longest)), group) } else { NOTHING };
            d.rows.extend((self.window + 1..self.window + ENDS).rev().map(beyond));
            d.rows.extend((1..=self.window).rev().map(|length| octet(row(length), group)));
            if self.flat {
                d.tail.push(octet(row(longest), group));
            }
            if bounded {
                let here = group * d.count;
                d.of_part.extend_from_slice(&d.rows[here..]);
                widen_maxima(&mut d.of_part[here..], 1, PART + ENDS - 1);
                d.of_block.extend_from_slice(&d.of_part[here..]);
                widen_maxima(&mut d.of_block[here..], PART + ENDS - 1, BLOCK + ENDS - 1);
            }
        }
        self.bounded = bounded;
        let covered = if bounded { groups * positions.next_multiple_of(BLOCK) } else { 0 };
        refill(&mut self.starts, groups * positions, NOTHING);
        refill(&mut self.blocks, covered / BLOCK, NOTHING);
        refill(&mut self.parts, covered / PART, NOTHING);
        refill(&mut self.favourites, groups, [usize::MAX; 8]);
        refill(&mut self.tile, groups, [NOTHING; ENDS]);
        refill(&mut self.old, groups, NOTHING);
        refill(&mut self.dead, labels, 0);
        (self.tile_from, self.merged, self.done) = (usize::MAX, 0, 0);
        (self.bounded_to, self.resting) = (0, 0);
    }

    /// The ends after `from`, from all starts up to there.
    fn begin_tile(&mut self, from: usize) {
        self.tile_from = from;
        let first = (from + 1).saturating_sub(self.window);
        let starts = from + 1 - first;
        let covered = self.positions.next_multiple_of(BLOCK);
        let bounded = self.bounded && self.resting == 0;
        self.resting = self.resting.saturating_sub(1);
        if bounded {
            self.bound_starts(from + 1);
        }
        let mut done = 0; // starts of all groups
        for (group, tile) in self.tile.iter_mut().enumerate() {
            *tile = [NOTHING; ENDS];
            let all = &self.starts[group * self.positions..][..self.positions];
            if self.flat {
                for start in &all[self.merged..first] {
                    self.old[group] = larger(&self.old[group], start);
                }
                let old = plus(&self.old[group], &self.durations.tail[group]);
                *tile = [old; ENDS];
            }
            let rows = &self.durations.rows[group * self.durations.count..][..self.durations.count];
            let skip = self.window - starts;
            let (starts, rows) = (&all[first..=from], &rows[skip..]);
            if bounded {
                let lengths = group * self.durations.count + skip;
                let bounds = Bounds {
                    first,
                    blocks: &self.blocks[group * covered / BLOCK..],
                    parts: &self.parts[group * covered / PART..],
                    of_block: &self.durations.of_block[lengths..],
                    of_part: &self.durations.of_part[lengths..],
                    favourites: &mut self.favourites[group],
                };
                done += convolve_bounded(tile, starts, rows, bounds) * PART;
            } else {
                convolve(tile, starts, rows);
                done += starts.len();
            }
        }
        self.done += (done * ENDS * 8) as u64;
        // The first few starts are too few to tell.
        if bounded && starts >= self.window.min(2 * BLOCK) && 2 * done > starts * self.tile.len() {
            self.resting = REST;
        }
        self.merged = if self.flat { first } else { 0 };
    }

    /// Brings the bounds of starts up to date.
    fn bound_starts(&mut self, to: usize) {
        let covered = self.positions.next_multiple_of(BLOCK);
        for group in 0..self.tile.len() {
            for s in self.bounded_to..to {
                let start = &self.starts[group * self.positions + s];
                let place = group * covered + s;
                for top in [&mut self.blocks[place / BLOCK], &mut self.parts[place / PART]] {
                    *top = larger(start, top);
                }
            }
        }
        self.bounded_to = to;
    }

    /// Starts before `earliest` may not reach the ends from `r` on.
    fn kill(&mut self, y: usize, earliest: u32, r: usize) {
        let (group, lane) = (y / 8, y % 8);
        for s in self.dead[y]..earliest {
            self.starts[group * self.positions + s as usize][lane] = f64::NEG_INFINITY;
            if self.bounded {
                let place = group * self.positions.next_multiple_of(BLOCK) + s as usize;
                if (s + 1).is_multiple_of(PART as u32) {
                    self.parts[place / PART][lane] = f64::NEG_INFINITY;
                }
                if (s + 1).is_multiple_of(BLOCK as u32) {
                    self.blocks[place / BLOCK][lane] = f64::NEG_INFINITY;
                }
            }
        }
        self.dead[y] = earliest;
        self.old[group][lane] = f64::NEG_INFINITY;
        if self.tile_from != usize::MAX && earliest as usize > self.tile_from {
            for end in &mut self.tile[group][(r - self.tile_from - 1).min(ENDS)..] {
                end[lane] = f64::NEG_INFINITY;
            }
        }
    }

    fn duration(&self, group: usize, length: usize) -> &Octet {
        &self.durations.rows[group * self.durations.count + self.durations.count - length]
    }
}

/// The convolution over one lattice.
pub(super) struct Convolved<'c, 'l, S: Float> {
    pub lattice: &'c SegmentLattice<'l, S>,
    pub lengths: &'c mut Lengths,
}

impl<S: Float> Inside<S> for Convolved<'_, '_, S> {
    fn start(&mut self, s: usize, entered: &[S]) {
        let sums = &self.lattice.prepared().opening()[s * entered.len()..];
        let lengths = &mut *self.lengths;
        for (group, (entered, sums)) in entered.chunks(8).zip(sums.chunks(8)).enumerate() {
            let start = &mut lengths.starts[group * lengths.positions + s];
            for ((start, entered), sum) in start.iter_mut().zip(entered).zip(sums) {
                *start = entered.to_f64() - sum;
            }
        }
    }

    fn best(&mut self, r: usize, peak: &mut [f64]) {
        let labels = self.lattice.labels();
        let lengths = &mut *self.lengths;
        if let Some(earliest) = &self.lattice.prepared().earliest {
            for y in 0..labels {
                let earliest = earliest[r * labels + y];
                if earliest > lengths.dead[y] {
                    lengths.kill(y, earliest, r);
                }
            }
        }
        if lengths.tile_from == usize::MAX || r > lengths.tile_from + ENDS {
            lengths.begin_tile(r - 1);
        }
        let from = lengths.tile_from;
        for (group, peak) in peak.chunks_mut(8).enumerate() {
            let mut best = lengths.tile[group][r - from - 1];
            for s in from + 1..r {
                let start = &lengths.starts[group * lengths.positions + s];
                best = larger(&best, &plus(start, lengths.duration(group, r - s)));
            }
            peak.copy_from_slice(&best[..peak.len()]);
        }
        let here = (r, 0, 0)..(r + 1, 0, 0);
        for &(_, _, y) in self.lattice.forbidden.range(here) {
            peak[y as usize] = without_forbidden(self.lattice, lengths, r, y);
        }
    }
}

/// The best end of a label of which some segments that end there are forbidden, start by start.
fn without_forbidden<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    lengths: &Lengths,
    r: usize,
    y: LabelId,
) -> f64 {
    let (group, lane, labels) = (y as usize / 8, y as usize % 8, lattice.labels());
    let allowed = |s: &usize| !lattice.forbidden.contains(&(r, *s, y));
    (r.saturating_sub(lattice.longest())..r)
        .filter(allowed)
        .map(|s| {
            let duration = lattice.prepared().durations[(r - s - 1) * labels + y as usize];
            lengths.starts[group * lengths.positions + s][lane] + duration
        })
        .fold(f64::NEG_INFINITY, f64::max)
}

fn refill<T: Clone>(vec: &mut Vec<T>, length: usize, value: T) {
    vec.clear();
    vec.resize(length, value);
}

#[inline(always)]
fn plus(a: &Octet, b: &Octet) -> Octet {
    std::array::from_fn(|lane| a[lane] + b[lane])
}

#[inline(always)]
fn larger(a: &Octet, b: &Octet) -> Octet {
    std::array::from_fn(|lane| if a[lane] > b[lane] { a[lane] } else { b[lane] })
}
