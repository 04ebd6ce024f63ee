//! Models of other programs: CRFsuite, CRF++ and Wapiti.
//!
//! **What.** [`read`] recognises from a file's first bytes which program wrote it, and builds a [`Model`] that returns
//! the same labels as that program, and that works with every decoder, k best paths and marginals. For bytes that are
//! already in memory there is one function per format.
//!
//! | program | model | features | input for tagging |
//! |---|---|---|---|
//! | CRFsuite | binary | [`FeatureSource::Items`](crate::feature::FeatureSource::Items) | items |
//! | CRF++ | text (`crf_learn -t`) | [`FeatureSource::Template`](crate::feature::FeatureSource::Template) | columns |
//! | Wapiti | text, of type `maxent` or `crf` | [`FeatureSource::Patterns`](crate::feature::FeatureSource::Patterns) | columns |
//!
//! **Trust.** None: every count, offset and length is checked before it is used, memory depends on the size of the file
//! and not on the numbers in it, and every fault is an error with its line or byte.
//!
//! **What differs.** Weights become `f32`, as in CRF++ itself: two paths whose scores in double precision agree to
//! about seven digits may swap places. Page: `docs/formats/import.md`.
//!
//! **Cost.** One pass over the file, which is in memory together with the model during the import.
//!
//! ```
//! use kbest::{Sequence, Tagger, model::import};
//! let model = "version: 100\ncost-factor: 1\nmaxid: 4\nxsize: 1\n\nNOUN\nVERB\n\nU:%x[0,0]\n\n\
//!              0 U:flies\n2 U:time\n\n-1\n1.5\n2\n0\n";
//! let model = import::crfpp(model.as_bytes(), "model.txt")?;
//! let mut tagger = Tagger::new(model.into());
//! let answer = tagger.tag(&Sequence::from_tokens(["time", "flies"]), 1)?;
//! assert_eq!(answer.decoded.best().labels, [0, 1]);
//! # Ok::<(), kbest::Error>(())
//! ```

mod crfpp;
mod crfsuite;
mod float;
mod ranked;
mod text;
mod wapiti;

pub use crfpp::crfpp;
pub use crfsuite::crfsuite;
pub use wapiti::wapiti;

use self::ranked::ranked;
use super::Model;
use crate::feature::Dictionary;
use kbest_core::LabelSet;
use kbest_core::{Error, Result};
use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A program whose models can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// CRFsuite's binary model.
    CrfSuite,
    /// CRF++'s text model.
    Crfpp,
    /// Wapiti's text model.
    Wapiti,
}

impl Origin {
    /// The origin of the model that begins with these bytes, if known.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let begins =
            [(Origin::CrfSuite, &b"lCRF"[..]), (Origin::Crfpp, b"version:"), (Origin::Wapiti, b"#mdl#")];
        begins.iter().find(|(_, begin)| bytes.starts_with(begin)).map(|(origin, _)| *origin)
    }

    /// Reads a model of this origin.
    pub(super) fn read(self, bytes: &[u8], file: &str) -> Result<Model> {
        match self {
            Origin::CrfSuite => crfsuite(bytes, file),
            Origin::Crfpp => crfpp(bytes, file),
            Origin::Wapiti => wapiti(bytes, file),
        }
    }
}

/// Reads a model of another program, compressed with gzip or not. [`Model::load_any`] also reads kbest's own.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, [`Error::Data`] if it is damaged or not a model of a known program,
/// [`Error::Template`] for invalid templates.
pub fn read(path: impl AsRef<Path>) -> Result<Model> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(|error| Error::io(&name, 0, error))?;
    from_bytes(&bytes, &name)
}

/// As [`read`], from bytes; `file` is their name in errors.
///
/// # Errors
/// See [`read`].
pub fn from_bytes(bytes: &[u8], file: &str) -> Result<Model> {
    let bytes = unpacked(bytes, file, |head| Origin::of(head).map(|_| u64::MAX))?;
    match Origin::of(&bytes) {
        Some(origin) => origin.read(&bytes, file),
        None => {
            let expected = "a CRFsuite model, or a text model of CRF++ (crf_learn -t) or Wapiti";
            Err(Error::data(file, 0, expected, beginning(&bytes)))
        }
    }
}

/// The contents of a gzip archive; anything else unchanged. From its beginning `longest` tells how many bytes it may hold; if the
/// archive does not begin as wanted (`None`), only its beginning.
pub(super) fn unpacked<'a>(
    bytes: &'a [u8],
    file: &str,
    longest: impl FnOnce(&[u8]) -> Option<u64>,
) -> Result<Cow<'a, [u8]>> {
    match bytes {
        [0x1f, 0x8b, ..] => unpack(bytes, file, longest).map(Cow::Owned),
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

/// Describes a file that is not a model.
pub(super) fn beginning(bytes: &[u8]) -> String {
    const CRFPP_VERSION: [u8; 4] = 100u32.to_le_bytes();
    match bytes {
        [] => "an empty file".into(),
        _ if bytes.starts_with(&CRFPP_VERSION) => "what looks like a binary CRF++ model".into(),
        _ => format!("a file that begins with {}", bytes[..bytes.len().min(12)].escape_ascii()),
    }
}

/// The longest beginning that identifies a model of another program.
#[cfg(feature = "gzip")]
const HEAD: usize = 64;

#[cfg(feature = "gzip")]
fn unpack(bytes: &[u8], file: &str, longest: impl FnOnce(&[u8]) -> Option<u64>) -> Result<Vec<u8>> {
    let mut decoder = crate::unpack::Unpacked::new(bytes);
    let mut unpacked = Vec::new();
    let broken = |error: std::io::Error| Error::data(file, 0, "a complete gzip archive", error);
    // An archive of something else may unpack to any size: check its beginning first.
    decoder.by_ref().take(HEAD as u64).read_to_end(&mut unpacked).map_err(broken)?;
    if let Some(longest) = longest(&unpacked) {
        // One byte more than it may hold: if there is none, the end of the archive is checked.
        let rest = longest.saturating_sub(unpacked.len() as u64).saturating_add(1);
        decoder.take(rest).read_to_end(&mut unpacked).map_err(broken)?;
        if unpacked.len() as u64 > longest {
            let expected = format!("an archive of {longest} bytes, as the header in it says");
            return Err(Error::data(file, 0, expected, "a longer one"));
        }
    }
    Ok(unpacked)
}

#[cfg(not(feature = "gzip"))]
fn unpack(_: &[u8], file: &str, _: impl FnOnce(&[u8]) -> Option<u64>) -> Result<Vec<u8>> {
    Err(Error::data(file, 0, "a model (this build does not support gzip)", "a gzip archive"))
}

/// Features by number; each may occur only once.
fn dictionary<'a>(keys: impl Iterator<Item = &'a [u8]>) -> std::result::Result<Dictionary, ()> {
    let mut count = 0;
    let dictionary = Dictionary::from_keys(keys.inspect(|_| count += 1));
    if dictionary.len() == count { Ok(dictionary) } else { Err(()) }
}

/// Labels from their names; each may occur only once. The error is the number of the second occurrence.
fn label_set(names: &[&str]) -> std::result::Result<LabelSet, usize> {
    let labels = LabelSet::from_names(names);
    if labels.len() == names.len() {
        return Ok(labels);
    }
    // Repeated names are skipped, so from the first of them on, numbers and indices differ.
    let twice = names.iter().enumerate().position(|(i, name)| labels.id(name) != u32::try_from(i).ok());
    Err(twice.unwrap_or(0))
}
