//! Training data: lists, generators or files.

use crate::error;
use crate::sequence::{labelled, sequence};
use kbest::text::{Format, FormatOptions, Reader, ReaderOptions, TextFormat};
use kbest::{Error, Sequence};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::{Path, PathBuf};

/// Sequences, whether their cells are features, and how the file was read, if it was one.
pub(super) struct Data {
    pub(super) sequences: Vec<Sequence>,
    pub(super) is_items: bool,
    pub(super) text: Option<TextFormat>,
}

fn read(files: &FormatOptions, path: &Path, supervised: bool) -> kbest::Result<Data> {
    let text = files.text_format(Some(path), None)?;
    let options: ReaderOptions = text.clone().into();
    let mut reader = Reader::open(path, &options.labelled(supervised).required(supervised))?;
    let mut sequences = Vec::new();
    let mut sequence = Sequence::new();
    while reader.read_into(&mut sequence)? {
        if supervised && !sequence.is_labelled() {
            let (file, line) = (reader.file().to_owned(), reader.first_line());
            return Err(Error::data(file, line, "a label at every position", "none"));
        }
        sequences.push(sequence.clone());
    }
    Ok(Data { sequences, is_items: text.format == Format::Items, text: Some(text) })
}

/// A file name: a string or a path.
fn path_of(value: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    let is_path = value.is_instance_of::<PyString>() || value.hasattr("__fspath__")?;
    if is_path { value.extract().map(Some) } else { Ok(None) }
}

pub(super) fn read_data(
    py: Python<'_>,
    x: &Bound<'_, PyAny>,
    y: Option<&Bound<'_, PyAny>>,
    files: &FormatOptions,
    supervised: bool,
) -> PyResult<Data> {
    if let Some(path) = path_of(x)? {
        if y.is_some() {
            return Err(error::argument(py, "y", "None with a file, which has its own labels", "labels"));
        }
        return py.detach(|| read(files, &path, supervised)).map_err(|failed| error::exception(py, failed));
    }
    let (mut sequences, mut is_items) = (Vec::new(), false);
    let mut keep = |(sequence, dicts): (Sequence, bool)| {
        is_items |= dicts;
        sequences.push(sequence);
    };
    match y {
        _ if !supervised => {
            for tokens in x.try_iter()? {
                keep(sequence(&tokens?)?);
            }
        }
        Some(y) => {
            let mut labels = y.try_iter()?;
            for (i, tokens) in x.try_iter()?.enumerate() {
                match labels.next() {
                    Some(of) => keep(labelled(&tokens?, &of?, i, ["X", "y"])?),
                    None => {
                        return Err(error::shape(
                            py,
                            "y",
                            "labels for every sequence",
                            format!("{i} of them"),
                        ));
                    }
                }
            }
            if labels.next().is_some() {
                return Err(error::shape(py, "y", "as many sequences as X has", "more"));
            }
        }
        None => {
            for (i, pair) in x.try_iter()?.enumerate() {
                let pair = pair?;
                let Ok((tokens, labels)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                    let expected = "labels, or X as pairs (tokens, labels), or a file";
                    return Err(error::argument(py, "y", expected, "None"));
                };
                keep(labelled(&tokens, &labels, i, ["X", "y"])?);
            }
        }
    }
    Ok(Data { sequences, is_items, text: None })
}
