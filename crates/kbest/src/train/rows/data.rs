//! Labelled sequences as numbers.

use crate::feature::{Extractor, ExtractorBuilder, FeatureBuffer, FeatureSource, Frozen};
use crate::model::{LabelGroups, LabelParts};
use crate::sequence::Sequence;
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelOrder, LabelSet, LabelSetBuilder};

/// One sequence.
#[derive(Debug, Clone)]
pub struct Example {
    /// Its features, by position.
    pub features: FeatureBuffer,
    /// Its labels.
    pub gold: Vec<LabelId>,
    /// Its weight in training.
    pub weight: f64,
}

/// The training data.
#[derive(Debug, Clone)]
pub struct TrainingSet {
    labels: LabelSet,
    label_parts: Option<LabelParts>,
    agreement: Option<LabelGroups>,
    extractor: Extractor,
    examples: Vec<Example>,
    tokens: usize,
}

impl TrainingSet {
    /// Numbers the labels, most frequent first, and the features that occur at least `min_frequency` times. Empty
    /// sequences are skipped.
    ///
    /// # Errors
    /// [`Error::Shape`] if a sequence lacks labels or columns, or none has a position.
    pub fn new(sequences: &[Sequence], source: FeatureSource, min_frequency: u32) -> Result<Self> {
        Self::from_builder(sequences, ExtractorBuilder::new(source), min_frequency)
    }

    /// As [`TrainingSet::new`], with an extractor whose options are set.
    ///
    /// # Errors
    /// See [`TrainingSet::new`].
    pub fn from_builder(
        sequences: &[Sequence],
        mut builder: ExtractorBuilder,
        min_frequency: u32,
    ) -> Result<Self> {
        let sequences = || sequences.iter().filter(|sequence| !sequence.is_empty());
        if builder.source().wants_word_counts() {
            sequences().for_each(|sequence| builder.count_words(sequence));
        }
        let mut labels = LabelSetBuilder::new();
        let mut examples = Vec::new();
        for (i, sequence) in sequences().enumerate() {
            let mut features = FeatureBuffer::new();
            builder.observe(sequence, &mut features)?;
            let gold = (0..sequence.len()).map(|t| sequence.label(t).map(|name| labels.add(name)));
            let gold = gold.collect::<Option<Vec<_>>>().ok_or_else(|| {
                Error::shape(
                    format!("sequence {i} of the training data"),
                    "a label at every position",
                    "none",
                )
            })?;
            examples.push(Example { features, gold, weight: sequence.weight() });
        }
        if examples.is_empty() {
            return Err(Error::shape("training data", "at least one sequence", 0));
        }
        let (labels, new_ids) = labels.freeze(LabelOrder::Frequency);
        let Frozen { extractor, nodes, edges } = builder.freeze(min_frequency);
        for example in &mut examples {
            example.features.renumber(&nodes, &edges);
            example.gold.iter_mut().for_each(|y| *y = new_ids[*y as usize]);
        }
        Ok(Self::of_examples(labels, extractor, examples))
    }

    /// Examples that are numbered already; there may be none.
    pub(in crate::train) fn of_examples(
        labels: LabelSet,
        extractor: Extractor,
        examples: Vec<Example>,
    ) -> Self {
        let tokens = examples.iter().map(|example| example.gold.len()).sum();
        let with_parts = extractor.source().wants_label_parts();
        let data = TrainingSet { labels, label_parts: None, agreement: None, extractor, examples, tokens };
        data.with_label_parts(with_parts)
    }

    /// Names of the labels.
    pub fn labels(&self) -> &LabelSet {
        &self.labels
    }

    /// Whether trainers that support it also learn weights for the [parts](LabelParts) of labels, if their names have
    /// any. By default only with [`Preset::Morphology`](crate::feature::Preset::Morphology).
    pub fn with_label_parts(mut self, with_parts: bool) -> Self {
        self.label_parts = if with_parts { LabelParts::from_names(&self.labels) } else { None };
        self
    }

    /// The parts of labels to learn weights for.
    pub fn label_parts(&self) -> Option<&LabelParts> {
        self.label_parts.as_ref()
    }

    /// Whether trainers also learn weights between parts of neighbouring labels, of these [groups](LabelGroups).
    ///
    /// # Errors
    /// [`Error::Shape`] for groups of another number of labels.
    pub fn with_agreement(mut self, groups: Option<LabelGroups>) -> Result<Self> {
        if let Some(groups) = groups.as_ref().filter(|groups| groups.labels() != self.labels.len()) {
            return Err(Error::shape("labels of the groups", self.labels.len(), groups.labels()));
        }
        self.agreement = groups;
        Ok(self)
    }

    /// The groups of parts to learn weights between.
    pub fn agreement(&self) -> Option<&LabelGroups> {
        self.agreement.as_ref()
    }

    /// From sequences to features.
    pub fn extractor(&self) -> &Extractor {
        &self.extractor
    }

    /// The sequences.
    pub fn examples(&self) -> &[Example] {
        &self.examples
    }

    /// Number of positions of all sequences.
    pub fn tokens(&self) -> usize {
        self.tokens
    }
}
