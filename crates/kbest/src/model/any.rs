//! Models of any kind, recognised by the first bytes of the file.

use super::container::{self, Container, Reading};
use super::file::{MODEL, from_container, has_weights_alone};
use super::import::{self, Origin};
use super::{Model, SegmentModel, segment_file};
use crate::text::TextFormat;
use kbest_core::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The number of bytes needed to recognise whose model a file is.
const HEAD: u64 = 16;

/// A model of either kind.
#[derive(Debug)]
pub enum AnyModel {
    /// One label per position.
    Positions(Box<Model>),
    /// Segments.
    Segments(Box<SegmentModel>),
}

impl AnyModel {
    /// Loads a model of kbest, of positions or of segments, or one of CRFsuite, CRF++ (text) or Wapiti, recognised by the first
    /// bytes of the file. A kbest model is mapped, as by [`Model::load`]. The others, and anything compressed with gzip, are
    /// read into memory, as by [`import::read`].
    ///
    /// # Errors
    /// As for [`Model::load`] and [`import::read`]; [`Error::Data`] if it is none of these.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::read(path.as_ref(), Reading::Whole)
    }

    /// As [`AnyModel::load`], but the large arrays of a large kbest model are checked while it is used, each block of 64 KiB
    /// before it is first read: the first answer comes sooner, and memory is needed only for what is used. For tagging: if
    /// something that was used turns out to be damaged, [`Tagger::tag`](crate::Tagger::tag) returns the error (see
    /// [`Model::undamaged`]), and weights and features of the damaged blocks seem not to exist. Models with support tokens or
    /// voters, and models of segments, are checked as by [`AnyModel::load`].
    ///
    /// # Errors
    /// As for [`AnyModel::load`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::read(path.as_ref(), Reading::WhenUsed)
    }

    fn read(path: &Path, reading: Reading) -> Result<Self> {
        let name = path.display().to_string();
        let mut bytes = Vec::new();
        let mut read = || {
            let mut file = File::open(path)?;
            file.by_ref().take(HEAD).read_to_end(&mut bytes)?;
            if !is_ours(&bytes) {
                file.read_to_end(&mut bytes)?;
            }
            Ok(file)
        };
        let file = read().map_err(|error| Error::io(&*name, 0, error))?;
        if is_ours(&bytes) {
            let mut container = Container::over(file, bytes, &name, MODEL, reading)?;
            if segment_file::is_segment_model(&container) || !has_weights_alone(&container) {
                container.check_all()?;
            }
            return Self::from_container(&container, &name);
        }
        Self::from_bytes(&bytes, &name)
    }

    /// As [`AnyModel::load`], from the bytes of a file; `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`AnyModel::load`], except [`Error::Io`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let bytes = import::unpacked(bytes, name, |head| match is_ours(head) {
            true => Some(container::stated_length(head)),
            false => Origin::of(head).map(|_| u64::MAX),
        })?;
        match Origin::of(&bytes) {
            Some(origin) => Ok(AnyModel::Positions(Box::new(origin.read(&bytes, name)?))),
            None if is_ours(&bytes) => {
                Self::from_container(&Container::from_bytes(&bytes, name, MODEL)?, name)
            }
            None => {
                let expected = "a kbest or CRFsuite model, or a text model of CRF++ (crf_learn -t) or Wapiti";
                Err(Error::data(name, 0, expected, import::beginning(&bytes)))
            }
        }
    }

    fn from_container(file: &Container, name: &str) -> Result<Self> {
        Ok(match segment_file::is_segment_model(file) {
            true => AnyModel::Segments(Box::new(SegmentModel::from_container(file, name)?)),
            false => AnyModel::Positions(Box::new(from_container(file, name, None)?)),
        })
    }

    /// The format of the text the model was trained on, if known.
    pub fn text_format(&self) -> Option<&TextFormat> {
        match self {
            AnyModel::Positions(model) => model.text_format(),
            AnyModel::Segments(model) => model.text_format(),
        }
    }

    /// Where the model comes from.
    pub fn about(&self) -> &[(String, String)] {
        match self {
            AnyModel::Positions(model) => model.about(),
            AnyModel::Segments(model) => model.about(),
        }
    }

    /// The model of positions that the caller needs.
    fn positions(self, name: &str) -> Result<Model> {
        match self {
            AnyModel::Positions(model) => Ok(*model),
            AnyModel::Segments(_) => {
                Err(Error::data(name, 0, "a model of single positions", "a model of segments"))
            }
        }
    }
}

impl Model {
    /// As [`AnyModel::load`], for a model of positions.
    ///
    /// # Errors
    /// As for [`AnyModel::load`]; [`Error::Data`] for a model of segments.
    pub fn load_any(path: impl AsRef<Path>) -> Result<Self> {
        AnyModel::load(&path)?.positions(&path.as_ref().display().to_string())
    }

    /// As [`Model::load_any`], from the bytes of a file; `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`Model::load_any`], except [`Error::Io`].
    pub fn from_any_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        AnyModel::from_bytes(bytes, name)?.positions(name)
    }
}

/// Whether a file claims to be a kbest model. The bytes after the name show damage; see [`Container`].
fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(b"kbest")
}

#[cfg(all(test, feature = "gzip"))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_archive_is_unpacked_no_further_than_its_header_says() {
        let mut file = b"kbest\x1a\r\nmodel".to_vec();
        file.resize(32, 0);
        file.extend(100u64.to_le_bytes());
        let unpacked = |length: usize| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&file).unwrap();
            encoder.write_all(&vec![0; length - file.len()]).unwrap();
            AnyModel::from_bytes(&encoder.finish().unwrap(), "f").unwrap_err().to_string()
        };
        let longer = "f: expected an archive of 100 bytes, as the header in it says, got a longer one";
        assert_eq!([101, 1 << 20].map(unpacked), [longer; 2]);
        assert_eq!(unpacked(100), "f: expected a version from 1 on, got 0");
        assert_eq!(unpacked(99), "f: expected a version from 1 on, got 0");
    }
}
