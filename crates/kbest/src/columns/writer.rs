//! One writer for all formats.

use super::{Format, Separator, TextFormat, conllu, items, plain};
use crate::error::{Error, Result, quoted};
use crate::sequence::Sequence;
use std::io::Write;

/// The name that errors use for the output.
const OUTPUT: &str = "output";

/// The rank and score of one of several answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Its rank, counted from 0.
    pub rank: usize,
    /// Its score.
    pub score: f64,
}

/// A tagger's answer for a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer<'a> {
    /// One label per position.
    pub labels: &'a [&'a str],
    /// The probability of each label, if it is to be written.
    pub confidences: Option<&'a [f64]>,
    /// The probability of the whole labelling; only written in JSON.
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
    /// Text in this format; for items, only the labels.
    fn from(text: TextFormat) -> Self {
        WriterOptions { text, whole_items: false }
    }
}

impl WriterOptions {
    /// A file in this format.
    pub fn new(format: Format) -> Self {
        TextFormat::new(format).into()
    }

    /// The columns of the sequence, its label if it has one, and further columns, separated by tabs.
    pub fn columns() -> Self {
        Self::new(Format::Columns)
    }

    /// One bare label per line, as `crfsuite tag` writes.
    pub fn items() -> Self {
        Self::new(Format::Items)
    }

    /// Label and attributes, one item per line, as CRFsuite reads them.
    pub fn whole_items() -> Self {
        WriterOptions { whole_items: true, ..Self::new(Format::Items) }
    }

    /// CoNLL-U with labels written into the fields of the expression.
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

    /// With [`Separator::Tab`], cells may contain blanks or be empty.
    pub fn separator(mut self, separator: Separator) -> Self {
        self.text.separator = separator;
        self
    }
}

/// What JSON holds in addition to labels.
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
    /// Writes to `out`, one whole sequence at a time.
    pub fn new(out: W, options: WriterOptions) -> Self {
        Writer { out, options, buffer: String::new(), lines: 0 }
    }

    /// Writes a sequence with columns of labels, each as long as the sequence; if there are none, the sequence's own
    /// labels. A candidate is preceded by a line `# rank score`; in JSON it has two keys. Formats that hold only one
    /// label use the first column.
    ///
    /// # Errors
    /// [`Error::Shape`] for a column of the wrong length, [`Error::Data`] for text that the format cannot hold,
    /// [`Error::Io`]. In the first two cases nothing of the sequence is written.
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
            Format::Columns | Format::Text | Format::Tokens => {
                plain::write(out, sequence, columns, self.options.text.separator)?;
            }
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

    /// Writes a sequence with an answer. Probabilities follow the labels, as in `NOUN/0.9871`; in CoNLL-U, where that
    /// would spoil the fields, they are `Confidence=0.9871` in the `MISC` field; in JSON they have a list of their own.
    ///
    /// # Errors
    /// See [`Writer::write`].
    pub fn write_answer(&mut self, sequence: &Sequence, answer: &Answer<'_>) -> Result<()> {
        let Answer { labels, confidences: Some(confidences), candidate, .. } = *answer else {
            return self.write(sequence, &[answer.labels], answer.candidate);
        };
        match self.options.text.format {
            Format::Columns | Format::Items | Format::Text | Format::Tokens => {
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

    /// Empties the buffer, checks the lengths of the columns, and writes the candidate's line.
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

    /// Passes on the sequence in the buffer.
    fn end(&mut self) -> Result<()> {
        self.lines += self.buffer.bytes().filter(|&byte| byte == b'\n').count() as u64;
        self.out.write_all(self.buffer.as_bytes()).map_err(|error| Error::io(OUTPUT, self.lines, error))
    }

    /// Flushes `out`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|error| Error::io(OUTPUT, self.lines, error))
    }

    /// The underlying writer.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// Rejects text that would read back as something else.
pub(super) fn check_cell(text: &str, legal: bool, t: usize, expected: &str) -> Result<()> {
    if legal && !text.contains(['\n', '\r']) {
        return Ok(());
    }
    Err(Error::data(OUTPUT, 0, expected, format!("{} at position {t}", quoted(text))))
}
