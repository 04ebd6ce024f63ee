//! Segmentations on demand, best first.

use super::Counters;
use super::SegmentLattice;
use super::Segmentation;
use super::decoder::{Scratch, fill};
use super::derivations::Derivations;
use crate::simd::Float;
use std::borrow::Borrow;
use std::marker::PhantomData;

/// The segmentations of a lattice, best first, as they are asked for; all of them in the end.
///
/// The first costs what one segmentation costs, each further one little (lists that grow only where somebody asks). The
/// iterator borrows the lattice or keeps it, itself or an [`std::sync::Arc`] of it. Scores computed on demand are computed for
/// all segments: nobody knows how many segmentations will be asked for.
///
/// ```
/// use kbest_core::segment::{SegmentLattice, segmentations};
/// use kbest_core::{Edges, Lattice};
/// let edges = Edges::uniform(1, -1.0f32)?;
/// let lattice = SegmentLattice::new(Lattice::new(vec![0.0; 3], &edges)?);
/// let scores: Vec<f32> = segmentations(&lattice).map(|found| found.score).collect();
/// assert_eq!(scores, [0.0, -1.0, -1.0, -2.0]);
/// # Ok::<(), kbest_core::Error>(())
/// ```
pub fn segmentations<'l, S: Float, L: Borrow<SegmentLattice<'l, S>>>(lattice: L) -> Segmentations<'l, S, L> {
    let (scratch, derivations) = (Scratch::default(), Derivations::default());
    Segmentations { lattice, scratch, derivations, started: false, lattices: PhantomData }
}

/// Iterator over segmentations, made by [`segmentations`]. `L` is how it holds the lattice.
#[derive(Debug)]
pub struct Segmentations<'l, S: Float, L> {
    lattice: L,
    scratch: Scratch<S>,
    derivations: Derivations,
    started: bool,
    lattices: PhantomData<fn() -> SegmentLattice<'l, S>>,
}

impl<'l, S: Float, L: Borrow<SegmentLattice<'l, S>>> Iterator for Segmentations<'l, S, L> {
    type Item = Segmentation<S>;

    fn next(&mut self) -> Option<Segmentation<S>> {
        let lattice = self.lattice.borrow();
        let first = !std::mem::replace(&mut self.started, true);
        if lattice.positions() == 0 {
            return first.then(|| Segmentation { segments: vec![], score: S::ZERO });
        }
        if first {
            fill(lattice, &mut self.scratch, true, &mut Counters::default());
        }
        let explicit = |inside, s, r, y| lattice.plus_explicit(inside, s, r, y);
        self.derivations.next(lattice, &self.scratch.forward, explicit)
    }
}
