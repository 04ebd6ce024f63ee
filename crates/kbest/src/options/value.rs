//! Values of options: what users may give, and the types of the fields that keep them.

use std::fmt;
use std::path::{Path, PathBuf};

/// What the value of an option may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Given or not.
    Flag,
    /// A number without a fraction, 0 or above.
    Whole,
    /// Any number.
    Number,
    /// Any text.
    Text,
    /// One of these names.
    Name(fn() -> Vec<&'static str>),
    /// A list of names; on the command line they are separated by commas.
    Names,
    /// One text or several; on the command line the option is repeated.
    Texts,
    /// A file.
    File,
    /// One file or several; on the command line the option is repeated.
    Files,
}

impl Kind {
    /// What is expected, in words.
    pub fn expected(self) -> String {
        match self {
            Kind::Flag => "true or false".into(),
            Kind::Whole => "a whole number".into(),
            Kind::Number => "a number".into(),
            Kind::Text => "a string".into(),
            Kind::Name(names) => format!("one of {}", names().join(", ")),
            Kind::Names => "a list of strings".into(),
            Kind::Texts => "a string, or a list of strings".into(),
            Kind::File => "a file".into(),
            Kind::Files => "a file, or a list of files".into(),
        }
    }
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a flag.
    Flag(bool),
    /// A whole number.
    Whole(u64),
    /// Any number.
    Number(f64),
    /// A text or a name.
    Text(String),
    /// Several of them.
    Texts(Vec<String>),
    /// One file or several.
    Files(Vec<PathBuf>),
}

impl Value {
    /// The number, if it is one.
    pub(super) fn number(&self) -> Option<f64> {
        match *self {
            Value::Whole(number) => Some(number as f64),
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Each part as it can be typed; of files only the names.
    pub(super) fn parts(&self) -> Vec<String> {
        let name = |file: &PathBuf| {
            file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        };
        match self {
            Value::Files(files) => files.iter().map(name).collect(),
            Value::Texts(texts) => texts.clone(),
            one => vec![one.to_string()],
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Flag(given) => given.fmt(f),
            Value::Whole(number) => number.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => text.fmt(f),
            Value::Texts(texts) => texts.join(",").fmt(f),
            Value::Files(files) => {
                let files: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
                files.join(",").fmt(f)
            }
        }
    }
}

/// Which numbers are allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// All, as far as the table is concerned.
    Any,
    /// This and larger ones.
    AtLeast(f64),
    /// Larger ones.
    Above(f64),
    /// These and those between them.
    Within(f64, f64),
}

impl Range {
    /// Whether a number is in it.
    pub fn has(self, number: f64) -> bool {
        match self {
            Range::Any => true,
            Range::AtLeast(least) => number >= least,
            Range::Above(bound) => number > bound,
            Range::Within(least, most) => number >= least && number <= most,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Any => f.write_str("any"),
            Range::AtLeast(least) => write!(f, "at least {least}"),
            Range::Above(bound) => write!(f, "more than {bound}"),
            Range::Within(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

/// The type of a field of options. `None` stands for what was not given.
pub(crate) trait Field {
    /// The kind of its values.
    const KIND: Kind;

    fn get(&self) -> Option<Value>;

    /// `None` if the type does not have this value.
    fn set(&mut self, value: Value) -> Option<()>;
}

/// The type of a single value.
pub(crate) trait Scalar: Sized {
    const KIND: Kind;

    fn read(value: Value) -> Option<Self>;

    fn show(&self) -> Value;
}

impl<T: Scalar> Field for T {
    const KIND: Kind = T::KIND;

    fn get(&self) -> Option<Value> {
        Some(self.show())
    }

    fn set(&mut self, value: Value) -> Option<()> {
        *self = T::read(value)?;
        Some(())
    }
}

impl<T: Scalar> Field for Option<T> {
    const KIND: Kind = T::KIND;

    fn get(&self) -> Option<Value> {
        self.as_ref().map(T::show)
    }

    fn set(&mut self, value: Value) -> Option<()> {
        *self = Some(T::read(value)?);
        Some(())
    }
}

impl Field for Vec<String> {
    const KIND: Kind = Kind::Names;

    fn get(&self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::Texts(self.clone()))
    }

    fn set(&mut self, value: Value) -> Option<()> {
        let Value::Texts(texts) = value else { return None };
        *self = texts;
        Some(())
    }
}

impl Field for Vec<PathBuf> {
    const KIND: Kind = Kind::Files;

    fn get(&self) -> Option<Value> {
        (!self.is_empty()).then(|| Value::Files(self.clone()))
    }

    fn set(&mut self, value: Value) -> Option<()> {
        let Value::Files(files) = value else { return None };
        *self = files;
        Some(())
    }
}

macro_rules! whole {
    ($($type:ty),+) => {$(
        impl Scalar for $type {
            const KIND: Kind = Kind::Whole;

            fn read(value: Value) -> Option<Self> {
                let Value::Whole(number) = value else { return None };
                number.try_into().ok()
            }

            fn show(&self) -> Value {
                Value::Whole(*self as u64)
            }
        }
    )+};
}
whole!(u32, u64, usize);

macro_rules! number {
    ($($type:ty),+) => {$(
        impl Scalar for $type {
            const KIND: Kind = Kind::Number;

            fn read(value: Value) -> Option<Self> {
                value.number().map(|number| number as $type)
            }

            fn show(&self) -> Value {
                // By way of the digits that tell it from its neighbours: 0.1 in single precision is shown as 0.1.
                Value::Number(self.to_string().parse().unwrap_or(f64::NAN))
            }
        }
    )+};
}
number!(f32, f64);

impl Scalar for bool {
    const KIND: Kind = Kind::Flag;

    fn read(value: Value) -> Option<Self> {
        let Value::Flag(given) = value else { return None };
        Some(given)
    }

    fn show(&self) -> Value {
        Value::Flag(*self)
    }
}

impl Scalar for String {
    const KIND: Kind = Kind::Text;

    fn read(value: Value) -> Option<Self> {
        let Value::Text(text) = value else { return None };
        Some(text)
    }

    fn show(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl Scalar for PathBuf {
    const KIND: Kind = Kind::File;

    fn read(value: Value) -> Option<Self> {
        let Value::Files(files) = value else { return None };
        let [file] = <[PathBuf; 1]>::try_from(files).ok()?;
        Some(file)
    }

    fn show(&self) -> Value {
        Value::Files(vec![Path::to_owned(self)])
    }
}
