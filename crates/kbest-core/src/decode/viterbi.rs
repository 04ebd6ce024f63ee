//! The textbook Viterbi algorithm: short, scalar, never optimised. The reference for every other decoder.
//!
//! ```text
//! alpha[0][y] = start[y] + node[0][y]
//! alpha[t][y] = max over p of (alpha[t-1][p] + edge[t][p][y]) + node[t][y]
//! ```
//!
//! **Cost.** `T L^2` time, `T L` back pointers; for `k > 1` see [`super::viterbi_kbest`].
//! **When not.** Whenever speed matters: see `auto`.
//! **Paper.** Viterbi (1967); Algorithm 1 of Esposito & Radicioni (2009).

use super::gather::GatherEdges;
use super::viterbi_kbest::{self, viterbi_kbest};
use super::{Algorithm, Decoded, Job, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;

/// The textbook decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Viterbi;

/// Scores of two neighbouring positions and all back pointers.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    alpha: Vec<S>,      // L: best score of a path that ends in y
    next: Vec<S>,       // L
    back: Vec<LabelId>, // (T - 1) x L: the label before y on that path
    kbest: viterbi_kbest::Memory<S>,
}

impl Algorithm for Viterbi {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let Job { lattice, edges, k, scratch, tally, out } = job;
        match k {
            1 => viterbi(lattice, edges, &mut scratch.viterbi, tally, out),
            _ => viterbi_kbest(lattice, edges, k, &mut scratch.viterbi.kbest, tally, out),
        }
    }
}

fn viterbi<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    memory: &mut Memory<S>,
    tally: &mut impl Tally,
    out: &mut Decoded<S>,
) -> Result<()> {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let Memory { alpha, next, back, .. } = memory;
    alpha.clear();
    alpha.extend((0..labels).map(|y| lattice.first_score(y)));
    back.clear();
    tally.round();
    tally.opened_all(0, labels);

    for t in 1..positions {
        next.clear();
        for y in 0..labels {
            let (mut best, mut from) = (S::FORBIDDEN, 0);
            for p in 0..labels {
                let score = alpha[p] + edges.get(t, p, y);
                if score > best {
                    (best, from) = (score, p); // strictly better: the lowest label wins a tie
                }
            }
            next.push(best + lattice.node_row(t)[y]);
            back.push(from as LabelId);
        }
        std::mem::swap(alpha, next);
        tally.opened_all(t, labels);
        tally.edges(labels * labels);
    }

    let (mut best, mut last) = (S::FORBIDDEN, 0);
    for y in 0..labels {
        let score = lattice.with_end_score(alpha[y], y);
        if score > best {
            (best, last) = (score, y);
        }
    }
    if best.is_forbidden() {
        return Err(Error::NoPath);
    }
    let path = out.push_path(positions, best);
    path[positions - 1] = last as LabelId;
    for t in (1..positions).rev() {
        path[t - 1] = back[(t - 1) * labels + path[t] as usize];
    }
    Ok(())
}
