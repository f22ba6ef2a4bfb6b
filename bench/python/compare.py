#!/usr/bin/env python3
"""doppel_dedup beside other libraries, from texts in memory to verdicts: the same documents, one core each, in turns.

    scripts/wheel && bench/python/compare.py --build build/release --wheel dist/doppel_dedup-*-cp311-*.whl
    bench/python/compare.py --only doppel,doppel-arrow,datasketch --docs 5000

The corpus, its exact truth and the other libraries are those of bench/peers. What reads the documents is not counted.
"""
import argparse
import importlib.util
import json
import os
import subprocess
import sys
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


OWN = {
    "doppel": lambda texts, threshold, peers: doppel(texts, threshold, 1, False),
    "doppel-arrow": lambda texts, threshold, peers: doppel(texts, threshold, 1, True),
    "doppel-2-threads": lambda texts, threshold, peers: doppel(texts, threshold, 2, True),
    "doppel-datasketch": drop_in,
}


def run_one(name, corpus, threshold):
    peers = load_peers()
    texts = texts_of(corpus)
    if name in OWN:
        seconds, flags = OWN[name](texts, threshold, peers)
    else:
        seconds, flags = stream(texts, peers.PEERS[name](threshold), peers)
    print(json.dumps({"seconds": seconds, "flags": flags}))


def environment(work, wheel):
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", HERE.parent / "peers" / "requirements.txt", "pyarrow"], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    return python


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
    names = options.only.split(",") if options.only else [*OWN, *peers.PEERS]
    work = options.build / "python-peers"
    work.mkdir(parents=True, exist_ok=True)
    wheel = options.wheel or max((HERE.parents[1] / "dist").glob("*.whl"), key=os.path.getmtime, default=None)
    if wheel is None:
        sys.exit("compare.py: no wheel in dist/; run scripts/wheel")
    python = environment(work, wheel.resolve())
    corpus, truth = peers.make_corpus(options.build, work, options)
    runs = {name: [] for name in names}
    for repeat in range(options.repeats):  # in turns, so that a noisy minute hits everyone
        for name in names:
            print(f"run {repeat + 1} of {options.repeats}: {name}", file=sys.stderr)
            pinned = [] if name == "doppel-2-threads" else ["taskset", "-c", str(options.core)]
            done = subprocess.run([*pinned, python, __file__, "--threshold", str(options.threshold), "--run", name, corpus],
                                  check=True, capture_output=True, text=True,
                                  env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
            runs[name].append(json.loads(done.stdout))
    print(f"{options.docs:,} documents, {corpus.stat().st_size / options.docs / 1e3:.1f} KB each, threshold {options.threshold}; "
          f"best of {options.repeats}\n")
    print(f"{'documents a second':20}{'clock':>10}{'processor':>11}{'F1':>9}")
    for name in names:
        clock, processor = (options.docs / min(r["seconds"][i] for r in runs[name]) for i in (0, 1))
        f1 = peers.quality(runs[name][0]["flags"], truth)[2]
        print(f"{name:20}{clock:>10,.0f}{processor:>11,.0f}{f1:>9.4f}")


if __name__ == "__main__":
    sys.exit(main())
