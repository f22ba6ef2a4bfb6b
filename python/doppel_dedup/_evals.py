"""Items of evaluations in a corpus: what a model must not be trained on."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from . import _core
from ._job import File, Job, check_outside, relative_files, temporary, write_whole
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
    files: list[str] = dataclasses.field(default_factory=list)  #: that were written, if `keep` is a folder for Parquet files

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
    restart: bool = False,
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
    keep      for the documents without items: a file, with lines as they were, or FILE.parquet, with the rows of Parquet
              files; or a folder. If `src` is Parquet, as for clean(), the folder gets the same files with the same
              columns. A killed job that is started again with the same arguments then goes on with the next file, and
              a source that has changed, or is gone, is an error. Otherwise the folder must be there
    restart   remove what an earlier job has written into the folder, and begin again
    threads   None: all processors
    progress  as of Index.add(), with documents

    It is an error if no document has a text, such as because the column has another name.
    """
    if not 0 <= changed <= 0.5:
        raise ValueError(f"changed: {changed}; it is a share of an item's words, from 0 to 0.5")

    def names(given: str | Sequence[str] | None) -> list[str]:
        return [] if given is None else [given] if isinstance(given, str) else list(given)

    sets = pairs({"input.text": names(text), "input.id": names(id), "threads": threads})
    rules = (names(question), names(answer), changed)
    with _files(evals, "evals") as items:
        if keep is not None and (files := _files_for_a_folder(src, os.fspath(keep))):
            asked = {"decontaminate": [names(text), names(id), *rules], "evals": _content(items)}
            job = Job(os.fspath(keep), asked, restart)
            job.take(files)
            with reporter(progress, []) as report:
                for file in files:
                    _look_through(job, file, items, rules, sets, report)
            return _result_of(job)
        if restart:
            raise ValueError("restart: only a job that writes a folder of Parquet files can be begun again")
        with _files(src, "src") as paths, reporter(progress, [] if _is_paths(src) else src) as report:
            said = _core.decontaminate(items, paths, *rules, "" if keep is None else os.fspath(keep), sets, report)
    return _result(said, [json.loads(line) for line in said["lines"].splitlines()], names(text))


def _result(said: dict[str, Any], findings: list[dict[str, Any]], text: list[str], files: Sequence[str] = ()) -> Decontaminated:
    if said["texts"] == 0 and (said["documents"] or said["messages"]):
        why = said["messages"][0] if said["messages"] else f"none of {said['documents']:,} documents has a text in {' or '.join(text)}"
        raise ValueError(f"src: no text was read: {why}")
    if said["messages"]:
        more = f" (and {len(said['messages']) - 1} more messages)" if len(said["messages"]) > 1 else ""
        warnings.warn(f"decontaminate: not all was read: {said['messages'][0]}{more}", stacklevel=3)
    by_item = dict.fromkeys(said["items"], 0)
    for finding in findings:
        by_item[finding["item"]["id"]] += 1
    return Decontaminated(
        documents=said["documents"],
        contaminated=said["contaminated"],
        items=by_item,
        findings=findings,
        too_short=said["too_short"],
        rejected=said["rejected"],
        messages=said["messages"],
        files=list(files),
    )


# --- From Parquet files to a folder of the same files.

_COUNTS = ("documents", "texts", "contaminated", "rejected")


def _files_for_a_folder(src: Any, keep: str) -> list[File]:
    """The Parquet files of `src`, if `keep` is a folder for them; otherwise none."""
    if not _is_paths(src) or (not os.path.isdir(keep) and os.path.splitext(keep)[1]):
        return []
    try:
        files = relative_files(src)
    except FileNotFoundError:
        return []  # the extension says what is wrong, or reads files of other kinds
    if not all(file.source.lower().endswith((".parquet", ".parq", ".pq")) for file in files):
        return []
    check_outside(files, keep, "keep")
    return files


def _content(paths: list[str]) -> str:
    """A checksum of files."""
    out = hashlib.blake2b(digest_size=16)
    for path in paths:
        names = [path]
        if os.path.isdir(path):
            names = sorted(os.path.join(folder, name) for folder, _, found in os.walk(path) for name in found)
        for name in names:
            with open(name, "rb") as file:
                while part := file.read(1 << 20):
                    out.update(part)
    return out.hexdigest()


def _found(job: Job, name: str) -> str:
    return os.path.join(job.folder, f"{job.number(name)}.found")


def _look_through(job: Job, file: File, items: list[str], rules: Any, sets: Any, report: Callable[[int], object] | None) -> None:
    written, target = job.state["written"], job.target(file.name)
    if file.name in written and os.path.exists(target):
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    before = sum(counts["documents"] for counts in written.values())
    kept = temporary(target) + ".parquet"  # the extension goes by the name
    said = _core.decontaminate(items, [file.source], *rules, kept, sets, None if report is None else lambda done: report(before + done))
    if said["documents"] == 0 and said["messages"]:
        raise ValueError(f"src: no text was read: {said['messages'][0]}")
    if said["documents"] == 0:
        shutil.copyfile(file.source, kept)
    job.check(file)
    write_whole(_found(job, file.name), said["lines"])
    os.replace(kept, target)
    job.state.update(items=said["items"], too_short=said["too_short"])
    written[file.name] = {name: said[name] for name in (*_COUNTS, "messages")}
    job.save()


def _result_of(job: Job) -> Decontaminated:
    written = [job.state["written"][name] for name in job.state["files"]]
    said = {name: sum(counts[name] for counts in written) for name in _COUNTS}
    said |= {"items": job.state["items"], "too_short": job.state["too_short"]}
    said["messages"] = [message for counts in written for message in counts["messages"]][:20]
    findings = []
    for name in job.state["files"]:
        with open(_found(job, name), "rb") as file:
            findings += [json.loads(line) for line in file]
    asked = job.state["asked"]["decontaminate"][0]
    return _result(said, findings, asked, [job.target(name) for name in job.state["files"]])
