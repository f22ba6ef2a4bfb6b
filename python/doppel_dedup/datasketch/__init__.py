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

from typing import Any

from .lsh import MinHashLSH, MinHashLSHDeletionSession, MinHashLSHInsertionSession
from .minhash import MinHash

__all__ = ["MinHash", "MinHashLSH", "MinHashLSHDeletionSession", "MinHashLSHInsertionSession"]

# Classes of datasketch that this module lacks, and what to use instead.
_ELSEWHERE = {
    "LeanMinHash": "MinHash is as small when it is pickled, and needs no other class",
    "bBitMinHash": "doppel_dedup.Index keeps 8 bits of each number",
    "MinHashLSHForest": "doppel_dedup.Index.top_k() gives the most similar originals",
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
