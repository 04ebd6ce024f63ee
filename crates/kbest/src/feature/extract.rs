//! Extraction: with a growing dictionary while training data is read, with a frozen one afterwards.

use super::windows::Windows;
use super::{Dictionary, DictionaryBuilder, FeatureBuffer, FeatureId, FeatureSource, Renumbering};
use crate::checked::{Checked, Damage};
use crate::sequence::Sequence;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use kbest_core::intern::hash;
use kbest_core::{Error, Result};
use std::sync::{Arc, OnceLock};

/// A word with at most this many occurrences is rare, by default.
const RARE_UP_TO: u32 = 10;

/// Collects the features of training data.
#[derive(Debug, Clone)]
pub struct ExtractorBuilder {
    source: FeatureSource,
    nodes: DictionaryBuilder,
    edges: DictionaryBuilder,
    words: DictionaryBuilder,
    rare_up_to: u32,
    columns: Option<usize>,         // of the first sequence that has any
    windows: Option<Windows>,       // made with the first position, if the features are made by rules
    seen: HashSet<u64, FixedState>, // hashes of all words
}

/// The result of freezing a builder.
#[derive(Debug, Clone)]
pub struct Frozen {
    /// The extractor.
    pub extractor: Extractor,
    /// The final numbers of node features, for buffers that the builder filled ([`FeatureBuffer::renumber`]).
    pub nodes: Renumbering,
    /// The final numbers of edge features.
    pub edges: Renumbering,
}

impl ExtractorBuilder {
    /// A builder without features.
    pub fn new(source: FeatureSource) -> Self {
        ExtractorBuilder {
            source,
            nodes: DictionaryBuilder::new(),
            edges: DictionaryBuilder::new(),
            words: DictionaryBuilder::new(),
            rare_up_to: RARE_UP_TO,
            columns: None,
            windows: None,
            seen: HashSet::default(),
        }
    }

    /// The largest number of occurrences at which a word is rare, for [`super::Preset::Morphology`] and
    /// [`super::Preset::Hmm`].
    pub fn rare_up_to(mut self, occurrences: u32) -> Self {
        self.rare_up_to = occurrences;
        self
    }

    /// Counts the words of a sequence. Sources with [`FeatureSource::wants_word_counts`] need all data counted before
    /// any is observed; otherwise every word is rare.
    pub fn count_words(&mut self, sequence: &Sequence) {
        for t in 0..sequence.len() {
            if let Some(word) = sequence.cell(t, 0) {
                self.words.count(word.as_bytes());
            }
        }
    }

    /// Counts the features of a sequence and puts their provisional numbers into `buffer`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the sequence lacks columns, or there are more than four billion features.
    pub fn observe(&mut self, sequence: &Sequence, buffer: &mut FeatureBuffer) -> Result<()> {
        if self.columns.is_none() && !sequence.is_empty() {
            self.columns = Some(sequence.width(0));
        }
        if self.source.has_words() {
            let words = (0..sequence.len()).filter_map(|t| sequence.cell(t, 0));
            self.seen.extend(words.map(|word| hash(word.as_bytes())));
        }
        if self.windows.is_none() && !sequence.is_empty() {
            self.windows = Windows::of(&self.source, self.columns.unwrap_or(0));
        }
        let (nodes, edges, words) = (&mut self.nodes, &mut self.edges, &self.words);
        let mut full = false;
        let mut number = |dictionary: &mut DictionaryBuilder, key: &[u8]| {
            let id = dictionary.count(key);
            full |= id.is_none();
            id
        };
        let is_rare = |word: &str| words.frequency(word.as_bytes()) <= self.rare_up_to;
        let columns = self.columns.unwrap_or(0);
        let made = (&self.source, self.windows.as_ref());
        fill(made, sequence, columns, is_rare, buffer, |buffer, kind, key| match kind {
            Kind::Node => number(nodes, key).into_iter().for_each(|id| buffer.push_node(id)),
            Kind::Edge => number(edges, key).into_iter().for_each(|id| buffer.push_edge(id)),
        })?;
        if full { Err(Error::shape("features", "at most 2^32 - 1", "more")) } else { Ok(()) }
    }

    /// Hashes of the words seen so far, ascending.
    pub(crate) fn seen(&self) -> Vec<u64> {
        let mut seen: Vec<u64> = self.seen.iter().copied().collect();
        seen.sort_unstable();
        seen
    }

    /// Adds the hash of a word that was seen elsewhere.
    pub(crate) fn add_seen(&mut self, word: u64) {
        self.seen.insert(word);
    }

    /// Where the features come from.
    pub fn source(&self) -> &FeatureSource {
        &self.source
    }

    pub(crate) fn words(&self) -> &DictionaryBuilder {
        &self.words
    }

    pub(crate) fn words_mut(&mut self) -> &mut DictionaryBuilder {
        &mut self.words
    }

    pub(crate) fn nodes(&self) -> &DictionaryBuilder {
        &self.nodes
    }

    pub(crate) fn nodes_mut(&mut self) -> &mut DictionaryBuilder {
        &mut self.nodes
    }

    pub(crate) fn edges(&self) -> &DictionaryBuilder {
        &self.edges
    }

    pub(crate) fn edges_mut(&mut self) -> &mut DictionaryBuilder {
        &mut self.edges
    }

    /// Number of columns of the first sequence that has any.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// Sets the number of columns, unless a sequence has set it.
    pub(crate) fn set_columns(&mut self, columns: Option<usize>) {
        self.columns = self.columns.or(columns);
    }

    /// Number of node features so far.
    pub fn node_features(&self) -> usize {
        self.nodes.len()
    }

    /// Number of edge features so far.
    pub fn edge_features(&self) -> usize {
        self.edges.len()
    }

    /// Keeps features seen at least `min_frequency` times and fixes their numbers.
    pub fn freeze(self, min_frequency: u32) -> Frozen {
        let seen = self.source.has_words().then(|| Checked::from(self.seen()));
        let (nodes, new_nodes) = self.nodes.freeze(min_frequency);
        let (edges, new_edges) = self.edges.freeze(min_frequency);
        let frequent_words = self.words.freeze(self.rare_up_to.saturating_add(1)).0;
        let columns = self.columns.unwrap_or(0);
        let extractor =
            Extractor::from_parts(self.source, nodes, edges, frequent_words, columns).with_seen_words(seen);
        Frozen { extractor, nodes: new_nodes, edges: new_edges }
    }
}

/// Turns sequences into feature ids; read-only.
#[derive(Debug, Clone)]
pub struct Extractor {
    source: FeatureSource,
    nodes: Dictionary,
    edges: Dictionary,
    frequent_words: Dictionary,
    columns: usize,
    windows: OnceLock<Option<Arc<Windows>>>, // made with the first position, if the features are made by rules
    shared_edges: Vec<FeatureId>,
    seen_words: Option<Checked<u64>>, // the hashes of the words of the training data, ascending
}

impl Extractor {
    /// An extractor from the parts of another one, or of another program's model. `frequent_words` are the words that
    /// are not rare, `columns` is the number of columns of the training data; only presets use them.
    pub fn from_parts(
        source: FeatureSource,
        nodes: Dictionary,
        edges: Dictionary,
        frequent_words: Dictionary,
        columns: usize,
    ) -> Self {
        let mut shared_edges = Vec::new();
        source.visit_shared_edges(|key| shared_edges.extend(edges.id(key)));
        let windows = OnceLock::new(); // a file may claim any number of columns; a sequence that has them is the proof
        Extractor { source, nodes, edges, frequent_words, columns, windows, shared_edges, seen_words: None }
    }

    /// The same with the hashes of the words of the training data, which must ascend.
    pub(crate) fn with_seen_words(mut self, seen_words: Option<Checked<u64>>) -> Self {
        self.seen_words = seen_words;
        self
    }

    /// The hashes of the words of the training data, ascending, if they are known.
    pub(crate) fn seen_words(&self) -> Option<&Checked<u64>> {
        self.seen_words.as_ref()
    }

    /// What is told of damage to arrays that are checked while they are used.
    pub(crate) fn damage(&self) -> impl Iterator<Item = &Arc<Damage>> {
        let dictionaries = [&self.nodes, &self.edges, &self.frequent_words].map(Dictionary::damage);
        dictionaries.into_iter().flatten().chain(self.seen_words.as_ref().and_then(Checked::damage))
    }

    /// Puts the known features of a sequence into `buffer`.
    ///
    /// # Errors
    /// [`Error::Shape`] if the sequence lacks columns.
    pub fn extract(&self, sequence: &Sequence, buffer: &mut FeatureBuffer) -> Result<()> {
        let is_rare = |word: &str| self.frequent_words.id(word.as_bytes()).is_none();
        buffer.clear();
        self.source.check(sequence, self.columns)?;
        if sequence.is_empty() {
            return Ok(());
        }
        let windows = self.windows.get_or_init(|| Windows::of(&self.source, self.columns).map(Arc::new));
        let Some(windows) = windows else {
            let made = (&self.source, None);
            fill(made, sequence, self.columns, is_rare, buffer, |buffer, kind, key| match kind {
                Kind::Node => buffer.ask_node(&self.nodes, key),
                Kind::Edge => self.edges.id(key).into_iter().for_each(|id| buffer.push_edge(id)),
            })?;
            buffer.answer_nodes(&self.nodes);
            return Ok(());
        };
        let observed_edges = self.source.has_observed_edges();
        let mut memory = buffer.remembered.0.take().unwrap_or_default(); // put back below
        let mut key = std::mem::take(&mut buffer.key);
        let result = windows.extract(&self.nodes, sequence, &is_rare, &mut memory, |ids| {
            buffer.push_nodes(ids);
            match buffer.len() {
                0 => {} // no edge leads to the first position
                t if observed_edges => self.source.visit_edges(sequence, t, &mut key, |key| {
                    self.edges.id(key).into_iter().for_each(|id| buffer.push_edge(id));
                }),
                _ => self.shared_edges.iter().for_each(|&id| buffer.push_edge(id)),
            }
            buffer.end_position();
        });
        (buffer.remembered.0, buffer.key) = (Some(memory), key);
        result
    }

    /// Whether a word was in the first column of the training data, spelled like this; `None` if that is not known. (Words are
    /// compared by a hash of 64 bits.) Models of earlier versions know it only if their features hold words as they are spelled.
    pub fn knows_word(&self, word: &str) -> Option<bool> {
        if let Some(seen) = &self.seen_words {
            return Some(seen.whole().binary_search(&hash(word.as_bytes())).is_ok());
        }
        let key = self.source.word_key(word).filter(|_| !self.source.folds_words())?;
        Some(self.nodes.id(&key).is_some())
    }

    /// Where the features come from.
    pub fn source(&self) -> &FeatureSource {
        &self.source
    }

    /// The node features: `L` weights each.
    pub fn nodes(&self) -> &Dictionary {
        &self.nodes
    }

    /// The edge features: `L x L` weights each.
    pub fn edges(&self) -> &Dictionary {
        &self.edges
    }

    /// Words that are not rare.
    pub fn frequent_words(&self) -> &Dictionary {
        &self.frequent_words
    }

    /// Number of columns of the training data.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The edge features that occur in every step of every sequence (a bare `B`): they form the matrix that all steps
    /// share. If [`FeatureSource::has_observed_edges`] is false, there are no others.
    pub fn shared_edges(&self) -> &[FeatureId] {
        &self.shared_edges
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Node,
    Edge,
}

/// Fills a buffer with features from a source, or made by its rules: `add` adds one feature to it, the values are added here.
fn fill(
    (source, windows): (&FeatureSource, Option<&Windows>),
    sequence: &Sequence,
    columns: usize,
    is_rare: impl Fn(&str) -> bool,
    buffer: &mut FeatureBuffer,
    mut add: impl FnMut(&mut FeatureBuffer, Kind, &[u8]),
) -> Result<()> {
    buffer.clear();
    source.check(sequence, columns)?;
    let valued = match source {
        FeatureSource::Items => !sequence.is_empty() && sequence.values(0).is_some(),
        FeatureSource::Numbers(_) => true,
        FeatureSource::Template(_)
        | FeatureSource::Patterns(_)
        | FeatureSource::Preset(_)
        | FeatureSource::Sum(_) => false,
    };
    let mut key = std::mem::take(&mut buffer.key); // put back below: its memory is kept
    for t in 0..sequence.len() {
        match windows {
            Some(windows) => {
                windows.visit(sequence, t, &is_rare, &mut key, |key| add(buffer, Kind::Node, key))
            }
            None => source.visit_nodes(sequence, t, &is_rare, &mut key, |key, value| {
                add(buffer, Kind::Node, key);
                if valued {
                    buffer.push_value(value);
                }
            }),
        }
        if t > 0 {
            source.visit_edges(sequence, t, &mut key, |key| add(buffer, Kind::Edge, key));
        }
        buffer.end_position();
    }
    buffer.key = key;
    Ok(())
}
