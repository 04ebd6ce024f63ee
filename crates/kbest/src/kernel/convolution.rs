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

/// Starts that are skipped or done together.
pub(crate) const BLOCK: usize = 32;

/// Raises `out` to the best sums.
///
/// # Panics
/// Unless there are `ENDS - 1` more lengths than starts.
pub(crate) fn convolve(out: &mut [Octet; ENDS], starts: &[Octet], lengths: &[Octet]) {
    run(Convolve { out, starts, lengths });
}

/// The same, leaving out every block of starts whose best member with the best length that it could have reaches none of
/// the sums found so far. The block of start `k` is `(first + k) / BLOCK`; `tops` has a bound of each block, `reaches[k]`
/// one of the `BLOCK + ENDS - 1` lengths from `k` on. Returns how many blocks were done.
///
/// # Panics
/// As [`convolve`], and unless `tops` and `reaches` are long enough.
pub(crate) fn convolve_bounded(
    out: &mut [Octet; ENDS],
    starts: &[Octet],
    lengths: &[Octet],
    first: usize,
    tops: &[Octet],
    reaches: &[Octet],
) -> usize {
    run(ConvolveBounded { out, starts, lengths, first, tops, reaches })
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
    first: usize,
    tops: &'a [Octet],
    reaches: &'a [Octet],
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
        let ConvolveBounded { out, starts, lengths, first, tops, reaches } = self;
        let mut done = 0;
        let mut behind = starts.len();
        let mut least = least_of(out);
        // From the latest start on: short segments are likelier to be good, and what they reach lets others be left out.
        while behind > 0 {
            let block = (first + behind - 1) / BLOCK;
            let from = (block * BLOCK).saturating_sub(first);
            let (top, reach) = (&tops[block], &reaches[from]);
            let mut reached = false;
            for lane in 0..8 {
                reached |= top[lane] + reach[lane] > least[lane];
            }
            if reached {
                rows(out, &starts[from..behind], &lengths[from..behind + ENDS - 1]);
                least = least_of(out);
                done += 1;
            }
            behind = from;
        }
        done
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
            let mut tops = vec![NOTHING; (first + n) / BLOCK + 1];
            for k in 0..n {
                let top = &mut tops[(first + k) / BLOCK];
                *top = std::array::from_fn(|lane| top[lane].max(starts[k][lane]));
            }
            let reaches: Vec<Octet> = (0..n)
                .map(|k| {
                    let window = &lengths[k..lengths.len().min(k + BLOCK + ENDS - 1)];
                    std::array::from_fn(|lane| {
                        window.iter().map(|row| row[lane]).fold(f64::NEG_INFINITY, f64::max)
                    })
                })
                .collect();
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
            struct Bounded<'a>(&'a [Octet], &'a [Octet], usize, &'a [Octet], &'a [Octet]);
            impl Loop for Bounded<'_> {
                type Result = [Octet; ENDS];
                #[inline(always)]
                fn run(self) -> [Octet; ENDS] {
                    let mut out = [NOTHING; ENDS];
                    let Bounded(starts, lengths, first, tops, reaches) = self;
                    ConvolveBounded { out: &mut out, starts, lengths, first, tops, reaches }.run();
                    out
                }
            }
            for out in on_each_level(|| Whole(&starts, &lengths)) {
                assert_eq!(out, expected);
            }
            for out in on_each_level(|| Bounded(&starts, &lengths, first, &tops, &reaches)) {
                assert_eq!(out, expected);
            }
        }
    }
}
