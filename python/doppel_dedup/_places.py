"""Where data lies: a path of this machine, which is a str, or a Remote."""

from __future__ import annotations

import contextlib
import glob
import os
import posixpath
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._progress import Progress, steps, waiting
from ._remote import Kind, Ranges, Remote, ahead, each, is_url, remote_at, remote_in, several, shown

Place = str | Remote
_ENDINGS = (".parquet", ".parq", ".pq")
_END_BYTES = 64 << 10


class Where:
    """How the paths that a program gave are reached: its storage_options and filesystem."""

    def __init__(self, options: Mapping[str, Any] | None = None, filesystem: Any = None) -> None:
        self._options, self._filesystem = options, filesystem

    @staticmethod
    def of_both(options: Any, filesystem: Any) -> tuple[Where, Where]:
        """Of a source and a destination; pairs if they differ."""
        first, second = options if isinstance(options, tuple) else (options, options)
        from_, to = filesystem if isinstance(filesystem, tuple) else (filesystem, filesystem)
        return Where(first, from_), Where(second, to)

    def place(self, given: str | os.PathLike[str]) -> Place:
        path = os.fsdecode(given)
        if path.startswith("file://"):
            path = path.removeprefix("file://")
        if self._filesystem is not None and not _is_local(self._filesystem):
            return remote_in(self._filesystem, path, self._options)
        if is_url(path):
            return remote_at(path, self._options)
        return os.path.expanduser(path)


def _is_local(filesystem: Any) -> bool:
    return type(filesystem).__name__ == "LocalFileSystem"


def local_path(given: str | os.PathLike[str], argument: str, what: str) -> str:
    """A path of this machine. A URL is an error: `what` says what lies there."""
    path = os.fspath(given)
    if not path:
        raise ValueError(f"{argument}: empty; name where {what} lies")
    if isinstance(path, bytes):
        return os.fsdecode(path)
    if is_url(path) and not path.startswith("file://"):
        raise ValueError(f"{argument}: {shown(path)}: {what} lies in a folder of this machine; name one, and copy it when it is closed")
    return os.path.expanduser(path.removeprefix("file://"))


# --- What is there.


def is_hidden(name: str) -> bool:
    """Whether Arrow's data sets, and this package, leave a file or a folder out: _temporary, _metadata, .part.crc."""
    return name.startswith(("_", "."))


def is_parquet(place: Place) -> bool:
    return base_name(place).lower().endswith(_ENDINGS)


def base_name(place: Place) -> str:
    return os.path.basename(str(place))


def exists(place: Place) -> bool:
    return place.exists() if isinstance(place, Remote) else os.path.exists(place)


def size_of(place: Place) -> int | None:
    """The bytes of a file; None if it is not there, or nobody says."""
    try:
        return place.info().get("size") if isinstance(place, Remote) else os.path.getsize(place)
    except FileNotFoundError:
        return None


def kind_of(place: Place) -> Kind:
    if isinstance(place, Remote):
        return place.kind()
    return "folder" if os.path.isdir(place) else "file" if os.path.exists(place) else None


def is_folder(place: Place) -> bool:
    return kind_of(place) == "folder"


def is_empty(folder: Place) -> bool:
    """Whether a folder has no files, or is not there."""
    if isinstance(folder, Remote):
        return not folder.files()
    return not (os.path.isdir(folder) and os.listdir(folder))


def is_below(place: Place, folder: Place) -> bool:
    if isinstance(place, Remote) and isinstance(folder, Remote):
        root = folder.path.rstrip("/")
        return (place.protocol, place.endpoint) == (folder.protocol, folder.endpoint) and (place.path + "/").startswith(root + "/")
    if isinstance(place, Remote) or isinstance(folder, Remote):
        return False
    return os.path.commonpath([os.path.abspath(place), os.path.abspath(folder)]) == os.path.abspath(folder)


def _local_below(folder: str, above: tuple[tuple[int, int], ...] = ()) -> Iterator[str]:
    info = os.stat(folder)
    above = (*above, (info.st_dev, info.st_ino))
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if not is_hidden(name)]
    folders = [path for path in paths if os.path.isdir(path)]
    yield from (path for path in paths if is_parquet(path) and path not in folders)
    for path in folders:
        info = os.stat(path)
        if (info.st_dev, info.st_ino) not in above:  # a link that leads back
            yield from _local_below(path, above)


def parquet_below(folder: Place) -> list[tuple[Place, str]]:
    """The Parquet files below a folder, with their paths below it: those in it by name, then those of its folders.

    Follows links.
    """
    if isinstance(folder, Remote):
        return [(file, name) for file, name in folder.files() if is_parquet(file) and not any(map(is_hidden, name.split("/")))]
    return [(path, os.path.relpath(path, folder)) for path in _local_below(folder)]


def fitting(pattern: Place) -> list[Place]:
    """What fits a pattern, by name."""
    if isinstance(pattern, Remote):
        found: list[Place] = [*pattern.fitting()] if glob.has_magic(pattern.path) else []
    else:
        found = [*sorted(glob.glob(pattern, recursive=True))]
    return [place for place in found if not is_hidden(base_name(place))]


def each_place(paths: Any, where: Where, progress: Progress = False) -> list[tuple[Place, bool, Kind]]:
    """Files and folders, and what fits patterns: its folders, or its files if there are any. Each with whether it fits one."""
    if not isinstance(paths, (str, os.PathLike, Iterable)):
        raise TypeError(f"{paths!r} is not a path; give paths of files or folders")
    if hasattr(paths, "read"):
        raise TypeError(f"a {type(paths).__name__} is an open file; give its path, or give it to clean() or deduplicate()")
    given = [where.place(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    with steps(progress, "looking for files", len(given)) as report:
        kinds = each(kind_of, given, report)
    out: list[tuple[Place, bool, Kind]] = []
    for place, kind in zip(given, kinds):
        found = []
        if kind is None:
            with waiting(progress, f"listing {place}"):
                found = fitting(place)
        of_found = each(kind_of, found)
        only = "folder" if all(one == "folder" for one in of_found) else "file"
        out += [(one, True, its) for one, its in zip(found, of_found) if (its == "folder") == (only == "folder")]
        if not found:
            out.append((place, False, kind))
    return out


def parquet_files(paths: Any, where: Where = Where(), progress: Progress = False, dst: Place | None = None) -> list[tuple[Place, str]]:
    """The Parquet files of paths, folders and patterns. With each its path below the folder that was named, or that fits.

    It is an error if one of these folders has `dst` in it, whose files would be found the next time."""
    out: list[tuple[Place, str]] = []
    for place, fits, kind in each_place(paths, where, progress):
        if kind == "folder":
            with waiting(progress, f"listing {place}"):
                below = parquet_below(place)
            if below and dst is not None and is_below(dst, place) and not any(map(is_hidden, os.path.relpath(str(dst), str(place)).split("/"))):
                raise ValueError(f"dst: {dst} lies in {place}; name another folder for the output")
            out += [(file, os.path.join(base_name(place), name) if fits else name) for file, name in below]
        elif kind is None:
            raise FileNotFoundError(f"{place}: no such file, and no file fits it")
        else:
            out.append((place, base_name(place)))
    if not out:
        raise FileNotFoundError(f"{paths}: no Parquet files there: names that end in {', '.join(_ENDINGS)} and do not begin with _ or .")
    return out


def identity(place: Place) -> dict[str, Any]:
    """What a file is known again by: its size, its time, and a checksum of both of its ends.

    The end of a Parquet file says where its values are, and mostly the least and the largest of them. An object store
    has a tag of the content instead.
    """
    if isinstance(place, Remote):
        info = place.info()
        size = int(info.get("size") or 0)
        out: dict[str, Any] = {"size": size}
        time = next((info[name] for name in ("LastModified", "last_modified", "mtime", "modified", "updated", "Last-Modified") if info.get(name)), None)
        if time is not None:
            out["time"] = str(time)
        tag = next((info[name] for name in ("ETag", "etag", "md5Hash", "xet_hash", "blob_id") if info.get(name)), None)
        if tag is None:
            tag = zlib.crc32(place.part(max(0, size - _END_BYTES), size), zlib.crc32(place.part(0, min(size, _END_BYTES))))
        out["ends"] = tag
        return out
    with open(place, "rb") as file:
        there = os.fstat(file.fileno())
        ends = zlib.crc32(file.read(_END_BYTES))
        file.seek(max(0, there.st_size - _END_BYTES))
        return {"size": there.st_size, "time": there.st_mtime_ns, "ends": zlib.crc32(file.read(_END_BYTES), ends)}


# --- Reading and writing.


def for_reader(place: Place) -> Any:
    """What pyarrow reads the file from: a path, or Ranges."""
    return place.opened() if isinstance(place, Remote) else place


def child(folder: Place, name: str) -> Place:
    return folder.below(name) if isinstance(folder, Remote) else os.path.join(folder, name)


def temporary(target: Place) -> Place:
    """The name that a file of the output has until it is whole."""
    if isinstance(target, Remote):
        return target if target.is_uploaded else target.at(posixpath.join(posixpath.dirname(target.path), f".{posixpath.basename(target.path)}.doppel"))
    return os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.doppel")


@contextlib.contextmanager
def writing(target: Place) -> Iterator[Any]:
    """What pyarrow writes a file to. It has its name when it is whole."""
    unfinished = temporary(target)
    if isinstance(unfinished, Remote):
        with unfinished.writing() as file:
            yield file
    else:
        os.makedirs(os.path.dirname(unfinished) or ".", exist_ok=True)
        try:
            yield unfinished
        except BaseException:
            remove(unfinished)
            raise


def put_in_place(target: Place) -> None:
    """Gives a whole file its name. `target` is the object that writing() was given."""
    unfinished = temporary(target)
    if isinstance(target, Remote):
        assert isinstance(unfinished, Remote)
        if unfinished is target:
            target.commit()
        else:
            unfinished.move_to(target)
        return
    assert isinstance(unfinished, str)
    with open(unfinished, "rb") as whole:
        os.fsync(whole.fileno())
    os.replace(unfinished, target)


def remove(place: Place) -> None:
    if isinstance(place, Remote):
        place.remove()
    elif os.path.exists(place):
        os.remove(place)
