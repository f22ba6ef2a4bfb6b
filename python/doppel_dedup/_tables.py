"""Whole tables and files: what is repeated is dropped."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._index import Index
from ._progress import Progress
from ._verdicts import Verdicts

if TYPE_CHECKING:
    import pyarrow


def _names(table: Any) -> list[str]:
    if hasattr(table, "column_names"):
        return list(table.column_names)  # pyarrow, datasets
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]  # pandas, polars
    return [str(name) for name in table]  # a dict


def check_columns(table: Any, wanted: Iterable[str]) -> None:
    names = _names(table)
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise KeyError(f"no column {name!r} among {', '.join(map(repr, names))}{hint}")


def named_columns(table: Any) -> Any:
    """Something with columns by name."""
    if isinstance(table, dict) or (hasattr(table, "__getitem__") and (hasattr(table, "columns"))):
        return table
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        try:
            import pyarrow
        except ImportError:
            raise TypeError(
                f"{type(table).__name__}: install pyarrow, or give a pandas or polars DataFrame or a dict of lists"
            ) from None
        return pyarrow.table(table)
    raise TypeError(
        f"{type(table).__name__} is no table; give a pyarrow Table, a pandas or polars DataFrame, a dict of lists, or "
        "anything with __arrow_c_stream__; for texts alone use Index.add()"
    )


def row_order(table: Any, by: Sequence[str]) -> np.ndarray[Any, Any]:
    """The rows in ascending order of these columns; equal ones, and missing values at the end, as they are."""
    if hasattr(table, "sort_by"):  # pyarrow
        import pyarrow
        import pyarrow.compute

        columns = pyarrow.table({str(i): table[name] for i, name in enumerate(by)})
        columns = columns.append_column("row", pyarrow.array(np.arange(len(columns))))
        keys = [(str(i), "ascending") for i in range(len(by))] + [("row", "ascending")]
        return np.asarray(pyarrow.compute.sort_indices(columns, sort_keys=keys))
    if hasattr(table, "with_row_index"):  # polars
        return table.select(by).with_row_index("row of doppel").sort(
            by, nulls_last=True, maintain_order=True
        )["row of doppel"].to_numpy()
    if hasattr(table, "iloc"):  # pandas
        rows = table[list(by)].reset_index(drop=True)
        return rows.sort_values(list(by), kind="stable", na_position="last").index.to_numpy()
    columns = [list(table[name]) for name in by]
    rows = range(len(columns[0]) if columns else 0)
    return np.array(sorted(rows, key=lambda i: [(c[i] is None, c[i]) for c in columns]), dtype=np.int64)


def _take(column: Any, order: np.ndarray[Any, Any] | None) -> Any:
    if order is None:
        return column
    if hasattr(column, "iloc"):
        return column.iloc[order]
    if hasattr(column, "take"):  # pyarrow
        return column.take(order)
    if hasattr(column, "gather"):  # polars
        return column.gather(order)
    return [column[i] for i in order]


def _column(column: Any) -> Any:
    """What Index.add() takes: pandas columns that are not Arrow's are lists."""
    if hasattr(column, "iloc") and not hasattr(column, "__arrow_c_stream__"):
        return column.tolist()
    return column


def _keep(table: Any, mask: np.ndarray[Any, Any]) -> Any:
    if isinstance(table, dict):
        return {name: [value for value, kept in zip(column, mask) if kept] for name, column in table.items()}
    if hasattr(table, "iloc"):
        return table[mask]
    if hasattr(table, "sort_by"):
        import pyarrow

        return table.filter(pyarrow.array(mask))
    return table.filter(mask)  # polars


def deduplicate(
    table: Any,
    text: str = "text",
    id: str | None = None,
    order_by: str | Sequence[str] | None = None,
    *,
    keep_unscored: bool = True,
    with_verdicts: bool = False,
    progress: Progress = None,
    **settings: Any,
) -> Any:
    """The table without the rows that repeat an earlier one, of the same type, in the same order.

    table          a pyarrow Table, a pandas or polars DataFrame, a dict of lists, or anything with __arrow_c_stream__ (then
                   pyarrow is needed)
    text, id       the columns; without `id`, rows are called by their number
    order_by       a column, or several: what is earlier. Without it, the order of the rows
    keep_unscored  whether rows without text stay
    with_verdicts  return (table, Verdicts), the verdicts in the order of the rows as they were judged
    settings       as of Index: threshold=0.7, path="index", shingle_words=3

    >>> deduplicate({"text": ["a b c d e f", "A B C D E F", "g h i j k l"], "year": [2021, 2020, 2022]})
    {'text': ['a b c d e f', 'g h i j k l'], 'year': [2021, 2022]}
    >>> deduplicate({"text": ["a b c d e f", "A B C D E F"], "year": [2021, 2020]}, order_by="year")
    {'text': ['A B C D E F'], 'year': [2020]}
    """
    columns = named_columns(table)
    by = [order_by] if isinstance(order_by, str) else list(order_by or [])
    check_columns(columns, [text, *([id] if id is not None else []), *by])
    order = row_order(columns, by) if by else None
    texts = _column(_take(columns[text], order))
    ids = _column(_take(columns[id], order)) if id is not None else None
    with Index(**settings) as index:
        verdicts = index.add(texts, ids, progress=progress)
    mask = verdicts.is_unique
    if keep_unscored:
        mask = ~verdicts.is_duplicate
    if order is not None:
        in_order = mask
        mask = np.empty_like(in_order)
        mask[order] = in_order
    kept = _keep(columns, mask)
    return (kept, verdicts) if with_verdicts else kept


def parquet_files(paths: Any) -> list[str]:
    out: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        name = os.fspath(path)
        if os.path.isdir(name):
            for folder, folders, files in os.walk(name):
                folders.sort()
                out += [os.path.join(folder, file) for file in sorted(files) if file.endswith(".parquet")]
        else:
            out.append(name)
    if not out:
        raise FileNotFoundError(f"{paths}: no .parquet files there")
    return out


def parquet_batches(
    name: str, wanted: Sequence[str], columns: Sequence[str] | None, batch_rows: int
) -> Iterator[pyarrow.RecordBatch]:
    """The batches of a file that has the columns `wanted`. Errors name the file and the first row that was not read."""
    import pyarrow
    import pyarrow.parquet as parquet

    row = 0
    try:
        # Arrow's defaults keep the compressed pages of all row groups that were read, and the memory of batches that are gone.
        with parquet.ParquetFile(name, pre_buffer=False, buffer_size=1 << 20) as file:
            check_columns({column: None for column in file.schema_arrow.names}, wanted)
            for batch in file.iter_batches(batch_size=batch_rows, columns=columns, use_threads=False):
                yield batch
                row += len(batch)
                pyarrow.default_memory_pool().release_unused()
    except (pyarrow.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise type(error)(f"{name}: cannot be read from row {row} on: {error}") from error


def scan_parquet(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    text: str = "text",
    id: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    index: Index | None = None,
    batch_rows: int = 10_000,
    **settings: Any,
) -> Iterator[tuple[pyarrow.RecordBatch, Verdicts]]:
    """Batches of Parquet files with the verdicts of their rows, in the order of the files. Needs pyarrow.

    paths     files, or directories whose .parquet files are taken in the order of their names
    columns   what a batch holds, text and id included in any case; None: all columns
    index     an index to add to; without it one is made of `settings`, and ends with the last batch

    ```
    with pq.ParquetWriter("clean.parquet", pq.read_schema("crawl.parquet")) as clean:
        for batch, verdicts in scan_parquet("crawl.parquet", id="url"):
            clean.write_batch(batch.filter(pa.array(verdicts.is_unique)))
    ```

    Memory is that of the index and of some four batches, however large the files and their row groups are: the batch that
    you hold, the next one, and what Arrow needs to decode it.
    """
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("scan_parquet() reads with pyarrow, which is not installed: pip install pyarrow") from None
    needed = [text] if id is None else [text, id]
    chosen = None if columns is None else list(dict.fromkeys([*needed, *columns]))
    files = parquet_files(paths)
    own = None
    if index is None:
        index = own = Index(**settings)
    elif settings:
        raise TypeError(f"settings are those of the index: {', '.join(settings)}")
    try:
        for name in files:
            for batch in parquet_batches(name, chosen or needed, chosen, batch_rows):
                ids = batch.column(id) if id is not None else None
                yield batch, index.add(batch.column(text), ids)
    finally:
        if own is not None:
            own.close()
