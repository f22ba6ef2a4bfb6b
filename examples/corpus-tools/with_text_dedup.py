"""A folder of Parquet without near-copies, with text-dedup 0.4.0. usage: with_text_dedup.py CORPUS ITEMS OUT

text-dedup looks for no evaluation items: ITEMS is not read. Its command keeps any document of a cluster, so this program
takes the clusters that --debug writes, and chooses itself.
"""

import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

corpus, _, out = sys.argv[1:]
subprocess.run([sys.executable, "-m", "text_dedup.minhash", "--path", "parquet", "--data_files", f"{corpus}/*.parquet", "--split", "train",
                "--cache_dir", f"{out}/cache", "--output", f"{out}/any", "--column", "text", "--ngram", "5", "--threshold", "0.8", "--debug"],
               check=True)  # fmt: skip
with open(f"{out}/any/uf.pkl", "rb") as file:
    clusters = pickle.load(file)

files = sorted(Path(corpus).glob("*.parquet"))
tables = [pq.read_table(file) for file in files]
lengths = pc.utf8_length(pa.concat_tables(tables)["text"]).to_pylist()
longest = {}
for row, length in enumerate(lengths):
    cluster = clusters.find(row)
    if cluster not in longest or length > lengths[longest[cluster]]:
        longest[cluster] = row
stays = set(longest.values())
Path(out, "deduplicated").mkdir()
row = 0
for file, table in zip(files, tables):
    pq.write_table(table.filter(pa.array([row + i in stays for i in range(len(table))])), f"{out}/deduplicated/{file.name}", compression="zstd")
    row += len(table)
print(f"{len(stays):,} of {row:,} rows stay")
