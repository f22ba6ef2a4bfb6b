#!/usr/bin/env python3
"""A small site is served by a real nginx, crawled by wget into a WARC file, and judged every way there is.

usage: archive_test.py --binary DOPPEL

The verdicts must be the same for the WARC file itself, and for crawl logs in the shapes of Heritrix, warcprox and the UK Web
Archive's warcprox whose records are fetched from the disk or from the web server; and again after a run was cut in two.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from ports import free_port  # noqa: E402

PAGES = 24


def words(rng, count):
    return " ".join("".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) for _ in range(count))


def build_site(root):
    """60 pages: 24 articles in two templates, their print versions or near-copies, pagination, an index."""
    rng = random.Random(7)
    articles = [[words(rng, 60) for _ in range(5)] for _ in range(PAGES)]
    navigation = "<nav><ul>" + "".join(f'<li><a href="/list{i}.html">{words(rng, 2)}</a></li>' for i in range(11)) + "</ul></nav>"
    copied = {}

    def write(name, body):
        (root / name).write_text(f"<!doctype html><html><head><title>{name}</title></head><body>{body}</body></html>")

    for i, paragraphs in enumerate(articles):
        text = "".join(f"<p>{p}</p>" for p in paragraphs)
        if i % 2 == 0:
            write(f"article{i}.html", f"{navigation}<article><h1>Article {i}</h1>{text}</article><footer>All rights</footer>")
            write(f"print{i}.html", f"<h1>Article {i}</h1>{text}")
            copied[f"print{i}.html"] = f"article{i}.html"
        else:
            near = text.replace(paragraphs[2].split()[3], "changed", 1)
            write(f"article{i}.html", f'<div class="menu">{navigation}</div><div id="content"><h2>Article {i}</h2>{text}</div>')
            write(f"copy{i}.html", f'<div class="menu">{navigation}</div><div id="content"><h2>Article {i}</h2>{near}</div>')
            copied[f"copy{i}.html"] = f"article{i}.html"
    names = [n for i in range(PAGES) for n in (f"article{i}.html", f"print{i}.html" if i % 2 == 0 else f"copy{i}.html")]
    for i in range(11):
        items = "".join(f'<li><a href="/{n}">{n}</a> {words(rng, 30)}</li>' for n in names[i * 4:i * 4 + 5])
        write(f"list{i}.html", f"{navigation}<ul>{items}</ul><p>{words(rng, 50)}</p><a href=\"/list{(i + 1) % 11}.html\">next</a>")
    write("index.html", navigation + "".join(f'<a href="/{n}">{n}</a> ' for n in names) + f"<p>{words(rng, 80)}</p>")
    return copied


class Nginx:
    def __init__(self, work, files):
        self.port = free_port()
        self.pid_file = work / "nginx.pid"
        config = work / "nginx.conf"
        temp = " ".join(f"{n}_temp_path {work}/{n};" for n in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        config.write_text(f"daemon on; pid {self.pid_file}; error_log {work}/error.log; worker_processes 1;"
                          f"events {{ }} http {{ access_log off; {temp} types {{ text/html html; }}"
                          f"default_type application/octet-stream;"
                          f"server {{ listen 127.0.0.1:{self.port}; location / {{ root {files}; }} }} }}")
        # The first process ends when the port is open.
        subprocess.run(["nginx", "-q", "-c", config], check=True, stderr=subprocess.DEVNULL)

    def close(self):
        os.kill(int(self.pid_file.read_text()), signal.SIGTERM)


def crawl_logs(cdx, shape):
    """The crawl log of what wget's CDX names, as the crawler `shape` writes it."""
    lines = []
    for line in cdx.read_text().splitlines()[1:]:
        url, date, _, mime, status, digest, _, _, offset, filename, record_id = line.split()
        common = {"url": url, "status_code": int(status), "content_digest": "sha1:" + digest, "host": "127.0.0.1",
                  "start_time_plus_duration": date + "000+12", "timestamp": "2024-05-06T07:08:09.000Z",
                  "annotations": "", "warc_filename": filename.rsplit("/", 1)[-1], "warc_offset": int(offset)}
        if shape == "heritrix":
            common.update(mimetype=mime, size=1, content_length=1, hop_path="L", via=None, thread=1, seed=url, extra_info={})
        elif shape == "warcprox":
            common.update(mimetype=mime, size=1, content_length=1)
        else:
            common.update(content_type=mime, wire_bytes=1, warc_length=1, warc_type="response", http_method="GET",
                          warc_id=record_id)
        lines.append(json.dumps(common))
    return "\n".join(lines) + "\n"


# A record of the file is named by its WARC-Record-ID, a message by its URL.
def urls_of(warcs):
    fields = [line.split() for line in (warcs / "site.cdx").read_text().splitlines()[1:]]
    return {f[-1].strip("<>"): f[0] for f in fields}


def by_url(lines, urls):
    """URL -> verdict and the original's URL, of the lines that `scan --all` writes."""
    names = {line["event_id"]: urls.get(line["id"], line["id"]) for line in lines}
    return {names[line["event_id"]]: (line["verdict"], names[line["cluster_id"]])
            for line in lines if line["verdict"] in ("unique", "duplicate")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    binary = parser.parse_args().binary
    if not shutil.which("nginx") or not shutil.which("wget"):
        print("nginx and wget are needed: skipped")
        return 77
    with tempfile.TemporaryDirectory(prefix="doppel-archive-") as directory:
        work = pathlib.Path(directory)
        work.chmod(0o755)
        site, warcs = work / "files", work / "files" / "warcs"
        warcs.mkdir(parents=True)
        copied = build_site(site)
        nginx = Nginx(work, site)
        try:
            return judge(binary, work, warcs, nginx, copied)
        finally:
            nginx.close()


def crawl(work, warcs, base):
    subprocess.run(["wget", "-q", "-e", "robots=off", "-r", "-l", "5", "--no-proxy", "--delete-after", "-P", work / "mirror",
                    f"--warc-file={warcs}/site", "--warc-cdx", f"{base}/index.html"], check=True)
    return warcs / "site.warc.gz"


def judge(binary, work, warcs, nginx, copied):
    base = f"http://127.0.0.1:{nginx.port}"
    warc = crawl(work, warcs, base)

    def scan(*arguments):
        run = subprocess.run([binary, "scan", "-q", "--all", "--set", "input.extract=main", *map(str, arguments)],
                             capture_output=True, text=True, env={"PATH": os.environ["PATH"], "TMPDIR": str(work)})
        if run.returncode not in (0,):
            sys.exit(f"{arguments}: exit {run.returncode}\n{run.stdout[-2000:]}{run.stderr}")
        return [json.loads(line) for line in run.stdout.splitlines()]

    urls = urls_of(warcs)

    def verdicts(lines):
        return by_url(lines, urls)

    expected = verdicts(scan(warc))
    pages = {url.rsplit("/", 1)[1]: url for url in expected if url.endswith(".html")}
    if len(pages) != 60:
        sys.exit(f"{len(pages)} pages of 60 were judged: {sorted(pages)}")
    for copy, article in copied.items():
        pair = {copy, article}
        duplicates = [n for n in pair if expected[pages[n]][0] == "duplicate"]
        if len(duplicates) != 1 or expected[pages[duplicates[0]]][1].rsplit("/", 1)[1] not in pair:
            sys.exit(f"{copy} and {article}: {[expected[pages[n]] for n in pair]}")
    others = [n for n in pages if n not in copied and n not in copied.values() and expected[pages[n]][0] != "unique"]
    if others:
        sys.exit(f"pages that are no copies: {others}")

    for shape in ("heritrix", "warcprox", "ukwa"):
        log = work / f"{shape}.jsonl"
        log.write_text(crawl_logs(warcs / "site.cdx", shape))
        for root in (warcs.parent, f"{base}/warcs"):
            got = verdicts(scan("--format", "heritrix", "--set", f"warc.roots={root}", log))
            if got != expected:
                wrong = {u: (got.get(u), v) for u, v in expected.items() if got.get(u) != v}
                sys.exit(f"{shape} over {root}: {len(wrong)} verdicts differ: {dict(list(wrong.items())[:5])}")

    # The file is cut off, judged, and judged on when it is whole again.
    whole = warc.read_bytes()
    split = work / "split"
    state = ["--state", work / "state", "-o", work / "out.jsonl"]
    split.mkdir()
    half = split / "site.warc.gz"
    half.write_bytes(whole[:len(whole) // 2])
    command = [binary, "scan", "-q", "--all", "--set", "input.extract=main", *map(str, state), str(half)]
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    if first.returncode != 1:
        sys.exit(f"a file that is cut off: exit {first.returncode}, not 1\n{first.stderr}")
    with half.open("ab") as file:
        file.write(whole[len(whole) // 2:])
    subprocess.run(command, check=True)
    again = verdicts([json.loads(line) for line in (work / "out.jsonl").read_text().splitlines()])
    if again != expected:
        sys.exit(f"in two runs: {len(again)} verdicts, {len(expected)} expected")
    print(f"{len(expected)} verdicts, the same eight ways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
