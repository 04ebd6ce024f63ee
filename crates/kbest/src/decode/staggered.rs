//! TODO
use super::{Decode, Decoded, Scratch};
use crate::error::Result;
use crate::kernel::Float;
use crate::lattice::Lattice;

/// Which columns grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expansion {
    /// All.
    #[default]
    AllColumns,
    /// Those on the path.
    ColumnsOnPath,
}

/// Staggered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Staggered {
    /// Which columns grow.
    pub expansion: Expansion,
}

#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    dummy: Vec<S>,
}

impl<S: Float> Decode<S> for Staggered {
    fn name(&self) -> &'static str {
        "staggered"
    }
    fn search(&self, _: &Lattice<'_, S>, _: usize, _: &mut Scratch<S>, _: &mut Decoded<S>) -> Result<()> {
        todo!()
    }
}
