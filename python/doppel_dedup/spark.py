"""Signs documents with Spark; one index decides them.

Signing is most of the work, and each document is signed independently, so all executors sign. Whether a document is a
copy depends on the earlier ones, so one place decides, in order, from records of about 1.1 KB. Executors need this
package and pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ._index import Index
from ._settings import ClusterSettings, IndexSettings, SigningSettings
from ._signed import RECORD, columns_to_keep, resolve, sign_records
from ._tables import Order, check_columns, order_of

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

_BATCH_ROWS = 10_000


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
    keep: Sequence[str] | None = None,
    record: str = RECORD,
    hash_key: str | bytes | None = None,
    **settings: Unpack[ClusterSettings],
) -> DataFrame:
    """Replaces the text of each row by a signed record, in the same partitions.

    text, id, date  the columns; ids are strings or integers, and never null
    keep            the other columns to keep; None: all except the text
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

    kept = columns_to_keep(df.columns, text, id, date, keep, record)
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
    index: Index | None = None,
    with_verdicts: bool = False,
    **settings: Unpack[IndexSettings],
) -> DataFrame | tuple[DataFrame, pyarrow.Table]:
    """Returns the DataFrame without the rows that repeat an earlier one.

    order_by       one or more columns that say what is earlier ("date", "score desc"). Required, because a DataFrame
                   has no order of its own. Rows that are equal in it are ordered by their id; nulls come last
    id             a column of unique ids
    index          an index to add to, on the driver; without it, one is made with `settings` (as in Index)
    with_verdicts  return (DataFrame, table of verdicts), with the verdicts in the order in which the rows were judged

    The executors sign; the driver decides, with memory for the index and two batches of records.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    by = order_of(order_by, df.columns)
    if not by:
        raise ValueError("order_by: a DataFrame has no order; name the column, or columns, that say what is earlier")
    check_columns(dict.fromkeys(df.columns), [text, id, *(name for name, _ in by)])
    own = None
    if index is None:
        index = own = Index(**settings)
    signing: Any = {name: value for name, value in settings.items() if name not in ("path", "config", "repeated_ids", "hash_key")}
    try:
        signed = sign(df, text, id, date, keep=[name for name, _ in by], hash_key=index.hash_key, **signing)
        signed = signed.persist(StorageLevel.DISK_ONLY)  # sorting reads it twice
        try:
            ordered = signed.orderBy(*(F.col(name).desc_nulls_last() if desc else F.col(name).asc_nulls_last() for name, desc in [*by, (id, False)])).select(RECORD)
            verdicts = resolve(_batches(ordered.toLocalIterator(prefetchPartitions=True)), index=index)
        finally:
            signed.unpersist()
    finally:
        if own is not None:
            own.close()
    repeated = zip(verdicts["id"].to_pylist(), verdicts["verdict"].to_pylist())
    schema = StructType([StructField("id", StringType(), False)])
    copies = df.sparkSession.createDataFrame([(name,) for name, verdict in repeated if verdict == "duplicate"], schema)
    kept = df.join(copies, df[id].cast("string") == copies["id"], "left_anti")
    return (kept, verdicts) if with_verdicts else kept


def _batches(rows: Iterator[Any]) -> Iterator[dict[str, list[bytes]]]:
    batch: list[bytes] = []
    for row in rows:
        batch.append(bytes(row[0]))
        if len(batch) == _BATCH_ROWS:
            yield {RECORD: batch}
            batch = []
    if batch:
        yield {RECORD: batch}
