"""Items of evaluations in a corpus: what a model must not be trained on."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import posixpath
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Unpack

from . import _core
from ._inputs import is_paths, paths_or_table
from ._job import File, Job, relative_files, write_whole
from ._parquet import OnError, footer_of, is_of_the_file, message_of, parquet_batches, skips
from ._places import Kind, Place, Remote, Where, base_name, each_place, for_reader, is_folder, is_parquet, put_in_place, temporary, writing
from ._progress import Progress, reporter
from ._settings import NoSettings, check_names, pairs
from ._sources import stage
from ._summary import Summary


@dataclasses.dataclass(frozen=True)
class Decontaminated:
    """What decontaminate() has found."""

    documents: int  #: that were looked through
    contaminated: int  #: that have items in them
    items: dict[str, int]  #: for each item, by its id, in how many documents it is
    findings: list[dict[str, Any]]  #: an item in a document: the lines of `doppel decontaminate`
    too_short: list[str]  #: items that are too short to be looked for
    common: list[str]  #: items that are not looked for, because many items or most texts have their words
    rejected: int  #: documents that could not be read
    messages: list[str]  #: what could not be read, and why: the first 20
    files: list[str] = dataclasses.field(default_factory=list)  #: that were written, if `dst` is a folder for Parquet files

    @property
    def ids(self) -> list[str]:
        """The documents that have items in them, in their order."""
        return list(dict.fromkeys(finding["document"]["id"] for finding in self.findings))

    @property
    def summary(self) -> Summary:
        """The items that were found, those in most documents first."""
        found = sorted(((name, times) for name, times in self.items.items() if times), key=lambda one: -one[1])
        title = repr(self).removeprefix("<Decontaminated: ").removesuffix(">")
        return Summary(title, {"item": [name for name, _ in found], "documents": [times for _, times in found]})

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def __repr__(self) -> str:
        found = sum(1 for times in self.items.values() if times)
        return f"<Decontaminated: {self.contaminated:,} of {self.documents:,} documents have items in them, {found:,} of {len(self.items):,} items>"


def _copy(places: list[tuple[Place, Kind]], folder: str) -> list[str]:
    """Local files as they are, and copies of remote ones. Items of evaluations are few."""
    out: list[str] = []
    for number, (place, kind) in enumerate(places):
        if not isinstance(place, Remote):
            out.append(place)
            continue
        files = [file for file, _ in place.files()] if kind == "folder" else [place]
        for file in files:
            path = os.path.join(folder, f"{number}-{len(out)}-{posixpath.basename(str(file))}")
            with file.opened() as source, open(path, "wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
            out.append(path)
    return out


def _look_for(*arguments: Any) -> dict[str, Any]:
    """What the extension says. Its messages name settings and flags of the program; here they name arguments."""
    said = _core.decontaminate(*arguments)
    for flag, argument in (("input.text names", "text= names"), ("input.id names", "id= names"), ("; --text-field names one", "")):
        said["messages"] = [message.replace(flag, argument) for message in said["messages"]]
    return said


@contextlib.contextmanager
def _files(given: Any, name: str, where: Where) -> Iterator[list[str]]:
    """Paths as they are; a table, a list of rows or remote files as files that go away."""
    with tempfile.TemporaryDirectory(prefix="doppel-") as folder:
        if is_paths(given):
            yield _copy([(place, kind) for place, _, kind in each_place(given, where)], folder)
        elif isinstance(given, (list, tuple)) and all(isinstance(row, dict) for row in given):
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
    dst: str | os.PathLike[str] | None = None,
    on_error: OnError = "raise",
    restart: bool = False,
    state: str | os.PathLike[str] | None = None,
    storage_options: Any = None,
    filesystem: Any = None,
    threads: int | None = None,
    progress: Progress = True,
    **wrong: Unpack[NoSettings],
) -> Decontaminated:
    """Finds the items of evaluations in a corpus. Says what `doppel decontaminate` says.

    src       the corpus: files or folders of JSON lines, Parquet, Arrow, WARC or text; a list of dicts; or a table as for
              clean() (which needs pyarrow)
    evals     the items: the same, with a question and an answer each
    text, id  the fields or columns of a document; of several the first that is there. "doc.text" is a field inside of another
    question, answer
              the fields of an item; of several the first that is there. None: question, query, prompt, problem,
              instruction, input, text; answer, solution, target, output, completion, response
    changed   how much of an item's words may be changed
    dst       for the documents without items: a file, with lines as they were, or FILE.parquet, with the rows of Parquet
              files; or a folder. If `src` is Parquet, as for clean(), the folder gets the same files with the same
              columns. A killed job that is started again with the same arguments then goes on with the next file, and
              a source that has changed, or is gone, is an error. Otherwise the folder must be there
    on_error  "raise", or "skip": of a folder of Parquet files, one that cannot be read, or has no text, is left out; a warning
              and `messages` name it
    restart   remove what an earlier job has written into the folder, and begin again
    state, storage_options, filesystem
              as in clean(), of `src` and `dst`; `src` and `evals` are reached alike. Remote corpora must be Parquet files
    threads   None: all processors
    progress  as of Index.add(), with documents

    It is an error if no document has a text, such as because the column has another name.
    """
    check_names(wrong, decontaminate, takes_settings=False)
    if not 0 <= changed <= 0.5:
        raise ValueError(f"changed: {changed}; it is a share of an item's words, from 0 to 0.5")

    def names(given: str | Sequence[str] | None) -> list[str]:
        several = [] if given is None else [given] if isinstance(given, str) else list(given)
        return [each for name in several for each in ([name, "/" + name.replace(".", "/")] if "." in name else [name])]

    src, evals = paths_or_table(src, names(text)[0] if text else "text"), paths_or_table(evals, "question")
    skip, skipped = skips(on_error), list[str]()
    sets = pairs({"input.text": names(text), "input.id": names(id), "threads": threads})
    rules = (names(question), names(answer), changed)
    reading, keeping = Where.of_both(storage_options, filesystem)
    to = None if dst is None else keeping.place(dst)
    with _files(evals, "evals", reading) as items:
        if to is not None and (files := _files_for_a_folder(src, to, reading, progress)):
            asked = {"decontaminate": [names(text), names(id), *rules], "evals": _content(items)}
            job = Job(to, asked, restart, state)
            job.take(files, progress)
            with reporter(progress, []) as report:
                for file in files:
                    try:
                        _look_through(job, file, items, rules, sets, report)
                    except Exception as error:
                        if not skip or not (isinstance(error, _NoText) or is_of_the_file(error)):
                            raise
                        skipped.append(f"skipped: {message_of(error)}")
            job.save()
            return _result_of(job, skipped)
        if restart:
            raise ValueError("restart: only a job that writes a folder of Parquet files can be begun again")
        if isinstance(to, Remote):
            raise ValueError(f"dst: {to}: only a folder of Parquet files can be written there, from a `src` of Parquet files")
        remote = [place for place, _, _ in each_place(src, reading, progress) if isinstance(place, Remote)] if is_paths(src) else []
        if remote and to is not None:
            raise ValueError(f"dst: {to}: of a remote corpus a folder is written; name one")
        if remote:
            with reporter(progress, []) as report:
                parts: list[dict[str, Any]] = []
                for file in _remote_parquet(src, reading, progress):
                    before = sum(part["documents"] for part in parts)
                    parts.append(_streamed(file.source, items, rules, sets, _from(report, before)))
                said = _all_of(parts)
        else:
            with _files(src, "src", reading) as paths, reporter(progress, [] if is_paths(src) else src) as report:
                said = _look_for(items, paths, *rules, "" if to is None else to, sets, report)
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
        common=said["common"],
        rejected=said["rejected"],
        messages=said["messages"],
        files=list(files),
    )


# --- From Parquet files to a folder of the same files.

_COUNTS = ("documents", "texts", "contaminated", "rejected")
_OF_ITEMS = ("items", "too_short", "common")


def _files_for_a_folder(src: Any, dst: Place, where: Where, progress: Progress) -> list[File]:
    """The Parquet files of `src`, if `dst` is a folder for them; otherwise none."""
    if not is_paths(src) or (not is_folder(dst) and os.path.splitext(base_name(dst))[1]):
        return []
    try:
        files = relative_files(src, where, progress, dst)
    except FileNotFoundError:
        return []  # the extension says what is wrong, or reads files of other kinds
    return files if all(is_parquet(file.source) for file in files) else []


def _remote_parquet(src: Any, where: Where, progress: Progress) -> list[File]:
    files = relative_files(src, where, progress)
    for file in files:
        if not is_parquet(file.source):
            raise ValueError(f"src: {file.source}: only Parquet files can be read there; copy it to this machine first")
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


def _from(report: Callable[[int], object] | None, before: int) -> Callable[[int], object] | None:
    return None if report is None else lambda done: report(before + done)


def _look_through(job: Job, file: File, items: list[str], rules: Any, sets: Any, report: Callable[[int], object] | None) -> None:
    written, target = job.state["written"], job.target(file.name)
    if file.name in written and job.is_there(file.name):
        return
    before = sum(counts["documents"] for counts in written.values())
    if isinstance(file.source, Remote) or isinstance(target, Remote):
        said = _rows_without_items(job, file, target, items, rules, sets, _from(report, before))
        _done(job, file, target, said)
        return
    os.makedirs(os.path.dirname(target), exist_ok=True)
    kept = f"{temporary(target)}.parquet"  # the extension goes by the name
    with job.reading([file]):
        said = _look_for(items, [file.source], *rules, kept, sets, _from(report, before))
        if said["documents"] == 0 and said["messages"]:
            raise _NoText(f"src: no text was read: {said['messages'][0]}")
        if said["documents"] == 0:
            shutil.copyfile(file.source, kept)
    os.replace(kept, temporary(target))
    _done(job, file, target, said)


def _done(job: Job, file: File, target: Place, said: dict[str, Any]) -> None:
    write_whole(_found(job, file.name), said["lines"])
    put_in_place(target)
    job.note_size(file.name)
    job.state |= {name: said[name] for name in _OF_ITEMS}
    job.state["written"][file.name] = {name: said[name] for name in (*_COUNTS, "messages")}
    job.save_at_times()


class _NoText(ValueError):
    pass


def _result_of(job: Job, skipped: list[str]) -> Decontaminated:
    names = [name for name in job.state["files"] if name in job.state["written"]]
    if not names:
        raise ValueError(f"src: none of {len(skipped):,} files can be read: {skipped[0]}")
    written = [job.state["written"][name] for name in names]
    said = {name: sum(counts[name] for counts in written) for name in _COUNTS}
    said |= {name: job.state[name] for name in _OF_ITEMS}
    said["messages"] = skipped + [message for counts in written for message in counts["messages"]][:20]
    findings = []
    for name in names:
        with open(_found(job, name), "rb") as file:
            findings += [json.loads(line) for line in file]
    asked = job.state["asked"]["decontaminate"][0]
    return _result(said, findings, asked, [str(job.target(name)) for name in names])


# --- Files that the extension cannot open: it is given some rows at a time.

_ROWS = 50_000  # or fewer, if they are long: see parquet_batches()


def _streamed(source: Place, items: list[str], rules: Any, sets: Any, report: Any, out: Any = None) -> dict[str, Any]:
    """What the extension says of a Parquet file. `out`: a ParquetWriter for the rows without items."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as parquet

    named = [name for key, value in sets if key.startswith("input.") for name in value.split(", ")]
    wanted = [name for name in footer_of(source).schema.names if name == "url" or any(f"{one}/".startswith((f"{name}/", f"/{name}/")) for one in named)]
    parts, first_row = [], 0
    with tempfile.TemporaryDirectory(prefix="doppel-") as folder:
        path = os.path.join(folder, "rows.parquet")
        for batch in parquet_batches(source, [], wanted if wanted and out is None else None, _ROWS):
            parquet.write_table(pa.table(batch).select(wanted or batch.schema.names), path, compression="none")
            said = _look_for(items, [path], *rules, "", sets, None)
            stays = np.ones(len(batch), bool)
            lines = []
            for finding in map(json.loads, said["lines"].splitlines()):
                document = finding["document"]
                stays[document["row"]] = False
                row = first_row + document["row"]
                if document["id"] == f"{path}/{document['row']}":
                    document["id"] = f"{source}/{row}"
                document |= {"file": str(source), "row": row}
                lines.append(json.dumps(finding, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
            parts.append(said | {"lines": b"".join(lines), "messages": [message.replace(path, str(source)) for message in said["messages"]]})
            if out is not None:
                out.write_batch(batch.filter(pa.array(stays)))
            first_row += len(batch)
            if report is not None:
                report(first_row)
        if not parts:
            parquet.write_table(pa.table({name: pa.array([], pa.string()) for name in wanted or ["text"]}), path)
            parts.append(_look_for(items, [path], *rules, "", sets, None))
    return _all_of(parts)


def _all_of(parts: list[dict[str, Any]]) -> dict[str, Any]:
    out = {name: sum(part[name] for part in parts) for name in _COUNTS}
    return out | {"lines": b"".join(part["lines"] for part in parts), **{name: parts[0][name] for name in _OF_ITEMS},
                  "messages": [message for part in parts for message in part["messages"]][:20]}  # fmt: skip


def _rows_without_items(job: Job, file: File, target: Place, items: list[str], rules: Any, sets: Any, report: Any) -> dict[str, Any]:
    """Writes a file without the rows that have items, but does not give it its name yet."""
    import pyarrow.parquet as parquet

    with writing(target) as unfinished, job.reading([file]):
        with parquet.ParquetFile(for_reader(file.source)) as source:
            schema = source.schema_arrow
        with parquet.ParquetWriter(unfinished, schema, compression="zstd") as out:
            return _streamed(file.source, items, rules, sets, report, out)
