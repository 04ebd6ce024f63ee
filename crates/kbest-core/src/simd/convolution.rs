//! Max-plus convolution of eight rows at a time: what the lengths of segments cost.
//!
//! ```text
//! out[i][lane] = max(out[i][lane], max over k of (starts[k][lane] + lengths[k + ENDS - 1 - i][lane]))
//! ```
//!
//! `starts` lie in the order of their positions, `lengths` from long to short, so that both are read from front to back.
//! [`ENDS`] ends are done together: each start is loaded once for all of them, and their maxima stay in registers. Plain
//! loops over eight numbers, compiled for the vectors of the CPU at hand (`compiled.rs`): no `unsafe`.

use super::compiled::{Loop, run};

/// Labels that are done together.
pub(crate) type Octet = [f64; 8];

/// Nothing can be worse.
pub(crate) const NOTHING: Octet = [f64::NEG_INFINITY; 8];

/// Ends that are done together.
pub(crate) const ENDS: usize = 8;

/// Starts that are left out together.
pub(crate) const BLOCK: usize = 32;

/// Starts of a block that are left out or done together.
pub(crate) const PART: usize = 8;

/// Raises `out` to the best sums.
///
/// # Panics
/// Unless there are `ENDS - 1` more lengths than starts.
pub(crate) fn convolve(out: &mut [Octet; ENDS], starts: &[Octet], lengths: &[Octet]) {
    run(Convolve { out, starts, lengths });
}

/// What lets [`convolve_bounded`] leave out starts: upper bounds of blocks, and where the best were found before.
pub(crate) struct Bounds<'a> {
    /// The position of the first start: start `k` is in block `(first + k) / BLOCK` and part `(first + k) / PART`.
    pub first: usize,
    /// A bound of each block of starts.
    pub blocks: &'a [Octet],
    /// A bound of each part of a block.
    pub parts: &'a [Octet],
    /// `of_block[k]`: a bound of the `BLOCK + ENDS - 1` lengths from `k` on.
    pub of_block: &'a [Octet],
    /// `of_part[k]`: a bound of the `PART + ENDS - 1` lengths from `k` on.
    pub of_part: &'a [Octet],
    /// The block that held the best start of the last end, for each lane: a guess, which only affects the time.
    pub favourites: &'a mut [usize; 8],
}

/// The same, leaving out every part of the starts whose best member with the best length that it could have reaches none of
/// the sums found so far. Returns how many parts were done.
///
/// # Panics
/// As [`convolve`], and unless the bounds are long enough.
pub(crate) fn convolve_bounded(
    out: &mut [Octet; ENDS],
    starts: &[Octet],
    lengths: &[Octet],
    bounds: Bounds<'_>,
) -> usize {
    run(ConvolveBounded { out, starts, lengths, bounds })
}

/// Given the maxima of the `from` rows from each row on (as many as there are), makes them those of `to` rows, by doubling.
pub(crate) fn widen_maxima(maxima: &mut [Octet], from: usize, to: usize) {
    run(WidenMaxima { maxima, from, to });
}

struct WidenMaxima<'a> {
    maxima: &'a mut [Octet],
    from: usize,
    to: usize,
}

impl Loop for WidenMaxima<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        let mut covered = self.from;
        while covered < self.to {
            let step = covered.min(self.to - covered);
            for i in step..self.maxima.len() {
                let further = self.maxima[i];
                let here = &mut self.maxima[i - step];
                for lane in 0..8 {
                    here[lane] = if further[lane] > here[lane] { further[lane] } else { here[lane] };
                }
            }
            covered += step;
        }
    }
}

struct Convolve<'a> {
    out: &'a mut [Octet; ENDS],
    starts: &'a [Octet],
    lengths: &'a [Octet],
}

struct ConvolveBounded<'a> {
    out: &'a mut [Octet; ENDS],
    starts: &'a [Octet],
    lengths: &'a [Octet],
    bounds: Bounds<'a>,
}

/// All starts with all ends. The maxima have names of their own, since compilers keep the rows of an array in memory.
#[inline(always)]
fn rows(out: &mut [Octet; ENDS], starts: &[Octet], lengths: &[Octet]) {
    assert_eq!(lengths.len(), starts.len() + ENDS - 1);
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *out;
    for (start, lengths) in starts.iter().zip(lengths.windows(ENDS)) {
        let Some([h1, g1, f1, e1, d1, c1, b1, a1]) = lengths.first_chunk() else { return };
        a = best(&a, start, a1);
        b = best(&b, start, b1);
        c = best(&c, start, c1);
        d = best(&d, start, d1);
        e = best(&e, start, e1);
        f = best(&f, start, f1);
        g = best(&g, start, g1);
        h = best(&h, start, h1);
    }
    *out = [a, b, c, d, e, f, g, h];
}

#[inline(always)]
fn best(known: &Octet, start: &Octet, length: &Octet) -> Octet {
    let mut best = *known;
    for lane in 0..8 {
        let sum = start[lane] + length[lane];
        best[lane] = if sum > best[lane] { sum } else { best[lane] };
    }
    best
}

impl Loop for Convolve<'_> {
    type Result = ();

    #[inline(always)]
    fn run(self) {
        rows(self.out, self.starts, self.lengths);
    }
}

impl Loop for ConvolveBounded<'_> {
    type Result = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let ConvolveBounded { out, starts, lengths, bounds } = self;
        if starts.is_empty() {
            return 0;
        }
        let (earliest, latest) = (bounds.first / BLOCK, (bounds.first + starts.len() - 1) / BLOCK);
        let mut search = Bounded { out, starts, lengths, least: NOTHING, done: 0, bounds };
        search.least = least_of(search.out);
        // What was best before is likely to be so again, and what it reaches lets others be left out.
        let mut tried = [usize::MAX; 8];
        for (lane, block) in (*search.bounds.favourites).into_iter().enumerate() {
            if (earliest..=latest).contains(&block) && !tried.contains(&block) {
                tried[lane] = block;
                search.block(block);
            }
        }
        // Then from the latest start on: short segments are likelier to be good.
        for block in (earliest..=latest).rev() {
            let from = (block * BLOCK).saturating_sub(search.bounds.first);
            if search.reached(&search.bounds.blocks[block], &search.bounds.of_block[from])
                && !tried.contains(&block)
            {
                search.block(block);
            }
        }
        search.done
    }
}

/// A convolution under way.
struct Bounded<'a> {
    out: &'a mut [Octet; ENDS],
    starts: &'a [Octet],
    lengths: &'a [Octet],
    least: Octet, // what every end has reached
    done: usize,
    bounds: Bounds<'a>,
}

impl Bounded<'_> {
    #[inline(always)]
    fn reached(&self, start: &Octet, length: &Octet) -> bool {
        let mut reached = false;
        for lane in 0..8 {
            reached |= start[lane] + length[lane] > self.least[lane];
        }
        reached
    }

    /// Does those parts of a block that can matter.
    #[inline(always)]
    fn block(&mut self, block: usize) {
        let first = self.bounds.first;
        for part in (block * BLOCK / PART..(block + 1) * BLOCK / PART).rev() {
            let from = (part * PART).max(first) - first;
            let to = ((part + 1) * PART).saturating_sub(first).min(self.starts.len());
            if from < to && self.reached(&self.bounds.parts[part], &self.bounds.of_part[from]) {
                let last = self.out[ENDS - 1];
                rows(self.out, &self.starts[from..to], &self.lengths[from..to + ENDS - 1]);
                self.least = least_of(self.out);
                self.done += 1;
                for lane in 0..8 {
                    let favourite = &mut self.bounds.favourites[lane];
                    *favourite = if self.out[ENDS - 1][lane] > last[lane] { block } else { *favourite };
                }
            }
        }
    }
}

/// What every end has reached.
#[inline(always)]
fn least_of(out: &[Octet; ENDS]) -> Octet {
    let mut least = out[0];
    for row in &out[1..] {
        for lane in 0..8 {
            least[lane] = if row[lane] < least[lane] { row[lane] } else { least[lane] };
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::super::compiled::on_each_level;
    use super::*;

    fn numbers(n: usize, seed: u64) -> Vec<Octet> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if state >> 60 == 0 { f64::NEG_INFINITY } else { (state >> 40) as f64 / 1e4 }
        };
        (0..n).map(|_| std::array::from_fn(|_| next())).collect()
    }

    #[test]
    fn windows_have_their_maxima() {
        let rows: Vec<Octet> = (0..50).map(|i| [f64::from(i * 37 % 50); 8]).collect();
        let mut maxima = rows.clone();
        let mut before = 1;
        for size in [1, 2, 3, 7, 39] {
            widen_maxima(&mut maxima, before, size);
            before = size;
            for (i, maximum) in maxima.iter().enumerate() {
                let window = &rows[i..rows.len().min(i + size)];
                let expected = window.iter().map(|row| row[0]).fold(f64::NEG_INFINITY, f64::max);
                assert_eq!(maximum[0], expected, "{size} from {i}");
            }
        }
    }

    /// Every level, with and without bounds, gives the maximum over all pairs.
    #[test]
    fn all_levels_convolve() {
        for (n, first) in [(0, 0), (1, 5), (40, 31), (100, 64), (133, 7)] {
            let (starts, lengths) = (numbers(n, 1 + n as u64), numbers(n + ENDS - 1, 77));
            let mut expected = [NOTHING; ENDS];
            for (i, k, lane) in
                (0..ENDS).flat_map(|i| (0..n).flat_map(move |k| (0..8).map(move |lane| (i, k, lane))))
            {
                expected[i][lane] = expected[i][lane].max(starts[k][lane] + lengths[k + ENDS - 1 - i][lane]);
            }
            let tops = |size: usize| {
                let mut tops = vec![NOTHING; (first + n) / BLOCK * BLOCK / size + BLOCK / size];
                for k in 0..n {
                    let top = &mut tops[(first + k) / size];
                    *top = std::array::from_fn(|lane| top[lane].max(starts[k][lane]));
                }
                tops
            };
            let reaches = |size: usize| -> Vec<Octet> {
                let largest = |window: &[Octet], lane: usize| {
                    window.iter().map(|row| row[lane]).fold(f64::NEG_INFINITY, f64::max)
                };
                let windows = (0..n).map(|k| &lengths[k..lengths.len().min(k + size + ENDS - 1)]);
                windows.map(|window| std::array::from_fn(|lane| largest(window, lane))).collect()
            };
            // Outputs live inside the loop, so that each level starts from nothing.
            struct Whole<'a>(&'a [Octet], &'a [Octet]);
            impl Loop for Whole<'_> {
                type Result = [Octet; ENDS];
                #[inline(always)]
                fn run(self) -> [Octet; ENDS] {
                    let mut out = [NOTHING; ENDS];
                    Convolve { out: &mut out, starts: self.0, lengths: self.1 }.run();
                    out
                }
            }
            struct Pruned<'a>(&'a [Octet], &'a [Octet], usize, [&'a [Octet]; 4], usize);
            impl Loop for Pruned<'_> {
                type Result = [Octet; ENDS];
                #[inline(always)]
                fn run(self) -> [Octet; ENDS] {
                    let mut out = [NOTHING; ENDS];
                    let Pruned(starts, lengths, first, [blocks, parts, of_block, of_part], favourite) = self;
                    let favourites = &mut [favourite; 8];
                    let bounds = Bounds { first, blocks, parts, of_block, of_part, favourites };
                    ConvolveBounded { out: &mut out, starts, lengths, bounds }.run();
                    out
                }
            }
            for out in on_each_level(|| Whole(&starts, &lengths)) {
                assert_eq!(out, expected);
            }
            let (blocks, parts, of_block, of_part) = (tops(BLOCK), tops(PART), reaches(BLOCK), reaches(PART));
            let bounds: [&[Octet]; 4] = [&blocks, &parts, &of_block, &of_part];
            for favourite in [0, 1, 2, usize::MAX] {
                for out in on_each_level(|| Pruned(&starts, &lengths, first, bounds, favourite)) {
                    assert_eq!(out, expected);
                }
            }
        }
    }
}
