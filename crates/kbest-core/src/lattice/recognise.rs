//! Matrices that forbid almost everything, recognised when edges are made.
//!
//! Left-to-right models, pitch trackers and transition lists often arrive as whole matrices of which all but a band is
//! minus infinity. Stored as a list of what they allow, they take a fraction of the memory, and a step of Viterbi takes
//! time in proportion to the list. Matrices with another typical value stay as they are: decoders that read their
//! exceptions alone find them in the matrix ([`super::DenseEdges::as_sparse`]), and the others read its rows faster.
//!
//! **Cost.** One look at each score, and it stops early unless almost all are forbidden.

use super::base::Base;
use super::{SparseEdges, checked_magnitude};
use crate::error::Result;
use crate::simd::Float;

/// With at most this many labels, a matrix is always best.
const SMALL: usize = 64;

/// A matrix of this many bytes stays in a core's own cache.
const NEAR_BYTES: usize = 1 << 20;

/// One allowed pair in this many is the most for a list to be faster than such a matrix, and than a larger one
/// (measured with bands over 300 to 3,000 labels).
const NEAR: usize = 32;
const FAR: usize = 12;

/// The pairs that a matrix of `labels` rows allows, if they are so few that a list of them is the better shape.
pub(super) fn mostly_forbidden<S: Float>(labels: usize, scores: &[S]) -> Result<Option<SparseEdges<S>>> {
    if labels <= SMALL || Some(scores.len()) != labels.checked_mul(labels) {
        return Ok(None);
    }
    let share = if size_of_val(scores) <= NEAR_BYTES { NEAR } else { FAR };
    let (most, mut allowed) = (scores.len() / share, 0);
    for from in scores.chunks_exact(labels) {
        allowed += from.iter().filter(|score| !score.is_forbidden()).count();
        if allowed > most {
            return Ok(None);
        }
    }
    for (p, from) in scores.chunks_exact(labels).enumerate() {
        checked_magnitude(from, |y| format!("the edge score from label {p} to label {y}"))?;
    }
    let pairs = scores.chunks_exact(labels).zip(0..).flat_map(|(from, p)| {
        let allowed = from.iter().zip(0..).filter(|(score, _)| !score.is_forbidden());
        allowed.map(move |(&score, y)| (p, y, score))
    });
    Ok(Some(SparseEdges::from_sorted(labels, Base::one(labels, S::FORBIDDEN), pairs)))
}

#[cfg(test)]
mod tests {
    use crate::lattice::{EdgeScores, Edges, Shape};

    const NO: f32 = f32::NEG_INFINITY;

    /// A band of `width` labels on either side of the diagonal.
    fn band(labels: usize, width: usize) -> Vec<f32> {
        let score = |p: usize, y: usize| if p.abs_diff(y) <= width { (p + 2 * y) as f32 } else { NO };
        (0..labels * labels).map(|i| score(i / labels, i % labels)).collect()
    }

    #[test]
    fn narrow_bands_become_lists() {
        for (labels, width, list) in
            [(64, 0, false), (65, 0, true), (200, 2, true), (200, 4, false), (600, 20, true)]
        {
            let scores = band(labels, width);
            let edges = Edges::dense(labels, &scores).unwrap();
            let Shape::Sparse(allowed) = edges.shape() else {
                assert!(!list, "{labels} labels, width {width}");
                continue;
            };
            assert!(list, "{labels} labels, width {width}");
            for (i, &score) in scores.iter().enumerate() {
                assert_eq!(allowed.get(1, i / labels, i % labels), score);
            }
        }
    }

    #[test]
    fn errors_name_the_same_place() {
        let mut scores = band(100, 0);
        scores[3 * 100 + 7] = f32::NAN;
        let error = Edges::dense(100, &scores).unwrap_err().to_string();
        assert!(error.contains("from label 3 to label 7"), "{error}");
    }
}
