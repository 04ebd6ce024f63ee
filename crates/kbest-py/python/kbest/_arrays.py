"""Everything that may be called an array, as numpy arrays. Used by the extension module where numpy's own memory will not do."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .errors import DtypeError, ShapeError

_CPU = 1  # DLPack's number for main memory


def _refuse(argument: str, expected: str, got: object) -> DtypeError:
    error = DtypeError(f"{argument}: expected {expected}, got {got}")
    error.argument = argument
    return error


def _from_torch(tensor: Any) -> Any:
    """A tensor in main memory, as numpy sees it. From a GPU it is copied by way of pinned memory, which is faster."""
    import torch

    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:  # numpy has no such type
        tensor = tensor.float()
    if tensor.is_sparse or tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.device.type == "cuda":
        pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        pinned.copy_(tensor, non_blocking=True)
        torch.cuda.current_stream(tensor.device).synchronize()
        tensor = pinned
    elif tensor.device.type != "cpu":
        tensor = tensor.cpu()
    return tensor.resolve_conj().resolve_neg().numpy()


def to_numpy(value: Any, argument: str) -> Any:
    """The value as a numpy array, without a copy where possible."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        if value.__dlpack_device__()[0] == _CPU:
            try:
                return np.from_dlpack(value)
            except (BufferError, RuntimeError, TypeError):
                pass  # a type or layout that numpy's DLPack does not take; `__array__` may
        elif not hasattr(value, "__array__"):
            raise _refuse(argument, "an array in main memory", "one on another device: copy it first")
    try:
        array = np.asarray(value)
    except ValueError as problem:
        error = ShapeError(f"{argument}: expected rows of equal length, got {problem}")
        error.argument = argument
        raise error from None
    except Exception as problem:
        raise _refuse(argument, "an array", problem) from None
    if array.dtype.kind not in "fiub":
        raise _refuse(argument, "an array of numbers", f"{type(value).__name__} of {array.dtype}")
    return array


def in_c_order(array: Any, argument: str, dtype: str) -> Any:
    """The array with this type in C order: native byte order, aligned."""
    try:
        with np.errstate(over="ignore"):  # what becomes infinite is refused later, with its place
            return np.require(array, dtype=np.dtype(dtype), requirements=["C", "A"])
    except (TypeError, ValueError) as problem:
        raise _refuse(argument, dtype, problem) from None


def dtype_name(dtype: Any) -> str:
    """The name of a type: numpy's, torch's or a string."""
    name = str(dtype)
    if name.startswith("torch."):
        return name[len("torch.") :]
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        return name


def sparse_edges(matrix: Any, base: float) -> Any:
    """A scipy.sparse matrix as kbest.SparseEdges."""
    from ._kbest import SparseEdges

    rows, columns = matrix.shape
    if rows != columns:
        error = ShapeError(f"edge: expected a square matrix, got ({rows}, {columns})")
        error.argument = "edge"
        raise error
    matrix = matrix.tocsr(copy=True)
    matrix.sum_duplicates()
    matrix = matrix.tocoo()
    return SparseEdges(rows, matrix.row, matrix.col, matrix.data, base)
