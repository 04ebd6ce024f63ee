//! Sorting small arrays.

use crate::simd::Float;
use std::cmp::Ordering;

/// With more moves per item than this, a general sort is faster.
const FEW_MOVES: usize = 8;

/// Sorts by size, smallest first: by insertion, which is faster than a general sort for few or nearly sorted items.
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

/// The same for many items: sorting pairs of size and index is much faster than sorting the items themselves.
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

#[cfg(test)]
mod tests {
    use super::*;

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
