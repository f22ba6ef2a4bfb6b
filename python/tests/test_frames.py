"""Columns of pandas, polars and pyarrow as people have them: of any type, with missing values, in any version that is declared."""

import pytest

from doppel_dedup import Index, deduplicate

np = pytest.importorskip("numpy")
pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

A, B = "one two three four five six", "seven eight nine ten eleven twelve"
ROWS = [A, None, B, A.upper()]  # of which the first three stay


def frames():
    yield "object", np.array(ROWS, dtype=object)
    yield "object with NA", np.array([A, pd.NA, B, A.upper()], dtype=object)
    yield "object with nan", np.array([A, np.nan, B, A.upper()], dtype=object)
    yield "string", pd.array(ROWS, dtype="string")
    yield "string[pyarrow]", pd.array(ROWS, dtype="string[pyarrow]")
    yield "Arrow", pd.array(ROWS, dtype=pd.ArrowDtype(pa.string()))
    yield "Arrow, large", pd.array(ROWS, dtype=pd.ArrowDtype(pa.large_string()))
    yield "categorical", pd.Categorical([A, None, B, A.upper()])


@pytest.mark.parametrize("column", [pytest.param(column, id=name) for name, column in frames()])
def test_text_columns_of_pandas(column):
    frame = pd.DataFrame({"text": column, "n": [0, 1, 2, 3]}, index=[7, 7, 8, 9])
    clean = deduplicate(frame)
    assert list(clean["n"]) == [0, 1, 2] and list(clean.index) == [7, 7, 8]
    assert clean["text"].dtype == frame["text"].dtype
    verdicts = Index().add(frame["text"])
    assert list(verdicts.verdict) == ["unique", "unscored", "unique", "duplicate"]
    assert list(Index().query(frame["text"]).verdict) == ["unique", "unscored", "unique", "unique"]


def test_missing_values_in_lists():
    assert list(Index().add([A, pd.NA, float("nan"), None]).verdict) == ["unique"] + ["unscored"] * 3
    assert list(Index().add(np.array([A, pd.NA], dtype=object)).verdict) == ["unique", "unscored"]
    with pytest.raises(ValueError, match="ids: row 1 has none"):
        Index().add([A, B], ids=[1, pd.NA])
    dates = [pd.NaT, pd.NA, np.datetime64("NaT"), pd.Timestamp("2024-01-01")]
    assert len(Index(expire_after="30d").add([A, B, A, B], dates=dates)) == 4


def test_ids_of_pandas():
    for ids in (pd.Categorical(["x", "y"]), pd.array([1, 2], dtype="Int64"), pd.array(["x", "y"], dtype="string[pyarrow]")):
        frame = pd.DataFrame({"text": [A, A], "id": ids})
        kept, verdicts = deduplicate(frame, id="id", with_verdicts=True)
        assert list(kept["id"]) == list(ids)[:1] and list(verdicts.original) == [None, str(ids[0])]
    with pytest.raises(ValueError, match="ids: row 1 has none"):
        deduplicate(pd.DataFrame({"text": [A, A], "id": pd.array([1, None], dtype="Int64")}), id="id")


@pytest.mark.parametrize("kind", [object, "string", "string[pyarrow]", "float64", "category"])
def test_empty_frames(kind):
    frame = pd.DataFrame({"text": pd.Series([], dtype=kind), "n": pd.Series([], dtype="int64")})
    assert len(deduplicate(frame)) == 0 and list(deduplicate(frame).columns) == ["text", "n"]
    assert len(Index().add(frame["text"])) == 0


def test_missing_values_in_what_sorts_and_keeps():
    frame = pd.DataFrame({"text": [A, B, A.upper()], "score": pd.array([3, None, 4], dtype="Int64")})
    assert list(deduplicate(frame, keep=("score", "desc")).index) == [1, 2]
    assert list(deduplicate(frame, order_by="score desc").index) == [1, 2]


def test_columns_of_pyarrow():
    rows = pa.chunked_array([[A, None], [B, A.upper()]])
    for column in (rows, rows.cast(pa.large_string()), rows.cast(pa.binary()), rows.dictionary_encode(), rows.combine_chunks(),
                   rows.combine_chunks().dictionary_encode()):
        assert list(Index().add(column).verdict) == ["unique", "unscored", "unique", "duplicate"]
        table = pa.table({"text": column, "n": [0, 1, 2, 3]})
        assert deduplicate(table)["n"].to_pylist() == [0, 1, 2] and deduplicate(table).schema == table.schema
        assert deduplicate(table, keep="longest")["n"].to_pylist() == [0, 1, 2]
    for kind in (pa.string(), pa.null(), pa.dictionary(pa.int32(), pa.string())):
        assert deduplicate(pa.table({"text": pa.array([], kind)})).num_rows == 0
        assert deduplicate(pa.table({"text": pa.array([None], kind)})).num_rows == 1


def test_columns_of_polars():
    pl = pytest.importorskip("polars")
    for kind in (pl.Utf8, pl.Categorical):
        frame = pl.DataFrame({"text": pl.Series(ROWS, dtype=kind), "n": [0, 1, 2, 3]})
        assert deduplicate(frame)["n"].to_list() == [0, 1, 2] and deduplicate(frame).schema == frame.schema
        assert deduplicate(frame.clear()).schema == frame.schema
        assert deduplicate(frame.lazy()).collect().equals(deduplicate(frame))


def test_columns_that_are_no_texts_explain_themselves():
    with pytest.raises(TypeError, match="texts: (a column of whole numbers|row 0 is of type int); give str"):
        deduplicate(pd.DataFrame({"text": [1, 2]}))
    with pytest.raises(TypeError, match="texts: a column of lists; give strings"):
        deduplicate(pa.table({"text": [["a"]]}))
    with pytest.raises(TypeError, match="ids: (a column of numbers|row 0 is of type float); give str"):
        deduplicate(pd.DataFrame({"text": [A], "id": [0.5]}), id="id")


def test_missing_values_are_last_in_every_order():
    polars = pytest.importorskip("polars")
    nan = float("nan")
    for scores, order, kept in [
        ([3.0, nan, 1.0, 2.0], "score", 1.0),
        ([0.5, nan, 0.9], "score desc", 0.9),
        ([nan, None, 0.9, 0.5], "score desc", 0.9),
        ([None, nan, 3.0, 1.0], "score", 1.0),
    ]:
        columns = {"text": [A] * len(scores), "score": scores}
        rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
        assert deduplicate(rows, order_by=order) == [{"text": A, "score": kept}]
        for kind in (dict, pa.table, pd.DataFrame, polars.DataFrame):
            assert list(deduplicate(kind(columns), order_by=order)["score"]) == ([pa.scalar(kept) if kind is pa.table else kept])
    with pytest.raises(TypeError, match="^order_by: the values of column 'score' cannot be sorted: '<' not supported between .* 'str' and 'int'"):
        deduplicate({"text": [A, B], "score": [1, "x"]}, order_by="score")
