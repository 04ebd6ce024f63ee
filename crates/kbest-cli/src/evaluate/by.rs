//! `--by`: the same figures for parts of the data: by a column, by a field of CoNLL-U, by morphological features.
//!
//! Features are compared one by one if they are part of the label (`NOUN+Case=Nom|Number=Sing`): how often the model finds each,
//! whatever else it gets wrong. Otherwise tokens are grouped by the features that the data gives them.

use super::counts::Compared;
use crate::failure::{Failure, Result};
use crate::table::{aligned, grouped, percent};
use kbest::Sequence;
use kbest::evaluate::Tally;
use kbest::text::{Field, Format, LabelExpression, TextFormat};
use serde::Serialize;
use std::collections::BTreeMap;

/// The name of a part of a label that is no feature, such as `NOUN`.
const TAG: &str = "tag";

/// What to group by.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum By {
    /// The cells of a column, from 0.
    Column(usize),
    /// A field of CoNLL-U.
    Field(Field),
    /// Each feature by itself, or the values of one.
    Features {
        only: Option<String>,
        /// The fields of the label, in CoNLL-U.
        label: Option<LabelExpression>,
    },
}

impl By {
    pub(super) fn parse(text: &str, format: &TextFormat) -> Result<Self> {
        let conllu = format.format == Format::Conllu;
        let wrong = |expected: &str| Failure::Usage(format!("--by: expected {expected}, got {text}"));
        if let Ok(column) = text.parse::<usize>() {
            return match column.checked_sub(1) {
                Some(column) if !conllu => Ok(By::Column(column)),
                Some(_) => Err(wrong("a field such as upos, or a feature such as Case, for CoNLL-U")),
                None => Err(wrong("a column from 1 on")),
            };
        }
        let features = |only| By::Features { only, label: conllu.then(|| format.label.clone()) };
        match Field::by_name(text) {
            _ if text.eq_ignore_ascii_case("feats") => Ok(features(None)),
            Ok(field) if conllu => Ok(By::Field(field)),
            Ok(_) => {
                Err(wrong("a column from 1 on, feats, or a feature such as Case, for data without fields"))
            }
            Err(_) if text.starts_with(char::is_uppercase) => Ok(features(Some(text.to_owned()))),
            Err(_) => Err(wrong("a column, a field of CoNLL-U, feats, or a feature such as Case")),
        }
    }

    fn name(&self) -> String {
        match self {
            By::Column(column) => format!("column {}", column + 1),
            By::Field(field) => field.name().into(),
            By::Features { only, .. } => only.clone().unwrap_or_else(|| "feature".into()),
        }
    }
}

/// The figures of all groups of one `--by`.
#[derive(Debug, Default)]
pub(super) struct Groups {
    tokens: Tallies,   // of what the data says of tokens
    compared: Tallies, // of features of labels, right and chosen
    found: bool, // whether any label has features: then only the second counts, and has precision and recall
}

type Tallies = BTreeMap<String, Tally>;

fn tally<'a>(tallies: &'a mut Tallies, name: &str) -> &'a mut Tally {
    if !tallies.contains_key(name) {
        tallies.insert(name.to_owned(), Tally::default());
    }
    tallies.get_mut(name).expect("inserted above if missing")
}

#[derive(Debug, Serialize)]
pub(super) struct GroupReport<'a> {
    by: String,
    groups: Vec<GroupLine<'a>>,
}

#[derive(Debug, Serialize)]
struct GroupLine<'a> {
    value: &'a str,
    gold: u64,
    right: u64,
    accuracy: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    f1: Option<f64>,
}

/// A feature: its name and its value.
type Feature = (String, String);

/// The features in a text whose parts are separated like this. What is no feature is the tag.
fn features(text: &str, separators: &[char]) -> impl Iterator<Item = Feature> {
    let parts = text.split(separators).filter(|part| !part.is_empty() && *part != "_");
    parts.map(|part| part.split_once('=').unwrap_or((TAG, part))).map(|(a, b)| (a.to_owned(), b.to_owned()))
}

/// The features of a label.
fn features_of(label: &str, expression: Option<&LabelExpression>) -> Vec<Feature> {
    match expression {
        Some(fields) => {
            fields.values(label).flat_map(|(_, value)| features(&value, &['|']).collect::<Vec<_>>()).collect()
        }
        None => features(label, &['+', '|']).collect(),
    }
}

/// A field of every position, as the file has it.
fn fields(sequence: &Sequence, field: Field) -> Vec<String> {
    let words = sequence.source_lines().filter(|line| line.position.is_some());
    words.map(|line| line.text.split('\t').nth(field as usize).unwrap_or_default().to_owned()).collect()
}

impl Groups {
    fn tallies(&self) -> &Tallies {
        if self.found { &self.compared } else { &self.tokens }
    }

    /// A token of a group, and whether its label is right.
    fn count(&mut self, name: &str, right: bool) {
        let tally = tally(&mut self.tokens, name);
        tally.gold += 1;
        tally.right += u64::from(right);
    }

    pub(super) fn add(&mut self, by: &By, compared: &Compared<'_>) -> Result<()> {
        let Compared { sequence, gold, chosen, .. } = *compared;
        let right = |t: usize| gold[t] == chosen[t];
        match by {
            By::Column(column) => {
                for t in 0..gold.len() {
                    let cell = sequence.cell(t, *column).ok_or_else(|| {
                        let columns = sequence.width(t);
                        Failure::Usage(format!(
                            "--by: expected a column from 1 to {columns}, got {}",
                            column + 1
                        ))
                    })?;
                    self.count(cell, right(t));
                }
            }
            By::Field(field) => {
                let values = fields(sequence, *field);
                values.iter().enumerate().for_each(|(t, value)| self.count(value, right(t)));
            }
            By::Features { only, label } => {
                let only = only.as_deref();
                // Whether labels have features is known at the end: those of one sentence may have none.
                self.found |= gold.iter().chain(chosen).any(|label| label.contains('='));
                for (gold, chosen) in gold.iter().zip(chosen) {
                    self.compare([gold, chosen].map(|text| features_of(text, label.as_ref())), only);
                }
                let values = if self.found { Vec::new() } else { fields(sequence, Field::Feats) };
                for (t, value) in values.iter().enumerate() {
                    for (name, value) in features(value, &['|']) {
                        match only {
                            None => self.count(&format!("{name}={value}"), right(t)),
                            Some(only) if only == name => self.count(&value, right(t)),
                            Some(_) => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Compares labels feature by feature, or the values of one.
    fn compare(&mut self, [mut gold, mut chosen]: [Vec<Feature>; 2], only: Option<&str>) {
        for features in [&mut gold, &mut chosen] {
            features.retain(|(name, _)| only.is_none_or(|only| only == name));
        }
        let group = |(name, value): &'_ Feature| if only.is_some() { value.clone() } else { name.clone() };
        for feature in &gold {
            let tally = tally(&mut self.compared, &group(feature));
            tally.gold += 1;
            tally.right += u64::from(chosen.contains(feature));
        }
        chosen.iter().for_each(|feature| tally(&mut self.compared, &group(feature)).predicted += 1);
    }

    pub(super) fn merge(&mut self, other: Groups) {
        self.found |= other.found;
        for (own, others) in [(&mut self.tokens, other.tokens), (&mut self.compared, other.compared)] {
            for (name, other) in others {
                let own = tally(own, &name);
                own.gold += other.gold;
                own.predicted += other.predicted;
                own.right += other.right;
            }
        }
    }

    /// Most frequent first.
    fn sorted(&self) -> Vec<(&str, &Tally)> {
        let mut rows: Vec<(&str, &Tally)> =
            self.tallies().iter().map(|(name, tally)| (&**name, tally)).collect();
        rows.sort_by(|a, b| b.1.gold.cmp(&a.1.gold).then(a.0.cmp(b.0)));
        rows
    }

    /// Fails if there is nothing to show.
    pub(super) fn expect_some(&self, by: &By) -> Result<()> {
        if !self.tallies().is_empty() {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--by: expected a feature of the labels, or of the field FEATS, got {}, which no token has",
            by.name()
        )))
    }

    pub(super) fn text(&self, by: &By, most: usize) -> String {
        let rows = self.sorted();
        let left_off = rows.len().saturating_sub(most);
        let row = |(name, tally): &(&str, &Tally)| {
            let mut row = vec![(*name).to_owned(), grouped(tally.gold as usize), percent(tally.recall())];
            if self.found {
                row.extend([percent(tally.precision()), percent(tally.f1())]);
            }
            row
        };
        let rows: Vec<Vec<String>> = rows.iter().take(most).map(row).collect();
        let name = by.name();
        let table = match self.found {
            true => {
                let header = [name.as_str(), "tokens", "recall", "precision", "F1"];
                aligned(&header, &[false, true, true, true, true], &rows)
            }
            false => aligned(&[&name, "tokens", "right"], &[false, true, true], &rows),
        };
        let more = if left_off > 0 { format!("({left_off} more)\n") } else { String::new() };
        format!("\n{table}{more}")
    }

    pub(super) fn report(&self, by: &By) -> GroupReport<'_> {
        let lines = self.sorted().into_iter().map(|(value, tally)| GroupLine {
            value,
            gold: tally.gold,
            right: tally.right,
            accuracy: tally.recall(),
            predicted: self.found.then_some(tally.predicted),
            precision: self.found.then(|| tally.precision()),
            f1: self.found.then(|| tally.f1()),
        });
        GroupReport { by: by.name(), groups: lines.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_split_into_features() {
        let fields = LabelExpression::parse("upos+feats").unwrap();
        for fields in [None, Some(&fields)] {
            let all = |text| features_of(text, fields);
            let pairs = |pairs: &[(&str, &str)]| -> Vec<Feature> {
                pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
            };
            let whole = pairs(&[(TAG, "NOUN"), ("Case", "Nom"), ("Number", "Sing")]);
            assert_eq!(all("NOUN+Case=Nom|Number=Sing"), whole);
            assert_eq!(all("X+_"), pairs(&[(TAG, "X")]));
            assert_eq!(all("_"), []);
            if fields.is_some() {
                assert_eq!(all("A\\+B+Foo=a+b"), pairs(&[(TAG, "A+B"), ("Foo", "a+b")]));
            }
        }
    }
}
