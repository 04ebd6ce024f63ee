//! What the model expects: the gradient of the loss, over many sequences and threads.
//!
//! ```text
//! loss = sum over sequences of weight * (log Z - score of the right labels)
//! d loss / d w = how often the model expects what w stands for - how often it is right
//! ```
//!
//! **Cost.** A forward-backward a sequence, then an addition for each weight of each feature of each position, and one for
//! each pair of labels that has a weight. Sequences are dealt into [`CHUNKS`] chunks of about as many positions;
//! each is summed alone and the sums are added in order, so that no rounding depends on the number of threads.

use crate::error::Result;
use crate::label::LabelId;
use crate::lattice::Edges;
use crate::marginal::{MarginalScratch, Marginals, PairSums, marginals};
use crate::scoring::{self, ScoreBuffer, Weights};
use crate::train::parameters::{Current, Parameters, Shared};
use crate::train::{Example, OnProgress, Progress};
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// Into how many parts the data is dealt: a multiple of most numbers of threads. More would keep more of them busy, and
/// cost two passes over all weights each.
const CHUNKS: usize = 24;

/// What some sequences add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    /// Weighted sum of `log Z - score`.
    pub(super) loss: f64,
    /// Positions whose right label is the likeliest.
    pub(super) right: usize,
}

/// The memory of one thread.
#[derive(Debug, Default)]
pub(super) struct Expectations {
    /// How often each weight is expected.
    pub(super) gradient: Vec<f64>,
    /// What has been seen.
    pub(super) tally: Tally,
    pairs: PairSums,
    scores: ScoreBuffer<f64>,
    marginals: MarginalScratch,
}

impl Expectations {
    pub(super) fn new(parameters: &Parameters) -> Self {
        Expectations { gradient: vec![0.0; parameters.len()], ..Self::default() }
    }

    /// Adds the expectations of some examples.
    pub(super) fn add<'e>(
        &mut self,
        weights: &Current<'_>,
        examples: impl IntoIterator<Item = &'e Example>,
    ) -> Result<()> {
        if let Some(edges) = weights.shared_edges() {
            self.pairs.reset(edges)?;
        }
        for example in examples {
            self.add_example(weights, example)?;
        }
        if let (Some(shared), Some(edges)) = (weights.parameters.shared(), weights.shared_edges()) {
            add_shared_edges(shared, &self.pairs, edges, &mut self.gradient);
        }
        Ok(())
    }

    fn add_example(&mut self, weights: &Current<'_>, example: &Example) -> Result<()> {
        let parameters = weights.parameters;
        let lattice = scoring::lattice(weights, &example.features, &mut self.scores)?;
        let marginals = marginals(&lattice, &mut self.marginals)?;
        let loss = marginals.log_partition() - lattice.path_score(&example.gold)?;
        self.tally.loss += example.weight * loss.max(0.0); // not below zero, but for rounding
        self.tally.right += rightly_likeliest(&marginals, example);
        add_nodes(parameters, example, &marginals, &mut self.gradient);
        match parameters.shared() {
            Some(_) => self.pairs.add(&marginals, example.weight),
            None => add_observed_edges(parameters, example, &marginals, &mut self.gradient),
        }
        Ok(())
    }
}

fn rightly_likeliest(marginals: &Marginals<'_, f64>, example: &Example) -> usize {
    let likeliest = |&(t, &y): &(usize, &u32)| {
        let posteriors = marginals.node(t);
        posteriors.iter().all(|posterior| *posterior <= posteriors[y as usize])
    };
    example.gold.iter().enumerate().filter(likeliest).count()
}

fn add_nodes(
    parameters: &Parameters,
    example: &Example,
    marginals: &Marginals<'_, f64>,
    gradient: &mut [f64],
) {
    let features = &example.features;
    for t in 0..features.len() {
        let posteriors = marginals.node(t);
        for (i, &feature) in features.nodes(t).iter().enumerate() {
            let scale = features.values(t).map_or(example.weight, |values| example.weight * values[i]);
            let row = &mut gradient[parameters.node_range(feature)];
            for (g, &y) in row.iter_mut().zip(parameters.row(feature)) {
                *g += scale * posteriors[y as usize];
            }
        }
    }
}

/// Pair by pair: features that look at the input seldom have many.
fn add_observed_edges(
    parameters: &Parameters,
    example: &Example,
    marginals: &Marginals<'_, f64>,
    gradient: &mut [f64],
) {
    for t in 1..example.features.len() {
        for &feature in example.features.edges(t) {
            let row = &mut gradient[parameters.edge_range(feature)];
            for (g, &(p, y)) in row.iter_mut().zip(parameters.pairs_of(feature)) {
                *g += example.weight * marginals.edge(t, p as usize, y as usize);
            }
        }
    }
}

/// Both the sums and the pairs rise.
fn add_shared_edges(shared: &Shared, sums: &PairSums, edges: &Edges<f64>, gradient: &mut [f64]) {
    let mut expected = Vec::with_capacity(shared.pairs.len());
    sums.visit(edges, |p, y, sum| {
        if shared.pairs.get(expected.len()) == Some(&(p as LabelId, y as LabelId)) {
            expected.push(sum);
        }
    });
    shared.weights.iter().for_each(|&(slot, place)| gradient[place] += expected[slot as usize]);
}

/// The gradient over all examples.
#[derive(Debug)]
pub(super) struct Batch<'d> {
    examples: &'d [Example],
    chunks: Vec<Range<usize>>,
    threads: Vec<Expectations>, // one a thread
    gold: Vec<f64>,             // how often each weight is right
}

impl<'d> Batch<'d> {
    pub(super) fn new(parameters: &Parameters, examples: &'d [Example], threads: usize) -> Self {
        let mut gold = vec![0.0; parameters.len()];
        examples.iter().for_each(|example| parameters.add_gold(example, example.weight, &mut gold));
        let chunks = chunks(examples);
        let threads = threads.clamp(1, chunks.len());
        let threads = (0..threads).map(|_| Expectations::new(parameters)).collect();
        Batch { examples, chunks, threads, gold }
    }

    /// Writes the gradient of the loss.
    pub(super) fn evaluate(
        &mut self,
        weights: &Current<'_>,
        gradient: &mut [f64],
        on_progress: OnProgress<'_>,
    ) -> Result<Tally> {
        let (mut tally, mut progress) = (Tally::default(), Progress::default());
        gradient.iter_mut().zip(&self.gold).for_each(|(g, gold)| *g = -gold);
        for chunks in self.chunks.chunks(self.threads.len()) {
            let examples = chunks.iter().map(|chunk| &self.examples[chunk.clone()]);
            run(weights, self.threads.iter_mut().zip(examples))?;
            for (expectations, chunk) in self.threads.iter().zip(chunks) {
                gradient.iter_mut().zip(&expectations.gradient).for_each(|(g, expected)| *g += expected);
                tally.loss += expectations.tally.loss;
                tally.right += expectations.tally.right;
                progress.done += chunk.len();
                progress.tokens += self.examples[chunk.clone()].iter().map(|e| e.gold.len()).sum::<usize>();
            }
            progress.right = tally.right;
            on_progress(progress);
        }
        Ok(tally)
    }
}

/// Each chunk in a thread of its own, the last one in this.
fn run<'a>(
    weights: &Current<'_>,
    work: impl Iterator<Item = (&'a mut Expectations, &'a [Example])>,
) -> Result<()> {
    let one = |(expectations, examples): (&mut Expectations, &[Example])| {
        expectations.gradient.fill(0.0);
        expectations.tally = Tally::default();
        expectations.add(weights, examples)
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

/// Runs of examples with about as many positions each.
fn chunks(examples: &[Example]) -> Vec<Range<usize>> {
    let tokens: usize = examples.iter().map(|example| example.gold.len()).sum();
    let (mut chunks, mut start, mut seen) = (Vec::new(), 0, 0);
    for (i, example) in examples.iter().enumerate() {
        seen += example.gold.len();
        if seen * CHUNKS >= tokens * (chunks.len() + 1) {
            chunks.push(start..i + 1);
            start = i + 1;
        }
    }
    chunks
}
