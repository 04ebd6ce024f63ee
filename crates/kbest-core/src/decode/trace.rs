//! Which vertices a search opened, which it pruned, and which it never touched.
//!
//! **What.** [`Counters`](super::Counters) say how much a search did; a [`Trace`] says where: the [`Fate`] of every
//! vertex (a label at a position), and the order in which vertices were opened. [`Scratch::tracing`](super::Scratch::tracing)
//! asks for one, and it arrives in [`Decoded::trace`](super::Decoded::trace) with the answer. **Why.** To show a search
//! (`kbest explain`), and to draw how sequential an input is: the vertices opened along a sequence (Esposito & Radicioni
//! 2009, section 6.5). **Cost.** None unless asked for: the search loops are compiled a second time for whoever counts or
//! traces. Then a bit or two per vertex touched, and eight bytes per vertex opened one by one.
//!
//! What the two words mean for each decoder; a vertex that is neither was never touched:
//!
//! | decoder | opened | pruned |
//! |---|---|---|
//! | `viterbi`, `viterbi-simd`, `viterbi-sparse`, `viterbi-astar`, `recursive-enumeration` | every vertex | none |
//! | `funnel` | its forward score is known | a pass picked it, a closer look turned it down |
//! | `carpediem` | its best predecessor is known | its bound ended a walk |
//! | `staggered`, `staggered-column`, `iterative-viterbi-astar` | an active label of some pass | its bound was below the threshold |
//! | `astar` | popped from the agenda; at the end, part of an answer | reached, but never popped |
//! | `iterative-astar` | the same, in some round | active in the last round, but never popped |
//! | `beam` | kept in the beam | reached, but dropped |
//! | `prefix-beam` | the last label of a prefix kept | none: what it drops is not traced |
//! | `auto` | as the engines it ran: all of them, if one gave up | |
//!
//! A degenerate label, which stands for all labels not yet active, is counted but has no place here; so for these decoders, and
//! for those that open a vertex again in another round, there are fewer vertices in the trace than the counters report. Decoders of
//! segments count, but keep no trace.
//!
//! ```
//! use kbest_core::decode::{CarpeDiem, Decode, Fate, Scratch};
//! use kbest_core::{Edges, Lattice};
//! let edges = Edges::dense(3, vec![0.0f32; 9])?;
//! let lattice = Lattice::new(vec![3.0, 1.0, 0.0, 0.0, 1.0, 4.0], &edges)?;
//! let answer = CarpeDiem::default().decode(&lattice, &mut Scratch::tracing())?;
//! let trace = answer.trace.expect("it was asked for");
//! assert_eq!(trace.opened(0).collect::<Vec<_>>(), [0, 1, 2]); // CarpeDiem opens all of the first layer,
//! assert_eq!(trace.opened(1).collect::<Vec<_>>(), [2]); // then as few as it can
//! assert_eq!(trace.fate(1, 1), Fate::Pruned); // the runner-up, whose bound ended the walk
//! assert_eq!(trace.fate(1, 0), Fate::Untouched);
//! # Ok::<(), kbest_core::Error>(())
//! ```

use crate::label::LabelId;

/// What a search did with a vertex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Never looked at by itself.
    Untouched,
    /// Looked at, but not opened: it could not be on a best path, or fell out of the beam.
    Pruned,
    /// Opened.
    Opened,
    /// Opened, and shown later not to be on a best path.
    OpenedThenPruned,
}

/// The fate of every vertex of one search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    labels: usize,
    columns: Vec<Column>,
    steps: u32,
}

/// One position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Column {
    one_by_one: Vec<(LabelId, u32)>, // opened, in that order, each with its step
    opened: Bits,                    // the same labels
    whole: Option<u32>,              // the step that opened all the others
    pruned: Bits,
}

impl Trace {
    pub(crate) fn over(positions: usize, labels: usize) -> Self {
        Trace { labels, columns: vec![Column::default(); positions], steps: 0 }
    }

    pub(crate) fn open(&mut self, t: usize, y: LabelId) {
        let column = &mut self.columns[t];
        column.pruned.remove(y);
        if column.whole.is_none() && column.opened.insert(y) {
            column.one_by_one.push((y, self.steps));
            self.steps = self.steps.saturating_add(1);
        }
    }

    pub(crate) fn open_all(&mut self, t: usize) {
        let column = &mut self.columns[t];
        column.pruned = Bits::default();
        if column.whole.is_none() && column.one_by_one.len() < self.labels {
            column.whole = Some(self.steps);
            self.steps = self.steps.saturating_add(1);
        }
    }

    pub(crate) fn prune(&mut self, t: usize, y: LabelId) {
        self.columns[t].pruned.insert(y);
    }

    pub(crate) fn pass_by(&mut self, t: usize, y: LabelId) {
        let column = &mut self.columns[t];
        if column.whole.is_none() && !column.opened.contains(y) {
            column.pruned.insert(y);
        }
    }

    /// Number of positions `T`.
    pub fn positions(&self) -> usize {
        self.columns.len()
    }

    /// Number of labels `L`.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// What became of label `y` at position `t`.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn fate(&self, t: usize, y: LabelId) -> Fate {
        let column = &self.columns[t];
        let in_whole = column.whole.is_some() && (y as usize) < self.labels;
        let opened = in_whole || column.opened.contains(y);
        match (opened, column.pruned.contains(y)) {
            (false, false) => Fate::Untouched,
            (false, true) => Fate::Pruned,
            (true, false) => Fate::Opened,
            (true, true) => Fate::OpenedThenPruned,
        }
    }

    /// The labels opened at position `t`, each once, in the order in which they were first opened.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn opened(&self, t: usize) -> impl Iterator<Item = LabelId> + '_ {
        let column = &self.columns[t];
        let all = if column.whole.is_some() { self.labels as LabelId } else { 0 };
        let others = (0..all).filter(|&y| !column.opened.contains(y));
        column.one_by_one.iter().map(|&(y, _)| y).chain(others)
    }

    /// How many labels were opened at position `t`.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn opened_count(&self, t: usize) -> usize {
        let column = &self.columns[t];
        if column.whole.is_some() { self.labels } else { column.one_by_one.len() }
    }

    /// The labels pruned at position `t`, opened before or not, in ascending order.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn pruned(&self, t: usize) -> impl Iterator<Item = LabelId> + '_ {
        self.columns[t].pruned.iter()
    }

    /// When label `y` of position `t` was first opened: steps count from 0 over the whole search. Vertices that were
    /// opened all at once share a step.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn step(&self, t: usize, y: LabelId) -> Option<u32> {
        let column = &self.columns[t];
        if !column.opened.contains(y) {
            return column.whole.filter(|_| (y as usize) < self.labels);
        }
        column.one_by_one.iter().find(|&&(label, _)| label == y).map(|&(_, step)| step)
    }

    /// The labels opened at position `t` with their steps, in order.
    ///
    /// # Panics
    /// If there is no such position.
    pub fn opened_with_steps(&self, t: usize) -> impl Iterator<Item = (LabelId, u32)> + '_ {
        let column = &self.columns[t];
        let (all, step) = column.whole.map_or((0, 0), |step| (self.labels as LabelId, step));
        let others = (0..all).filter(|&y| !column.opened.contains(y)).map(move |y| (y, step));
        column.one_by_one.iter().copied().chain(others)
    }

    /// How many steps there were.
    pub fn steps(&self) -> u32 {
        self.steps
    }
}

/// A set of labels; takes no memory until something is in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// True if it is new.
    fn insert(&mut self, y: LabelId) -> bool {
        let (word, bit) = (y as usize / 64, 1 << (y % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    fn remove(&mut self, y: LabelId) {
        if let Some(word) = self.0.get_mut(y as usize / 64) {
            *word &= !(1 << (y % 64));
        }
    }

    fn contains(&self, y: LabelId) -> bool {
        self.0.get(y as usize / 64).is_some_and(|word| word >> (y % 64) & 1 == 1)
    }

    fn iter(&self) -> impl Iterator<Item = LabelId> + '_ {
        let words = (0..).step_by(64).zip(&self.0);
        words.flat_map(|(first, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As when a decoder has opened every label of a position, gives up, and another one begins anew.
    #[test]
    fn nothing_is_opened_twice() {
        let mut trace = Trace::over(2, 3);
        (0..3).for_each(|y| trace.open(1, y));
        trace.open_all(1);
        trace.open_all(0);
        trace.open_all(0);
        assert_eq!(trace.steps(), 4);
        assert_eq!((trace.step(1, 2), trace.step(0, 2), trace.opened_count(1)), (Some(2), Some(3), 3));
    }

    #[test]
    fn the_last_event_decides_and_opening_is_remembered() {
        let mut trace = Trace::over(2, 200);
        trace.prune(0, 130);
        trace.open(0, 3);
        trace.open(0, 130); // turned away at first, needed after all
        trace.open(0, 3); // again, in another round
        trace.prune(0, 3);
        assert_eq!(
            [3, 130, 4].map(|y| trace.fate(0, y)),
            [Fate::OpenedThenPruned, Fate::Opened, Fate::Untouched]
        );
        assert_eq!(trace.opened_with_steps(0).collect::<Vec<_>>(), [(3, 0), (130, 1)]);
        assert_eq!(trace.pruned(0).collect::<Vec<_>>(), [3]);
        assert_eq!((trace.opened_count(0), trace.steps()), (2, 2));
        trace.open_all(0); // the engine gave up, another one opens everything
        assert_eq!(trace.opened(0).take(3).collect::<Vec<_>>(), [3, 130, 0]);
        assert_eq!((trace.opened_count(0), trace.opened(0).count()), (200, 200));
        assert_eq!((trace.step(0, 130), trace.step(0, 0), trace.step(0, 200)), (Some(1), Some(2), None));
        assert_eq!((trace.fate(0, 3), trace.fate(1, 3)), (Fate::Opened, Fate::Untouched));
        assert_eq!(trace.opened(1).count(), 0);
    }
}
