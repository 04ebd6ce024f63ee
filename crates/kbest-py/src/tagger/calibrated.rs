//! Taggers whose probabilities fit held-out data.

use super::PyTagger;
use crate::error;
use pyo3::prelude::*;

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
        let model = py.detach(|| self.model.clone().calibrated(&data, threads));
        let model = model.map_err(|failed| error::exception(py, failed))?;
        Self::new(py, model, self.options.clone())
    }
}
