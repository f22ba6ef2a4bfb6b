"""report=: the page of `doppel scan --html` for tables and jobs."""

import json
import random
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import documents, doppel, seed_of_this_run

from doppel_dedup import clean, deduplicate

WORDS = [f"word{i}" for i in range(60)]
WHOLE = " ".join(WORDS)
NEAR = " ".join([*WORDS[:-1], "<changed>"])


def numbers_of(page):
    """Documents, unique ones and copies; and how often documents came. Without bytes: a record has more than its text."""
    values = re.findall(r'<dd class="value">(.*?)</dd><dd class="detail">(.*?)</dd>', page)
    times = re.search(r'<table class="times">.*?</table>', page, re.S)[0]
    return [values[0][0], values[1], values[2]], times


def test_the_page_has_the_numbers_of_scan(tmp_path):
    texts = [text for text in documents(random.Random(seed_of_this_run()), 3000, lengths=(0, 5, 30, 90)) if text is not None]
    ids = [f"d{i}" for i in range(len(texts))]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in zip(ids, texts)))
    key = "000102030405060708090a0b0c0d0e0f"
    (tmp_path / "key").write_text(key)
    (tmp_path / "key").chmod(0o600)
    doppel("scan", "-q", "-o", "/dev/null", "--set", "hash_key_file=key", "--html", "scan.html", "in.jsonl", cwd=tmp_path)
    deduplicate({"id": ids, "text": texts}, id="id", report=tmp_path / "table.html", hash_key=key)
    pq.write_table(pa.table({"id": ids, "text": texts}), tmp_path / "in.parquet")
    clean(tmp_path / "in.parquet", tmp_path / "out", id="id", report=tmp_path / "job.html", progress=False, hash_key=key)
    expected = numbers_of((tmp_path / "scan.html").read_text())
    for name in ("table.html", "job.html"):
        assert numbers_of((tmp_path / name).read_text()) == expected


def test_copies_lie_beside_their_original(tmp_path):
    report = tmp_path / "report.html"
    table = pa.table({"id": ["a", "b", "c", "d"], "text": [WHOLE, NEAR, WHOLE, None]})
    kept = deduplicate(table, id="id", report=report)
    assert kept.num_rows == 2
    page = report.read_text()
    assert "Copies among 3 documents" in page
    assert "<h3>a</h3>\n<p>2 copies: 1 exact, 1 near; " in page
    assert re.search(r"<summary><span class=\"like\">0\.9\d\d</span> b</summary>", page)
    assert re.search(r"<ins[^>]*>[^<]*changed", page) and "<changed>" not in page
    assert "no text of their own" in page
    size = len(WHOLE) + len(NEAR)
    assert f"{size} bytes could go" in page


def test_names_are_places_without_ids(tmp_path):
    (tmp_path / "in").mkdir()
    for name, rows in (("one", [WHOLE, "another text of its own with some more words"]), ("two", [NEAR, WHOLE])):
        pq.write_table(pa.table({"text": rows}), tmp_path / f"in/{name}.parquet")
    report = tmp_path / "report.html"
    call = {"src": tmp_path / "in", "dst": tmp_path / "out", "report": report, "progress": False}
    clean(**call)
    page = report.read_text()
    assert "<h3>one.parquet, row 0</h3>" in page and "two.parquet, row 0" in page and "two.parquet, row 1" in page
    # By file, the one with the most bytes in copies first.
    files = page[page.index("By folder") :]
    assert files.index("two.parquet") < files.index("one.parquet")
    # A finished job writes it again if it is gone, and nothing else.
    report.unlink()
    clean(**call)
    assert report.read_text() == page


def test_an_original_of_an_earlier_call(tmp_path):
    report = tmp_path / "report.html"
    deduplicate({"text": [WHOLE]}, path=tmp_path / "index")
    deduplicate({"text": [NEAR]}, path=tmp_path / "index", report=report)
    page = report.read_text()
    assert "a document that the index had before" in page and "the table, row 0" in page


def test_the_page_is_not_in_the_output(tmp_path):
    pq.write_table(pa.table({"text": [WHOLE]}), tmp_path / "in.parquet")
    with pytest.raises(ValueError, match="report"):
        clean(tmp_path / "in.parquet", tmp_path / "out", report=tmp_path / "out/report.html", progress=False)
    with pytest.raises(ValueError, match="report: s3://b/x: a page lies in a folder of this machine"):
        deduplicate({"text": [WHOLE]}, report="s3://b/x")
