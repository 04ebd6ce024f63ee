//! The decoders of segments by name, their working memory, and what happens before and after a search.

use super::completions::Completions;
use super::derivations::Derivations;
use super::forward::Forward;
use super::lattice::spans;
use super::lengths::{Convolved, Lengths};
use super::pushed::Pushed;
use super::scores::SpanBounds;
use super::{
    Estimate, Guarantee, SegmentCounters, SegmentDecoded, SegmentLattice, SegmentPlan, Segmentation,
};
use super::{astar, funnel, learned, semi_viterbi};
use crate::decode::Answers;
use crate::error::{Error, Result};
use crate::simd::{Float, precompiled};
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

/// What to know of a decoder of segments before choosing it.
#[derive(Debug, Clone, Copy)]
pub struct SegmentEntry {
    /// Its name.
    pub name: &'static str,
    /// How many segmentations it can give.
    pub answers: Answers,
    /// Whether they are proven to be the best.
    pub exact: bool,
    /// Time in `T`, `W`, `L` and `k`.
    pub cost: &'static str,
    /// When to take it.
    pub advice: &'static str,
}

/// A decoder of segments, by name or by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SegmentDecoder {
    /// Chooses among the others ([`SegmentPlan`]).
    #[default]
    Auto,
    /// Ours: bounds first, scores only where they can matter.
    SemiFunnel,
    /// The textbook, `k T W L^2`.
    SemiViterbi,
    /// The best predecessor once per position, lengths with vector instructions: `T L^2 + T W L`.
    SemiViterbiSimd,
    /// Best-first search with this estimate of completions; the best segmentation only.
    SemiAstar(Estimate),
}

/// Every decoder of segments.
pub const SEGMENT_CATALOGUE: &[SegmentEntry] = &[
    SegmentEntry {
        name: "auto",
        answers: Answers::Both,
        exact: true,
        cost: "that of the decoder it picks",
        advice: "the default: looks at the lattice and picks one of the others",
    },
    SegmentEntry {
        name: "semi-funnel",
        answers: Answers::Both,
        exact: true,
        cost: "T L^2 to T L^2 + T W L",
        advice: "segments, ours: leaves out lengths by their bounds, asks for scores only where they can matter",
    },
    SegmentEntry {
        name: "semi-viterbi",
        answers: Answers::Both,
        exact: true,
        cost: "k T W L^2",
        advice: "segments, the textbook: the reference the others are tested against",
    },
    SegmentEntry {
        name: "semi-viterbi-simd",
        answers: Answers::Both,
        exact: true,
        cost: "T L^2 + T W L",
        advice: "segments, vector instructions; its time does not depend on the scores",
    },
    SegmentEntry {
        name: "semi-astar",
        answers: Answers::One,
        exact: true,
        cost: "T L to T W L^2 log",
        advice: "segments, Druck et al. 2007: best-first search; choose --heuristic; with a learned bound not exact",
    },
];

/// Working memory: make one per thread and pass it to every call.
#[derive(Debug, Default)]
pub struct SegmentScratch<S: Float> {
    pub(super) forward: Forward<S>,
    pub(super) lengths: Lengths,
    pub(super) peaks: Vec<f64>,
    pub(super) completions: Completions,
    pub(super) bounds: SpanBounds<S>,
    pub(super) funnel: funnel::Memory,
    pub(super) agenda: BinaryHeap<astar::Waiting>,
    learned: learned::Memory<S>,
}

impl SegmentDecoder {
    const ALL: [Self; 5] = [
        SegmentDecoder::Auto,
        SegmentDecoder::SemiFunnel,
        SegmentDecoder::SemiViterbi,
        SegmentDecoder::SemiViterbiSimd,
        SegmentDecoder::SemiAstar(Estimate::Admissible),
    ];

    /// What the catalogue says of it.
    pub fn entry(&self) -> &'static SegmentEntry {
        &SEGMENT_CATALOGUE[match self {
            SegmentDecoder::Auto => 0,
            SegmentDecoder::SemiFunnel => 1,
            SegmentDecoder::SemiViterbi => 2,
            SegmentDecoder::SemiViterbiSimd => 3,
            SegmentDecoder::SemiAstar(_) => 4,
        }]
    }

    /// The name users say.
    pub fn name(&self) -> &'static str {
        self.entry().name
    }

    /// Whether it can find the `k` best (`k >= 1`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] with the reason.
    pub fn supports(&self, k: usize) -> Result<()> {
        if k == 1 || self.entry().answers != Answers::One {
            return Ok(());
        }
        let reason = format!("it finds the best segmentation only, not the {k} best; use auto");
        Err(Error::Unsupported { decoder: self.name(), reason })
    }

    /// Finds the `k` best segmentations, fewer if there are not so many legal ones.
    ///
    /// # Errors
    /// [`Error::Argument`] for `k = 0`, [`Error::Unsupported`], [`Error::NoPath`].
    pub fn decode<S: Float>(
        &self,
        lattice: &SegmentLattice<'_, S>,
        k: usize,
        scratch: &mut SegmentScratch<S>,
    ) -> Result<SegmentDecoded<S>> {
        if k == 0 {
            return Err(Error::argument("k", "at least 1", k));
        }
        self.supports(k)?;
        S::call::<Decoding<'_>>((self, lattice, k, scratch))
    }

    /// Searches; `k` is at least 1 and supported.
    fn search<S: Float>(
        (this, lattice, k, scratch): (&Self, &SegmentLattice<'_, S>, usize, &mut SegmentScratch<S>),
    ) -> Result<SegmentDecoded<S>> {
        let mut counters = SegmentCounters::default();
        let chosen = match this {
            SegmentDecoder::Auto => SegmentPlan::of(lattice, k).decoder,
            decoder => *decoder,
        };
        let mut guarantee = Guarantee::Exact;
        let segmentations = match chosen {
            _ if lattice.positions() == 0 => vec![Segmentation { segments: vec![], score: S::ZERO }],
            SegmentDecoder::SemiViterbi => semi_viterbi::search(lattice, k, &mut counters)?,
            SegmentDecoder::SemiAstar(Estimate::Learned) => {
                let Some(estimate) = &lattice.learned else {
                    let reason = "learned bounds belong to models, and this lattice has none; \
                                  use the estimate admissible, or `kbest learn-bound` and `kbest tag --bound learned`";
                    return Err(Error::Unsupported { decoder: this.name(), reason: reason.into() });
                };
                let SegmentScratch { completions, bounds, learned: memory, .. } = &mut *scratch;
                match learned::search(lattice, estimate, completions, bounds, memory, &mut counters)? {
                    Some(found) => {
                        guarantee = if lattice.as_learned { estimate.guarantee } else { Guarantee::None };
                        vec![found]
                    }
                    None => vec![astar::search(lattice, Estimate::Admissible, scratch, &mut counters)?],
                }
            }
            SegmentDecoder::SemiAstar(estimate) => {
                vec![astar::search(lattice, estimate, scratch, &mut counters)?]
            }
            SegmentDecoder::SemiFunnel => funnel::search(lattice, k, scratch, &mut counters)?,
            SegmentDecoder::SemiViterbiSimd | SegmentDecoder::Auto => {
                fill(lattice, scratch, false, &mut counters);
                let explicit = |inside, s, r, y| lattice.plus_explicit(inside, s, r, y);
                best_of(lattice, &scratch.forward, k, explicit)?
            }
        };
        let decoder = chosen.name();
        Ok(SegmentDecoded { segmentations, guarantee, decoder, counters })
    }

    /// Sets the estimate of A*.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for decoders without one.
    pub fn with_estimate(self, estimate: Estimate) -> Result<Self> {
        match self {
            SegmentDecoder::SemiAstar(_) => Ok(SegmentDecoder::SemiAstar(estimate)),
            other => {
                let reason = "only semi-astar takes a completion estimate".into();
                Err(Error::Unsupported { decoder: other.name(), reason })
            }
        }
    }
}

precompiled!(
    Decoding<'a>: (&'a SegmentDecoder, &'a SegmentLattice<'a, S>, usize, &'a mut SegmentScratch<S>)
        => Result<SegmentDecoded<S>>,
    SegmentDecoder::search
);

/// Fills the table of forward scores: all of them, exactly.
pub(super) fn fill<S: Float>(
    lattice: &SegmentLattice<'_, S>,
    scratch: &mut SegmentScratch<S>,
    bounded: bool,
    counters: &mut SegmentCounters,
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

/// The decoder of that name; that of A* may be followed by its estimate, `semi-astar:none`.
impl FromStr for SegmentDecoder {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let (name, estimate) = name.split_once(':').map_or((name, None), |(name, of)| (name, Some(of)));
        let named = Self::ALL.into_iter().find(|decoder| decoder.name() == name);
        let decoder = named.ok_or_else(|| Error::UnknownName {
            what: "decoder of segments",
            name: name.into(),
            expected: SEGMENT_CATALOGUE.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
        })?;
        match estimate {
            Some(estimate) => decoder.with_estimate(estimate.parse()?),
            None => Ok(decoder),
        }
    }
}

/// The name that [`FromStr`] reads.
impl fmt::Display for SegmentDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SegmentDecoder::SemiAstar(estimate) if *estimate != Estimate::default() => {
                write!(f, "{}:{}", self.name(), estimate.name())
            }
            _ => f.write_str(self.name()),
        }
    }
}
