"""A document that is given twice is not a copy of itself; a killed job continues."""

import json
import os
import random
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, doppel, seed_of_this_run

from doppel_dedup import Index, WrongIndexError, deduplicate, scan_parquet, sign_records

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"
KEY = "00112233445566778899aabbccddeeff"  # similarities are those of a key, to a thousandth


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("DOPPEL_HASH_KEY", KEY)


def rows(verdicts):
    return [tuple(row) for row in verdicts]


@pytest.mark.parametrize("repeated_ids", ["error", "allow", "replace"])
def test_the_same_documents_again_have_the_same_verdicts(tmp_path, key, repeated_ids):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 600)
    ids = [f"d{i}" for i in range(len(texts))]
    with Index(path=tmp_path / "i", repeated_ids=repeated_ids) as index:
        first = index.add(texts[:400], ids[:400])
        assert index.add(texts[:400], ids[:400]).verdict.tolist() == first.verdict.tolist()
        originals = len(index)
    with Index(path=tmp_path / "i", repeated_ids=repeated_ids) as index:
        again = index.add(texts[:400], ids[:400])
        assert again.verdict.tolist() == first.verdict.tolist()
        assert len(index) == originals  # nothing is kept twice
        index.add(texts[400:], ids[400:])
    alone = Index(hash_key=KEY)
    alone.add(texts, ids)
    with Index(path=tmp_path / "i", repeated_ids=repeated_ids) as index:
        assert len(index) == len(alone)


def test_another_text_or_another_id_is_another_document():
    index = Index()
    index.add([A, B], ids=["a", "b"])
    with pytest.raises(ValueError, match=r'"a" \(row 1\) is in the index already, with another text'):
        index.add([B, A + " again and again"], ids=["b", "a"])
    assert rows(index.add([A, B], ids=["c", "b"])) == [("c", "duplicate", "a", 1.0, "exact"), ("b", "unique", None, None, None)]
    # In one call each row is a document of its own.
    index = Index(repeated_ids="allow")
    assert index.add([A, A], ids=["a", "a"]).verdict.tolist() == ["unique", "duplicate"]
    assert index.add([A, A], ids=["a", "a"]).verdict.tolist() == ["unique", "duplicate"]
    # A page that was fetched again a month later is another capture.
    index.add([B], ids=["b"], dates=["2024-01-01"])
    assert index.add([B], ids=["b"], dates=["2024-02-01"])[0].original == "b"
    assert index.add([B], ids=["b"], dates=["2024-01-01"])[0].verdict == "unique"


def test_signed_records_again():
    index = Index()
    records = sign_records([A, B, A.upper()], ["a", "b", "c"])
    first = rows(index.add_signed(records))
    assert rows(index.add_signed(records)) == first
    assert rows(index.add([A, B, A.upper()], ["a", "b", "c"])) == first
    with pytest.raises(ValueError, match=r'"b" \(row 0\) is in the index already, with another text'):
        index.add_signed(sign_records([A], ["b"]))


@pytest.mark.parametrize("id", [None, "id"])
def test_a_table_twice_gives_the_same_rows(tmp_path, id):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 300)
    table = pa.table({"id": [f"d{i}" for i in range(300)], "text": texts})
    kept, verdicts = deduplicate(table, id=id, path=tmp_path / "i", with_verdicts=True)
    again, same = deduplicate(table, id=id, path=tmp_path / "i", with_verdicts=True)
    assert again.equals(kept)
    assert same.verdict.tolist() == verdicts.verdict.tolist() and same.id.tolist() == verdicts.id.tolist()
    # In another table they are copies.
    assert len(deduplicate(table.slice(1), path=tmp_path / "i", keep_unscored=False)) == 0
    other = deduplicate({"id": ["new"], "text": [texts[verdicts.is_unique.argmax()]]}, id="id", path=tmp_path / "i")
    assert other["id"] == []


def crawl(folder, rng, files=3, rows=700):
    """A folder of Parquet files, and its documents."""
    texts = documents(rng, files * rows, lengths=(0, 2, 30, 100))
    folder.mkdir()
    for n in range(files):
        part = slice(n * rows, (n + 1) * rows)
        table = pa.table({"id": [f"d{i}" for i in range(part.start, part.stop)], "text": texts[part]})
        pq.write_table(table, folder / f"{n}.parquet", row_group_size=rng.choice([90, 350, 1000]))
    return texts


JOB = """
import json, os, random, signal, sys
import pyarrow as pa
from doppel_dedup import Index, scan_parquet
folder, state, out, id, seed, batch_rows, chance = sys.argv[1:]
rng = random.Random(int(seed))
with Index(path=state) as index, open(out, "a") as file:
    for batch, verdicts in scan_parquet(folder, id=id or None, index=index, batch_rows=int(batch_rows)):
        assert len(batch) == len(verdicts)
        if rng.random() < float(chance):
            os.kill(os.getpid(), signal.SIGKILL)  # the batch is in the job's hands
        for document, verdict in zip(batch["id"].to_pylist(), verdicts):
            file.write(json.dumps([document, *verdict]) + "\\n")
        file.flush()
        if rng.random() < float(chance):
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("id", ["", "id"])
def test_a_scan_that_is_killed_goes_on_at_file_and_row(tmp_path, key, id):
    seed = seed_of_this_run()
    rng = random.Random(seed)
    crawl(tmp_path / "crawl", rng)
    with Index(path=tmp_path / "whole") as index:
        expected = [[d, *v] for b, vs in scan_parquet(tmp_path / "crawl", id=id or None, index=index) for d, v in zip(b["id"].to_pylist(), vs)]

    deaths = 0
    for life in range(200):
        kill_at = rng.choice(["rows_handed", "after_bodies", "after_rows", "after_commit"]) + f":{rng.randrange(1, 12)}" if rng.random() < 0.5 else None
        chance = 0.15 if deaths > 0 else 1  # the first life always ends by a kill
        done = subprocess.run(
            [sys.executable, "-c", JOB, tmp_path / "crawl", tmp_path / "state", tmp_path / "out", id, str(seed + life), str(rng.choice([130, 400])), str(chance)],
            env={**os.environ, **({"DOPPEL_KILL_AT": kill_at} if kill_at else {})}, timeout=120)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        deaths += 1
    assert done.returncode == 0 and deaths > 0
    given = [json.loads(line) for line in open(tmp_path / "out")]
    # A batch may come twice, with the same verdicts; nothing is missing, and nothing else comes.
    once = {row[0]: row for row in given}
    assert len(given) <= len(expected) + 400 * deaths
    assert all(once[row[0]] == row for row in given)
    assert list(once.values()) == expected
    with Index(path=tmp_path / "state") as index, Index(path=tmp_path / "whole") as whole:
        assert len(index) == len(whole) and index.documents == whole.documents
        assert list(scan_parquet(tmp_path / "crawl", id=id or None, index=index)) == []
        # What is known has its verdict, if it is asked for.
        all_again = [v.verdict for _, vs in scan_parquet(tmp_path / "crawl", id=id or None, index=index, resume=False) for v in vs]
        assert all_again == [row[2] for row in expected]


def test_scan_and_scan_parquet_go_on_where_the_other_was(tmp_path, key):
    texts = crawl(tmp_path / "crawl", random.Random(seed_of_this_run()), files=2)
    with Index(path=tmp_path / "i") as index:
        batches = scan_parquet(tmp_path / "crawl", id="id", index=index, batch_rows=300)
        first = [v for _ in range(2) for v in next(batches)[1]]
    del batches
    rest = doppel("scan", "--all", "-q", "--state", tmp_path / "i", tmp_path / "crawl").stdout.splitlines()
    verdicts = [v.verdict for v in first] + [json.loads(line)["verdict"] for line in rest]
    alone = Index(hash_key=KEY)
    assert verdicts == alone.add(texts).verdict.tolist()
    with Index(path=tmp_path / "i") as index:
        assert list(scan_parquet(tmp_path / "crawl", id="id", index=index)) == []


def test_scan_of_documents_that_python_gave(tmp_path, key):
    texts = [t for t in documents(random.Random(seed_of_this_run()), 500) if t]
    ids = [f"d{i}" for i in range(len(texts))]
    with Index(path=tmp_path / "i") as index:
        first = index.add(texts, ids)
    with open(tmp_path / "in.jsonl", "w") as file:
        for id, text in zip(ids, texts):
            file.write(json.dumps({"id": id, "text": text}) + "\n")
    done = doppel("scan", "--all", "--state", tmp_path / "i", "--keep", tmp_path / "keep.jsonl", tmp_path / "in.jsonl")
    again = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["verdict"] for row in again] == first.verdict.tolist()
    assert not any(row["id"] == row["duplicate_of"] for row in again)
    assert f"{first.is_unique.sum()} of them were in the index already" in done.stderr
    assert [json.loads(line)["id"] for line in open(tmp_path / "keep.jsonl")] == [v.id for v in first if v.verdict == "unique"]


def test_a_file_that_was_replaced_while_it_was_read(tmp_path):
    crawl(tmp_path / "crawl", random.Random(1), files=1)
    with Index(path=tmp_path / "i") as index:
        next(scan_parquet(tmp_path / "crawl", index=index, batch_rows=100))
    table = pq.read_table(tmp_path / "crawl" / "0.parquet")
    pq.write_table(table.slice(0, 650), tmp_path / "next")  # another inode
    os.replace(tmp_path / "next", tmp_path / "crawl" / "0.parquet")
    with Index(path=tmp_path / "i") as index, pytest.warns(UserWarning, match="the file is gone or was replaced"):
        assert sum(len(b) for b, _ in scan_parquet(tmp_path / "crawl", index=index)) == 650


def test_two_passes_over_one_index(tmp_path):
    crawl(tmp_path / "crawl", random.Random(1), files=1)
    with Index(path=tmp_path / "i") as index:
        one = scan_parquet(tmp_path / "crawl", index=index, batch_rows=100)
        next(one)
        next(scan_parquet(tmp_path / "crawl", index=index))
        with pytest.raises(ValueError, match="another scan_parquet"):
            next(one)


def test_an_index_has_the_settings_that_it_was_made_with(tmp_path):
    with Index(path=tmp_path / "i", threshold=0.55, shingle_words=3, num_perm=64, expire_after="30d", verify="signature", normaliser="loose", repeated_ids="replace") as index:
        index.add([A], ids=["a"])
    with Index(path=tmp_path / "i") as index:
        assert index.add([B], ids=["a"]).is_unique.all() and len(index) == 1  # replaced
    with Index(path=tmp_path / "i", threshold=0.55, num_perm=64):
        pass
    with pytest.raises(WrongIndexError) as error:
        Index(path=tmp_path / "i", threshold=0.7, num_perm=128, shingle_words=3)
    assert "threshold: the index was made with 0.55, now 0.7" in str(error.value)
    assert "num_perm: the index was made with 64, now 128" in str(error.value)
    assert "shingle_words" not in str(error.value)
    with pytest.raises(WrongIndexError, match="verify: the index was made with signature, now exact"):
        deduplicate({"text": [A]}, path=tmp_path / "i", verify="exact")


def test_an_index_has_the_relations_that_it_was_made_with(tmp_path):
    words = [f"w{i}" for i in range(400)]
    made = {"relations": ["near", "contained"], "partial": "duplicate", "passage_words": 50, "containment": 0.7, "common_after": 9}
    with Index(path=tmp_path / "i", **made) as index:
        index.add([" ".join(words)], ids=["a"])
    with Index(path=tmp_path / "i") as index:
        verdict = index.add([" ".join(words[:200])], ids=["b"])[0]
        assert (verdict.verdict, verdict.original, verdict.kind) == ("duplicate", "a", "contained")
    with Index(path=tmp_path / "i", **made):
        pass
    with pytest.raises(WrongIndexError, match="passage_words: the index was made with 50, now 60"):
        Index(path=tmp_path / "i", passage_words=60)
    with Index(path=tmp_path / "near") as index:
        index.add([A], ids=["a"])
    with pytest.raises(WrongIndexError, match="relations: the index was made with"):
        Index(path=tmp_path / "near", relations=["near", "contains"])
    with Index(path=tmp_path / "i") as index, pytest.raises(WrongIndexError, match="relations cannot be handed on"):
        Index(hash_key=index.hash_key).merge(index)
