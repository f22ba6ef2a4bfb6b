"""MinHash and MinHashLSH as programs for datasketch use them.

    from doppel_dedup.datasketch import MinHash, MinHashLSH   # was: from datasketch import MinHash, MinHashLSH

The classes have the same methods. Signatures are made by another algorithm (Fast Similarity Sketching): estimates are
more accurate, numbers differ, so digests of one library mean nothing to the other. For texts, `doppel_dedup.Index`
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

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from . import _core

__all__ = ["MinHash", "MinHashLSH"]

# What datasketch has and this module has not: what to use instead.
_ELSEWHERE = {
    "LeanMinHash": "MinHash is as small when it is pickled, and needs no other class",
    "bBitMinHash": "doppel_dedup.Index keeps 8 bits of each number",
    "MinHashLSHForest": "doppel_dedup.Index.query() gives the most similar original",
    "MinHashLSHEnsemble": "containment is not measured; doppel_dedup.similarity() gives the sizes of both sets by explain()",
    "MinHashLSHBloom": "doppel_dedup.Index(path=...) keeps its sets on the disk",
    "WeightedMinHash": "weights are not known; repeat elements under different names, such as b'word#2'",
    "WeightedMinHashGenerator": "weights are not known; repeat elements under different names, such as b'word#2'",
    "HyperLogLog": "MinHash.count() estimates the number of distinct elements",
    "HyperLogLogPlusPlus": "MinHash.count() estimates the number of distinct elements",
    "HNSW": "doppel_dedup.Index.query() gives the most similar original",
    "AsyncMinHashLSH": "doppel_dedup.Index works on all cores without the GIL; call it in a thread",
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        raise ImportError(f"doppel_dedup.datasketch has no {name}: {_ELSEWHERE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class MinHash:
    """A sketch of a set of bytes, of any size.

    num_perm  how many numbers it has, 8 to 1024: the error of an estimate falls with their square root
    seed      sketches of different seeds do not compare
    hashfunc  called with each element; its result replaces the element. Not needed: elements are hashed with XXH3

    >>> m = MinHash(num_perm=256, seed=7)
    >>> m.update(b"an element")
    >>> len(m), m.is_empty(), round(m.count())
    (256, False, 1)
    """

    __slots__ = ("_core", "hashfunc", "num_perm", "seed")

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        hashfunc: Callable[[Any], Any] | None = None,
        hashobj: None = None,
        hashvalues: None = None,
        permutations: None = None,
        gpu_mode: str | None = None,
    ) -> None:
        for name, value, instead in (
            ("hashobj", hashobj, "use hashfunc"),
            ("hashvalues", hashvalues, "numbers of datasketch mean nothing here; use copy(), merge() or pickle"),
            ("permutations", permutations, "there are none here; MinHash objects share what they can by themselves"),
        ):
            if value is not None:
                raise NotImplementedError(f"MinHash({name}=...): {instead}")
        if gpu_mode not in (None, "disable", "detect"):
            raise NotImplementedError("MinHash(gpu_mode=...): there is no GPU code; leave it out")
        if not 8 <= num_perm <= 1024:
            raise ValueError(f"num_perm: {num_perm} is not between 8 and 1024")
        self.num_perm = num_perm
        self.seed = seed
        self.hashfunc = hashfunc
        self._core = _core.MinHash(seed, num_perm)

    def _element(self, b: Any) -> bytes:
        hashed = self.hashfunc(b)  # type: ignore[misc]
        return hashed if isinstance(hashed, bytes) else str(hashed).encode()

    def update(self, b: Any) -> None:
        """Adds an element: bytes, or what hashfunc takes."""
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
        """The estimated Jaccard similarity of the two sets."""
        self._same(other)
        return self._core.jaccard(other._core)

    def merge(self, other: MinHash) -> None:
        """Becomes the sketch of the union."""
        self._same(other)
        self._core.merge(other._core)

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The sketch of the union of two sets or more."""
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
        """Becomes the sketch of the empty set."""
        self._core = _core.MinHash(self.seed, self.num_perm)

    def copy(self) -> MinHash:
        """A sketch of its own of the same set."""
        out = type(self).__new__(type(self))
        out.num_perm, out.seed, out.hashfunc = self.num_perm, self.seed, self.hashfunc
        out._core = self._core.copy()
        return out

    @property
    def hashvalues(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The numbers: a copy. Those of datasketch are others."""
        return self._core.slots()

    def digest(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The same as hashvalues."""
        return self._core.slots()

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[MinHash]:
        """A sketch for each of many sets.

        >>> [round(m.count()) for m in MinHash.bulk([[b"a", b"b"], [b"c"]])]
        [2, 1]
        """
        return list(cls.generator(b, **minhash_kwargs))

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Iterator[MinHash]:
        """The same, one after the other."""
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

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"num_perm": self.num_perm, "seed": self.seed, "hashfunc": self.hashfunc, "slots": self._core.slots()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.num_perm, self.seed, self.hashfunc = state["num_perm"], state["seed"], state["hashfunc"]
        self._core = _core.MinHash(self.seed, self.num_perm)
        self._core.set_slots(state["slots"])


class MinHashLSH:
    """An index of sketches: which of them are probably at least as similar as the threshold?

    query() gives those whose estimated similarity reaches the threshold, the most similar first; datasketch gives all that
    share a band. With params=(b, r), bands and rows as for datasketch, it gives all that share a band too.

    >>> lsh = MinHashLSH(threshold=0.5, num_perm=64)
    >>> with lsh.insertion_session() as session:
    ...     for key, words in [("x", "a b c d"), ("y", "e f g h")]:
    ...         m = MinHash(num_perm=64)
    ...         m.update_batch(w.encode() for w in words.split())
    ...         session.insert(key, m)
    >>> lsh.query(m), "x" in lsh
    (['y'], True)
    """

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
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold: {threshold} is not between 0 and 1")
        if num_perm < 8:
            raise ValueError(f"num_perm: {num_perm} is not between 8 and 1024")
        if any(not 0 <= w <= 1 for w in weights) or abs(sum(weights) - 1) > 1e-9:
            raise ValueError(f"weights: {weights} are not two numbers between 0 and 1 whose sum is 1")
        self._params = params
        if params is not None:
            b, r = params
            if b * r > num_perm:
                raise ValueError(f"params: {b} bands of {r} rows need {b * r} numbers, num_perm is {num_perm}")
            threshold = (1 / b) ** (1 / r)
        self.threshold = threshold
        self.h = num_perm
        self._create()

    def _create(self) -> None:
        # What a missed pair costs beside a false one is not asked: bands are chosen so that hardly any pair at the
        # threshold is missed, and the estimate drops what is below.
        bands, rows = self._params or (0, 0)
        lowest = max(self.threshold, 1e-6)
        self._index = None
        for recall in (0.995, 0.95, 0.8, 0.5):
            try:
                self._index = _core.MinHashIndex.create(round(lowest, 6), recall, self.h, bands, rows)
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
        if len(minhash) != self.h:
            raise ValueError(f"num_perm: the index has {self.h}, the MinHash {len(minhash)}")

    def insert(self, key: Hashable, minhash: MinHash, check_duplication: bool = True) -> None:
        """Adds a sketch under a key that is not there yet."""
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
        """A context manager with insert(); here it is no faster than insert() itself."""
        return MinHashLSHInsertionSession(self)

    def query(self, minhash: MinHash) -> list[Hashable]:
        """The keys of what is probably as similar as the threshold, the most similar first."""
        self._check(minhash)
        found = []
        for number, estimate in self._index.query(minhash._core):
            if self._params is None:
                # All numbers say more than the eight bits of each that the index keeps.
                estimate = self._minhashes[number]._core.jaccard(minhash._core)
                if estimate < self.threshold:
                    continue
            found.append((-estimate, number))
        return [self._keys[number] for _, number in sorted(found)]

    def remove(self, key: Hashable) -> None:
        """Forgets the sketch of a key; ValueError if there is none."""
        number = self._numbers.pop(key, None)
        if number is None:
            raise ValueError(f"key {key!r} is not there")
        del self._keys[number], self._minhashes[number]
        self._index.remove(number)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._numbers

    @property
    def keys(self) -> Iterable[Hashable]:
        """The keys that are there."""
        return self._numbers.keys()

    def is_empty(self) -> bool:
        """Whether there are no keys."""
        return not self._numbers

    def get_counts(self) -> list[dict[int, int]]:
        """For each band: how many sketches share each of its buckets."""
        return self._index.counts()

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Adds all that another index of the same kind has. Keys that both have are kept as here, or refused."""
        if (self.threshold, self.h, self._params) != (other.threshold, other.h, other._params):
            raise ValueError("merge: both must have the same threshold, num_perm and params")
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
            "minhashes": [(key, self._minhashes[number]) for number, key in self._keys.items()],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.threshold, self.h, self._params = state["threshold"], state["h"], state["params"]
        self._create()
        for key, minhash in state["minhashes"]:
            self.insert(key, minhash)


class MinHashLSHInsertionSession:
    """What MinHashLSH.insertion_session() gives."""

    def __init__(self, lsh: MinHashLSH) -> None:
        self.lsh = lsh

    def __enter__(self) -> MinHashLSHInsertionSession:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is left to be done."""

    def insert(self, key: Hashable, minhash: MinHash, check_duplication: bool = True) -> None:
        """As MinHashLSH.insert()."""
        self.lsh.insert(key, minhash, check_duplication)
