"""What deduplicate(), clean(), scan_parquet() and decontaminate() take."""

import io

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from doppel_dedup import clean, decontaminate, deduplicate, scan_parquet

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"
TEXTS = [A, A + "!", B, None]
ROWS = [{"id": "a", "text": A}, {"id": "b", "text": A + "!", "n": 1}, {"id": "c", "text": B, "n": 2}, {"id": "d"}]
TABLE = pa.Table.from_pylist(ROWS, pa.schema([("id", pa.string()), ("text", pa.string()), ("n", pa.int64())]))


def plain(values):
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, name):
            return getattr(values, name)()
    return list(values)


def single_columns():
    out = [TEXTS, tuple(TEXTS), pa.array(TEXTS), pa.chunked_array([TEXTS[:2], TEXTS[2:]])]
    try:
        import pandas

        out += [pandas.Series(TEXTS, dtype=object), pandas.Series(TEXTS, dtype=object, index=list("wxyz")), pandas.Series(TEXTS, dtype=object).to_numpy()]
    except ImportError:
        pass
    try:
        import polars

        out.append(polars.Series("body", TEXTS))
    except ImportError:
        pass
    return out


@pytest.mark.parametrize("column", single_columns(), ids=lambda c: f"{type(c).__module__.split('.')[0]}.{type(c).__name__}")
def test_a_single_column(column):
    kept, verdicts = deduplicate(column, with_verdicts=True)
    assert type(kept) is type(column) and plain(kept) == [A, B, None]
    assert verdicts.is_duplicate.tolist() == [False, True, False, False]
    assert plain(deduplicate(column, keep="longest", keep_unscored=False)) == [A + "!", B]


def test_a_list_of_dicts_keeps_the_dicts(tmp_path):
    assert deduplicate(ROWS) == [ROWS[0], ROWS[2], ROWS[3]]
    assert deduplicate(tuple(ROWS), id="id", keep=("n", "desc"), order_by="id desc") == (ROWS[1], ROWS[2], ROWS[3])
    assert deduplicate(row for row in ROWS) == [ROWS[0], ROWS[2], ROWS[3]]
    done = clean(ROWS, tmp_path / "out", id="id", progress=False)
    # Fields that the first row lacks are not lost.
    assert pq.read_table(done.files[0]).to_pylist() == TABLE.take([0, 2, 3]).to_pylist()
    assert clean([dict(row) for row in ROWS], tmp_path / "out", id="id", progress=False) == done
    with pytest.raises(ValueError, match="src: not the table"):
        clean(ROWS[:3], tmp_path / "out", id="id", progress=False)


def test_a_lazy_frame():
    polars = pytest.importorskip("polars")
    kept = deduplicate(polars.LazyFrame(TABLE.to_pydict()), keep=("n", "desc"))
    assert isinstance(kept, polars.LazyFrame) and kept.collect()["id"].to_list() == ["b", "c", "d"]


def test_streams_of_hugging_face(tmp_path):
    datasets = pytest.importorskip("datasets")
    stream = datasets.Dataset.from_list([{"id": "a", "n": None, **row} for row in ROWS]).to_iterable_dataset()
    kept = deduplicate(stream)
    assert isinstance(kept, datasets.IterableDataset) and [row["id"] for row in kept] == ["a", "c", "d"] and kept.features == stream.features
    done = clean(stream, tmp_path / "out", progress=False)
    assert pq.read_table(done.files[0])["id"].to_pylist() == ["a", "c", "d"]
    assert clean(stream, tmp_path / "out", progress=False) == done
    made = datasets.IterableDataset.from_generator(lambda: iter([{"id": "a", "text": A}, {"id": "b", "text": A}]))  # without features
    assert clean(made, tmp_path / "made", progress=False).kept == 1
    with pytest.raises(TypeError, match="one split of it"):
        deduplicate(datasets.IterableDatasetDict({"train": stream}))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for i in range(2):
        pq.write_table(TABLE.slice(2 * i, 2), tmp_path / "in" / f"{i}.parquet")
    return tmp_path / "in"


def test_data_sets_and_open_files(folder, tmp_path):
    assert deduplicate(pyarrow.dataset.dataset(folder))["id"].to_pylist() == ["a", "c", "d"]
    with open(folder / "0.parquet", "rb") as file:
        assert deduplicate(file)["id"].to_pylist() == ["a"]
        assert clean(file, tmp_path / "out", progress=False).kept == 1
        assert clean(file, tmp_path / "out", progress=False).kept == 1  # started again
        with pytest.raises(TypeError, match="is an open file; give its path"):
            list(scan_parquet(file))
    assert clean(io.BytesIO((folder / "0.parquet").read_bytes()), tmp_path / "of bytes", progress=False).rows == 2
    with pytest.raises(ValueError, match="src: the open file is not Parquet"):
        clean(io.BytesIO(b"{}"), tmp_path / "nothing", progress=False)
    with pytest.raises(TypeError, match="str is not a table.*clean.. and scan_parquet.. take files"):
        deduplicate("in.parquet")


def test_generators_and_patterns_of_paths(folder, tmp_path):
    done = clean((path for path in sorted(folder.iterdir())), tmp_path / "out", progress=False)
    assert (done.rows, done.kept) == (4, 3)
    for paths in (str(folder / "*.parquet"), [folder / "0.*", folder / "1.*"], folder.glob("*"), str(folder.parent / "i*")):
        assert sum(len(batch) for batch, _ in scan_parquet(paths)) == 4
        assert decontaminate(paths if isinstance(paths, (str, list)) else folder.glob("*"), [{"id": "q", "question": B}], progress=False).ids == ["c"]
    with pytest.raises(FileNotFoundError, match="no such file, and no file fits it"):
        list(scan_parquet(folder / "*.txt"))
