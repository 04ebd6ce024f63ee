//! Every kernel again, over vectors of any width.
//!
//! Each function here must be inlined into one compiled with the vector's target feature (see `x86` and `neon`); hence
//! `#[inline(always)]` and `unsafe`. The labels after the last whole vector are processed with one more vector that
//! overlaps it, where processing a label twice does no harm; otherwise, and in rows shorter than a vector, one by one.

pub(super) use super::by_block::vector::{block_maxima, select_by_block};
use crate::score::Score;

/// A register full of scores.
///
/// # Safety
/// Every method may only run on a CPU that has the vector's instruction set; `load` and `store` need `LANES` readable
/// or writable scores at the pointer, with any alignment.
#[expect(clippy::missing_safety_doc, reason = "the section above is for every method")]
pub(super) trait Vector: Copy {
    type Element: Score;
    const LANES: usize;

    unsafe fn load(from: *const Self::Element) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    unsafe fn splat(value: Self::Element) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// Lane-wise `if self > other { self } else { other }`.
    unsafe fn larger(self, other: Self) -> Self;
    /// Lane-wise `if self < other { self } else { other }`.
    unsafe fn smaller(self, other: Self) -> Self;
    /// Lane-wise `|self|`, 0 for infinities and NaN.
    unsafe fn finite_magnitude(self) -> Self;
    /// The largest lane.
    unsafe fn largest_lane(self) -> Self::Element;
    /// The largest lane of each of four vectors.
    #[inline(always)]
    unsafe fn largest_lanes(four: [Self; 4]) -> [Self::Element; 4] {
        // SAFETY: the caller has the CPU feature.
        four.map(|vector| unsafe { vector.largest_lane() })
    }
    /// Bit `i` is set if lane `i` of `self` is at least that of `other`.
    unsafe fn at_least(self, other: Self) -> u32;
    /// The bits of `key.at_least(limit)`, and this vector with minus infinity in those lanes.
    unsafe fn split_at_least(self, key: Self, limit: Self) -> (u32, Self);
    /// Writes the positions of the set bits, counted from `first`, and returns where the next one would go. There must
    /// be room for [`MOST_LANES`]. (This one is for up to eight lanes.)
    #[inline(always)]
    unsafe fn write_places(hits: u32, first: u32, next: *mut u32) -> *mut u32 {
        const { assert!(Self::LANES <= 8) };
        let places = &PLACES[hits as usize & (PLACES.len() - 1)];
        // SAFETY: there is room for more than these.
        unsafe {
            for (i, &place) in places.iter().enumerate() {
                next.add(i).write(first + u32::from(place));
            }
            next.add(hits.count_ones() as usize)
        }
    }
}

/// The positions of the set bits of every byte: a table, because the end of a loop over them cannot be predicted.
pub(super) static PLACES: [[u8; 8]; 256] = {
    let mut all = [[0; 8]; 256];
    let mut bits = 0;
    while bits < all.len() {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if bits >> bit & 1 == 1 {
                all[bits][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        bits += 1;
    }
    all
};

/// The largest number of lanes of any vector.
pub(super) const MOST_LANES: usize = 16;

/// In rows up to this length, writing a vector's hits unconditionally, even if there are none, takes less time than a
/// mispredicted branch on whether there are any (measured).
const SHORT: usize = 512;

/// A register of `f64` that can be filled from scores of type `E`: sums of many products are kept in `f64` even where
/// the factors are `f32`.
///
/// # Safety
/// As [`Vector`]; `widen` needs `LANES` readable elements.
#[expect(clippy::missing_safety_doc, reason = "the section above is for every method")]
pub(super) trait Widen<E>: Vector<Element = f64> {
    unsafe fn widen(from: *const E) -> Self;
    /// `self * factor + sum`, rounded once or twice.
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self;
}

/// Calls `body` with the start of every vector of a row: whole ones, then, if the row does not consist of whole
/// vectors, the last place where one fits. `body` also gets a number below `CHAINS`, so that results can be gathered in
/// chains that need not wait for each other. The row must be at least one vector long.
#[inline(always)]
fn for_each_vector<V: Vector>(length: usize, mut body: impl FnMut(usize, usize)) {
    let mut y = 0;
    while y + CHAINS * V::LANES <= length {
        for chain in 0..CHAINS {
            body(y + chain * V::LANES, chain);
        }
        y += CHAINS * V::LANES;
    }
    while y + V::LANES <= length {
        body(y, 0);
        y += V::LANES;
    }
    if y < length {
        body(length - V::LANES, 0);
    }
}

/// Number of chains of maxima.
const CHAINS: usize = 4;

/// The largest of all chains, by lane.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
unsafe fn largest_chain<V: Vector>([a, b, c, d]: [V; CHAINS]) -> V {
    // SAFETY: the caller has the CPU feature.
    unsafe { a.larger(b).larger(c.larger(d)) }
}

/// The largest lane of all chains.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
unsafe fn largest_of<V: Vector>(chains: [V; CHAINS]) -> V::Element {
    // SAFETY: the caller has the CPU feature.
    unsafe { largest_chain(chains).largest_lane() }
}

/// [`scalar::max_plus_row`](super::scalar::max_plus_row), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn max_plus_row<V: Vector>(out: &mut [V::Element], add: V::Element, row: &[V::Element]) {
    assert_eq!(out.len(), row.len());
    if out.len() < V::LANES {
        return super::scalar::max_plus_row(out, add, row);
    }
    // SAFETY: the caller has the CPU feature.
    let a = unsafe { V::splat(add) };
    let (o, r) = (out.as_mut_ptr(), row.as_ptr());
    for_each_vector::<V>(out.len(), |y, _| {
        // SAFETY: a vector fits at `y`; the caller has the CPU feature.
        unsafe { a.add(V::load(r.add(y))).larger(V::load(o.add(y))).store(o.add(y)) };
    });
}

/// Fewer rows than this are processed one by one.
const FEW_ROWS: usize = 3;

/// Rows of the matrix processed together: each running maximum then costs one load and one store per this many
/// additions, and the hardware follows this many memory streams at once.
const ROWS: usize = 8;

/// [`scalar::max_plus_matrix`](super::scalar::max_plus_matrix), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn max_plus_matrix<V: Vector>(
    out: &mut [V::Element],
    add: &[V::Element],
    matrix: &[V::Element],
) {
    let width = out.len();
    super::scalar::check_matrix(matrix.len(), add.len(), width);
    let whole = width - width % V::LANES;
    let grouped = add.len() - add.len() % ROWS;
    for first in (0..grouped).step_by(ROWS) {
        // SAFETY: rows `first..first + ROWS` exist, columns stay below `whole <= width`.
        unsafe {
            let mut a = [V::splat(V::Element::ZERO); ROWS];
            for i in 0..ROWS {
                a[i] = V::splat(*add.get_unchecked(first + i));
            }
            let rows = matrix.as_ptr().add(first * width);
            let o = out.as_mut_ptr();
            let mut y = 0;
            while y < whole {
                // Two chains of maxima, so that one need not wait for the other.
                let mut even = V::load(o.add(y));
                let mut odd = a[1].add(V::load(rows.add(width + y)));
                even = a[0].add(V::load(rows.add(y))).larger(even);
                for i in (2..ROWS).step_by(2) {
                    even = a[i].add(V::load(rows.add(i * width + y))).larger(even);
                    odd = a[i + 1].add(V::load(rows.add((i + 1) * width + y))).larger(odd);
                }
                even.larger(odd).store(o.add(y));
                y += V::LANES;
            }
        }
        for i in first..first + ROWS {
            super::scalar::max_plus_row(&mut out[whole..], add[i], &matrix[i * width..][whole..width]);
        }
    }
    for p in grouped..add.len() {
        // SAFETY: the caller has the CPU feature.
        unsafe { max_plus_row::<V>(out, add[p], &matrix[p * width..][..width]) };
    }
}

/// Vectors of a block that stay in registers while rows go by, how many bytes each may have, and how many labels the block.
/// (Measured with AVX2: a sixth faster than several rows at a time, which wider vectors and blocks are left to. Not measured:
/// NEON.)
const STRIP: usize = 8;
const STRIP_BYTES: usize = 32;
const STRIP_LABELS: usize = 64;

/// [`max_plus_rows`] for the columns of `out` from `y` on, `N` vectors at a time; returns the first column that is left.
///
/// # Safety
/// The columns from `first` to `first + out.len()` must exist in the matrix, which has a row for every score to add; the
/// caller has the CPU feature.
#[inline(always)]
unsafe fn max_plus_strips<V: Vector, const N: usize>(
    (out, mut y): (&mut [V::Element], usize),
    add: &[V::Element],
    rows: &[u32],
    (matrix, stride, first): (&[V::Element], usize, usize),
) -> usize {
    while y + N * V::LANES <= out.len() {
        // SAFETY: as the caller promises.
        unsafe {
            let o = out.as_mut_ptr().add(y);
            let mut most = [V::splat(V::Element::FORBIDDEN); N];
            for (i, most) in most.iter_mut().enumerate() {
                *most = V::load(o.add(i * V::LANES));
            }
            for &row in rows {
                let a = V::splat(add[row as usize]); // checks that there is such a row
                let r = matrix.as_ptr().add(row as usize * stride + first + y);
                for (i, most) in most.iter_mut().enumerate() {
                    *most = a.add(V::load(r.add(i * V::LANES))).larger(*most);
                }
            }
            for (i, most) in most.iter().enumerate() {
                most.store(o.add(i * V::LANES));
            }
        }
        y += N * V::LANES;
    }
    y
}

/// [`scalar::max_plus_rows`](super::scalar::max_plus_rows), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn max_plus_rows<V: Vector>(
    out: &mut [V::Element],
    add: &[V::Element],
    rows: &[u32],
    matrix: &[V::Element],
    first: usize,
) {
    let width = out.len();
    let stride = super::scalar::stride_of(matrix.len(), add.len(), first, width);
    let whole = width - width % V::LANES;
    if size_of::<V>() <= STRIP_BYTES && whole == width && width <= STRIP_LABELS {
        let matrix = (matrix, stride, first);
        // SAFETY: `stride_of` has checked the columns; the caller has the CPU feature.
        unsafe {
            let y = max_plus_strips::<V, STRIP>((out, 0), add, rows, matrix);
            let y = max_plus_strips::<V, 2>((out, y), add, rows, matrix);
            max_plus_strips::<V, 1>((out, y), add, rows, matrix);
        }
        return;
    }
    for group in rows.chunks(ROWS) {
        if group.len() < FEW_ROWS {
            for &row in group {
                let row = row as usize;
                // SAFETY: the caller has the CPU feature.
                unsafe { max_plus_row::<V>(out, add[row], &matrix[row * stride + first..][..width]) };
            }
            break;
        }
        // SAFETY: a row below `add.len()` exists in the matrix, and so do the columns from `first` to `first + width`.
        unsafe {
            let mut a = [V::splat(V::Element::ZERO); ROWS];
            let mut r = [matrix.as_ptr(); ROWS];
            for i in 0..ROWS {
                let row = group[i.min(group.len() - 1)] as usize; // the last of a short group again: it changes nothing
                a[i] = V::splat(add[row]); // checks that there is such a row
                r[i] = r[i].add(row * stride + first);
            }
            let o = out.as_mut_ptr();
            let mut y = 0;
            while y < whole {
                // Two chains of maxima, so that one need not wait for the other.
                let mut even = V::load(o.add(y));
                let mut odd = a[1].add(V::load(r[1].add(y)));
                even = a[0].add(V::load(r[0].add(y))).larger(even);
                for i in (2..ROWS).step_by(2) {
                    even = a[i].add(V::load(r[i].add(y))).larger(even);
                    odd = a[i + 1].add(V::load(r[i + 1].add(y))).larger(odd);
                }
                even.larger(odd).store(o.add(y));
                y += V::LANES;
            }
        }
        for &row in group {
            let row = row as usize;
            let tail = &matrix[row * stride + first..][whole..width];
            super::scalar::max_plus_row(&mut out[whole..], add[row], tail);
        }
    }
}

/// [`scalar::add_row`](super::scalar::add_row), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn add_row<V: Vector>(out: &mut [V::Element], row: &[V::Element]) {
    assert_eq!(out.len(), row.len());
    let whole = out.len() - out.len() % V::LANES;
    // SAFETY: indices stay below `whole + LANES <= len`; the caller has the CPU feature.
    unsafe {
        let (o, r) = (out.as_mut_ptr(), row.as_ptr());
        let mut y = 0;
        while y < whole {
            V::load(o.add(y)).add(V::load(r.add(y))).store(o.add(y));
            y += V::LANES;
        }
    }
    super::scalar::add_row(&mut out[whole..], &row[whole..]);
}

/// [`scalar::max_row`](super::scalar::max_row), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn max_row<V: Vector>(out: &mut [V::Element], row: &[V::Element]) {
    assert_eq!(out.len(), row.len());
    let whole = out.len() - out.len() % V::LANES;
    // SAFETY: indices stay below `whole + LANES <= len`; the caller has the CPU feature.
    unsafe {
        let (o, r) = (out.as_mut_ptr(), row.as_ptr());
        let mut y = 0;
        while y < whole {
            V::load(o.add(y)).larger(V::load(r.add(y))).store(o.add(y));
            y += V::LANES;
        }
    }
    super::scalar::max_row(&mut out[whole..], &row[whole..]);
}

/// [`scalar::largest`](super::scalar::largest), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn largest<V: Vector>(row: &[V::Element]) -> V::Element {
    if row.len() < V::LANES {
        return super::scalar::largest(row);
    }
    // SAFETY: the caller has the CPU feature.
    unsafe { largest_by_lane::<V>(row).largest_lane() }
}

/// By lane, the largest score of a row of at least one vector.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn largest_by_lane<V: Vector>(row: &[V::Element]) -> V {
    assert!(row.len() >= V::LANES);
    // SAFETY: the caller has the CPU feature.
    let mut best = unsafe { [V::splat(V::Element::FORBIDDEN); CHAINS] };
    for_each_vector::<V>(row.len(), |y, chain| {
        // SAFETY: a vector fits at `y`; the caller has the CPU feature.
        best[chain] = unsafe { V::load(row.as_ptr().add(y)).larger(best[chain]) };
    });
    // SAFETY: the caller has the CPU feature.
    unsafe { largest_chain(best) }
}

/// [`scalar::smallest`](super::scalar::smallest), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn smallest<V: Vector>(row: &[V::Element]) -> V::Element {
    if row.len() < V::LANES {
        return super::scalar::smallest(row);
    }
    const { assert!(V::LANES <= MOST_LANES) };
    let mut lanes = [V::Element::LARGEST; MOST_LANES];
    // SAFETY: the caller has the CPU feature.
    let mut least = unsafe { [V::splat(V::Element::LARGEST); CHAINS] };
    for_each_vector::<V>(row.len(), |y, chain| {
        // SAFETY: a vector fits at `y`; the caller has the CPU feature.
        least[chain] = unsafe { V::load(row.as_ptr().add(y)).smaller(least[chain]) };
    });
    // SAFETY: no vector has more lanes than the array; the caller has the CPU feature.
    unsafe { least[0].smaller(least[1]).smaller(least[2].smaller(least[3])).store(lanes.as_mut_ptr()) };
    super::scalar::smallest(&lanes)
}

/// [`scalar::largest_magnitude`](super::scalar::largest_magnitude), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn largest_magnitude<V: Vector>(row: &[V::Element]) -> Option<V::Element> {
    if row.len() < V::LANES {
        return super::scalar::largest_magnitude(row);
    }
    // SAFETY: the caller has the CPU feature.
    let (most, mut largest) =
        unsafe { (V::splat(V::Element::LARGEST), [V::splat(V::Element::ZERO); CHAINS]) };
    let all = (1u32 << V::LANES) - 1;
    let mut legal = all; // a lane that has seen NaN or plus infinity loses its bit: neither is at most `most`
    for_each_vector::<V>(row.len(), |y, chain| {
        // SAFETY: a vector fits at `y`; the caller has the CPU feature.
        unsafe {
            let scores = V::load(row.as_ptr().add(y));
            legal &= most.at_least(scores);
            largest[chain] = scores.finite_magnitude().larger(largest[chain]);
        }
    });
    // SAFETY: the caller has the CPU feature.
    (legal == all).then(|| unsafe { largest_of(largest) })
}

/// [`scalar::max_of_sum`](super::scalar::max_of_sum), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn max_of_sum<V: Vector>(row: &[V::Element], add: &[V::Element]) -> V::Element {
    assert_eq!(row.len(), add.len());
    if row.len() < V::LANES {
        return super::scalar::max_of_sum(row, add);
    }
    // SAFETY: the caller has the CPU feature.
    let mut best = unsafe { [V::splat(V::Element::FORBIDDEN); CHAINS] };
    let (r, a) = (row.as_ptr(), add.as_ptr());
    for_each_vector::<V>(row.len(), |y, chain| {
        // SAFETY: a vector fits at `y`; the caller has the CPU feature.
        best[chain] = unsafe { V::load(r.add(y)).add(V::load(a.add(y))).larger(best[chain]) };
    });
    // SAFETY: the caller has the CPU feature.
    unsafe { largest_of(best) }
}

/// [`scalar::largest_value`](super::scalar::largest_value), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn largest_value<V: Vector>(
    add: V::Element,
    row: &[V::Element],
    node: &[V::Element],
) -> V::Element {
    assert_eq!(row.len(), node.len());
    if row.len() < V::LANES {
        return super::scalar::largest_value(add, row, node);
    }
    // SAFETY: the caller has the CPU feature.
    let (a, mut best) = unsafe { (V::splat(add), [V::splat(V::Element::FORBIDDEN); CHAINS]) };
    let (r, n) = (row.as_ptr(), node.as_ptr());
    for_each_vector::<V>(row.len(), |y, chain| {
        // SAFETY: a vector fits at `y`; the caller has the CPU feature.
        best[chain] = unsafe { a.add(V::load(r.add(y))).add(V::load(n.add(y))).larger(best[chain]) };
    });
    // SAFETY: the caller has the CPU feature.
    unsafe { largest_of(best) }
}

/// [`scalar::select_reaching`](super::scalar::select_reaching), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn select_reaching<V: Vector>(
    add: V::Element,
    row: &[V::Element],
    least: V::Element,
    node: &[V::Element],
    way_out: &[V::Element],
    threshold: V::Element,
    found: &mut Vec<u32>,
) -> V::Element {
    let (lanes, length) = (V::LANES, row.len());
    const { assert!(V::LANES <= MOST_LANES) };
    assert!(length == node.len() && length == way_out.len());
    if length < lanes {
        return super::scalar::select_reaching(add, row, least, node, way_out, threshold, found);
    }
    // Reserve room for all labels at once: a call inside the loop, even if never executed, would spill all vectors to
    // memory.
    found.reserve(length + MOST_LANES);
    // SAFETY: a vector fits wherever one is selected from, and each label is found at most once, so all of them fit
    // after the list, and a vector's lanes after them; the caller has the CPU feature.
    unsafe {
        let first = found.as_mut_ptr().add(found.len());
        let mut next = first;
        let rows = [row.as_ptr(), node.as_ptr(), way_out.as_ptr()];
        let limits = [V::splat(add), V::splat(least), V::splat(threshold)];
        let mut others = [V::splat(V::Element::FORBIDDEN); 2];
        let often = length <= SHORT;
        let mut y = 0;
        while y + 2 * lanes <= length {
            others[0] = select_in_vector(y, 0, often, rows, limits, &mut next).larger(others[0]);
            others[1] = select_in_vector(y + lanes, 0, often, rows, limits, &mut next).larger(others[1]);
            y += 2 * lanes;
        }
        while y < length {
            let at = y.min(length - lanes);
            others[0] = select_in_vector(at, y - at, often, rows, limits, &mut next).larger(others[0]);
            y += lanes;
        }
        found.set_len(found.len() + next.offset_from_unsigned(first));
        others[0].larger(others[1]).largest_lane()
    }
}

/// One vector of [`select_reaching`]: writes the labels it finds, except the first `seen`, to `next`, which it
/// advances, and returns the values of the labels it does not find. If hits are expected `often`, it does not test
/// whether there are any.
///
/// # Safety
/// The CPU must have the vector's instructions. A vector must fit at `y` in all rows (row, node, way out), and
/// [`MOST_LANES`] at `next`; the limits are add, least and threshold.
#[inline(always)]
unsafe fn select_in_vector<V: Vector>(
    y: usize,
    seen: usize,
    often: bool,
    [row, node, way_out]: [*const V::Element; 3],
    [add, least, threshold]: [V; 3],
    next: &mut *mut u32,
) -> V {
    // SAFETY: as the caller promises.
    unsafe {
        let value = add.add(V::load(row.add(y))).larger(least).add(V::load(node.add(y)));
        let (hits, others) = value.split_at_least(value.add(V::load(way_out.add(y))), threshold);
        let fresh = hits >> seen << seen;
        if often || fresh != 0 {
            *next = V::write_places(fresh, y as u32, *next);
        }
        others
    }
}

/// [`scalar::first_at_least`](super::scalar::first_at_least), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn first_at_least<V: Vector>(
    row: &[V::Element],
    add: V::Element,
    threshold: V::Element,
) -> Option<usize> {
    let whole = row.len() - row.len() % V::LANES;
    // SAFETY: indices stay below `whole + LANES <= len`; the caller has the CPU feature.
    unsafe {
        let (a, limit) = (V::splat(add), V::splat(threshold));
        let mut y = 0;
        while y < whole {
            let hits = V::load(row.as_ptr().add(y)).add(a).at_least(limit);
            if hits != 0 {
                return Some(y + hits.trailing_zeros() as usize);
            }
            y += V::LANES;
        }
    }
    super::scalar::first_at_least(&row[whole..], add, threshold).map(|y| whole + y)
}

/// [`scalar::first_sum_at_least`](super::scalar::first_sum_at_least), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn first_sum_at_least<V: Vector>(
    row: &[V::Element],
    add: &[V::Element],
    threshold: V::Element,
) -> Option<usize> {
    assert_eq!(row.len(), add.len());
    let whole = row.len() - row.len() % V::LANES;
    // SAFETY: indices stay below `whole + LANES <= len`; the caller has the CPU feature.
    unsafe {
        let limit = V::splat(threshold);
        let mut y = 0;
        while y < whole {
            let sum = V::load(row.as_ptr().add(y)).add(V::load(add.as_ptr().add(y)));
            let hits = sum.at_least(limit);
            if hits != 0 {
                return Some(y + hits.trailing_zeros() as usize);
            }
            y += V::LANES;
        }
    }
    super::scalar::first_sum_at_least(&row[whole..], &add[whole..], threshold).map(|y| whole + y)
}

/// [`scalar::select_sums`](super::scalar::select_sums), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn select_sums<V: Vector>(
    row: &[V::Element],
    add: &[V::Element],
    least: V::Element,
    below: V::Element,
    found: &mut Vec<u32>,
) {
    let (lanes, length) = (V::LANES, row.len());
    const { assert!(V::LANES <= MOST_LANES) };
    assert_eq!(length, add.len());
    let whole = length - length % lanes;
    found.reserve(length + MOST_LANES);
    // SAFETY: indices stay below `whole + LANES <= len`; each label is found at most once, so all of them fit after the
    // list, and a vector's lanes after them; the caller has the CPU feature.
    unsafe {
        let first = found.as_mut_ptr().add(found.len());
        let mut next = first;
        let (least, below) = (V::splat(least), V::splat(below));
        let mut y = 0;
        while y < whole {
            let sum = V::load(row.as_ptr().add(y)).add(V::load(add.as_ptr().add(y)));
            // Whether there are any cannot be predicted.
            next = V::write_places(sum.at_least(least) & !sum.at_least(below), y as u32, next);
            y += lanes;
        }
        found.set_len(found.len() + next.offset_from_unsigned(first));
    }
    super::scalar::select_sums_from(whole, row, add, least, below, found);
}

/// [`scalar::add_weighted_rows`](super::scalar::add_weighted_rows), over vectors.
///
/// # Safety
/// The CPU must have the vector's instructions.
#[inline(always)]
pub(super) unsafe fn add_weighted_rows<E: Score, V: Widen<E>>(
    out: &mut [f64],
    weights: &[f64],
    rows: &[u32],
    matrix: &[E],
) {
    let width = out.len();
    super::scalar::check_rows(matrix.len(), weights, rows, width);
    let whole = width - width % V::LANES;
    let grouped = rows.len() - rows.len() % ROWS;
    for first in (0..grouped).step_by(ROWS) {
        // SAFETY: the rows exist by the assertion above, columns stay below `whole <= width`.
        unsafe {
            let mut w = [V::splat(0.0); ROWS];
            let mut r = [matrix.as_ptr(); ROWS];
            for i in 0..ROWS {
                w[i] = V::splat(*weights.get_unchecked(first + i));
                r[i] = r[i].add(*rows.get_unchecked(first + i) as usize * width);
            }
            let o = out.as_mut_ptr();
            let mut y = 0;
            while y < whole {
                // Two chains of sums, so that one need not wait for the other.
                let mut even = V::load(o.add(y));
                let mut odd = V::splat(0.0);
                for i in (0..ROWS).step_by(2) {
                    even = V::widen(r[i].add(y)).multiply_add(w[i], even);
                    odd = V::widen(r[i + 1].add(y)).multiply_add(w[i + 1], odd);
                }
                even.add(odd).store(o.add(y));
                y += V::LANES;
            }
        }
        let (weights, rows) = (&weights[first..first + ROWS], &rows[first..first + ROWS]);
        super::scalar::add_weighted_columns(out, whole, weights, rows, matrix);
    }
    for i in grouped..rows.len() {
        // SAFETY: as above.
        unsafe {
            let (w, r) = (V::splat(weights[i]), matrix.as_ptr().add(rows[i] as usize * width));
            let o = out.as_mut_ptr();
            let mut y = 0;
            while y < whole {
                V::widen(r.add(y)).multiply_add(w, V::load(o.add(y))).store(o.add(y));
                y += V::LANES;
            }
        }
    }
    super::scalar::add_weighted_columns(out, whole, &weights[grouped..], &rows[grouped..], matrix);
}

/// Compiles every kernel for one vector type (and the vector of `f64` for its sums) and one target feature, as a module of
/// functions that take the proof that the CPU has it.
macro_rules! compile_kernels {
    ($module:ident, $token:ident, $feature:literal, $vector:ty, $wide:ty, $element:ty) => {
        pub(in crate::simd) mod $module {
            use super::*;
            use crate::simd::by_block::{ByBlock, Origin, Targets};
            use crate::simd::cpu::$token;
            use crate::simd::vector::{self, compile_kernels};

            compile_kernels! { @each $token $feature
                fn max_plus_row::<$vector>(out: &mut [$element], add: $element, row: &[$element]);
                fn max_plus_matrix::<$vector>(out: &mut [$element], add: &[$element], matrix: &[$element]);
                fn max_plus_rows::<$vector>(
                    out: &mut [$element],
                    add: &[$element],
                    rows: &[u32],
                    matrix: &[$element],
                    first: usize
                );
                fn add_row::<$vector>(out: &mut [$element], row: &[$element]);
                fn max_row::<$vector>(out: &mut [$element], row: &[$element]);
                fn largest::<$vector>(row: &[$element]) -> $element;
                fn block_maxima::<$vector>(out: &mut [$element], row: &[$element], width: usize);
                fn smallest::<$vector>(row: &[$element]) -> $element;
                fn largest_magnitude::<$vector>(row: &[$element]) -> Option<$element>;
                fn max_of_sum::<$vector>(row: &[$element], add: &[$element]) -> $element;
                fn largest_value::<$vector>(add: $element, row: &[$element], node: &[$element]) -> $element;
                fn select_reaching::<$vector>(
                    add: $element,
                    row: &[$element],
                    least: $element,
                    node: &[$element],
                    way_out: &[$element],
                    threshold: $element,
                    found: &mut Vec<u32>
                ) -> $element;
                fn select_by_block::<$vector>(
                    origins: &[Origin<'_, $element>],
                    least: $element,
                    targets: Targets<'_, $element>,
                    floor: Option<$element>,
                    gain: $element,
                    values: &mut [$element],
                    found: &mut Vec<u32>
                ) -> ByBlock<$element>;
                fn first_at_least::<$vector>(
                    row: &[$element],
                    add: $element,
                    threshold: $element
                ) -> Option<usize>;
                fn first_sum_at_least::<$vector>(
                    row: &[$element],
                    add: &[$element],
                    threshold: $element
                ) -> Option<usize>;
                fn select_sums::<$vector>(
                    row: &[$element],
                    add: &[$element],
                    least: $element,
                    below: $element,
                    found: &mut Vec<u32>
                );
                fn add_weighted_rows::<$element, $wide>(
                    out: &mut [f64],
                    weights: &[f64],
                    rows: &[u32],
                    matrix: &[$element]
                );
            }
        }
    };
    (@each $token:ident $feature:literal
     $(fn $name:ident::<$($kind:ty),+>($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(#[inline]
        pub(in crate::simd) fn $name(_: $token, $($argument: $type),*) $(-> $result)? {
            /// # Safety
            /// The CPU must have the feature.
            #[target_feature(enable = $feature)]
            fn compiled($($argument: $type),*) $(-> $result)? {
                // SAFETY: this function has the vector's target feature.
                unsafe { vector::$name::<$($kind),+>($($argument),*) }
            }
            // SAFETY: the token proves that this CPU has the feature.
            unsafe { compiled($($argument),*) }
        })*
    };
}
pub(super) use compile_kernels;
