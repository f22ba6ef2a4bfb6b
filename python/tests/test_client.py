"""The client of a daemon, and the Scrapy pipeline in examples/, with a real daemon and a real site on loopback."""

import asyncio
import contextvars
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import types

import pytest

import doppel_dedup
from doppel_dedup import _client

ROOT = pathlib.Path(__file__).parents[2]


def words(first, count=60):
    return " ".join(f"word{i}" for i in range(first, first + count))


class Daemon:
    def __init__(self, directory, port=0):
        self.directory = directory
        self.process = subprocess.Popen(
            ["doppel", "serve", "--state", str(directory / "index"), "--http", f"127.0.0.1:{port}", "-o",
             str(directory / "events.jsonl")], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if found := re.search(r"127\.0\.0\.1:(\d+)", line) if "listening" in line else None:
                self.port = int(found[1])
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def end(self, with_signal=signal.SIGTERM):
        self.process.send_signal(with_signal)
        return self.process.wait()


@pytest.fixture
def daemon(tmp_path):
    daemon = Daemon(tmp_path)
    yield daemon
    if daemon.process.poll() is None:
        assert daemon.end() == 0


def test_insert_check_and_errors(daemon):
    client = doppel_dedup.Client(daemon.url)
    assert client.insert([]) == []
    first = client.insert([{"id": "a", "text": words(1)}, {"id": "b", "text": 5}, {"id": "c", "text": words(1)}])
    assert first[0]["verdict"] == "unique"
    assert first[1]["error"]["status"] == 422
    assert (first[2]["type"], first[2]["original"]["id"]) == ("duplicate-of", "a")
    assert client.insert([{"id": "c", "text": words(1)}]) == [first[2]]  # the same answer, not another copy
    assert client.check({"text": words(1)})["verdict"] == "duplicate"
    assert client.original("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ") is None
    with pytest.raises(doppel_dedup.Error, match="SHA-1"):
        client.original("x")
    with pytest.raises(ValueError, match="url"):
        doppel_dedup.Client("127.0.0.1:9464")

    async def many():
        client = doppel_dedup.AsyncClient(daemon.url)
        answers = await asyncio.gather(*(client.insert([{"id": str(i), "text": words(1000 * (i + 1))}]) for i in range(20)))
        return [answer["verdict"] for (answer,) in answers] + [(await client.check({"text": words(5000)}))["verdict"]]

    assert asyncio.run(many()) == ["unique"] * 20 + ["duplicate"]


def test_a_daemon_that_is_gone_is_waited_for(tmp_path):
    daemon = Daemon(tmp_path)
    client = doppel_dedup.Client(daemon.url)
    first = client.insert([{"id": "a", "text": words(1)}])
    daemon.end(signal.SIGKILL)
    with pytest.raises(doppel_dedup.Error, match="no answer"):
        doppel_dedup.Client(daemon.url, patience=0).check({"text": "x"})
    answers = []
    waiting = threading.Thread(target=lambda: answers.extend(client.insert([{"id": "a", "text": words(1)}])))
    waiting.start()
    daemon = Daemon(tmp_path, daemon.port)
    waiting.join()
    assert answers == first
    assert daemon.end() == 0


def test_what_cannot_be_sent_is_refused_in_words():
    client = doppel_dedup.Client("http://127.0.0.1:1")
    for call, error, said in [
        (lambda: client.insert({"id": "a", "text": "x"}), TypeError, "^documents: one dict; give a list of mappings with `text`$"),
        (lambda: client.insert("text"), TypeError, "^documents: one str"),
        (lambda: client.insert([{"text": "x"}, "text"]), TypeError, "^documents: number 1: a str; give a mapping"),
        (lambda: client.insert([{"text": "x", "score": float("nan")}]), ValueError, "^documents: number 0: cannot be JSON"),
        (lambda: client.insert([{"text": b"x"}]), TypeError, "^documents: number 0: cannot be JSON: .*bytes"),
        (lambda: client.check("text"), TypeError, "^document: a str; give a mapping with `text`$"),
        (lambda: client.check({"score": float("inf")}), ValueError, "^document: cannot be JSON"),
    ]:
        with pytest.raises(error, match=said):
            call()


def test_patience(monkeypatch):
    """It is used up, not less and not more; and a cancelled request does not use it."""
    now, tries = [1000.0], []

    class Cancelled(threading.Event):
        def wait(self, seconds):
            now[0] += seconds

    monkeypatch.setattr(_client, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    client = doppel_dedup.Client("http://127.0.0.1:1", patience=6)
    monkeypatch.setattr(client._connection, "request", lambda *_: tries.append(now[0] - 1000) or (_ for _ in ()).throw(ConnectionRefusedError()))
    asked = contextvars.copy_context()
    asked.run(_client._cancelled.set, Cancelled())
    with pytest.raises(doppel_dedup.Error, match="no answer"):
        asked.run(client.check, {"text": "x"})
    assert tries == pytest.approx([0, 0.1, 0.3, 0.7, 1.5, 3.1, 6])


def test_a_cancelled_request_is_not_sent_again():
    async def impatient():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(doppel_dedup.AsyncClient("http://127.0.0.1:1", patience=600).check({"text": "x"}), 0.5)

    asyncio.run(impatient())  # which waits for the thread


def test_a_host_that_does_not_exist_is_not_waited_for(monkeypatch):
    def unknown(*arguments, **named):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(doppel_dedup.Error, match="no-such-host:9464: no answer: .*not known"):
        doppel_dedup.Client("http://no-such-host:9464", patience=600).check({"text": "x"})


PAGES = {"/": "<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>", "/1": words(1), "/2": words(500), "/3": words(1)}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGES.get(self.path, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


SPIDER = """
import scrapy


class Pages(scrapy.Spider):
    name = "pages"

    def parse(self, response):
        if links := response.css("a"):
            yield from response.follow_all(links)
        else:
            yield {"url": response.url, "text": response.text}
"""


@pytest.mark.parametrize("drop", [True, False])
def test_scrapy(daemon, tmp_path, drop):
    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    start = f"http://127.0.0.1:{site.server_port}/"
    (tmp_path / "spider.py").write_text(SPIDER + f"    start_urls = [{start!r}]\n")
    subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-O", "items.jsonl", "-L", "WARNING", "-s",
         f"DOPPEL_URL={daemon.url}", "-s", f"DOPPEL_DROP={drop}", "-s",
         'ITEM_PIPELINES={"doppel_pipeline.DoppelPipeline": 300}'],
        cwd=tmp_path, check=True, env={**os.environ, "PYTHONPATH": f"{ROOT / 'examples/scrapy'}:{os.environ.get('PYTHONPATH', '')}"})
    site.shutdown()
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    copies = [item for item in items if "duplicate_of" in item]
    assert len(items) == (2 if drop else 3)
    assert sorted({item["text"] for item in items}) == sorted({PAGES["/1"], PAGES["/2"]})
    assert len(copies) == (0 if drop else 1)
    for copy in copies:
        assert {copy["url"], copy["duplicate_of"]} == {start + "1", start + "3"}
