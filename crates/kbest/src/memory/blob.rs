//! Read-only arrays of a model: built in memory, or part of a mapped file.
//!
//! **What.** A [`Blob`] is a slice together with the owner that keeps it alive, so a model loaded from a file can
//! borrow its arrays from the map and a model built in memory can own them, with one type for both. **Cost.** Reading
//! needs a pointer and a length, as for any slice, wherever the memory comes from. Clones share the memory.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// A read-only array of plain values, and the owner that keeps it alive.
pub(crate) struct Blob<T> {
    first: NonNull<T>, // `length` values, valid and unchanged as long as `owner` lives
    length: usize,
    owner: Option<Arc<dyn Any + Send + Sync>>, // none for the empty array
}

// SAFETY: a blob is a shared slice, which may go wherever `&[T]` may; its owner is `Send + Sync` by its type.
unsafe impl<T: Sync> Send for Blob<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Blob<T> {}

impl<T> Blob<T> {
    /// A part of this array, or the same memory as another type. The result of `part` lives as long as its argument, so
    /// it can only be a piece of it (or something `'static`).
    pub(crate) fn project<U: 'static>(
        &self,
        part: impl for<'a> FnOnce(&'a [T]) -> Option<&'a [U]>,
    ) -> Option<Blob<U>> {
        let part = part(self)?;
        Some(Blob { first: NonNull::from(part).cast(), length: part.len(), owner: self.owner.clone() })
    }
}

#[cfg(feature = "mmap")]
impl Blob<u8> {
    /// Maps a file into memory.
    ///
    /// The file must not change while it is mapped: if it is truncated, reads beyond its new end fail with a signal
    /// (`SIGBUS`); if it is overwritten in place, data that was checked changes. Replacing a file by renaming another
    /// over it is safe: the map keeps the old one.
    pub(crate) fn map(file: &std::fs::File) -> std::io::Result<Self> {
        // SAFETY: the bytes are plain, so any content is valid; that they do not change is the requirement above.
        let map = Arc::new(unsafe { memmap2::Mmap::map(file)? });
        let (first, length) = (NonNull::from(&map[..]).cast(), map.len());
        Ok(Blob { first, length, owner: Some(map) })
    }
}

impl<T: Send + Sync + 'static> From<Vec<T>> for Blob<T> {
    fn from(values: Vec<T>) -> Self {
        let owner = Arc::new(values); // never handed out, so the vector is neither changed nor moved
        let (first, length) = (NonNull::from(&owner[..]).cast(), owner.len());
        Blob { first, length, owner: Some(owner) }
    }
}

impl<T> Default for Blob<T> {
    fn default() -> Self {
        Blob { first: NonNull::dangling(), length: 0, owner: None }
    }
}

impl<T> Clone for Blob<T> {
    fn clone(&self) -> Self {
        Blob { first: self.first, length: self.length, owner: self.owner.clone() }
    }
}

impl<T> Deref for Blob<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the fields come from a slice whose memory `owner` holds, or from a dangling pointer and length 0.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl<T> fmt::Debug for Blob<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}; {}]", std::any::type_name::<T>(), self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_outlives_the_whole() {
        let whole = Blob::from(vec![0x0101_0101u32, 0x0202_0202, 0x0303_0303]);
        let part: Blob<u8> = whole.project(|words| Some(&bytemuck::cast_slice(words)[3..9])).unwrap();
        let copy = part.clone();
        drop((whole, part));
        assert_eq!(*copy, [1, 2, 2, 2, 2, 3]);
        assert!(copy.project(|_| None::<&[u8]>).is_none());
        assert!(Blob::<u32>::default().is_empty());
        assert!(Blob::from(Vec::<u32>::new()).is_empty());
    }

    #[cfg(feature = "mmap")]
    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot map files")]
    fn a_file_is_mapped() {
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, b"kbest").unwrap();
        let map = Blob::map(&file).unwrap();
        drop(file);
        assert_eq!(*map, *b"kbest");
    }
}
