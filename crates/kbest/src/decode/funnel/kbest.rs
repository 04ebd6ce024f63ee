//! The funnel for more than one path.
//!
//! After the search for the best path:
//!
//! 1. [`super::margin`]: what the `k`-th best path loses at most, from the best path with some labels changed. Only where
//!    there are not so many of these (short sequences, many forbidden labels) is the margin guessed, and widened.
//! 2. [`super::keep`]: backwards, every label on any path within the margin, as a [`super::graph`].
//! 3. [`super::deviations`]: the paths of that graph, best first; or, where very many are equally good,
//!    [`crate::decode::path_space`].
//!
//! The paths are the `k` best of all if the last of them lies within the margin.

use super::deviations::Deviations;
use super::keep::Kept;
use super::search::{Budget, Memory, Search, Stop};
use crate::decode::path_space::PathSpace;
use crate::decode::{Decoded, Tally};
use crate::kernel::Float;
use crate::lattice::{EdgeScores, Lattice};

/// Working memory.
#[derive(Debug, Default)]
pub(crate) struct ManyMemory<S> {
    pub(crate) kept: Kept<S>,
    deviations: Deviations<S>,
    usual: f64, // the margin that was enough last time
}

/// Pushes the `k` best paths, if they are found within the budget.
pub(super) fn push_kbest<S: Float, E: EdgeScores<S>, T: Tally>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    k: usize,
    budget: Budget,
    memory: &mut Memory<S>,
    many: &mut ManyMemory<S>,
    tally: &mut T,
    out: &mut Decoded<S>,
) -> Result<(), Stop> {
    let ManyMemory { kept, deviations, usual } = many;
    let mut search = Search { lattice, edges, memory, tally, budget };
    search.run()?;
    search.memory.layers.best_entries(&mut kept.best);
    let slack = search.loss_slack();
    let spread = search.spread();
    let mut margin = match search.margin_for(k, kept)? {
        Some(margin) => margin,
        None => S::from_f64_up(if *usual > 0.0 { 1.5 * *usual } else { spread }),
    };
    loop {
        search.keep_within(margin, kept)?;
        out.clear_paths();
        kept.graph.finish();
        if !deviations.push_best(lattice, &kept.graph, k, margin + slack, slack, out) {
            out.clear_paths();
            kept.list();
            let (survivors, paths) = kept.parts();
            PathSpace::new(lattice, edges, survivors, paths)
                .push_best(k, search.tally, out)
                .map_err(|_| Stop::Overflow)?;
        }
        let best = out.paths.first().ok_or(Stop::NoPath)?.score.to_f64();
        let gap = match out.paths.get(k - 1) {
            Some(last) => best - last.score.to_f64(),
            None if !margin.is_legal() => return Ok(()), // there are no more
            None => f64::INFINITY,
        };
        if gap <= margin.to_f64() || !margin.is_legal() {
            *usual = gap;
            return Ok(());
        }
        // Too few paths within the margin: widen it until there are enough, then to where the last of them lies.
        let wider = 2.0 * margin.to_f64() + 0.02 * spread;
        margin = S::from_f64_up(if gap.is_finite() {
            gap
        } else if wider < 16.0 * spread {
            wider
        } else {
            f64::INFINITY
        });
    }
}
