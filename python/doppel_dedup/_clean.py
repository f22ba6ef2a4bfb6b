"""Writes a corpus without its copies, in its own form. The job can be killed at any moment and started again.

1. It gives each row to an index, in order. It records the verdicts of a batch before it asks for the next one.
2. It chooses the row of each cluster that stays.
3. It writes each file under a temporary name, without the rows that go, and renames it when it is complete.

The folder `.NAME.doppel` beside the output NAME holds the state of the job. It is not in the output, because many readers
take every file there for data:

    job.json       the arguments, and what is done
    N.rows         for each row of file number N: 8 bytes, the verdict in the upper four bits, the number of the
                   original in the rest
    N.values       the value of each row that decides which one stays: 8 bytes, larger is better (not with "first")
    index          the index, if no path is given
"""

from __future__ import annotations

import dataclasses
import glob
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from ._choice import DUPLICATE, UNSCORED, Chooser, Keep, Mask, Numbers, choose, packed, verdicts_of
from ._index import Index
from ._progress import Progress, bar
from ._settings import JobSettings, pairs
from ._sources import stage
from ._parquet import columns_of, given_rows, is_hidden, no_files, parquet_batches, parquet_below
from ._tables import check_columns

if TYPE_CHECKING:
    import pyarrow

_BATCH_ROWS = 10_000
_GROUP_BYTES = 64 << 20  # of a row group, uncompressed
_GROUP_ROWS = 200_000


@dataclasses.dataclass(frozen=True)
class Cleaned:
    """The result of clean()."""

    rows: int  #: that were read
    kept: int  #: that were written
    duplicates: int  #: that repeat another row, or an original that the index had before
    unscored: int  #: that have no text
    files: list[str]  #: in the output

    def __repr__(self) -> str:
        return f"<Cleaned: {self.kept:,} of {self.rows:,} rows kept, in {len(self.files):,} files>"


class _File(NamedTuple):
    source: str
    name: str  # path below the output


def _relative_files(src: Any) -> list[_File]:
    """The Parquet files of `src`, with their paths below the output."""
    out: list[_File] = []
    for given in [src] if isinstance(src, (str, os.PathLike)) else src:
        path = os.fspath(given)
        if os.path.isdir(path):
            out += [_File(name, os.path.relpath(name, path)) for name in parquet_below(path)]
            continue
        if os.path.exists(path):
            out.append(_File(path, os.path.basename(path)))
            continue
        found = sorted(name for name in glob.glob(path, recursive=True) if not is_hidden(os.path.basename(name)))
        if not found:
            raise FileNotFoundError(f"{path}: no such file, and no file fits it")
        if all(os.path.isdir(name) for name in found):
            out += [_File(name, os.path.relpath(name, os.path.dirname(folder))) for folder in found for name in parquet_below(folder)]
        else:
            out += [_File(name, os.path.basename(name)) for name in found if not os.path.isdir(name)]
    if not out:
        raise no_files(src)
    taken: dict[str, str] = {}
    for file in out:
        if taken.setdefault(file.name, file.source) != file.source:
            raise ValueError(f"{taken[file.name]} and {file.source} would both be written as {file.name}; clean them in two jobs")
    return out


def _is_files(src: Any) -> bool:
    return isinstance(src, (str, os.PathLike)) or (
        isinstance(src, (list, tuple)) and bool(src) and all(isinstance(item, (str, os.PathLike)) for item in src)
    )


class _Job:
    """The state of a job, in a folder beside its output."""

    def __init__(self, dst: str, asked: dict[str, Any]) -> None:
        above, name = os.path.split(os.path.abspath(dst))
        self.folder = os.path.join(above, f".{name}.doppel")
        self.path = os.path.join(self.folder, "job.json")
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.state = json.load(file)
            for name, was in self.state["asked"].items():
                if asked.get(name) != was:
                    raise ValueError(
                        f"{dst} is the output of a job with {name}={was!r}, now {asked.get(name)!r}; name another output, or the same arguments"
                    )
            return
        if os.path.isdir(dst) and os.listdir(dst):
            raise FileExistsError(f"{dst}: not empty, and not the output of a job that can go on ({self.folder} is missing); name another folder")
        os.makedirs(self.folder, exist_ok=True)
        os.makedirs(dst, exist_ok=True)
        self.state = {"version": 2, "asked": asked, "files": [], "written": {}}
        self.save()

    def save(self) -> None:
        write_whole(self.path, json.dumps(self.state, indent=1).encode())

    def rows(self, number: int) -> str:
        return os.path.join(self.folder, f"{number}.rows")

    def values(self, number: int) -> str:
        return os.path.join(self.folder, f"{number}.values")


def write_whole(path: str, content: bytes) -> None:
    """Replaces a file atomically: it has all of its new content, or its old content."""
    with open(path + ".tmp", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)


def _put(path: str, row: int, numbers: Numbers) -> None:
    """Writes rows of 8 bytes each at the given row, and cuts off what is behind them."""
    with open(path, "r+b" if os.path.exists(path) else "w+b") as file:
        if os.fstat(file.fileno()).st_size < 8 * row:
            raise RuntimeError(f"{path}: rows before {row} are missing; remove the output and its index, and begin again")
        file.seek(8 * row)
        file.write(numbers.astype("<u8").tobytes())
        file.truncate()


def _take(path: str) -> Numbers:
    return np.fromfile(path, "<u8") if os.path.exists(path) else np.empty(0, np.uint64)


def _judge(job: _Job, index: Index, files: list[_File], text: str, id: str | None, chooser: Chooser, report: Any) -> None:
    columns = list(dict.fromkeys(name for name in (text, id, chooser.column) if name is not None))
    known = {name: number for number, name in enumerate(job.state["files"])}
    for file in files:
        if file.name not in known:
            known[file.name] = len(known)
            job.state["files"].append(file.name)
    sources = [file.source for file in files]
    if "begun" not in job.state and any(row != 0 for row in index._core.begin_files(sources, True)[1]):
        shutil.rmtree(job.folder)
        raise ValueError("path: the index has decided rows of these files already, in another job; name another path, or the output of that job")
    job.state["begun"] = True
    job.save()
    for number, row, batch, verdicts in given_rows(index, sources, text, id, columns, _BATCH_ROWS, True):
        mine = known[files[number].name]
        if chooser.column is not None:
            _put(job.values(mine), row, chooser.values(batch.column(chooser.column)))
        _put(job.rows(mine), row, packed(verdicts._columns.seq, verdicts._columns.verdict))
        report(len(batch))


def _choose(job: _Job, numbers: Sequence[int], by_value: bool) -> list[Mask]:
    """Which rows of each file stay because they are the best of their clusters."""
    return choose([_take(job.rows(n)) for n in numbers], [_take(job.values(n)) for n in numbers] if by_value else None)


def _groups(source: str, mask: Mask, report: Any) -> Iterator[pyarrow.Table]:
    """Yields the rows that stay, as tables of the size of a row group."""
    import pyarrow

    held: list[pyarrow.RecordBatch] = []
    row = rows = size = 0
    for batch in parquet_batches(source, [], None, _BATCH_ROWS):
        kept = batch.filter(pyarrow.array(mask[row : row + len(batch)]))
        row += len(batch)
        report(len(batch))
        held.append(kept)
        rows, size = rows + len(kept), size + kept.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pyarrow.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if row != len(mask):
        raise RuntimeError(f"{source}: {row} rows, and {len(mask)} were decided; the file has changed meanwhile")
    if rows:
        yield pyarrow.Table.from_batches(held)


def _write(source: str, target: str, mask: Mask, report: Any) -> None:
    import pyarrow.parquet as parquet

    os.makedirs(os.path.dirname(target), exist_ok=True)
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.doppel")
    with parquet.ParquetFile(source) as file:
        groups, schema = file.metadata, file.schema_arrow
        codec = groups.row_group(0).column(0).compression if groups.num_row_groups and groups.num_columns else "ZSTD"
    with parquet.ParquetWriter(temporary, schema, compression="none" if codec == "UNCOMPRESSED" else codec.lower()) as out:
        for group in _groups(source, mask, report):
            out.write_table(group, row_group_size=len(group))
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, target)


def clean(
    src: Any,
    dst: str | os.PathLike[str],
    text: str = "text",
    id: str | None = None,
    *,
    keep: Keep = "first",
    keep_unscored: bool = True,
    path: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **settings: Unpack[JobSettings],
) -> Cleaned:
    """Writes a corpus without its copies: the same files, columns and order, without the rows that go. Needs pyarrow.

    src            Parquet files, folders of them, patterns ("crawl/*/part-*.parquet"), or one of these; or a Hugging
                   Face Dataset, a pyarrow Dataset or Table, a polars DataFrame or LazyFrame, a duckdb relation, or
                   anything with __arrow_c_stream__. (These are first copied, because their order may differ the next
                   time, and are written as part-00000.parquet and so on.) Of a folder all that Arrow's data sets read:
                   .parquet, .parq and .pq, also in linked folders, but no names that begin with _ or .
    dst            the output folder: empty, or the output of the same job
    text, id       the columns; without `id`, a row's id is its place
    keep           which row of a cluster stays: "first", "longest", "shortest", or the one with the largest or smallest
                   value: ("score", "desc"), ("date", "asc"); of equal rows, the first
    keep_unscored  whether rows without text stay
    path           the index's directory, to compare with the documents in it, and to continue later. Without it, the
                   job makes an index in its output and removes it at the end. Such an index has the hash key of an
                   index in memory, so the same job keeps the same rows each time
    progress       as in Index.add(), with the number of rows read; rows are read twice
    settings       as in Index: threshold=0.7, shingle_words=3

    A killed job that is started again with the same arguments continues, and its files are byte for byte the same as
    without the kill. A finished job does nothing, unless there are new files: with a path, they are compared with all
    earlier ones.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportError("clean() reads and writes with pyarrow, which is not installed: pip install pyarrow") from None
    out = os.fspath(dst)
    chooser = Chooser(keep, text)
    asked = {
        "text": text,
        "id": id,
        "keep": list(keep) if isinstance(keep, (tuple, list)) else keep,
        "keep_unscored": keep_unscored,
        "path": None if path is None else os.path.abspath(path),
        "settings": [list(pair) for pair in pairs({k: v for k, v in settings.items() if k not in ("hash_key", "repeated_ids", "config")})],
    }
    staged = not _is_files(src)
    files = [] if staged else _relative_files(src)
    for file in files:
        if os.path.commonpath([os.path.abspath(file.source), os.path.abspath(out)]) == os.path.abspath(out):
            raise ValueError(f"dst: {file.source} lies in {out}; name another folder for the output")
    for file in files:
        needed = [text, *([id] if id is not None else []), *([chooser.column] if chooser.column is not None else [])]
        check_columns(dict.fromkeys(columns_of(file.source)), needed)
    job = _Job(out, asked)
    if staged and "done" not in job.state:
        files = [_File(name, os.path.basename(name)) for name in stage(src, os.path.join(job.folder, "source"))]
        check_columns(dict.fromkeys(columns_of(files[0].source)), [text, *([id] if id is not None else [])])
    sizes = {file.name: os.stat(file.source).st_size for file in files}
    if job.state.get("done") != sizes and (files or "done" not in job.state):
        job.state.pop("done", None)
        _work(job, out, files, text, id, chooser, keep_unscored, path, progress, settings)
        job.state["done"] = sizes
        job.save()
    if path is None:
        shutil.rmtree(os.path.join(job.folder, "index"), ignore_errors=True)
    if staged:
        shutil.rmtree(os.path.join(job.folder, "source"), ignore_errors=True)
    counts = np.zeros(4, np.int64)
    kept = 0
    for number, name in enumerate(job.state["files"]):
        counts += np.bincount(verdicts_of(_take(job.rows(number))).astype(np.int64), minlength=4)[:4]
        kept += job.state["written"][name][1]
    return Cleaned(
        rows=int(counts.sum()),
        kept=kept,
        duplicates=int(counts[DUPLICATE]),
        unscored=int(counts[UNSCORED]),
        files=[os.path.join(out, name) for name in job.state["files"]],
    )


def _index(job: _Job, path: str | os.PathLike[str] | None, settings: JobSettings) -> Index:
    """Opens the index of `path`, or one for this job alone, for which no key is drawn."""
    if path is not None:
        return Index(path=path, **settings)
    own = os.path.join(job.folder, "index")
    if "hash_key" in settings or settings.get("against") or os.path.exists(os.path.join(own, "hash.key")):
        return Index(path=own, **settings)
    with Index(**settings) as in_memory:
        settings["hash_key"] = in_memory.hash_key
    return Index(path=own, **settings)


def _work(
    job: _Job, out: str, files: list[_File], text: str, id: str | None, chooser: Chooser, keep_unscored: bool,
    path: str | os.PathLike[str] | None, progress: Progress, settings: JobSettings,
) -> None:  # fmt: skip
    import pyarrow.parquet as parquet

    total = 2 * sum(parquet.read_metadata(file.source).num_rows for file in files)
    with bar(progress, total) as report:
        with _index(job, path, settings) as index:
            _judge(job, index, files, text, id, chooser, report)
        known = {name: number for number, name in enumerate(job.state["files"])}
        numbers = [known[file.name] for file in files]
        masks = _choose(job, numbers, chooser.column is not None)
        for file, number, mask in zip(files, numbers, masks):
            if keep_unscored:
                mask = mask | (verdicts_of(_take(job.rows(number))) == UNSCORED)
            sum_of_mask = zlib.crc32(np.packbits(mask).tobytes())
            written = [sum_of_mask, int(mask.sum()), len(mask)]
            target = os.path.join(out, file.name)
            if job.state["written"].get(file.name) == written and os.path.exists(target):
                continue
            _write(file.source, target, mask, report)
            job.state["written"][file.name] = written
            job.save()
