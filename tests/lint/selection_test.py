#!/usr/bin/env python3
"""scripts/lint: what counts as a change of a file, which sources show the findings of changed files, and what pages may name."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lint.d"))
import content  # noqa: E402
from links import broken_links  # noqa: E402
from tidy import touched  # noqa: E402

SOURCE = b"""#include "engine/rule.h"

#include <string>

// Adds.
int add(int a, int b) {  // both are small
  return a + b;
}
const char* url() { return "http://here"; }
"""


class Content(unittest.TestCase):
    def same(self, other):
        return content.digest(SOURCE) == content.digest(other)

    def test_moves_comments_and_layout_are_no_change(self):
        self.assertTrue(self.same(SOURCE.replace(b"engine/rule.h", b"engine/rules/rule.h")))
        self.assertTrue(self.same(SOURCE.replace(b"// Adds.", b"// Adds two \"numbers\";\n// it doesn't overflow.")))
        self.assertTrue(self.same(SOURCE.replace(b"// both are small", b"// up to 9")))
        self.assertTrue(self.same(SOURCE.replace(b"  return", b"    return")))

    def test_code_is(self):
        self.assertFalse(self.same(SOURCE.replace(b"a + b", b"a - b")))
        self.assertFalse(self.same(SOURCE.replace(b"<string>", b"<string_view>")))
        self.assertFalse(self.same(SOURCE.replace(b"http://here", b"http://there")))
        self.assertFalse(self.same(SOURCE.replace(b"a + b;", b"a + b;  // NOLINT")))
        self.assertFalse(self.same(SOURCE.replace(b'"http://here"; }', b'"http://here"; } // "x"')))


class Includes:
    """What closure() says of a tree that is only thought of."""

    def __init__(self, **closures):
        self.closures = {pathlib.Path(f"{s}.cc"): {pathlib.Path(f"{s}.cc")} | {pathlib.Path(f"{h}.h") for h in headers}
                         for s, headers in closures.items()}

    def closure(self, path):
        return self.closures[path]


class Touched(unittest.TestCase):
    def check(self, files, expected, **closures):
        includes = Includes(**closures)
        found = touched(includes, set(includes.closures), [pathlib.Path(f) for f in files])
        self.assertEqual(sorted(map(str, found)), expected)

    def test_sources_are_checked_themselves(self):
        self.check(["a.cc", "python.cc"], ["a.cc"], a="", b="")

    def test_a_header_is_checked_by_its_namesake(self):
        self.check(["b.h"], ["b.cc"], a="b", b="ab", c="b")

    def test_or_by_the_source_that_includes_least(self):
        self.check(["x.h"], ["c.cc"], a="xyz", c="xy")

    def test_or_by_a_source_that_is_checked_anyway(self):
        self.check(["a.cc", "b.h"], ["a.cc"], a="b", b="b")

    def test_one_that_nobody_includes_is_left(self):
        self.check(["x.h"], [], a="b")


class Pages(unittest.TestCase):
    def test_targets_and_sources_of_the_maps_must_exist(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src/index").mkdir(parents=True)
            (root / "src/index/index.h").touch()
            page = root / "HACKING.md"
            page.write_text("# A map\n\n`index/index.h`, `src/index/index.h`, [a](#a-map), *_avx2.cc\n")
            self.assertEqual(broken_links(root, [page]), [])
            page.write_text("# A map\n\n`index/gone.h` [b](gone.md)\n\n```\nsrc/index/gone.cc\n```\n")
            self.assertEqual(broken_links(root, [page]), ["HACKING.md:3: gone.md does not exist", "HACKING.md:3: index/gone.h does not exist",
                                                          "HACKING.md:6: src/index/gone.cc does not exist"])


if __name__ == "__main__":
    unittest.main()
