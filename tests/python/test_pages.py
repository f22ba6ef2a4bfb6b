"""The programs of a page run as they are written there, one after the other, in one place with the examples of a clone."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).parent.parent.parent
PAGES = {"python.md": 9, "python-walkthrough.md": 6}  # at least so many programs


@pytest.mark.parametrize("page", PAGES)
def test_programs(tmp_path, page):
    programs = re.findall(r"^```python\n(.*?)^```$", (SOURCE / "docs" / page).read_text(), re.S | re.M)
    assert len(programs) >= PAGES[page]
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    for n, program in enumerate(programs):
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"program {n + 1}:\n{program}\n{done.stderr}"
        # "# prints: X" is what it prints, line by line.
        expected = re.findall(r"# prints: (.*)$", program, re.M)
        assert done.stdout.splitlines() == expected, f"program {n + 1}:\n{program}"
    # Pictures that a page draws are those that it shows.
    for picture in tmp_path.glob("*.svg"):
        assert picture.read_text() == (SOURCE / "docs" / "pictures" / picture.name).read_text(), picture.name


def test_the_notebook_is_that_of_the_page(tmp_path):
    pytest.importorskip("nbclient")
    made, kept = tmp_path / "made.ipynb", SOURCE / "examples/clean-a-crawl.ipynb"
    done = subprocess.run([sys.executable, SOURCE / "tools/make-notebook", "--out", made], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(made.read_text())["cells"] == json.loads(kept.read_text())["cells"], "tools/make-notebook writes it again"
