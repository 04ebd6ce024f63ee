//! Forward-backward on numbers instead of logarithms, where nothing can get lost.
//!
//! ```text
//! u[t][y] = sum over p of a[t-1][p] * E[p][y]            a[t][y] = u[t][y] * N[t][y] / c[t]
//! b[t-1][p] = sum over y of E[p][y] * v[t][y]            v[t][y] = N[t][y] * b[t][y] / d[t]
//! P(y_t = y) = a[t][y] * b[t][y] / their sum over y      log Z = sum over t of ln c[t], and what was subtracted from scores
//! ```
//!
//! `E` and `N` are exponentials of edge and node scores, minus the largest of all edges and of each position; `c` and `d` make
//! the numbers of a row add up to 1.
//!
//! **Why.** One exponential per label and position. In log space there are three, and two logarithms, which with few labels take
//! longer than the products.
//!
//! **Accuracy.** If no edge is forbidden, and edges (or start or end scores) and the nodes of a position together are spread over at
//! most [`WIDEST`], then every label that is not forbidden can be reached from the largest number of the row before, which is at
//! least `1 / L`. So none gets less than `exp(-WIDEST) / L^2` in `a`, or `exp(-2 WIDEST) / L^4` as a product with `b`: nothing is too
//! small for `f64`, zero always means forbidden, and sums of positive terms are as precise as in log space. If scores do not fit,
//! [`fill`] says so, and the caller starts over in log space. **When not.** With many labels, where factors in `f32` and omitting
//! unlikely labels save more than exponentials cost.

use super::{MarginalScratch, Rise, Sum};
use crate::lattice::{Lattice, LinearFactors, Shape};
use crate::simd::{Float, Kernels, Loop, exp_rows, ln_rows, run};

/// The widest spread of node plus edge scores: `exp(-2 * 300)` is `1e-261`.
const WIDEST: f64 = 300.0;

/// Numbers that are computed together: as many as in the widest vector.
const WIDTH: usize = LinearFactors::WIDTH;

/// The exponentials of the edges, if they are of use for this lattice.
pub(super) fn factors<'a, S: Float>(lattice: &'a Lattice<'_, S>) -> Option<&'a LinearFactors> {
    match lattice.edges().shape() {
        Shape::Dense(edges) => edges.linear_factors().filter(|factors| factors.spread <= WIDEST),
        _ => None,
    }
}

/// Fills all of `scratch` for a lattice of at least one position; returns whether it could. If not, scores are out of range
/// or there is no path.
pub(super) fn fill<S: Float>(
    lattice: &Lattice<'_, S>,
    factors: &LinearFactors,
    scratch: &mut MarginalScratch,
) -> bool {
    let (positions, labels, stride) = (lattice.positions(), lattice.labels(), factors.stride);
    let MarginalScratch { forward: alpha, inflow, posteriors, beta, next, rise, scales, .. } = scratch;
    for rows in [&mut *alpha, inflow, posteriors] {
        rows.resize_for_overwrite(positions * stride);
    }
    for row in [&mut *beta, next] {
        row.resize_for_overwrite(stride);
    }
    rise.clear();
    rise.resize(positions + 1, Rise { edge: factors.offset, ..Rise::default() });
    // The exponentials of nodes lie where posteriors will. What precedes the first position and follows the last one takes the
    // place of their edges.
    let nodes = run(Exponents { scores: lattice.nodes(), labels, stride, to: posteriors, rise });
    let start = border(lattice.start(), labels, &mut inflow[..stride], &mut rise[0].edge);
    let end = border(lattice.end(), labels, beta, &mut rise[positions].edge);
    if nodes + factors.spread.max(start).max(end) > WIDEST {
        return false;
    }
    exp_rows(posteriors, 0.0);
    scales.clear();
    scales.resize(positions + 1, 0.0);
    forward(factors, posteriors, alpha, inflow, scales);
    let last = alpha[(positions - 1) * stride..].iter().zip(beta.iter());
    scales[positions] = last.map(|(a, b)| a * b).sum();
    if scales.contains(&0.0) {
        return false;
    }
    backward(factors, alpha, posteriors, beta, next);
    ln_rows(scales);
    let mut sum = Sum::default();
    for (rise, &scale) in rise.iter_mut().zip(&*scales) {
        rise.rest = scale;
        rise.add_to(&mut sum);
    }
    (scratch.stride, scratch.linear, scratch.log_partition) = (stride, true, sum.total());
    true
}

/// Writes the exponentials of start or end scores, and what was subtracted from them; returns their spread. Without scores, all
/// labels get 1.
fn border<S: Float>(scores: Option<&[S]>, labels: usize, row: &mut [f64], offset: &mut f64) -> f64 {
    let mut rise = [Rise::default()];
    row.fill(0.0);
    let spread = match scores {
        None => {
            row[..labels].fill(1.0);
            0.0
        }
        Some(scores) => {
            let spread = run(Exponents { scores, labels, stride: row.len(), to: row, rise: &mut rise });
            exp_rows(row, 0.0);
            spread
        }
    };
    *offset = rise[0].node;
    spread
}

/// Rows of scores minus the largest of each, which goes to `rise`, padded with minus infinity. Returns the widest spread of a row;
/// infinity if one is entirely forbidden.
struct Exponents<'a, S> {
    scores: &'a [S],
    labels: usize,
    stride: usize,
    to: &'a mut [f64],
    rise: &'a mut [Rise],
}

impl<S: Float> Loop for Exponents<'_, S> {
    type Result = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut widest = 0.0;
        for t in 0..self.scores.len() / self.labels {
            // Plain loops: iterators may be compiled for the baseline (`simd/compiled.rs`).
            let scores = &self.scores[t * self.labels..][..self.labels];
            let row = &mut self.to[t * self.stride..][..self.stride];
            let (numbers, padding) = row.split_at_mut(scores.len());
            for y in 0..scores.len() {
                numbers[y] = scores[y].to_f64();
            }
            for x in padding {
                *x = f64::NEG_INFINITY;
            }
            let (mut highest, mut lowest) = ([f64::NEG_INFINITY; WIDTH], [f64::INFINITY; WIDTH]);
            for vector in row.as_chunks::<WIDTH>().0 {
                for i in 0..WIDTH {
                    let x = vector[i];
                    highest[i] = if x > highest[i] { x } else { highest[i] };
                    let legal = if x == f64::NEG_INFINITY { f64::INFINITY } else { x };
                    lowest[i] = if legal < lowest[i] { legal } else { lowest[i] };
                }
            }
            let (mut top, mut bottom) = (highest[0], lowest[0]);
            for i in 1..WIDTH {
                top = if highest[i] > top { highest[i] } else { top };
                bottom = if lowest[i] < bottom { lowest[i] } else { bottom };
            }
            if top == f64::NEG_INFINITY {
                return f64::INFINITY;
            }
            widest = if top - bottom > widest { top - bottom } else { widest };
            for x in row {
                *x -= top;
            }
            self.rise[t].node = top;
        }
        widest
    }
}

/// Fills `alpha`, the sums over incoming edges, and what each row of `alpha` was divided by: 0 if no path leads there. The first
/// row of `inflow` holds the exponentials of start scores.
fn forward(
    factors: &LinearFactors,
    nodes: &[f64],
    alpha: &mut [f64],
    inflow: &mut [f64],
    scales: &mut [f64],
) {
    let stride = factors.stride;
    for (t, nodes) in nodes.chunks_exact(stride).enumerate() {
        let (before, now) = alpha.split_at_mut(t * stride);
        let inflow = &mut inflow[t * stride..][..stride];
        if t > 0 {
            product(factors, &before[(t - 1) * stride..], &factors.forward, inflow);
        }
        scales[t] = run(Normalised { x: inflow, y: nodes, out: &mut now[..stride] });
    }
}

/// Replaces the exponentials of nodes by posteriors, last position first. At first, `beta` holds the exponentials of end scores.
fn backward(
    factors: &LinearFactors,
    alpha: &[f64],
    posteriors: &mut [f64],
    beta: &mut [f64],
    next: &mut [f64],
) {
    let stride = factors.stride;
    for t in (0..alpha.len() / stride).rev() {
        let (alpha, nodes) = (&alpha[t * stride..][..stride], &mut posteriors[t * stride..][..stride]);
        run(Normalised { x: beta, y: nodes, out: next });
        run(Normalised { x: beta, y: alpha, out: nodes });
        if t > 0 {
            product(factors, next, &factors.backward, beta);
        }
    }
}

/// The product of a row and a matrix.
fn product(factors: &LinearFactors, row: &[f64], matrix: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    f64::add_weighted_rows(out, row, &factors.all, matrix);
}

/// `out = x * y`, divided by its sum, which is returned. The order of additions does not depend on the CPU.
struct Normalised<'a> {
    x: &'a [f64],
    y: &'a [f64],
    out: &'a mut [f64],
}

impl Loop for Normalised<'_> {
    type Result = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let (x, y) = (self.x.as_chunks::<WIDTH>().0, self.y.as_chunks::<WIDTH>().0);
        let out = self.out.as_chunks_mut::<WIDTH>().0;
        let vectors = out.len();
        let (x, y) = (&x[..vectors], &y[..vectors]);
        let mut sums = [0.0; WIDTH];
        for v in 0..vectors {
            for i in 0..WIDTH {
                out[v][i] = x[v][i] * y[v][i];
                sums[i] += out[v][i];
            }
        }
        let total = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
        let scale = 1.0 / total;
        for vector in out {
            for x in vector {
                *x *= scale;
            }
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Marginals, PairSums, fill_in_logs, marginals};
    use super::*;
    use crate::lattice::Edges;
    use crate::random::Random;

    const NO: f64 = f64::NEG_INFINITY;

    /// Scores within `spread`, moved by `offset`; some forbidden, some equal.
    fn scores(random: &mut Random, count: usize, spread: f64, offset: f64, forbidden: f64) -> Vec<f64> {
        let mut one = || match random.unit() {
            x if x < forbidden => NO,
            x if x < 0.5 => offset + spread * random.below(3) as f64 / 2.0, // ties
            _ => offset + spread * random.unit(),
        };
        (0..count).map(|_| one()).collect()
    }

    /// Equal up to rounding: a relative error of `1e-9`, however small the number.
    fn close(a: f64, b: f64, what: &str) {
        assert!(a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()), "{what}: {a} and {b}");
    }

    fn compare(edges: &Edges<f64>, a: &Marginals<'_, f64>, b: &Marginals<'_, f64>, random: &mut Random) {
        let (labels, log_z) = (a.labels(), a.log_partition());
        assert!((log_z - b.log_partition()).abs() <= 1e-9 * log_z.abs().max(1.0), "{log_z}");
        let mut pairs = [vec![0.0; labels * labels], vec![0.0; labels * labels]];
        for t in 0..a.positions() {
            a.node(t).iter().zip(b.node(t)).for_each(|(a, b)| close(*a, *b, "a label"));
            if t > 0 {
                a.fill_edges(t, &mut pairs[0]);
                b.fill_edges(t, &mut pairs[1]);
                pairs[0].iter().zip(&pairs[1]).for_each(|(a, b)| close(*a, *b, "a pair"));
                let (p, y) = (random.below(labels), random.below(labels));
                close(a.edge(t, p, y), b.edge(t, p, y), "one pair");
            }
        }
        let path: Vec<u32> = (0..a.positions()).map(|_| random.below(labels) as u32).collect();
        let paths = [a, b].map(|marginals| marginals.path_log_probability(&path).unwrap());
        assert!(
            paths[0] == paths[1] || (paths[0] - paths[1]).abs() < 1e-9 * paths[0].abs().max(1.0),
            "{paths:?}"
        );
        let sums = [a, b].map(|marginals| {
            let (mut sums, mut all) = (PairSums::new(), Vec::new());
            sums.reset(edges).unwrap();
            sums.add(marginals, 0.5);
            sums.add(marginals, 2.0);
            sums.visit(edges, |_, _, sum| all.push(sum));
            all
        });
        // Products of numbers that are far too small to matter are lost on either side.
        let negligible = |a: f64, b: f64| a.abs().max(b.abs()) < 1e-250;
        sums[0]
            .iter()
            .zip(&sums[1])
            .filter(|(a, b)| !negligible(**a, **b))
            .for_each(|(a, b)| close(*a, *b, "a sum of pairs"));
    }

    /// Every result, against log space: sizes, spreads up to the limit, ties, forbidden labels, large offsets.
    #[test]
    fn numbers_agree_with_logarithms() {
        let (mut random, mut used) = (Random::new(5), 0);
        let (mut numbers, mut logs) = (MarginalScratch::new(), MarginalScratch::new());
        for case in 0..600 {
            let labels = [1, 2, 7, 8, 9, 22, 33][case % 7];
            let positions = [0, 1, 2, 3, 12][case % 5];
            let spread = [0.0, 1.0, 20.0, 149.0, 200.0, 1000.0][case % 6];
            let offset = [0.0, -3.0, 1e6][case % 3];
            let forbidden = if case % 4 == 0 { 0.2 } else { 0.0 };
            let matrix =
                scores(&mut random, labels * labels, spread, offset, if case % 16 == 0 { 0.1 } else { 0.0 });
            let edges = Edges::dense(labels, matrix).unwrap();
            let nodes = scores(&mut random, positions * labels, spread, -offset, forbidden);
            let border =
                |random: &mut Random, on: bool| on.then(|| scores(random, labels, spread, offset, forbidden));
            let (start, end) = (border(&mut random, case % 3 == 1), border(&mut random, case % 5 > 2));
            let lattice = Lattice::new(nodes, &edges).unwrap();
            let lattice = lattice.with_borders(start.as_deref(), end.as_deref()).unwrap();
            let found = marginals(&lattice, &mut numbers);
            if positions == 0 {
                assert_eq!(found.unwrap().log_partition(), 0.0);
                continue;
            }
            match fill_in_logs(&lattice, &mut logs) {
                Err(_) => assert!(found.is_err()),
                Ok(()) => {
                    let found = found.unwrap();
                    compare(&edges, &found, &Marginals::new(&lattice, &logs), &mut random);
                    assert!(spread < 400.0 || labels < 7 || !numbers.linear);
                    assert!(spread > 149.0 || case % 16 == 0 || numbers.linear, "{case}");
                    used += usize::from(numbers.linear);
                }
            }
        }
        assert!((200..500).contains(&used), "{used}");
    }

    /// Just inside the limit and just outside; forbidden edges; no path.
    #[test]
    fn what_does_not_fit_is_left_to_log_space() {
        let fits = |edge: f64, node: f64, end: Option<[f64; 2]>| {
            let edges = Edges::dense(2, vec![0.0, edge, 1.0, 2.0]).unwrap();
            let lattice = Lattice::new(vec![0.0, node, 0.0, 1.0], &edges).unwrap();
            let lattice = lattice.with_borders(None, end.as_ref().map(|end| &end[..])).unwrap();
            let mut scratch = MarginalScratch::new();
            factors(&lattice).is_some_and(|factors| fill(&lattice, factors, &mut scratch))
        };
        assert!(fits(-97.0, -200.0, None) && !fits(-99.0, -200.0, None));
        assert!(!fits(-400.0, 0.0, None) && !fits(NO, 0.0, None));
        assert!(fits(0.0, NO, None) && fits(0.0, 0.0, Some([NO, -5.0])));
        assert!(!fits(0.0, 0.0, Some([0.0, -300.0])) && !fits(0.0, 0.0, Some([NO, NO])));
    }

    /// The errors of many steps do not add up to more than those of log space.
    #[test]
    fn long_sequences_agree_too() {
        let mut random = Random::new(9);
        let edges = Edges::dense(5, scores(&mut random, 25, 4.0, 0.0, 0.0)).unwrap();
        let lattice = Lattice::new(scores(&mut random, 100_000, 8.0, 50.0, 0.0), &edges).unwrap();
        let (mut numbers, mut logs) = (MarginalScratch::new(), MarginalScratch::new());
        let found = marginals(&lattice, &mut numbers).unwrap();
        fill_in_logs(&lattice, &mut logs).unwrap();
        let expected = Marginals::new(&lattice, &logs);
        close(found.log_partition(), expected.log_partition(), "log Z");
        (0..20_000).for_each(|t| {
            found.node(t).iter().zip(expected.node(t)).for_each(|(a, b)| close(*a, *b, "a label"))
        });
    }
}
