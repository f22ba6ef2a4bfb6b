"""MinHashLSH with the interface of datasketch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Self

import numpy as np

from .. import _core
from .minhash import MinHash, numbers_inside


class _Keys(Mapping[Hashable, list[bytes]]):
    """The keys of an index, each with its band keys."""

    def __init__(self, lsh: MinHashLSH) -> None:
        self._lsh = lsh

    def __getitem__(self, key: Hashable) -> list[bytes]:
        return self._lsh._band_keys(self._lsh._minhashes[self._lsh._numbers[key]])

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._lsh._numbers)

    def __len__(self) -> int:
        return len(self._lsh._numbers)

    def __contains__(self, key: object) -> bool:
        return key in self._lsh._numbers


class MinHashLSH:
    """An index of sketches: finds those that are probably at least as similar as the threshold.

    query() returns those whose estimated similarity reaches the threshold, the most similar first; datasketch returns
    all that share a band. With params=(b, r), the bands and rows of datasketch, query() also returns all that share a
    band.

    weights  (cost of a false candidate, cost of a missed pair): a larger weight of missed pairs leads to more bands.
             False candidates are dropped by their estimate, so by default hardly any pair at the threshold is missed

    >>> lsh = MinHashLSH(threshold=0.5, num_perm=64)
    >>> with lsh.insertion_session() as session:
    ...     for key, words in [("x", "a b c d"), ("y", "e f g h")]:
    ...         m = MinHash(num_perm=64)
    ...         m.update_batch(w.encode() for w in words.split())
    ...         session.insert(key, m)
    >>> lsh.query(m), "x" in lsh
    (['y'], True)
    """

    threshold: float
    h: int  #: num_perm
    b: int  #: bands
    r: int  #: rows of a band

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: dict[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[Any], Any] | None = None,
    ) -> None:
        kind = (storage_config or {"type": "dict"}).get("type")
        if kind != "dict":
            raise NotImplementedError(
                f"MinHashLSH(storage_config={{'type': {kind!r}}}): sketches are kept in memory; for an index on the disk use "
                "doppel_dedup.Index(path=...), for one that several programs feed `doppel serve`"
            )
        if hashfunc is not None:
            raise NotImplementedError("MinHashLSH(hashfunc=...): band keys take 8 bytes each here; leave it out")
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold: {threshold} is not between 0 and 1")
        if not 2 <= num_perm <= 1024:
            raise ValueError(f"num_perm: {num_perm} is not between 2 and 1024")
        if len(weights) != 2 or any(not 0 <= w <= 1 for w in weights) or abs(sum(weights) - 1) > 1e-9:
            raise ValueError(f"weights: {weights} are not two numbers between 0 and 1 whose sum is 1")
        self._params = params
        if params is not None:
            b, r = params
            if b * r > num_perm:
                raise ValueError(f"params: {b} bands of {r} rows need {b * r} numbers, num_perm is {num_perm}")
            threshold = (1 / b) ** (1 / r)
        self.threshold = threshold
        self.h = num_perm
        self._weights = (float(weights[0]), float(weights[1]))
        self._buffer_size = 50_000
        self._queries: list[MinHash] = []
        self._create()

    def _create(self) -> None:
        # Candidates below the threshold only cost a comparison of numbers, because they are dropped. So the bands are
        # chosen by how many pairs at the threshold may be missed.
        bands, rows = self._params or (0, 0)
        lowest = max(self.threshold, 1e-6)
        missed = 0.005 * self._weights[0] / self._weights[1] if self._weights[1] else 1.0
        self._index: Any = None
        for recall in (1 - missed, 0.995, 0.95, 0.8, 0.5):
            recall = min(max(recall, 0.5), 0.9999)
            try:
                self._index = _core.MinHashIndex.create(round(lowest, 6), recall, numbers_inside(self.h), bands, rows)
                break
            except ValueError as e:
                error = e
        if self._index is None:
            raise error
        self.b, self.r = self._index.bands, self._index.rows
        self._keys: dict[int, Hashable] = {}
        self._numbers: dict[Hashable, int] = {}
        self._minhashes: dict[int, MinHash] = {}

    def _check(self, minhash: MinHash) -> None:
        if not isinstance(minhash, MinHash):
            raise TypeError(f"{type(minhash).__name__} is not a MinHash of doppel_dedup.datasketch")
        if len(minhash) != self.h:
            raise ValueError(f"num_perm: the index has {self.h}, the MinHash {len(minhash)}")

    def insert(self, key: Hashable, minhash: MinHash, check_duplication: bool = True) -> None:
        """Adds a sketch under a new key."""
        self._check(minhash)
        if key in self._numbers:
            if check_duplication:
                raise ValueError(f"key {key!r} is there already; remove() it first")
            self.remove(key)
        number = self._index.insert(minhash._core)
        self._keys[number] = key
        self._numbers[key] = number
        self._minhashes[number] = minhash.copy()

    def insertion_session(self, buffer_size: int = 50000) -> MinHashLSHInsertionSession:
        """A context manager with insert(), which is no faster here than MinHashLSH.insert()."""
        return MinHashLSHInsertionSession(self, buffer_size)

    def deletion_session(self, buffer_size: int = 50000) -> MinHashLSHDeletionSession:
        """A context manager with remove(), which is no faster here than MinHashLSH.remove()."""
        return MinHashLSHDeletionSession(self, buffer_size)

    @property
    def buffer_size(self) -> int:
        """Has no effect, because nothing is buffered here; for programs that set it."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = value

    def query(self, minhash: MinHash) -> list[Hashable]:
        """The keys of the sketches that are probably as similar as the threshold, the most similar first."""
        self._check(minhash)
        found = []
        for number, estimate in self._index.query(minhash._core):
            if self._params is None:
                # The full numbers are more accurate than the eight bits of each that the index keeps.
                estimate = self._minhashes[number]._core.jaccard(minhash._core)
                if estimate < self.threshold:
                    continue
            found.append((-estimate, number))
        return [self._keys[number] for _, number in sorted(found)]

    def add_to_query_buffer(self, minhash: MinHash) -> None:
        """Adds a query for collect_query_buffer()."""
        self._check(minhash)
        self._queries.append(minhash.copy())

    def collect_query_buffer(self) -> list[Hashable]:
        """The keys that all queries in the buffer find; empties the buffer."""
        queries, self._queries = self._queries, []
        found = [self.query(minhash) for minhash in queries]
        return [key for key in found[0] if all(key in more for more in found[1:])] if found else []

    def remove(self, key: Hashable) -> None:
        """Removes the sketch with this key; ValueError if there is none."""
        number = self._numbers.pop(key, None)
        if number is None:
            raise ValueError(f"key {key!r} is not there")
        del self._keys[number], self._minhashes[number]
        self._index.remove(number)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._numbers

    @property
    def keys(self) -> Mapping[Hashable, list[bytes]]:
        """A view of the keys, each with its band keys."""
        return _Keys(self)

    def _band_keys(self, minhash: MinHash) -> list[bytes]:
        numbers = minhash._core.slots().astype(np.uint8)  # the bits that the index keeps
        return [numbers[band * self.r : (band + 1) * self.r].tobytes() for band in range(self.b)]

    @property
    def hashtables(self) -> list[dict[bytes, list[Hashable]]]:
        """For each band, its band keys and the keys under them. Built for each call; for inspection."""
        out: list[dict[bytes, list[Hashable]]] = [{} for _ in range(self.b)]
        for number, key in self._keys.items():
            for table, band_key in zip(out, self._band_keys(self._minhashes[number])):
                table.setdefault(band_key, []).append(key)
        return out

    def is_empty(self) -> bool:
        """Whether there are no keys."""
        return not self._numbers

    def get_counts(self) -> list[dict[bytes, int]]:
        """For each band, how many sketches have each band key."""
        return [{band_key: len(keys) for band_key, keys in table.items()} for table in self.hashtables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[bytes, int]]:
        """The same for these keys alone."""
        wanted = set(keys)
        counts = [{band_key: sum(key in wanted for key in listed) for band_key, listed in table.items()} for table in self.hashtables]
        return [{band_key: count for band_key, count in table.items() if count} for table in counts]

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Adds the sketches of another index of the same kind. A key in both keeps its own, or raises ValueError."""
        if (self.h, self.b, self.r) != (other.h, other.b, other.r):
            raise ValueError("merge: both must have the same num_perm, bands and rows")
        both = self._numbers.keys() & other._numbers.keys()
        if check_overlap and both:
            raise ValueError(f"merge: both have the keys {sorted(map(repr, both))[:5]}")
        for number, key in other._keys.items():
            if key not in self._numbers:
                self.insert(key, other._minhashes[number])

    def __getstate__(self) -> dict[str, Any]:
        return {
            "threshold": self.threshold,
            "h": self.h,
            "params": self._params,
            "weights": self._weights,
            "minhashes": [(key, self._minhashes[number]) for number, key in self._keys.items()],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.threshold, self.h, self._params = state["threshold"], state["h"], state["params"]
        self._weights = state.get("weights", (0.5, 0.5))
        self._buffer_size, self._queries = 50_000, []
        self._create()
        for key, minhash in state["minhashes"]:
            self.insert(key, minhash)


class _Session:
    def __init__(self, lsh: MinHashLSH, buffer_size: int = 50000) -> None:
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Does nothing; for compatibility."""


class MinHashLSHInsertionSession(_Session):
    """The result of MinHashLSH.insertion_session()."""

    def insert(self, key: Hashable, minhash: MinHash, check_duplication: bool = True) -> None:
        """See MinHashLSH.insert()."""
        self.lsh.insert(key, minhash, check_duplication)


class MinHashLSHDeletionSession(_Session):
    """The result of MinHashLSH.deletion_session()."""

    def remove(self, key: Hashable) -> None:
        """See MinHashLSH.remove()."""
        self.lsh.remove(key)
