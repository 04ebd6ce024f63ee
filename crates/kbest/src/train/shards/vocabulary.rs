//! Labels and features of data that lies in shards.

use crate::feature::{DictionaryBuilder, ExtractorBuilder, FeatureBuffer, FeatureSource};
use crate::model::Model;
use crate::sequence::Sequence;
use crate::state::{StateReader, StateWriter};
use crate::train::family::Family;
use crate::train::rows::TrainingSet;
use kbest_core::Result;
use kbest_core::{LabelOrder, LabelSetBuilder};

/// The labels and features of a shard, or of several, with counts.
///
/// Absorbed in the order of the shards, they are numbered as if all sequences had been read one shard after the other.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    features: ExtractorBuilder,
    labels: LabelSetBuilder,
}

impl Vocabulary {
    /// Nothing yet.
    pub fn new(source: FeatureSource) -> Self {
        Vocabulary { features: ExtractorBuilder::new(source), labels: LabelSetBuilder::new() }
    }

    /// Whether words must be counted in all shards, and the counts absorbed, before any shard observes its features.
    pub fn wants_words(&self) -> bool {
        self.features.source().wants_word_counts()
    }

    /// Counts words.
    pub fn count_words(&mut self, sequences: &[Sequence]) {
        sequences.iter().for_each(|sequence| self.features.count_words(sequence));
    }

    /// Counts labels and features.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if a sequence lacks columns, or there are too many features.
    pub fn observe(&mut self, sequences: &[Sequence]) -> Result<()> {
        let mut buffer = FeatureBuffer::new();
        for sequence in sequences.iter().filter(|sequence| !sequence.is_empty()) {
            self.features.observe(sequence, &mut buffer)?;
            for label in (0..sequence.len()).filter_map(|t| sequence.label(t)) {
                self.labels.add(label);
            }
        }
        Ok(())
    }

    /// The word counts alone, for [`Vocabulary::absorb_words`].
    pub fn words_to_bytes(&self) -> Vec<u8> {
        let mut state = StateWriter::new();
        save(self.features.words(), &mut state);
        state.into_bytes()
    }

    /// Adds word counts.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for other bytes.
    pub fn absorb_words(&mut self, bytes: &[u8]) -> Result<()> {
        let mut state = StateReader::new(bytes);
        absorb(self.features.words_mut(), &mut state)?;
        state.finish()
    }

    /// Labels and features with their counts.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut state = StateWriter::new();
        state.number(self.features.columns().map_or(u64::MAX, |columns| columns as u64));
        save(self.features.nodes(), &mut state);
        save(self.features.edges(), &mut state);
        state.number(self.labels.len() as u64);
        for (name, count) in self.labels.counted() {
            state.text(name.as_bytes());
            state.number(count);
        }
        let seen = self.features.seen();
        state.number(seen.len() as u64);
        seen.into_iter().for_each(|word| state.number(word));
        state.into_bytes()
    }

    /// Adds the labels and features of another.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for other bytes.
    pub fn absorb(&mut self, bytes: &[u8]) -> Result<()> {
        let mut state = StateReader::new(bytes);
        let columns: u64 = state.number()?;
        self.features.set_columns((columns != u64::MAX).then_some(columns as usize));
        absorb(self.features.nodes_mut(), &mut state)?;
        absorb(self.features.edges_mut(), &mut state)?;
        for _ in 0..state.number::<u64>()? {
            let name = state.str()?;
            self.labels.add_times(name, state.number()?);
        }
        for _ in 0..state.number::<u64>()? {
            self.features.add_seen(state.number()?);
        }
        state.finish()
    }

    /// Numbers labels, most frequent first, and the features that occur at least `min_frequency` times: a model in which all
    /// weights are zero.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) if there are no labels.
    pub fn freeze(self, min_frequency: u32) -> Result<Model> {
        let labels = self.labels.freeze(LabelOrder::Frequency).0;
        let extractor = self.features.freeze(min_frequency).extractor;
        let data = TrainingSet::of_examples(labels, extractor, Vec::new());
        if data.labels().is_empty() {
            return Err(crate::Error::shape("training data", "at least one sequence", 0));
        }
        data.model(&data.zero()?, None, None)
    }
}

fn save(keys: &DictionaryBuilder, state: &mut StateWriter) {
    state.number(keys.len() as u64);
    for (key, count) in keys.counted() {
        state.text(key);
        state.number(count);
    }
}

fn absorb(keys: &mut DictionaryBuilder, state: &mut StateReader<'_>) -> Result<()> {
    for _ in 0..state.number::<u64>()? {
        let key = state.text()?;
        let count: u32 = state.number()?;
        if keys.count_times(key, count).is_none() {
            return Err(crate::Error::shape("features", "at most 2^32 - 1", "more"));
        }
    }
    Ok(())
}
