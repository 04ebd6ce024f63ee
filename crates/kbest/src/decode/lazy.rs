//! Paths on demand: the best one now, the next ones when they are asked for.
//!
//! **What.** [`kbest_iter`] gives paths best first, any number of them, without being told how many. The first costs what
//! one path costs. For the next ones the funnel keeps every label on paths within some margin of the best, and these are
//! enumerated; when they are used up, the margin is widened and the enumeration goes on behind the paths already given.
//! Where little can be pruned, all forward scores are computed once instead. **Why exact.** Within its margin the kept
//! labels hold *all* paths, so the paths given so far are the same in the wider set. **When not.** If `k` is known:
//! `decode_kbest` reuses the caller's memory.
//!
//! ```
//! use kbest::{Edges, Lattice, kbest_iter};
//! let edges = Edges::dense(2, vec![0.0f32; 4])?;
//! let lattice = Lattice::new(vec![1.0, 0.0, 4.0, 0.0], &edges)?;
//! let scores: Vec<f32> = kbest_iter(&lattice).map(|path| path.score).collect();
//! assert_eq!(scores, [5.0, 4.0, 1.0, 0.0]);
//! # Ok::<(), kbest::Error>(())
//! ```

use super::auto::Auto;
use super::counters::Uncounted;
use super::funnel::{self, Stop};
use super::path_space::{PathSpace, Place};
use super::{Decode, Path, Scratch};
use crate::kernel::Float;
use crate::label::LabelId;
use crate::lattice::{Lattice, with_edges};
use std::collections::HashSet;

/// How much wider the margin gets when the paths within it are used up.
const WIDEN: f64 = 4.0;

/// Paths of a lattice, best first, as they are asked for. Ends when no legal path is left.
pub fn kbest_iter<'a, 'l, S: Float>(lattice: &'a Lattice<'l, S>) -> KbestIter<'a, 'l, S> {
    KbestIter { lattice, scratch: Scratch::new(), space: Space::Unopened, best: 0.0, given: 0 }
}

/// Iterator over the paths of a lattice, made by [`kbest_iter`].
#[derive(Debug)]
pub struct KbestIter<'a, 'l, S: Float> {
    lattice: &'a Lattice<'l, S>,
    scratch: Scratch<S>,
    space: Space,
    best: f64,
    given: usize,
}

/// Where the next path comes from.
#[derive(Debug, Clone, Copy)]
enum Space {
    /// Nothing but the best path was asked for yet.
    Unopened,
    /// The labels on paths within a margin of the best.
    Within(f64, Place),
    /// All labels.
    All(Place),
    /// There are no more.
    Exhausted,
}

impl<S: Float> KbestIter<'_, '_, S> {
    /// Only paths that differ after every label is mapped by `projection` (joint tag to coarse tag, say): of those that
    /// look the same, the best. Still exact, and still best first; but every path in between is visited and forgotten, so
    /// a projection that maps many labels to one makes each further path dearer.
    pub fn unique_by<F: Fn(LabelId) -> LabelId>(self, projection: F) -> UniqueBy<Self, F> {
        UniqueBy { paths: self, projection, seen: HashSet::new() }
    }

    /// The best path, as fast as one path can be had.
    fn first(&mut self) -> Option<Path<S>> {
        let found = Auto::default().decode(self.lattice, &mut self.scratch);
        // The only thing that can go wrong is that there is no legal path.
        let path = found.ok()?.paths.pop()?;
        self.best = path.score.to_f64();
        Some(path)
    }

    /// Keeps the labels on all paths within the margin, or all labels if that is too much work, and skips the paths
    /// that were given already.
    fn open(&mut self, margin: f64) {
        let lattice = self.lattice;
        let plan = Auto::default().plan(lattice, 2);
        let funnel::Memory { search, many } = &mut self.scratch.funnel;
        let kept = &mut many.kept;
        let tally = &mut Uncounted;
        with_edges!(lattice, |edges| {
            match funnel::keep_within(lattice, edges, margin, plan.budget, search, kept, tally) {
                Ok(()) => {
                    let (survivors, memory) = kept.parts();
                    let place = skip(PathSpace::new(lattice, edges, survivors, memory), self.given);
                    self.space = Space::Within(margin, place);
                }
                Err(Stop::NoPath) => self.space = Space::Exhausted,
                Err(Stop::OverBudget | Stop::Overflow) => {
                    let memory = &mut self.scratch.viterbi_astar;
                    plan.forward_pass().fill(lattice, &mut memory.forward, tally);
                    let survivors = memory.forward.survivors(lattice);
                    let space = PathSpace::new(lattice, edges, survivors, &mut memory.paths);
                    self.space = Space::All(skip(space, self.given));
                }
            }
        });
    }

    /// The next path of the space at hand, and where the enumeration then is.
    fn step(&mut self) -> Option<(Path<S>, Place)> {
        let lattice = self.lattice;
        let tally = &mut Uncounted;
        with_edges!(lattice, |edges| {
            let mut space = match self.space {
                Space::Within(_, place) => {
                    let (survivors, memory) = self.scratch.funnel.many.kept.parts();
                    PathSpace::resume(lattice, edges, survivors, memory, place)
                }
                Space::All(place) => {
                    let memory = &mut self.scratch.viterbi_astar;
                    let survivors = memory.forward.survivors(lattice);
                    PathSpace::resume(lattice, edges, survivors, &mut memory.paths, place)
                }
                Space::Unopened | Space::Exhausted => return None,
            };
            let score = space.next_path(tally)?;
            let mut labels = vec![0; lattice.positions()];
            space.write_labels(&mut labels, tally);
            Some((Path { labels, score }, space.place()))
        })
    }
}

/// Leaves out the first `count` paths.
fn skip<S: Float, E: crate::lattice::EdgeScores<S>>(
    mut space: PathSpace<'_, '_, S, E>,
    count: usize,
) -> Place {
    for _ in 0..count {
        space.next_path(&mut Uncounted);
    }
    space.place()
}

impl<S: Float> Iterator for KbestIter<'_, '_, S> {
    type Item = Path<S>;

    fn next(&mut self) -> Option<Path<S>> {
        if self.given == 0 {
            self.given = 1;
            let first = self.first();
            if first.is_none() || self.lattice.positions() == 0 {
                self.space = Space::Exhausted;
            }
            return first;
        }
        loop {
            match self.space {
                Space::Unopened => self.open(self.lattice.edges().magnitude() / WIDEN),
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
                        // Past this no path need be left out any longer.
                        let all =
                            16.0 * (self.lattice.edges().magnitude() + self.lattice.largest_node_magnitude());
                        let wider = WIDEN * margin + 0.01 * all;
                        self.open(if wider < all { wider } else { f64::INFINITY });
                    }
                },
            }
        }
    }
}

/// Iterator over paths that differ after projection, made by [`KbestIter::unique_by`].
#[derive(Debug)]
pub struct UniqueBy<I, F> {
    paths: I,
    projection: F,
    seen: HashSet<Vec<LabelId>>,
}

impl<S: Float, I: Iterator<Item = Path<S>>, F: Fn(LabelId) -> LabelId> Iterator for UniqueBy<I, F> {
    type Item = Path<S>;

    fn next(&mut self) -> Option<Path<S>> {
        let (projection, seen) = (&self.projection, &mut self.seen);
        self.paths.find(|path| seen.insert(path.labels.iter().map(|&y| projection(y)).collect()))
    }
}
