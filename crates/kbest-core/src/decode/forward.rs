//! The table of all forward scores, and the way back through it.
//!
//! `alpha[t][y]`, the best score of a path that ends in `y` at `t`, for every position and label: `T x L` scores, no
//! back pointers. The winner of each step is found again on the way back, which costs one column per position; keeping
//! the argmax out of the inner loop saves far more.

use super::class_step::ClassLists;
use super::path_space::{Columns, Survivors};
use super::{Decoded, Tally};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::lattice::{EdgeScores, Lattice, PerLabel, Shape, with_edges};
use crate::simd::{AlignedVec, Float, argmax, padded};

/// Forward scores of one lattice.
#[derive(Debug, Default)]
pub(crate) struct Forward<S> {
    alpha: AlignedVec<S>, // a row for each position from `first` on, padded with minus infinity
    buffer: StepBuffer<S>,
    stride: usize,
    first: usize, // the position at which the table begins
    head_start: Option<HeadStart<S>>,
    steps: usize, // made so far
    is_complete: bool,
}

/// What is known of a position from an unfinished search of another kind: the forward scores of some labels, and bounds on
/// those of the others. A table that begins there is exact if none of the others matters at the next position.
#[derive(Debug)]
pub(crate) struct HeadStart<S> {
    pub(crate) position: usize,
    pub(crate) known: AlignedVec<S>, // L: forward scores; minus infinity for the others
    pub(crate) others: AlignedVec<S>, // L: upper bounds for these; minus infinity for those known
}

impl<S: Float> HeadStart<S> {
    /// Whether every one of these values at the next position, over labels that are known, exceeds all that the others lead to.
    fn is_enough(&self, lattice: &Lattice<'_, S>, values: &[S]) -> bool {
        let exceed = |values: &[S], most: S| most.is_forbidden() || S::smallest(values) > most;
        let Shape::Dense(matrix) = lattice.edges().shape() else {
            let most = with_edges!(lattice, |edges| match edges.bounds(self.position + 1).row {
                PerLabel::Each(bounds) => S::max_of_sum(&self.others, bounds),
                PerLabel::All(bound) => S::largest(&self.others) + bound,
            });
            return exceed(values, most);
        };
        let maxima = matrix.block_maxima();
        (0..maxima.blocks().count).all(|block| {
            let most = S::max_of_sum(&self.others, maxima.of_block(block));
            exceed(&values[maxima.blocks().labels_in(block)], most)
        })
    }
}

/// Memory of one step over the edges.
#[derive(Debug, Default)]
pub(crate) struct StepBuffer<S> {
    pub(crate) row: AlignedVec<S>, // padded to whole vectors
    pub(super) classes: ClassLists<S>,
    pub(super) marked: Vec<bool>, // L: labels to be treated apart; none between two steps
    pub(super) reaching: Vec<u32>, // labels whose exceptions matter
}

impl<S: Float> StepBuffer<S> {
    /// Prepares for this many labels.
    pub(crate) fn reset(&mut self, labels: usize) {
        self.row.reset(padded(labels), S::FORBIDDEN);
    }
}

impl<S: Float> Forward<S> {
    /// Fills the table. `step(t, alpha, out, buffer)` must raise `out[y]` (at first minus infinity) to the largest
    /// `alpha[p] + edge[t][p][y]`; rows are padded to whole vectors.
    pub(crate) fn fill(
        &mut self,
        lattice: &Lattice<'_, S>,
        tally: &mut impl Tally,
        mut step: impl FnMut(usize, &[S], &mut [S], &mut StepBuffer<S>),
    ) {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        let head_start = self.head_start.take();
        self.first = head_start.as_ref().map_or(0, |start| start.position);
        (self.steps, self.is_complete) = (0, false);
        self.stride = padded(labels);
        self.alpha.resize_for_overwrite((positions - self.first) * self.stride);
        self.buffer.reset(labels);
        tally.round();
        for t in self.first..positions {
            let (done, rest) = self.alpha.split_at_mut((t - self.first) * self.stride);
            let row = &mut rest[..self.stride];
            row.fill(S::FORBIDDEN);
            if t > self.first {
                step(t, &done[(t - 1 - self.first) * self.stride..], row, &mut self.buffer);
                self.steps += 1;
                if let Some(start) = head_start.as_ref().filter(|start| start.position + 1 == t)
                    && !start.is_enough(lattice, &row[..labels])
                {
                    return;
                }
                S::add_row(&mut row[..labels], lattice.node_row(t));
            } else if let Some(start) = &head_start {
                row[..labels].copy_from_slice(&start.known);
            } else {
                row[..labels].copy_from_slice(lattice.start().unwrap_or(lattice.node_row(0)));
                if lattice.start().is_some() {
                    S::add_row(&mut row[..labels], lattice.node_row(0));
                }
            }
            tally.opened_all(t, labels);
        }
        self.is_complete = true;
    }

    /// Number of steps made.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// Lets the next table begin with this.
    pub(crate) fn begin_with(&mut self, start: HeadStart<S>) {
        self.head_start = Some(start);
    }

    /// Whether all forward scores are known: always, unless a head start was not enough.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The scores of position `t`, padded to whole vectors.
    pub(super) fn row(&self, t: usize) -> &[S] {
        &self.alpha[(t - self.first) * self.stride..][..self.stride]
    }

    /// All labels with their scores, for the enumeration of paths.
    pub(crate) fn survivors(&self, lattice: &Lattice<'_, S>) -> Survivors<'_, S> {
        debug_assert!(self.first == 0 && self.is_complete, "all positions are needed");
        let columns = Columns::All { labels: lattice.labels(), stride: self.stride };
        Survivors { alpha: &self.alpha, columns }
    }

    /// Pushes the best path: the lowest label among the best last ones, then the lowest among the best before it. Labels before
    /// the position at which the table begins are left 0.
    pub(crate) fn trace(
        &mut self,
        lattice: &Lattice<'_, S>,
        edges: &impl EdgeScores<S>,
        out: &mut Decoded<S>,
    ) -> Result<()> {
        let (positions, labels) = (lattice.positions(), lattice.labels());
        let Forward { alpha, buffer: StepBuffer { row: buffer, .. }, stride, first, .. } = self;
        let at = |t: usize| &alpha[(t - *first) * *stride..][..*stride];
        buffer.copy_from_slice(at(positions - 1));
        if let Some(end) = lattice.end() {
            S::add_row(&mut buffer[..labels], end);
        }
        let (last, score) = argmax(&buffer[..]).ok_or(Error::NoPath)?;
        let path = out.push_path(positions, score);
        path[positions - 1] = last as LabelId;
        for t in (*first + 1..positions).rev() {
            if labels > WHOLE_COLUMNS
                && let Some(before) = best_before(&at(t - 1)[..labels], edges, t, path[t] as usize)
            {
                path[t - 1] = before;
                continue;
            }
            let column = edges.column(t, path[t] as usize, buffer);
            let best = S::max_of_sum(at(t - 1), column);
            let from = S::first_sum_at_least(at(t - 1), column, best);
            path[t - 1] = from.expect("the largest sum is one of the sums") as LabelId;
        }
        Ok(())
    }
}

/// With more labels than this, reading a whole column takes longer than reading the few edges of it that can matter.
const WHOLE_COLUMNS: usize = 512;

/// The lowest label with the largest `alpha[p] + edge[p][y]`. Of the labels whose alpha, with the largest edge into `y`, is below a
/// value already found, no edge is read. None if the best label cannot lead to `y`, so that most edges would have to be read.
fn best_before<S: Float>(alpha: &[S], edges: &impl EdgeScores<S>, t: usize, y: usize) -> Option<LabelId> {
    let bound = edges.bounds(t).column.at(y);
    let value = |p: usize| alpha[p] + edges.get(t, p, y);
    let (likely, _) = argmax(alpha)?;
    let (mut best, mut from) = (value(likely), likely);
    if best.is_forbidden() {
        return None;
    }
    let mut place = 0;
    while let Some(skipped) = S::first_at_least(&alpha[place..], bound, best) {
        let p = place + skipped;
        let score = value(p);
        if score > best || (score == best && p < from) {
            (best, from) = (score, p);
        }
        place = p + 1;
    }
    Some(from as LabelId)
}
