#!/usr/bin/env python3
"""Decides which .cc files can be compiled as one, so that their common headers are read once. usage: chunks.py FILE...

Prints a line for each file: the number of its chunk and the name. Two files do not share a chunk if one of them declares in
an anonymous namespace what the other one or its headers also declare. The declarations are found by their form: clang-format
puts declarations at the top level in the first column.
"""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHUNK_BYTES = 60_000
ENTRY_POINTS = {b"main", b"LLVMFuzzerTestOneInput"}  # each file of a chunk may have its own, under another name
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)
# The name of a declaration that begins in the first column, before its parenthesis, brace or value. For a test, suite and name.
TOP_NAME = re.compile(rb"""^(?:
    TEST(?:_[FP])?\((\w+),\ *(\w+) | RC_GTEST_\w+\((\w+),\ *(\w+) | \#\s*define\s+(\w+)
    | (?:struct|class|union)\ alignas\([^)]*\)\ (\w+)
    | (?:inline\ )?constexpr\ [^\n=]*?\b(k[A-Z]\w*)\s*[={[]
    | (?!namespace|return|using\ namespace)(?:extern\ "C"\ )?(?:\w[\w:<>,&*\ \[\]]*[\s&*>])?(\w+)\s*(?:\[\w*\]\s*)?(?:[({;=]|:\ )
    )""", re.M | re.X)


class Includes:
    """Finds the headers of ours that a file includes, directly and through others."""

    def __init__(self):
        self.contents = {}
        self.direct = {}
        self.closures = {}
        self.names = {}

    def read(self, path):
        if path not in self.contents:
            self.contents[path] = path.read_bytes()
        return self.contents[path]

    def of(self, path):
        if path not in self.direct:
            names = [name.decode() for name in INCLUDE.findall(self.read(path))]
            places = [path.parent, ROOT / "src", ROOT / "include", ROOT / "tests", ROOT / "bench", ROOT]
            found = (next((p / name for p in places if (p / name).is_file()), None) for name in names)
            self.direct[path] = [pathlib.Path(os.path.normpath(f)) for f in found if f]
        return self.direct[path]

    def closure(self, path):
        if path not in self.closures:
            seen, open_ = {path}, [path]
            while open_:
                for other in self.of(open_.pop()):
                    if other not in seen:
                        seen.add(other)
                        open_.append(other)
            self.closures[path] = sorted(seen)
        return self.closures[path]

    def top_names(self, path):
        """The names that a file declares at the top level."""
        if path not in self.names:
            self.names[path] = {b" ".join(filter(None, found)) for found in TOP_NAME.findall(self.read(path))}
        return self.names[path]


class Chunk:
    def __init__(self):
        self.files = []
        self.size = 0
        self.local = set()
        self.public = set()

    def takes(self, size, local, public):
        return (self.size + size <= CHUNK_BYTES and not local & (self.local | self.public)
                and not public & self.local)

    def add(self, path, size, local, public):
        self.files.append(path)
        self.size += size
        self.local |= local
        self.public |= public


def chunks_of(includes, paths):
    """Divides the files into chunks."""
    groups = {}
    for path in sorted(paths):
        closure = includes.closure(path)
        # The namespace doppel::testing hides GoogleTest's `testing`, so files with and without it do not share a chunk.
        hides = any(b"namespace doppel::testing" in includes.read(p) for p in closure)
        public = set().union(*(includes.top_names(p) for p in closure if p != path))
        local, size = includes.top_names(path) - public - ENTRY_POINTS, len(includes.read(path))
        chunks = groups.setdefault(hides, [])
        chunk = next((c for c in chunks if c.takes(size, local, public)), None)
        if chunk is None:
            chunks.append(chunk := Chunk())
        chunk.add(path, size, local, public)
    return [chunk for group in groups.values() for chunk in group]


def text_of(includes, chunk):
    """The text of the file that is compiled in place of a chunk's files."""
    text = ""
    for number, path in enumerate(chunk.files):
        names = sorted(n.decode() for n in includes.top_names(path) & ENTRY_POINTS)
        text += "".join(f"#define {n} entry_point_{number}\n" for n in names)
        text += f'#include "{path}"\n'
        text += "".join(f"#undef {n}\n" for n in names)
    return text


if __name__ == "__main__":
    made = chunks_of(Includes(), [pathlib.Path(os.path.abspath(name)) for name in sys.argv[1:]])
    for number, made_chunk in enumerate(made):
        for file in made_chunk.files:
            print(number, file)
