//! CRFsuite's binary models.
//!
//! ```text
//! "lCRF", size, "FOMC", 100, (features: 0), labels, attributes, offsets of FEAT, labels, attributes, LFRF, AFRF
//! "FEAT", size, count, then 20 bytes each: type (0 state, 1 transition), source, label, weight (f64)
//! "CQDB", size, flag, byte order, count, offset of the links; records: number, length, string with a zero byte;
//!         links: for each number the offset of its record          -- once for labels, once for attributes
//! ```
//!
//! All numbers are 32 bits wide and little-endian, unless noted. The hash tables of the two databases are not needed,
//! since all strings are listed by number; neither are `LFRF` and `AFRF`, which list features by label and by
//! attribute, because `FEAT` contains the same.

use super::text::shown;
use super::{Model, dictionary, label_set, ranked};
use crate::feature::{Dictionary, Extractor, FeatureSource};
use crate::model::{EdgeWeight, EdgeWeights, ModelParts, NodeWeightsBuilder};
use crate::text::{Format, TextFormat};
use kbest_core::{Error, Result};
use kbest_core::{LabelId, LabelSet};

const HEADER: usize = 48;
const FEATURE: usize = 20;
const CHUNK_HEADER: usize = 12;
const DATABASE_HEADER: usize = 24;
const BYTE_ORDER: u32 = 0x6244_5371;
/// The name of the one edge feature.
const TRANSITIONS: &[u8] = b"B";

/// A piece of the file: all offsets into it are checked.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    bytes: &'a [u8],
    start: usize, // in the file, for errors
    file: &'a str,
}

impl<'a> Piece<'a> {
    fn error(&self, offset: usize, expected: impl std::fmt::Display, got: impl std::fmt::Display) -> Error {
        let at = self.start.saturating_add(offset);
        Error::data(self.file, 0, format_args!("{expected} at byte {at}"), got)
    }

    /// `length` bytes from `offset` on.
    fn piece(&self, offset: usize, length: usize, what: &str) -> Result<Piece<'a>> {
        let end = offset.checked_add(length).filter(|&end| end <= self.bytes.len());
        match end {
            Some(end) => {
                Ok(Piece { bytes: &self.bytes[offset..end], start: self.start + offset, file: self.file })
            }
            None => {
                let left = self.bytes.len().saturating_sub(offset);
                Err(self.error(offset, format_args!("{what} ({length} bytes)"), format_args!("{left} bytes")))
            }
        }
    }

    fn number(&self, offset: usize, what: &str) -> Result<u32> {
        let bytes = self.piece(offset, 4, what)?.bytes;
        Ok(u32::from_le_bytes(bytes.try_into().expect("the piece has four bytes")))
    }

    fn double(&self, offset: usize, what: &str) -> Result<f64> {
        let bytes = self.piece(offset, 8, what)?.bytes;
        Ok(f64::from_le_bytes(bytes.try_into().expect("the piece has eight bytes")))
    }

    /// Rejects anything but this mark.
    fn mark(&self, offset: usize, mark: &str) -> Result<()> {
        let got = self.piece(offset, mark.len(), mark)?.bytes;
        if got == mark.as_bytes() { Ok(()) } else { Err(self.error(offset, mark, shown(got))) }
    }
}

/// A model from the bytes of CRFsuite's file; `file` is its name in errors.
///
/// # Errors
/// [`Error::Data`], with the byte of the fault.
pub fn crfsuite(bytes: &[u8], file: &str) -> Result<Model> {
    let whole = Piece { bytes, start: 0, file };
    let header = whole.piece(0, HEADER, "the header of a CRFsuite model")?;
    header.mark(0, "lCRF")?;
    let size = header.number(4, "size")? as usize;
    let whole = whole.piece(0, size, "the whole model, as its header says")?;
    header.mark(8, "FOMC")?;
    let version = header.number(12, "version")?;
    if version != 100 {
        return Err(header.error(12, "version 100", version));
    }
    let field = |offset| header.number(offset, "header").map(|value| value as usize);
    let names = strings(whole, field(32)?, field(20)?, "labels")?;
    let attributes = strings(whole, field(36)?, field(24)?, "attributes")?;
    let labels = text_labels(whole, field(32)?, &names)?;
    let attributes_at = field(36)?;
    let keys = dictionary(attributes.iter().copied())
        .map_err(|()| whole.error(attributes_at, "each attribute once", "a repeated one"))?;
    let features = Features::read(whole, field(28)?, names.len(), attributes.len())?;

    let mut nodes = NodeWeightsBuilder::new(names.len());
    let mut rows = features.states.chunk_by(|a, b| a.0 == b.0).peekable();
    for attribute in 0..attributes.len() {
        let row = rows.next_if(|row| row[0].0 as usize == attribute).unwrap_or_default();
        nodes.push(row.iter().map(|&(_, label, weight)| (label, weight)))?;
    }
    let edges = EdgeWeights::new(names.len(), [features.transitions])?;
    let edge_keys = Dictionary::from_keys([TRANSITIONS]);
    let extractor = Extractor::from_parts(FeatureSource::Items, keys, edge_keys, Dictionary::default(), 0);
    let about = vec![("origin".into(), "CRFsuite model".into())];
    let text_format = Some(TextFormat::new(Format::Items));
    ranked(Model::new(ModelParts {
        about,
        text_format,
        ..ModelParts::new(labels, extractor, nodes.finish(), edges)
    })?)
}

fn text_labels(whole: Piece<'_>, offset: usize, names: &[&[u8]]) -> Result<LabelSet> {
    let as_text = |name: &&[u8]| match std::str::from_utf8(name) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(whole.error(offset, "labels in UTF-8", shown(name))),
    };
    let texts: Vec<String> = names.iter().map(as_text).collect::<Result<_>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if texts.is_empty() {
        return Err(whole.error(offset, "labels", "none"));
    }
    label_set(&texts)
        .map_err(|twice| whole.error(offset, "each label once", format_args!("{:?} repeated", texts[twice])))
}

/// The strings of a database, by number.
fn strings<'a>(whole: Piece<'a>, offset: usize, count: usize, what: &str) -> Result<Vec<&'a [u8]>> {
    let header = whole.piece(offset, DATABASE_HEADER, "the header of a database")?;
    header.mark(0, "CQDB")?;
    let base = whole.piece(offset, header.number(4, "size")? as usize, "a database")?;
    let byte_order = header.number(12, "byte order")?;
    if byte_order != BYTE_ORDER {
        return Err(header.error(12, format_args!("{BYTE_ORDER:#x}"), format_args!("{byte_order:#x}")));
    }
    let listed = header.number(16, "count")? as usize;
    if listed != count {
        return Err(header.error(16, format_args!("{count} {what}, as in the model's header"), listed));
    }
    let links = base.piece(header.number(20, "links")? as usize, listed.saturating_mul(4), "links")?;
    let mut strings = Vec::with_capacity(listed); // the links are in the file, so there are no more than it has bytes
    let mut total = 0usize;
    for number in 0..listed {
        let record = links.number(number * 4, "link")? as usize;
        let found = base.number(record, "the number of a string")? as usize;
        if found != number {
            return Err(base.error(record, format_args!("string {number} of the {what}"), found));
        }
        let length = base.number(record.saturating_add(4), "the length of a string")? as usize;
        let string = base.piece(record.saturating_add(8), length, "a string")?;
        let Some(string) = string.bytes.strip_suffix(b"\0") else {
            return Err(string.error(0, "a string that ends with a zero byte", shown(string.bytes)));
        };
        total = total.saturating_add(length);
        if total > base.bytes.len() {
            return Err(base.error(
                record,
                "strings that do not overlap",
                "more bytes than the database has",
            ));
        }
        strings.push(string);
    }
    Ok(strings)
}

/// Weights, sorted.
struct Features {
    states: Vec<(u32, LabelId, f32)>, // attribute, label, weight
    transitions: Vec<EdgeWeight>,
}

impl Features {
    fn read(whole: Piece<'_>, offset: usize, labels: usize, attributes: usize) -> Result<Self> {
        let header = whole.piece(offset, CHUNK_HEADER, "the header of the features")?;
        header.mark(0, "FEAT")?;
        let count = header.number(8, "count")? as usize;
        let size = count.saturating_mul(FEATURE);
        let all = whole.piece(offset + CHUNK_HEADER, size, "features")?;
        let (mut states, mut transitions) = (Vec::new(), Vec::new());
        for at in (0..count).map(|i| i * FEATURE) {
            let kind = all.number(at, "the type of a feature")?;
            let source = all.number(at + 4, "a source")?;
            let label = all.number(at + 8, "a label")?;
            let weight = all.double(at + 12, "a weight")?;
            let sources = match kind {
                0 => attributes,
                1 => labels,
                _ => return Err(all.error(at, "type 0 (state) or 1 (transition)", kind)),
            };
            for (offset, value, limit) in [(4, source, sources), (8, label, labels)] {
                if value as usize >= limit {
                    return Err(all.error(at + offset, format_args!("a number below {limit}"), value));
                }
            }
            if !(weight as f32).is_finite() {
                return Err(all.error(at + 12, "a finite weight", weight));
            }
            match kind {
                0 => states.push((source, label, weight as f32)),
                _ => transitions.push(EdgeWeight { from: source, to: label, weight: weight as f32 }),
            }
        }
        states.sort_unstable_by_key(|&(attribute, label, _)| (attribute, label));
        transitions.sort_unstable_by_key(|pair| (pair.from, pair.to));
        let twice = states.windows(2).any(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1));
        let pair = |pair: &EdgeWeight| (pair.from, pair.to);
        if twice || transitions.windows(2).any(|two| pair(&two[0]) == pair(&two[1])) {
            return Err(all.error(0, "each feature once", "a repeated one"));
        }
        Ok(Features { states, transitions })
    }
}
