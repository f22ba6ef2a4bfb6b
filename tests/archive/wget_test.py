#!/usr/bin/env python3
"""A site crawled twice by wget, whose --warc-dedup takes the index that `doppel scan --cdx` writes.

usage: wget_test.py --binary DOPPEL

The second crawl must have as many revisit records as with wget's own index, and refer to records of the first one. Prints the
bytes of the second crawl: whole, with either index, and rewritten by doppel, which also finds copies under other URLs.
"""
import argparse
import functools
import gzip
import http.server
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    doppel = parser.parse_args().binary
    if shutil.which("wget") is None:
        print("there is no wget: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="doppel-wget-") as folder:
        work = pathlib.Path(folder)
        site = work / "site"
        site.mkdir()
        rng = random.Random(4)
        for i in range(8):
            (site / f"{i}.png").write_bytes(rng.randbytes(4000))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def crawl(name, pages, *more):
            urls = [f"http://127.0.0.1:{server.server_port}/{page}.png" for page in pages]
            run("wget", "-q", "--no-proxy", f"--warc-file={work / name}", "-O", "/dev/null", *more, *urls)
            return work / f"{name}.warc.gz"

        def ids(warc, header):
            return re.findall(header + rb": (<[^>]*>)\r", gzip.decompress(warc.read_bytes()))

        first = crawl("first", range(8), "--warc-cdx")
        run(doppel, "scan", "-q", "-o", "/dev/null", "--cdx", work / "ours.cdx", first)
        # Two pages change, and two are under another URL now.
        for i in (0, 1):
            (site / f"{i}.png").write_bytes(rng.randbytes(4000))
        for i in (2, 3):
            (site / f"{i}.png").rename(site / f"{i + 10}.png")
        pages = [0, 1, 12, 13, 4, 5, 6, 7]
        # Players tell two captures of a URL apart by the second.
        second = int(time.time())
        while int(time.time()) == second:
            time.sleep(0.02)
        whole = crawl("whole", pages)
        theirs = crawl("theirs", pages, f"--warc-dedup={work / 'first.cdx'}")
        ours = crawl("ours", pages, f"--warc-dedup={work / 'ours.cdx'}")
        referred = [ids(warc, b"WARC-Refers-To") for warc in (theirs, ours)]
        if len(referred[0]) != 4 or referred[0] != referred[1] or not set(referred[1]) <= set(ids(first, b"WARC-Record-ID")):
            sys.exit(f"wget refers to {referred[0]} with its own index, to {referred[1]} with ours")

        # doppel also replaces what moved.
        run(doppel, "scan", "-q", "-o", work / "events", first, whole)
        said = run(doppel, "revisits", work / "events", "--verify", "--rewrite", work / "out", whole)
        if "6 copies replaced" not in said or "original of 6 of 6" not in said:
            sys.exit(said)
        # What was rewritten serves the next crawl: the id is that of the original.
        run(doppel, "scan", "-q", "-o", "/dev/null", "--cdx", work / "next.cdx", work / "out" / whole.name)
        third = crawl("third", pages, f"--warc-dedup={work / 'next.cdx'}")
        known = set(ids(first, b"WARC-Record-ID")) | set(ids(whole, b"WARC-Record-ID"))
        if len(ids(third, b"WARC-Refers-To")) != 8 or not set(ids(third, b"WARC-Refers-To")) <= known:
            sys.exit(f"the third crawl refers to {ids(third, b'WARC-Refers-To')}")
        sizes = [path.stat().st_size for path in (whole, theirs, ours, work / "out" / whole.name, third)]
        print("second crawl: {:,} bytes, with wget's index {:,}, with ours {:,}, rewritten {:,}; the third, with ours: {:,}".format(*sizes))
        if sizes[3] >= sizes[2]:
            sys.exit("rewriting saves no more than wget")
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
