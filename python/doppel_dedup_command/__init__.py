"""The program `doppel`, as it lies in the wheel. Apart from doppel_dedup, so that it starts without NumPy."""

from __future__ import annotations

import importlib.util
import os
import sys


def main() -> None:
    """Becomes the program: the same arguments, streams, signals and exit code."""
    package = importlib.util.find_spec("doppel_dedup")  # found, not imported
    if package is None or package.origin is None:
        sys.exit("doppel: the package doppel_dedup is not there; install doppel-dedup again")
    program = os.path.join(os.path.dirname(package.origin), "bin", "doppel")
    if not os.access(program, os.X_OK):  # some installers drop the mode
        os.chmod(program, os.stat(program).st_mode | 0o111)
    os.execv(program, ["doppel", *sys.argv[1:]])
