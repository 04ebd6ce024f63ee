//! One step of a sum over paths: from the logarithms of one position to those of its neighbour.
//!
//! ```text
//! forward    out[y] = ln sum over p of exp(v[p] + edge[t][p][y])
//! backward   out[p] = ln sum over y of exp(v[y] + edge[t][p][y])
//! ```
//!
//! where an offset common to all edges is subtracted and returned, so that large scores cost no precision.
//!
//! The label summed over is the *source*, the other one the *target*. **Speed.** With the edges as factors of at most 1
//! ([`crate::lattice::DenseFactors`]) and `x = exp(v - max v)` it is a product of a vector and a matrix. For sparse
//! edges it is `base * sum of all x`, minus the sources that are exceptions, plus their own terms; with classes, the sum of
//! each class times its factors. That takes time `L` plus the exceptions plus the pairs of classes instead of `L^2`.
//!
//! **Accuracy.** All terms are positive, so a sum is as precise as its terms unless terms that matter were lost: too
//! small for their type, left out, or cancelled. There is an upper bound on each of these losses; a target whose sum is
//! not [`TRUST`] times larger is *doubtful* and computed again from the scores, in log space.

use super::sum::Sum;
use crate::lattice::{CallbackEdges, ClassFactors, DenseEdges, DenseFactors, EdgeScores, Lattice, Matrix};
use crate::lattice::{PerPositionView, Shape, SparseEdges, SparseFactors};
use crate::simd::{AlignedVec, Float, Kernels, exp_rows, ln_rows, padded};

/// The factor by which a sum must exceed what it may lack: the error is then below that of a few roundings.
const TRUST: f64 = (1u64 << 50) as f64;
/// Sources this far below the best one are left out at first: `exp(-70)` is `4e-31`.
const HEAVY: f64 = 70.0;
/// Sources this far below the best one are left out of every product, and so are products that `f64` cannot hold.
const LIGHTEST: f64 = 700.0;
/// Above each of those products.
const TINY: f64 = 1e-300;
/// One exact target costs about as much as this many targets in the product: per source, an exponential against the
/// product of one vector. Only speed depends on it; not measured closely.
const EXACT_COST: usize = 128;
/// A dense matrix with fewer exceptions than one in this many is summed as a sparse one: an exception costs as much as
/// some tens of cells of the product. Only speed depends on it; not measured closely.
const SPARSE_FROM: usize = 64;

/// Which end of the edges is summed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Memory of a step, reused.
#[derive(Debug, Default)]
pub(super) struct Work {
    sums: AlignedVec<f64>, // padded(L)
    rows: Vec<u32>,        // sources in the product
    weights: Vec<f64>,     // and their weights; for sparse edges, the weights of all sources
    classes: ClassSums,    // of the sources of sparse edges
    terms: Vec<f64>,       // logarithms of the terms of one exact sum
    doubtful: Vec<u32>,    // targets whose sums may lack too much
}

/// The edges into one position.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a, S: Float> {
    Dense(&'a DenseEdges<S>),
    Sparse(&'a SparseEdges<S>),
    Callback(&'a CallbackEdges<S>),
}

impl<'a, S: Float> Step<'a, S> {
    /// The edges into position `t` as they are stored.
    pub(super) fn stored(lattice: &'a Lattice<'_, S>, t: usize) -> Self {
        match lattice.edges().shape() {
            Shape::Dense(edges) => Step::Dense(edges),
            Shape::Sparse(edges) => Step::Sparse(edges),
            Shape::Callback(edges) => Step::Callback(edges),
            Shape::PerPosition(edges) => match PerPositionView::new(edges, lattice.selection()).matrix(t) {
                Matrix::Dense(edges) => Step::Dense(edges),
                Matrix::Sparse(edges) => Step::Sparse(edges),
            },
        }
    }

    /// The edges into position `t` in the shape that is fastest to sum.
    pub(super) fn fastest(lattice: &'a Lattice<'_, S>, t: usize) -> Self {
        match Self::stored(lattice, t) {
            Step::Dense(edges) if edges.exceptions() * SPARSE_FROM <= lattice.labels() * lattice.labels() => {
                Step::Sparse(edges.as_sparse())
            }
            step => step,
        }
    }

    /// The step itself; returns the offset, which is not included in `out`. Targets that are not `wanted` get arbitrary
    /// values.
    pub(super) fn sum(
        self,
        direction: Direction,
        t: usize,
        v: &[f64],
        wanted: impl Fn(usize) -> bool,
        work: &mut Work,
        out: &mut [f64],
    ) -> f64 {
        match self {
            Step::Dense(edges) => {
                let factors = match direction {
                    Direction::Forward => edges.factors_forward(),
                    Direction::Backward => edges.factors_backward(),
                };
                dense(factors, v, wanted, work, out);
                let offset = factors.offset;
                exact_where_doubtful(work, out, |y, terms| {
                    edge_terms(edges, direction, t, v, offset, y, terms)
                });
                offset
            }
            Step::Sparse(edges) => {
                let factors = match direction {
                    Direction::Forward => edges.factors_forward(),
                    Direction::Backward => edges.factors_backward(),
                };
                let list = |y: usize| match direction {
                    Direction::Forward => edges.entering(y),
                    Direction::Backward => edges.leaving(y),
                };
                let members = |y: usize| list(y).0;
                match (edges.only_base(), direction) {
                    (Some(_), _) => sparse(factors, members, (|_| 0, |_| 0), v, wanted, work, out),
                    (None, Direction::Forward) => {
                        let classes = (|p| edges.origin_class(p), |y| edges.target_class(y));
                        sparse(factors, members, classes, v, wanted, work, out);
                    }
                    (None, Direction::Backward) => {
                        let classes = (|y| edges.target_class(y), |p| edges.origin_class(p));
                        sparse(factors, members, classes, v, wanted, work, out);
                    }
                }
                let offset = factors.offset;
                exact_where_doubtful(work, out, |y, terms| {
                    let base = |s: usize| match direction {
                        Direction::Forward => edges.base(s, y),
                        Direction::Backward => edges.base(y, s),
                    };
                    sparse_terms(base, list(y), v, offset, terms)
                });
                offset
            }
            Step::Callback(edges) => {
                out.fill(f64::NEG_INFINITY);
                work.doubtful.clear();
                work.doubtful.extend((0..out.len()).filter(|&y| wanted(y)).map(|y| y as u32));
                exact_where_doubtful(work, out, |y, terms| edge_terms(edges, direction, t, v, 0.0, y, terms));
                0.0
            }
        }
    }
}

/// A product with the heavy sources; if that leaves many targets doubtful, with the light ones, too.
fn dense<S: Float>(
    factors: &DenseFactors<S>,
    v: &[f64],
    wanted: impl Fn(usize) -> bool,
    work: &mut Work,
    out: &mut [f64],
) {
    let labels = out.len();
    work.doubtful.clear();
    let top = f64::max_of_sum(v, &factors.source);
    if top == f64::NEG_INFINITY {
        out.fill(f64::NEG_INFINITY);
        return;
    }
    work.sums.reset(padded(labels), 0.0);
    work.rows.clear();
    let sums = v.iter().zip(factors.source.iter()).map(|(v, source)| v + source);
    work.rows.extend(sums.zip(0..).filter(|&(sum, _)| sum >= top - HEAVY).map(|(_, p)| p));
    let light = labels - work.rows.len();
    add_rows(factors, v, top, work);
    find_doubtful(factors, light as f64 * (-HEAVY).exp(), &wanted, work);
    if light > 0 && work.doubtful.len() * EXACT_COST > labels {
        let log_weight = |s: usize| v[s] + factors.source[s];
        let is_light = |&s: &usize| log_weight(s) < top - HEAVY && log_weight(s) >= top - LIGHTEST;
        work.rows.clear();
        work.rows.extend((0..labels).filter(is_light).map(|s| s as u32));
        add_rows(factors, v, top, work);
        find_doubtful(factors, 0.0, &wanted, work);
    }
    let sums = &mut work.sums[..labels];
    ln_rows(sums);
    for y in 0..labels {
        out[y] = sums[y] + (factors.target[y] + top);
    }
}

/// Adds the products of `work.rows` to `work.sums`.
fn add_rows<S: Float>(factors: &DenseFactors<S>, v: &[f64], top: f64, work: &mut Work) {
    let Work { sums, rows, weights, .. } = work;
    weights.clear();
    weights.extend(rows.iter().map(|&s| v[s as usize] + factors.source[s as usize]));
    exp_rows(weights, top);
    S::add_weighted_rows(sums, weights, rows, &factors.factors);
}

/// Lists the targets whose sums may lack too much. Weights and factors are at most 1, so no product exceeds either:
/// what was left out is at most the sources' weights, the factors stored as 0, and one [`TINY`] per product.
fn find_doubtful<S: Float>(
    factors: &DenseFactors<S>,
    left_out: f64,
    wanted: impl Fn(usize) -> bool,
    work: &mut Work,
) {
    let labels = factors.target.len();
    let may_lack = left_out + labels as f64 * TINY;
    let in_doubt = |y: usize| work.sums[y] < TRUST * (may_lack + factors.lost[y]);
    let possible = |y: usize| factors.target[y] > f64::NEG_INFINITY && wanted(y);
    work.doubtful.clear();
    work.doubtful.extend((0..labels).filter(|&y| in_doubt(y) && possible(y)).map(|y| y as u32));
}

/// Sums of the sources of sparse edges, by class.
#[derive(Debug, Default)]
struct ClassSums {
    weights: Vec<f64>,              // by class of sources
    rows: Vec<u32>,                 // these classes
    totals: AlignedVec<f64>,        // by class of targets: all weights times their factors
    exact: Vec<Sum>, // by class of sources: the weights with their rounding errors; empty until needed
    exact_totals: Vec<Option<Sum>>, // by class of targets: the same, once needed
}

impl ClassSums {
    fn fill(&mut self, factors: &ClassFactors, weights: &[f64], class: impl Fn(usize) -> usize) {
        let classes = factors.factors.len() / factors.stride;
        self.weights.clear();
        self.weights.resize(classes, 0.0);
        weights.iter().enumerate().for_each(|(s, x)| self.weights[class(s)] += x);
        self.rows.clear();
        self.rows.extend(0..classes as u32);
        self.totals.reset(factors.stride, 0.0);
        f64::add_weighted_rows(&mut self.totals, &self.weights, &self.rows, &factors.factors);
        self.exact.clear();
        self.exact_totals.clear();
        self.exact_totals.resize(factors.stride, None);
    }

    /// All weights times the factors of a class of targets, with the rounding error.
    #[cold]
    fn exact_total(
        &mut self,
        factors: &ClassFactors,
        weights: &[f64],
        class: impl Fn(usize) -> usize,
        target: usize,
    ) -> Sum {
        if self.exact.is_empty() {
            self.exact.resize(self.weights.len(), Sum::default());
            weights.iter().enumerate().for_each(|(s, &x)| self.exact[class(s)].add(x));
        }
        *self.exact_totals[target].get_or_insert_with(|| {
            let mut total = Sum::default();
            for (c, &sum) in self.exact.iter().enumerate() {
                total.add_scaled(sum, factors.factors[c * factors.stride + target]);
            }
            total
        })
    }
}

/// All sources at the base, minus the exceptions among them, plus the exceptions. `classes` return the class of a source
/// and of a target.
fn sparse<'a>(
    factors: &SparseFactors,
    members: impl Fn(usize) -> &'a [u32],
    classes: (impl Fn(usize) -> usize + Copy, impl Fn(usize) -> usize),
    v: &[f64],
    wanted: impl Fn(usize) -> bool,
    work: &mut Work,
    out: &mut [f64],
) {
    let labels = out.len();
    let Work { sums, weights, doubtful, classes: class_sums, .. } = work;
    doubtful.clear();
    let top = largest(v);
    if top == f64::NEG_INFINITY {
        out.fill(f64::NEG_INFINITY);
        return;
    }
    weights.clear();
    weights.extend_from_slice(v);
    exp_rows(weights, top);
    let (source_class, target_class) = classes;
    class_sums.fill(&factors.classes, weights, source_class);
    sums.resize_for_overwrite(labels);
    for y in 0..labels {
        let (members, own, base) = (members(y), factors.list(y), factors.base[y]);
        let class = target_class(y);
        let of_class =
            |s: u32| factors.classes.factors[source_class(s as usize) * factors.classes.stride + class];
        let (mut sum, mut excepted) = (0.0, 0.0);
        for (&s, &factor) in members.iter().zip(own) {
            sum += weights[s as usize] * factor;
            excepted += weights[s as usize] * of_class(s);
        }
        let mut may_lack = labels as f64 * TINY * base.max(1.0);
        if base > 0.0 && base < f64::INFINITY {
            let total = class_sums.totals[class];
            let rest = if excepted <= 0.5 * total {
                total - excepted
            } else {
                // The subtraction would cancel digits, so it is done with twice as many: to `2^-100` of all weights.
                let mut excepted = Sum::default();
                members.iter().for_each(|&s| excepted.add_product(weights[s as usize], of_class(s)));
                may_lack += base * total / TRUST / TRUST;
                class_sums
                    .exact_total(&factors.classes, weights, source_class, class)
                    .without(excepted)
                    .max(0.0)
            };
            sum += base * rest;
        }
        sums[y] = sum;
        if sum < TRUST * may_lack && factors.target[y] > f64::NEG_INFINITY && wanted(y) {
            doubtful.push(y as u32);
        }
    }
    ln_rows(sums);
    for y in 0..labels {
        out[y] = sums[y] + (factors.target[y] + top);
    }
}

/// The exact sum for each doubtful target: `terms` lists the logarithms of its terms.
fn exact_where_doubtful(work: &mut Work, out: &mut [f64], terms: impl Fn(usize, &mut Vec<f64>)) {
    for &y in &work.doubtful {
        work.terms.clear();
        terms(y as usize, &mut work.terms);
        out[y as usize] = log_sum_exp(&mut work.terms);
    }
}

/// Sources plus edges into target `y`, whatever the shape.
fn edge_terms<S: Float>(
    edges: &impl EdgeScores<S>,
    direction: Direction,
    t: usize,
    v: &[f64],
    offset: f64,
    y: usize,
    terms: &mut Vec<f64>,
) {
    terms.extend(v.iter().enumerate().map(|(s, &v)| {
        let (p, y) = match direction {
            Direction::Forward => (s, y),
            Direction::Backward => (y, s),
        };
        v + (edges.get(t, p, y).to_f64() - offset)
    }));
}

/// The same for sparse edges, whose exceptions are `members` and `scores`.
fn sparse_terms<S: Float>(
    base: impl Fn(usize) -> S,
    (members, scores): (&[u32], &[S]),
    v: &[f64],
    offset: f64,
    terms: &mut Vec<f64>,
) {
    terms.extend(v.iter().enumerate().map(|(s, v)| v + (base(s).to_f64() - offset)));
    for (&s, &w) in members.iter().zip(scores) {
        terms[s as usize] = v[s as usize] + (w.to_f64() - offset);
    }
}

/// The largest of a row.
pub(super) fn largest(row: &[f64]) -> f64 {
    f64::largest(row)
}

/// `ln sum exp(terms)`, minus infinity for none; destroys the terms.
pub(super) fn log_sum_exp(terms: &mut [f64]) -> f64 {
    let top = largest(terms);
    if top == f64::NEG_INFINITY {
        return top;
    }
    exp_rows(terms, top);
    top + terms.iter().sum::<f64>().ln()
}
