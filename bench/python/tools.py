#!/usr/bin/env python3
"""One job with three tools: a folder of Parquet without near-copies (the longest of each cluster stays) and evaluation items.

    cmake --preset release && cmake --build --preset release --target make_corpus && scripts/wheel
    bench/python/tools.py                                # 20,000 documents of about 4 KB, three turns: half an hour
    bench/python/tools.py --docs 2000 --turns 1 --only doppel,datatrove

The programs are those of examples/corpus-tools, each in an environment of its own. make_corpus makes the documents, of which
half are copies; this program plants items into one in fifty, every second time with a tenth of the item's words replaced.
The tools run in turns, on all processors. The table shows:

    lines       of the program, without comments, documentation and empty lines
    clock, processor, memory
                the best turn: seconds until the program ended, those of all its processes, and the most that they held at once
    in order    precision, recall and F1 of the rows that went as copies. The truth is exact (sets of 5 words, Jaccard): each
                row is a copy of the earlier original that is most similar, if that is at least .8; of an original and its
                copies the longest stays
    linked      the same with the other rule: rows that are linked by pairs of at least .8 are a cluster; its longest stays
    went although alone
                rows that went as copies, and no other document is similar (.8); wrong by any rule
    stayed although a copy
                rows that stay, and a longer one that stays (of that length: an earlier one) is similar
    items       of the rows without a copy that hold an item: how many went for it; then how many rows without an item went

If a tool cannot be installed or fails, the last lines say which and why, and the exit code is 1.
"""

import argparse
import ast
import contextlib
import ctypes
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tokenize
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / "examples" / "corpus-tools"
THRESHOLD, WORDS, FILES = 0.8, 5, 8
LEAST, MOST = 8, 30  # words of an item


class Tool:
    """How a tool is installed, and which folders of its output hold what stays without copies, and without items."""

    def __init__(self, program, packages, deduplicated, clean):
        self.program, self.packages, self.deduplicated, self.clean = PROGRAMS / program, packages, deduplicated, clean


TOOLS = {
    "doppel": Tool("with_doppel.py", ["pyarrow"], ["deduplicated"], "clean"),
    "datatrove": Tool("with_datatrove.py", ["datatrove[io,processing]==0.10.1", "spacy"], ["clean", "contaminated"], "clean"),
    "text-dedup": Tool("with_text_dedup.py", ["text-dedup==0.4.0"], ["deduplicated"], None),
}


def lines_of(program):
    """Lines with code: neither comments nor documentation nor empty ones."""
    with tokenize.open(program) as file:
        source = file.read()
    documentation = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documentation.update(range(node.lineno, node.end_lineno + 1))
    beside = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines = set()
    with open(program, "rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in (*beside, tokenize.ENCODING):
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


# --- The corpus, and what is true of it.


def words_of(text):
    return re.findall(r"\w+", text.lower())


PLAIN = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u2026": "..."})


def documents_of(make_corpus, docs, seed):
    """English documents in ASCII, because each tool has its own idea of equal letters."""
    made = subprocess.run([make_corpus, "--kind", "english", "--docs", str(docs), "--seed", str(seed)], check=True, capture_output=True).stdout
    out = [json.loads(line) for line in made.splitlines()]
    for document in out:
        document["text"] = unicodedata.normalize("NFKD", document["text"].translate(PLAIN)).encode("ascii", "ignore").decode()
    return out


def plant(documents, items, rng):
    """Puts items into one document of fifty. Returns which document holds an item, and whether it stands there word for word."""
    planted = {}
    for number in sorted(rng.sample(range(len(documents)), len(documents) // 50)):
        words = rng.choice(items)["question"].split()
        changed = len(planted) % 2 == 1
        if changed:
            for place in rng.sample(range(len(words)), max(1, len(words) // 10)):
                words[place] = rng.choice(["quarter", "seldom", "bright", "paper", "eleven"])
        text = documents[number]["text"].split(" ")
        place = rng.randrange(len(text))
        documents[number]["text"] = " ".join([*text[:place], *words, *text[place:]])
        planted[documents[number]["id"]] = not changed
    return planted


def make(folder, docs, seed, make_corpus):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = random.Random(seed)
    documents = documents_of(make_corpus, docs, seed)
    # Words of the corpus, drawn at random, so that no document holds an item by chance.
    vocabulary = sorted({word for document in documents[:2000] for word in words_of(document["text"]) if len(word) > 5})
    items = [{"id": f"q{number}", "question": " ".join(rng.choices(vocabulary, k=rng.randint(LEAST, MOST))), "answer": " ".join(rng.choices(vocabulary, k=3))}
             for number in range(docs // 50)]  # fmt: skip
    planted = plant(documents, items, rng)
    (folder / "corpus").mkdir(parents=True)
    each = -(-len(documents) // FILES)
    for number in range(FILES):
        table = pa.Table.from_pylist([{"id": d["id"], "url": d["url"], "text": d["text"]} for d in documents[number * each : (number + 1) * each]])
        pq.write_table(table, folder / "corpus" / f"part-{number:05}.parquet", compression="zstd", row_group_size=1000)
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    texts = [d["text"] for d in documents]
    pairs = similar_pairs([words_of(text) for text in texts])
    truth = {"ids": [d["id"] for d in documents], "lengths": [len(text) for text in texts], "pairs": pairs, "planted": planted}
    (folder / "truth.json").write_text(json.dumps(truth))


def similar_pairs(words):
    """All pairs of rows whose sets of WORDS words have a Jaccard similarity of at least THRESHOLD, with the similarity. Exact.

    In one order of all shingles, two such sets share one among the first of each: of n as many as leave less than THRESHOLD * n.
    The order is by how often a shingle comes, so few other sets share these.
    """
    import numpy as np

    def shingles(row):
        return np.unique(np.fromiter((hash(" ".join(row[i : i + WORDS])) for i in range(max(1, len(row) - WORDS + 1))), np.int64))

    sets = [shingles(row) for row in words]
    known, times = np.unique(np.concatenate(sets), return_counts=True)
    seen, candidates = {}, set()
    for row, own in enumerate(sets):
        often = times[np.searchsorted(known, own)]
        first = len(own) - -(-int(THRESHOLD * 100) * len(own) // 100) + 1
        for place in np.lexsort((own, often))[:first]:
            if often[place] > 1:
                others = seen.setdefault(int(own[place]), [])
                candidates.update((other, row) for other in others)
                others.append(row)
    out = []
    for a, b in sorted(candidates):
        shared = len(np.intersect1d(sets[a], sets[b], assume_unique=True))
        similarity = shared / (len(sets[a]) + len(sets[b]) - shared)
        if similarity >= THRESHOLD:
            out.append((a, b, similarity))
    return out


def neighbours(truth):
    out = [[] for _ in truth["ids"]]
    for a, b, similarity in truth["pairs"]:
        out[a].append((b, similarity))
        out[b].append((a, similarity))
    return out


def gone(truth, clusters):
    """The rows that go: all of a cluster but its longest, of equal ones the first."""
    out = set()
    for rows in clusters:
        out.update(set(rows) - {min(rows, key=lambda row: (-truth["lengths"][row], row))})
    return out


def in_order(truth, near):
    original, clusters = {}, {}
    for row in range(len(near)):
        earlier = [(similarity, -other) for other, similarity in near[row] if other < row and original[other] == other]
        original[row] = -max(earlier)[1] if earlier else row
        clusters.setdefault(original[row], []).append(row)
    return gone(truth, clusters.values())


def linked(truth, near):
    seen, clusters = set(), []
    for row in range(len(near)):
        if row in seen:
            continue
        seen.add(row)
        cluster = [row]
        for each in cluster:
            fresh = [other for other, _ in near[each] if other not in seen]
            seen.update(fresh)
            cluster += fresh
        clusters.append(cluster)
    return gone(truth, clusters)


# --- The tools.


def environment(work, name, tool, wheel):
    python = work / f"venv-{name}" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not python.exists():
        print(f"making {python.parent.parent}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
        subprocess.run([*pip, *tool.packages], check=True)
    if name == "doppel":
        subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
        subprocess.run([*pip, "numpy"], check=True)
    return python


def memory_of(session):
    """Bytes that the processes of a session hold, those that several share divided among them."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rsplit(")", 1)[1].split()[3]) == session:
                total += 1024 * int(re.search(r"^Pss: *(\d+)", (process / "smaps_rollup").read_text(), re.M)[1])
        except (OSError, TypeError):  # it has ended
            continue
    return total


def run(python, tool, folder, out):
    """Seconds by the clock and of the processor, and the most memory at once."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    with open(out / "said", "wb") as said:
        began = time.monotonic()
        child = subprocess.Popen([python, tool.program, folder / "corpus", folder / "items.jsonl", out], stdout=said, stderr=subprocess.STDOUT,
                                 start_new_session=True, env={**os.environ, "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(out / "hub")})  # fmt: skip
        most, ended = 0, threading.Event()

        def watch():
            nonlocal most
            while not ended.wait(0.2 if time.monotonic() < began + 5 else 2):  # to look takes the processor, too
                most = max(most, memory_of(child.pid))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
            seconds = time.monotonic() - began
        except BaseException:
            os.killpg(child.pid, signal.SIGTERM)
            raise
        finally:
            ended.set()
            watching.join()
    if status != 0:
        raise RuntimeError(f"ended with {os.waitstatus_to_exitcode(status)}: {(out / 'said').read_text(errors='replace').strip()[-800:]}")
    used = [usage]
    with contextlib.suppress(ChildProcessError):  # those that it left, which end with it
        while True:
            used.append(os.wait4(-1, 0)[2])
    return {"clock": seconds, "processor": sum(one.ru_utime + one.ru_stime for one in used), "memory": most}


def ids_in(folders):
    import pyarrow.parquet as pq

    return {id for folder in folders for file in folder.rglob("*.parquet") for id in pq.read_table(file, columns=["id"])["id"].to_pylist()}


def quality(went, should):
    both = len(went & should)
    precision, recall = both / max(1, len(went)), both / max(1, len(should))
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall)


def judge(truth, near, tool, out):
    stay = ids_in([out / name for name in tool.deduplicated])
    rows = {row for row, id in enumerate(truth["ids"]) if id in stay}
    went = set(range(len(truth["ids"]))) - rows
    better = lambda a, b: (-truth["lengths"][a], a) < (-truth["lengths"][b], b)
    result = {
        "in order": quality(went, in_order(truth, near)),
        "linked": quality(went, linked(truth, near)),
        "alone": sum(not near[row] for row in went),
        "missed": sum(any(other in rows and better(other, row) for other, _ in near[row]) for row in rows),
    }
    if tool.clean:
        dropped = stay - ids_in([out / tool.clean])
        for kind, exact in (("word for word", True), ("changed", False)):
            there = {id for id, how in truth["planted"].items() if how == exact and id in stay}
            result[kind] = (len(dropped & there), len(there))
        result["others"] = len(dropped - set(truth["planted"]))
    return result


def table(names, best, judged):
    """The lines of the table, in Markdown."""
    def each(what, show):
        return f"| {what} | " + " | ".join(show(name) for name in names) + " |"

    def three(key):
        return lambda name: " / ".join(f"{value:.4f}".replace("0.", ".", 1) for value in judged[name][key])

    def items(key):
        return lambda name: "{:,} of {:,}".format(*judged[name][key]) if key in judged[name] else "not looked for"

    return [
        "| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|",
        each("lines of the program", lambda name: str(lines_of(TOOLS[name].program))),
        each("clock", lambda name: f"{best[name]['clock']:.1f} s"),
        each("processor", lambda name: f"{best[name]['processor']:.1f} s"),
        each("memory", lambda name: f"{best[name]['memory'] / 1e6:,.0f} MB"),
        each("copies that went, in order: precision / recall / F1", three("in order")),
        each("copies that went, linked: precision / recall / F1", three("linked")),
        each("went although alone", lambda name: f"{judged[name]['alone']:,}"),
        each("stayed although a copy", lambda name: f"{judged[name]['missed']:,}"),
        each("items word for word", items("word for word")),
        each("items with changed words", items("changed")),
        each("others that went as items", lambda name: f"{judged[name]['others']:,}" if "others" in judged[name] else "-"),
    ]  # fmt: skip


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where make_corpus is")
    p.add_argument("--wheel", type=Path, help="the wheel to measure (default: the newest in dist/ for this Python)")
    p.add_argument("--work", type=Path, help="for environments, corpus and results (default: corpus-tools in --build)")
    p.add_argument("--docs", type=int, default=20_000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--only", help="names, comma separated")
    options = p.parse_args()
    names = options.only.split(",") if options.only else list(TOOLS)
    for name in names:
        if name not in TOOLS:
            p.error(f"no tool is called {name}: there are {', '.join(TOOLS)}")
    make_corpus = options.build / "tests" / "make_corpus"
    tag = "cp311-cp311" if sys.version_info < (3, 12) else "abi3"
    wheel = options.wheel or max((ROOT / "dist").glob(f"*-{tag}-*.whl"), key=os.path.getmtime, default=None)
    if wheel is None or not make_corpus.exists():
        sys.exit(f"tools.py: {'no wheel for this Python; run scripts/wheel' if wheel is None else f'{make_corpus} is not there; build the target make_corpus'}")
    work = options.work or options.build / "corpus-tools"
    folder = work / f"{options.docs}-{options.seed}"
    if not (folder / "truth.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"making {folder}", file=sys.stderr)
        make(folder, options.docs, options.seed, make_corpus)
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: processes whose parent ends become ours, so that run() can count them
    truth = json.loads((folder / "truth.json").read_text())
    near = neighbours(truth)
    turns, judged, pythons, left_out = {name: [] for name in names}, {}, {}, {}
    for turn in range(options.turns):  # so that a noisy minute hits everyone
        for name in names:
            if name in left_out:
                continue
            try:
                if name not in pythons:
                    pythons[name] = environment(work, name, TOOLS[name], wheel.resolve())
                print(f"turn {turn + 1} of {options.turns}: {name}", file=sys.stderr)
                turns[name].append(run(pythons[name], TOOLS[name], folder, folder / name))
                judged[name] = judge(truth, near, TOOLS[name], folder / name)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                left_out[name] = str(error)
    shown = [name for name in names if name in judged and name not in left_out]
    best = {name: {what: min(one[what] for one in turns[name]) for what in ("clock", "processor", "memory")} for name in shown}
    size = sum(truth["lengths"])
    print(f"{len(truth['ids']):,} documents, {size / 1e6:,.0f} MB of text, {len(truth['planted'])} with an item; {os.cpu_count()} processors; "
          f"best of {options.turns} turns\n")  # fmt: skip
    print("\n".join(table(shown, best, judged)))
    for name, why in left_out.items():
        print(f"\n{name}: LEFT OUT: {why}")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
