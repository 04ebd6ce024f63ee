//! How answers are told: labels by name, and probabilities.

use crate::failure::{Failure, Result, as_typed};
use crate::input::{Batch, Scores};
use crate::text::{Marginals, likeliest};
use kbest::LabelSet;
use kbest::transition::Transitions;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

/// Names of labels, if they have any, and the probabilities that are wanted.
#[derive(Debug)]
pub(crate) struct Telling {
    names: Option<Vec<String>>,
    numbers: Vec<String>, // of the labels, if they have no names and the likeliest are wanted
    marginals: Marginals,
}

/// The labels of a path: names, or numbers.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Labels<'a> {
    Numbers(Cow<'a, [u32]>),
    Names(Vec<&'a str>),
}

/// One label: a name, or a number.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Label<'a> {
    Number(u32),
    Name(&'a str),
}

/// The likeliest labels of each position with their probabilities.
pub(crate) type Distributions<'a> = Vec<Likeliest<'a>>;

/// Labels and probabilities as one object, in this order.
#[derive(Debug)]
pub(crate) struct Likeliest<'a>(Vec<(&'a str, f64)>);

impl Serialize for Likeliest<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(label, p)| (label, rounded(*p))))
    }
}

/// With the four digits that probabilities have everywhere.
pub(crate) fn rounded(p: f64) -> f64 {
    (p * 1e4).round() / 1e4
}

impl Telling {
    /// `names`: a file with one name per line, or names separated by commas.
    pub(crate) fn new(names: Option<&str>, marginals: Option<&str>, labels: usize) -> Result<Self> {
        let names = names.map(|said| read_names(said, labels)).transpose()?;
        let marginals = Marginals::parse(marginals)?;
        let numbers = match (&names, marginals.likeliest()) {
            (None, Some(_)) => (0..labels).map(|y| y.to_string()).collect(),
            _ => Vec::new(),
        };
        Ok(Telling { names, numbers, marginals })
    }

    /// Whether probabilities are wanted at all.
    pub(crate) fn wants_probabilities(&self) -> bool {
        self.marginals.is_wanted()
    }

    pub(crate) fn labels<'a>(&'a self, labels: impl Into<Cow<'a, [u32]>>) -> Labels<'a> {
        let labels = labels.into();
        match &self.names {
            Some(names) => Labels::Names(labels.iter().map(|&y| names[y as usize].as_str()).collect()),
            None => Labels::Numbers(labels),
        }
    }

    pub(crate) fn label(&self, label: u32) -> Label<'_> {
        match &self.names {
            Some(names) => Label::Name(&names[label as usize]),
            None => Label::Number(label),
        }
    }

    /// The likeliest labels, if they are wanted, from `T x L` probabilities.
    pub(crate) fn distributions(
        &self,
        probabilities: impl FnOnce() -> Vec<f64>,
    ) -> Option<Distributions<'_>> {
        let number = self.marginals.likeliest()?;
        let names: Vec<&str> =
            self.names.as_ref().unwrap_or(&self.numbers).iter().map(String::as_str).collect();
        Some(likeliest(&probabilities(), &names, number).into_iter().map(Likeliest).collect())
    }

    /// The batch under constraints, which are about names.
    pub(crate) fn constrain<S: Scores>(&self, batch: Batch<S>, rules: &[String]) -> Result<Batch<S>> {
        if rules.is_empty() {
            return Ok(batch);
        }
        let Some(names) = &self.names else {
            return Err(Failure::Usage(
                "--constraints: expected --labels NAMES, because rules are about names of labels".into(),
            ));
        };
        match Transitions::from_rules(rules, &LabelSet::from_names(names)).map_err(as_typed)? {
            Some(transitions) => batch.constrained(&transitions),
            None => Ok(batch),
        }
    }
}

fn read_names(said: &str, labels: usize) -> Result<Vec<String>> {
    let path = Path::new(said);
    let names: Vec<String> = if path.is_file() {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::system("read", path, error))?;
        text.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
    } else {
        said.split(',').map(|name| name.trim().to_owned()).collect()
    };
    if names.len() != labels {
        let what = if path.is_file() { "lines" } else { "names (and there is no file of this name)" };
        return Err(Failure::Usage(format!(
            "--labels {said}: expected a name for each of the {labels} labels, got {} {what}",
            names.len()
        )));
    }
    let mut seen = BTreeMap::new();
    for (y, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name, y) {
            return Err(Failure::Usage(format!(
                "--labels {said}: expected different names, got `{name}` for the labels {first} and {y}"
            )));
        }
    }
    Ok(names)
}
