#!/usr/bin/env python3
"""WARC files that `doppel revisits --rewrite` wrote again: warcio reads them, and pywb replays every capture as before.

usage: rewrite_test.py --binary DOPPEL --venv FOLDER

pywb and warcio are installed into the build folder; where pywb cannot be had, warcio alone reads.
"""
import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import venv

WRITE = """
import gzip, io, random, sys
from warcio.warcwriter import WARCWriter
from warcio.statusandheaders import StatusAndHeaders
rng = random.Random(15)
words = lambda k: " ".join(f"w{k}x{i}" for i in range(200))
page = [f"<html><body><p>{words(k)}</p></body></html>".encode() for k in range(2)]
png = b"\\x89PNG\\r\\n\\x1a\\n" + rng.randbytes(3000)
pdf = b"%PDF-1.7\\n" + rng.randbytes(8000)
css = b"".join(b".c%d { color: #%06x }\\n" % (i, rng.randrange(1 << 24)) for i in range(300))
packed = gzip.compress(css, mtime=0)
# URL, day, status, type, other headers, body
site = [
    ("http://a.org/", 1, "200 OK", "text/html", [], page[0]),
    ("http://a.org/copy?b=2&a=1", 1, "200 OK", "text/html", [("X-Copy", "yes")], page[0]),
    ("http://a.org/other", 1, "200 OK", "text/html", [], page[1]),
    ("http://a.org/i.png", 1, "200 OK", "image/png", [("ETag", '"1"')], png),
    ("http://www.b.org/j.png", 1, "200 OK", "image/png", [("ETag", '"2"')], png),
    ("http://a.org/i.png", 2, "200 OK", "image/png", [("ETag", '"3"')], png),
    ("http://a.org/d.pdf", 1, "200 OK", "application/pdf", [], pdf),
    ("http://a.org/e.pdf", 2, "200 OK", "application/octet-stream", [], pdf),
    ("http://a.org/s.css", 1, "200 OK", "text/css", [("Content-Encoding", "gzip")], packed),
    ("http://a.org/t.css", 1, "200 OK", "text/css", [("Content-Encoding", "gzip")], packed),
    ("http://a.org/u.css", 1, "200 OK", "text/css", [], css),
    ("http://a.org/moved", 1, "301 Moved Permanently", "text/html", [("Location", "http://a.org/")], b""),
    ("http://a.org/gone", 1, "404 Not Found", "text/html", [], page[0]),
    ("http://a.org/tiny", 1, "200 OK", "image/gif", [], b"GIF89a"),
    ("http://a.org/tiny2", 1, "200 OK", "image/gif", [], b"GIF89a"),
] + [(url, 3, "200 OK", "text/plain", [("ETag", '"odd%d"' % i)], b"odd %d" % i) for i, url in enumerate([
    "http://a.org/%41/./b/../c//d", "http://a.org/%2541?b=%20x&a=%C3%BC", "http://A.org:80/P/", "http://a.org:8080/P/",
    "http://a.org/x?PHPSESSID=0123456789abcdef0123456789abcdef&b=1", "http://www3.a.org/www", "http://10.1.2.3/x", "http://a.org./dot",
    "http://xn--bcher-kva.example/x", "http://a.org/(S(4hqa0555fwsecu455xqckv45))/p.aspx", "http://a.org/?z", "http://a.org/y?b&a=",
])]
half = 7
for path, packs, part in ((sys.argv[1], True, site[:half]), (sys.argv[2], False, site[half:])):
    with open(path, "wb") as out:
        writer = WARCWriter(out, gzip=packs)
        writer.write_record(writer.create_warcinfo_record("x.warc", {"software": "a test"}))
        for i, (url, day, status, kind, more, body) in enumerate(part):
            date = {"WARC-Date": f"2024-05-{day:02}T07:08:{i:02}Z"}
            head = StatusAndHeaders(status, [("Content-Type", kind), ("Content-Length", str(len(body)))] + more, protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=head, warc_headers_dict=date))
            request = StatusAndHeaders("GET / HTTP/1.1", [("Host", "x")], is_http_request=True)
            writer.write_record(writer.create_warc_record(url, "request", http_headers=request, warc_headers_dict=date))
"""
# warcio computes the digests of what it reads, and says where they differ.
READ = """
import json, sys
from warcio.archiveiterator import ArchiveIterator
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            head = dict(record.rec_headers.headers)
            http = dict(record.http_headers.headers) if record.http_headers else {}
            print(json.dumps([record.rec_type, head, http, len(record.content_stream().read())]))
"""


def python_with(folder, package):
    """The Python that has the package; None: it cannot be had here."""
    python = folder / "bin" / "python3"
    marker = folder / "has-it"
    if not marker.exists():
        venv.create(folder, with_pip=True, clear=True)
        if subprocess.run([python, "-m", "pip", "install", "-q", package], check=False).returncode != 0:
            return None
        marker.touch()
    return python


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more)


def check(binary, python, replays, work):
    warcs = [work / "in" / "one.warc.gz", work / "in" / "two.warc"]
    warcs[0].parent.mkdir()
    subprocess.run([python, "-c", WRITE, *warcs], check=True)
    before = [hashlib.sha256(w.read_bytes()).hexdigest() for w in warcs]
    run(binary, "scan", "-q", "-o", work / "events", "--cdxj", work / "before.cdxj", work / "in")
    said = run(binary, "revisits", work / "events", "--rewrite", work / "out", work / "in").stderr
    again = [work / "out" / w.name for w in warcs]
    if [hashlib.sha256(w.read_bytes()).hexdigest() for w in warcs] != before:
        sys.exit("an input was changed")
    sizes = [sum(w.stat().st_size for w in some) for some in (warcs, again)]
    for words in (f"before {sizes[0]} bytes, now {sizes[1]}", "2 WARC files", "5 copies replaced",
                  "1 copies stay: a revisit record would not be smaller"):
        if words not in said:
            sys.exit(f"not said: {words}\n{said}")

    records = [[json.loads(line) for line in run(python, "-c", READ, *some).stdout.splitlines()] for some in (warcs, again)]
    if [r[1]["WARC-Record-ID"] for r in records[0]] != [r[1]["WARC-Record-ID"] for r in records[1]]:
        sys.exit("not the same records")
    replaced = {}
    for old, new in zip(*records):
        if old == new:
            continue
        head = new[1]
        if new[0] != "revisit" or old[2] != new[2] or new[3] != 0:
            sys.exit(f"{old}\nbecame {new}")
        for name in ("WARC-Target-URI", "WARC-Date", "WARC-Payload-Digest", "Content-Type"):
            if head[name] != old[1][name]:
                sys.exit(f"{name}: {old[1][name]} became {head[name]}")
        replaced[head["WARC-Target-URI"], head["WARC-Date"][8:10]] = head["WARC-Refers-To-Target-URI"]
    expected = {("http://a.org/copy?b=2&a=1", "01"): "http://a.org/", ("http://www.b.org/j.png", "01"): "http://a.org/i.png",
                ("http://a.org/i.png", "02"): "http://a.org/i.png", ("http://a.org/e.pdf", "02"): "http://a.org/d.pdf",
                ("http://a.org/t.css", "01"): "http://a.org/s.css"}
    if replaced != expected:
        sys.exit(f"replaced: {replaced}")

    # What was replaced is found again as a copy, and not replaced once more.
    run(binary, "scan", "-q", "-o", work / "events2", "--cdxj", work / "after.cdxj", work / "out")
    said = run(binary, "revisits", work / "events2", "--rewrite", work / "out2").stderr
    if "5 copies stay: it is a revisit record already" not in said or " 0 copies replaced" not in said:
        sys.exit(said)
    if [(work / "out2" / w.name).read_bytes() for w in warcs] != [w.read_bytes() for w in again]:
        sys.exit("the second run changed something")
    print(f"{len(records[0])} records, {len(replaced)} replaced, read by warcio")
    if replays:
        replay(python, work, again)


def replay(python, work, again):
    # Our index is the one that pywb makes, but for the status of revisit records, which it leaves out, and the empty lines
    # behind a record that is not packed, which it does not count.
    def lines(text, more):
        out = []
        for line in text.splitlines():
            key, time, values = line.split(" ", 2)
            values = json.loads(values)
            values["digest"] = values["digest"].split(":")[-1]
            if values["mime"] == "warc/revisit":
                values.pop("status", None)
            if values["filename"].endswith(".warc"):
                values["length"] = str(int(values["length"]) + more)
            out.append([key, time, values])
        return sorted(out, key=str)

    theirs = run(python.parent / "cdx-indexer", "-s", "--cdxj", *again).stdout
    if lines(theirs, 4) != lines((work / "after.cdxj").read_text(), 0):
        sys.exit(f"{theirs}\nis not\n{(work / 'after.cdxj').read_text()}")

    captures = [[line.split(" ")[1], json.loads(line.split(" ", 2)[2])["url"]]
                for line in (work / "before.cdxj").read_text().splitlines()]
    (work / "pywb").mkdir()
    wanted = {"captures": captures, "collections": {"before": [str(work / "before.cdxj"), str(work / "in")],
                                                    "after": [str(work / "after.cdxj"), str(work / "out")]}}
    run(python, pathlib.Path(__file__).with_name("replay.py"), work / "pywb", input=json.dumps(wanted))
    answers = json.loads((work / "pywb" / "answers.json").read_text())
    for capture, was, now in zip(captures, answers["before"], answers["after"]):
        if was != now or was[0] not in (200, 301, 404) or (was[0] == 200 and not was[-1]):
            sys.exit(f"{capture}: {str(was)[:300]} before, {str(now)[:300]} now")
    if len({tuple(a) for a in answers["after"]}) < 8:
        sys.exit("the answers are all alike")
    print(f"{len(captures)} captures, replayed by pywb as before")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--venv", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    python, replays = python_with(arguments.venv / "pywb", "pywb==2.9.1"), True
    if python is None:
        print("pywb cannot be installed: only warcio reads", flush=True)
        python, replays = python_with(arguments.venv / "warcio", "warcio==1.7.5"), False
    if python is None:
        print("warcio cannot be installed either: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="doppel-rewrite-") as directory:
        check(arguments.binary, python, replays, pathlib.Path(directory))
    return 0


if __name__ == "__main__":
    sys.exit(main())
