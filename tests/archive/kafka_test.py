#!/usr/bin/env python3
"""The crawl of archive_test on a real broker: crawl logs in three shapes, whose records `doppel serve` fetches from the disk or over HTTP.

usage: kafka_test.py --binary DOPPEL --kafka FOLDER   (of a cluster that scripts/kafka has started)

The verdicts are those of `doppel scan` on the WARC file: with a restart in the middle, after a rebuild from the documents, and for the
same crawl log once more on an index that was rebuilt from its log.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from archive_test import Nginx, build_site, by_url, crawl, crawl_logs, urls_of

SOURCE = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser()
parser.add_argument("--binary", required=True)
parser.add_argument("--kafka", required=True)
args = parser.parse_args()
os.environ["DOPPEL_HASH_KEY"] = "000102030405060708090a0b0c0d0e0f"


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


class Index:
    """One index of its own: topics, a configuration, a daemon now and then."""

    def __init__(self, brokers, name, work, root):
        self.brokers, self.name, self.work = brokers, name, work
        self.input, self.events = f"{name}-logs", f"{name}-events"
        self.daemon = None
        self.config = work / f"{name}.yaml"
        self.config.write_text(json.dumps({
            "kafka": {"brokers": brokers, "topics": [self.input], "index_log": f"{name}-index", "group": name, "create_topics": True,
                      "partitions": 1, "batch_documents": 7},
            "input": {"format": "heritrix", "extract": "main"}, "warc": {"roots": [str(root)]},
            "output": {"topic": self.events, "dead_letters": f"{name}-dead", "verdicts": "all"},
            "http": {"listen": ""}, "state": {"directory": str(work / f"{name}-state")}}))
        for topic in (self.input, self.events, f"{self.events}-2"):
            run(SOURCE / "scripts/kafka", "topic", topic, "1", "--dir", args.kafka)

    def doppel(self, *command):
        return run(args.binary, *command, "--config", self.config)

    def start(self):
        with open(self.work / f"{self.name}.log", "a") as log:
            self.daemon = subprocess.Popen([args.binary, "serve", "--config", self.config], stderr=log)

    def end(self, how):
        self.daemon.send_signal(how)
        self.daemon.wait(60)

    def said(self):
        return (self.work / f"{self.name}.log").read_text()[-3000:]

    def produce(self, lines):
        run("kcat", "-P", "-b", self.brokers, "-t", self.input, input="".join(lines))

    def verdicts(self, count, topic=None, skip=0):
        """URL -> verdict and the original's URL, as soon as there are so many."""
        try:
            told = run("kcat", "-C", "-q", "-b", self.brokers, "-t", topic or self.events, "-o", str(skip) if skip else "beginning",
                       "-c", str(count), "-X", "isolation.level=read_committed", timeout=60)
        except subprocess.TimeoutExpired as late:
            sys.exit(f"{self.name}: {len((late.stdout or b'').splitlines())} of {count} verdicts within a minute\n{self.said()}")
        out = {}
        for event in map(json.loads, told.splitlines()):
            if event["type"] == "verdict":
                out[event["id"]] = (event["verdict"], event["id"])
            else:
                out[event["document"]["id"]] = ("duplicate", event["original"]["id"])
        return out


def expect(what, got, expected):
    if got != expected:
        wrong = {u: (got.get(u), expected.get(u)) for u in sorted(got.keys() | expected.keys()) if got.get(u) != expected.get(u)}
        sys.exit(f"{what}: {len(wrong)} verdicts differ (here, expected): {dict(list(wrong.items())[:5])}")


def judge(brokers, work, warcs, root, shape, how, expected):
    index = Index(brokers, f"{work.name}-{shape}-{'http' if how == signal.SIGTERM else 'disk'}", work, root)
    lines = crawl_logs(warcs / "site.cdx", shape).splitlines(keepends=True)
    try:
        index.produce(lines[:len(lines) // 2])
        index.start()
        index.verdicts(len(expected) // 3)
        index.end(how)
        index.produce(lines[len(lines) // 2:])
        index.start()
        expect(index.name, index.verdicts(len(expected)), expected)
        index.end(signal.SIGTERM)

        again = {"kafka.index_log": f"{index.name}-index-2", "state.directory": work / f"{index.name}-state-2",
                 "output.topic": f"{index.events}-2"}
        index.doppel("rebuild", "--from", "documents", "--publish", *[f"--set={key}={value}" for key, value in again.items()])
        expect(f"{index.name}, rebuilt", index.verdicts(len(expected), again["output.topic"]), expected)

        shutil.rmtree(work / f"{index.name}-state")
        index.doppel("rebuild", "--from", "log")
        end = int(run("kcat", "-Q", "-b", brokers, "-t", f"{index.events}:0:-1").split()[-1])
        index.produce(lines)
        index.start()
        copies = {url: ("duplicate", original) for url, (_, original) in expected.items()}
        expect(f"{index.name}, on the index of its log", index.verdicts(len(expected), skip=end), copies)
        index.end(signal.SIGTERM)
    finally:
        if index.daemon and index.daemon.poll() is None:
            index.daemon.kill()
            index.daemon.wait()


def main():
    if not shutil.which("nginx") or not shutil.which("wget"):
        print("nginx and wget are needed: skipped")
        return 77
    brokers = run(SOURCE / "scripts/kafka", "start", "--dir", args.kafka).split()[-1]
    with tempfile.TemporaryDirectory(prefix="doppel-archive-") as directory:
        work = pathlib.Path(directory)
        work.chmod(0o755)
        warcs = work / "files" / "warcs"
        warcs.mkdir(parents=True)
        build_site(work / "files")
        nginx = Nginx(work, work / "files")
        try:
            base = f"http://127.0.0.1:{nginx.port}"
            warc = crawl(work, warcs, base)
            told = run(args.binary, "scan", "-q", "--all", "--set", "input.extract=main", warc)
            expected = by_url([json.loads(line) for line in told.splitlines()], urls_of(warcs))
            for shape in ("heritrix", "warcprox", "ukwa"):
                judge(brokers, work, warcs, warcs, shape, signal.SIGKILL, expected)
                judge(brokers, work, warcs, f"{base}/warcs", shape, signal.SIGTERM, expected)
        finally:
            nginx.close()
    print(f"{len(expected)} verdicts, the same in three shapes, from the disk and over HTTP")
    return 0


sys.exit(main())
