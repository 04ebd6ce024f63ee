//! Stochastic gradient descent with a step size of its own for each weight (AdaGrad), and L2.
//!
//! ```text
//! G_j += g_j^2,   rate_j = rate / sqrt(G_j)
//! w_j = (w_j - rate_j g_j) / (1 + 2 c2 rate_j / batches)
//! ```
//!
//! for each batch of sequences with gradient `g`. The division is the L2 term, distributed over the batches of an epoch
//! (the proximal step, which cannot overshoot). **Cost.** Only weights whose features occur in the batch change: the
//! divisions that the others miss are caught up when their feature next occurs, which is exact, because `rate_j` does
//! not change meanwhile.
//!
//! **Paper.** Duchi, Hazan & Singer, *Adaptive subgradient methods*, JMLR 2011, section 5.

use super::batch::Expectations;
use crate::state::{StateReader, StateWriter};
use crate::train::family::{Differentiable, Layout, Tally, positions};
use crate::train::{OnProgress, Progress, shuffled};
use kbest_core::Result;
use std::ops::Range;

/// The settings of the descent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) rate: f64,
    pub(super) batch: usize,
    pub(super) seed: u64,
    pub(super) c2: f64,
}

/// A descent in progress. A *row* is the weights of one feature.
#[derive(Debug)]
pub(super) struct Sgd<F: Differentiable> {
    pace: Pace,
    weights: Vec<f64>,
    squares: Vec<f64>,   // G
    shrunk: Vec<u64>,    // per row: how many batches it has been divided for
    batches: u64,        // done
    epochs: usize,       // done
    touched: Vec<usize>, // the rows of a batch
    expectations: Expectations<F>,
}

impl<F: Differentiable> Sgd<F> {
    /// Starts with all weights zero.
    pub(super) fn new(layout: &F::Layout, pace: Pace) -> Self {
        Sgd {
            pace,
            weights: vec![0.0; layout.len()],
            squares: vec![0.0; layout.len()],
            shrunk: vec![0; layout.rows()],
            batches: 0,
            epochs: 0,
            touched: Vec::new(),
            expectations: Expectations::new(layout),
        }
    }

    /// The weights after the last epoch.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Writes everything the next epoch depends on.
    pub(super) fn save(&self, state: &mut StateWriter) {
        state.number(self.batches);
        state.number(self.epochs as u64);
        state.list(self.weights.iter().copied());
        state.list(self.squares.iter().copied());
    }

    /// Reads what [`Sgd::save`] wrote.
    pub(super) fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        self.batches = state.number()?;
        self.epochs = state.number::<u64>()? as usize;
        self.shrunk.fill(self.batches); // as at the end of an epoch
        state.list_into(&mut self.weights)?;
        state.list_into(&mut self.squares)
    }

    /// One pass over the examples; the loss is that of each batch before it was learned from.
    pub(super) fn epoch(
        &mut self,
        data: &F,
        layout: &F::Layout,
        on_progress: OnProgress<'_>,
    ) -> Result<Tally> {
        self.expectations.tally = Tally::default();
        let order = shuffled(data.example_count(), self.pace.seed, self.epochs);
        let batches = order.chunks(self.pace.batch);
        let shrinkage = 2.0 * self.pace.c2 / batches.len() as f64;
        let mut progress = Progress::default();
        for batch in batches {
            let batch = || batch.iter().map(|&i| i as usize);
            self.touch(data, layout, batch(), shrinkage);
            self.learn(data, layout, batch(), shrinkage)?;
            progress.done += batch().count();
            progress.tokens += batch().map(|example| positions(data, example)).sum::<usize>();
            progress.right = self.expectations.tally.right;
            on_progress(progress);
        }
        for row in 0..layout.rows() {
            let missed = self.batches - self.shrunk[row];
            self.shrink(layout.range_of_row(row), shrinkage, missed);
            self.shrunk[row] = self.batches;
        }
        self.epochs += 1;
        Ok(self.expectations.tally)
    }

    /// Lists the rows of a batch and brings them up to date.
    fn touch(&mut self, data: &F, layout: &F::Layout, batch: impl Iterator<Item = usize>, shrinkage: f64) {
        self.touched.clear();
        for example in batch {
            data.visit_rows(layout, example, |row| {
                if self.shrunk[row] > self.batches {
                    return; // already listed
                }
                let missed = self.batches - self.shrunk[row];
                self.shrink(layout.range_of_row(row), shrinkage, missed);
                self.shrunk[row] = self.batches + 1; // this batch's own division is part of its step
                self.touched.push(row);
            });
        }
        self.batches += 1;
    }

    /// The step of a batch.
    fn learn(
        &mut self,
        data: &F,
        layout: &F::Layout,
        batch: impl Iterator<Item = usize> + Clone,
        shrinkage: f64,
    ) -> Result<()> {
        let point = data.point(layout, &self.weights)?;
        self.expectations.add(data, &point, batch.clone())?;
        drop(point);
        let gradient = &mut self.expectations.gradient;
        batch.for_each(|example| data.add_gold(layout, example, -data.weight(example), gradient));
        for &row in &self.touched {
            for i in layout.range_of_row(row) {
                let g = std::mem::take(&mut gradient[i]);
                self.squares[i] += g * g;
                if self.squares[i] > 0.0 {
                    let rate = self.pace.rate / self.squares[i].sqrt();
                    self.weights[i] = (self.weights[i] - rate * g) / (1.0 + shrinkage * rate);
                }
            }
        }
        Ok(())
    }

    /// Catches up the divisions of batches that did not touch these weights.
    fn shrink(&mut self, range: Range<usize>, shrinkage: f64, batches: u64) {
        if batches == 0 || shrinkage == 0.0 {
            return;
        }
        for (weight, square) in self.weights[range.clone()].iter_mut().zip(&self.squares[range]) {
            if *weight != 0.0 {
                let rate = self.pace.rate / square.sqrt();
                *weight *= (-(batches as f64) * (shrinkage * rate).ln_1p()).exp();
            }
        }
    }
}
