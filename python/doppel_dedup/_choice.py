"""Chooses which row of a cluster stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Keep = Literal["first", "longest", "shortest"] | tuple[str, Literal["asc", "desc"]]
Numbers = np.ndarray[Any, np.dtype[np.uint64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

UNIQUE, DUPLICATE, UNSCORED = 0, 1, 2
NUMBER = np.uint64((1 << 60) - 1)


def _is_string_view(kind: Any) -> bool:
    import pyarrow as pa

    return hasattr(pa.types, "is_string_view") and pa.types.is_string_view(kind)  # from pyarrow 16 on


def packed(seq: Numbers, verdict: np.ndarray[Any, np.dtype[np.uint8]]) -> Numbers:
    """Packs each row into one number: the verdict in the upper four bits, the original's number in the rest."""
    return seq | (verdict.astype(np.uint64) << np.uint64(60))


def verdicts_of(rows: Numbers) -> Numbers:
    return rows >> np.uint64(60)


def sortable(column: Any, name: str) -> Numbers:
    """Numbers or times of an Arrow column as integers in the same order; missing values are 0, all others larger."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or _is_string_view(column.type):
        try:
            column = _times(column.cast(pa.string()))
        except pa.ArrowInvalid as error:
            raise TypeError(f"keep: the column {name!r} holds texts that are no times ({error}); give numbers or times") from None
    kind = column.type
    missing = np.asarray(pc.is_null(column, nan_is_null=pa.types.is_floating(kind)))
    zero = pa.scalar(0)
    if pa.types.is_null(kind):
        return np.zeros(len(column), np.uint64)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64(), safe=False)
        bits = (np.asarray(pc.fill_null(column, 0.0), np.float64) + 0.0).view(np.int64)  # -0 becomes 0
        bits = bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))
    elif pa.types.is_uint64(kind):
        large = np.asarray(pc.fill_null(column, zero.cast(kind)), np.uint64)
        return np.where(missing, np.uint64(0), np.minimum(large, np.uint64(2**64 - 2)) + np.uint64(1))
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        if pa.types.is_date32(kind):
            column = column.cast(pa.int32())
        bits = np.asarray(pc.fill_null(column.cast(pa.int64()), zero.cast(pa.int64())), np.int64)
    else:
        raise TypeError(f"keep: the column {name!r} is of type {kind}; give numbers or times")
    return np.where(missing, np.uint64(0), np.maximum(bits.view(np.uint64) ^ np.uint64(1 << 63), np.uint64(1)))


def lengths(column: Any) -> Any:
    """The length of each text of an Arrow column, in characters (for binary columns, in bytes)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_null(column.type):
        return column
    if _is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.utf8_length(column)
    return pc.binary_length(column)


def _times(texts: Any) -> Any:
    """ISO times in UTC. Those without a zone count as UTC."""
    import pyarrow as pa
    import pyarrow.compute as pc

    zoned = pc.match_substring_regex(texts, r"[T ][0-9:.,]+ ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)$")
    with_zone = pc.if_else(zoned, texts, None).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
    return pc.coalesce(with_zone, pc.if_else(zoned, None, texts).cast(pa.timestamp("us")))


class Chooser:
    """The criterion for choosing rows. `column` is read for it; None: the first row stays."""

    def __init__(self, keep: Keep, text: str) -> None:
        self.column: str | None = None
        self.by_length = self.smaller = False
        if keep == "first":
            return
        if keep in ("longest", "shortest"):
            self.column, self.by_length, self.smaller = text, True, keep == "shortest"
        elif isinstance(keep, (tuple, list)) and len(keep) == 2 and keep[1] in ("asc", "desc"):
            self.column, self.smaller = str(keep[0]), keep[1] == "asc"
        else:
            raise ValueError(f"keep: {keep!r} is not one of 'first', 'longest', 'shortest', (column, 'desc'), (column, 'asc')")

    def values(self, column: Any) -> Numbers:
        """The values of an Arrow column to compare rows by: larger is better."""
        return self.of(lengths(column) if self.by_length else column)

    def of(self, column: Any) -> Numbers:
        """The same of a column that has the lengths already, if rows are compared by length."""
        assert self.column is not None
        values = sortable(column, self.column)
        return np.where(values == 0, values, np.maximum(~values, np.uint64(1))) if self.smaller else values


def choose(rows: Sequence[Numbers], values: Sequence[Numbers] | None) -> list[Mask]:
    """Which rows stay, for the parts of one corpus (see packed()): in each cluster the one with the largest value,
    and the first of equal ones. Rows that repeat an original in none of the parts go. With values=None, the originals
    stay."""
    if values is None:
        return [verdicts_of(part) == UNIQUE for part in rows]
    own = [part[verdicts_of(part) == UNIQUE] & NUMBER for part in rows]
    heads = np.unique(np.concatenate(own)) if own else np.empty(0, np.uint64)
    best = np.zeros(len(heads), np.uint64)
    at = np.full(len(heads), -1, np.int64)
    first = 0
    for part, value in zip(rows, values):
        inside = np.flatnonzero(verdicts_of(part) <= DUPLICATE)
        number = part[inside] & NUMBER
        cluster = np.searchsorted(heads, number)
        known = cluster < len(heads)
        known[known] = heads[cluster[known]] == number[known]
        inside, cluster = inside[known], cluster[known]
        order = np.lexsort((inside, ~value[inside], cluster))
        inside, cluster = inside[order], cluster[order]
        leads = np.ones(len(cluster), bool)
        leads[1:] = cluster[1:] != cluster[:-1]
        inside, cluster = inside[leads], cluster[leads]
        better = (at[cluster] < 0) | (value[inside] > best[cluster])
        best[cluster[better]] = value[inside[better]]
        at[cluster[better]] = first + inside[better]
        first += len(part)
    masks, first = [], 0
    for part in rows:
        mask = np.zeros(len(part), bool)
        mask[at[(at >= first) & (at < first + len(part))] - first] = True
        masks.append(mask)
        first += len(part)
    return masks
