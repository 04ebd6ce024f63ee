//! The gradient of the loss, over many sequences and threads.
//!
//! ```text
//! loss = sum over sequences of weight * (log Z - score of the right labels)
//! d loss / d w = expected count of w's feature - its count in the right labels
//! ```
//!
//! **Cost.** One forward-backward per sequence, then one addition for each weight of each feature of each position, and
//! one for each pair of labels that has a weight. Sequences are divided into up to 24 chunks with about the same
//! number of positions; each is summed alone and the sums are added in order, so that no rounding depends on the number
//! of threads.

use crate::train::family::{Differentiable, Layout, Tally, positions};
use crate::train::{OnProgress, Progress};
use kbest_core::Result;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// Numbers of parts the data is divided into, multiples of most numbers of threads. More would keep more threads busy, but
/// each costs a pass over all weights.
const CHUNKS: [usize; 4] = [24, 12, 8, 4];

/// So many weights are added up in about a twentieth of the time that a position takes (measured at 22 labels).
const WEIGHTS_PER_POSITION: usize = 25;

/// The memory of one thread.
#[derive(Debug)]
pub(in crate::train) struct Expectations<F: Differentiable> {
    /// The expected count of each weight.
    pub(in crate::train) gradient: Vec<f64>,
    /// What has been seen so far.
    pub(in crate::train) tally: Tally,
    sums: F::Sums,
}

impl<F: Differentiable> Expectations<F> {
    pub(in crate::train) fn new(layout: &F::Layout) -> Self {
        let (gradient, tally, sums) = (vec![0.0; layout.len()], Tally::default(), F::Sums::default());
        Expectations { gradient, tally, sums }
    }

    /// Adds the expectations of some examples.
    pub(in crate::train) fn add(
        &mut self,
        data: &F,
        point: &F::Point<'_>,
        examples: impl IntoIterator<Item = usize>,
    ) -> Result<()> {
        data.begin(point, &mut self.sums)?;
        for example in examples {
            self.tally.add(data.expect(point, example, &mut self.sums, &mut self.gradient)?);
        }
        data.end(point, &self.sums, &mut self.gradient);
        Ok(())
    }
}

/// The gradient over all examples.
#[derive(Debug)]
pub(super) struct Batch<F: Differentiable> {
    chunks: Vec<Range<usize>>,
    threads: Vec<Expectations<F>>, // one per thread
    gold: Vec<f64>,                // count of each weight in the right labels
}

impl<F: Differentiable> Batch<F> {
    pub(super) fn new(data: &F, layout: &F::Layout, threads: usize) -> Self {
        let mut gold = vec![0.0; layout.len()];
        (0..data.example_count()).for_each(|i| data.add_gold(layout, i, data.weight(i), &mut gold));
        let chunks = chunks(data, layout.len());
        let threads = threads.clamp(1, chunks.len().max(1));
        Batch { chunks, threads: (0..threads).map(|_| Expectations::new(layout)).collect(), gold }
    }

    /// Writes the gradient of the loss.
    pub(super) fn evaluate(
        &mut self,
        data: &F,
        point: &F::Point<'_>,
        gradient: &mut [f64],
        on_progress: OnProgress<'_>,
    ) -> Result<Tally> {
        let (mut tally, mut progress) = (Tally::default(), Progress::default());
        gradient.iter_mut().zip(&self.gold).for_each(|(g, gold)| *g = -gold);
        for chunks in self.chunks.chunks(self.threads.len()) {
            if let Err(error) = run(data, point, self.threads.iter_mut().zip(chunks)) {
                self.threads.iter_mut().for_each(|unfinished| unfinished.gradient.fill(0.0));
                return Err(error);
            }
            for (expectations, chunk) in self.threads.iter_mut().zip(chunks) {
                let sums = gradient.iter_mut().zip(&mut expectations.gradient);
                sums.for_each(|(g, expected)| *g += std::mem::take(expected)); // zero again for the next chunk
                tally.add(expectations.tally);
                progress.done += chunk.len();
                progress.tokens += chunk.clone().map(|example| positions(data, example)).sum::<usize>();
            }
            progress.right = tally.right;
            on_progress(progress);
        }
        Ok(tally)
    }
}

/// Runs each chunk in a thread of its own, the last one in this thread.
fn run<'a, F: Differentiable + 'a>(
    data: &F,
    point: &F::Point<'_>,
    work: impl Iterator<Item = (&'a mut Expectations<F>, &'a Range<usize>)>,
) -> Result<()> {
    let one = |(expectations, chunk): (&mut Expectations<F>, &Range<usize>)| {
        expectations.tally = Tally::default();
        expectations.add(data, point, chunk.clone())
    };
    thread::scope(|scope| {
        let mut work = work.peekable();
        let mut others = Vec::new();
        while let Some(next) = work.next() {
            if work.peek().is_none() {
                one(next)?;
            } else {
                others.push(scope.spawn(move || one(next)));
            }
        }
        others.into_iter().try_for_each(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Runs of examples with about the same number of positions each: fewer of them where passes over the weights would take long.
fn chunks(data: &impl Differentiable, weights: usize) -> Vec<Range<usize>> {
    let all: usize = (0..data.example_count()).map(|example| positions(data, example)).sum();
    let most = all.saturating_mul(WEIGHTS_PER_POSITION) / weights.max(1);
    let count = CHUNKS.into_iter().find(|&count| count <= most).unwrap_or(CHUNKS[CHUNKS.len() - 1]);
    let (mut chunks, mut start, mut seen) = (Vec::new(), 0, 0);
    for example in 0..data.example_count() {
        seen += positions(data, example);
        if seen * count >= all * (chunks.len() + 1) {
            chunks.push(start..example + 1);
            start = example + 1;
        }
    }
    chunks
}
