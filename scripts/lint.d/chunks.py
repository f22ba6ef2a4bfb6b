#!/usr/bin/env python3
"""Decides which .cc files can be compiled as one, so that their common headers are read once. usage: chunks.py FOLDER FILE...

Writes each chunk of several files to FOLDER/NUMBER.cc, and prints a line for each file in one: the number and the name.
Where one file declares in an anonymous namespace what another one or its headers also declare, a macro gives it another name
in the chunk, after all headers. Where that would be wrong, the two files do not share a chunk. The declarations are found by
their form: clang-format puts declarations at the top level in the first column.
"""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHUNK_BYTES = 60_000  # of a chunk that clang-tidy checks
COMPILED_BYTES = 120_000  # of a chunk that is compiled
ENTRY_POINTS = {b"main", b"LLVMFuzzerTestOneInput"}  # clang-tidy sees them under other names, so each file may have its own
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.M)
# The name of a declaration that begins in the first column, before its parenthesis, brace or value. For a test, suite and name.
TOP_NAME = re.compile(rb"""^(?:
    TEST(?:_[FP])?\((\w+),\ *(\w+) | RC_GTEST_\w+\((\w+),\ *(\w+) | \#\s*define\s+(\w+)
    | (?:struct|class|union)\ alignas\([^)]*\)\ (\w+) | (?:struct|class|enum(?:\ class)?)\ (\w+)(?:\ final)?\ [:{]
    | (?:inline\ )?constexpr\ [^\n=]*?\b(k[A-Z]\w*)\s*[={[]
    | (?!namespace|return|using\ namespace|[A-Z_]+\()(?:extern\ "C"\ )?(?:\w[\w:<>,&*\ \[\]]*[\s&*>])?(\w+)\s*(?:\[\w*\]\s*)?(?:[({;=]|:\ )
    )""", re.M | re.X)

CONSTANTS = re.compile(rb"^(?:inline )?constexpr .*", re.M)  # a line may declare several
CONSTANT = re.compile(rb"\b(k[A-Z]\w*)\s*[={[]")


class Includes:
    """Finds the headers of ours that a file includes, directly and through others."""

    def __init__(self):
        self.contents = {}
        self.direct = {}
        self.closures = {}
        self.names = {}
        self.words_of = {}

    def read(self, path):
        if path not in self.contents:
            self.contents[path] = path.read_bytes()
        return self.contents[path]

    def of(self, path):
        if path not in self.direct:
            self.direct[path] = [file for _, file in self.found(path)]
        return self.direct[path]

    def found(self, path):
        """Each name that a file includes and that is a file of ours, with the file."""
        places = [path.parent, ROOT / "src", ROOT / "include", ROOT / "tests", ROOT / "bench", ROOT]
        for name in INCLUDE.findall(self.read(path)):
            if file := next((p / name.decode() for p in places if (p / name.decode()).is_file()), None):
                yield name, pathlib.Path(os.path.normpath(file))

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
            for constants in CONSTANTS.findall(self.read(path)):
                self.names[path].update(CONSTANT.findall(constants))
        return self.names[path]

    def may_be_renamed(self, path, name):
        """Whether a macro may rename what a file declares: not a test, a macro, a name that the file uses as a member's or a
        namespace's, that a macro of GoogleTest makes names of, or that any header of ours mentions."""
        word = re.escape(name)
        fixed = (rb"\#\s*define\s+%b\b|(?:\.|->|::)\s*%b\b|^(?:TEST|INSTANTIATE|TYPED|RC_)\w*\([^;{]*\b%b\b" % (word, word, word))
        return (b" " not in name and not re.search(fixed, self.read(path), re.M)
                and not any(name in self.words(header) for header in self.closure(path) if header != path))

    def words(self, path):
        if path not in self.words_of:
            self.words_of[path] = set(re.findall(rb"\w+", self.read(path)))
        return self.words_of[path]


class Chunk:
    def __init__(self, most, rename):
        self.most = most  # bytes
        self.rename = rename
        self.files = []
        self.size = 0
        self.local = {}  # name: the files that declare it for themselves
        self.public = set()
        self.fixed = set()  # local names that must stay

    def takes(self, size, local, public, fixed):
        if self.files and self.size + size > self.most:
            return False
        clashes = (local & (self.local.keys() | self.public)) | (public & self.local.keys())
        return not clashes or (self.rename and not clashes & (self.fixed | fixed))

    def add(self, path, size, local, public, fixed):
        self.files.append(path)
        self.size += size
        for name in local:
            self.local.setdefault(name, []).append(path)
        self.public |= public
        self.fixed |= fixed

    def renamed(self, path):
        """The names of a file that others in the chunk have, too."""
        return [name for name, files in self.local.items() if path in files and (len(files) > 1 or name in self.public)]


def chunks_of(includes, paths, most=CHUNK_BYTES, rename=False):
    """Divides the files into chunks of so many bytes."""
    groups = {}
    for path in sorted(paths):
        closure = includes.closure(path)
        # The namespace doppel::testing hides GoogleTest's `testing`, so files with and without it do not share a chunk.
        hides = any(b"namespace doppel::testing" in includes.read(p) for p in closure)
        public = set().union(*(includes.top_names(p) for p in closure if p != path))
        local, size = includes.top_names(path) - public - (set() if rename else ENTRY_POINTS), len(includes.read(path))
        fixed = {name for name in local if name in ENTRY_POINTS or not includes.may_be_renamed(path, name)}
        chunks = groups.setdefault(hides, [])
        chunk = next((c for c in chunks if c.takes(size, local, public, fixed)), None)
        if chunk is None:
            chunks.append(chunk := Chunk(most, rename))
        chunk.add(path, size, local, public, fixed)
    return [chunk for group in groups.values() for chunk in group]


def headers_of(includes, path):
    """The lines that include headers, outside of any #if, and before them the macros that are defined between them."""
    depth, macros, lines = 0, [], []
    names = {f'"{name.decode()}"': file for name, file in includes.found(path)}
    for line in includes.read(path).decode().splitlines():
        directive = re.match(r"\s*#\s*(if|endif|define|include)\b.*?(\S+)$", line)
        if not directive or directive[2].endswith('.inc"'):
            continue
        depth += {"if": 1, "endif": -1}.get(directive[1], 0)
        if depth == 0 and directive[1] == "include":
            lines += macros + [f'#include "{names[directive[2]]}"' if directive[2] in names else line]
            macros = []
        if depth == 0 and directive[1] == "define":
            macros.append(line)
    return lines


def text_of(includes, chunk):
    """The text of the file that is compiled, or checked, in place of a chunk's files."""
    text = ""
    if chunk.rename:
        lines = [line for path in chunk.files for line in headers_of(includes, path)]
        text += "".join(f"{line}\n" for line in sorted(dict.fromkeys(lines), key=lambda line: "include" in line))
    for number, path in enumerate(chunk.files):
        if chunk.rename:
            others = {n: n + b"_%d" % number for n in chunk.renamed(path)}
        else:
            others = {n: b"entry_point_%d" % number for n in includes.top_names(path) & ENTRY_POINTS}
        text += "".join(f"#define {n.decode()} {other.decode()}\n" for n, other in sorted(others.items()))
        text += f'#include "{path}"\n'
        text += "".join(f"#undef {n.decode()}\n" for n in sorted(others))
    return text


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    read = Includes()
    sources = [pathlib.Path(os.path.abspath(name)) for name in sys.argv[2:]]
    for number, made_chunk in enumerate(chunks_of(read, sources, COMPILED_BYTES, rename=True)):
        if len(made_chunk.files) == 1:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        written = folder / f"{number}.cc"
        # Relative, so that ccache knows the piece in another clone.
        content = text_of(read, made_chunk).replace(f'#include "{ROOT}/', f'#include "{os.path.relpath(ROOT, os.path.realpath(folder))}/')
        if not written.exists() or written.read_text() != content:  # otherwise it is not compiled again
            written.write_text(content)
        for file in made_chunk.files:
            print(number, file)
