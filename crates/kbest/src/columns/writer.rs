//! One writer for all formats.

use super::{Format, Separator, TextFormat, conllu, items, plain};
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

/// What a tagger says about a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer<'a> {
    /// A label a position.
    pub labels: &'a [&'a str],
    /// The probability of each label, if it is to be told.
    pub confidences: Option<&'a [f64]>,
    /// The probability of all of them together; only JSON has room for it.
    pub probability: Option<f64>,
    /// Which of several answers this is.
    pub candidate: Option<Candidate>,
}

/// How sequences are written.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    text: TextFormat,
    whole_items: bool,
}

impl From<TextFormat> for WriterOptions {
    /// Text that is written like this; of items, the bare labels.
    fn from(text: TextFormat) -> Self {
        WriterOptions { text, whole_items: false }
    }
}

impl WriterOptions {
    /// A file of this format.
    pub fn new(format: Format) -> Self {
        TextFormat::new(format).into()
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
        Ok(TextFormat::conllu(label)?.into())
    }

    /// A JSON object a line.
    pub fn jsonl() -> Self {
        Self::new(Format::Jsonl)
    }

    /// With [`Separator::Tab`], cells may hold blanks or be empty.
    pub fn separator(mut self, separator: Separator) -> Self {
        self.text.separator = separator;
        self
    }
}

/// What JSON has room for besides labels.
#[cfg(feature = "json")]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extras<'a> {
    pub candidate: Option<Candidate>,
    pub probability: Option<f64>,
    pub confidences: Option<&'a [f64]>,
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
        let lengths = columns.iter().map(|column| column.len());
        self.begin(sequence, lengths, candidate)?;
        let out = &mut self.buffer;
        match self.options.text.format {
            Format::Columns => plain::write(out, sequence, columns, self.options.text.separator)?,
            Format::Items if self.options.whole_items => items::write_items(out, sequence, columns)?,
            Format::Items => items::write_labels(out, sequence, columns)?,
            Format::Conllu => {
                conllu::write(out, sequence, columns.first().copied(), None, &self.options.text.label)?;
            }
            #[cfg(feature = "json")]
            Format::Jsonl => {
                super::jsonl::write(out, sequence, columns, Extras { candidate, ..Extras::default() })?
            }
            #[cfg(not(feature = "json"))]
            Format::Jsonl => return Err(super::without_json()),
        }
        self.end()
    }

    /// Writes a sequence with an answer. Confidences stand behind the labels, as in `NOUN/0.9871`; in CoNLL-U, where that
    /// would spoil the fields, as `Confidence=0.9871` among what is miscellaneous; in JSON in a list of their own.
    ///
    /// # Errors
    /// As [`Writer::write`].
    pub fn write_answer(&mut self, sequence: &Sequence, answer: &Answer<'_>) -> Result<()> {
        let Answer { labels, confidences: Some(confidences), candidate, .. } = *answer else {
            return self.write(sequence, &[answer.labels], answer.candidate);
        };
        match self.options.text.format {
            Format::Columns | Format::Items => {
                let sure = labels.iter().zip(confidences).map(|(label, p)| format!("{label}/{p:.4}"));
                self.write(sequence, &[&sure.collect::<Vec<_>>()], candidate)
            }
            Format::Conllu => {
                self.begin(sequence, [labels.len(), confidences.len()], candidate)?;
                let label = &self.options.text.label;
                conllu::write(&mut self.buffer, sequence, Some(labels), Some(confidences), label)?;
                self.end()
            }
            #[cfg(feature = "json")]
            Format::Jsonl => {
                self.begin(sequence, [labels.len(), confidences.len()], candidate)?;
                let probability = answer.probability;
                let extras = Extras { candidate, probability, confidences: Some(confidences) };
                super::jsonl::write(&mut self.buffer, sequence, &[labels], extras)?;
                self.end()
            }
            #[cfg(not(feature = "json"))]
            Format::Jsonl => Err(super::without_json()),
        }
    }

    /// Empties the buffer, looks at the lengths of what is to be written, and announces a candidate.
    fn begin(
        &mut self,
        sequence: &Sequence,
        lengths: impl IntoIterator<Item = usize>,
        candidate: Option<Candidate>,
    ) -> Result<()> {
        if let Some(length) = lengths.into_iter().find(|&length| length != sequence.len()) {
            return Err(Error::shape("column of labels", sequence.len(), length));
        }
        self.buffer.clear();
        if let Some(Candidate { rank, score }) =
            candidate.filter(|_| self.options.text.format != Format::Jsonl)
        {
            self.buffer.push_str(&format!("# {rank} {score}\n"));
        }
        Ok(())
    }

    /// Hands the sequence in the buffer on.
    fn end(&mut self) -> Result<()> {
        self.lines += self.buffer.bytes().filter(|&byte| byte == b'\n').count() as u64;
        self.out.write_all(self.buffer.as_bytes()).map_err(|error| Error::io(OUTPUT, self.lines, error))
    }

    /// Hands everything on that `out` still holds back.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| Error::io(OUTPUT, self.lines, error))
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
