//! Feature sets that need no template.
//!
//! Names describe the features: `w[-1]=the` is the word before, `suf3=ing` a suffix, `shape=Xx` the shape of a word.
//! Positions outside the sequence have the same names as in templates (`_B-1`, `_B+1`).
//!
//! `words` and `morphology` *fold* words and affixes: capitals become lower case, digits `0`, so that `The` at the
//! beginning of a sentence is the same word as elsewhere. Separate features keep what is lost: capitals and digits.
//!
//! Except for hidden Markov models, a set is a list of rules, like those of a template: one for each feature that a position
//! may have, in the order of the features.

use crate::sequence::Sequence;
use crate::template::{Part, Rule, Take, Test, push_folded, suffixes};
use kbest_core::{Error, Result};
use std::ops::{Range, RangeInclusive};

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

/// The names of features of cells at -2..+2, after the name of the column; folded words have no column.
const AROUND: [(&str, isize); 5] = [("[-2]=", -2), ("[-1]=", -1), ("[0]=", 0), ("[1]=", 1), ("[2]=", 2)];

fn text(text: &str) -> Part {
    Part::Text(text.as_bytes().into())
}

fn cell(row: isize, column: usize, take: Take) -> Part {
    Part::Cell { row, column, take }
}

fn here(test: Test) -> Part {
    Part::If { row: 0, test }
}

/// The rules of [`Preset::Words`].
pub(super) fn words() -> Vec<Rule> {
    let affixes = affixes(1..=AFFIXES_OF_WORDS, None);
    [words_around(), word_pairs(), affixes.0, affixes.1, looks()].concat()
}

fn words_around() -> Vec<Rule> {
    let around =
        AROUND.map(|(name, row)| Rule::made([text(&format!("w{name}")), cell(row, 0, Take::Folded)]));
    around.into()
}

/// What [`words`] has and [`morphology`] has not.
pub(super) fn word_pairs() -> Vec<Rule> {
    let pair = |name: &str, row: isize| {
        let cells = [cell(row, 0, Take::Folded), text("|"), cell(row + 1, 0, Take::Folded)];
        Rule::made([&[text(name)], &cells[..]].concat())
    };
    vec![pair("w[-1]|w[0]=", -1), pair("w[0]|w[1]=", 0)]
}

/// The rules of [`Preset::Columns`] for these columns.
pub(super) fn columns(columns: Range<usize>) -> Vec<Rule> {
    const PAIRS: [(&str, isize); 4] =
        [("[-2]|[-1]=", -2), ("[-1]|[0]=", -1), ("[0]|[1]=", 0), ("[1]|[2]=", 1)];
    let mut rules = Vec::new();
    for column in columns {
        for (name, row) in AROUND {
            rules.push(Rule::made([text(&format!("c{column}{name}")), cell(row, column, Take::Whole)]));
        }
        for (name, row) in PAIRS {
            let [left, right] = [row, row + 1].map(|row| cell(row, column, Take::Whole));
            rules.push(Rule::made([text(&format!("c{column}{name}")), left, text("|"), right]));
        }
    }
    rules
}

/// The rules of [`Preset::Morphology`].
pub(super) fn morphology() -> Vec<Rule> {
    let (prefixes, suffixes) = affixes(1..=AFFIXES_OF_WORDS, None);
    let (long_prefixes, long_suffixes) =
        affixes(AFFIXES_OF_WORDS + 1..=AFFIXES_OF_RARE_WORDS, Some(Test::Rare));
    let first = Rule::made([here(Test::First), here(Test::Capital), text("first=capital")]);
    let affixes = [prefixes, long_prefixes, suffixes, long_suffixes].concat();
    [words_around(), affixes, looks(), vec![first], neighbour("[-1]=", -1), neighbour("[1]=", 1)].concat()
}

/// Suffixes and shape of a neighbour, if there is one.
fn neighbour(place: &str, row: isize) -> Vec<Rule> {
    let inside = || Part::If { row, test: Test::Inside };
    let suffix = |length: usize| {
        Rule::made([inside(), text(&format!("suf{length}{place}")), cell(row, 0, Take::FoldedSuffix(length))])
    };
    let shape = Rule::made([inside(), text(&format!("shape{place}")), cell(row, 0, Take::Shape)]);
    (1..=SUFFIXES_OF_NEIGHBOURS).map(suffix).chain([shape]).collect()
}

/// Prefixes and suffixes of these lengths.
fn affixes(lengths: RangeInclusive<usize>, test: Option<Test>) -> (Vec<Rule>, Vec<Rule>) {
    let rule = |name: String, take: Take| {
        let parts = test.map(here).into_iter().chain([text(&name), cell(0, 0, take)]);
        Rule::made(parts.collect::<Vec<_>>())
    };
    let prefix = |length: usize| rule(format!("pre{length}="), Take::FoldedPrefix(length));
    let suffix = |length: usize| rule(format!("suf{length}="), Take::FoldedSuffix(length));
    (lengths.clone().map(prefix).collect(), lengths.map(suffix).collect())
}

/// The shape of a word, and other features of its spelling.
fn looks() -> Vec<Rule> {
    const FLAGS: [(&str, Test); 6] = [
        ("capital", Test::Capital),
        ("capitals", Test::Capitals),
        ("digit", Test::Digit),
        ("number", Test::Number),
        ("punctuation", Test::Punctuation),
        ("hyphen", Test::Hyphen),
    ];
    let flags = FLAGS.map(|(name, test)| Rule::made([here(test), text(name)]));
    let shape = Rule::made([text("shape="), cell(0, 0, Take::Shape)]);
    flags.into_iter().chain([shape]).collect()
}

/// Each feature of a position implies all features before it: trainers rely on that.
pub(super) fn hmm(
    sequence: &Sequence,
    t: usize,
    is_rare: impl Fn(&str) -> bool,
    key: &mut Vec<u8>,
    mut visit: impl FnMut(&[u8]),
) {
    let word = sequence.cell(t, 0).unwrap_or("");
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

/// Begins a key with `pre3`, `suf3` or similar; lengths have at most two digits.
fn name_affix(name: &[u8], length: usize, key: &mut Vec<u8>) {
    key.clear();
    key.extend_from_slice(name);
    if length >= 10 {
        key.push(b'0' + (length / 10) as u8);
    }
    key.push(b'0' + (length % 10) as u8);
}
