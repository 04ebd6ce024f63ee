//! Readers and writers of sequences in common text formats.
//!
//! | format | a sequence is | label | written back as |
//! |---|---|---|---|
//! | [`Format::Columns`] | lines of cells separated by tabs or blanks, ended by a blank line (CRF++, CoNLL) | last column | the same columns, followed by the labels |
//! | [`Format::Items`] | lines of a label and attributes, separated by tabs (CRFsuite) | first field | the bare label, one per line |
//! | [`Format::Conllu`] | ten fields per word (Universal Dependencies) | an expression such as `upos+feats` | the same lines, labels in their fields |
//! | [`Format::Jsonl`] | one object per line, `{"tokens":[...],"tags":[...]}` | `tags` | the same, with the new `tags` |
//! | [`Format::Text`] | one sentence per line ([`tokenize`]) | none | columns: word and label |
//! | [`Format::Tokens`] | the same, words separated by blanks | none | columns: word and label |
//!
//! **Streaming.** A [`Reader`] refills one [`Sequence`](crate::Sequence) of the caller ([`Reader::read_into`]): memory
//! depends on the longest sequence, not on the file. A sequence is complete as soon as its end is read: a blank line, or the
//! end of a line of JSON or plain text ([`Reader::before_waiting`]). Gzip is unpacked on the fly; Windows line ends and a byte order
//! mark are accepted. **Errors** name the file and the line, what was expected and what was found: invalid UTF-8,
//! ragged columns, a broken archive.
//!
//! ```
//! use kbest::text::{Reader, ReaderOptions, Writer, WriterOptions};
//! use kbest::Sequence;
//!
//! let data = "Time NN NOUN\nflies VBZ VERB\n\n";
//! let mut reader = Reader::new(data.as_bytes(), "example", &ReaderOptions::columns().labelled(true))?;
//! let mut writer = Writer::new(Vec::new(), WriterOptions::columns());
//! let mut sequence = Sequence::new();
//! while reader.read_into(&mut sequence)? {
//!     let labels: Vec<&str> = (0..sequence.len()).map(|_| "X").collect();
//!     writer.write(&sequence, &[&labels], None)?;
//! }
//! assert_eq!(writer.into_inner(), b"Time\tNN\tNOUN\tX\nflies\tVBZ\tVERB\tX\n\n");
//! # Ok::<(), kbest::Error>(())
//! ```

mod conllu;
mod items;
#[cfg(feature = "json")]
mod jsonl;
mod lines;
mod options;
mod plain;
mod raw;
mod reader;
mod text_format;
mod writer;

pub use conllu::{Field, LabelExpression};
pub use options::FormatOptions;
pub use plain::Separator;
pub use raw::tokenize;
pub use reader::{Reader, ReaderOptions};
pub use text_format::TextFormat;
pub use writer::{Answer, Candidate, Writer, WriterOptions};

use kbest_core::{Error, Result};
use std::path::Path;

/// The file format of sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Columns separated by tabs or blanks.
    #[default]
    Columns,
    /// CRFsuite's items.
    Items,
    /// CoNLL-U.
    Conllu,
    /// One JSON object per line.
    Jsonl,
    /// One sentence per line, split into words and punctuation; without labels.
    Text,
    /// One sentence per line, words separated by blanks; without labels.
    Tokens,
}

impl Format {
    /// The name of each format.
    pub const NAMES: [(&'static str, Format); 6] = [
        ("columns", Format::Columns),
        ("items", Format::Items),
        ("conllu", Format::Conllu),
        ("jsonl", Format::Jsonl),
        ("text", Format::Text),
        ("tokens", Format::Tokens),
    ];

    /// The format with this name.
    ///
    /// # Errors
    /// [`Error::UnknownName`].
    pub fn by_name(name: &str) -> Result<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, format)| format).ok_or_else(|| Error::UnknownName {
            what: "format",
            name: name.to_owned(),
            expected: Self::NAMES.map(|(known, _)| known).join(", "),
        })
    }

    /// The name of this format.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Whether it is plain text: words without labels or further columns.
    pub fn is_plain_text(self) -> bool {
        matches!(self, Format::Text | Format::Tokens)
    }

    /// The format implied by the ending of a file's name, if any: `.conllu`, `.jsonl`, `.items` or `.crfsuite`, each
    /// optionally followed by `.gz`.
    pub fn by_ending(path: impl AsRef<Path>) -> Option<Self> {
        let name = path.as_ref().file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        match name.rsplit_once('.')?.1 {
            "conllu" => Some(Format::Conllu),
            "jsonl" => Some(Format::Jsonl),
            "items" | "crfsuite" => Some(Format::Items),
            _ => None,
        }
    }
}

#[cfg(not(feature = "json"))]
fn without_json() -> Error {
    Error::UnknownName {
        what: "format",
        name: "jsonl".into(),
        expected: "columns, items, conllu, text, tokens (this build does not support JSON)".into(),
    }
}
