"""MinHash with the interface of datasketch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from .. import _core


def numbers_inside(num_perm: int) -> int:
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
        self._core = _core.MinHash(seed, numbers_inside(num_perm))

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
        self._core = _core.MinHash(self.seed, numbers_inside(self.num_perm))

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
        self._core = _core.MinHash(self.seed, numbers_inside(self.num_perm))
        self._core.set_slots(state["slots"])
