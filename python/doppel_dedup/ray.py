"""Signs documents with Ray. `doppel_dedup.resolve` decides them in order. Workers need this package and pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from ._settings import ClusterSettings, SigningSettings, check_names
from ._signed import RECORD, columns_to_keep, sign_records

if TYPE_CHECKING:
    import pyarrow
    from ray.data import Dataset


def sign(
    ds: Dataset,
    text: str = "text",
    id: str = "id",
    date: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    record: str = RECORD,
    hash_key: str | bytes | None = None,
    **settings: Unpack[ClusterSettings],
) -> Dataset:
    """Replaces the text of each row by a signed record, in the same blocks.

    text, id, date  the columns; ids are strings or integers, and never null
    columns         the other columns of the result; None: all except the text
    record          the name of the new column
    hash_key        the key of the index that decides (Index.hash_key); without it, the public one
    settings        the index's settings for signatures: num_perm, shingle_words and so on

    ```
    signed = doppel_dedup.ray.sign(ray.data.read_parquet("crawl"), id="url")
    verdicts = doppel_dedup.resolve(signed.sort(["date", "url"]).iter_batches(batch_format="pyarrow"))
    ```
    """
    check_names(settings, sign)
    signing: SigningSettings = {**settings, "threads": 1}  # Ray runs one task per core

    def sign_block(table: pyarrow.Table) -> pyarrow.Table:
        import pyarrow

        kept = columns_to_keep(table.column_names, text, id, date, columns, record)
        dates = table[date] if date else None
        records = sign_records(table[text], table[id], dates, hash_key=hash_key, **signing)
        return table.select(kept).append_column(record, pyarrow.array(records))

    return ds.map_batches(sign_block, batch_format="pyarrow", zero_copy_batch=True)
