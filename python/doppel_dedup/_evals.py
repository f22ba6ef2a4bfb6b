"""Items of evaluations in a corpus: what a model must not be trained on."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from . import _core
from ._progress import Progress, reporter
from ._settings import pairs
from ._sources import stage


@dataclasses.dataclass(frozen=True)
class Decontaminated:
    """What decontaminate() has found."""

    documents: int  #: that were looked through
    contaminated: int  #: that have items in them
    items: dict[str, int]  #: for each item, by its id, in how many documents it is
    findings: list[dict[str, Any]]  #: an item in a document: the lines of `doppel decontaminate`
    too_short: list[str]  #: items that cannot be looked for
    rejected: int  #: documents that could not be read
    messages: list[str]  #: what could not be read, and why: the first 20

    @property
    def ids(self) -> list[str]:
        """The documents that have items in them, in their order."""
        return list(dict.fromkeys(finding["document"]["id"] for finding in self.findings))

    def __repr__(self) -> str:
        found = sum(1 for times in self.items.values() if times)
        return f"<Decontaminated: {self.contaminated:,} of {self.documents:,} documents have items in them, {found:,} of {len(self.items):,} items>"


def _is_paths(given: Any) -> bool:
    return isinstance(given, (str, os.PathLike)) or (
        isinstance(given, (list, tuple)) and bool(given) and all(isinstance(one, (str, os.PathLike)) for one in given)
    )


def _paths(given: Any) -> list[str]:
    return [os.fspath(one) for one in ([given] if isinstance(given, (str, os.PathLike)) else given)]


@contextlib.contextmanager
def _files(given: Any, name: str) -> Iterator[list[str]]:
    """Paths as they are; a table or a list of rows as files that go away."""
    if _is_paths(given):
        yield _paths(given)
        return
    with tempfile.TemporaryDirectory(prefix="doppel-") as folder:
        if isinstance(given, (list, tuple)) and all(isinstance(row, dict) for row in given):
            path = os.path.join(folder, f"{name}.jsonl")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in given)
            yield [path]
        else:
            yield stage(given, os.path.join(folder, name), name)


def decontaminate(
    src: Any,
    evals: Any,
    text: str | Sequence[str] = "text",
    id: str | Sequence[str] = "id",
    *,
    question: str | Sequence[str] | None = None,
    answer: str | Sequence[str] | None = None,
    changed: float = 0.34,
    keep: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Progress = True,
) -> Decontaminated:
    """Finds the items of evaluations in a corpus. Says what `doppel decontaminate` says.

    src       the corpus: files or folders of JSON lines, Parquet, Arrow, WARC or text; a list of dicts; or a table as for
              clean() (which needs pyarrow)
    evals     the items: the same, with a question and an answer each
    text, id  the fields or columns of a document; of several the first that is there
    question, answer
              the fields of an item; of several the first that is there. None: question, query, prompt, problem,
              instruction, input, text; answer, solution, target, output, completion, response
    changed   how much of an item's words may be changed
    keep      the file for the documents without items: lines as they were, or FILE.parquet with the rows of Parquet files;
              or an existing folder, for one file per input
    threads   None: all processors
    progress  as of Index.add(), with documents
    """
    if not 0 <= changed <= 0.5:
        raise ValueError(f"changed: {changed}; it is a share of an item's words, from 0 to 0.5")

    def names(given: str | Sequence[str] | None) -> list[str]:
        return [] if given is None else [given] if isinstance(given, str) else list(given)

    sets = pairs({"input.text": names(text), "input.id": names(id), "threads": threads})
    with _files(src, "src") as paths, _files(evals, "evals") as items, reporter(progress, [] if _is_paths(src) else src) as report:
        said = _core.decontaminate(
            items, paths, names(question), names(answer), changed, "" if keep is None else os.fspath(keep), sets, report
        )
    by_item: dict[str, int] = {}
    for name, times in zip(said["items"], said["by_item"]):
        by_item[name] = by_item.get(name, 0) + times
    return Decontaminated(
        documents=said["documents"],
        contaminated=said["contaminated"],
        items=by_item,
        findings=[json.loads(line) for line in said["lines"].splitlines()],
        too_short=said["too_short"],
        rejected=said["rejected"],
        messages=said["messages"],
    )
