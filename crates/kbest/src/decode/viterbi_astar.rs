//! k-best Viterbi A*: exact forward scores once, then paths from the back, best first.
//!
//! **What.** The forward pass gives every node the best score of a path to it. Searching backwards with that as
//! the estimate of what is still to come is A* with a perfect heuristic: nothing is expanded in vain, so after the first
//! path each further one is cheap. [`super::path_space`] does the backward half.
//!
//! **Why exact.** The forward scores are sums in the judge's order, and so are the scores of all later paths.
//! **Cost.** `T L^2` for the forward pass (on vectors), then at most `T L` a path; memory `T L`. **When not.** If even
//! one forward pass over all labels is too much: `funnel` prunes first.
//! **Paper.** Huang et al. (2012), section 3.5, Algorithm 3.

use super::path_space::{self, Columns, PathSpace, Survivors};
use super::{Decode, Decoded, Scratch, Tally, with_tally};
use crate::error::{Error, Result};
use crate::kernel::{AlignedVec, Float, padded};
use crate::lattice::{EdgeScores, Lattice, with_edges};

/// The k-best decoder with a forward pass and a backward search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ViterbiAstar;

/// Forward scores and the backward search's memory.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    alpha: AlignedVec<S>, // T rows of `padded(L)`
    row: AlignedVec<S>,   // one row of edges, for shapes that store none
    paths: path_space::Memory<S>,
}

impl<S: Float> Decode<S> for ViterbiAstar {
    fn name(&self) -> &'static str {
        "viterbi-astar"
    }

    fn supports(&self, _k: usize) -> Result<()> {
        Ok(())
    }

    fn search(
        &self,
        lattice: &Lattice<'_, S>,
        k: usize,
        scratch: &mut Scratch<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        let Memory { alpha, row, paths } = &mut scratch.viterbi_astar;
        with_tally!(lattice, scratch, out, |tally| {
            with_edges!(lattice, |edges| {
                forward(lattice, edges, alpha, row, tally);
                let (labels, stride) = (lattice.labels(), padded(lattice.labels()));
                let survivors = Survivors { alpha, columns: Columns::All { labels, stride } };
                PathSpace::new(lattice, edges, survivors, paths).push_best(k, tally, out);
            });
        });
        if out.paths.is_empty() { Err(Error::NoPath) } else { Ok(()) }
    }
}

/// Forward scores of all nodes, one padded row a position; the padding stays forbidden.
fn forward<S: Float>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    alpha: &mut AlignedVec<S>,
    row: &mut AlignedVec<S>,
    tally: &mut impl Tally,
) {
    let (positions, labels) = (lattice.positions(), lattice.labels());
    let stride = padded(labels);
    alpha.reset(positions * stride, S::FORBIDDEN);
    row.resize_for_overwrite(stride);
    for y in 0..labels {
        alpha[y] = lattice.first_score(y);
    }
    tally.round();
    tally.nodes(0, labels);
    for t in 1..positions {
        let (before, after) = alpha.split_at_mut(t * stride);
        let (before, after) = (&before[(t - 1) * stride..][..labels], &mut after[..stride]);
        match lattice.edges().as_dense() {
            Some(dense) => S::max_plus_matrix(after, before, dense.padded_scores()),
            None => {
                for (p, &score) in before.iter().enumerate().filter(|(_, score)| !score.is_forbidden()) {
                    S::max_plus_row(after, score, edges.row(t, p, row));
                }
            }
        }
        S::add_row(&mut after[..labels], lattice.node_row(t));
        tally.nodes(t, labels);
        tally.edges(labels * labels);
    }
}
