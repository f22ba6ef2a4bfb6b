"""What is held in memory."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench" / "python"))
import memory


def test_files_are_not_held(tmp_path):
    # 100 MB of text, one row group; batches of 5 MB.
    figures = memory.measure(documents=100_000, row_group=100_000, batch_rows=5_000, directory=tmp_path)
    assert figures["documents"] == 100_000 and figures["unique"] == 75_000
    assert figures["rest"] <= figures["allowed"], figures
