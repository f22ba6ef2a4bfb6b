"""What callers give: tables of any kind as columns by name, and the same kind again without some rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._columns import column_of

Mask = np.ndarray[Any, np.dtype[np.bool_]]


def is_paths(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike)) or (
        isinstance(given, (list, tuple)) and bool(given) and all(isinstance(one, (str, os.PathLike)) for one in given)
    )


def is_open_file(given: Any) -> bool:
    return hasattr(given, "read") and hasattr(given, "seek")


def is_rows(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and bool(given) and all(isinstance(row, dict) for row in given)


def columns_of_rows(rows: Any) -> dict[Any, list[Any]]:
    """The columns of dicts, each of which may lack some."""
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def _is_arrow(given: Any) -> bool:
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")


def _is_column(given: Any) -> bool:
    return hasattr(given, "to_frame") or (type(given).__module__.startswith("pyarrow") and hasattr(given, "type") and hasattr(given, "dictionary_encode"))


def paths_or_table(given: Any, text: str) -> Any:
    """Paths, or a table: of a generator what it gives, and a single column with the name `text`."""
    if isinstance(given, Iterator) and not is_open_file(given) and not _is_arrow(given):
        given = list(given)
    if _is_column(given):
        return given.to_frame(text) if hasattr(given, "to_frame") else {text: given}
    return given


def _check_dict(table: dict[Any, Any]) -> None:
    """Checks that the columns of a dict can be read more than once and have the same length."""
    for name, column in table.items():
        if not hasattr(column, "__len__") or not hasattr(column, "__getitem__"):
            raise TypeError(f"{name}: a {type(column).__name__} can be read only once; give a list of it")
    lengths = {name: len(column) for name, column in table.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns are not equally long: {', '.join(f'{name} has {n}' for name, n in lengths.items())}")


def _of_hugging_face(table: Any) -> tuple[Any, Callable[[Mask], Any]]:
    if isinstance(table, dict):
        raise TypeError(f"a {type(table).__name__} of datasets; give one split of it, such as dataset['train']")
    arrow = table.with_format("arrow")
    if hasattr(table, "num_rows"):
        return arrow[:] if len(table) else table.data.table.slice(0, 0), lambda mask: table.select(np.flatnonzero(mask))
    import datasets
    import pyarrow

    parts = list(arrow.iter(10_000))  # a stream
    columns = pyarrow.concat_tables(parts) if parts else pyarrow.table({name: [] for name in table.features or {}})

    def stream(mask: Mask) -> Any:
        kept = datasets.table.InMemoryTable(columns.filter(pyarrow.array(mask)))
        return datasets.Dataset(kept, datasets.DatasetInfo(features=table.features)).to_iterable_dataset()

    return columns, stream


def opened(table: Any, text: str) -> tuple[Any, Callable[[Mask], Any]]:
    """An object with columns by name, and a function that gives the same kind of table with the rows of a mask.

    text: the name that the column of a table with a single column gets
    """
    if isinstance(table, Iterator) and not is_open_file(table) and not _is_arrow(table):
        table = list(table)
    if type(table).__module__.split(".")[0] == "datasets":
        return _of_hugging_face(table)
    if isinstance(table, dict):
        _check_dict(table)
        return table, lambda mask: {name: [value for value, kept in zip(column, mask) if kept] for name, column in table.items()}
    if is_rows(table):
        return columns_of_rows(table), lambda mask: type(table)(row for row, kept in zip(table, mask) if kept)
    if isinstance(table, (list, tuple)):
        return {text: table}, lambda mask: type(table)(value for value, kept in zip(table, mask) if kept)
    if isinstance(table, np.ndarray) and table.ndim == 1:
        return {text: table.tolist()}, lambda mask: table[mask]
    if _is_column(table):
        return {text: table}, lambda mask: _filtered(table, mask)
    if type(table).__name__ == "LazyFrame":
        frame = table.collect()
        return frame, lambda mask: frame.filter(mask).lazy()
    columns = named_columns(table)
    return columns, lambda mask: _filtered(columns, mask)


def named_columns(table: Any) -> Any:
    """A table, but not rows or a single column, as an object with columns by name."""
    if type(table).__module__.split(".")[0] == "datasets":
        return _of_hugging_face(table)[0]
    if isinstance(table, dict):
        _check_dict(table)
        return table
    if hasattr(table, "columns") and any(hasattr(table, name) for name in ("iloc", "with_row_index", "sort_by")):
        return table  # pandas, polars, pyarrow
    if hasattr(table, "scanner") and hasattr(table, "to_table"):
        return table.to_table()  # a Dataset of pyarrow
    if is_open_file(table):
        import pyarrow.parquet

        return pyarrow.parquet.read_table(table)
    why = ""
    if _is_arrow(table):
        try:
            import pyarrow
        except ImportError:
            raise TypeError(
                f"{type(table).__name__}: install pyarrow, or give a pandas or polars DataFrame or a dict of lists"
            ) from None
        try:
            return pyarrow.table(table)
        except pyarrow.ArrowInvalid as error:  # a single column
            why = f" ({error})"
    files = "; clean() and scan_parquet() take files" if isinstance(table, (str, os.PathLike)) else ""
    raise TypeError(
        f"{type(table).__name__} is not a table{why}; give a table of pyarrow, pandas, polars or Hugging Face, a list of texts or "
        f"of dicts, a dict of lists, or anything with __arrow_c_stream__{files}"
    )


def _filtered(table: Any, mask: Mask) -> Any:
    """The rows of a mask, of a frame or a column."""
    if hasattr(table, "iloc"):
        return table[mask]  # pandas
    if type(table).__module__.startswith("pyarrow"):
        import pyarrow

        try:
            return table.filter(pyarrow.array(mask))
        except pyarrow.ArrowNotImplementedError:  # pyarrow cannot filter columns of views
            kinds = {"string_view": pyarrow.large_string(), "binary_view": pyarrow.large_binary()}
            if not hasattr(table, "schema"):
                return table.cast(kinds[str(table.type)]).filter(pyarrow.array(mask)).cast(table.type)
            large = pyarrow.schema([field.with_type(kinds.get(str(field.type), field.type)) for field in table.schema])
            return table.cast(large).filter(pyarrow.array(mask)).cast(table.schema)
    import polars

    return table.filter(polars.Series(mask))


def sorting_columns(table: Any, names: list[str]) -> Any:
    """A table of the same library with the columns to sort by, which are called "0", "1" and so on."""
    columns = {str(i): column_of(table, name) for i, name in enumerate(names)}
    if hasattr(table, "iloc"):  # pandas
        return type(table)({name: getattr(column, "array", column) for name, column in columns.items()})
    if hasattr(table, "sort_by"):  # pyarrow
        import pyarrow

        return pyarrow.table(columns)
    return type(table)(columns)  # polars, a dict
