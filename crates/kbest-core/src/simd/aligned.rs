//! A vector of scores whose first element lies on a cache line.

use crate::score::Score;
use std::ops::{Deref, DerefMut};

/// Bytes in a cache line, and in the widest vector.
const LINE: usize = 64;

/// Scores that start at a multiple of 64 bytes, so that full-width loads never straddle two cache lines.
///
/// It over-allocates by one line and skips to the first aligned element. A clone may start at another address, so it is
/// aligned again.
#[derive(Debug, Default)]
pub struct AlignedVec<S> {
    storage: Vec<S>,
    offset: usize, // plus the length, at most the length of the storage
    length: usize,
}

impl<S: Score> AlignedVec<S> {
    /// `length` scores, all equal to `value`.
    pub fn filled(length: usize, value: S) -> Self {
        let mut vec = AlignedVec { storage: Vec::new(), offset: 0, length: 0 };
        vec.reset(length, value);
        vec
    }

    /// Resizes to `length` scores, all equal to `value`; allocates only to grow.
    pub fn reset(&mut self, length: usize, value: S) {
        self.resize_for_overwrite(length);
        self.fill(value);
    }

    /// Resizes to `length` scores of unspecified (but legal) content; allocates only to grow.
    pub fn resize_for_overwrite(&mut self, length: usize) {
        let spare = LINE / size_of::<S>();
        let room = length.checked_add(spare).expect("more scores than memory can hold");
        if self.storage.len() < room {
            (self.offset, self.length) = (0, 0); // consistent even if the allocation panics and the panic is caught
            self.storage.clear();
            self.storage.resize(room, S::FORBIDDEN);
            // `align_offset` may be unable to compute the offset; then the data is merely unaligned.
            self.offset = Some(self.storage.as_ptr().align_offset(LINE)).filter(|&o| o <= spare).unwrap_or(0);
        }
        self.length = length;
    }
}

impl<S: Score> Clone for AlignedVec<S> {
    fn clone(&self) -> Self {
        let mut copy = AlignedVec { storage: Vec::new(), offset: 0, length: 0 };
        copy.resize_for_overwrite(self.length);
        copy.copy_from_slice(self);
        copy
    }
}

impl<S> Deref for AlignedVec<S> {
    type Target = [S];
    #[inline(always)]
    fn deref(&self) -> &[S] {
        // SAFETY: `offset + length` is at most the length of the storage, see `resize_for_overwrite`.
        unsafe { self.storage.get_unchecked(self.offset..self.offset + self.length) }
    }
}

impl<S> DerefMut for AlignedVec<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [S] {
        // SAFETY: as above.
        unsafe { self.storage.get_unchecked_mut(self.offset..self.offset + self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_on_a_cache_line_and_keeps_its_memory() {
        let mut vec = AlignedVec::filled(100, 1.5f32);
        assert_eq!(vec.as_ptr() as usize % LINE, 0);
        let before = vec.as_ptr();
        vec.reset(40, 2.0);
        assert_eq!((vec.as_ptr(), vec.len(), vec[39]), (before, 40, 2.0));
        let copy = vec.clone();
        assert_eq!((copy.as_ptr() as usize % LINE, copy[0]), (0, 2.0));
    }
}
