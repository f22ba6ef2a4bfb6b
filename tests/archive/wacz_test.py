#!/usr/bin/env python3
"""A WACZ file that `doppel revisits --rewrite --wacz` writes again: py-wacz finds it valid, it has what the original had, and a
scan of it finds the same captures. usage: wacz_test.py --binary DOPPEL --venv FOLDER

FOLDER is a Python that gets the packages wacz and warcio.
"""
import argparse
import base64
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

from rewrite_test import python_with

# Two files, the second with the same bodies a year later.
WRITE = """
import io, random, sys
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
rng = random.Random(7)
bodies = [b"<html><head><title>t%d</title></head><body><p>" % i + bytes(rng.choices(range(97, 123), k=3000)) + b"</p></body></html>" for i in range(8)]
for year, path in zip((2023, 2024), sys.argv[1:]):
    with open(path, "wb") as out:
        writer = WARCWriter(out, gzip=True, warc_version="1.1")
        for i, body in enumerate(bodies):
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(len(body)))], protocol="HTTP/1.1")
            writer.write_record(writer.create_warc_record(f"http://site.org/{i}", "response", payload=io.BytesIO(body), http_headers=head,
                                                          warc_headers_dict={"WARC-Date": f"{year}-05-06T07:08:{i:02}Z"}))
"""


def run(*command, expect=0):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != expect:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def same(what, one, other):
    if one != other:
        sys.exit(f"{what}:\n  {one}\n  {other}")


def check(binary, python, work):
    run(python, "-c", WRITE, work / "one.warc.gz", work / "two.warc.gz")
    made = work / "in.wacz"
    run(python.parent / "wacz", "create", "-f", work / "one.warc.gz", work / "two.warc.gz", "-o", made, "--detect-pages",
        "--title", "A title", "--desc", "What it is")  # fmt: skip
    (work / "one.warc.gz").unlink()
    (work / "two.warc.gz").unlink()
    before = hashlib.sha256(made.read_bytes()).hexdigest()
    run(binary, "scan", "-q", "-o", work / "events", "--cdxj", work / "before.cdxj", made)
    again = work / "out" / "in.wacz"
    for _ in range(2):  # the second run replaces what the first one wrote
        said = run(binary, "revisits", work / "events", "--rewrite", work / "out", "--wacz", "--verify", made).stderr
        for part in ("8 copies replaced", "1 WACZ file written", "players find the original of 8 of 8"):
            if part not in said:
                sys.exit(f"not said: {part}\n{said}")
        same("what was written", [path.name for path in (work / "out").iterdir()], ["in.wacz"])
    same("the input", hashlib.sha256(made.read_bytes()).hexdigest(), before)
    if again.stat().st_size > made.stat().st_size - 8 * 1500:
        sys.exit(f"not smaller: {made.stat().st_size} {again.stat().st_size}")
    run(python.parent / "wacz", "validate", "-f", again)

    with zipfile.ZipFile(made) as old, zipfile.ZipFile(again) as new:
        if new.testzip() is not None:
            sys.exit("a checksum of the ZIP archive is wrong")
        for name in old.namelist():
            if name.startswith("pages/"):
                same(name, old.read(name), new.read(name))
        old_data, data = json.loads(old.read("datapackage.json")), json.loads(new.read("datapackage.json"))
        for field in ("title", "description", "profile", "wacz_version", "created"):
            same(field, old_data[field], data[field])
        same("resources", sorted(part["path"] for part in data["resources"]),
             sorted(set(new.namelist()) - {"datapackage.json", "datapackage-digest.json"}))  # fmt: skip
        for part in data["resources"]:
            same(part["path"], [part["hash"], part["bytes"]],
                 ["sha256:" + hashlib.sha256(new.read(part["path"])).hexdigest(), len(new.read(part["path"]))])  # fmt: skip
        lines = [line.split(" ", 2) for line in new.read("indexes/index.cdx").decode().splitlines()]
        same("sorted", lines, sorted(lines))
        for _, _, text in lines:  # the index leads to its records
            at = json.loads(text)
            with zipfile.ZipFile(again).open("archive/" + at["filename"]) as file:
                file.seek(int(at["offset"]))
                member = file.read(int(at["length"]))
            digest = "sha1:" + base64.b32encode(hashlib.sha1(b"").digest()).decode()
            if not member.startswith(b"\x1f\x8b") or at["digest"] == digest:
                sys.exit(f"the index leads astray: {text}")
    old_captures = [line.split(" ", 2)[:2] for line in (work / "before.cdxj").read_text().splitlines()]
    same("captures", [line[:2] for line in lines], old_captures)
    run(binary, "scan", "-q", "-o", work / "events2", again)

    # Of two with the same captures, the second does not replay alone any more. It says so.
    second = work / "second.wacz"
    second.write_bytes(made.read_bytes())
    run(binary, "scan", "-q", "-o", work / "both", made, second)
    said = run(binary, "revisits", work / "both", "--rewrite", work / "out2", "--wacz", "--verify", second).stderr
    with zipfile.ZipFile(work / "out2" / "second.wacz") as new:
        needs = json.loads(new.read("datapackage.json")).get("relation")
    same("what it needs", needs, {"requires": [{"filename": "in.wacz"}]})
    if "second.wacz does not replay without" not in said:
        sys.exit(f"not said:\n{said}")
    run(python.parent / "wacz", "validate", "-f", work / "out2" / "second.wacz")

    # One that is an input is not replaced, and one whose file cannot be read stays in parts.
    done = run(binary, "revisits", work / "events", "--rewrite", work, "--wacz", made, expect=2)
    if "is in" not in done.stderr and "overwrite" not in done.stderr:
        sys.exit(done.stderr)
    print("as promised")


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--binary", type=pathlib.Path, required=True)
parser.add_argument("--venv", type=pathlib.Path, required=True)
options = parser.parse_args()
python = python_with(options.venv, "wacz")
if python is None:
    print("the package wacz cannot be had here")
    sys.exit(77)
with tempfile.TemporaryDirectory() as work:
    check(options.binary, python, pathlib.Path(work))
