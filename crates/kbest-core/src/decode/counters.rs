//! Counting and tracing the work, at no cost unless asked for.
//!
//! The search loops are generic over a [`Tally`]: one counts, the other is empty and vanishes when compiled. The counts
//! are the papers' instrument: the number of nodes opened at a position shows how sequential that stretch is
//! (CarpeDiem, section 6.5). A [`Trace`] keeps which nodes they were.

use super::Trace;
use crate::label::LabelId;

/// The work of a search. What a decoder does not do counts 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// Nodes whose score was computed (for Viterbi: all of them).
    pub nodes: u64,
    /// Edge scores that were read.
    pub edges: u64,
    /// Passes over the lattice.
    pub rounds: u64,
    /// Nodes opened at each position.
    pub nodes_at: Vec<u32>,
    /// Segments (start, end, label) whose score was looked at.
    pub segments: u64,
    /// Scores of single segments read or computed.
    pub explicit: u64,
}

/// A counter that may or may not count.
pub(crate) trait Tally {
    /// Whether anybody wants to know which nodes are opened or pruned: for reports that need a loop of their own.
    fn traces(&self) -> bool;
    /// Label `y` was opened at position `t`.
    fn opened(&mut self, t: usize, y: LabelId);
    /// These labels were opened at position `t`.
    fn opened_each(&mut self, t: usize, labels: impl IntoIterator<Item = LabelId>);
    /// All `labels` labels were opened at position `t`.
    fn opened_all(&mut self, t: usize, labels: usize);
    /// A node that stands for several labels was opened at position `t`.
    fn opened_merged(&mut self, t: usize);
    /// Label `y` of position `t` was looked at, and cannot be on a best path or is given up.
    fn pruned(&mut self, t: usize, y: LabelId);
    /// Label `y` of the last position ends an answer: open in every sense but that nothing after it was scored, so it is
    /// traced and not counted.
    fn completed(&mut self, last: usize, y: LabelId);
    /// Label `y` of position `t` was reached; it is pruned unless it was opened.
    fn passed_by(&mut self, t: usize, y: LabelId);
    /// `count` edge scores were read.
    fn edges(&mut self, count: usize);
    /// Another pass over the lattice begins.
    fn round(&mut self);
}

/// Counts, and traces if asked to.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) counters: Counters,
    pub(crate) trace: Option<Trace>,
}

impl Work {
    pub(crate) fn over(positions: usize, labels: usize, tracing: bool) -> Self {
        let counters = Counters { nodes_at: vec![0; positions], ..Counters::default() };
        Work { counters, trace: tracing.then(|| Trace::over(positions, labels)) }
    }

    fn count(&mut self, t: usize, count: usize) {
        self.counters.nodes += count as u64;
        self.counters.nodes_at[t] += count as u32;
    }
}

impl Tally for Work {
    fn traces(&self) -> bool {
        self.trace.is_some()
    }
    fn opened(&mut self, t: usize, y: LabelId) {
        self.count(t, 1);
        if let Some(trace) = &mut self.trace {
            trace.open(t, y);
        }
    }
    fn opened_each(&mut self, t: usize, labels: impl IntoIterator<Item = LabelId>) {
        labels.into_iter().for_each(|y| self.opened(t, y));
    }
    fn opened_all(&mut self, t: usize, labels: usize) {
        self.count(t, labels);
        if let Some(trace) = &mut self.trace {
            trace.open_all(t);
        }
    }
    fn opened_merged(&mut self, t: usize) {
        self.count(t, 1);
    }
    fn pruned(&mut self, t: usize, y: LabelId) {
        if let Some(trace) = &mut self.trace {
            trace.prune(t, y);
        }
    }
    fn completed(&mut self, last: usize, y: LabelId) {
        if let Some(trace) = &mut self.trace {
            trace.open(last, y);
        }
    }
    fn passed_by(&mut self, t: usize, y: LabelId) {
        if let Some(trace) = &mut self.trace {
            trace.pass_by(t, y);
        }
    }
    fn edges(&mut self, count: usize) {
        self.counters.edges += count as u64;
    }
    fn round(&mut self) {
        self.counters.rounds += 1;
    }
}

/// Counts nothing.
pub(crate) struct Uncounted;

impl Tally for Uncounted {
    #[inline(always)]
    fn traces(&self) -> bool {
        false
    }
    #[inline(always)]
    fn opened(&mut self, _: usize, _: LabelId) {}
    #[inline(always)]
    fn opened_each(&mut self, _: usize, _: impl IntoIterator<Item = LabelId>) {}
    #[inline(always)]
    fn opened_all(&mut self, _: usize, _: usize) {}
    #[inline(always)]
    fn opened_merged(&mut self, _: usize) {}
    #[inline(always)]
    fn pruned(&mut self, _: usize, _: LabelId) {}
    #[inline(always)]
    fn completed(&mut self, _: usize, _: LabelId) {}
    #[inline(always)]
    fn passed_by(&mut self, _: usize, _: LabelId) {}
    #[inline(always)]
    fn edges(&mut self, _: usize) {}
    #[inline(always)]
    fn round(&mut self) {}
}
