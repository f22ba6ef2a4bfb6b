"""An index: compares each new document with the originals among the documents before it."""

from __future__ import annotations

import html
import os
import types
from typing import Any, Literal, Unpack

from . import _core
from ._columns import plain
from ._errors import Error
from ._places import local_path
from ._progress import Progress, bar, reporter
from ._settings import Against, RuleSettings, ThresholdSettings, hash_key_text, pairs
from ._verdicts import Verdicts


class Index:
    """Holds originals and compares documents with them. A document that repeats none of them becomes an original.

    ```
    with Index(threshold=0.8, path="index") as index:
        for batch in batches:
            verdicts = index.add(batch["text"], ids=batch["id"])
            keep(batch.filter(verdicts.is_unique))
    ```

    Without `path`, the index lives as long as the object. With it, it is a state directory, which
    `doppel scan --state`, `doppel inspect` and `doppel serve` can read, and the next `Index(path=...)` continues it.
    Each batch that add() has decided is in the directory before the next batch is decided, so a killed process loses
    none of it.

    Several threads may call an index: one call runs at a time, on all cores, without the GIL. Ctrl-C ends a call
    within a second; `last` has what it had decided. Use an index in the process that opened it, not in a child of
    fork().

    threshold     the Jaccard similarity of the sets of word 5-grams from which on a document is a duplicate
    path          a directory, which is created if necessary. An index that is there keeps the settings that it was made
                  with: leave them out. WrongIndexError names those that are given and differ
    against       directories of other indexes, which are only read: a document that is in one of them is a duplicate.
                  They must have been made with the same settings; their hash key is used
    hash_key      16 bytes or 32 hex digits, instead of the key in the directory, which does not keep it: give it each
                  time. Without a directory, the default is a public key
    repeated_ids  what to do if the id of an original comes again with another text: "error" (the default) rejects the
                  call before anything is judged, "allow" judges the document like any other, "replace" removes the
                  original first. With the same text it is the same document, and gets the verdict that it had
    threads       number of threads; 0: one per processor
    config        path of a doppel.yaml
    settings      any of its keys as arguments: num_perm=256, shingle_words=3, expire_after="30d", state_fsync="commit"

    >>> index = Index(threshold=0.7)
    >>> index.add(["the quick brown fox jumps over the lazy dog"], ids=["a"])
    <Verdicts: 1 unique>
    >>> index.add(["The quick, brown fox jumps over the lazy dog!"], ids=["b"])[0]
    Verdict(id='b', verdict='duplicate', original='a', similarity=1.0, kind='near')
    >>> len(index), "a" in index, "b" in index
    (1, True, False)
    """

    def __init__(
        self,
        threshold: float | None = None,
        path: str | os.PathLike[str] | None = None,
        *,
        against: Against = None,
        hash_key: str | bytes | None = None,
        repeated_ids: Literal["error", "allow", "replace"] | None = None,
        threads: int | None = None,
        config: str | os.PathLike[str] | None = None,
        **settings: Unpack[RuleSettings],
    ) -> None:
        if against is not None:
            several = [against] if isinstance(against, (str, os.PathLike)) else against
            against = [local_path(each, "against", "an index") for each in several]
        given = {"threshold": threshold, "threads": threads, "against": against, **settings}
        if path is not None:
            given["state.directory"] = local_path(path, "path", "an index")
        self._core = _core.Index(
            os.fspath(config) if config is not None else "", pairs(given), hash_key_text(hash_key), repeated_ids or ""
        )

    def add(self, texts: Any, ids: Any = None, dates: Any = None, *, progress: Progress = None) -> Verdicts:
        """Judges documents in order, and keeps those that are unique.

        texts     a list of str, bytes (UTF-8) or None, or an Arrow column (pyarrow, polars, pandas with Arrow): string,
                  large_string, string_view or binary. A document without text (None, null, "") is "unscored"; bytes
                  that are not UTF-8 separate words.
        ids       str, bytes, integers or UUIDs, as many as texts; without them, the id of a document is its number in
                  the index
        dates     datetime, ISO 8601, seconds or milliseconds since 1970, or an Arrow column of any of these; they drive
                  expire_after
        progress  called with (done, total) several times a second; True: shows a bar, if tqdm is installed

        >>> Index().add(["a b c d e f g", None, "a b c d e f g"], ids=[7, 8, 9]).original
        array([None, None, '7'], dtype=object)
        """
        with reporter(progress, texts) as report:
            return Verdicts(self._core.add(plain(texts), plain(ids), plain(dates), report))

    def add_signed(self, records: Any, *, progress: Progress = None) -> Verdicts:
        """Like add(), for records that sign_records() or a cluster has signed: a list of bytes or an Arrow column.

        They must have been signed with this index's settings and hash key, `sign_records(..., hash_key=index.hash_key)`.
        If a record is damaged or was signed otherwise, ValueError names its row, before anything is judged.
        """
        with reporter(progress, records) as report:
            return Verdicts(self._core.add_signed(plain(records), report))

    def query(self, texts: Any, *, progress: Progress = None) -> Verdicts:
        """The verdict that add() would give each document alone. Keeps nothing; ids are the row numbers.

        >>> index = Index()
        >>> index.add(["a b c d e f g"], ids=["first"])
        <Verdicts: 1 unique>
        >>> index.query(["A B C D E F G", "h i j k l m n"]).verdict
        array(['duplicate', 'unique'], dtype='<U9')
        """
        with reporter(progress, texts) as report:
            return Verdicts(self._core.query(plain(texts), report))

    def top_k(self, texts: Any, k: int = 10, *, progress: Progress = None) -> Any:
        """The originals that are most similar to a text, at most k: a list of (id, similarity), the most similar one first.

        For several texts, a list of such lists. Originals that reach the threshold are found as surely as by add(). One
        below it may be missed, the more likely the less similar it is: for those, give the index a lower threshold.

        >>> index = Index(threshold=0.5)
        >>> index.add(["a b c d e f g h i j k l", "f g h i j k l m n", "o p q r s t"], ids=["first", "second", "other"])
        <Verdicts: 3 unique>
        >>> index.top_k("A B C D E F G H I J K L M N", k=2)
        [('first', 0.8), ('second', 0.5)]
        """
        if not hasattr(k, "__index__") or k < 1:
            raise ValueError(f"k: {k!r} is not a number of originals; give 1 or more")
        one = isinstance(texts, (str, bytes))
        with reporter(progress, [texts] if one else texts) as report:
            found = self._core.nearest([texts] if one else plain(texts), k, report)
        return found[0] if one else found

    def merge(self, other: Index, *, progress: Progress = None) -> int:
        """Adds the originals of another index, in order, like new documents. Returns how many were new.

        Both indexes need the same hash key and signature settings (`Index(hash_key=other.hash_key, ...)`).

        >>> one, two = Index(), Index()
        >>> one.add(["a b c d e f g"], ids=["a"]), two.add(["A B C D E F G", "h i j k l m n"], ids=["b", "c"])
        (<Verdicts: 1 unique>, <Verdicts: 2 unique>)
        >>> one.merge(two), len(one), "b" in one, "c" in one
        (1, 2, False, True)
        """
        before = len(self)
        next_: int | None = 0
        with bar(progress, len(other), " originals") as report:
            while next_ is not None:
                records, next_ = other._core.originals(next_, 10_000)
                self._core.add_signed([records.record(i) for i in range(len(records))], None)
                report(len(records))
        return len(self) - before

    def save(self, path: str | os.PathLike[str], *, progress: Progress = None) -> None:
        """Writes the originals into a new directory, with this index's settings and hash key.

        Index.load(path) and `doppel scan --state` continue with it. An index with a path needs no save(): it is on the disk.
        One with relations cannot be saved: make it with a path.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> index = Index(threshold=0.7)
        >>> index.add(["a b c d e f g"], ids=["first"])
        <Verdicts: 1 unique>
        >>> index.save(folder)
        >>> Index.load(folder).query(["A B C D E F G"]).original
        array(['first'], dtype=object)
        """
        there = local_path(path, "path", "an index")
        if os.path.isdir(there) and os.listdir(there):
            raise FileExistsError(f"path: {there} is not empty; name another folder")
        if self.settings["relations"] != "[near]":
            raise ValueError("save: an index with relations does not keep what another one needs to know; make it with a path")
        names = ThresholdSettings.__annotations__.keys() - {"accept_rule_change", "hash_key_file"}
        settings: Any = {name: value.strip("[]") for name, value in self.settings.items() if name in names and value != ""}
        os.makedirs(there, exist_ok=True)
        with open(os.path.join(there, "hash.key"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as key:
            key.write(self.hash_key + "\n")
        with Index(path=there, repeated_ids="allow", **settings) as copy:
            copy.merge(self, progress=progress)
            if len(copy) != len(self):
                raise Error(f"path: {there} has {len(copy):,} of {len(self):,} originals; this index was changed while it was written")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Index:
        """Opens the index in a directory, and continues with it, like Index(path=path). It is an error if there is none."""
        there = local_path(path, "path", "an index")
        if not os.path.isdir(there) or not os.listdir(there):
            raise FileNotFoundError(f"path: {there}: there is no index; Index(path=...) makes one")
        return cls(path=there)

    def remove(self, ids: Any) -> int:
        """Removes the originals with these ids: their next copies will be unique. Returns how many there were.

        >>> index = Index()
        >>> index.add(["a b c d e f g"], ids=["first"])
        <Verdicts: 1 unique>
        >>> index.remove(["first", "never"])
        1
        """
        return self._core.remove([ids] if isinstance(ids, (str, bytes, int)) else ids)

    def __contains__(self, id: str | bytes | int) -> bool:
        """Whether an original with this id is kept. Ids of duplicates are not."""
        return self._core.contains(id)

    def __len__(self) -> int:
        """How many originals are kept."""
        return self._core.size

    @property
    def last(self) -> Verdicts:
        """The verdicts of the last add(); after an interruption, those that it had decided."""
        return Verdicts(self._core.last())

    @property
    def documents(self) -> int:
        """How many documents were given so far, in all runs, including removals."""
        return self._core.documents

    @property
    def hash_key(self) -> str:
        """The key of the signatures, 32 hex digits. Secret if the index has a directory."""
        return self._core.hash_key()

    @property
    def memory_bytes(self) -> int:
        """The memory that the originals take."""
        return self._core.memory_bytes

    @property
    def disk_bytes(self) -> int:
        """The disk space for the originals' sets and ids (without a path, in an unlinked temporary file)."""
        return self._core.disk_bytes

    @property
    def notes(self) -> list[str]:
        """Messages about the directory from when it was opened."""
        return self._core.notes()

    @property
    def settings(self) -> dict[str, str]:
        """The settings that the index was made with, by name."""
        return {name.replace(".", "_"): value.strip('"') for name, value in self._core.settings()}

    def _described(self) -> list[tuple[str, str]]:
        originals, documents = len(self), self.documents
        rows = [
            ("originals", f"{originals:,} original{'' if originals == 1 else 's'} of {documents:,} document{'' if documents == 1 else 's'}"),
            ("threshold", self.settings["threshold"]),
            ("path", self.settings["state_directory"]),
            ("memory", f"{self.memory_bytes / 2**20:,.1f} MiB"),
            ("disk", f"{self.disk_bytes / 2**20:,.1f} MiB"),
        ]
        return [row for row in rows if row[1]]

    def __repr__(self) -> str:
        try:
            shown = dict(self._described())
        except (ValueError, RuntimeError):
            return "<Index: closed>"
        place = f", in {shown['path']}" if "path" in shown else ""
        return f"<Index: {shown['originals']}, threshold {shown['threshold']}{place}>"

    def _repr_html_(self) -> str:
        try:
            rows = self._described()
        except (ValueError, RuntimeError):
            return "<p>doppel_dedup.Index: closed</p>"
        body = "".join(f"<tr><th>{name}</th><td>{html.escape(value)}</td></tr>" for name, value in rows)
        return f"<table><caption>doppel_dedup.Index</caption>{body}</table>"

    def checkpoint(self) -> None:
        """Syncs everything to disk, and makes the next start fast. close() does it, too."""
        self._core.checkpoint()

    def close(self) -> None:
        """Closes the index and releases the directory; may be called twice."""
        self._core.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self,
        type: type[BaseException] | None,
        value: BaseException | None,
        traceback: types.TracebackType | None,
    ) -> None:
        self.close()
