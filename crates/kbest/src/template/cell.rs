//! What a macro of a template makes of a cell: the cell itself, a part of it, its shape. Feature sets without templates
//! use the same functions.

use crate::sequence::Sequence;

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
}

/// Makes a macro with a length.
type WithLength = fn(usize) -> Take;

impl Take {
    /// The macros without a length, by name.
    pub(super) const WITHOUT_LENGTH: [(&'static str, Take); 3] =
        [("x", Take::Whole), ("fold", Take::Folded), ("shape", Take::Shape)];

    /// The macros with a length, by name.
    pub(super) const WITH_LENGTH: [(&'static str, WithLength); 2] =
        [("prefix", Take::Prefix), ("suffix", Take::Suffix)];

    /// Appends it; false if the cell is shorter than the affix.
    fn push(self, cell: &str, out: &mut Vec<u8>) -> bool {
        match self {
            Take::Whole => out.extend_from_slice(cell.as_bytes()),
            Take::Folded => push_folded(cell, out),
            Take::Shape => push_shape(cell, out),
            Take::Prefix(length) => return push_affix(prefixes(cell, length).last(), length, out),
            Take::Suffix(length) => return push_affix(suffixes(cell, length).last(), length, out),
        }
        true
    }
}

fn push_affix(longest: Option<(usize, &str)>, wanted: usize, out: &mut Vec<u8>) -> bool {
    let affix = longest.filter(|&(length, _)| length == wanted);
    affix.inspect(|(_, affix)| out.extend_from_slice(affix.as_bytes())).is_some()
}

/// Appends what a macro takes from the cell `row` positions from `t`, or the name of the position outside the sequence.
/// False if the cell is shorter than the affix.
pub(super) fn expand(
    sequence: &Sequence,
    t: usize,
    (row, column, take): (isize, usize, Take),
    out: &mut Vec<u8>,
) -> bool {
    match t.checked_add_signed(row) {
        Some(at) if at < sequence.len() => return take.push(sequence.cell(at, column).unwrap_or(""), out),
        Some(at) => push_boundary(b'+', at - sequence.len() + 1, out),
        None => push_boundary(b'-', row.unsigned_abs() - t, out),
    }
    true
}

/// The name of the position `distance` outside the sequence.
pub(crate) fn push_boundary(sign: u8, distance: usize, out: &mut Vec<u8>) {
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
