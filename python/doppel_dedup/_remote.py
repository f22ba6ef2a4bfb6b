"""Files behind fsspec: object stores, web servers, and file systems of pyarrow.

Reads are ranges, and are tried again when a connection breaks. Messages name a file without what its URL may hold of
credentials, and without the values of `storage_options`.
"""

from __future__ import annotations

import contextlib
import io
import posixpath
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, TypeVar, cast

_TRIES = 4
_WAIT = 0.5  # seconds before the second try, then twice as long each time
_THREADS = 8
_TAIL = 64 << 10  # that Arrow reads of a file first
_PART = 16 << 20  # of an upload; S3 takes 10,000 of them
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "hf": "huggingface_hub", "http": "aiohttp", "https": "aiohttp",
             "az": "adlfs", "abfs": "adlfs", "abfss": "adlfs"}  # fmt: skip
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_FINAL = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError, NotImplementedError,
          ImportError, TypeError, ValueError, KeyError, AttributeError)  # fmt: skip
_threads = ThreadPoolExecutor(_THREADS, "doppel-remote")

T = TypeVar("T")
Kind = Literal["file", "folder"] | None  # None: nothing is there


def is_url(path: str) -> bool:
    return _URL.match(path) is not None


def shown(url: str) -> str:
    """A URL without names of users, passwords, and the signature or token behind a question mark of the web."""
    url = re.sub(r"//[^/@\s]*@", "//", url)
    return re.sub(r"(https?://[^\s?#'\"]*)[?#][^\s'\")]*", r"\1", url)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts_in(inner)
    elif isinstance(value, str) and len(value) >= 4 and not is_url(value):
        yield value


class Unreachable(OSError):
    """Not the file is wrong, but the way to it."""


class Remote:
    """A file or a folder behind a file system of fsspec. As a string it is what messages call it."""

    def __init__(self, fs: Any, path: str, name: str, secrets: tuple[str, ...] = ()) -> None:
        self.fs, self.path, self._name, self._secrets = fs, path, name, secrets
        self._native: Any = None  # a file of pyarrow
        self._upload: Any = None  # a file that has no name yet
        self._size: int | None = None  # as info() said it last

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__

    def at(self, path: str) -> Remote:
        """Another path of the same file system."""
        name = path if is_url(path) else f"{self.protocol}://{path.lstrip('/')}"
        return Remote(self.fs, path, shown(name), self._secrets)

    def below(self, name: str) -> Remote:
        return Remote(self.fs, posixpath.join(self.path, name), posixpath.join(self._name, name), self._secrets)

    @property
    def of_pyarrow(self) -> Any:
        """The file system of pyarrow, if it is one."""
        inner = getattr(self.fs, "fs", None)
        return inner if type(inner).__module__.startswith("pyarrow") else None

    @property
    def protocol(self) -> str:
        protocol = self.fs.protocol
        return str(protocol if isinstance(protocol, str) else protocol[0])

    @property
    def endpoint(self) -> str:
        """The address of the server, where the same URL may mean other files on another one."""
        options = getattr(self.fs, "client_kwargs", None) or {}
        return shown(str(getattr(self.fs, "endpoint_url", None) or options.get("endpoint_url") or ""))

    def failed(self, doing: str, error: BaseException) -> Exception:
        """What is raised instead of an error: the same without credentials, and with the name of the file."""
        said = shown(str(error) or type(error).__name__)
        for secret in self._secrets:
            said = said.replace(secret, "...")
        if "functionality that is not implemented" in said:  # servers that are no Amazon S3
            said += (
                '. If the server does not know checksums in headers: storage_options={..., "config_kwargs": '
                '{"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}}'
            )
        kind = type(error) if type(error) in (FileNotFoundError, PermissionError, FileExistsError, NotImplementedError) else Unreachable
        return kind(f"{self}: cannot be {doing}: {said}")

    def tried(self, doing: str, call: Callable[[], T]) -> T:
        """Calls until it succeeds, a few times. `doing` is a participle: "read"."""
        wait = _WAIT
        for number in range(1, _TRIES + 1):
            try:
                return call()
            except Exception as error:  # the libraries below have errors of their own, without a common class
                status = getattr(error, "status", None)
                refused = isinstance(status, int) and 400 <= status < 500 and status not in (408, 429)
                if isinstance(error, _FINAL) or refused or "Credentials" in type(error).__name__ or number == _TRIES:
                    failure = self.failed(doing, error)
                    break
            time.sleep(wait)
            wait *= 2
        raise failure

    # --- What is there.

    def info(self) -> dict[str, Any]:
        """Size, time and kind. Never from what fsspec remembers."""
        self.fs.invalidate_cache()
        out = dict(self.tried("read", lambda: self.fs.info(self.path)))
        self._size = out.get("size")
        return out

    def exists(self) -> bool:
        try:
            return bool(self.info())
        except FileNotFoundError:
            return False

    def kind(self) -> Kind:
        """One request."""
        # A web server has no folders; some list files on a page whose address ends with a slash.
        web = self.protocol in ("http", "https")
        if web and self.path.split("?")[0].endswith("/"):
            return "folder"
        try:
            return "folder" if self.info().get("type") == "directory" and not web else "file"
        except FileNotFoundError:
            return None

    def files(self) -> list[tuple[Remote, str]]:
        """All files below this folder, with their paths below it: those in it by name, then those of its folders."""
        self.fs.invalidate_cache()
        root = self.path.rstrip("/")

        def found() -> list[str]:
            try:
                return list(self.fs.find(self.path))
            except FileNotFoundError:
                return []

        names = [(path, path[len(root) :].lstrip("/")) for path in self.tried("listed", found) if path.startswith(root)]
        inside = [(path, name) for path, name in names if name]
        inside.sort(key=lambda one: [(True, part) for part in one[1].split("/")[:-1]] + [(False, one[1].rsplit("/", 1)[-1])])
        return [(self.below(name) if self.path == root else Remote(self.fs, path, posixpath.join(self._name, name), self._secrets), name)
                for path, name in inside]  # fmt: skip

    def fitting(self) -> list[Remote]:
        """What fits this pattern, by name."""
        self.fs.invalidate_cache()
        return [self.at(path) for path in sorted(self.tried("listed", lambda: self.fs.glob(self.path)))]

    # --- Reading and writing.

    def part(self, start: int, end: int) -> bytes:
        """The bytes [start, end)."""

        def read() -> bytes:
            if self.of_pyarrow is None:
                out = bytes(self.fs.cat_file(self.path, start=start, end=end))
            else:
                file = self._native = self._native or self.of_pyarrow.open_input_file(self.path)
                out = file.read_at(end - start, start)
            if len(out) != end - start:
                raise OSError(f"{len(out):,} bytes came instead of {end - start:,}; the server must answer requests for ranges")
            return out

        return b"" if end <= start else self.tried("read", read)

    def opened(self) -> Ranges:
        """The file as it was when info() was asked last: who reads it asks again at the end whether it has changed."""
        size = self._size if self._size is not None else self.info().get("size")
        if size is None:
            raise OSError(f"{self}: the server does not say how long the file is")
        return Ranges(self, int(size))

    @property
    def is_uploaded(self) -> bool:
        """Whether a file gets its name by commit(), which makes one object of the parts of an upload: no server needs to copy it."""
        return type(self.fs).__module__.startswith("s3fs")

    @contextlib.contextmanager
    def writing(self) -> Iterator[Any]:
        """A file to write. Where it lies there is nothing before it is whole, or what was there; see is_uploaded."""
        if self.is_uploaded:
            out = self._upload = self.tried("written", lambda: self.fs._open(self.path, "wb", block_size=_PART, autocommit=False))
        else:
            out = self.tried("written", lambda: self.fs.open(self.path, "wb"))
        try:
            yield _Checked(self, out)
            self.tried_once("written", out.close)
        except BaseException:
            self._abandon(out)
            raise

    def _abandon(self, out: Any) -> None:
        with contextlib.suppress(Exception):  # the first error counts
            out.discard()
            out.closed = True  # or Python would close it, and write it
        self._upload = None

    def commit(self) -> None:
        upload, self._upload = self._upload, None

        def commit() -> None:
            try:
                upload.commit()
            except FileNotFoundError:  # no such upload: an earlier try has succeeded without an answer
                if self.info().get("size") != upload.loc:
                    raise

        self.tried_once("written", commit)

    def tried_once(self, doing: str, call: Callable[[], T]) -> T:
        """For what the library below tries again by itself, and what cannot be done twice."""
        try:
            return call()
        except Exception as error:
            failure = self.failed(doing, error)
        raise failure

    def move_to(self, target: Remote) -> None:
        def move() -> None:
            self.fs.invalidate_cache()
            if self.fs.exists(self.path):  # an earlier try may have succeeded without an answer
                self.fs.mv(self.path, target.path)

        self.tried("renamed", move)

    def remove(self) -> None:
        def remove() -> None:
            with contextlib.suppress(FileNotFoundError):
                self.fs.rm_file(self.path)

        self.tried("removed", remove)


class _Checked(io.RawIOBase):
    """A file that is written, whose errors name it and hold no credentials."""

    def __init__(self, place: Remote, out: Any) -> None:
        self._place, self._out = place, out

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = len(memoryview(data).cast("B"))
        self._place.tried_once("written", lambda: self._out.write(data))
        return size


class Ranges(io.RawIOBase):
    """A file that is read in blocks. It holds the blocks used last, and fetches the next one while one is read."""

    def __init__(self, place: Remote, size: int) -> None:
        self._place, self._size, self._at = place, size, 0
        self._tail = b""  # where the footer lies
        self._held: OrderedDict[int, Future[bytes]] = OrderedDict()
        self.for_streams(4)

    def for_streams(self, streams: int) -> None:
        """Its reader will go through so many parts of it at once, such as columns."""
        self._forget()
        self._block = min(4 << 20, max(1 << 20, (64 << 20) // (2 * streams)))
        self._most = 2 * streams + 4

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def _fetch(self, block: int) -> Future[bytes]:
        if block not in self._held:
            start = block * self._block
            self._held[block] = _threads.submit(self._place.part, start, min(self._size, start + self._block))
            while len(self._held) > self._most:
                self._held.popitem(last=False)[1].cancel()
        self._held.move_to_end(block)
        return self._held[block]

    def _bytes(self, block: int) -> bytes:
        sequential = block == 0 or block - 1 in self._held
        wanted = self._fetch(block)
        if sequential and (block + 1) * self._block < self._size:
            self._fetch(block + 1)
        try:
            return wanted.result()
        except BaseException:
            self._held.pop(block, None)
            raise

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        parts = []
        tail = max(0, self._size - _TAIL)
        if tail <= self._at < end:
            self._tail = self._tail or self._place.part(tail, self._size)
            parts.append(self._tail[self._at - tail : end - tail])
            self._at = end
        while self._at < end:
            block, skipped = divmod(self._at, self._block)
            part = self._bytes(block)[skipped : skipped + end - self._at]
            parts.append(part)
            self._at += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, buffer: Any) -> int:
        part = self.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def _forget(self) -> None:
        for one in self._held.values():
            one.cancel()
        self._held.clear()

    def close(self) -> None:
        self._forget()
        super().close()


def each(call: Callable[[Any], T], items: list[Any], report: Callable[[int], object] = bool) -> list[T]:
    """The results for all items; several requests at once where they are remote. Reports each."""
    if any(isinstance(getattr(item, "source", item), Remote) for item in items):
        threads = ThreadPoolExecutor(_THREADS)
        results = threads.map(call, items)
    else:
        threads, results = None, map(call, items)
    out = []
    try:
        for result in results:
            out.append(result)
            report(1)
    finally:
        if threads is not None:
            threads.shutdown(cancel_futures=True)
    return out


def several(call: Callable[[T], object], items: list[T], at_once: bool) -> None:
    """Calls it for all items. `at_once`: for two, so that one file is uploaded while another one is read."""
    if not at_once:
        for item in items:
            call(item)
        return
    threads = ThreadPoolExecutor(2)
    try:
        for done in [threads.submit(call, item) for item in items]:
            done.result()
    finally:
        threads.shutdown(cancel_futures=True)


def ahead(values: Iterator[T]) -> Iterator[T]:
    """The same values. Each is made while the one before it is used."""
    done = object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, values, done)
        try:
            while (value := coming.result()) is not done:
                coming = thread.submit(next, values, done)
                yield cast(T, value)
        finally:
            coming.cancel()
            thread.submit(getattr(values, "close", bool)).result()


def _missing(url: str, error: ImportError) -> ImportError:
    protocol = url.split("::")[-1].split(":")[0].lower()
    package = _PACKAGES.get(protocol)
    if error.name == "fsspec":
        missing, install = "fsspec", f"fsspec {package or ''}".rstrip()
    elif package is not None:
        missing, install = package, "fsspec aiohttp" if package == "aiohttp" else package
    else:
        return ImportError(f"{shown(url)}: {shown(str(error))}")
    return ImportError(f"{shown(url)}: {protocol}:// needs the package {missing}, which is not installed: pip install {install}")


def remote_at(url: str, options: Mapping[str, Any] | None) -> Remote:
    """The place that a URL names."""
    failure: Exception
    try:
        import fsspec

        fs, path = fsspec.core.url_to_fs(url, **(options or {}))
    except ImportError as error:
        failure = _missing(url, error)
    except Exception as error:
        secrets = tuple(_texts_in(options or {}))
        failure = Remote(None, "", shown(url), secrets).failed("opened", error)
        failure = ValueError(str(failure)) if isinstance(error, ValueError) else failure
    else:
        secret = re.findall(r"//([^/@\s]*)@", url) + (re.findall(r"[?#].*", url) if url.startswith("http") else [])
        return Remote(fs, path, shown(url).rstrip("/") if not url.startswith("http") else shown(url), (*_texts_in(options or {}), *secret))
    raise failure


def remote_in(filesystem: Any, path: str, options: Mapping[str, Any] | None) -> Remote:
    """A path of a file system of fsspec or pyarrow."""
    if type(filesystem).__module__.startswith("pyarrow"):
        try:
            from fsspec.implementations.arrow import ArrowFSWrapper
        except ImportError:
            raise ImportError("filesystem: that of pyarrow needs the package fsspec, which is not installed: pip install fsspec") from None
        kind = str(filesystem.type_name)
        name = path if is_url(path) else f"{kind}://{path}"
        inside = path.split("://", 1)[1] if is_url(path) else path
        return Remote(ArrowFSWrapper(filesystem), inside.rstrip("/"), shown(name).rstrip("/"))
    if not hasattr(filesystem, "cat_file"):
        raise TypeError(f"filesystem: a {type(filesystem).__name__}; give one of fsspec or of pyarrow.fs")
    secrets = tuple(_texts_in([options or {}, getattr(filesystem, "storage_options", {})]))
    inside = filesystem._strip_protocol(path)
    protocol = filesystem.protocol if isinstance(filesystem.protocol, str) else filesystem.protocol[0]
    return Remote(filesystem, inside, shown(path).rstrip("/") if is_url(path) else f"{protocol}://{inside.lstrip('/')}", secrets)
