//! Lists of texts that belong together: cities, first names, journals.

use super::text::push_word;
use kbest_core::{Error, Result};
use std::path::Path;

/// A named list of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexicon {
    name: String,
    texts: Vec<Vec<u8>>, // folded, as segments are
}

impl Lexicon {
    /// One text per line; empty lines are skipped. Words are folded as those of segments are.
    pub fn new(name: impl Into<String>, lines: &str) -> Self {
        let mut texts = Vec::new();
        for line in lines.lines() {
            let mut text = Vec::new();
            for word in line.split_whitespace() {
                if !text.is_empty() {
                    text.push(b' ');
                }
                push_word(word, &mut text);
            }
            if !text.is_empty() {
                texts.push(text);
            }
        }
        Lexicon { name: name.into(), texts }
    }

    /// The lexicon in a file's bytes; `file` is its name in errors.
    ///
    /// # Errors
    /// [`Error::Data`] if it is not UTF-8 or has no text.
    pub fn parse(name: impl Into<String>, bytes: &[u8], file: &str) -> Result<Self> {
        let wrong = |line: usize, got: &str| Error::data(file, line as u64, "one text per line", got);
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count();
            wrong(line, "bytes that are not UTF-8")
        })?;
        let lexicon = Self::new(name, text);
        if lexicon.texts.is_empty() { Err(wrong(0, "none")) } else { Ok(lexicon) }
    }

    /// Reads a file; the lexicon is called as the file is, without the ending.
    ///
    /// # Errors
    /// [`Error::Io`]; as for [`Lexicon::parse`].
    pub fn open(file: &Path) -> Result<Self> {
        let name = file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let shown = file.display().to_string();
        let bytes = std::fs::read(file).map_err(|error| Error::io(&*shown, 0, error))?;
        Self::parse(name, &bytes, &shown)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its texts, folded.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.texts.iter().map(Vec::as_slice)
    }
}
