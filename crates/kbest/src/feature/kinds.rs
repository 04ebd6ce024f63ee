//! How many features there are of each kind, for reports: words, suffixes, cells of the third column, a line of a template.

use super::extract::Extractor;
use super::source::{FeatureSource, LABEL_BIGRAM};
use crate::template::{Rule, Template};
use std::collections::BTreeMap;

/// Features of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureKind {
    /// What they are, such as `words`, `suffixes`, or the line of a template.
    pub name: String,
    /// How many there are.
    pub features: usize,
}

/// In the order in which they are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Rule(usize), // the line of a template
    Named(&'static str),
    Cells { column: usize, pairs: bool },
    EdgeRule(usize),
    LabelPairs,
}

impl Extractor {
    /// How many features there are of each kind.
    ///
    /// ```
    /// use kbest::feature::{ExtractorBuilder, FeatureBuffer, FeatureSource, Preset};
    /// let mut builder = ExtractorBuilder::new(FeatureSource::Preset(Preset::Words));
    /// builder.observe(&kbest::Sequence::from_tokens(["no", "more"]), &mut FeatureBuffer::new())?;
    /// let kinds = builder.freeze(1).extractor.kinds();
    /// let prefixes = kinds.iter().find(|kind| kind.name == "prefixes").unwrap();
    /// assert_eq!(prefixes.features, 6); // n, no; m, mo, mor, more
    /// # Ok::<(), kbest::Error>(())
    /// ```
    pub fn kinds(&self) -> Vec<FeatureKind> {
        let template = self.source().template();
        let (unigrams, bigrams) =
            template.map_or((&[][..], &[][..]), |template| (template.unigrams(), template.bigrams()));
        let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
        for key in self.nodes().keys() {
            *counts.entry(of_node(self.source(), unigrams, key)).or_default() += 1;
        }
        for key in self.edges().keys() {
            let kind = match rule_of(bigrams, key) {
                Some(rule) if key != LABEL_BIGRAM => Kind::EdgeRule(rule),
                _ => Kind::LabelPairs,
            };
            *counts.entry(kind).or_default() += 1;
        }
        let named = |(kind, features)| FeatureKind { name: name(kind, template), features };
        counts.into_iter().map(named).collect()
    }
}

fn name(kind: Kind, template: Option<&Template>) -> String {
    let line = |rules: &[Rule], rule: usize| rules[rule].line().to_owned();
    match (kind, template) {
        (Kind::Rule(rule), Some(template)) => line(template.unigrams(), rule),
        (Kind::EdgeRule(rule), Some(template)) => line(template.bigrams(), rule),
        (Kind::Rule(_) | Kind::EdgeRule(_), None) => String::new(), // rules come from a template
        (Kind::Named(name), _) => name.to_owned(),
        (Kind::Cells { column, pairs: false }, _) => format!("cells of column {}", column + 1),
        (Kind::Cells { column, pairs: true }, _) => format!("pairs in column {}", column + 1),
        (Kind::LabelPairs, _) => "label pairs".to_owned(),
    }
}

fn of_node(source: &FeatureSource, unigrams: &[Rule], key: &[u8]) -> Kind {
    match source {
        FeatureSource::Items => Kind::Named("attributes"),
        FeatureSource::Numbers(_) => Kind::Named("numbers"),
        FeatureSource::Patterns(_) => Kind::Named("features of patterns"),
        _ => match rule_of(unigrams, key) {
            Some(rule) => Kind::Rule(rule),
            None => of_preset(key),
        },
    }
}

/// The rule that made a feature: the one with the longest name that the feature begins with; of those with the same name, the
/// first. (Features of presets begin with none.)
fn rule_of(rules: &[Rule], key: &[u8]) -> Option<usize> {
    let made = (0..).zip(rules).filter(|(_, rule)| key.starts_with(rule.name()));
    made.max_by_key(|&(i, rule)| (rule.name().len(), std::cmp::Reverse(i))).map(|(i, _)| i)
}

/// Names of presets' features say what they are: `w[-1]=`, `w[-1]|w[0]=`, `pre3=`, `suf3[-1]=`, `c2[0]|[1]=`.
fn of_preset(key: &[u8]) -> Kind {
    let after = |start: usize| without_digits(&key[start..]);
    let is_digit = |at: usize| key.get(at).is_some_and(u8::is_ascii_digit);
    let is_pair = || {
        let close = key.iter().position(|&byte| byte == b']');
        close.and_then(|close| key.get(close + 1)) == Some(&b'|')
    };
    match key {
        [b'w', b'[', ..] if is_pair() => Kind::Named("word pairs"),
        [b'w', b'[' | b'=', ..] => Kind::Named("words"),
        [b'p', b'r', b'e', ..] if is_digit(3) => Kind::Named("prefixes"),
        [b's', b'u', b'f', ..] if is_digit(3) => match after(3).first() {
            Some(b'[') => Kind::Named("suffixes nearby"),
            _ => Kind::Named("suffixes"),
        },
        _ if key.starts_with(b"shape[") => Kind::Named("shapes nearby"),
        _ if key.starts_with(b"shape=") => Kind::Named("shapes"),
        [b'c', ..] if is_digit(1) => {
            let digits = &key[1..key.len() - after(1).len()];
            let column = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            Kind::Cells { column: column.unwrap_or(usize::MAX - 1), pairs: is_pair() }
        }
        _ => Kind::Named("spelling"),
    }
}

fn without_digits(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()..]
}
