"""How far a long call is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int, int], object] | bool | None


def _size(values: Any) -> int:
    try:
        return len(values)
    except TypeError:
        return 0  # a stream does not know


@contextlib.contextmanager
def reporter(progress: Progress, values: Any) -> Iterator[Callable[[int], object] | None]:
    """The function that the extension calls with how many documents are done, or None."""
    if not progress:
        yield None
        return
    total = _size(values)
    if callable(progress):
        yield lambda done: progress(done, total)
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    with tqdm(total=total or None, unit=" documents", unit_scale=True) as bar:
        yield lambda done: bar.update(done - bar.n)
