//! Blocks of neighbouring labels, and the largest edge from each label into each of them.
//!
//! A bound for a whole row says little about the few labels of one block, where its largest edge may be far smaller. With
//! bounds by block, a decoder that fills one block of scores at a time leaves out most rows ([`crate::decode::Sieve`]), and one
//! that looks for a few labels leaves out most blocks ([`crate::decode::Funnel`]). **Memory.** A score for every 64 edges, or fewer; two with many
//! labels.

use super::bounds::Change;
use crate::simd::{AlignedVec, Float, LEAST_WIDTH, MOST_BLOCKS, padded};
use std::ops::Range;

/// With fewer blocks than this, nothing is left out by label, and maxima are not kept that way.
pub(crate) const LEAST_BY_LABEL: usize = 9;

/// All labels, divided into blocks of one width; the last may be smaller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blocks {
    labels: usize,
    pub(crate) width: usize, // a multiple of the least width
    pub(crate) count: usize,
}

impl Blocks {
    pub(crate) fn of(labels: usize) -> Self {
        let width = labels.div_ceil(MOST_BLOCKS).next_multiple_of(LEAST_WIDTH).max(LEAST_WIDTH);
        Blocks { labels, width, count: labels.div_ceil(width) }
    }

    /// The labels of a block.
    #[inline(always)]
    pub(crate) fn labels_in(&self, block: usize) -> Range<usize> {
        block * self.width..self.labels.min((block + 1) * self.width)
    }

    /// The largest score of each block, padded with minus infinity.
    pub(super) fn maxima<S: Float>(&self, row: &[S]) -> AlignedVec<S> {
        let mut maxima = AlignedVec::filled(padded(self.count), S::FORBIDDEN);
        for (maximum, block) in maxima.iter_mut().zip(row[..self.labels].chunks(self.width)) {
            *maximum = S::largest(block);
        }
        maxima
    }

    /// The block that a label belongs to.
    #[inline(always)]
    pub(crate) fn block_of(&self, y: usize) -> usize {
        y / self.width
    }
}

/// The maxima of one matrix.
#[derive(Debug, Clone)]
pub(crate) struct BlockMaxima<S: Float> {
    blocks: Blocks,
    by_block: AlignedVec<S>, // then by the label that an edge leaves; padded with minus infinity
    by_label: AlignedVec<S>, // the same, by the label that an edge leaves, then by block, padded likewise; empty with few blocks
}

impl<S: Float> BlockMaxima<S> {
    /// Of a matrix without edges.
    pub(super) fn new(labels: usize) -> Self {
        let blocks = Blocks::of(labels);
        let by_block = AlignedVec::filled(blocks.count * padded(labels), S::FORBIDDEN);
        let by_label = if blocks.count < LEAST_BY_LABEL { 0 } else { padded(blocks.count) * labels };
        let by_label = AlignedVec::filled(by_label, S::FORBIDDEN);
        BlockMaxima { blocks, by_block, by_label }
    }

    /// The blocks.
    pub(crate) fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// By label, the largest edge from it into a block.
    pub(crate) fn of_block(&self, block: usize) -> &[S] {
        &self.by_block[block * padded(self.blocks.labels)..][..self.blocks.labels]
    }

    /// By block, the largest edge into it from a label; padded with minus infinity. Nothing if there are few blocks.
    #[inline(always)]
    pub(crate) fn of_label(&self, p: usize) -> Option<&[S]> {
        let count = padded(self.blocks.count);
        self.by_label.get(p * count..(p + 1) * count)
    }

    fn set(&mut self, p: usize, block: usize, maximum: S) {
        let Blocks { labels, count, .. } = self.blocks;
        self.by_block[block * padded(labels) + p] = maximum;
        if let Some(by_label) = self.by_label.get_mut(p * padded(count) + block) {
            *by_label = maximum;
        }
    }

    /// Sets the edges that leave label `p`, and returns the largest of them.
    pub(super) fn set_row(&mut self, p: usize, row: &[S]) -> S {
        let Blocks { labels, width, .. } = self.blocks;
        let mut all = S::FORBIDDEN;
        for (block, edges) in row[..labels].chunks(width).enumerate() {
            let largest = S::largest(edges);
            self.set(p, block, largest);
            all = all.larger(largest);
        }
        all
    }

    /// Follows the change of one edge of this row.
    pub(super) fn follow(&mut self, change: Change<S>, row: &[S]) {
        let Change { p, y, old, new } = change;
        let block = self.blocks.block_of(y);
        let before = self.of_block(block)[p];
        if new >= before {
            self.set(p, block, new);
        } else if old == before {
            self.set(p, block, S::largest(&row[self.blocks.labels_in(block)]));
        }
    }
}
