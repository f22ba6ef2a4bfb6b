#!/usr/bin/env python3
"""The captures that pywb ships, replayed by pywb from the original files and from what `doppel revisits --rewrite` wrote.

usage: referee_test.py --binary DOPPEL --venv FOLDER [WARC ...]

With WARC files (or directories of them) it takes these instead of what pywb ships. Another file holds all of their responses again, as if they had been captured a year later. Beside them is a
collection of several crawlers: one site in the files of Heritrix (SHA-1), Browsertrix (SHA-256, POST requests), two others (MD5, SHA-1 in hex), and in an ARC file. FOLDER is that of rewrite_test.py,
which installs pywb there. Prints the table of docs/web-archives.md.
"""
import argparse
import json
import pathlib
import re
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


# One site by several crawlers. Prints [TIME, URL, CONTENT_TYPE, BODY] of the answers to POST requests.
MIXED = """
import gzip, hashlib, io, base64, json, random, sys, uuid
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter
rng, to = random.Random(48), sys.argv[1]
bodies = [rng.randbytes(3000) for _ in range(6)]
sha1 = lambda b: hashlib.sha1(b)
spell = {"heritrix": lambda b: "sha1:" + base64.b32encode(sha1(b).digest()).decode(), "browsertrix": lambda b: "sha256:" + hashlib.sha256(b).hexdigest(),
         "hex": lambda b: "sha1:" + sha1(b).hexdigest(), "upper": lambda b: "SHA1:" + sha1(b).hexdigest().upper(), "md5": lambda b: "md5:" + hashlib.md5(b).hexdigest()}
sent = []
def crawl(name, month, posts=()):
    with open(f"{to}/mixed-{name}.warc.gz", "wb") as out:
        writer = WARCWriter(out, gzip=True, warc_version="1.0" if name == "heritrix" else "1.1")
        exchanges = [(f"http://mixed.org/{i}", None, None, body) for i, body in enumerate(bodies)] + list(posts)
        for second, (url, kind, body, answer) in enumerate(exchanges):
            date = {"WARC-Date": f"2024-{month:02}-05T07:08:{second:02}Z"}
            head = StatusAndHeaders("200 OK", [("Content-Type", "image/png"), ("ETag", name), ("Content-Length", str(len(answer)))], protocol="HTTP/1.1")
            response = writer.create_warc_record(url, "response", payload=io.BytesIO(answer), http_headers=head,
                                                 warc_headers_dict={**date, "WARC-Payload-Digest": spell[name](answer)})
            line = ("GET" if body is None else "POST") + " /" + url.split("/", 3)[3] + " HTTP/1.1"
            fields = [("Host", "mixed.org")] + ([] if body is None else [("Content-Type", kind), ("Content-Length", str(len(body)))])
            request = writer.create_warc_record(url, "request", payload=io.BytesIO(body or b""), http_headers=StatusAndHeaders(line, fields, is_http_request=True),
                                                warc_headers_dict={**date, "WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID")})
            writer.write_record(response)
            writer.write_record(request)
            if name == "heritrix":
                writer.write_record(writer.create_warc_record(url, "metadata", payload=io.BytesIO(b"seed: \\r\\nfetchTimeMs: 7\\r\\n"), length=None, warc_content_type="text/anvl",
                                                              warc_headers_dict={**date, "WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID")}))
            if body is not None:
                sent.append([date["WARC-Date"].translate({ord(c): None for c in "-:TZ"}), url, kind, body.decode()])
api, form, json_type = "http://mixed.org/api", "application/x-www-form-urlencoded", "application/json"
posts = [(api, form, b"a=1&b=2", bodies[0]), (api, form, b"a=3", bodies[0]), (api, json_type, b'{"q": {"x": [1, 2]}}', rng.randbytes(2000)), (api, form, b"a=4", bodies[1]),
         ("http://mixed.org/late", None, None, bodies[0])]
crawl("heritrix", 1)
crawl("browsertrix", 3, posts)
crawl("md5", 4)
crawl("hex", 5)
crawl("upper", 6, posts[:2])
def arc(name, day):
    records = [("filedesc://" + name, "text/plain", b"1 0 Test\\nURL IP-address Archive-date Content-type Archive-length\\n")]
    records += [(f"http://mixed.org/{i}", "image/png", b"HTTP/1.1 200 OK\\r\\nContent-Type: image/png\\r\\nETag: arc\\r\\n\\r\\n" + body) for i, body in enumerate(bodies[3:], 3)]
    with open(f"{to}/{name}", "wb") as out:
        for second, (url, kind, block) in enumerate(records):
            out.write(gzip.compress(f"{url} 1.2.3.4 {day}0708{second:02} {kind} {len(block)}\\n".encode() + block + b"\\n", mtime=0))
arc("mixed-before.arc.gz", "20231205")
arc("mixed-behind.arc.gz", "20240705")
json.dump(sent, sys.stdout)
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
        (work / "arcs").mkdir()
        made = subprocess.run([python, "-c", MIXED, work / "in"], check=True, capture_output=True, text=True).stdout
        sent = {(time, url): [kind, body] for time, url, kind, body in json.loads(made)}
        run(arguments.binary, "scan", "-q", "--order", "date", "-o", work / "events", work / "in")
        run(arguments.binary, "scan", "-q", "-o", "/dev/null", "--cdxj", work / "before.cdxj", work / "in")
        said = run(arguments.binary, "revisits", work / "events", "--verify", "--rewrite", work / "out", work / "in").stderr
        # ARC files are not written again.
        for arc in (work / "in").glob("*.arc.gz"):
            shutil.copy(arc, work / "arcs")
        run(arguments.binary, "scan", "-q", "-o", "/dev/null", "--cdxj", work / "after.cdxj", work / "out", work / "arcs")
        before, after = captures_of(work / "before.cdxj"), captures_of(work / "after.cdxj")
        (work / "pywb").mkdir()
        wanted = {"captures": [[time, values["url"]] + sent.get((time, values["url"]), []) for time, values in before],
                  "collections": {"before": [str(work / "before.cdxj"), str(work / "in")],
                                  "after": [str(work / "after.cdxj"), str(work / "out"), str(work / "arcs")]}}
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
            sizes = [(work / d / name).stat().st_size for d in ("in", "arcs" if name.endswith(".arc.gz") else "out")]
            print(f"| `{name}` | {rows[name][0]} | {rows[name][1]} | {rows[name][2]} | {sizes[0]:,} | {sizes[1]:,} |")
        print(said, file=sys.stderr)
        if wrong or len(before) != len(after):
            sys.exit("\n".join(wrong[:20] + [f"{len(before)} captures before, {len(after)} now"]))
        found, replaced = (re.search(pattern, said) for pattern in (r"original of ([0-9,]+) of ", r"([0-9,]+) copies replaced"))
        if found is None or found[1] != replaced[1]:
            sys.exit(f"--verify says something else than pywb:\n{said}")
        posts = [answer for (time, values), answer in zip(before, answers["before"]) if values.get("method") == "POST"]
        if len(posts) < len(sent) or any(answer[0] != 200 for answer in posts[:]):
            sys.exit(f"answers to POST requests are not replayed: {[a[0] for a in posts]}")
        if any(rows[name][2] != rows[name][0] for name in rows if name.startswith("mixed-")):
            sys.exit("a capture of the mixed collection is not replayed")
        if not arguments.warcs and (" 0 copies replaced" in said or sum(r[2] for r in rows.values()) < 50):
            sys.exit("nothing was put to the test")
    return 0


sys.exit(main())
