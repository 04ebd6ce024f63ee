//! Options by name: one table of rows, from which every front end is made.
//!
//! **What.** A struct of options and its table are declared together, by the macro `options!`: a [`Row`] has the name of an
//! option, its type, default, range, the options it belongs to, and its help. The command line makes its flags and `--help`
//! from the rows, Python its keywords and docstrings, the documentation its tables. **Why.** What is written once cannot
//! disagree with itself, and a new option is one more row. **When not.** In Rust the fields of the struct are at hand.
//!
//! ```
//! use kbest::options::{Options, Value};
//! use kbest::train::Recipe;
//!
//! let mut recipe = Recipe::default();
//! recipe.set("algorithm", Value::Text("crf".into()))?;
//! recipe.set("c2", Value::Number(-1.0))?;
//! assert_eq!(recipe.check().unwrap_err().to_string(), "c2: expected at least 0, got -1");
//! assert_eq!(Recipe::row("c2").unwrap().default_text(), "1");
//! # Ok::<(), kbest::Error>(())
//! ```

mod name;
mod nearest;
mod row;
mod value;

pub(crate) use name::{by_name, named};
pub use nearest::nearest;
pub use row::{Need, Row};
pub(crate) use value::{Field, Scalar};
pub use value::{Kind, Range, Value};

use kbest_core::{Error, Result};

/// A struct of options and its table.
pub trait Options: Default + 'static {
    /// One row per option, in the order of their declaration.
    const TABLE: &'static [Row<Self>];

    /// The row of the option with this name.
    fn row(name: &str) -> Option<&'static Row<Self>> {
        Self::TABLE.iter().find(|row| row.name == name)
    }

    /// All rows under their headings, which come in the order in which the table first has them.
    fn by_heading() -> Vec<(&'static str, Vec<&'static Row<Self>>)> {
        let mut all: Vec<(&str, Vec<&Row<Self>>)> = Vec::new();
        for row in Self::TABLE {
            match all.iter_mut().find(|(heading, _)| *heading == row.heading) {
                Some((_, rows)) => rows.push(row),
                None => all.push((row.heading, vec![row])),
            }
        }
        all
    }

    /// Gives an option a value.
    ///
    /// # Errors
    /// [`Error::UnknownName`] with the nearest name, if there is one, and all names; errors of [`Row::set`].
    fn set(&mut self, name: &str, value: Value) -> Result<()> {
        let names = || Self::TABLE.iter().map(|row| row.name);
        let unknown = || Error::UnknownName {
            what: "option",
            name: name.to_owned(),
            expected: match nearest(name, names()) {
                Some(near) => format!("{near} (the nearest), {}", names().collect::<Vec<_>>().join(", ")),
                None => names().collect::<Vec<_>>().join(", "),
            },
        };
        Self::row(name).ok_or_else(unknown)?.set(self, value)
    }

    /// Refuses values out of range, and options that would have no effect.
    ///
    /// # Errors
    /// Errors of [`Row::check`].
    fn check_rows(&self) -> Result<()> {
        Self::TABLE.iter().try_for_each(|row| row.check(self))
    }
}

/// Declares a struct of options and its table. A row has the help, the field, its initial value if that is not the type's
/// default, and what else there is to say of it.
macro_rules! options {
    ($(#[$about:meta])* $visibility:vis struct $owner:ident {
        $($(#[doc = $help:literal])+ $field:ident: $kind:ty $(= $initial:expr)? => { $($more:tt)* })+
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(rustdoc::broken_intra_doc_links)] // what help says is no Markdown
        $visibility struct $owner {
            $($(#[doc = $help])+ pub $field: $kind,)+
        }

        impl Default for $owner {
            fn default() -> Self {
                $owner { $($field: $crate::options::options!(@initial $($initial)?),)+ }
            }
        }

        impl $crate::options::Options for $owner {
            const TABLE: &'static [$crate::options::Row<Self>] = &[$($crate::options::Row {
                $($more)*
                ..$crate::options::Row::new(
                    stringify!($field),
                    concat!($($help),+),
                    <$kind as $crate::options::Field>::KIND,
                    |options, value| $crate::options::Field::set(&mut options.$field, value),
                    |options| $crate::options::Field::get(&options.$field),
                )
            }),+];
        }
    };
    (@initial) => { Default::default() };
    (@initial $initial:expr) => { $initial };
}
pub(crate) use options;
