"""The page of `report=`: how often texts came, the rows that came most often, with their copies beside them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._choice import Numbers
from ._settings import pairs

Texts = Callable[[int], Iterable[tuple[Any, Any]]]


def byte_lengths(texts: Any) -> Numbers:
    """The length of each text in bytes; 0 of a missing one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(texts.type):
        texts = texts.cast(texts.type.value_type)
    if pa.types.is_null(texts.type):
        return np.zeros(len(texts), np.uint64)
    if not (pa.types.is_binary(texts.type) or pa.types.is_large_binary(texts.type)):
        texts = texts.cast(pa.large_string())
    lengths = pc.fill_null(pc.binary_length(texts).cast(pa.uint64()), pa.scalar(0, pa.uint64()))
    return np.ascontiguousarray(np.asarray(lengths, np.uint64))


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def report_page(
    what: str, names: Sequence[str], rows: Sequence[Numbers], hows: Sequence[Numbers], texts: Texts, settings: Mapping[str, Any]
) -> bytes:
    """The page as HTML.

    what        was compared, in words
    names       of the files
    rows, hows  of each file: see packed() and how()
    texts       gives the texts of a file, and their ids or None, as Arrow arrays in pieces; it is called twice for each file
    """
    report = _core.Report(list(names))
    for n in range(len(names)):
        sizes = [byte_lengths(column) for column, _ in texts(n)]
        report.count(n, rows[n], hows[n], np.concatenate(sizes) if sizes else np.empty(0, np.uint64))
    report.choose()
    for n in range(len(names)):
        report.look(n, rows[n], hows[n])
    for n, shown in itertools.groupby(report.shown(), lambda place: place[0]):
        wanted, first = [row for _, row in shown], 0
        for column, ids in texts(n):
            inside = [row for row in wanted if first <= row < first + len(column)]
            for row in inside:
                id = None if ids is None else _as_text(ids[row - first].as_py())
                report.set(n, row, id, _as_text(column[row - first].as_py()))
            first += len(column)
            if wanted[-1] < first:
                break
    # Only what the page shows of the rule: the threshold and the words of a shingle.
    return report.html(what, pairs({name: settings[name] for name in ("threshold", "shingle_words", "normaliser") if name in settings}), "0" * 32)
