"""doppel scan --keep and -o with Parquet files, beside what pyarrow says of the same rows."""

import datetime as dt
import decimal
import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
from corpus import documents, doppel, seed_of_this_run

from doppel_dedup import Index


def table(rng, rows, first):
    """Columns of every type that Parquet has, with nulls and lists in lists."""

    def some(nulls, make):
        return [None if rng.random() < nulls else make(i) for i in range(rows)]

    def word():
        return f"w{rng.randrange(500)}"

    inner = pa.struct([("c", pa.string()), ("l", pa.list_(pa.struct([("x", pa.float64()), ("y", pa.bool_())])))])
    return pa.table({
        "id": pa.array([f"d{first + i}" for i in range(rows)]),
        "text": documents(rng, rows),
        "tags": pa.array(some(.2, lambda i: [None if rng.random() < .2 else word() for _ in range(rng.randrange(4))]), pa.list_(pa.string())),
        "deep": pa.array(some(.2, lambda i: [None if rng.random() < .2 else [rng.randrange(100) for _ in range(rng.randrange(3))]
                                             for _ in range(rng.randrange(3))]), pa.list_(pa.list_(pa.int64()))),
        "meta": pa.array(some(.2, lambda i: {"a": None if rng.random() < .3 else i, "b": {"c": word(), "l": [{"x": 1.5, "y": None}] * rng.randrange(3)}}),
                         pa.struct([("a", pa.int32()), ("b", inner)])),
        "map": pa.array(some(.2, lambda i: [(word(), i)] * rng.randrange(3)), pa.map_(pa.string(), pa.int64())),
        "price": pa.array(some(.2, lambda i: decimal.Decimal(i) / 4), pa.decimal128(12, 2)),
        "real": pa.array(some(.1, lambda i: i / 3), pa.float32()),
        "truth": pa.array(some(.3, lambda i: rng.random() < .5), pa.bool_()),
        "at": pa.array(some(.1, lambda i: dt.datetime(2024, 1, 1) + dt.timedelta(seconds=i)), pa.timestamp("us", "UTC")),
        "day": pa.array(some(.1, lambda i: dt.date(2024, 1, 1)), pa.date32()),
        "span": pa.array(some(.1, lambda i: i), pa.time64("us")),
        "bytes": pa.array(some(.1, lambda i: rng.randbytes(rng.randrange(9)))),
        "nothing": pa.nulls(rows),
        "small": pa.array(some(.1, lambda i: i % 100), pa.int8()),
        "large": pa.array(some(.1, lambda i: 2**64 - 1 - i), pa.uint64()),
        "fixed": pa.array(some(.1, lambda i: b"abcd"), pa.binary(4)),
        "long": pa.array(some(.1, lambda i: word()), pa.large_string()),
    }).replace_schema_metadata({"origin": "test"})


def write(rng, path, rows):
    pq.write_table(rows, path, compression=rng.choice(["snappy", "zstd", "none", "gzip", "brotli"]), row_group_size=rng.randrange(10, 200),
                   data_page_version=rng.choice(["1.0", "2.0"]), use_dictionary=rng.choice([True, False]), use_byte_stream_split=["real"],
                   data_page_size=rng.choice([500, 100_000]), write_batch_size=rng.choice([8, 1024]))


def test_unique_rows_keep_all_columns(tmp_path):
    rng = random.Random(seed_of_this_run())
    for _ in range(5):
        paths, tables, first = [], [], 0
        for number in range(3):
            paths.append(tmp_path / f"in{number}.parquet")
            write(rng, paths[-1], table(rng, rng.randrange(1, 300), first))
            tables.append(pq.read_table(paths[-1]))
            first += len(tables[-1])
        doppel("scan", "-q", "--all", "-o", tmp_path / "verdicts.jsonl", "--keep", tmp_path / "out.parquet", *paths)
        verdicts = [json.loads(line)["verdict"] for line in open(tmp_path / "verdicts.jsonl")]
        wanted = pa.concat_tables(tables).filter(pa.array([v == "unique" for v in verdicts]))
        kept = pq.read_table(tmp_path / "out.parquet")
        assert kept.schema.equals(wanted.schema, check_metadata=True)
        assert kept.equals(wanted)


def test_verdicts_are_those_of_index_add(tmp_path):
    rng = random.Random(seed_of_this_run())
    rows = table(rng, 400, 0)
    pq.write_table(rows, tmp_path / "in.parquet")
    (tmp_path / "key").write_text("00112233445566778899aabbccddeeff")
    doppel("scan", "-q", "--all", "--set", f"hash_key_file={tmp_path}/key", "-o", tmp_path / "out.parquet", tmp_path / "in.parquet")
    with Index(hash_key_file=tmp_path / "key") as index:
        wanted = pa.table(index.add(rows["text"], rows["id"]))
    got = pq.read_table(tmp_path / "out.parquet")
    assert got.column_names == wanted.column_names
    for name in ("id", "verdict", "original", "kind"):
        assert got[name].to_pylist() == wanted[name].to_pylist()
    assert got["similarity"].to_pylist() == [None if s is None else round(s, 6) for s in wanted["similarity"].to_pylist()]


def test_what_cannot_be_kept_is_refused(tmp_path):
    a, b, lines = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "c.jsonl"
    pq.write_table(pa.table({"id": ["1"], "text": ["one two three four five six"]}), a)
    pq.write_table(pa.table({"id": ["2"], "text": ["seven eight nine ten"], "url": ["u"]}), b)
    lines.write_text('{"id":"3","text":"eleven twelve thirteen"}\n')
    for inputs, flags, message in [
        ((a, b), (), f'{b}: its columns are not those of {a} (column "url" is extra)'),
        ((a, lines), (), f"{lines}: only rows of Parquet files are written to a Parquet file"),
        ((a,), ("--state", tmp_path / "state"), "not with --state"),
    ]:
        done = doppel("scan", "-q", *flags, "--keep", tmp_path / "out.parquet", *inputs, check=False)
        assert done.returncode == 2 and message in done.stderr, done.stderr
        assert not (tmp_path / "out.parquet").exists()
    damaged = bytearray(pq_bytes := a.read_bytes())
    cut = pq_bytes.index(b"one two")
    damaged[cut - 4 : cut] = b"\xff\xff\xff\x7f"
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    done = doppel("scan", "--keep", tmp_path / "out.parquet", tmp_path / "damaged.parquet", check=False)
    assert done.returncode != 0 and "text" in done.stderr
