"""What is held in memory."""

import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import seed_of_this_run

from doppel_dedup import _parquet, _sources, clean, scan_parquet

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench" / "python"))
import memory


def test_files_are_not_held(tmp_path):
    # 100 MB of text, one row group; batches of 5 MB.
    figures = memory.measure(documents=100_000, row_group=100_000, batch_rows=5_000, directory=tmp_path)
    assert figures["documents"] == 100_000 and figures["unique"] == 75_000
    assert figures["rest"] <= figures["allowed"], figures


@pytest.mark.parametrize("dictionary", [False, True])
def test_batches_are_bounded_in_bytes(tmp_path, monkeypatch, dictionary):
    """Long rows make short batches, also where a dictionary holds a text once that many rows have."""
    rng = random.Random(seed_of_this_run())
    monkeypatch.setattr(_parquet, "_BATCH_BYTES", 1 << 20)
    long = ["".join(rng.choices("abcdefgh ", k=100_000)) for _ in range(5)]
    texts = [f"short {i}" for i in range(3000)] + [rng.choice([*long, None]) if dictionary else long[i % 5] for i in range(100)] + ["end"] * 50
    table = pa.table({"id": [f"d{i}" for i in range(len(texts))], "text": texts, "n": range(len(texts))})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=1600, use_dictionary=dictionary, dictionary_pagesize_limit=1 << 22)
    batches = [batch for batch, _ in scan_parquet(tmp_path / "in.parquet", id="id")]
    assert pa.Table.from_batches(batches).equals(table)
    assert max(batch.nbytes for batch in batches) < 2_500_000  # 10 MB lie side by side
    assert len(batches[0]) >= 100
    # From any row on.
    for row in (0, 1599, 1600, 2999, 3050, len(texts) - 1):
        rest = list(_parquet.parquet_batches(str(tmp_path / "in.parquet"), [], None, 1000, row))
        assert pa.Table.from_batches(rest).equals(table.slice(row))
    done = clean(tmp_path / "in.parquet", tmp_path / "out", id="id", progress=False)
    assert done.rows == len(texts) and pq.read_schema(tmp_path / "out" / "in.parquet").equals(table.schema)


def test_tables_are_copied_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(_sources, "_GROUP_BYTES", 1 << 16)
    monkeypatch.setattr(_sources, "_FILE_BYTES", 1 << 18)
    table = pa.table({"text": [f"{i} " * 400 for i in range(1000)]})
    files = _sources.stage(table, str(tmp_path / "parts"))
    assert pa.concat_tables(map(pq.read_table, files)).equals(table)
    groups = [pq.read_metadata(file).row_group(i).total_byte_size for file in files for i in range(pq.read_metadata(file).num_row_groups)]
    assert len(files) > 3 and max(groups) < (1 << 16) + 4000
