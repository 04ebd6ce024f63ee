//! One reader for all formats.

use super::conllu::ConlluReader;
use super::items::ItemsReader;
#[cfg(feature = "json")]
use super::jsonl::JsonlReader;
use super::lines::Lines;
use super::plain::PlainReader;
use super::raw::TextReader;
use super::{Field, Format, Separator, TextFormat};
use crate::sequence::Sequence;
use kbest_core::{Error, Result};
use std::io::Read;
use std::path::Path;

/// Describes a file, and what to read from it.
#[derive(Debug, Clone)]
pub struct ReaderOptions {
    text: TextFormat,
    labelled: bool,
    required: bool,
    columns: Option<usize>,
}

impl From<TextFormat> for ReaderOptions {
    /// Unlabelled text in this format.
    fn from(text: TextFormat) -> Self {
        ReaderOptions { text, labelled: false, required: false, columns: None }
    }
}

impl ReaderOptions {
    /// An unlabelled file in this format.
    pub fn new(format: Format) -> Self {
        TextFormat::new(format).into()
    }

    /// Columns separated by tabs or blanks.
    pub fn columns() -> Self {
        Self::new(Format::Columns)
    }

    /// CRFsuite's items.
    pub fn items() -> Self {
        Self::new(Format::Items)
    }

    /// CoNLL-U with the label given by the expression; see [`LabelExpression::parse`](super::LabelExpression::parse).
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn conllu(label: &str) -> Result<Self> {
        Ok(TextFormat::conllu(label)?.into())
    }

    /// One JSON object per line.
    pub fn jsonl() -> Self {
        Self::new(Format::Jsonl)
    }

    /// Whether to read labels from the data. The first field of an item is its label either way.
    pub fn labelled(mut self, labelled: bool) -> Self {
        self.labelled = labelled;
        self
    }

    /// Whether a file without a single sequence is an error. If not, comments of CoNLL-U after the last sentence are read as a
    /// sequence without positions, so that they can be written again.
    pub fn required(mut self, required: bool) -> Self {
        self.required = required;
        self
    }

    /// What separates columns.
    pub fn separator(mut self, separator: Separator) -> Self {
        self.text.separator = separator;
        self
    }

    /// How many columns every line must have, including the label. Default: as many as the first line.
    pub fn column_count(mut self, columns: usize) -> Self {
        self.columns = Some(columns);
        self
    }

    /// Whether `__COLON__` in the names of items means a colon.
    pub fn colon_words(mut self, colon_words: bool) -> Self {
        self.text.colon_words = colon_words;
        self
    }

    /// Which fields of CoNLL-U become columns, in this order. Default: only the form.
    pub fn fields(mut self, fields: impl Into<Vec<Field>>) -> Self {
        self.text.fields = fields.into();
        self
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.text.format
    }
}

/// Reads sequences one by one.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
    kind: Kind,
    required: bool,
    sequences: u64,
    failed: bool, // as an iterator
}

#[derive(Debug)]
enum Kind {
    Plain(PlainReader),
    Items(ItemsReader),
    Conllu(ConlluReader),
    #[cfg(feature = "json")]
    Jsonl(JsonlReader),
    Text(TextReader),
}

impl Reader {
    /// Opens a file, compressed with gzip or not.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be opened.
    pub fn open(path: impl AsRef<Path>, options: &ReaderOptions) -> Result<Self> {
        Self::over(Lines::open(path.as_ref())?, options)
    }

    /// Reads from anything, compressed with gzip or not; `file` is its name in errors.
    ///
    /// # Errors
    /// [`Error::Io`] if its first bytes cannot be read.
    pub fn new(input: impl Read + Send + 'static, file: &str, options: &ReaderOptions) -> Result<Self> {
        Self::over(Lines::new(input, file.to_owned())?, options)
    }

    fn over(lines: Lines, options: &ReaderOptions) -> Result<Self> {
        let ReaderOptions { ref text, labelled, required, columns } = *options;
        let kind = match text.format {
            Format::Columns => Kind::Plain(PlainReader { separator: text.separator, labelled, columns }),
            Format::Items => Kind::Items(ItemsReader {
                labelled,
                colon_words: text.colon_words,
                name: String::new(),
                value: String::new(),
            }),
            Format::Conllu => Kind::Conllu(ConlluReader {
                label: labelled.then(|| text.label.clone()),
                columns: text.fields.clone(),
                joined: String::new(),
                trailing: !required,
            }),
            #[cfg(feature = "json")]
            Format::Jsonl => Kind::Jsonl(JsonlReader { labelled, tags: Sequence::new() }),
            #[cfg(not(feature = "json"))]
            Format::Jsonl => return Err(super::without_json()),
            Format::Text | Format::Tokens if labelled => {
                let got = format!("`{}`, which is plain text", text.format.name());
                return Err(Error::data(lines.file(), 0, "a format with labels", got));
            }
            Format::Text => Kind::Text(TextReader { split: true }),
            Format::Tokens => Kind::Text(TextReader { split: false }),
        };
        Ok(Reader { lines, kind, required, sequences: 0, failed: false })
    }

    /// Fills `sequence` with the next one; returns false after the last.
    ///
    /// # Errors
    /// [`Error::Data`] with file and line if the data does not follow its format, [`Error::Io`] if reading failed. The
    /// sequence then holds what has been read so far.
    pub fn read_into(&mut self, sequence: &mut Sequence) -> Result<bool> {
        sequence.clear();
        self.lines.begin();
        let found = match &mut self.kind {
            Kind::Plain(reader) => reader.read_into(&mut self.lines, sequence)?,
            Kind::Items(reader) => reader.read_into(&mut self.lines, sequence)?,
            Kind::Conllu(reader) => reader.read_into(&mut self.lines, sequence)?,
            #[cfg(feature = "json")]
            Kind::Jsonl(reader) => reader.read_into(&mut self.lines, sequence)?,
            Kind::Text(reader) => reader.read_into(&mut self.lines, sequence)?,
        };
        self.sequences += u64::from(found);
        if !found && self.required && self.sequences == 0 {
            let got = if self.lines.number() == 0 { "an empty file" } else { "only blank lines or comments" };
            return Err(Error::data(self.lines.file(), 0, "at least one sequence", got));
        }
        Ok(found)
    }

    /// Has `then` called before each attempt to read more of the input, which may have to wait for it: a moment to pass on the
    /// sequences read so far.
    pub fn before_waiting(&mut self, then: impl FnMut() + Send + 'static) {
        self.lines.before_waiting(Box::new(then));
    }

    /// The number of the last line read, counted from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// The number of the first line of the last sequence, comments included.
    pub fn first_line(&self) -> u64 {
        self.lines.first()
    }

    /// The name that errors use for the file.
    pub fn file(&self) -> &str {
        self.lines.file()
    }

    /// Number of sequences read so far.
    pub fn sequences(&self) -> u64 {
        self.sequences
    }
}

/// The remaining sequences, each a new one ([`Reader::read_into`] reuses one). The first error is the last item.
impl Iterator for Reader {
    type Item = Result<Sequence>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let mut sequence = Sequence::new();
        let found = self.read_into(&mut sequence);
        self.failed = found.is_err();
        found.map(|found| found.then_some(sequence)).transpose()
    }
}
