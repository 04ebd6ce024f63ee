//! How similar a segment is to segments that are known.
//!
//! ```text
//! idf(word) = ln(1 + N / segments with the word)          N known segments
//! vector(segment)[word] = count(word) * idf(word), of length 1
//! similarity(a, b) = vector(a) . vector(b)
//! ```
//!
//! Words that no known segment has weigh `ln(1 + N)`: they count against similarity. Words that very many have (`of`, `the`) do
//! not count at all: they would say little and cost most. **Cost.** The postings of the segment's words: known segments that
//! share a word with it.

use super::text::SegmentText;
use crate::checked::part_between;
use crate::feature::{Dictionary, rises_to};
use crate::memory::Blob;
use kbest_core::LabelId;
use kbest_core::intern::Interner;
use kbest_core::{Error, Result};

/// Known segments as vectors, by word.
#[derive(Debug, Clone, Default)]
pub struct Similar {
    pub(crate) words: Dictionary,
    pub(crate) starts: Blob<u32>, // one more than words: where the postings of each begin
    pub(crate) segments: Blob<u32>, // postings: known segments that have the word; none if it does not count
    pub(crate) weights: Blob<f32>, // and its weight there
    pub(crate) labels: Blob<u32>, // the label of each known segment
    pub(super) sole: Vec<u32>, // while training: the only sequence with this segment, or MANY; empty afterwards
}

/// A word that more than this many known segments have, and more than one in [`FREQUENT_SHARE`], does not count.
const FREQUENT: usize = 25;
const FREQUENT_SHARE: usize = 50;

/// In several sequences.
pub(super) const MANY: u32 = u32::MAX;

pub(super) const UNKNOWN: u32 = u32::MAX;

/// Working memory.
#[derive(Debug, Default)]
pub(super) struct SimilarMemory {
    pub(super) words: Vec<(u32, f32)>, // of the sequence, and what each weighs
    counted: Vec<(u32, f32, f32)>,     // of a segment: word, what it weighs, count
    scores: Vec<f32>,                  // of known segments; zero between calls
    touched: Vec<u32>,
}

impl Similar {
    /// Similarities are told in steps that begin here.
    pub const FLOORS: [f32; 4] = [0.3, 0.5, 0.7, 0.9];
    /// Number of steps.
    pub const STEPS: usize = 4;

    /// From known segments: words, label and the only sequence that has it.
    pub(super) fn new<'a>(known: impl Iterator<Item = (&'a [u8], LabelId, u32)>) -> Self {
        let (mut words, mut labels, mut sole) = (Interner::default(), vec![], vec![]);
        let mut vectors: Vec<Vec<(u32, f32)>> = Vec::new();
        for (text, label, sequence) in known {
            let mut counted: Vec<(u32, f32)> = Vec::new();
            for word in text.split(|&byte| byte == b' ') {
                if let Some(id) = words.insert(word) {
                    count(id, &mut counted);
                }
            }
            vectors.push(counted);
            labels.push(label);
            sole.push(sequence);
        }
        let words = Dictionary::from(words);
        let mut postings: Vec<Vec<(u32, f32)>> = vec![vec![]; words.len()];
        for (segment, counted) in (0..).zip(&vectors) {
            counted.iter().for_each(|&(word, count)| postings[word as usize].push((segment, count)));
        }
        let counts = |list: &Vec<_>| list.len() <= FREQUENT.max(vectors.len() / FREQUENT_SHARE);
        postings.iter_mut().filter(|list| !counts(list)).for_each(Vec::clear);
        let idf = |word: u32| idf(vectors.len(), postings[word as usize].len());
        let weighed =
            |counted: &Vec<(u32, f32)>| norm(counted.iter().map(|&(word, count)| (count, idf(word))));
        let norms: Vec<f32> = vectors.iter().map(weighed).collect();
        let (mut starts, mut segments, mut weights) = (vec![0], vec![], vec![]);
        for (word, list) in (0..).zip(&postings) {
            for &(segment, count) in list {
                segments.push(segment);
                weights.push(count * idf(word) / norms[segment as usize]);
            }
            starts.push(segments.len() as u32);
        }
        let (starts, segments, weights, labels) =
            (starts.into(), segments.into(), weights.into(), labels.into());
        Similar { words, starts, segments, weights, labels, sole }
    }

    /// From the arrays of a file; [`Similar::check`] looks at them.
    pub(crate) fn from_arrays(
        words: Dictionary,
        starts: Blob<u32>,
        segments: Blob<u32>,
        weights: Blob<f32>,
        labels: Blob<u32>,
    ) -> Self {
        Similar { words, starts, segments, weights, labels, sole: Vec::new() }
    }

    /// Number of known segments.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// True if no segment is known.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Refuses arrays in which a look-up could go astray.
    pub(super) fn check(&self, labels: usize) -> Result<()> {
        let wrong = |got: &str| Err(Error::shape("known segments", "vectors that fit together", got));
        if self.words.is_empty() && self.starts.is_empty() && self.segments.is_empty() {
            return Ok(());
        }
        if self.starts.len() != self.words.len() + 1
            || self.starts.first() != Some(&0)
            || !rises_to(&self.starts, self.segments.len())
            || self.weights.len() != self.segments.len()
        {
            return wrong("other offsets");
        }
        if self.segments.iter().any(|&segment| segment as usize >= self.labels.len()) {
            return wrong("a posting of a segment that is not known");
        }
        let list = |ends: &[u32]| &self.segments[ends[0] as usize..ends[1] as usize];
        if self.starts.windows(2).map(list).any(|list| !list.is_sorted_by(|a, b| a < b)) {
            return wrong("a word with postings that do not rise");
        }
        if self.labels.iter().any(|&label| label as usize >= labels) {
            return wrong("a label out of range");
        }
        match self.weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            true => Ok(()),
            false => wrong("a weight that is negative or not finite"),
        }
    }

    /// Looks up the words of a sequence.
    pub(super) fn find_words(&self, text: &SegmentText, memory: &mut SimilarMemory) {
        memory.words.clear();
        memory.words.extend((0..text.len()).map(|t| match self.words.id(text.words(t, t + 1)) {
            None => (UNKNOWN, idf(self.len(), 1)),
            Some(word) => {
                let postings = part_between(&self.segments, &self.starts, word as usize);
                (word, idf(self.len(), postings.len()))
            }
        }));
        memory.scores.resize(self.len(), 0.0);
    }

    /// Label and step of the known segment that is most similar to `[s, r)`, if any is at all; the lowest label if several are.
    pub(super) fn nearest(
        &self,
        s: usize,
        r: usize,
        leave_out: Option<u32>,
        memory: &mut SimilarMemory,
    ) -> Option<(LabelId, usize)> {
        let SimilarMemory { words, counted, scores, touched } = memory;
        counted.clear();
        for &(word, idf) in &words[s..r] {
            match counted.iter_mut().find(|(known, ..)| *known == word) {
                Some((.., count)) => *count += 1.0,
                None => counted.push((word, idf, 1.0)),
            }
        }
        let norm = norm(counted.iter().map(|&(_, idf, count)| (count, idf)));
        for &(word, idf, count) in counted.iter().filter(|(word, ..)| *word != UNKNOWN) {
            let weight = count * idf / norm;
            let segments = part_between(&self.segments, &self.starts, word as usize);
            let weights = part_between(&self.weights, &self.starts, word as usize);
            for (&segment, own) in segments.iter().zip(weights) {
                let Some(score) = scores.get_mut(segment as usize) else { continue };
                if *score == 0.0 {
                    touched.push(segment);
                }
                *score += weight * own;
            }
        }
        let mut best: Option<(f32, LabelId)> = None;
        for segment in touched.drain(..) {
            let score = std::mem::take(&mut scores[segment as usize]);
            let left_out = leave_out.is_some() && self.sole.get(segment as usize).copied() == leave_out;
            let Some(&label) = self.labels.get(segment as usize) else { continue };
            if !left_out && best.is_none_or(|(most, of)| score > most || score == most && label < of) {
                best = Some((score, label));
            }
        }
        let (score, label) = best?;
        // Rounding may leave the same text a little below 1.
        let step = Self::FLOORS.iter().rposition(|&floor| score + 1e-4 >= floor)?;
        Some((label, step))
    }
}

fn count(word: u32, counted: &mut Vec<(u32, f32)>) {
    match counted.iter_mut().find(|(known, _)| *known == word) {
        Some((_, count)) => *count += 1.0,
        None => counted.push((word, 1.0)),
    }
}

/// The weight of a word that so many segments have; 0 for one that does not count.
fn idf(all: usize, with_word: usize) -> f32 {
    if with_word == 0 { 0.0 } else { (1.0 + all as f64 / with_word as f64).ln() as f32 }
}

/// The length of a vector: how often each word occurs, and what it weighs.
fn norm(counted: impl Iterator<Item = (f32, f32)>) -> f32 {
    let squares = counted.map(|(count, idf)| (count * idf).powi(2));
    squares.sum::<f32>().sqrt().max(f32::MIN_POSITIVE)
}
