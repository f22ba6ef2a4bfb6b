#!/usr/bin/env python3
"""What scan_parquet() holds in memory beside its index, while it reads many documents.

    scripts/wheel && pip install dist/doppel_dedup-*-cp311-*.whl pyarrow
    bench/python/memory.py                                  # 1,000,000 documents of about 1 KB; needs .6 GB on the disk
    bench/python/memory.py --docs 100000 --row-group 100000

Makes a Parquet file, reads it in a process of its own, and prints the peak of resident memory, what was there before the
first batch, what the index says it takes, and the rest. The goal: the rest is at most four batches and 32 MB, however many
documents there are. Exit code 1: it is more.

Why four: one batch is the caller's, and while the next one is decoded, Arrow copies it to a buffer of twice the size.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

WORDS = 128  # of a document
WIDTH = 8  # bytes of a word, with its space
AT_A_TIME = 10_000  # documents that are made
FIXED = 32e6  # bytes: buffers of the engine and of the file, and what allocators keep


def make_parquet(path, documents, row_group):
    """Documents of words drawn at random. Every fourth one is a copy of an earlier one with a word changed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    words = np.array([f"{i * 7919 % 9999991:07x} ".encode() for i in range(50_000)], dtype=f"S{WIDTH}")
    schema = pa.schema({"id": pa.string(), "text": pa.string()})
    with pq.ParquetWriter(path, schema, compression="snappy", use_dictionary=False) as out:
        tables = []
        for at in range(0, documents, AT_A_TIME):
            n = min(AT_A_TIME, documents - at)
            chosen = rng.integers(0, len(words), (n, WORDS))
            copies = np.arange(3, n, 4)
            chosen[copies] = chosen[copies - 3]
            chosen[copies, rng.integers(0, WORDS, len(copies))] = 0
            offsets = pa.py_buffer(np.arange(n + 1, dtype=np.int32) * (WORDS * WIDTH))
            texts = pa.Array.from_buffers(pa.string(), n, [None, offsets, pa.py_buffer(words[chosen].tobytes())])
            tables.append(pa.table({"id": [f"d{i}" for i in range(at, at + n)], "text": texts}))
            if len(tables) * AT_A_TIME >= row_group or at + n == documents:
                out.write_table(pa.concat_tables(tables), row_group_size=row_group)
                tables = []


def resident():
    """Bytes of resident memory: now, and at most since forget_peak()."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM"))


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


def read(path, warm_path, batch_rows, threads):
    from doppel_dedup import Index, scan_parquet

    # Libraries, threads and their stacks are there before anything is counted.
    for _ in scan_parquet(warm_path, id="id", threads=threads):
        pass
    index = Index(threads=threads)
    forget_peak()
    before = resident()[0]
    batches, rows, unique = [], 0, 0
    for batch, verdicts in scan_parquet(path, id="id", index=index, batch_rows=batch_rows):
        batches.append(batch.nbytes)
        rows += len(batch)
        unique += int(verdicts.is_unique.sum())
    peak = resident()[1]
    return {"documents": rows, "unique": unique, "before": before, "peak": peak, "index": index.memory_bytes,
            "disk": index.disk_bytes, "batch": max(batches)}


def measure(documents, row_group, batch_rows, threads=2, python=sys.executable, directory=None):
    """The figures of read(), in a process of its own, with the rest: peak - before - index."""
    with tempfile.TemporaryDirectory(dir=directory) as work:
        path, warm_path = Path(work, "documents.parquet"), Path(work, "few.parquet")
        make_parquet(path, documents, row_group)
        make_parquet(warm_path, 1000, 1000)
        done = subprocess.run([python, __file__, "--read", path, warm_path, str(batch_rows), str(threads)],
                              check=True, stdout=subprocess.PIPE, text=True)
    figures = json.loads(done.stdout)
    figures["rest"] = figures["peak"] - figures["before"] - figures["index"]
    figures["allowed"] = 4 * figures["batch"] + FIXED
    return figures


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--docs", type=int, default=1_000_000)
    p.add_argument("--row-group", type=int, default=20_000, help="rows of a row group (default: %(default)s)")
    p.add_argument("--batch", type=int, default=10_000, help="rows of a batch (default: %(default)s)")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--work", type=Path, help="where the file is made (default: the temporary directory)")
    p.add_argument("--read", nargs=4, help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.read:
        path, warm_path, batch_rows, threads = options.read
        print(json.dumps(read(path, warm_path, int(batch_rows), int(threads))))
        return 0
    f = measure(options.docs, options.row_group, options.batch, options.threads, directory=options.work)
    print(f"{f['documents']:,} documents, {f['unique']:,} unique; row groups of {options.row_group:,}, batches of {options.batch:,}\n")
    for name, what in [("peak", "peak of resident memory"), ("before", "before the first batch"), ("index", "the index"),
                       ("rest", "the rest"), ("batch", "a batch"), ("disk", "sets and ids on the disk")]:
        print(f"{what:28}{f[name] / 1e6:>10,.1f} MB")
    print(f"\nallowed beside the index: {f['allowed'] / 1e6:,.1f} MB")
    return 0 if f["rest"] <= f["allowed"] else 1


if __name__ == "__main__":
    sys.exit(main())
