//! The trace-back through forward scores, by the tie rule: shared by all decoders that keep no back pointers.
//!
//! **What.** The last label is the best one including its end score; each label before it is the one with the best sum
//! of forward score and edge into its successor, before the node score is added; the lowest label among equals. Where
//! scores are forward sums in the judge's order, this is plain Viterbi's path. **Cost.** One edge for each label of
//! each position that was reached. **When not.** All labels at every position: [`super::forward`] does the same with
//! vector instructions.

use super::Decoded;
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};
use crate::simd::Float;

/// Pushes the best path. `column(t)` lists labels of position `t`, in any order, with their forward scores.
pub(crate) fn push_best<S: Float, C: Iterator<Item = (LabelId, S)>>(
    lattice: &Lattice<'_, S>,
    edges: &impl EdgeScores<S>,
    column: impl Fn(usize) -> C,
    out: &mut Decoded<S>,
) -> Result<()> {
    let positions = lattice.positions();
    let ends = column(positions - 1).map(|(y, score)| (y, lattice.with_end_score(score, y as usize)));
    let (last, score) = lowest_best(ends).ok_or(Error::NoPath)?;
    trace_back(edges, column, last, out.push_path(positions, score));
    Ok(())
}

/// Fills in the labels of the best path that ends in `last` at the end of `path`.
pub(crate) fn trace_back<S: Float, C: Iterator<Item = (LabelId, S)>>(
    edges: &impl EdgeScores<S>,
    column: impl Fn(usize) -> C,
    last: LabelId,
    path: &mut [LabelId],
) {
    let mut y = last;
    for t in (0..path.len()).rev() {
        path[t] = y;
        if t > 0 {
            // Edges from nodes that were never reached are not read: each may cost a call.
            let reached = column(t - 1).filter(|(_, score)| !score.is_forbidden());
            let ways = reached.map(|(p, score)| (p, score + edges.get(t, p as usize, y as usize)));
            y = lowest_best(ways).expect("a node with a score was reached").0;
        }
    }
}

/// The tie rule: the best score, and the lowest label that has it; `None` if all are forbidden.
pub(crate) fn lowest_best<S: Float>(scores: impl Iterator<Item = (LabelId, S)>) -> Option<(LabelId, S)> {
    let (mut label, mut best) = (LabelId::MAX, S::FORBIDDEN);
    for (y, score) in scores {
        if score > best || (score == best && y < label) {
            (label, best) = (y, score);
        }
    }
    (!best.is_forbidden()).then_some((label, best))
}
