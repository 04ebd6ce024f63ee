//! What a macro of a template makes of a cell: the cell itself, a part of it, its shape. Feature sets without templates
//! use the same functions.

use crate::sequence::Sequence;

/// Makes a macro of the length it asks for.
type OfLength = fn(usize) -> Take;

/// What a macro takes from a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Take {
    /// `%x[row,column]`: all of it.
    Whole,
    /// `%fold[row,column]`: without capitals and digits.
    Folded,
    /// `%shape[row,column]`: capitals, letters and digits by kind.
    Shape,
    /// `%prefix[row,column,length]`: its first characters.
    Prefix(usize),
    /// `%suffix[row,column,length]`: its last characters.
    Suffix(usize),
    /// The first characters, without capitals and digits: for feature sets without templates.
    FoldedPrefix(usize),
    /// The last characters, likewise.
    FoldedSuffix(usize),
}

/// What must hold of a cell for a rule to make a feature: for feature sets without templates. Outside the sequence nothing
/// holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// It is inside the sequence.
    Inside,
    /// It is the first of the sequence.
    First,
    /// It is a rare word.
    Rare,
    /// It begins with a capital.
    Capital,
    /// It is all capitals.
    Capitals,
    /// It contains a digit.
    Digit,
    /// It consists of digits and what may separate them.
    Number,
    /// It has neither letters nor digits.
    Punctuation,
    /// It contains a hyphen.
    Hyphen,
}

impl Test {
    /// Whether it depends on nothing but the text of the cell, and whether that is inside the sequence.
    pub(crate) fn looks_at_cell_alone(self) -> bool {
        self != Test::First
    }

    /// Whether it holds of the cell in the first column, `row` positions from `t`.
    pub(super) fn holds(
        self,
        sequence: &Sequence,
        t: isize,
        row: isize,
        is_rare: &impl Fn(&str) -> bool,
    ) -> bool {
        let Ok(at) = usize::try_from(t.saturating_add(row)) else { return false };
        if at >= sequence.len() {
            return false;
        }
        let word = sequence.cell(at, 0).unwrap_or("");
        let all = |test: fn(char) -> bool| !word.is_empty() && word.chars().all(test);
        match self {
            Test::Inside => true,
            Test::First => at == 0,
            Test::Rare => is_rare(word),
            Test::Capital => word.starts_with(char::is_uppercase),
            Test::Capitals => all(char::is_uppercase),
            Test::Digit => word.contains(char::is_numeric),
            Test::Number => {
                all(|c| c.is_numeric() || matches!(c, '.' | ',' | '-' | '/' | ':'))
                    && word.contains(char::is_numeric)
            }
            Test::Punctuation => all(|c| !c.is_alphanumeric()),
            Test::Hyphen => word.contains('-'),
        }
    }
}

impl Take {
    /// The macros without a length, by name.
    pub(super) const WITHOUT_LENGTH: [(&'static str, Take); 3] =
        [("x", Take::Whole), ("fold", Take::Folded), ("shape", Take::Shape)];

    /// The macros with a length, by name.
    pub(super) const WITH_LENGTH: [(&'static str, OfLength); 2] =
        [("prefix", Take::Prefix), ("suffix", Take::Suffix)];

    /// Appends it; false if the cell is shorter than the affix.
    fn push(self, cell: &str, out: &mut Vec<u8>) -> bool {
        match self {
            Take::Whole => out.extend_from_slice(cell.as_bytes()),
            Take::Folded => push_folded(cell, out),
            Take::Shape => push_shape(cell, out),
            Take::Prefix(length) | Take::Suffix(length) => {
                let affix = self.affix(cell, length);
                return affix.inspect(|affix| out.extend_from_slice(affix.as_bytes())).is_some();
            }
            Take::FoldedPrefix(length) | Take::FoldedSuffix(length) => {
                return self.affix(cell, length).inspect(|affix| push_folded(affix, out)).is_some();
            }
        }
        true
    }

    /// The first or last characters, if there are as many.
    fn affix(self, cell: &str, wanted: usize) -> Option<&str> {
        let longest = match self {
            Take::Suffix(_) | Take::FoldedSuffix(_) => suffixes(cell, wanted).last(),
            _ => prefixes(cell, wanted).last(),
        };
        longest.filter(|&(length, _)| length == wanted).map(|(_, affix)| affix)
    }
}

/// Appends what a macro takes from the cell `row` positions from `t`, or the name of the position outside the sequence.
/// False if the cell is shorter than the affix. `t` itself may lie outside.
pub(super) fn expand(
    sequence: &Sequence,
    t: isize,
    (row, column, take): (isize, usize, Take),
    out: &mut Vec<u8>,
) -> bool {
    let at = t.saturating_add(row);
    match usize::try_from(at) {
        Ok(at) if at < sequence.len() => return take.push(sequence.cell(at, column).unwrap_or(""), out),
        Ok(at) => push_boundary(b'+', at - sequence.len() + 1, out),
        Err(_) => push_boundary(b'-', at.unsigned_abs(), out),
    }
    true
}

/// The name of the position `distance` outside the sequence.
fn push_boundary(sign: u8, distance: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'_', b'B', sign]);
    let start = out.len();
    let mut rest = distance;
    while rest > 0 {
        out.push(b'0' + (rest % 10) as u8);
        rest /= 10;
    }
    out[start..].reverse();
}

/// A word, or a part of one, without capitals and digits.
pub(crate) fn push_folded(text: &str, out: &mut Vec<u8>) {
    for character in text.chars() {
        match character {
            '0'..='9' => out.push(b'0'),
            c if c.is_ascii() => out.push(c.to_ascii_lowercase() as u8),
            c if c.is_numeric() => out.push(b'0'),
            c => c.to_lowercase().for_each(|c| out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes())),
        }
    }
}

/// `X` for capitals, `x` for other letters, `d` for digits, anything else unchanged; a run counts once.
pub(crate) fn push_shape(word: &str, out: &mut Vec<u8>) {
    let mut last = None;
    for character in word.chars() {
        let class = match character {
            c if c.is_uppercase() => 'X',
            c if c.is_alphabetic() => 'x',
            c if c.is_numeric() => 'd',
            c => c,
        };
        if last.replace(class) != Some(class) {
            out.extend_from_slice(class.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// The prefixes of a word with their lengths in characters.
pub(crate) fn prefixes(word: &str, longest: usize) -> impl Iterator<Item = (usize, &str)> {
    let ends = word.char_indices().map(|(start, character)| start + character.len_utf8());
    (1..=longest).zip(ends).map(|(length, end)| (length, &word[..end]))
}

/// The suffixes of a word with their lengths in characters.
pub(crate) fn suffixes(word: &str, longest: usize) -> impl Iterator<Item = (usize, &str)> {
    let starts = word.char_indices().rev().map(|(start, _)| start);
    (1..=longest).zip(starts).map(|(length, start)| (length, &word[start..]))
}
