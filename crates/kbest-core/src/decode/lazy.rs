//! Paths on demand: the best one first, each further one when it is asked for.
//!
//! **What.** [`kbest_iter`] returns any number of paths, best first, without knowing in advance how many. The first
//! costs as much as decoding one path. For the next ones the funnel keeps every label on paths within some margin of
//! the best, and these paths are enumerated; when they are used up, the margin is widened and the enumeration continues
//! after the paths already returned. Where little can be pruned, all forward scores are computed once instead. **Why
//! exact.** The kept labels hold *all* paths within the margin, so the paths returned so far are the same in the wider
//! set. **When not.** If `k` is known: `decode_kbest` reuses the caller's memory.
//!
//! ```
//! use kbest_core::{Edges, Lattice, kbest_iter};
//! let edges = Edges::dense(2, vec![0.0f32; 4])?;
//! let lattice = Lattice::new(vec![1.0, 0.0, 4.0, 0.0], &edges)?;
//! let scores: Vec<f32> = kbest_iter(&lattice).map(|path| path.score).collect();
//! assert_eq!(scores, [5.0, 4.0, 1.0, 0.0]);
//! # Ok::<(), kbest_core::Error>(())
//! ```

use super::auto::{Auto, Engine};
use super::counters::Uncounted;
use super::funnel::{self, Stop};
use super::path_space::{Full, PathSpace, Place};
use super::unique::UniqueBy;
use super::{Decode, Path, Scratch};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice, with_edges};
use crate::simd::{Float, precompiled};
use std::borrow::Borrow;
use std::marker::PhantomData;

/// Factor by which the margin grows when the paths within it are used up.
const WIDEN: f64 = 4.0;

/// The paths of a lattice, best first, on demand. Ends when no legal path is left (or when the partial paths it holds
/// exceed what can be numbered, about 64 GB of them).
///
/// The lattice may be borrowed, as in the example above; or the iterator owns it or an [`std::sync::Arc`] of it, and
/// can then be stored, returned and sent to other threads:
///
/// ```
/// use kbest_core::{Edges, Lattice, decode::KbestIter, kbest_iter};
/// use std::sync::Arc;
/// struct Candidates<'e> {
///     lattice: Arc<Lattice<'e, f32>>,
///     paths: KbestIter<'e, f32, Arc<Lattice<'e, f32>>>,
/// }
/// let edges = Edges::dense(2, vec![0.0f32; 4])?;
/// let lattice = Arc::new(Lattice::new(vec![1.0, 0.0, 4.0, 0.0], &edges)?);
/// let mut candidates = Candidates { paths: kbest_iter(lattice.clone()), lattice };
/// let best = candidates.paths.next().unwrap();
/// assert_eq!(candidates.lattice.path_score(&best.labels)?, 5.0);
/// # Ok::<(), kbest_core::Error>(())
/// ```
pub fn kbest_iter<'l, S: Float, L: Borrow<Lattice<'l, S>>>(lattice: L) -> KbestIter<'l, S, L> {
    let scratch = Scratch::new();
    KbestIter { lattice, scratch, space: Space::Unopened, best: 0.0, given: 0, scores: PhantomData }
}

/// Iterator over the paths of a lattice, made by [`kbest_iter`]. `L` is how it holds the lattice: `&Lattice`,
/// `Lattice`, `Arc<Lattice>`.
#[derive(Debug)]
pub struct KbestIter<'l, S: Float, L> {
    lattice: L,
    scratch: Scratch<S>,
    space: Space,
    best: f64,
    given: usize,
    scores: PhantomData<&'l S>, // which `L` borrows from
}

/// Where the next path comes from.
#[derive(Debug, Clone, Copy)]
enum Space {
    /// At most the best path has been asked for so far.
    Unopened,
    /// The labels on paths within a margin of the best.
    Within(f64, Place),
    /// All labels.
    All(Place),
    /// There are no more.
    Exhausted,
}

impl<'l, S: Float, L: Borrow<Lattice<'l, S>>> KbestIter<'l, S, L> {
    /// Only paths that differ after every label is mapped by `projection` (for example, joint tag to coarse tag): of
    /// those that map to the same labels, the best. Still exact, and still best first. Paths in between are visited and
    /// left out; where these are many, each path returned costs up to `T` decodings instead.
    pub fn unique_by<F: Fn(LabelId) -> LabelId>(self, projection: F) -> UniqueBy<'l, S, L, F> {
        UniqueBy::new(self, projection)
    }

    pub(super) fn lattice(&self) -> &Lattice<'l, S> {
        self.lattice.borrow()
    }

    /// The best path, as fast as a single path can be found.
    fn first(&mut self) -> Option<Path<S>> {
        let found = Auto::default().decode(self.lattice.borrow(), &mut self.scratch);
        // The only possible error is that there is no legal path.
        let path = found.ok()?.paths.pop()?;
        self.best = path.score.to_f64();
        Some(path)
    }

    /// Keeps the labels on all paths within the margin, or all labels if that is too much work, and skips the paths
    /// already returned.
    fn open(&mut self, margin: f64) {
        let lattice = self.lattice.borrow();
        self.space = S::call::<Opening<'_>>((lattice, margin, self.given, &mut self.scratch));
    }

    /// The next path of the current space, and the place of the enumeration after it.
    fn step(&mut self) -> Option<(Path<S>, Place)> {
        let lattice = self.lattice.borrow();
        S::call::<Stepping<'_>>((lattice, self.space, &mut self.scratch))
    }
}

precompiled!(Opening<'a>: (&'a Lattice<'a, S>, f64, usize, &'a mut Scratch<S>) => Space, open);
precompiled!(
    Stepping<'a>: (&'a Lattice<'a, S>, Space, &'a mut Scratch<S>) => Option<(Path<S>, Place)>,
    step
);

fn open<S: Float>(
    (lattice, margin, given, scratch): (&Lattice<'_, S>, f64, usize, &mut Scratch<S>),
) -> Space {
    with_edges!(lattice, |edges| space_within(lattice, edges, margin, given, scratch))
}

fn step<S: Float>(
    (lattice, space, scratch): (&Lattice<'_, S>, Space, &mut Scratch<S>),
) -> Option<(Path<S>, Place)> {
    with_edges!(lattice, |edges| next_path(lattice, edges, space, scratch))
}

/// The space of the paths within the margin, after those already returned.
fn space_within<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    margin: f64,
    given: usize,
    scratch: &mut Scratch<S>,
) -> Space {
    let plan = Auto::default().plan(lattice, 2);
    let tally = &mut Uncounted;
    let funnel::Memory { search, many } = &mut scratch.funnel;
    let kept = &mut many.kept;
    let pruned = match plan.first {
        Some(Engine::Funnel) => {
            let budget = plan.budget.with_ways(usize::MAX); // how many paths will be wanted is not known
            funnel::keep_within(lattice, edges, margin, budget, search, kept, tally)
        }
        _ => Err(Stop::OverBudget),
    };
    match pruned {
        Ok(()) => {
            let (survivors, memory) = kept.parts();
            let skipped = skip(PathSpace::new(lattice, edges, survivors, memory), given);
            skipped.map_or(Space::Exhausted, |place| Space::Within(margin, place))
        }
        Err(Stop::NoPath) => Space::Exhausted,
        Err(Stop::OverBudget | Stop::Crowded | Stop::Full) => {
            let memory = &mut scratch.recursive_enumeration;
            plan.forward_pass().fill(lattice, &mut memory.pass, tally);
            let survivors = memory.pass.forward.survivors(lattice);
            let skipped = skip(PathSpace::new(lattice, edges, survivors, &mut memory.paths), given);
            skipped.map_or(Space::Exhausted, Space::All)
        }
    }
}

/// The next path of a space.
fn next_path<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    space: Space,
    scratch: &mut Scratch<S>,
) -> Option<(Path<S>, Place)> {
    let tally = &mut Uncounted;
    let mut space = match space {
        Space::Within(_, place) => {
            let (survivors, memory) = scratch.funnel.many.kept.parts();
            PathSpace::resume(lattice, edges, survivors, memory, place)
        }
        Space::All(place) => {
            let memory = &mut scratch.recursive_enumeration;
            let survivors = memory.pass.forward.survivors(lattice);
            PathSpace::resume(lattice, edges, survivors, &mut memory.paths, place)
        }
        Space::Unopened | Space::Exhausted => return None,
    };
    let score = space.next_path(tally).ok()??;
    let mut labels = vec![0; lattice.positions()];
    space.write_labels(&mut labels, tally);
    Some((Path { labels, score: score + S::ZERO }, space.place())) // as `Decoded::push_path`
}

/// Skips the first `count` paths.
fn skip<S: Float>(mut space: PathSpace<'_, '_, S, impl EdgeScores<S>>, count: usize) -> Result<Place, Full> {
    for _ in 0..count {
        space.next_path(&mut Uncounted)?;
    }
    Ok(space.place())
}

impl<'l, S: Float, L: Borrow<Lattice<'l, S>>> Iterator for KbestIter<'l, S, L> {
    type Item = Path<S>;

    fn next(&mut self) -> Option<Path<S>> {
        if self.given == 0 {
            self.given = 1;
            let first = self.first();
            if first.is_none() || self.lattice.borrow().positions() == 0 {
                self.space = Space::Exhausted;
            }
            return first;
        }
        loop {
            match self.space {
                Space::Unopened => self.open(self.lattice.borrow().edges().magnitude() / WIDEN),
                Space::Exhausted => return None,
                Space::All(_) => {
                    let next = self.step();
                    self.space = next.as_ref().map_or(Space::Exhausted, |&(_, place)| Space::All(place));
                    self.given += 1;
                    return next.map(|(path, _)| path);
                }
                Space::Within(margin, _) => match self.step() {
                    Some((path, place)) if path.score.to_f64() >= self.best - margin => {
                        self.space = Space::Within(margin, place);
                        self.given += 1;
                        return Some(path);
                    }
                    None if margin == f64::INFINITY => self.space = Space::Exhausted,
                    _ => {
                        // Beyond this margin, nothing needs to be pruned.
                        let lattice = self.lattice.borrow();
                        let all = 16.0 * (lattice.edges().magnitude() + lattice.largest_node_magnitude());
                        self.open(funnel::widened(margin, WIDEN * margin + 0.01 * all, all));
                    }
                },
            }
        }
    }
}
