//! What all shards of a run agree on, and what is done with one of them.

use super::answer::{Gradient, Mixed};
use crate::feature::FeatureBuffer;
use crate::model::Model;
use crate::options::Options;
use crate::sequence::Sequence;
use crate::state::{StateReader, StateWriter};
use crate::train::crf::{CrfOptions, Optimizer};
use crate::train::family::{Differentiable, Layout, Scope};
use crate::train::recipe::{Algorithm, Recipe};
use crate::train::rows::{Example, Names, Observed, RowLayout, TrainingSet};
use crate::train::{Averaging, PerceptronOptions};
use kbest_core::{Error, Result};

/// Labels, features and options that every shard works with.
#[derive(Debug)]
pub struct ShardPlan {
    empty: TrainingSet, // labels and features, without examples
    method: Method,
    layout: Option<RowLayout>, // of a CRF, once it is known which weights there are
}

/// How it learns.
#[derive(Debug)]
pub(super) enum Method {
    Mixing(PerceptronOptions),
    Crf(CrfOptions),
}

impl Method {
    fn of(recipe: &Recipe) -> Result<Self> {
        recipe.check()?;
        for row in Recipe::TABLE.iter().filter(|row| !ShardPlan::OPTIONS.contains(&row.name)) {
            if let Some(value) = row.given(recipe) {
                let expected = format!("none in shards, where options are {}", ShardPlan::OPTIONS.join(", "));
                return Err(Error::argument(row.name, expected, value));
            }
        }
        Ok(match recipe.algorithm {
            Algorithm::Averaged | Algorithm::Perceptron | Algorithm::Pa => {
                Method::Mixing(PerceptronOptions {
                    threads: 1,
                    ..PerceptronOptions::of(recipe, recipe.decoder()?)
                })
            }
            Algorithm::Crf => {
                let options = CrfOptions::of(recipe);
                if options.optimizer != Optimizer::Lbfgs {
                    return Err(Error::argument("optimizer", "lbfgs in shards", "sgd"));
                }
                options.check()?;
                Method::Crf(options)
            }
            other => {
                let expected = "averaged, perceptron, pa or crf in shards";
                return Err(Error::argument("algorithm", expected, other.name()));
            }
        })
    }
}

impl ShardPlan {
    /// The options of a [`Recipe`] that work in shards.
    pub const OPTIONS: [&'static str; 14] = [
        "algorithm",
        "seed",
        "decoder",
        "agreement",
        "longest",
        "optimizer",
        "c1",
        "c2",
        "all_states",
        "all_transitions",
        "template",
        "features",
        "min_frequency",
        "epochs",
    ];

    /// A plan with the labels and features of this model, whose weights do not matter ([`Vocabulary::freeze`] makes one).
    ///
    /// [`Vocabulary::freeze`]: super::Vocabulary::freeze
    ///
    /// # Errors
    /// [`Error::Argument`] for an algorithm or optimizer that does not work in shards, or options that the algorithm does not
    /// have.
    pub fn new(model: Model, recipe: &Recipe) -> Result<Self> {
        let method = Method::of(recipe)?;
        let parts = model.into_parts();
        let empty = TrainingSet::of_examples(parts.labels, parts.extractor, Vec::new());
        let empty = recipe.with_agreement(empty)?;
        Ok(ShardPlan { empty, method, layout: None })
    }

    /// Refuses what [`ShardPlan::new`] would refuse, before there is any data.
    ///
    /// # Errors
    /// As for [`ShardPlan::new`].
    pub fn check(recipe: &Recipe) -> Result<()> {
        Method::of(recipe).map(drop)
    }

    /// The plan of a CRF with weights for what these shards [observed](ShardPlan::observed) (and for all labels or pairs of
    /// labels, if the recipe says so).
    ///
    /// # Errors
    /// [`Error::Shape`] for other bytes.
    pub fn with_observed<B: AsRef<[u8]>>(mut self, shards: &[B]) -> Result<Self> {
        if let Method::Crf(options) = &self.method {
            let CrfOptions { all_states, all_transitions, .. } = *options;
            let observed = self.merged(shards)?;
            let (names, extractor) = (Names::of(&self.empty), self.empty.extractor());
            let scope = Scope { all_states, all_transitions };
            self.layout = Some(RowLayout::of_observed(names, extractor, observed, scope));
        }
        Ok(self)
    }

    /// Whether shards must tell what they observe before training begins.
    pub fn wants_observed(&self) -> bool {
        matches!(self.method, Method::Crf(_))
    }

    /// Several shards' observations as those of one.
    ///
    /// # Errors
    /// [`Error::Shape`] for other bytes.
    pub fn merge_observed<B: AsRef<[u8]>>(&self, shards: &[B]) -> Result<Vec<u8>> {
        Ok(self.merged(shards)?.to_bytes())
    }

    fn merged<B: AsRef<[u8]>>(&self, shards: &[B]) -> Result<Observed> {
        let mut all = Observed::default();
        let (labels, extractor) = (self.empty.labels().len(), self.empty.extractor());
        for shard in shards {
            all.absorb(shard.as_ref(), labels, extractor)?;
        }
        Ok(all)
    }

    /// A shard as bytes: sequences with numbers instead of names. Empty sequences are skipped.
    ///
    /// # Errors
    /// [`Error::Shape`] if a sequence lacks labels or columns; [`Error::Argument`] for a label that the plan does not know.
    pub fn number(&self, sequences: &[Sequence]) -> Result<Vec<u8>> {
        let (labels, extractor) = (self.empty.labels(), self.empty.extractor());
        let mut state = StateWriter::new();
        let sequences: Vec<&Sequence> = sequences.iter().filter(|sequence| !sequence.is_empty()).collect();
        state.number(sequences.len() as u64);
        let mut features = FeatureBuffer::new();
        for sequence in sequences {
            extractor.extract(sequence, &mut features)?;
            let label = |t: usize| match sequence.label(t) {
                None => Err(Error::shape("a sequence of the shard", "a label at every position", "none")),
                Some(name) => labels
                    .id(name)
                    .ok_or_else(|| Error::argument("label", "a label of the plan", format!("`{name}`"))),
            };
            let gold = (0..sequence.len()).map(label).collect::<Result<Vec<_>>>()?;
            state.number(sequence.weight());
            state.list(gold.iter().copied());
            features.save(&mut state);
        }
        Ok(state.into_bytes())
    }

    fn shard(&self, bytes: &[u8]) -> Result<TrainingSet> {
        let (labels, extractor) = (self.empty.labels(), self.empty.extractor());
        let mut state = StateReader::new(bytes);
        let mut examples = Vec::new();
        for _ in 0..state.number::<u64>()? {
            let (weight, gold) = (state.number()?, state.list::<u32>()?);
            if let Some(&label) = gold.iter().find(|&&y| y as usize >= labels.len()) {
                let (what, label) = ("shard".to_owned(), label.into());
                return Err(Error::LabelOutOfRange { what, label, labels: labels.len() });
            }
            let features =
                FeatureBuffer::restore(&mut state, extractor.nodes().len(), extractor.edges().len())?;
            if features.len() != gold.len() {
                return Err(Error::shape("features of a shard", gold.len(), features.len()));
            }
            examples.push(Example { features, gold, weight });
        }
        state.finish()?;
        let shard = TrainingSet::of_examples(labels.clone(), extractor.clone(), examples);
        shard.with_agreement(self.empty.agreement().cloned())
    }

    /// Which labels occur with which features in a shard: a CRF has weights for these.
    ///
    /// # Errors
    /// [`Error::Shape`] for other bytes.
    pub fn observed(&self, shard: &[u8]) -> Result<Vec<u8>> {
        Ok(Observed::of(self.shard(shard)?.examples()).to_bytes())
    }

    /// What a shard answers to a step of the trainer; `index` is its number among the shards.
    ///
    /// # Errors
    /// [`Error::Shape`] for other bytes; errors of decoding.
    pub fn answer(&self, index: u64, shard: &[u8], step: &[u8]) -> Result<Vec<u8>> {
        let data = self.shard(shard)?;
        let mut step = StateReader::new(step);
        let answer = match &self.method {
            Method::Mixing(options) => Mixed::learn(&data, options, index, &mut step)?,
            Method::Crf(_) => Gradient::of(&data, self.layout()?, &mut step)?,
        };
        step.finish()?;
        Ok(answer)
    }

    /// The sum of answers, in this order.
    ///
    /// # Errors
    /// [`Error::Shape`] for other bytes; [`Error::IllegalScore`] if weights become infinite.
    pub fn add(&self, answers: &[&[u8]]) -> Result<Vec<u8>> {
        match &self.method {
            Method::Mixing(_) => Mixed::add(self, answers),
            Method::Crf(_) => Gradient::add(self, answers),
        }
    }

    /// Number of weights of a CRF.
    ///
    /// # Errors
    /// [`Error::Argument`] before [`ShardPlan::with_observed`].
    pub fn weights(&self) -> Result<usize> {
        Ok(self.layout()?.len())
    }

    fn layout(&self) -> Result<&RowLayout> {
        let missing = || Error::argument("plan", "the observations of all shards, for a CRF", "none");
        self.layout.as_ref().ok_or_else(missing)
    }

    pub(super) fn empty(&self) -> &TrainingSet {
        &self.empty
    }

    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    pub(super) fn is_averaged(&self) -> bool {
        matches!(&self.method, Method::Mixing(options) if options.averaging == Averaging::Averaged)
    }

    pub(super) fn crf_options(&self) -> &CrfOptions {
        match &self.method {
            Method::Crf(options) => options,
            Method::Mixing(_) => unreachable!("only a descent asks"),
        }
    }

    pub(super) fn model_at(&self, vector: &[f64]) -> Result<Model> {
        self.empty.model_at(self.layout()?, vector)
    }
}
