//! Features of whole segments: their text, shape and neighbours, lexicons, and likeness to segments that are known.
//!
//! **What.** A segment `[s, r)` has, besides the features of its positions, features of its own:
//!
//! | kind | feature | when |
//! |---|---|---|
//! | `text` | the whole text | seen in at least two sequences of the training data |
//! | `known` | the label that the text had most often in the training data | the text is known |
//! | `lexicon` | the lexicons (files) that contain the text | one does |
//! | `similar` | the label of the most similar known segment, and how similar it is (cosine of TF-IDF vectors, in steps) | at least 0.3 |
//! | `ends` | first and last word | two or more words, seen as often |
//! | `around` | the words before and after the segment | seen as often |
//! | `shape` | the shapes of its tokens | seen as often |
//! | `line` | whether it begins a line, ends one, and lies in one | lines are known |
//!
//! Words are folded (lower case, digits `0`) and stripped of punctuation at both ends, so `Chicago,` is `chicago`; shapes keep
//! it. Known texts and similarities leave out the sequence at hand while training: otherwise every right segment would be
//! known, and a trainer would trust that too much.
//!
//! **Why on demand.** There are `T W` segments, and each takes a few hashes and a walk over postings: computing all of them is
//! where taggers of segments spend their time. [`SegmentFeatures::visit`] computes those of one segment, so a decoder that
//! prunes asks for few. **Cost.** `O(T)` to prepare a sequence. **When not.** For inputs without text (numbers, items) there are
//! no such features.
//!
//! **Papers.** Sarawagi and Cohen 2004, section 3 (lexicons, similarity); Druck, Narasimhan and Viola 2007, section 5.

mod builder;
mod glance;
mod lexicon;
mod similar;
mod text;

pub use builder::{LeaveOut, Own, SegmentFeaturesBuilder};
pub use glance::Glance;
pub(crate) use glance::{Hints, Possible, Similarity};
pub use lexicon::Lexicon;
pub use similar::Similar;
pub use text::SegmentText;

use super::{Dictionary, FeatureId};
use crate::checked::part_between;
use crate::memory::Blob;
use glance::Glances;
use kbest_core::{Error, Result};
use similar::SimilarMemory;

/// A kind of segment feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentKind {
    /// The whole text.
    Text,
    /// The label that the text had most often.
    Known,
    /// Lexicons that contain the text.
    Lexicon,
    /// The most similar known segment.
    Similar,
    /// First and last word.
    Ends,
    /// The words before and after.
    Around,
    /// The shapes of the tokens.
    Shape,
    /// Lines.
    Line,
}

impl SegmentKind {
    /// All kinds with their names.
    pub const NAMES: [(&'static str, SegmentKind); 8] = [
        ("text", SegmentKind::Text),
        ("known", SegmentKind::Known),
        ("lexicon", SegmentKind::Lexicon),
        ("similar", SegmentKind::Similar),
        ("ends", SegmentKind::Ends),
        ("around", SegmentKind::Around),
        ("shape", SegmentKind::Shape),
        ("line", SegmentKind::Line),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, kind)| *kind == self);
        found.expect("every kind has a name").0
    }

    /// The kind with this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, kind)| kind).ok_or_else(|| Error::UnknownName {
            what: "kind of segment feature",
            name: name.to_owned(),
            expected: Self::NAMES.map(|(known, _)| known).join(", "),
        })
    }

    /// The kind of a feature, by the beginning of its key.
    pub fn of_key(key: &[u8]) -> Option<Self> {
        let end = key.iter().position(|&byte| byte == b'=')?;
        Self::by_name(std::str::from_utf8(&key[..end]).ok()?).ok()
    }
}

/// Turns segments into feature ids; read-only.
#[derive(Debug, Clone, Default)]
pub struct SegmentFeatures {
    kinds: Vec<SegmentKind>,
    line_column: Option<usize>,
    keys: Dictionary,
    texts: Dictionary,      // known texts
    text_starts: Blob<u32>, // one more than texts: where the features of each begin
    text_features: Blob<u32>,
    similar: Similar,
    similar_features: Vec<Option<FeatureId>>, // label x step
    line_features: [Option<FeatureId>; 8],
    glances: Glances,
}

/// The parts of [`SegmentFeatures`], as a file has them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentFeatureParts {
    /// The kinds there are.
    pub kinds: Vec<SegmentKind>,
    /// The column whose cells change from line to line, if there is one.
    pub line_column: Option<usize>,
    /// Names of the features.
    pub keys: Dictionary,
    /// Known texts.
    pub texts: Dictionary,
    /// Where the features of each text begin; one more than texts.
    pub text_starts: Blob<u32>,
    /// The features of known texts, end to end.
    pub text_features: Blob<u32>,
    /// Known segments as vectors.
    pub similar: Similar,
}

/// Working memory for one sequence; the sequence itself is in it.
#[derive(Debug, Default)]
pub struct SegmentMemory {
    pub(super) text: SegmentText,
    key: Vec<u8>,
    similar: SimilarMemory,
}

impl SegmentFeatures {
    /// Checks that the parts fit together; `labels` are the names of the segment labels.
    ///
    /// # Errors
    /// [`Error::Shape`] if they do not.
    pub(crate) fn new<N: AsRef<str>>(parts: SegmentFeatureParts, labels: &[N]) -> Result<Self> {
        let SegmentFeatureParts { kinds, line_column, keys, texts, text_starts, text_features, similar } =
            parts;
        if text_starts.len() != texts.len() + 1
            || text_starts.first() != Some(&0)
            || !super::rises_to(&text_starts, text_features.len())
        {
            return Err(Error::shape("features of known texts", "lists end to end", "other offsets"));
        }
        if let Some(id) = text_features.iter().find(|&&id| id as usize >= keys.len()) {
            return Err(Error::shape("features of known texts", format!("below {}", keys.len()), id));
        }
        if let Some((_, kind)) = kinds.iter().enumerate().find(|&(i, kind)| kinds[..i].contains(kind)) {
            return Err(Error::shape(
                "kinds of segment features",
                "each once",
                format!("{} twice", kind.name()),
            ));
        }
        check_text_lists(&keys, &texts, &text_starts, &text_features)?;
        similar.check(labels.len())?;
        let steps = 0..Similar::STEPS;
        let similar_features = labels
            .iter()
            .flat_map(|label| steps.clone().map(|step| keys.id(&similar_key(label.as_ref(), step))))
            .collect();
        let line_features = std::array::from_fn(|bits| keys.id(line_key(bits).as_bytes()));
        let mut features = SegmentFeatures {
            kinds,
            line_column,
            keys,
            texts,
            text_starts,
            text_features,
            similar,
            similar_features,
            line_features,
            glances: Glances::default(),
        };
        features.glances = Glances::new(&features);
        Ok(features)
    }

    /// The kinds there are.
    pub fn kinds(&self) -> &[SegmentKind] {
        &self.kinds
    }

    /// The column whose cells change from line to line.
    pub fn line_column(&self) -> Option<usize> {
        self.line_column
    }

    /// Names of the features.
    pub fn keys(&self) -> &Dictionary {
        &self.keys
    }

    /// Known texts: those of the training segments and of the lexicons.
    pub fn texts(&self) -> &Dictionary {
        &self.texts
    }

    /// Where the features of each known text begin, and these features.
    pub fn text_lists(&self) -> (&[u32], &[u32]) {
        (&self.text_starts, &self.text_features)
    }

    /// Known segments as vectors.
    pub fn similar(&self) -> &Similar {
        &self.similar
    }

    /// Forgets which sequence each known segment comes from: once training is prepared, nobody asks.
    pub(crate) fn without_sources(mut self) -> Self {
        self.similar.sole = Vec::new();
        self
    }

    fn has(&self, kind: SegmentKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Makes a sequence the one that [`SegmentFeatures::visit`] looks at.
    ///
    /// # Errors
    /// [`Error::Shape`] if the column of the lines is missing.
    pub fn prepare(&self, sequence: &crate::sequence::Sequence, memory: &mut SegmentMemory) -> Result<()> {
        memory.text.fill(sequence, self.line_column)?;
        if self.has(SegmentKind::Similar) {
            self.similar.find_words(&memory.text, &mut memory.similar);
        }
        Ok(())
    }

    /// Looks at the sequence that was prepared, so that bounds of segments can be told.
    pub(crate) fn glance(&self, memory: &SegmentMemory, glance: &mut Glance) {
        glance.fill(self, &memory.text, &memory.similar);
    }

    /// The feature of a known segment of this label that is so similar.
    pub(crate) fn similar_feature(&self, label: usize, step: usize) -> Option<FeatureId> {
        self.similar_features.get(label * Similar::STEPS + step).copied().flatten()
    }

    /// Visits the features of the segment `[s, r)` of the sequence that was prepared. While training, `own` leaves out what is
    /// known only from that sequence.
    ///
    /// # Panics
    /// If the sequence has no such segment.
    pub fn visit(
        &self,
        memory: &mut SegmentMemory,
        s: usize,
        r: usize,
        own: Option<&Own<'_>>,
        visit: impl FnMut(FeatureId),
    ) {
        self.visit_hinted(memory, s, r, Hints::ALL, own, visit);
    }

    /// The same if a [`Glance`] has told which look-ups can find something.
    pub(crate) fn visit_hinted(
        &self,
        memory: &mut SegmentMemory,
        s: usize,
        r: usize,
        hints: Hints,
        own: Option<&Own<'_>>,
        mut visit: impl FnMut(FeatureId),
    ) {
        if self.kinds.is_empty() {
            return;
        }
        let SegmentMemory { text, key, similar } = memory;
        if hints.has(Hints::TEXT)
            && let Some(id) = self.texts.id(text.words(s, r))
        {
            match own {
                None => self.features_of_text(id).iter().for_each(|&feature| visit(feature)),
                Some(own) => own.visit(self.features_of_text(id), id, &mut visit),
            }
        }
        let mut look_up = |kind: SegmentKind, write: &mut dyn FnMut(&mut Vec<u8>)| {
            key.clear();
            key.extend_from_slice(kind.name().as_bytes());
            key.push(b'=');
            write(key);
            self.keys.id(key).into_iter().for_each(&mut visit);
        };
        for &kind in &self.kinds {
            match kind {
                SegmentKind::Ends if r - s > 1 && hints.has(Hints::ENDS) => {
                    look_up(kind, &mut |key| text.push_ends(s, r, key));
                }
                SegmentKind::Around if hints.has(Hints::AROUND) => {
                    look_up(kind, &mut |key| text.push_around(s, r, key));
                }
                SegmentKind::Shape if hints.has(Hints::SHAPE) => {
                    look_up(kind, &mut |key| key.extend_from_slice(text.shapes(s, r)));
                }
                _ => {}
            }
        }
        if hints.has(Hints::SIMILAR)
            && self.has(SegmentKind::Similar)
            && let Some((label, step)) = self.similar.nearest(s, r, own.map(|own| own.sequence()), similar)
            && let Some(&Some(id)) = self.similar_features.get(label as usize * Similar::STEPS + step)
        {
            visit(id);
        }
        if self.has(SegmentKind::Line) && self.line_column.is_some() {
            self.line_features[text::line_bits(text.lines(), s, r)].into_iter().for_each(visit);
        }
    }

    #[inline(always)]
    fn features_of_text(&self, id: u32) -> &[FeatureId] {
        part_between(&self.text_features, &self.text_starts, id as usize)
    }

    /// The features that depend on the text alone, for counting while training.
    fn visit_texts(
        &self,
        memory: &mut SegmentMemory,
        s: usize,
        r: usize,
        visit: &mut dyn FnMut(SegmentKind, &[u8]),
    ) {
        let SegmentMemory { text, key, .. } = memory;
        for kind in [SegmentKind::Text, SegmentKind::Ends, SegmentKind::Around, SegmentKind::Shape] {
            if !self.has(kind) || kind == SegmentKind::Ends && r - s < 2 {
                continue;
            }
            key.clear();
            key.extend_from_slice(kind.name().as_bytes());
            key.push(b'=');
            match kind {
                SegmentKind::Text => key.extend_from_slice(text.words(s, r)),
                SegmentKind::Ends => text.push_ends(s, r, key),
                SegmentKind::Around => text.push_around(s, r, key),
                _ => key.extend_from_slice(text.shapes(s, r)),
            }
            visit(kind, key);
        }
    }
}

/// A text has at most its own feature, one label that it is known for, and each lexicon once: bounds rely on it.
fn check_text_lists(keys: &Dictionary, texts: &Dictionary, starts: &[u32], features: &[u32]) -> Result<()> {
    let kinds: Vec<Option<SegmentKind>> = keys.keys().map(SegmentKind::of_key).collect();
    for ((text, &start), &end) in texts.keys().zip(starts).zip(&starts[1..]) {
        let list = &features[start as usize..end as usize];
        let (mut own, mut known) = (0, 0);
        let mut last = None; // lexicons come in rising order
        for &id in list {
            let legal = match kinds[id as usize] {
                Some(SegmentKind::Text) => {
                    own += 1;
                    keys.key(id).and_then(|key| key.strip_prefix(b"text=")) == Some(text)
                }
                Some(SegmentKind::Known) => {
                    known += 1;
                    true
                }
                Some(SegmentKind::Lexicon) => last.replace(id).is_none_or(|last| last < id),
                _ => false,
            };
            if !legal || own > 1 || known > 1 {
                let expected = "its own feature, a known label and lexicons, each once";
                return Err(Error::shape("features of a known text", expected, "others"));
            }
        }
    }
    Ok(())
}

fn known_key(label: &str) -> Vec<u8> {
    [b"known=", label.as_bytes()].concat()
}

fn lexicon_key(name: &str) -> Vec<u8> {
    [b"lexicon=", name.as_bytes()].concat()
}

fn similar_key(label: &str, step: usize) -> Vec<u8> {
    format!("similar={label}/{}", Similar::FLOORS[step]).into_bytes()
}

/// Whether a segment begins a line (1), ends one (2), and lies in one (4).
fn line_key(bits: usize) -> String {
    let words = ["begins", "ends", "within"].iter().enumerate();
    let words: Vec<&str> = words.filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, word)| *word).collect();
    format!("line={}", words.join("+"))
}
