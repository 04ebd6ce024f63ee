//! Beam search over prefixes: the best few beginnings of a path, whatever label they end in.
//!
//! **What.** At each position the `width` best prefixes are kept (at least `k` for `k` paths), extended by every label,
//! and cut to the best again. Several of them may end in the same label, which is what finding `k` paths needs; for one
//! path that is waste, and [`super::Beam`] keeps labels instead.
//!
//! ```text
//! kept[t] = the width best of { (prefix + edge[p][y]) + node[t][y] } over kept prefixes, p their last label, and all y
//! ```
//!
//! **Not exact**, and says so: an answer counts as proven only if nothing legal was ever dropped and no tie decides. A
//! beam whose prefixes all lead to dead ends, or that holds fewer than `k` paths although it dropped some, hands over to
//! [`super::Beam`], so that [`Error::NoPath`](crate::Error::NoPath) really means that there is no path.
//!
//! **Cost.** `T L max(width, k)` time, `T max(width, k)` memory. **When not.** If the answer must be exact, or for one
//! path.
//!
//! ```
//! use kbest_core::{Decode, Edges, Lattice, Scratch, decode::PrefixBeam};
//! let edges = Edges::dense(2, vec![0.0f32, 1.0, 0.0, 0.0])?;
//! let lattice = Lattice::new(vec![1.0, 0.0, 0.0, 0.5], &edges)?;
//! let answer = PrefixBeam { width: 4 }.decode_kbest(&lattice, 2, &mut Scratch::new())?;
//! assert_eq!((answer.paths[0].score, answer.paths[1].score), (2.5, 1.0));
//! # Ok::<(), kbest_core::Error>(())
//! ```
//!
//! **Paper.** The k-best beam of Huang et al. (2012), Tables 1 and 5.

use super::gather::GatherEdges;
use super::{Algorithm, Beam, Decoded, Job, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::{Float, padded};
use std::cmp::Ordering;

/// Prefixes are cut to the best when there are twice as many as wanted, but not before there are so many.
const CUT: usize = 32;

/// The beam over prefixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixBeam {
    /// Prefixes kept per position, at least 1; for `k` paths at least `k` are kept.
    pub width: usize,
}

impl Default for PrefixBeam {
    fn default() -> Self {
        PrefixBeam { width: 1 }
    }
}

/// The kept prefixes of all positions.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    links: Vec<Link>,
    kept: Vec<Prefix<S>>,
    next: Vec<Prefix<S>>,
    row: Vec<S>,
}

/// The last label of a prefix, and the prefix it extends.
#[derive(Debug, Clone, Copy)]
struct Link {
    label: LabelId,
    from: usize,
}

/// A prefix of the current position: its score, its last label, and the link of the prefix before.
#[derive(Debug, Clone, Copy)]
struct Prefix<S> {
    score: S,
    label: LabelId,
    from: usize,
}

impl<S: Float> Prefix<S> {
    /// Best first; among equals the one that came first, then the lower label.
    fn order(&self, other: &Self) -> Ordering {
        let by_score = other.score.partial_cmp(&self.score).unwrap_or(Ordering::Equal);
        by_score.then(self.from.cmp(&other.from)).then(self.label.cmp(&other.label))
    }
}

impl Algorithm for PrefixBeam {
    fn with_option(self, option: &str) -> Result<Self> {
        let width = option.parse().ok().filter(|&width| width > 0);
        let width = width.ok_or_else(|| Error::argument("beam width", "a number, at least 1", option))?;
        Ok(PrefixBeam { width })
    }

    fn option(&self) -> Option<String> {
        (*self != PrefixBeam::default()).then(|| self.width.to_string())
    }

    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, mut job: Job<'_, '_, S, E, T>) -> Result<()> {
        let width = self.width.max(job.k).max(1);
        let Job { lattice, edges, k, scratch, tally, out } = job.reborrow();
        let dropped = scratch.prefix_beam.forward(lattice, edges, width, tally);
        scratch.prefix_beam.push_best(lattice, k, out);
        let tie = matches!(&scratch.prefix_beam.kept[..], [first, second, ..] if first.score == second.score);
        out.exact = !dropped && !tie;
        match out.paths.len() {
            found if found == k || !dropped && found > 0 => Ok(()),
            _ if !dropped => Err(Error::NoPath),
            _ => {
                job.out.clear_paths();
                Beam { width: self.width.max(1) }.search(job)
            }
        }
    }
}

impl<S: Float> Memory<S> {
    /// Leaves the prefixes of the last position in `kept`; true if any legal prefix was dropped.
    fn forward(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl EdgeScores<S>,
        width: usize,
        tally: &mut impl Tally,
    ) -> bool {
        let labels = lattice.labels();
        let Memory { links, kept, next, row } = self;
        row.clear();
        row.resize(padded(labels), S::FORBIDDEN);
        links.clear();
        next.clear();
        tally.round();
        let firsts =
            (0..labels).map(|y| Prefix { score: lattice.first_score(y), label: y as LabelId, from: 0 });
        next.extend(firsts.filter(|prefix| !prefix.score.is_forbidden()));
        let mut dropped = cut(next, width);
        for t in 1..lattice.positions() {
            std::mem::swap(kept, next);
            next.clear();
            tally.opened_each(t - 1, kept.iter().map(|prefix| prefix.label));
            tally.edges(kept.len() * labels);
            let mut floor = S::FORBIDDEN; // once there are enough, worse ones need not be kept
            for prefix in kept.iter() {
                let from = links.len();
                links.push(Link { label: prefix.label, from: prefix.from });
                let row = &edges.row(t, prefix.label as usize, row)[..labels];
                for (y, (&edge, &node)) in row.iter().zip(lattice.node_row(t)).enumerate() {
                    let score = (prefix.score + edge) + node;
                    if score < floor || score.is_forbidden() {
                        dropped |= !score.is_forbidden();
                        continue;
                    }
                    next.push(Prefix { score, label: y as LabelId, from });
                    if next.len() >= width.saturating_mul(2).max(CUT) {
                        dropped |= cut(next, width);
                        floor = next.get(width - 1).map_or(floor, |last| last.score);
                    }
                }
            }
            dropped |= cut(next, width);
        }
        std::mem::swap(kept, next);
        tally.opened_each(lattice.positions() - 1, kept.iter().map(|prefix| prefix.label));
        dropped
    }

    /// Pushes the `k` best of the kept prefixes, end scores included.
    fn push_best(&mut self, lattice: &Lattice<'_, S>, k: usize, out: &mut Decoded<S>) {
        let positions = lattice.positions();
        for prefix in &mut self.kept {
            prefix.score = lattice.with_end_score(prefix.score, prefix.label as usize);
        }
        self.kept.retain(|prefix| !prefix.score.is_forbidden());
        self.kept.sort_unstable_by(Prefix::order);
        for prefix in self.kept.iter().take(k) {
            let path = out.push_path(positions, prefix.score);
            let mut link = Link { label: prefix.label, from: prefix.from };
            for t in (0..positions).rev() {
                path[t] = link.label;
                if t > 0 {
                    link = self.links[link.from];
                }
            }
        }
    }
}

/// Keeps the best ones; true if any was dropped.
fn cut<S: Float>(prefixes: &mut Vec<Prefix<S>>, width: usize) -> bool {
    let too_many = prefixes.len() > width;
    if too_many {
        prefixes.select_nth_unstable_by(width - 1, Prefix::order);
        prefixes.truncate(width);
    }
    too_many
}
