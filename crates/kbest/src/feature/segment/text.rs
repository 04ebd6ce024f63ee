//! One sequence as its segments see it: words and shapes end to end, so that those of a segment are one slice.

use crate::sequence::Sequence;
use crate::template::{push_folded, push_shape};
use kbest_core::{Error, Result};

/// Words and shapes of a sequence, each list joined by spaces, and its lines.
#[derive(Debug, Clone, Default)]
pub struct SegmentText {
    words: Joined,
    shapes: Joined,
    lines: Vec<u32>, // T, or none: the number of the line of each position
}

/// Strings with a space between neighbours.
#[derive(Debug, Clone, Default)]
struct Joined {
    bytes: Vec<u8>,
    places: Vec<(u32, u32)>, // start and end of each
}

impl Joined {
    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.places.is_empty() {
            self.bytes.push(b' ');
        }
        let start = self.bytes.len() as u32;
        write(&mut self.bytes);
        // A cell may hold blanks; here they stand between positions only, so that lengths can be counted.
        self.bytes[start as usize..].iter_mut().filter(|byte| **byte == b' ').for_each(|byte| *byte = b'_');
        self.places.push((start, self.bytes.len() as u32));
    }

    /// The strings from `s` to before `r`, joined.
    #[inline]
    fn slice(&self, s: usize, r: usize) -> &[u8] {
        &self.bytes[self.places[s].0 as usize..self.places[r - 1].1 as usize]
    }
}

/// A word, folded and without punctuation at its ends, unless there is nothing else.
pub(super) fn push_word(word: &str, out: &mut Vec<u8>) {
    let bare = word.trim_matches(|character: char| !character.is_alphanumeric());
    push_folded(if bare.is_empty() { word } else { bare }, out);
}

impl SegmentText {
    /// Takes over a sequence: the first column is its text.
    ///
    /// # Errors
    /// [`Error::Shape`] if the column of the lines is missing.
    pub fn fill(&mut self, sequence: &Sequence, line_column: Option<usize>) -> Result<()> {
        self.words.clear();
        self.shapes.clear();
        self.lines.clear();
        for t in 0..sequence.len() {
            let word = sequence.cell(t, 0).unwrap_or_default();
            self.words.push(|out| push_word(word, out));
            self.shapes.push(|out| push_shape(word, out));
        }
        let Some(column) = line_column else { return Ok(()) };
        let mut line = 0;
        for t in 0..sequence.len() {
            let cell = sequence.cell(t, column).ok_or_else(|| {
                let expected =
                    format!("{} (the last one says which line it is on)", column.saturating_add(1));
                Error::shape(format!("columns of position {t}"), expected, sequence.width(t))
            })?;
            line += u32::from(t > 0 && sequence.cell(t - 1, column) != Some(cell));
            self.lines.push(line);
        }
        Ok(())
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.words.places.len()
    }

    /// True if there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words of a segment.
    #[inline]
    pub fn words(&self, s: usize, r: usize) -> &[u8] {
        self.words.slice(s, r)
    }

    /// The shapes of a segment.
    #[inline]
    pub fn shapes(&self, s: usize, r: usize) -> &[u8] {
        self.shapes.slice(s, r)
    }

    pub(super) fn push_ends(&self, s: usize, r: usize, key: &mut Vec<u8>) {
        key.extend_from_slice(self.words(s, s + 1));
        key.push(b'|');
        key.extend_from_slice(self.words(r - 1, r));
    }

    pub(super) fn push_around(&self, s: usize, r: usize, key: &mut Vec<u8>) {
        if s > 0 {
            key.extend_from_slice(self.words(s - 1, s));
        }
        key.push(b'|');
        if r < self.len() {
            key.extend_from_slice(self.words(r, r + 1));
        }
    }

    /// The number of the line of each position; empty if lines are not known.
    pub(super) fn lines(&self) -> &[u32] {
        &self.lines
    }
}

/// Whether a segment begins a line (1), ends one (2), and lies in one (4).
pub(super) fn line_bits(lines: &[u32], s: usize, r: usize) -> usize {
    let begins = s == 0 || lines[s - 1] != lines[s];
    let ends = r == lines.len() || lines[r] != lines[r - 1];
    usize::from(begins) | usize::from(ends) << 1 | usize::from(lines[s] == lines[r - 1]) << 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_slices() {
        let mut sequence = Sequence::new();
        for (word, line) in [("(New York,", "1"), ("", "1"), ("NY", "2"), ("10001.", "2")] {
            sequence.push([word, line]);
        }
        let mut text = SegmentText::default();
        text.fill(&sequence, Some(1)).unwrap();
        assert_eq!(text.words(0, 4), b"new_york  ny 00000", "one blank between positions");
        assert_eq!(text.shapes(2, 4), b"X d.");
        let bits: Vec<usize> =
            [(0, 2), (0, 1), (1, 3), (2, 4), (3, 4)].map(|(s, r)| line_bits(text.lines(), s, r)).into();
        assert_eq!(bits, [0b111, 0b101, 0b000, 0b111, 0b110]);
        assert!(text.fill(&sequence, Some(2)).is_err());
    }
}
