#!/usr/bin/env python3
"""Clients that may connect do their worst while the stream goes on: 10,000 connections, clients that drip, bodies of a gigabyte, nonsense.

  bad_input_test.py --binary build/release/doppel [--rounds 3] [--documents 120000]

Rounds with and without that alternate in one run. Nothing crashes, memory stays, and the best round under each kind of attack is at most a tenth
slower than the median quiet one. Where it is not, the machine gets as many rounds again, twice, to show that it was busy with other things.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

CONNECTIONS = 10_000
WORDS = " ".join(f"wordQ{i}" for i in range(200))


def check(condition, message):
    if not condition:
        raise SystemExit(message)


class Daemon:
    def __init__(self, binary, work):
        self.inbox, self.work = work / "in", work
        self.inbox.mkdir()
        environment = dict(os.environ, DOPPEL_HTTP_TOKEN="correct-horse-battery")
        self.process = subprocess.Popen([binary, "serve", "--state", work / "state", "--set", "http.listen=127.0.0.1:0", "--threads", "1",
                                         "--set", "log.format=json", self.inbox],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        while True:
            line = json.loads(self.process.stderr.readline())
            if line["message"] == "listening":
                self.port = int(line["url"].rsplit(":", 1)[1])
            if line["message"] == "ready":
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        (work / "marker").write_text('{"id": "marker", "text": "%s"}\n{"id": "end", "text": "%s"}\n' % (WORDS, WORDS))
        self.judge("marker", 2)

    # Unique documents, and at the end a copy.
    def prepare(self, number, documents):
        with open(self.work / f"round{number}", "w") as part:
            for i in range(documents):
                part.write('{"id": "%d-%d", "text": "%s"}\n' % (number, i, WORDS.replace("Q", f"{number}x{i}y")))
            part.write('{"id": "end", "text": "%s"}\n' % WORDS)

    # Documents a second, until the copy is told.
    def judge(self, name, documents):
        begin = time.monotonic()
        (self.work / name).rename(self.inbox / f"{name}.jsonl")
        event = json.loads(self.process.stdout.readline())
        seconds = time.monotonic() - begin
        check(event["document"]["id"] == "end" and event["original"]["id"] == "marker", f"an event that nobody expects: {event}")
        (self.inbox / f"{name}.jsonl").unlink()
        return documents / seconds

    def resident_mib(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0


class Attack:
    """crowd: connections that say nothing, and some that drip, so that hardly anyone else gets in. noise: requests that are wrong."""

    def __init__(self, port, kind):
        self.port, self.kind, self.stop, self.counts = port, kind, threading.Event(), {}

    def __enter__(self):
        self.idle = []
        for _ in range(CONNECTIONS if self.kind == "crowd" else 0):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", self.port))
            self.idle.append(s)
        self.threads = [threading.Thread(target=self.again, args=(what,)) for what in ([self.drip] * 8 if self.kind == "crowd" else [self.gigabyte, self.nonsense, self.strangers])]
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for s in self.idle:
            s.close()
        for t in self.threads:
            t.join()

    # The attackers take what the daemon leaves of the processors: what is measured is what the daemon does for them.
    def again(self, what):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        while not self.stop.wait(0.02):
            try:
                what()
                self.counts[what.__name__] = self.counts.get(what.__name__, 0) + 1
            except OSError:  # cut off, or no place in the queue
                pass

    def ask(self, text, more=b"", pieces=0):
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
            s.sendall(text)
            for _ in range(pieces):
                if self.stop.is_set():
                    return b""
                s.sendall(more)
            return s.recv(4096)

    def gigabyte(self):
        try:
            self.ask(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n", b"x" * 65536, 1_000_000_000 // 65536)
        except ConnectionError:  # cut off while it sent
            pass

    def nonsense(self):
        for text in (b"\r\n\r\n", b"\x16\x03\x01\x00\xff\x01", b"GET\r\n\r\n", b"GET / HTTP/7\r\n\r\n", b"GET /%zz HTTP/1.1\r\n\r\n", b"\0" * 5000,
                     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n", b"POST /v1/check HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            self.ask(text)

    def strangers(self):
        for method, path in (("DELETE", "/v1/documents/marker"), ("POST", "/v1/snapshot"), ("PATCH", "/"), ("DELETE", "/v1/documents?crawl=x")):
            answer = self.ask(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Length: 0\r\n\r\n".encode())
            check(not answer or answer.split()[1] in (b"401", b"405"), f"{method} {path}: {answer[:80]}")

    def drip(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
            s.sendall(b"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
            while not self.stop.wait(0.2):
                s.sendall(b"x")


def alive(port):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.sendall(b"GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
        return s.recv(100).startswith(b"HTTP/1.1 200")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=120_000)
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    check(hard == resource.RLIM_INFINITY or hard > CONNECTIONS + 500, f"{CONNECTIONS} connections need more files than {hard} (ulimit -Hn)")
    work = pathlib.Path(tempfile.mkdtemp(prefix="doppel-bad-input-"))
    daemon = Daemon(args.binary, work)
    try:
        daemon.prepare(0, args.documents)
        daemon.judge("round0", args.documents)  # warm
        before = daemon.resident_mib()
        rates, counts = {"quiet": [], "crowd": [], "noise": []}, {}

        def slowed():
            return [kind for kind in ("crowd", "noise") if max(rates[kind]) < 0.9 * statistics.median(rates["quiet"])]

        for i in range(3 * args.rounds * len(rates)):
            if i > 0 and i % (args.rounds * len(rates)) == 0 and not slowed():
                break
            kind = list(rates)[i % len(rates)]
            daemon.prepare(i + 1, args.documents)
            if kind == "quiet":
                rates[kind].append(daemon.judge(f"round{i + 1}", args.documents))
                continue
            with Attack(daemon.port, kind) as attack:
                rates[kind].append(daemon.judge(f"round{i + 1}", args.documents))
            for name, n in attack.counts.items():
                counts[name] = counts.get(name, 0) + n
            check(alive(daemon.port), "/live does not answer after an attack")
        grown = daemon.resident_mib() - before
        documents = args.documents * sum(map(len, rates.values()))
        for kind, all_rates in rates.items():
            print(f"{kind}: {', '.join(f'{x:,.0f}' for x in all_rates)} documents/s")
        print(f"requests that were answered or cut off: {counts}")
        print(f"resident memory grew by {grown:.0f} MiB for {documents:,} documents")
        check(not slowed(), f"the stream is more than a tenth slower ({', '.join(slowed())})")
        check(all(counts.get(what, 0) > 0 for what in ("gigabyte", "nonsense", "strangers")), "the attack did not happen")
        check(grown < 200 + documents * 1000 / 2**20, "memory grows under attack")
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.stdout.read()
        check(daemon.process.wait() == 0, f"the daemon ended with {daemon.process.returncode}")
    finally:
        daemon.process.kill()
        daemon.process.wait()
        shutil.rmtree(work, ignore_errors=True)


main()
