//! What training yields: a model of positions or of segments.

use super::calibrate::{Calibrated, OnTemperature, calibrate};
use super::{HeldOut, Measure, held_out};
use crate::evaluate::Spans;
use crate::model::{Model, SegmentModel};
use crate::scoring::TextModel;
use crate::sequence::Sequence;
use crate::text::TextFormat;
use kbest_core::Result;
use kbest_core::marginal::Calibration;
use std::path::Path;
use std::sync::Arc;

/// A model that training can write, read again and measure.
pub trait Product: Sized + Send + Sync + 'static {
    /// Writes its file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    fn save(&self, path: &Path) -> Result<()>;

    /// Writes its file with one more remark on its origin.
    ///
    /// # Errors
    /// As for [`Product::save`].
    fn save_with_remark(&self, path: &Path, name: &str, text: &str) -> Result<()>;

    /// Reads a file of this kind of model.
    ///
    /// # Errors
    /// As for [`Model::load`].
    fn load(path: &Path) -> Result<Self>;

    /// The bytes of its file.
    ///
    /// # Errors
    /// As for [`Model::to_bytes`].
    fn to_bytes(&self) -> Result<Vec<u8>>;

    /// A model from the bytes of its file; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As for [`Model::from_bytes`].
    fn from_bytes(bytes: &[u8], name: &str) -> Result<Self>;

    /// How good it is on held-out data.
    ///
    /// # Errors
    /// Errors of tagging.
    fn held_out(model: &Arc<Self>, sequences: &[Sequence], threads: usize, by: Measure) -> Result<HeldOut>;

    /// A calibration that fits these sequences, computed on this many threads.
    ///
    /// # Errors
    /// As for [`calibrate`].
    fn calibrate(
        model: &Arc<Self>,
        sequences: &[Sequence],
        threads: usize,
        on_temperature: OnTemperature<'_>,
    ) -> Result<Calibrated>;

    /// The model with a calibration, and a remark on where it comes from.
    ///
    /// # Errors
    /// As for [`Model::new`].
    fn with_calibration(self, calibration: Calibration, remark: &str) -> Result<Self>;

    /// The model with remarks on its origin.
    ///
    /// # Errors
    /// As for [`Model::new`].
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

    fn to_bytes(&self) -> Result<Vec<u8>> {
        Model::to_bytes(self)
    }

    fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        Model::from_bytes(bytes, name)
    }

    /// Labels that follow no scheme have spans only if these are asked for: runs of one label.
    fn held_out(model: &Arc<Self>, sequences: &[Sequence], threads: usize, by: Measure) -> Result<HeldOut> {
        let runs = (by == Measure::SpanF1).then_some(Spans::Runs);
        held_out(model, sequences, threads, model.spans().or(runs))
    }

    fn calibrate(
        model: &Arc<Self>,
        sequences: &[Sequence],
        threads: usize,
        on_temperature: OnTemperature<'_>,
    ) -> Result<Calibrated> {
        calibrate(model, sequences, threads, on_temperature)
    }

    fn with_calibration(self, calibration: Calibration, remark: &str) -> Result<Self> {
        let mut parts = self.into_parts();
        note(&mut parts.about, remark);
        parts.calibration = Some(calibration);
        Model::new(parts)
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

    fn to_bytes(&self) -> Result<Vec<u8>> {
        SegmentModel::to_bytes(self)
    }

    fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        SegmentModel::from_bytes(bytes, name)
    }

    fn held_out(model: &Arc<Self>, sequences: &[Sequence], threads: usize, _: Measure) -> Result<HeldOut> {
        held_out(model, sequences, threads, model.spans())
    }

    fn calibrate(
        model: &Arc<Self>,
        sequences: &[Sequence],
        threads: usize,
        on_temperature: OnTemperature<'_>,
    ) -> Result<Calibrated> {
        calibrate(model, sequences, threads, on_temperature)
    }

    fn with_calibration(self, calibration: Calibration, remark: &str) -> Result<Self> {
        let mut parts = self.into_parts();
        note(&mut parts.about, remark);
        parts.calibration = Some(calibration);
        SegmentModel::new(parts)
    }

    fn with_about(self, text: TextFormat, about: Vec<(String, String)>) -> Result<Self> {
        let mut parts = self.into_parts();
        (parts.text_format, parts.about) = (Some(text), about);
        SegmentModel::new(parts)
    }
}

/// Says, for human readers, where a calibration comes from.
fn note(about: &mut Vec<(String, String)>, remark: &str) {
    about.retain(|(name, _)| name != "calibration");
    about.push(("calibration".into(), remark.into()));
}
