"""MinHash and MinHashLSH with the interface of datasketch.

    from doppel_dedup.datasketch import MinHash, MinHashLSH   # was: from datasketch import MinHash, MinHashLSH

The classes have the same methods. Signatures are made by another algorithm (Fast Similarity Sketching): estimates are
more accurate, but the numbers differ, so digests of the two libraries cannot be mixed. For texts, `doppel_dedup.Index`
needs no MinHash at all, and decides by the sets themselves.

>>> a, b = MinHash(), MinHash()
>>> a.update_batch([w.encode() for w in "minhash is a probabilistic data structure".split()])
>>> b.update_batch([w.encode() for w in "minhash is a probabilistic data structure".split()])
>>> a.jaccard(b)
1.0
>>> lsh = MinHashLSH(threshold=0.5)
>>> lsh.insert("a", a)
>>> lsh.query(b)
['a']
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from . import _core

__all__ = ["MinHash", "MinHashLSH"]

# Classes of datasketch that this module lacks, and what to use instead.
_ELSEWHERE = {
    "LeanMinHash": "MinHash is as small when it is pickled, and needs no other class",
    "bBitMinHash": "doppel_dedup.Index keeps 8 bits of each number",
    "MinHashLSHForest": "doppel_dedup.Index.query() gives the most similar original",
    "MinHashLSHEnsemble": "containment is not measured; doppel_dedup.similarity() gives the sizes of both sets by explain()",
    "MinHashLSHBloom": "doppel_dedup.Index(path=...) keeps its sets on the disk",
    "WeightedMinHash": "sets have no weights here; repeat elements under different names, such as b'word#2'",
    "WeightedMinHashGenerator": "sets have no weights here; repeat elements under different names, such as b'word#2'",
    "HyperLogLog": "MinHash.count() estimates the number of distinct elements",
    "HyperLogLogPlusPlus": "MinHash.count() estimates the number of distinct elements",
    "HNSW": "doppel_dedup.Index.query() gives the most similar original",
    "AsyncMinHashLSH": "doppel_dedup.Index works on all cores without the GIL; call it in a thread",
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        raise ImportError(f"doppel_dedup.datasketch has no {name}: {_ELSEWHERE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _numbers(num_perm: int) -> int:
    """How many numbers a sketch has internally; users see the first num_perm."""
    return max(num_perm, 8)


class MinHash:
    """A sketch of a set of any number of bytes objects.

    num_perm  how many numbers the sketch has, 2 to 1024: the error of an estimate falls with their square root
    seed      sketches with different seeds cannot be compared
    gpu_mode  "disable" or "detect" (there is no GPU code)
    hashfunc  called with each element; its result replaces the element. Not needed: elements are hashed with XXH3

    >>> m = MinHash(num_perm=256, seed=7)
    >>> m.update(b"an element")
    >>> len(m), m.is_empty(), round(m.count())
    (256, False, 1)
    """

    __slots__ = ("_core", "_gpu_mode", "hashfunc", "num_perm", "seed")
    num_perm: int
    seed: int
    hashfunc: Callable[[Any], Any] | None

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str | None = "disable",
        hashfunc: Callable[[Any], Any] | None = None,
        hashobj: None = None,
        hashvalues: None = None,
        permutations: None = None,
        scheme: str | None = None,
    ) -> None:
        if callable(gpu_mode):  # the third argument before datasketch 2.0
            raise TypeError("MinHash: the third argument is gpu_mode, as in datasketch 2.0; give hashfunc by its name")
        for name, value, instead in (
            ("hashobj", hashobj, "use hashfunc"),
            ("hashvalues", hashvalues, "numbers of datasketch mean nothing here; use copy(), merge() or pickle"),
            ("permutations", permutations, "there are none here; MinHash objects share what they can by themselves"),
        ):
            if value is not None:
                raise NotImplementedError(f"MinHash({name}=...): {instead}")
        if gpu_mode not in (None, "disable", "detect"):
            raise NotImplementedError("MinHash(gpu_mode=...): there is no GPU code; leave it out")
        if scheme not in (None, "affine32", "affine64", "legacy"):
            raise ValueError(f"scheme: {scheme!r} is not one of affine32, affine64, legacy; none of them is used here")
        if not 2 <= num_perm <= 1024:
            raise ValueError(f"num_perm: {num_perm} is not between 2 and 1024")
        self.num_perm = num_perm
        self.seed = seed
        self._gpu_mode = gpu_mode
        self.hashfunc = hashfunc
        self._core = _core.MinHash(seed, _numbers(num_perm))

    def _element(self, b: Any) -> bytes:
        hashed = self.hashfunc(b)  # type: ignore[misc]
        return hashed if isinstance(hashed, bytes) else str(hashed).encode()

    def update(self, b: Any) -> None:
        """Adds an element: bytes, or any argument of hashfunc."""
        self._core.update(b if self.hashfunc is None else self._element(b))

    def update_batch(self, b: Iterable[Any]) -> None:
        """Adds many elements."""
        self._core.update_batch(b if self.hashfunc is None else map(self._element, b))

    def _same(self, other: MinHash) -> None:
        if self.seed != other.seed:
            raise ValueError(f"seed: {self.seed} and {other.seed}; sketches of different seeds do not compare")
        if self.num_perm != other.num_perm:
            raise ValueError(f"num_perm: {self.num_perm} and {other.num_perm}; sketches of different sizes do not compare")

    def jaccard(self, other: MinHash) -> float:
        """The estimated Jaccard similarity of the two sets; 1 if both are empty."""
        self._same(other)
        if self.is_empty() and other.is_empty():
            return 1.0
        return self._core.jaccard(other._core)

    def merge(self, other: MinHash) -> None:
        """Turns this sketch into that of the union."""
        self._same(other)
        self._core.merge(other._core)

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The sketch of the union of two or more sets."""
        if len(mhs) < 2:
            raise ValueError("union: give two or more")
        out = mhs[0].copy()
        for other in mhs[1:]:
            out.merge(other)
        return out

    def count(self) -> float:
        """The estimated number of distinct elements."""
        return self._core.count()

    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return self._core.empty()

    def clear(self) -> None:
        """Turns this sketch into that of the empty set."""
        self._core = _core.MinHash(self.seed, _numbers(self.num_perm))

    def copy(self) -> MinHash:
        """An independent sketch of the same set."""
        out = type(self).__new__(type(self))
        out.num_perm, out.seed, out.hashfunc = self.num_perm, self.seed, self.hashfunc
        out._gpu_mode = self._gpu_mode
        out._core = self._core.copy()
        return out

    @property
    def hashvalues(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """A copy of the numbers, which differ from those of datasketch."""
        return self._core.slots()[: self.num_perm]

    @property
    def permutations(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Always empty: there are no permutations here."""
        return np.empty((2, 0), np.uint64)

    def digest(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The same as hashvalues."""
        return self.hashvalues

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[MinHash]:
        """Makes one sketch for each of many sets.

        >>> [round(m.count()) for m in MinHash.bulk([[b"a", b"b"], [b"c"]])]
        [2, 1]
        """
        return list(cls.generator(b, **minhash_kwargs))

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Iterator[MinHash]:
        """Like bulk(), but yields the sketches one after the other."""
        for elements in b:
            out = cls(**minhash_kwargs)
            out.update_batch(elements)
            yield out

    def __len__(self) -> int:
        return self.num_perm

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MinHash)
            and (self.seed, self.num_perm) == (other.seed, other.num_perm)
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"num_perm": self.num_perm, "seed": self.seed, "hashfunc": self.hashfunc, "slots": self._core.slots()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.num_perm, self.seed, self.hashfunc = state["num_perm"], state["seed"], state["hashfunc"]
        self._gpu_mode = "disable"
        self._core = _core.MinHash(self.seed, _numbers(self.num_perm))
        self._core.set_slots(state["slots"])


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
                self._index = _core.MinHashIndex.create(round(lowest, 6), recall, _numbers(self.h), bands, rows)
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
            raise TypeError(f"{type(minhash).__name__} is no MinHash of doppel_dedup.datasketch")
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
