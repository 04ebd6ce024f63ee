//! Hidden Markov models from unlabelled sequences: expectation maximisation.
//!
//! **What.** Each epoch computes how often the current model expects each state, each pair of neighbouring states and
//! each word with each state (forward-backward), and counts these as if they had been observed. **Why.** It finds
//! states that predict words and each other, without supervision; and if some of the sequences are labelled, an HMM
//! that also learns from the rest: labelled sequences count as they are, and the first model is trained on them alone.
//! **Cost.** `T K^2` multiplications per sequence and epoch with `K` states, `K (V + K)` numbers with `V` words. The
//! result depends on the starting point: run a few seeds and keep the model with the smallest loss. **When not.** If
//! all sequences are labelled: [`super::Hmm`] counts once, and handles rare words.
//!
//! ```text
//! P(y | p) = (c(p, y) + s) / (c(p) + s (K + 1)),   P(w | y) = (c(w, y) + s) / (c(y) + s (V + 1))
//! ```
//!
//! with expected counts `c`; one symbol is reserved for unseen words, and ending counts as one more next state. With
//! the smoothing `s` as a prior, `log P(data) + s * sum of the logarithms of all probabilities` never decreases; its
//! negative is the loss. **Papers.** Baum, Petrie, Soules & Weiss 1970; Rabiner 1989, section III C.
//!
//! ```
//! use kbest::Sequence;
//! use kbest::train::{BaumWelch, BaumWelchOptions, Trainer};
//!
//! let text = ["a cat sat", "a dog ran", "the cat ran", "the dog sat"];
//! let sequences: Vec<_> = text.map(|line| Sequence::from_tokens(line.split(' '))).to_vec();
//! let mut trainer = BaumWelch::new(&sequences, BaumWelchOptions { states: 3, ..Default::default() })?;
//! while !trainer.epoch(&mut |_| ())?.converged {}
//! assert_eq!(trainer.model()?.labels().names().collect::<Vec<_>>(), ["S0", "S1", "S2"]);
//! # Ok::<(), kbest::Error>(())
//! ```

use super::{EpochReport, OnProgress, Progress, Recipe, Trainer};
use crate::feature::{Extractor, ExtractorBuilder, FeatureBuffer, FeatureId, FeatureSource, Frozen, Preset};
use crate::model::{EdgeWeight, EdgeWeights, Model, ModelParts, NodeWeightsBuilder};
use crate::sequence::Sequence;
use crate::state::{StateReader, StateWriter};
use kbest_core::lattice::{Edges, Lattice};
use kbest_core::marginal::{MarginalScratch, PairSums, marginals};
use kbest_core::random::Random;
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelOrder, LabelSet, LabelSetBuilder};

/// Options of Baum-Welch training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaumWelchOptions {
    /// Number of states, named `S0`, `S1`, ...; if there are labelled sequences, there is one state per label instead.
    pub states: usize,
    /// Added to every count; above zero, so that nothing is impossible.
    pub smoothing: f64,
    /// Determines the first model, if no sequence is labelled.
    pub seed: u64,
    /// Converged if the loss decreases by at most this fraction of itself.
    pub delta: f64,
}

impl Default for BaumWelchOptions {
    fn default() -> Self {
        BaumWelchOptions { states: 10, smoothing: 0.01, seed: 1, delta: 1e-6 }
    }
}

impl BaumWelchOptions {
    /// Those of a recipe.
    pub(super) fn of(recipe: &Recipe, states: usize) -> Self {
        let usual = BaumWelchOptions::default();
        let smoothing = recipe.smoothing.unwrap_or(usual.smoothing);
        BaumWelchOptions { states, smoothing, seed: recipe.seed, ..usual }
    }
}

/// Limits that tell a slip of the finger from a model: a table of probabilities takes at most 2 GiB.
const MOST_STATES: usize = 1 << 16;
const MOST_NUMBERS: usize = 1 << 28;

/// One sequence: the word of each position, and its labels if it has any.
#[derive(Debug)]
struct Observed {
    words: Vec<FeatureId>,
    gold: Option<Vec<LabelId>>,
    weight: f64,
}

/// A number for each way to begin, to continue, to end, and for each word with each state: counts or logarithms.
#[derive(Debug, Clone, PartialEq)]
struct Table {
    start: Vec<f64>, // K
    steps: Vec<f64>, // K x K
    end: Vec<f64>,   // K
    words: Vec<f64>, // node features x K; the row of the bias is that of unseen words
}

/// An HMM in training.
#[derive(Debug)]
pub struct BaumWelch {
    options: BaumWelchOptions,
    labels: LabelSet,
    extractor: Extractor,
    bias: FeatureId,
    sequences: Vec<Observed>,
    tokens: usize,
    seen: Table, // counts of the labelled sequences
    logs: Table, // the model
    last: Option<f64>,
}

impl BaumWelch {
    /// The first model: random, or counted from the labelled sequences. Words are the first column.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are no positions; [`Error::Argument`] for zero states, more than 65,536, or so many that
    /// there would be more than 2^28 probabilities, or smoothing that is not above zero; errors of extraction.
    pub fn new(sequences: &[Sequence], options: BaumWelchOptions) -> Result<Self> {
        if !(options.smoothing.is_finite() && options.smoothing > 0.0) {
            return Err(Error::argument("smoothing", "a finite number above zero", options.smoothing));
        }
        let sequences = || sequences.iter().filter(|sequence| !sequence.is_empty());
        // No word is rare: all words that occur have probabilities of their own.
        let mut builder = ExtractorBuilder::new(FeatureSource::Preset(Preset::Hmm)).rare_up_to(0);
        sequences().for_each(|sequence| builder.count_words(sequence));
        let (mut names, mut features) = (LabelSetBuilder::new(), FeatureBuffer::new());
        let (mut observed, mut bias) = (Vec::new(), None);
        for sequence in sequences() {
            builder.observe(sequence, &mut features)?;
            // Each position has two features: the bias and its word.
            let words: Vec<FeatureId> = (0..features.len()).map(|t| features.nodes(t)[1]).collect();
            bias = bias.or(Some(features.nodes(0)[0]));
            let label = |t| sequence.label(t).map(|name| names.add(name));
            let gold = if sequence.is_labelled() { (0..sequence.len()).map(label).collect() } else { None };
            observed.push(Observed { words, gold, weight: sequence.weight() });
        }
        let Some(bias) = bias else {
            return Err(Error::shape("training data", "at least one sequence", 0));
        };
        if names.is_empty() && options.states > MOST_STATES {
            return Err(Error::argument("states", format!("at most {MOST_STATES}"), options.states));
        }
        let labels = match names.is_empty() {
            true => LabelSet::from_names((0..options.states).map(|state| format!("S{state}"))),
            false => names.freeze(LabelOrder::FirstSeen).0,
        };
        if labels.is_empty() {
            return Err(Error::argument("states", "at least 1", 0));
        }
        let Frozen { extractor, .. } = builder.freeze(0); // drops nothing, so that numbers stay the same
        let numbers = labels.len() * (labels.len() + extractor.nodes().len());
        if numbers > MOST_NUMBERS {
            let expected = format!("at most {MOST_NUMBERS} probabilities, states x (states + words)");
            return Err(Error::argument("states", expected, numbers));
        }
        let tokens = observed.iter().map(|sequence| sequence.words.len()).sum();
        let seen = Table::new(labels.len(), extractor.nodes().len());
        let logs = seen.clone();
        let mut trainer = BaumWelch {
            options,
            labels,
            extractor,
            bias,
            sequences: observed,
            tokens,
            seen,
            logs,
            last: None,
        };
        trainer.begin();
        Ok(trainer)
    }

    /// Counts the labelled sequences and builds the first model.
    fn begin(&mut self) {
        for Observed { words, gold, weight } in &self.sequences {
            let Some(gold) = gold else { continue };
            self.seen.add_path(words, gold, *weight);
        }
        let mut counts = self.seen.clone();
        if self.sequences.iter().all(|sequence| sequence.gold.is_none()) {
            let mut random = Random::new(self.options.seed);
            for count in counts.lists_mut().into_iter().flatten() {
                *count = -f64::ln(1.0 - random.unit()); // once normalised, all distributions are equally likely
            }
            let labels = self.labels.len();
            counts.words[self.bias as usize * labels..][..labels].fill(0.0);
        }
        self.logs = counts.logarithms(self.options.smoothing);
    }

    /// Expected counts of all sequences, and the logarithm of their probability.
    fn expect(&self, on_progress: OnProgress<'_>) -> Result<(Table, f64)> {
        let labels = self.labels.len();
        let edges = Edges::dense(labels, &self.logs.steps)?;
        let mut counts = self.seen.clone();
        let (mut scratch, mut pairs) = (MarginalScratch::new(), PairSums::new());
        let (mut likelihood, mut progress) = (0.0, Progress::default());
        pairs.reset(&edges)?;
        for Observed { words, gold, weight } in &self.sequences {
            let nodes: Vec<f64> =
                words.iter().flat_map(|&word| self.logs.row(word, labels)).copied().collect();
            let lattice =
                Lattice::new(nodes, &edges)?.with_start(&self.logs.start)?.with_end(&self.logs.end)?;
            if let Some(gold) = gold {
                likelihood += weight * lattice.path_score(gold)?;
            } else {
                let marginals = marginals(&lattice, &mut scratch)?;
                likelihood += weight * marginals.log_partition();
                pairs.add(&marginals, *weight);
                for (t, &word) in words.iter().enumerate() {
                    let row = &mut counts.words[word as usize * labels..][..labels];
                    add_scaled(row, *weight, marginals.node(t));
                }
                add_scaled(&mut counts.start, *weight, marginals.node(0));
                add_scaled(&mut counts.end, *weight, marginals.node(words.len() - 1));
            }
            progress.done += 1;
            progress.tokens += words.len();
            on_progress(progress);
        }
        pairs.visit(&edges, |p, y, sum| counts.steps[p * labels + y] += sum);
        Ok((counts, likelihood))
    }
}

fn add_scaled(to: &mut [f64], scale: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += scale * from);
}

impl Table {
    fn new(labels: usize, features: usize) -> Self {
        let zeros = |len: usize| vec![0.0; len];
        Table {
            start: zeros(labels),
            steps: zeros(labels * labels),
            end: zeros(labels),
            words: zeros(features * labels),
        }
    }

    fn row(&self, word: FeatureId, labels: usize) -> &[f64] {
        &self.words[word as usize * labels..][..labels]
    }

    fn add_path(&mut self, words: &[FeatureId], gold: &[LabelId], weight: f64) {
        let labels = self.start.len();
        for (t, (&word, &y)) in words.iter().zip(gold).enumerate() {
            self.words[word as usize * labels + y as usize] += weight;
            match t.checked_sub(1) {
                None => self.start[y as usize] += weight,
                Some(before) => self.steps[gold[before] as usize * labels + y as usize] += weight,
            }
            if t + 1 == gold.len() {
                self.end[y as usize] += weight;
            }
        }
    }

    /// From counts to logarithms of probabilities.
    fn logarithms(mut self, smoothing: f64) -> Self {
        let labels = self.start.len();
        let all: f64 = self.start.iter().map(|count| count + smoothing).sum();
        self.start.iter_mut().for_each(|count| *count = ((*count + smoothing) / all).ln());
        for (row, end) in self.steps.chunks_exact_mut(labels).zip(&mut self.end) {
            let all: f64 = row.iter().chain([&*end]).map(|count| count + smoothing).sum();
            row.iter_mut().chain([end]).for_each(|count| *count = ((*count + smoothing) / all).ln());
        }
        let mut all = vec![0.0; labels];
        for row in self.words.chunks_exact(labels) {
            all.iter_mut().zip(row).for_each(|(all, count)| *all += count + smoothing);
        }
        for row in self.words.chunks_exact_mut(labels) {
            row.iter_mut().zip(&all).for_each(|(count, all)| *count = ((*count + smoothing) / all).ln());
        }
        self
    }

    fn lists(&self) -> [&Vec<f64>; 4] {
        [&self.start, &self.steps, &self.end, &self.words]
    }

    fn lists_mut(&mut self) -> [&mut Vec<f64>; 4] {
        [&mut self.start, &mut self.steps, &mut self.end, &mut self.words]
    }

    fn sum(&self) -> f64 {
        self.lists().into_iter().flatten().sum()
    }
}

impl Trainer for BaumWelch {
    type Model = Model;

    /// One round; the loss is that of the model before it.
    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport> {
        let (counts, likelihood) = self.expect(on_progress)?;
        let loss = -(likelihood + self.options.smoothing * self.logs.sum());
        self.logs = counts.logarithms(self.options.smoothing);
        let before = self.last.replace(loss);
        Ok(EpochReport {
            sequences: self.sequences.len(),
            tokens: self.tokens,
            right: None,
            loss,
            converged: before.is_some_and(|before| before - loss <= self.options.delta * loss.abs()),
        })
    }

    fn model(&self) -> Result<Model> {
        let labels = self.labels.len();
        let ids = 0..labels as LabelId;
        let never_seen = self.logs.row(self.bias, labels);
        let mut nodes = NodeWeightsBuilder::new(labels);
        for feature in 0..self.extractor.nodes().len() as FeatureId {
            let row = self.logs.row(feature, labels).iter().zip(never_seen);
            let weights = row.map(|(log, base)| if feature == self.bias { *log } else { log - base });
            nodes.push(ids.clone().zip(weights.map(|weight| weight as f32)))?;
        }
        let pairs = || ids.clone().flat_map(|from| ids.clone().map(move |to| (from, to)));
        let weights = || pairs().zip(&self.logs.steps);
        let edges = (0..self.extractor.edges().len()).map(|_| {
            weights().map(|((from, to), &log)| EdgeWeight { from, to, weight: log as f32 }).collect()
        });
        let narrow = |logs: &[f64]| Some(logs.iter().map(|&log| log as f32).collect());
        let edges = EdgeWeights::new(labels, edges)?;
        Model::new(ModelParts {
            start: narrow(&self.logs.start),
            end: narrow(&self.logs.end),
            ..ModelParts::new(self.labels.clone(), self.extractor.clone(), nodes.finish(), edges)
        })
    }

    fn save(&self, state: &mut StateWriter) {
        state.number(self.last.unwrap_or(f64::NAN));
        self.logs.lists().into_iter().for_each(|list| state.list(list.iter().copied()));
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        self.last = Some(state.number::<f64>()?).filter(|last| !last.is_nan());
        self.logs.lists_mut().into_iter().try_for_each(|list| state.list_into(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoring::rows::{self, ScoreBuffer};

    /// Words of two hidden states that alternate, with an occasional repetition.
    fn text(sequences: usize, labelled: usize) -> Vec<Sequence> {
        let mut random = Random::new(5);
        let one = |i: usize| {
            let mut sequence = Sequence::new();
            let mut state = random.below(2);
            for _ in 0..4 + random.below(12) {
                let word = if random.below(20) == 0 { random.below(8) } else { 4 * state + random.below(4) };
                sequence.push([format!("w{word}")]);
                if i < labelled {
                    sequence.set_label(["A", "B"][state]);
                }
                state ^= usize::from(random.below(5) > 0);
            }
            sequence
        };
        (0..sequences).map(one).collect()
    }

    fn losses(trainer: &mut BaumWelch) -> Vec<f64> {
        let mut losses = Vec::new();
        for _ in 0..500 {
            let report = trainer.epoch(&mut |_| ()).unwrap();
            losses.push(report.loss);
            if report.converged {
                return losses;
            }
        }
        panic!("no convergence: {losses:?}");
    }

    #[test]
    fn the_likelihood_never_falls() {
        for (seed, labelled, smoothing) in [(1, 0, 1e-3), (2, 0, 1.0), (3, 7, 0.1), (4, 40, 0.1)] {
            let options = BaumWelchOptions { states: 4, seed, smoothing, delta: 1e-9 };
            let losses = losses(&mut BaumWelch::new(&text(40, labelled), options).unwrap());
            for two in losses.windows(2) {
                assert!(two[1] <= two[0] + 1e-9 * two[0].abs(), "seed {seed}: {losses:?}");
            }
            assert!(labelled == 40 || losses[0] > losses[losses.len() - 1] + 1.0, "{losses:?}");
        }
    }

    /// Each state takes the words of one hidden state, and is followed by the other.
    #[test]
    fn hidden_states_are_found() {
        // The result depends on the starting point: take the best of a few.
        let runs = (1..6).map(|seed| {
            let options = BaumWelchOptions { states: 2, seed, ..Default::default() };
            let mut trainer = BaumWelch::new(&text(100, 0), options).unwrap();
            (losses(&mut trainer).pop().unwrap(), trainer)
        });
        let trainer = runs.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap().1;
        let model = trainer.model().unwrap();
        let row = |word: usize| {
            let mut row = [0.0; 2];
            let id = model.extractor().nodes().id(format!("w=w{word}").as_bytes()).unwrap();
            model.nodes().add_to(id, 1.0, &mut row);
            row[0] > row[1]
        };
        assert!((1..4).all(|word| row(word) == row(0)) && (4..8).all(|word| row(word) != row(0)));
        let steps: Vec<f64> = trainer.logs.steps.iter().map(|log| log.exp()).collect();
        assert!(steps[1] > 0.6 && steps[2] > 0.6 && steps[0] < 0.3 && steps[3] < 0.3, "{steps:?}");
    }

    /// The model scores paths as the trainer does, and probabilities that belong together sum to 1.
    #[test]
    fn the_model_is_the_hmm() {
        let sequences = text(20, 3);
        let mut trainer = BaumWelch::new(&sequences, BaumWelchOptions::default()).unwrap();
        for _ in 0..3 {
            trainer.epoch(&mut |_| ()).unwrap();
        }
        let Table { start, steps, end, words } = &trainer.logs;
        let one = |logs: &mut dyn Iterator<Item = &f64>| {
            (logs.map(|log| log.exp()).sum::<f64>() - 1.0).abs() < 1e-12
        };
        assert!(one(&mut start.iter()));
        for y in 0..2 {
            assert!(one(&mut steps[2 * y..2 * y + 2].iter().chain([&end[y]])));
            assert!(one(&mut words.iter().skip(y).step_by(2)));
        }
        let model = trainer.model().unwrap();
        let mut names: Vec<&str> = model.labels().names().collect();
        names.sort_unstable();
        assert_eq!(names, ["A", "B"]);
        let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
        for sequence in &sequences {
            model.extractor().extract(sequence, &mut features).unwrap();
            let lattice = rows::lattice(&model, &features, &mut buffer).unwrap();
            let path: Vec<LabelId> = (0..sequence.len() as LabelId).map(|t| t * t % 3 % 2).collect();
            let mut expected = start[path[0] as usize] + end[path[path.len() - 1] as usize];
            for (t, &y) in path.iter().enumerate() {
                expected += trainer.logs.row(features.nodes(t)[1], 2)[y as usize];
                expected += if t > 0 { steps[2 * path[t - 1] as usize + y as usize] } else { 0.0 };
            }
            let got = f64::from(lattice.path_score(&path).unwrap());
            assert!((got - expected).abs() < 1e-4 * expected.abs(), "{got}, {expected}");
        }
        model.extractor().extract(&Sequence::from_tokens(["unheard", "of"]), &mut features).unwrap();
        let lattice = rows::lattice(&model, &features, &mut buffer).unwrap();
        assert!(lattice.path_score(&[0, 1]).unwrap().is_finite());
    }

    #[test]
    fn labels_for_all_are_counted_and_the_seed_decides() {
        let all = text(30, 30);
        let mut trainer = BaumWelch::new(&all, BaumWelchOptions::default()).unwrap();
        let before = trainer.logs.clone();
        trainer.epoch(&mut |_| ()).unwrap();
        assert_eq!(trainer.logs, before, "nothing is left to be expected");
        let first = |seed| {
            let options = BaumWelchOptions { states: 3, seed, ..Default::default() };
            BaumWelch::new(&text(5, 0), options).unwrap().logs
        };
        assert!(first(1) == first(1) && first(1) != first(2));
    }

    #[test]
    fn bad_input_is_refused() {
        let text = text(3, 0);
        for (sequences, states, smoothing) in
            [(&text[..], 0, 0.1), (&text, 2, 0.0), (&text, 2, f64::NAN), (&[], 2, 0.1)]
        {
            let options = BaumWelchOptions { states, smoothing, ..Default::default() };
            assert!(matches!(
                BaumWelch::new(sequences, options),
                Err(Error::Shape { .. } | Error::Argument { .. })
            ));
        }
    }
}
