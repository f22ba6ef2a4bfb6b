"""Index.add() says what doppel scan says, in batches of any size and from any kind of column."""

import random

import pyarrow as pa
import pytest
from corpus import documents, doppel, scan, seed_of_this_run

from doppel_dedup import Index, deduplicate


def batches(random, n):
    at = 0
    while at < n:
        size = random.choice([1, 7, 100, 255, 256, 257, 1000])
        yield slice(at, min(n, at + size))
        at += size


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("settings", [{}, {"threshold": 0.5, "shingle_words": 3, "verify": "signature"}])
def test_in_batches_of_any_size(tmp_path, threads, settings):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 1500)
    ids = [f"d{i}" for i in range(len(texts))]
    flags = [f for k, v in settings.items() for f in ("--set", f"{k}={v}")]
    expected = scan(tmp_path, texts, ids, *flags)
    assert {row[1] for row in expected} == {"unique", "duplicate", "unscored"}
    assert {row[4] for row in expected} == {None, "exact", "near"}

    index = Index(threads=threads, **settings)
    columns = [
        lambda part: part,
        lambda part: tuple(t.encode() for t in part),
        pa.array,
        lambda part: pa.array(part, pa.large_string()),
        lambda part: pa.array(part, pa.string_view()),
        lambda part: pa.array([t.encode() for t in part], pa.binary()),
        lambda part: pa.chunked_array([pa.array(part[:3]), pa.array(part[3:], pa.string())]),
        lambda part: pa.array(["no", *part, "no"])[1:-1],
    ]
    rows = []
    for part in batches(rng, len(texts)):
        rows += index.add(rng.choice(columns)(texts[part]), rng.choice([list, pa.array])(ids[part]))
    assert [tuple(row) for row in rows] == expected
    assert len(index) == sum(row[1] == "unique" for row in expected)


def test_with_a_directory_that_scan_and_python_take_turns_on(tmp_path, monkeypatch):
    monkeypatch.setenv("DOPPEL_HASH_KEY", "00112233445566778899aabbccddeeff")  # similarities are those of a key, to a thousandth
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 900)
    ids = [f"d{i}" for i in range(len(texts))]
    expected = scan(tmp_path, texts, ids)
    state = tmp_path / "state"
    rows = scan(tmp_path, texts[:300], ids[:300], "--state", state)
    with Index(path=state) as index:
        assert index.documents == 300
        rows += [tuple(row) for row in index.add(texts[300:600], ids[300:600])]
    (tmp_path / "documents.jsonl").unlink()
    (tmp_path / "more").mkdir()
    rows += scan(tmp_path / "more", texts[600:], ids[600:], "--state", state)
    assert rows == expected
    assert "900 judged" in doppel("inspect", state).stdout

    # What each of them brought is found and forgotten by its id.
    unique = [row[0] for row in expected if row[1] == "unique"]
    with Index(path=state) as index:
        assert len(index) == len(unique)
        some = [unique[0], next(i for i in unique if 300 <= int(i[1:]) < 600), unique[-1]]
        assert all(i in index for i in some)
        assert index.remove(some) == 3
        assert not any(i in index for i in some)
    with Index(path=state) as index:
        assert len(index) == len(unique) - 3
        assert not any(i in index for i in some)


def test_a_query_is_what_add_would_say_and_keeps_nothing():
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 800)
    index = Index(threads=2)
    index.add(texts[:500])
    before = len(index), index.documents
    said = index.query(texts[500:])
    assert (len(index), index.documents) == before
    assert {row.verdict for row in said} == {"unique", "duplicate", "unscored"}
    for at in rng.sample(range(300), 20):
        alone = Index()
        alone.add(texts[:500])
        assert tuple(alone.add([texts[500 + at]])[0])[1:] == tuple(said[at])[1:]


def test_a_table_is_deduplicated_as_scan_does(tmp_path):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 500)
    ids = [f"d{i}" for i in range(len(texts))]
    expected = scan(tmp_path, texts, ids)
    kept = deduplicate(pa.table({"id": ids, "text": texts, "row": range(500)}), id="id")
    assert kept["id"].to_pylist() == [row[0] for row in expected if row[1] != "duplicate"]
    assert kept.schema.names == ["id", "text", "row"]
