//! numpy's `.npy` format: a magic string, a version, a header in Python syntax, the elements.
//!
//! The header is parsed here, not by a general Python parser: it is one flat dictionary with three known keys, and a
//! parser for just that has no recursion that a hostile file could exploit. Format: numpy's `numpy.lib.format`, NEP 1.

use super::array::{Array, Data, shape_text};
use super::elements::{self, Kind};
use std::io::Read;

/// The first bytes of every `.npy`.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest header in bytes; numpy itself accepts no longer ones.
const LONGEST_HEADER: usize = 10_000;

/// The content of a header.
#[derive(Debug, PartialEq)]
struct Header {
    kind: Kind,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
}

/// Reads one array to the end of `reader`; `available` bounds the bytes the reader can supply, header included.
pub(super) fn read(reader: &mut impl Read, available: u64) -> Result<Array, String> {
    let text = read_header_text(reader)?;
    let header = parse_header(&text)?;
    let available = available.saturating_sub(MAGIC.len() as u64 + 4 + text.len() as u64);
    let bytes = elements::bytes_of(&header.shape, header.kind)
        .filter(|&bytes| bytes as u64 <= available)
        .ok_or_else(|| {
            format!(
                "the header claims shape {}, but at most {available} bytes can follow",
                shape_text(&header.shape)
            )
        })?;
    let mut data = elements::read(reader, header.kind, header.big_endian, bytes)?;
    // Reading past the end also makes the archive verify the checksum of the entry.
    match reader.read(&mut [0]) {
        Ok(0) => {}
        Ok(_) => {
            let shape = shape_text(&header.shape);
            return Err(format!("the header claims shape {shape}, but more bytes follow"));
        }
        Err(error) => return Err(format!("cannot be read: {error}")),
    }
    if header.fortran_order && header.shape.len() > 1 {
        data = match data {
            Data::Single(values) => Data::Single(row_major(&values, &header.shape)),
            Data::Double(values) => Data::Double(row_major(&values, &header.shape)),
            Data::Whole(values) => Data::Whole(row_major(&values, &header.shape)),
            Data::Truth(values) => Data::Truth(row_major(&values, &header.shape)),
        };
    }
    Ok(Array { shape: header.shape, data })
}

fn read_header_text(reader: &mut impl Read) -> Result<String, String> {
    let mut bytes = |count: usize| {
        let mut bytes = vec![0; count];
        let result = reader.read_exact(&mut bytes);
        result.map(|()| bytes).map_err(|error| format!("cannot read the .npy header: {error}"))
    };
    let start = bytes(8)?;
    if !start.starts_with(MAGIC) {
        return Err(format!(
            "expected an array in .npy format, got bytes that start with {:02x?}",
            &start[..6]
        ));
    }
    let length = match start[6] {
        1 => bytes(2)?.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)),
        2 | 3 => bytes(4)?.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)),
        version => return Err(format!("expected .npy version 1, 2 or 3, got {version}")),
    };
    if length > LONGEST_HEADER {
        return Err(format!("expected an .npy header of at most {LONGEST_HEADER} bytes, got {length}"));
    }
    String::from_utf8(bytes(length)?).map_err(|_| "the .npy header is not text".into())
}

/// Parses `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse_header(text: &str) -> Result<Header, String> {
    let bad =
        || format!("expected an .npy header {{'descr', 'fortran_order', 'shape'}}, got {:?}", clip(text));
    let mut rest = text.trim().strip_prefix('{').ok_or_else(bad)?;
    let (mut description, mut fortran_order, mut shape) = (None, None, None);
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            if !after.trim().is_empty() {
                return Err(bad());
            }
            break;
        }
        let (key, after) = quoted(rest).ok_or_else(bad)?;
        rest = after.trim_start().strip_prefix(':').ok_or_else(bad)?.trim_start();
        match key {
            "descr" if rest.starts_with('[') => {
                return Err("expected numbers, got records (a structured dtype)".into());
            }
            "descr" => {
                let (value, after) = quoted(rest).ok_or_else(bad)?;
                (description, rest) = (Some(value), after);
            }
            "fortran_order" => {
                let (value, after) = match rest.strip_prefix("False") {
                    Some(after) => (false, after),
                    None => (true, rest.strip_prefix("True").ok_or_else(bad)?),
                };
                (fortran_order, rest) = (Some(value), after);
            }
            "shape" => {
                let (inner, after) =
                    rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(bad)?;
                (shape, rest) = (Some(parse_shape(inner).ok_or_else(bad)?), after);
            }
            _ => return Err(bad()),
        }
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(after) => after,
            None if rest.starts_with('}') => rest,
            None => return Err(bad()),
        };
    }
    let (kind, big_endian) = parse_description(description.ok_or_else(bad)?)?;
    Ok(Header {
        kind,
        big_endian,
        fortran_order: fortran_order.ok_or_else(bad)?,
        shape: shape.ok_or_else(bad)?,
    })
}

/// A string in single or double quotes, without escapes, and the text after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|&c| c == '\'' || c == '"')?;
    text[1..].split_once(quote)
}

/// `3, 4`; Python 2 wrote `3L`.
fn parse_shape(inner: &str) -> Option<Vec<usize>> {
    let inner = inner.trim();
    let inner = inner.strip_suffix(',').unwrap_or(inner);
    if inner.trim().is_empty() {
        return Some(vec![]);
    }
    inner.split(',').map(|extent| extent.trim().trim_end_matches('L').parse().ok()).collect()
}

/// `<f4`: byte order, kind, size.
fn parse_description(text: &str) -> Result<(Kind, bool), String> {
    let (order, name) = match text.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &text[1..]),
        _ => ('=', text),
    };
    let kind = match name {
        "f2" => Kind::F16,
        "f4" => Kind::F32,
        "f8" => Kind::F64,
        "i1" => Kind::I8,
        "i2" => Kind::I16,
        "i4" => Kind::I32,
        "i8" => Kind::I64,
        "u1" => Kind::U8,
        "u2" => Kind::U16,
        "u4" => Kind::U32,
        "u8" => Kind::U64,
        "b1" => Kind::Bool,
        _ => return Err(format!("expected floats, integers or bool, got dtype {:?}", clip(text))),
    };
    Ok((kind, order == '>' || (order == '=' && cfg!(target_endian = "big"))))
}

/// The beginning of a text, for messages.
fn clip(text: &str) -> String {
    text.trim().chars().take(80).collect()
}

/// Column-major (Fortran) elements in row-major order.
fn row_major<T: Copy>(values: &[T], shape: &[usize]) -> Vec<T> {
    let mut index = vec![0; shape.len()];
    let mut strides = vec![1; shape.len()];
    for i in 1..shape.len() {
        strides[i] = strides[i - 1] * shape[i - 1];
    }
    let mut at = 0;
    let mut ordered = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        ordered.push(values[at]);
        for i in (0..shape.len()).rev() {
            index[i] += 1;
            at += strides[i];
            if index[i] < shape[i] {
                break;
            }
            at -= strides[i] * shape[i];
            index[i] = 0;
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_all_versions() {
        let expected = Header { kind: Kind::F32, big_endian: false, fortran_order: false, shape: vec![3, 4] };
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n",
            "{\"shape\":(3,4),\"descr\":\"<f4\",\"fortran_order\":False}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L)}",
        ] {
            assert_eq!(parse_header(text).as_ref(), Ok(&expected), "{text}");
        }
        let scalar = parse_header("{'descr': '|b1', 'fortran_order': True, 'shape': ()}").unwrap();
        assert_eq!((scalar.kind, scalar.shape.len(), scalar.fortran_order), (Kind::Bool, 0, true));
        let one = parse_header("{'descr': '>i8', 'fortran_order': False, 'shape': (7,)}").unwrap();
        assert_eq!((one.big_endian, one.shape), (true, vec![7]));
    }

    #[test]
    fn bad_headers_are_refused() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
            "{'descr': '<f4', 'fortran_order': False, 'shape': ((((((1,)}",
            "{'é': 1}",
        ] {
            assert!(parse_header(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fortran_order_is_converted() {
        // [[0, 1, 2], [3, 4, 5]] stored by columns.
        assert_eq!(row_major(&[0, 3, 1, 4, 2, 5], &[2, 3]), [0, 1, 2, 3, 4, 5]);
        // shape (2, 1, 2)
        assert_eq!(row_major(&[0, 2, 1, 3], &[2, 1, 2]), [0, 1, 2, 3]);
    }
}
