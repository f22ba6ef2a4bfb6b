#!/usr/bin/env python3
"""The captures that pywb ships, replayed by pywb from the original files and from what `doppel revisits --rewrite` wrote.

usage: referee_test.py --binary DOPPEL --venv FOLDER [WARC ...]

With WARC files (or directories of them) it takes these instead of what pywb ships. Another file holds all of their responses again, as if they had been captured a year later. FOLDER is that of
rewrite_test.py, which installs pywb there. Prints the table of docs/web-archives.md.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from rewrite_test import python_with


# The same responses, a year later: a crawl of what has not changed.
AGAIN = """
import os, sys, uuid
from warcio.archiveiterator import ArchiveIterator
from warcio.warcwriter import WARCWriter
with open(sys.argv[1], "wb") as out:
    writer = WARCWriter(out, gzip=True)
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            for i, record in enumerate(ArchiveIterator(file)):
                if record.rec_type != "response" or not (record.rec_headers.get_header("WARC-Target-URI") or "").startswith("http"):
                    continue
                date = record.rec_headers.get_header("WARC-Date")
                record.rec_headers.replace_header("WARC-Date", str(int(date[:4]) + 1) + date[4:])
                record.rec_headers.replace_header("WARC-Record-ID", "<" + uuid.uuid5(uuid.NAMESPACE_URL, os.path.basename(path) + str(i)).urn + ">")
                writer.write_record(record)
"""


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)
    # 1: the samples hold files that are damaged on purpose.
    if done.returncode not in (0, 1):
        sys.exit(f"{command}: {done.returncode}\n{done.stderr[-3000:]}")
    return done


def captures_of(cdxj):
    out = []
    for line in cdxj.read_text().splitlines():
        _, time, values = line.split(" ", 2)
        out.append((time, json.loads(values)))
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--venv", required=True, type=pathlib.Path)
    parser.add_argument("warcs", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    python = python_with(arguments.venv / "pywb", "pywb==2.9.1")
    if python is None:
        print("pywb cannot be installed: skipped")
        return 77
    given = arguments.warcs or [arguments.venv / "pywb" / "sample_archive" / "warcs"]
    samples = sorted(f for g in given for f in (g.glob("*.warc*") if g.is_dir() else [g]) if f.name.endswith((".warc", ".warc.gz")))
    if len(samples) < (1 if arguments.warcs else 5):
        sys.exit(f"there are {len(samples)} WARC files")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "in").mkdir()
        for sample in samples:
            shutil.copy(sample, work / "in")
        run(python, "-c", AGAIN, work / "in" / "again.warc.gz", *samples)
        run(arguments.binary, "scan", "-q", "--order", "date", "-o", work / "events", work / "in")
        run(arguments.binary, "scan", "-q", "-o", "/dev/null", "--cdxj", work / "before.cdxj", work / "in")
        said = run(arguments.binary, "revisits", work / "events", "--rewrite", work / "out", work / "in").stderr
        run(arguments.binary, "scan", "-q", "-o", "/dev/null", "--cdxj", work / "after.cdxj", work / "out")
        before, after = captures_of(work / "before.cdxj"), captures_of(work / "after.cdxj")
        (work / "pywb").mkdir()
        wanted = {"captures": [[time, values["url"]] for time, values in before],
                  "collections": {"before": [str(work / "before.cdxj"), str(work / "in")],
                                  "after": [str(work / "after.cdxj"), str(work / "out")]}}
        run(python, pathlib.Path(__file__).with_name("replay.py"), work / "pywb", input=json.dumps(wanted))
        answers = json.loads((work / "pywb" / "answers.json").read_text())
        rows, wrong = {}, []
        for (time, values), was, now in zip(before, answers["before"], answers["after"]):
            row = rows.setdefault(values["filename"], [0, 0, 0])
            row[0] += 1
            row[1] += was == now
            row[2] += was[0] == 200
            if was != now:
                wrong.append(f"{time} {values['url']}: {str(was)[:200]} before, {str(now)[:200]} now")
        print("| file | captures | replayed as before | of them with status 200 | bytes before | now |\n|---|---|---|---|---|---|")
        for name in sorted(rows):
            sizes = [(work / d / name).stat().st_size for d in ("in", "out")]
            print(f"| `{name}` | {rows[name][0]} | {rows[name][1]} | {rows[name][2]} | {sizes[0]:,} | {sizes[1]:,} |")
        print(said, file=sys.stderr)
        if wrong or len(before) != len(after):
            sys.exit("\n".join(wrong[:20] + [f"{len(before)} captures before, {len(after)} now"]))
        if not arguments.warcs and (" 0 copies replaced" in said or sum(r[2] for r in rows.values()) < 50):
            sys.exit("nothing was put to the test")
    return 0


sys.exit(main())
