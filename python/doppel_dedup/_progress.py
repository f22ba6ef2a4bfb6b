"""Reports the progress of long calls."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int, int], object] | bool | None
_DELAY = 2.0  # seconds; what takes less is not shown


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


def _tqdm(progress: Progress) -> Any:
    """The class, if there is one and it is wanted. A program's own function hears of rows only."""
    if not progress or callable(progress):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


@contextlib.contextmanager
def steps(progress: Progress, what: str, total: int) -> Iterator[Callable[[int], object]]:
    """Shows how many files something has been done with, before any row is read. Yields a function to call for each of them.

    `what` is a participle: "looking for files".
    """
    tqdm = _tqdm(progress)
    if tqdm is None:
        yield lambda more: None
        return
    with tqdm(total=total, desc=what, unit=" files", delay=_DELAY, leave=False) as shown:
        yield shown.update


@contextlib.contextmanager
def waiting(progress: Progress, what: str) -> Iterator[None]:
    """Shows for how long something has been going on whose end nobody knows."""
    tqdm = _tqdm(progress)
    if tqdm is None:
        yield
        return
    done = threading.Event()

    def show() -> None:
        if done.wait(_DELAY):
            return
        with tqdm(desc=what, bar_format="{desc} [{elapsed}]", leave=False) as shown:
            while not done.wait(1):
                shown.refresh()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


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
