#!/usr/bin/env python3
"""Revisit records that doppel writes are read back with warcio, which is installed into the build folder.

usage: revisits_test.py --binary DOPPEL --venv FOLDER
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import venv


def warcio(folder):
    """The Python that has warcio; None: it cannot be had here."""
    python = folder / "bin" / "python3"
    marker = folder / "has-warcio"
    if not marker.exists():
        venv.create(folder, with_pip=True, clear=True)
        if subprocess.run([python, "-m", "pip", "install", "-q", "warcio==1.7.5"], check=False).returncode != 0:
            return None
        marker.touch()
    return python


WRITE = """
import io, sys
from warcio.warcwriter import WARCWriter
from warcio.statusandheaders import StatusAndHeaders
words = lambda k: " ".join(f"w{k}x{i}" for i in range(80))
pages = [("http://x/a", words(1)), ("http://x/b", words(2)), ("http://x/a2", words(1)),
         ("http://x/b2", words(2) + " more"), ("http://x/c", words(3))]
with open(sys.argv[1], "wb") as out:
    writer = WARCWriter(out, gzip=True)
    for i, (url, text) in enumerate(pages):
        head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.0")
        writer.write_record(writer.create_warc_record(url, "response", payload=io.BytesIO(f"<p>{text}</p>".encode()),
            http_headers=head, warc_headers_dict={"WARC-Date": f"2024-05-06T07:08:0{i}Z"}))
    # A revisit record of a crawler, and one whose original nobody has.
    writer.write_record(writer.create_revisit_record("http://x/a3", digest=sys.argv[2] if len(sys.argv) > 2 else "sha1:NONE",
        refers_to_uri="http://x/a", refers_to_date="2024-05-06T07:08:00Z"))
"""
READ = """
import json, sys
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], "rb") as file:
    for record in ArchiveIterator(file):
        print(json.dumps([record.rec_type, dict(record.rec_headers.headers)]))
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--venv", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    python = warcio(arguments.venv)
    if python is None:
        print("warcio cannot be installed: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="doppel-revisits-") as directory:
        return check(arguments.binary, python, pathlib.Path(directory))


def check(binary, python, work):
    def read(path):
        run = subprocess.run([python, "-c", READ, path], check=True, capture_output=True, text=True)
        return [json.loads(line) for line in run.stdout.splitlines()]

    warc = work / "site.warc.gz"
    subprocess.run([python, "-c", WRITE, warc], check=True)
    digest = next(h["WARC-Payload-Digest"] for _, h in read(warc) if h.get("WARC-Target-URI") == "http://x/a")
    subprocess.run([python, "-c", WRITE, warc, digest], check=True)
    originals = {h["WARC-Target-URI"]: h for _, h in read(warc)}

    subprocess.run([binary, "scan", "-q", "-o", work / "events.jsonl", warc], check=True)
    events = [json.loads(line) for line in (work / "events.jsonl").read_text().splitlines()]
    kinds = {e["document"]["url"]: (e["kind"], e["relation"].get("same_payload", False)) for e in events}
    expected = {"http://x/a2": ("exact", True), "http://x/b2": ("near", False), "http://x/a3": ("exact", True)}
    if kinds != expected:
        sys.exit(f"events: {kinds}")
    run = subprocess.run([binary, "revisits", work / "events.jsonl", "-o", work / "revisits.warc"], check=True,
                         capture_output=True, text=True)
    if "2 records; 1 events of other copies; 0" not in run.stderr:
        sys.exit(run.stderr)
    records = read(work / "revisits.warc")
    if [t for t, _ in records] != ["revisit", "revisit"]:
        sys.exit(f"records: {records}")
    of = originals["http://x/a"]
    for (_, head), url in zip(records, ("http://x/a2", "http://x/a3")):
        for name, value in {"WARC-Target-URI": url, "WARC-Date": originals[url]["WARC-Date"],
                            "WARC-Payload-Digest": digest, "WARC-Refers-To": of["WARC-Record-ID"],
                            "WARC-Refers-To-Target-URI": "http://x/a", "WARC-Refers-To-Date": of["WARC-Date"]}.items():
            if head.get(name) != value:
                sys.exit(f"{url}: {name} is {head.get(name)}, not {value}")
        if not head["WARC-Profile"].endswith("/identical-payload-digest"):
            sys.exit(f"{url}: profile {head['WARC-Profile']}")
    print(f"{len(events)} events, {len(records)} revisit records, read back by warcio")
    return 0


sys.exit(main())
