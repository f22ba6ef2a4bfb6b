"""The programs in docs/python.md run as they are written there, one after the other, in one place."""

import os
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).parent.parent.parent / "docs" / "python.md"


def test_programs(tmp_path):
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.S | re.M)
    assert len(programs) >= 8
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    for n, program in enumerate(programs):
        done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment,
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"program {n + 1}:\n{program}\n{done.stderr}"
        # "# prints: X" is what it prints, line by line.
        expected = re.findall(r"# prints: (.*)$", program, re.M)
        assert done.stdout.splitlines() == expected, f"program {n + 1}:\n{program}"
