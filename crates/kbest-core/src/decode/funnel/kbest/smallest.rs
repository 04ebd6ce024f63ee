//! The smallest of many sizes, with their items nearly in order.
//!
//! **Cost.** A few steps per size, without branches that depend on the size where that matters.

use crate::decode::funnel::sorting::by_size;
use crate::simd::Float;

/// Up to this many smallest sizes are gathered one by one.
const FEW_SMALLEST: usize = 8;

/// Keeps the `n` smallest sizes (`n` at least 1), and returns the largest of them, if there are that many.
pub(super) fn keep_smallest<S: Float>(sizes: &mut Vec<S>, n: usize) -> Option<S> {
    if n > sizes.len() {
        return None;
    }
    if n > FEW_SMALLEST {
        sizes.select_nth_unstable_by(n - 1, by_size);
        sizes.truncate(n);
        return sizes.last().copied();
    }
    let mut smallest = [S::from_f64(f64::INFINITY); FEW_SMALLEST];
    for &size in &*sizes {
        // Each place passes the larger one on to the next. No branch, as it could not be predicted.
        smallest.iter_mut().fold(size, |size, place| {
            let (smaller, larger) = if size < *place { (size, *place) } else { (*place, size) };
            *place = smaller;
            larger
        });
    }
    sizes.clear();
    sizes.extend_from_slice(&smallest[..n]);
    sizes.last().copied()
}

/// Number of buckets.
const BUCKETS: usize = 256;

/// Up to this many sizes are not put into buckets.
const FEW_SIZES: usize = 16;

/// Finds the smallest of some sizes, and puts their items nearly in order: by bucket, and within a bucket in their old
/// order.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    of: Vec<u8>,        // by place
    next: Vec<u32>,     // by bucket: where its next item goes
    smallest: Vec<u32>, // indices of the smallest sizes
}

impl Buckets {
    /// The indices of the `n` smallest sizes (`n` at least 1), of those that exceed the last of them by at most `more`,
    /// and of a few others. Sizes are not negative; those well beyond `large` are not distinguished.
    pub(super) fn smallest<S: Float>(
        &mut self,
        sizes: impl ExactSizeIterator<Item = S>,
        n: usize,
        more: S,
        large: S,
    ) -> &[u32] {
        // Sizes well beyond `large` are in the last bucket, two after that of `large`: left out, if the last of the `n`
        // is not beyond it.
        let per_size = (BUCKETS - 3) as f64 / large.to_f64();
        let bucket_of = |size: S| (size.to_f64() * per_size) as u8;
        self.of.clear();
        self.smallest.clear();
        self.next.clear();
        if sizes.len() <= FEW_SIZES {
            // Too few to be worth it: all of them, in one bucket.
            self.of.resize(sizes.len(), 0);
            self.smallest.extend(0..sizes.len() as u32);
            self.next.push(0);
            return &self.smallest;
        }
        self.of.extend(sizes.map(bucket_of));
        self.next.resize(BUCKETS, 0);
        self.of.iter().for_each(|&bucket| self.next[usize::from(bucket)] += 1);
        let mut before = 0;
        for next in &mut self.next {
            before += std::mem::replace(next, before);
        }
        let last = self.next.partition_point(|&before| (before as usize) < n) - 1;
        // Buckets are rounded down: the sum of two sizes may be in the one after the sum of their buckets.
        let last = (last as u8).saturating_add(bucket_of(more)).saturating_add(1);
        for (place, &bucket) in (0..).zip(&self.of) {
            self.smallest.push(place);
            // No branch, as it could not be predicted.
            self.smallest.truncate(self.smallest.len() - usize::from(bucket > last));
        }
        &self.smallest
    }

    /// Puts items in order, one for each of the smallest sizes. Call it once after these were found.
    pub(super) fn put_in_order<T: Copy + Default>(
        &mut self,
        items: impl Iterator<Item = T>,
        ordered: &mut Vec<T>,
    ) {
        ordered.clear();
        ordered.resize(self.smallest.len(), T::default());
        for (&place, item) in self.smallest.iter().zip(items) {
            let next = &mut self.next[usize::from(self.of[place as usize])];
            ordered[*next as usize] = item;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_the_smallest_and_keep_the_order_of_equals() {
        let mut sizes = vec![0.0f32, 5.0, 3.0, 9.9, 3.0, 0.0, 7.0];
        let few = sizes.clone();
        sizes.resize(FEW_SIZES + 1, 20.0);
        let mut buckets = Buckets::default();
        let mut smallest = |sizes: &[f32], n, more, large| {
            let places = buckets.smallest(sizes.iter().copied(), n, more, large).to_vec();
            let mut ordered = Vec::new();
            buckets.put_in_order(places.iter().copied(), &mut ordered);
            (places, ordered)
        };
        assert_eq!(smallest(&sizes, 3, 0.0, 10.0), (vec![0, 2, 4, 5], vec![0, 5, 2, 4]));
        assert_eq!(smallest(&sizes, 3, 2.0, 10.0), (vec![0, 1, 2, 4, 5], vec![0, 5, 2, 4, 1]));
        assert_eq!(smallest(&sizes, 7, 0.0, 10.0).1, [0, 5, 2, 4, 1, 6, 3]);
        assert_eq!(smallest(&sizes, 99, 0.0, 10.0).1.len(), sizes.len());
        // Sizes that are too large come last, and are left out where allowed.
        assert_eq!(smallest(&sizes, 5, 0.0, 5.0).1, [0, 5, 2, 4, 1]);
        assert_eq!(smallest(&sizes, 6, 0.0, 5.0).1[..8], [0, 5, 2, 4, 1, 3, 6, 7]);
        // One bucket for all, and few: in their old order.
        let all: Vec<u32> = (0..sizes.len() as u32).collect();
        assert_eq!(smallest(&sizes, 1, 0.0, f32::INFINITY).1, all);
        assert_eq!(smallest(&vec![0.0; sizes.len()], 2, 0.0, 0.0).1, all);
        assert_eq!(smallest(&few, 1, 0.0, 10.0), (all[..few.len()].to_vec(), all[..few.len()].to_vec()));
    }

    #[test]
    fn the_smallest_are_kept() {
        let sizes: Vec<f32> = (0..40).map(|i| (i * 7919 % 31) as f32).chain([f32::INFINITY]).collect();
        let mut sorted = sizes.clone();
        sorted.sort_unstable_by(f32::total_cmp);
        for n in [1, 4, FEW_SMALLEST, FEW_SMALLEST + 1, sizes.len()] {
            let mut kept = sizes.clone();
            assert_eq!(keep_smallest(&mut kept, n), Some(sorted[n - 1]));
            kept.sort_unstable_by(f32::total_cmp);
            assert_eq!(kept, sorted[..n]);
        }
        assert_eq!(keep_smallest(&mut sizes.clone(), sizes.len() + 1), None);
    }
}
