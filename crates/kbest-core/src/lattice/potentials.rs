//! Edge scores as factors: `exp(edge)`, scaled so that nothing overflows, made once per matrix.
//!
//! **What.** Sums over paths multiply factors where the decoders add scores. A matrix `w` is stored as
//!
//! ```text
//! factor[p][y] = exp(w[p][y] - offset - source[p] - target[y])
//!
//! offset = max w,   source[p] = max over y of (w[p][y] - offset),   target[y] = max over p of (w[p][y] - offset - source[p])
//! ```
//!
//! so that every factor is at most 1 and every row and column that is not entirely forbidden holds a 1: whatever the
//! magnitude of the scores, only their spread *within* a row and column can make a factor too small for its float type.
//! Such factors are stored as 0 and bounded (`lost`), so that a sum can tell whether they matter.
//!
//! **Cost.** `L^2` exponentials and a copy of the matrix, on first use; a transposed copy for sums that run backward.
//! For sparse edges, only the exceptions.

use crate::simd::{AlignedVec, Float, exp_rows, padded};

/// The factors of a dense matrix in one direction: rows are the labels summed over.
#[derive(Debug)]
pub(crate) struct DenseFactors<S: Float> {
    pub factors: AlignedVec<S>, // L rows (sources) of `padded(L)` (targets), padded with 0
    pub source: Vec<f64>,       // L: subtracted from each row's scores; minus infinity if all are forbidden
    pub target: Vec<f64>, // L: subtracted from each column's scores; minus infinity if all are forbidden
    pub offset: f64,      // subtracted from all scores, so that source and target hold only differences
    pub lost: Vec<f64>,   // L, by target: upper bound on the sum of factors stored as 0 though not forbidden
}

impl<S: Float> DenseFactors<S> {
    /// From label `p` to label `y`: `rows` returns the scores that leave `p`.
    pub(super) fn forward<'a>(labels: usize, row_maxima: &[S], rows: impl Fn(usize) -> &'a [S]) -> Self {
        let stride = padded(labels);
        let offset = largest_legal(row_maxima);
        let source: Vec<f64> = row_maxima.iter().map(|w| w.to_f64() - offset).collect();
        let relative = |p: usize, w: S| {
            if w.is_forbidden() { f64::NEG_INFINITY } else { (w.to_f64() - offset) - source[p] }
        };
        let mut target = vec![f64::NEG_INFINITY; labels];
        for p in 0..labels {
            for (c, &w) in target.iter_mut().zip(rows(p)) {
                *c = c.max(relative(p, w));
            }
        }
        let mut factors = AlignedVec::filled(labels * stride, S::ZERO);
        let mut lost = vec![0.0; labels];
        let mut exact = vec![0.0; labels];
        for p in 0..labels {
            for y in 0..labels {
                let above = relative(p, rows(p)[y]);
                exact[y] = if above == f64::NEG_INFINITY { above } else { above - target[y] };
            }
            exp_rows(&mut exact, 0.0);
            let row = &mut factors[p * stride..][..labels];
            for y in 0..labels {
                if exact[y] >= S::SMALLEST_NORMAL {
                    row[y] = S::from_f64(exact[y]);
                } else if !rows(p)[y].is_forbidden() {
                    lost[y] += lost_at_most::<S>();
                }
            }
        }
        DenseFactors { factors, source, target, offset, lost }
    }

    /// From label `y` back to label `p`: the same factors, transposed.
    pub(super) fn backward<'a>(forward: &Self, rows: impl Fn(usize) -> &'a [S]) -> Self {
        let (labels, stride) = (forward.source.len(), padded(forward.source.len()));
        let mut factors = AlignedVec::filled(labels * stride, S::ZERO);
        let mut lost = vec![0.0; labels];
        // In tiles, so that both the reads and the writes stay in the cache.
        const TILE: usize = 32;
        for (first_p, first_y) in (0..labels)
            .step_by(TILE)
            .flat_map(|first_p| (0..labels).step_by(TILE).map(move |first_y| (first_p, first_y)))
        {
            for p in first_p..labels.min(first_p + TILE) {
                for y in first_y..labels.min(first_y + TILE) {
                    let factor = forward.factors[p * stride + y];
                    factors[y * stride + p] = factor;
                    if factor == S::ZERO && !rows(p)[y].is_forbidden() {
                        lost[p] += lost_at_most::<S>();
                    }
                }
            }
        }
        DenseFactors {
            factors,
            source: forward.target.clone(),
            target: forward.source.clone(),
            offset: forward.offset,
            lost,
        }
    }
}

/// The exponentials of a dense matrix, without scaling rows and columns, for few labels and scores that are not far apart.
#[derive(Debug)]
pub(crate) struct LinearFactors {
    pub forward: AlignedVec<f64>, // exp(w[p][y] - offset), rows (p) and columns (y) padded to `stride` with 0
    pub backward: AlignedVec<f64>, // the same, transposed
    pub all: Vec<u32>,            // every row
    pub stride: usize,
    pub offset: f64, // the largest score
    pub spread: f64, // by how much the smallest one is below it
}

impl LinearFactors {
    /// Rows are padded to a multiple of this, the widest vector; with more, small matrices would be mostly padding.
    pub(crate) const WIDTH: usize = 8;

    /// `None` if an edge is forbidden, or if edges are too far apart to be told from 0.
    pub(super) fn new<'a, S: Float>(labels: usize, rows: impl Fn(usize) -> &'a [S]) -> Option<Self> {
        let stride = labels.next_multiple_of(Self::WIDTH);
        let mut forward = AlignedVec::filled(stride * stride, f64::NEG_INFINITY);
        let (mut offset, mut lowest) = (f64::NEG_INFINITY, f64::INFINITY);
        for p in 0..labels {
            for (to, w) in forward[p * stride..][..labels].iter_mut().zip(rows(p)) {
                *to = w.to_f64();
                (offset, lowest) = (offset.max(*to), lowest.min(*to));
            }
        }
        let spread = offset - lowest;
        if lowest == f64::NEG_INFINITY || spread > -f64::MIN_POSITIVE.ln() {
            return None;
        }
        exp_rows(&mut forward, offset);
        let mut backward = AlignedVec::filled(stride * stride, 0.0);
        for (p, row) in forward.chunks_exact(stride).enumerate() {
            row.iter().enumerate().for_each(|(y, &factor)| backward[y * stride + p] = factor);
        }
        Some(LinearFactors { forward, backward, all: (0..stride as u32).collect(), stride, offset, spread })
    }
}

/// The largest score, 0 if all are forbidden.
fn largest_legal<S: Float>(scores: &[S]) -> f64 {
    let largest = S::largest(scores);
    if largest.is_forbidden() { 0.0 } else { largest.to_f64() }
}

/// Above every factor that is stored as 0: twice the smallest normal number, because [`exp_rows`] rounds to 0 a little
/// earlier than `f64` must.
fn lost_at_most<S: Float>() -> f64 {
    2.0 * S::SMALLEST_NORMAL
}

/// The factors of base scores by class in one direction:
///
/// ```text
/// factor[c][d] = exp(base[c][d] - largest[d]),   largest[d] = max over c of base[c][d]
/// ```
#[derive(Debug, Clone)]
pub(crate) struct ClassFactors {
    pub factors: AlignedVec<f64>, // rows (classes of sources) of `stride` (classes of targets), padded with 0
    pub stride: usize,
    largest: Vec<f64>, // by class of targets; minus infinity if all are forbidden
}

impl ClassFactors {
    /// From classes of origins to classes of targets; `scores` are rows of `stride`.
    pub(super) fn forward<S: Float>((from, to): (usize, usize), scores: &[S], stride: usize) -> Self {
        Self::new(from, to, |c, d| scores[c * stride + d])
    }

    /// From classes of targets back to classes of origins.
    pub(super) fn backward<S: Float>((from, to): (usize, usize), scores: &[S], stride: usize) -> Self {
        Self::new(to, from, |d, c| scores[c * stride + d])
    }

    fn new<S: Float>(sources: usize, targets: usize, score: impl Fn(usize, usize) -> S) -> Self {
        let stride = padded(targets);
        let column = |d: usize| (0..sources).map(|c| score(c, d)).fold(S::FORBIDDEN, S::larger).to_f64();
        let largest: Vec<f64> = (0..targets).map(column).collect();
        let mut factors = AlignedVec::filled(sources * stride, f64::NEG_INFINITY);
        for (c, row) in factors.chunks_exact_mut(stride).enumerate() {
            for (d, factor) in
                row[..targets].iter_mut().enumerate().filter(|&(d, _)| !score(c, d).is_forbidden())
            {
                *factor = score(c, d).to_f64() - largest[d];
            }
            exp_rows(row, 0.0);
        }
        ClassFactors { factors, stride, largest }
    }
}

/// The factors of sparse edges in one direction: lists by the label summed into.
#[derive(Debug, Clone)]
pub(crate) struct SparseFactors {
    pub classes: ClassFactors,
    pub base: Vec<f64>, // L: by which the class factors of each list are multiplied; 0 if there are none
    pub target: Vec<f64>, // L: subtracted from the scores of each list
    pub offset: f64,    // subtracted from all scores
    pub factors: Vec<f64>, // one per exception, lists end to end
    pub offsets: Vec<usize>, // L + 1
}

/// If all sources of the best class are exceptions, the largest edge may be far below the base. Beyond `exp` of this,
/// products with the base say too little.
const FAR_ABOVE: f64 = 40.0;

impl SparseFactors {
    /// `lists` returns the exceptions that enter a label, `class` its class, `largest` the largest of all its edges.
    /// The factor of the base is infinite where nothing can be learnt from it.
    pub(super) fn new<'a, S: Float>(
        largest: &[S],
        classes: ClassFactors,
        class: impl Fn(usize) -> usize,
        lists: impl Fn(usize) -> (&'a [u32], &'a [S]),
    ) -> Self {
        let labels = largest.len();
        let offset = largest_legal(largest);
        let target: Vec<f64> = largest.iter().map(|w| w.to_f64() - offset).collect();
        let mut base = vec![f64::NEG_INFINITY; labels];
        let (mut factors, mut offsets) = (Vec::new(), vec![0]);
        for y in 0..labels {
            let (members, scores) = lists(y);
            let largest = classes.largest[class(y)];
            if members.len() < labels && largest > f64::NEG_INFINITY && target[y] > f64::NEG_INFINITY {
                base[y] = (largest - offset) - target[y];
            }
            factors.extend(scores.iter().map(|w| match w.is_forbidden() {
                true => f64::NEG_INFINITY,
                false => (w.to_f64() - offset) - target[y],
            }));
            offsets.push(factors.len());
        }
        let far_above: Vec<usize> = (0..labels).filter(|&y| base[y] > FAR_ABOVE).collect();
        exp_rows(&mut base, 0.0);
        exp_rows(&mut factors, 0.0);
        far_above.into_iter().for_each(|y| base[y] = f64::INFINITY);
        SparseFactors { classes, base, target, offset, factors, offsets }
    }

    /// The factors of the list of label `y`.
    #[inline(always)]
    pub(crate) fn list(&self, y: usize) -> &[f64] {
        &self.factors[self.offsets[y]..self.offsets[y + 1]]
    }
}

#[cfg(test)]
mod tests {
    use crate::lattice::Edges;
    use crate::simd::Kernels;

    const NO: f32 = f32::NEG_INFINITY;

    /// Every row and column holds a 1, and scale and factor give the score back.
    #[test]
    fn factors_are_balanced_and_give_the_scores_back() {
        let scores = [900.0f32, 903.0, -2.0, -5.0, NO, 1e4, 1e4, 9990.0, -1000.0];
        let edges = Edges::dense(3, scores).unwrap();
        let dense = edges.as_dense().unwrap();
        for (backward, factors) in [(false, dense.factors_forward()), (true, dense.factors_backward())] {
            for i in 0..3 {
                let row = &factors.factors[i * 16..][..16];
                assert_eq!(<f32 as Kernels>::largest(row), 1.0);
                assert!(row[3..].iter().all(|&f| f == 0.0));
                for j in 0..3 {
                    let (p, y) = if backward { (j, i) } else { (i, j) };
                    let score =
                        factors.offset + factors.source[i] + factors.target[j] + f64::from(row[j]).ln();
                    let expected = f64::from(scores[p * 3 + y]);
                    let lost = row[j] == 0.0 && expected.is_finite();
                    assert!(lost || score == expected || (score - expected).abs() < 1e-6 * expected.abs());
                    assert!(!lost || factors.lost[j] > 0.0);
                }
            }
        }
    }

    #[test]
    fn a_forbidden_row_and_column_stay_forbidden() {
        let edges = Edges::dense(2, vec![NO, NO, NO, 1e30]).unwrap();
        let forward = edges.as_dense().unwrap().factors_forward();
        assert_eq!((forward.source[0], forward.target[0]), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert_eq!((forward.factors[0], forward.factors[17], forward.lost[0]), (0.0, 1.0, 0.0));
    }

    #[test]
    fn sparse_factors_follow_their_lists() {
        let edges =
            Edges::sparse(2, -1.0f64, &[0, 1, 1], &[1, 0, 1], &[4.0, f64::NEG_INFINITY, 3.0]).unwrap();
        let crate::lattice::Shape::Sparse(sparse) = edges.shape() else { panic!("sparse edges") };
        let forward = sparse.factors_forward();
        assert_eq!((forward.target.as_slice(), forward.base.as_slice()), (&[-5.0, 0.0][..], &[1.0, 0.0][..]));
        assert_eq!((forward.list(0), forward.list(1)[0]), (&[0.0][..], 1.0));
        let backward = sparse.factors_backward();
        assert_eq!((backward.offset, backward.target.as_slice()), (4.0, &[0.0, -1.0][..]));
        assert_eq!(backward.base, [(-5.0f64).exp(), 0.0]);
    }
}
