//! Look-ups in groups, so that their memory accesses overlap.
//!
//! A look-up in a large dictionary reads three places far apart in memory: a slot of the table, the end of its key, and
//! the key. One look-up after another, their delays add up. So keys are collected first ([`Dictionary::ask`]), and
//! [`Dictionary::answer`] makes three passes over all of them, each prefetching what the next pass reads.

use super::{Dictionary, FeatureId};
use crate::memory::prefetch;
use kbest_core::intern::{hash, tag};

/// The number for keys that are not in the dictionary: no feature has it.
pub(super) const UNKNOWN: FeatureId = FeatureId::MAX;

/// Enough to keep the memory busy; many more would evict each other from the cache.
pub(super) const BATCH: usize = 64;

/// Keys that were asked for and are not answered yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Lookups {
    bytes: Vec<u8>, // the keys, end to end
    asked: Vec<Asked>,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    end: usize, // in `bytes`
    tag: u32,
    id: FeatureId, // a candidate: only the key's bytes can confirm it
    place: usize,  // of the answer
}

impl Lookups {
    /// How many are not answered yet.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    /// The place of the last one.
    pub(super) fn asked_last(&self) -> Option<usize> {
        self.asked.last().map(|asked| asked.place)
    }

    /// Discards all keys.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.asked.clear();
    }
}

impl Dictionary {
    /// Adds the key that `write` appends to the list, unless that returns false; `place` is where its number belongs.
    #[inline]
    pub(super) fn ask(&self, lookups: &mut Lookups, place: usize, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let start = lookups.bytes.len();
        if !write(&mut lookups.bytes) {
            lookups.bytes.truncate(start);
            return;
        }
        let tag = tag(hash(&lookups.bytes[start..]));
        let keys = self.raw();
        prefetch(keys.slots, keys.home(tag));
        lookups.asked.push(Asked { end: lookups.bytes.len(), tag, id: UNKNOWN, place });
    }

    /// Empties the list: puts the numbers of its keys into their places in `ids`, [`UNKNOWN`] for those without one.
    pub(super) fn answer(&self, lookups: &mut Lookups, ids: &mut [FeatureId]) {
        let keys = self.raw();
        for asked in &mut lookups.asked {
            let Some((id, _)) = self.candidate(asked.tag, keys.home(asked.tag)) else { continue };
            asked.id = id;
            prefetch(keys.ends, id as usize);
        }
        for asked in lookups.asked.iter().filter(|asked| asked.id != UNKNOWN) {
            prefetch(keys.bytes, keys.start(asked.id));
        }
        let mut start = 0;
        for asked in &lookups.asked {
            let key = &lookups.bytes[start..asked.end];
            start = asked.end;
            ids[asked.place] = if asked.id == UNKNOWN || self.has(asked.id, key) {
                asked.id
            } else {
                // Another key with the same tag: rare enough to start over.
                self.find_from(key, asked.tag, keys.home(asked.tag)).unwrap_or(UNKNOWN)
            };
        }
        lookups.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(dictionary: &Dictionary, lookups: &mut Lookups, place: usize, key: &str) {
        dictionary.ask(lookups, place, |out| {
            out.extend_from_slice(key.as_bytes());
            !key.is_empty()
        });
    }

    #[test]
    fn answers_are_those_of_single_look_ups() {
        let dictionary = Dictionary::from_keys((0..100_000).step_by(2).map(|i| format!("key{i}")));
        let mut lookups = Lookups::default();
        for batch in [0..0, 0..1, 1..2, 0..100_000] {
            let keys: Vec<String> = batch.map(|i| format!("key{i}")).collect();
            let mut ids = vec![7; keys.len() + 1];
            for (place, key) in keys.iter().enumerate() {
                ask(&dictionary, &mut lookups, place, key);
                ask(&dictionary, &mut lookups, place, ""); // no key
            }
            assert_eq!(lookups.len(), keys.len());
            dictionary.answer(&mut lookups, &mut ids);
            let expected = keys.iter().map(|key| dictionary.id(key.as_bytes()).unwrap_or(UNKNOWN));
            assert!(ids.into_iter().eq(expected.chain([7])));
            assert_eq!(lookups.len(), 0);
        }
        ask(&Dictionary::default(), &mut lookups, 0, "key");
        let mut ids = [7];
        Dictionary::default().answer(&mut lookups, &mut ids);
        assert_eq!(ids, [UNKNOWN]);
    }
}
