//! Model files: our own, and those of other programs where they are welcome.

use crate::failure::{Failure, Result};
use kbest::model::import::{self, Origin};
use kbest::{Error, Model};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Bytes that tell whose model a file is.
const HEAD: u64 = 16;

/// Loads a model of our own; for one of another program, says how to make it one.
pub(crate) fn load(path: &Path) -> Result<Model> {
    Model::load(path).map_err(|error| match foreign(path) {
        Some(what) => Failure::input(
            &path.display().to_string(),
            format!("expected a model of kbest, got {what}; see `kbest convert`"),
        ),
        None => error.into(),
    })
}

/// Loads a model of our own or of another program.
pub(crate) fn load_any(path: &Path) -> Result<Model> {
    let error = match Model::load(path) {
        Ok(model) => return Ok(model),
        Err(error) => error,
    };
    match (foreign(path), &error) {
        (Some(_), _) => Ok(import::read(path)?),
        // Neither ours nor theirs: name all that it could have been.
        (None, Error::Data { .. }) if !is_ours(path) => Err(Failure::input(
            &path.display().to_string(),
            "expected a model of kbest or CRFsuite, or a text model of CRF++ (crf_learn -t) or Wapiti, got another file",
        )),
        (None, _) => Err(error.into()),
    }
}

/// What a file is that `kbest convert` may read.
fn foreign(path: &Path) -> Option<&'static str> {
    let head = head(path)?;
    match Origin::of(&head) {
        Some(Origin::CrfSuite) => Some("a model of CRFsuite"),
        Some(Origin::Crfpp) => Some("a model of CRF++"),
        Some(Origin::Wapiti) => Some("a model of Wapiti"),
        None => head.starts_with(&[0x1f, 0x8b]).then_some("a file packed with gzip"),
    }
}

fn is_ours(path: &Path) -> bool {
    head(path).is_some_and(|head| head.starts_with(b"kbest"))
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path).ok()?.take(HEAD).read_to_end(&mut head).ok()?;
    Some(head)
}
