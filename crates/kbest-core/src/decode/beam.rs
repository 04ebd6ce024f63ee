//! Beam search that knows whether its answer is exact.
//!
//! **What.** A forward pass that keeps the `width` best labels of each position (at least `k` of them for `k` paths)
//! and drops the rest; the answer is the best paths through the kept labels. Alongside, it maintains a *certificate*:
//! an upper bound on everything that was dropped. If the last path returned beats that bound, no better path exists and
//! the answer is marked exact.
//!
//! ```text
//! held[t][y] = max over kept p of (held[t-1][p] + edge[p][y]) + node[t][y]             paths of kept labels only
//! lost[t][y] = max( max over kept p of (lost[t-1][p] + edge[p][y]),
//!                   rest[t-1] + best edge into y ) + node[t][y]                        paths that left the beam
//! rest[t]    = max over dropped y of max(held[t][y], lost[t][y])
//! ```
//!
//! **Why the certificate holds.** `lost` is added in the judge's order with terms replaced by larger ones, so it is
//! never below the judge's score of a path through a dropped label. Only a strictly better answer is certified: a
//! dropped path of equal score might come first by the tie rule.
//!
//! A beam may drop every label that can be continued. Then, or if it holds fewer than `k` paths, the search is repeated
//! with twice the width until it has them or drops nothing; so [`Error::NoPath`] really means that there is no path.
//!
//! **Cost.** `T L max(width, k)` time, with vector instructions; memory `T max(width, k)`. **When not.** If the answer
//! must be exact: `funnel` starts from the same idea and goes on where the certificate fails. **Paper.** The baseline
//! of Huang et al. (2012, Tables 4 and 5) and of Esposito & Radicioni (2009, section 6.6.2); the certificate is ours.

use super::gather::GatherEdges;
use super::path_space::{self, Columns, PathSpace, Survivors};
use super::trace_back::{lowest_best, trace_back};
use super::{Algorithm, Decoded, Job, Scratch, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice, PerLabel, with_edges};
use crate::simd::{AlignedVec, Float, argmax, padded};

/// The beam decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beam {
    /// Labels kept per position, at least 1; for `k` paths at least `k` are kept.
    pub width: usize,
}

impl Default for Beam {
    fn default() -> Self {
        Beam { width: 8 }
    }
}

/// The kept labels of all positions, and rows for the current one.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    offsets: Vec<usize>, // T + 1: where each position's kept labels begin
    labels: Vec<LabelId>,
    scores: Vec<S>, // `held` of the kept labels
    kept: Vec<Kept<S>>,
    held: AlignedVec<S>, // padded(L)
    lost: AlignedVec<S>, // padded(L)
    row: AlignedVec<S>,  // one row of edges, for shapes that store none
    paths: path_space::Memory<S>,
}

/// A kept label of the current position.
#[derive(Debug, Clone, Copy)]
struct Kept<S> {
    label: LabelId,
    held: S,
    lost: S,
}

impl Algorithm for Beam {
    fn with_option(self, option: &str) -> Result<Self> {
        let width = option.parse().ok().filter(|&width| width > 0);
        let width = width.ok_or_else(|| Error::argument("beam width", "a number, at least 1", option))?;
        Ok(Beam { width })
    }

    fn option(&self) -> Option<String> {
        (*self != Beam::default()).then(|| self.width.to_string())
    }

    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, k, scratch, tally, out } = job;
        let memory = &mut scratch.beam;
        let mut width = self.width.max(k).max(1);
        while !try_width(lattice, edges, width, k, memory, tally, out)? {
            out.clear_paths();
            width *= 2; // a beam as wide as the lattice drops nothing, so this ends
        }
        if out.paths.is_empty() { Err(Error::NoPath) } else { Ok(()) }
    }
}

impl Beam {
    /// For training: searches until the labels `gold` have fallen out of the beam, and puts the best labels up to and
    /// including that position into `prefix`, or all positions if `gold` stays in the beam to the end.
    ///
    /// # Errors
    /// [`Error::Shape`] if `gold` is not as long as the lattice, [`Error::LabelOutOfRange`], [`Error::NoPath`] if the
    /// beam runs empty.
    pub fn until_lost<S: Float>(
        &self,
        lattice: &Lattice<'_, S>,
        gold: &[LabelId],
        scratch: &mut Scratch<S>,
        prefix: &mut Vec<LabelId>,
    ) -> Result<()> {
        lattice.path_score(gold)?; // rejects a path of another length
        prefix.clear();
        if gold.is_empty() {
            return Ok(());
        }
        let memory = &mut scratch.beam;
        with_edges!(lattice, |edges| memory.follow(lattice, edges, self.width.max(1), gold, prefix))
    }
}

/// One beam search. False if it holds fewer than `k` paths although there may be more.
fn try_width<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    width: usize,
    k: usize,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<bool> {
    let lost = memory.forward(lattice, edges, width, tally);
    let Memory { offsets, labels, scores, paths, .. } = memory;
    let survivors = Survivors { alpha: scores, columns: Columns::Listed { offsets, labels } };
    PathSpace::new(lattice, edges, survivors, paths).push_best(k, tally, out)?;
    // Certificate: an upper bound on everything dropped lies strictly below the last path.
    let enough = out.paths.len() == k;
    out.exact = lost.is_forbidden() || (enough && out.paths.last().is_some_and(|path| path.score > lost));
    Ok(enough || lost.is_forbidden())
}

impl<S: Float> Memory<S> {
    /// Fills in the kept labels of all positions, and returns an upper bound, including the end score, on the paths
    /// through a dropped label.
    fn forward(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl EdgeScores<S>,
        width: usize,
        tally: &mut impl Tally,
    ) -> S {
        let (last, labels) = (lattice.positions() - 1, lattice.labels());
        self.begin(lattice);
        tally.round();
        for t in 0..last {
            let rest = self.keep_best(width);
            self.report(t, tally);
            tally.edges(self.kept.len() * labels);
            self.step(lattice, edges, t + 1, rest);
        }
        let bound =
            (0..labels).map(|y| lattice.with_end_score(self.lost[y], y)).fold(S::FORBIDDEN, S::larger);
        self.keep_best_ends(lattice, width);
        self.report(last, tally);
        self.offsets.push(self.labels.len());
        bound
    }

    /// Reports what was kept and dropped.
    fn report(&self, t: usize, tally: &mut impl Tally) {
        tally.opened_each(t, self.kept.iter().map(|kept| kept.label));
        if tally.traces() {
            // Kept labels are forbidden by now, and so are labels that no path reaches.
            let dropped = (0..).zip(&self.held[..]).filter(|(_, held)| !held.is_forbidden());
            dropped.for_each(|(y, _)| tally.pruned(t, y));
        }
    }

    /// The rows of the first position.
    fn begin(&mut self, lattice: &Lattice<'_, S>) {
        let labels = lattice.labels();
        self.offsets.clear();
        self.labels.clear();
        self.scores.clear();
        self.held.reset(padded(labels), S::FORBIDDEN);
        self.lost.reset(padded(labels), S::FORBIDDEN);
        self.row.resize_for_overwrite(padded(labels));
        for y in 0..labels {
            self.held[y] = lattice.first_score(y);
        }
    }

    /// Searches until `gold` has fallen out of the beam, or to the end; writes the best labels so far to `prefix`.
    fn follow(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl EdgeScores<S>,
        width: usize,
        gold: &[LabelId],
        prefix: &mut Vec<LabelId>,
    ) -> Result<()> {
        self.begin(lattice);
        let last = lattice.positions() - 1;
        let mut t = 0;
        loop {
            let rest = self.keep_best(width);
            // A prefix is in the beam if it scores as much as the best path that ends in the same label.
            let score = lattice.prefix_score(&gold[..=t])?;
            let alive = self.kept.iter().any(|kept| kept.label == gold[t] && kept.held == score);
            if !alive || t == last {
                break;
            }
            t += 1;
            self.step(lattice, edges, t, rest);
        }
        self.offsets.push(self.labels.len());
        let column = |t: usize| {
            let at = self.offsets[t]..self.offsets[t + 1];
            self.labels[at.clone()].iter().copied().zip(self.scores[at].iter().copied())
        };
        let end = |score, y| if t == last { lattice.with_end_score(score, y as usize) } else { score };
        let (y, _) = lowest_best(column(t).map(|(y, score)| (y, end(score, y)))).ok_or(Error::NoPath)?;
        prefix.resize(t + 1, 0);
        trace_back(edges, column, y, prefix);
        Ok(())
    }

    /// Keeps the `width` best labels of the current position, lower labels first among equals, and returns `rest`: a
    /// bound on those that are dropped.
    fn keep_best(&mut self, width: usize) -> S {
        self.kept.clear();
        while self.kept.len() < width {
            let Some((y, held)) = argmax(&self.held) else { break };
            self.kept.push(Kept { label: y as LabelId, held, lost: self.lost[y] });
            (self.held[y], self.lost[y]) = (S::FORBIDDEN, S::FORBIDDEN); // only the dropped ones remain
        }
        self.kept.sort_unstable_by_key(|kept| kept.label);
        self.offsets.push(self.labels.len());
        self.labels.extend(self.kept.iter().map(|kept| kept.label));
        self.scores.extend(self.kept.iter().map(|kept| kept.held));
        S::largest(&self.held).larger(S::largest(&self.lost))
    }

    /// Keeps the `width` best labels of the last position, including the end scores. Those dropped need no bound: a
    /// beam is at least `k` wide, so `k` paths that end in kept labels score no less, and have lower labels where they
    /// score the same.
    fn keep_best_ends(&mut self, lattice: &Lattice<'_, S>, width: usize) {
        let Some(end) = lattice.end() else {
            self.keep_best(width);
            return;
        };
        let first = self.labels.len();
        self.row.copy_from_slice(&self.held);
        S::add_row(&mut self.held[..end.len()], end);
        self.keep_best(width);
        // Paths are enumerated from scores without the end score.
        self.scores.truncate(first);
        self.scores.extend(self.labels[first..].iter().map(|&y| self.row[y as usize]));
    }

    /// The rows of position `t` from the labels kept at `t - 1`, and from a bound on the others.
    fn step(&mut self, lattice: &Lattice<'_, S>, edges: &impl EdgeScores<S>, t: usize, rest: S) {
        let labels = lattice.labels();
        self.held.fill(S::FORBIDDEN);
        self.lost.fill(S::FORBIDDEN);
        for kept in &self.kept {
            let row = edges.row(t, kept.label as usize, &mut self.row);
            S::max_plus_row(&mut self.held, kept.held, row);
            if !kept.lost.is_forbidden() {
                S::max_plus_row(&mut self.lost, kept.lost, row);
            }
        }
        if !rest.is_forbidden() {
            // Upper bound on every path through a dropped label of t - 1, because no edge into y is better.
            match edges.bounds(t).column {
                PerLabel::Each(column) => S::max_plus_row(&mut self.lost[..labels], rest, &column[..labels]),
                PerLabel::All(best) => {
                    self.lost[..labels].iter_mut().for_each(|lost| *lost = lost.larger(rest + best));
                }
            }
        }
        S::add_row(&mut self.held[..labels], lattice.node_row(t));
        S::add_row(&mut self.lost[..labels], lattice.node_row(t));
    }
}
