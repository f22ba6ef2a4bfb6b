"""docs/corpus-tools.md: doppel's program does what the page says, and the page shows the programs as they are."""

import importlib.util
import json
import pathlib
import random
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

SOURCE = pathlib.Path(__file__).parent.parent.parent
PAGE = SOURCE / "docs" / "corpus-tools.md"


def load_tools():
    spec = importlib.util.spec_from_file_location("tools", SOURCE / "bench" / "python" / "tools.py")
    tools = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tools)
    return tools


def corpus(rng, rows):
    """Texts of which half are copies with a few words changed, and items in some of them."""
    words = [f"w{n}" for n in range(3000)]
    texts = []
    for _ in range(rows):
        text = rng.choices(words, k=rng.randrange(100, 200))
        if texts and rng.random() < 0.5:
            text = rng.choice(texts).split()
            for _ in range(rng.randrange(0, 4)):
                text[rng.randrange(len(text))] = rng.choice(words)
            text += rng.choices(words, k=rng.randrange(0, 3))
        texts.append(" ".join(text))
    items = [{"id": f"q{n}", "question": " ".join(rng.choices(words, k=12)), "answer": rng.choice(words)} for n in range(4)]
    holds = rng.sample(range(rows), 8)
    for number, row in enumerate(holds):
        texts[row] += " " + items[number % 4]["question"]
    return texts, items, {f"d{row}" for row in holds}


def test_the_program_with_doppel_keeps_the_best_copies_and_no_item(tmp_path):
    tools = load_tools()
    texts, items, planted = corpus(random.Random(1), 300)  # the job's key is the public one: the result is the same each time
    ids = [f"d{n}" for n in range(len(texts))]
    (tmp_path / "corpus").mkdir()
    for part in range(3):
        table = pa.table({"id": ids, "extra": list(range(len(ids))), "text": texts}).slice(part * 100, 100)
        pq.write_table(table, tmp_path / "corpus" / f"{part}.parquet")
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    program = SOURCE / "examples" / "corpus-tools" / "with_doppel.py"
    said = subprocess.run([sys.executable, program, "corpus", "items.jsonl", "out"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr

    truth = {"ids": ids, "lengths": [len(text) for text in texts], "pairs": tools.similar_pairs([tools.words_of(text) for text in texts])}
    went = tools.in_order(truth, tools.neighbours(truth))
    assert len(went) > 50
    stay = [id for row, id in enumerate(ids) if row not in went]
    read = lambda folder: pq.read_table(tmp_path / "out" / folder)
    assert read("deduplicated")["id"].to_pylist() == stay
    assert read("clean")["id"].to_pylist() == [id for id in stay if id not in planted]
    assert read("clean").column_names == ["id", "extra", "text"]
    clusters = pq.read_table(tmp_path / "out" / "clusters.parquet")
    assert sorted(clusters["id"].to_pylist()) == sorted(ids[row] for row in went)
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert f"{len(stay)} of 300 rows kept" in said.stdout and f"{len(set(stay) & planted)} of {len(stay)} documents have items in them" in said.stdout


def test_the_page_shows_the_programs_as_they_are():
    tools, page = load_tools(), PAGE.read_text()
    assert (SOURCE / "examples" / "corpus-tools" / "with_doppel.py").read_text() in page
    lines = re.search(r"^\| lines of the program \|(.*)\|$", page, re.M)[1].split("|")
    assert [int(number) for number in lines] == [tools.lines_of(tool.program) for tool in tools.TOOLS.values()]
    for name, tool in tools.TOOLS.items():
        for package in tool.packages:
            if "==" in package:
                assert f"{name} ({package.split('==')[1]})" in " ".join(page.split())
