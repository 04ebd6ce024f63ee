//! Wapiti's patterns: CRF++ templates and more.
//!
//! **What.** One pattern per line; `#` begins a comment anywhere. The first letter, in either case, determines the
//! features that the pattern makes: `u` of one label, `b` of two neighbouring labels, `*` both. In the rest, these
//! commands are replaced by something from the sequence, and everything else is copied:
//!
//! | command | becomes |
//! |---|---|
//! | `%x[row,column]` | the cell `row` positions on, as in [templates](crate::template) |
//! | `%t[row,column,"regex"]` | `true` if the [regular expression](#regular-expressions) matches in the cell, otherwise `false` |
//! | `%m[row,column,"regex"]` | its first match in the cell, or nothing |
//! | `%X`, `%T`, `%M` | the same in lower case (ASCII only) |
//!
//! A row `@n` is counted from the first position (`@1`) or from the last (`@-1`). Positions before the sequence read
//! `_x-1` to `_x-4`, then `_x-#`; positions after it `_x+1` to `_x+4`, then `_x+#`. Features of two labels belong to
//! positions `1..T`.
//!
//! Without any pattern every cell is a feature by itself, whose first letter determines its kind.
//! [Lone](Patterns::lone) patterns are those of Wapiti's `--me`: each position is a sequence of its own, and its
//! features, prefixed with `u`, are of one label only.
//!
//! # Regular expressions
//! Bytes match themselves, `.` matches any byte, `\a \d \l \p \s \u \w` match ASCII letters, digits, lower case,
//! punctuation, white space, upper case, letters and digits, their capitals match all other bytes, and `\` before any
//! other byte matches that byte. `*` repeats the item before it as few times as possible, `?` makes it optional; `^` at
//! the beginning and `$` at the end anchor the expression to the ends of the cell.
//!
//! **Same as Wapiti 1.5**, including two oddities, since models were trained with them: `*` is not greedy, and after an
//! optional part that was tried in vain `%m` takes more bytes than matched; if the cell has fewer, the feature ends
//! there. Rejected here, but undefined or misread there: a row with leading zeros, `*` or `?` with nothing before it.
//!
//! **Cost.** Parsed once; an expansion copies bytes, a regular expression costs its length times that of the cell.
//! **When not.** For CRF++ templates use [`Template`](crate::Template): boundaries have other names there.
//!
//! ```
//! use kbest::{Patterns, Sequence};
//! let patterns = Patterns::parse("U:%X[-1,0]/%m[0,0,\"..$\"]   # word before, ending\nB\n", "patterns")?;
//! let mut feature = Vec::new();
//! patterns.patterns()[0].expand(&Sequence::from_tokens(["The", "dogs"]), 1, &mut feature);
//! assert_eq!(feature, b"u:the/gs");
//! # Ok::<(), kbest::Error>(())
//! ```

mod parse;
mod regex;

use crate::sequence::Sequence;
use kbest_core::{Error, Result, quoted};
use regex::Regex;
use std::ops::Range;

/// Patterns, and what to do without any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patterns {
    patterns: Vec<Pattern>,
    lone: bool,
}

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    line: Box<str>,
    kind: PatternKind,
    parts: Box<[Part]>,
}

/// The features that a pattern makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    /// Of one label: `u`.
    Node,
    /// Of two neighbouring labels: `b`.
    Edge,
    /// Both: `*`.
    Both,
}

impl PatternKind {
    /// The kind given by the first letter of a feature.
    pub fn of(letter: u8) -> Option<Self> {
        match letter {
            b'u' => Some(PatternKind::Node),
            b'b' => Some(PatternKind::Edge),
            b'*' => Some(PatternKind::Both),
            _ => None,
        }
    }

    /// Whether the pattern makes features of one label.
    pub fn has_nodes(self) -> bool {
        self != PatternKind::Edge
    }

    /// Whether the pattern makes features of two labels.
    pub fn has_edges(self) -> bool {
        self != PatternKind::Node
    }
}

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Copied unchanged.
    Text(Box<[u8]>),
    /// Replaced by something from a cell.
    Cell { place: Place, column: usize, command: Command, lower_case: bool },
}

/// The position of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// This many positions on.
    From(i32),
    /// Counted from the first position, 1, or from the last, -1.
    Absolute(i32),
}

/// How the text of a cell is used.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Command {
    Copy,
    Test(Regex),
    Match(Regex),
}

impl Patterns {
    /// The patterns.
    pub fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    /// Whether every position is a sequence of its own.
    pub fn lone(&self) -> bool {
        self.lone
    }

    /// Number of columns a sequence must have.
    pub fn columns(&self) -> usize {
        self.patterns.iter().map(Pattern::columns).max().unwrap_or(0)
    }

    /// True if a feature of two labels depends on the sequence.
    pub fn has_observed_edges(&self) -> bool {
        let observed = |pattern: &Pattern| pattern.kind.has_edges() && pattern.looks_at_input();
        !self.lone && (self.patterns.is_empty() || self.patterns.iter().any(observed))
    }

    /// If every cell must be a feature, rejects cells that are not.
    pub(crate) fn check(&self, sequence: &Sequence) -> Result<()> {
        if self.lone || !self.patterns.is_empty() {
            return Ok(());
        }
        for t in 0..sequence.len() {
            for cell in sequence.cells(t) {
                if cell_kind(cell).is_none() {
                    let what = format!("cells of position {t}");
                    return Err(Error::shape(what, "features that begin with u, b or *", quoted(cell)));
                }
            }
        }
        Ok(())
    }

    /// Visits the features of one label of position `t`, one after the other in `key`.
    pub(crate) fn visit_nodes(
        &self,
        sequence: &Sequence,
        t: usize,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8]),
    ) {
        let window = if self.lone { t..t + 1 } else { 0..sequence.len() };
        let prefix: &[u8] = if self.lone { b"u" } else { b"" };
        for pattern in self.patterns.iter().filter(|pattern| pattern.kind.has_nodes()) {
            key.clear();
            key.extend_from_slice(prefix);
            pattern.expand_within(sequence, &window, t, key);
            visit(key);
        }
        if self.patterns.is_empty() {
            let is_node = |cell: &&str| self.lone || cell_kind(cell).is_some_and(PatternKind::has_nodes);
            for cell in sequence.cells(t).filter(is_node) {
                key.clear();
                key.extend_from_slice(prefix);
                key.extend_from_slice(cell.as_bytes());
                visit(key);
            }
        }
    }

    /// Visits the features of two labels of the step to position `t`, which is not the first.
    pub(crate) fn visit_edges(
        &self,
        sequence: &Sequence,
        t: usize,
        key: &mut Vec<u8>,
        mut visit: impl FnMut(&[u8]),
    ) {
        if self.lone {
            return;
        }
        for pattern in self.patterns.iter().filter(|pattern| pattern.kind.has_edges()) {
            key.clear();
            pattern.expand(sequence, t, key);
            visit(key);
        }
        if self.patterns.is_empty() {
            let is_edge = |cell: &&str| cell_kind(cell).is_some_and(PatternKind::has_edges);
            sequence.cells(t).filter(is_edge).for_each(|cell| visit(cell.as_bytes()));
        }
    }

    /// Visits the features of two labels that are the same for every step of every sequence.
    pub(crate) fn visit_shared_edges(&self, mut visit: impl FnMut(&[u8])) {
        let shared = |pattern: &&Pattern| pattern.kind.has_edges() && !pattern.looks_at_input();
        if !self.lone {
            self.patterns.iter().filter(shared).for_each(|pattern| visit(pattern.line.as_bytes()));
        }
    }
}

/// The kind of a cell that is a feature by itself.
fn cell_kind(cell: &str) -> Option<PatternKind> {
    PatternKind::of(*cell.as_bytes().first()?)
}

impl Pattern {
    /// The pattern as written, without its comment, the first letter in lower case.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// The features it makes.
    pub fn kind(&self) -> PatternKind {
        self.kind
    }

    /// True if the pattern depends on the sequence; if not, it makes the same feature everywhere.
    pub fn looks_at_input(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Cell { .. }))
    }

    /// Number of columns a sequence must have.
    pub fn columns(&self) -> usize {
        let needed = |part: &Part| if let Part::Cell { column, .. } = part { column + 1 } else { 0 };
        self.parts.iter().map(needed).max().unwrap_or(0)
    }

    /// Appends the feature of position `t` to `out`. A column that a position does not have reads as empty: compare
    /// [`Pattern::columns`] with the sequence first.
    pub fn expand(&self, sequence: &Sequence, t: usize, out: &mut Vec<u8>) {
        self.expand_within(sequence, &(0..sequence.len()), t, out);
    }

    /// As [`Pattern::expand`], as if there were only the positions of `window`.
    fn expand_within(&self, sequence: &Sequence, window: &Range<usize>, t: usize, out: &mut Vec<u8>) {
        for part in &self.parts {
            let (place, column, command, lower_case) = match part {
                Part::Text(text) => {
                    out.extend_from_slice(text);
                    continue;
                }
                Part::Cell { place, column, command, lower_case } => (*place, *column, command, *lower_case),
            };
            let cell = cell(sequence, window, t, place, column);
            let start = out.len();
            let mut whole = true;
            match command {
                Command::Copy => out.extend_from_slice(cell),
                Command::Test(regex) => {
                    out.extend_from_slice(if regex.find(cell).is_some() { b"true" } else { b"false" });
                }
                Command::Match(regex) => {
                    let found = regex.find(cell).unwrap_or(0..0);
                    whole = found.end <= cell.len();
                    out.extend_from_slice(&cell[found.start..found.end.min(cell.len())]);
                }
            }
            if lower_case {
                out[start..].make_ascii_lowercase();
            }
            if !whole {
                return; // Wapiti also copies the terminator of the cell's string, which ends the feature
            }
        }
    }
}

/// A cell, or the name of the position outside the sequence.
fn cell<'a>(
    sequence: &'a Sequence,
    window: &Range<usize>,
    t: usize,
    place: Place,
    column: usize,
) -> &'a [u8] {
    const BEFORE: [&[u8]; 5] = [b"_x-1", b"_x-2", b"_x-3", b"_x-4", b"_x-#"];
    const AFTER: [&[u8]; 5] = [b"_x+1", b"_x+2", b"_x+3", b"_x+4", b"_x+#"];
    let outside = |distance: usize| distance.min(BEFORE.len()) - 1; // distances count from 1
    let length = window.len();
    let (start, row) = match place {
        Place::From(row) => (t - window.start, row),
        Place::Absolute(row) if row < 0 => (length, row),
        Place::Absolute(row) => (0, row - 1),
    };
    match start.checked_add_signed(row as isize) {
        Some(at) if at < length => sequence.cell(window.start + at, column).unwrap_or("").as_bytes(),
        Some(at) => AFTER[outside(at - length + 1)],
        None => BEFORE[outside(row.unsigned_abs() as usize - start)],
    }
}
