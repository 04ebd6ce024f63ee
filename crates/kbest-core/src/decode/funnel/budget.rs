//! How much work a search may do, how much each step costs, and why a search ends early.

use super::alternative::Alternative;
use super::by_block::looks_by_block;
use crate::simd::LANES;

/// Why the search ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Every path is forbidden.
    NoPath,
    /// More work than allowed: little can be pruned here.
    OverBudget,
    /// More ways than are worth their memory.
    Crowded,
    /// More partial paths than can be numbered.
    Full,
}

/// How much work a search may do, in vector steps of a Viterbi that reads every edge.
///
/// What is saved at easy positions pays for hard ones only up to a limit, because a search that goes over its budget in
/// the end has cost all that it was given. When the budget is used up, a [`super::survey()`] of the positions to come
/// decides, once, whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Available up front.
    pub(crate) left: usize,
    /// What else could be done.
    pub(crate) alternative: Alternative,
    /// What is added for every position, once it is opened: by default the least that the alternative costs.
    pub(crate) each: usize,
    /// Never more than this is available before all positions are opened.
    pub(crate) most: usize,
    /// When it is used up, at how many positions to look; with none, the present one tells. Nothing if that is the end.
    pub(crate) looks: Option<usize>,
    /// What is added when the best path is found, for the others.
    pub(crate) later: usize,
    /// Most ways between labels to keep for several paths.
    pub(crate) ways: usize,
    /// Number of positions begun when a hard one was last paid for.
    pub(super) paid_for: usize,
    /// Saved beyond `most`.
    saved: usize,
}

impl Budget {
    /// No limit.
    pub(crate) const UNLIMITED: Budget = Budget::new(usize::MAX, Alternative::always(0), usize::MAX, None);

    pub(crate) const fn new(
        left: usize,
        alternative: Alternative,
        most: usize,
        looks: Option<usize>,
    ) -> Self {
        let (each, ways) = (alternative.least, usize::MAX);
        Budget { left, alternative, each, most, looks, later: 0, ways, paid_for: 0, saved: 0 }
    }

    /// The same with another amount for every position.
    pub(crate) const fn with_each(self, each: usize) -> Self {
        Budget { each, ..self }
    }

    /// The same with another number of ways.
    pub(crate) const fn with_ways(self, ways: usize) -> Self {
        Budget { ways, ..self }
    }

    /// The same for several paths.
    pub(crate) const fn for_several(self, later: usize, ways: usize) -> Self {
        Budget { later, ways, ..self }
    }

    /// Adds what a position may cost.
    #[inline(always)]
    pub(super) fn add_position(&mut self) {
        let left = self.left.saturating_add(self.each);
        self.left = left.min(self.most);
        self.saved = self.saved.saturating_add(left - self.left);
    }

    /// Makes all that was saved available: every position is open, and what remains is little beside that. Returns
    /// whether there was anything.
    pub(super) fn release(&mut self) -> bool {
        let saved = std::mem::take(&mut self.saved);
        self.left = self.left.saturating_add(saved);
        saved > 0
    }
}

// Costs in the same unit (measured, roughly: the branches of the last two are hard to predict).

/// One look at a position, or one more, apart from what follows.
pub(super) const LOOK_COST: usize = 60;
/// One vector in a pass over the labels.
pub(super) const PASS_COST: usize = 2;
/// One vector of the edges of an opened label.
pub(super) const ROW_COST: usize = 1;
/// One label whose score is computed.
pub(super) const LABEL_COST: usize = 12;
/// One edge looked up for it.
pub(super) const EDGE_COST: usize = 3;

/// The cost of a position of which two labels are opened.
pub(crate) fn least_cost(labels: usize) -> usize {
    let passes = if looks_by_block(labels) { 1 } else { 2 };
    LOOK_COST + passes * PASS_COST * labels.div_ceil(LANES) + 2 * LABEL_COST
}
