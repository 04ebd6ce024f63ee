//! What users say about files of sequences.

use super::{Field, Format, LabelExpression, Separator, TextFormat};
use crate::options::options;
use kbest_core::Result;
use std::path::Path;

const FILES: &str = "Format of the data";

options! {
    /// What users say about a file of sequences, by the names that they type.
    pub struct FormatOptions {
        /// Format: columns, items (CRFsuite), conllu, jsonl; without labels also text (one sentence per line) and tokens (the
        /// same, separated by blanks).
        format: Option<String> => {
            heading: FILES, placeholder: "FORMAT", default: "by file extension, else the model's, else columns",
        }
        /// CoNLL-U: fields that form the label, joined by `+`, such as upos, xpos, upos+feats.
        label: Option<String> => { heading: FILES, placeholder: "FIELDS", default: "the model's, else upos", }
        /// CoNLL-U: fields that features see.
        fields: Vec<String> => { heading: FILES, placeholder: "A,B,...", default: "the model's, else form", }
        /// Columns: separated by single tabs, so that cells may be empty or contain spaces.
        tabs: bool => { heading: FILES, }
        /// Items: read `__COLON__` in names as a colon.
        colon_words: bool => { heading: FILES, }
    }
}

impl FormatOptions {
    /// How to read a file. Its ending decides on the format unless that was given; all else that was not given is as the model
    /// remembers it.
    ///
    /// # Errors
    /// [`Error::UnknownName`](crate::Error::UnknownName).
    pub fn text_format(&self, path: Option<&Path>, of_model: Option<&TextFormat>) -> Result<TextFormat> {
        let mut text = of_model.cloned().unwrap_or_default();
        if let Some(name) = &self.format {
            text.format = Format::by_name(name)?;
        } else if let Some(format) = path.and_then(Format::by_ending) {
            text.format = format;
        }
        if let Some(label) = &self.label {
            text.label = LabelExpression::parse(label)?;
        }
        if !self.fields.is_empty() {
            text.fields = self.fields.iter().map(|name| Field::by_name(name)).collect::<Result<_>>()?;
        }
        if self.tabs {
            text.separator = Separator::Tab;
        }
        text.colon_words |= self.colon_words;
        Ok(text)
    }
}
