//! TODO
use super::{Decode, Decoded, Scratch};
use crate::error::Result;
use crate::kernel::Float;
use crate::lattice::Lattice;

/// Funnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Funnel;

#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    dummy: Vec<S>,
}

impl<S: Float> Decode<S> for Funnel {
    fn name(&self) -> &'static str {
        "funnel"
    }
    fn search(&self, _: &Lattice<'_, S>, _: usize, _: &mut Scratch<S>, _: &mut Decoded<S>) -> Result<()> {
        todo!()
    }
}
