#!/usr/bin/env python3
"""scripts/test: which parts it runs, in which order, with which calls of ctest, and how it ends. Its list of few tests names
tests that there are. usage: test_script_test.py --build BUILD

It runs a copy of the script whose tools only write down how they were called.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = """#!/bin/bash
name=${0#"$STUB_ROOT"/}
echo "$name $*" >>"$STUB_ROOT/calls"
case "$name $*" in *$STUB_FAILS*) [ -z "$STUB_FAILS" ] || { echo "said by $name" && exit 3; } ;; esac
[ "$name" != bin/ctest ] || { mkdir -p build/release/Testing/Temporary && printf '1:a\\n' >build/release/Testing/Temporary/LastTestsFailed.log
  touch build/release/Testing/Temporary/LastTest.log && echo "Total Test time (real) = 1 sec"; }
"""
LONG = "^(slow|crash|kafka|hadoop|http|browser|packaging|prometheus|python)$"


class Script(unittest.TestCase):
    def run_script(self, *flags, fails="", code=0, program="scripts/test"):
        """What it said, and the calls of its tools."""
        with tempfile.TemporaryDirectory() as temporary:
            root = pathlib.Path(temporary)
            for name in ("bin/cmake", "bin/ctest", "bin/nproc", "scripts/install-deps", "scripts/lint", "scripts/check-layers", "scripts/arm64-root",
                         "scripts/debian13", "scripts/lint.d/test_changed.py", "build/asan/tests/fuzz/text_fuzz", "build/asan-venv/bin/python",
                         "build/asan-venv/bin/pip"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(TOOL)
                (root / name).chmod(0o755)
            (root / "bin/nproc").write_text("#!/bin/sh\necho 2\n")
            (root / ".ci").mkdir()
            for name in ("scripts/test", ".ci/run"):
                shutil.copy(ROOT / name, root / name)
            (root / "tests").symlink_to(ROOT / "tests")
            done = subprocess.run([root / program, *flags], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={**os.environ, "PATH": f"{root}/bin:{os.environ['PATH']}", "STUB_ROOT": str(root), "STUB_FAILS": fails})
            self.assertEqual(done.returncode, code, done.stdout)
            calls = root / "calls"
            said = re.sub(r", \d+ s$", ", 0 s", done.stdout, flags=re.M)
            return said, calls.read_text().replace(str(root), ".").splitlines() if calls.exists() else []

    def ctests(self, calls):
        """The folder and the choice of each call of ctest."""
        return [re.sub(r".*--test-dir build/(\w+) --output-on-failure --no-tests=error -j \d --timeout 900 ?", r"\1 ", c).strip()
                for c in calls if c.startswith("bin/ctest ")]

    def parts(self, said):
        return [p for p in re.findall(r"^=== (.*)", said, re.M) if not re.search(r": (good|FAILED), ", p)]

    def test_without_flags_it_runs_the_quick_tests_and_a_few(self):
        said, calls = self.run_script()
        self.assertRegex(said, r"\Atest: builds doppel, .* about 15 minutes on two cores .*scripts/test --all\n")
        self.assertEqual(self.parts(said), ["packages", "build", "quick tests", "tests with real components"])
        self.assertIn("scripts/install-deps test", calls)
        self.assertIn("bin/cmake --preset release -DDOPPEL_UNITY=ON --log-level=WARNING", calls)
        self.assertIn("bin/cmake --build --preset release -j 2 --target quick_tests -- --quiet", calls)
        quick, few = self.ctests(calls)
        self.assertEqual(quick, f"release -LE {LONG} -E ^test_kafka_NOT_BUILT$")
        self.assertRegex(few, r"^release -R \^\(.*\)\$$")
        self.assertRegex(said, r"Total Test time .*\n=== .*\n\ntest: all good after \d+ min[.].* scripts/test --all\n\Z")
        self.assertEqual(self.run_script("--no-install")[1], calls[1:])

    def test_a_build_that_fails_ends_it_and_a_test_that_fails_does_not(self):
        said, calls = self.run_script(fails="--build", code=1)
        self.assertEqual(self.ctests(calls), [])
        said, calls = self.run_script(fails="-LE", code=1)
        self.assertEqual(len(self.ctests(calls)), 2)
        self.assertIn("FAILED: quick tests\nsaid by bin/ctest\n", said)
        self.assertNotIn("all good", said)
        self.assertIn("FAILED: tests with real components\n", self.run_script(fails="-R", code=1)[0])

    def test_all_are_the_parts_of_ci_and_end_with_the_summary_of_ctest(self):
        said, calls = self.run_script("--all")
        self.assertRegex(said, r"\Atest: runs every check \(docs lint tsan fuzz arm64 asan release\): about an hour on two cores")
        self.assertEqual(self.parts(said), ["packages", "format", "layers", "release: build", "clang-tidy", "tsan", "fuzz", "arm64", "asan: build",
                                            "asan: tests", "release: all tests"])
        self.assertEqual([c.split()[0] for c in self.ctests(calls)], ["tsan", "arm64", "asan", "release"])
        self.assertEqual(self.ctests(calls)[-1], "release")
        self.assertIn("bin/cmake --build --preset release -j 2 -- --quiet", calls)
        self.assertTrue(said.endswith("\nTotal Test time (real) = 1 sec\n"), said[-300:])
        self.assertEqual(self.run_script(program=".ci/run"), (said, calls))
        self.assertEqual(self.run_script("docs", program=".ci/run")[1], ["scripts/install-deps test", "scripts/lint --format-only", "scripts/check-layers "])
        said, calls = self.run_script("--all", fails="scripts/lint ", code=1)
        self.assertIn("FAILED: clang-tidy\nsaid by scripts/lint\n", said)
        self.assertEqual(len(self.ctests(calls)), 4)
        self.run_script("--all", fails="build/release", code=1)

    def test_other_choices(self):
        said, calls = self.run_script("--quick", "--no-install")
        self.assertRegex(said, r"\Atest: runs docs release, ")
        self.assertEqual(self.parts(said), ["format", "layers", "release: build", "release: all tests"])
        said, calls = self.run_script("fuzz", "--no-install")
        self.assertEqual(self.parts(said), ["fuzz"])
        self.assertRegex("\n".join(calls), r"text_fuzz -seed=1 -max_total_time=5 ")
        self.assertEqual(self.run_script("--debian13", "--all")[1], ["scripts/debian13 --all"])
        self.assertEqual(self.run_script("--changed", "main")[1], ["scripts/lint.d/test_changed.py main"])
        said, calls = self.run_script("--fast", code=2)
        self.assertIn("usage: test [--all | --quick | PART...]", said)
        self.assertEqual(calls, [])

    def test_the_few_are_there_and_are_not_quick(self):
        (few,) = re.findall(r" -R (\S+)", "\n".join(self.run_script("--no-install")[1]))
        wanted = few.removeprefix("^(").removesuffix(")$").split("|")
        # In a folder of its own: ctest writes its log anew even to list tests, and here it may run the one that runs this test.
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "CTestTestfile.cmake").write_text(f'subdirs("{pathlib.Path(BUILD).resolve()}")\n')
            listed = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], check=True, stdout=subprocess.PIPE).stdout
        labels = {t["name"]: {label for p in t.get("properties", []) if p["name"] == "LABELS" for label in p["value"]} for t in json.loads(listed)["tests"]}
        found = {name: labels.get(name) for name in wanted if re.fullmatch(few.strip("^$"), name)}
        self.assertEqual([name for name in wanted if found.get(name) is None], [], "scripts/test names tests that are not there")
        self.assertEqual([name for name in wanted if not any(re.search(LONG, label) for label in found[name])], [], "they run with the quick tests")
        for real in ("kafka", "crash", "browser"):
            self.assertTrue(any(real in of for of in found.values()), f"none has the label {real}")


parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
ARGS, REST = parser.parse_known_args()
BUILD = ARGS.build
unittest.main(argv=[sys.argv[0], *REST])
