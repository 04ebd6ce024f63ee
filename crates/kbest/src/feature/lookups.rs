//! Look-ups in groups, so that their memory accesses overlap.
//!
//! A look-up in a large dictionary reads three places far apart in memory: a slot of the table, the end of its key, and
//! the key. One look-up after another, their delays add up. So keys are collected first ([`Dictionary::ask`]), and
//! [`Dictionary::answer`] makes three passes over all of them, each prefetching what the next pass reads.

use super::{Dictionary, FeatureId};
use crate::intern::{hash, tag};
use crate::kernel::prefetch;

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
}

impl Lookups {
    /// How many are not answered yet.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    /// Discards all keys.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.asked.clear();
    }
}

impl Dictionary {
    /// Adds a key to the list.
    #[inline]
    pub(super) fn ask(&self, key: &[u8], lookups: &mut Lookups) {
        let tag = tag(hash(key));
        let keys = self.view();
        prefetch(keys.slots, keys.home(tag));
        lookups.bytes.extend_from_slice(key);
        lookups.asked.push(Asked { end: lookups.bytes.len(), tag, id: UNKNOWN });
    }

    /// Empties the list: appends the numbers of its keys to `ids`, [`UNKNOWN`] for those without one.
    pub(super) fn answer(&self, lookups: &mut Lookups, ids: &mut Vec<FeatureId>) {
        let keys = self.view();
        for asked in &mut lookups.asked {
            let Some((id, _)) = keys.candidate(asked.tag, keys.home(asked.tag)) else { continue };
            asked.id = id;
            prefetch(keys.ends, id as usize);
        }
        for asked in lookups.asked.iter().filter(|asked| asked.id != UNKNOWN) {
            prefetch(keys.bytes, keys.start(asked.id));
        }
        let mut start = 0;
        ids.extend(lookups.asked.iter().map(|asked| {
            let key = &lookups.bytes[start..asked.end];
            start = asked.end;
            if asked.id == UNKNOWN || keys.at(asked.id) == key {
                asked.id
            } else {
                // Another key with the same tag: rare enough to start over.
                keys.find_from(key, asked.tag, keys.home(asked.tag)).unwrap_or(UNKNOWN)
            }
        }));
        lookups.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_single_look_ups() {
        let dictionary = Dictionary::from_keys((0..100_000).step_by(2).map(|i| format!("key{i}")));
        let (mut lookups, mut ids) = (Lookups::default(), Vec::new());
        for batch in [0..0, 0..1, 1..2, 0..100_000] {
            let keys: Vec<String> = batch.map(|i| format!("key{i}")).collect();
            keys.iter().for_each(|key| dictionary.ask(key.as_bytes(), &mut lookups));
            assert_eq!(lookups.len(), keys.len());
            ids.clear();
            dictionary.answer(&mut lookups, &mut ids);
            let expected = keys.iter().map(|key| dictionary.id(key.as_bytes()).unwrap_or(UNKNOWN));
            assert!(ids.iter().copied().eq(expected));
            assert_eq!(lookups.len(), 0);
        }
        Dictionary::default().ask(b"key", &mut lookups);
        ids.clear();
        Dictionary::default().answer(&mut lookups, &mut ids);
        assert_eq!(ids, [UNKNOWN]);
    }
}
