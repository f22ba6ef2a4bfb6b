"""Writes a corpus without its copies, in its own form. The job can be killed at any moment and started again.

1. It gives each row to an index, in order. It records the verdicts of a batch before it asks for the next one.
2. It chooses the row of each cluster that stays.
3. It writes each file under a temporary name, without the rows that go, and renames it when it is complete.

The folder `.NAME.doppel` beside the output NAME holds the state of the job; for a remote output, a folder of this machine.
It is not in the output, because many readers take every file there for data:

    job.json       the arguments, what the sources are known again by, and what is done
    N.rows         for each row of file number N: 8 bytes, the verdict in the upper four bits, the number of the
                   original in the rest
    N.how          for each row: 8 bytes, the similarity to the original in millionths, and the kind of copy above it
    remote-files   small files that the index knows remote sources by
    N.values       the value of each row that decides which one stays: 8 bytes, larger is better (not with "first")
    index          the index, if no path is given
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import threading
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ._choice import DUPLICATE, UNSCORED, Chooser, Keep, Mask, Numbers, choose, packed, verdicts_of
from ._clusters import how, kinds_of, write_clusters
from ._columns import check_columns, column_of, plain
from ._index import Index
from ._inputs import is_paths, paths_or_table
from ._job import File, Job, check_outside, relative_files, write_whole
from ._parquet import OnError, footer_of, given_rows, is_of_the_file, message_of, on_this_machine, parquet_batches, skips
from ._places import Place, Remote, Where, each, exists, for_reader, local_path, put_in_place, several, writing
from ._progress import Progress, bar, steps
from ._report import report_page
from ._settings import JobSettings, check_names, pairs
from ._sources import stage, staged_table, table_identity
from ._summary import Summary
from ._verdicts import KINDS

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
    skipped: dict[str, str]  #: files that could not be read, and why (on_error="skip")
    summary: Summary  #: the same for each file, with the kinds of copies: prints as a table, becomes a data frame

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped):,} skipped" if self.skipped else ""
        return f"<Cleaned: {self.kept:,} of {self.rows:,} rows kept, in {len(self.files):,} files{skipped}>"


def _rows(job: Job, number: int) -> str:
    return os.path.join(job.folder, f"{number}.rows")


def _values(job: Job, number: int) -> str:
    return os.path.join(job.folder, f"{number}.values")


def _how(job: Job, number: int) -> str:
    return os.path.join(job.folder, f"{number}.how")


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


def _judge(job: Job, index: Index, files: list[File], text: str, id: str | None, chooser: Chooser, report: Any) -> None:
    columns = list(dict.fromkeys(name for name in (text, id, chooser.column) if name is not None))
    known = {name: number for number, name in enumerate(job.state["files"])}
    sources = [file.source for file in files]
    paths = on_this_machine(sources, os.path.join(job.folder, "remote-files"))
    if "begun" not in job.state and any(row != 0 for row in index._core.begin_files(paths, True)[1]):
        shutil.rmtree(job.folder)
        raise ValueError("path: the index has decided rows of these files already, in another job; name another path, or the output of that job")
    job.state["begun"] = True
    job.save()
    with job.reading(files):
        for number, row, batch, verdicts in given_rows(index, sources, paths, text, id, columns, _BATCH_ROWS, True):
            mine = known[files[number].name]
            if chooser.column is not None:
                _put(_values(job, mine), row, chooser.values(column_of(batch, chooser.column)))
            _put(_how(job, mine), row, how(verdicts))
            _put(_rows(job, mine), row, packed(verdicts._columns.seq, verdicts._columns.verdict))
            report(len(batch))


def _masks(job: Job, files: list[File], chooser: Chooser) -> tuple[list[int], list[Mask]]:
    """The numbers of the files in the job, and which rows of each stay because they are the best of their clusters."""
    numbers = [job.number(file.name) for file in files]
    values = [_take(_values(job, n)) for n in numbers] if chooser.column is not None else None
    return numbers, choose([_take(_rows(job, n)) for n in numbers], values)


def _groups(source: Place, mask: Mask, report: Any) -> Iterator[pyarrow.Table]:
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
        raise RuntimeError(f"{source}: {row} rows, and {len(mask)} were decided; begin again with restart=True")
    if rows:
        yield pyarrow.Table.from_batches(held)


def _write(job: Job, file: File, mask: Mask, report: Any) -> None:
    import pyarrow.parquet as parquet

    target = job.target(file.name)
    with writing(target) as unfinished, job.reading([file]):
        with parquet.ParquetFile(for_reader(file.source)) as source:
            groups, schema = source.metadata, source.schema_arrow
            codec = groups.row_group(0).column(0).compression if groups.num_row_groups and groups.num_columns else "ZSTD"
        compression = "none" if codec == "UNCOMPRESSED" else codec.lower()
        with parquet.ParquetWriter(unfinished, schema, compression=compression) as out:
            for group in _groups(file.source, mask, report):
                out.write_table(group, row_group_size=len(group))
    put_in_place(target)


def clean(
    src: Any,
    dst: str | os.PathLike[str],
    text: str = "text",
    id: str | None = None,
    *,
    keep: Keep = "first",
    keep_unscored: bool = True,
    path: str | os.PathLike[str] | None = None,
    clusters: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    on_error: OnError = "raise",
    restart: bool = False,
    state: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | tuple[Mapping[str, Any] | None, Mapping[str, Any] | None] | None = None,
    filesystem: Any = None,
    progress: Progress = True,
    **settings: Unpack[JobSettings],
) -> Cleaned:
    """Writes a corpus without its copies: the same files, columns and order, without the rows that go. Needs pyarrow.

    src            Parquet files, folders of them, patterns ("crawl/*/part-*.parquet"), one of these, or a generator of
                   them; or a table: a Dataset or IterableDataset of Hugging Face, a Dataset or Table of pyarrow, a
                   DataFrame or LazyFrame of polars, a Series, a list of dicts, an open Parquet file, a relation of
                   duckdb, or anything with __arrow_c_stream__. (Tables are first copied, because their order may differ
                   the next time, and are written as part-00000.parquet and so on.) Of a folder all that Arrow's data sets read:
                   .parquet, .parq and .pq, also in linked folders, but no names that begin with _ or . Paths may be URLs:
                   "s3://bucket/crawl", "gs://...", "hf://datasets/...", "https://...", all that fsspec knows
    dst            the output folder, which may be a URL, too: empty, or the output of the same job. It lies in no folder of
                   `src`, unless its name begins with _ or .
    text, id       the columns, or fields inside of them: "doc.text"; without `id`, a row's id is its place
    keep           which row of a cluster stays: "first", "longest", "shortest", or the one with the largest or smallest
                   value: ("score", "desc"), ("date", "asc"); of equal rows, the first
    keep_unscored  whether rows without text stay
    path           the index's directory, to compare with the documents in it, and to continue later. Without it, the
                   job makes an index in its output and removes it at the end. Such an index has the hash key of an
                   index in memory, so the same job keeps the same rows each time
    clusters       a Parquet file to write, with a row for each row that went because another one of `src` stays: file, row
                   (and id) of both, the similarity, and the relation: "exact", "near" or "contained". These two are
                   with the row that came first, which is another one than the one that stays if `keep` says so
    report         an HTML file to write: how often texts came, the rows that came most often, with their copies beside them
                   and the differences marked, and each file's share. The texts are read once more for it, and twice
                   where rows are shown
    on_error       "raise", or "skip": a file that cannot be read as a whole, or lacks a column, is left out; a warning and
                   the result name it. Each file is read once more for that. A file that cannot be reached is an error
    restart        remove what an earlier job has written into the output, and begin again
    state          a folder of this machine for the state of the job. Without it, it lies beside the output, and that of
                   a remote output in ~/.local/state/doppel
    storage_options
                   arguments of the file system of fsspec that a URL names: {"key": ..., "secret": ..., "endpoint_url": ...}.
                   A pair if those of `src` and `dst` differ. They are in no message and no file
    filesystem     one of pyarrow.fs or fsspec that has the paths; a pair, such as (None, S3FileSystem()), if that of `src`
                   and that of `dst` differ
    progress       as in Index.add(), with the number of rows read; rows are read twice
    settings       as in Index: threshold=0.7, shingle_words=3

    A killed job that is started again with the same arguments continues, and its files are byte for byte the same as
    without the kill. A finished job does nothing, unless there are new files: with a path, they are compared with all
    earlier ones; and a file of the output that is gone, or has another size, is written again. It is an error if a file
    has changed since the job read it, or is gone, or if the table is another one; restart=True begins again. A file is
    known by its name, its size, its time and the bytes at both of its ends.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportError("clean() reads and writes with pyarrow, which is not installed: pip install pyarrow") from None
    check_names(settings, clean)
    reading, writing_to = Where.of_both(storage_options, filesystem)
    out = writing_to.place(dst)
    if isinstance(out, Remote) and out.protocol in ("http", "https"):
        raise ValueError(f"dst: {out}: files cannot be written over {out.protocol}; name a folder, or a bucket such as s3://bucket/out")
    path = None if path is None else local_path(path, "path", "an index")
    chooser = Chooser(keep, text)
    asked = {
        "text": text,
        "id": id,
        "keep": list(keep) if isinstance(keep, (tuple, list)) else keep,
        "keep_unscored": keep_unscored,
        "path": None if path is None else os.path.abspath(path),
        "settings": [list(pair) for pair in pairs({k: v for k, v in settings.items() if k not in ("hash_key", "repeated_ids", "config")})],
    }
    src = paths_or_table(src, text)
    staged = not is_paths(src)
    files = [] if staged else relative_files(src, reading, progress, out)
    needed = [text, *([id] if id is not None else []), *([chooser.column] if chooser.column is not None else [])]
    skip = skips(on_error)
    rows: int | None = None
    if not skip:
        with steps(progress, "reading columns", len(files)) as done:
            footers = each(footer_of, [file.source for file in files], done)
        for file, footer in zip(files, footers):
            check_columns(footer.schema, needed, str(file.source))
        rows = sum(footer.rows for footer in footers)
    job = Job(out, asked, restart, state)
    if staged:
        files = _staged(job, src, text, id)
    skipped: dict[str, str] = {}
    if skip and not staged:
        files, skipped = _readable(job, files, needed)
    if not staged or files:
        job.take(files, progress)
    table = None if clusters is None else writing_to.place(clusters)
    table = os.path.abspath(table) if isinstance(table, str) else table
    page = None if report is None else os.path.abspath(local_path(report, "report", "a page"))
    for name, place in (("clusters", table), ("report", page)):
        if place is not None:
            check_outside([File(place, "")], out, name)
    whole = len(job.state["written"]) == len(job.state["files"])
    if whole:
        written = [File(job.target(name), name) for name in job.state["files"]]
        with steps(progress, "looking at the output", len(written)) as done:
            whole = all(each(lambda file: job.is_there(file.name), written, done))
    listed = table is None or (job.state.get("clusters") == str(table) and exists(table))
    shown = page is None or (job.state.get("report") == page and os.path.exists(page))
    if job.state.get("done") and staged and not (whole and listed and shown):
        missing = (table if not listed else page) if whole else f"what was written to {out}"
        raise ValueError(f"{missing} is not there, and the job on this table is done; begin again with restart=True")
    if not (job.state.get("done") and whole):
        job.state |= {"done": False, "clusters": None, "report": None}
        listed, shown = table is None, page is None
        _work(job, files, None if staged else rows, text, id, chooser, keep_unscored, path, progress, settings)
    if table is not None and not listed:
        numbers, masks = _masks(job, files, chooser)
        write_clusters(table, files, [_take(_rows(job, n)) for n in numbers], [_take(_how(job, n)) for n in numbers], masks, id)
        job.state["clusters"] = str(table)
    if page is not None and not shown:
        write_whole(page, _page(job, files, text, id, settings))
        job.state["report"] = page
    job.state["done"] = True
    job.save()
    if path is None:
        shutil.rmtree(os.path.join(job.folder, "index"), ignore_errors=True)
    if staged:
        shutil.rmtree(os.path.join(job.folder, "source"), ignore_errors=True)
    return _result(job, skipped)


def _page(job: Job, files: list[File], text: str, id: str | None, settings: JobSettings) -> bytes:
    columns = list(dict.fromkeys([text, *([id] if id is not None else [])]))

    def texts(n: int) -> Iterator[tuple[Any, Any]]:
        for batch in parquet_batches(files[n].source, columns, columns, _BATCH_ROWS):
            yield plain(column_of(batch, text)), plain(column_of(batch, id)) if id is not None else None

    numbers = [job.number(file.name) for file in files]
    return report_page(
        str(job.dst), [file.name for file in files], [_take(_rows(job, n)) for n in numbers], [_take(_how(job, n)) for n in numbers], texts, settings
    )


def _result(job: Job, skipped: dict[str, str]) -> Cleaned:
    columns: dict[str, list[Any]] = {name: [] for name in ("file", "rows", "kept", "exact", "near", "contained", "unscored")}
    for number, name in enumerate(job.state["files"]):
        verdicts = verdicts_of(_take(_rows(job, number)))
        copies = np.bincount(kinds_of(_take(_how(job, number))[verdicts == DUPLICATE]), minlength=len(KINDS))
        _, kept, rows = job.state["written"][name]
        values = [name, rows, kept, *map(int, copies[1:]), int((verdicts == UNSCORED).sum())]
        for column, value in zip(columns.values(), values):
            column.append(value)
    rows, kept = sum(columns["rows"]), sum(columns["kept"])
    return Cleaned(
        rows=rows,
        kept=kept,
        duplicates=sum(map(sum, (columns["exact"], columns["near"], columns["contained"]))),
        unscored=sum(columns["unscored"]),
        files=[str(job.target(name)) for name in job.state["files"]],
        skipped=skipped,
        summary=Summary(f"{kept:,} of {rows:,} rows kept, in {len(columns['file']):,} files", columns, total=True),
    )


def _staged(job: Job, src: Any, text: str, id: str | None) -> list[File]:
    """A table as files that the job reads; none if it is done. It is an error if the job began with another table."""
    folder = os.path.join(job.folder, "source")
    if job.state.get("done") or os.path.isdir(folder):
        was, now = staged_table(folder), table_identity(src, "src")
        if was != now:
            rows = f"it has {now['rows']:,} rows, and had {was['rows']:,}" if was["rows"] != now["rows"] else "its rows, or their order, are others"
            raise ValueError(f"src: not the table that {job.dst} was made from: {rows}. Begin again with restart=True, or name another output")
    if job.state.get("done"):
        return []
    files = [File(name, os.path.basename(name)) for name in stage(src, folder)]
    check_columns(footer_of(files[0].source).schema, [text, *([id] if id is not None else [])])
    return files


def _readable(job: Job, files: list[File], needed: list[str]) -> tuple[list[File], dict[str, str]]:
    """The files that can be read as wholes, and messages about the others. Those that the job knows were read before."""
    good, skipped = [], {}
    for file in files:
        try:
            if file.name not in job.state["sources"]:
                for _ in parquet_batches(file.source, needed, None, _BATCH_ROWS):
                    pass
        except Exception as error:
            if not is_of_the_file(error):
                raise
            skipped[file.name] = message_of(error)
            warnings.warn(f"skipped: {message_of(error)}", stacklevel=3)
        else:
            good.append(file)
    if not good:
        raise ValueError(f"src: none of {len(files):,} files can be read: {next(iter(skipped.values()))}")
    return good, skipped


def _index(job: Job, path: str | os.PathLike[str] | None, settings: JobSettings) -> Index:
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
    job: Job, files: list[File], rows: int | None, text: str, id: str | None, chooser: Chooser, keep_unscored: bool,
    path: str | os.PathLike[str] | None, progress: Progress, settings: JobSettings,
) -> None:  # fmt: skip
    """rows: of all files, if that is known."""
    if rows is None:
        with steps(progress, "counting rows", len(files)) as done:
            rows = sum(each(lambda file: footer_of(file.source).rows, files, done))
    with bar(progress, 2 * rows) as report:
        with _index(job, path, settings) as index:
            _judge(job, index, files, text, id, chooser, report)
        numbers, masks = _masks(job, files, chooser)
        lock = threading.Lock()

        def reported(rows: int) -> None:
            with lock:
                report(rows)

        def write(one: tuple[File, int, Mask]) -> None:
            file, number, mask = one
            if keep_unscored:
                mask = mask | (verdicts_of(_take(_rows(job, number))) == UNSCORED)
            sum_of_mask = zlib.crc32(np.packbits(mask).tobytes())
            written = [sum_of_mask, int(mask.sum()), len(mask)]
            if job.state["written"].get(file.name) == written and job.is_there(file.name):
                return
            _write(job, file, mask, reported)
            with lock:
                job.note_size(file.name)
                job.state["written"][file.name] = written
                job.save_at_times()

        several(write, [*zip(files, numbers, masks)], isinstance(job.dst, Remote) or any(isinstance(file.source, Remote) for file in files))
