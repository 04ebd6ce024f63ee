//! How much work a search may do, how much each step costs, and why a search ends early.

/// Why the search ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Every path is forbidden.
    NoPath,
    /// More work than allowed: little can be pruned here.
    OverBudget,
    /// More partial paths than can be numbered.
    Crowded,
}

/// How much work a search may do, in vector steps of a Viterbi that reads every edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Available up front.
    pub(crate) left: usize,
    /// Added for every position.
    pub(crate) per_position: usize,
}

impl Budget {
    /// No limit.
    pub(crate) const UNLIMITED: Budget = Budget { left: usize::MAX, per_position: 0 };

    /// Subtracts the cost of some work.
    #[inline(always)]
    pub(super) fn spend(&mut self, cost: usize) -> Result<(), Stop> {
        self.left = self.left.checked_sub(cost).ok_or(Stop::OverBudget)?;
        Ok(())
    }
}

// Costs in the same unit (measured, roughly: the branches of the last two are hard to predict).

/// One vector in a pass over the labels.
pub(super) const PASS_COST: usize = 2;
/// One label whose score is computed.
pub(super) const LABEL_COST: usize = 24;
/// One edge looked up for it.
pub(super) const EDGE_COST: usize = 3;
