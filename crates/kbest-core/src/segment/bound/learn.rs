//! From unlabelled sequences to a bound: decode some of them exactly, imitate them with trees, fit the chain, and measure what
//! came out on others.
//!
//! **Cost.** Each sequence is decoded once or twice, by the exact search; trees and programme take seconds to minutes. Memory: the features
//! of the sequences that are fitted on.

use super::clock::Clock;
use super::fit::{Example, FitOptions, FitSize, Norm, Weight, fit};
use super::observe::{Guess, Inequality, on_all_paths, on_best_path};
use super::{BoostedTrees, BoundMemory, BoundParts, LearnedBound, Promise, TokenFeatures};
use crate::decode::{Decoded, Decoder};
use crate::error::{Error, Result};
use crate::label::LabelId;
use crate::random::Random;
use crate::segment::{Estimate, Scratch, Segment, SegmentLattice, Segmentation};
use crate::simd::Float;
use std::collections::{HashMap, HashSet};

/// How to learn a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundOptions {
    /// The norm that keeps weights small.
    pub norm: Norm,
    /// By how much answers may fall short.
    pub delta: f64,
    /// How much better than `delta` estimates should be where they are fitted, so that they are good elsewhere.
    pub margin: f64,
    /// How much the size of weights counts beside the inexactness of estimates.
    pub regularisation: f64,
    /// How much more an estimate that is too low counts than one that is too high.
    pub penalty: f64,
    /// Variables for sums that inequalities share (section 4.1).
    pub sparse: bool,
    /// The inequalities of all segments, not just of those on best paths (section 4.2).
    pub all_inequalities: bool,
    /// Trees of the cheap classifier; with 0 it takes the label with the best node score.
    pub trees: usize,
    /// Features that occur less often have no weights in the chain.
    pub frequent: usize,
    /// The share of sequences that the result is measured on instead of fitted on.
    pub holdout: f64,
    /// Which sequences these are.
    pub seed: u64,
}

impl Default for BoundOptions {
    fn default() -> Self {
        BoundOptions {
            norm: Norm::L1,
            delta: 0.0,
            margin: 0.0,
            regularisation: 10.0,
            penalty: 10.0,
            sparse: true,
            all_inequalities: false,
            trees: 46,
            frequent: 1000,
            holdout: 0.25,
            seed: 1,
        }
    }
}

impl BoundOptions {
    fn check(&self) -> Result<()> {
        let number = |what: &str, value: f64, least: f64| match () {
            () if value.is_finite() && value >= least => Ok(()),
            () => Err(Error::argument(what, format!("a number of at least {least}"), value)),
        };
        number("delta", self.delta, 0.0)?;
        number("margin", self.margin, 0.0)?;
        number("regularisation", self.regularisation, 0.0)?;
        number("penalty", self.penalty, 0.0)?;
        if !(self.holdout > 0.0 && self.holdout < 1.0) {
            return Err(Error::argument("share of sequences to measure on", "between 0 and 1", self.holdout));
        }
        Ok(())
    }
}

/// What looks at a sequence: its lattice and the features of its tokens.
pub type LookAtSequence<'a, S> = dyn FnMut(&SegmentLattice<'_, S>, &dyn TokenFeatures) -> Result<()> + 'a;

/// Unlabelled sequences.
pub trait BoundSource<S: Float> {
    /// How many there are.
    fn count(&self) -> usize;

    /// Shows sequence `i`: its lattice and the features of its tokens.
    ///
    /// # Errors
    /// Its own, and those of `look`.
    fn show(&mut self, i: usize, look: &mut LookAtSequence<'_, S>) -> Result<()>;
}

/// Where learning stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BoundProgress {
    /// Sequences decoded exactly.
    Decoded(usize, usize),
    /// Trees grown.
    Trees(usize, usize),
    /// Inequalities collected: the solver begins.
    Fitting(usize),
    /// Sequences measured.
    Measured(usize, usize),
}

/// What learning found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BoundReport {
    /// Sequences fitted on.
    pub fitted: usize,
    /// Their tokens.
    pub tokens: usize,
    /// The share of these tokens to which the cheap classifier gives the exact decoder's label.
    pub guessed: f64,
    /// The programme.
    pub size: FitSize,
    /// Weights that are not 0.
    pub weights: usize,
    /// Of the sequences measured on, the share for which the estimate is too low by more than `delta` somewhere on the best path.
    pub broken: f64,
    /// What was measured.
    pub promise: Promise,
    /// Explicit scores per sequence measured on: asked for by the exact decoder and with the bound.
    pub explicit: [f64; 2],
    /// Seconds for decoding, trees, the programme and measuring.
    pub seconds: [f64; 4],
}

/// Learns a bound from unlabelled sequences.
///
/// # Errors
/// [`Error::Argument`] for options out of range and for fewer than two sequences; errors of the source.
pub fn learn_bound<S: Float>(
    source: &mut dyn BoundSource<S>,
    options: &BoundOptions,
    progress: &mut dyn FnMut(BoundProgress),
) -> Result<(LearnedBound, BoundReport)> {
    options.check()?;
    let mut order = Random::new(options.seed).shuffled(source.count());
    let measured = (order.len() as f64 * options.holdout).ceil() as usize;
    if order.len() < 2 || measured >= order.len() {
        return Err(Error::argument("sequences to learn a bound from", "at least 2", order.len()));
    }
    let fitted = order.split_off(measured);
    let mut clock = Clock::start();

    let seen = decode_exactly(source, &fitted, progress)?;
    let mut report = BoundReport { fitted: seen.len(), ..BoundReport::default() };
    report.tokens = seen.iter().map(|one| one.tokens.len()).sum();
    report.seconds[0] = clock.seconds();

    let vocabulary = Vocabulary::new(&seen, options);
    let trees = vocabulary.trees(&seen, options.trees, progress);
    report.seconds[1] = clock.seconds();

    let guessing = vocabulary.bound(&trees, &[], Promise::default())?;
    let mut memory = BoundMemory::default();
    let (mut examples, mut right) = (vec![], 0);
    for one in &seen {
        source.show(one.number, &mut |lattice, features| {
            guessing.estimate(lattice, features, &mut memory)?;
            let guess = Guess { labels: &memory.labels, along: &memory.along };
            let inequalities = match options.all_inequalities {
                true => on_all_paths(lattice, guess),
                false => on_best_path(lattice, guess, &one.segments)?,
            };
            right += guess.labels.iter().zip(&one.labels).filter(|(guess, label)| guess == label).count();
            let tokens = one.tokens.iter().map(|token| vocabulary.weighed(token)).collect();
            examples.push(Example { tokens, guess: guess.labels.to_vec(), inequalities });
            Ok(())
        })?;
    }
    report.guessed = right as f64 / report.tokens.max(1) as f64;
    progress(BoundProgress::Fitting(examples.iter().map(|example| example.inequalities.len()).sum()));
    let (weights, size) = fit(
        &examples,
        &FitOptions {
            norm: options.norm,
            regularisation: options.regularisation,
            penalty: options.penalty,
            most: options.delta - options.margin,
            sparse: options.sparse,
            shared_labels: options.all_inequalities,
            may_weigh: &|feature, y| vocabulary.pairs.contains(&(feature, y)),
        },
    )?;
    drop(examples);
    let weights: Vec<_> = weights.into_iter().filter(|(_, value)| value.abs() > 1e-5).collect();
    (report.size, report.weights) = (size, weights.len());
    report.seconds[2] = clock.seconds();

    let bound = vocabulary.bound(&trees, &weights, Promise::default())?;
    measure(source, &order, &bound, options.delta, &mut report, progress)?;
    report.seconds[3] = clock.seconds();
    let bound = LearnedBound::new(BoundParts { promise: report.promise, ..bound.parts })?;
    Ok((bound, report))
}

/// What the exact decoder made of a sequence.
struct Seen {
    number: usize,
    tokens: Vec<Vec<u32>>,
    segments: Vec<Segment>,
    labels: Vec<LabelId>,
    label_count: usize,
}

/// Sequences without positions or without a legal answer are left out.
fn decode_exactly<S: Float>(
    source: &mut dyn BoundSource<S>,
    numbers: &[u32],
    progress: &mut dyn FnMut(BoundProgress),
) -> Result<Vec<Seen>> {
    let mut scratch = Scratch::default();
    let mut seen = vec![];
    for (done, &number) in numbers.iter().enumerate() {
        source.show(number as usize, &mut |lattice, features| {
            let answer = match Decoder::default().decode_segments(lattice, 1, &mut scratch) {
                Err(Error::NoPath) => return Ok(()),
                answer => answer?,
            };
            let best = answer.best();
            if !best.segments.is_empty() {
                seen.push(Seen {
                    number: number as usize,
                    tokens: (0..lattice.positions()).map(|t| features.of_token(t).to_vec()).collect(),
                    segments: best.segments.clone(),
                    labels: best.labels(),
                    label_count: lattice.labels(),
                });
            }
            Ok(())
        })?;
        progress(BoundProgress::Decoded(done + 1, numbers.len()));
    }
    if seen.is_empty() {
        return Err(Error::argument(
            "sequences to learn a bound from",
            "some with tokens and an answer",
            "none",
        ));
    }
    Ok(seen)
}

/// The features that trees may ask for, and those that may have weights.
struct Vocabulary {
    labels: usize,
    asked: HashMap<u32, u32>, // features that trees may ask for: their number among these
    names: Vec<u32>,          // and back
    heavy: HashSet<u32>,      // features that may have weights
    pairs: HashSet<(u32, LabelId)>, // with these labels
}

/// Features rarer than this are not worth a question.
const ASKED: u32 = 3;

impl Vocabulary {
    fn new(seen: &[Seen], options: &BoundOptions) -> Self {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let tokens = || seen.iter().flat_map(|one| one.tokens.iter().zip(&one.labels));
        for (token, _) in tokens() {
            token.iter().for_each(|&feature| *counts.entry(feature).or_default() += 1);
        }
        let mut names: Vec<u32> =
            counts.iter().filter(|(_, count)| **count >= ASKED).map(|(name, _)| *name).collect();
        names.sort_unstable();
        let asked = names.iter().enumerate().map(|(number, &name)| (name, number as u32)).collect();
        let heavy = counts.iter().filter(|(_, count)| **count as usize >= options.frequent);
        let heavy: HashSet<u32> = heavy.map(|(name, _)| *name).collect();
        let pairs = tokens().flat_map(|(token, &y)| token.iter().map(move |&feature| (feature, y)));
        let pairs = pairs.filter(|(feature, _)| heavy.contains(feature)).collect();
        Vocabulary { labels: seen[0].label_count, asked, names, heavy, pairs }
    }

    fn weighed(&self, token: &[u32]) -> Vec<u32> {
        token.iter().copied().filter(|feature| self.heavy.contains(feature)).collect()
    }

    /// Trees that imitate the exact decoder; their questions are token features.
    fn trees(&self, seen: &[Seen], trees: usize, progress: &mut dyn FnMut(BoundProgress)) -> BoostedTrees {
        let numbered = |token: &Vec<u32>| -> Vec<u32> {
            let mut numbers: Vec<u32> =
                token.iter().filter_map(|feature| self.asked.get(feature).copied()).collect();
            numbers.sort_unstable();
            numbers.dedup(); // a question is whether a feature is there, not how often
            numbers
        };
        let tokens: Vec<Vec<u32>> = seen.iter().flat_map(|one| &one.tokens).map(numbered).collect();
        let tokens: Vec<&[u32]> = tokens.iter().map(Vec::as_slice).collect();
        let answers: Vec<LabelId> = seen.iter().flat_map(|one| one.labels.iter().copied()).collect();
        let done = &mut |done| progress(BoundProgress::Trees(done, trees));
        let mut grown = BoostedTrees::fit(&tokens, &answers, self.labels, self.names.len(), trees, done);
        grown.rename(|number| self.names[number as usize]);
        grown
    }

    /// The bound with these trees and weights.
    fn bound(
        &self,
        trees: &BoostedTrees,
        weights: &[(Weight, f64)],
        promise: Promise,
    ) -> Result<LearnedBound> {
        let labels = self.labels;
        let mut parts = BoundParts { labels, promise, trees: trees.clone(), ..BoundParts::default() };
        parts.bias = vec![0.0; labels];
        parts.pairs = vec![0.0; labels * labels];
        let mut rows: Vec<(u32, LabelId, f32)> = vec![];
        for &(weight, value) in weights {
            let value = value as f32;
            match weight {
                Weight::Bias(y) => parts.bias[y as usize] = value,
                Weight::Pair(p, y) => parts.pairs[p as usize * labels + y as usize] = value,
                Weight::Feature(feature, y) => rows.push((feature, y, value)),
            }
        }
        rows.sort_unstable_by_key(|&(feature, y, _)| (feature, y));
        parts.features = rows.iter().map(|row| row.0).chain(trees.questions()).collect();
        parts.features.sort_unstable();
        parts.features.dedup();
        let places: HashMap<u32, u32> =
            parts.features.iter().zip(0..).map(|(&feature, place)| (feature, place)).collect();
        parts.trees.rename(|feature| places[&feature]);
        let starts = parts.features.iter().map(|&feature| rows.partition_point(|row| row.0 < feature) as u32);
        parts.starts = starts.chain([rows.len() as u32]).collect();
        parts.weights = rows.iter().map(|&(_, y, value)| (y, value)).collect();
        LearnedBound::new(parts)
    }
}

/// Explicit scores that a search asked for.
fn asked<S>(answer: &Decoded<S, Segmentation<S>>) -> u64 {
    answer.counters.as_ref().map_or(0, |counters| counters.explicit)
}

/// What the bound is worth on these sequences.
fn measure<S: Float>(
    source: &mut dyn BoundSource<S>,
    numbers: &[u32],
    bound: &LearnedBound,
    delta: f64,
    report: &mut BoundReport,
    progress: &mut dyn FnMut(BoundProgress),
) -> Result<()> {
    let (mut scratch, mut memory) = (Scratch::default(), BoundMemory::default());
    let (mut shortfalls, mut broken, mut explicit) = (vec![], 0, [0, 0]);
    for (done, &number) in numbers.iter().enumerate() {
        source.show(number as usize, &mut |lattice, features| {
            if lattice.positions() == 0 {
                return Ok(()); // no answer can fall short
            }
            let exact = match Decoder::default().decode_segments(lattice, 1, &mut scratch) {
                Err(Error::NoPath) => return Ok(()),
                answer => answer?,
            };
            let estimate = bound.estimate(lattice, features, &mut memory)?;
            let best = exact.best();
            let guess = Guess { labels: &memory.labels, along: &memory.along };
            let inequalities = on_best_path(lattice, guess, &best.segments)?;
            let short = |one: &Inequality| one.completion - estimate.completion(lattice, one.segment) > delta;
            broken += usize::from(inequalities.iter().any(short));
            let lattice = lattice.clone().with_learned(&estimate)?;
            let found = Decoder::SemiAstar(Estimate::Learned).decode_segments(&lattice, 1, &mut scratch)?;
            shortfalls.push((best.score.to_f64() - found.best().score.to_f64()).max(0.0));
            explicit[0] += asked(&exact);
            explicit[1] += asked(&found);
            Ok(())
        })?;
        progress(BoundProgress::Measured(done + 1, numbers.len()));
    }
    let count = shortfalls.len().max(1) as f64;
    report.promise = Promise::measured(&shortfalls, delta);
    report.broken = broken as f64 / count;
    report.explicit = explicit.map(|scores| scores as f64 / count);
    Ok(())
}
