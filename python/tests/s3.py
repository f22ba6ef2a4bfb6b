"""An S3 server in this process, and a server before it that has faults."""

import contextlib
import http.client
import random
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

KEY, SECRET = "AKIADOPPELTEST", "a-secret-that-nobody-must-see"


class Faults(ThreadingHTTPServer):
    """Passes requests on. A `share` of the answers is 503 or ends in the middle; if `slow`, they come in small pieces."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind, self.requests = port, []
        self.rng, self.share, self.slow = random.Random(0), 0.0, False
        self.happened = {"cut": 0, "unavailable": 0}
        self.lock = threading.Lock()

    def fault(self):
        with self.lock:
            kind = self.rng.choice(["cut", "unavailable"]) if self.rng.random() < self.share else None
            if kind:
                self.happened[kind] += 1
            return kind


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        with contextlib.suppress(ConnectionError, socket.timeout):
            super().handle_one_request()

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():  # what comes behind the last part
            pass
        return b"".join(parts)

    def pass_on(self):
        body = self.body()
        with self.server.lock:
            self.server.requests.append((self.command, self.path, self.headers.get("Range")))
        fault = self.server.fault()
        if fault == "unavailable":
            said = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
            self.send_response(503)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else said)
            return
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        behind.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k.lower() not in ("connection", "transfer-encoding", "content-length", "expect")})
        answer = behind.getresponse()
        said = answer.read()
        behind.close()
        if fault == "cut" and len(said) < 2:  # before the answer
            self.close_connection = True
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.getheader("Content-Length") or str(len(said)))
        self.end_headers()
        if fault == "cut":
            self.wfile.write(said[: len(said) // 2])
            self.close_connection = True
            return
        step = 1000 if self.server.slow else max(1, len(said))
        for at in range(0, len(said), step):
            self.wfile.write(said[at : at + step])
            self.wfile.flush()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = pass_on


class S3:
    """A bucket, reached with `options`, through a server whose faults are set in `faults`."""

    def __init__(self, direct, through, faults):
        self.faults, self.port = faults, through
        self.options = {"key": KEY, "secret": SECRET, "endpoint_url": f"http://127.0.0.1:{through}", "skip_instance_cache": True,
                        "config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 20, "read_timeout": 20}}  # fmt: skip
        import fsspec

        self.fs = fsspec.filesystem("s3", **self.options | {"endpoint_url": f"http://127.0.0.1:{direct}"})

    def put(self, table, path, **how):
        import pyarrow.parquet as pq

        with self.fs.open(path, "wb") as file:
            pq.write_table(table, file, **how)

    @contextlib.contextmanager
    def empty(self):
        """The bucket without objects, and a server without faults before and after."""
        self.faults.share, self.faults.slow = 0.0, False
        self.faults.requests.clear()
        self.fs.invalidate_cache()
        for path in self.fs.find("bucket"):
            self.fs.rm_file(path)
        yield self
        self.faults.share, self.faults.slow = 0.0, False

    def files(self, folder):
        """What is there, without the empty objects that pyarrow makes for folders."""
        self.fs.invalidate_cache()
        names = [path for path in self.fs.find(folder) if path.startswith(f"{folder}/") and not path.endswith("/")]
        return {path.removeprefix(f"{folder}/"): self.fs.cat_file(path) for path in names}


@contextlib.contextmanager
def serving():
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    faults = Faults(port)
    thread = threading.Thread(target=faults.serve_forever, daemon=True)
    thread.start()
    try:
        s3 = S3(port, faults.server_address[1], faults)
        s3.fs.makedirs("bucket", exist_ok=True)  # moto remembers it while the process runs
        yield s3
    finally:
        faults.shutdown()
        faults.server_close()
        server.stop()


@pytest.fixture(scope="module")
def bucket():
    with serving() as s3:
        yield s3
