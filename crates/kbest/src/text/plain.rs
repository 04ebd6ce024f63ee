//! Columns separated by tabs or blanks, as in CRF++.
//!
//! A sequence ends at a blank line. Every other line is a position, including `#` lines and `-DOCSTART-`. All lines have as many
//! columns as the first. A line with text that begins with a blank is an error: CRF++ would skip it.

use super::lines::{Lines, MOST_COLUMNS};
use super::writer::check_cell;
use crate::sequence::Sequence;
use kbest_core::{Error, Result, quoted};

/// What separates columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Separator {
    /// Any number of tabs and blanks, as in CRF++.
    #[default]
    Blanks,
    /// One tab: cells may contain blanks or be empty.
    Tab,
}

impl Separator {
    const NAMES: [(&'static str, Separator); 2] = [("blanks", Separator::Blanks), ("tab", Separator::Tab)];

    /// The separator with this name: `blanks` or `tab`.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, separator)| separator).ok_or_else(|| Error::UnknownName {
            what: "separator",
            name: name.to_owned(),
            expected: Self::NAMES.map(|(known, _)| known).join(", "),
        })
    }

    /// The name of this separator.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

/// The state of a column reader.
#[derive(Debug)]
pub(super) struct PlainReader {
    pub separator: Separator,
    pub labelled: bool,
    pub columns: Option<usize>, // in the file, label included, once known
}

impl PlainReader {
    pub(super) fn read_into(&mut self, lines: &mut Lines, sequence: &mut Sequence) -> Result<bool> {
        while let Some(line) = lines.next()? {
            if line.bytes().all(|byte| byte == b' ' || byte == b'\t') {
                if sequence.is_empty() {
                    continue;
                }
                return Ok(true);
            }
            if self.separator == Separator::Blanks && line.starts_with([' ', '\t']) {
                let got = format!("a blank at the beginning of {}", quoted(line));
                return Err(lines.error("a first column, or a blank line", got));
            }
            sequence.push_position();
            let count = match self.separator {
                Separator::Tab => push_cells(line.split('\t'), self.labelled, sequence),
                Separator::Blanks => push_cells(between_blanks(line), self.labelled, sequence),
            };
            if self.labelled && count < 2 {
                let got = quoted(line);
                return Err(lines.error("at least two columns, the last one the label", got));
            }
            if count > MOST_COLUMNS {
                return Err(lines.error(format!("at most {MOST_COLUMNS} columns"), count));
            }
            let expected = *self.columns.get_or_insert(count);
            if count != expected {
                let got = format!("{count} in {}", quoted(line));
                let expected = format!("{expected} column{}", if expected == 1 { "" } else { "s" });
                return Err(lines.error(expected, got));
            }
        }
        Ok(!sequence.is_empty())
    }
}

/// The cells between blanks and tabs. Byte by byte: faster than splitting by characters.
fn between_blanks(line: &str) -> impl Iterator<Item = &str> {
    let is_blank = |byte: u8| byte == b' ' || byte == b'\t';
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.bytes().position(|byte| !is_blank(byte))?;
        let cell = &rest[start..];
        let end = cell.bytes().position(is_blank).unwrap_or(cell.len());
        rest = &cell[end..];
        Some(&cell[..end])
    })
}

/// Adds cells to the last position, the last one as its label if `labelled`. Returns how many there were.
fn push_cells<'a>(cells: impl Iterator<Item = &'a str>, labelled: bool, sequence: &mut Sequence) -> usize {
    let mut held = None; // the last cell may be the label
    let mut count = 0;
    for cell in cells {
        count += 1;
        if let Some(previous) = held.replace(cell) {
            sequence.push_cell(previous);
        }
    }
    match held {
        Some(label) if labelled => sequence.set_label(label),
        Some(cell) => sequence.push_cell(cell),
        None => {}
    }
    count
}

/// Writes the columns of a sequence, its label if it has one, and further columns.
pub(super) fn write<L: AsRef<str>>(
    out: &mut String,
    sequence: &Sequence,
    columns: &[&[L]],
    separator: Separator,
) -> Result<()> {
    for t in 0..sequence.len() {
        let added = columns.iter().map(|column| column[t].as_ref());
        for (i, cell) in sequence.cells(t).chain(sequence.label(t)).chain(added).enumerate() {
            if !fits(cell, separator) {
                check_cell(cell, false, t, "a cell that can be read back")?;
            }
            if i > 0 {
                out.push('\t');
            }
            out.push_str(cell);
        }
        out.push('\n');
    }
    out.push('\n');
    Ok(())
}

/// Whether a cell reads back as itself. One pass over its bytes, because every cell is checked.
fn fits(cell: &str, separator: Separator) -> bool {
    let blank = if separator == Separator::Blanks { b' ' } else { b'\t' };
    let breaks = |byte: u8| matches!(byte, b'\t' | b'\n' | b'\r') || byte == blank;
    (separator == Separator::Tab || !cell.is_empty()) && !cell.bytes().any(breaks)
}
