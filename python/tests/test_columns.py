"""Columns inside of structures, ids that are dictionaries or UUIDs, and times with zones."""

import datetime
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from doppel_dedup import Index, clean, decontaminate, deduplicate, scan_parquet

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"
ROWS = [{"id": "a", "text": A, "size": 1}, {"id": "b", "text": A + "!", "size": 3}, {"id": "c", "text": B, "size": 2}, None]
NESTED = pa.table({"n": [0, 1, 2, 3], "doc": ROWS})


def tables():
    out = [NESTED, {"n": [0, 1, 2, 3], "doc": ROWS}]
    for name in ("pandas", "polars"):
        try:
            out.append(__import__(name).DataFrame({"n": [0, 1, 2, 3], "doc": ROWS}))
        except ImportError:
            pass
    return out


def column(table, name):
    values = table[name]
    return values.to_pylist() if hasattr(values, "to_pylist") else list(values)


@pytest.mark.parametrize("table", tables(), ids=lambda t: type(t).__module__.split(".")[0])
def test_a_text_inside_of_a_column(table):
    kept, verdicts = deduplicate(table, text="doc.text", id="n", with_verdicts=True)
    assert type(kept) is type(table) and column(kept, "n") == [0, 2, 3]
    assert verdicts.verdict.tolist() == ["unique", "duplicate", "unique", "unscored"]
    assert column(deduplicate(table, text="doc.text", keep=("doc.size", "desc")), "n") == [1, 2, 3]
    with pytest.raises(KeyError, match="doc.txt: no field 'txt'; there are 'id', '(size', 'text|text', 'size)'"):
        deduplicate(table, text="doc.txt")
    with pytest.raises(KeyError, match="n.text: no field 'text'; there "):
        deduplicate(table, text="n.text")


def test_a_column_whose_name_has_a_dot_comes_first():
    table = pa.table({"doc": [{"text": A}, {"text": B}], "doc.text": [B, B]})
    assert len(deduplicate(table, text="doc.text")) == 1


def test_a_text_inside_of_a_column_of_files(tmp_path):
    (tmp_path / "in").mkdir()
    table = pa.table({"n": [0, 1, 2, 3], "doc": [*ROWS[:3], {"id": "d", "text": None, "size": None}]})
    pq.write_table(table, tmp_path / "in" / "x.parquet")
    done = clean(tmp_path / "in", tmp_path / "out", text="doc.text", id="doc.id", keep=("doc.size", "desc"),
                 keep_unscored=False, clusters=tmp_path / "clusters.parquet", progress=False)  # fmt: skip
    assert done.kept == 2 and pq.read_table(tmp_path / "out" / "x.parquet").to_pylist() == table.slice(1, 2).to_pylist()
    gone, = pq.read_table(tmp_path / "clusters.parquet").to_pylist()
    assert (gone["id"], gone["kept_id"]) == ("a", "b")
    rows = [row for batch, verdicts in scan_parquet(tmp_path / "in", text="doc.text", id="n", columns=["n"]) for row in zip(batch["n"], verdicts.verdict)]
    assert [verdict for _, verdict in rows] == ["unique", "duplicate", "unique", "unscored"]
    with pytest.raises(KeyError, match="x.parquet: doc.txt: no field 'txt'; there are 'id', '(size', 'text|text', 'size)'"):
        clean(tmp_path / "in", tmp_path / "other", text="doc.txt")
    found = decontaminate(tmp_path / "in", [{"id": "q", "question": B}], text="doc.text", id="doc.id", progress=False)
    assert found.ids == ["c"]


def test_the_file_that_lacks_a_column_is_named(tmp_path):
    for name in ("a", "b", "c"):
        pq.write_table(pa.table({"text" if name != "b" else "texts": [A]}), tmp_path / f"{name}.parquet")
    with pytest.raises(KeyError, match="b.parquet: no column 'text' among 'texts'; did you mean 'texts'"):
        clean(tmp_path, tmp_path.with_name("out"))
    with pytest.raises(KeyError, match="b.parquet: no column 'text' among 'texts'; did you mean 'texts'"):
        list(scan_parquet(tmp_path))


def test_ids_that_are_dictionaries(tmp_path):
    table = pa.table({"id": pa.array(["a", "b", "c"]).dictionary_encode(), "text": [A, A, B]})
    pq.write_table(table, tmp_path / "in.parquet")
    verdicts, = [verdicts for _, verdicts in scan_parquet(tmp_path / "in.parquet", id="id")]
    assert verdicts.id.tolist()[:2] == ["a", "b"] and verdicts.original[1] == "a"
    clean(tmp_path / "in.parquet", tmp_path / "out", id="id", clusters=tmp_path / "clusters.parquet", progress=False)
    assert pq.read_table(tmp_path / "clusters.parquet")["kept_id"].to_pylist() == ["a"]
    assert pq.read_schema(tmp_path / "out" / "in.parquet") == table.schema


def uuids():
    ids = [uuid.UUID(int=i * 0x0123456789ABCDEF0123456789ABCDEF % (1 << 128)) for i in range(1, 3)]
    out = [("list", ids), ("a missing one", [ids[0], None])]
    if hasattr(pa, "uuid"):
        out.append(("arrow", pa.array([one.bytes for one in ids], pa.uuid())))
        out.append(("arrow, one missing", pa.array([ids[0].bytes, None], pa.uuid())))
        out.append(("chunks", pa.chunked_array([pa.array([one.bytes], pa.uuid()) for one in ids])))
    try:
        out.append(("pandas", __import__("pandas").Series(ids)))
    except ImportError:
        pass
    return ids, out


@pytest.mark.parametrize("kind, given", uuids()[1])
def test_ids_that_are_uuids(kind, given):
    ids = [str(one) for one in uuids()[0]]
    if "missing" in kind:
        with pytest.raises(ValueError, match="ids: row 1 has none"):
            Index().add([A, B], ids=given)
    else:
        assert Index().add([A, B], ids=given).id.tolist() == ids
        assert deduplicate({"id": given, "text": [A, A]}, id="id", with_verdicts=True)[1].original.tolist() == [None, ids[0]]


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="this pyarrow has no UUIDs")
def test_uuids_in_files_are_written_as_scan_writes_them(tmp_path):
    from corpus import doppel

    ids = uuids()[0]
    pq.write_table(pa.table({"id": pa.array([one.bytes for one in ids], pa.uuid()), "text": [A, A]}), tmp_path / "in.parquet")
    clean(tmp_path / "in.parquet", tmp_path / "out", id="id", clusters=tmp_path / "clusters.parquet", progress=False)
    assert pq.read_table(tmp_path / "clusters.parquet")["kept_id"].to_pylist() == [str(ids[0])]
    assert f'"{ids[0]}"' in doppel("scan", "-q", tmp_path / "in.parquet").stdout


def test_times_with_zones_choose():
    def best(times, which):
        return deduplicate({"n": [0, 1, 2], "text": [A, A, A], "at": times}, keep=("at", which))["n"]

    # 22:30, 23:00 and 23:30 in UTC.
    for texts in (["2020-01-02T00:30:00+02:00", "2020-01-01T23:00:00Z", "2020-01-01T18:30:00.5-0500"],
                  ["2020-01-02 00:30:00+02", "2020-01-01 23:00:00", "2020-01-01 23:30:00Z"]):  # fmt: skip
        assert best(texts, "asc") == [0] and best(texts, "desc") == [2]
    zone = datetime.timezone(datetime.timedelta(hours=2))
    times = [datetime.datetime(2020, 1, 2, 0, 30, tzinfo=zone), datetime.datetime(2020, 1, 1, 23, tzinfo=datetime.timezone.utc), None]
    assert best(times, "asc") == [0] and best(times, "desc") == [1]
    assert best(pa.array(times, pa.timestamp("us", "Asia/Tokyo")), "desc") == [1]
    with pytest.raises(TypeError, match="'at' holds texts that are no times"):
        best(["2020-01-01T00:00:00+02:00", "yesterday", "2020"], "asc")
