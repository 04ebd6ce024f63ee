//! Models of any kind, recognised by the first bytes of the file.

use super::Model;
use super::container::Container;
use super::file::{MODEL, from_container};
use super::import::{self, Origin};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The number of bytes needed to recognise whose model a file is.
const HEAD: u64 = 16;

impl Model {
    /// Loads a model of kbest, CRFsuite, CRF++ (text) or Wapiti, recognised by the first bytes of the file. A kbest
    /// model is mapped, as by [`Model::load`]. The others, and anything compressed with gzip, are read into memory, as
    /// by [`import::read`].
    ///
    /// # Errors
    /// As for [`Model::load`] and [`import::read`]; [`Error::Data`] if it is none of these.
    pub fn load_any(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
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
            return from_container(&Container::over(file, bytes, &name, MODEL)?, &name, None);
        }
        Self::from_any_bytes(&bytes, &name)
    }

    /// As [`Model::load_any`], from the bytes of a file; `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`Model::load_any`], except [`Error::Io`].
    pub fn from_any_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        let bytes = import::unpacked(bytes, name, |head| is_ours(head) || Origin::of(head).is_some())?;
        match Origin::of(&bytes) {
            Some(origin) => origin.read(&bytes, name),
            None if is_ours(&bytes) => Self::from_bytes(&bytes, name),
            None => {
                let expected = "a kbest or CRFsuite model, or a text model of CRF++ (crf_learn -t) or Wapiti";
                Err(Error::data(name, 0, expected, import::beginning(&bytes)))
            }
        }
    }
}

/// Whether a file claims to be a kbest model. The bytes after the name show damage; see [`Container`].
fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(b"kbest")
}
