"""Tables of Arrow for :meth:`kbest.Tagger.tag_arrow`."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from .errors import ArgumentError


def _refuse(argument: str, expected: str, got: object) -> ArgumentError:
    error = ArgumentError(f"{argument}: expected {expected}, got {got}")
    error.argument = argument
    return error


def tag_arrow(
    tagger: Any,
    batch: Any,
    column: Optional[Union[str, Sequence[str]]],
    k: int,
    scores: bool,
    probabilities: bool,
    errors: str,
    longest: Optional[int],
    threads: int,
) -> Any:
    """Takes the batch as a stream, and returns the answer as a table of the same library."""
    if errors not in ("raise", "column"):
        raise _refuse("errors", '"raise" or "column"', repr(errors))
    columns = ["tokens"] if column is None else [column] if isinstance(column, str) else list(column)
    library = type(batch).__module__.split(".")[0]
    table = batch
    if library == "pyarrow":
        import pyarrow

        if isinstance(batch, (pyarrow.Array, pyarrow.ChunkedArray)):
            table = pyarrow.table([batch], names=columns)
        elif isinstance(batch, pyarrow.RecordBatch):
            table = pyarrow.Table.from_batches([batch])
    elif library == "polars":
        import polars

        if isinstance(batch, polars.Series):
            table = batch.alias(columns[0]).to_frame()
        elif isinstance(batch, polars.LazyFrame):
            table = batch.collect()
    if not hasattr(table, "__arrow_c_stream__"):
        raise _refuse("batch", "a table of Arrow (__arrow_c_stream__)", type(batch).__name__)
    answer = tagger._tag_arrow(table, columns, k, scores, probabilities, errors == "column", longest, threads)
    if library == "pyarrow":
        return pyarrow.table(answer)
    if library == "polars":
        return polars.DataFrame(answer)
    return answer
