//! Taggers whose probabilities fit held-out data.

use super::PyTagger;
use crate::error;
use crate::sequence;
use kbest::Model;
use kbest::train::calibrate;
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
        let mut data = Vec::new();
        let mut labels = labels.try_iter()?;
        for (i, tokens) in sequences.try_iter()?.enumerate() {
            let Some(own) = labels.next() else {
                return Err(error::shape(py, "labels", format!("more than {i} sequences"), i));
            };
            let (sequence, dicts) = sequence::labelled(&tokens?, &own?, i)?;
            self.check(py, dicts)?;
            data.push(sequence);
        }
        if labels.next().is_some() {
            return Err(error::shape(py, "labels", format!("{} sequences", data.len()), "more"));
        }
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores() } else { threads };
        let fit = || {
            let found = calibrate(self.model(), &data, threads, &mut |_| ())?;
            let copy = Model::from_bytes(&self.model().to_bytes()?, "<model>")?;
            Ok(copy.with_calibration(Some(found.calibration)))
        };
        let model = py.detach(fit).map_err(|failed| error::exception(py, failed))?;
        Self::new(py, Arc::new(model), self.constraints.clone(), &self.decoder)
    }
}
