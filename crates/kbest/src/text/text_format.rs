//! Everything readers and writers need to know to read a text and write it back.

use super::{Field, Format, LabelExpression, Separator};
use kbest_core::{Error, Result};
use std::fmt;

/// The format of a text, with the choices that some formats leave open. Readers and writers are made from it
/// ([`ReaderOptions::from`](super::ReaderOptions), [`WriterOptions::from`](super::WriterOptions)), and a model stores
/// the format of the text it was trained on ([`Model::text_format`](crate::Model::text_format)).
///
/// ```
/// use kbest::text::{Format, Separator, TextFormat};
/// let text = TextFormat { separator: Separator::Tab, ..TextFormat::new(Format::Columns) };
/// assert_eq!(text.to_string(), "columns, separator tab");
/// assert_eq!(TextFormat::conllu("upos+feats")?.to_string(), "conllu, label upos+feats");
/// # Ok::<(), kbest::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFormat {
    /// The format.
    pub format: Format,
    /// What separates columns.
    pub separator: Separator,
    /// Which fields of CoNLL-U form the label.
    pub label: LabelExpression,
    /// Which fields of CoNLL-U become columns, in this order.
    pub fields: Vec<Field>,
    /// Whether `__COLON__` in the names of items means a colon.
    pub colon_words: bool,
}

impl Default for TextFormat {
    fn default() -> Self {
        Self::new(Format::default())
    }
}

impl TextFormat {
    /// This format with the usual choices: columns separated by any blanks; in CoNLL-U the label in `upos` and the form
    /// as the only column; items unchanged.
    pub fn new(format: Format) -> Self {
        TextFormat {
            format,
            separator: Separator::default(),
            label: LabelExpression::default(),
            fields: vec![Field::Form],
            colon_words: false,
        }
    }

    /// CoNLL-U with the label given by the expression; see [`LabelExpression::parse`].
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn conllu(label: &str) -> Result<Self> {
        Ok(TextFormat { label: LabelExpression::parse(label)?, ..Self::new(Format::Conllu) })
    }

    /// Names and values of all settings, in the form that [`TextFormat::from_words`] reads.
    pub fn words(&self) -> [(&'static str, String); 5] {
        let names = |fields: &[Field], between: &str| {
            fields.iter().map(|field| field.name()).collect::<Vec<_>>().join(between)
        };
        let colon_words = if self.colon_words { "yes" } else { "no" };
        [
            ("format", self.format.name().to_owned()),
            ("separator", self.separator.name().to_owned()),
            ("label", names(self.label.fields(), "+")),
            ("fields", names(&self.fields, ",")),
            ("colon-words", colon_words.to_owned()),
        ]
    }

    /// Parses the values of [`TextFormat::words`], without the names.
    ///
    /// # Errors
    /// [`Error::UnknownName`] for other words.
    pub fn from_words([format, separator, label, fields, colon_words]: [&str; 5]) -> Result<Self> {
        let colon_words = match colon_words {
            "yes" => true,
            "no" => false,
            other => {
                let (what, name) = ("value of colon-words", other.to_owned());
                return Err(Error::UnknownName { what, name, expected: "yes, no".into() });
            }
        };
        Ok(TextFormat {
            format: Format::by_name(format)?,
            separator: Separator::by_name(separator)?,
            label: LabelExpression::parse(label)?,
            fields: fields.split(',').map(Field::by_name).collect::<Result<_>>()?,
            colon_words,
        })
    }
}

/// The format, and every setting that is not the usual one.
impl fmt::Display for TextFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.format.name())?;
        for ((name, value), (_, usual)) in self.words().into_iter().zip(Self::new(self.format).words()) {
            if value != usual {
                write!(f, ", {name} {value}")?;
            }
        }
        Ok(())
    }
}
