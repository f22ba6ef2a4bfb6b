"""deduplicate() and scan_parquet()."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, scan, seed_of_this_run

from doppel_dedup import Index, deduplicate, scan_parquet

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"


def tables():
    data = {"text": [A, A.upper(), B, None, A], "year": [3, 1, None, 5, 2], "id": list("abcde")}
    out = [data, pa.table(data)]
    for name in ("pandas", "polars"):
        try:
            out.append(__import__(name).DataFrame(data))
        except ImportError:
            pass
    return out


def column(table, name):
    values = table[name]
    values = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    return values


@pytest.mark.parametrize("table", tables(), ids=lambda t: type(t).__module__.split(".")[0])
def test_what_is_kept(table):
    assert column(deduplicate(table), "id") == ["a", "c", "d"]
    assert column(deduplicate(table, order_by="year"), "id") == ["b", "c", "d"]
    assert column(deduplicate(table, order_by=["year", "id"], keep_unscored=False), "id") == ["b", "c"]
    kept, verdicts = deduplicate(table, id="id", order_by="year", with_verdicts=True)
    assert type(kept) is type(table)
    assert verdicts.id.tolist() == ["a", "b", "c", "d", "e"]
    assert verdicts.original.tolist() == ["b", None, None, None, "b"]


def test_tables_of_other_libraries():
    data = {"text": [A, B, A, A.upper()], "id": list("abcd")}
    duckdb = pytest.importorskip("duckdb")
    table = pa.table(data)
    assert deduplicate(duckdb.connect().from_arrow(table)).to_pydict() == {"text": [A, B], "id": ["a", "b"]}
    datasets = pytest.importorskip("datasets")
    kept = deduplicate(datasets.Dataset.from_dict(data).select([1, 2, 3]), order_by="id desc")
    assert isinstance(kept, datasets.Dataset) and kept["id"][:] == ["b", "d"]
    assert len(deduplicate(datasets.Dataset.from_dict({"text": []}))) == 0
    with pytest.raises(TypeError, match="one split of it"):
        deduplicate(datasets.DatasetDict({"train": datasets.Dataset.from_dict(data)}))


def test_columns_that_are_no_table_or_no_text():
    if hasattr(pa, "string_view"):
        table = pa.table({"text": pa.array([A, B, A], pa.string_view())})
        kept = deduplicate(table)
        assert kept.schema == table.schema and kept["text"].to_pylist() == [A, B]
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="texts: row 1 is of type int"):
        deduplicate(pandas.DataFrame({"text": pandas.Series([A, 2], dtype=object)}))
    with pytest.raises(KeyError, match="the table has no columns"):
        deduplicate(pandas.DataFrame())
    with pytest.raises(TypeError, match="int is not a table"):
        deduplicate(7)


@pytest.mark.parametrize("table", tables(), ids=lambda t: type(t).__module__.split(".")[0])
def test_order_and_the_best(table):
    assert column(deduplicate(table, order_by="year desc"), "id") == ["a", "c", "d"]
    for order in [("year", "desc"), ["year desc"], [("year", "desc"), "id"]]:
        assert column(deduplicate(table, order_by=order), "id") == ["a", "c", "d"]
    assert column(deduplicate(table, order_by="id desc"), "id") == ["c", "d", "e"]
    assert column(deduplicate(table, keep=("year", "desc")), "id") == ["a", "c", "d"]
    assert column(deduplicate(table, keep=("year", "asc")), "id") == ["b", "c", "d"]
    assert column(deduplicate(table, keep="longest"), "id") == ["a", "c", "d"]
    # The order decides what is the original, `keep` what stays.
    kept, verdicts = deduplicate(table, id="id", order_by="id desc", keep=("year", "asc"), with_verdicts=True)
    assert column(kept, "id") == ["b", "c", "d"] and verdicts.original.tolist() == ["e", "e", None, None, None]
    with pytest.raises(ValueError, match="neither 'asc' nor 'desc'"):
        deduplicate(table, order_by=[("year", "down")])
    with pytest.raises(KeyError, match="did you mean 'year'"):
        deduplicate(table, order_by="yea desc")
    with pytest.raises(ValueError, match="keep: 'best' is not one of"):
        deduplicate(table, keep="best")


def test_keep_prefers_the_longest_copy_and_a_real_column_of_that_name():
    longer = A + " and then it sleeps"
    assert deduplicate({"text": [A, longer, None, B]}, keep="longest", threshold=0.4)["text"] == [longer, None, B]
    assert deduplicate({"text": [longer, A, B]}, keep="shortest", threshold=0.4)["text"] == [A, B]
    assert deduplicate({"text": [A, A], "n desc": [2, 1], "n": [1, 2]}, order_by="n desc")["n"] == [2]


def test_columns_of_a_dict_that_cannot_be():
    with pytest.raises(TypeError, match="text: a generator can be read only once; give a list of it"):
        deduplicate({"text": (t for t in [A, B])})
    with pytest.raises(ValueError, match="not equally long: text has 2, n has 1"):
        deduplicate({"text": [A, B], "n": [1]})


def test_anything_with_the_arrow_interface():
    class Table:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table({"text": [A, A, B]}).__arrow_c_stream__(requested_schema)

    assert deduplicate(Table())["text"].to_pylist() == [A, B]


def test_parquet_files(tmp_path):
    texts = documents(random.Random(seed_of_this_run()), 1000)
    ids = [f"d{i}" for i in range(1000)]
    (tmp_path / "crawl").mkdir()
    for n, part in enumerate((slice(0, 400), slice(400, 1000))):
        table = pa.table({"id": ids[part], "other": range(len(ids[part])), "text": texts[part]})
        pq.write_table(table, tmp_path / "crawl" / f"{n}.parquet", row_group_size=150)
    expected = scan(tmp_path, texts, ids)
    rows, kept = [], []
    for batch, verdicts in scan_parquet(tmp_path / "crawl", id="id", columns=["other"], batch_rows=130):
        assert batch.schema.names == ["id", "other", "text"] or set(batch.schema.names) == {"id", "other", "text"}
        rows += [tuple(row) for row in verdicts]
        kept += batch.filter(pa.array(verdicts.is_unique))["id"].to_pylist()
    assert rows == expected
    assert kept == [row[0] for row in expected if row[1] == "unique"]

    with Index(path=tmp_path / "index") as index:
        for _ in scan_parquet([tmp_path / "crawl" / "0.parquet"], index=index):
            pass
        assert index.documents == 400


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(scan_parquet(tmp_path))
    pq.write_table(pa.table({"texts": [A] * 1000}), tmp_path / "a.parquet")
    with pytest.raises(KeyError, match="no column 'text' among 'texts'; did you mean 'texts'"):
        list(scan_parquet(tmp_path))
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((pa.ArrowInvalid, OSError)):
        list(scan_parquet(tmp_path, text="texts"))
    with pytest.raises(TypeError, match="settings are those of the index"):
        list(scan_parquet(tmp_path, index=Index(), threshold=0.5))
