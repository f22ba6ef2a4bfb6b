"""The verdicts of documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, overload

import numpy as np

from . import _core
from ._summary import Summary

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_VERDICTS = np.array(["unique", "duplicate", "unscored", "rejected", "removal", "skipped"])
KINDS = np.array(["", "exact", "near", "contained"])


class Passage(NamedTuple):
    """A range of a document's text that an original has too: `text.encode()[byte_begin:byte_end]`."""

    word_begin: int
    word_end: int
    byte_begin: int | None  # None where doppel does not have the text (records that were signed elsewhere)
    byte_end: int | None


class Related(NamedTuple):
    """An original that a unique document is related to (the setting relations)."""

    relation: str  # "contained", "contains", "shares" or "similar"
    original: str  # its id
    of_document: float  # the share of the document that both have
    of_original: float  # the same of the original
    passages: list[Passage]


class Verdict(NamedTuple):
    """A row of `Verdicts`.

    >>> Verdict("b", "duplicate", "a", 0.9, "near").original
    'a'
    """

    id: str
    verdict: str  # "unique", "duplicate", "unscored" (no text) or "rejected"
    original: str | None  # of a duplicate: the id of its original
    similarity: float | None  # of a duplicate: with its original, 0 to 1
    kind: str | None  # of a duplicate: "exact" (the same bytes), "near" or "contained"


class Verdicts(Sequence[Verdict]):
    """One row per document, in the order in which the documents were given.

    Columns are NumPy arrays, and `verdicts[mask]` has the rows of a mask. `pyarrow.table(verdicts)` and all else that
    reads Arrow's C stream interface takes them directly; to_arrow(), to_pandas() and to_polars() need pyarrow.

    >>> from doppel_dedup import Index
    >>> verdicts = Index().add(["one two three four five six", "one two three four five six", ""])
    >>> verdicts.is_unique
    array([ True, False, False])
    >>> verdicts[1]
    Verdict(id='1', verdict='duplicate', original='0', similarity=1.0, kind='exact')
    >>> verdicts
    <Verdicts: 1 unique, 1 duplicate, 1 unscored>
    """

    def __init__(self, columns: _core.Columns) -> None:
        self._columns = columns

    @property
    def is_unique(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True if no earlier document is similar enough: a mask of the documents to keep, among those with text."""
        return self._columns.verdict == 0

    @property
    def is_duplicate(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True if the document repeats an earlier one: a mask of the documents to drop."""
        return self._columns.verdict == 1

    @property
    def is_unscored(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """True if the document has no text."""
        return self._columns.verdict == 2

    @property
    def verdict(self) -> np.ndarray[Any, np.dtype[np.str_]]:
        """"unique", "duplicate", "unscored" (no text) or "rejected"."""
        return _VERDICTS[self._columns.verdict]

    @property
    def kind(self) -> np.ndarray[Any, np.dtype[np.str_]]:
        """"exact" (the same bytes), "near" or "contained" (partial="duplicate") for duplicates, else ""."""
        return KINDS[self._columns.kind]

    @property
    def similarity(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Of duplicates: the Jaccard similarity to the original, by sets of shingles; else NaN. Not copied."""
        return self._columns.similarity

    @property
    def id(self) -> np.ndarray[Any, np.dtype[np.object_]]:
        """The ids as str; for documents without ids, their number in the index."""
        return np.array(self._columns.ids(), dtype=object)

    @property
    def original(self) -> np.ndarray[Any, np.dtype[np.object_]]:
        """Of duplicates: the id of the original; else None."""
        return np.array(self._columns.originals(), dtype=object)

    @property
    def cluster(self) -> np.ndarray[Any, np.dtype[np.object_]]:
        """The id of the original that the document repeats, or of the document itself if it is unique; None without text."""
        codes = self._columns.verdict
        own = np.array(self._columns.ids(), dtype=object)
        return np.where(codes == 0, own, self.original)

    @property
    def relation(self) -> np.ndarray[Any, np.dtype[np.str_]]:
        """The relation to the first of `related`: "contained", "contains", "shares" or "similar"; else ""."""
        return np.array([next((r[0] for r in self._columns.relations(i)), "") for i in range(len(self))], dtype="<U9")

    @property
    def related(self) -> list[list[Related]]:
        """Of each unique document the originals that it is related to, the largest intersection first.

        >>> from doppel_dedup import Index
        >>> words = [f"word{i}" for i in range(300)]
        >>> index = Index(relations=["near", "contained"])
        >>> index.add([" ".join(words)], ids=["whole"])
        <Verdicts: 1 unique>
        >>> part = index.add([" ".join(words[:150])], ids=["half"])
        >>> part.relation
        array(['contained'], dtype='<U9')
        >>> part.related[0][0]._replace(passages=[])
        Related(relation='contained', original='whole', of_document=1.0, of_original=0.493243, passages=[])
        >>> part.related[0][0].passages
        [Passage(word_begin=0, word_end=150, byte_begin=0, byte_end=1089)]
        """
        rows = (self._columns.relations(i) for i in range(len(self)))
        return [[Related(*r[:4], [Passage(*p) for p in r[4]]) for r in row] for row in rows]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The columns id, verdict, original, similarity, kind and cluster; similarity, id and original are not copied.

        Where the index knows relations, there is a column of lists `relations`, with the members of Related.
        """
        return self._columns.arrow_stream()

    def to_arrow(self) -> pyarrow.Table:
        """A table of id, verdict, original, similarity, kind and cluster; see __arrow_c_stream__()."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """The same for polars. Needs pyarrow, too."""
        import polars

        out = polars.from_arrow(self.to_arrow())
        assert isinstance(out, polars.DataFrame)
        return out

    def to_pandas(self) -> pandas.DataFrame:
        """The same for pandas. Needs pyarrow, too."""
        return self.to_arrow().to_pandas()

    @property
    def summary(self) -> Summary:
        """How many documents have which verdict.

        >>> from doppel_dedup import Index
        >>> Index().add(["one two three four five six", "One two three four five six", ""]).summary
        3 documents
        verdict    documents  share
        unique             1  33.3%
        near copy          1  33.3%
        unscored           1  33.3%
        """
        kinds = self._columns.kind[self._columns.verdict == 1]
        counts = {name: int(n) for name, n in zip(_VERDICTS, np.bincount(self._columns.verdict, minlength=len(_VERDICTS)))}
        copies = {f"{name} copy": int(n) for name, n in zip(KINDS, np.bincount(kinds, minlength=len(KINDS))) if name}
        rows = {"unique": counts.pop("unique"), **copies, **{name: n for name, n in counts.items() if name != "duplicate"}}
        rows = {name: n for name, n in rows.items() if n}
        title = f"{len(self):,} document{'' if len(self) == 1 else 's'}"
        return Summary(title, {"verdict": list(rows), "documents": list(rows.values()), "share": [n / len(self) for n in rows.values()]})

    def __len__(self) -> int:
        return len(self._columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_bytes, (self._columns.bytes(), len(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdicts) and list(self) == list(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, row: int) -> Verdict: ...
    @overload
    def __getitem__(self, row: slice) -> list[Verdict]: ...
    @overload
    def __getitem__(self, row: Sequence[bool] | Sequence[int] | np.ndarray[Any, Any]) -> Verdicts: ...
    def __getitem__(self, row: Any) -> Verdict | list[Verdict] | Verdicts:
        """A row; of a slice a list of rows; of a mask, or of row numbers, the verdicts of these rows."""
        if isinstance(row, str):
            raise TypeError(f"{row!r} is not a row; the columns are attributes, such as verdicts.verdict")
        if not isinstance(row, (int, np.integer, slice)):
            return self._rows(np.asarray(row))
        if isinstance(row, slice):
            return [Verdict(*self._columns.row(i)) for i in range(*row.indices(len(self)))]
        if row < 0:
            row += len(self)
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        return Verdict(*self._columns.row(int(row)))

    def _rows(self, rows: np.ndarray[Any, Any]) -> Verdicts:
        if rows.dtype == bool:
            if rows.shape != (len(self),):
                raise IndexError(f"a mask of {len(rows)} rows, and there are {len(self)} verdicts")
            rows = np.flatnonzero(rows)
        elif rows.ndim != 1 or len(rows) and not np.issubdtype(rows.dtype, np.integer):
            raise TypeError("give a row number, a slice, a mask, or a list of row numbers")
        rows = rows.astype(np.int64)
        return Verdicts(self._columns.take(np.where(rows < 0, rows + len(self), rows), False))

    def __iter__(self) -> Iterator[Verdict]:
        return (Verdict(*self._columns.row(i)) for i in range(len(self)))

    def __repr__(self) -> str:
        numbers = np.bincount(self._columns.verdict, minlength=len(_VERDICTS))
        counts = [f"{n} {name}" for n, name in zip(numbers, _VERDICTS) if n]
        return f"<Verdicts: {', '.join(counts) or 'none'}>"


def _from_bytes(rows: bytes, count: int) -> Verdicts:
    return Verdicts(_core.Columns.of_bytes(rows, count))
