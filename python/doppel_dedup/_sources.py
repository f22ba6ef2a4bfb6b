"""Copies tables to files, so that a job can read them twice in the same order, and continue after a kill."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ._inputs import columns_of_rows, is_open_file, is_rows

if TYPE_CHECKING:
    import pyarrow

_FILE_ROWS = 1_000_000
_FILE_BYTES = 2 << 30  # uncompressed
_GROUP_BYTES = 64 << 20  # of a row group


def _batches(src: Any, name: str) -> tuple[pyarrow.Schema, Iterable[pyarrow.RecordBatch]]:
    """The schema and the batches of any kind of table."""
    import pyarrow as pa

    kind = type(src).__module__.split(".")[0].lstrip("_")
    if kind == "datasets":
        if isinstance(src, dict):
            raise TypeError(f"{name}: a {type(src).__name__} of datasets; give one split of it, such as dataset['train']")
        arrow = src.with_format("arrow")
        tables = iter(arrow.iter(10_000))
        if hasattr(src, "num_rows"):
            schema = (arrow[:1] if len(src) else src.data.table.slice(0, 0)).schema
        elif src.features is not None:
            schema = src.features.arrow_schema
        elif (first := next(tables, None)) is not None:
            schema, tables = first.schema, itertools.chain([first], tables)
        else:
            raise ValueError(f"{name}: the {type(src).__name__} has no rows")
        return schema, (batch for part in tables for batch in part.cast(schema).to_batches())
    if kind == "duckdb":
        reader = src.to_arrow_reader(10_000) if hasattr(src, "to_arrow_reader") else src.fetch_arrow_reader(10_000)
        return reader.schema, reader
    if kind == "polars" and not hasattr(src, "to_arrow"):
        src = src.collect()  # a LazyFrame
    if kind == "polars":
        import polars

        oldest = {"compat_level": polars.CompatLevel.oldest()} if hasattr(polars, "CompatLevel") else {}
        src = src.to_arrow(**oldest)  # Parquet has no view types
    if is_open_file(src):
        import pyarrow.parquet as parquet

        src.seek(0)
        if src.read(4) != b"PAR1":
            raise ValueError(f"{name}: the open file {getattr(src, 'name', '')} is not Parquet".replace("  ", " "))
        file = parquet.ParquetFile(src)
        return file.schema_arrow, file.iter_batches(10_000)
    if hasattr(src, "scanner") and hasattr(src, "to_batches"):
        return src.schema, src.to_batches()  # a Dataset of pyarrow
    if is_rows(src):
        src = columns_of_rows(src)
    if isinstance(src, dict):
        table = pa.table(src)
        return table.schema, table.to_batches(10_000)
    if kind == "pandas":
        table = pa.Table.from_pandas(src, preserve_index=False)
        return table.schema, table.to_batches(10_000)
    if isinstance(src, pa.Table):
        return src.schema, src.to_batches(10_000)
    if isinstance(src, pa.RecordBatchReader):
        return src.schema, src
    if hasattr(src, "__arrow_c_stream__"):
        if not hasattr(pa.RecordBatchReader, "from_stream"):
            raise TypeError(f"{name}: {type(src).__name__}: pyarrow {pa.__version__} cannot read it; install pyarrow 15 or newer")
        reader = pa.RecordBatchReader.from_stream(src)
        return reader.schema, reader
    raise TypeError(
        f"{name}: {type(src).__name__} is not a table; give files or folders, or a table: a Dataset of Hugging Face or "
        "pyarrow, a polars DataFrame or LazyFrame, a list of dicts, a relation of duckdb, or anything with __arrow_c_stream__"
    )


class _Parts:
    """Writes batches to files with a limited number of rows and bytes. Holds the rows of one row group."""

    def __init__(self, folder: str, schema: pyarrow.Schema) -> None:
        self._folder, self._schema = folder, schema
        self._out: Any = None
        self._number = 0
        self._held: list[pyarrow.RecordBatch] = []
        self._held_bytes = self._rows = self._bytes = 0  # the last two of the file so far

    def add(self, batch: pyarrow.RecordBatch) -> None:
        while len(batch) > 0:
            each = max(1, batch.nbytes // len(batch))
            part = batch.slice(0, min(_FILE_ROWS - self._rows, max(1, (_GROUP_BYTES - self._held_bytes) // each)))
            batch = batch.slice(len(part))
            self._held.append(part)
            self._held_bytes += part.nbytes
            self._rows, self._bytes = self._rows + len(part), self._bytes + part.nbytes
            if self._held_bytes >= _GROUP_BYTES:
                self._write()
            if self._rows >= _FILE_ROWS or self._bytes >= _FILE_BYTES:
                self._end_file()

    def _write(self) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        if self._out is None:
            path = os.path.join(self._folder, f"part-{self._number:05}.parquet")
            self._out = parquet.ParquetWriter(path, self._schema, compression="zstd")
        table = pyarrow.Table.from_batches(self._held, self._schema)
        if len(table):
            self._out.write_table(table, row_group_size=len(table))
        self._held, self._held_bytes = [], 0

    def _end_file(self) -> None:
        self._write()
        self._out.close()
        self._out, self._rows, self._bytes = None, 0, 0
        self._number += 1

    def close(self) -> None:
        if self._rows or not self._number:
            self._end_file()


class _Identity:
    """What a table is known again by: its number of rows, and a checksum of them in their order."""

    _ROWS = 256  # that are packed at once; batches of a table may be divided otherwise the next time

    def __init__(self, schema: pyarrow.Schema) -> None:
        import pyarrow

        self._hash = hashlib.blake2b(digest_size=16)
        self._schema = schema
        self._writer = pyarrow.ipc.new_stream(pyarrow.PythonFile(self, "w"), schema)
        self._held: list[pyarrow.RecordBatch] = []
        self._rows = self._all_rows = 0

    # What a file needs, for pyarrow.
    closed = False

    def write(self, data: Any) -> int:
        self._hash.update(data)
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def add(self, batch: pyarrow.RecordBatch) -> None:
        self._all_rows += len(batch)
        while len(batch) > 0:
            part = batch.slice(0, self._ROWS - self._rows)
            batch = batch.slice(len(part))
            self._held.append(part)
            self._rows += len(part)
            if self._rows == self._ROWS:
                self._pack()

    def _pack(self) -> None:
        import pyarrow

        self._writer.write_table(pyarrow.Table.from_batches(self._held, self._schema).combine_chunks())
        self._held, self._rows = [], 0

    def value(self) -> dict[str, Any]:
        self._pack()
        self._writer.close()
        return {"rows": self._all_rows, "hash": self._hash.hexdigest()}


def table_identity(src: Any, name: str) -> dict[str, Any]:
    schema, batches = _batches(src, name)
    identity = _Identity(schema)
    for batch in batches:
        identity.add(batch)
    return identity.value()


def staged_table(folder: str) -> dict[str, Any]:
    """The identity of the table that stage() wrote into this folder, which may be gone."""
    with open(folder + ".json", encoding="utf-8") as file:
        out: dict[str, Any] = json.load(file)
    return out


def stage(src: Any, folder: str, name: str = "src") -> list[str]:
    """Writes the table as Parquet files in this folder, unless an earlier call has done so. Returns their paths.

    A file beside the folder holds what the table is known again by, see staged_table().
    `name` is what the caller calls the table.
    """
    if not os.path.isdir(folder):
        temporary = folder + ".tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        os.makedirs(temporary)
        schema, batches = _batches(src, name)
        identity = _Identity(schema)
        out = _Parts(temporary, schema)
        for batch in batches:
            identity.add(batch)
            out.add(batch)
        out.close()
        with open(folder + ".json", "w", encoding="utf-8") as beside:
            json.dump(identity.value(), beside)
        os.replace(temporary, folder)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
