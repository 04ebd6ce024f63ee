//! The results of forward-backward: posteriors of labels, of pairs and of paths.

use super::MarginalScratch;
use super::step::Step;
use super::sum::Sum;
use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice, SparseEdges, with_edges};
use crate::simd::{Float, argmax, exp_rows, padded};

/// The posteriors of one lattice, in the memory of a [`MarginalScratch`].
#[derive(Debug, Clone, Copy)]
pub struct Marginals<'a, S: Float> {
    pub(super) lattice: &'a Lattice<'a, S>,
    memory: &'a MarginalScratch,
}

/// The most likely label of each position, taken one by one.
///
/// **This is not the best path.** It maximises the expected number of correct labels, not the score: it may have a
/// lower score than a decoder's path, and may even use a forbidden edge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PosteriorPath {
    /// The label with the highest posterior at each position; the lowest such label on a tie.
    pub labels: Vec<LabelId>,
    /// The posteriors of these labels.
    pub posteriors: Vec<f64>,
}

/// Memory for the pairs of one step.
struct Rows<S> {
    outflow: Vec<f64>,    // L: see `fill_outflow`
    posteriors: Vec<f64>, // L
    scores: Vec<S>,       // padded(L): for edges that do not store rows
}

impl<S: Float> Rows<S> {
    fn new(labels: usize) -> Self {
        Rows {
            outflow: vec![0.0; labels],
            posteriors: vec![0.0; labels],
            scores: vec![S::FORBIDDEN; padded(labels)],
        }
    }
}

impl<'a, S: Float> Marginals<'a, S> {
    pub(super) fn new(lattice: &'a Lattice<'a, S>, memory: &'a MarginalScratch) -> Self {
        Marginals { lattice, memory }
    }

    /// Number of positions `T`.
    pub fn positions(&self) -> usize {
        self.lattice.positions()
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.lattice.labels()
    }

    /// The logarithm of the sum of `exp(score)` over all paths; 0 for an empty sequence.
    pub fn log_partition(&self) -> f64 {
        self.memory.log_partition
    }

    /// `P(y_t = y)` for every label `y`; they sum to 1.
    ///
    /// # Panics
    /// If there is no position `t`.
    pub fn node(&self, t: usize) -> &'a [f64] {
        &self.memory.posteriors[t * self.memory.stride..][..self.labels()]
    }

    /// `P(y_(t-1) = p, y_t = y)`, for `t >= 1`.
    ///
    /// # Panics
    /// If there is no such position or label, or `t` is 0.
    pub fn edge(&self, t: usize, p: usize, y: usize) -> f64 {
        assert!(t > 0, "no edge leads into position 0");
        let posterior = self.node(t)[y];
        if posterior == 0.0 {
            return 0.0;
        }
        let score = with_edges!(self.lattice, |edges| edges.get(t, p, y));
        posterior * self.log_conditional(t, p, y, score).exp()
    }

    /// `ln P(y_(t-1) = p | y_t = y)`, for a label `y` with a path to it and the score of the edge between them.
    fn log_conditional(&self, t: usize, p: usize, y: usize, score: S) -> f64 {
        let log = self.alpha(t - 1, p) + (score.to_f64() - self.memory.rise[t].edge) - self.inflow(t, y);
        log.min(0.0) // a probability, apart from rounding
    }

    /// Writes `P(y_(t-1) = p, y_t = y)` to `out[p * L + y]`.
    ///
    /// # Panics
    /// If there is no position `t`, `t` is 0, or `out` does not have `L * L` numbers.
    pub fn fill_edges(&self, t: usize, out: &mut [f64]) {
        let labels = self.labels();
        assert_eq!(out.len(), labels * labels, "a matrix of pair posteriors has L x L numbers");
        let mut rows = Rows::new(labels);
        self.fill_outflow(t, &mut rows.outflow);
        with_edges!(self.lattice, |edges| {
            for (p, row) in out.chunks_exact_mut(labels).enumerate() {
                match self.alpha(t - 1, p) > f64::NEG_INFINITY {
                    true => self.fill_row(t, p, &rows.outflow, edges.row(t, p, &mut rows.scores), row),
                    false => row.fill(0.0), // unreachable: no need to read its edges
                }
            }
        });
    }

    /// The expected number of each label pair, for the gradient of edge weights: calls
    /// `visit(p, y, weight * P(y_(t-1) = p, y_t = y))` once for each step and pair; the caller adds them up.
    ///
    /// Dense and computed edges: all pairs except those with posterior 0. Sparse edges: only the exceptions, and no
    /// work for any other pair; all pairs of a step sum to 1, so the rest belongs to the base. Over many sequences,
    /// [`PairSums`](super::PairSums) is faster.
    pub fn accumulate_edges(&self, weight: f64, mut visit: impl FnMut(usize, usize, f64)) {
        let mut rows = Rows::new(self.labels());
        for t in 1..self.positions() {
            self.visit_step(t, &mut rows, &mut |p, y, posterior| visit(p, y, weight * posterior));
        }
    }

    /// The same for only the step into position `t`, unweighted: for edges that change with the position.
    ///
    /// # Panics
    /// If there is no position `t`, or `t` is 0.
    pub fn visit_edges(&self, t: usize, mut visit: impl FnMut(usize, usize, f64)) {
        self.visit_step(t, &mut Rows::new(self.labels()), &mut visit);
    }

    fn visit_step(&self, t: usize, rows: &mut Rows<S>, visit: &mut impl FnMut(usize, usize, f64)) {
        self.fill_outflow(t, &mut rows.outflow);
        match Step::stored(self.lattice, t) {
            Step::Sparse(edges) => self.visit_exceptions(t, edges, rows, visit),
            Step::Dense(edges) => self.visit_rows(t, edges, rows, visit),
            Step::Callback(edges) => self.visit_rows(t, edges, rows, visit),
        }
    }

    fn visit_exceptions(
        &self,
        t: usize,
        edges: &SparseEdges<S>,
        rows: &mut Rows<S>,
        visit: &mut impl FnMut(usize, usize, f64),
    ) {
        let offset = self.memory.rise[t].edge;
        for p in self.sources(t) {
            let (members, scores) = edges.leaving(p);
            let alpha = self.alpha(t - 1, p);
            let posteriors = &mut rows.posteriors[..members.len()];
            for (r, (&y, w)) in posteriors.iter_mut().zip(members.iter().zip(scores)) {
                *r = (alpha + (w.to_f64() - offset) + rows.outflow[y as usize]).min(0.0);
            }
            exp_rows(posteriors, 0.0);
            members.iter().zip(&*posteriors).for_each(|(&y, &posterior)| visit(p, y as usize, posterior));
        }
    }

    /// All pairs with a posterior above 0.
    fn visit_rows(
        &self,
        t: usize,
        edges: &impl EdgeScores<S>,
        rows: &mut Rows<S>,
        visit: &mut impl FnMut(usize, usize, f64),
    ) {
        let Rows { outflow, posteriors, scores } = rows;
        for p in self.sources(t) {
            self.fill_row(t, p, outflow, edges.row(t, p, scores), posteriors);
            for (y, &posterior) in posteriors.iter().enumerate() {
                if posterior > 0.0 {
                    visit(p, y, posterior);
                }
            }
        }
    }

    /// The labels at position `t - 1` that some path goes through.
    fn sources(&self, t: usize) -> impl Iterator<Item = usize> {
        self.node(t - 1).iter().enumerate().filter(|&(_, &posterior)| posterior > 0.0).map(|(p, _)| p)
    }

    /// The pair posteriors that leave label `p` into position `t`.
    fn fill_row(&self, t: usize, p: usize, outflow: &[f64], scores: &[S], row: &mut [f64]) {
        let (alpha, offset) = (self.alpha(t - 1, p), self.memory.rise[t].edge);
        for ((r, score), outflow) in row.iter_mut().zip(scores).zip(outflow) {
            let log = alpha + (score.to_f64() - offset) + outflow;
            *r = if log < 0.0 { log } else { 0.0 }; // a probability, apart from rounding
        }
        exp_rows(row, 0.0);
    }

    /// `ln (P(y_t = y) / sum over p of exp(alpha[t-1][p] + edge[t][p][y]))` for every `y`: added to alpha and an edge
    /// score, it yields the logarithm of a pair's posterior.
    fn fill_outflow(&self, t: usize, row: &mut [f64]) {
        assert!(t > 0, "no edge leads into position 0");
        for (y, (r, &posterior)) in row.iter_mut().zip(self.node(t)).enumerate() {
            *r = if posterior > 0.0 { posterior.ln() - self.inflow(t, y) } else { f64::NEG_INFINITY };
        }
    }

    /// `ln sum over p of exp(alpha[t-1][p] + edge[t][p][y])`, minus the edges' offset.
    fn inflow(&self, t: usize, y: usize) -> f64 {
        let inflow = self.memory.inflow[t * self.memory.stride + y];
        if self.memory.linear { inflow.ln() } else { inflow }
    }

    /// The same for every label, without the logarithm if forward-backward needed none.
    pub(super) fn inflows(&self, t: usize) -> &[f64] {
        &self.memory.inflow[t * self.memory.stride..][..self.labels()]
    }

    /// `exp(alpha)` of every label, if forward-backward needed no logarithms.
    pub(super) fn linear_alphas(&self, t: usize) -> Option<&[f64]> {
        self.memory.linear.then(|| &self.memory.forward[t * self.memory.stride..][..self.labels()])
    }

    /// The edges' offset at the step into position `t`.
    pub(super) fn edge_offset(&self, t: usize) -> f64 {
        self.memory.rise[t].edge
    }

    /// The forward logarithm of label `y`, relative to the others of its position.
    pub(super) fn alpha(&self, t: usize, y: usize) -> f64 {
        if let Some(alphas) = self.linear_alphas(t) {
            return alphas[y].ln();
        }
        self.memory.rise[t].alpha(self.inflow(t, y), self.lattice.node_row(t)[y])
    }

    /// The logarithm of a path's posterior, `score - log Z`; minus infinity for a forbidden path, 0 for the empty one.
    ///
    /// Score and `log Z` grow with the sequence while their difference may be small, so it is computed from the
    /// posterior of the last label and those of each label given the next one.
    ///
    /// # Errors
    /// As [`Lattice::path_score`].
    pub fn path_log_probability(&self, path: &[LabelId]) -> Result<f64> {
        if self.lattice.path_score(path)?.is_forbidden() {
            return Ok(f64::NEG_INFINITY);
        }
        let Some(&last) = path.last() else { return Ok(0.0) };
        let end = self.lattice.end().map_or(0.0, |end| end[last as usize].to_f64());
        let rise = &self.memory.rise[path.len()];
        let mut sum = Sum::default();
        sum.add(self.alpha(path.len() - 1, last as usize) + (end - rise.edge) - rise.rest);
        with_edges!(self.lattice, |edges| {
            for t in 1..path.len() {
                let (p, y) = (path[t - 1] as usize, path[t] as usize);
                sum.add(self.log_conditional(t, p, y, edges.get(t, p, y)));
            }
        });
        Ok(sum.total().min(0.0)) // a probability, apart from rounding
    }

    /// [`Marginals::path_log_probability`] of each path, for example of the `k` best paths of an answer:
    /// `marginals.path_log_probabilities(&answer.paths)`.
    ///
    /// # Errors
    /// As [`Lattice::path_score`].
    pub fn path_log_probabilities<P: AsRef<[LabelId]>>(
        &self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Vec<f64>> {
        paths.into_iter().map(|path| self.path_log_probability(path.as_ref())).collect()
    }

    /// Posterior decoding: the most likely label of each position, the lowest such label on a tie. Not the best path;
    /// see [`PosteriorPath`].
    pub fn posterior_path(&self) -> PosteriorPath {
        let mut path = PosteriorPath::default();
        for t in 0..self.positions() {
            let (y, posterior) = argmax(self.node(t)).expect("posteriors are not minus infinity, and L >= 1");
            path.labels.push(y as LabelId);
            path.posteriors.push(posterior);
        }
        path
    }
}
