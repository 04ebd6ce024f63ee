//! The funnel for more than one path: the same search with a margin, then the enumeration of what it kept.
//!
//! With a margin `d` the search keeps every label on any path that scores within `d` of the best one. The `k` best paths
//! among the kept labels are therefore the `k` best of all, if the last of them lies within `d`; otherwise its distance
//! is a margin that suffices, and the search is run once more. The margin tried first is what earlier lattices needed.

use super::search::{Budget, Memory, Search, Stop};
use crate::decode::path_space::{self, Columns, PathSpace, Survivors};
use crate::decode::{Decoded, Tally};
use crate::kernel::Float;
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice};

/// The labels that a search kept, in the form that the enumeration wants, and its memory.
#[derive(Debug, Default)]
pub(crate) struct Kept<S> {
    offsets: Vec<usize>, // T + 1
    labels: Vec<LabelId>,
    alpha: Vec<S>,
    column: Vec<(LabelId, S)>,
    pub(crate) paths: path_space::Memory<S>,
}

/// The margin that was enough lately, for the number of paths it was asked for.
#[derive(Debug, Default)]
pub(crate) struct UsualMargin {
    k: usize,
    margin: f64,
}

impl UsualMargin {
    /// What to try first for `k` paths. Edges say how far scores are apart before anything is known.
    fn guess<S: Float>(&mut self, lattice: &Lattice<'_, S>, k: usize) -> f64 {
        if self.k != k {
            *self = UsualMargin { k, margin: lattice.edges().magnitude() * (k as f64).log2() / 8.0 };
        }
        self.margin
    }

    /// Learns from a lattice that needed `gap`: quickly upwards, for a second search costs more than a wide one; slowly
    /// downwards.
    fn learn(&mut self, gap: f64) {
        self.margin += if gap > self.margin { 0.5 * (gap - self.margin) } else { 0.05 * (gap - self.margin) };
    }
}

impl<S: Float> Kept<S> {
    /// Takes over the opened labels of a finished search.
    pub(super) fn take(&mut self, memory: &Memory<S>, positions: usize) {
        self.offsets.clear();
        self.labels.clear();
        self.alpha.clear();
        self.offsets.push(0);
        for t in 0..positions {
            self.column.clear();
            self.column.extend(memory.layers.opened(t).map(|(_, entry)| (entry.label, entry.alpha)));
            self.column.sort_unstable_by_key(|&(label, _)| label);
            for &(label, alpha) in &self.column {
                self.labels.push(label);
                self.alpha.push(alpha);
            }
            self.offsets.push(self.labels.len());
        }
    }

    /// For the enumeration: the kept labels, and its memory.
    pub(crate) fn parts(&mut self) -> (Survivors<'_, S>, &mut path_space::Memory<S>) {
        let columns = Columns::Listed { offsets: &self.offsets, labels: &self.labels };
        (Survivors { alpha: &self.alpha, columns }, &mut self.paths)
    }
}

/// Searches with a margin and keeps every label on any path that loses at most `margin` (infinity: on any legal path).
pub(crate) fn keep_within<S: Float, E: EdgeScores<S>, T: Tally>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    margin: f64,
    budget: Budget,
    memory: &mut Memory<S>,
    kept: &mut Kept<S>,
    tally: &mut T,
) -> Result<(), Stop> {
    // The search subtracts and compares rounded sums; the slack makes up for that.
    let margin = S::from_f64_up(margin) + lattice.rounding_slack();
    Search { lattice, edges, memory, tally, margin, budget }.run()?;
    kept.take(memory, lattice.positions());
    Ok(())
}

/// Pushes the `k` best paths, if they are found within the budget.
pub(super) fn push_kbest<S: Float, E: EdgeScores<S>, T: Tally>(
    lattice: &Lattice<'_, S>,
    edges: &E,
    k: usize,
    budget: Budget,
    memory: &mut Memory<S>,
    kept: &mut Kept<S>,
    usual: &mut UsualMargin,
    tally: &mut T,
    out: &mut Decoded<S>,
) -> Result<(), Stop> {
    let mut margin = usual.guess(lattice, k);
    loop {
        keep_within(lattice, edges, margin, budget, memory, kept, tally)?;
        out.clear_paths();
        let (survivors, paths) = kept.parts();
        PathSpace::new(lattice, edges, survivors, paths).push_best(k, tally, out);
        let best = out.paths.first().ok_or(Stop::NoPath)?.score.to_f64();
        let gap = match out.paths.get(k - 1) {
            Some(last) => best - last.score.to_f64(),
            None if margin == f64::INFINITY => return Ok(()), // there are no more
            None => f64::INFINITY,
        };
        if gap <= margin {
            usual.learn(gap);
            return Ok(());
        }
        // Too few paths within the margin: widen it until there are enough, then to where the last of them lies.
        let spread = lattice.edges().magnitude() + lattice.largest_node_magnitude();
        let wider = 2.0 * margin + 0.1 * spread;
        margin = if gap.is_finite() {
            usual.learn(gap);
            gap
        } else if wider < 16.0 * spread {
            wider
        } else {
            f64::INFINITY
        };
    }
}
