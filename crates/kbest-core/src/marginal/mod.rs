//! Marginals: how certain the model is, by forward-backward.
//!
//! **What.** A lattice's scores are logarithms of weights; a path has the probability `exp(score - log Z)`, where `Z`
//! sums `exp(score)` over all paths. [`marginals`] computes `log Z` and the probabilities of each label at each
//! position, of each pair of neighbouring labels, and of whole paths; [`log_partition`] computes only `log Z`.
//!
//! ```text
//! alpha[0][y] = start[y] + node[0][y]
//! alpha[t][y] = node[t][y] + ln sum over p of exp(alpha[t-1][p] + edge[t][p][y])
//! beta[T-1][y] = end[y],   beta[t-1][p] = ln sum over y of exp(edge[t][p][y] + node[t][y] + beta[t][y])
//! log Z = ln sum over y of exp(alpha[T-1][y] + end[y])
//! P(y_t = y) = exp(alpha[t][y] + beta[t][y] - log Z)
//! P(y_(t-1) = p | y_t = y) = exp(alpha[t-1][p] + edge[t][p][y] + node[t][y] - alpha[t][y])
//! ```
//!
//! **Stability.** The maximum is subtracted from each row of `alpha`, and the largest node and edge score of a step are
//! subtracted before anything is added to them; the subtracted numbers are added up with compensation. So neither long
//! sequences nor large scores cost precision; only large differences within a step do. The sums themselves are products
//! of scaled factors, replaced by an exact sum in log space wherever they could lose anything that matters. With few labels
//! and scores that are not far apart, nothing can get lost, and no logarithms are needed at all (`linear.rs`).
//! Probabilities of pairs are computed from neighbouring rows alone, never from differences of numbers as large as
//! `log Z`.
//!
//! **Cost.** Twice `T L^2` multiplications for dense edges, less where few labels are likely; `T (L + exceptions)` for
//! sparse ones; memory for up to `3 T L` numbers, `L` for [`log_partition`]. The first call with given dense edges computes
//! their exponentials and keeps them with the edges. **When not.** If you need only the best path, use a decoder.
//!
//! **Precision.** All sums are `f64`. In log space, factors of dense `f32` edges are stored as `f32`: each step then adds a
//! relative error of at most `2^-24`. **Paper.** Rabiner (1989), section III; Lafferty, McCallum & Pereira (2001), section 3.
//!
//! ```
//! use kbest_core::{Edges, Lattice, MarginalScratch, marginals};
//! let edges = Edges::dense(2, vec![0.0f64; 4])?;
//! let lattice = Lattice::new(vec![0.0, 3f64.ln(), 0.0, 0.0], &edges)?;
//! let mut scratch = MarginalScratch::new();
//! let marginals = marginals(&lattice, &mut scratch)?;
//! assert!((marginals.log_partition() - 8f64.ln()).abs() < 1e-12);
//! assert!((marginals.node(0)[1] - 0.75).abs() < 1e-12);
//! assert!((marginals.path_log_probability(&[1, 0])? - 0.375f64.ln()).abs() < 1e-12);
//! # Ok::<(), kbest_core::Error>(())
//! ```

mod batch;
mod calibration;
mod linear;
mod pairs;
mod posterior;
mod step;
mod sum;

pub use batch::{BatchSums, Gradients, Lattices, batch_sums};
pub use calibration::Calibration;
pub use pairs::PairSums;
pub use posterior::{Marginals, PosteriorPath};

use crate::error::{Error, Result};
use crate::lattice::Lattice;
use crate::simd::{AlignedVec, Float, exp_rows, precompiled};
use step::{Direction, Step, Work, largest, log_sum_exp};
use sum::Sum;

/// Working memory and results of [`marginals`]: make one per thread and pass it to every call. It grows to fit the
/// largest sequence and is not freed between calls.
#[derive(Debug, Default)]
pub struct MarginalScratch {
    stride: usize,               // of the rows below: at least L
    linear: bool,                // whether `inflow` holds numbers and not their logarithms
    inflow: AlignedVec<f64>,     // T rows: alpha before its node score is added, minus `rise`
    forward: AlignedVec<f64>,    // T rows: alpha itself, if linear
    posteriors: AlignedVec<f64>, // T rows
    rise: Vec<Rise>, // T + 1: subtracted from each row of alpha; the last one from the sum over last labels
    alpha: Vec<f64>, // L: forward logarithms of one position, minus their maximum
    beta: AlignedVec<f64>, // L: backward logarithms of one position, minus their maximum; numbers, if linear
    next: AlignedVec<f64>, // L
    scales: Vec<f64>, // T + 1: what divides the numbers of each position
    log_partition: f64,
    work: Work,
}

/// The numbers one step subtracts from the logarithms, in parts: their sum would round away the small ones.
#[derive(Debug, Clone, Copy, Default)]
struct Rise {
    node: f64, // from each node score
    edge: f64, // from each edge score; from each start score at the first position, from each end score after the last
    rest: f64, // from the result: the maximum of the row
}

impl Rise {
    /// A label's alpha from the sum over its incoming edges, as the forward pass computes it.
    #[inline(always)]
    fn alpha<S: Float>(&self, inflow: f64, node: S) -> f64 {
        inflow + (node.to_f64() - self.node) - self.rest
    }

    fn add_to(self, sum: &mut Sum) {
        [self.node, self.edge, self.rest].into_iter().for_each(|part| sum.add(part));
    }
}

impl MarginalScratch {
    /// Empty memory.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Labels that are likelier than this must be computed precisely.
const LIKELY: f64 = 1e-9;

/// The largest logarithm that such a label may have beside the best of its position. Beyond it, `f64` cannot tell factors
/// of 1.0001 apart.
const LARGEST: f64 = 1e12;

/// Forward-backward: the probabilities of all labels and pairs.
///
/// # Errors
/// [`Error::NoPath`] if every path is forbidden; [`Error::Range`] if likely paths have scores that differ from the best ones
/// of their position by more than 1e12. (Labels that are unlikely because of such scores do no harm.)
pub fn marginals<'a, S: Float>(
    lattice: &'a Lattice<'_, S>,
    scratch: &'a mut MarginalScratch,
) -> Result<Marginals<'a, S>> {
    if lattice.positions() == 0 {
        scratch.log_partition = 0.0;
        scratch.posteriors.reset(0, 0.0); // or those of another lattice would answer
    } else {
        S::call::<Filling<'_>>((lattice, scratch))?;
    }
    Ok(Marginals::new(lattice, scratch))
}

precompiled!(Filling<'a>: (&'a Lattice<'a, S>, &'a mut MarginalScratch) => Result<()>, fill);

/// Forward-backward, for a lattice of at least one position: of numbers if their range allows it, else of logarithms.
fn fill<S: Float>((lattice, scratch): (&Lattice<'_, S>, &mut MarginalScratch)) -> Result<()> {
    match linear::factors(lattice).is_some_and(|factors| linear::fill(lattice, factors, scratch)) {
        true => Ok(()),
        false => fill_in_logs(lattice, scratch),
    }
}

/// Forward-backward in log space, for any lattice of at least one position.
fn fill_in_logs<S: Float>(lattice: &Lattice<'_, S>, scratch: &mut MarginalScratch) -> Result<()> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    scratch.rise.clear();
    (scratch.stride, scratch.linear) = (labels, false);
    scratch.posteriors.reset(positions * labels, 0.0);
    scratch.inflow.reset(positions * labels, 0.0);
    scratch.alpha.resize(labels, 0.0);
    scratch.beta.reset(labels, 0.0);
    scratch.next.reset(labels, 0.0);
    forward(lattice, scratch)?;
    backward(lattice, scratch)
}

/// The logarithm of the sum of `exp(score)` over all paths, by the forward pass alone; 0 for an empty sequence.
///
/// # Errors
/// [`Error::NoPath`] if every path is forbidden.
pub fn log_partition<S: Float>(lattice: &Lattice<'_, S>, scratch: &mut MarginalScratch) -> Result<f64> {
    if lattice.positions() == 0 {
        return Ok(0.0);
    }
    S::call::<Summing<'_>>((lattice, scratch))
}

precompiled!(Summing<'a>: (&'a Lattice<'a, S>, &'a mut MarginalScratch) => Result<f64>, sum_forward);

/// The forward pass of [`log_partition`].
fn sum_forward<S: Float>((lattice, scratch): (&Lattice<'_, S>, &mut MarginalScratch)) -> Result<f64> {
    let MarginalScratch { alpha, next, work, .. } = scratch;
    alpha.resize(lattice.labels(), 0.0);
    next.reset(lattice.labels(), 0.0);
    let mut sum = Sum::default();
    for t in 0..lattice.positions() {
        forward_step(lattice, t, alpha, next, work)?.add_to(&mut sum);
    }
    last_sum(lattice, alpha, next)?.add_to(&mut sum);
    Ok(sum.total())
}

/// Fills all rows of `inflow`.
fn forward<S: Float>(lattice: &Lattice<'_, S>, scratch: &mut MarginalScratch) -> Result<()> {
    let MarginalScratch { alpha, inflow, rise, next, work, .. } = scratch;
    for (t, inflow) in inflow.chunks_exact_mut(lattice.labels()).enumerate() {
        rise.push(forward_step(lattice, t, alpha, inflow, work)?);
    }
    rise.push(last_sum(lattice, alpha, next)?);
    let mut sum = Sum::default();
    rise.iter().for_each(|rise| rise.add_to(&mut sum));
    scratch.log_partition = sum.total();
    Ok(())
}

/// From `alpha` of position `t - 1` to that of `t`; writes the sums over incoming edges to `inflow`.
fn forward_step<S: Float>(
    lattice: &Lattice<'_, S>,
    t: usize,
    alpha: &mut [f64],
    inflow: &mut [f64],
    work: &mut Work,
) -> Result<Rise> {
    let nodes = lattice.node_row(t);
    let edge = if t > 0 {
        let wanted = |y: usize| !nodes[y].is_forbidden();
        Step::fastest(lattice, t).sum(Direction::Forward, t, alpha, wanted, work, inflow)
    } else {
        inflow.fill(0.0);
        lattice.start().map_or(0.0, |start| add_scores(inflow, start))
    };
    alpha.copy_from_slice(inflow);
    let node = add_scores(alpha, nodes);
    let rest = largest(alpha);
    if rest == f64::NEG_INFINITY {
        return Err(Error::NoPath);
    }
    alpha.iter_mut().for_each(|a| *a -= rest);
    Ok(Rise { node, edge, rest })
}

/// The sum over last labels.
fn last_sum<S: Float>(lattice: &Lattice<'_, S>, alpha: &[f64], terms: &mut [f64]) -> Result<Rise> {
    terms.copy_from_slice(alpha);
    let edge = lattice.end().map_or(0.0, |end| add_scores(terms, end));
    match log_sum_exp(terms) {
        f64::NEG_INFINITY => Err(Error::NoPath),
        rest => Ok(Rise { node: 0.0, edge, rest }),
    }
}

/// Runs back over the positions and fills all rows of posteriors.
fn backward<S: Float>(lattice: &Lattice<'_, S>, scratch: &mut MarginalScratch) -> Result<()> {
    let labels = lattice.labels();
    let MarginalScratch { alpha, inflow, rise, posteriors, beta, next, work, .. } = scratch;
    beta.fill(0.0);
    if let Some(end) = lattice.end() {
        add_scores(beta, end);
    }
    for t in (0..lattice.positions()).rev() {
        let row = t * labels..(t + 1) * labels;
        let (posteriors, inflow) = (&mut posteriors[row.clone()], &inflow[row]);
        for ((a, inflow), &node) in alpha.iter_mut().zip(inflow).zip(lattice.node_row(t)) {
            *a = rise[t].alpha(*inflow, node);
        }
        if t + 1 < lattice.positions() {
            // `next` holds node plus beta of t + 1. No path leads through a label without alpha.
            let wanted = |p: usize| alpha[p] > f64::NEG_INFINITY;
            Step::fastest(lattice, t + 1).sum(Direction::Backward, t + 1, next, wanted, work, beta);
        }
        for y in 0..labels {
            if alpha[y] == f64::NEG_INFINITY {
                beta[y] = f64::NEG_INFINITY;
            }
            posteriors[y] = alpha[y] + beta[y];
        }
        let top = largest(posteriors);
        exp_rows(posteriors, top);
        let scale = 1.0 / posteriors.iter().sum::<f64>();
        posteriors.iter_mut().for_each(|posterior| *posterior *= scale);
        let likely = posteriors.iter().zip(inflow.iter().zip(beta.iter())).filter(|(p, _)| **p > LIKELY);
        let magnitude = likely.fold(0.0, |most: f64, (_, (inflow, b))| most.max(inflow.abs()).max(b.abs()));
        if magnitude > LARGEST {
            return Err(Error::Range { magnitude, largest: LARGEST });
        }
        // Minus its maximum, so that beta stays small however long the sequence is.
        let top = largest(beta);
        for (next, b) in next.iter_mut().zip(beta.iter()) {
            *next = b - top;
        }
        add_scores(next, lattice.node_row(t));
    }
    Ok(())
}

/// Adds scores to a row, minus the largest of them, which is returned (0 if all are forbidden).
fn add_scores<S: Float>(row: &mut [f64], scores: &[S]) -> f64 {
    let top = S::largest(scores);
    let top = if top.is_forbidden() { 0.0 } else { top.to_f64() };
    for (r, score) in row.iter_mut().zip(scores) {
        *r += score.to_f64() - top;
    }
    top
}
