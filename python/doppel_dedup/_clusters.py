"""Tables of clusters: each row that went, and the row that stays for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._choice import DUPLICATE, NUMBER, Mask, Numbers, packed, verdicts_of
from ._columns import column_of, plain
from ._job import File
from ._places import Place, for_reader, put_in_place, writing
from ._verdicts import KINDS

if TYPE_CHECKING:
    import pyarrow

    from ._verdicts import Verdicts


Places = np.ndarray[Any, np.dtype[np.int64]]


def how(verdicts: Verdicts) -> Numbers:
    """What a row has in common with the original that it repeats: the similarity in millionths, and the kind above it."""
    millionths = np.rint(np.nan_to_num(verdicts._columns.similarity) * 1e6).astype(np.uint64)
    return millionths | (verdicts._columns.kind.astype(np.uint64) << np.uint64(32))


def kinds_of(hows: Numbers) -> Places:
    return (hows >> np.uint64(32)).astype(np.int64)


class _Kept:
    """The rows that stay, by the number of their cluster."""

    def __init__(self, rows: Sequence[Numbers], hows: Sequence[Numbers], masks: Sequence[Mask]) -> None:
        self._rows, self._hows, self._masks = rows, hows, masks
        there = [np.flatnonzero((verdicts_of(part) <= DUPLICATE) & mask) for part, mask in zip(rows, masks)]
        heads = np.concatenate([part[at] & NUMBER for part, at in zip(rows, there)] or [np.empty(0, np.uint64)])
        self._order = np.argsort(heads, kind="stable")
        self._heads = heads[self._order]
        self._how = np.concatenate([part[at] for part, at in zip(hows, there)] or [np.empty(0, np.uint64)])
        self.there = there
        self.part = np.repeat(np.arange(len(there)), [len(at) for at in there])
        self.row = np.concatenate(there or [np.empty(0, np.int64)])

    def gone(self, n: int) -> tuple[Places, Places, Numbers]:
        """Of part n: the rows that went; which one stays for each, or -1 if none of these parts; what both have in common."""
        rows, hows = self._rows[n], self._hows[n]
        at = np.flatnonzero((verdicts_of(rows) <= DUPLICATE) & ~self._masks[n])
        seq = rows[at] & NUMBER
        place = np.searchsorted(self._heads, seq)
        known = place < len(self._heads)
        known[known] = self._heads[place[known]] == seq[known]
        kept = np.full(len(at), -1, np.int64)
        kept[known] = self._order[place[known]]
        common = hows[at].copy()
        # The original of a cluster that goes has in common with the row that stays what that row has with it.
        original = known & (verdicts_of(rows[at]) != DUPLICATE)
        common[original] = self._how[kept[original]]
        return at, kept, common


def _in_common(common: Numbers) -> dict[str, Any]:
    import pyarrow as pa

    relation = KINDS[kinds_of(common)].tolist()
    return {"similarity": pa.array((common & np.uint64(0xFFFFFFFF)) / 1e6), "relation": pa.array(relation, pa.string())}


def clusters_of(verdicts: Verdicts, mask: Mask, with_ids: bool) -> pyarrow.Table:
    """A table with a row for each row that went because another one stays, in the order of the rows.

    mask: the rows that stay, of those with text
    """
    import pyarrow as pa

    columns = verdicts._columns
    stay = _Kept([packed(columns.seq, columns.verdict)], [how(verdicts)], [mask])
    at, kept, common = stay.gone(0)
    inside = kept >= 0
    kept_row = np.where(inside, stay.row[np.where(inside, kept, 0)] if len(stay.row) else -1, -1)
    table: dict[str, Any] = {"row": pa.array(at), "kept_row": pa.array(kept_row, mask=~inside)}
    if with_ids:
        ids, originals = verdicts.id, verdicts.original
        table["id"] = pa.array(ids[at].tolist(), pa.string())
        # An original from before the call is known by its id alone.
        table["kept_id"] = pa.array([ids[row] if row >= 0 else originals[n] for n, row in zip(at, kept_row)], pa.string())
    table |= _in_common(common)
    names = [name for name in ("row", "id", "kept_row", "kept_id", "similarity", "relation") if name in table]
    return pa.table({name: table[name] for name in names})


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
        taken = plain(column_of(table, id)).take(pa.array(at)).cast(pa.string())
        return taken if isinstance(taken, pa.ChunkedArray) else pa.chunked_array([taken])

    stay = _Kept(rows, hows, masks)
    head_id = pa.chunked_array([chunk for n, at in enumerate(stay.there) for chunk in ids_of(n, at).chunks], pa.string()) if id is not None else None
    names = pa.array([file.name for file in files], pa.string())

    text, number = pa.string(), pa.int64()
    fields = [("file", text), ("row", number), ("id", text), ("kept_file", text), ("kept_row", number), ("kept_id", text),
              ("similarity", pa.float64()), ("relation", text)]  # fmt: skip
    schema = pa.schema([field for field in fields if id is not None or not field[0].endswith("id")])
    with writing(path) as file, parquet.ParquetWriter(file, schema, compression="zstd") as out:
        for n in range(len(files)):
            at, kept, common = stay.gone(n)
            at, kept, common = at[kept >= 0], kept[kept >= 0], common[kept >= 0]
            columns = {
                "file": names.take(pa.array(np.full(len(at), n))),
                "row": pa.array(at, number),
                "kept_file": names.take(pa.array(stay.part[kept])),
                "kept_row": pa.array(stay.row[kept], number),
                **_in_common(common),
            }
            if head_id is not None:
                columns |= {"id": ids_of(n, at), "kept_id": head_id.take(pa.array(kept))}
            out.write_table(pa.table({name: columns[name] for name in schema.names}, schema))
    put_in_place(path)
