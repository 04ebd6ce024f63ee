//! Feature sets that need no template.
//!
//! Names describe the features: `w[-1]=the` is the word before, `suf3=ing` a suffix, `shape=Xx` the shape of a word.
//! Positions outside the sequence have the same names as in templates (`_B-1`, `_B+1`).
//!
//! `words` and `morphology` *fold* words and affixes: capitals become lower case, digits `0`, so that `The` at the
//! beginning of a sentence is the same word as elsewhere. Separate features keep what is lost: capitals and digits.

use crate::error::{Error, Result};
use crate::sequence::Sequence;
use crate::template::{prefixes, push_boundary, push_folded, push_shape, suffixes};
use std::ops::Range;

/// A feature set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// The set of the papers on staggered decoding and iterative Viterbi A* (section 5.1 of both): words at -2..+2,
    /// word bigrams, prefixes and suffixes of up to four characters, capitals, digits, punctuation, shape. Words and
    /// affixes are folded. Uses only the first column.
    Words,
    /// Every column at -2..+2, and the bigrams of neighbouring positions of the same column.
    Columns,
    /// For large morphological label sets: words at -2..+2; prefixes and suffixes of up to four characters, for rare
    /// words up to ten; capitals, digits, punctuation, shape, and whether a capital only begins the sentence; suffixes
    /// of up to three characters and shapes of both neighbours. Words and affixes are folded. Uses only the first
    /// column. Labels whose names have parts in common share weights.
    Morphology,
    /// The emissions of a hidden Markov model ([`crate::train::Hmm`]): the word; for rare words, before it, a class of
    /// word shapes and the suffixes of up to ten characters within that class, shortest first. Uses only the first
    /// column.
    Hmm,
}

impl Preset {
    /// The name of each preset.
    pub const NAMES: [(&'static str, Preset); 4] = [
        ("words", Preset::Words),
        ("columns", Preset::Columns),
        ("morphology", Preset::Morphology),
        ("hmm", Preset::Hmm),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, preset)| *preset == self);
        found.expect("every preset has a name").0
    }

    /// The preset with this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, preset)| preset).ok_or_else(|| Error::UnknownName {
            what: "feature preset",
            name: name.to_owned(),
            expected: Self::NAMES.map(|(known, _)| known).join(", "),
        })
    }
}

impl Preset {
    /// The feature for the cell of the first column itself, folded if the preset folds words.
    pub(super) fn word_key(self, word: &str) -> Vec<u8> {
        let prefix: &[u8] = match self {
            Preset::Words | Preset::Morphology => b"w[0]=",
            Preset::Columns => b"c0[0]=",
            Preset::Hmm => b"w=",
        };
        let mut key = prefix.to_vec();
        match self {
            Preset::Words | Preset::Morphology => push_folded(word, &mut key),
            Preset::Columns | Preset::Hmm => key.extend_from_slice(word.as_bytes()),
        }
        key
    }
}

const AFFIXES_OF_WORDS: usize = 4;
const AFFIXES_OF_RARE_WORDS: usize = 10;
const SUFFIXES_OF_NEIGHBOURS: usize = 3;

/// The cell `offset` positions from `t`, or the name of the position outside the sequence.
fn push_cell(sequence: &Sequence, t: usize, offset: isize, column: usize, out: &mut Vec<u8>) {
    match t.checked_add_signed(offset) {
        Some(at) if at < sequence.len() => {
            out.extend_from_slice(sequence.cell(at, column).unwrap_or("").as_bytes());
        }
        Some(at) => push_boundary(b'+', at - sequence.len() + 1, out),
        None => push_boundary(b'-', offset.unsigned_abs() - t, out),
    }
}

/// The folded word `offset` positions from `t`, or the name of the position outside the sequence.
fn push_word(sequence: &Sequence, t: usize, offset: isize, _column: usize, out: &mut Vec<u8>) {
    match t.checked_add_signed(offset).filter(|&at| at < sequence.len()) {
        Some(at) => push_folded(word(sequence, at), out),
        None => push_cell(sequence, t, offset, 0, out),
    }
}

fn word(sequence: &Sequence, t: usize) -> &str {
    sequence.cell(t, 0).unwrap_or("")
}

const WORDS_AROUND: [(&[u8], isize); 5] =
    [(b"w[-2]=", -2), (b"w[-1]=", -1), (b"w[0]=", 0), (b"w[1]=", 1), (b"w[2]=", 2)];

pub(super) fn words(sequence: &Sequence, t: usize, key: &mut Vec<u8>, mut visit: impl FnMut(&[u8])) {
    around(sequence, t, 0, &WORDS_AROUND, push_word, key, &mut visit);
    word_pairs(sequence, t, key, &mut visit);
    affixes(word(sequence, t), AFFIXES_OF_WORDS, key, &mut visit);
    looks(word(sequence, t), key, &mut visit);
}

/// What [`words`] has and [`morphology`] has not.
pub(super) fn word_pairs(sequence: &Sequence, t: usize, key: &mut Vec<u8>, mut visit: impl FnMut(&[u8])) {
    const PAIRS: [(&[u8], isize); 2] = [(b"w[-1]|w[0]=", -1), (b"w[0]|w[1]=", 0)];
    pairs(sequence, t, 0, &PAIRS, push_word, key, &mut visit);
}

pub(super) fn columns(
    sequence: &Sequence,
    t: usize,
    columns: Range<usize>,
    key: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]),
) {
    const AROUND: [(&[u8], isize); 5] =
        [(b"[-2]=", -2), (b"[-1]=", -1), (b"[0]=", 0), (b"[1]=", 1), (b"[2]=", 2)];
    const PAIRS: [(&[u8], isize); 4] =
        [(b"[-2]|[-1]=", -2), (b"[-1]|[0]=", -1), (b"[0]|[1]=", 0), (b"[1]|[2]=", 1)];
    for column in columns {
        around(sequence, t, column, &AROUND, push_cell, key, &mut |text| visit(text));
        pairs(sequence, t, column, &PAIRS, push_cell, key, &mut |text| visit(text));
    }
}

pub(super) fn morphology(
    sequence: &Sequence,
    t: usize,
    is_rare: impl Fn(&str) -> bool,
    key: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]),
) {
    around(sequence, t, 0, &WORDS_AROUND, push_word, key, &mut visit);
    let word_here = word(sequence, t);
    let longest = if is_rare(word_here) { AFFIXES_OF_RARE_WORDS } else { AFFIXES_OF_WORDS };
    affixes(word_here, longest, key, &mut visit);
    looks(word_here, key, &mut visit);
    if t == 0 && word_here.starts_with(char::is_uppercase) {
        visit(b"first=capital");
    }
    let before = t.checked_sub(1).map(|at| (&b"[-1]="[..], at));
    let after = Some((&b"[1]="[..], t + 1)).filter(|&(_, at)| at < sequence.len());
    for (place, at) in before.into_iter().chain(after) {
        let neighbour = word(sequence, at);
        for (length, suffix) in suffixes(neighbour, SUFFIXES_OF_NEIGHBOURS) {
            name_affix(b"suf", length, key);
            key.extend_from_slice(place);
            push_folded(suffix, key);
            visit(key);
        }
        key.clear();
        key.extend_from_slice(b"shape");
        key.extend_from_slice(place);
        push_shape(neighbour, key);
        visit(key);
    }
}

/// Each feature of a position implies all features before it: trainers rely on that.
pub(super) fn hmm(
    sequence: &Sequence,
    t: usize,
    is_rare: impl Fn(&str) -> bool,
    key: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]),
) {
    let word = word(sequence, t);
    visit(b"bias");
    if is_rare(word) {
        let class = class_of_looks(word);
        key.clear();
        key.extend_from_slice(b"class=");
        key.push(class);
        visit(key);
        for (length, suffix) in suffixes(word, AFFIXES_OF_RARE_WORDS) {
            name_affix(b"suf", length, key);
            key.extend_from_slice(&[class, b'=']);
            key.extend_from_slice(suffix.as_bytes());
            visit(key);
        }
    }
    key.clear();
    key.extend_from_slice(b"w=");
    key.extend_from_slice(word.as_bytes());
    visit(key);
}

/// Contains a digit, begins with a capital, has other letters, has no letters.
fn class_of_looks(word: &str) -> u8 {
    match word {
        _ if word.contains(char::is_numeric) => b'd',
        _ if word.starts_with(char::is_uppercase) => b'X',
        _ if word.contains(char::is_alphabetic) => b'x',
        _ => b'-',
    }
}

/// Column numbers are part of a name only if there are several columns.
fn begin(column: usize, name: &[u8], key: &mut Vec<u8>) {
    key.clear();
    if name[0] == b'[' {
        key.push(b'c');
        let start = key.len();
        let mut rest = column;
        loop {
            key.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        key[start..].reverse();
    }
    key.extend_from_slice(name);
}

/// One feature per cell.
fn around(
    sequence: &Sequence,
    t: usize,
    column: usize,
    places: &[(&[u8], isize)],
    push: impl Fn(&Sequence, usize, isize, usize, &mut Vec<u8>),
    key: &mut Vec<u8>,
    visit: &mut impl FnMut(&[u8]),
) {
    for &(name, offset) in places {
        begin(column, name, key);
        push(sequence, t, offset, column, key);
        visit(key);
    }
}

/// One feature per pair of neighbouring cells.
fn pairs(
    sequence: &Sequence,
    t: usize,
    column: usize,
    places: &[(&[u8], isize)],
    push: impl Fn(&Sequence, usize, isize, usize, &mut Vec<u8>),
    key: &mut Vec<u8>,
    visit: &mut impl FnMut(&[u8]),
) {
    for &(name, offset) in places {
        begin(column, name, key);
        push(sequence, t, offset, column, key);
        key.push(b'|');
        push(sequence, t, offset + 1, column, key);
        visit(key);
    }
}

/// Begins a key with `pre3`, `suf3` or similar; lengths have at most two digits.
fn name_affix(name: &[u8], length: usize, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(name);
    if length >= 10 {
        key.push(b'0' + (length / 10) as u8);
    }
    key.push(b'0' + (length % 10) as u8);
}

fn affixes(word: &str, longest: usize, key: &mut Vec<u8>, visit: &mut impl FnMut(&[u8])) {
    let mut push = |name: &[u8], length: usize, affix: &str| {
        name_affix(name, length, key);
        key.push(b'=');
        push_folded(affix, key);
        visit(key);
    };
    prefixes(word, longest).for_each(|(length, prefix)| push(b"pre", length, prefix));
    suffixes(word, longest).for_each(|(length, suffix)| push(b"suf", length, suffix));
}

/// The shape of a word, and other features of its spelling.
fn looks(word: &str, key: &mut Vec<u8>, visit: &mut impl FnMut(&[u8])) {
    let all = |test: fn(char) -> bool| !word.is_empty() && word.chars().all(test);
    let flags: [(&[u8], bool); 6] = [
        (b"capital", word.starts_with(char::is_uppercase)),
        (b"capitals", all(char::is_uppercase)),
        (b"digit", word.contains(char::is_numeric)),
        (
            b"number",
            all(|c| c.is_numeric() || matches!(c, '.' | ',' | '-' | '/' | ':'))
                && word.contains(char::is_numeric),
        ),
        (b"punctuation", all(|c| !c.is_alphanumeric())),
        (b"hyphen", word.contains('-')),
    ];
    for (name, holds) in flags {
        if holds {
            visit(name);
        }
    }
    key.clear();
    key.extend_from_slice(b"shape=");
    push_shape(word, key);
    visit(key);
}
