"""Signs documents with Spark; one index decides them.

Signing is most of the work, and each document is signed independently, so all executors sign. Whether a document is a
copy depends on the earlier ones, so one place decides, in order, from records of about 1.1 KB. Executors need this
package and pyarrow.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ._choice import UNIQUE, UNSCORED, Chooser, Keep, Numbers, choose, packed, verdicts_of
from ._columns import check_columns
from ._index import Index
from ._settings import ClusterSettings, IndexSettings, SigningSettings, check_names
from ._signed import RECORD, columns_to_keep, sign_records
from ._tables import Order, order_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

_BATCH_ROWS = 10_000
_ROW, _TEXT, _VALUE = "row of doppel", "text of doppel", "value of doppel"  # columns that deduplicate() adds


def _check_ids(df: DataFrame, id: str) -> None:
    from pyspark.sql.types import IntegralType, StringType

    kind = df.schema[id].dataType
    if not isinstance(kind, (StringType, IntegralType)):
        raise TypeError(f"id: the column {id!r} is of type {kind.simpleString()}; give strings or whole numbers")


def sign(
    df: DataFrame,
    text: str = "text",
    id: str = "id",
    date: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    record: str = RECORD,
    hash_key: str | bytes | None = None,
    **settings: Unpack[ClusterSettings],
) -> DataFrame:
    """Replaces the text of each row by a signed record, in the same partitions.

    text, id, date  the columns; ids are strings or integers, and never null
    columns         the other columns of the result; None: all except the text
    record          the name of the new column
    hash_key        the key of the index that decides (Index.hash_key); without it, the public one
    settings        the index's settings for signatures: num_perm, shingle_words and so on

    Write the result as Parquet for `doppel_dedup.resolve`, with the earlier documents first:

    ```
    signed = doppel_dedup.spark.sign(spark.read.parquet("crawl"), id="url")
    signed.orderBy("date", "url").write.parquet("signed")
    verdicts = doppel_dedup.resolve("signed")
    ```
    """
    from pyspark.sql.types import BinaryType, StructField, StructType

    check_names(settings, sign)
    kept = columns_to_keep(df.columns, text, id, date, columns, record)
    needed = list(dict.fromkeys([*kept, text, *([date] if date else [])]))
    _check_ids(df, id)
    signing: SigningSettings = {**settings, "threads": 1}  # Spark runs one task per core

    def sign_batches(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        for batch in batches:
            dates = batch.column(date) if date else None
            records = sign_records(batch.column(text), batch.column(id), dates, hash_key=hash_key, **signing)
            columns = [batch.column(name) for name in kept]
            columns.append(pyarrow.array(records).cast(pyarrow.binary()))
            yield pyarrow.RecordBatch.from_arrays(columns, [*kept, record])

    schema = StructType([*(df.schema[name] for name in kept), StructField(record, BinaryType(), False)])
    return df.select(*needed).mapInArrow(sign_batches, schema)


def deduplicate(
    df: DataFrame,
    text: str = "text",
    id: str = "id",
    order_by: Order | Sequence[Order] | None = None,
    date: str | None = None,
    *,
    keep: Keep = "first",
    index: Index | None = None,
    with_verdicts: bool = False,
    **settings: Unpack[IndexSettings],
) -> DataFrame | tuple[DataFrame, pyarrow.Table]:
    """Returns the DataFrame without the rows that repeat an earlier one.

    order_by       one or more columns that say what is earlier ("date", "score desc"). Required, because a DataFrame
                   has no order of its own. Rows that are equal in it are ordered by their id; nulls come last
    id             a column of ids. An id may come again: each row is judged by itself, and a row that has both the id
                   and the text of an earlier one goes. With an index of your own, its repeated_ids decides
    keep           which row of a cluster stays: "first", "longest", "shortest", or the one with the largest or smallest
                   value: ("score", "desc"), ("date", "asc"); of equal rows, the first
    index          an index to add to, on the driver; without it, one is made with `settings` (as in Index)
    with_verdicts  return (DataFrame, table of verdicts), with the verdicts in the order in which the rows were judged

    The executors sign; the driver decides, with memory for the index, two batches of records, and 24 bytes for each
    row. Each row gets a number, and the numbered rows are stored on the executors' disks while the session lasts, so
    that the result has the rows that were judged. Rows without text stay.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as F

    check_names(settings, deduplicate)
    by = order_of(order_by, df.columns)
    if not by:
        raise ValueError("order_by: a DataFrame has no order; name the column, or columns, that say what is earlier")
    chooser = Chooser(keep, text)
    needed = [text, id, *(name for name, _ in by)]
    check_columns(dict.fromkeys(df.columns), needed if chooser.column is None else [*needed, chooser.column])
    own = None
    if index is None:
        if not settings.get("path"):
            settings.setdefault("repeated_ids", "allow")  # nothing but this call knows its ids
        index = own = Index(**settings)
    signing: Any = {name: value for name, value in settings.items() if name not in ("path", "config", "repeated_ids", "hash_key")}
    # The number may differ if Spark computes a row again from a source that has changed. The hash of the text keeps
    # such a number from removing another row.
    numbered = df.withColumn(_ROW, F.monotonically_increasing_id()).withColumn(_TEXT, F.xxhash64(F.col(text)))
    value = [] if chooser.column is None else [F.char_length(F.col(text)) if chooser.by_length else F.col(chooser.column)]
    numbered = numbered.persist(StorageLevel.DISK_ONLY)
    try:
        judged = numbered.withColumns({_VALUE: column for column in value})
        besides = [_ROW, _TEXT, *([_VALUE] if value else [])]
        signed = sign(judged, text, id, date, columns=[*(name for name, _ in by), *besides], hash_key=index.hash_key, **signing)
        signed = signed.persist(StorageLevel.DISK_ONLY)  # sorting reads it twice
        try:
            keys = [F.col(name).desc_nulls_last() if desc else F.col(name).asc_nulls_last() for name, desc in [*by, (id, False)]]
            ordered = signed.orderBy(*keys, F.col(_ROW)).select(RECORD, *besides)
            judge = _Judge(index, chooser)
            for rows in _batches(ordered.toLocalIterator(prefetchPartitions=True)):
                judge.add(rows)
        finally:
            signed.unpersist()
    except BaseException:
        numbered.unpersist()
        raise
    finally:
        if own is not None:
            own.close()
    copies = df.sparkSession.createDataFrame(judge.removed())
    kept = numbered.join(copies, [_ROW, _TEXT], "left_anti").drop(_ROW, _TEXT)
    return (kept, judge.verdicts()) if with_verdicts else kept


class _Judge:
    """Decides records in their order, and remembers what became of each row."""

    def __init__(self, index: Index, chooser: Chooser) -> None:
        self._index, self._chooser = index, chooser
        self._verdicts: list[pyarrow.Table] = []
        self._rows: list[np.ndarray[Any, np.dtype[np.int64]]] = []
        self._packed: list[Numbers] = []
        self._values: list[Numbers] = []

    def add(self, rows: list[Any]) -> None:
        """Takes rows of a record, the row's number, the hash of its text, and the value to choose by, if there is one."""
        import pyarrow

        verdicts = self._index.add_signed([bytes(row[0]) for row in rows])
        self._verdicts.append(pyarrow.table(verdicts))
        self._packed.append(packed(verdicts._columns.seq, verdicts._columns.verdict))
        self._rows.append(np.array([[row[1], row[2]] for row in rows], np.int64))
        if self._chooser.column is not None:
            self._values.append(self._chooser.of(pyarrow.array([row[3] for row in rows])))

    def verdicts(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.concat_tables(self._verdicts) if self._verdicts else pyarrow.table(Index().add([]))

    def removed(self) -> pyarrow.Table:
        """The rows that go, by number and text."""
        import pyarrow

        rows = np.concatenate(self._rows) if self._rows else np.empty((0, 2), np.int64)
        of_all = np.concatenate(self._packed) if self._packed else np.empty(0, np.uint64)
        if self._values:
            stays = choose([of_all], [np.concatenate(self._values)])[0]
        else:
            # A row that has both id and text of an earlier one has its verdict, too.
            unique = np.flatnonzero(verdicts_of(of_all) == UNIQUE)
            stays = np.zeros(len(of_all), bool)
            stays[unique[np.unique(of_all[unique], return_index=True)[1]]] = True
        stays |= verdicts_of(of_all) == UNSCORED
        return pyarrow.table({_ROW: rows[~stays, 0], _TEXT: rows[~stays, 1]})


def _batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(itertools.islice(rows, _BATCH_ROWS)):
        yield batch
