//! TODO
use super::{Decode, Decoded, Scratch};
use crate::error::Result;
use crate::kernel::Float;
use crate::lattice::Lattice;

/// Estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Heuristic {
    /// Naive.
    #[default]
    Naive,
}

/// Astar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Astar {
    /// The estimate of what is still to come.
    pub heuristic: Heuristic,
}

#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    dummy: Vec<S>,
}

impl<S: Float> Decode<S> for Astar {
    fn name(&self) -> &'static str {
        "astar"
    }
    fn search(&self, _: &Lattice<'_, S>, _: usize, _: &mut Scratch<S>, _: &mut Decoded<S>) -> Result<()> {
        todo!()
    }
}

impl Heuristic {
    /// All of them.
    pub const ALL: [Heuristic; 1] = [Heuristic::Naive];
}
