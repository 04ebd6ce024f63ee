//! Sequences of Python objects as sequences of text.
//!
//! | a token is | it becomes |
//! |---|---|
//! | a string | one column |
//! | a list or tuple of strings or numbers, a row of an array | columns; for models of items, features |
//! | a dict | features with values, as python-crfsuite reads them: `{"w": "cat"}` is the feature `w:cat`, numbers and truth values are values, nested dicts and lists extend the name |

use crate::error;
use kbest::Sequence;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// A sequence of tokens, and whether they are dicts.
pub(crate) fn sequence(tokens: &Bound<'_, PyAny>) -> PyResult<(Sequence, bool)> {
    if tokens.is_instance_of::<PyString>() {
        return Err(error::dtype(tokens.py(), "tokens", "a list of tokens", "a string"));
    }
    let (mut sequence, mut dicts) = (Sequence::new(), false);
    if let Ok(list) = tokens.cast_exact::<PyList>() {
        for token in list.iter() {
            dicts |= push(&mut sequence, &token)?;
        }
    } else {
        for token in tokens.try_iter()? {
            dicts |= push(&mut sequence, &token?)?;
        }
    }
    Ok((sequence, dicts))
}

/// A sequence of tokens with their labels; `index` is its number in the data, `names` are those of the two arguments.
pub(crate) fn labelled(
    tokens: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
    index: usize,
    names: [&str; 2],
) -> PyResult<(Sequence, bool)> {
    let py = tokens.py();
    if tokens.is_instance_of::<PyString>() {
        return Err(error::dtype(py, names[0], format!("a list of tokens for sequence {index}"), "a string"));
    }
    let labels =
        labels.try_iter()?.map(|label| label_name(&label?, names[1])).collect::<PyResult<Vec<String>>>()?;
    let (mut sequence, mut dicts) = (Sequence::new(), false);
    for (t, token) in tokens.try_iter()?.enumerate() {
        dicts |= push(&mut sequence, &token?)?;
        if let Some(label) = labels.get(t) {
            sequence.set_label(label);
        }
    }
    if labels.len() != sequence.len() {
        let expected = format!("{} labels for sequence {index}", sequence.len());
        return Err(error::shape(py, names[1], expected, labels.len()));
    }
    Ok((sequence, dicts))
}

/// The name of a label; whole numbers are names, too.
fn label_name(label: &Bound<'_, PyAny>, argument: &str) -> PyResult<String> {
    match label.cast::<PyString>() {
        Ok(name) => Ok(name.to_cow()?.into_owned()),
        Err(_) if label.is_instance_of::<PyInt>() || label.hasattr("__index__")? => {
            Ok(label.str()?.to_string())
        }
        Err(_) => Err(error::dtype(label.py(), argument, "labels that are strings", label.get_type())),
    }
}

/// Adds a token; returns whether it is a dict.
fn push(sequence: &mut Sequence, token: &Bound<'_, PyAny>) -> PyResult<bool> {
    sequence.push_position();
    if let Ok(text) = token.cast::<PyString>() {
        sequence.push_cell(&text.to_cow()?);
        return Ok(false);
    }
    if let Ok(features) = token.cast::<PyDict>() {
        attributes(sequence, &mut String::new(), features, 0)?;
        return Ok(true);
    }
    if let Some(number) = number(token)? {
        sequence.push_cell(&number);
        return Ok(false);
    }
    if !token.is_instance_of::<PyList>()
        && !token.is_instance_of::<PyTuple>()
        && !token.hasattr("__iter__")?
    {
        return Err(wrong(token));
    }
    for cell in token.try_iter()? {
        let cell = cell?;
        if let Ok(text) = cell.cast::<PyString>() {
            sequence.push_cell(&text.to_cow()?);
        } else {
            sequence.push_cell(&number(&cell)?.ok_or_else(|| wrong(&cell))?);
        }
    }
    Ok(false)
}

/// A number as text that reads back to the same number.
fn number(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(value.str()?.to_string()));
    }
    let is_number =
        value.is_instance_of::<PyFloat>() || (value.hasattr("__float__")? && !value.hasattr("__iter__")?);
    Ok(if is_number { Some(value.extract::<f64>()?.to_string()) } else { None })
}

fn wrong(value: &Bound<'_, PyAny>) -> PyErr {
    let got = value.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
    error::dtype(value.py(), "tokens", "strings, numbers, lists of them, or dicts of features", got)
}

/// Dicts within dicts within dicts: more than this cannot be meant.
const DEEPEST: usize = 64;

/// Adds the features of a dict; `prefix` is what stands before each name, `depth` how many dicts this one lies in.
fn attributes(
    sequence: &mut Sequence,
    prefix: &mut String,
    features: &Bound<'_, PyDict>,
    depth: usize,
) -> PyResult<()> {
    if depth > DEEPEST {
        let expected = format!("dicts at most {DEEPEST} deep");
        return Err(error::argument(
            features.py(),
            "tokens",
            expected,
            "a deeper one, or one that contains itself",
        ));
    }
    let outer = prefix.len();
    for (name, value) in features {
        let Ok(name) = name.cast::<PyString>() else { return Err(wrong(&name)) };
        prefix.push_str(&name.to_cow()?);
        attribute(sequence, prefix, &value, depth)?;
        prefix.truncate(outer);
    }
    Ok(())
}

fn attribute(
    sequence: &mut Sequence,
    name: &mut String,
    value: &Bound<'_, PyAny>,
    depth: usize,
) -> PyResult<()> {
    let outer = name.len();
    if let Ok(text) = value.cast::<PyString>() {
        name.push(':');
        name.push_str(&text.to_cow()?);
        sequence.push_cell(name);
    } else if value.is_instance_of::<PyBool>() {
        sequence.push_valued_cell(name, f64::from(u8::from(value.extract::<bool>()?)));
    } else if let Ok(nested) = value.cast::<PyDict>() {
        name.push(':');
        attributes(sequence, name, nested, depth + 1)?;
    } else if let Ok(number) = value.extract::<f64>() {
        sequence.push_valued_cell(name, number);
    } else if value.hasattr("__iter__")? {
        name.push(':');
        let inner = name.len();
        for item in value.try_iter()? {
            let item = item?;
            let Ok(text) = item.cast::<PyString>() else { return Err(wrong(&item)) };
            name.push_str(&text.to_cow()?);
            sequence.push_cell(name);
            name.truncate(inner);
        }
    } else {
        return Err(wrong(value));
    }
    name.truncate(outer);
    Ok(())
}
