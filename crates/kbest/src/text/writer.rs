//! One writer for all formats.

use super::{Format, Separator, TextFormat, conllu, items, plain};
use crate::sequence::Sequence;
use kbest_core::{Error, Result, quoted};
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
    /// For each position labels and their probabilities, to be written after the answer itself; as many at each position.
    pub distributions: Option<&'a [Vec<(&'a str, f64)>]>,
    /// The probability of the whole labelling; written beside the score of a candidate, and in JSON.
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
    pub distributions: Option<&'a [Vec<(&'a str, f64)>]>,
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
    /// labels. A candidate is preceded by a line `# rank score` (in CoNLL-U below `# sent_id`); in JSON it has two keys.
    /// Formats that hold only one label use the first column.
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
        let heading = candidate.map(|candidate| heading(candidate, None));
        self.write_columns(sequence, columns, candidate, heading)
    }

    fn write_columns<L: AsRef<str>>(
        &mut self,
        sequence: &Sequence,
        columns: &[&[L]],
        candidate: Option<Candidate>,
        heading: Option<String>,
    ) -> Result<()> {
        self.begin(sequence, columns.iter().map(|column| column.len()))?;
        #[cfg(not(feature = "json"))]
        let _ = candidate;
        let heading = heading.as_deref();
        let out = &mut self.buffer;
        match self.options.text.format {
            Format::Columns | Format::Text | Format::Tokens => {
                heading.into_iter().for_each(|heading| out.push_str(heading));
                plain::write(out, sequence, columns, self.options.text.separator)?;
            }
            Format::Items => {
                heading.into_iter().for_each(|heading| out.push_str(heading));
                match self.options.whole_items {
                    true => items::write_items(out, sequence, columns)?,
                    false => items::write_labels(out, sequence, columns)?,
                }
            }
            Format::Conllu => {
                let labels = columns.first().copied();
                let added = conllu::Added { heading, confidences: None, distributions: None };
                conllu::write(out, sequence, labels, &added, &self.options.text.label)?;
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

    /// Writes a sequence with an answer. Probabilities follow the labels, as in `NOUN/0.9871`, and those of other labels
    /// follow in columns of their own; in CoNLL-U, where that would spoil the fields, they are `Confidence=0.9871` and
    /// `Label1=NOUN/0.9871` in the `MISC` field; in JSON they have lists of their own. The probability of a candidate follows
    /// its score.
    ///
    /// # Errors
    /// See [`Writer::write`].
    pub fn write_answer(&mut self, sequence: &Sequence, answer: &Answer<'_>) -> Result<()> {
        let Answer { labels, confidences, distributions, probability, candidate } = *answer;
        let heading = candidate.map(|candidate| heading(candidate, probability));
        let Some(confidences) = confidences else {
            return self.write_columns(sequence, &[labels], candidate, heading);
        };
        let lengths = [labels.len(), confidences.len(), distributions.map_or(labels.len(), <[_]>::len)];
        match self.options.text.format {
            Format::Columns | Format::Items | Format::Text | Format::Tokens => {
                self.begin(sequence, lengths)?;
                let told = |label: &str, p: f64| format!("{label}/{p:.4}");
                let mut columns: Vec<Vec<String>> =
                    vec![labels.iter().zip(confidences).map(|(label, p)| told(label, *p)).collect()];
                let more = distributions.unwrap_or_default();
                for i in 0..more.iter().map(Vec::len).min().unwrap_or(0) {
                    columns.push(more.iter().map(|row| told(row[i].0, row[i].1)).collect());
                }
                let columns: Vec<&[String]> = columns.iter().map(Vec::as_slice).collect();
                self.write_columns(sequence, &columns, candidate, heading)
            }
            Format::Conllu => {
                self.begin(sequence, lengths)?;
                let label = &self.options.text.label;
                let heading = heading.as_deref();
                let added = conllu::Added { heading, confidences: Some(confidences), distributions };
                conllu::write(&mut self.buffer, sequence, Some(labels), &added, label)?;
                self.end()
            }
            #[cfg(feature = "json")]
            Format::Jsonl => {
                self.begin(sequence, lengths)?;
                let extras = Extras { candidate, probability, confidences: Some(confidences), distributions };
                super::jsonl::write(&mut self.buffer, sequence, &[labels], extras)?;
                self.end()
            }
            #[cfg(not(feature = "json"))]
            Format::Jsonl => Err(super::without_json()),
        }
    }

    /// Empties the buffer and checks the lengths of the columns.
    fn begin(&mut self, sequence: &Sequence, lengths: impl IntoIterator<Item = usize>) -> Result<()> {
        if let Some(length) = lengths.into_iter().find(|&length| length != sequence.len()) {
            return Err(Error::shape("column of labels", sequence.len(), length));
        }
        self.buffer.clear();
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

/// The line before a candidate: rank, score, and its probability if that is known.
fn heading(Candidate { rank, score }: Candidate, probability: Option<f64>) -> String {
    match probability {
        Some(probability) => format!("# {rank} {score} {probability:.4}\n"),
        None => format!("# {rank} {score}\n"),
    }
}

/// Rejects text that would read back as something else.
pub(super) fn check_cell(text: &str, legal: bool, t: usize, expected: &str) -> Result<()> {
    if legal && !text.contains(['\n', '\r']) {
        return Ok(());
    }
    Err(Error::data(OUTPUT, 0, expected, format!("{} at position {t}", quoted(text))))
}
