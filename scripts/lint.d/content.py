"""The part of a file on which clang-tidy's findings depend, without its folder, comments and line breaks; and the list of the
files that were clean."""
import hashlib
import pathlib
import re

RECORD = pathlib.Path(__file__).resolve().parent / "clean"
OWN_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?([^"/\n]*)".*$', re.M)
# A comment on its own line, or at the end of a line and without quotes. NOLINT and keywords such as TODO have a meaning.
COMMENT = re.compile(rb"""^[ \t]*//(?!.*(?:NOLINT|TODO)).*$ | (?<=[\w;{}(),])[ \t]+//(?!.*(?:NOLINT|TODO))[^\n"']*$""", re.M | re.X)
HEAD = """\
# scripts/lint --record wrote this when clang-tidy found nothing: a hash of each file's content.
# scripts/lint checks only the files that are not listed.
"""


def essence(text):
    """The content without the folders of our own headers (a move changes those), comments and layout."""
    return b" ".join(COMMENT.sub(b"", OWN_INCLUDE.sub(rb"#include \1", text)).split())


def digest(text):
    return hashlib.sha256(essence(text)).hexdigest()[:12]


def recorded():
    """The digests of the files that were clean."""
    return {line for line in RECORD.read_text().splitlines() if not line.startswith("#")} if RECORD.exists() else set()


def record(texts):
    RECORD.write_text(HEAD + "".join(sorted({digest(t) + "\n" for t in texts})))
