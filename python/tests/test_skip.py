"""on_error="skip": a file that cannot be read is left out, and named; never anything else."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from doppel_dedup import Index, _parquet, _remote, clean, decontaminate, scan_parquet

TEXTS = [" ".join(f"word{i * n % 97}x{i}" for i in range(40)) for n in range(1, 41)]


@pytest.fixture
def folder(tmp_path):
    """Four files of ten rows, the second of which cannot be read, and the third of which lacks the column."""
    (tmp_path / "in").mkdir()
    for n in range(4):
        # Copies of the rows of the second and third file are in the fourth.
        texts = TEXTS[10 * n : 10 * n + 10] if n < 3 else TEXTS[30:] + [text.upper() for text in TEXTS[:30]]
        table = pa.table({"id": [f"{n}-{i}" for i in range(len(texts))], "text" if n != 2 else "body": texts})
        pq.write_table(table, tmp_path / "in" / f"{n}.parquet", row_group_size=5, compression="none", use_dictionary=False, write_page_checksum=True)
    return tmp_path / "in"


def damage(path, what):
    raw = bytearray(path.read_bytes())
    if what == "footer":
        raw[-9] ^= 0xFF
        raw = raw[:-200]
    elif what == "no Parquet":
        raw = bytearray(b"nothing")
    elif what == "second row group":
        raw[raw.index(TEXTS[17].encode()) - 300 : raw.index(TEXTS[17].encode())] = b"\xff" * 300
    else:
        raw = bytearray()
    path.write_bytes(raw)


@pytest.mark.parametrize("what", ["footer", "no Parquet", "second row group", "empty"])
def test_clean_leaves_out_what_cannot_be_read(folder, tmp_path, what):
    damage(folder / "1.parquet", what)
    with pytest.raises((KeyError, OSError, pa.ArrowException), match="[12].parquet"):
        clean(folder, tmp_path / "out", progress=False)
    with pytest.warns(UserWarning) as warned:
        done = clean(folder, tmp_path / "skipped", on_error="skip", progress=False)
    assert sorted(done.skipped) == ["1.parquet", "2.parquet"] and ", 2 skipped" in repr(done)
    assert "no column 'text' among 'id', 'body'" in done.skipped["2.parquet"]
    assert [name in str(one.message) for name, one in zip(("1.parquet", "2.parquet"), warned)] == [True, True]
    # No row counts as an original that is not in the output.
    assert [pq.read_table(file).num_rows for file in done.files] == [10, 30]
    # A file that was mended is a new one.
    pq.write_table(pa.table({"id": ["new"], "text": ["one two three four five six seven"]}), folder / "2.parquet")
    with pytest.warns(UserWarning, match="1.parquet"):
        again = clean(folder, tmp_path / "skipped", on_error="skip", progress=False)
    assert sorted(again.skipped) == ["1.parquet"] and again.kept == 41


def test_nothing_that_can_be_read_is_an_error(folder, tmp_path):
    with pytest.warns(UserWarning), pytest.raises(ValueError, match="src: none of 1 files can be read: .*2.parquet"):
        clean(folder / "2.parquet", tmp_path / "out", on_error="skip", progress=False)
    with pytest.raises(ValueError, match="on_error: 'ignore' is neither 'raise' nor 'skip'"):
        clean(folder, tmp_path / "out", on_error="ignore")
    with pytest.raises(ValueError, match="on_error: 'ignore' is neither 'raise' nor 'skip'"):
        list(scan_parquet(folder, on_error="ignore"))


def test_a_way_that_is_broken_is_no_broken_file(folder, tmp_path, monkeypatch):
    def unreachable(*_):
        raise _remote.Unreachable("the server is gone")

    monkeypatch.setattr(_parquet, "for_reader", unreachable)
    with pytest.raises(_remote.Unreachable):
        clean(folder, tmp_path / "out", on_error="skip", progress=False)
    with pytest.raises(_remote.Unreachable):
        list(scan_parquet(folder, on_error="skip"))


@pytest.mark.parametrize("with_path", [False, True])
def test_scan_goes_on_with_the_next_file(folder, tmp_path, with_path):
    damage(folder / "1.parquet", "second row group")
    with Index(path=tmp_path / "index" if with_path else None) as index:
        with pytest.warns(UserWarning) as warned:
            ids = [id for batch, _ in scan_parquet(folder, id="id", index=index, on_error="skip", batch_rows=5) for id in batch["id"].to_pylist()]
        assert ids[:15] == [f"{n}-{i}" for n, rows in ((0, 10), (1, 5)) for i in range(rows)] and len(ids) == 10 + 5 + 40
        assert len(warned) == 2 and "1.parquet: cannot be read from row 5 on" in str(warned[0].message)
        if with_path:  # the next pass tries the rest again, and nothing else
            with pytest.warns(UserWarning) as warned:
                assert [id for batch, _ in scan_parquet(folder, id="id", index=index, on_error="skip", batch_rows=5) for id in batch["id"].to_pylist()] in ([], [f"1-{i}" for i in range(5)])
            assert len(warned) == 2


def test_decontaminate_leaves_out_what_has_no_text(folder, tmp_path):
    items = [{"id": "q", "question": TEXTS[3]}]
    with pytest.raises(ValueError, match="2.parquet"):
        decontaminate(folder, items, dst=tmp_path / "out", progress=False)
    with pytest.warns(UserWarning, match="skipped: .*2.parquet"):
        found = decontaminate(folder, items, dst=tmp_path / "out", on_error="skip", progress=False)
    assert [len(found.files), found.documents, found.contaminated] == [3, 60, 2] and "2.parquet" in found.messages[0]
