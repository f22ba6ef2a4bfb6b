"""Signatures, and comparing two texts."""

from __future__ import annotations

import dataclasses
from typing import Any, Unpack

import numpy as np

from . import _core
from ._columns import plain
from ._progress import Progress, reporter
from ._settings import SigningSettings, ThresholdSettings, hash_key_text, pairs


def sign(
    texts: Any, *, hash_key: str | bytes | None = None, progress: Progress = None, **settings: Unpack[SigningSettings]
) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Signs texts on all cores. Returns one row of num_perm numbers per text.

    The share of equal numbers in two rows estimates the Jaccard similarity of the texts' word 5-grams. Signatures can
    be compared only if they were made with the same settings and the same key.

    >>> a, b = sign(["the quick brown fox jumps over the lazy dog", "The quick brown fox, jumps over the lazy dog."])
    >>> a.shape, float((a == b).mean())
    ((128,), 1.0)
    """
    with reporter(progress, texts) as report:
        return _core.sign(plain(texts), pairs(settings), hash_key_text(hash_key), report)


@dataclasses.dataclass(frozen=True)
class Explanation:
    """How the rule decides about two texts, and why."""

    finding: str  #: "exact", "near", "near_miss" and so on, as in `doppel explain`
    duplicate: bool  #: whether the second text repeats the first
    similarity: float  #: the value that decides: the Jaccard similarity of the sets of shingles
    shared_shingles: int
    all_shingles: int
    estimate: float  #: the share of equal numbers in the signatures
    bands_met: int  #: number of bands in which the signatures are equal
    bands: int  #: number of bands
    rows: int  #: numbers per band
    headline: str
    sentences: list[str]

    def __str__(self) -> str:
        return "\n".join([self.headline, *self.sentences])


def explain(a: str | bytes, b: str | bytes, *, hash_key: str | bytes | None = None, **settings: Unpack[ThresholdSettings]) -> Explanation:
    """Explains why the second text is, or is not, a duplicate of the first.

    >>> explain("one two three four five six", "one two three four five six seven").duplicate
    False
    >>> explain("one two three four five six", "One two three; four five six").finding
    'near'
    """
    e = _core.explain(a, b, pairs(settings), hash_key_text(hash_key))
    inter, union = e["overlap"] if e["comparable"] else (int(e["exact"]), 1)
    shared, all_shingles = e["shingles"]
    return Explanation(
        finding=e["finding"],
        duplicate=e["duplicate"],
        similarity=1.0 if e["exact"] else inter / union if union else 0.0,
        shared_shingles=shared,
        all_shingles=all_shingles,
        estimate=e["estimate"],
        bands_met=e["bands_met"],
        bands=e["bands"],
        rows=e["rows"],
        headline=e["headline"],
        sentences=e["sentences"],
    )


def similarity(a: str | bytes, b: str | bytes, **settings: Unpack[ThresholdSettings]) -> float:
    """The Jaccard similarity of the sets of word 5-grams of two texts, which the rule compares with the threshold.

    For texts shorter than a shingle, it is 1 if they are equal, else 0.

    >>> similarity("one two three four five six", "one two three four five six seven")
    0.6666666666666666
    """
    return explain(a, b, **settings).similarity
