"""Judges the rows of Parquet files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np

from ._index import Index
from ._places import Place, Ranges, Remote, Where, ahead, each, for_reader, identity, parquet_files
from ._settings import IndexSettings, check_names
from ._columns import check_columns, column_of, plain
from ._verdicts import Verdicts

if TYPE_CHECKING:
    import pyarrow


_BATCH_BYTES = 64 << 20  # that the rows of a batch take, about
_DICTIONARY_BYTES = 4 << 20  # that a writer puts into a dictionary at most; Arrow's limit is 1 MB


class Footer(NamedTuple):
    schema: pyarrow.Schema
    rows: int


def footer_of(name: Place) -> Footer:
    """The error names the file."""
    import pyarrow
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_metadata(for_reader(name))
        return Footer(metadata.schema.to_arrow_schema(), metadata.num_rows)
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise type(error)(f"{name}: cannot be read: {str(error).removeprefix(f'{name}: cannot be read: ')}") from error


class _AtOnce(NamedTuple):
    rows: int  # of a batch, so that they take about _BATCH_BYTES
    decoded: int  # of these, decoded at once: fewer in a large row group, where long rows may lie side by side


def _is_in(path: str, columns: Sequence[str]) -> bool:
    return any(f"{path}.".startswith(f"{column}.") for column in columns)


OnError = Literal["raise", "skip"]


def skips(on_error: OnError) -> bool:
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error: {on_error!r} is neither 'raise' nor 'skip'")
    return on_error == "skip"


def is_of_the_file(error: Exception) -> bool:
    """Whether it is the content of the file that is wrong, and not the way to it."""
    import pyarrow

    if isinstance(error, (pyarrow.ArrowException, KeyError)):
        return not isinstance(error, (pyarrow.ArrowMemoryError, pyarrow.ArrowCancelled))
    return type(error) is OSError  # not one of its kinds, such as Unreachable


def message_of(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) else str(error)


def _at_once(group: Any, columns: Sequence[str] | None, batch_rows: int) -> _AtOnce:
    chunks = [group.column(i) for i in range(group.num_columns)]
    size = sum(chunk.total_uncompressed_size for chunk in chunks if columns is None or _is_in(chunk.path_in_schema, columns))
    rows = batch_rows
    while rows > 1 and size * rows > _BATCH_BYTES * group.num_rows:
        rows = (rows + 1) // 2  # so that row groups that are alike are read with one number
    return _AtOnce(rows, rows if size < 4 * _BATCH_BYTES else (rows + 7) // 8)


def _joined(batches: Iterable[pyarrow.RecordBatch], rows: int) -> Iterator[pyarrow.RecordBatch]:
    """Batches with up to so many rows, of about _BATCH_BYTES."""
    import pyarrow

    held: list[pyarrow.RecordBatch] = []

    def whole() -> pyarrow.RecordBatch:
        return held[0] if len(held) == 1 else pyarrow.Table.from_batches(held).combine_chunks().to_batches()[0]

    for batch in batches:
        size = sum(part.nbytes for part in held) + batch.nbytes
        if held and (sum(map(len, held)) + len(batch) > rows or size > _BATCH_BYTES):
            yield whole()
            held = []
        held.append(batch)
    if held:
        yield whole()


def _repeated_texts(file: Any, batch_rows: int) -> dict[str, pyarrow.DataType]:
    """The columns of texts that a dictionary may hold once, and a batch often enough to be too large, with their types."""
    import pyarrow as pa

    found, large = set(), set()
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        for chunk in (group.column(i) for i in range(group.num_columns)):
            if not chunk.has_dictionary_page or chunk.physical_type != "BYTE_ARRAY":
                continue
            if chunk.total_uncompressed_size * batch_rows > _BATCH_BYTES:
                found.add(chunk.path_in_schema)
            # More than a dictionary and its numbers: plain pages follow, whose values Arrow would add to the dictionary.
            if chunk.total_uncompressed_size > _DICTIONARY_BYTES + 4 * chunk.num_values:
                large.add(chunk.path_in_schema)
    found -= large
    plain = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    return {field.name: field.type for field in file.schema_arrow if field.name in found and field.type in plain}


def _row_bytes(batch: pyarrow.RecordBatch, repeated: Iterable[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """About how many bytes each row takes once its texts do not share a dictionary."""
    import pyarrow.compute as pc

    out = np.zeros(len(batch), np.int64)
    for name, column in zip(batch.schema.names, batch.columns):
        if name in repeated:
            lengths = pc.fill_null(pc.binary_length(column.dictionary), 0)
            out += np.asarray(pc.fill_null(lengths.take(column.indices), 0), np.int64)
        else:
            out += column.nbytes // max(1, len(batch))
    return out


def _plain(batch: pyarrow.RecordBatch, repeated: dict[str, pyarrow.DataType]) -> Iterator[pyarrow.RecordBatch]:
    """The same rows without the dictionaries of these columns, in batches of about _BATCH_BYTES."""
    import pyarrow

    schema = pyarrow.schema([field.with_type(repeated.get(field.name, field.type)) for field in batch.schema], batch.schema.metadata)
    if schema.equals(batch.schema):
        yield batch
        return
    ends = np.cumsum(_row_bytes(batch, repeated))
    first = 0
    while first < len(batch):
        before = ends[first - 1] if first else 0
        end = max(first + 1, int(np.searchsorted(ends, before + _BATCH_BYTES, "right")))
        part = batch.slice(first, end - first)
        columns = [column.cast(field.type) for column, field in zip(part.columns, schema)]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)
        first = end


def check_batch_rows(batch_rows: int) -> None:
    if batch_rows < 1:
        raise ValueError(f"batch_rows: {batch_rows} is not a number of rows; give 1 or more")


def parquet_batches(
    name: Place, wanted: Sequence[str], columns: Sequence[str] | None, batch_rows: int, row: int = 0
) -> Iterator[pyarrow.RecordBatch]:
    """Yields the batches of a file that must have the columns `wanted`, starting at a row.

    A batch has at most `batch_rows` rows, and fewer if they are long. `columns`: None or empty: all columns. Errors name
    the file and the first row that was not read.
    """
    import pyarrow
    import pyarrow.parquet as parquet

    columns = columns or None
    # With its defaults, Arrow keeps the compressed pages of all row groups read so far, and the memory of old batches.
    how: Any = {"pre_buffer": False, "buffer_size": 1 << 20}
    try:
        source = for_reader(name)  # pyarrow does not close it, if it is no path
        with parquet.ParquetFile(source, **how) as file:
            streams = file.metadata.num_columns if columns is None else len(columns)
            check_columns(file.schema_arrow, wanted, str(name))
            groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            at_once = [_at_once(file.metadata.row_group(i), columns, batch_rows) for i in range(file.num_row_groups)]
            repeated = _repeated_texts(file, batch_rows)
            metadata = file.metadata
        if isinstance(source, Ranges):
            source.for_streams(streams)
        with parquet.ParquetFile(source, metadata=metadata, read_dictionary=list(repeated), **how) as file:
            skipped = 0  # whole row groups, then rows
            while skipped < len(groups) and sum(groups[: skipped + 1]) <= row:
                skipped += 1
            over = row - sum(groups[:skipped])
            while skipped < len(groups):
                end = skipped + 1
                while end < len(groups) and at_once[end] == at_once[skipped]:
                    end += 1
                rows, size = at_once[skipped]
                decoded = file.iter_batches(batch_size=size, columns=columns, use_threads=False, row_groups=range(skipped, end))
                plain = (part for batch in decoded for part in _plain(batch, repeated))
                for batch in plain if rows == size else _joined(plain, rows):
                    if over >= len(batch):
                        over -= len(batch)
                        continue
                    batch, over = batch.slice(over), 0
                    yield batch
                    row += len(batch)
                    pyarrow.default_memory_pool().release_unused()
                skipped = end
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        said = str(error).removeprefix(f"{name}: cannot be read: ")
        raise type(error)(f"{name}: cannot be read from row {row} on: {said}") from error


def _rows(name: Place, wanted: Sequence[str], columns: Sequence[str] | None, first: int, end: int) -> pyarrow.RecordBatch:
    """The rows [first, end) of a file as one batch."""
    import pyarrow

    parts, row = [], first
    for batch in parquet_batches(name, wanted, columns, end - first, first):
        parts.append(batch.slice(0, end - row))
        row += len(batch)
        if row >= end:
            break
    return parts[0] if len(parts) == 1 else pyarrow.Table.from_batches(parts).combine_chunks().to_batches()[0]


def on_this_machine(files: Sequence[Place], folder: str) -> list[str]:
    """Files for the index, which remembers its files by device, inode and content. A small one stands for a remote one."""

    def stand_in(file: Place) -> str:
        if not isinstance(file, Remote):
            return file
        known = "PAR1" + json.dumps({"file": str(file), "server": file.endpoint, **identity(file)})  # of Parquet, by its first bytes
        path = os.path.join(folder, hashlib.blake2b(f"{file.endpoint} {file}".encode(), digest_size=16).hexdigest())
        if os.path.exists(path):
            with open(path, encoding="utf-8") as there:
                if there.read() == known:
                    return path
        with open(path + ".tmp", "w", encoding="utf-8") as out:
            out.write(known)
        os.replace(path + ".tmp", path)
        return path

    if any(isinstance(file, Remote) for file in files):
        os.makedirs(folder, exist_ok=True)
    return each(stand_in, list(files))


def _places_in(file: Remote, first_row: int, rows: int) -> pyarrow.Array:
    """The ids of rows without one: their places."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pa.array(np.arange(first_row, first_row + rows)).cast(pa.string())
    return pc.binary_join_element_wise(str(file), numbers, "/")


def _batches_of(
    files: Sequence[Place], first_rows: Sequence[int], wanted: Sequence[str], columns: Sequence[str] | None, batch_rows: int, skip: bool
) -> Iterator[tuple[int, pyarrow.RecordBatch | Exception | None]]:
    """The numbers of files with their batches. A file begins with None. `skip`: an error ends the file, and is yielded."""
    for number, (name, first_row) in enumerate(zip(files, first_rows)):
        if first_row < 0:
            continue
        yield number, None
        try:
            for batch in parquet_batches(name, wanted, columns, batch_rows, first_row):
                yield number, batch
        except Exception as error:
            if not skip or not is_of_the_file(error):
                raise
            yield number, error


def given_rows(
    index: Index, files: Sequence[Place], paths: list[str], text: str, id: str | None, columns: Sequence[str] | None, batch_rows: int, resume: bool,
    skip: bool = False,
) -> Iterator[tuple[int, int, pyarrow.RecordBatch, Verdicts]]:  # fmt: skip
    """Gives the rows of files to an index. Yields the number of the file, the first row, the batch and its verdicts.

    paths: what on_this_machine() says of the files; skip: a file that cannot be read is a warning, and the next one follows
    """
    needed = [text] if id is None else [text, id]
    core = index._core
    pass_, first_rows, problems, handed = core.begin_files(paths, resume)
    for problem in problems:
        warnings.warn(problem, stacklevel=3)
    given = _batches_of(files, tuple(first_rows), columns or needed, columns, batch_rows, skip)
    current = -1  # the file whose rows come
    for number, batch in ahead(given) if any(isinstance(file, Remote) for file in files) else given:
        name, first_row = files[number], first_rows[number]
        if batch is None:
            if current >= 0:
                core.end_file(pass_)
            core.begin_file(pass_, number)
            current = number
            if handed is not None and handed[0] == number:
                yield number, handed[1], _rows(name, columns or needed, columns, handed[1], first_row), Verdicts(handed[2])
        elif isinstance(batch, Exception):
            warnings.warn(f"skipped: {message_of(batch)}", stacklevel=3)
            current = -1  # not finished: the next pass tries it again
        else:
            ids = plain(column_of(batch, id)) if id is not None else None
            if id is None and isinstance(name, Remote):
                ids = _places_in(name, first_row, len(batch))
            yield number, first_row, batch, Verdicts(core.add_rows(pass_, first_row, plain(column_of(batch, text)), ids, None))
            first_rows[number] += len(batch)
    if current >= 0:
        core.end_file(pass_)
    core.end_files(pass_)


def scan_parquet(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    text: str = "text",
    id: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    index: Index | None = None,
    batch_rows: int = 10_000,
    resume: bool = True,
    on_error: OnError = "raise",
    storage_options: Mapping[str, Any] | None = None,
    filesystem: Any = None,
    **settings: Unpack[IndexSettings],
) -> Iterator[tuple[pyarrow.RecordBatch, Verdicts]]:
    """Yields the batches of Parquet files with the verdicts of their rows, in the order of the files. Needs pyarrow.

    paths     files, patterns ("crawl/part-*.parquet"), or directories whose Parquet files (.parquet, .parq, .pq) are read in
              the order of their names, without those whose names, or whose folders' names, begin with _ or .; also URLs:
              "s3://bucket/crawl", "hf://...", "https://..."
    text, id  the columns, or fields inside of them: "doc.text"; without `id`, a row's id is its place: "crawl/0.parquet/17"
    columns   the columns of a batch, which always include text and id; None: all columns
    index     an index to add to; without it, one is made with `settings` and ends with the last batch
    on_error  "raise", or "skip": a file that cannot be read, or lacks the column, is a warning that names it, and the next
              file follows. Batches of it may have come before. A file that cannot be reached is an error
    resume    True: skip the rows that an index with a path knows; False: yield all rows; those that it knows have the
              verdicts that they had
    storage_options, filesystem
              as in clean()

    ```
    with pq.ParquetWriter("clean.parquet", pq.read_schema("crawl.parquet")) as clean:
        for batch, verdicts in scan_parquet("crawl.parquet", id="url"):
            clean.write_batch(batch.filter(pa.array(verdicts.is_unique)))
    ```

    An index with a path remembers which rows it has decided, like `doppel scan --state`, in the commit that holds their
    verdicts. So the next pass over the same files, after a kill or on another day, continues at the file and row
    where the last one ended, and skips finished files. The batch that the program was processing when it ended comes
    again, with the same verdicts. So write the results of a batch in such a way that writing them twice does no harm,
    or use clean().

    A batch has at most batch_rows rows, and fewer if they are long: about 64 MB. Besides the index, memory holds about
    four batches, however large the files and their row groups are: the current batch, the next one, and what Arrow
    needs to decode it.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("scan_parquet() reads with pyarrow, which is not installed: pip install pyarrow") from None
    check_names(settings, scan_parquet)
    check_batch_rows(batch_rows)
    needed = [text] if id is None else [text, id]
    chosen = None if columns is None else list(dict.fromkeys([*needed, *columns]))
    files = [file for file, _ in parquet_files(paths, Where(storage_options, filesystem))]
    own = None
    if index is None:
        index = own = Index(**settings)
    elif settings:
        raise TypeError(f"settings are those of the index: {', '.join(settings)}")
    try:
        with contextlib.ExitStack() as stack:
            kept = index.settings["state_directory"]
            folder = os.path.join(kept, "remote-files") if kept else stack.enter_context(tempfile.TemporaryDirectory(prefix="doppel-"))
            for _, _, batch, verdicts in given_rows(index, files, on_this_machine(files, folder), text, id, chosen, batch_rows, resume, skips(on_error)):
                yield batch, verdicts
    finally:
        if own is not None:
            own.close()
