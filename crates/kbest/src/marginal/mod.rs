//! Marginals: how sure the model is, by forward-backward.
//!
//! **What.** A lattice's scores are logarithms of weights; a path has the probability `exp(score - log Z)`, where
//! `Z` sums `exp(score)` over all paths. [`marginals`] gives `log Z`, the probability of each label at each position, of
//! each pair of neighbouring labels, and of whole paths; [`log_partition`] gives `log Z` alone.
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
//! **Stability.** Each row of `alpha` is stored less its maximum, and the largest node and edge score of a step are taken
//! out before anything is added to them; what was taken out is summed with compensation. So neither long
//! sequences nor large scores cost precision, only large differences within a step do. The sums themselves are products of scaled factors, with an
//! exact sum in log space wherever that could lose anything that matters. Probabilities of pairs
//! come from neighbouring rows alone, never from differences of numbers as large as `log Z`.
//!
//! **Cost.** Twice `T L^2` multiplications for dense edges, less where few labels are likely; `T (L + exceptions)`
//! for sparse ones; `T L` numbers of memory twice, `L` for [`log_partition`]. The first call with some dense edges makes
//! their exponentials and keeps them with the edges. **When not.** If only the best path is asked for: use a decoder.
//!
//! **Precision.** All sums are `f64`. Factors of dense `f32` edges are stored as `f32`: each step then adds a relative
//! error of at most `2^-24`. **Paper.** Rabiner (1989), section III; Lafferty, McCallum & Pereira (2001), section 3.
//!
//! ```
//! use kbest::{Edges, Lattice, MarginalScratch, marginals};
//! let edges = Edges::dense(2, vec![0.0f64; 4])?;
//! let lattice = Lattice::new(vec![0.0, 3f64.ln(), 0.0, 0.0], &edges)?;
//! let mut scratch = MarginalScratch::new();
//! let marginals = marginals(&lattice, &mut scratch)?;
//! assert!((marginals.log_partition() - 8f64.ln()).abs() < 1e-12);
//! assert!((marginals.node(0)[1] - 0.75).abs() < 1e-12);
//! assert!((marginals.path_log_probability(&[1, 0])? - 0.375f64.ln()).abs() < 1e-12);
//! # Ok::<(), kbest::Error>(())
//! ```

mod posterior;
mod step;
mod sum;

pub use posterior::{Marginals, PosteriorPath};

use crate::error::{Error, Result};
use crate::kernel::{Float, exp_rows};
use crate::lattice::Lattice;
use step::{Direction, Step, Work, largest, log_sum_exp};
use sum::Sum;

/// Working memory and results of [`marginals`]: make one a thread and pass it to every call; it grows to the largest
/// sequence and is never freed in between.
#[derive(Debug, Default)]
pub struct MarginalScratch {
    alpha: Vec<f64>,      // T x L: forward logarithms, each row less its maximum
    rise: Vec<Rise>,      // T + 1: what each row lacks; the last one for the sum over last labels
    posteriors: Vec<f64>, // T x L
    beta: Vec<f64>,       // L: backward logarithms of one position, less their maximum
    next: Vec<f64>,       // L
    log_partition: f64,
    work: Work,
}

/// What one step takes out of the logarithms, in parts: their sum would round away the small ones.
#[derive(Debug, Clone, Copy, Default)]
struct Rise {
    node: f64, // of each node score
    edge: f64, // of each edge score; of each start score at the first position, of each end score after the last
    rest: f64, // of what is left: the maximum of the row
}

impl Rise {
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

/// Forward-backward: the probabilities of all labels and pairs.
///
/// # Errors
/// [`Error::NoPath`] if every path is forbidden.
pub fn marginals<'a, S: Float>(
    lattice: &'a Lattice<'_, S>,
    scratch: &'a mut MarginalScratch,
) -> Result<Marginals<'a, S>> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    scratch.rise.clear();
    scratch.posteriors.clear();
    scratch.posteriors.resize(positions * labels, 0.0);
    scratch.alpha.clear();
    scratch.alpha.resize(positions * labels, 0.0);
    scratch.log_partition = 0.0;
    if positions > 0 {
        forward(lattice, scratch)?;
        backward(lattice, scratch);
    }
    Ok(Marginals::new(lattice, scratch))
}

/// The logarithm of the sum of `exp(score)` over all paths, by the forward pass alone; 0 for an empty sequence.
///
/// # Errors
/// [`Error::NoPath`] if every path is forbidden.
pub fn log_partition<S: Float>(lattice: &Lattice<'_, S>, scratch: &mut MarginalScratch) -> Result<f64> {
    if lattice.positions() == 0 {
        return Ok(0.0);
    }
    let MarginalScratch { beta: alpha, next, work, .. } = scratch;
    alpha.resize(lattice.labels(), 0.0);
    next.resize(lattice.labels(), 0.0);
    let mut sum = Sum::default();
    first_row(lattice, alpha)?.add_to(&mut sum);
    for t in 1..lattice.positions() {
        next_row(lattice, t, alpha, next, work)?.add_to(&mut sum);
        std::mem::swap(alpha, next);
    }
    last_sum(lattice, alpha, next)?.add_to(&mut sum);
    Ok(sum.total())
}

/// Fills all rows of `alpha`.
fn forward<S: Float>(lattice: &Lattice<'_, S>, scratch: &mut MarginalScratch) -> Result<()> {
    let labels = lattice.labels();
    let MarginalScratch { alpha, rise, next, work, .. } = scratch;
    rise.push(first_row(lattice, &mut alpha[..labels])?);
    for t in 1..lattice.positions() {
        let (before, rest) = alpha.split_at_mut(t * labels);
        let previous = &before[(t - 1) * labels..];
        rise.push(next_row(lattice, t, previous, &mut rest[..labels], work)?);
    }
    next.resize(labels, 0.0);
    rise.push(last_sum(lattice, &alpha[alpha.len() - labels..], next)?);
    let mut sum = Sum::default();
    rise.iter().for_each(|rise| rise.add_to(&mut sum));
    scratch.log_partition = sum.total();
    Ok(())
}

/// The first row of `alpha`.
fn first_row<S: Float>(lattice: &Lattice<'_, S>, alpha: &mut [f64]) -> Result<Rise> {
    alpha.fill(0.0);
    let node = add_scores(alpha, lattice.node_row(0));
    let edge = lattice.start().map_or(0.0, |start| add_scores(alpha, start));
    Ok(Rise { node, edge, rest: normalise(alpha)? })
}

/// Row `t` of `alpha` from the one before.
fn next_row<S: Float>(
    lattice: &Lattice<'_, S>,
    t: usize,
    previous: &[f64],
    alpha: &mut [f64],
    work: &mut Work,
) -> Result<Rise> {
    let nodes = lattice.node_row(t);
    let wanted = |y: usize| !nodes[y].is_forbidden();
    let edge = Step::fastest(lattice, t).sum(Direction::Forward, t, previous, wanted, work, alpha);
    let node = add_scores(alpha, nodes);
    Ok(Rise { node, edge, rest: normalise(alpha)? })
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
fn backward<S: Float>(lattice: &Lattice<'_, S>, scratch: &mut MarginalScratch) {
    let labels = lattice.labels();
    let MarginalScratch { alpha, posteriors, beta, next, work, .. } = scratch;
    beta.clear();
    beta.resize(labels, 0.0);
    next.resize(labels, 0.0);
    if let Some(end) = lattice.end() {
        add_scores(beta, end);
    }
    for t in (0..lattice.positions()).rev() {
        let row = t * labels..(t + 1) * labels;
        let (alpha, posteriors) = (&alpha[row.clone()], &mut posteriors[row]);
        if t + 1 < lattice.positions() {
            // `next` holds what the edges into t + 1 lead to. No path comes through a label without alpha.
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
        // Less its maximum, so that beta stays small however long the sequence.
        let top = largest(beta);
        for (next, b) in next.iter_mut().zip(&*beta) {
            *next = b - top;
        }
        add_scores(next, lattice.node_row(t));
    }
}

/// Adds scores to a row, less the largest of them, which is returned (0 if all are forbidden).
fn add_scores<S: Float>(row: &mut [f64], scores: &[S]) -> f64 {
    let top = S::max(scores);
    let top = if top.is_forbidden() { 0.0 } else { top.to_f64() };
    for (r, score) in row.iter_mut().zip(scores) {
        *r += score.to_f64() - top;
    }
    top
}

/// Takes the maximum out of a row and returns it; minus infinity means that no path comes so far.
fn normalise(row: &mut [f64]) -> Result<f64> {
    let top = largest(row);
    if top == f64::NEG_INFINITY {
        return Err(Error::NoPath);
    }
    row.iter_mut().for_each(|r| *r -= top);
    Ok(top)
}
