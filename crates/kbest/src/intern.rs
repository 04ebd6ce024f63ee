//! Strings to numbers: every distinct key gets the next number, keys lie end to end in one buffer.
//!
//! **Cost.** One hash and, nearly always, one comparison a lookup; a key costs its bytes, eight for where it ends and
//! about five for its place in the table. No allocation in a lookup. **When not.** Numbers are 32 bits wide: more than
//! four billion keys need another table.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// Distinct byte strings, numbered in the order they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interner {
    bytes: Vec<u8>,
    ends: Vec<usize>, // one a key: where it ends in `bytes`
    table: HashTable<u32>,
}

/// The same for every run, so that files and tests never depend on a run's hash seed.
fn hash(key: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hasher.write(key);
    hasher.finish()
}

fn key_at<'a>(bytes: &'a [u8], ends: &[usize], id: u32) -> &'a [u8] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &bytes[start..ends[id]]
}

impl Interner {
    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The number of a key, if it is known.
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Option<u32> {
        let found = self.table.find(hash(key), |&id| key_at(&self.bytes, &self.ends, id) == key);
        found.copied()
    }

    /// The number of a key, the next one if it is new; `None` if all numbers are taken.
    pub(crate) fn insert(&mut self, key: &[u8]) -> Option<u32> {
        let hash_of_key = hash(key);
        let (bytes, ends) = (&self.bytes, &self.ends);
        if let Some(&id) = self.table.find(hash_of_key, |&id| key_at(bytes, ends, id) == key) {
            return Some(id);
        }
        let id = u32::try_from(self.ends.len()).ok().filter(|&id| id != u32::MAX)?;
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table.insert_unique(hash_of_key, id, |&id| hash(key_at(bytes, ends, id)));
        Some(id)
    }

    /// The key of a number.
    pub(crate) fn key(&self, id: u32) -> Option<&[u8]> {
        ((id as usize) < self.len()).then(|| key_at(&self.bytes, &self.ends, id))
    }

    /// All keys, by number.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|id| key_at(&self.bytes, &self.ends, id as u32))
    }

    /// Gives back what was reserved for growth.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        let (bytes, ends) = (&self.bytes, &self.ends);
        self.table.shrink_to_fit(|&id| hash(key_at(bytes, ends, id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_keys_belong_together() {
        let mut interner = Interner::default();
        let keys: Vec<String> = (0..5000).map(|i| format!("key{}", i * i)).collect();
        for (id, key) in keys.iter().enumerate() {
            assert_eq!(interner.get(key.as_bytes()), None);
            assert_eq!(interner.insert(key.as_bytes()), Some(id as u32));
        }
        interner.shrink();
        for (id, key) in keys.iter().enumerate() {
            assert_eq!(interner.get(key.as_bytes()), Some(id as u32));
            assert_eq!(interner.insert(key.as_bytes()), Some(id as u32));
            assert_eq!(interner.key(id as u32), Some(key.as_bytes()));
        }
        assert!(interner.keys().eq(keys.iter().map(|key| key.as_bytes())));
        assert_eq!((interner.len(), interner.key(5000)), (5000, None));
        assert_eq!(interner.insert(b""), Some(5000), "the empty key is a key");
        assert_eq!(interner.get(b""), Some(5000));
    }
}
