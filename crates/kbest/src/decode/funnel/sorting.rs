//! Sorting few things, and finding the smallest of many.

use crate::kernel::Float;
use std::cmp::Ordering;

/// Up to this many items are best sorted by insertion.
const FEW: usize = 24;

/// Sorts, the smallest size first; there are few labels to a position, so insertion mostly beats a general sort.
#[inline(always)]
pub(super) fn sort_few<T: Copy, S: Float>(items: &mut [T], size: impl Fn(&T) -> S) {
    if items.len() > FEW {
        return sort_many(items, size);
    }
    for i in 1..items.len() {
        let moving = items[i];
        let mut j = i;
        while j > 0 && size(&items[j - 1]) > size(&moving) {
            items[j] = items[j - 1];
            j -= 1;
        }
        items[j] = moving;
    }
}

/// The same for more: a sort is much faster on pairs of a size and a place than on what stands there.
#[cold]
fn sort_many<T: Copy, S: Float>(items: &mut [T], size: impl Fn(&T) -> S) {
    let mut places: Vec<(S, u32)> = items.iter().map(size).zip(0..).collect();
    places.sort_unstable_by(|(a, _), (b, _)| by_size(a, b));
    let sorted: Vec<T> = places.iter().map(|&(_, place)| items[place as usize]).collect();
    items.copy_from_slice(&sorted);
}

/// Ascending; legal scores and their differences are ordered.
#[inline(always)]
pub(super) fn by_size<S: Float>(a: &S, b: &S) -> Ordering {
    if a < b {
        Ordering::Less
    } else if b < a {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Up to this many of the smallest are gathered one by one.
const FEW_SMALLEST: usize = 8;

/// Keeps the `n` smallest sizes (`n` at least 1), and returns the largest of them, if there are so many.
pub(super) fn keep_smallest<S: Float>(sizes: &mut Vec<S>, n: usize) -> Option<S> {
    if n > sizes.len() {
        return None;
    }
    if n > FEW_SMALLEST {
        sizes.select_nth_unstable_by(n - 1, by_size);
        sizes.truncate(n);
        return sizes.last().copied();
    }
    for new in 0..sizes.len() {
        // The smallest so far are in front, in order.
        let size = sizes[new];
        if new >= n && sizes[n - 1] <= size {
            continue;
        }
        let mut i = new.min(n - 1);
        while i > 0 && sizes[i - 1] > size {
            sizes[i] = sizes[i - 1];
            i -= 1;
        }
        sizes[i] = size;
    }
    sizes.truncate(n);
    sizes.last().copied()
}
