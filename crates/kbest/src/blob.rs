//! Arrays that belong to a model: made in memory, or lying in a mapped file.

use std::ops::Deref;

/// A read-only array.
#[derive(Debug, Clone)]
pub(crate) enum Blob<T> {
    /// Made in memory.
    Owned(Vec<T>),
}

impl<T> Default for Blob<T> {
    fn default() -> Self {
        Blob::Owned(Vec::new())
    }
}

impl<T> Deref for Blob<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Blob::Owned(values) => values,
        }
    }
}

impl<T> From<Vec<T>> for Blob<T> {
    fn from(values: Vec<T>) -> Self {
        Blob::Owned(values)
    }
}
