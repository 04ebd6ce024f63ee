//! Readers and writers of sequences: the formats people already have.
//!
//! | format | a sequence is | label | written back as |
//! |---|---|---|---|
//! | [`Format::Columns`] | lines of cells between tabs or blanks, ended by a blank line (CRF++, CoNLL) | last column | the same columns, labels behind them |
//! | [`Format::Items`] | lines of label and attributes between tabs (CRFsuite) | first field | the bare label a line |
//! | [`Format::Conllu`] | ten fields a word (Universal Dependencies) | an expression such as `upos+feats` | the same lines, labels in their fields |
//! | [`Format::Jsonl`] | an object a line, `{"tokens":[...],"tags":[...]}` | `tags` | the same, `tags` being the new ones |
//!
//! **Streaming.** A [`Reader`] fills one [`Sequence`](crate::Sequence) of the caller again and again ([`Reader::read_into`]): memory follows
//! the longest sequence, not the file. Gzip is unpacked on the way, Windows line ends and a byte order mark are accepted.
//! **Errors** name file and line, what was expected and what was found: invalid UTF-8, ragged columns, a broken archive.
//!
//! ```
//! use kbest::columns::{Reader, ReaderOptions, Writer, WriterOptions};
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
mod plain;
mod reader;
mod text_format;
mod writer;

pub use conllu::{Field, LabelExpression};
pub use plain::Separator;
pub use reader::{Reader, ReaderOptions};
pub use text_format::TextFormat;
pub use writer::{Answer, Candidate, Writer, WriterOptions};

use crate::error::{Error, Result};
use std::path::Path;

/// How sequences are written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Columns between tabs or blanks.
    #[default]
    Columns,
    /// CRFsuite's items.
    Items,
    /// CoNLL-U.
    Conllu,
    /// A JSON object a line.
    Jsonl,
}

impl Format {
    /// The name of each format.
    pub const NAMES: [(&'static str, Format); 4] = [
        ("columns", Format::Columns),
        ("items", Format::Items),
        ("conllu", Format::Conllu),
        ("jsonl", Format::Jsonl),
    ];

    /// The format of this name.
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

    /// The format that the ending of a file's name stands for, if any: `.conllu`, `.jsonl`, `.items` or `.crfsuite`, each
    /// also before `.gz`.
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
        expected: "columns, items, conllu (this build has no JSON)".into(),
    }
}
