//! The border of the C data interface: the one place outside the library's kernels with `unsafe` (record 0014).
//!
//! What the producer puts into its structures is believed here: the interface gives pointers without the sizes of what they point
//! to. What they point to is not believed: whoever reads a column checks its nulls, offsets, children and text first (`mod.rs`).

#![allow(unsafe_code)]

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::CStr;

/// The name that the specification gives to capsules with a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// The tables of an object with `__arrow_c_stream__`.
pub(super) fn reader(object: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(STREAM))?;
    let stream = pointer.cast::<FFI_ArrowArrayStream>().as_ptr();
    // SAFETY: a capsule of this name points to a stream of the C data interface (checked above; the layout is the
    // specification's), which is valid while the capsule lives. `from_raw` moves the stream out and marks the original as
    // released, so that it is released once. That buffers are as long as lengths and offsets say, and stay as they are until
    // they are released, is the producer's promise. Nothing else about their content is relied on before it is checked.
    let read = unsafe { RecordBatchStreamReader::from_raw(stream) };
    read.map_err(|error| PyTypeError::new_err(format!("batch: expected a table of Arrow, got {error}")))
}

/// A capsule from which another library takes these tables.
pub(super) fn stream<'py>(
    py: Python<'py>,
    tables: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(tables)), STREAM)
}
