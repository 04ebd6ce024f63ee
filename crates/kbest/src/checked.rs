//! Arrays of a file that are checked block by block, each before it is first used.
//!
//! **What.** A [`Checked`] array is a [`Blob`], and for arrays of large files the [`Blocks`] of the section it lies in: a CRC-32
//! for every [`BLOCK`] bytes. Whoever reads a value names its place, and the block it lies in is compared with its checksum
//! unless that was done before. A block that differs is *damage*: it counts as if it were not there, and whoever uses the
//! arrays asks in the end whether there was any ([`Damage`]).
//!
//! **Why.** A program that tags one sentence touches a few hundred blocks of a model of 100 MB; reading the others would take
//! longer than tagging the sentence, and would take memory for their pages. **Cost.** A look at a bit for each access; a few microseconds for
//! each block, once. **When not.** If everything will be read anyway, check the section as a whole.
//!
//! **Not checked here.** What the values mean: an array that is watched may hold anything, with the right checksums. Its readers
//! must treat every number as one that may be out of range.

use crate::memory::Blob;
use kbest_core::Error;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of a block: what a page fault brings into memory at once.
pub(crate) const BLOCK: usize = 1 << 16;

/// Whether a file turned out to be damaged, and its name.
#[derive(Debug, Default)]
pub(crate) struct Damage {
    file: String,
    found: AtomicBool,
}

impl Damage {
    pub(crate) fn of(file: &str) -> Arc<Self> {
        Arc::new(Damage { file: file.to_owned(), found: AtomicBool::new(false) })
    }

    /// What whoever used the arrays returns instead of an answer.
    #[cold]
    pub(crate) fn error(&self) -> Error {
        let got = "a block that does not match its checksum";
        Error::data(&*self.file, 0, "an undamaged file", got)
    }

    /// Remembers that something is damaged.
    #[cold]
    pub(crate) fn note(&self) {
        self.found.store(true, Ordering::Relaxed);
    }

    /// Whether something is.
    #[inline]
    pub(crate) fn is_found(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }
}

/// The blocks of a section, and which of them are known to be sound.
#[derive(Debug)]
pub(crate) struct Blocks {
    bytes: Blob<u8>,
    checksums: Blob<u32>,  // one per block
    sound: Vec<AtomicU64>, // one bit per block
    damage: Arc<Damage>,
}

impl Blocks {
    /// The blocks of a section; `None` unless there is one checksum for each.
    pub(crate) fn new(bytes: Blob<u8>, checksums: Blob<u32>, damage: Arc<Damage>) -> Option<Self> {
        let blocks = bytes.len().div_ceil(BLOCK);
        let sound = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        (checksums.len() == blocks).then_some(Blocks { bytes, checksums, sound, damage })
    }

    /// Whether the blocks of these bytes, which are within the section, are sound.
    #[inline]
    fn are_sound(&self, first: usize, last: usize) -> bool {
        (first / BLOCK..=last / BLOCK).all(|block| {
            let known = self.sound[block / 64].load(Ordering::Relaxed);
            known >> (block % 64) & 1 != 0 || self.check(block)
        })
    }

    /// Whether all blocks are.
    pub(crate) fn all_are_sound(&self) -> bool {
        self.bytes.is_empty() || self.are_sound(0, self.bytes.len() - 1)
    }

    #[cold]
    fn check(&self, block: usize) -> bool {
        let bytes = &self.bytes[block * BLOCK..self.bytes.len().min((block + 1) * BLOCK)];
        let is_sound = crc32fast::hash(bytes) == self.checksums[block];
        if is_sound {
            self.sound[block / 64].fetch_or(1 << (block % 64), Ordering::Relaxed);
        } else {
            self.damage.note();
        }
        is_sound
    }
}

/// The part of an array between the offset of this number and the next; nothing if there is no such part. Checked files have it, but
/// a mapped file that is overwritten while it is used may have any offsets.
#[inline]
pub(crate) fn part_between<'a, T>(values: &'a [T], starts: &[u32], number: usize) -> &'a [T] {
    let part = || {
        let (start, end) = (*starts.get(number)?, *starts.get(number + 1)?);
        values.get(start as usize..end as usize)
    };
    part().unwrap_or_default()
}

/// An array, watched or not.
#[derive(Debug)]
pub(crate) struct Checked<T> {
    values: Blob<T>,
    blocks: Option<Arc<Blocks>>,
}

impl<T> Checked<T> {
    /// An array that lies in a section whose blocks are checked when they are first used.
    pub(crate) fn watched(values: Blob<T>, blocks: Arc<Blocks>) -> Self {
        Checked { values, blocks: Some(blocks) }
    }

    /// Whether its values may be anything.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.blocks.is_some()
    }

    /// What is told of damage, if it is watched.
    pub(crate) fn damage(&self) -> Option<&Arc<Damage>> {
        self.blocks.as_ref().map(|blocks| &blocks.damage)
    }

    /// All values as they are, checked or not: only for their number, hints to the cache, and arrays that are not watched.
    #[inline(always)]
    pub(crate) fn raw(&self) -> &[T] {
        &self.values
    }

    /// These values, if there are so many and they are sound.
    #[inline]
    pub(crate) fn part(&self, range: Range<usize>) -> Option<&[T]> {
        let part = self.values.get(range.clone())?;
        let is_sound = |blocks: &Arc<Blocks>| {
            part.is_empty() || blocks.are_sound(range.start * size_of::<T>(), range.end * size_of::<T>() - 1)
        };
        self.blocks.as_ref().is_none_or(is_sound).then_some(part)
    }

    /// The same, inlined as far as arrays that are not watched go.
    #[inline(always)]
    pub(crate) fn part_inlined(&self, range: Range<usize>) -> Option<&[T]> {
        match self.blocks {
            None => self.values.get(range),
            Some(_) => self.part(range),
        }
    }

    /// One value, if it exists and is sound.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        self.part(index..index.checked_add(1)?)?.first()
    }

    /// All values; none if one of them is not sound.
    pub(crate) fn whole(&self) -> &[T] {
        self.part(0..self.values.len()).unwrap_or_default()
    }
}

impl<T> From<Blob<T>> for Checked<T> {
    fn from(values: Blob<T>) -> Self {
        Checked { values, blocks: None }
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Checked<T> {
    fn from(values: Vec<T>) -> Self {
        Blob::from(values).into()
    }
}

impl<T> Default for Checked<T> {
    fn default() -> Self {
        Blob::default().into()
    }
}

impl<T> Clone for Checked<T> {
    fn clone(&self) -> Self {
        Checked { values: self.values.clone(), blocks: self.blocks.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_block_is_missing_and_the_others_are_not() {
        let values: Vec<u32> = (0..40_000).collect();
        let checksums: Vec<u32> =
            bytemuck::cast_slice::<u32, u8>(&values).chunks(BLOCK).map(crc32fast::hash).collect();
        let watch = |values: Vec<u32>| {
            let values = Blob::from(values);
            let bytes = values.project(|values| Some(bytemuck::cast_slice(values))).unwrap();
            let damage = Damage::of("file");
            let blocks = Blocks::new(bytes, checksums.clone().into(), damage.clone()).unwrap();
            (Checked::watched(values, Arc::new(blocks)), damage)
        };
        let (sound, damage) = watch(values.clone());
        assert_eq!((sound.part(16_380..16_390), sound.whole()), (Some(&values[16_380..16_390]), &values[..]));
        assert_eq!(
            (sound.get(39_999), sound.get(40_000), sound.part(3..3)),
            (Some(&39_999), None, Some(&[][..]))
        );
        assert!(!damage.is_found());
        let mut changed = values.clone();
        changed[20_000] ^= 1; // in the second block of three
        let (damaged, damage) = watch(changed);
        assert_eq!((damaged.get(0), damaged.part(32_768..40_000)), (Some(&0), Some(&values[32_768..])));
        assert!(!damage.is_found());
        assert_eq!(
            (damaged.get(16_384), damaged.part(16_000..17_000), damaged.whole()),
            (None, None, &[][..])
        );
        assert!(damage.is_found());
        let none = Blocks::new(Blob::from(vec![0; BLOCK + 1]), vec![0].into(), Damage::of("file"));
        assert!(none.is_none(), "one checksum for two blocks");
    }
}
