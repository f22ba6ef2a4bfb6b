"""Reports the progress of long calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int, int], object] | bool | None


def _size(values: Any) -> int:
    try:
        return len(values)
    except TypeError:
        return 0  # streams have no length


@contextlib.contextmanager
def bar(progress: Progress, total: int, unit: str = " rows") -> Iterator[Callable[[int], object]]:
    """Yields a function to call with the number of newly finished rows."""
    if callable(progress):
        done = 0

        def report(more: int) -> None:
            nonlocal done
            done += more
            progress(done, total)

        yield report
        return
    try:
        if not progress:
            raise ImportError
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda more: None
        return
    with tqdm(total=total or None, unit=unit, unit_scale=True) as shown:
        yield shown.update


@contextlib.contextmanager
def reporter(progress: Progress, values: Any) -> Iterator[Callable[[int], object] | None]:
    """Yields the function that the extension calls with the number of finished documents, or None."""
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
