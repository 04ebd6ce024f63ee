//! Tables of options as arguments of a command.

use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use kbest::options::{Kind, Options, Row, Value};
use std::ops::Deref;

/// Options as typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Typed<O>(O);

impl<O> Deref for Typed<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.0
    }
}

impl<O: Options> Typed<O> {
    /// The first option that was given, as it is typed.
    pub(crate) fn first_given(&self) -> Option<String> {
        O::TABLE.iter().find(|row| row.given(&self.0).is_some()).map(|row| dashed(row.name))
    }
}

/// An option as an argument.
fn argument<O: Options>(row: &Row<O>) -> Arg {
    let argument =
        Arg::new(row.name).long(row.name.replace('_', "-")).help(help(row)).help_heading(row.heading);
    if let Kind::Flag = row.kind {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = argument.value_name(row.placeholder).value_parser(parser(row.kind));
    match row.kind {
        Kind::Names => argument.action(ArgAction::Append).value_delimiter(','),
        Kind::Texts | Kind::Files => argument.action(ArgAction::Append),
        _ => argument.action(ArgAction::Set),
    }
}

/// What one argument is read as.
fn parser(kind: Kind) -> ValueParser {
    match kind {
        Kind::Whole => ValueParser::new(|text: &str| text.parse().map(Value::Whole)),
        Kind::Number => ValueParser::new(|text: &str| text.parse().map(Value::Number)),
        Kind::Name(names) => ValueParser::new(PossibleValuesParser::new(names()).map(Value::Text)),
        Kind::Flag | Kind::Text | Kind::Names | Kind::Texts => {
            ValueParser::new(|text: &str| Ok::<_, std::convert::Infallible>(Value::Text(text.to_owned())))
        }
        Kind::File | Kind::Files => {
            ValueParser::new(PathBufValueParser::new().map(|file| Value::Files(vec![file])))
        }
    }
}

/// The name of an option, as it is typed.
fn dashed(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

/// `crf, semi-crf with --optimizer sgd: size of the first step [default: 0.1]`
fn help<O: Options>(row: &Row<O>) -> String {
    let (mut help, owners) = (row.help(), row.owners(dashed));
    if !owners.is_empty() {
        help = format!("{owners}: {}", continued(&help));
    }
    if let Kind::Names = row.kind {
        help += ", comma-separated";
    }
    match row.default_text() {
        default if default.is_empty() => help,
        default => format!("{help} [default: {default}]"),
    }
}

/// A sentence inside another one: its first letter is small, unless it begins an abbreviation.
fn continued(sentence: &str) -> String {
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) if letters.clone().next().is_some_and(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}

/// All arguments with this name, as one value.
fn given<O>(row: &Row<O>, matches: &ArgMatches) -> Option<Value> {
    if let Kind::Flag = row.kind {
        return matches.get_flag(row.name).then_some(Value::Flag(true));
    }
    let mut values = matches.get_many::<Value>(row.name)?.cloned();
    Some(match row.kind {
        Kind::Names | Kind::Texts => Value::Texts(values.map(|value| value.to_string()).collect()),
        Kind::Files => Value::Files(
            values.flat_map(|value| if let Value::Files(files) = value { files } else { vec![] }).collect(),
        ),
        _ => values.next_back()?,
    })
}

impl<O: Options> Args for Typed<O> {
    fn augment_args(command: Command) -> Command {
        command.args(O::by_heading().into_iter().flat_map(|(_, rows)| rows).map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: Options> FromArgMatches for Typed<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut typed = Typed(O::default());
        typed.update_from_arg_matches(matches)?;
        Ok(typed)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for row in O::TABLE {
            if let Some(value) = given(row, matches) {
                let wrong = |error| clap::Error::raw(ErrorKind::ValueValidation, format!("--{error}\n"));
                row.set(&mut self.0, value).map_err(wrong)?;
            }
        }
        Ok(())
    }
}
