//! The working memory of all decoders, owned by the caller and reused from sequence to sequence.

use super::{
    astar, beam, carpediem, funnel, iterative_astar, iterative_viterbi_astar, staggered, viterbi,
    viterbi_astar, viterbi_simd, viterbi_sparse,
};
use crate::kernel::Float;

/// Working memory: make one a thread and pass it to every call; it grows to the largest sequence and is never freed
/// in between.
#[derive(Debug, Default)]
pub struct Scratch<S: Float> {
    /// Count the work ([`super::Counters`]) while decoding.
    pub counting: bool,
    pub(crate) astar: astar::Memory<S>,
    pub(crate) beam: beam::Memory<S>,
    pub(crate) carpediem: carpediem::Memory<S>,
    pub(crate) funnel: funnel::Memory<S>,
    pub(crate) iterative_astar: iterative_astar::Memory<S>,
    pub(crate) iterative_viterbi_astar: iterative_viterbi_astar::Memory<S>,
    pub(crate) staggered: staggered::Memory<S>,
    pub(crate) viterbi: viterbi::Memory<S>,
    pub(crate) viterbi_astar: viterbi_astar::Memory<S>,
    pub(crate) viterbi_simd: viterbi_simd::Memory<S>,
    pub(crate) viterbi_sparse: viterbi_sparse::Memory<S>,
}

impl<S: Float> Scratch<S> {
    /// Empty working memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, counting the work.
    pub fn counting() -> Self {
        Scratch { counting: true, ..Self::default() }
    }
}
