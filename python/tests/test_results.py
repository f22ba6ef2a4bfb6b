"""What calls return beside the rows: verdicts, tables of clusters, summaries."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, seed_of_this_run

from doppel_dedup import Index, Verdict, clean, decontaminate, deduplicate

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"
TABLE = pa.table({"id": list("abcdef"), "text": [A, A + "!", B, None, A + "!?", B], "n": [1, 9, 3, 4, 5, 6]})


def test_verdicts_come_in_the_order_of_the_table():
    for order in (None, "n", "n desc", "id desc"):
        _, verdicts = deduplicate(TABLE, id="id", order_by=order, with_verdicts=True)
        assert verdicts.id.tolist() == list("abcdef")
    _, verdicts = deduplicate(TABLE, id="id", order_by="n desc", with_verdicts=True)
    assert verdicts.original.tolist() == ["b", None, "f", None, "b", None]
    assert TABLE.filter(pa.array(verdicts.is_unique))["id"].to_pylist() == ["b", "f"]
    # Without ids, rows are called by their numbers in the table.
    _, verdicts = deduplicate(TABLE, order_by="n desc", with_verdicts=True)
    assert verdicts.id.tolist() == list("012345")
    assert verdicts.original.tolist() == ["1", None, "5", None, "1", None]
    words = [f"word{i}" for i in range(300)]
    _, verdicts = deduplicate({"text": [" ".join(words[:150]), B, " ".join(words)], "n": [2, 3, 1]}, order_by="n",
                              relations=["near", "contained"], with_verdicts=True)  # fmt: skip
    assert [[related.original for related in row] for row in verdicts.related] == [["2"], [], []]
    assert verdicts.related[0][0].passages[0].word_end == 150


def test_an_original_from_before_keeps_its_name(tmp_path):
    deduplicate({"text": [B, A]}, path=tmp_path)
    _, verdicts, clusters = deduplicate({"text": ["one two three four five six seven", A], "n": [2, 1]}, order_by="n", path=tmp_path,
                                        with_verdicts=True, with_clusters=True)  # fmt: skip
    assert verdicts.id.tolist() == ["0", "1"] and verdicts.original.tolist() == [None, "1"]  # of the first table
    assert clusters.to_pylist() == [{"row": 1, "kept_row": None, "similarity": 1.0, "relation": "exact"}]


@pytest.mark.parametrize("options", [{}, {"keep": "longest"}, {"keep": ("n", "desc")}, {"keep": ("n", "asc"), "order_by": "id desc"}])
def test_clusters_are_those_of_clean(tmp_path, options):
    kept, clusters = deduplicate(TABLE, id="id", with_clusters=True, **options)
    if "order_by" not in options:
        clean(TABLE, tmp_path / "out", id="id", clusters=tmp_path / "clusters.parquet", progress=False, **options)
        assert clusters.equals(pq.read_table(tmp_path / "clusters.parquet").select(clusters.column_names))
    there = set(kept["id"].to_pylist())
    assert set(clusters["id"].to_pylist()) == set(TABLE["id"].to_pylist()) - there
    assert set(clusters["kept_id"].to_pylist()) <= there
    ids = TABLE["id"].to_pylist()
    assert [ids[row] for row in clusters["kept_row"].to_pylist()] == clusters["kept_id"].to_pylist()
    assert clusters["similarity"].to_pylist() == [1.0] * len(clusters)
    # Without ids the rows are the same.
    assert deduplicate(TABLE, with_clusters=True, **options)[1].equals(clusters.drop_columns(["id", "kept_id"]))


def test_clusters_of_nothing():
    kept, verdicts, clusters = deduplicate({"text": [None, ""]}, with_verdicts=True, with_clusters=True)
    assert (len(clusters), clusters.column_names) == (0, ["row", "kept_row", "similarity", "relation"])
    assert len(deduplicate({"text": []}, with_clusters=True)[1]) == 0


def test_rows_of_verdicts():
    verdicts = Index().add(TABLE["text"], ids=TABLE["id"])
    assert verdicts[verdicts.is_duplicate].id.tolist() == ["b", "e", "f"]
    assert verdicts[verdicts.is_unscored].id.tolist() == ["d"]
    assert verdicts[[0, -1]].id.tolist() == ["a", "f"] and verdicts[[]].id.tolist() == []
    assert verdicts[pa.array(verdicts.is_unique)].id.tolist() == ["a", "c"]
    assert verdicts[-1] == Verdict("f", "duplicate", "c", 1.0, "exact") and [one.id for one in verdicts[:2]] == ["a", "b"]
    with pytest.raises(IndexError, match="a mask of 2 rows, and there are 6 verdicts"):
        verdicts[[True, False]]
    with pytest.raises(IndexError):
        verdicts[[6]]
    with pytest.raises(IndexError):
        verdicts[[-7]]
    with pytest.raises(TypeError, match="give a row number"):
        verdicts[["a"]]


def test_verdicts_as_frames():
    verdicts = Index().add(TABLE["text"], ids=TABLE["id"])
    names = ["id", "verdict", "original", "similarity", "kind", "cluster"]
    assert verdicts.to_arrow() == pa.table(verdicts) and verdicts.to_arrow().column_names == names
    assert verdicts.to_pandas()["cluster"].tolist()[:3] == ["a", "a", "c"]
    polars = pytest.importorskip("polars")
    assert verdicts.to_polars().columns == names and verdicts.to_polars()["id"].to_list() == list("abcdef")
    assert isinstance(verdicts.to_polars(), polars.DataFrame)


def test_summaries(tmp_path):
    verdicts = Index().add(TABLE["text"], ids=TABLE["id"])
    assert str(verdicts.summary) == ("6 documents\nverdict     documents  share\nunique              2  33.3%\nexact copy          1  16.7%\n"
                                     "near copy           2  33.3%\nunscored            1  16.7%")  # fmt: skip
    assert str(Index().add([]).summary) == "0 documents\nverdict  documents  share"
    (tmp_path / "in").mkdir()
    for n in range(2):
        pq.write_table(TABLE.slice(3 * n, 3), tmp_path / "in" / f"{n}.parquet")
    done = clean(tmp_path / "in", tmp_path / "out", progress=False)
    assert str(done.summary) == ("3 of 6 rows kept, in 2 files\n"
                                 "file       rows  kept  exact  near  contained  unscored\n"
                                 "0.parquet     3     2      0     1          0         0\n"
                                 "1.parquet     3     1      1     1          0         1\n"
                                 "all           6     3      1     2          0         1")  # fmt: skip
    assert clean(tmp_path / "in", tmp_path / "out", progress=False).summary == done.summary
    assert done.summary.to_pandas()["kept"].tolist() == done.summary.to_arrow()["kept"].to_pylist() == [2, 1]
    assert "<td>1.parquet</td>" in done._repr_html_()
    assert pytest.importorskip("polars").DataFrame(done.summary.to_polars()).height == 2
    found = decontaminate(TABLE, [{"id": "<q>", "question": A}, {"id": "other", "question": "one two three four five six"}], progress=False)
    assert str(found.summary) == "3 of 6 documents have items in them, 1 of 2 items\nitem  documents\n<q>           3"
    assert "<td>&lt;q&gt;</td>" in found._repr_html_() and found.summary.to_pandas()["item"].tolist() == ["<q>"]


def test_a_long_summary_is_cut_where_it_is_shown(tmp_path):
    files = tmp_path / "in"
    files.mkdir()
    for n in range(30):
        pq.write_table(pa.table({"text": [f"{A} {n} {n}"]}), files / f"{n:02}.parquet")
    done = clean(files, tmp_path / "out", progress=False)
    lines = str(done.summary).splitlines()
    assert len(lines) == 2 + 20 + 1 + 1 and lines[-2].startswith("and 10 more") and lines[-1].split()[:2] == ["all", "30"]
    assert len(done.summary) == len(done.summary.to_pandas()) == 30


@pytest.mark.parametrize("settings", [{}, {"threshold": 0.6, "num_perm": 64, "shingle_words": 3}, {"normaliser": "loose", "verify": "signature"}])
def test_a_saved_index_gives_the_same_verdicts(tmp_path, settings):
    rng = random.Random(seed_of_this_run())
    texts = documents(rng, 600)
    index = Index(hash_key=bytes(range(16)), repeated_ids="allow", **settings)
    index.add(texts[:400], ids=[f"d{i % 300}" for i in range(400)])  # ids that come again
    index.remove(["d3", "d7"])
    index.save(tmp_path / "saved")
    with Index.load(tmp_path / "saved") as loaded:
        assert len(loaded) == len(index) and loaded.hash_key == index.hash_key
        assert loaded.settings["threshold"] == index.settings["threshold"]
        assert list(loaded.query(texts)) == list(index.query(texts))
        verdicts = loaded.add(texts[400:])
    with Index.load(tmp_path / "saved") as again:
        assert len(again) == len(index) + verdicts.is_unique.sum()
        again.save(tmp_path / "copy")
    with pytest.raises(FileExistsError, match="copy is not empty"):
        index.save(tmp_path / "copy")
    with pytest.raises(FileNotFoundError, match="nothing: there is no index"):
        Index.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match="save: an index with relations .* make it with a path"):
        Index(relations=["near", "contained"]).save(tmp_path / "related")
    with pytest.raises(ValueError, match="path: s3://x/y: an index lies in a folder of this machine"):
        index.save("s3://x/y")
