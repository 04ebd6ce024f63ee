//! Kernels that look at a row block by block, and read closely only the blocks that matter.
//!
//! A block has `width` labels. The last one ends with the row; where its largest score is wanted, it has as many more labels from
//! before as make a whole vector of the widest kind, so that no level has to look at labels one by one.

use super::{LANES, LEAST_WIDTH, MOST_BLOCKS, MOST_ORIGINS};
use crate::score::Score;
use std::ops::Range;

/// A label that edges leave.
#[derive(Debug, Clone, Copy)]
#[allow(unnameable_types)] // the trait of all kernels is public, though sealed
pub struct Origin<'a, S> {
    /// What every path over it has, to which edges are added.
    pub(crate) score: S,
    /// Its edges, padded to whole vectors.
    pub(crate) row: &'a [S],
    /// Bounds on them, one per block, padded to whole vectors with minus infinity.
    pub(crate) bounds: &'a [S],
}

impl<S: Score> Origin<'_, S> {
    /// Without edges.
    pub(crate) fn none() -> Self {
        Origin { score: S::FORBIDDEN, row: &[], bounds: &[] }
    }
}

/// What `select_by_block` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(unnameable_types)] // as above
pub struct ByBlock<S> {
    /// The threshold.
    pub(crate) floor: S,
    /// The largest value or bound of the labels not selected, and of values that were left out.
    pub(crate) rest: S,
    /// Number of labels that were read closely.
    pub(crate) read: usize,
    /// Number of edges read.
    pub(crate) edges: usize,
}

/// What `select_by_block` selects from.
#[derive(Debug, Clone, Copy)]
#[allow(unnameable_types)] // as above
pub struct Targets<'a, S> {
    /// Score of each label.
    pub(crate) node: &'a [S],
    /// What each label gains at most afterwards.
    pub(crate) way_out: &'a [S],
    /// How far sums of the same numbers may lie apart when they are added in another order.
    pub(crate) slack: S,
    /// Labels in each block but the last.
    pub(crate) width: usize,
}

impl<S: Score> Targets<'_, S> {
    /// The number of blocks. Panics unless all rows have the lengths they should have: unchecked loops rely on it.
    #[inline(always)]
    fn check(&self, origins: &[Origin<'_, S>], values: &[S]) -> usize {
        let labels = self.node.len();
        let count = labels.div_ceil(self.width);
        let blocks = count.next_multiple_of(LANES);
        assert!(
            self.width.is_multiple_of(LEAST_WIDTH) && count <= MOST_BLOCKS,
            "{count} blocks of {}",
            self.width
        );
        assert!(labels >= LANES && labels == self.way_out.len() && labels <= values.len());
        assert!(origins.len() <= MOST_ORIGINS, "{} origins", origins.len());
        assert!(origins.iter().all(|origin| origin.row.len() >= labels && origin.bounds.len() == blocks));
        count
    }

    /// The labels of a block, the last one with some from before.
    #[inline(always)]
    fn around(&self, block: usize) -> Range<usize> {
        let first = (block * self.width).min(self.node.len() - LANES);
        first..self.node.len().min((block + 1) * self.width)
    }
}

/// The origins whose edges into a block are read.
struct Kept {
    places: [u8; MOST_ORIGINS],
    count: usize,
}

impl Kept {
    #[inline(always)]
    fn none() -> Self {
        const { assert!(MOST_ORIGINS < 256) };
        Kept { places: [0; MOST_ORIGINS], count: 0 }
    }

    /// Those of the origins that may lead to a label of block `b` which reaches the threshold, and those that lead to its largest bound, so that
    /// a block that matters only for `least` has values, too (a forbidden one is taken for a label with few ways in); returns a bound on the
    /// values of the others.
    #[inline(always)]
    fn choose<S: Score>(
        &mut self,
        origins: &[Origin<'_, S>],
        b: usize,
        bound: S,
        gain: S,
        threshold: S,
    ) -> S {
        let mut others = S::FORBIDDEN;
        self.count = 0;
        for (i, origin) in (0..).zip(origins) {
            let value = origin.score + origin.bounds[b];
            let keeps = value + gain >= threshold || value >= bound;
            self.places[self.count] = i;
            self.count += usize::from(keeps);
            others = others.larger(if keeps { S::FORBIDDEN } else { value });
        }
        others
    }

    /// Of the same origins.
    #[inline(always)]
    fn of<'a, S>(&'a self, origins: &'a [Origin<'a, S>]) -> impl Iterator<Item = &'a Origin<'a, S>> + Clone {
        self.places[..self.count].iter().map(|&place| &origins[usize::from(place)])
    }
}

/// The plain twins.
pub(super) mod scalar {
    use super::super::scalar::largest;
    use super::*;

    /// The scores of each block of a row, the last one with some from before.
    #[inline(always)]
    pub(in super::super) fn blocks_of<S: Score>(
        row: &[S],
        width: usize,
        count: usize,
    ) -> impl Iterator<Item = &[S]> {
        assert!(width > 0 && row.len().div_ceil(width) == count, "{count} blocks of {width}");
        let last = row.len().saturating_sub(LANES);
        (0..count).map(move |block| &row[last.min(block * width)..row.len().min((block + 1) * width)])
    }

    pub(in super::super) fn block_maxima<S: Score>(out: &mut [S], row: &[S], width: usize) {
        let count = out.len();
        for (out, block) in out.iter_mut().zip(blocks_of(row, width, count)) {
            *out = largest(block);
        }
    }

    pub(in super::super) fn select_by_block<S: Score>(
        origins: &[Origin<'_, S>],
        least: S,
        targets: Targets<'_, S>,
        floor: Option<S>,
        gain: S,
        values: &mut [S],
        found: &mut Vec<u32>,
    ) -> ByBlock<S> {
        let count = targets.check(origins, values);
        let Targets { node, way_out, slack, width } = targets;
        let [mut bounds, mut nodes, mut gains] = [[S::FORBIDDEN; MOST_BLOCKS]; 3];
        for b in 0..count {
            bounds[b] = largest_sum(origins.iter(), |origin| origin.bounds[b]);
            for y in targets.around(b) {
                nodes[b] = nodes[b].larger(node[y]);
                gains[b] = gains[b].larger(node[y] + way_out[y]);
            }
        }
        let (mut read, mut edges, given) = (0, 0, floor.is_some());
        let mut kept = Kept::none();
        let floor = floor.unwrap_or_else(|| {
            let most = (0..count).fold(S::FORBIDDEN, |most, b| most.larger(bounds[b] + nodes[b]));
            let best = (0..count).find(|&b| bounds[b] + nodes[b] >= most).unwrap_or(0);
            let labels = targets.around(best);
            (read, edges) = (labels.len(), labels.len() * origins.len());
            let value = |y: usize| largest_sum(origins.iter(), |origin| origin.row[y]);
            labels.fold(S::FORBIDDEN, |most, y| most.larger(value(y) + node[y])) + gain
        });
        if floor.is_forbidden() && !given {
            return ByBlock { floor, rest: floor, read, edges };
        }
        let mut rest = S::FORBIDDEN;
        for b in 0..count {
            let bound = bounds[b].larger(least);
            if bound + gains[b] >= floor - slack {
                let labels = b * width..node.len().min((b + 1) * width);
                rest = rest.larger(kept.choose(origins, b, bounds[b], gains[b], floor - slack) + nodes[b]);
                read += labels.len();
                edges += labels.len() * kept.count;
                for y in labels {
                    values[y] = largest_sum(kept.of(origins), |origin| origin.row[y]);
                    let score = values[y].larger(least) + node[y];
                    if score + way_out[y] >= floor {
                        found.push(y as u32);
                    } else {
                        rest = rest.larger(score);
                    }
                }
            } else {
                rest = rest.larger(bound + nodes[b]);
            }
        }
        ByBlock { floor, rest, read, edges }
    }

    fn largest_sum<'a, S: Score>(
        origins: impl Iterator<Item = &'a Origin<'a, S>>,
        edge: impl Fn(&Origin<'a, S>) -> S,
    ) -> S {
        origins.fold(S::FORBIDDEN, |most, origin| most.larger(origin.score + edge(origin)))
    }
}

/// The same over vectors of any width.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) mod vector {
    use super::super::vector::{MOST_LANES, Vector, largest, largest_by_lane};
    use super::*;

    /// [`scalar::block_maxima`], over vectors.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions.
    #[inline(always)]
    pub(in super::super) unsafe fn block_maxima<V: Vector>(
        out: &mut [V::Element],
        row: &[V::Element],
        width: usize,
    ) {
        let count = out.len();
        let mut blocks = scalar::blocks_of(row, width, count);
        // Four at a time: lanes of several vectors are compared almost as fast as those of one.
        let whole = if width < V::LANES || row.len() < V::LANES { 0 } else { count - count % 4 };
        for four in out[..whole].chunks_exact_mut(4) {
            // SAFETY: the caller has the CPU feature.
            unsafe {
                let mut lanes = [V::splat(V::Element::FORBIDDEN); 4];
                for (lanes, block) in lanes.iter_mut().zip(&mut blocks) {
                    *lanes = largest_by_lane::<V>(block);
                }
                four.copy_from_slice(&V::largest_lanes(lanes));
            }
        }
        for (out, block) in out[whole..].iter_mut().zip(blocks) {
            // SAFETY: the caller has the CPU feature.
            *out = unsafe { largest::<V>(block) };
        }
    }

    /// After a single origin, labels are written one by one in up to so many blocks: the processor guesses how many there are, and goes on
    /// before it has the edges. In more blocks the guess is wrong too often.
    const FEW_BLOCKS: u32 = 2;

    /// Vectors that are looked at together. Every block but the last consists of so many vectors, or a multiple.
    const TOGETHER: usize = 4;

    /// [`scalar::select_by_block`], over vectors.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions.
    #[inline(always)]
    pub(in super::super) unsafe fn select_by_block<V: Vector>(
        origins: &[Origin<'_, V::Element>],
        least: V::Element,
        targets: Targets<'_, V::Element>,
        floor: Option<V::Element>,
        gain: V::Element,
        values: &mut [V::Element],
        found: &mut Vec<u32>,
    ) -> ByBlock<V::Element> {
        const {
            assert!(LANES.is_multiple_of(V::LANES) && LANES == MOST_LANES && LEAST_WIDTH <= 64);
            assert!(LEAST_WIDTH.is_multiple_of(TOGETHER * V::LANES));
            assert!(MOST_BLOCKS.is_multiple_of(LANES) && MOST_BLOCKS < 64);
        };
        let lanes = V::LANES;
        let count = targets.check(origins, values);
        let Targets { node, way_out, slack, width } = targets;
        let padded = count.next_multiple_of(LANES);
        let forbidden = V::Element::FORBIDDEN;
        let [mut bounds, mut nodes, mut gains] = [[forbidden; MOST_BLOCKS]; 3];
        // SAFETY: the caller has the CPU feature. Bounds are as long as the padded number of blocks, which fits into the arrays.
        // Rows and values are at least as long as the nodes, which are at least a vector long. Each label is found at most once, so all of them
        // fit after the list, with room for `MOST_LANES` places.
        unsafe {
            largest_by_block::<V>(targets, count, &mut nodes, &mut gains);
            for origin in origins {
                let score = V::splat(origin.score);
                for b in (0..padded).step_by(lanes) {
                    let value = score.add(V::load(origin.bounds.as_ptr().add(b)));
                    value.larger(V::load(bounds.as_ptr().add(b))).store(bounds.as_mut_ptr().add(b));
                }
            }
            let (mut read, mut edges, given) = (0, 0, floor.is_some());
            let mut kept = Kept::none();
            let floor = match floor {
                Some(floor) => floor,
                None => {
                    let mut most = V::splat(forbidden);
                    for b in (0..padded).step_by(lanes) {
                        most = sum_at::<V>(&bounds, &nodes, b).larger(most);
                    }
                    let most = V::splat(most.largest_lane());
                    let mut best = 0;
                    for b in (0..padded).step_by(lanes).rev() {
                        let hits = sum_at::<V>(&bounds, &nodes, b).at_least(most);
                        best = if hits != 0 { b + hits.trailing_zeros() as usize } else { best };
                    }
                    let block = targets.around(best.min(count - 1));
                    (read, edges) = (block.len(), block.len() * origins.len());
                    let mut most = V::splat(forbidden);
                    let mut y = block.start;
                    while y + TOGETHER * lanes <= block.end {
                        let four = values_at::<V, TOGETHER>(origins.iter(), y);
                        let mut i = 0;
                        while i < TOGETHER {
                            most = four[i].add(V::load(node.as_ptr().add(y + i * lanes))).larger(most);
                            i += 1;
                        }
                        y += TOGETHER * lanes;
                    }
                    while y < block.end {
                        let at = y.min(block.end - lanes);
                        let [value] = values_at::<V, 1>(origins.iter(), at);
                        most = value.add(V::load(node.as_ptr().add(at))).larger(most);
                        y += lanes;
                    }
                    most.largest_lane() + gain
                }
            };
            if floor.is_forbidden() && !given {
                return ByBlock { floor, rest: floor, read, edges };
            }
            let (lowest, threshold) = (V::splat(least), V::splat(floor));
            let may = V::splat(floor - slack);
            let mut rest = V::splat(forbidden);
            let mut matter = 0u64;
            for b in (0..padded).step_by(lanes) {
                let value = V::load(bounds.as_ptr().add(b)).larger(lowest);
                let bound = value.add(V::load(nodes.as_ptr().add(b)));
                let reach = value.add(V::load(gains.as_ptr().add(b)));
                let (hits, others) = bound.split_at_least(reach, may);
                matter |= u64::from(hits) << b;
                rest = others.larger(rest);
            }
            matter &= (1 << count) - 1;
            found.reserve(node.len() + MOST_LANES);
            let few = matter.count_ones() <= FEW_BLOCKS;
            let first = found.as_mut_ptr().add(found.len());
            let mut next = first;
            let rows = [node.as_ptr(), way_out.as_ptr()];
            while matter != 0 {
                let block = matter.trailing_zeros() as usize;
                matter &= matter - 1;
                let labels = block * width..node.len().min((block + 1) * width);
                read += labels.len();
                let target = (labels.clone(), lowest, threshold);
                let others = if origins.len() == 1 {
                    edges += labels.len();
                    if few {
                        select_in_block::<V, true>(origins.iter(), target, rows, values, &mut next)
                    } else {
                        select_in_block::<V, false>(origins.iter(), target, rows, values, &mut next)
                    }
                } else {
                    let left_out = kept.choose(origins, block, bounds[block], gains[block], floor - slack);
                    edges += labels.len() * kept.count;
                    rest = V::splat(left_out + nodes[block]).larger(rest);
                    select_in_block::<V, false>(kept.of(origins), target, rows, values, &mut next)
                };
                rest = others.larger(rest);
            }
            let length = found.len() + next.offset_from_unsigned(first);
            found.set_len(length);
            ByBlock { floor, rest: rest.largest_lane(), read, edges }
        }
    }

    /// Writes the values that some origins lead to at the labels of a block, and then those of the labels that reach a threshold with a value of
    /// at least `lowest`; returns the largest scores of the others, by lane.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions. The labels, and a vector of them before the last one's end, must exist in all rows (of origins;
    /// node, way out) and among the values, and there must be room for them, and for `MOST_LANES` places more, at `next`.
    #[inline(always)]
    unsafe fn select_in_block<'a, V: Vector, const FEW: bool>(
        origins: impl Iterator<Item = &'a Origin<'a, V::Element>> + Clone,
        (labels, lowest, threshold): (Range<usize>, V, V),
        rows: [*const V::Element; 2],
        values: &mut [V::Element],
        next: &mut *mut u32,
    ) -> V
    where
        V::Element: 'a,
    {
        let lanes = V::LANES;
        // SAFETY: as the caller promises.
        unsafe {
            let mut rest = V::splat(V::Element::FORBIDDEN);
            for y in labels.clone().step_by(LEAST_WIDTH) {
                let mut hits = 0u64;
                if y + LEAST_WIDTH <= labels.end {
                    let mut i = 0;
                    while i < LEAST_WIDTH {
                        let four = values_at::<V, TOGETHER>(origins.clone(), y + i);
                        let mut j = 0;
                        while j < TOGETHER {
                            let at = y + i + j * lanes;
                            four[j].store(values.as_mut_ptr().add(at));
                            let (here, others) = split_vector(four[j].larger(lowest), at, rows, threshold);
                            if FEW {
                                hits |= u64::from(here) << (i + j * lanes);
                            } else {
                                *next = V::write_places(here, at as u32, *next);
                            }
                            rest = others.larger(rest);
                            j += 1;
                        }
                        i += TOGETHER * lanes;
                    }
                } else {
                    let mut i = 0;
                    while y + i < labels.end {
                        let at = (y + i).min(labels.end - lanes);
                        let [value] = values_at::<V, 1>(origins.clone(), at);
                        let (here, mut others) = split_vector(value.larger(lowest), at, rows, threshold);
                        let before = y + i - at; // lanes of the block before, whose values may come from other origins
                        let mut written = [V::Element::FORBIDDEN; MOST_LANES];
                        value.store(written.as_mut_ptr());
                        values[y + i..at + lanes].copy_from_slice(&written[before..lanes]);
                        if before > 0 {
                            others.store(written.as_mut_ptr());
                            written[..before].fill(V::Element::FORBIDDEN);
                            others = V::load(written.as_ptr());
                        }
                        let (here, first) = (here >> before, (y + i) as u32);
                        if FEW {
                            hits |= u64::from(here) << i;
                        } else {
                            *next = V::write_places(here, first, *next);
                        }
                        rest = others.larger(rest);
                        i += lanes;
                    }
                }
                while hits != 0 {
                    next.write(y as u32 + hits.trailing_zeros());
                    *next = next.add(1);
                    hits &= hits - 1;
                }
            }
            rest
        }
    }

    /// One vector of the sums of two rows.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions. A vector must fit at `at` in both.
    #[inline(always)]
    unsafe fn sum_at<V: Vector>(a: &[V::Element], b: &[V::Element], at: usize) -> V {
        // SAFETY: as the caller promises.
        unsafe { V::load(a.as_ptr().add(at)).add(V::load(b.as_ptr().add(at))) }
    }

    /// Which labels of one vector of values reach the threshold, and the scores of the others.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions. A vector must fit at `at` in both rows (node, way out).
    #[inline(always)]
    unsafe fn split_vector<V: Vector>(
        value: V,
        at: usize,
        [node, way_out]: [*const V::Element; 2],
        threshold: V,
    ) -> (u32, V) {
        // SAFETY: as the caller promises.
        unsafe {
            let score = value.add(V::load(node.add(at)));
            score.split_at_least(score.add(V::load(way_out.add(at))), threshold)
        }
    }

    /// By block, the largest node score, and the largest sum of a node score and a way out.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions. The targets must have been checked, and have so many blocks.
    #[inline(always)]
    unsafe fn largest_by_block<V: Vector>(
        targets: Targets<'_, V::Element>,
        count: usize,
        nodes: &mut [V::Element; MOST_BLOCKS],
        gains: &mut [V::Element; MOST_BLOCKS],
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut first = 0;
            while first < count {
                let a = largest_of_block::<V>(targets, first, count);
                let b = largest_of_block::<V>(targets, first + 1, count);
                let c = largest_of_block::<V>(targets, first + 2, count);
                let d = largest_of_block::<V>(targets, first + 3, count);
                // Lanes of several vectors are compared almost as fast as those of one.
                nodes[first..first + 4].copy_from_slice(&V::largest_lanes([a.0, b.0, c.0, d.0]));
                gains[first..first + 4].copy_from_slice(&V::largest_lanes([a.1, b.1, c.1, d.1]));
                first += 4;
            }
        }
    }

    /// By lane, the largest node score of a block, and the largest sum of a node score and a way out; forbidden after the last block.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions. The targets must have been checked, and have so many blocks.
    #[inline(always)]
    unsafe fn largest_of_block<V: Vector>(
        targets: Targets<'_, V::Element>,
        block: usize,
        count: usize,
    ) -> (V, V) {
        let Targets { node, way_out, width, .. } = targets;
        // SAFETY: every vector begins where one fits.
        unsafe {
            let (mut most_node, mut most_gain) =
                (V::splat(V::Element::FORBIDDEN), V::splat(V::Element::FORBIDDEN));
            let (mut y, past) = (block * width, (block + 1) * width);
            if past <= node.len() {
                while y < past {
                    let mut i = 0;
                    while i < TOGETHER {
                        let score = V::load(node.as_ptr().add(y + i * V::LANES));
                        let gain = score.add(V::load(way_out.as_ptr().add(y + i * V::LANES)));
                        (most_node, most_gain) = (score.larger(most_node), gain.larger(most_gain));
                        i += 1;
                    }
                    y += TOGETHER * V::LANES;
                }
            } else if block < count {
                y = targets.around(block).start;
                while y < node.len() {
                    let at = y.min(node.len() - V::LANES);
                    let score = V::load(node.as_ptr().add(at));
                    let gain = score.add(V::load(way_out.as_ptr().add(at)));
                    (most_node, most_gain) = (score.larger(most_node), gain.larger(most_gain));
                    y += V::LANES;
                }
            }
            (most_node, most_gain)
        }
    }

    /// The values that some origins lead to, at `N` vectors of labels from `y` on.
    ///
    /// # Safety
    /// The CPU must have the vector's instructions. So many vectors must fit at `y` in every row.
    #[inline(always)]
    unsafe fn values_at<'a, V: Vector, const N: usize>(
        origins: impl Iterator<Item = &'a Origin<'a, V::Element>>,
        y: usize,
    ) -> [V; N]
    where
        V::Element: 'a,
    {
        // SAFETY: as the caller promises.
        unsafe {
            let mut values = [V::splat(V::Element::FORBIDDEN); N];
            for origin in origins {
                let (score, row) = (V::splat(origin.score), origin.row.as_ptr().add(y));
                let mut i = 0;
                while i < N {
                    values[i] = score.add(V::load(row.add(i * V::LANES))).larger(values[i]);
                    i += 1;
                }
            }
            values
        }
    }
}
