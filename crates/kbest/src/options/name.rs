//! Enumerations whose variants users name.

use kbest_core::{Error, Result};

/// Gives an enumeration its names: all of them, the variant of a name, the name of a variant; and makes it a type of options.
macro_rules! named {
    ($type:ident, $what:literal: $($name:literal => $variant:ident),+ $(,)?) => {
        impl $type {
            /// All of them, by the names that users type.
            pub const NAMES: &'static [(&'static str, $type)] = &[$(($name, $type::$variant)),+];

            /// The one with this name.
            ///
            /// # Errors
            /// [`Error::UnknownName`](crate::Error::UnknownName).
            pub fn by_name(name: &str) -> kbest_core::Result<Self> {
                $crate::options::by_name($what, Self::NAMES, name)
            }

            /// The name users type.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),+
                }
            }
        }

        impl $crate::options::Scalar for $type {
            const KIND: $crate::options::Kind =
                $crate::options::Kind::Name(|| Self::NAMES.iter().map(|(name, _)| *name).collect());

            fn read(value: $crate::options::Value) -> Option<Self> {
                let $crate::options::Value::Text(name) = value else { return None };
                Self::by_name(&name).ok()
            }

            fn show(&self) -> $crate::options::Value {
                $crate::options::Value::Text(self.name().to_owned())
            }
        }
    };
}
pub(crate) use named;

pub(crate) fn by_name<T: Copy>(what: &'static str, names: &[(&'static str, T)], name: &str) -> Result<T> {
    let found = names.iter().find(|(known, _)| *known == name);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let expected = names.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        Error::UnknownName { what, name: name.to_owned(), expected }
    })
}
