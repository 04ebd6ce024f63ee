//! Transitions from a file.

use super::rules::{Rules, Select};
use super::{FORBIDDEN, Part, Transitions};
use crate::error::{Error, Result, quoted};
use crate::label::{LabelId, LabelSet};
use crate::scheme::{Scheme, Tagging};
use std::collections::HashMap;
use std::sync::Arc;

impl Transitions {
    /// The constraints that a rule names: a scheme (`iob2`, `bilou`, ...), `auto` for the scheme that the names of the
    /// labels spell, or a transition file.
    ///
    /// # Errors
    /// [`Error::Argument`] if the names spell no spans, or the rule is neither scheme nor file; [`Error::Io`]; errors of
    /// [`Transitions::parse`].
    pub fn from_rule(rule: &str, labels: &LabelSet) -> Result<Self> {
        let by_name = Scheme::by_name(rule).ok();
        if rule == "auto" || by_name.is_some() {
            let Some(tagging) = Tagging::detect(labels.names()) else {
                let got = format!("labels such as {} with {rule}", labels.names().next().unwrap_or_default());
                let expected = "labels that encode spans, such as B-X and I-X";
                return Err(Error::argument("constraints", expected, got));
            };
            let tagging = Tagging { scheme: by_name.unwrap_or(tagging.scheme), ..tagging };
            return Ok(Self::from_names(labels.names(), tagging));
        }
        let bytes = std::fs::read(rule).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                let schemes = Scheme::NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
                let expected = format!("auto, {schemes} or a transition file");
                Error::argument("constraints", expected, format!("`{rule}`, which is neither"))
            }
            _ => Error::io(rule, 0, error),
        })?;
        Self::parse_bytes(&bytes, rule, labels)
    }

    /// The constraints of several [rules](Transitions::from_rule), which all apply; `None` if there are no rules.
    ///
    /// # Errors
    /// Those of [`Transitions::from_rule`].
    pub fn from_rules<R: AsRef<str>>(rules: &[R], labels: &LabelSet) -> Result<Option<Self>> {
        rules.iter().try_fold(None, |all: Option<Self>, rule| {
            let transitions = Self::from_rule(rule.as_ref(), labels)?;
            Ok(Some(match all {
                Some(others) => others.and(transitions)?,
                None => transitions,
            }))
        })
    }

    /// Reads transitions, one per line: `from TAB to`, optionally followed by another tab and a score to add.
    ///
    /// - A line that begins with `!` forbids, every other line allows. The last line that matches decides.
    /// - Pairs that no line names are forbidden if the first line allows, and allowed if the first line forbids.
    /// - `^` in place of `from` means the start, `$` in place of `to` the end. The first line about each of them sets
    ///   its own default: if none names the start, any label may be first.
    /// - `*` matches any characters: `*` for all labels, `B-*`, `*@PlayMusic`.
    /// - A line that begins with `#` is a comment; a backslash before `# ! ^ $ * \` makes the character literal.
    ///
    /// `file` is the name of the text in errors.
    ///
    /// # Errors
    /// [`Error::Data`] with the line, for anything else and for labels that do not exist.
    ///
    /// ```
    /// use kbest_core::LabelSet;
    /// use kbest_core::transition::Transitions;
    /// let labels = LabelSet::from_names(["O", "B-X", "I-X"]);
    /// let text = "!O\tI-*\n# only outside at the start, and better so at the end\n^\tO\n*\t$\nO\t$\t0.5\n";
    /// let transitions = Transitions::parse(text, "transitions.tsv", &labels)?;
    /// assert!(!transitions.allowed(0, 2) && transitions.allowed(1, 2));
    /// assert_eq!((transitions.start(1), transitions.end(0)), (f32::NEG_INFINITY, 0.5));
    /// # Ok::<(), kbest_core::Error>(())
    /// ```
    pub fn parse(text: &str, file: &str, labels: &LabelSet) -> Result<Self> {
        let mut reader = Reader { labels, rules: Rules::new(labels.len()), patterns: HashMap::new() };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.split('\n')) {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !line.is_empty() && !line.starts_with('#') {
                reader.line(line).map_err(|(expected, got)| Error::data(file, number, expected, got))?;
            }
        }
        Ok(Transitions { labels: labels.len(), parts: Arc::new(vec![Part::Rules(reader.rules)]) })
    }

    /// As [`Transitions::parse`], from bytes that may not be valid UTF-8.
    ///
    /// # Errors
    /// As for [`Transitions::parse`], and [`Error::Data`] for invalid UTF-8.
    pub fn parse_bytes(bytes: &[u8], file: &str, labels: &LabelSet) -> Result<Self> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(text, file, labels),
            Err(invalid) => {
                let before = &bytes[..invalid.valid_up_to()];
                let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64;
                let got = format!("byte 0x{:02x}", bytes[invalid.valid_up_to()]);
                Err(Error::data(file, line, "UTF-8", got))
            }
        }
    }
}

type Mismatch = (&'static str, String); // expected, got

struct Reader<'a> {
    labels: &'a LabelSet,
    rules: Rules,
    patterns: HashMap<String, Select>, // patterns with `*`: matching reads all names
}

impl Reader<'_> {
    fn line(&mut self, line: &str) -> Result<(), Mismatch> {
        let (forbids, rest) = line.strip_prefix('!').map_or((false, line), |rest| (true, rest));
        let fields: Vec<&str> = rest.split('\t').collect();
        let (from, to, score) = match fields[..] {
            [from, to] => (from, to, if forbids { FORBIDDEN } else { 0.0 }),
            [from, to, score] if !forbids => (from, to, parse_score(score)?),
            [_, _, _] => return Err(("no score on a line that forbids", quoted(line))),
            _ => return Err(("`from TAB to`, or `from TAB to TAB score`", quoted(line))),
        };
        match (from, to) {
            ("^", "$") | ("$", _) | (_, "^") => {
                return Err(("`^` before a label, or `$` after one", quoted(line)));
            }
            ("^", to) => {
                let to = self.select(to)?;
                self.rules.set_start(&to, score);
            }
            (from, "$") => {
                let from = self.select(from)?;
                self.rules.set_end(&from, score);
            }
            (from, to) => {
                let (from, to) = (self.select(from)?, self.select(to)?);
                self.rules.set_pairs(&from, to, score);
            }
        }
        Ok(())
    }

    /// The labels that a pattern matches.
    fn select(&mut self, pattern: &str) -> Result<Select, Mismatch> {
        if pattern == "*" {
            return Ok(Select::All);
        }
        if let Some(known) = self.patterns.get(pattern) {
            return Ok(known.clone());
        }
        let pieces = pieces(pattern)?;
        let unknown = || ("a label, or a pattern that matches one", quoted(pattern));
        if let [name] = &pieces[..] {
            return self.labels.id(name).map(Select::One).ok_or_else(unknown);
        }
        let matching = self.labels.names().zip(0..).filter(|(name, _)| matches(&pieces, name));
        let ids: Vec<LabelId> = matching.map(|(_, y)| y).collect();
        if ids.is_empty() {
            return Err(unknown());
        }
        let select = Select::Some(ids.into());
        self.patterns.insert(pattern.to_owned(), select.clone());
        Ok(select)
    }
}

fn parse_score(text: &str) -> Result<f32, Mismatch> {
    let mismatch = || ("a number, or -inf", quoted(text));
    let score: f32 = text.trim().parse().map_err(|_| mismatch())?;
    if score.is_nan() || score == f32::INFINITY { Err(mismatch()) } else { Ok(score) }
}

/// The text between the stars of a pattern, backslashes resolved.
fn pieces(pattern: &str) -> Result<Vec<String>, Mismatch> {
    let mut pieces = vec![String::new()];
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let last = pieces.last_mut().expect("never empty");
        match letter {
            '*' => pieces.push(String::new()),
            '\\' => match letters.next() {
                Some(letter @ ('#' | '!' | '^' | '$' | '*' | '\\')) => last.push(letter),
                _ => return Err(("one of # ! ^ $ * \\ after a backslash", quoted(pattern))),
            },
            letter => last.push(letter),
        }
    }
    Ok(pieces)
}

/// Whether a name consists of the pieces with anything between them.
fn matches(pieces: &[String], name: &str) -> bool {
    let [first, middle @ .., last] = pieces else { return pieces.first().is_some_and(|only| only == name) };
    let Some(mut rest) = name.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()))
    else {
        return false;
    };
    // The leftmost match of each piece leaves the most room for the next ones.
    middle.iter().all(|piece| match rest.split_once(piece.as_str()) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}
