#!/usr/bin/env python3
"""doppel beside other libraries for near-duplicate detection: the same documents, one core each.

    bench/peers/compare.py --build build/release             # everything, 20,000 documents
    bench/peers/compare.py --only doppel,rensa --repeats 5 --json figures.json

Makes a virtual environment with the libraries of requirements.txt, makes a corpus with planted copies and the exact truth
(make_corpus), runs every peer in a process of its own, in turns, pinned to one core, and prints a table. See README.md.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

HERE = Path(__file__).resolve().parent
PERMUTATIONS = 128
WORDS = 5

# ----------------------------------------------------------------------------------------------------------
# The peers. Each is fed documents one after the other, as a stream is: it says whether the document repeats an earlier one
# and keeps it if not. `shingles` is a list of strings, made the same way for all.

WORD = re.compile(r"\w+")
IGNORED = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])


def normalise(text):
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()).translate(IGNORED)


def words_of(text):
    return WORD.findall(normalise(text))


def shingles_of(text):
    words = words_of(text)
    return [" ".join(words[i : i + WORDS]) for i in range(len(words) - WORDS + 1)]


class Datasketch:
    """MinHashLSH as its documentation shows it: what the query returns is the answer."""

    library = "datasketch"
    check = False

    def __init__(self, threshold):
        from datasketch import MinHash, MinHashLSH

        self.minhash, self.threshold = MinHash, threshold
        self.lsh = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        self.kept = {}

    def duplicate(self, number, shingles):
        m = self.minhash(num_perm=PERMUTATIONS)
        if shingles:
            m.update_batch([s.encode() for s in shingles])
        found = self.lsh.query(m)
        if self.check:
            found = [f for f in found if self.kept[f].jaccard(m) >= self.threshold]
        if found:
            return True
        self.lsh.insert(number, m)
        if self.check:
            self.kept[number] = m
        return False

    def describe(self):
        return f"{self.lsh.b} bands of {self.lsh.r}" + (", candidates checked by MinHash.jaccard" if self.check else "")


class DatasketchChecked(Datasketch):
    """The same; candidates are kept only if the two MinHashes say that they reach the threshold."""

    check = True


class RensaR(object):
    """RMinHashDeduplicator on whole sets (never the rho pipeline, which samples)."""

    library = "rensa"
    name = "RMinHashDeduplicator"

    def __init__(self, threshold):
        import rensa

        extra = {"use_lsh": True} if self.name.startswith("R") else {}
        self.dedup = getattr(rensa, self.name)(threshold=threshold, num_perm=PERMUTATIONS, **extra)

    def duplicate(self, number, shingles):
        return not self.dedup.add_pairs([(str(number), shingles)])[0]

    def describe(self):
        return self.name + ".add_pairs" + (", use_lsh" if self.name.startswith("R") else "")


class RensaC(RensaR):
    """CMinHashDeduplicator on whole sets."""

    name = "CMinHashDeduplicator"


class FastSketch:
    """FastSimilaritySketch and LSH with the 16 bands of its README; what the query returns is the answer."""

    library = "FastSketchLSH"
    bands = 16

    def __init__(self, threshold):
        import numpy
        from FastSketchLSH import LSH, FastSimilaritySketch

        self.numpy = numpy
        self.sketch = FastSimilaritySketch(size=PERMUTATIONS, seed=42)
        self.lsh = LSH(num_perm=PERMUTATIONS, num_bands=self.bands, num_threads=1)

    def duplicate(self, number, shingles):
        signature = self.numpy.asarray(self.sketch(shingles), dtype=self.numpy.uint64)
        if len(self.lsh.query(signature)) != 0:
            return True
        self.lsh.insert(signature.reshape(1, -1))
        return False

    def describe(self):
        return f"{self.bands} bands of {PERMUTATIONS // self.bands}, candidates not checked"


class Gaoya:
    """MinHashStringIndex with its own shingles, made in Rust from the normalised words."""

    library = "gaoya"
    takes_text = True

    def __init__(self, threshold):
        import gaoya

        self.index = gaoya.minhash.MinHashStringIndex(
            hash_size=32, jaccard_threshold=threshold, num_bands=None, band_size=None, num_hashes=PERMUTATIONS,
            analyzer="word", lowercase=False, ngram_range=(WORDS, WORDS), id_container="smallvec")

    def duplicate(self, number, text):
        if self.index.query(text):
            return True
        self.index.insert_document(number, text)
        return False

    def describe(self):
        return re.sub(r".*num_hashes", "num_hashes", str(self.index)).split(", size")[0]


PEERS = {
    "datasketch": Datasketch,
    "datasketch-checked": DatasketchChecked,
    "rensa-r": RensaR,
    "rensa-c": RensaC,
    "fastsketch": FastSketch,
    "gaoya": Gaoya,
}


def resident_bytes():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run_peer(name, corpus, threshold):
    """In a process of its own, inside the virtual environment: prints one JSON object."""
    peer = PEERS[name](threshold)
    takes_text = getattr(peer, "takes_text", False)
    now = time.perf_counter
    flags, memory, preparing, worst = [], [], 0.0, 0.0
    begin = now()
    with open(corpus, "rb") as lines:
        for number, line in enumerate(lines):
            if number % 1000 == 0:
                memory.append(resident_bytes())
            start = now()
            text = json.loads(line)["text"]
            given = " ".join(words_of(text)) if takes_text else shingles_of(text)
            middle = now()
            flags.append(1 if peer.duplicate(number, given) else 0)
            end = now()
            preparing += middle - start
            worst = max(worst, end - middle)
    seconds = now() - begin
    memory.append(resident_bytes())
    # The first half warms up imports and buffers; what the second half adds is the index.
    skip = max(1, len(memory) // 2)
    spent = len(flags) - 1000 * skip
    per_document = (memory[-1] - memory[skip]) / spent if spent > 0 else None
    print(json.dumps({"seconds": seconds, "preparing_seconds": preparing, "memory_per_document": per_document,
                      "worst_ms": worst * 1e3, "how": peer.describe(), "flags": "".join(map(str, flags))}))


# ----------------------------------------------------------------------------------------------------------
# doppel itself, as a user runs it.


def run_doppel(binary, corpus, threshold, core, documents):
    output = corpus.with_suffix(".verdicts")
    command = ["taskset", "-c", str(core), str(binary), "scan", "--all", "--quiet", "--threads", "1", "-t", str(threshold),
               "-o", str(output), str(corpus)]
    begin = time.perf_counter()
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        raise RuntimeError(f"doppel scan failed (status {os.waitstatus_to_exitcode(status)}): {errors.strip()}")
    with open(output) as lines:
        flags = ["1" if json.loads(line)["verdict"] == "duplicate" else "0" for line in lines]
    if len(flags) != documents:
        raise RuntimeError(f"doppel scan wrote {len(flags)} verdicts for {documents} documents")
    return {"seconds": seconds, "preparing_seconds": None, "memory_per_document": None, "worst_ms": None,
            "peak_bytes": usage.ru_maxrss * 1024, "how": "doppel scan --all, one thread, verify exact", "flags": "".join(flags)}


# ----------------------------------------------------------------------------------------------------------
# The comparison.


def fail(message):
    sys.exit(f"compare.py: {message}")


def run(command, **options):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, **options)
    except FileNotFoundError:
        fail(f"{command[0]} is not there")
    except subprocess.CalledProcessError as e:
        raise RuntimeError(f"{Path(command[0]).name} failed: {(e.stderr or e.stdout).strip()[-800:]}") from None


def make_environment(folder):
    """Returns the environment's python and, for each library, why it is not there (or None)."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder}", file=sys.stderr)
        try:
            run([sys.executable, "-m", "venv", str(folder)])
        except RuntimeError as e:
            fail(f"{e}\non Debian: apt-get install python3-venv")
    missing = {}
    for line in (HERE / "requirements.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        library = line.split("==")[0]
        try:
            run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:", line])
            missing[library] = None
        except RuntimeError as e:
            missing[library] = f"cannot be installed: {str(e).splitlines()[-1]}"
    return python, missing


def make_corpus(build, folder, options):
    corpus = folder / f"{options.kind}-{options.docs}-{options.seed}.jsonl"
    truth = corpus.with_suffix(f".{options.threshold}.truth")
    if not truth.exists():
        tool = build / "tests" / "make_corpus"
        if not tool.exists():
            fail(f"{tool} is not there: cmake --build --preset release --target make_corpus")
        print(f"making {corpus}", file=sys.stderr)
        run([str(tool), "--docs", str(options.docs), "--seed", str(options.seed), "--kind", options.kind, "--threshold",
             str(options.threshold), "--out", str(corpus), "--truth", str(truth) + ".new"])
        os.replace(str(truth) + ".new", truth)
    kinds = [line.split("\t")[1] for line in truth.read_text().splitlines()]
    return corpus, "".join("1" if kind in ("exact", "near") else "0" for kind in kinds)


def quality(flags, truth):
    both = sum(f == t == "1" for f, t in zip(flags, truth))
    said, true = flags.count("1"), truth.count("1")
    precision, recall = both / max(said, 1), both / max(true, 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def summarise(name, runs, truth, corpus, documents, small):
    seconds = min(r["seconds"] for r in runs)
    precision, recall, f1 = quality(runs[0]["flags"], truth)
    prepare = min((r["preparing_seconds"] for r in runs if r["preparing_seconds"] is not None), default=None)
    memory = [r["memory_per_document"] for r in runs if r["memory_per_document"] is not None]
    if small:  # the growth of the peak between half of the documents and all
        memory = [(min(r["peak_bytes"] for r in runs) - small["peak_bytes"]) / (documents - small["documents"])]
    worst = [r["worst_ms"] for r in runs if r["worst_ms"] is not None]
    return {
        "peer": name, "how": runs[0]["how"], "documents_per_second": documents / seconds,
        "megabytes_per_second": corpus.stat().st_size / 1e6 / seconds,
        "documents_per_second_without_preparing": documents / (seconds - prepare) if prepare else None,
        "memory_per_document": statistics.median(memory) if memory else None, "precision": precision, "recall": recall, "f1": f1,
        "worst_ms": min(worst) if worst else None, "seconds": [r["seconds"] for r in runs],
    }


def table(rows):
    def number(value, digits=0):
        return "-" if value is None else f"{value:,.{digits}f}"

    lines = [["peer", "docs/s", "MB/s", "docs/s*", "B/doc", "precision", "recall", "F1", "worst ms"]]
    for r in rows:
        lines.append([r["peer"], number(r["documents_per_second"]), number(r["megabytes_per_second"], 1),
                      number(r["documents_per_second_without_preparing"]), number(r["memory_per_document"]),
                      number(r["precision"], 4), number(r["recall"], 4), number(r["f1"], 4), number(r["worst_ms"], 2)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths))))
    print("\n* without JSON, words and shingles, which the peers leave to Python; doppel's figure always includes them")
    for r in rows:
        print(f"  {r['peer']}: {r['how']}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=Path, default=HERE.parents[1] / "build" / "release", help="where doppel and make_corpus are")
    p.add_argument("--docs", type=int, default=20000)
    p.add_argument("--kind", choices=["english", "mixed"], default="english")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threshold", type=float, default=0.8)
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)), help="the core that every run is pinned to")
    p.add_argument("--only", help="names, comma separated: doppel, " + ", ".join(PEERS))
    p.add_argument("--work", type=Path, help="for the environment and the corpus (default: BUILD/peers)")
    p.add_argument("--json", type=Path, help="also write the figures here")
    p.add_argument("--run-peer", nargs=2, metavar=("PEER", "CORPUS"), help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.run_peer:
        return run_peer(options.run_peer[0], options.run_peer[1], options.threshold)

    names = options.only.split(",") if options.only else ["doppel", *PEERS]
    for name in names:
        if name != "doppel" and name not in PEERS:
            p.error(f"no peer is called {name}: there are doppel, {', '.join(PEERS)}")
    if options.docs < 100 or options.repeats < 1:
        p.error("--docs must be at least 100, --repeats at least 1")
    if shutil.which("taskset") is None:
        fail("taskset is not there (Debian: util-linux)")
    work = options.work or options.build / "peers"
    work.mkdir(parents=True, exist_ok=True)
    binary = options.build / "doppel"
    if "doppel" in names and not binary.exists():
        fail(f"{binary} is not there: cmake --build --preset release")
    corpus, truth = make_corpus(options.build, work, options)
    python, missing = make_environment(work / "venv")

    runs, left_out, small = {name: [] for name in names}, {}, None
    if "doppel" in names:
        few = work / f"half-{corpus.name}"
        with open(corpus, "rb") as source, open(few, "wb") as target:
            target.writelines(line for _, line in zip(range(options.docs // 2), source))
    for repeat in range(options.repeats):  # in turns, so that a noisy minute hits everyone
        for name in names:
            if name in left_out:
                continue
            print(f"run {repeat + 1} of {options.repeats}: {name}", file=sys.stderr)
            try:
                if name == "doppel":
                    if small is None:
                        small = run_doppel(binary, few, options.threshold, options.core, options.docs // 2)
                        small["documents"] = options.docs // 2
                    runs[name].append(run_doppel(binary, corpus, options.threshold, options.core, options.docs))
                    continue
                if missing.get(PEERS[name].library):
                    raise RuntimeError(missing[PEERS[name].library])
                done = run(["taskset", "-c", str(options.core), str(python), str(Path(__file__).resolve()), "--threshold",
                            str(options.threshold), "--run-peer", name, str(corpus)],
                           env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
                runs[name].append(json.loads(done.stdout))
            except RuntimeError as e:
                left_out[name] = str(e)
    rows = [summarise(name, runs[name], truth, corpus, options.docs, small if name == "doppel" else None)
            for name in names if name not in left_out]
    print(f"{options.docs:,} documents ({options.kind}, seed {options.seed}), {corpus.stat().st_size / 1e6:.1f} MB, "
          f"{truth.count('1') / len(truth):.1%} copies, threshold {options.threshold}; best of {options.repeats}, core {options.core}\n")
    table(rows)
    for name, why in left_out.items():
        print(f"  {name}: LEFT OUT: {why}")
    if options.json:
        options.json.write_text(json.dumps({"documents": options.docs, "kind": options.kind, "seed": options.seed,
                                            "threshold": options.threshold, "rows": rows, "left_out": left_out}, indent=1) + "\n")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
