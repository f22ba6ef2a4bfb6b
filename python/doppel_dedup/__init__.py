"""Finds near-duplicate documents fast and decides about each pair exactly.

>>> import doppel_dedup
>>> index = doppel_dedup.Index(threshold=0.8)
>>> index.add(["one two three four five six", "One, two, three, four, five, six!"]).verdict
array(['unique', 'duplicate'], dtype='<U9')

`Index` takes documents in batches, `deduplicate` a whole table; `scan_parquet` and `clean` read files. `similarity` and
`explain` compare two texts, `sign` returns signatures. `sign_records` and `resolve` divide the work between machines;
`doppel_dedup.spark` and `doppel_dedup.ray` do this on a cluster. `doppel_dedup.datasketch` has MinHash and MinHashLSH.
"""

from ._errors import BusyError, DamagedError, Error, WrongIndexError
from ._clean import Cleaned, clean
from ._client import AsyncClient, Client
from ._evals import Decontaminated, decontaminate
from ._index import Index
from ._signed import SignedRecords, resolve, sign_records
from ._parquet import scan_parquet
from ._summary import Summary
from ._tables import deduplicate
from ._texts import Explanation, explain, sign, similarity
from ._verdicts import Passage, Related, Verdict, Verdicts

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "BusyError",
    "Cleaned",
    "Client",
    "DamagedError",
    "Decontaminated",
    "Error",
    "Explanation",
    "Index",
    "Passage",
    "Related",
    "SignedRecords",
    "Summary",
    "Verdict",
    "Verdicts",
    "WrongIndexError",
    "clean",
    "decontaminate",
    "deduplicate",
    "explain",
    "resolve",
    "scan_parquet",
    "sign",
    "sign_records",
    "similarity",
]
