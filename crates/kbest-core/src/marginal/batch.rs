//! What a loss over a batch needs: `log Z` of each sequence, and the gradient of a weighted sum of them.
//!
//! ```text
//! loss = sum over b of weight[b] * log Z[b]
//! d loss / d node[b][t][y] = weight[b] * P(y_t = y)
//! d loss / d edge[p][y]    = sum over b, t of weight[b] * P(y_(t-1) = p, y_t = y)
//! ```
//!
//! **Cost.** Forward-backward per sequence and one matrix product ([`PairSums`]); `L^2` numbers per thread, never one per
//! pair and position. **Order.** A thread takes every n-th sequence, so the last bits of the edge sums depend on the
//! number of threads, and on nothing else.

use super::{MarginalScratch, PairSums, log_partition, marginals};
use crate::error::{Error, Result};
use crate::lattice::{Edges, Lattice};
use crate::simd::Float;
use std::thread;

/// The sums of a batch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BatchSums {
    /// `log Z` of each sequence: minus infinity if all its paths are forbidden, 0 if it is empty.
    pub log_partitions: Vec<f64>,
    /// The gradient of edge scores, `[from][to]`; empty unless it was asked for.
    pub edge_gradient: Vec<f64>,
}

/// Where gradients go.
#[derive(Debug)]
pub struct Gradients<'a, S> {
    /// One per sequence; what belongs to a sequence without a path has no gradient.
    pub weights: &'a [f64],
    /// One slice `T x L` per sequence, overwritten.
    pub nodes: Vec<&'a mut [S]>,
}

/// The lattices of a batch, by number.
pub trait Lattices<S: Float>: Sync {
    /// Number of sequences.
    fn count(&self) -> usize;
    /// The edges that all share: one dense matrix.
    fn edges(&self) -> &Edges<S>;
    /// One of them.
    ///
    /// # Errors
    /// Those of [`Lattice::new`].
    fn lattice(&self, i: usize) -> Result<Lattice<'_, S>>;
}

/// Sums up a batch on this many threads, with gradients if there is a place for them.
///
/// # Errors
/// The first failure with the number of its sequence: a lattice that cannot be made, or [`Error::Range`] of
/// [`marginals`].
///
/// # Panics
/// If there are more or fewer gradients than sequences.
pub fn batch_sums<S: Float>(
    lattices: &impl Lattices<S>,
    gradients: Option<Gradients<'_, S>>,
    threads: usize,
) -> std::result::Result<BatchSums, (usize, Error)> {
    let (count, labels) = (lattices.count(), lattices.edges().labels());
    let threads = threads.clamp(1, count.max(1));
    let wanted = gradients.is_some();
    let mut shares: Vec<Vec<Share<'_, S>>> = (0..threads).map(|_| Vec::new()).collect();
    let mut places = gradients.map(|gradients| {
        assert!(
            gradients.weights.len() == count && gradients.nodes.len() == count,
            "one gradient per sequence"
        );
        gradients.weights.iter().copied().zip(gradients.nodes)
    });
    for i in 0..count {
        let place = places.as_mut().and_then(Iterator::next);
        shares[i % threads].push(Share { i, place });
    }
    let mut sums = BatchSums { log_partitions: vec![0.0; count], edge_gradient: Vec::new() };
    if wanted {
        sums.edge_gradient.resize(labels * labels, 0.0);
    }
    let mut parts: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> =
            shares.drain(1..).map(|share| scope.spawn(move || sum_share(lattices, share, wanted))).collect();
        let own = sum_share(lattices, shares.remove(0), wanted);
        let others = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(own).chain(others).collect()
    });
    let failed = parts.iter().enumerate().filter_map(|(at, part)| Some((part.as_ref().err()?.0, at))).min();
    if let Some((_, at)) = failed {
        parts.swap_remove(at)?; // of the first sequence, whichever thread had it
    }
    let mut all: Option<PairSums> = None;
    for part in parts {
        let (log_partitions, pairs) = part?;
        for (i, log_partition) in log_partitions {
            sums.log_partitions[i] = log_partition;
        }
        match (&mut all, pairs) {
            (Some(all), Some(pairs)) => all.merge(&pairs),
            (None, pairs) => all = pairs,
            (Some(_), None) => {}
        }
    }
    if let Some(pairs) = all {
        pairs.visit(lattices.edges(), |p, y, sum| sums.edge_gradient[p * labels + y] = sum);
    }
    Ok(sums)
}

/// A sequence of a thread: its number, its weight and the place of its gradient.
struct Share<'a, S> {
    i: usize,
    place: Option<(f64, &'a mut [S])>,
}

type Part = (Vec<(usize, f64)>, Option<PairSums>);

fn sum_share<S: Float>(
    lattices: &impl Lattices<S>,
    share: Vec<Share<'_, S>>,
    wanted: bool,
) -> std::result::Result<Part, (usize, Error)> {
    let mut scratch = MarginalScratch::new();
    let mut pairs = wanted.then(PairSums::new);
    if let Some(pairs) = &mut pairs {
        pairs.reset(lattices.edges()).map_err(|failed| (0, failed))?;
    }
    let mut log_partitions = Vec::with_capacity(share.len());
    for Share { i, place } in share {
        let sum = lattices.lattice(i).and_then(|lattice| match (place, &mut pairs) {
            (Some(place), Some(pairs)) => sum_one(&lattice, place, pairs, &mut scratch),
            _ => log_partition(&lattice, &mut scratch),
        });
        match sum {
            Ok(sum) => log_partitions.push((i, sum)),
            Err(Error::NoPath) => log_partitions.push((i, f64::NEG_INFINITY)),
            Err(failed) => return Err((i, failed)),
        }
    }
    Ok((log_partitions, pairs))
}

fn sum_one<S: Float>(
    lattice: &Lattice<'_, S>,
    (weight, node): (f64, &mut [S]),
    pairs: &mut PairSums,
    scratch: &mut MarginalScratch,
) -> Result<f64> {
    node.fill(S::ZERO);
    let marginals = marginals(lattice, scratch)?;
    let rows = node.chunks_exact_mut(lattice.labels().max(1));
    for (t, row) in (0..marginals.positions()).zip(rows) {
        for (gradient, posterior) in row.iter_mut().zip(marginals.node(t)) {
            *gradient = S::from_f64(weight * posterior);
        }
    }
    if weight != 0.0 {
        pairs.add(&marginals, weight);
    }
    Ok(marginals.log_partition())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    struct Batch {
        edges: Edges<f64>,
        nodes: Vec<Vec<f64>>,
    }

    impl Lattices<f64> for Batch {
        fn count(&self) -> usize {
            self.nodes.len()
        }
        fn edges(&self) -> &Edges<f64> {
            &self.edges
        }
        fn lattice(&self, i: usize) -> Result<Lattice<'_, f64>> {
            Lattice::new(&self.nodes[i][..], &self.edges)
        }
    }

    const LABELS: usize = 3;

    fn batch() -> Batch {
        let mut random = Random::new(5);
        let mut scores = |count: usize| (0..count).map(|_| 4.0 * random.unit() - 2.0).collect::<Vec<f64>>();
        let edges = Edges::dense(LABELS, scores(LABELS * LABELS)).unwrap();
        let nodes = [4, 1, 0, 7, 2].map(|positions| scores(positions * LABELS)).to_vec();
        Batch { edges, nodes }
    }

    #[test]
    fn threads_and_weights_add_up_to_single_sequences() {
        let (batch, weights) = (batch(), [0.5, -1.0, 2.0, 0.0, 3.0]);
        let mut expected = vec![0.0; LABELS * LABELS];
        let mut scratch = MarginalScratch::new();
        for (i, weight) in weights.iter().enumerate() {
            let lattice = batch.lattice(i).unwrap();
            let marginals = marginals(&lattice, &mut scratch).unwrap();
            marginals.accumulate_edges(*weight, |p, y, sum| expected[p * LABELS + y] += sum);
        }
        for threads in [1, 2, 9] {
            let mut nodes = batch.nodes.clone();
            let nodes_out = nodes.iter_mut().map(|node| &mut node[..]).collect();
            let gradients = Gradients { weights: &weights, nodes: nodes_out };
            let sums = batch_sums(&batch, Some(gradients), threads).unwrap();
            for (found, expected) in sums.edge_gradient.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-12, "{threads} threads: {found}, not {expected}");
            }
            assert_eq!(sums.log_partitions[2], 0.0); // no positions
            let total: f64 = nodes.concat().iter().sum();
            assert!((total - (0.5 * 4.0 - 1.0 + 2.0 * 3.0)).abs() < 1e-12); // probabilities of a position sum to 1
        }
    }

    #[test]
    fn a_sequence_without_a_path_has_no_gradient() {
        let mut batch = batch();
        batch.nodes[0][..LABELS].fill(f64::NEG_INFINITY);
        let mut nodes = batch.nodes.clone();
        let nodes_out = nodes.iter_mut().map(|node| &mut node[..]).collect();
        let sums = batch_sums(&batch, Some(Gradients { weights: &[1.0; 5], nodes: nodes_out }), 2).unwrap();
        assert_eq!(sums.log_partitions[0], f64::NEG_INFINITY);
        assert!(nodes[0].iter().all(|gradient| *gradient == 0.0));
    }
}
