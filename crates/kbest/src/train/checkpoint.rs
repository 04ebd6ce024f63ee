//! Checkpoints between epochs, so that a killed run can resume: bytes that belong to one training set and one set of
//! options, with a checksum.

use super::{SegmentTrainingSet, Standing, Trainer, TrainingSet};
use crate::error::{Error, Result};
use crate::feature::{Extractor, FeatureBuffer};
use crate::label::LabelSet;
use crate::state::{StateReader, StateWriter};

const MAGIC: u64 = u64::from_le_bytes(*b"kbestck1");

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
}

/// Data that can be distinguished from other data.
pub trait Distinguished {
    /// Visits bytes that other data would hardly have.
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8]));
}

/// Distinguishes training sets and options. `options` is any text that describes what else the run depends on.
pub fn fingerprint(data: &impl Distinguished, options: &str) -> u64 {
    let mut hash = Fingerprint::new().add(options.as_bytes());
    data.visit_bytes(&mut |bytes| hash = hash.add(bytes));
    hash.0
}

fn visit_names(labels: &LabelSet, extractor: &Extractor, visit: &mut dyn FnMut(&[u8])) {
    for name in labels.names() {
        visit(name.as_bytes());
        visit(&[0]);
    }
    for features in [extractor.nodes(), extractor.edges()] {
        visit(&(features.len() as u64).to_le_bytes());
    }
}

fn visit_position(features: &FeatureBuffer, t: usize, visit: &mut dyn FnMut(&[u8])) {
    if let Some(first) = features.nodes(t).first() {
        visit(&first.to_le_bytes());
    }
}

impl Distinguished for TrainingSet {
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit_names(self.labels(), self.extractor(), visit);
        for example in self.examples() {
            visit(&example.weight.to_le_bytes());
            for (t, y) in example.gold.iter().enumerate() {
                visit(&y.to_le_bytes());
                visit_position(&example.features, t, visit);
            }
        }
    }
}

impl Distinguished for SegmentTrainingSet {
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit_names(self.labels(), self.extractor(), visit);
        visit(&(self.features().keys().len() as u64).to_le_bytes());
        visit(&(self.features().texts().len() as u64).to_le_bytes());
        self.longest().iter().for_each(|longest| visit(&longest.to_le_bytes()));
        for example in self.examples() {
            visit(&example.weight.to_le_bytes());
            for segment in &example.gold {
                visit(&segment.label.to_le_bytes());
                (segment.start..segment.end).for_each(|t| visit_position(&example.features, t, visit));
            }
        }
    }
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
        return Err(damaged("another kind of file"));
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
    };
    trainer.restore(&mut state)?;
    if state.is_done() { Ok(standing) } else { Err(damaged("more bytes after it")) }
}
