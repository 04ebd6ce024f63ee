//! Expected numbers of label pairs over many sequences: the gradient of edge weights.
//!
//! ```text
//! sum over t of P(y_(t-1) = p, y_t = y) = exp(edge[p][y]) * sum over t of x[t-1][p] * z[t][y]
//! x[t][p] = exp(alpha[t][p]),   z[t][y] = P(y_t = y) / sum over p of exp(alpha[t-1][p] + edge[p][y])
//! ```
//!
//! **Why.** The edges are the same for all steps, so their exponentials are moved out of the sum and no pair of a step
//! needs its own: what remains is a product of matrices for dense edges, and one multiplication per exception for
//! sparse ones. [`Marginals::accumulate_edges`] computes the same numbers pair by pair. **Cost.** `T L^2`
//! multiplications, or `T` times the exceptions; memory for one number per pair.
//!
//! With *classes* ([`PairSums::reset_with_classes`]) the pairs of each two classes of sparse edges are summed, too: as if all
//! had the base score, less the exceptions, which are added with their own. That costs `T` times the pairs of classes.
//!
//! **Accuracy.** All terms are positive. Where exceptions score far below their base, what is left of a sum of classes after
//! they are subtracted has an error of up to `T 1e-16 exp(base - exception)`. Where `z` would be too large for its type (labels that no good edge leads to)
//! the pairs of that step are computed one by one.

use super::Marginals;
use crate::error::{Error, Result};
use crate::lattice::{EdgeScores, Edges, Shape, SparseEdges};
use crate::simd::{Float, Kernels, exp_rows, padded};

/// If a label is reached with less than `exp` of this, its step is computed pair by pair. Far enough from the limit of
/// `f64` that factors too small for `f64` are negligible.
const LOWEST_INFLOW: f64 = -600.0;

/// Sums of pair posteriors, over sequences that share their edges.
#[derive(Debug, Default)]
pub struct PairSums {
    products: Vec<f64>, // one per pair, without the edge's own factor; rows of padded(L) if the edges are dense
    exact: Vec<f64>,    // one per pair, complete; empty if no step needed it
    offset: f64,        // subtracted from every edge by forward-backward; depends only on the edges
    x: Vec<f64>,        // T - 1 rows of padded(L): of the position that each step leaves
    z: Vec<f64>,        // T - 1 rows of padded(L): of the position that each step enters
    rows: Vec<u32>,     // the steps over which a label is summed
    weights: Vec<f64>,  // and their weights
    classes: Option<ClassProducts>,
}

/// The same sums for pairs of classes.
#[derive(Debug, Default)]
struct ClassProducts {
    products: Vec<f64>, // rows (classes of origins) of `width`; exceptions count as if they were none
    exact: Vec<f64>,    // complete, with exceptions; empty if no step needed it
    width: usize,       // classes of targets, padded
    x: Vec<f64>,        // T - 1 rows: the sums of `x` over the classes of origins
    z: Vec<f64>,        // T - 1 rows of `width`
}

impl PairSums {
    /// An empty sum.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts over, for lattices with these edges.
    ///
    /// # Errors
    /// [`Error::Shape`] unless the edges are one matrix, dense or sparse.
    pub fn reset<S: Float>(&mut self, edges: &Edges<S>) -> Result<()> {
        let pairs = match edges.shape() {
            Shape::Dense(edges) => edges.padded_scores().len(),
            Shape::Sparse(edges) => edges.exceptions(),
            _ => return Err(Error::shape("edges of a sum over pairs", "one stored matrix", "another shape")),
        };
        self.exact.clear();
        self.products.clear();
        self.products.resize(pairs, 0.0);
        self.classes = None;
        Ok(())
    }

    /// The same, to sum up the pairs of classes of sparse edges as well ([`PairSums::visit_classes`]).
    ///
    /// # Errors
    /// As [`PairSums::reset`].
    pub fn reset_with_classes<S: Float>(&mut self, edges: &Edges<S>) -> Result<()> {
        let kept = self.classes.take();
        self.reset(edges)?;
        if let Shape::Sparse(edges) = edges.shape() {
            let (origins, targets) = edges.classes();
            let mut classes = kept.unwrap_or_default();
            classes.width = padded(targets);
            classes.exact.clear();
            classes.products.clear();
            classes.products.resize(origins * classes.width, 0.0);
            self.classes = Some(classes);
        }
        Ok(())
    }

    /// Adds `weight` times the pair posteriors of a sequence.
    ///
    /// # Panics
    /// If the lattice has different edges from those given to [`PairSums::reset`].
    pub fn add<S: Float>(&mut self, marginals: &Marginals<'_, S>, weight: f64) {
        let width = padded(marginals.labels());
        self.fill_factors(marginals, weight);
        let steps = marginals.positions().saturating_sub(1);
        let (x, z) = (&self.x, &self.z);
        match marginals.lattice.edges().shape() {
            Shape::Sparse(edges) => {
                assert_eq!(self.products.len(), edges.exceptions(), "other edges than at the start");
                for (x, z) in x.chunks_exact(width).zip(z.chunks_exact(width)) {
                    let mut sums = self.products.iter_mut();
                    for p in 0..marginals.labels() {
                        let members = edges.leaving(p).0;
                        for (&y, sum) in members.iter().zip(&mut sums) {
                            *sum += x[p] * z[y as usize];
                        }
                    }
                }
                if let Some(classes) = &mut self.classes {
                    classes.add(edges, (x, z), width, (&mut self.rows, &mut self.weights));
                }
            }
            _ => {
                assert_eq!(self.products.len(), marginals.labels() * width, "other edges than at the start");
                for (p, sums) in self.products.chunks_exact_mut(width).enumerate() {
                    self.rows.clear();
                    self.weights.clear();
                    for step in 0..steps {
                        let x = x[step * width + p];
                        if x != 0.0 {
                            self.rows.push(step as u32);
                            self.weights.push(x);
                        }
                    }
                    f64::add_weighted_rows(sums, &self.weights, &self.rows, z);
                }
            }
        }
    }

    /// Adds the pairs of labels that another sum has seen, of the same edges; not those of classes.
    pub(super) fn merge(&mut self, other: &PairSums) {
        if other.products.iter().any(|product| *product != 0.0) {
            self.offset = other.offset;
        }
        self.products.iter_mut().zip(&other.products).for_each(|(sum, product)| *sum += product);
        if !other.exact.is_empty() {
            self.exact.resize(self.products.len(), 0.0);
            self.exact.iter_mut().zip(&other.exact).for_each(|(sum, exact)| *sum += exact);
        }
    }

    /// Fills `x` (times `weight`) and `z`; steps that do not fit their range are added to `exact` instead.
    fn fill_factors<S: Float>(&mut self, marginals: &Marginals<'_, S>, weight: f64) {
        let (labels, width) = (marginals.labels(), padded(marginals.labels()));
        let steps = marginals.positions().saturating_sub(1);
        for factors in [&mut self.x, &mut self.z] {
            factors.clear();
            factors.resize(steps * width, 0.0);
        }
        for step in 0..steps {
            let t = step + 1;
            self.offset = marginals.edge_offset(t);
            let z = &mut self.z[step * width..][..labels];
            if let Some(alphas) = marginals.linear_alphas(t - 1) {
                for (z, (inflow, posterior)) in
                    z.iter_mut().zip(marginals.inflows(t).iter().zip(marginals.node(t)))
                {
                    *z = posterior / inflow;
                }
                let x = &mut self.x[step * width..][..labels];
                x.iter_mut().zip(alphas).for_each(|(x, alpha)| *x = weight * alpha);
                continue;
            }
            z.copy_from_slice(marginals.inflows(t));
            let posteriors = marginals.node(t);
            let lost = z.iter().zip(posteriors).any(|(z, &posterior)| *z < LOWEST_INFLOW && posterior > 0.0);
            if lost {
                z.fill(0.0);
                self.add_exactly(marginals, t, weight);
                continue;
            }
            z.iter_mut().for_each(|z| *z = -z.max(LOWEST_INFLOW));
            exp_rows(z, 0.0);
            z.iter_mut().zip(posteriors).for_each(|(z, posterior)| *z *= posterior);
            let x = &mut self.x[step * width..][..labels];
            x.iter_mut().enumerate().for_each(|(p, x)| *x = marginals.alpha(t - 1, p));
            exp_rows(x, 0.0);
            x.iter_mut().for_each(|x| *x *= weight);
        }
    }

    /// One step, pair by pair.
    #[cold]
    fn add_exactly<S: Float>(&mut self, marginals: &Marginals<'_, S>, t: usize, weight: f64) {
        self.exact.resize(self.products.len(), 0.0);
        let edges = marginals.lattice.edges();
        for_each_pair(edges, |i, p, y, _| self.exact[i] += weight * marginals.edge(t, p, y));
        if let (Some(classes), Shape::Sparse(edges)) = (&mut self.classes, edges.shape()) {
            classes.exact.resize(classes.products.len(), 0.0);
            for (p, y) in (0..edges.labels()).flat_map(|p| (0..edges.labels()).map(move |y| (p, y))) {
                let at = edges.origin_class(p) * classes.width + edges.target_class(y);
                classes.exact[at] += weight * marginals.edge(t, p, y);
            }
        }
    }

    /// Calls `visit(c, d, sum)` for each pair of classes, after [`PairSums::reset_with_classes`]: the sum over all pairs of
    /// labels, exceptions or not, of which the first has class `c` and the second class `d`. `edges` are those given there.
    /// Nothing is visited if they are dense.
    pub fn visit_classes<S: Float>(&self, edges: &Edges<S>, mut visit: impl FnMut(usize, usize, f64)) {
        let (Some(classes), Shape::Sparse(sparse)) = (&self.classes, edges.shape()) else { return };
        let ((origins, targets), width) = (sparse.classes(), classes.width);
        let mut plain = classes.products.clone();
        let mut whole = vec![0.0; plain.len()];
        for_each_pair(edges, |i, p, y, score| {
            let at = sparse.origin_class(p) * width + sparse.target_class(y);
            let product = self.products[i];
            plain[at] -= product;
            whole[at] += if product != 0.0 { product * (score - self.offset).exp() } else { 0.0 };
        });
        for (c, d) in (0..origins).flat_map(|c| (0..targets).map(move |d| (c, d))) {
            let at = c * width + d;
            let base = sparse.class_scores()[c * sparse.class_stride() + d].to_f64();
            // Next to nothing is what rounding has left of a pair that consists of exceptions.
            let rest = if plain[at] > 1e-12 * classes.products[at] {
                plain[at] * (base - self.offset).exp()
            } else {
                0.0
            };
            visit(c, d, whole[at] + rest + classes.exact.get(at).copied().unwrap_or(0.0));
        }
    }

    /// Calls `visit(p, y, sum)` for each pair, in ascending order: all pairs of dense edges, the exceptions of sparse
    /// ones. `edges` are those given to [`PairSums::reset`].
    pub fn visit<S: Float>(&self, edges: &Edges<S>, mut visit: impl FnMut(usize, usize, f64)) {
        for_each_pair(edges, |i, p, y, score| {
            let exact = self.exact.get(i).copied().unwrap_or(0.0);
            let product = self.products[i];
            let rest = if product != 0.0 { product * (score - self.offset).exp() } else { 0.0 };
            visit(p, y, exact + rest);
        });
    }
}

impl ClassProducts {
    /// Adds the products of all steps; `x` and `z` are those of labels, in rows of `padded`.
    fn add<S: Float>(
        &mut self,
        edges: &SparseEdges<S>,
        (x, z): (&[f64], &[f64]),
        padded: usize,
        (rows, weights): (&mut Vec<u32>, &mut Vec<f64>),
    ) {
        let (origins, steps) = (edges.classes().0, x.len() / padded.max(1));
        for (factors, length) in [(&mut self.x, origins), (&mut self.z, self.width)] {
            factors.clear();
            factors.resize(steps * length, 0.0);
        }
        for step in 0..steps {
            let at = step * padded;
            let sums =
                (&mut self.x[step * origins..][..origins], &mut self.z[step * self.width..][..self.width]);
            for y in 0..edges.labels() {
                sums.0[edges.origin_class(y)] += x[at + y];
                sums.1[edges.target_class(y)] += z[at + y];
            }
        }
        for (class, sums) in self.products.chunks_exact_mut(self.width).enumerate() {
            rows.clear();
            weights.clear();
            for (step, x) in
                (0..steps).map(|step| (step, self.x[step * origins + class])).filter(|(_, x)| *x != 0.0)
            {
                rows.push(step as u32);
                weights.push(x);
            }
            f64::add_weighted_rows(sums, weights, rows, &self.z);
        }
    }
}

/// Calls `visit(place, p, y, score)` for each stored pair.
fn for_each_pair<S: Float>(edges: &Edges<S>, mut visit: impl FnMut(usize, usize, usize, f64)) {
    match edges.shape() {
        Shape::Dense(dense) => {
            for p in 0..edges.labels() {
                for y in 0..edges.labels() {
                    visit(p * dense.stride() + y, p, y, dense.get(1, p, y).to_f64());
                }
            }
        }
        Shape::Sparse(sparse) => {
            let mut place = 0..;
            for p in 0..edges.labels() {
                let (members, scores) = sparse.leaving(p);
                for ((&y, score), place) in members.iter().zip(scores).zip(&mut place) {
                    visit(place, p, y as usize, score.to_f64());
                }
            }
        }
        Shape::PerPosition(_) | Shape::Callback(_) => {}
    }
}
