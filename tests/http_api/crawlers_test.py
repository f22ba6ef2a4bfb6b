#!/usr/bin/env python3
"""Crawlers that ask a daemon before they store a response: warcprox itself, and what Zeno's WARC library and Heritrix send.

usage: crawlers_test.py --binary DOPPEL [--venv DIR]

With --venv it installs warcprox in this virtual environment, unless it is there, and crawls with it.
"""
import argparse
import base64
import functools
import gzip
import hashlib
import http.client
import http.server
import json
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import venv

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402

PAGE = b"<html><body><p>" + b" ".join(b"word%d" % i for i in range(300)) + b"</p></body></html>"
DIGEST = base64.b32encode(hashlib.sha1(PAGE).digest()).decode()


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = PAGE if self.path in ("/page", "/moved") else b"<p>page %s</p>" % self.path.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def warc_record(url, date, body, kind="response"):
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
    head = (f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{hashlib.md5((url + date).encode()).hexdigest()}>\r\n"
            f"WARC-Target-URI: {url}\r\nWARC-Date: {date}\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n")
    return head.encode() + block + b"\r\n\r\n"


class Daemon:
    def __init__(self, binary, folder):
        (folder / "warcs").mkdir()
        self.process = subprocess.Popen(
            [binary, "serve", "--state", folder / "state", "--http", "127.0.0.1:0", "--log-format", "json",
             "--set", "output.verdicts=all", folder / "warcs"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            said = json.loads(line)
            if said["message"] == "listening":
                self.port = int(said["url"].rsplit(":", 1)[1])
            if said["message"] == "ready":
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def verdict(self):
        return json.loads(self.process.stdout.readline())

    # `target` goes as it is, without any escapes: so does Go's http.NewRequest.
    def get(self, target):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest("GET", target, skip_accept_encoding=True)
        connection.putheader("User-Agent", "Go-http-client/1.1")
        connection.putheader("Accept-Encoding", "gzip")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    # An event is written before the daemon answers questions about its document.
    def await_answer(self, target, wanted):
        deadline = time.monotonic() + 60
        while (answer := self.get(target)) != (200, wanted):
            assert time.monotonic() < deadline, answer

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


def put(folder, name, *records):
    (folder / name).write_bytes(b"".join(records))
    (folder / name).rename(folder / "warcs" / name)


def ask_as_clients_do(binary, folder):
    daemon = Daemon(binary, folder)
    put(folder, "a.warc", warc_record("http://a.example/x?q=1&r=2", "2024-05-06T07:08:09Z", PAGE),
        warc_record("http://a.example/y", "2024-05-06T07:08:10Z", PAGE))
    assert [daemon.verdict()["type"] for _ in range(2)] == ["verdict", "duplicate-of"]

    # Zeno
    status, said = daemon.get(f"/api/records/sha1:{DIGEST}?uri=http://b.example/?a=b&c=d")
    assert status == 200, said
    record = json.loads(said)
    assert record["uri"] == "http://a.example/x?q=1&r=2" and record["date"] == 20240506070809, record
    assert daemon.get("/api/records/sha1:" + "A" * 32 + "?uri=http://b.example/")[0] == 404
    assert daemon.get("/api/records/sha256:abc?uri=http://b.example/")[0] == 400

    # CDX: the last capture of a URL, also if it is a copy; not of revisit records
    query = "&fl=timestamp%2Cdigest&filter=%21mimetype%3Awarc%2Frevisit&limit=-1"
    daemon.await_answer("/cdx?url=http%3A%2F%2Fa.example%2Fy" + query, f"20240506070810 {DIGEST}\n")
    assert daemon.get("/cdx?url=http%3A%2F%2Fa.example%2Fz" + query) == (200, "")
    put(folder, "b.warc", warc_record("http://a.example/y", "2024-05-07T00:00:00Z", b"<p>new text</p>"),
        warc_record("http://a.example/y", "2024-05-06T00:00:00Z", b"<p>old text</p>"))
    for _ in range(2):
        daemon.verdict()
    daemon.await_answer("/cdx?url=http%3A%2F%2Fa.example%2Fy&fl=original,timestamp", "http://a.example/y 20240507000000\n")
    # as Heritrix's WbmPersistLoadProcessor, which reads the second field and the sixth, each up to a space
    assert daemon.get("/cdx?url=http%3A%2F%2Fa.example%2Fy&limit=-1")[1].split(" ") == [
        "example,a)/y", "20240507000000", "http://a.example/y", "-", "-", base64.b32encode(hashlib.sha1(b"<p>new text</p>").digest()).decode(), "-\n"]
    for wrong in ("", "?fl=digest", "?url=x&fl=offset", "?url=x&fl=digest&limit=5",
                  "?url=x&fl=digest&filter=mimetype:text/html", "?url=x&fl=digest&matchType=prefix"):
        assert daemon.get("/cdx" + wrong)[0] == 400, wrong
    daemon.end()


def crawl_with_warcprox(warcprox, folder, daemon, urls):
    """Fetches the URLs through warcprox, and moves its WARC files to the daemon. Returns their records' types by URL."""
    port, place = free_port(), folder / "crawl"
    process = subprocess.Popen([warcprox, "-p", str(port), "-b", "127.0.0.1", "--base32", "--gzip", "-d", place, "--stats-db-file",
                                "/dev/null", "--cdxserver-dedup", f"http://127.0.0.1:{daemon.port}/cdx"],
                               cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{port}"}))
    deadline = time.monotonic() + 60
    while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
        assert time.monotonic() < deadline and process.poll() is None, "warcprox does not start"
        time.sleep(0.1)
    for url in urls:
        assert opener.open(url, timeout=60).status == 200
    process.terminate()
    assert process.wait(60) == 0
    found = {}
    for path in sorted(place.glob("*.warc.gz")):
        text = gzip.decompress(path.read_bytes()).decode("latin-1")
        for head in re.findall(r"WARC/1\.[01]\r\n(.*?)\r\n\r\n", text, re.S):
            fields = dict(line.split(": ", 1) for line in head.split("\r\n"))
            if fields["WARC-Type"] in ("response", "revisit"):
                found.setdefault(fields["WARC-Target-URI"], fields)
        path.rename(folder / "warcs" / path.name)
    for _ in found:
        daemon.verdict()
    return found


def crawl(binary, warcprox, folder):
    site = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Site)  # warcprox fetches nothing from 127.0.0.1
    threading.Thread(target=site.serve_forever, daemon=True).start()
    at = f"http://127.0.0.2:{site.server_address[1]}"
    daemon = Daemon(binary, folder)
    (folder / "crawl").mkdir()
    run = functools.partial(crawl_with_warcprox, warcprox, folder, daemon)
    first = run([at + "/page", at + "/other"])
    assert [fields["WARC-Type"] for fields in first.values()] == ["response"] * 2, first
    second = run([at + "/page", at + "/moved", at + "/third"])
    assert second[at + "/page"]["WARC-Type"] == "revisit", second
    assert second[at + "/page"]["WARC-Refers-To-Date"] == first[at + "/page"]["WARC-Date"], second
    assert second[at + "/moved"]["WARC-Type"] == second[at + "/third"]["WARC-Type"] == "response", second
    third = run([at + "/page"])  # it still refers to the response
    assert third[at + "/page"]["WARC-Refers-To-Date"] == first[at + "/page"]["WARC-Date"], third
    daemon.end()
    site.shutdown()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--venv", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        ask_as_clients_do(arguments.binary, pathlib.Path(place))
    print("questions: as they should be")
    if arguments.venv:
        warcprox = arguments.venv.absolute() / "bin/warcprox"
        if not warcprox.exists():
            venv.create(arguments.venv, with_pip=True)
            subprocess.run([warcprox.parent / "pip", "--quiet", "install", "warcprox==2.13.1"], check=True)
        with tempfile.TemporaryDirectory() as place:
            crawl(arguments.binary, warcprox, pathlib.Path(place))
        print("warcprox: as it should be")


if __name__ == "__main__":
    main()
