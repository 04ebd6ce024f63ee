//! What training yields: a model of positions or of segments.

use kbest::columns::TextFormat;
use kbest::evaluate::Spans;
use kbest::train::{HeldOut, Measure, held_out, segment_held_out};
use kbest::{Model, Result, SegmentModel, Sequence};
use std::path::Path;
use std::sync::Arc;

/// A model that training can write, read again and measure.
pub(super) trait Product: Sized + 'static {
    fn save(&self, path: &Path) -> Result<()>;
    fn save_with_remark(&self, path: &Path, name: &str, text: &str) -> Result<()>;
    fn load(path: &Path) -> Result<Self>;
    /// How good it is on held-out data.
    fn held_out(model: &Arc<Self>, sequences: &[Sequence], threads: usize, by: Measure) -> Result<HeldOut>;
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

    /// Labels that follow no scheme have spans only if these are asked for: runs of one label.
    fn held_out(model: &Arc<Self>, sequences: &[Sequence], threads: usize, by: Measure) -> Result<HeldOut> {
        let runs = (by == Measure::SpanF1).then_some(Spans::Runs);
        held_out(model, sequences, threads, Spans::detect(model.labels().names()).or(runs))
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

    fn held_out(model: &Arc<Self>, sequences: &[Sequence], threads: usize, _: Measure) -> Result<HeldOut> {
        segment_held_out(model, sequences, threads)
    }

    fn with_about(self, text: TextFormat, about: Vec<(String, String)>) -> Result<Self> {
        let mut parts = self.into_parts();
        (parts.text_format, parts.about) = (Some(text), about);
        SegmentModel::new(parts)
    }
}
