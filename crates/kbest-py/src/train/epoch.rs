//! What is told after each pass.

use kbest::train::EpochEnd;
use pyo3::prelude::*;

/// What `train` tells its callback after each pass over the data.
///
/// Attributes:
///     epoch: passes done.
///     loss: what the algorithm minimises, on the training data.
///     accuracy: share of right labels on the training data; None if the algorithm does not predict while it learns.
///     dev_accuracy: the same on the held-out data, if there is any.
///     best: whether this is the best model on the held-out data so far.
///     seconds: how long the pass took.
#[pyclass(frozen, name = "Epoch", module = "kbest", get_all)]
pub(crate) struct Epoch {
    epoch: usize,
    loss: f64,
    accuracy: Option<f64>,
    dev_accuracy: Option<f64>,
    best: bool,
    seconds: f64,
}

/// What an `Epoch` is made of, in order.
type EpochFields = (usize, f64, Option<f64>, Option<f64>, bool, f64);

#[pymethods]
impl Epoch {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, EpochFields)> {
        let Epoch { epoch, loss, accuracy, dev_accuracy, best, seconds } = *self;
        let restore = py.get_type::<Epoch>().getattr("_restore")?;
        Ok((restore, (epoch, loss, accuracy, dev_accuracy, best, seconds)))
    }

    #[staticmethod]
    fn _restore(
        epoch: usize,
        loss: f64,
        accuracy: Option<f64>,
        dev_accuracy: Option<f64>,
        best: bool,
        seconds: f64,
    ) -> Self {
        Epoch { epoch, loss, accuracy, dev_accuracy, best, seconds }
    }

    fn __repr__(&self) -> String {
        format!("Epoch(epoch={}, loss={:?})", self.epoch, self.loss)
    }
}

impl Epoch {
    pub(super) fn new<M>(end: &EpochEnd<'_, M>, seconds: f64) -> Self {
        Epoch {
            epoch: end.standing.epochs,
            loss: end.report.loss,
            accuracy: end.report.accuracy(),
            dev_accuracy: end.held_out.map(|held_out| held_out.accuracy),
            best: end.best_model.is_some(),
            seconds,
        }
    }
}
