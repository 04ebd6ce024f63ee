//! Exact Viterbi on edges that are base values with exceptions: one base value, or one for each pair of classes.
//!
//! ```text
//! max over p of (alpha[p] + edge[p][y]) = max( alpha[p'] + base,  max over exceptions p of y of (alpha[p] + edge[p][y]) )
//! ```
//!
//! where `p'` is the best label that is not an exception of `y`: nearly always the best of all. For the few `y` of which that
//! is an exception, it is the second best, or a short list of the best is walked until one fits. Exceptions of labels that reach less
//! than all these values are not read. With classes ([`super::class_step`]) each class of targets has such a list. **Cost.** At most
//! `T (L + exceptions)`, and the pairs of classes: the safety net for trained models, which have never seen most label pairs. **When
//! not.** Dense edges, where everything is an exception.

use super::class_step::class_step;
use super::forward::{Forward, StepBuffer};
use super::funnel::smaller;
use super::gather::GatherEdges;
use super::viterbi_simd;
use super::{Algorithm, Job, Tally};
use crate::error::Result;
use crate::lattice::{Lattice, Matrix, PerPositionView, Shape, SparseEdges};
use crate::simd::{Float, argmax};

/// How many of the best labels are listed; after them, all labels are tried.
pub(super) const BEST: usize = 8;

/// If no more than one label in this many reaches far enough, exceptions are read by the label that they leave.
const PUSHED: usize = 2;

/// Viterbi for sparse edges. Edges without a base value (callbacks) are read in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViterbiSparse;

/// The forward scores.
pub(crate) type Memory<S> = Forward<S>;

impl Algorithm for ViterbiSparse {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let forward = &mut job.scratch.viterbi_sparse;
        fill(job.lattice, forward, job.tally);
        forward.trace(job.lattice, job.edges, job.out)
    }
}

/// Fills the table with exact forward scores.
pub(crate) fn fill<S: Float>(lattice: &Lattice<'_, S>, forward: &mut Forward<S>, tally: &mut impl Tally) {
    match lattice.edges().shape() {
        Shape::Dense(edges) => fill_from(lattice, |_| edges.as_sparse(), forward, tally),
        Shape::Sparse(edges) => fill_from(lattice, |_| edges, forward, tally),
        Shape::PerPosition(matrices) => {
            let view = PerPositionView::new(matrices, lattice.selection());
            let at = |t: usize| match view.matrix(t) {
                Matrix::Dense(edges) => edges.as_sparse(),
                Matrix::Sparse(edges) => edges,
            };
            fill_from(lattice, at, forward, tally);
        }
        Shape::Callback(_) => viterbi_simd::fill(lattice, forward, tally),
    }
}

/// The same, given the edges of each position.
fn fill_from<'e, S: Float>(
    lattice: &Lattice<'_, S>,
    edges: impl Fn(usize) -> &'e SparseEdges<S>,
    forward: &mut Forward<S>,
    tally: &mut impl Tally,
) {
    let (labels, mut read) = (lattice.labels(), 0);
    forward.fill(lattice, tally, |t, alpha, out, buffer| {
        read += sparse_step(edges(t), &alpha[..labels], &mut out[..labels], buffer);
    });
    tally.edges(read);
}

/// `out[y] = max over p of (alpha[p] + edge[p][y])`. Returns how many edges it weighed: exceptions, the base once per label, and every
/// pair of classes.
pub(super) fn sparse_step<S: Float>(
    edges: &SparseEdges<S>,
    alpha: &[S],
    out: &mut [S],
    buffer: &mut StepBuffer<S>,
) -> usize {
    let all = edges.exceptions() + edges.labels();
    let Some(base) = edges.only_base() else {
        class_step(edges, alpha, out, &mut buffer.classes);
        let (origins, targets) = edges.classes();
        return all + origins * targets;
    };
    let by_exceptions = |(from, scores): (&[u32], &[S])| {
        from.iter().zip(scores).fold(S::FORBIDDEN, |value, (&p, &w)| value.larger(alpha[p as usize] + w))
    };
    if base.is_forbidden() {
        out.iter_mut().enumerate().for_each(|(y, out)| *out = by_exceptions(edges.entering(y)));
        return all;
    }
    let Some((first, score)) = argmax(alpha) else {
        out.fill(S::FORBIDDEN);
        return 0;
    };
    let top = score + base;
    let StepBuffer { marked, reaching, .. } = buffer;
    // The value by the base is that of the best label, except for its own exceptions.
    out.fill(top);
    let least = set_exceptions(edges, alpha, first, base, marked, out);
    if edges.exceptions() == 0 {
        return all;
    }
    // Labels that reach no further do not matter ...
    let bounds = edges.row_bounds();
    reaching.clear();
    S::select_sums(alpha, bounds, top, S::LARGEST, reaching);
    if reaching.len() * PUSHED > alpha.len() {
        for (y, out) in out.iter_mut().enumerate() {
            *out = out.larger(by_exceptions(edges.entering(y)));
        }
        return all;
    }
    // ... except to these, which are read by themselves if that is less work.
    let (own, sure) = (edges.leaving(first).0, reaching.len());
    if least < top {
        S::select_sums(alpha, bounds, least, top, reaching);
    }
    let mut read = edges.labels();
    if reaching.len() - sure > 2 * own.len() {
        reaching.truncate(sure);
        for &y in own {
            let entering = edges.entering(y as usize);
            read += entering.0.len();
            let out = &mut out[y as usize];
            *out = out.larger(by_exceptions(entering));
        }
    }
    for &p in &*reaching {
        let (to, scores) = edges.leaving(p as usize);
        read += to.len();
        for (&y, &w) in to.iter().zip(scores) {
            let out = &mut out[y as usize];
            *out = out.larger(alpha[p as usize] + w);
        }
    }
    read
}

/// Sets the values by the base at the exceptions of the best label, and returns the smallest of them.
fn set_exceptions<S: Float>(
    edges: &SparseEdges<S>,
    alpha: &[S],
    first: usize,
    base: S,
    marked: &mut Vec<bool>,
    out: &mut [S],
) -> S {
    let (exceptions, _) = edges.leaving(first);
    if exceptions.is_empty() {
        return S::LARGEST;
    }
    let second = best_but(alpha, first);
    let also = second.map_or(&[][..], |(second, _)| edges.leaving(second).0);
    marked.resize(edges.labels(), false);
    also.iter().for_each(|&y| marked[y as usize] = true);
    let mut others = None;
    let mut least = S::LARGEST;
    for &y in exceptions {
        let score = match second {
            Some((_, score)) if !marked[y as usize] => score,
            None => S::FORBIDDEN,
            _ => {
                let (best, found) = others.get_or_insert_with(|| best_labels(alpha));
                let (from, _) = edges.entering(y as usize);
                match best[..*found].iter().find(|p| from.binary_search(p).is_err()) {
                    Some(&p) => alpha[p as usize],
                    None => best_outside(alpha, from),
                }
            }
        };
        let value = score + base;
        out[y as usize] = value;
        least = smaller(value, least);
    }
    also.iter().for_each(|&y| marked[y as usize] = false);
    least
}

/// The best label except one.
fn best_but<S: Float>(alpha: &[S], first: usize) -> Option<(usize, S)> {
    let (before, after) = (argmax(&alpha[..first]), argmax(&alpha[first + 1..]));
    match (before, after.map(|(p, a)| (first + 1 + p, a))) {
        (Some(before), Some(after)) => Some(if after.1 > before.1 { after } else { before }),
        (one, other) => one.or(other),
    }
}

/// The labels with the largest scores, best first, and their number.
fn best_labels<S: Float>(alpha: &[S]) -> ([u32; BEST], usize) {
    let mut best = [0u32; BEST];
    let mut found = 0;
    let mut least = S::FORBIDDEN; // the smallest kept score once the list is full
    for (p, &a) in alpha.iter().enumerate() {
        if a > least {
            let mut i = if found < BEST { found } else { BEST - 1 };
            while i > 0 && a > alpha[best[i - 1] as usize] {
                best[i] = best[i - 1];
                i -= 1;
            }
            best[i] = p as u32;
            found = (found + 1).min(BEST);
            if found == BEST {
                least = alpha[best[BEST - 1] as usize];
            }
        }
    }
    (best, found)
}

/// The largest score of a label that is not in the ascending list `from`.
fn best_outside<S: Float>(alpha: &[S], from: &[u32]) -> S {
    let mut skip = from.iter().copied().peekable();
    let mut best = S::FORBIDDEN;
    for (p, &a) in alpha.iter().enumerate() {
        if skip.next_if_eq(&(p as u32)).is_none() {
            best = best.larger(a);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Decode, Scratch};
    use crate::lattice::Edges;

    #[test]
    fn best_labels_are_sorted_and_complete() {
        let alpha = [3.0f32, f32::NEG_INFINITY, 9.0, 1.0, 9.0];
        let (best, found) = best_labels(&alpha);
        assert_eq!(best[..found], [2, 4, 0, 3]);
        let many: Vec<f64> = (0..50).map(|i| f64::from(i * 7 % 50)).collect();
        let (best, found) = best_labels(&many);
        let scores: Vec<f64> = best[..found].iter().map(|&p| many[p as usize]).collect();
        assert_eq!(scores, [49.0, 48.0, 47.0, 46.0, 45.0, 44.0, 43.0, 42.0]);
        assert_eq!(best_outside(&alpha, &[2, 4]), 3.0);
    }

    /// Every exception, and the base once per label, whatever the shape of the edges.
    #[test]
    fn the_edges_read_are_counted() {
        let scores = [0.0f32, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0];
        let dense = || Edges::dense(3, scores).unwrap();
        let sparse = || Edges::sparse(3, 0.0, &[0, 2], &[1, 1], &[3.0, 2.0]).unwrap();
        let mixed = Edges::per_position(vec![dense(), sparse(), dense()]).unwrap();
        for edges in [dense(), sparse(), mixed] {
            let lattice = Lattice::new(vec![0.0; 12], &edges).unwrap();
            let answer = ViterbiSparse.decode(&lattice, &mut Scratch::counting()).unwrap();
            assert_eq!(answer.counters.map(|counters| counters.edges), Some(3 * (2 + 3)));
        }
    }
}
