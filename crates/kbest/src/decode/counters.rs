//! Counting the work, at no cost unless asked for.
//!
//! The search loops are generic over a [`Tally`]: one counts, the other is empty and vanishes when compiled. The counts
//! are the papers' instrument: the number of nodes opened at a position shows how sequential that stretch is
//! (CarpeDiem, section 6.5).

/// The work of a search.
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
}

/// A counter that may or may not count.
pub(crate) trait Tally {
    /// `count` nodes were opened at position `t`.
    fn nodes(&mut self, t: usize, count: usize);
    /// Node `y` was opened at position `t`: for searches that open nodes one by one.
    #[inline(always)]
    fn opened(&mut self, t: usize, y: usize) {
        let _ = y;
        self.nodes(t, 1);
    }
    /// `count` edge scores were read.
    fn edges(&mut self, count: usize);
    /// Another pass over the lattice begins.
    fn round(&mut self);
}

impl Counters {
    pub(crate) fn over(positions: usize) -> Self {
        Counters { nodes_at: vec![0; positions], ..Counters::default() }
    }
}

impl Tally for Counters {
    fn nodes(&mut self, t: usize, count: usize) {
        self.nodes += count as u64;
        self.nodes_at[t] += count as u32;
    }
    fn edges(&mut self, count: usize) {
        self.edges += count as u64;
    }
    fn round(&mut self) {
        self.rounds += 1;
    }
}

/// Counts nothing.
pub(crate) struct Uncounted;

impl Tally for Uncounted {
    #[inline(always)]
    fn nodes(&mut self, _: usize, _: usize) {}
    #[inline(always)]
    fn edges(&mut self, _: usize) {}
    #[inline(always)]
    fn round(&mut self) {}
}
