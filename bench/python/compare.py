#!/usr/bin/env python3
"""doppel_dedup beside other libraries, from texts in memory to verdicts: the same documents, one core each, in turns.

    cmake --preset release && cmake --build --preset release --target make_corpus scan_bench && scripts/wheel
    bench/python/compare.py                                                    # 20,000 documents of about 4 KB
    bench/python/compare.py --only scan,doppel,doppel-arrow,datasketch --docs 5000

The corpus, its exact truth and most of the other libraries are those of bench/peers. What reads the documents is not
counted. The rows:

    scan               the engine of `doppel scan`, on the same documents as JSON lines in memory (scan_bench)
    doppel             Index.add() of lists of str, 1,000 at a time
    doppel-arrow       the same of Arrow columns
    doppel-2-threads   the same with two threads, not pinned
    doppel-datasketch  datasketch's program with the import changed
    text-dedup         `python -m text_dedup.minhash` on a dataset on the disk, in one process; its parts MinHashing, Clustering
                       and Filtering count. It decides about all documents at once; the earliest of a cluster counts as kept
    others             one document after the other, as in bench/peers

If a library cannot be installed or fails, the last lines say which and why, and the exit code is 1.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def load_peers():
    spec = importlib.util.spec_from_file_location("peers", HERE.parent / "peers" / "compare.py")
    peers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peers)
    return peers


def texts_of(corpus):
    with open(corpus, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def now():
    return time.perf_counter(), time.process_time()


def since(begin):
    """Seconds by the clock, and of the processor: what others do on the machine changes only the first."""
    return [after - before for before, after in zip(begin, now())]


def doppel(texts, threshold, threads, arrow):
    """Seconds and flags of Index.add() in batches of 1,000."""
    from doppel_dedup import Index

    if arrow:
        import pyarrow

        texts = pyarrow.array(texts, pyarrow.large_string())
    index = Index(threshold=threshold, threads=threads)
    begin = now()
    verdicts = [index.add(texts[at : at + 1000]) for at in range(0, len(texts), 1000)]
    return since(begin), "".join("1" if flag else "0" for v in verdicts for flag in v.is_duplicate)


def drop_in(texts, threshold, peers):
    """datasketch's own program with one line changed."""
    peer = peers.Datasketch.__new__(peers.Datasketch)
    from doppel_dedup.datasketch import MinHash, MinHashLSH

    peer.minhash, peer.threshold, peer.kept = MinHash, threshold, {}
    peer.lsh = MinHashLSH(threshold=threshold, num_perm=peers.PERMUTATIONS)
    return stream(texts, peer, peers)


def stream(texts, peer, peers):
    takes_text = getattr(peer, "takes_text", False)
    flags = []
    begin = now()
    for number, text in enumerate(texts):
        given = " ".join(peers.words_of(text)) if takes_text else peers.shingles_of(text)
        flags.append("1" if peer.duplicate(number, given) else "0")
    return since(begin), "".join(flags)


def text_dedup(texts, threshold, peers):
    os.environ["HF_DATASETS_OFFLINE"] = "1"
    import datasets
    from text_dedup import minhash
    from text_dedup.utils import IOArgs, MetaArgs, MinHashArgs

    spent = []

    class Timer(minhash.Timer):
        """Its timer, which also keeps what the parts took of the processor."""

        @contextlib.contextmanager
        def __call__(self, name):
            begin = now()
            yield
            if name in ("MinHashing", "Clustering", "Filtering"):
                spent.append(since(begin))

    minhash.Timer = Timer
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as work:
        datasets.Dataset.from_dict({"text": texts}).save_to_disk(f"{work}/in")
        minhash.main.callback(
            io_args=IOArgs(path=f"{work}/in", output=f"{work}/out", local=True, num_proc=None),
            meta_args=MetaArgs(column="text"),
            minhash_args=MinHashArgs(num_perm=peers.PERMUTATIONS, ngram=peers.WORDS, threshold=threshold))
    first, flags = set(), []
    for number in range(len(texts)):
        cluster = minhash.uf.find(number)
        flags.append("1" if cluster in first else "0")
        first.add(cluster)
    return [sum(part[i] for part in spent) for i in (0, 1)], "".join(flags)


OWN = {
    "doppel": lambda texts, threshold, peers: doppel(texts, threshold, 1, False),
    "doppel-arrow": lambda texts, threshold, peers: doppel(texts, threshold, 1, True),
    "doppel-2-threads": lambda texts, threshold, peers: doppel(texts, threshold, 2, True),
    "doppel-datasketch": drop_in,
    "text-dedup": text_dedup,
}


def run_one(name, corpus, threshold):
    peers = load_peers()
    texts = texts_of(corpus)
    if name in OWN:
        seconds, flags = OWN[name](texts, threshold, peers)
    else:
        seconds, flags = stream(texts, peers.PEERS[name](threshold), peers)
    print(json.dumps({"seconds": seconds, "flags": flags}))


def environment(peers, work, wheel):
    """The environment's python and, for each library, why it is not there (or None)."""
    python, missing = peers.make_environment(work / "venv")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for line in (HERE / "requirements.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        try:
            peers.run([*pip, line])
            missing[line.split("==")[0]] = None
        except RuntimeError as e:
            missing[line.split("==")[0]] = f"cannot be installed: {str(e).splitlines()[-1]}"
    subprocess.run([*pip, "pyarrow"], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    return python, missing


def run_scan(options):
    """Seconds of scan_bench, which decides about the documents of make_corpus."""
    bench = options.build / "bench" / "scan_bench"
    if not bench.exists():
        raise RuntimeError(f"{bench} is not there: cmake --build --preset release --target scan_bench")
    if options.threshold != 0.8:
        raise RuntimeError("scan_bench knows the threshold .8 only")
    said = subprocess.run(["taskset", "-c", str(options.core), bench, "--docs", str(options.docs), "--seed", str(options.seed),
                           "--kind", options.kind, "--threads", "1", "--repeats", "1"], check=True, capture_output=True, text=True).stdout
    values = {line.split()[0]: line.split()[1] for line in said.splitlines()}
    return {"seconds": [options.docs / float(values["throughput"]), float(values["cpu"]) * options.docs / 1e6], "flags": None}


def run_process(name, python, corpus, options):
    """The same of a library, in a process of its own."""
    pinned = [] if name == "doppel-2-threads" else ["taskset", "-c", str(options.core)]
    done = subprocess.run([*pinned, python, __file__, "--threshold", str(options.threshold), "--run", name, corpus],
                          capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def beside(rates, name, other, goal=""):
    """A line: how fast the one is beside the other, by the clock and of the processor."""
    if name in rates and other in rates:
        clock, processor = (a / b for a, b in zip(rates[name], rates[other]))
        print(f"{name} beside {other}: {clock:.2f} by the clock, {processor:.2f} of the processor{goal}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=Path, default=HERE.parents[1] / "build" / "release", help="where make_corpus is")
    p.add_argument("--wheel", type=Path, help="the wheel to measure (default: the newest in dist/ for this Python)")
    p.add_argument("--docs", type=int, default=20000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kind", choices=["english", "mixed"], default="english")
    p.add_argument("--threshold", type=float, default=0.8)
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    p.add_argument("--only", help="names, comma separated")
    p.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.run:
        return run_one(*options.run, options.threshold)
    peers = load_peers()
    libraries = {**{name: peer.library for name, peer in peers.PEERS.items()}, "text-dedup": "text-dedup"}
    names = options.only.split(",") if options.only else ["scan", *OWN, *peers.PEERS]
    for name in names:
        if name not in ("scan", *OWN, *peers.PEERS):
            p.error(f"no row is called {name}: there are scan, {', '.join([*OWN, *peers.PEERS])}")
    work = options.build / "python-peers"
    work.mkdir(parents=True, exist_ok=True)
    tag = "cp311-cp311" if sys.version_info < (3, 12) else "abi3"
    wheel = options.wheel or max((HERE.parents[1] / "dist").glob(f"*-{tag}-*.whl"), key=os.path.getmtime, default=None)
    if wheel is None:
        sys.exit(f"compare.py: no wheel with {tag} in dist/; run scripts/wheel")
    python, missing = environment(peers, work, wheel.resolve())
    corpus, truth = peers.make_corpus(options.build, work, options)
    runs, left_out = {name: [] for name in names}, {}
    for repeat in range(options.repeats):  # in turns, so that a noisy minute hits everyone
        for name in names:
            if name in left_out:
                continue
            print(f"run {repeat + 1} of {options.repeats}: {name}", file=sys.stderr)
            try:
                if missing.get(libraries.get(name)):
                    raise RuntimeError(missing[libraries[name]])
                runs[name].append(run_scan(options) if name == "scan" else run_process(name, python, corpus, options))
            except RuntimeError as e:
                left_out[name] = str(e)
    print(f"{options.docs:,} documents, {corpus.stat().st_size / options.docs / 1e3:.1f} KB each, threshold {options.threshold}; "
          f"best of {options.repeats}\n")
    print(f"{'documents a second':20}{'clock':>10}{'processor':>11}{'F1':>9}")
    rates = {}
    for name in names:
        if name in left_out:
            continue
        rates[name] = [options.docs / min(r["seconds"][i] for r in runs[name]) for i in (0, 1)]
        flags = runs[name][0]["flags"]
        f1 = f"{peers.quality(flags, truth)[2]:.4f}" if flags else "-"
        print(f"{name:20}{rates[name][0]:>10,.0f}{rates[name][1]:>11,.0f}{f1:>9}")
    print()
    beside(rates, "doppel-arrow", "scan", " (goal: at least .85)")
    beside(rates, "doppel-2-threads", "doppel-arrow")
    for name in ["text-dedup", *peers.PEERS]:
        beside(rates, "doppel", name)
    for name, why in left_out.items():
        print(f"{name}: LEFT OUT: {why}")
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
