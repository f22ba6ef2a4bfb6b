"""The table of clusters of a job: each row that went, and the row that stays for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._choice import DUPLICATE, NUMBER, Mask, Numbers, verdicts_of
from ._columns import column_of, plain
from ._job import File
from ._places import Place, for_reader, put_in_place, writing
from ._verdicts import KINDS

if TYPE_CHECKING:
    import pyarrow

    from ._verdicts import Verdicts


def how(verdicts: Verdicts) -> Numbers:
    """What a row has in common with the original that it repeats: the similarity in millionths, and the kind above it."""
    millionths = np.rint(np.nan_to_num(verdicts._columns.similarity) * 1e6).astype(np.uint64)
    return millionths | (verdicts._columns.kind.astype(np.uint64) << np.uint64(32))


def write_clusters(path: Place, files: Sequence[File], rows: Sequence[Numbers], hows: Sequence[Numbers], masks: Sequence[Mask], id: str | None) -> None:
    """Writes a Parquet file with a row for each row that went because another one stays.

    rows, hows, masks: of each file, see packed() and how(), and which rows stay of those with text
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    def ids_of(number: int, at: np.ndarray[Any, np.dtype[np.int64]]) -> pyarrow.ChunkedArray:
        assert id is not None
        with parquet.ParquetFile(for_reader(files[number].source)) as file:
            table = file.read(columns=[id])
        return plain(column_of(table, id)).take(pa.array(at)).cast(pa.string())

    there = [verdicts_of(part) <= DUPLICATE for part in rows]
    gone = [np.flatnonzero(inside & ~mask) for inside, mask in zip(there, masks)]
    # The rows that stay, by the number of their cluster.
    stay = [np.flatnonzero(inside & mask) for inside, mask in zip(there, masks)]
    heads = np.concatenate([part[at] & NUMBER for part, at in zip(rows, stay)] or [np.empty(0, np.uint64)])
    head_file = np.repeat(np.arange(len(stay)), [len(at) for at in stay])
    head_row = np.concatenate(stay or [np.empty(0, np.int64)])
    head_how = np.concatenate([part[at] for part, at in zip(hows, stay)] or [np.empty(0, np.uint64)])
    head_id = pa.chunked_array([chunk for n, at in enumerate(stay) for chunk in ids_of(n, at).chunks], pa.string()) if id is not None else None
    order = np.argsort(heads, kind="stable")
    names = pa.array([file.name for file in files], pa.string())

    text, number = pa.string(), pa.int64()
    fields = [("file", text), ("row", number), ("id", text), ("kept_file", text), ("kept_row", number), ("kept_id", text),
              ("similarity", pa.float64()), ("relation", text)]  # fmt: skip
    schema = pa.schema([field for field in fields if id is not None or not field[0].endswith("id")])
    with writing(path) as file, parquet.ParquetWriter(file, schema, compression="zstd") as out:
        for n, at in enumerate(gone):
            seq = rows[n][at] & NUMBER
            place = np.searchsorted(heads[order], seq)
            known = place < len(order)
            known[known] = heads[order[place[known]]] == seq[known]
            at, place = at[known], order[place[known]]
            # The original of a cluster that goes has in common with the row that stays what that row has with it.
            is_original = verdicts_of(rows[n][at]) != DUPLICATE
            common = np.where(is_original, head_how[place], hows[n][at])
            columns = {
                "file": names.take(pa.array(np.full(len(at), n))),
                "row": pa.array(at, number),
                "kept_file": names.take(pa.array(head_file[place])),
                "kept_row": pa.array(head_row[place], number),
                "similarity": pa.array((common & np.uint64(0xFFFFFFFF)) / 1e6),
                "relation": pa.array(KINDS[(common >> np.uint64(32)).astype(np.int64)].tolist(), text),
            }
            if head_id is not None:
                columns |= {"id": ids_of(n, at), "kept_id": head_id.take(pa.array(place))}
            out.write_table(pa.table({name: columns[name] for name in schema.names}, schema))
    put_in_place(path)
