//! What Python calls an array, as slices.
//!
//! A numpy array in C order with the wanted type is read where it lies. Anything else goes through `kbest._arrays` (tensors,
//! DLPack, `__array__`, nested lists; other types and orders), which returns an array of that kind or raises an exception
//! that names the argument.
//!
//! **What may change meanwhile.** Converting an argument may run Python code, and other threads run while we compute. Either could
//! change the type, shape or strides of an array that we read. So each array is read through a view of our own ([`as_array`]),
//! which no other code can reach. The numbers themselves are not protected: nobody may write to an array during a call.

use crate::error;
use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

/// The float type of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dtype {
    F32,
    F64,
}

impl Dtype {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Dtype::F32 => "float32",
            Dtype::F64 => "float64",
        }
    }

    /// What a user asked for: a name, or anything that numpy takes for a type.
    pub(crate) fn asked(dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = dtype.py();
        if let Ok(name) = dtype.cast::<PyString>() {
            match &*name.to_cow()? {
                "float32" | "f32" => return Ok(Dtype::F32),
                "float64" | "f64" => return Ok(Dtype::F64),
                _ => {}
            }
        }
        let name = helper(py, "dtype_name")?.call1((dtype,))?;
        match &*name.cast::<PyString>()?.to_cow()? {
            "float32" => Ok(Dtype::F32),
            "float64" => Ok(Dtype::F64),
            other => Err(error::dtype(py, "dtype", "float32 or float64", other)),
        }
    }
}

/// A function of `kbest._arrays`.
pub(crate) fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("kbest._arrays").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// The argument as a numpy array of any type, converted if it is none: a view whose type, shape and strides nobody else can change.
pub(crate) fn as_array<'py>(
    value: &Bound<'py, PyAny>,
    argument: &'static str,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let class = value.py().get_type::<PyUntypedArray>(); // numpy's own, whatever that of the array
    if let Ok(array) = value.cast::<PyUntypedArray>() {
        return view(array, &class);
    }
    let converted = helper(value.py(), "to_numpy")?.call1((value, argument))?;
    view(converted.cast()?, &class)
}

/// A new view of an array, as a class or type of numbers.
fn view<'py>(
    array: &Bound<'py, PyUntypedArray>,
    kind: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = array.py();
    // Not the array's own `view`: a class derived from numpy's may have another.
    let view =
        VIEW.get_or_try_init(py, || py.get_type::<PyUntypedArray>().getattr("view").map(Bound::unbind))?;
    Ok(view.bind(py).call1((array, kind))?.cast_into()?)
}

/// The float type that holds the numbers of an array without loss, as numpy promotes: small types fit into 32 bits.
pub(crate) fn dtype_of(array: &Bound<'_, PyUntypedArray>, argument: &'static str) -> PyResult<Dtype> {
    let dtype = array.dtype();
    match (dtype.kind(), dtype.itemsize()) {
        (b'f', 0..=4) | (b'i' | b'u' | b'b', 0..=2) => Ok(Dtype::F32),
        (b'f', 8..) | (b'i' | b'u', _) => Ok(Dtype::F64),
        _ => Err(error::dtype(array.py(), argument, "numbers", dtype.str()?)),
    }
}

/// An array of this type in C order; converted if it is another.
pub(crate) fn read<'py, T: Element>(
    array: &Bound<'py, PyUntypedArray>,
    argument: &'static str,
    name: &'static str,
) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    if let Ok(typed) = array.cast::<PyArrayDyn<T>>()
        && typed.is_c_contiguous()
        && typed.is_aligned()
    {
        return Ok(typed.try_readonly()?);
    }
    let converted = helper(array.py(), "in_c_order")?.call1((array, argument, name))?;
    Ok(converted.cast_into::<PyArrayDyn<T>>()?.try_readonly()?)
}

/// The numbers of an array that [`read`] has put in order.
pub(crate) fn slice<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> &'a [T] {
    array.as_slice().expect("`read` returns aligned arrays in C order")
}

/// A shape as Python writes it.
pub(crate) fn shown(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Whole numbers of any type, as 64-bit ones.
pub(crate) fn integers<'py>(
    value: &Bound<'py, PyAny>,
    argument: &'static str,
) -> PyResult<PyReadonlyArrayDyn<'py, i64>> {
    let array = as_array(value, argument)?;
    let dtype = array.dtype();
    if !matches!(dtype.kind(), b'i' | b'u') && array.len() > 0 {
        return Err(error::dtype(value.py(), argument, "whole numbers", dtype.str()?));
    }
    read(&array, argument, "int64")
}

/// Truth values, in C order.
pub(crate) struct Booleans {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<bool>,
}

/// Truth values of an argument. They are copied, because numpy's are bytes of which any but 0 means true.
pub(crate) fn booleans(value: &Bound<'_, PyAny>, argument: &'static str) -> PyResult<Booleans> {
    let array = as_array(value, argument)?;
    let dtype = array.dtype();
    if !matches!(dtype.kind(), b'b' | b'i' | b'u') && array.len() > 0 {
        return Err(error::dtype(value.py(), argument, "booleans", dtype.str()?));
    }
    let array = match dtype.kind() {
        b'b' if array.is_c_contiguous() => array,
        _ => helper(value.py(), "in_c_order")?.call1((array, argument, "bool"))?.cast_into()?,
    };
    let bytes = view(&array, &numpy::dtype::<u8>(value.py()))?;
    let bytes = read::<u8>(&bytes, argument, "uint8")?;
    let values = slice(&bytes).iter().map(|&byte| byte != 0).collect();
    Ok(Booleans { shape: bytes.shape().to_vec(), values })
}
