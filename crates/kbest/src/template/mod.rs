//! CRF++ templates: how columns around a position become feature strings.
//!
//! **What.** One template per line; empty lines and lines that begin with `#` are skipped, all others must begin with
//! `U` (features of one label) or `B` (features of two neighbouring labels). `%x[row,column]` is replaced by the cell
//! `row` positions on (`-` for back) in `column`, counted from 0; everything else is copied. The whole expanded line is
//! the feature: `U05:%x[-1,0]/%x[0,0]` becomes `U05:the/dog`. Positions before the first read `_B-1`, `_B-2`, ...,
//! those after the last `_B+1`, `_B+2`, ..., counted away from the sequence. `B` features belong to positions `1..T`.
//!
//! **Same as CRF++**, except that rows may be any distance away (there: 8) and lines of any length, and that `%x[,]` is
//! rejected where CRF++ silently reads zeros.
//!
//! **Cost.** Parsed once into a flat program; an expansion copies bytes into the caller's buffer and allocates nothing
//! once that has grown. **When not.** Templates cannot express prefixes, suffixes and shapes: supply them as columns,
//! or use a preset.
//!
//! ```
//! use kbest::{Sequence, Template};
//! let template = Template::parse("U00:%x[-1,0]\nU01:%x[0,0]/%x[0,1]\nB\n", "template")?;
//! let mut sequence = Sequence::new();
//! sequence.push(["time", "NN"]);
//! let mut feature = Vec::new();
//! template.unigrams()[0].expand(&sequence, 0, &mut feature);
//! assert_eq!(feature, b"U00:_B-1");
//! # Ok::<(), kbest::Error>(())
//! ```

mod parse;

use crate::sequence::Sequence;

/// A piece of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Copied unchanged.
    Text(Box<[u8]>),
    /// Replaced by a cell.
    Cell { row: isize, column: usize },
}

/// One line of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    line: Box<str>,
    parts: Box<[Part]>,
}

/// The rules of a template file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    unigrams: Vec<Rule>,
    bigrams: Vec<Rule>,
}

impl Template {
    /// The rules that begin with `U`: features of one label.
    pub fn unigrams(&self) -> &[Rule] {
        &self.unigrams
    }

    /// The rules that begin with `B`: features of two neighbouring labels.
    pub fn bigrams(&self) -> &[Rule] {
        &self.bigrams
    }

    /// Number of columns a sequence must have.
    pub fn columns(&self) -> usize {
        self.unigrams.iter().chain(&self.bigrams).map(Rule::columns).max().unwrap_or(0)
    }

    /// The lines of the template, unigrams first, without comments, as CRF++ writes them into its models.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.unigrams.iter().chain(&self.bigrams).map(Rule::line)
    }
}

impl Rule {
    /// The rule as written.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// True if the rule depends on the sequence; if not, it makes the same feature everywhere (a bare `B`).
    pub fn looks_at_input(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Cell { .. }))
    }

    /// Number of columns a sequence must have.
    pub fn columns(&self) -> usize {
        let needed = |part: &Part| if let Part::Cell { column, .. } = part { column + 1 } else { 0 };
        self.parts.iter().map(needed).max().unwrap_or(0)
    }

    /// Appends the feature of position `t` to `out`. A column that a position does not have reads as empty: compare
    /// [`Rule::columns`] with the sequence first.
    #[inline]
    pub fn expand(&self, sequence: &Sequence, t: usize, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Cell { row, column } => expand_cell(sequence, t, *row, *column, out),
            }
        }
    }
}

fn expand_cell(sequence: &Sequence, t: usize, row: isize, column: usize, out: &mut Vec<u8>) {
    match t.checked_add_signed(row) {
        Some(at) if at < sequence.len() => {
            out.extend_from_slice(sequence.cell(at, column).unwrap_or("").as_bytes());
        }
        Some(at) => push_boundary(b'+', at - sequence.len() + 1, out),
        None => push_boundary(b'-', row.unsigned_abs() - t, out),
    }
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
