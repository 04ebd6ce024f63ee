//! The largest edge from each label into each block of neighbouring labels.
//!
//! A bound for a whole row says little about the few labels of one block, where its largest edge may be far smaller. With
//! bounds by block, a decoder that fills one block of scores at a time leaves out most rows ([`crate::decode::Sieve`]).
//! **Memory.** One score for every 64 edges, or fewer.

use super::bounds::Change;
use crate::kernel::{AlignedVec, Float, padded};
use std::ops::Range;

/// The least width of a block: four of the widest vectors in single precision. (In a simulation with 1,500 labels, blocks of twice
/// the width needed half as many edges again.)
const LEAST_WIDTH: usize = 64;

/// Most blocks: with more, comparing bounds takes a good part of the time, and so few edges of a row are read at once that the
/// hardware cannot look ahead.
const MOST_BLOCKS: usize = 32;

/// The number of labels in each block but the last.
fn width(labels: usize) -> usize {
    labels.div_ceil(MOST_BLOCKS).next_multiple_of(LEAST_WIDTH).max(LEAST_WIDTH)
}

/// The number of blocks of a matrix of so many labels.
pub(crate) fn block_count(labels: usize) -> usize {
    labels.div_ceil(width(labels))
}

/// The maxima of one matrix.
#[derive(Debug, Clone)]
pub(crate) struct BlockMaxima<S: Float> {
    labels: usize,
    width: usize,          // labels in each block but the last, a multiple of the least width
    maxima: AlignedVec<S>, // by block, then by the label that an edge leaves; padded with minus infinity
}

impl<S: Float> BlockMaxima<S> {
    /// Of a matrix without edges.
    pub(super) fn new(labels: usize) -> Self {
        let width = width(labels);
        let maxima = AlignedVec::filled(labels.div_ceil(width) * padded(labels), S::FORBIDDEN);
        BlockMaxima { labels, width, maxima }
    }

    /// Number of blocks.
    pub(crate) fn count(&self) -> usize {
        block_count(self.labels)
    }

    /// The labels of a block.
    pub(crate) fn labels_in(&self, block: usize) -> Range<usize> {
        block * self.width..self.labels.min((block + 1) * self.width)
    }

    /// By label, the largest edge from it into a block.
    pub(crate) fn of_block(&self, block: usize) -> &[S] {
        &self.maxima[block * padded(self.labels)..][..self.labels]
    }

    /// Sets the edges that leave label `p`, and returns the largest of them.
    pub(super) fn set_row(&mut self, p: usize, row: &[S]) -> S {
        let stride = padded(self.labels);
        let mut all = S::FORBIDDEN;
        for (block, edges) in row[..self.labels].chunks(self.width).enumerate() {
            let largest = S::largest(edges);
            self.maxima[block * stride + p] = largest;
            all = all.larger(largest);
        }
        all
    }

    /// Follows the change of one edge of this row.
    pub(super) fn follow(&mut self, change: Change<S>, row: &[S]) {
        let Change { p, y, old, new } = change;
        let block = y / self.width;
        let labels = self.labels_in(block);
        let maximum = &mut self.maxima[block * padded(self.labels) + p];
        if new >= *maximum {
            *maximum = new;
        } else if old == *maximum {
            *maximum = S::largest(&row[labels]);
        }
    }
}
