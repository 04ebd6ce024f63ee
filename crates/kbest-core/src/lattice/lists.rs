//! Lists of (label, score), one per label, that can grow and shrink.
//!
//! **What.** All lists lie in one arena, each sorted by label and in one piece, so a list is two slices. Each list has
//! a place with spare room; a full list moves to the end of the arena, to a place twice as large. **Cost.** A change
//! costs the list's length. The places that a list has left behind add up to less than its current one, so with
//! insertions only, the arena holds fewer than four slots per member (and a few per list). **When not.** Lists that
//! never change need no room: they are built without any, end to end.

use crate::simd::Float;

/// Room of a list's first place, unless it was built with members.
const LEAST_ROOM: usize = 4;

/// Lists by label.
#[derive(Debug, Clone)]
pub(super) struct Lists<S> {
    places: Vec<Place>, // one per list
    labels: Vec<u32>,   // the arena
    scores: Vec<S>,     // parallel to `labels`
    members: usize,     // of all lists
    squares: u64,       // of the lengths of all lists
}

/// Where a list lies.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: usize,
    length: u32,
    room: u32,
}

impl<S: Float> Lists<S> {
    /// One list per length, end to end; `labels` and `scores` hold their members in that order.
    pub(super) fn new(lengths: &[u32], labels: Vec<u32>, scores: Vec<S>) -> Self {
        let places = lengths.iter().scan(0, |end, &length| {
            let start = *end;
            *end += length as usize;
            Some(Place { start, length, room: length })
        });
        let squares = lengths.iter().map(|&length| u64::from(length).pow(2)).sum();
        Lists { places: places.collect(), members: labels.len(), squares, labels, scores }
    }

    /// The same pairs, listed by their labels: lists by row become lists by column.
    pub(super) fn transposed(&self) -> Self {
        let mut lengths = vec![0u32; self.places.len()];
        for i in 0..self.places.len() {
            self.list(i).0.iter().for_each(|&label| lengths[label as usize] += 1);
        }
        let mut turned = Lists::new(&lengths, vec![0; self.members], vec![S::ZERO; self.members]);
        let mut next: Vec<usize> = turned.places.iter().map(|place| place.start).collect();
        for i in 0..self.places.len() {
            let (labels, scores) = self.list(i);
            for (&label, &score) in labels.iter().zip(scores) {
                let slot = &mut next[label as usize];
                (turned.labels[*slot], turned.scores[*slot]) = (i as u32, score);
                *slot += 1;
            }
        }
        turned
    }

    /// List `i`: labels in ascending order, and their scores.
    #[inline(always)]
    pub(super) fn list(&self, i: usize) -> (&[u32], &[S]) {
        let Place { start, length, .. } = self.places[i];
        let range = start..start + length as usize;
        (&self.labels[range.clone()], &self.scores[range])
    }

    /// The scores of list `i`, in the order of its labels, to be changed.
    #[inline]
    pub(super) fn scores_mut(&mut self, i: usize) -> (&[u32], &mut [S]) {
        let Place { start, length, .. } = self.places[i];
        let range = start..start + length as usize;
        (&self.labels[range.clone()], &mut self.scores[range])
    }

    /// The score of the member at index `rank` of list `i`.
    #[inline(always)]
    pub(super) fn score(&self, i: usize, rank: usize) -> S {
        self.scores[self.places[i].start + rank]
    }

    /// Number of members of all lists.
    pub(super) fn members(&self) -> usize {
        self.members
    }

    /// The length of the list that a member is in, on average over all members.
    pub(super) fn usual_length(&self) -> usize {
        self.squares.checked_div(self.members as u64).unwrap_or(0) as usize
    }

    /// The score of a label in list `i`, if it is there.
    #[inline]
    pub(super) fn find(&self, i: usize, label: u32) -> Option<S> {
        let (labels, scores) = self.list(i);
        labels.binary_search(&label).ok().map(|rank| scores[rank])
    }

    /// Sets the score of a label in list `i`, or removes the label from the list.
    pub(super) fn set(&mut self, i: usize, label: u32, score: Option<S>) {
        match (self.list(i).0.binary_search(&label), score) {
            (Ok(rank), Some(score)) => self.scores[self.places[i].start + rank] = score,
            (Err(rank), Some(score)) => self.insert(i, rank, label, score),
            (Ok(rank), None) => self.remove(i, rank),
            (Err(_), None) => {}
        }
    }

    fn insert(&mut self, i: usize, rank: usize, label: u32, score: S) {
        if self.places[i].length == self.places[i].room {
            self.move_to_end(i);
        }
        let Place { start, length, .. } = self.places[i];
        let (at, end) = (start + rank, start + length as usize);
        self.labels.copy_within(at..end, at + 1);
        self.scores.copy_within(at..end, at + 1);
        (self.labels[at], self.scores[at]) = (label, score);
        self.places[i].length += 1;
        self.members += 1;
        self.squares += 2 * u64::from(length) + 1;
    }

    fn remove(&mut self, i: usize, rank: usize) {
        let Place { start, length, .. } = self.places[i];
        let (at, end) = (start + rank, start + length as usize);
        self.labels.copy_within(at + 1..end, at);
        self.scores.copy_within(at + 1..end, at);
        self.places[i].length -= 1;
        self.members -= 1;
        self.squares -= 2 * u64::from(length) - 1;
    }

    /// Doubles the room of a list.
    fn move_to_end(&mut self, i: usize) {
        let Place { start, length, room } = self.places[i];
        let from = start..start + length as usize;
        let (start, room) = (self.labels.len(), (2 * room as usize).max(LEAST_ROOM));
        self.labels.extend_from_within(from.clone());
        self.scores.extend_from_within(from);
        self.labels.resize(start + room, 0);
        self.scores.resize(start + room, S::ZERO);
        self.places[i] = Place { start, length, room: room as u32 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Lists agree with maps through growth, moves and emptying; the arena's waste stays within the promised bound.
    #[test]
    fn lists_follow_maps() {
        let mut lists = Lists::new(&[2, 0, 1], vec![3, 8, 5], vec![0.5f32, 1.5, 2.5]);
        let mut maps = [BTreeMap::from([(3, 0.5), (8, 1.5)]), BTreeMap::new(), BTreeMap::from([(5, 2.5)])];
        let check = |lists: &Lists<f32>, maps: &[BTreeMap<u32, f32>; 3]| {
            for (i, map) in maps.iter().enumerate() {
                let (labels, scores) = lists.list(i);
                assert!(
                    labels.iter().zip(scores).eq(map),
                    "list {i}: {labels:?} {scores:?}, expected {map:?}"
                );
            }
            assert_eq!(lists.members(), maps.iter().map(BTreeMap::len).sum::<usize>());
            assert_eq!(lists.squares, maps.iter().map(|map| map.len().pow(2) as u64).sum::<u64>());
        };
        let mut seed = 1u32;
        for step in 0..3000u32 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (i, label) = ((seed >> 8) as usize % 3, (seed >> 16) % 200);
            let taken = step % 4 == 3 || step > 2500; // empties them in the end
            let score = (!taken).then_some(step as f32);
            lists.set(i, label, score);
            match score {
                Some(score) => maps[i].insert(label, score),
                None => maps[i].remove(&label),
            };
            assert_eq!(lists.find(i, label), score);
            check(&lists, &maps);
        }
        let mut growing = Lists::new(&[0; 3], vec![], vec![]);
        for label in 0..1000 {
            growing.set(label as usize % 3, 5000 - label, Some(0.0f64));
            let most = 4 * growing.members() + 3 * LEAST_ROOM;
            assert!(growing.labels.len() <= most && growing.scores.len() == growing.labels.len());
        }
    }

    #[test]
    fn transposing_twice_changes_nothing() {
        let mut lists = Lists::new(&[2, 0, 1], vec![0, 2, 1], vec![1.0f32, 2.0, 3.0]);
        lists.set(1, 2, Some(4.0));
        let turned = lists.transposed();
        assert_eq!(turned.list(2), (&[0, 1][..], &[2.0, 4.0][..]));
        let again = turned.transposed();
        (0..3).for_each(|i| assert_eq!(again.list(i), lists.list(i)));
    }
}
