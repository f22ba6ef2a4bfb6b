"""Columns of any library: found by name, and as the engine reads them."""

from __future__ import annotations

import difflib
import uuid
from collections.abc import Iterable
from typing import Any

import numpy as np


def names_of(table: Any) -> list[str]:
    for names in ("names", "column_names"):  # a schema of pyarrow; its tables, datasets
        if isinstance(getattr(table, names, None), (list, tuple)):
            return list(getattr(table, names))
    if hasattr(table, "columns"):
        return [str(name) for name in table.columns]  # pandas, polars
    return [str(name) for name in table]  # a dict


def _parts(name: str, names: Iterable[str]) -> tuple[str, list[str]] | None:
    """The column, and the fields inside of it, that a name with dots means: ("doc", ["text"])."""
    return next(((root, name[len(root) + 1 :].split(".")) for root in names if name.startswith(root + ".")), None)


def check_columns(table: Any, wanted: Iterable[str], where: str = "") -> None:
    """It is an error if a table, or a schema of pyarrow, lacks a column, or a field inside of it. `where` is a file."""
    names = names_of(table)
    where = f"{where}: " if where else ""
    for name in wanted:
        if name in names:
            continue
        if not isinstance(name, str):
            raise TypeError(f"{where}{name!r} is not the name of a column")
        if not names:
            raise KeyError(f"{where}no column {name!r}: the table has no columns")
        if inside := _parts(name, names):
            if type(table).__module__.startswith("pyarrow"):
                kind = table.field(inside[0]).type
                for field in inside[1]:
                    kind = _field_type(kind, field, f"{where}{name}")
            continue
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"{where}no column {name!r} among {', '.join(map(repr, names))}{hint}")


def _field_type(kind: Any, field: str, name: str) -> Any:
    import pyarrow as pa

    fields = [kind.field(i).name for i in range(kind.num_fields)] if pa.types.is_struct(kind) else []
    if field not in fields:
        raise _no_field(name, field, fields)
    return kind.field(fields.index(field)).type


def _no_field(name: str, field: str, fields: list[str]) -> KeyError:
    there = f"there are {', '.join(map(repr, fields))}" if fields else "there is no structure"
    return KeyError(f"{name}: no field {field!r}; {there}")


def column_of(table: Any, name: str) -> Any:
    """A column of a table of any library, or a field inside of a column: "doc.text"."""
    inside = None if name in (names := names_of(table)) else _parts(name, names)
    if inside is None:
        return table[name]
    column = table[inside[0]]
    for field in inside[1]:
        column = _field_of(column, field, name)
    return column


def _field_of(column: Any, field: str, name: str) -> Any:
    if hasattr(column, "gather"):  # polars
        fields = [one.name for one in getattr(column.dtype, "fields", [])]
        if field not in fields:
            raise _no_field(name, field, fields)
        return column.struct.field(field)
    if hasattr(column, "type"):
        import pyarrow.compute as pc

        _field_type(column.type, field, name)
        return pc.struct_field(column, [column.type.get_field_index(field)])
    values = column.tolist() if hasattr(column, "tolist") else column
    there = dict.fromkeys(key for value in values if isinstance(value, dict) for key in value)
    if field not in there:
        raise _no_field(name, field, [str(key) for key in there])
    return [value.get(field) if isinstance(value, dict) else None for value in values]


def plain(column: Any) -> Any:
    """The same values as a list, an Arrow column of a plain type, or a sequence.

    The engine reads Arrow columns of texts, numbers and times without a Python object for each value, and goes through
    anything else row by row.
    """
    kind = str(getattr(column, "dtype", None) or getattr(column, "type", ""))
    if hasattr(column, "iloc") and len(column) == 0:
        return []  # pandas: a column without rows may be of any type
    if kind == "category":  # pandas
        column = column.astype(object)
    if hasattr(column, "iloc") and str(column.dtype) == "object":
        column = column.tolist()  # any values; the engine names the row of one that is not text
    if isinstance(column, (list, tuple)):
        return _without_uuids(column)
    if kind.startswith(("Categorical", "Enum")):  # polars
        return column.cast(str)
    if kind.startswith("dictionary<"):  # pyarrow
        return plain(column.cast(column.type.value_type))
    if kind.startswith("extension<"):
        return _written_uuids(column) if "arrow.uuid" in kind else plain(column.cast(column.type.storage_type))
    if hasattr(column, "combine_chunks") and not hasattr(column, "__arrow_c_stream__"):  # before pyarrow 16
        return column.combine_chunks()
    if hasattr(column, "iloc") and not hasattr(column, "__arrow_c_stream__"):  # before pandas 3
        return column.tolist()
    return column


def _without_uuids(values: Any) -> Any:
    first = next((value for value in values if value is not None), None)
    return [str(value) if isinstance(value, uuid.UUID) else value for value in values] if isinstance(first, uuid.UUID) else values


def _written_uuids(column: Any) -> Any:
    """An Arrow column of UUIDs in their usual form, which is the one of `doppel scan`."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([_written_uuids(chunk) for chunk in column.chunks], pa.string())
    missing = np.asarray(column.is_null())
    raw = np.frombuffer(b"".join(value or bytes(16) for value in column.storage.to_pylist()), np.uint8).reshape(-1, 16)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)
    hexes = np.stack([digits[raw >> 4], digits[raw & 15]], axis=2).reshape(-1, 32)
    written = np.insert(hexes, [8, 12, 16, 20], ord("-"), axis=1)
    ends = np.arange(len(written) + 1, dtype=np.int32) * 36
    texts = pa.StringArray.from_buffers(len(written), pa.py_buffer(ends), pa.py_buffer(written.tobytes()))
    return pa.compute.if_else(pa.array(missing), None, texts) if missing.any() else texts
