//! Taggers whose probabilities fit held-out data.

use super::{PyTagger, SharedModel};
use crate::error;
use kbest::train::Product;
use kbest::{Result, Sequence};
use pyo3::prelude::*;
use std::sync::Arc;

impl PyTagger {
    /// A tagger with the same model, calibrated.
    pub(super) fn fitted(
        &self,
        py: Python<'_>,
        sequences: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Self> {
        let data = self.labelled(sequences, labels)?;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        let fit = || match &self.model {
            SharedModel::Positions(model) => calibrated(model, &data, threads).map(SharedModel::Positions),
            SharedModel::Segments(model) => calibrated(model, &data, threads).map(SharedModel::Segments),
        };
        let model = py.detach(fit).map_err(|failed| error::exception(py, failed))?;
        Self::new(py, model, self.options.clone())
    }
}

/// A copy of the model with a calibration.
fn calibrated<M: Product>(model: &Arc<M>, data: &[Sequence], threads: usize) -> Result<Arc<M>> {
    let found = M::calibrate(model, data, threads, &mut |_| ())?;
    let copy = M::from_bytes(&model.to_bytes()?, "<model>")?;
    Ok(Arc::new(copy.with_calibration(found.calibration, "fitted in Python")?))
}
