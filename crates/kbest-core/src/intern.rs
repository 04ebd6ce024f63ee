//! Strings to numbers: every distinct key gets the next number, and all keys are stored end to end in one buffer.
//!
//! **What.** Three flat arrays: the keys' bytes, where each key ends, and a hash table of slots. They have the same
//! form in memory, where they grow ([`Interner`]), and in a model file ([`Keys`] reads both), so a dictionary is
//! frozen, written and mapped without being rebuilt. The hash function is our own ([`hash`]) because it is part of the
//! model file: the same on every platform and in every version.
//!
//! **The table.** The number of slots is a power of two, at most two thirds of them taken. A slot holds 32 bits of the
//! key's hash, the *tag*, above its number plus one; 0 is empty. A key goes into the first free slot at or after
//! `tag * slots / 2^32`, wrapping around. So a look-up compares adjacent tags and, nearly always, reads a key's bytes
//! only to confirm a match; and a growing table moves slots without reading the keys.
//!
//! **Cost.** A key takes its bytes, four for where it ends, and 12 to 24 for its slot. **When not.** Numbers and
//! offsets are 32 bits wide: more than four billion keys, or bytes of keys, need another table.

#![allow(clippy::len_without_is_empty)] // nobody asks

/// Distinct byte strings, numbered in order of insertion.
#[derive(Debug, Clone, Default)]
pub struct Interner {
    bytes: Vec<u8>,
    ends: Vec<u32>,  // per key: where it ends in `bytes`
    slots: Vec<u64>, // tag and number + 1; 0 is empty
}

/// The arrays of an interner, wherever they are stored.
///
/// Invariants, without which look-ups panic or find nothing: ends do not decrease and lie within `bytes`; the length of
/// `slots` is zero or a power of two, at least one slot is empty, and every number is less than the number of keys. A look-up
/// visits each slot at most once, so it ends even if a mapped file is overwritten while it is in use.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    pub bytes: &'a [u8],
    pub ends: &'a [u32],
    pub slots: &'a [u64],
}

const FIRST_SLOTS: usize = 8;

/// The first digits of pi: constants without a pattern.
const MIX: [u64; 3] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1];

/// Both halves of a product, combined by exclusive or: every bit of the factors affects every bit of the result.
#[inline(always)]
pub fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of a key, the same everywhere and in every version: one multiplication per sixteen bytes, read as two
/// little-endian words; the last one to sixteen bytes as two words that may overlap. The length is part of the seed.
#[inline]
pub fn hash(key: &[u8]) -> u64 {
    let mut state = MIX[0] ^ key.len() as u64;
    let mut rest = key;
    while let Some((block, after)) = rest.split_first_chunk::<16>() {
        if after.is_empty() {
            break; // the last block is mixed in below
        }
        let block = u128::from_le_bytes(*block);
        state = fold(block as u64 ^ state, (block >> 64) as u64 ^ MIX[1]);
        rest = after;
    }
    let (low, high) = if let (Some(low), Some(high)) = (rest.first_chunk(), rest.last_chunk()) {
        (u64::from_le_bytes(*low), u64::from_le_bytes(*high))
    } else if let (Some(low), Some(high)) = (rest.first_chunk(), rest.last_chunk()) {
        (u32::from_le_bytes(*low).into(), u32::from_le_bytes(*high).into())
    } else if let [first, .., last] = *rest {
        (u64::from(first) | u64::from(rest[1]) << 8, last.into())
    } else {
        (rest.first().map_or(0, |&byte| byte.into()), 0)
    };
    fold(fold(low ^ state, high ^ MIX[1]), MIX[2])
}

/// The part of a hash that is stored in slots.
#[inline(always)]
pub fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Where the search for a tag starts.
#[inline(always)]
fn home(slots: usize, tag: u32) -> usize {
    ((u64::from(tag) * slots as u64) >> 32) as usize
}

/// Puts a new key into the first free slot.
fn place(slots: &mut [u64], slot: u64) {
    let mut at = home(slots.len(), tag(slot));
    while slots[at] != 0 {
        at = (at + 1) & (slots.len() - 1);
    }
    slots[at] = slot;
}

impl<'a> Keys<'a> {
    /// Number of keys.
    pub fn len(self) -> usize {
        self.ends.len()
    }

    /// Where the search for a tag starts.
    #[inline(always)]
    pub fn home(self, tag: u32) -> usize {
        home(self.slots.len(), tag)
    }

    /// The first number from slot `at` on with this tag, and its slot.
    #[inline(always)]
    pub fn candidate(self, tag_of_key: u32, mut at: usize) -> Option<(u32, usize)> {
        for _ in 0..self.slots.len() {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if tag(slot) == tag_of_key {
                return Some(((slot as u32).wrapping_sub(1), at));
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        None
    }

    /// The number of a key, searched from slot `at` on.
    #[inline]
    pub fn find_from(self, key: &[u8], tag_of_key: u32, mut at: usize) -> Option<u32> {
        for _ in 0..self.slots.len() {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            let id = (slot as u32).wrapping_sub(1);
            if tag(slot) == tag_of_key && self.get(id) == Some(key) {
                return Some(id);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        None
    }

    /// The number of a key, if it is known.
    #[inline]
    pub fn find(self, key: &[u8]) -> Option<u32> {
        let tag = tag(hash(key));
        self.find_from(key, tag, self.home(tag))
    }

    /// Where a key begins; 0 if there is none.
    #[inline(always)]
    pub fn start(self, id: u32) -> usize {
        (id as usize).checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |&end| end as usize)
    }

    /// The key of a number below [`Keys::len`]; empty if the arrays have been overwritten.
    #[inline(always)]
    pub fn at(self, id: u32) -> &'a [u8] {
        self.get(id).unwrap_or_default()
    }

    /// The key of a number.
    #[inline(always)]
    pub fn get(self, id: u32) -> Option<&'a [u8]> {
        self.bytes.get(self.start(id)..*self.ends.get(id as usize)? as usize)
    }

    /// All keys, by number.
    pub fn iter(self) -> impl ExactSizeIterator<Item = &'a [u8]> {
        (0..self.len()).map(move |id| self.at(id as u32))
    }
}

impl Interner {
    /// Its arrays.
    #[inline]
    pub fn keys(&self) -> Keys<'_> {
        Keys { bytes: &self.bytes, ends: &self.ends, slots: &self.slots }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Number of bytes of all keys.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The number of a key, the next free one if it is new; `None` if all numbers are taken.
    pub fn insert(&mut self, key: &[u8]) -> Option<u32> {
        let tag = tag(hash(key));
        let keys = self.keys();
        if let Some(id) = keys.find_from(key, tag, keys.home(tag)) {
            return Some(id);
        }
        let id = u32::try_from(self.ends.len()).ok().filter(|&id| id != u32::MAX)?;
        let end = u32::try_from(self.bytes.len() + key.len()).ok()?;
        self.bytes.extend_from_slice(key);
        self.ends.push(end);
        if self.ends.len() > self.slots.len() / 3 * 2 {
            self.grow();
        }
        place(&mut self.slots, u64::from(tag) << 32 | u64::from(id + 1));
        Some(id)
    }

    fn grow(&mut self) {
        let mut slots = vec![0; (self.slots.len() * 2).max(FIRST_SLOTS)];
        self.slots.iter().filter(|&&slot| slot != 0).for_each(|&slot| place(&mut slots, slot));
        self.slots = slots;
    }

    /// Forgets all keys and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.slots.fill(0);
    }

    /// Bytes, ends and slots, without memory reserved for growth.
    pub fn into_arrays(mut self) -> (Vec<u8>, Vec<u32>, Vec<u64>) {
        self.shrink();
        (self.bytes, self.ends, self.slots)
    }

    /// Frees the memory reserved for growth.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
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
            assert_eq!(interner.keys().find(key.as_bytes()), None);
            assert_eq!(interner.insert(key.as_bytes()), Some(id as u32));
        }
        interner.shrink();
        for (id, key) in keys.iter().enumerate() {
            assert_eq!(interner.keys().find(key.as_bytes()), Some(id as u32));
            assert_eq!(interner.insert(key.as_bytes()), Some(id as u32));
            assert_eq!(interner.keys().get(id as u32), Some(key.as_bytes()));
        }
        assert!(interner.keys().iter().eq(keys.iter().map(|key| key.as_bytes())));
        assert_eq!((interner.len(), interner.keys().get(5000)), (5000, None));
        assert_eq!(interner.insert(b""), Some(5000), "the empty key is a key");
        assert_eq!(interner.keys().find(b""), Some(5000));
    }

    /// Model files depend on these values.
    #[test]
    fn the_hash_never_changes() {
        let text = b"0123456789abcdefghijklmnopqrstuvwxyz0123456789";
        let found: Vec<u64> = [0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 32, 33, 46].map(|n| hash(&text[..n])).into();
        let expected = [
            0x480f_e496_6428_8f5d,
            0x11ff_8203_f93f_6879,
            0xb007_23b3_c5e7_ad59,
            0xad34_bbdd_191e_256f,
            0xdf3c_98df_dad6_68ae,
            0x5086_0d5c_5a42_ef62,
            0x9c1d_2f8f_dc21_e0e6,
            0xd3b1_0311_b845_c219,
            0x14b8_a814_8046_c3c7,
            0x35dd_6370_34c3_80a4,
            0xf904_9663_4943_00a5,
            0xccf1_2e2f_b2b6_74c2,
            0x00a4_3bde_7586_df9d,
        ];
        assert_eq!(found, expected);
    }

    /// Similar keys must not cluster: searches are as short as with random numbers.
    #[test]
    fn similar_keys_spread() {
        let mut interner = Interner::default();
        let affixes = ["w[0]=", "w[-1]=", "suf3=", "pre2=", "", "U05:"];
        for i in 0..20_000u32 {
            let key = format!("{}{}", affixes[i as usize % 6], i / 6);
            interner.insert(key.as_bytes());
            interner.insert(&i.to_le_bytes());
            interner.insert(&u64::from(i).to_be_bytes());
        }
        let (keys, mut steps) = (interner.keys(), 0);
        let mask = keys.slots.len() - 1;
        for (at, &slot) in keys.slots.iter().enumerate().filter(|(_, slot)| **slot != 0) {
            steps += at.wrapping_sub(keys.home(tag(slot))) & mask;
        }
        // Linear probing at load a: (1 / (1 - a) - 1) / 2 steps beyond the first slot (Knuth, volume 3, 6.4).
        let load = keys.len() as f64 / keys.slots.len() as f64;
        let expected = (1.0 / (1.0 - load) - 1.0) / 2.0;
        let found = steps as f64 / keys.len() as f64;
        assert!(found < 1.2 * expected, "{found} steps per key, {expected} expected");
    }
}
