//! Arrays of a model wherever they lie, and hints to the cache: with the kernels of `kbest-core`, the only `unsafe` code.
#![allow(unsafe_code)]

mod blob;
mod prefetch;

pub(crate) use blob::Blob;
pub(crate) use prefetch::prefetch;
