//! Sorting few things, and finding the smallest of many.

use crate::kernel::Float;
use std::cmp::Ordering;

/// With more moves than this for each item, a general sort is faster.
const FEW_MOVES: usize = 8;

/// Sorts, the smallest size first: by insertion, which beats a general sort where there are few items, or where they are
/// nearly in order.
#[inline(always)]
pub(super) fn sort_few<T: Copy, S: Float>(items: &mut [T], size: impl Fn(&T) -> S) {
    let mut moves = FEW_MOVES * items.len();
    for i in 1..items.len() {
        let moving = items[i];
        let mut j = i;
        while j > 0 && size(&items[j - 1]) > size(&moving) {
            items[j] = items[j - 1];
            j -= 1;
        }
        items[j] = moving;
        moves = match moves.checked_sub(i - j) {
            Some(left) => left,
            None => return sort_many(items, size),
        };
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

/// How many there are.
const BUCKETS: usize = 256;

/// The places of some sizes, nearly in ascending order: by buckets, and as they came within each.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    of: Vec<u8>,
    order: Vec<u32>,
}

impl Buckets {
    /// Orders the `n` smallest sizes, those that are as large as the last of them, and a few more. Sizes go from 0 to
    /// `largest`.
    pub(super) fn smallest<S: Float>(&mut self, sizes: &[S], largest: S, n: usize) -> &[u32] {
        let per_size = BUCKETS as f64 / largest.to_f64();
        let bucket_of = |size: S| (size.to_f64() * per_size) as u8;
        self.of.clear();
        self.of.extend(sizes.iter().map(|&size| bucket_of(size)));
        let mut past = [0u32; BUCKETS]; // each bucket
        self.of.iter().for_each(|&bucket| past[usize::from(bucket)] += 1);
        let mut all = 0;
        for past in &mut past {
            let count = std::mem::replace(past, all); // as yet, its first
            all += count;
        }
        self.order.clear();
        self.order.resize(sizes.len(), 0);
        for (place, &bucket) in (0..).zip(&self.of) {
            let next = &mut past[usize::from(bucket)];
            self.order[*next as usize] = place;
            *next += 1;
        }
        if let Some(&last) = n.checked_sub(1).and_then(|last| self.order.get(last)) {
            self.order.truncate(past[usize::from(self.of[last as usize])] as usize);
        }
        &self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_the_smallest_and_keep_the_order_of_equals() {
        let sizes = [0.0f32, 5.0, 3.0, 9.9, 3.0, 0.0, 7.0];
        let mut buckets = Buckets::default();
        assert_eq!(buckets.smallest(&sizes, 10.0, 3), [0, 5, 2, 4]);
        assert_eq!(buckets.smallest(&sizes, 10.0, 9), [0, 5, 2, 4, 1, 6, 3]);
        // One bucket for all: in their old order.
        assert_eq!(buckets.smallest(&sizes, f32::INFINITY, 1).len(), sizes.len());
        assert_eq!(buckets.smallest(&[0.0; 3], 0.0, 2), [0, 1, 2]);
    }

    #[test]
    fn few_and_many_are_sorted() {
        for n in [0, 1, 5, 30, 300] {
            let mut items: Vec<u32> = (0..n).map(|i| i * 7919 % 31).collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            sort_few(&mut items, |&item| item as f32);
            assert_eq!(items, expected);
        }
    }
}
