"""Signed records: signed in pieces, in any place, and decided in order as `doppel scan` does."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, scan, seed_of_this_run

from doppel_dedup import Index, resolve, sign_records

A = "the quick brown fox jumps over the lazy dog"


def pieces(rng, n):
    at = 0
    while at < n:
        size = rng.choice([1, 7, 100, 255, 256, 257, 1000])
        yield slice(at, min(n, at + size))
        at += size


@pytest.mark.parametrize("settings", [{}, {"threshold": 0.5, "shingle_words": 3, "verify": "signature", "num_perm": 64}])
def test_verdicts_are_those_of_scan(tmp_path, settings):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 1500)
    ids = [f"d{i}" for i in range(len(texts))]
    expected = scan(tmp_path, texts, ids, *[f for k, v in settings.items() for f in ("--set", f"{k}={v}")])

    records = []
    for part in pieces(rng, len(texts)):
        signed = sign_records(texts[part], ids[part], threads=rng.choice([1, 2, 3]), **settings)
        assert pa.array(signed).to_pylist() == list(signed)
        records += signed
    index = Index(threads=rng.choice([1, 2, 3]), **settings)
    rows = []
    for part in pieces(rng, len(texts)):
        rows += index.add_signed(rng.choice([list, pa.array])(records[part]))
    assert [tuple(row) for row in rows] == expected
    assert len(index) == sum(row[1] == "unique" for row in expected)

    # From files, from one table in any order, from batches.
    table = pa.table({"signed_record": records, "n": range(len(records)), "more": ids})
    (tmp_path / "signed").mkdir()
    pq.write_table(table[:700], tmp_path / "signed" / "part-0.parquet", row_group_size=100)
    pq.write_table(table[700:], tmp_path / "signed" / "part-1.parquet")
    shuffled = table.take(rng.sample(range(len(records)), len(records)))
    pq.write_table(shuffled, tmp_path / "shuffled.parquet")
    columns = pa.table(dict(zip(["id", "verdict", "original", "similarity", "kind"], zip(*expected))))
    for verdicts in [
        resolve(tmp_path / "signed", **settings),
        resolve([tmp_path / "signed" / f"part-{i}.parquet" for i in range(2)], batch_rows=33, **settings),
        resolve(tmp_path / "shuffled.parquet", order_by="n", batch_rows=501, **settings),
        resolve(shuffled, order_by=["n"], **settings),
        resolve(shuffled.to_pandas(), order_by="n", **settings),
        resolve({"signed_record": records}, **settings),
        resolve(iter(table.to_batches(max_chunksize=77)), **settings),
        resolve(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), **settings),
    ]:
        assert verdicts.drop_columns("cluster").cast(columns.schema).equals(columns)


def test_documents_and_records_in_one_index_with_a_directory(tmp_path):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 900)
    ids = [f"d{i}" for i in range(len(texts))]
    with Index(path=tmp_path / "index") as index:
        key = index.hash_key
        rows = list(index.add(texts[:300], ids[:300]))
        records = sign_records(texts[300:600], ids[300:600], hash_key=key)
        signed = index.add_signed(records)
        rows += signed
        assert index.add_signed(records).verdict.tolist() == signed.verdict.tolist()  # the same documents
        unique = [row.id for row in rows if row.verdict == "unique" and row.id >= "d300"]
        assert index.remove(unique[:2]) == 2 and unique[0] not in index
    with Index(path=tmp_path / "index", threads=1) as index:
        assert index.hash_key == key
        rows += index.add(texts[600:], ids[600:])
    alone = Index(hash_key=key)
    expected = list(alone.add(texts[:600], ids[:600]))
    alone.remove(unique[:2])
    assert rows == expected + list(alone.add(texts[600:], ids[600:]))


def test_indexes_are_merged(tmp_path):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 900)
    ids = [f"d{i}" for i in range(len(texts))]
    with Index(path=tmp_path / "a") as a, Index(path=tmp_path / "b", hash_key=a.hash_key) as b:
        a.add(texts[:400], ids[:400])
        b.add(texts[400:], ids[400:])
        b.remove(ids[500])
        kept = [i for i in range(400, 900) if ids[i] in b]
        alone = Index(hash_key=a.hash_key)
        alone.add(texts[:400], ids[:400])
        alone.add([texts[i] for i in kept], [ids[i] for i in kept])
        assert a.merge(b) == len(alone) - len([i for i in range(400) if ids[i] in alone]) and len(a) == len(alone)
        assert all((i in a) == (i in alone) for i in ids)
        assert a.query(texts).original.tolist() == alone.query(texts).original.tolist()
        assert a.merge(b) == 0  # the same documents again
    with pytest.raises(ValueError, match="another hash key"):
        Index().merge(alone)


def test_dates_are_signed_too():
    # Originals expire by the thousand, when the youngest of them is too old.
    texts = [A] + [" ".join(f"w{i}x{k}" for k in range(20)) for i in range(3500)]
    dates = ["2024-01-01"] * 1501 + ["2024-03-01"] * 2000
    index = Index(expire_after="30d")
    index.add_signed(sign_records(texts, range(len(texts)), dates))
    assert index.query([A]).verdict.tolist() == ["unique"]
    without = Index(expire_after="30d")
    without.add_signed(sign_records(texts, range(len(texts))))
    assert without.query([A]).verdict.tolist() == ["duplicate"]


@pytest.mark.parametrize(
    "what, records",
    [
        ("row 1: None is not a signed record", lambda good: [good[0], None]),
        ("row 0:", lambda good: [b"no record", good[0]]),
        ("row 0:", lambda good: [b""]),
        ("row 1:", lambda good: [good[0], good[1][:-1]]),
        ("row 1:", lambda good: [good[0], good[1] + b"!"]),
        ("row 1:", lambda good: [good[0], good[1][:99] + bytes([good[1][99] ^ 4]) + good[1][100:]]),
        ("another hash key or other settings", lambda good: sign_records([A], ["x"], hash_key="0" * 31 + "1")),
        ("another hash key or other settings", lambda good: sign_records([A], ["x"], shingle_words=3)),
        ('"a" is that of rows 0 and 2', lambda good: [good[0], good[1], good[0]]),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_judged(what, records):
    good = sign_records([A, A + " and more than that"], ["a", "b"])
    index = Index()
    with pytest.raises(ValueError, match=what):
        index.add_signed(records(good))
    assert (index.documents, len(index)) == (0, 0)
    assert index.add_signed(good).is_unique.tolist() == [True, True]


def test_wrong_arguments():
    with pytest.raises(ValueError, match="ids: 1 for 2 texts"):
        sign_records([A, A], ["a"])
    with pytest.raises(ValueError, match="ids: row 1"):
        sign_records([A, A], ["a", None])
    with pytest.raises(TypeError, match="did you mean shingle_words"):
        sign_records([A], ["a"], shingle_word=3)
    with pytest.raises(KeyError, match="did you mean 'signed_records'"):
        resolve({"signed_records": []})
    with pytest.raises(TypeError, match="cannot be sorted"):
        resolve(iter([]), order_by="n")
    with pytest.raises(TypeError, match="settings are those of the index: threshold"):
        resolve({"signed_record": []}, index=Index(), threshold=0.5)
    assert resolve({"signed_record": []}).column_names == ["id", "verdict", "original", "similarity", "kind", "cluster"]
    assert repr(sign_records([A], [7])) == "<SignedRecords: 1>"
