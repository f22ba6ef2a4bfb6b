#!/usr/bin/env python3
"""The checks to run while working: scripts/lint, and the quick tests of what changed. scripts/test --changed [BASE] runs this.

The tests of src/a/b are in tests/a/b, or else in tests/a, or in a folder `unit` there. It takes the files that changed since
BASE (by default the branch main), also uncommitted ones. It names changed folders that have no such tests.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITH_BROKER = "kafka"  # of its folders, only kafka/unit is quick
LONG = "^(slow|crash|kafka|hadoop|http|browser|packaging|prometheus|python)$"


def tests_of(name, folders):
    """The folder of tests that belongs to a file, or None."""
    parts = pathlib.PurePath(name).parts
    if parts[0] not in ("src", "lab", "tests"):
        return None
    if parts[0] == "lab":
        return "lab"
    for length in range(len(parts) - 1, 1, -1):
        for folder in ("/".join(parts[1:length]), "/".join([*parts[1:length], "unit"])):
            if folder in folders:
                return folder
    return None


def run(*command):
    print("test:", *command, flush=True)
    return subprocess.run(command, cwd=ROOT).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", metavar="BASE")
    base = list(filter(None, [parser.parse_args().base]))
    start = time.time()
    said = subprocess.run([ROOT / "scripts/lint", "--list-changed", *base], capture_output=True, text=True)
    if said.returncode != 0:
        sys.exit(said.stderr.strip())
    changed = said.stdout.splitlines()
    folders = {str(f.parent.relative_to(ROOT / "tests")) for f in (ROOT / "tests").rglob("*_test.cc")} - {WITH_BROKER}
    wanted = {name: tests_of(name, folders) for name in changed}
    chosen = sorted(set(filter(None, wanted.values())))
    good = run("scripts/lint", "--changed", *base)
    if chosen:
        targets = ["test_" + f.replace("/", "_") for f in chosen]
        good = (run("cmake", "--preset", "release", "--log-level=WARNING")
                and run("cmake", "--build", "build/release", "-j", str(os.cpu_count()), "--target", *targets, "--", "--quiet")
                and run("ctest", "--test-dir", "build/release", "-R", f"^({'|'.join(map(re.escape, chosen))})[./]", "-LE", LONG,
                        "--output-on-failure", "--no-tests=error", "-j", str(os.cpu_count()))) and good
    print(f"test: {len(changed)} files changed; tests of {', '.join(chosen) or 'no folder'}: "
          f"{'good' if good else 'FAILED'}, {time.time() - start:.0f} s")
    if rest := sorted({str(pathlib.PurePath(n).parent) for n, folder in wanted.items() if folder is None}):
        print(f"test: only scripts/test --all covers {', '.join(rest)}")
    return 0 if good else 1


sys.exit(main())
