"""A client of `doppel serve --http`."""

import asyncio
import contextvars
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from ._errors import Error

T = TypeVar("T")
_cancelled: contextvars.ContextVar[threading.Event] = contextvars.ContextVar("cancelled", default=threading.Event())


def _json(document: Mapping[str, Any], what: str) -> str:
    if not isinstance(document, Mapping):
        raise TypeError(f"{what}: a {type(document).__name__}; give a mapping with `text`")
    try:
        return json.dumps(dict(document), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: cannot be JSON: {error}") from None


class Client:
    """Inserts documents into the index of a daemon (`doppel serve --http 127.0.0.1:9464`), and asks it.

    >>> client = Client("http://127.0.0.1:9464")  # doctest: +SKIP
    >>> client.insert([{"id": "a", "text": "..."}])[0]["type"]  # doctest: +SKIP
    'verdict'

    A request without an answer is sent again for `patience` seconds, and so is one that the daemon puts off because it
    starts, stops or is busy. The daemon judges a document with an id once, however often it comes. Without an id it may
    judge it twice. Any thread may use a client; its requests go one after the other.
    """

    def __init__(self, url: str = "http://127.0.0.1:9464", *, token: str | None = None, timeout: float = 60,
                 patience: float = 300) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"url: {url!r} is not like http://127.0.0.1:9464")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._base = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._patience = patience
        self._lock = threading.Lock()

    def insert(self, documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Inserts documents (mappings with `text`, and `id` and `url` if they have them), all or none of them.

        Returns an answer for each, in order, when they are committed: the event of a copy (its type is "duplicate-of", and
        it has the original), the verdict of any other document (type "verdict"), or
        {"line": N, "error": {"status": S, "message": M}}.
        """
        if isinstance(documents, (str, bytes, Mapping)):
            raise TypeError(f"documents: one {type(documents).__name__}; give a list of mappings with `text`")
        body = "".join(_json(document, f"documents: number {n}") + "\n" for n, document in enumerate(documents)).encode()
        answer = self._ask("POST", "/v1/documents", body, "application/x-ndjson") if body else b""
        return [json.loads(line) for line in (answer or b"").splitlines()]

    def check(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Judges a document without inserting it."""
        answer = self._ask("POST", "/v1/check", _json(document, "document").encode(), "application/json")
        return dict(json.loads(answer or b"{}"))

    def original(self, sha1: str) -> dict[str, Any] | None:
        """Returns the original whose payload has this SHA-1 (Base32 or hex digits), or None."""
        answer = self._ask("GET", "/v1/digests/" + quote(sha1, safe=""))
        return None if answer is None else dict(json.loads(answer)["original"])

    def _ask(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> bytes | None:
        headers = self._headers | ({"Content-Type": kind} if kind else {})
        end, pause = time.monotonic() + self._patience, 0.1
        while True:
            with self._lock:
                try:
                    self._connection.request(method, self._base + path, body, headers)
                    response = self._connection.getresponse()
                    status, answer, wait = response.status, response.read(), response.getheader("Retry-After")
                except (OSError, http.client.HTTPException) as error:
                    self._connection.close()
                    status, answer, wait = 0, str(error).encode(), None
                    if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
                        end = 0  # there is no such host
            if status == 200:
                return answer
            if status == 404 and method == "GET":
                return None
            if status not in (0, 429, 503) or time.monotonic() >= end or _cancelled.get().is_set():
                said = answer.decode(errors="replace").strip()
                raise Error(f"{method} {path} at {self._connection.host}:{self._connection.port}: {status or 'no answer'}: {said}")
            _cancelled.get().wait(min(float(wait) if wait else pause, max(end - time.monotonic(), 0)))
            pause = min(2 * pause, 5)


async def _in_thread(call: Callable[..., T], *arguments: Any) -> T:
    """If the caller is cancelled, the request is not sent again."""
    cancelled = threading.Event()
    _cancelled.set(cancelled)  # the thread gets a copy of the context
    try:
        return await asyncio.to_thread(call, *arguments)
    finally:
        cancelled.set()


class AsyncClient:
    """Client for asyncio: the same methods, each in a thread. One that is cancelled is not sent again."""

    def __init__(self, url: str = "http://127.0.0.1:9464", *, token: str | None = None, timeout: float = 60,
                 patience: float = 300) -> None:
        self._client = Client(url, token=token, timeout=timeout, patience=patience)

    async def insert(self, documents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Client.insert"""
        return await _in_thread(self._client.insert, documents)

    async def check(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Client.check"""
        return await _in_thread(self._client.check, document)

    async def original(self, sha1: str) -> dict[str, Any] | None:
        """Client.original"""
        return await _in_thread(self._client.original, sha1)
