//! Decoding segments: the working memory, and what happens before and after a search.

use super::bound::search as learned;
use super::completions::Completions;
use super::derivations::Derivations;
use super::forward::Forward;
use super::lattice::spans;
use super::lengths::{Convolved, Lengths};
use super::pushed::Pushed;
use super::scores::SpanBounds;
use super::{Counters, Decoded, Estimate, Guarantee, Plan, SegmentLattice, Segmentation};
use super::{astar, funnel, semi_viterbi};
use crate::decode::{Decode, Decoder, Lattices};
use crate::error::{Error, Result};
use crate::simd::{Float, precompiled};
use std::collections::BinaryHeap;

/// Working memory: make one per thread and pass it to every call.
#[derive(Debug, Default)]
pub struct Scratch<S: Float> {
    pub(super) forward: Forward<S>,
    pub(super) lengths: Lengths,
    pub(super) peaks: Vec<f64>,
    pub(super) completions: Completions,
    pub(super) bounds: SpanBounds<S>,
    pub(super) funnel: funnel::Memory,
    pub(super) agenda: BinaryHeap<astar::Waiting>,
    pub(super) learned: learned::Memory<S>,
}

impl Decoder {
    /// Finds the `k` best segmentations, fewer if there are not so many legal ones.
    ///
    /// # Errors
    /// [`Error::Argument`] for `k = 0`; [`Error::Unsupported`], also for decoders of single positions; [`Error::NoPath`].
    pub fn decode_segments<S: Float>(
        &self,
        lattice: &SegmentLattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
    ) -> Result<Decoded<S, Segmentation<S>>> {
        let mut out = Decoded::default();
        self.decode_segments_into(lattice, k, scratch, &mut out)?;
        Ok(out)
    }

    /// Finds the `k` best segmentations into `out`.
    ///
    /// # Errors
    /// Those of [`Decoder::decode_segments`].
    pub fn decode_segments_into<S: Float>(
        &self,
        lattice: &SegmentLattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S, Segmentation<S>>,
    ) -> Result<()> {
        if k == 0 {
            return Err(Error::argument("k", "at least 1", k));
        }
        self.supports_on(Lattices::Segments, k)?;
        S::call::<Decoding<'_>>((self, lattice, k, scratch, out))
    }

    /// Searches; `k` is at least 1 and supported.
    fn search_segments<S: Float>((this, lattice, k, scratch, out): Arguments<'_, S>) -> Result<()> {
        let mut counters = Counters::default();
        let chosen = match this {
            Decoder::Auto(_) => Plan::of(lattice, k).decoder,
            decoder => decoder.clone(),
        };
        let mut guarantee = Guarantee::Exact;
        let segmentations = match chosen {
            _ if lattice.positions() == 0 => vec![Segmentation { segments: vec![], score: S::ZERO }],
            Decoder::SemiViterbi => semi_viterbi::search(lattice, k, &mut counters)?,
            Decoder::SemiAstar(Estimate::Learned) => {
                let (found, known) = learned::best(lattice, scratch, &mut counters)?;
                guarantee = known;
                vec![found]
            }
            Decoder::SemiAstar(estimate) => vec![astar::search(lattice, estimate, scratch, &mut counters)?],
            Decoder::SemiFunnel => funnel::search(lattice, k, scratch, &mut counters)?,
            _ => {
                fill(lattice, scratch, false, &mut counters);
                let explicit = |inside, s, r, y| lattice.plus_explicit(inside, s, r, y);
                best_of(lattice, &scratch.forward, k, explicit)?
            }
        };
        out.set(segmentations, guarantee, chosen.name(), counters);
        Ok(())
    }
}

/// What a search is called with.
type Arguments<'a, S> =
    (&'a Decoder, &'a SegmentLattice<'a, S>, usize, &'a mut Scratch<S>, &'a mut Decoded<S, Segmentation<S>>);

precompiled!(Decoding<'a>: Arguments<'a, S> => Result<()>, Decoder::search_segments);

/// Fills the table of forward scores: all of them, exactly.
pub(super) fn fill<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    scratch: &mut Scratch<S>,
    bounded: bool,
    counters: &mut Counters,
) {
    if lattice.has_explicit() {
        let all = (spans(lattice.positions(), lattice.longest()) * lattice.labels()) as u64;
        counters.segments += all;
        counters.explicit += all;
        let mut pushed = Pushed::new(lattice, &mut scratch.peaks);
        scratch.forward.fill(lattice, &mut pushed, counters);
    } else {
        scratch.lengths.reset(lattice, bounded);
        let mut convolved = Convolved { lattice, lengths: &mut scratch.lengths };
        scratch.forward.fill(lattice, &mut convolved, counters);
        counters.segments += scratch.lengths.done;
    }
}

/// The `k` best segmentations from forward scores.
pub(super) fn best_of<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    forward: &Forward<S>,
    k: usize,
    explicit: impl Fn(f64, usize, usize, usize) -> f64,
) -> Result<Vec<Segmentation<S>>> {
    if k == 1 {
        return Ok(vec![forward.trace(lattice, explicit)?]);
    }
    let mut derivations = Derivations::at_most(k);
    let next = || derivations.next(lattice, forward, &explicit);
    let best: Vec<_> = std::iter::from_fn(next).take(k).collect();
    if best.is_empty() { Err(Error::NoPath) } else { Ok(best) }
}
