"""A folder of Parquet without near-copies and evaluation items, with datatrove 0.10.1. usage: with_datatrove.py CORPUS ITEMS OUT

The four stages are those of datatrove's example minhash_deduplication.py, with its number of buckets. Two things are added:
keep_longest(), because datatrove keeps any document of a cluster, and write_items(), because the step that reads items needs
lighteval, with torch, also for items in a file.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter
from datatrove.utils.hashing import HashConfig

WORKERS = 2


def keep_longest(clusters, files):
    """Writes again which rows go: all of a cluster but its longest. A row is known by the number of its file and its own."""
    best, members = {}, []
    for number, file in enumerate(files):
        listed = clusters / f"{number:06d}.clusters"
        if not listed.exists():
            continue
        lengths = pc.utf8_length(pq.read_table(file, columns=["text"])["text"]).to_numpy()
        for row, cluster in np.fromfile(listed, "<u4").reshape(-1, 2).tolist():
            members.append((number, row, cluster))
            longest = best.get(cluster)
            if longest is None or lengths[row] > longest[0]:
                best[cluster] = (lengths[row], number, row)
    for number in range(len(files)):
        rows = [row for file, row, cluster in members if file == number and best[cluster][1:] != (file, row)]
        if rows:
            np.array(rows, "<u4").tofile(clusters / f"{number:06d}.remove")
        else:
            (clusters / f"{number:06d}.remove").unlink(missing_ok=True)


def write_items(items, folder, config):
    NGramsDecontIndexer._requires_dependencies = []
    indexer = NGramsDecontIndexer(folder, config=config, language="en")
    hashes = set()
    for line in open(items, encoding="utf-8"):
        item = json.loads(line)
        hashes.update(indexer.compute_hashes(item["answer"], item["question"]))
    Path(folder).mkdir(parents=True, exist_ok=True)
    np.array(list(hashes), config.hash_config.np_dtype).tofile(f"{folder}/items.index.hashes")


def main(corpus, items, out):
    files = sorted(Path(corpus).glob("*.parquet"))
    config = MinhashConfig(n_grams=5, num_buckets=14, hashes_per_bucket=8, hash_config=HashConfig(precision=64))

    def executor(name, pipeline, tasks, depends=None):
        return LocalPipelineExecutor(pipeline, tasks=tasks, workers=min(tasks, WORKERS), logging_dir=f"{out}/logs/{name}", depends=depends)

    reader = ParquetReader(corpus)
    signatures = executor("signatures", [reader, MinhashDedupSignature(f"{out}/signatures", config, language="en")], len(files))
    buckets = executor("buckets", [MinhashDedupBuckets(f"{out}/signatures", f"{out}/buckets", config=config)], config.num_buckets, signatures)
    executor("clusters", [MinhashDedupCluster(f"{out}/buckets", f"{out}/remove", config, save_cluster_id=True)], 1, buckets).run()
    keep_longest(Path(out, "remove"), files)

    grams = NGramsDecontConfig(find_query_ngrams=True)  # of 12 words
    write_items(items, f"{out}/items", grams)
    rest = [
        reader,
        MinhashDedupFilter(f"{out}/remove", exclusion_writer=ParquetWriter(f"{out}/copies", expand_metadata=True)),
        NGramsDecontFilter(f"{out}/items", grams, ParquetWriter(f"{out}/contaminated", expand_metadata=True), language="en"),
        ParquetWriter(f"{out}/clean", expand_metadata=True),
    ]
    print(executor("filter", rest, len(files)).run().get_repr())


if __name__ == "__main__":
    main(*sys.argv[1:])
