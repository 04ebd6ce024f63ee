//! Dual models as a [family](super::Family): labelled text seen through a kernel between tokens.
//!
//! **What.** The weight vector is never written down: it is a sum of training tokens, each with a coefficient per label, and
//! a matrix of transitions, as in the appendix on Viterbi decoding for label sequence learning:
//!
//! ```text
//! f(x, y) = a(ε, y_1) + sum of a(y_{t-1}, y_t) + sum of b(y_t, x_t),    b(σ, x) = sum over tokens s of c(s, σ) k(s, x)
//! ```
//!
//! A perceptron that errs at a token adds 1 to the coefficient of the right label there and takes 1 from that of the answer
//! ([`Perceptron`](super::Perceptron), final and averaged); [`MaxMargin`](super::MaxMargin) finds the coefficients of the
//! widest margin. Equal tokens are one ([`DualTrainingSet::tokens`]). Votes are refused, since a
//! model would need every token that ever was support, and so are passive-aggressive steps, whose length would need all kernel
//! values within a sequence.
//!
//! **Cost.** `b(σ, s)` is kept for all `N` tokens of the training data and all labels: scoring an example is a look-up, and a
//! changed coefficient costs one row of the kernel and `N` additions. Memory `N L` numbers, and rows of `N` values up to
//! [`DualOptions::row_memory`].
//!
//! **When not.** Very many tokens, or thousands of labels with tens of thousands of tokens. With a linear kernel, rows of
//! weights learn the same for less; models of that kernel become such rows at the end.
//!
//! **Budget.** With [`DualOptions::budget`] the weakest support token, the one whose removal changes `f` least
//! (`k(s, s) * sum of c(s, σ)^2`, the one that has rested longest among equals), is removed when there are too many. Removal
//! and not merging: between two tokens made of words there is no third one to merge them into. The model then has the last
//! coefficients, never their average, which would need all tokens that ever were support.
//!
//! ```
//! use kbest::feature::{FeatureSource, Numbers};
//! use kbest::feature::token::StandardKernel;
//! use kbest::train::{DualOptions, DualTrainingSet, Perceptron, PerceptronOptions, Trainer, TrainingSet};
//! use kbest::{Sequence, Tagger};
//! use std::sync::Arc;
//!
//! // Inside or outside of a circle: no line tells.
//! let mut sequence = Sequence::new();
//! for i in 0..40 {
//!     let (angle, far) = (f64::from(i) * 2.4, i % 2 == 0);
//!     let radius = if far { 2.0 } else { 0.5 };
//!     sequence.push([(radius * angle.cos()).to_string(), (radius * angle.sin()).to_string()]);
//!     sequence.set_label(if far { "out" } else { "in" });
//! }
//! let sequences = [sequence];
//! let data = TrainingSet::new(&sequences, FeatureSource::Numbers(Numbers::fit(&sequences)?), 1)?;
//! let kernel = Arc::new("poly:2".parse::<StandardKernel>()?);
//! let data = DualTrainingSet::new(Arc::new(data), kernel, DualOptions::default())?;
//! let mut trainer = Perceptron::new(Arc::new(data), PerceptronOptions::default())?;
//! for _ in 0..20 {
//!     trainer.epoch(&mut |_| ())?;
//! }
//! let model = Arc::new(trainer.model()?);
//! let mut far = Sequence::new();
//! far.push(["-1.4", "-1.4"]);
//! let answer = Tagger::new(model.clone()).tag(&far, 1)?.decoded.best().labels[0];
//! assert_eq!(model.labels().name(answer), Some("out"));
//! # Ok::<(), kbest::Error>(())
//! ```

mod kernel_rows;
mod weights;

pub use weights::DualWeights;

use super::family::Family;
use super::rows::TrainingSet;
use super::{Averaging, Change, Recipe, Update};
use crate::feature::FeatureId;
use crate::feature::token::{TokenKernel, TokenVectors, vector_of};
use crate::model::{EdgeWeight, EdgeWeights, Model, ModelParts, NodeWeightsBuilder, Voters, VotersBuilder};
use crate::state::{StateReader, StateWriter};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use kbest_core::LabelId;
use kbest_core::Positions;
use kbest_core::lattice::Lattice;
use kbest_core::{Error, Result};
use std::sync::Arc;

/// Limits of a dual model.
#[derive(Debug, Clone, Copy)]
pub struct DualOptions {
    /// At most this many support tokens.
    pub budget: Option<usize>,
    /// Bytes of kernel rows to remember; at least one row is.
    pub row_memory: usize,
}

impl Default for DualOptions {
    fn default() -> Self {
        DualOptions { budget: None, row_memory: 512 << 20 }
    }
}

impl DualOptions {
    /// Those of a recipe.
    pub(super) fn of(recipe: &Recipe) -> Self {
        DualOptions { budget: recipe.budget, ..DualOptions::default() }
    }
}

/// What tells one labelling from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DualParameter {
    /// `a(ε, σ)`.
    Start {
        /// The first label.
        to: LabelId,
    },
    /// `a(σ, τ)`.
    Edge {
        /// The label before.
        from: LabelId,
        /// The label after.
        to: LabelId,
    },
    /// `c(s, σ)`.
    Token {
        /// The token, a number of [`DualTrainingSet::tokens`].
        token: u32,
        /// The label.
        label: LabelId,
    },
}

/// Labelled text and a kernel.
#[derive(Debug)]
pub struct DualTrainingSet {
    data: Arc<TrainingSet>,
    kernel: Arc<dyn TokenKernel>,
    options: DualOptions,
    tokens: TokenVectors,        // each once
    sequences: Vec<Vec<u32>>,    // the tokens of each example
    strengths: Vec<f64>,         // k(s, s) of each token
    edge_feature: Option<usize>, // the one that carries a(σ, τ) in a model
}

impl DualTrainingSet {
    /// Turns positions into tokens. Parts of labels are not learnt.
    ///
    /// # Errors
    /// [`Error::Argument`] for features of edges that look at the input, or a budget of 0; [`Error::IllegalScore`] for values
    /// that are not finite.
    pub fn new(data: Arc<TrainingSet>, kernel: Arc<dyn TokenKernel>, options: DualOptions) -> Result<Self> {
        if data.extractor().source().has_observed_edges() {
            let expected = "edges that see labels alone";
            return Err(Error::argument(
                "features of a dual model",
                expected,
                "edges that look at the input",
            ));
        }
        if options.budget == Some(0) {
            return Err(Error::argument("budget of support tokens", "at least 1", 0));
        }
        let mut tokens = TokenVectors::builder(data.extractor().nodes().len());
        let mut known: HashMap<Vec<(FeatureId, u32)>, u32, FixedState> = HashMap::default();
        let mut vector = Vec::new();
        let mut sequences = Vec::new();
        for example in data.examples() {
            let mut sequence = Vec::with_capacity(example.gold.len());
            for t in 0..example.gold.len() {
                vector_of(&example.features, t, &mut vector);
                let bits = vector.iter().map(|&(id, value)| (id, value.to_bits())).collect();
                let token = match known.get(&bits) {
                    Some(&token) => token,
                    None => {
                        let token = tokens.len() as u32;
                        tokens.push(&vector)?;
                        known.insert(bits, token);
                        token
                    }
                };
                sequence.push(token);
            }
            sequences.push(sequence);
        }
        let tokens = tokens.finish();
        let strength = |s| kernel.value(tokens.vector(s), tokens.vector(s));
        let strengths = (0..tokens.len()).map(strength).collect();
        let edge_feature = data.extractor().shared_edges().first().map(|&id| id as usize);
        Ok(DualTrainingSet { data, kernel, options, tokens, sequences, strengths, edge_feature })
    }

    /// Whether the number of support tokens is limited.
    pub fn has_budget(&self) -> bool {
        self.options.budget.is_some()
    }

    /// The sequences.
    pub fn data(&self) -> &Arc<TrainingSet> {
        &self.data
    }

    /// The kernel.
    pub fn kernel(&self) -> &Arc<dyn TokenKernel> {
        &self.kernel
    }

    /// The tokens, equal ones once.
    pub fn tokens(&self) -> &TokenVectors {
        &self.tokens
    }

    /// The tokens of an example, position by position.
    pub fn sequence(&self, example: usize) -> &[u32] {
        &self.sequences[example]
    }
}

impl Family for DualTrainingSet {
    type Structure = Positions;
    type Parameter = DualParameter;
    type Weights = DualWeights;
    type Memory = Vec<f32>;
    type Model = Model;

    fn example_count(&self) -> usize {
        self.sequences.len()
    }

    fn gold(&self, example: usize) -> &[LabelId] {
        &self.data.examples()[example].gold
    }

    fn weight(&self, example: usize) -> f64 {
        self.data.examples()[example].weight
    }

    fn accept(&self, averaging: Averaging, update: Update) -> Result<()> {
        if averaging == Averaging::Voted {
            let expected = "the last coefficients or their average";
            return Err(Error::argument("averaging of a dual model", expected, "votes"));
        }
        if update != Update::Perceptron {
            let got = "passive-aggressive steps";
            return Err(Error::argument("updates of a dual model", "steps of a fixed size", got));
        }
        Ok(())
    }

    fn zero(&self) -> Result<DualWeights> {
        DualWeights::new(self)
    }

    fn lattice<'a>(
        &'a self,
        weights: &'a DualWeights,
        example: usize,
        memory: &'a mut Vec<f32>,
    ) -> Result<Lattice<'a, f32>> {
        weights.node_scores(&self.sequences[example], memory);
        Lattice::new(&memory[..], weights.edges())?.with_start(weights.start())
    }

    fn difference(&self, example: usize, answer: &[LabelId], changes: &mut Vec<Change<DualParameter>>) {
        let (gold, tokens) = (self.gold(example), &self.sequences[example]);
        let mut differ = |right: DualParameter, wrong: DualParameter| {
            if right != wrong {
                changes.push(Change { parameter: right, by: 1.0 });
                changes.push(Change { parameter: wrong, by: -1.0 });
            }
        };
        for t in 0..answer.len() {
            let token = |labels: &[LabelId]| DualParameter::Token { token: tokens[t], label: labels[t] };
            differ(token(gold), token(answer));
            let step = |labels: &[LabelId]| match t.checked_sub(1) {
                None => DualParameter::Start { to: labels[0] },
                Some(before) => DualParameter::Edge { from: labels[before], to: labels[t] },
            };
            if t == 0 || self.edge_feature.is_some() {
                differ(step(gold), step(answer));
            }
        }
    }

    fn apply(&self, weights: &mut DualWeights, change: Change<DualParameter>, clock: f64) -> Result<()> {
        let by = f64::from(change.by);
        weights.add(self, change.parameter, by, by * clock)?;
        weights.keep_to_budget(self)
    }

    fn settle(&self, _weights: &mut DualWeights) -> Result<()> {
        Ok(()) // every change is complete
    }

    fn absorb(&self, weights: &mut DualWeights, other: &DualWeights, share: f32) -> Result<()> {
        weights.absorb(other, f64::from(share))?;
        weights.keep_to_budget(self)
    }

    // Nothing to remember: votes are refused.
    fn record(&self, _voters: &mut VotersBuilder, _change: Change<DualParameter>) {}

    fn save(&self, weights: &DualWeights, state: &mut StateWriter) {
        weights.save(state);
    }

    fn restore(&self, state: &mut StateReader<'_>) -> Result<DualWeights> {
        DualWeights::restore(self, state)
    }

    /// A model of support tokens; with a linear kernel, one of rows of weights that gives the same scores.
    fn model(
        &self,
        weights: &DualWeights,
        average_up_to: Option<f64>,
        voters: Option<Voters>,
    ) -> Result<Model> {
        if voters.is_some() {
            self.accept(Averaging::Voted, Update::Perceptron)?;
        }
        // The average of all moments would need the tokens of all moments.
        let average_up_to = average_up_to.filter(|_| !self.has_budget());
        let (labels, extractor) = (self.data.labels().clone(), self.data.extractor().clone());
        let support = weights.support(self, average_up_to)?;
        let (nodes, support) = match support.collapsed()? {
            Some(nodes) => (nodes, None),
            None => {
                let mut none = NodeWeightsBuilder::new(labels.len());
                (0..extractor.nodes().len()).try_for_each(|_| none.push([]))?;
                (none.finish(), Some(support))
            }
        };
        let mut pairs = vec![vec![]; extractor.edges().len()];
        if let Some(feature) = self.edge_feature {
            let pair = |((from, to), weight): ((LabelId, LabelId), f32)| EdgeWeight { from, to, weight };
            pairs[feature] = weights.transitions(average_up_to).map(pair).collect();
        }
        let edges = EdgeWeights::new(labels.len(), pairs)?;
        let start = Some(weights.start_scores(average_up_to));
        Model::new(ModelParts { support, start, ..ModelParts::new(labels, extractor, nodes, edges) })
    }
}
