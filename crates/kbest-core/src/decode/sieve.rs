//! Viterbi that leaves out rows of a matrix, block by block: all forward scores, exactly, from a fraction of the edges.
//!
//! **Idea.** Fill a block of labels at a time, 64 of them or (with more than 2,048 labels) more. From the labels before, take those first that reach furthest into
//! the block (forward score plus the largest edge into it). The smallest value in the block then tells who cannot improve
//! any: every label that reaches less. Nearly always those taken first are enough, because how far to go was learned at the
//! position before.
//!
//! ```text
//! reach[p]  = alpha[p] + the largest edge from p into the block
//! first     = all p with  reach[p] >= limit                  limit = the best alpha - what was needed at the position before
//! value[y]  = max over first of  alpha[p] + edge(p, y)
//! then      = all p with  limit > reach[p] >= the smallest value[y],  if that is below the limit
//! ```
//!
//! **Why exact.** A label left out reaches strictly less than every value of the block: rounding is monotone, so none of its
//! sums equals one. All forward scores are those of plain Viterbi, to the last bit. **Cost.** Normal scores of nodes and edges, 1,500
//! labels: a ninth of the edges; fewer the more the nodes say. Never much more than `viterbi-simd`: where nearly all rows are
//! needed, it pauses, and tries again after more and more positions. Memory: `T L` forward scores, and a bound for every 64
//! edges. **When not.** Few labels (below about 64), or so strong nodes that few labels matter at all (`funnel`). Edges that are
//! not stored as matrices are read as by `viterbi-sparse`.

use super::forward::Forward;
use super::funnel::smaller;
use super::gather::GatherEdges;
use super::viterbi_simd::dense_step;
use super::viterbi_sparse::{self, sparse_step};
use super::{Algorithm, Job, Tally};
use crate::error::Result;
use crate::lattice::{DenseEdges, EdgeScores, Lattice, Matrix, PerLabel, PerPositionView, Shape};
use crate::simd::{Float, LANES, Level, level};

/// Viterbi over the rows that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sieve;

/// Forward scores, and what earlier positions tell about later ones.
#[derive(Debug, Default)]
pub(crate) struct Memory<S> {
    pub(super) forward: Forward<S>,
    passes: Passes<S>,
}

impl Algorithm for Sieve {
    fn search<S: Float, E: GatherEdges<S>, T: Tally>(&self, job: Job<'_, '_, S, E, T>) -> Result<()> {
        let memory = &mut job.scratch.sieve;
        fill(job.lattice, memory, job.tally);
        memory.forward.trace(job.lattice, job.edges, job.out)
    }
}

/// Fills the table with exact forward scores.
pub(crate) fn fill<S: Float>(lattice: &Lattice<'_, S>, memory: &mut Memory<S>, tally: &mut impl Tally) {
    let Memory { forward, passes } = memory;
    let mut read = 0;
    match lattice.edges().shape() {
        Shape::Dense(edges) => {
            forward.fill(lattice, tally, |_, alpha, out, _| read += passes.step(0, edges, alpha, out));
        }
        Shape::PerPosition(matrices) => {
            let view = PerPositionView::new(matrices, lattice.selection());
            let labels = lattice.labels();
            forward.fill(lattice, tally, |t, alpha, out, buffer| match view.matrix(t) {
                Matrix::Dense(edges) => read += passes.step(view.selected(t), edges, alpha, out),
                Matrix::Sparse(edges) => {
                    read += sparse_step(edges, &alpha[..labels], &mut out[..labels], buffer);
                }
            });
        }
        Shape::Sparse(_) | Shape::Callback(_) => viterbi_sparse::fill(lattice, forward, tally),
    }
    tally.edges(read);
}

/// Up to this many labels are taken for all blocks at once, without a look at how far they reach into each.
const FEW: usize = 16;

/// A list of labels shorter than this part of all is looked at one by one.
const ONE_BY_ONE: usize = 20;

/// So many labels are sampled for a first limit.
const SAMPLE: usize = 64;

/// The part of a limit's distance that remains from one position to the next.
const DECAY: f64 = 0.5;

/// Two to the power of this is the largest number of positions in a row at which all labels are taken for a block.
const MOST_VAIN: u32 = 6;

/// What earlier positions tell, by matrix, and buffers. All of it only guesses, which cost time if wrong.
#[derive(Debug, Default)]
struct Passes<S> {
    matrices: Vec<Guess<S>>,
    rows: Vec<u32>,   // labels taken for a block
    likely: Vec<u32>, // labels that may be taken for some block
}

/// What the last position of a matrix tells about the next.
#[derive(Debug, Clone, Default)]
struct Guess<S> {
    labels: usize,
    blocks: Vec<Block<S>>,
}

/// The same for a block of labels.
#[derive(Debug, Clone, Copy)]
struct Block<S> {
    needed: Needed<S>,
    vain: u32, // how often in a row bounds were compared in vain; a single time means nothing
    left: u32, // at so many positions to come, all labels are taken
}

/// How far below the best forward score the limit was.
#[derive(Debug, Clone, Copy)]
enum Needed<S> {
    Unknown,
    Score(S),
    All, // some label cannot be reached at all
}

impl<S: Float> Passes<S> {
    /// Raises `out[y]` (at first minus infinity) to the largest `alpha[p] + edge[p][y]`, and returns how many edges it
    /// read. Rows are padded to whole vectors.
    fn step(&mut self, matrix: usize, edges: &DenseEdges<S>, alpha: &[S], out: &mut [S]) -> usize {
        let (maxima, stride) = (edges.block_maxima(), edges.stride());
        let labels = edges.padded_scores().len() / stride;
        let alpha = &alpha[..labels];
        let Passes { matrices, rows, likely } = self;
        if matrices.len() <= matrix {
            matrices.resize_with(matrix + 1, Guess::default);
        }
        let guess = &mut matrices[matrix];
        guess.fit(labels, maxima.blocks().count);
        // A whole row costs half as much as its blocks one by one, so most of them decide.
        if 2 * guess.blocks.iter().filter(|block| block.left > 0).count() >= guess.blocks.len() {
            guess.blocks.iter_mut().for_each(|block| block.left = block.left.saturating_sub(1));
            dense_step(edges, alpha, out);
            return labels * labels;
        }
        let best = S::largest(alpha);
        if best.is_forbidden() {
            return 0;
        }
        let few = guess.few_likely(edges, alpha, best, likely);
        let at_once = few && likely.len() <= FEW;
        if at_once {
            S::max_plus_rows(out, alpha, likely, edges.padded_scores(), 0);
        }
        let mut read = 0;
        for (i, block) in guess.blocks.iter_mut().enumerate() {
            let (into, columns) = (maxima.of_block(i), maxima.blocks().labels_in(i));
            let past = if columns.end == labels { stride } else { columns.end };
            let values = &mut out[columns.start..past];
            let mut taken = 0;
            let mut take = |rows: &[u32]| {
                S::max_plus_rows(values, alpha, rows, edges.padded_scores(), columns.start);
                taken += rows.len();
                S::smallest(&values[..columns.len()])
            };
            rows.clear();
            if block.left > 0 {
                block.left -= 1;
                rows.extend(0..labels as u32);
                take(rows);
                read += labels * columns.len();
                continue;
            }
            let limit = block.limit(best, || highest_of_sample(alpha, into));
            let mut smallest = if at_once {
                take(&[])
            } else {
                match few {
                    true => {
                        let reach = |&p: &u32| alpha[p as usize] + into[p as usize] >= limit;
                        rows.extend(likely.iter().copied().filter(reach));
                    }
                    false => S::select_sums(alpha, into, limit, S::LARGEST, rows),
                }
                take(rows)
            };
            if smallest < limit {
                rows.clear();
                S::select_sums(alpha, into, smallest.larger(-S::LARGEST), limit, rows);
                if !rows.is_empty() {
                    smallest = take(rows);
                }
            }
            taken += if at_once { likely.len() } else { 0 };
            block.learn(best, smallest, taken, labels, columns.len());
            read += taken * columns.len();
        }
        read
    }
}

impl<S: Float> Guess<S> {
    /// Forgets what is known of other matrices.
    fn fit(&mut self, labels: usize, blocks: usize) {
        if self.labels != labels {
            let unknown = Block { needed: Needed::Unknown, vain: 0, left: 0 };
            *self = Guess { labels, blocks: vec![unknown; blocks] };
        }
    }

    /// Lists the labels that reach the limit of some block, if they are few.
    fn few_likely(&self, edges: &DenseEdges<S>, alpha: &[S], best: S, likely: &mut Vec<u32>) -> bool {
        likely.clear();
        let mut least = S::LARGEST;
        for block in &self.blocks {
            match block.needed {
                Needed::Score(needed) if block.left == 0 => least = smaller(least, best - needed),
                _ => return false,
            }
        }
        let PerLabel::Each(bounds) = edges.bounds(1).row else { return false };
        S::select_sums(alpha, bounds, least, S::LARGEST, likely);
        likely.len() * ONE_BY_ONE < alpha.len() || likely.len() <= FEW
    }
}

impl<S: Float> Block<S> {
    /// Labels that reach this are taken first.
    fn limit(&self, best: S, sampled: impl FnOnce() -> S) -> S {
        match self.needed {
            Needed::Unknown => sampled(),
            Needed::Score(needed) => best - needed,
            Needed::All => -S::LARGEST,
        }
    }

    /// Learns from the smallest value of a block of this width, for which so many of all labels were taken.
    fn learn(&mut self, best: S, smallest: S, taken: usize, labels: usize, width: usize) {
        self.needed = match (self.needed, best - smallest) {
            _ if smallest.is_forbidden() => Needed::All,
            // Too low a limit costs a few rows too many, too high a one a second look at all bounds: so it falls at once and rises slowly.
            (Needed::Score(before), now) if now < before => {
                Needed::Score(S::from_f64(now.to_f64() + DECAY * (before.to_f64() - now.to_f64())))
            }
            (_, now) => Needed::Score(now),
        };
        // In vectors of a pass over all edges (measured, roughly). Finding each row costs more with vectors: 1.6 to 1.8 times as
        // much with AVX2 on an AMD EPYC, 2.2 times with AVX-512 on an Intel Xeon. Not measured: NEON.
        let vectors = width.div_ceil(LANES);
        let each = if level() == Level::Scalar { 9 } else { 13 };
        let (sieved, whole) =
            (taken * vectors * each / 8 + 5 * labels.div_ceil(LANES) + 45, labels * vectors);
        if sieved < whole {
            self.vain /= 2;
        } else {
            self.left = if self.vain == 0 { 0 } else { 1 << self.vain };
            self.vain = (self.vain + 1).min(MOST_VAIN);
        }
    }
}

/// How many labels would be taken for a block if these were the forward scores; `i` chooses the block. Only a guess: the limit is
/// that of a step which knows as much as it leaves behind.
pub(super) fn rows_needed<S: Float>(
    edges: &DenseEdges<S>,
    alpha: &[S],
    i: usize,
    rows: &mut Vec<u32>,
    values: &mut [S],
) -> usize {
    let maxima = edges.block_maxima();
    let block = i % maxima.blocks().count;
    let (into, columns) = (maxima.of_block(block), maxima.blocks().labels_in(block));
    let values = &mut values[..columns.len()];
    values.fill(S::FORBIDDEN);
    let mut limit = highest_of_sample(alpha, into);
    let mut above = S::LARGEST;
    for _ in 0..2 {
        rows.clear();
        S::select_sums(alpha, into, limit, above, rows);
        S::max_plus_rows(values, alpha, rows, edges.padded_scores(), columns.start);
        above = limit;
        limit = S::smallest(values).larger(-S::LARGEST);
        if limit >= above {
            break;
        }
    }
    rows.clear();
    S::select_sums(alpha, into, limit, S::LARGEST, rows);
    rows.len()
}

/// The largest sum of a sample of labels.
fn highest_of_sample<S: Float>(alpha: &[S], into: &[S]) -> S {
    let step = (alpha.len() / SAMPLE).max(1);
    let sums = alpha.iter().zip(into).step_by(step).map(|(&a, &w)| a + w);
    sums.fold(-S::LARGEST, S::larger)
}
