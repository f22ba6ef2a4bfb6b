#!/usr/bin/env python3
"""How fast Spark signs documents from Parquet, on the cores of this machine.

    scripts/wheel && pip install dist/doppel_dedup-*-cp311-*.whl pyarrow pyspark
    bench/python/spark.py --quick                 # 200,000 documents: a minute
    bench/python/spark.py                         # 20,000,000: a quarter of an hour, 2 GB of disk

Writes English pages of about 4 KB with planted copies (build/release/tests/make_corpus) to Parquet, and signs them with
doppel_dedup.spark.sign, one task for each core. To sign 20 million documents without 80 GB on the disk, Spark reads the same
files as often as needed. Each record is made and handed to Spark, which counts it and drops it. Prints documents and bytes
of text per second.
"""

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
FILES = 8
BLOCK = 64 << 20  # bytes of JSON that become Parquet at once


def blocks(stream):
    """The lines of a stream, many at once."""
    rest = b""
    while data := stream.read(BLOCK):
        whole, newline, after = data.rpartition(b"\n")
        yield rest + whole + newline
        rest = after


def make_parquet(folder, documents, make_corpus):
    """Returns the bytes of text. Documents are dealt to the files in blocks, as a crawler writes them."""
    import pyarrow.compute as compute
    import pyarrow.json as json
    import pyarrow.parquet as parquet

    made = subprocess.Popen([make_corpus, "--docs", str(documents), "--kind", "english", "--copies", "0.3"], stdout=subprocess.PIPE)
    writers, bytes_of_text = [], 0
    for number, block in enumerate(blocks(made.stdout)):
        table = json.read_json(io.BytesIO(block)).select(["id", "text"])
        bytes_of_text += compute.sum(compute.binary_length(table["text"])).as_py()
        if len(writers) <= number % FILES:
            writers.append(parquet.ParquetWriter(folder / f"part-{number}.parquet", table.schema, compression="zstd", use_dictionary=False))
        writers[number % FILES].write_table(table, row_group_size=20_000)
    for writer in writers:
        writer.close()
    if made.wait() != 0:
        sys.exit("spark.py: make_corpus failed; build it first")
    return bytes_of_text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="200,000 documents")
    parser.add_argument("--docs", type=int, help="documents to sign")
    parser.add_argument("--distinct", type=int, default=500_000, help="documents in the files")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=Path, default=SOURCE / "build/release")
    parser.add_argument("--work", type=Path, help="where the Parquet files are made")
    args = parser.parse_args()
    documents = args.docs or (200_000 if args.quick else 20_000_000)
    distinct = min(args.distinct, documents)

    os.environ["PYSPARK_PYTHON"] = sys.executable
    from doppel_dedup.spark import sign
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(dir=args.work) as work:
        folder = Path(work)
        print(f"writes {distinct:,} documents to {FILES} Parquet files", file=sys.stderr)
        size = make_parquet(folder, distinct, args.build / "tests/make_corpus")
        spark = (
            SparkSession.builder.master(f"local[{args.cores}]").config("spark.driver.host", "127.0.0.1")
            .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false").config("spark.sql.execution.arrow.maxRecordsPerBatch", "2000").getOrCreate()
        )  # fmt: skip
        spark.sparkContext.setLogLevel("ERROR")
        pages = spark.read.parquet(work)
        sign(pages.limit(1000)).count()  # starts Python
        done, began = 0, time.monotonic()
        while done < documents:
            sign(pages).write.format("noop").mode("overwrite").save()
            done += distinct
            took = time.monotonic() - began
            print(f"{done:,} documents, {took:.0f} s", file=sys.stderr)
        on_disk = sum(file.stat().st_size for file in folder.glob("*.parquet"))
        spark.stop()
    print(f"documents                 {done:,}, {distinct:,} of them different, {size / distinct:,.0f} bytes of text each")
    print(f"Parquet                   {on_disk / distinct:,.0f} bytes each, zstd")
    print(f"signed on {args.cores} cores         {done / took:,.0f} documents/s, {size / distinct * done / took / 1e6:,.0f} MB of text/s, {took:,.0f} s")
    print(f"for each document         {args.cores * took / done * 1e6:,.1f} us of a core")


if __name__ == "__main__":
    main()
