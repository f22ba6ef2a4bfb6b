"""Spark and Ray: the verdicts of `doppel scan`, whatever the partitions. Both run on this machine."""

import os
import random
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, scan, seed_of_this_run

import doppel_dedup.ray
import doppel_dedup.spark
from doppel_dedup import Index, resolve

DOCUMENTS = 100_000
NAMES = ["id", "verdict", "original", "similarity", "kind", "cluster"]


@pytest.fixture(scope="module")
def crawl(tmp_path_factory):
    """A folder of Parquet files whose rows are in no order; the texts in the order of `n`; what scan says of these."""
    rng = random.Random(seed_of_this_run())
    directory = tmp_path_factory.mktemp("crawl")
    texts = documents(rng, DOCUMENTS, lengths=(0, 3, 8, 20, 60, 150))
    ids = [f"d{i}" for i in range(DOCUMENTS)]
    expected = scan(directory, texts, ids)
    order = rng.sample(range(DOCUMENTS), DOCUMENTS)
    table = pa.table({
        "id": ids, "n": range(DOCUMENTS), "text": pa.array([t if t or i % 2 else None for i, t in enumerate(texts)])
    }).take(order)
    files = directory / "files"
    files.mkdir()
    at = 0
    while at < DOCUMENTS:
        size = rng.choice([5_000, 12_000, 20_000, 30_000])
        pq.write_table(table[at : at + size], files / f"{at}.parquet", row_group_size=5000)
        at += size
    clusters = [(*row, row[0] if row[1] == "unique" else row[2]) for row in expected]
    return files, texts, pa.table(dict(zip(NAMES, zip(*clusters))))


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    os.environ.update(PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    directory = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.local.dir", str(directory))
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def test_spark_signs(crawl, spark, tmp_path):
    files, _, expected = crawl
    df = spark.read.parquet(str(files)).repartition(7)
    signed = doppel_dedup.spark.sign(df)
    assert signed.columns == ["id", "n", "signed_record"]
    signed.orderBy("n").write.parquet(str(tmp_path / "signed"))
    assert resolve(tmp_path / "signed").cast(expected.schema).equals(expected)


def test_spark_deduplicates(crawl, spark, tmp_path):
    files, texts, _ = crawl
    df = spark.read.parquet(str(files))
    with Index(path=tmp_path / "index") as index:  # has a secret key, which executors are given
        kept, verdicts = doppel_dedup.spark.deduplicate(df, order_by="n", index=index, with_verdicts=True)
        expected = Index(hash_key=index.hash_key).add(texts, [f"d{i}" for i in range(len(texts))])
        assert verdicts.equals(pa.table(expected))
        assert len(index) == expected.is_unique.sum()
    assert kept.columns == df.columns
    assert {row.id for row in kept.select("id").toLocalIterator()} == set(expected.id[~expected.is_duplicate])


def test_spark_knows_rows_by_their_place(spark):
    """Ids that come again, in one batch and 10,000 rows later, cost no row."""
    words = [f"w{i}" for i in range(30)]

    def text(i):
        return " ".join(f"{word}-{i}" for word in words)

    rows = [(f"id{i % 11_000}", text(i), i) for i in range(22_500)]  # each id twice or more, all texts different
    rows += [("id7", text(7), 22_500), ("id7", text(8) + " more", 22_501), ("other", text(9).upper(), 22_502), ("id7", None, 22_503)]
    df = spark.createDataFrame(rows, "id string, text string, n int").repartition(5)
    kept = doppel_dedup.spark.deduplicate(df, order_by="n")
    assert kept.columns == df.columns
    assert sorted(row.n for row in kept.collect()) == [*range(22_500), 22_503]
    # Also with an index that has these ids from before.
    index = Index(repeated_ids="allow")
    index.add(["nothing that comes again"], ids=["id7"])
    kept = doppel_dedup.spark.deduplicate(df, order_by="n", index=index)
    assert sorted(row.n for row in kept.collect()) == [*range(22_500), 22_503]


@pytest.mark.parametrize("keep, wanted", [
    ("first", [0, 3, 5]), ("longest", [2, 3, 5]), ("shortest", [0, 3, 5]), (("score", "desc"), [1, 4, 5]), (("score", "asc"), [2, 3, 5])])
def test_spark_keeps_the_best(spark, keep, wanted):
    a, b = "the quick brown fox jumps over the lazy dog", "pack my box with five dozen liquor jugs please"
    rows = [("x", a, 0, None), ("x", a + "!", 1, 9.5), ("y", a + "!?", 2, 2.0), ("z", b, 3, 1.0), ("z", b, 4, 7.0), ("u", None, 5, None)]
    df = spark.createDataFrame(rows, "id string, text string, n int, score double").repartition(3)
    kept, verdicts = doppel_dedup.spark.deduplicate(df, order_by="n", keep=keep, with_verdicts=True)
    assert sorted(row.n for row in kept.collect()) == wanted
    assert verdicts["verdict"].to_pylist() == ["unique", "duplicate", "duplicate", "unique", "duplicate", "unscored"]


def test_spark_says_what_is_wrong(spark):
    df = spark.createDataFrame([("a", "x", 1.5), (None, "y", 2.5)], "id string, text string, n double")
    with pytest.raises(ValueError, match="order_by: a DataFrame has no order"):
        doppel_dedup.spark.deduplicate(df)
    with pytest.raises(KeyError, match="did you mean 'text'"):
        doppel_dedup.spark.sign(df, text="txt")
    with pytest.raises(ValueError, match="keep: 'best' is not one of"):
        doppel_dedup.spark.deduplicate(df, order_by="n", keep="best")
    with pytest.raises(KeyError, match="no column 'score'"):
        doppel_dedup.spark.deduplicate(df, order_by="n", keep=("score", "desc"))
    with pytest.raises(TypeError, match="'n' is of type double"):
        doppel_dedup.spark.sign(df, id="n")
    with pytest.raises(Exception, match="ids: row 1"):
        doppel_dedup.spark.sign(df.coalesce(1)).collect()


def test_ray_signs(crawl, tmp_path):
    # Workers are nice by default, and starve next to other tests.
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    import ray

    files, _, expected = crawl
    with tempfile.TemporaryDirectory(prefix="ray") as directory:  # a short name: sockets are made there
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=400 << 20,
                 _node_ip_address="127.0.0.1", _temp_dir=directory)
        try:
            ray.data.DataContext.get_current().enable_progress_bars = False
            doppel_dedup.ray.sign(ray.data.read_parquet(str(files))).write_parquet(str(tmp_path / "signed"))
        finally:
            ray.shutdown()
    assert resolve(tmp_path / "signed", order_by="n").cast(expected.schema).equals(expected)
