"""The command `doppel` of this package. The program is not in the wheel: this starts it where it is installed, and elsewhere
says how to get it. Apart from doppel_dedup, so that it starts without NumPy."""

from __future__ import annotations

import os
import sys

MISSING = """\
doppel: the program is not installed. This Python package has the engine and its functions (import doppel_dedup), but not the
program with its commands, because that needs 60 MB of libraries, most of them for Kafka and HTTP.
To get it, build it from a clone of the project: README.md and docs/getting-started.md say how, also as a .deb and an image.
Then put it into a folder of PATH. Without it: doppel_dedup.clean, deduplicate, decontaminate, resolve and Index do the work of
`doppel scan`, `sign` and `decontaminate`."""


def program() -> str | None:
    """The first `doppel` in PATH that is a program, not a script like this one in another environment."""
    for folder in os.get_exec_path():
        path = os.path.join(folder, "doppel")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    return path
    return None


def main() -> None:
    """Becomes the program: the same arguments, streams, signals and exit code."""
    path = program()
    if path is None:
        sys.stderr.write(MISSING + "\n")
        sys.exit(127)
    os.execv(path, ["doppel", *sys.argv[1:]])
