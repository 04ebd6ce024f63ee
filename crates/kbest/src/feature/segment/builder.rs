//! Segment features from labelled segments, and what training leaves out of them.

use super::similar::MANY;
use super::{
    Lexicon, SegmentFeatureParts, SegmentFeatures, SegmentKind, SegmentMemory, Similar, known_key,
    lexicon_key, line_key, similar_key,
};
use crate::feature::{Dictionary, FeatureId};
use crate::sequence::Sequence;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use kbest_core::LabelId;
use kbest_core::intern::Interner;
use kbest_core::{Error, Result};
use std::collections::BTreeMap;

/// Texts, shapes and the like must occur in at least so many sequences to be features: what occurs in one would be right in
/// training, always.
const LEAST_SEQUENCES: u32 = 2;

/// Options of segment features.
#[derive(Debug, Clone)]
pub struct SegmentFeaturesBuilder {
    kinds: Vec<SegmentKind>,
    line_column: Option<usize>,
    lexicons: Vec<Lexicon>,
}

impl Default for SegmentFeaturesBuilder {
    /// All kinds; lexicons and lines if there are any.
    fn default() -> Self {
        let kinds = SegmentKind::NAMES.map(|(_, kind)| kind).to_vec();
        SegmentFeaturesBuilder { kinds, line_column: None, lexicons: Vec::new() }
    }
}

/// A labelled segment: start, end, label.
type Labelled = (usize, usize, LabelId);

impl SegmentFeaturesBuilder {
    /// Takes these kinds only.
    #[must_use]
    pub fn with_kinds(mut self, kinds: impl IntoIterator<Item = SegmentKind>) -> Self {
        self.kinds = kinds.into_iter().collect();
        self.kinds.sort_unstable();
        self.kinds.dedup();
        self
    }

    /// Says which column changes from line to line, such as one with the number of the line.
    #[must_use]
    pub fn with_lines(mut self, column: usize) -> Self {
        self.line_column = Some(column);
        self
    }

    /// Adds a lexicon.
    #[must_use]
    pub fn with_lexicon(mut self, lexicon: Lexicon) -> Self {
        self.lexicons.push(lexicon);
        self
    }

    /// Learns which texts, words and shapes there are. Segments with a label that `is_outside` are not known texts.
    ///
    /// # Errors
    /// [`Error::Argument`] for two lexicons of one name; [`Error::Shape`] if a sequence lacks the column of the lines.
    pub fn build<N: AsRef<str>>(
        self,
        data: &[(&Sequence, &[Labelled])],
        labels: &[N],
        is_outside: impl Fn(LabelId) -> bool,
    ) -> Result<(SegmentFeatures, LeaveOut)> {
        let (kinds, line_column) = (self.kinds.clone(), self.line_column);
        let has = |kind: SegmentKind| kinds.contains(&kind);
        let parts = SegmentFeatureParts { kinds: kinds.clone(), line_column, ..SegmentFeatureParts::empty() };
        let counting = SegmentFeatures::new(parts, labels)?;
        let mut memory = SegmentMemory::default();
        let mut keys: BTreeMap<Vec<u8>, u32> = BTreeMap::new(); // sequences with each
        let mut known = Known::default();
        for (number, (sequence, segments)) in (0u32..).zip(data) {
            counting.prepare(sequence, &mut memory)?;
            let mut here: HashSet<Vec<u8>, FixedState> = HashSet::default();
            for &(s, r, label) in segments.iter().filter(|(_, _, label)| !is_outside(*label)) {
                counting.visit_texts(&mut memory, s, r, &mut |_, key| {
                    here.insert(key.to_vec());
                });
                known.add(memory.text.words(s, r), label, number);
            }
            here.into_iter().for_each(|key| *keys.entry(key).or_default() += 1);
        }
        let mut dictionary = Interner::default();
        keys.iter().filter(|(_, sequences)| **sequences >= LEAST_SEQUENCES).for_each(|(key, _)| {
            dictionary.insert(key);
        });
        let spans = || (0..).zip(labels).filter(|(y, _)| !is_outside(*y)).map(|(_, name)| name.as_ref());
        if has(SegmentKind::Known) {
            spans().for_each(|name| _ = dictionary.insert(&known_key(name)));
        }
        if has(SegmentKind::Similar) {
            for name in spans() {
                (0..Similar::STEPS).for_each(|step| _ = dictionary.insert(&similar_key(name, step)));
            }
        }
        if has(SegmentKind::Line) && line_column.is_some() {
            (0..8).for_each(|bits| _ = dictionary.insert(line_key(bits).as_bytes()));
        }
        let mut names = HashSet::<&str, FixedState>::default();
        for lexicon in self.lexicons.iter().filter(|_| has(SegmentKind::Lexicon)) {
            if !names.insert(lexicon.name()) {
                return Err(Error::argument(
                    "lexicons",
                    "a name for each",
                    format!("`{}` twice", lexicon.name()),
                ));
            }
            dictionary.insert(&lexicon_key(lexicon.name()));
            lexicon.texts().for_each(|text| _ = known.texts.insert(text));
        }
        let keys = Dictionary::from(dictionary);
        let similar = match has(SegmentKind::Similar) {
            true => Similar::new(
                known
                    .segments
                    .iter()
                    .map(|(&(text, label), of)| (known.texts.keys().at(text), label, of.sole)),
            ),
            false => Similar::default(),
        };
        let known_ids: Vec<Option<FeatureId>> =
            labels.iter().map(|name| keys.id(&known_key(name.as_ref()))).collect();
        let counts = known.counts();
        let mut lists: Vec<Vec<u32>> = vec![vec![]; known.texts.len()];
        for (text, list) in (0..).zip(&mut lists) {
            let words = known.texts.keys().at(text);
            list.extend(keys.id(&[b"text=", words].concat()));
            let most = majority(counts.get(&text).map_or(&[], Vec::as_slice), &[]);
            list.extend(most.and_then(|label| known_ids[label as usize]));
        }
        for lexicon in self.lexicons.iter().filter(|_| has(SegmentKind::Lexicon)) {
            for text in lexicon.texts() {
                let id = known.texts.keys().find(text).expect("inserted above");
                let feature = keys.id(&lexicon_key(lexicon.name()));
                let list = &mut lists[id as usize];
                list.extend(feature.filter(|feature| !list.contains(feature)));
            }
        }
        let mut text_starts = vec![0];
        let mut text_features = Vec::new();
        for list in lists {
            text_features.extend(list);
            text_starts.push(text_features.len() as u32);
        }
        let parts = SegmentFeatureParts {
            kinds: self.kinds,
            line_column,
            keys,
            texts: known.texts.into(),
            text_starts: text_starts.into(),
            text_features: text_features.into(),
            similar,
        };
        Ok((SegmentFeatures::new(parts, labels)?, LeaveOut { counts, known_ids }))
    }
}

impl SegmentFeatureParts {
    /// No features.
    pub(crate) fn empty() -> Self {
        SegmentFeatureParts { text_starts: vec![0].into(), ..SegmentFeatureParts::default() }
    }
}

#[derive(Default)]
struct Known {
    texts: Interner,
    segments: BTreeMap<(u32, LabelId), Occurrences>, // text and label
}

struct Occurrences {
    count: u32,
    sole: u32, // the only sequence, or MANY
}

impl Known {
    fn add(&mut self, words: &[u8], label: LabelId, sequence: u32) {
        let Some(text) = self.texts.insert(words) else { return };
        let of = self.segments.entry((text, label)).or_insert(Occurrences { count: 0, sole: sequence });
        of.count += 1;
        if of.sole != sequence {
            of.sole = MANY;
        }
    }

    /// How often each text has each label.
    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (&(text, label), of) in &self.segments {
            counts.entry(text).or_default().push((label, of.count));
        }
        counts
    }
}

type Counts = HashMap<u32, Vec<(LabelId, u32)>, FixedState>;

/// The label with the highest count, less those of one's own; the lowest if several have it.
fn majority(counts: &[(LabelId, u32)], own: &[(LabelId, u32)]) -> Option<LabelId> {
    let mut best = (0, None);
    for &(label, count) in counts {
        let own = own.iter().find(|(of, _)| *of == label).map_or(0, |(_, count)| *count);
        let rest = count.saturating_sub(own);
        if rest > best.0 {
            best = (rest, Some(label));
        }
    }
    best.1
}

/// What training needs to leave one sequence out of what is known.
#[derive(Debug, Clone, Default)]
pub struct LeaveOut {
    counts: Counts,
    known_ids: Vec<Option<FeatureId>>, // L: the feature `known` of each label
}

/// One sequence of the training data, to be left out.
#[derive(Debug)]
pub struct Own<'a> {
    from: &'a LeaveOut,
    sequence: u32,
    counts: Counts, // of its own segments
}

impl LeaveOut {
    /// Leaves out the sequence of this number, which has these segments and is prepared.
    pub fn own<'a>(
        &'a self,
        features: &SegmentFeatures,
        memory: &SegmentMemory,
        sequence: u32,
        segments: &[Labelled],
    ) -> Own<'a> {
        let mut counts = Counts::default();
        for &(s, r, label) in segments {
            if let Some(text) = features.texts().id(memory.text.words(s, r)) {
                let list = counts.entry(text).or_default();
                match list.iter_mut().find(|(of, _)| *of == label) {
                    Some((_, count)) => *count += 1,
                    None => list.push((label, 1)),
                }
            }
        }
        Own { from: self, sequence, counts }
    }
}

impl Own<'_> {
    /// Its number.
    pub(super) fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The features of a known text, with the label that the others give it.
    pub(super) fn visit(&self, features: &[FeatureId], text: u32, visit: &mut impl FnMut(FeatureId)) {
        let is_known = |id: &FeatureId| self.from.known_ids.contains(&Some(*id));
        features.iter().filter(|id| !is_known(id)).for_each(|&id| visit(id));
        let list = |counts: &Counts| counts.get(&text).cloned().unwrap_or_default();
        let others = majority(&list(&self.from.counts), &list(&self.counts));
        others.and_then(|label| self.from.known_ids[label as usize]).into_iter().for_each(visit);
    }
}
