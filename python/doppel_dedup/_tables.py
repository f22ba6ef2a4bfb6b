"""Drops repeated rows from tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

import numpy as np

from ._choice import Chooser, Keep, choose, packed
from ._clusters import clusters_of, how
from ._columns import check_columns, column_of, names_of, plain
from ._index import Index
from ._inputs import opened, sorting_columns
from ._job import write_whole
from ._places import local_path
from ._progress import Progress, reporter
from ._report import report_page
from ._settings import IndexSettings, check_names
from ._verdicts import Verdicts

if TYPE_CHECKING:
    import pyarrow


Order = str | tuple[str, Literal["asc", "desc"]]


def order_of(order_by: Order | Sequence[Order] | None, names: Iterable[str]) -> list[tuple[str, bool]]:
    """Columns, each with whether its largest value comes first. Takes "score desc", ("score", "desc"), or several."""
    if order_by is None:
        return []
    if isinstance(order_by, (str, tuple)) and not (isinstance(order_by, tuple) and order_by[1:] not in (("asc",), ("desc",))):
        order_by = [order_by]
    out = []
    for each in order_by:
        if isinstance(each, str) and each not in names and each.rpartition(" ")[2] in ("asc", "desc"):
            name, _, direction = each.rpartition(" ")
        else:
            name, direction = (each, "asc") if isinstance(each, str) else each
        if direction not in ("asc", "desc"):
            raise ValueError(f"order_by: {direction!r} is neither 'asc' nor 'desc'")
        out.append((name.strip(), direction == "desc"))
    return out


def row_order(table: Any, by: Sequence[tuple[str, bool]]) -> np.ndarray[Any, Any]:
    """The row numbers sorted by these columns; equal rows keep their order, missing values come last."""
    columns = sorting_columns(table, [name for name, _ in by])
    names = [str(i) for i in range(len(by))]
    if hasattr(table, "sort_by"):  # pyarrow
        import pyarrow
        import pyarrow.compute

        columns = columns.append_column("row", pyarrow.array(np.arange(len(columns))))
        keys = [(name, "descending" if desc else "ascending") for name, (_, desc) in zip(names, by)] + [("row", "ascending")]
        return np.asarray(pyarrow.compute.sort_indices(columns, sort_keys=keys))
    if hasattr(table, "with_row_index"):  # polars
        return columns.fill_nan(None).with_row_index("row of doppel").sort(
            names, descending=[desc for _, desc in by], nulls_last=True, maintain_order=True
        )["row of doppel"].to_numpy()
    if hasattr(table, "iloc"):  # pandas
        ascending = [not desc for _, desc in by]
        return columns.sort_values(names, ascending=ascending, kind="stable", na_position="last").index.to_numpy()
    rows = list(range(len(columns["0"])))
    for column, (name, desc) in reversed([*zip(columns.values(), by)]):
        try:
            there = [i for i in rows if column[i] is not None and column[i] == column[i]]  # NaN is not equal to itself
            missing = [i for i in rows if column[i] is None or column[i] != column[i]]
            rows = sorted(there, key=column.__getitem__, reverse=desc) + missing
        except (TypeError, ValueError) as error:
            raise TypeError(f"order_by: the values of column {name!r} cannot be sorted: {error}") from None
    return np.array(rows, dtype=np.int64)


def _take(column: Any, order: np.ndarray[Any, Any] | None) -> Any:
    if order is None:
        return column
    if hasattr(column, "iloc"):
        return column.iloc[order]
    if hasattr(column, "gather"):  # polars
        return column.gather(order)
    if hasattr(column, "take"):  # pyarrow
        return column.take(order)
    return [column[i] for i in order]


def _arrow(column: Any) -> Any:
    import pyarrow

    if hasattr(column, "__arrow_c_stream__"):
        return pyarrow.chunked_array(column)
    return column if hasattr(column, "combine_chunks") or hasattr(column, "type") else pyarrow.array(column, from_pandas=True)


T = TypeVar("T")


@overload
def deduplicate(
    table: T,
    text: str = "text",
    id: str | None = None,
    order_by: Order | Sequence[Order] | None = None,
    *,
    keep: Keep = "first",
    keep_unscored: bool = True,
    with_verdicts: Literal[False] = False,
    with_clusters: Literal[False] = False,
    report: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    **settings: Unpack[IndexSettings],
) -> T: ...
@overload
def deduplicate(
    table: T,
    text: str = "text",
    id: str | None = None,
    order_by: Order | Sequence[Order] | None = None,
    *,
    keep: Keep = "first",
    keep_unscored: bool = True,
    with_verdicts: Literal[True],
    with_clusters: Literal[False] = False,
    report: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    **settings: Unpack[IndexSettings],
) -> tuple[T, Verdicts]: ...
@overload
def deduplicate(
    table: T,
    text: str = "text",
    id: str | None = None,
    order_by: Order | Sequence[Order] | None = None,
    *,
    keep: Keep = "first",
    keep_unscored: bool = True,
    with_verdicts: Literal[False] = False,
    with_clusters: Literal[True],
    report: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    **settings: Unpack[IndexSettings],
) -> tuple[T, pyarrow.Table]: ...
@overload
def deduplicate(
    table: T,
    text: str = "text",
    id: str | None = None,
    order_by: Order | Sequence[Order] | None = None,
    *,
    keep: Keep = "first",
    keep_unscored: bool = True,
    with_verdicts: Literal[True],
    with_clusters: Literal[True],
    report: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    **settings: Unpack[IndexSettings],
) -> tuple[T, Verdicts, pyarrow.Table]: ...
def deduplicate(
    table: Any,
    text: str = "text",
    id: str | None = None,
    order_by: Order | Sequence[Order] | None = None,
    *,
    keep: Keep = "first",
    keep_unscored: bool = True,
    with_verdicts: bool = False,
    with_clusters: bool = False,
    report: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    **settings: Unpack[IndexSettings],
) -> Any:
    """Returns the table without the rows that repeat an earlier one; type and order stay the same.

    table          a pyarrow Table, a pandas or polars DataFrame, a LazyFrame (which is collected), a Dataset or
                   IterableDataset of Hugging Face, a list of dicts, a dict of lists; a single column: a list of texts, a
                   Series, an Arrow array; or, as a Table, a Dataset of pyarrow, an open Parquet file, and anything with
                   __arrow_c_stream__, such as a relation of duckdb
    text, id       the columns, or fields inside of them: "doc.text"; without `id`, a row's id is its number
    order_by       one or more columns that say what is earlier ("date", "score desc"); missing values and NaN are last.
                   Without it, the order of the rows
    keep           which row of a cluster stays: "first", "longest", "shortest", or the one with the largest or smallest
                   value: ("score", "desc"), ("date", "asc"); of equal rows, the first. This does not change which
                   rows are copies. A row that repeats a document from before the call never stays. Needs pyarrow,
                   except "first"
    keep_unscored  whether rows without text stay
    with_verdicts  return (table, Verdicts), with a verdict for each row, in the order of the table
    with_clusters  also return a pyarrow Table with a row for each row that went because another one stays: row (and id)
                   of both, the similarity, and the relation: "exact", "near" or "contained". These two are with the row
                   that was judged first. Of a row that stays in another index, only the id is known
    report         an HTML file to write: how often texts came, and the rows that came most often, with their copies beside
                   them and the differences marked. Needs pyarrow
    settings       as in Index: threshold=0.7, path="index", shingle_words=3

    With `path`, the rows are also compared with all documents in the index. The same table gives the same rows when
    it comes again: a row is recognised by its id and text, or without ids by its number in a table with the same texts.

    >>> deduplicate({"text": ["a b c d e f", "A B C D E F", "g h i j k l"], "year": [2021, 2020, 2022]})
    {'text': ['a b c d e f', 'g h i j k l'], 'year': [2021, 2022]}
    >>> deduplicate({"text": ["a b c d e f", "A B C D E F"], "year": [2021, 2020]}, order_by="year")
    {'text': ['A B C D E F'], 'year': [2020]}
    """
    check_names(settings, deduplicate)
    columns, keep_rows = opened(table, text)
    by = order_of(order_by, names_of(columns))
    chooser = Chooser(keep, text)
    needed = [id, chooser.column, *(name for name, _ in by)]
    check_columns(columns, [text, *(name for name in needed if name is not None)])
    order = row_order(columns, by) if by else None
    texts = plain(_take(column_of(columns, text), order))
    ids = plain(_take(column_of(columns, id), order)) if id is not None else None
    with Index(**settings) as index:
        with reporter(progress, texts) as done:
            verdicts = Verdicts(index._core.add_table(texts, ids, done))
    if report is not None:
        page = local_path(report, "report", "a page")
        arrow, named = _arrow(texts), None if ids is None else _arrow(ids)
        rows, hows = packed(verdicts._columns.seq, verdicts._columns.verdict), how(verdicts)
        write_whole(page, report_page("a table", ["the table"], [rows], [hows], lambda _: [(arrow, named)], settings))
    mask = verdicts.is_unique
    if chooser.column is not None:
        values = chooser.values(_arrow(plain(_take(column_of(columns, chooser.column), order))))
        mask = choose([packed(verdicts._columns.seq, verdicts._columns.verdict)], [values])[0]
    if order is not None:
        in_order = mask
        mask = np.empty_like(in_order)
        mask[order] = in_order
        where = np.empty(len(order), np.int64)
        where[order] = np.arange(len(order))
        verdicts = Verdicts(verdicts._columns.take(where, id is None))
    stays = mask
    if keep_unscored:
        mask = mask | verdicts.is_unscored
    kept = keep_rows(mask)
    if not with_verdicts and not with_clusters:
        return kept
    clusters = (clusters_of(verdicts, stays, id is not None),) if with_clusters else ()
    return (kept, *((verdicts,) if with_verdicts else ()), *clusters)
