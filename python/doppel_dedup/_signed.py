"""Signed records: all that an index needs to know about documents. Sign anywhere; decide in one place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, overload

from . import _core
from ._columns import check_columns, plain
from ._index import Index
from ._inputs import named_columns
from ._progress import Progress, reporter
from ._settings import IndexSettings, SigningSettings, check_names, hash_key_text, pairs
from ._parquet import check_batch_rows, parquet_batches
from ._places import parquet_files
from ._tables import Order, order_of, row_order

if TYPE_CHECKING:
    import pyarrow

RECORD = "signed_record"  #: default name of the column of records


class SignedRecords(Sequence[bytes]):
    """One signed record per document, in the order of the documents.

    `pyarrow.array(records)` takes them without a copy.
    """

    def __init__(self, records: _core.Records) -> None:
        self._records = records

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """The records as an Arrow array of large_binary."""
        return self._records.arrow_array()

    def __len__(self) -> int:
        return len(self._records)

    def __reduce__(self) -> tuple[Any, ...]:
        return _of, (list(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SignedRecords) and list(self) == list(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, row: int) -> bytes: ...
    @overload
    def __getitem__(self, row: slice) -> list[bytes]: ...
    def __getitem__(self, row: int | slice) -> bytes | list[bytes]:
        if isinstance(row, slice):
            return [self._records.record(i) for i in range(*row.indices(len(self)))]
        if row < 0:
            row += len(self)
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return self._records.record(row)

    def __repr__(self) -> str:
        return f"<SignedRecords: {len(self)}>"


def _of(records: list[bytes]) -> SignedRecords:
    return SignedRecords(_core.Records.of(records))


def sign_records(
    texts: Any, ids: Any, dates: Any = None, *, hash_key: str | bytes | None = None, progress: Progress = None, **settings: Unpack[SigningSettings]
) -> SignedRecords:
    """The expensive part of Index.add() alone. 4 KB of text make a record of about 1.1 KB, which does not contain the text.

    Sign where the documents are, in any number of processes. `Index.add_signed()` or `resolve()` then decides the
    records in order, in one place. Signing and deciding need the same hash key and the same settings. The arguments
    are those of Index.add(), but each document needs an id.

    >>> records = sign_records(["a b c d e f g", "A B C D E F G"], ids=["first", "second"])
    >>> index = Index()
    >>> index.add_signed(records)[1]
    Verdict(id='second', verdict='duplicate', original='first', similarity=1.0, kind='near')
    """
    check_names(settings, sign_records)
    with reporter(progress, texts) as report:
        return SignedRecords(
            _core.sign_records(plain(texts), plain(ids), plain(dates), pairs(settings), hash_key_text(hash_key), report)
        )


def columns_to_keep(
    names: Iterable[str], text: str, id: str, date: str | None, columns: Sequence[str] | None, record: str
) -> list[str]:
    """The columns that a cluster keeps with the record: the id, and `columns`, or all others except the text."""
    names = list(names)
    kept = [id, *(name for name in (names if columns is None else columns) if name not in (id, text))]
    check_columns(dict.fromkeys(names), [*kept, text, *([date] if date else [])])
    if record in kept:
        raise ValueError(f"record: there is a column {record!r} already; give another name")
    return kept


def _comes_in_batches(source: Any) -> bool:
    """Whether to iterate over it: it is not a table itself."""
    if hasattr(source, "read_next_batch"):
        return True  # pyarrow.RecordBatchReader
    is_table = isinstance(source, dict) or hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__")
    return not is_table and isinstance(source, Iterable)


def _columns_of_records(source: Any, record: str, order_by: Any, batch_rows: int) -> Iterator[Any]:
    """Yields columns of records in the order in which they are decided."""
    by = order_of(order_by, ())
    wanted = [record, *(name for name, _ in by)]
    if isinstance(source, (str, os.PathLike)) or (
        isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike))
    ):
        import pyarrow

        batches = (batch for name, _ in parquet_files(source) for batch in parquet_batches(name, wanted, wanted, batch_rows))
        if not order_by:
            yield from (batch.column(record) for batch in batches)
        elif held := list(batches):
            yield from _columns_of_records(pyarrow.Table.from_batches(held), record, order_by, batch_rows)
        return
    if _comes_in_batches(source):
        if order_by:
            raise TypeError("order_by: batches that come one after the other cannot be sorted; sort them where they come from")
        for batch in source:
            yield from _columns_of_records(batch, record, None, batch_rows)
        return
    table = named_columns(source)
    check_columns(table, wanted)
    column = table[record]
    if order_by:
        order = row_order(table, by)
        for at in range(0, len(order), batch_rows):
            rows = order[at : at + batch_rows]
            yield column.take(rows) if hasattr(column, "take") else [column[i] for i in rows]
    else:
        yield column


def resolve(
    records: Any,
    record: str = RECORD,
    order_by: Order | Sequence[Order] | None = None,
    *,
    index: Index | None = None,
    batch_rows: int = 10_000,
    **settings: Unpack[IndexSettings],
) -> pyarrow.Table:
    """Decides signed records in order. Returns a table of id, verdict, original, similarity, kind and cluster.

    records   Parquet files; directories of them, read in the order of the files' names; a table; or an iterator of
              tables or batches. Needs pyarrow
    record    the column with the records
    order_by  one or more columns that say what is earlier. Without it, the order of the rows. With it, all records of
              files are held in memory
    index     an index to add to; without it, one is made with `settings` (as in Index) and ends with the call

    The verdicts are those of `doppel scan` over the documents in the same order, wherever they were signed.

    >>> import pyarrow
    >>> records = sign_records(["A B C D E F G", "a b c d e f g"], ids=["second", "first"])
    >>> table = pyarrow.table({"signed_record": pyarrow.array(records), "year": [2021, 2020]})
    >>> resolve(table, order_by="year")["original"].to_pylist()
    [None, 'first']
    """
    import pyarrow

    check_names(settings, resolve)
    check_batch_rows(batch_rows)
    own = None
    if index is None:
        index = own = Index(**settings)
    elif settings:
        raise TypeError(f"settings are those of the index: {', '.join(settings)}")
    verdicts = []
    try:
        for column in _columns_of_records(records, record, order_by, batch_rows):
            verdicts.append(pyarrow.table(index.add_signed(column)))
    finally:
        if own is not None:
            own.close()
    return pyarrow.concat_tables(verdicts) if verdicts else pyarrow.table(Index().add([]))
