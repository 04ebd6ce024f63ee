//! Hidden Markov models by counting.
//!
//! **What.** How often does each label follow each other label, and how often does each label occur with each word?
//! Smoothed, these counts are a generative model of labelled text, estimated in one pass. **Why.** Nothing trains
//! faster, and people can read and edit a lexicon and a table of label pairs. **When not.** If there is time to train a
//! perceptron or a CRF: both make better use of the same data. **Cost.** One pass; the model stores only what was
//! counted, and nothing of size `L x L`.
//!
//! ```text
//! score of a path = ln P(y_0) + sum over t of (ln P(y_t | y_(t-1)) + ln P(x_t | y_t)) + ln P(end | y_last)
//! P(y | p) = (c(p, y) + a) / (c(p) + a (L + 1)),    P(x | y) = (c(x, y) + b) / (c(y) + b V)
//! ```
//!
//! **A linear model with few weights.** The probability of an unseen pair is `a / (c(p) + a (L + 1))`, which depends
//! only on `p`: it is scored as a *bias* of each label, so that the edges hold `ln (1 + c(p, y) / a)` and are zero for
//! unseen pairs; the end scores take back the bias of the last label. Words are treated the same way.
//!
//! **Rare words.** The symbols `x` are the frequent words and, for all rare and unknown words, four classes of word
//! shapes (capital, digit, other letters, none). Within a class the labels of a word are guessed from longer and longer
//! suffixes, and finally from the word itself, each level smoothed by the one before:
//!
//! ```text
//! P_m(y) = (c_m(y) + k P_(m-1)(y)) / (c_m + k)
//! ```
//!
//! Its score is `ln P_m(y) / P_1(y)` without the terms that do not depend on the label, that is, the sum over `m` of
//! `ln (1 + c_m(y) / (k P_(m-1)(y)))`: again zero for everything unseen. So the path score is the logarithm of the
//! joint probability of labels and words, except that for rare words it lacks a factor that is the same for all label
//! sequences.
//!
//! **Papers.** Rabiner 1989; Brants, *TnT: a statistical part-of-speech tagger*, 2000, section 2.3 on suffixes, where
//! every level has the same weight, however often it was seen.
//!
//! ```
//! use kbest::feature::{FeatureSource, Preset};
//! use kbest::train::{Hmm, HmmOptions, Trainer, TrainingSet};
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! let mut sequence = Sequence::new();
//! for (word, label) in [("the", "DET"), ("old", "NOUN"), ("man", "VERB"), ("the", "DET"), ("boats", "NOUN")] {
//!     sequence.push([word]);
//!     sequence.set_label(label);
//! }
//! let data = TrainingSet::new(&[sequence], FeatureSource::Preset(Preset::Hmm), 1)?;
//! let mut trainer = Hmm::new(Arc::new(data), HmmOptions::default())?;
//! trainer.epoch(&mut |_| ())?;
//! let mut tagger = Tagger::new(Arc::new(trainer.model()?));
//! let answer = tagger.tag(&Sequence::from_tokens(["the", "goats"]), 1)?.decoded.best().labels.clone();
//! let names: Vec<_> = answer.iter().map(|&y| tagger.model().labels().name(y).unwrap()).collect();
//! assert_eq!(names, ["DET", "NOUN"]);
//! # Ok::<(), kbest::Error>(())
//! ```

use super::family::{Layout, Scope};
use super::rows::{Finished, Names, RowLayout};
use super::{EpochReport, Example, OnProgress, Progress, Recipe, Trainer, TrainingSet};
use crate::feature::{FeatureId, FeatureSource, Preset};
use crate::model::{Model, ModelParts};
use crate::state::{StateReader, StateWriter};
use kbest_core::{Error, Result};
use std::sync::Arc;

/// The smoothing of counts: all values are above zero, so that nothing is impossible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HmmOptions {
    /// `a`, added to the count of each label after each other label.
    pub transitions: f64,
    /// `b`, added to the count of each word or class with each label.
    pub emissions: f64,
    /// `k`, the weight of the next shorter suffix.
    pub suffixes: f64,
}

impl Default for HmmOptions {
    fn default() -> Self {
        HmmOptions { transitions: 0.1, emissions: 0.01, suffixes: 1.0 }
    }
}

impl HmmOptions {
    /// Those of a recipe.
    pub(super) fn of(recipe: &Recipe) -> Self {
        let usual = HmmOptions::default();
        let transitions = recipe.smoothing.unwrap_or(usual.transitions);
        HmmOptions { transitions, emissions: recipe.smoothing.unwrap_or(usual.emissions), ..usual }
    }

    fn check(&self) -> Result<()> {
        let HmmOptions { transitions, emissions, suffixes } = *self;
        for (what, value) in [("transitions", transitions), ("emissions", emissions), ("suffixes", suffixes)]
        {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::argument(
                    format!("smoothing of {what}"),
                    "a finite number above zero",
                    value,
                ));
            }
        }
        Ok(())
    }
}

/// An HMM in training.
#[derive(Debug)]
pub struct Hmm {
    data: Arc<TrainingSet>,
    options: HmmOptions,
    parameters: RowLayout,
    parents: Vec<Option<FeatureId>>, // per node feature: the one that precedes it everywhere
    counts: Vec<f64>,                // one per weight
    first: Vec<f64>,                 // L: how often a sequence begins with the label
    last: Vec<f64>,                  // L: how often one ends with it
}

/// Log probabilities, in the form of a linear model.
struct Scores {
    weights: Vec<f64>, // one per weight
    start: Vec<f64>,   // L
    end: Vec<f64>,     // L
    rest: f64,         // what all paths of the data lack together: the parts of `P_m` that depend on no label
}

impl Hmm {
    /// An HMM without counts.
    ///
    /// # Errors
    /// [`Error::Argument`] if the features are not those of [`Preset::Hmm`], or an option is not above zero.
    pub fn new(data: Arc<TrainingSet>, options: HmmOptions) -> Result<Self> {
        options.check()?;
        if *data.extractor().source() != FeatureSource::Preset(Preset::Hmm) {
            return Err(Error::argument("features of an HMM", "the preset `hmm`", "other features"));
        }
        let labels = data.labels().len();
        let parameters =
            RowLayout::new(Names::labels(labels), data.extractor(), data.examples(), Scope::default());
        let mut parents = vec![None; data.extractor().nodes().len()];
        for Example { features, .. } in data.examples() {
            for nodes in (0..features.len()).map(|t| features.nodes(t)) {
                nodes.windows(2).for_each(|two| parents[two[1] as usize] = Some(two[0]));
            }
        }
        let counts = vec![0.0; parameters.len()];
        let (first, last) = (vec![0.0; labels], vec![0.0; labels]);
        Ok(Hmm { data, options, parameters, parents, counts, first, last })
    }

    fn scores(&self) -> Scores {
        let HmmOptions { transitions: a, emissions: b, .. } = self.options;
        let labels = self.first.len();
        let of_label = self.label_counts();
        let mut weights = vec![0.0; self.counts.len()];
        for feature in 0..self.data.extractor().edges().len() as FeatureId {
            for i in self.parameters.edge_range(feature) {
                weights[i] = (self.counts[i] / a).ln_1p();
            }
        }
        let symbols = self.parents.iter().filter(|parent| parent.is_some_and(|id| self.is_bias(id))).count();
        let symbols = symbols as f64 + 1.0; // and one for unseen classes
        let base = |y: usize| {
            let transition = (a / (of_label[y] + a * (labels as f64 + 1.0))).ln();
            transition + (b / (of_label[y] + b * symbols)).ln()
        };
        let mut shares = vec![0.0; self.counts.len()]; // P_m(y), one per weight
        let mut rest = 0.0;
        for feature in 0..self.parents.len() as FeatureId {
            let range = self.parameters.node_range(feature);
            match self.parents[feature as usize] {
                None => {
                    let row = self.parameters.row(feature).iter();
                    weights[range].iter_mut().zip(row).for_each(|(w, &y)| *w = base(y as usize));
                }
                Some(parent) if self.is_bias(parent) => {
                    for i in range.clone() {
                        weights[i] = (self.counts[i] / b).ln_1p();
                    }
                    let posterior =
                        |y: usize, count: f64| (count + b) / (of_label[y] + b * symbols) * (of_label[y] + b);
                    self.fill_shares(feature, posterior, &mut shares);
                }
                Some(parent) => rest += self.lean(feature, parent, &mut shares, &mut weights),
            }
        }
        let sequences = self.first.iter().sum::<f64>() + a * labels as f64;
        Scores {
            weights,
            start: self.first.iter().map(|count| ((count + a) / sequences).ln()).collect(),
            end: self.last.iter().map(|count| (count / a).ln_1p()).collect(),
            rest,
        }
    }

    /// Whether a feature is the one that every position has, as its first.
    fn is_bias(&self, feature: FeatureId) -> bool {
        self.parents[feature as usize].is_none()
    }

    /// How often each label occurs.
    fn label_counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.first.len()];
        for feature in (0..self.parents.len() as FeatureId).filter(|&feature| self.is_bias(feature)) {
            let row = self.parameters.row(feature).iter();
            row.zip(&self.counts[self.parameters.node_range(feature)])
                .for_each(|(&y, count)| counts[y as usize] += count);
        }
        counts
    }

    /// `P_1(y)` of a class: how its occurrences are distributed among the labels.
    fn fill_shares(&self, class: FeatureId, posterior: impl Fn(usize, f64) -> f64, shares: &mut [f64]) {
        let range = self.parameters.node_range(class);
        let row = self.parameters.row(class);
        let mut counts = vec![0.0; self.first.len()];
        row.iter().zip(&self.counts[range.clone()]).for_each(|(&y, &count)| counts[y as usize] = count);
        let all: f64 = counts.iter().enumerate().map(|(y, &count)| posterior(y, count)).sum();
        for (&y, i) in row.iter().zip(range) {
            shares[i] = posterior(y as usize, self.counts[i]) / all;
        }
    }

    /// One more level: `feature` was seen only where `parent` was, so all its labels are among the parent's. Returns
    /// what the scores of all its occurrences lack.
    fn lean(&self, feature: FeatureId, parent: FeatureId, shares: &mut [f64], weights: &mut [f64]) -> f64 {
        let k = self.options.suffixes;
        let range = self.parameters.node_range(feature);
        let count: f64 = self.counts[range.clone()].iter().sum();
        let (parent_row, parent_start) =
            (self.parameters.row(parent), self.parameters.node_range(parent).start);
        for (&y, i) in self.parameters.row(feature).iter().zip(range) {
            let Ok(at) = parent_row.binary_search(&y) else { continue };
            let leant_on = k * shares[parent_start + at];
            shares[i] = (self.counts[i] + leant_on) / (count + k);
            weights[i] = (self.counts[i] / leant_on).ln_1p();
        }
        -count * (count / k).ln_1p()
    }
}

impl Trainer for Hmm {
    type Model = Model;

    /// Counts everything again. The loss is the negative logarithm of the joint probability of labels and symbols; it
    /// includes what the suffixes of rare words show about their labels.
    fn epoch(&mut self, on_progress: OnProgress<'_>) -> Result<EpochReport> {
        for counts in [&mut self.counts, &mut self.first, &mut self.last] {
            counts.fill(0.0);
        }
        let mut progress = Progress::default();
        for example in self.data.examples() {
            self.parameters.add_gold(example, example.weight, &mut self.counts);
            if let (Some(&first), Some(&last)) = (example.gold.first(), example.gold.last()) {
                self.first[first as usize] += example.weight;
                self.last[last as usize] += example.weight;
            }
            progress.done += 1;
            progress.tokens += example.gold.len();
            on_progress(progress);
        }
        let scores = self.scores();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let likelihood = dot(&self.counts, &scores.weights)
            + dot(&self.first, &scores.start)
            + dot(&self.last, &scores.end)
            + scores.rest;
        Ok(EpochReport {
            sequences: progress.done,
            tokens: progress.tokens,
            right: None,
            loss: -likelihood,
            converged: true,
        })
    }

    fn model(&self) -> Result<Model> {
        let Scores { weights, start, end, .. } = self.scores();
        let Finished { nodes, edges, .. } = self.parameters.finished(&weights)?;
        let narrow = |scores: Vec<f64>| Some(scores.into_iter().map(|score| score as f32).collect());
        let (labels, extractor) = (self.data.labels().clone(), self.data.extractor().clone());
        Model::new(ModelParts {
            start: narrow(start),
            end: narrow(end),
            ..ModelParts::new(labels, extractor, nodes, edges)
        })
    }

    fn save(&self, state: &mut StateWriter) {
        for counts in [&self.counts, &self.first, &self.last] {
            state.list(counts.iter().copied());
        }
    }

    fn restore(&mut self, state: &mut StateReader<'_>) -> Result<()> {
        for counts in [&mut self.counts, &mut self.first, &mut self.last] {
            state.list_into(counts)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::{ExtractorBuilder, FeatureBuffer};
    use crate::scoring::rows::{self, ScoreBuffer};
    use crate::sequence::Sequence;
    use kbest_core::LabelId;
    use std::collections::HashMap;

    const OPTIONS: HmmOptions = HmmOptions { transitions: 0.5, emissions: 0.25, suffixes: 2.0 };

    fn sequence(text: &str, weight: f64) -> Sequence {
        let mut sequence = Sequence::new();
        for token in text.split(' ') {
            let (word, label) = token.split_once('/').unwrap();
            sequence.push([word]);
            sequence.set_label(label);
        }
        sequence.set_weight(weight);
        sequence
    }

    fn corpus() -> Vec<Sequence> {
        vec![
            sequence("the/D man/N walks/V", 1.0),
            sequence("the/D walks/N end/V", 2.0),
            sequence("a/D man/N talks/V the/D talks/N", 1.0),
            sequence("Ann/P walks/V", 0.5),
            sequence("Bob/P talked/V 42/C walks/N", 1.0),
        ]
    }

    fn train(rare_up_to: u32) -> Model {
        let builder = ExtractorBuilder::new(FeatureSource::Preset(Preset::Hmm)).rare_up_to(rare_up_to);
        let data = Arc::new(TrainingSet::from_builder(&corpus(), builder, 1).unwrap());
        let mut hmm = Hmm::new(data.clone(), OPTIONS).unwrap();
        let report = hmm.epoch(&mut |_| ()).unwrap();
        assert!(report.converged && report.tokens == 17);
        assert_eq!(hmm.epoch(&mut |_| ()).unwrap(), report, "counting twice does not count double");
        if rare_up_to == 0 {
            let joint: f64 = corpus().iter().map(|s| s.weight() * joint(s)).sum();
            assert!((report.loss + joint).abs() < 1e-9, "{} {joint}", report.loss);
        }
        hmm.model().unwrap()
    }

    fn score(model: &Model, words: &[&str], labels: &[LabelId]) -> f64 {
        let (mut features, mut buffer) = (FeatureBuffer::new(), ScoreBuffer::new());
        model.extractor().extract(&Sequence::from_tokens(words), &mut features).unwrap();
        let lattice = rows::lattice(model, &features, &mut buffer).unwrap();
        lattice.path_score(labels).unwrap().into()
    }

    /// The logarithm of the joint probability, counted with maps of strings.
    fn joint(sequence: &Sequence) -> f64 {
        let mut counts: HashMap<String, f64> = HashMap::new();
        let mut count = |key: String, weight: f64| *counts.entry(key).or_default() += weight;
        let (mut words, mut labels) = (vec![], vec![]);
        for sequence in corpus() {
            let mut last = String::from("START");
            for t in 0..sequence.len() {
                let (word, label) = (sequence.cell(t, 0).unwrap(), sequence.label(t).unwrap());
                words.push(word.to_owned());
                labels.push(label.to_owned());
                count(format!("{last} {label}"), sequence.weight());
                count(format!("{label}/{word}"), sequence.weight());
                count(label.to_owned(), sequence.weight());
                last = label.to_owned();
            }
            count(format!("{last} END"), sequence.weight());
            count("START".into(), sequence.weight());
        }
        for names in [&mut words, &mut labels] {
            names.sort();
            names.dedup();
        }
        let of = |key: &str| counts.get(key).copied().unwrap_or(0.0);
        let (a, b) = (OPTIONS.transitions, OPTIONS.emissions);
        let step = |from: &str, to: &str, choices: usize| {
            ((of(&format!("{from} {to}")) + a) / (of(from) + a * choices as f64)).ln()
        };
        let (mut log, mut last) = (0.0, "START");
        for t in 0..sequence.len() {
            let (word, label) = (sequence.cell(t, 0).unwrap(), sequence.label(t).unwrap());
            log += step(last, label, labels.len() + usize::from(t > 0));
            let symbols = words.len() as f64 + 1.0;
            log += ((of(&format!("{label}/{word}")) + b) / (of(label) + b * symbols)).ln();
            last = label;
        }
        log + step(last, "END", labels.len() + 1)
    }

    #[test]
    fn scores_are_joint_probabilities() {
        let model = train(0);
        for text in [
            "the/D man/N walks/V",
            "man/N the/D",
            "man/C man/P man/V end/D 42/N the/V the/V",
            "walks/V",
            "42/D Ann/D Bob/C talks/N a/P",
        ] {
            let sequence = sequence(text, 1.0);
            let words: Vec<_> = (0..sequence.len()).map(|t| sequence.cell(t, 0).unwrap()).collect();
            let labels: Vec<_> =
                (0..sequence.len()).map(|t| model.labels().id(sequence.label(t).unwrap()).unwrap()).collect();
            let (got, expected) = (score(&model, &words, &labels), joint(&sequence));
            assert!((got - expected).abs() < 1e-5 * expected.abs(), "{text}: {got}, {expected}");
        }
    }

    /// `talker` is unknown, of class `x`, and has no known suffix; the longest known suffix of `stalks` is `talks`.
    #[test]
    fn unknown_words_are_guessed_from_suffixes() {
        let model = train(10);
        let labels = model.labels();
        // How often each label has each suffix, among words of class `x`, with the sequences' weights.
        let noun_and_verb = |n: f64, v: f64| HashMap::from([("N", n), ("V", v)]);
        let levels = [
            noun_and_verb(4.0, 2.5), // -s
            noun_and_verb(4.0, 2.5), // -ks
            noun_and_verb(4.0, 2.5), // -lks
            noun_and_verb(4.0, 2.5), // -alks
            noun_and_verb(1.0, 1.0), // -talks
        ];
        let in_class = HashMap::from([("D", 5.0), ("N", 6.0), ("V", 5.5)]);
        let of_label = HashMap::from([("D", 5.0), ("N", 6.0), ("V", 5.5), ("P", 1.5), ("C", 1.0)]);
        let (b, k) = (OPTIONS.emissions, OPTIONS.suffixes);
        let symbols = 4.0; // three classes that were seen, and one for others
        let mut shares: HashMap<&str, f64> = of_label
            .iter()
            .map(|(&y, c)| (y, (in_class.get(y).unwrap_or(&0.0) + b) / (c + b * symbols) * (c + b)))
            .collect();
        let class = shares.clone();
        let all: f64 = shares.values().sum();
        shares.values_mut().for_each(|share| *share /= all);
        for level in &levels {
            let total: f64 = level.values().sum();
            for (y, share) in &mut shares {
                *share = (level.get(y).unwrap_or(&0.0) + k * *share) / (total + k);
            }
        }
        // The same sequence of one position: start, bias, class and end do not change with the suffixes.
        let emission = |word: &str, y: &str| {
            let id = labels.id(y).unwrap();
            let (mut features, mut row) = (FeatureBuffer::new(), vec![0.0; labels.len()]);
            model.extractor().extract(&Sequence::from_tokens([word]), &mut features).unwrap();
            features.nodes(0)[1..].iter().for_each(|&f| model.nodes().add_to(f, 1.0, &mut row));
            f64::from(row[id as usize])
        };
        let base = |y: &str| (b / (of_label[y] + b * symbols)).ln();
        for y in ["D", "V", "P", "C"] {
            let got = (emission("stalks", y) + base(y)) - (emission("stalks", "N") + base("N"));
            let expected = (shares[y] / (of_label[y] + b)).ln() - (shares["N"] / (of_label["N"] + b)).ln();
            assert!((got - expected).abs() < 1e-5, "{y}: {got}, {expected}");
            let got = (emission("talker", y) + base(y)) - (emission("talker", "N") + base("N"));
            let expected = (class[y] / (of_label[y] + b)).ln() - (class["N"] / (of_label["N"] + b)).ln();
            assert!((got - expected).abs() < 1e-5, "only the class, {y}: {got}, {expected}");
        }
        assert!(emission("Eve", "P") > emission("Eve", "N") && emission("1984", "C") > emission("1984", "N"));
    }

    #[test]
    fn nothing_is_impossible() {
        for rare_up_to in [0, 1, 10] {
            let model = train(rare_up_to);
            for word in ["the", "unheard", "X", "7", "!", ""] {
                for (p, y) in (0..5).flat_map(|p| (0..5).map(move |y| (p, y))) {
                    assert!(score(&model, &[word, word], &[p, y]).is_finite(), "{word} {p} {y}");
                }
            }
        }
    }

    #[test]
    fn other_features_and_no_smoothing_are_refused() {
        let words = TrainingSet::new(&corpus(), FeatureSource::Preset(Preset::Words), 1).unwrap();
        assert!(matches!(Hmm::new(Arc::new(words), OPTIONS), Err(Error::Argument { .. })));
        let data = Arc::new(TrainingSet::new(&corpus(), FeatureSource::Preset(Preset::Hmm), 1).unwrap());
        for smoothing in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let options = HmmOptions { emissions: smoothing, ..OPTIONS };
            assert!(matches!(Hmm::new(data.clone(), options), Err(Error::Argument { .. })));
        }
    }
}
