//! One JSON object per line: `{"tokens":["Time","flies"],"tags":["NOUN","VERB"]}`.
//!
//! Tags may be numbers, as in many published data sets: the label is then the number as text. Other keys are not used, but kept
//! as they are written, and written again after our own.
//! Tokens and tags go straight from the parser into the sequence, without intermediate strings.

use super::lines::Lines;
use super::writer::Extras;
use crate::sequence::Sequence;
use kbest_core::{Result, quoted};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The state of a JSON lines reader.
#[derive(Debug)]
pub(super) struct JsonlReader {
    pub labelled: bool,
    pub tags: Sequence, // tags of the current line: they may come before the tokens
}

impl JsonlReader {
    /// An object is a sequence even if it has no tokens, so that outputs stay aligned with inputs.
    pub(super) fn read_into(&mut self, lines: &mut Lines, sequence: &mut Sequence) -> Result<bool> {
        while let Some(line) = lines.next()? {
            if line.trim_ascii().is_empty() {
                continue;
            }
            self.tags.clear();
            let mut parser = serde_json::Deserializer::from_str(line);
            let object = Object { tokens: sequence, tags: &mut self.tags };
            let parsed = object.deserialize(&mut parser).and_then(|found| parser.end().map(|()| found));
            let (tokens, tags) = match parsed {
                Ok(found) => found,
                Err(error) => {
                    let expected = "an object with a list of strings `tokens` and a list of labels `tags`";
                    let got = format!("{error} in {}", quoted(line));
                    return Err(lines.error(expected, got));
                }
            };
            if !tokens || self.labelled && !tags {
                let missing = if tokens { "tags" } else { "tokens" };
                let got = quoted(line);
                return Err(lines.error(format!("a list `{missing}`"), got));
            }
            if tags && self.labelled {
                if self.tags.len() != sequence.len() {
                    let expected = format!("{} tags, as many as tokens", sequence.len());
                    return Err(lines.error(expected, self.tags.len()));
                }
                sequence.set_labels_from(&self.tags);
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// Reads the object; returns whether there were tokens, and tags.
struct Object<'s> {
    tokens: &'s mut Sequence,
    tags: &'s mut Sequence,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = (bool, bool);
    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = (bool, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut found = (false, false);
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            let (list, seen, numbers) = match key.as_ref() {
                "tokens" => (&mut *self.tokens, &mut found.0, false),
                "tags" => (&mut *self.tags, &mut found.1, true),
                other => {
                    self.tokens.push_key(other, map.next_value::<&RawValue>()?.get());
                    continue;
                }
            };
            if std::mem::replace(seen, true) {
                return Err(A::Error::custom(format!("`{key}` twice")));
            }
            map.next_value_seed(List { into: list, numbers })?;
        }
        Ok(found)
    }
}

/// Reads a list of strings (or also of whole numbers) as positions of one cell.
struct List<'s> {
    into: &'s mut Sequence,
    numbers: bool,
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<(), A::Error> {
        let List { into, numbers } = self;
        while list.next_element_seed(Element { into, numbers })?.is_some() {}
        Ok(())
    }
}

struct Element<'s> {
    into: &'s mut Sequence,
    numbers: bool,
}

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Element<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.numbers { "a string or a whole number" } else { "a string" })
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<(), E> {
        self.into.push([text]);
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> std::result::Result<(), E> {
        if !self.numbers {
            return Err(E::invalid_type(serde::de::Unexpected::Unsigned(number), &self));
        }
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> std::result::Result<(), E> {
        if !self.numbers {
            return Err(E::invalid_type(serde::de::Unexpected::Signed(number), &self));
        }
        self.visit_str(&number.to_string())
    }
}

/// Writes the object: rank, score and probability of a candidate, tokens, tags and their probabilities, the labels in the
/// data as `gold`, and all other keys of the object that was read, unless one of these has the same name.
pub(super) fn write<L: AsRef<str>>(
    out: &mut String,
    sequence: &Sequence,
    columns: &[&[L]],
    extras: Extras<'_>,
) -> Result<()> {
    // JSON has no infinite numbers.
    let number = |value: f64| if value.is_finite() { value.to_string() } else { "null".into() };
    out.push('{');
    if let Some(candidate) = extras.candidate {
        out.push_str(&format!("\"rank\":{},\"score\":{},", candidate.rank, number(candidate.score)));
    }
    if let Some(probability) = extras.probability {
        out.push_str(&format!("\"probability\":{},", number(probability)));
    }
    let length = sequence.len();
    push_list(out, "tokens", (0..length).map(|t| sequence.cell(t, 0).unwrap_or("")));
    let gold = (0..length).map(|t| sequence.label(t).unwrap_or(""));
    if let Some(labels) = columns.first() {
        out.push(',');
        push_list(out, "tags", labels.iter().map(AsRef::as_ref));
        if let Some(confidences) = extras.confidences {
            let numbers: Vec<String> = confidences.iter().map(|&p| format!("{p:.4}")).collect();
            out.push_str(&format!(",\"marginals\":[{}]", numbers.join(",")));
        }
        if let Some(rows) = extras.distributions {
            let rows: Vec<String> = rows.iter().map(|row| object(row)).collect();
            out.push_str(&format!(",\"distributions\":[{}]", rows.join(",")));
        }
        if sequence.is_labelled() {
            out.push(',');
            push_list(out, "gold", gold);
        }
        for (i, column) in columns.iter().enumerate().skip(1) {
            out.push(',');
            push_list(out, &format!("tags{}", i + 1), column.iter().map(AsRef::as_ref));
        }
    } else if sequence.is_labelled() {
        out.push(',');
        push_list(out, "tags", gold);
    }
    let ours = |key: &str| match key {
        "rank" | "score" => extras.candidate.is_some(),
        "probability" => extras.probability.is_some(),
        "marginals" => extras.confidences.is_some(),
        "distributions" => extras.distributions.is_some(),
        "gold" => !columns.is_empty() && sequence.is_labelled(),
        _ => (1..columns.len()).any(|i| key == format!("tags{}", i + 1)),
    };
    for (key, value) in sequence.keys().filter(|(key, _)| !ours(key)) {
        out.push_str(&format!(",{}:{value}", text(key)));
    }
    out.push_str("}\n");
    Ok(())
}

/// Labels and their probabilities.
fn object(row: &[(&str, f64)]) -> String {
    let entry = |(label, p): &(&str, f64)| format!("{}:{p:.4}", text(label));
    format!("{{{}}}", row.iter().map(entry).collect::<Vec<_>>().join(","))
}

fn text(text: &str) -> String {
    serde_json::to_string(text).expect("any text can be written as JSON")
}

fn push_list<'a>(out: &mut String, key: &str, texts: impl Iterator<Item = &'a str>) {
    out.push_str(&format!("\"{key}\":["));
    for (i, entry) in texts.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&text(entry));
    }
    out.push(']');
}
