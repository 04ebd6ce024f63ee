//! What a segment's features can be, at a glance: bounds before anything is computed.
//!
//! **What.** For all segments from one start on, a [`Glance`] tells which features a segment *may* have: every one it has, and
//! now and then one that it has not. **Why.** A bound of a segment's score shall cost much less than the score. So texts and
//! shapes are hashed word by word, and the hash of a longer segment is that of the shorter one, mixed with one more word; keys
//! are neither written nor compared. What is hashed alike is taken for the same, which makes a bound higher than it need be, never
//! lower. **Similarity.** A known segment that shares no word with a segment is not similar to it, and
//!
//! ```text
//! cosine <= sum over words of idf(word) * largest weight of the word in any known segment / sqrt(sum of idf(word)^2)
//! ```
//!
//! **Hints.** Where a glance finds nothing, looking closer finds nothing either: [`Hints`] say which look-ups the features of a segment
//! that is asked for still need. **Cost.** A few bits looked at per segment, a look-up where one is set; tables of two to four words for
//! each feature of a known text, made when a model is made.

use super::similar::{SimilarMemory, UNKNOWN};
use super::text::{SegmentText, line_bits};
use super::{SegmentFeatures, SegmentKind, Similar};
use crate::feature::FeatureId;
use kbest_core::intern::{fold, hash};

/// Where the hash of a list begins, by kind, so that a text is not taken for a shape.
const TEXT: u64 = 0x082e_fa98_ec4e_6c89;
const SHAPE: u64 = 0x4528_21e6_38d0_1377;
const ENDS: u64 = 0xbe54_66cf_34e9_0c6c;
const AROUND: u64 = 0xc0ac_29b7_c97c_50dd;
const LINE: u64 = 0x9216_d5d9_8979_fb1b;
const MIX: u64 = 0x3f84_d5b5_b547_0917;

/// Covers the rounding of a cosine of few words, and what [`Similar::nearest`] allows for it.
const COSINE_SLACK: f32 = 1e-3;

/// Covers the rounding that each further word adds to either sum.
const SLACK_PER_WORD: f32 = 4.0 * f32::EPSILON;

/// No word: the same as an empty one, since both give the same key.
const OUTSIDE: u64 = 0;

/// The hash of a word or a shape; that of nothing is [`OUTSIDE`].
fn hash_word(word: &[u8]) -> u64 {
    if word.is_empty() { OUTSIDE } else { hash(word) }
}

#[inline(always)]
fn longer(list: u64, word: u64) -> u64 {
    fold(list ^ word, MIX)
}

#[inline(always)]
fn line_hash(bits: usize) -> u64 {
    longer(LINE, bits as u64)
}

/// Numbers by the hash of their key, without the keys.
#[derive(Debug, Clone)]
struct Hashed {
    slots: Vec<u64>, // upper half: of the hash, never 0; lower half: the number; 0: free
    seen: Vec<u64>, // `BITS` bits per slot: most hashes that are not there are told by one bit, from an eighth of the memory
}

/// Bits of [`Hashed::seen`] per slot.
const BITS: usize = 8;

impl Default for Hashed {
    fn default() -> Self {
        Hashed { slots: vec![0], seen: vec![0] }
    }
}

impl Hashed {
    fn new(hashed: &[(u64, u32)]) -> Self {
        let mut slots = vec![0; (2 * hashed.len() + 1).next_power_of_two()];
        for &(hash, number) in hashed {
            let mut at = hash as usize & (slots.len() - 1); // as in `probe`
            while slots[at] != 0 {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = Self::tag(hash) | u64::from(number);
        }
        let mut table = Hashed { seen: vec![0; (slots.len() * BITS).div_ceil(64)], slots };
        for &(hash, _) in hashed {
            let (word, bit) = table.place(hash);
            table.seen[word] |= 1 << bit;
        }
        table
    }

    /// The bit of a hash: its word, and its place in it. (Both sizes are powers of two.)
    #[inline(always)]
    fn place(&self, hash: u64) -> (usize, u64) {
        ((hash >> 6) as usize & (self.seen.len() - 1), hash % 64)
    }

    /// Whether a key may have this hash; if not, none has.
    #[inline(always)]
    fn may_have(&self, hash: u64) -> bool {
        let (word, bit) = self.place(hash);
        self.seen[word] >> bit & 1 != 0
    }

    #[inline(always)]
    fn tag(hash: u64) -> u64 {
        (hash | 1 << 32) >> 32 << 32
    }

    /// Appends the features that may belong to a key with this hash.
    #[inline(always)]
    fn find(&self, hash: u64, length: u32, hint: Hints, found: &mut Vec<Possible>) {
        if self.may_have(hash) {
            self.probe(hash, length, hint, found);
        }
    }

    #[inline(never)]
    fn probe(&self, hash: u64, length: u32, hint: Hints, found: &mut Vec<Possible>) {
        let mut at = hash as usize & (self.slots.len() - 1);
        // At least one slot is free.
        while self.slots[at] != 0 {
            if self.slots[at] >> 32 << 32 == Self::tag(hash) {
                found.push(Possible { length, hint, feature: self.slots[at] as u32 });
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }
}

/// Features by the hashes of what they look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Glances {
    features: Hashed, // by text, ends, neighbours, shapes and lines
    similar: Vec<SimilarWord>,
    has: [bool; 4], // whether there are ends, neighbours, shapes, lines
}

/// What is known of a word of known segments.
#[derive(Debug, Clone, Copy, Default)]
struct SimilarWord {
    labels: u64, // of the known segments that have it: bit `label % 64`
    weight: f32, // the largest in any of them
}

impl Glances {
    pub(super) fn new(features: &SegmentFeatures) -> Self {
        let SegmentFeatures { kinds, keys, texts, similar, line_features, .. } = features;
        let list = |begin: u64, key: &[u8]| {
            key.split(|&byte| byte == b' ').fold(begin, |list, word| longer(list, hash_word(word)))
        };
        let mut hashed = vec![];
        for (id, key) in (0..).zip(keys.keys()) {
            let Some(kind) = SegmentKind::of_key(key).filter(|kind| kinds.contains(kind)) else { continue };
            let value = &key[kind.name().len() + 1..];
            let begin = match kind {
                SegmentKind::Shape => {
                    hashed.push((list(SHAPE, value), id));
                    continue;
                }
                SegmentKind::Ends => ENDS,
                SegmentKind::Around => AROUND,
                _ => continue,
            };
            // Words may hold the sign between them, so every place where it stands may be the right one.
            for (bar, _) in value.iter().enumerate().filter(|(_, byte)| **byte == b'|') {
                hashed.push((
                    longer(longer(begin, hash_word(&value[..bar])), hash_word(&value[bar + 1..])),
                    id,
                ));
            }
        }
        for (text, words) in (0..).zip(texts.keys()) {
            let hash = list(TEXT, words);
            hashed.extend(features.features_of_text(text).iter().map(|&id| (hash, id)));
        }
        hashed.extend((0..).zip(line_features).filter_map(|(bits, &id)| Some((line_hash(bits), id?))));
        let words = similar.starts.windows(2).map(|two| {
            let mut word = SimilarWord::default();
            for i in two[0] as usize..two[1] as usize {
                word.labels |= 1 << (similar.labels[similar.segments[i] as usize] % 64);
                word.weight = word.weight.max(similar.weights[i]);
            }
            word
        });
        let has = [SegmentKind::Ends, SegmentKind::Around, SegmentKind::Shape, SegmentKind::Line];
        Glances {
            features: Hashed::new(&hashed),
            similar: words.collect(),
            has: has.map(|kind| kinds.contains(&kind)),
        }
    }
}

/// One sequence at a glance.
#[derive(Debug, Default)]
pub struct Glance {
    places: Vec<Place>,
    lines: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    word: u64,
    shape: u64,
    labels: u64, // of known segments that have the word
    gain: f32,   // idf * largest weight
    square: f32, // idf^2
}

/// How similar a segment may be to known ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Similarity {
    /// The labels of the known ones, as bits `label % 64`.
    pub labels: u64,
    /// How many steps of similarity are possible.
    pub steps: usize,
}

impl Glance {
    /// Looks at the sequence that was prepared.
    pub(super) fn fill(&mut self, features: &SegmentFeatures, text: &SegmentText, similar: &SimilarMemory) {
        self.places.clear();
        self.lines.clear();
        if features.has(SegmentKind::Line) {
            self.lines.extend_from_slice(text.lines());
        }
        for t in 0..text.len() {
            let (word, shape) = (hash_word(text.words(t, t + 1)), hash_word(text.shapes(t, t + 1)));
            let mut place = Place { word, shape, labels: 0, gain: 0.0, square: 0.0 };
            if features.has(SegmentKind::Similar) {
                let (id, idf) = similar.words[t];
                place.square = idf * idf;
                if id != UNKNOWN {
                    let known = features.glances.similar[id as usize];
                    (place.labels, place.gain) = (known.labels, idf * known.weight);
                }
            }
            self.places.push(place);
        }
    }

    /// Writes how similar the segments from `s` on may be to known ones: one after another, at most `longest`.
    #[inline(always)]
    pub(crate) fn similarities(&self, s: usize, longest: usize, found: &mut Vec<Similarity>) {
        let (mut labels, mut gain, mut square) = (0, 0.0, 0.0f32);
        found.clear();
        for (length, place) in (1..).zip(self.places[s..].iter().take(longest)) {
            labels |= place.labels;
            gain += place.gain;
            square += place.square;
            let norm = square.sqrt();
            let slack = COSINE_SLACK + SLACK_PER_WORD * length as f32;
            let mut steps = 0;
            for floor in Similar::FLOORS {
                steps += usize::from(norm > 0.0 && gain >= norm * (floor - slack));
            }
            found.push(Similarity { labels, steps });
        }
    }

    /// Writes which other features the segments from `s` on may have.
    #[inline(always)]
    pub(crate) fn features(
        &self,
        features: &SegmentFeatures,
        s: usize,
        longest: usize,
        found: &mut Vec<Possible>,
    ) {
        let glances = &features.glances;
        let [ends, around, shapes, lines] = glances.has;
        let lines = lines && !self.lines.is_empty();
        let places = &self.places[s..];
        let before = longer(AROUND, if s > 0 { self.places[s - 1].word } else { OUTSIDE });
        let begins = longer(ENDS, places[0].word);
        let (mut text, mut shape) = (TEXT, SHAPE);
        found.clear();
        for (i, place) in places.iter().take(longest).enumerate() {
            text = longer(text, place.word);
            shape = longer(shape, place.shape);
            let length = i as u32 + 1;
            glances.features.find(text, length, Hints::TEXT, found);
            if ends && i > 0 {
                glances.features.find(longer(begins, place.word), length, Hints::ENDS, found);
            }
            if around {
                let after = if i + 1 < places.len() { places[i + 1].word } else { OUTSIDE };
                glances.features.find(longer(before, after), length, Hints::AROUND, found);
            }
            if shapes {
                glances.features.find(shape, length, Hints::SHAPE, found);
            }
            if lines {
                let hash = line_hash(line_bits(&self.lines, s, s + i + 1));
                glances.features.find(hash, length, Hints::NONE, found);
            }
        }
    }
}

/// A feature that a segment may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Possible {
    /// The length of the segment.
    pub length: u32,
    /// The look-up that may find it.
    pub hint: Hints,
    /// The feature.
    pub feature: FeatureId,
}

/// Which look-ups can find a feature of a segment; the others need not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hints(u8);

impl Hints {
    /// None can.
    pub(crate) const NONE: Self = Hints(0);
    /// That of the whole text.
    pub(crate) const TEXT: Self = Hints(1);
    /// That of its ends.
    pub(crate) const ENDS: Self = Hints(1 << 1);
    /// That of its neighbours.
    pub(crate) const AROUND: Self = Hints(1 << 2);
    /// That of its shapes.
    pub(crate) const SHAPE: Self = Hints(1 << 3);
    /// That of similar segments.
    pub(crate) const SIMILAR: Self = Hints(1 << 4);
    /// Any can: nobody has looked.
    pub(crate) const ALL: Self = Hints(u8::MAX);

    /// Either.
    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Hints(self.0 | other.0)
    }

    /// Whether one of the others is among these.
    #[inline(always)]
    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
