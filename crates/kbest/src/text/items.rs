//! CRFsuite's items: label and attributes separated by tabs, one item per line.
//!
//! An attribute is `name` or `name:value`; `\:` is a colon and `\\` a backslash, any other backslash is literal. A line
//! that begins with `@weight:w` sets the weight of its sequence. A value must be a finite number; CRFsuite reads text
//! that is not a number as 0.

use super::lines::Lines;
use super::writer::check_cell;
use crate::sequence::Sequence;
use kbest_core::{Result, quoted};
use std::fmt::Write;

/// How CRFsuite's example scripts write a colon.
const COLON_WORD: &str = "__COLON__";

/// The state of an item reader.
#[derive(Debug)]
pub(super) struct ItemsReader {
    pub labelled: bool,
    pub colon_words: bool,
    pub name: String,  // of the field being read, unescaped
    pub value: String, // of the same field, unescaped
}

/// A field that is not `name` or `name:value`.
struct SecondColon;

impl ItemsReader {
    pub(super) fn read_into(&mut self, lines: &mut Lines, sequence: &mut Sequence) -> Result<bool> {
        while let Some(line) = lines.next()? {
            if line.is_empty() {
                if sequence.is_empty() {
                    continue;
                }
                return Ok(true);
            }
            if let Err((expected, got)) = self.read_item(line, sequence) {
                return Err(lines.error(expected, got));
            }
        }
        Ok(!sequence.is_empty())
    }

    fn read_item(
        &mut self,
        line: &str,
        sequence: &mut Sequence,
    ) -> std::result::Result<(), (&'static str, String)> {
        let mut open = false; // the label of this item has been read
        for field in line.split('\t').filter(|field| !field.is_empty()) {
            self.split(field).map_err(|SecondColon| {
                ("name or name:value, with \\: for a colon in either", quoted(field))
            })?;
            if open {
                let value =
                    parse_value(&self.value).ok_or_else(|| ("a number after the colon", quoted(field)))?;
                sequence.push_valued_cell(&self.name, value);
            } else if self.name == "@weight" {
                let weight = parse_value(&self.value).filter(|&weight| weight >= 0.0);
                sequence.set_weight(weight.ok_or_else(|| ("a weight of at least 0", quoted(field)))?);
            } else if self.labelled && self.name.starts_with('@') {
                return Err(("a label or @weight", quoted(field)));
            } else {
                sequence.push_position();
                sequence.set_label(&self.name);
                open = true;
            }
        }
        Ok(())
    }

    /// Splits a field at its colon and resolves escapes.
    fn split(&mut self, field: &str) -> std::result::Result<(), SecondColon> {
        self.name.clear();
        self.value.clear();
        let mut in_value = false;
        let mut characters = field.chars().peekable();
        while let Some(mut character) = characters.next() {
            if character == '\\' {
                if let Some(escaped) = characters.next_if(|&next| next == ':' || next == '\\') {
                    character = escaped;
                }
            } else if character == ':' {
                if std::mem::replace(&mut in_value, true) {
                    return Err(SecondColon);
                }
                continue;
            }
            if in_value { self.value.push(character) } else { self.name.push(character) }
        }
        if self.colon_words && self.name.contains(COLON_WORD) {
            self.name = self.name.replace(COLON_WORD, ":");
        }
        Ok(())
    }
}

/// The value of an attribute: 1 if there is none.
fn parse_value(text: &str) -> Option<f64> {
    if text.is_empty() {
        return Some(1.0);
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Writes one label per line, followed by further columns.
pub(super) fn write_labels<L: AsRef<str>>(
    out: &mut String,
    sequence: &Sequence,
    columns: &[&[L]],
) -> Result<()> {
    for t in 0..sequence.len() {
        for (i, column) in columns.iter().enumerate() {
            let label = column[t].as_ref();
            check_cell(label, !label.contains('\t'), t, "a label without tabs")?;
            if i > 0 {
                out.push('\t');
            }
            out.push_str(label);
        }
        out.push('\n');
    }
    out.push('\n');
    Ok(())
}

/// Writes whole items: label, then attributes with their values.
pub(super) fn write_items<L: AsRef<str>>(
    out: &mut String,
    sequence: &Sequence,
    columns: &[&[L]],
) -> Result<()> {
    const LEGAL: &str = "labels and attributes that are not empty and contain no tabs, and no label with @";
    if sequence.weight() != 1.0 {
        out.push_str("@weight");
        push_value(sequence.weight(), out);
        out.push('\n');
    }
    for t in 0..sequence.len() {
        let label = columns.first().map(|column| column[t].as_ref()).or(sequence.label(t)).unwrap_or("");
        let declaration = label.starts_with('@');
        check_cell(label, !label.is_empty() && !label.contains('\t') && !declaration, t, LEGAL)?;
        push_escaped(label, out);
        for (i, name) in sequence.cells(t).enumerate() {
            check_cell(name, !name.is_empty() && !name.contains('\t'), t, LEGAL)?;
            out.push('\t');
            push_escaped(name, out);
            push_value(sequence.values(t).map_or(1.0, |values| values[i]), out);
        }
        out.push('\n');
    }
    out.push('\n');
    Ok(())
}

/// A colon and the value, unless it is 1.
fn push_value(value: f64, out: &mut String) {
    if value != 1.0 {
        write!(out, ":{value}").expect("writing to a string cannot fail");
    }
}

fn push_escaped(name: &str, out: &mut String) {
    for character in name.chars() {
        if character == ':' || character == '\\' {
            out.push('\\');
        }
        out.push(character);
    }
}
