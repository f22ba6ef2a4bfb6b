"""`doppel scan` reads files behind URLs as it reads them from disk, whatever breaks on the way, and continues after a kill."""

import contextlib
import gzip
import http.server
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import s3 as server
from corpus import documents, seed_of_this_run
from s3 import bucket  # a fixture

pytestmark = pytest.mark.skipif(shutil.which("doppel") is None, reason="the program is not built")
SECRET = server.SECRET


@pytest.fixture
def s3(bucket, tmp_path, monkeypatch):
    """An empty bucket, and the variables that lead to it."""
    for name, value in {"AWS_ACCESS_KEY_ID": server.KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
                        "AWS_ENDPOINT_URL": bucket.options["endpoint_url"], "HOME": str(tmp_path),
                        "DOPPEL_HASH_KEY": "00112233445566778899aabbccddeeff"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    with bucket.empty() as s3:
        yield s3


def warc(texts):
    out = b""
    for i, text in enumerate(texts):
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + f"<p>{text}</p>".encode()
        head = (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{i}>\r\nWARC-Target-URI: http://x/{i}\r\n"
                f"WARC-Date: 2024-05-06T07:08:09Z\r\nContent-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(block)}\r\n\r\n")  # fmt: skip
        out += gzip.compress(head.encode() + block + b"\r\n\r\n")
    return out


def fill(s3, rng, rows=600):
    """The same files in the bucket and below the folder "in"."""
    texts = documents(rng, rows, lengths=(2, 30, 100))
    lines = [json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts)]
    third = rows // 3
    files = {"a.jsonl": "".join(lines[:third]).encode(), "b/c d+e.jsonl.gz": gzip.compress("".join(lines[third : 2 * third]).encode()),
             "w/1.warc.gz": warc(texts[2 * third : -40]), "_SUCCESS": b"", "x/.hidden.jsonl": b'{"text": "nobody reads this text here"}\n',
             **{f"t/{i:03}.txt": text.encode() for i, text in enumerate(texts[-40:])}}  # fmt: skip
    for name, data in files.items():
        path = Path("in") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        s3.fs.pipe_file(f"bucket/in/{name}", data)
    table = pa.table({"id": [f"p{i}" for i in range(200)], "text": texts[100:300]})
    pq.write_table(table, "in/p.parquet", row_group_size=50)
    s3.put(table, "bucket/in/p.parquet", row_group_size=50)


def scan(*arguments, expect=0, **how):
    done = subprocess.run(["doppel", "scan", *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **how)
    assert done.returncode == expect, done.stderr
    assert SECRET not in done.stdout + done.stderr
    return done


def verdicts(*inputs, **how):
    """All verdicts, with the names that both ways have in common."""
    out = scan("--all", "-q", *inputs, **how).stdout
    return [json.loads(line.replace("s3://bucket/in/", "in/")) for line in out.splitlines()]


def test_a_prefix_is_read_as_the_folder(s3):
    seed = seed_of_this_run()
    fill(s3, random.Random(seed))
    truth = verdicts("in")
    assert len(truth) > 700, seed
    assert verdicts("s3://bucket/in/") == truth, seed
    assert verdicts("s3://bucket/in") == truth
    assert verdicts("s3://bucket/in/a.jsonl") == verdicts("in/a.jsonl")
    listed = Path("list.gz")
    listed.write_bytes(gzip.compress(b"# some\nb/c d+e.jsonl.gz\n\na.jsonl\n"))
    assert verdicts("--list", listed, "--list-root", "s3://bucket/in") == verdicts("in/b/c d+e.jsonl.gz", "in/a.jsonl")


def test_whatever_breaks_on_the_way(s3):
    seed = seed_of_this_run()
    fill(s3, random.Random(seed), 300)
    truth = verdicts("in")
    s3.faults.rng, s3.faults.share = random.Random(seed), 0.3
    assert verdicts("s3://bucket/in/") == truth, seed
    assert s3.faults.happened["cut"] and s3.faults.happened["unavailable"]


def test_a_killed_run_goes_on(s3):
    seed = seed_of_this_run()
    rng = random.Random(seed)
    fill(s3, rng)
    (whole := Path("whole.jsonl")).write_text(scan("-q", "in").stdout)
    s3.faults.slow, kills = True, 0
    while True:
        after = len(s3.faults.requests) + (rng.randrange(2, 15) if kills < 6 else 1 << 30)
        run = subprocess.Popen(["doppel", "scan", "-q", "--state", "index", "-o", "out.jsonl", "s3://bucket/in/"], stderr=subprocess.PIPE)
        while run.poll() is None and len(s3.faults.requests) < after:
            time.sleep(0.001)
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
        if run.wait() != -signal.SIGKILL:
            break
    assert run.returncode == 0, run.stderr.read()
    assert kills > 2, seed

    def events(path):
        return [{k: v for k, v in json.loads(line.replace("s3://bucket/in/", "in/")).items() if k not in ("epoch", "event_id")} for line in path.read_text().splitlines()]

    assert events(Path("out.jsonl")) == events(whole), seed
    assert not any(SECRET.encode() in file.read_bytes() for file in Path("index").rglob("*") if file.is_file())
    # Nothing is new: nothing is fetched again but the list.
    s3.faults.slow = False
    s3.faults.requests.clear()
    scan("-q", "--state", "index", "-o", "out.jsonl", "s3://bucket/in/")
    assert [path for _, path, _ in s3.faults.requests if "list-type" not in path] == []


def test_what_is_missing_or_forbidden_is_named(s3, monkeypatch):
    assert "s3://bucket/none: there is no such object, and none below it" in scan("s3://bucket/none", expect=2).stderr
    assert "NoSuchBucket" in scan("s3://elsewhere/x/", expect=2).stderr
    assert "names no bucket" in scan("s3://", expect=2).stderr
    s3.fs.pipe_file("bucket/in/a.jsonl", b'{"text": "some words of a text"}\n')
    done = scan("s3://bucket/in/a.jsonl", "s3://bucket/none", expect=1)
    assert "s3://bucket/none: there is no such object" in done.stderr
    monkeypatch.setenv("AWS_PROFILE", "other")
    assert "AWS_PROFILE: no profile other" in scan("s3://bucket/in/", expect=2).stderr
    assert "only doppel scan reads these" in subprocess.run(["doppel", "sign", "s3://bucket/in/"], capture_output=True, text=True, check=False).stderr


def test_kept_lines_and_rows(s3):
    seed = seed_of_this_run()
    fill(s3, random.Random(seed))
    for what in (["--keep"], ["--best", "longest", "--keep"]):
        scan("-q", *what, "here.jsonl", "in/a.jsonl", "in/b", "-o", "e1.jsonl")
        scan("-q", *what, "there.jsonl", "s3://bucket/in/a.jsonl", "s3://bucket/in/b", "-o", "e2.jsonl")
        assert Path("here.jsonl").read_bytes() == Path("there.jsonl").read_bytes(), what
    assert "name a .jsonl file" in scan("-q", "--keep", "there.parquet", "s3://bucket/in/p.parquet", "-o", "e2.jsonl", expect=2).stderr
    scan("-q", "--keep", "here/", "in", "-o", "e1.jsonl")
    said = scan("-q", "--keep", "there/", "s3://bucket/in/", "-o", "e2.jsonl", expect=1).stderr
    assert "files behind URLs and pipes are not copied" in said
    for file in Path("here/in").rglob("*"):
        if file.is_file() and file.suffix != ".txt":
            assert file.read_bytes() == Path(str(file).replace("here/in", "there/s3/bucket/in")).read_bytes()
    assert "--keep keeps lines" in scan("--keep-files", "files", "s3://bucket/in/", expect=2).stderr
    scan("-q", "--cdxj", "here.cdxj", "in/w", "-o", "e1.jsonl")
    scan("-q", "--cdxj", "there.cdxj", "s3://bucket/in/w/", "-o", "e2.jsonl")
    assert Path("here.cdxj").read_bytes() == Path("there.cdxj").read_bytes()
    assert "takes local files" in scan("--order", "date", "s3://bucket/in/w/", expect=2).stderr


class _Long(http.server.BaseHTTPRequestHandler):
    """A bucket whose list has another page until `whole` is set; each page names the same object."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        with contextlib.suppress(ConnectionError):
            super().handle_one_request()

    def do_GET(self):
        content = b'{"id": "a", "text": "some words of a text"}\n'
        more = b"<IsTruncated>false</IsTruncated>" if self.server.whole.is_set() else b"<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
        page = b"<ListBucketResult><Contents><Key>in/a.jsonl</Key><ETag>e</ETag><Size>%d</Size></Contents>%b</ListBucketResult>" % (len(content), more)
        listed = "list-type" in self.path
        body = page if listed else content
        self.send_response(200 if listed else 206)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", "e")
        if not listed:
            self.send_header("Content-Range", f"bytes 0-{len(content) - 1}/{len(content)}")
        self.end_headers()
        self.wfile.write(body)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.whole, self.connections = threading.Event(), 0

    def get_request(self):
        self.connections += 1
        return super().get_request()


@pytest.fixture
def long_list(tmp_path, monkeypatch):
    """Yields a function that starts `doppel scan` on a list without an end, and the server, whose event `whole` ends the list."""
    server = _Server(("127.0.0.1", 0), _Long)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", "HOME": str(tmp_path),
                        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}"}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    runs = []

    def start(*arguments, **how):
        run = subprocess.Popen(["doppel", "scan", "--all", *(arguments or ["s3://bucket/in/"])], stdout=subprocess.PIPE, **how)
        runs.append((run, threading.Timer(60, run.kill)))
        runs[-1][1].start()
        return run

    yield start, server
    for run, timer in runs:
        timer.cancel()
        run.kill()
        run.wait()
    server.shutdown()
    server.server_close()


def test_a_long_list_says_how_far_it_is(long_list):
    start, server = long_list
    whole = server.whole
    run = start(stderr=subprocess.PIPE, text=True)
    said = run.stderr.readline()
    assert re.fullmatch(r"doppel scan: listing the input: [\d,]+ files so far\n", said)
    whole.set()
    out, _ = run.communicate()
    assert json.loads(out)["id"] == "a" and run.returncode == 0
    # On a terminal the number changes in its place, and is gone in the end.
    whole.clear()
    terminal, theirs = pty.openpty()
    run = start(stderr=theirs)
    os.close(theirs)
    shown = b""
    while shown.count(b"\rlisting the input: ") < 3:
        shown += os.read(terminal, 1000)
    assert b"\n" not in shown
    whole.set()
    assert run.communicate()[0] and run.returncode == 0
    shown = os.read(terminal, 100_000)
    os.close(terminal)
    assert b"\r\x1b[K" in shown and b"1 unique" in shown.split(b"\r\x1b[K")[-1]


def test_an_interrupt_ends_a_long_list(long_list):
    start, _ = long_list
    run = start(stderr=subprocess.PIPE)
    run.stderr.readline()
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=20) == 130


def test_connections_serve_many_urls(long_list, tmp_path):
    start, server = long_list
    (tmp_path / "list").write_text("".join(f"http://127.0.0.1:{server.server_address[1]}/{number}.jsonl\n" for number in range(200)))
    out, _ = start("-q", "--list", tmp_path / "list").communicate()
    assert len(out.splitlines()) == 200
    assert server.connections <= 16 + 8  # those that list, and those that read


def test_an_interrupt_ends_a_wait(s3):
    s3.fs.pipe_file("bucket/in/a.jsonl", b'{"text": "some words of a text"}\n')
    s3.faults.share = 1.0
    run = subprocess.Popen(["doppel", "scan", "-q", "s3://bucket/in/"], stdout=subprocess.DEVNULL)
    while not s3.faults.requests:
        time.sleep(0.01)  # until it has asked
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=20) == 130
