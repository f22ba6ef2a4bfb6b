"""Runs clang-tidy on many files in parallel, and only on those whose content is new."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import time

from chunks import ROOT, Includes, chunks_of, text_of
from content import digest, essence, recorded

BUILD = ROOT / "build" / "lint"  # only configured: the flags of each file by itself
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "doppel-lint"
CACHE_DAYS = 30
CHUNKS = BUILD / "chunks"
FOREIGN_BUILD = "package"  # tests/package is a project of its own
INCLUDED_SOURCE = re.compile(rb'^\s*#\s*include\s*"[^"]+\.cc"', re.M)
USED_NAME = re.compile(rb"^\s*(?:namespace (\w+) = [\w:]+|using (?:\w*::)+(\w+));", re.M)
HEADERS = f"^{re.escape(str(ROOT))}/((src|include|lab)/|.*[.]cc$)"  # a chunk's files are included


class Tidy:
    """Runs clang-tidy on chunks: generated files that include several sources, so that their common headers, which cost most
    of the time, are read once. If a chunk has findings, the files themselves are checked again. So findings are those of
    single files, and a chunk that does not compile only costs time.
    """

    def __init__(self, includes, commands):
        self.includes = includes
        self.commands = {pathlib.Path(c["file"]): c["command"] for c in commands}
        self.version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, text=True).stdout.encode()
        self.rules = {}
        self.keys = {}
        # The chunks are in a mirror of the tree, so that each folder's rules apply to them.
        for folder in {path.relative_to(ROOT).parts[0] for path in self.commands}:
            (CHUNKS / folder).mkdir(parents=True, exist_ok=True)
            rules = ROOT / folder / ".clang-tidy"
            if rules.exists():
                (CHUNKS / folder / ".clang-tidy").write_bytes(rules.read_bytes())

    def rules_of(self, folder):
        if folder not in self.rules:
            above = self.rules_of(folder.parent) if folder != ROOT else self.version
            own = folder / ".clang-tidy"
            self.rules[folder] = above + (own.read_bytes() if own.exists() else b"")
        return self.rules[folder]

    def clean(self, path):
        """The file whose existence says that this file, with this content, had no finding."""
        if path not in self.keys:
            h = hashlib.sha256(self.rules_of(path.parent))
            h.update(repr([f.replace(str(ROOT), "") for f in self.flags(path)]).encode())
            h.update(essence(self.includes.read(path)))
            for other in sorted(digest(self.includes.read(o)) for o in self.includes.closure(path)):
                h.update(other.encode())
            self.keys[path] = CACHE / h.hexdigest()
        return self.keys[path]

    def flags(self, path):
        """The compiler's flags, without the names of files."""
        words = shlex.split(self.commands[path])
        first = next(i for i, word in enumerate(words) if word.startswith("-"))  # ccache and the compiler come before
        return tuple(words[first:words.index("-o")])

    def chunks(self, paths):
        """Triples of a folder, flags, and a chunk of files that are compiled with these flags."""
        groups = {}
        for path in paths:
            groups.setdefault((path.relative_to(ROOT).parts[0], self.flags(path)), []).append(path)
        chunks = [(*group, chunk) for group, files in groups.items() for chunk in chunks_of(self.includes, files)]
        # The largest come first, so that no long one remains at the end.
        return sorted(chunks, key=lambda c: -c[2].size)

    def run(self, before, file, after=()):
        # The flags are g++'s; clang does not know all of its warnings.
        run = subprocess.run(["clang-tidy-19", "--quiet", f"--header-filter={HEADERS}", before,
                              "--extra-arg=-Wno-unknown-warning-option", str(file), *after], capture_output=True, text=True)
        return "" if run.returncode == 0 else run.stdout or run.stderr

    def check_file(self, path):
        """The findings of a file by itself, or an empty text."""
        findings = self.run(f"-p={BUILD}", path) or self.alone(path)
        if not findings:
            self.clean(path).touch()
        return findings

    def alone(self, path):
        """Why a file does not compile by itself, or an empty text. In a chunk, other files may include what it misses, and a
        name may hide one of another file, so that -Wshadow is only of use here."""
        words = ["clang++-19", *self.flags(path), "-Wno-everything", "-Wshadow", "-Werror=shadow", "-fsyntax-only", str(path)]
        run = subprocess.run(words, cwd=BUILD, capture_output=True, text=True)
        return "" if run.returncode == 0 else run.stderr

    def may_hide(self, path):
        """Whether a file may have a finding that a chunk hides: an included source or an unused name."""
        text = re.sub(rb"//.*", b"", self.includes.read(path))
        return INCLUDED_SOURCE.search(text) or any(
            len(re.findall(rb"(?<![\w:])%s\b" % name, text)) < (2 if alias else 1)
            for alias, name in ((a, a or n) for a, n in USED_NAME.findall(text)))

    def check_chunk(self, chunk):
        """The findings of a chunk's files, or an empty text."""
        folder, flags, files = chunk[0], chunk[1], chunk[2].files
        if len(files) == 1:
            return self.check_file(files[0])
        text = text_of(self.includes, chunk[2])
        # The analyzer follows paths through included files only if the name of the including file begins like this.
        file = CHUNKS / folder / f"UnifiedSource-{hashlib.sha256(text.encode()).hexdigest()[:16]}.cc"
        file.write_text(text)
        findings = self.run("--checks=-bugprone-suspicious-include", file, ["--", *flags])
        named = [f for f in files if str(f) in findings or self.may_hide(f)]
        if "clang-diagnostic-error" in findings or findings and not named:
            names = ", ".join(str(f.relative_to(ROOT)) for f in files)
            error = next((line for line in findings.splitlines() if " error: " in line), findings)
            print(f"lint: these do not compile as one file, which costs time: {names}:\n  {error}", flush=True)
            named = files
        missing = ""
        for path in files:
            if path not in named:
                if why := self.alone(path):
                    missing += why
                else:
                    self.clean(path).touch()
        return missing + "".join(self.check_file(f) for f in named)


def configure(files):
    """The compile commands. Configures the build folder if they are missing or lack one of the sources."""
    database = BUILD / "compile_commands.json"

    def known():
        return {pathlib.Path(c["file"]): c for c in json.loads(database.read_text())} if database.exists() else {}

    commands = known()
    built = {f for f in files if f.suffix == ".cc" and str(f.relative_to(ROOT)).startswith(("src/", "lab/", "tests/", "bench/"))}
    unknown = {f for f in built - set(commands) if FOREIGN_BUILD not in f.parts}
    if unknown or any(not f.exists() for f in commands):
        run = subprocess.run(["cmake", "--preset", "release", "-B", BUILD, "-DDOPPEL_UNITY=OFF", "--log-level=WARNING"], cwd=ROOT, capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"lint: cmake --preset release failed; scripts/install-deps test installs what it needs:\n{run.stderr}")
        commands = known()
    return [c for f, c in commands.items() if f in files]


def touched(includes, sources, files):
    """The sources to check for all findings in these files: the files themselves, and one source for each header."""
    found = {f for f in files if f in sources}
    for header in (f for f in files if f.suffix == ".h"):
        users = [s for s in sources if header in includes.closure(s)]
        if users and found.isdisjoint(users):
            found.add(min(users, key=lambda s: (s.stem != header.stem, len(includes.closure(s)), s)))
    return found


def check_tidy(files, jobs, changed, everything):
    """Whether clang-tidy finds nothing in these sources and headers. Checks only those in `changed`, if it is not None."""
    commands = configure(set(files))
    CACHE.mkdir(parents=True, exist_ok=True)
    for old in CACHE.iterdir():
        if old.stat().st_mtime < time.time() - CACHE_DAYS * 86400:
            old.unlink(missing_ok=True)

    includes = Includes()
    if not everything:
        clean = recorded()
        new = [f for f in files if (changed is None or f in changed) and digest(includes.read(f)) not in clean]
        wanted = touched(includes, {pathlib.Path(c["file"]) for c in commands}, new)
        commands = [c for c in commands if pathlib.Path(c["file"]) in wanted]
    tidy = Tidy(includes, commands)
    unseen = []
    for path in tidy.commands:
        clean = tidy.clean(path)
        if clean.exists():
            clean.touch()
        else:
            unseen.append(path)
    chunks = tidy.chunks(unseen)
    what = "every file" if everything else f"{len(new)} of {len(files)} files are not in the list of clean ones"
    print(f"lint: clang-tidy: {what}; {len(unseen)} sources to check, in {len(chunks)} pieces", flush=True)
    failed = done = 0
    start = time.time()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for findings in pool.map(tidy.check_chunk, chunks):
            done += 1
            if findings:
                failed += 1
                print(findings, flush=True)
            if done % 10 == 0:
                print(f"lint: clang-tidy: {done} of {len(chunks)} pieces, {time.time() - start:.0f} s", flush=True)
    print(f"lint: clang-tidy: {'findings' if failed else 'clean'}, {time.time() - start:.0f} s")
    return failed == 0


def check_benchmarks(files, jobs):
    """Whether clang can parse each benchmark, which builds of everything leave out."""
    commands = [c for c in configure(set(files)) if pathlib.Path(c["file"]).relative_to(ROOT).parts[0] == "bench"]
    CACHE.mkdir(parents=True, exist_ok=True)
    tidy = Tidy(Includes(), commands)
    parsed = {path: tidy.clean(path).with_suffix(".parsed") for path in tidy.commands}
    unseen = [path for path, mark in parsed.items() if not mark.exists()]
    good = True
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, errors in zip(unseen, pool.map(tidy.alone, unseen)):
            if errors:
                good = False
                print(errors, flush=True)
            else:
                parsed[path].touch()
    print(f"lint: benchmarks: {'clean' if good else 'do not compile'}, {len(unseen)} of {len(parsed)} were parsed", flush=True)
    return good
