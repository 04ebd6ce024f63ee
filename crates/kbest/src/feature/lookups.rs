//! Look-ups by the dozen: what waits for memory waits together.
//!
//! A look-up in a large dictionary reads three places far apart, each from memory: a slot of the table, where its key
//! ends, and the key. One after the other, their delays add up. So keys are asked for first ([`Dictionary::ask`]), and
//! the answers ([`Dictionary::answer`]) go over all of them three times, each time asking the cache for what the next
//! time reads.

use super::{Dictionary, FeatureId};
use crate::intern::{hash, tag};
use crate::kernel::prefetch;

/// What stands for a key that is not in the dictionary: no feature has this number.
pub(super) const UNKNOWN: FeatureId = FeatureId::MAX;

/// This many make the cache busy enough; many more would push each other out of it.
pub(super) const BATCH: usize = 64;

/// Keys that are asked for and not yet answered.
#[derive(Debug, Clone, Default)]
pub(super) struct Lookups {
    bytes: Vec<u8>, // the keys, end to end
    asked: Vec<Asked>,
}

#[derive(Debug, Clone, Copy)]
struct Asked {
    end: usize, // in `bytes`
    tag: u32,
    id: FeatureId, // a guess that only the key's bytes can confirm
}

impl Lookups {
    /// How many are not yet answered.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    /// Forgets them.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.asked.clear();
    }
}

impl Dictionary {
    /// Puts a key on the list.
    #[inline]
    pub(super) fn ask(&self, key: &[u8], lookups: &mut Lookups) {
        let tag = tag(hash(key));
        let keys = self.view();
        prefetch(keys.slots, keys.home(tag));
        lookups.bytes.extend_from_slice(key);
        lookups.asked.push(Asked { end: lookups.bytes.len(), tag, id: UNKNOWN });
    }

    /// Empties the list: behind `ids` come the numbers of its keys, [`UNKNOWN`] for those that have none.
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
                // Another key with the same tag: rare enough to start again.
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
