//! The plain twin of every kernel: its meaning, as briefly as possible.

pub(super) use super::by_block::scalar::{block_maxima, select_by_block};
use crate::score::Score;

/// Panics unless a matrix of `rows` rows and `width` columns has `length` elements. It also guards unchecked loops, so
/// the product must not wrap.
#[inline(always)]
pub(super) fn check_matrix(length: usize, rows: usize, width: usize) {
    assert_eq!(Some(length), rows.checked_mul(width), "a matrix of {rows} x {width}");
}

/// Panics unless there is one weight per row and all rows exist in a matrix of `length` elements, `width` per row.
#[inline(always)]
pub(super) fn check_rows(length: usize, weights: &[f64], rows: &[u32], width: usize) {
    assert_eq!(weights.len(), rows.len());
    let height = length.checked_div(width).unwrap_or(usize::MAX); // rows of no elements always exist
    assert!(rows.iter().all(|&row| (row as usize) < height), "rows of {height}");
}

pub(super) fn max_plus_row<S: Score>(out: &mut [S], add: S, row: &[S]) {
    assert_eq!(out.len(), row.len());
    for (o, &r) in out.iter_mut().zip(row) {
        *o = o.larger(add + r);
    }
}

pub(super) fn max_plus_matrix<S: Score>(out: &mut [S], add: &[S], matrix: &[S]) {
    check_matrix(matrix.len(), add.len(), out.len());
    for (p, &a) in add.iter().enumerate() {
        let row = &matrix[p * out.len()..][..out.len()];
        max_plus_row(out, a, row);
    }
}

/// The length of the rows of a matrix of `length` elements in `rows` rows. Panics unless they are of one length, with room
/// for `width` columns from `first` on. It also guards unchecked loops.
#[inline(always)]
pub(super) fn stride_of(length: usize, rows: usize, first: usize, width: usize) -> usize {
    let stride = length.checked_div(rows).unwrap_or(0);
    check_matrix(length, rows, stride);
    assert!(rows == 0 || first.checked_add(width).is_some_and(|past| past <= stride), "columns of {stride}");
    stride
}

pub(super) fn max_plus_rows<S: Score>(out: &mut [S], add: &[S], rows: &[u32], matrix: &[S], first: usize) {
    let stride = stride_of(matrix.len(), add.len(), first, out.len());
    for &row in rows {
        let row = row as usize;
        max_plus_row(out, add[row], &matrix[row * stride + first..][..out.len()]);
    }
}

pub(super) fn add_row<S: Score>(out: &mut [S], row: &[S]) {
    assert_eq!(out.len(), row.len());
    for (o, &r) in out.iter_mut().zip(row) {
        *o += r;
    }
}

pub(super) fn max_row<S: Score>(out: &mut [S], row: &[S]) {
    assert_eq!(out.len(), row.len());
    for (o, &r) in out.iter_mut().zip(row) {
        *o = o.larger(r);
    }
}

pub(super) fn largest<S: Score>(row: &[S]) -> S {
    row.iter().fold(S::FORBIDDEN, |best, &r| best.larger(r))
}

pub(super) fn smallest<S: Score>(row: &[S]) -> S {
    row.iter().fold(S::LARGEST, |least, &r| if r < least { r } else { least })
}

pub(super) fn largest_magnitude<S: Score>(row: &[S]) -> Option<S> {
    let mut largest = S::ZERO;
    for &r in row {
        if !r.is_legal() {
            return None;
        }
        let magnitude = if r < S::ZERO { -r } else { r };
        if magnitude > largest && magnitude.is_legal() {
            largest = magnitude;
        }
    }
    Some(largest)
}

pub(super) fn max_of_sum<S: Score>(row: &[S], add: &[S]) -> S {
    assert_eq!(row.len(), add.len());
    row.iter().zip(add).fold(S::FORBIDDEN, |best, (&r, &a)| best.larger(r + a))
}

pub(super) fn largest_value<S: Score>(add: S, row: &[S], node: &[S]) -> S {
    assert_eq!(row.len(), node.len());
    row.iter().zip(node).fold(S::FORBIDDEN, |best, (&r, &n)| best.larger(add + r + n))
}

pub(super) fn select_reaching<S: Score>(
    add: S,
    row: &[S],
    least: S,
    node: &[S],
    way_out: &[S],
    threshold: S,
    found: &mut Vec<u32>,
) -> S {
    assert!(row.len() == node.len() && row.len() == way_out.len());
    let mut others = S::FORBIDDEN;
    for y in 0..row.len() {
        let value = (add + row[y]).larger(least) + node[y];
        if value + way_out[y] >= threshold {
            found.push(y as u32);
        } else {
            others = others.larger(value);
        }
    }
    others
}

pub(super) fn first_at_least<S: Score>(row: &[S], add: S, threshold: S) -> Option<usize> {
    row.iter().position(|&r| r + add >= threshold)
}

pub(super) fn first_sum_at_least<S: Score>(row: &[S], add: &[S], threshold: S) -> Option<usize> {
    assert_eq!(row.len(), add.len());
    row.iter().zip(add).position(|(&r, &a)| r + a >= threshold)
}

pub(super) fn select_sums<S: Score>(row: &[S], add: &[S], least: S, below: S, found: &mut Vec<u32>) {
    assert_eq!(row.len(), add.len());
    select_sums_from(0, row, add, least, below, found);
}

/// [`select_sums`] for the labels from `first` on; also used for the ragged tail of the vector versions.
pub(super) fn select_sums_from<S: Score>(
    first: usize,
    row: &[S],
    add: &[S],
    least: S,
    below: S,
    found: &mut Vec<u32>,
) {
    for y in first..row.len() {
        let sum = row[y] + add[y];
        if sum >= least && sum < below {
            found.push(y as u32);
        }
    }
}

pub(super) fn add_weighted_rows<S: Score>(out: &mut [f64], weights: &[f64], rows: &[u32], matrix: &[S]) {
    check_rows(matrix.len(), weights, rows, out.len());
    add_weighted_columns(out, 0, weights, rows, matrix);
}

/// [`add_weighted_rows`] for the columns from `first` on; also used for the ragged tail of the vector versions.
pub(super) fn add_weighted_columns<S: Score>(
    out: &mut [f64],
    first: usize,
    weights: &[f64],
    rows: &[u32],
    matrix: &[S],
) {
    let width = out.len();
    if first == width {
        return;
    }
    for (&weight, &row) in weights.iter().zip(rows) {
        let row = &matrix[row as usize * width..][..width];
        for (o, &r) in out[first..].iter_mut().zip(&row[first..]) {
            *o += weight * r.to_f64();
        }
    }
}
