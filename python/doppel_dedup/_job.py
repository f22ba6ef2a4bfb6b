"""The state of a job that can be killed at any moment and started again: a folder beside its output."""

from __future__ import annotations

import glob
import json
import os
import shutil
import zlib
from typing import Any, NamedTuple

from ._parquet import is_hidden, no_files, parquet_below

_END_BYTES = 64 << 10


class File(NamedTuple):
    source: str
    name: str  # path below the output


def relative_files(src: Any) -> list[File]:
    """The Parquet files of `src`, with their paths below the output."""
    out: list[File] = []
    for given in [src] if isinstance(src, (str, os.PathLike)) else src:
        path = os.fspath(given)
        if os.path.isdir(path):
            out += [File(name, os.path.relpath(name, path)) for name in parquet_below(path)]
            continue
        if os.path.exists(path):
            out.append(File(path, os.path.basename(path)))
            continue
        found = sorted(name for name in glob.glob(path, recursive=True) if not is_hidden(os.path.basename(name)))
        if not found:
            raise FileNotFoundError(f"{path}: no such file, and no file fits it")
        if all(os.path.isdir(name) for name in found):
            out += [File(name, os.path.relpath(name, os.path.dirname(folder))) for folder in found for name in parquet_below(folder)]
        else:
            out += [File(name, os.path.basename(name)) for name in found if not os.path.isdir(name)]
    if not out:
        raise no_files(src)
    taken: dict[str, str] = {}
    for file in out:
        if taken.setdefault(file.name, file.source) != file.source:
            raise ValueError(f"{taken[file.name]} and {file.source} would both be written as {file.name}; clean them in two jobs")
    return out


def check_outside(files: list[File], dst: str, name: str) -> None:
    for file in files:
        if os.path.commonpath([os.path.abspath(file.source), os.path.abspath(dst)]) == os.path.abspath(dst):
            raise ValueError(f"{name}: {file.source} lies in {dst}; name another folder for the output")


def identity(path: str) -> dict[str, int]:
    """What a file is known again by: its size, its time, and a checksum of both of its ends.

    The end of a Parquet file says where its values are, and mostly the least and the largest of them.
    """
    with open(path, "rb") as file:
        info = os.fstat(file.fileno())
        ends = zlib.crc32(file.read(_END_BYTES))
        file.seek(max(0, info.st_size - _END_BYTES))
        return {"size": info.st_size, "time": info.st_mtime_ns, "ends": zlib.crc32(file.read(_END_BYTES), ends)}


def write_whole(path: str, content: bytes) -> None:
    """Replaces a file atomically: it has all of its new content, or its old content."""
    with open(path + ".tmp", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)


def temporary(target: str) -> str:
    """The name that a file of the output has until it is whole."""
    return os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.doppel")


def put_in_place(target: str) -> None:
    """Gives a whole file its name."""
    with open(temporary(target), "rb") as whole:
        os.fsync(whole.fileno())
    os.replace(temporary(target), target)


class Job:
    """The state of a job. `asked` are the arguments that its output depends on."""

    def __init__(self, dst: str, asked: dict[str, Any], restart: bool = False) -> None:
        above, name = os.path.split(os.path.abspath(dst))
        self.dst = dst
        self.folder = os.path.join(above, f".{name}.doppel")
        self.path = os.path.join(self.folder, "job.json")
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
        if os.path.isdir(dst) and os.listdir(dst):
            raise FileExistsError(f"{dst}: not empty, and not the output of a job that can go on ({self.folder} is missing); name another folder")
        os.makedirs(self.folder, exist_ok=True)
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
            for target in (whole, temporary(whole), temporary(whole) + ".parquet"):
                if os.path.exists(target):
                    os.remove(target)
            below = os.path.dirname(name)
            while below and os.path.isdir(os.path.join(self.dst, below)) and not os.listdir(os.path.join(self.dst, below)):
                os.rmdir(os.path.join(self.dst, below))
                below = os.path.dirname(below)
        os.replace(self.folder, self.folder + ".old")
        shutil.rmtree(self.folder + ".old")

    def save(self) -> None:
        write_whole(self.path, json.dumps(self.state, indent=1).encode())

    def target(self, name: str) -> str:
        return os.path.join(self.dst, name)

    def number(self, name: str) -> int:
        return int(self.state["files"].index(name))

    def take(self, files: list[File]) -> None:
        """The files that this run reads. It is an error if one that an earlier run has read has changed, or is gone."""
        given = {file.name: file for file in files}
        wrong = []
        for name in self.state["sources"]:
            if name not in given:
                wrong.append(f"{name} is gone: {self.dst} has what the job made of it")
            elif difference := self._difference(given[name]):
                wrong.append(f"{given[name].source} has changed since the job read it: {difference}")
        self._refuse(wrong)
        for file in files:
            if file.name not in self.state["sources"]:
                self.state["sources"][file.name] = identity(file.source)
                self.state["files"].append(file.name)

    def check(self, file: File) -> None:
        """It is an error if the file has changed since take()."""
        if difference := self._difference(file):
            self._refuse([f"{file.source} has changed while the job read it: {difference}"])

    def _difference(self, file: File) -> str:
        was, now = self.state["sources"][file.name], identity(file.source)
        if was == now:
            return ""
        if was["size"] != now["size"]:
            return f"it had {was['size']:,} bytes, and has {now['size']:,}"
        return "its content is another" if was["ends"] != now["ends"] else "it was written again"

    def _refuse(self, wrong: list[str]) -> None:
        if wrong:
            more = f", and {len(wrong) - 5} more files" if len(wrong) > 5 else ""
            raise ValueError(f"{'; '.join(wrong[:5])}{more}. Put back what was there, or begin again with restart=True, or name another output")
