//! Checkpoints between epochs, so that a killed run can resume: bytes that belong to one training set and one set of
//! options, with a checksum.

use super::{SegmentTrainingSet, Standing, Trainer, TrainingSet};
use crate::feature::{Dictionary, Extractor, FeatureBuffer};
use crate::sequence::Sequence;
use crate::state::{StateReader, StateWriter};
use kbest_core::LabelSet;
use kbest_core::{Error, Result};
use std::sync::Arc;

const MAGIC: u64 = u64::from_le_bytes(*b"kbestck2");

/// How checkpoints of every version begin.
const ANY_VERSION: &[u8] = b"kbestck";

/// Whether these are the first bytes of a checkpoint, of whatever version.
pub fn is_checkpoint(bytes: &[u8]) -> bool {
    bytes.starts_with(ANY_VERSION)
}

/// A hash of bytes that is the same everywhere (FNV-1a).
#[derive(Debug, Clone, Copy)]
struct Fingerprint(u64);

impl Fingerprint {
    fn new() -> Self {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    fn add(mut self, bytes: &[u8]) -> Self {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        self
    }

    /// The same for eight bytes at once.
    fn word(self, word: u64) -> Self {
        Fingerprint((self.0 ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(29))
    }
}

/// Data that can be distinguished from other data.
pub trait Distinguished {
    /// Visits what distinguishes it: text, and numbers.
    fn visit(&self, text: &mut dyn FnMut(Mark<'_>));
}

/// What distinguishes data.
#[derive(Debug, Clone, Copy)]
pub enum Mark<'a> {
    /// Text.
    Text(&'a [u8]),
    /// A number.
    Number(u64),
}

/// Distinguishes training sets and options: labels, features with their names and values, weights, and where features come
/// from. `options` is any text that describes what else the run depends on.
pub fn fingerprint(data: &impl Distinguished, options: &str) -> u64 {
    let mut hash = Fingerprint::new().add(options.as_bytes()).add(&[0]);
    data.visit(&mut |mark| {
        hash = match mark {
            Mark::Text(text) => hash.add(text).add(&[0]),
            Mark::Number(number) => hash.word(number),
        }
    });
    hash.0
}

fn visit_names(labels: &LabelSet, extractor: &Extractor, visit: &mut dyn FnMut(Mark<'_>)) {
    visit(Mark::Text(format!("{:?}", extractor.source()).as_bytes()));
    labels.names().for_each(|name| visit(Mark::Text(name.as_bytes())));
    for features in [extractor.nodes(), extractor.edges(), extractor.frequent_words()] {
        visit_keys(features, visit);
    }
}

fn visit_keys(keys: &Dictionary, visit: &mut dyn FnMut(Mark<'_>)) {
    visit(Mark::Number(keys.len() as u64));
    keys.keys().for_each(|key| visit(Mark::Text(key)));
}

fn visit_positions(features: &FeatureBuffer, visit: &mut dyn FnMut(Mark<'_>)) {
    for t in 0..features.len() {
        visit(Mark::Number(features.nodes(t).len() as u64));
        let ids = features.nodes(t).iter().chain(features.edges(t));
        ids.for_each(|&id| visit(Mark::Number(id.into())));
        features.values(t).into_iter().flatten().for_each(|value| visit(Mark::Number(value.to_bits())));
    }
}

impl<D: Distinguished> Distinguished for Arc<D> {
    fn visit(&self, visit: &mut dyn FnMut(Mark<'_>)) {
        (**self).visit(visit);
    }
}

impl Distinguished for TrainingSet {
    fn visit(&self, visit: &mut dyn FnMut(Mark<'_>)) {
        visit_names(self.labels(), self.extractor(), visit);
        visit(Mark::Number(self.label_parts().map_or(0, |parts| parts.parts() as u64)));
        for name in self.agreement().iter().flat_map(|groups| groups.names()) {
            visit(Mark::Text(name.as_bytes()));
        }
        for example in self.examples() {
            visit(Mark::Number(example.gold.len() as u64));
            visit(Mark::Number(example.weight.to_bits()));
            example.gold.iter().for_each(|&y| visit(Mark::Number(y.into())));
            visit_positions(&example.features, visit);
        }
    }
}

impl Distinguished for SegmentTrainingSet {
    fn visit(&self, visit: &mut dyn FnMut(Mark<'_>)) {
        visit_names(self.labels(), self.extractor(), visit);
        visit_keys(self.features().keys(), visit);
        visit_keys(self.features().texts(), visit);
        self.longest().iter().for_each(|&longest| visit(Mark::Number(longest.into())));
        for example in self.examples() {
            visit(Mark::Number(example.gold.len() as u64));
            visit(Mark::Number(example.weight.to_bits()));
            for segment in &example.gold {
                visit(Mark::Number(segment.end as u64));
                visit(Mark::Number(segment.label.into()));
            }
            visit_positions(&example.features, visit);
        }
    }
}

/// Distinguishes sequences, such as held-out data: their cells, values, labels and weights.
pub fn fingerprint_of_sequences(sequences: &[Sequence]) -> u64 {
    let mut hash = Fingerprint::new();
    for sequence in sequences {
        hash = hash.word(sequence.len() as u64).word(sequence.weight().to_bits());
        for t in 0..sequence.len() {
            for cell in sequence.cells(t).chain(sequence.label(t)) {
                hash = hash.add(cell.as_bytes()).add(&[0]);
            }
            for value in sequence.values(t).into_iter().flatten() {
                hash = hash.word(value.to_bits());
            }
        }
    }
    hash.0
}

/// The progress of training and the trainer's state, as bytes.
pub fn save_checkpoint(fingerprint: u64, standing: &Standing, trainer: &(impl Trainer + ?Sized)) -> Vec<u8> {
    let mut state = StateWriter::new();
    state.number(MAGIC);
    state.number(fingerprint);
    state.number(standing.epochs as u64);
    state.number(standing.best.unwrap_or(f64::NAN));
    state.number(standing.since_best as u64);
    state.number(u64::from(standing.converged));
    state.number(standing.loss);
    state.number(standing.still_for as u64);
    trainer.save(&mut state);
    let mut bytes = state.into_bytes();
    let checksum = Fingerprint::new().add(&bytes).0;
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// Restores a new trainer to where [`save_checkpoint`] was called; `file` is the name of the bytes in errors.
///
/// # Errors
/// [`Error::Data`] if the bytes are damaged or belong to other data or options.
pub fn load_checkpoint(
    file: &str,
    bytes: &[u8],
    expected: u64,
    trainer: &mut (impl Trainer + ?Sized),
) -> Result<Standing> {
    let damaged = |got: &str| Error::data(file, 0, "a complete checkpoint", got);
    let (content, checksum) = bytes.split_last_chunk().ok_or_else(|| damaged("too few bytes"))?;
    let mut state = StateReader::new(content);
    if state.number::<u64>()? != MAGIC {
        let other =
            if is_checkpoint(bytes) { "one of another version of kbest" } else { "another kind of file" };
        return Err(damaged(other));
    }
    if Fingerprint::new().add(content).0 != u64::from_le_bytes(*checksum) {
        return Err(damaged("bytes that do not match their checksum"));
    }
    if state.number::<u64>()? != expected {
        return Err(Error::data(
            file,
            0,
            "a checkpoint of the same data and options",
            "one of other data or options; train without resuming",
        ));
    }
    let standing = Standing {
        epochs: state.number::<u64>()? as usize,
        best: Some(state.number::<f64>()?).filter(|best| !best.is_nan()),
        since_best: state.number::<u64>()? as usize,
        converged: state.number::<u64>()? != 0,
        loss: state.number()?,
        still_for: state.number::<u64>()? as usize,
    };
    trainer.restore(&mut state)?;
    if state.is_done() { Ok(standing) } else { Err(damaged("more bytes after it")) }
}
