//! Data that a lattice only reads: borrowed for as long as it lives, or shared with other holders.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

/// Edges or scores that a lattice reads: borrowed, or shared by an [`Arc`]. A lattice that borrows nothing is
/// `'static`, so any object or thread can keep it; clones share the data. A vector becomes a shared slice (copied
/// once).
#[derive(Debug)]
pub enum Held<'a, T: ?Sized> {
    /// Owned elsewhere.
    Borrowed(&'a T),
    /// Shared by all holders.
    Shared(Arc<T>),
}

impl<T: ?Sized> Deref for Held<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        match self {
            Held::Borrowed(value) => value,
            Held::Shared(value) => value,
        }
    }
}

impl<T: ?Sized> Clone for Held<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Held::Borrowed(value) => Held::Borrowed(value),
            Held::Shared(value) => Held::Shared(Arc::clone(value)),
        }
    }
}

impl<'a, T: ?Sized> From<&'a T> for Held<'a, T> {
    fn from(value: &'a T) -> Self {
        Held::Borrowed(value)
    }
}

impl<T: ?Sized> From<Arc<T>> for Held<'_, T> {
    fn from(value: Arc<T>) -> Self {
        Held::Shared(value)
    }
}

impl<'a, T: ?Sized> From<&'a Arc<T>> for Held<'a, T> {
    fn from(value: &'a Arc<T>) -> Self {
        Held::Borrowed(value)
    }
}

impl<T> From<Vec<T>> for Held<'_, [T]> {
    fn from(values: Vec<T>) -> Self {
        Held::Shared(values.into())
    }
}

impl<'a, T> From<&'a Vec<T>> for Held<'a, [T]> {
    fn from(values: &'a Vec<T>) -> Self {
        Held::Borrowed(values)
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Held<'a, [T]> {
    fn from(values: &'a [T; N]) -> Self {
        Held::Borrowed(values)
    }
}

impl<'a, T: Clone> From<Cow<'a, [T]>> for Held<'a, [T]> {
    fn from(values: Cow<'a, [T]>) -> Self {
        match values {
            Cow::Borrowed(values) => Held::Borrowed(values),
            Cow::Owned(values) => values.into(),
        }
    }
}
