"""The state of a job that can be killed at any moment and started again: a folder beside its output."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from ._places import (
    Place, Remote, Where, base_name, child, each, exists, identity, is_below, is_empty, local_path, parquet_files, remove, size_of, temporary,
)  # fmt: skip
from ._progress import Progress, steps


class File(NamedTuple):
    source: Place
    name: str  # path below the output


def relative_files(src: Any, where: Where = Where(), progress: Progress = False, dst: Place | None = None) -> list[File]:
    """The Parquet files of `src`, with their paths below the output. It is an error if one lies in `dst`, or would when the
    job is started again."""
    out = [File(*found) for found in parquet_files(src, where, progress, dst)]
    if dst is not None:
        check_outside(out, dst, "dst")
    taken: dict[str, Place] = {}
    for file in out:
        if str(taken.setdefault(file.name, file.source)) != str(file.source):
            raise ValueError(f"{taken[file.name]} and {file.source} would both be written as {file.name}; clean them in two jobs")
    return out


def check_outside(files: list[File], dst: Place, name: str) -> None:
    for file in files:
        if is_below(file.source, dst):
            raise ValueError(f"{name}: {file.source} lies in {dst}; name another folder for the output")


def write_whole(path: str, content: bytes) -> None:
    """Replaces a file atomically: it has all of its new content, or its old content."""
    with open(path + ".tmp", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)


def state_folder(dst: Place, state: str | os.PathLike[str] | None) -> str:
    """Where the state of the job on this output lies: beside it, or for a remote output in a folder of this machine."""
    if state is None and not isinstance(dst, Remote):
        above, name = os.path.split(os.path.abspath(dst))
        return os.path.join(above, f".{name}.doppel")
    if state is None:
        state = os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "doppel")
    known = f"{dst.endpoint} {dst}" if isinstance(dst, Remote) else os.path.abspath(dst)
    number = hashlib.blake2b(known.encode(), digest_size=6).hexdigest()
    return os.path.join(os.path.abspath(local_path(state, "state", "the state of a job")), f".{base_name(dst)}-{number}.doppel")


class Job:
    """The state of a job. `asked` are the arguments that its output depends on."""

    def __init__(self, dst: Place, asked: dict[str, Any], restart: bool = False, state: str | os.PathLike[str] | None = None) -> None:
        self.dst = dst
        self.folder = state_folder(dst, state)
        self.path = os.path.join(self.folder, "job.json")
        self._saved = self._saving = 0.0  # when, and how long it took
        shutil.rmtree(self.folder + ".old", ignore_errors=True)
        if restart and os.path.exists(self.path):
            self._read()
            self._forget()
        if os.path.exists(self.path):
            self._read()
            for name, was in self.state["asked"].items():
                if asked.get(name) != was:
                    raise ValueError(
                        f"{dst} is the output of a job with {name}={was!r}, now {asked.get(name)!r}; name another output, or the "
                        "same arguments, or begin again with restart=True"
                    )
            return
        if not is_empty(dst):
            raise FileExistsError(f"{dst}: not empty, and not the output of a job that can go on ({self.folder} is missing); name another folder")
        os.makedirs(self.folder, exist_ok=True)
        if not isinstance(dst, Remote):
            os.makedirs(dst, exist_ok=True)
        self.state = {"version": 2, "asked": asked, "files": [], "sources": {}, "written": {}}
        self.save()

    def _read(self) -> None:
        with open(self.path, encoding="utf-8") as file:
            self.state: dict[str, Any] = json.load(file)

    def _forget(self) -> None:
        """Removes what the job has written, and its state last, so that a killed restart can be started again."""
        path = self.state["asked"].get("path")
        if path is not None and os.path.exists(path):
            raise ValueError(
                f"restart: the index in {path} knows the rows of the job, and would take them for copies of themselves; remove "
                "that folder first, or name another path and another output"
            )
        for name in self.state["files"]:
            whole = self.target(name)
            remove(whole)
            remove(temporary(whole))
            below = os.path.dirname(name)
            if isinstance(self.dst, Remote):
                continue
            remove(f"{temporary(whole)}.parquet")
            while below and os.path.isdir(os.path.join(self.dst, below)) and not os.listdir(os.path.join(self.dst, below)):
                os.rmdir(os.path.join(self.dst, below))
                below = os.path.dirname(below)
        os.replace(self.folder, self.folder + ".old")
        shutil.rmtree(self.folder + ".old")

    def save(self) -> None:
        began = time.monotonic()
        write_whole(self.path, json.dumps(self.state, indent=1).encode())
        self._saved = time.monotonic()
        self._saving = self._saved - began

    def save_at_times(self) -> None:
        """save(), if that takes at most a twentieth of the time: it writes what is known of all files. A file whose end is
        not saved is written again after a kill. The caller saves at the end."""
        if time.monotonic() - self._saved >= 20 * self._saving:
            self.save()

    def target(self, name: str) -> Place:
        return child(self.dst, name)

    def note_size(self, name: str) -> None:
        """The file of the output is whole; see is_there()."""
        self.state.setdefault("sizes", {})[name] = size_of(self.target(name))

    def is_there(self, name: str) -> bool:
        """Whether a file of the output has the size that it was written with. Jobs of version 0.1 know none."""
        size = self.state.get("sizes", {}).get(name)
        return exists(self.target(name)) if size is None else size_of(self.target(name)) == size

    def number(self, name: str) -> int:
        return int(self.state["files"].index(name))

    def take(self, files: list[File], progress: Progress = False) -> None:
        """The files that this run reads. It is an error if one that an earlier run has read has changed, or is gone."""
        given = {file.name: file for file in files}
        with steps(progress, "checking files", len(given)) as report:
            now = dict(zip(given, each(lambda file: identity(file.source), list(given.values()), report)))
        wrong = []
        for name in self.state["sources"]:
            if name not in given:
                wrong.append(f"{name} is gone: {self.dst} has what the job made of it")
            elif difference := self._difference(name, now[name]):
                wrong.append(f"{given[name].source} has changed since the job read it: {difference}")
        self._refuse(wrong)
        for file in files:
            if file.name not in self.state["sources"]:
                self.state["sources"][file.name] = now[file.name]
                self.state["files"].append(file.name)

    @contextlib.contextmanager
    def reading(self, files: list[File]) -> Iterator[None]:
        """It is an error if one of these files has changed since take(), also if that is why they cannot be read."""
        try:
            yield
        except Exception:
            with contextlib.suppress(OSError):
                each(self.check, files)
            raise
        each(self.check, files)

    def check(self, file: File) -> None:
        """It is an error if the file has changed since take()."""
        if difference := self._difference(file.name, identity(file.source)):
            self._refuse([f"{file.source} has changed while the job read it: {difference}"])

    def _difference(self, name: str, now: dict[str, Any]) -> str:
        was = self.state["sources"][name]
        if was == now:
            return ""
        if was["size"] != now["size"]:
            return f"it had {was['size']:,} bytes, and has {now['size']:,}"
        return "its content is another" if was["ends"] != now["ends"] else "it was written again"

    def _refuse(self, wrong: list[str]) -> None:
        if wrong:
            more = f", and {len(wrong) - 5} more files" if len(wrong) > 5 else ""
            raise ValueError(f"{'; '.join(wrong[:5])}{more}. Put back what was there, or begin again with restart=True, or name another output")
