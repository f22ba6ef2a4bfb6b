"""Index and Verdicts: what they promise besides the verdicts."""

import datetime
import gc
import pickle
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from corpus import doppel

import doppel_dedup
from doppel_dedup import Index

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"


def test_columns_as_numpy_arrow_and_rows():
    index = Index()
    v = index.add([A, A.upper(), "", B, None], ids=["a", "b", "c", "d", "e"])
    assert v.verdict.tolist() == ["unique", "duplicate", "unscored", "unique", "unscored"]
    assert v.is_unique.tolist() == [True, False, False, True, False]
    assert v.is_duplicate.tolist() == [False, True, False, False, False]
    assert v.kind.tolist() == ["", "near", "", "", ""]
    assert v.similarity.dtype == np.float64 and v.similarity[1] == 1 and np.isnan(v.similarity[0])
    assert v.id.tolist() == list("abcde") and v.original.tolist() == [None, "a", None, None, None]
    table = pa.table(v)
    assert table.drop_columns("cluster").to_pylist() == [r._asdict() for r in v]
    assert table["cluster"].to_pylist() == v.cluster.tolist() == ["a", "a", None, "d", None]
    assert table.schema.names == ["id", "verdict", "original", "similarity", "kind", "cluster"]
    assert table["similarity"].null_count == 4
    assert v[-1].id == "e" and [r.id for r in v[1:3]] == ["b", "c"]
    with pytest.raises(IndexError):
        v[5]
    assert repr(v) == "<Verdicts: 2 unique, 1 duplicate, 2 unscored>"


def test_relations_as_rows_and_arrow(tmp_path):
    words = [f"wörd{i}" for i in range(600)]
    whole, half = " ".join(words), "A head: " + " ".join(words[:300])
    wrap = " ".join(f"other{i}" for i in range(900)) + " " + whole
    with Index(path=tmp_path / "i", relations=["near", "contained", "contains"]) as index:
        v = index.add([whole, half, wrap, whole, ""], ids=["whole", "half", "wrap", "copy", "empty"])
        question = "Begin: " + " ".join(words[:200])
        asked = index.query([question])
    assert v.verdict.tolist() == ["unique", "unique", "unique", "duplicate", "unscored"]
    assert v.relation.tolist() == ["", "contained", "contains", "", ""]
    assert [[r.original for r in row] for row in v.related] == [[], ["whole"], ["whole", "half"], [], []]
    related = v.related[1][0]
    assert related.of_original == pytest.approx(296 / 596, abs=0.01) and 0.98 < related.of_document < 1
    [passage] = related.passages
    assert half.encode()[passage.byte_begin:passage.byte_end].decode() == " ".join(words[:300])
    assert (passage.word_begin, passage.word_end) == (2, 302)
    # Three originals have the whole question; equal values of small sets may count one shingle less.
    found = {related.original: related for related in asked.related[0]}
    assert found.keys() == {"whole", "half", "wrap"}
    [place] = found["whole"].passages
    assert question.encode()[place.byte_begin:].decode() == " ".join(words[:200])

    table = pa.table(v)
    assert table.schema.names == ["id", "verdict", "original", "similarity", "kind", "cluster", "relations"]
    table.validate(full=True)
    rows = table["relations"].to_pylist()
    assert rows == [[r._asdict() | {"passages": [p._asdict() for p in r.passages]} for r in row] for row in v.related]
    copy = pickle.loads(pickle.dumps(v))
    assert copy.related == v.related and pa.table(copy).equals(table)

    # Records that were signed elsewhere have no text.
    records = doppel_dedup.sign_records([whole, half], ["whole", "half"], relations=["near", "contained"])
    signed = Index(relations=["near", "contained"]).add_signed(records)
    assert signed.related[1][0].passages[0] == passage._replace(byte_begin=None, byte_end=None)
    assert pa.table(signed)["relations"][1].as_py()[0]["passages"][0]["byte_begin"] is None


def test_contained_documents_may_be_duplicates():
    words = [f"word{i}" for i in range(600)]
    texts = [" ".join(words), " ".join(words[:300])]
    v = Index(relations=["near", "contained"], partial="duplicate").add(texts)
    assert v.kind.tolist() == ["", "contained"] and v.original.tolist() == [None, "0"] and v.similarity[1] == 1
    frame = pa.table({"text": texts})
    assert len(doppel_dedup.deduplicate(frame, relations=["near", "contained"])) == 2
    assert len(doppel_dedup.deduplicate(frame, relations=["near", "contained"], partial="duplicate")) == 1


def test_arrays_outlive_what_they_came_from():
    v = Index().add([A, A])
    similarity, table = v.similarity, pa.table(v)
    del v
    gc.collect()
    assert similarity[1] == 1
    assert table["original"].to_pylist() == [None, "0"]


def test_verdicts_and_records_are_pickled():
    v = Index().add([A, A.upper(), "", "\ud800 \xff", None], ids=["a", "b", "c", b"\xff\xfe", "e"])
    copy = pickle.loads(pickle.dumps(v))
    assert copy == v and copy.cluster.tolist() == v.cluster.tolist() and pa.table(copy).equals(pa.table(v))
    records = doppel_dedup.sign_records([A, B], ["a", "b"])
    again = pickle.loads(pickle.dumps(records))
    assert again == records and Index().add_signed(again).is_unique.all()
    empty = pickle.loads(pickle.dumps(Index().add([])))
    assert len(empty) == 0


def test_what_an_index_looks_like(tmp_path):
    index = Index(threshold=0.7)
    index.add([A, A])
    assert repr(index) == "<Index: 1 original of 2 documents, threshold 0.7>"
    assert "1 original" in index._repr_html_() and "<table>" in index._repr_html_()
    with Index(path=tmp_path / "i") as index:
        assert repr(index) == f"<Index: 0 originals of 0 documents, threshold 0.8, in {tmp_path / 'i'}>"
    assert repr(index) == "<Index: closed>"


def test_no_rows():
    v = Index().add([])
    assert len(v) == 0 and len(pa.table(v)) == 0 and v.verdict.tolist() == [] and repr(v) == "<Verdicts: none>"


def test_polars_and_pandas_take_verdicts_and_give_texts():
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    v = Index().add(pl.Series([A, A, None]), ids=pl.Series([1, 2, 3]))
    frame = pl.DataFrame(v)
    assert frame["original"].to_list() == [None, "1", None]
    assert Index().add(pd.Series([A, A, None])).verdict.tolist() == ["unique", "duplicate", "unscored"]
    assert doppel_dedup.deduplicate(pd.DataFrame({"text": [A, A, B], "n": [1, 2, 3]}))["n"].tolist() == [1, 3]
    assert doppel_dedup.deduplicate(pl.DataFrame({"text": [A, A, B], "n": [3, 2, 1]}), order_by="n")["n"].to_list() == [2, 1]


def test_no_object_is_made_for_an_arrow_value():
    texts = pa.array([" ".join(f"w{i}x{j}" for j in range(10)) for i in range(20_000)])
    ids = pa.array(range(20_000))
    index = Index()
    gc.collect()
    before = sys.getallocatedblocks()
    v = index.add(texts, ids)
    assert sys.getallocatedblocks() - before < 1000
    assert len(v) == 20_000


def test_ids_of_every_kind():
    for ids in ([1, 2], ["1", "2"], [b"1", b"2"], np.array([1, 2]), pa.array([1, 2]), pa.array([1, 2], pa.uint64()),
                *([pa.array(["1", "2"], pa.string_view())] if hasattr(pa, "string_view") else []), pa.array([1, 2], pa.int8())):
        v = Index().add([A, A], ids)
        assert v.id.tolist() == ["1", "2"] and v[1].original == "1"
    v = Index().add([A, A], ids=["id\udcff", b"\xff"])
    assert v.id.tolist()[1].startswith("b64:")


def test_dates_drive_expiry():
    day = datetime.timedelta(days=1)
    start = datetime.datetime(2024, 1, 1)
    # Originals expire by the thousand, when the youngest of them is too old.
    texts = [A] + [" ".join(f"w{i}x{j}" for j in range(20)) for i in range(3500)]

    def dates(kind):
        times = [start] * 1501 + [start + 60 * day] * 2000
        return {
            "datetime": times,
            "aware": [t.replace(tzinfo=datetime.timezone.utc) for t in times],
            "text": [t.isoformat() for t in times],
            "seconds": [int(t.replace(tzinfo=datetime.timezone.utc).timestamp()) for t in times],
            "numpy": np.array(times, "datetime64[s]"),
            "arrow": pa.array(times, pa.timestamp("us")),
            "date": pa.array([t.date() for t in times]),
        }[kind]

    for kind in ["datetime", "aware", "text", "seconds", "numpy", "arrow", "date"]:
        index = Index(expire_after="30d")
        index.add(texts, dates=dates(kind))
        assert index.query([A]).verdict.tolist() == ["unique"], kind
        assert len(index) < 3501
    without = Index(expire_after="30d")
    without.add(texts, dates=[None] * 3501)
    assert without.query([A]).verdict.tolist() == ["duplicate"]


def test_repeated_ids():
    index = Index()
    index.add([A], ids=["a"])
    with pytest.raises(ValueError, match=r'"a" \(row 1\) is in the index already, with another text; remove\(\) it first'):
        index.add([B, B], ids=["b", "a"])
    with pytest.raises(ValueError, match='"b" is that of rows 0 and 2'):
        index.add([B, A, B], ids=["b", "c", "b"])
    assert len(index) == 1 and index.documents == 1  # nothing of it was judged

    index = Index(repeated_ids="allow")
    assert index.add([A, B], ids=["a", "a"]).verdict.tolist() == ["unique", "unique"]
    assert index.remove("a") == 2

    index = Index(repeated_ids="replace")
    index.add([A], ids=["a"])
    assert index.add([B], ids=["a"]).verdict.tolist() == ["unique"]
    assert len(index) == 1 and index.query([A]).verdict.tolist() == ["unique"]


def test_remove_and_contains():
    index = Index()
    index.add([A, A.upper()], ids=["a", "b"])
    assert "a" in index and "b" not in index and "c" not in index
    assert index.remove(["a", "b", "c"]) == 1
    assert "a" not in index and len(index) == 0
    assert index.add([A], ids=["z"]).verdict.tolist() == ["unique"]
    index.add([B], ids=[17])
    assert 17 in index and "17" in index and index.remove(17) == 1


def test_an_index_in_a_directory_goes_on(tmp_path):
    with Index(path=tmp_path / "index") as index:
        assert index.add([A], ids=["a"]).verdict.tolist() == ["unique"]
    with pytest.raises(ValueError, match="closed"):
        index.add([A])
    index.close()
    with Index(path=tmp_path / "index") as index:
        assert len(index) == 1 and "a" in index and index.documents == 1
        assert index.add([A], ids=["b"])[0].original == "a"
        assert index.add([B])[0].id == "2"  # its number in the index
    assert "3 judged" in doppel("inspect", tmp_path / "index").stdout


def test_without_close_nothing_is_lost(tmp_path):
    index = Index(path=tmp_path / "index")
    index.add([A, B])
    del index
    gc.collect()
    assert len(Index(path=tmp_path / "index")) == 2


def test_threads_take_turns():
    index = Index(threads=2)
    texts = [[f"{A} {B} thread {t} document {i} {i} {i}" for i in range(300)] for t in range(4)]
    done = []

    def work(t):
        for at in range(0, 300, 50):
            done.append(len(index.add(texts[t][at : at + 50])))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 1200 == index.documents


def test_progress():
    calls = []
    texts = [f"{A} {i} {i + 1} {i + 2} {B} {i}" for i in range(3000)]
    Index().add(texts, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (3000, 3000) and calls == sorted(calls)
    Index().add(texts, progress=True)

    def fail(done, total):
        raise KeyError("mine")

    index = Index()
    with pytest.raises(KeyError, match="mine"):
        index.add(texts, progress=fail)
    assert len(index.last) == index.documents


def test_sizes():
    index = Index()
    index.add([f"{A} {i} {i + 1} {i + 2} {B} {i}" for i in range(300)])
    assert index.memory_bytes > 0 and index.disk_bytes > 0


def test_top_k_gives_the_most_similar_originals_first() -> None:
    words = [f"w{i}" for i in range(60)]
    index = Index(threshold=0.5)
    index.add([" ".join(words), " ".join(words[:40] + [f"x{i}" for i in range(20)]), " ".join(f"y{i}" for i in range(60))],
              ids=["whole", "half", "other"])
    asked = " ".join(words[:55])
    found = index.top_k(asked, k=5)
    assert [id for id, _ in found][:1] == ["whole"]
    assert found == sorted(found, key=lambda each: -each[1]) and found[0][1] == pytest.approx(51 / 56)
    assert index.top_k([asked, "", "n o t h i n g"], k=1) == [found[:1], [], []]
    assert len(index) == 3
    with pytest.raises(ValueError, match="k: 0"):
        index.top_k(asked, k=0)
