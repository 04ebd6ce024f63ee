//! Feature strings and their numbers: first growing and counting, then frozen.

use super::FeatureId;
use crate::checked::{Checked, Damage};
use kbest_core::intern::{self, Interner, Keys};
use std::sync::Arc;

/// Keys being collected and counted.
#[derive(Debug, Clone, Default)]
pub struct DictionaryBuilder {
    keys: Interner,
    counts: Vec<u32>, // one per key
}

/// Maps the provisional numbers of a builder to those of the frozen dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renumbering {
    new_ids: Vec<FeatureId>, // one per key of the builder; DROPPED if it was too rare
}

const DROPPED: FeatureId = FeatureId::MAX; // never assigned

impl Renumbering {
    /// The final number of a key, `None` if it was dropped.
    #[inline]
    pub fn get(&self, old_id: FeatureId) -> Option<FeatureId> {
        self.new_ids.get(old_id as usize).copied().filter(|&new_id| new_id != DROPPED)
    }
}

impl DictionaryBuilder {
    /// No keys yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a key once more and returns its provisional number; `None` if there are already four billion others.
    #[inline]
    pub fn count(&mut self, key: &[u8]) -> Option<FeatureId> {
        self.count_times(key, 1)
    }

    /// The same for a key that occurs several times.
    #[inline]
    pub fn count_times(&mut self, key: &[u8], times: u32) -> Option<FeatureId> {
        let id = self.keys.insert(key)?;
        if id as usize == self.counts.len() {
            self.counts.push(0);
        }
        let count = &mut self.counts[id as usize];
        *count = count.saturating_add(times);
        Some(id)
    }

    /// How often a key was counted.
    pub fn frequency(&self, key: &[u8]) -> u32 {
        self.keys.keys().find(key).map_or(0, |id| self.counts[id as usize])
    }

    /// All keys in the order they were first seen, and how often each was counted.
    pub fn counted(&self) -> impl Iterator<Item = (&[u8], u32)> {
        self.keys.keys().iter().zip(self.counts.iter().copied())
    }

    /// Number of keys so far.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps keys counted at least `min_frequency` times, numbered in the order they were first seen.
    pub fn freeze(mut self, min_frequency: u32) -> (Dictionary, Renumbering) {
        let mut new_ids: Vec<FeatureId> = (0..self.len() as FeatureId).collect();
        if self.counts.iter().any(|&count| count < min_frequency) {
            let mut kept = Interner::default();
            for ((key, &count), new_id) in self.keys.keys().iter().zip(&self.counts).zip(&mut new_ids) {
                let enough = count >= min_frequency;
                *new_id = if enough { kept.insert(key).unwrap_or(DROPPED) } else { DROPPED };
            }
            self.keys = kept;
        }
        (self.keys.into(), Renumbering { new_ids })
    }
}

/// Keys with fixed numbers. Clones share the memory.
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    bytes: Checked<u8>,  // the arrays of an interner
    ends: Checked<u32>,  // one per key
    slots: Checked<u64>, // a power of two, or none
}

/// The farthest that a search goes in a table that may hold anything. In those that we write the longest run of taken slots is
/// a few hundred long.
const FARTHEST: usize = 1 << 16;

impl From<Interner> for Dictionary {
    fn from(keys: Interner) -> Self {
        let (bytes, ends, slots) = keys.into_arrays();
        Dictionary { bytes: bytes.into(), ends: ends.into(), slots: slots.into() }
    }
}

impl Dictionary {
    /// The keys in the given order; repeated keys are skipped.
    pub fn from_keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Self {
        let mut interner = Interner::default();
        for key in keys {
            interner.insert(key.as_ref());
        }
        interner.into()
    }

    /// A dictionary from its arrays if look-ups in them neither panic nor loop forever; otherwise, what is wrong with
    /// them. Whether each key is where its hash says is not checked: one that is not is never found.
    pub(crate) fn from_arrays(
        bytes: Checked<u8>,
        ends: Checked<u32>,
        slots: Checked<u64>,
    ) -> std::result::Result<Self, &'static str> {
        let (keys, places) = (ends.raw().len(), slots.raw().len());
        if !(places == 0 && keys == 0 || places.is_power_of_two()) {
            return Err("a table whose length is not a power of two");
        }
        if places as u64 > 1 << 32 {
            return Err("a table of more than 2^32 slots");
        }
        if bytes.is_watched() || ends.is_watched() || slots.is_watched() {
            return Ok(Dictionary { bytes, ends, slots }); // each number is checked when it is used
        }
        let (offsets, table) = (ends.raw(), slots.raw());
        if !rises_to(offsets, bytes.raw().len()) {
            return Err("offsets of keys that do not increase to the end of the last key");
        }
        let (mut taken, mut all_known) = (0, true);
        for &slot in table {
            taken += usize::from(slot != 0);
            all_known &= slot == 0 || (slot as u32).wrapping_sub(1) < keys as u32;
        }
        if !all_known {
            return Err("a slot with a number that no key has");
        }
        // So at least one slot is empty, and every search ends.
        if taken != keys || taken >= places.max(1) {
            return Err("a table whose number of taken slots is not the number of keys");
        }
        Ok(Dictionary { bytes, ends, slots })
    }

    /// Its arrays, all of them checked. If one of them is damaged, it is empty.
    pub(crate) fn view(&self) -> Keys<'_> {
        Keys { bytes: self.bytes.whole(), ends: self.ends.whole(), slots: self.slots.whole() }
    }

    /// Its arrays, checked or not.
    #[inline]
    pub(super) fn raw(&self) -> Keys<'_> {
        Keys { bytes: self.bytes.raw(), ends: self.ends.raw(), slots: self.slots.raw() }
    }

    /// What is told of damage, if its arrays are watched.
    pub(crate) fn damage(&self) -> Option<&Arc<Damage>> {
        self.bytes.damage().or(self.ends.damage()).or(self.slots.damage())
    }

    #[inline]
    fn is_watched(&self) -> bool {
        self.bytes.is_watched() || self.ends.is_watched() || self.slots.is_watched()
    }

    /// The first number from slot `at` on with this tag, and its slot.
    #[inline(always)]
    pub(super) fn candidate(&self, tag: u32, at: usize) -> Option<(FeatureId, usize)> {
        if self.is_watched() { self.checked_candidate(tag, at) } else { self.raw().candidate(tag, at) }
    }

    fn checked_candidate(&self, tag: u32, at: usize) -> Option<(FeatureId, usize)> {
        self.checked_search(tag, at, |id| (id as usize) < self.len())
    }

    /// The first number from slot `at` on that has this tag and is wanted, and its slot. However the table is filled, it looks
    /// at [`FARTHEST`] slots at most.
    fn checked_search(
        &self,
        tag: u32,
        mut at: usize,
        is_wanted: impl Fn(FeatureId) -> bool,
    ) -> Option<(FeatureId, usize)> {
        for _ in 0..self.slots.raw().len().min(FARTHEST) {
            let slot = *self.slots.get(at).filter(|&&slot| slot != 0)?;
            let id = (slot as u32).wrapping_sub(1);
            if intern::tag(slot) == tag && is_wanted(id) {
                return Some((id, at));
            }
            at = (at + 1) & (self.slots.raw().len() - 1);
        }
        None
    }

    /// Whether this is the key of a number.
    #[inline(always)]
    pub(super) fn has(&self, id: FeatureId, key: &[u8]) -> bool {
        if self.is_watched() { self.checked_key(id) == Some(key) } else { self.raw().at(id) == key }
    }

    fn checked_key(&self, id: FeatureId) -> Option<&[u8]> {
        let start = if id == 0 { 0 } else { *self.ends.get(id as usize - 1)? };
        self.bytes.part(start as usize..*self.ends.get(id as usize)? as usize)
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.raw().len()
    }

    /// True if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a key.
    #[inline]
    pub fn id(&self, key: &[u8]) -> Option<FeatureId> {
        let tag = intern::tag(intern::hash(key));
        self.find_from(key, tag, self.raw().home(tag))
    }

    /// The number of a key, searched from slot `at` on.
    pub(super) fn find_from(&self, key: &[u8], tag: u32, at: usize) -> Option<FeatureId> {
        if !self.is_watched() {
            return self.raw().find_from(key, tag, at);
        }
        self.checked_search(tag, at, |id| self.checked_key(id) == Some(key)).map(|(id, _)| id)
    }

    /// The key of a number.
    pub fn key(&self, id: FeatureId) -> Option<&[u8]> {
        if self.is_watched() { self.checked_key(id) } else { self.raw().get(id) }
    }

    /// All keys, by number.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|id| self.key(id as FeatureId).unwrap_or_default())
    }
}

/// Whether the offsets never decrease, and the last one is `end`.
pub(crate) fn rises_to(places: &[u32], end: usize) -> bool {
    let falls = places.iter().zip(places.iter().skip(1)).filter(|(here, next)| here > next).count();
    falls == 0 && places.last().copied().unwrap_or(0) as usize == end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checked::{BLOCK, Blocks};
    use crate::memory::Blob;

    fn watched<T: bytemuck::Pod + Send + Sync>(values: Vec<T>) -> Checked<T> {
        let values = Blob::from(values);
        let bytes = values.project(|values| Some(bytemuck::cast_slice(values))).unwrap();
        let checksums: Vec<u32> = bytes.chunks(BLOCK).map(crc32fast::hash).collect();
        let blocks = Blocks::new(bytes, checksums.into(), Damage::of("file")).unwrap();
        Checked::watched(values, Arc::new(blocks))
    }

    /// One slot has the tag of the key and another key, and no slot is free: each search that goes on after it would go around
    /// the whole table and come back to it.
    #[test]
    fn a_full_table_is_searched_once() {
        let key = b"unknown";
        let tag = intern::tag(intern::hash(key));
        let mut slots = vec![u64::from(!tag) << 32 | 1; 1 << 16];
        let home = (u64::from(tag) << 16 >> 32) as usize;
        slots[home] = u64::from(tag) << 32 | 1;
        let dictionary =
            Dictionary::from_arrays(watched(b"known".to_vec()), watched(vec![5]), watched(slots)).unwrap();
        assert_eq!(dictionary.candidate(tag, home), Some((0, home)));
        assert_eq!([0; 100].map(|_| dictionary.id(key)), [None; 100]);
    }

    #[test]
    fn rare_keys_are_dropped_and_the_rest_close_ranks() {
        let mut builder = DictionaryBuilder::new();
        let ids: Vec<_> =
            ["a", "b", "a", "c", "b", "a"].map(|key| builder.count(key.as_bytes()).unwrap()).into();
        assert_eq!(ids, [0, 1, 0, 2, 1, 0]);
        assert_eq!((builder.frequency(b"a"), builder.frequency(b"z")), (3, 0));
        for (least, expected) in [(0, "abc"), (1, "abc"), (2, "ab"), (3, "a"), (4, "")] {
            let (dictionary, renumbering) = builder.clone().freeze(least);
            let keys: String = dictionary.keys().map(|key| key[0] as char).collect();
            assert_eq!(keys, expected);
            for (old_id, key) in [b"a", b"b", b"c"].into_iter().enumerate() {
                assert_eq!(renumbering.get(old_id as u32), dictionary.id(key));
            }
            assert_eq!(renumbering.get(3), None);
        }
    }
}
