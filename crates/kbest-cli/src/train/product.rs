//! What training yields: a model of positions or of segments.

use crate::calibrate;
use kbest::columns::TextFormat;
use kbest::train::{Calibrated, accuracy, segment_accuracy};
use kbest::{Model, Result, SegmentModel, Sequence};
use std::path::Path;
use std::sync::Arc;

/// A model that training can write, read again and measure.
pub(super) trait Product: Sized + 'static {
    fn save(&self, path: &Path) -> Result<()>;
    fn save_with_remark(&self, path: &Path, name: &str, text: &str) -> Result<()>;
    fn load(path: &Path) -> Result<Self>;
    /// The share of positions that it labels correctly.
    fn accuracy(model: &Arc<Self>, sequences: &[Sequence], threads: usize) -> Result<f64>;
    /// The model with probabilities that fit these sequences.
    fn calibrated(self, sequences: &[Sequence], threads: usize) -> Result<(Self, Calibrated)>;
    /// The model with remarks on its origin.
    fn with_about(self, text: TextFormat, about: Vec<(String, String)>) -> Result<Self>;
}

impl Product for Model {
    fn save(&self, path: &Path) -> Result<()> {
        Model::save(self, path)
    }

    fn save_with_remark(&self, path: &Path, name: &str, text: &str) -> Result<()> {
        Model::save_with_remark(self, path, name, text)
    }

    fn load(path: &Path) -> Result<Self> {
        Model::load(path)
    }

    fn accuracy(model: &Arc<Self>, sequences: &[Sequence], threads: usize) -> Result<f64> {
        accuracy(model, sequences, threads)
    }

    fn calibrated(self, sequences: &[Sequence], threads: usize) -> Result<(Self, Calibrated)> {
        calibrate::positions(self, sequences, threads)
    }

    fn with_about(self, text: TextFormat, about: Vec<(String, String)>) -> Result<Self> {
        let mut parts = self.into_parts();
        (parts.text_format, parts.about) = (Some(text), about);
        Model::new(parts)
    }
}

impl Product for SegmentModel {
    fn save(&self, path: &Path) -> Result<()> {
        SegmentModel::save(self, path)
    }

    fn save_with_remark(&self, path: &Path, name: &str, text: &str) -> Result<()> {
        SegmentModel::save_with_remark(self, path, name, text)
    }

    fn load(path: &Path) -> Result<Self> {
        SegmentModel::load(path)
    }

    fn accuracy(model: &Arc<Self>, sequences: &[Sequence], threads: usize) -> Result<f64> {
        segment_accuracy(model, sequences, threads)
    }

    fn calibrated(self, sequences: &[Sequence], threads: usize) -> Result<(Self, Calibrated)> {
        calibrate::segments(self, sequences, threads)
    }

    fn with_about(self, text: TextFormat, about: Vec<(String, String)>) -> Result<Self> {
        let mut parts = self.into_parts();
        (parts.text_format, parts.about) = (Some(text), about);
        SegmentModel::new(parts)
    }
}
