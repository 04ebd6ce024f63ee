//! CoNLL-U: ten fields per word, comments, and lines between words.
//!
//! Ranges (`3-4`) and empty nodes (`3.1`) are not positions, but they and the comments are kept as lines, so that a
//! sequence is written back unchanged except for its label fields. The label is an expression: field names joined by
//! `+`. A label of several fields joins their values by `+` in the same way (`NOUN+Case=Nom|Number=Sing`); a `+` inside
//! any value but the last is written `\+`, so that the label can be split again.

use super::lines::Lines;
use super::writer::check_cell;
use crate::sequence::Sequence;
use kbest_core::{Error, Result, quoted};

const FIELDS: usize = 10;
const EMPTY: &str = "_";

/// The key of a label's probability in the `MISC` field, and that of the likeliest labels, without their number.
const CONFIDENCE: &str = "Confidence=";
const LABEL: &str = "Label";

/// The comment that other programs expect first.
const SENTENCE: &str = "# sent_id";

/// What is written beside labels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Added<'a> {
    pub heading: Option<&'a str>, // a comment line
    pub confidences: Option<&'a [f64]>,
    pub distributions: Option<&'a [Vec<(&'a str, f64)>]>,
}

/// A field of a CoNLL-U line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the format's own names
pub enum Field {
    Id,
    Form,
    Lemma,
    Upos,
    Xpos,
    Feats,
    Head,
    Deprel,
    Deps,
    Misc,
}

impl Field {
    const NAMES: [(&'static str, Field); FIELDS] = [
        ("id", Field::Id),
        ("form", Field::Form),
        ("lemma", Field::Lemma),
        ("upos", Field::Upos),
        ("xpos", Field::Xpos),
        ("feats", Field::Feats),
        ("head", Field::Head),
        ("deprel", Field::Deprel),
        ("deps", Field::Deps),
        ("misc", Field::Misc),
    ];

    /// The field with this name, ignoring case.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name.trim()));
        found.map(|&(_, field)| field).ok_or_else(|| Error::UnknownName {
            what: "CoNLL-U field",
            name: name.to_owned(),
            expected: Self::NAMES.map(|(known, _)| known).join(", "),
        })
    }

    /// The name of the field, in lower case.
    pub fn name(self) -> &'static str {
        Self::NAMES[self.index()].0
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// The fields that form the label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelExpression {
    fields: Vec<Field>,
}

/// `upos`.
impl Default for LabelExpression {
    fn default() -> Self {
        LabelExpression { fields: vec![Field::Upos] }
    }
}

impl LabelExpression {
    /// Parses `upos`, `xpos`, `upos+feats`, ...
    ///
    /// # Errors
    /// [`Error::UnknownName`] for a name that is not a field, a field named twice, or `id`.
    pub fn parse(text: &str) -> Result<Self> {
        let mut fields = Vec::new();
        for name in text.split('+') {
            let field = Field::by_name(name)?;
            if field == Field::Id || fields.contains(&field) {
                return Err(Error::UnknownName {
                    what: "label expression",
                    name: text.to_owned(),
                    expected: "different fields other than id, joined by +".into(),
                });
            }
            fields.push(field);
        }
        Ok(LabelExpression { fields })
    }

    /// The fields of the expression.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The fields of a label and their values. If the label has too few parts, the last fields are empty (`_`).
    ///
    /// ```
    /// use kbest::text::{Field, LabelExpression};
    /// let label = LabelExpression::parse("upos+feats")?;
    /// let values = [(Field::Upos, "NOUN".to_owned()), (Field::Feats, "Case=Nom|Foo=a+b".to_owned())];
    /// assert!(label.values("NOUN+Case=Nom|Foo=a+b").eq(values));
    /// # Ok::<(), kbest::Error>(())
    /// ```
    pub fn values(&self, label: &str) -> impl Iterator<Item = (Field, String)> {
        let mut values = self.split(label);
        self.fields.iter().map(move |&field| (field, values[field.index()].take().unwrap_or_default()))
    }

    /// Writes the label of a line into `out`.
    fn join(&self, line: &[&str; FIELDS], out: &mut String) {
        out.clear();
        for (i, field) in self.fields.iter().enumerate() {
            let value = line[field.index()];
            if i + 1 == self.fields.len() {
                out.push_str(value);
                break;
            }
            for character in value.chars() {
                if character == '+' || character == '\\' {
                    out.push('\\');
                }
                out.push(character);
            }
            out.push('+');
        }
    }

    /// The value of each field of a label joined by [`LabelExpression::join`]. If the label has too few parts, the last
    /// fields are empty (`_`).
    fn split(&self, label: &str) -> [Option<String>; FIELDS] {
        let mut values = [const { None }; FIELDS];
        let mut rest = label;
        for (i, field) in self.fields.iter().enumerate() {
            let mut value = String::new();
            if i + 1 == self.fields.len() {
                value.push_str(rest);
            } else {
                let mut characters = rest.chars();
                while let Some(character) = characters.next() {
                    match character {
                        '+' => break,
                        '\\' => value.extend(characters.next()),
                        _ => value.push(character),
                    }
                }
                rest = characters.as_str();
            }
            if value.is_empty() {
                value.push_str(EMPTY);
            }
            values[field.index()] = Some(value);
        }
        values
    }
}

/// The ten fields of a line; if there are not ten, their number.
fn split_fields(line: &str) -> std::result::Result<[&str; FIELDS], usize> {
    let mut fields = [""; FIELDS];
    let mut count = 0;
    for field in line.split('\t') {
        if let Some(slot) = fields.get_mut(count) {
            *slot = field;
        }
        count += 1;
    }
    if count == FIELDS { Ok(fields) } else { Err(count) }
}

/// The kind of a line, from its first field.
enum Kind {
    Word,
    RangeOrEmptyNode,
}

fn kind(id: &str) -> Option<Kind> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if number(id) {
        return Some(Kind::Word);
    }
    let (first, second) = id.split_once(['-', '.'])?;
    (number(first) && number(second)).then_some(Kind::RangeOrEmptyNode)
}

/// The state of a CoNLL-U reader.
#[derive(Debug)]
pub(super) struct ConlluReader {
    pub label: Option<LabelExpression>,
    pub columns: Vec<Field>,
    pub joined: String, // the label being read
    pub trailing: bool, // whether comments after the last sentence matter
}

impl ConlluReader {
    pub(super) fn read_into(&mut self, lines: &mut Lines, sequence: &mut Sequence) -> Result<bool> {
        while let Some(line) = lines.next()? {
            if line.is_empty() {
                if !sequence.is_empty() {
                    return Ok(true);
                }
                if sequence.source_lines().len() > 0 {
                    sequence.push_source_line("", None); // comments on their own
                }
                continue;
            }
            if line.starts_with('#') {
                sequence.push_source_line(line, None);
                continue;
            }
            if let Err((expected, got)) = self.read_word(line, sequence) {
                return Err(lines.error(expected, got));
            }
        }
        // Comments after the last sentence are a sequence without positions, so that they are written, too.
        Ok(!sequence.is_empty() || self.trailing && sequence.source_lines().len() > 0)
    }

    fn read_word(
        &mut self,
        line: &str,
        sequence: &mut Sequence,
    ) -> std::result::Result<(), (String, String)> {
        let fields = split_fields(line).map_err(|count| {
            (format!("{FIELDS} fields separated by tabs"), format!("{count} in {}", quoted(line)))
        })?;
        match kind(fields[0]) {
            None => return Err(("a word number, a range or an empty node".into(), quoted(fields[0]))),
            Some(Kind::RangeOrEmptyNode) => {
                sequence.push_source_line(line, None);
                return Ok(());
            }
            Some(Kind::Word) => {}
        }
        sequence.push_source_line(line, Some(sequence.len()));
        sequence.push(self.columns.iter().map(|field| fields[field.index()]));
        if let Some(label) = &self.label {
            if let Some(field) = label.fields.iter().find(|field| fields[field.index()].is_empty()) {
                return Err((format!("a value or _ in {}", Field::NAMES[field.index()].0), quoted(line)));
            }
            label.join(&fields, &mut self.joined);
            sequence.set_label(&self.joined);
        }
        Ok(())
    }
}

/// Writes the lines of a sequence, each label in its fields, its probability in the last field. For a sequence from
/// another format, lines are made up, with its first column as the form.
pub(super) fn write<L: AsRef<str>>(
    out: &mut String,
    sequence: &Sequence,
    labels: Option<&[L]>,
    added: &Added<'_>,
    expression: &LabelExpression,
) -> Result<()> {
    let changed = |t: usize, fields: &[&str; FIELDS]| {
        let label = labels.map(|labels| labels[t].as_ref()).or(sequence.label(t));
        let mut values = label.map(|label| expression.split(label)).unwrap_or_default();
        if let Some(confidences) = added.confidences {
            let misc = &mut values[Field::Misc.index()];
            let before = misc.as_deref().unwrap_or(fields[Field::Misc.index()]);
            let likeliest = added.distributions.map_or(&[][..], |rows| &rows[t]);
            *misc = Some(with_confidence(before, confidences[t], likeliest));
        }
        values
    };
    let heading_after = sequence.source_lines().position(|line| line.text.starts_with(SENTENCE));
    if let Some(heading) = added.heading.filter(|_| heading_after.is_none()) {
        out.push_str(heading);
    }
    if sequence.source_lines().len() == 0 {
        for t in 0..sequence.len() {
            let form = sequence.cell(t, 0).filter(|form| !form.is_empty()).unwrap_or(EMPTY);
            check_cell(form, !form.contains('\t'), t, "a form without tabs")?;
            let number = (t + 1).to_string();
            let mut fields = [EMPTY; FIELDS];
            (fields[0], fields[1]) = (&number, form);
            write_word(out, t, &fields, &changed(t, &fields))?;
        }
    }
    for (i, line) in sequence.source_lines().enumerate() {
        match (line.position, split_fields(line.text)) {
            (Some(t), Ok(fields)) => write_word(out, t, &fields, &changed(t, &fields))?,
            _ => {
                out.push_str(line.text);
                out.push('\n');
            }
        }
        if let Some(heading) = added.heading.filter(|_| heading_after == Some(i)) {
            out.push_str(heading);
        }
    }
    out.push('\n');
    Ok(())
}

/// The `MISC` field with probabilities, which replace any that are already there.
fn with_confidence(misc: &str, confidence: f64, likeliest: &[(&str, f64)]) -> String {
    let is_ours = |part: &str| {
        let name = part.split('=').next().unwrap_or_default();
        let number = name.strip_prefix(LABEL).unwrap_or_default();
        part.starts_with(CONFIDENCE) || !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts: Vec<String> =
        misc.split('|').filter(|part| *part != EMPTY && !is_ours(part)).map(str::to_owned).collect();
    parts.push(format!("{CONFIDENCE}{confidence:.4}"));
    for (i, (label, p)) in likeliest.iter().enumerate() {
        let label = label.replace('\\', "\\\\").replace('|', "\\p");
        parts.push(format!("{LABEL}{}={label}/{p:.4}", i + 1));
    }
    parts.join("|")
}

fn write_word(
    out: &mut String,
    t: usize,
    fields: &[&str; FIELDS],
    changed: &[Option<String>; FIELDS],
) -> Result<()> {
    for (i, (field, value)) in fields.iter().zip(changed).enumerate() {
        let text = value.as_deref().unwrap_or(field);
        check_cell(text, !text.contains('\t'), t, "a label without tabs")?;
        if i > 0 {
            out.push('\t');
        }
        out.push_str(text);
    }
    out.push('\n');
    Ok(())
}
