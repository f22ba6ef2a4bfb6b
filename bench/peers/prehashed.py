#!/usr/bin/env python3
"""Pre-hashed 64-bit shingles to signatures: the peers' fastest full way, one thread. Run by bench/report.

rensa's full mode takes one flat buffer and row offsets (RMinHash.digest_matrix_from_flat_token_hashes), which is three
times as fast as its way by rows; "full" means that every shingle meets every permutation (its _rho way samples). FastSketchLSH takes
the same buffer (batch_csr). Prints one JSON object: documents a second, the median of the rounds.
"""

import argparse
import json
import statistics
import time


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--documents", type=int, default=200)
    p.add_argument("--shingles", type=int, default=579)
    p.add_argument("--rounds", type=int, default=15)
    options = p.parse_args()

    import numpy
    import rensa
    from FastSketchLSH import FastSimilaritySketch

    n = options.documents
    hashes = numpy.random.default_rng(1).integers(0, 2**64, size=n * options.shingles, dtype=numpy.uint64)
    offsets = numpy.arange(n + 1, dtype=numpy.uint64) * options.shingles
    sketch = FastSimilaritySketch(size=128, seed=42)
    ways = {
        "rensa": lambda: rensa.RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, 128, 42),
        "fastsketch": lambda: sketch.batch_csr(hashes, offsets, prehashed=True, num_threads=1),
    }
    rates = {name: [] for name in ways}
    for round_ in range(-1, options.rounds):  # the first one warms up
        for name, way in ways.items():
            times, start = 0, time.process_time()
            while (spent := time.process_time() - start) < 0.03:
                way()
                times += 1
            if round_ >= 0:
                rates[name].append(n * times / spent)
    print(json.dumps({name: statistics.median(values) for name, values in rates.items()}))


if __name__ == "__main__":
    main()
