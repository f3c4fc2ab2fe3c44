"""Tables of Parquet and Arrow files, read without trusting them: piece by piece, each piece counted and checked."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from vision_pwil.demonstrations.episode import Array
from vision_pwil.demonstrations.parsing import plain
from vision_pwil.system.errors import InputError
from vision_pwil.system.memory import Allowance

_LISTS = (pa.types.is_fixed_size_list, pa.types.is_list, pa.types.is_large_list)
_ROWS = 1000
"""Read at a time: a number that repeats takes a few bytes of a Parquet file, so only what was read can be counted. (The
counts in the file's own metadata are no way out: looking at damaged ones ends the process, in pyarrow 26.)"""


def table(path: Path, columns: Sequence[str] | None = None, allowance: Allowance | None = None) -> pa.Table:
    """All rows of a Parquet or Arrow file; all columns, or of those named the ones that it has."""
    allowance = allowance or Allowance()
    pieces = []
    for batch in _batches(path, columns):
        allowance.take(batch.nbytes)
        pieces.append(batch)
    if not pieces:
        raise InputError("it holds an empty table.")
    return pa.Table.from_batches(pieces).combine_chunks()


def _batches(path: Path, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    """The rows, some at a time."""
    with plain(path).open("rb") as file:
        if file.read(6) == b"ARROW1":
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                batch.validate(full=True)  # Arrow trusts the offsets in a file unless told not to
                yield batch if columns is None else batch.select([c for c in columns if c in batch.schema.names])
        else:
            parquet = pq.ParquetFile(file)
            known = parquet.schema_arrow.names
            known = known if columns is None else [name for name in columns if name in known]
            for batch in parquet.iter_batches(_ROWS, columns=known):
                yield batch.select(known)  # asked for "action", Arrow gives "action.note" as well


def values(path: Path, column: str, first: int, last: int) -> Iterator[Any]:
    """One column of a Parquet file from the first row to the last, one in memory at a time."""
    with plain(path).open("rb") as file:
        parquet = pq.ParquetFile(file)
        starts = np.cumsum([0, *(parquet.metadata.row_group(k).num_rows for k in range(parquet.num_row_groups))])
        groups = [k for k in range(parquet.num_row_groups) if starts[k] <= last and starts[k + 1] > first]
        row = int(starts[groups[0]]) if groups else 0
        for batch in parquet.iter_batches(1, row_groups=groups, columns=[column]):
            if first <= row <= last:
                yield batch.column(0)[0].as_py()
            row += 1


def numbers(column: Any, what: str) -> Array:
    """A column of numbers, or of lists of them (of lists), one row for each step: (n, k)."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    rows = len(values)
    while any(is_list(values.type) for is_list in _LISTS):
        if values.null_count:
            raise InputError(f"the column {what!r} has empty rows.")
        if not pa.types.is_fixed_size_list(values.type) and len(values.value_lengths().unique()) > 1:
            raise InputError(f"the column {what!r} has rows of different lengths.")
        values = values.flatten()
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise InputError(f"the column {what!r} is not made of numbers.")
    if values.null_count:
        raise InputError(f"the column {what!r} has empty entries.")
    array = np.asarray(values.to_numpy(zero_copy_only=False))
    return array.reshape(rows, -1) if rows else array.reshape(0, 1)
