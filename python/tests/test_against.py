"""Indexes that are only read: their originals come before all documents."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, seed_of_this_run

from doppel_dedup import Index, WrongIndexError, clean, deduplicate


def two_parts(rng):
    texts = documents(rng, 1200)
    return texts[:500], texts[500:]


@pytest.mark.parametrize("settings", [{}, {"threshold": 0.5, "shingle_words": 3, "verify": "signature", "num_perm": 64}])
def test_verdicts_are_those_of_both_in_order(tmp_path, settings):
    one, two = two_parts(random.Random(seed_of_this_run()))
    ids = [f"b{i}" for i in range(len(two))]
    with Index(path=tmp_path / "one", **settings) as corpus:
        corpus.add(one, ids=[f"a{i}" for i in range(len(one))])
        key = corpus.hash_key
        held = len(corpus)
        with pytest.raises(Exception, match="in use"):
            Index(against=tmp_path / "one", **settings)
    both = Index(hash_key=key, **settings)
    both.add(one, ids=[f"a{i}" for i in range(len(one))])
    expected = list(both.add(two, ids=ids))

    against = Index(against=tmp_path / "one", **settings)
    assert against.hash_key == key and len(against) == 0
    assert list(against.add(two[:300], ids=ids[:300])) + list(against.add(two[300:], ids=ids[300:])) == expected
    assert len(against) == len(both) - held
    assert list(against.query(two[:50])) == list(both.query(two[:50]))
    known = next(row.original for row in expected if row.verdict == "duplicate" and row.original.startswith("a"))
    assert known not in against and against.remove([known]) == 0

    # Kept, opened again, handed on: only its own.
    with Index(path=tmp_path / "two", against=[tmp_path / "one"], **settings) as kept:
        assert list(kept.add(two[:300], ids=ids[:300])) == expected[:300]
    with Index(path=tmp_path / "two", against=str(tmp_path / "one")) as kept:
        assert list(kept.add(two[300:], ids=ids[300:])) == expected[300:]
        assert "b0" in kept or expected[0].verdict != "unique"
        assert [row.verdict for row in kept.add(two, ids=ids)] == [row.verdict for row in expected]  # again
        merged = Index(hash_key=key, **settings)
        assert merged.merge(kept) == len(kept) == len(against)
    with pytest.raises(WrongIndexError, match="against"):
        Index(path=tmp_path / "two")
    with pytest.raises(WrongIndexError, match="num_perm"):
        Index(against=tmp_path / "one", num_perm=32)


def test_the_same_document_is_a_copy_of_the_other_index(tmp_path):
    text = "The ferry to the island was cancelled on Tuesday because of strong winds"
    with Index(path=tmp_path / "one") as corpus:
        corpus.add([text], ids=["a"])
    table = {"text": [text, "Nothing like it was ever found on the hills of the north"], "id": ["a", "b"]}
    assert deduplicate(table, id="id", against=tmp_path / "one")["id"] == ["b"]
    assert deduplicate(table, against=[tmp_path / "one"], keep="longest")["id"] == ["b"]


@pytest.mark.parametrize("keep", ["first", "longest"])
def test_clean_goes_on_though_the_corpus_has_grown(tmp_path, keep):
    one, two = two_parts(random.Random(seed_of_this_run()))
    with Index(path=tmp_path / "one") as corpus:
        corpus.add(one[:250])
    (tmp_path / "in").mkdir()

    def job():
        return clean(tmp_path / "in", tmp_path / "out", keep=keep, keep_unscored=False, path=tmp_path / "index",
                     against=tmp_path / "one", progress=False)  # fmt: skip

    pq.write_table(pa.table({"text": two[:400]}), tmp_path / "in" / "0.parquet")
    first = job()
    with Index(path=tmp_path / "one") as corpus:
        corpus.add(one[250:])
    pq.write_table(pa.table({"text": two[400:]}), tmp_path / "in" / "1.parquet")
    both = job()
    with Index(path=tmp_path / "index", against=tmp_path / "one") as index:
        assert len(index) == both.kept  # one row of each cluster, and none of what the corpus has
    kept = [pq.read_table(tmp_path / "out" / f"{name}.parquet")["text"].to_pylist() for name in ("0", "1")]
    assert both.rows == len(two) and sum(map(len, kept)) == both.kept >= first.kept
    if keep == "first":
        with Index(path=tmp_path / "one") as corpus:
            assert not corpus.query(kept[1]).is_duplicate.any()
