"""A folder of Parquet without near-copies and evaluation items, with doppel_dedup. usage: with_doppel.py CORPUS ITEMS OUT"""

import sys

from doppel_dedup import clean, decontaminate

corpus, items, out = sys.argv[1:]
cleaned = clean(corpus, f"{out}/deduplicated", id="id", keep="longest", threshold=0.8, shingle_words=5,
                clusters=f"{out}/clusters.parquet", report=f"{out}/report.html")  # fmt: skip
print(cleaned.summary)
found = decontaminate(f"{out}/deduplicated", items, dst=f"{out}/clean")
print(found.summary)
