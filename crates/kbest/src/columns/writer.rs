//! One writer for all formats.

use super::{Format, LabelExpression, Separator, conllu, items, plain};
use crate::error::{Error, Result, quoted};
use crate::sequence::Sequence;
use std::io::Write;

/// What errors call the output.
const OUTPUT: &str = "output";

/// Which of several answers a block of lines is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its place, counted from 0.
    pub rank: usize,
    /// Its score.
    pub score: f64,
}

/// How sequences are written.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    format: Format,
    separator: Separator,
    whole_items: bool,
    label: LabelExpression,
}

impl WriterOptions {
    /// A file of this format.
    pub fn new(format: Format) -> Self {
        let label = LabelExpression::parse("upos").expect("a field of CoNLL-U");
        WriterOptions { format, separator: Separator::default(), whole_items: false, label }
    }

    /// The columns of the sequence, its label if it has one, then further columns, between tabs.
    pub fn columns() -> Self {
        Self::new(Format::Columns)
    }

    /// The bare label a line, as `crfsuite tag` writes it.
    pub fn items() -> Self {
        Self::new(Format::Items)
    }

    /// Label and attributes a line, as CRFsuite reads them.
    pub fn whole_items() -> Self {
        WriterOptions { whole_items: true, ..Self::new(Format::Items) }
    }

    /// CoNLL-U with labels written into the fields that the expression names.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn conllu(label: &str) -> Result<Self> {
        Ok(WriterOptions { label: LabelExpression::parse(label)?, ..Self::new(Format::Conllu) })
    }

    /// A JSON object a line.
    pub fn jsonl() -> Self {
        Self::new(Format::Jsonl)
    }

    /// With [`Separator::Tab`], cells may hold blanks or be empty.
    pub fn separator(mut self, separator: Separator) -> Self {
        self.separator = separator;
        self
    }
}

/// Writes sequences one by one.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    options: WriterOptions,
    buffer: String, // one sequence
    lines: u64,
}

impl<W: Write> Writer<W> {
    /// Writes into `out`, a whole sequence at a time.
    pub fn new(out: W, options: WriterOptions) -> Self {
        Writer { out, options, buffer: String::new(), lines: 0 }
    }

    /// Writes a sequence with columns of labels, each as long as the sequence; without any, the labels it has itself.
    /// A candidate is announced by a line `# rank score`, in JSON by two keys. Formats with room for one label take the
    /// first column.
    ///
    /// # Errors
    /// [`Error::Shape`] for a column of another length, [`Error::Data`] for text that the format cannot hold,
    /// [`Error::Io`]. Nothing of a sequence is written in the first two cases.
    pub fn write<L: AsRef<str>>(
        &mut self,
        sequence: &Sequence,
        columns: &[&[L]],
        candidate: Option<Candidate>,
    ) -> Result<()> {
        if let Some(column) = columns.iter().find(|column| column.len() != sequence.len()) {
            return Err(Error::shape("column of labels", sequence.len(), column.len()));
        }
        self.buffer.clear();
        if let Some(Candidate { rank, score }) = candidate.filter(|_| self.options.format != Format::Jsonl) {
            self.buffer.push_str(&format!("# {rank} {score}\n"));
        }
        let out = &mut self.buffer;
        match self.options.format {
            Format::Columns => plain::write(out, sequence, columns, self.options.separator)?,
            Format::Items if self.options.whole_items => items::write_items(out, sequence, columns)?,
            Format::Items => items::write_labels(out, sequence, columns)?,
            Format::Conllu => conllu::write(out, sequence, columns.first().copied(), &self.options.label)?,
            #[cfg(feature = "json")]
            Format::Jsonl => super::jsonl::write(out, sequence, columns, candidate)?,
            #[cfg(not(feature = "json"))]
            Format::Jsonl => return Err(super::without_json()),
        }
        self.lines += self.buffer.bytes().filter(|&byte| byte == b'\n').count() as u64;
        self.out.write_all(self.buffer.as_bytes()).map_err(|error| Error::io(OUTPUT, self.lines, &error))
    }

    /// Hands everything on that `out` still holds back.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| Error::io(OUTPUT, self.lines, &error))
    }

    /// What is written into.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// What was written into.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// Refuses text that would read back as something else.
pub(super) fn check_cell(text: &str, legal: bool, t: usize, expected: &str) -> Result<()> {
    if legal && !text.contains(['\n', '\r']) {
        return Ok(());
    }
    Err(Error::data(OUTPUT, 0, expected, format!("{} at position {t}", quoted(text))))
}
