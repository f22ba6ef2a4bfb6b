"""Links in Markdown files: every relative target must exist, and every #anchor must be a heading of its page. So must the sources
that the maps of the source name."""
import re
import urllib.parse

FENCED = re.compile(r"^(\s*)(```|~~~).*?^\s*\2\s*$|<!--.*?-->", re.M | re.S)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\]\(([^()\s]+)\)")
MAPS = ("HACKING.md", "docs/architecture.md", "docs/formats.md")
SOURCE = re.compile(r"(?<![\w/.*-])(?:[a-z_]+/)+[a-z_0-9]+\.(?:h|cc|py|cmake)\b")  # below the root, or below src/
HEADING = re.compile(r"^#{1,6} +(.*?)\s*$", re.M)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def anchors(text):
    """The anchors that forges give to the headings of a page."""
    found = set()
    for title in HEADING.findall(FENCED.sub(blank, text)):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = base = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        number = 0
        while slug in found:
            number += 1
            slug = f"{base}-{number}"
        found.add(slug)
    return found


def missing_sources(root, file):
    """A line for each source that this page names and that does not exist."""
    text = file.read_text()
    return [f"{file.relative_to(root)}:{text.count(chr(10), 0, m.start()) + 1}: {m[0]} does not exist"
            for m in SOURCE.finditer(text) if not (root / m[0]).exists() and not (root / "src" / m[0]).exists()]


def broken_links(root, files):
    """A line for each broken link in these files."""
    wrong = []
    for file in files:
        text = CODE.sub(blank, FENCED.sub(blank, file.read_text()))
        for match in LINK.finditer(text):
            path, _, anchor = urllib.parse.unquote(match[1]).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            target = (file.parent / path).resolve() if path else file
            if not target.exists():
                reason = f"{path} does not exist"
            elif anchor and (target.suffix != ".md" or anchor not in anchors(target.read_text())):
                reason = f"{target.name} has no heading #{anchor}"
            else:
                continue
            line = text.count("\n", 0, match.start()) + 1
            wrong.append(f"{file.relative_to(root)}:{line}: {reason}")
        if file.relative_to(root).as_posix() in MAPS:
            wrong += missing_sources(root, file)
    return wrong
