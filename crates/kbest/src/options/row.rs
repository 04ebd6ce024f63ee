//! One option.

use super::{Kind, Options, Range, Value};
use kbest_core::{Error, Result};

/// The name of an option, and the values of it with which another one has an effect.
pub type Need = (&'static str, &'static [&'static str]);

/// One option of `O`.
#[derive(Debug)]
pub struct Row<O> {
    /// The name; words are joined by `_`, on the command line by `-`.
    pub name: &'static str,
    /// Under which heading it is listed.
    pub heading: &'static str,
    /// What stands for the value in `--name VALUE`.
    pub placeholder: &'static str,
    /// What the value may be.
    pub kind: Kind,
    /// Which numbers it may be.
    pub range: Range,
    /// What is done if it is not given, in words; empty if the field says so, or there is nothing to say.
    pub default: &'static str,
    /// The value that does nothing, so that it does no harm where the option would have no effect.
    pub neutral: &'static str,
    /// What other options must be so that this one has an effect.
    pub needs: &'static [Need],
    pub(crate) help: &'static str,
    pub(crate) set: fn(&mut O, Value) -> Option<()>,
    pub(crate) get: fn(&O) -> Option<Value>,
}

impl<O> Row<O> {
    /// A row with all that `options!` knows.
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        kind: Kind,
        set: fn(&mut O, Value) -> Option<()>,
        get: fn(&O) -> Option<Value>,
    ) -> Self {
        let (heading, placeholder, default, neutral) = ("", "", "", "");
        Row {
            name,
            heading,
            placeholder,
            kind,
            range: Range::Any,
            default,
            neutral,
            needs: &[],
            help,
            set,
            get,
        }
    }

    /// What it does, in words, without a full stop. Other options are written as on the command line.
    pub fn help(&self) -> String {
        self.help.trim().trim_end_matches('.').split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The value, as given or from the start; `None` if it was not given.
    pub fn get(&self, options: &O) -> Option<Value> {
        (self.get)(options)
    }

    /// Gives it a value. Ranges are left to [`Row::check`]. No names at all are the name `none`.
    ///
    /// # Errors
    /// [`Error::Argument`] for a value of another kind.
    pub fn set(&self, options: &mut O, value: Value) -> Result<()> {
        let got = value.to_string();
        let value = match (self.kind, value) {
            (Kind::Name(names), Value::Text(name)) if !names().contains(&name.as_str()) => None,
            (Kind::Names, Value::Texts(names)) if names.is_empty() => Some(Value::Texts(vec!["none".into()])),
            (_, value) => Some(value),
        };
        let set = value.and_then(|value| (self.set)(options, value));
        set.ok_or_else(|| Error::argument(self.name, self.kind.expected(), got))
    }

    /// The value, if it was given and has an effect.
    pub fn given(&self, options: &O) -> Option<Value> {
        let value = self.get(options)?;
        let idle = match &value {
            Value::Flag(given) => !given,
            other => !self.neutral.is_empty() && other.to_string() == self.neutral,
        };
        (!idle).then_some(value)
    }
}

impl<O: Options> Row<O> {
    /// The option as it can be typed again: nothing if it is as it was from the start, several arguments if it was repeated.
    pub fn as_typed(&self, options: &O) -> Vec<String> {
        let name = self.name.replace('_', "-");
        let value = match self.get(options) {
            Some(Value::Flag(true)) => return vec![format!("--{name}")],
            None | Some(Value::Flag(false)) => return vec![],
            untouched if self.given(options).is_none() && untouched == self.get(&O::default()) => {
                return vec![];
            }
            Some(value) => value,
        };
        match self.kind {
            Kind::Names => vec![format!("--{name} {value}")],
            _ => value.parts().iter().map(|part| format!("--{name} {part}")).collect(),
        }
    }

    /// With what it has an effect, in words: the values that the first of its [needs](Row::needs) allows, then the other options
    /// with theirs. `spell` spells their names.
    pub fn owners(&self, spell: impl Fn(&str) -> String) -> String {
        let values = |(name, values): &Need| match O::row(name).map(|row| row.kind) {
            Some(Kind::Name(names)) if 2 * values.len() > names().len() => {
                let others: Vec<_> = names().into_iter().filter(|name| !values.contains(name)).collect();
                format!("all but {}", others.join(", "))
            }
            _ => values.join(", "),
        };
        let Some((first, others)) = self.needs.split_first() else { return String::new() };
        let others = others.iter().map(|(name, values)| format!(" with {} {}", spell(name), either(values)));
        values(first) + &others.collect::<String>()
    }

    /// The default, in words; empty if there is none.
    pub fn default_text(&self) -> String {
        match self.get(&O::default()) {
            Some(value) if self.default.is_empty() && !matches!(self.kind, Kind::Flag) => value.to_string(),
            _ => self.default.to_owned(),
        }
    }

    /// Refuses a value out of range, and one that would have no effect because of other options.
    ///
    /// # Errors
    /// [`Error::Argument`] with the option's name. The expected value is a range, or another option and its values, as in
    /// `algorithm crf or semi-crf`.
    pub fn check(&self, options: &O) -> Result<()> {
        if self.given(options).is_some() {
            self.needs.iter().try_for_each(|need| self.check_need(options, need))?;
        }
        match self.get(options).and_then(|value| value.number()) {
            Some(number) if !self.range.has(number) => Err(Error::argument(self.name, self.range, number)),
            _ => Ok(()),
        }
    }

    fn check_need(&self, options: &O, (name, values): &Need) -> Result<()> {
        let other = O::row(name).expect("a table names its own options, which a test checks");
        let got = other.get(options).map_or_else(|| other.default_text(), |value| value.to_string());
        if values.contains(&got.as_str()) {
            return Ok(());
        }
        Err(Error::argument(self.name, format!("{name} {}", either(values)), got))
    }
}

/// `a, b or c`.
fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
