"""bench/report --publish: measures everything at one commit, and writes the figures into README.md and docs/.

A page holds blocks between `<!-- figures: NAME -->` and `<!-- end of figures -->`. Figures has a method for each name.
Every command writes its output to BUILD/published. A run that was interrupted continues where it stopped, as long as
the commit is the same; --write-only writes the pages from what is there.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PAGES = ("README.md", "docs/comparison.md", "docs/benchmarks.md")
BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def commands(build, out, pages):
    """What is run, by name, in this order. Together about an hour and a half on two cores."""
    own = ["--build", build]
    return {
        "report": [HERE / "report", *own, "--only", "1,2,3,4,9,10,11,12,13,14,15", "--json", out / "report.json",
                   *(["--pages", pages] if pages else [])],
        "index": [HERE / "report", *own, "--only", "5,6,7,8", "--json", out / "index.json"],
        "kafka": [HERE / "kafka", *own, "--report", "--only", "1,2,3,5,6,8", "--json", out / "kafka.json"],
        "latency": [HERE / "kafka", *own, "--report", "--only", "7,10", "--json", out / "latency.json"],
        "http": [HERE / "http", *own, "--json", out / "http.json"],
        "python": [sys.executable, HERE / "python" / "compare.py", *own],
        "lookups": [HERE / "lookups", "--folder", build / "lookups", "--binary", build / "doppel",
                    "--venv", build / "venv-replay" / "pywb"],
        "end_to_end": [sys.executable, HERE / "python" / "corpus.py", "--gigabytes", "10", "--folder", build / "end-to-end",
                       "--make-corpus", build / "tests" / "make_corpus"],
        "cluster": [HERE / "cluster", *own, "--report", "--json", out / "cluster.json"],
        "corpus": [HERE / "corpus", *own, "--json", out / "corpus.json"],
    }


def measure(build, out, pages, about):
    """Runs what has no output of this commit yet. Returns the names of what failed."""
    out.mkdir(parents=True, exist_ok=True)
    stamp, failed = out / "about.json", []
    if stamp.exists() and json.loads(stamp.read_text())["commit"] != about["commit"]:
        sys.exit(f"bench/report: {out} has figures of {json.loads(stamp.read_text())['commit']}, and this is {about['commit']}: "
                 f"remove {out} to measure all of them again")
    if about["commit"].endswith("-dirty"):
        sys.exit("bench/report: there are changes that are not committed, and every figure names its commit: commit them first")
    stamp.write_text(json.dumps(about) + "\n")
    for name, command in commands(build, out, pages).items():
        text = out / f"{name}.txt"
        if text.exists():
            print(f"{name}: {text} is there", file=sys.stderr)
            continue
        print(f"{time.strftime('%H:%M:%S')}  {name}: {' '.join(map(str, command))}", file=sys.stderr, flush=True)
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode in (0, 1) and done.stdout:  # 1: a goal is missed, which the table says
            text.write_text(done.stdout)
        else:
            failed.append(name)
    return failed


def table(checks):
    """Goals beside figures, as bench/report prints them; a check is a dict."""
    lines = [("row", "what", "goal", "measured", "met", "")]
    for c in checks:
        lines.append((str(c["row"]), c["what"], c["goal"], c["measured"], {True: "yes", False: "NO", None: "-"}[c["met"]], c["note"]))
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, [*widths, 0])).rstrip() for line in lines)


def rows_of(*reports):
    """The rows of some reports in one table, without the machine, which the top of the page names, and without details."""
    return fenced(table(sorted((check for report in reports for check in report["checks"]), key=lambda check: check["row"])))


def fenced(text):
    return f"\n```\n{text.strip()}\n```\n"


def markdown(head, rows):
    return "\n" + "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


class Figures:
    """The figures of one run, and the blocks made of them."""

    def __init__(self, build, out):
        self.build, self.out = build, out
        self.about = json.loads((out / "about.json").read_text())

    def text(self, name):
        return (self.out / f"{name}.txt").read_text()

    def json(self, name):
        return json.loads((self.out / f"{name}.json").read_text())

    def value(self, name, row, what):
        return next(check["value"] for check in self.json(name)["checks"] if check["row"] == row and check["what"].startswith(what))

    def peers(self):
        return {row["peer"]: row for row in json.loads((self.build / "report" / "peers.json").read_text())["rows"]}

    def python(self):
        """Rates by the clock and F1 of bench/python/compare.py, by name."""
        rows = re.findall(r"^(\S+) +([\d,]+) +[\d,]+ +(\S+)$", self.text("python"), re.MULTILINE)
        return {name: (rate, f1) for name, rate, f1 in rows}

    # The blocks.
    def source(self):
        a = self.about
        return f"\ndoppel {a['commit']} on {a['processor']}, {a['cores']} cores, {a['date']}.\n"

    def readme(self):
        peers, python = self.peers(), self.python()
        doppel, other = peers["doppel"], peers["datasketch"]
        times = self.value("kafka", 3, "doppel serve")
        memory = self.value("index", 7, "everything, resident")
        return markdown(["documents of 4 KB, one core", "doppel", "datasketch", "measured by"], [
            ["F1 on planted near-copies", f"{doppel['f1']:.4f}".lstrip("0"), f"{other['f1']:.4f}".lstrip("0"), "`bench/report --only 4`"],
            ["documents per second, from JSON to verdict", f"{doppel['documents_per_second']:,.0f}",
             f"{other['documents_per_second']:,.0f}", "`bench/report --only 4`"],
            ["documents per second, from a list of texts in Python", python["doppel"][0], python["datasketch"][0],
             "`bench/python/compare.py`"],
            ["documents per second from Kafka, verified", f"{times:.1f} times as many", "1", "`bench/kafka --report --only 3`"],
        ]) + f"\nAn original takes at most {memory:.0f} bytes of memory, a duplicate none (`bench/report --only 7`).\n"

    def comparison(self):
        rows = []
        for name, row in self.peers().items():
            bare = row["documents_per_second_without_preparing"]
            rows.append([name, f"{row['documents_per_second']:,.0f}", f"{bare:,.0f}" if bare else "-", f"{row['f1']:.4f}"])
        return markdown(["", "documents/s", "*as if*", "F1"], rows)

    def in_python(self):
        return markdown(["", "documents/s", "F1"], [[name, rate, f1] for name, (rate, f1) in self.python().items()])

    def ratios(self):
        """What comparison.md says of single peers."""
        return (f"\nFrom pre-hashed shingles to signature, doppel is {self.value('report', 2, 'doppel to rensa'):.2f} times as fast as "
                f"rensa's full mode (row 2).\nFrom Kafka to events on Kafka it is {self.value('kafka', 3, 'doppel serve'):.1f} times as fast "
                "as a consumer in\nPython with datasketch in memory (row 3 of `bench/kafka`).\n")

    def report(self):
        return rows_of(self.json("report"), self.json("index"))

    def kafka(self):
        return rows_of(self.json("kafka"), self.json("latency"))

    def http(self):
        return fenced(self.text("http"))

    def lookups(self):
        return fenced(self.text("lookups"))

    def end_to_end(self):
        return fenced(self.text("end_to_end"))

    def cluster(self):
        return rows_of(self.json("cluster"))

    def corpus(self):
        runs = self.json("corpus")
        what = {"documents": lambda r: f"{r['docs']:,}", "originals": lambda r: f"{r['originals']:,}",
                "documents/s, by tenths of the run": tenths,
                "memory for each original": lambda r: f"{each(r, 'memory'):.0f} bytes",
                "disk for each original": lambda r: f"{r['disk'] / r['originals']:.0f} bytes",
                "the start after the kill": lambda r: f"{r['start_s']:.1f} s"}
        rows = [[name, *(show(run) for run in runs)] for name, show in what.items()]
        large = runs[0]
        return markdown(["", *(f"`verify: {run['verify']}`" for run in runs)], rows) + (
            f"\nAt this size a billion originals take {each(large, 'memory'):.0f} GB of memory, "
            f"{large['disk'] / large['originals']:.0f} GB of disk by signature, and a\n"
            f"start of {large['start_s'] / large['originals'] * 1e9 / 60:.0f} minutes. Spread over machines it is a sharded index "
            "([cluster.md](cluster.md)).\n")


def each(run, what):
    """Bytes for each original when the run was killed, at nineteen twentieths."""
    return run[what] / (run["originals"] * run["places"][-1][0] / run["docs"])


def tenths(run):
    places, rates = [(0, 0.0), *map(tuple, run["places"])], []
    for tenth in range(1, 10):
        begin, end = (max(p for p in places if p[0] <= run["docs"] * t / 10 * 1.02) for t in (tenth - 1, tenth))
        if end[0] > begin[0]:
            rates.append((end[0] - begin[0]) / (end[1] - begin[1]))
    return f"{min(rates):,.0f} to {max(rates):,.0f}"


def write(figures):
    """Replaces every block of the pages. Returns what is not measured, by block."""
    missing = {}
    for page in PAGES:
        path = ROOT / page

        def block(match):
            try:
                return match[1] + getattr(figures, match[2])() + "\n" + match[3]
            except (AttributeError, FileNotFoundError, KeyError, StopIteration, ValueError) as e:
                missing[f"{page}: {match[2]}"] = f"{type(e).__name__}: {e}"
                return match[0]

        path.write_text(BLOCK.sub(block, path.read_text()))
    return missing
