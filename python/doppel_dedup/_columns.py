"""Columns of any library as the engine reads them."""

from __future__ import annotations

from typing import Any


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
        return column.tolist()  # any values; the engine names the row of one that is not text
    if kind.startswith(("Categorical", "Enum")):  # polars
        return column.cast(str)
    if kind.startswith("dictionary<"):  # pyarrow
        column = column.cast(column.type.value_type)
    if hasattr(column, "combine_chunks") and not hasattr(column, "__arrow_c_stream__"):  # before pyarrow 16
        return column.combine_chunks()
    if hasattr(column, "iloc") and not hasattr(column, "__arrow_c_stream__"):  # before pandas 3
        return column.tolist()
    return column
