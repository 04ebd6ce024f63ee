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
//! **More than CRF++**: four further macros, which [`Template::parse_crfpp`] refuses.
//!
//! | macro | is replaced by |
//! |---|---|
//! | `%prefix[row,column,length]` | the first `length` characters of the cell |
//! | `%suffix[row,column,length]` | its last `length` characters |
//! | `%shape[row,column]` | its shape: `X` for capitals, `x` for other letters, `d` for digits, a run counting once: `McX-12` is `XxX-d` |
//! | `%fold[row,column]` | the cell in lower case, every digit as `0` |
//!
//! Where a cell has fewer than `length` characters, the whole line makes no feature. Outside the sequence they read `_B-1` and
//! so on.
//!
//! **Cost.** Parsed once into a flat program; an expansion copies bytes into the caller's buffer and allocates nothing
//! once that has grown. **When not.** A [preset](crate::feature::Preset) needs no template, and can be added to one.
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

mod cell;
mod parse;

pub(crate) use cell::{Take, Test, push_folded, push_shape, suffixes};

use crate::sequence::Sequence;

/// A piece of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Copied unchanged.
    Text(Box<[u8]>),
    /// Replaced by a cell, or what is taken from it.
    Cell { row: isize, column: usize, take: Take },
    /// Nothing, if it holds; if not, there is no feature. No template has it.
    If { row: isize, test: Test },
}

/// One line of a template, or one feature of a set that needs no template.
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
    /// A rule that nobody wrote.
    pub(crate) fn made(parts: impl Into<Box<[Part]>>) -> Self {
        Rule { line: "".into(), parts: parts.into() }
    }

    /// Its parts, in the order in which they are expanded.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The rule as written.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// True if the rule depends on the sequence; if not, it makes the same feature everywhere (a bare `B`).
    pub fn looks_at_input(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, Part::Text(_)))
    }

    /// Number of columns a sequence must have.
    pub fn columns(&self) -> usize {
        let needed = |part: &Part| if let Part::Cell { column, .. } = part { column + 1 } else { 0 };
        self.parts.iter().map(needed).max().unwrap_or(0)
    }

    /// Appends the feature of position `t` to `out`. A column that a position does not have reads as empty: compare
    /// [`Rule::columns`] with the sequence first. Returns false if the rule makes no feature there, because a cell is shorter
    /// than the affix it asks for.
    #[inline]
    pub fn expand(&self, sequence: &Sequence, t: usize, out: &mut Vec<u8>) -> bool {
        self.expand_at(sequence, t as isize, &|_| false, out)
    }

    /// The same for a position that may lie outside the sequence, with what words are rare.
    #[inline]
    pub(crate) fn expand_at(
        &self,
        sequence: &Sequence,
        t: isize,
        is_rare: &impl Fn(&str) -> bool,
        out: &mut Vec<u8>,
    ) -> bool {
        self.parts.iter().all(|part| match *part {
            Part::Text(ref text) => {
                out.extend_from_slice(text);
                true
            }
            Part::Cell { row, column, take } => cell::expand(sequence, t, (row, column, take), out),
            Part::If { row, test } => test.holds(sequence, t, row, is_rare),
        })
    }

    /// What every feature of the rule begins with: the text before its first macro.
    pub fn name(&self) -> &[u8] {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => b"",
        }
    }
}
