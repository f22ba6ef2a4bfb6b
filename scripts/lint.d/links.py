"""Links in Markdown files: every relative target must exist, and every #anchor must be a heading of its page."""
import re
import urllib.parse

FENCED = re.compile(r"^(\s*)(```|~~~).*?^\s*\2\s*$|<!--.*?-->", re.M | re.S)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\]\(([^()\s]+)\)")
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
    return wrong
