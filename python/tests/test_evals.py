"""Items of evaluations in a corpus: what decontaminate() says is what `doppel decontaminate` says."""

import json
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import doppel, seed_of_this_run

from doppel_dedup import decontaminate


def language(rng, n):
    """Words as often as in a language."""
    return [f"w{int(20_000 ** rng.random())}" for _ in range(n)]


def planted(rng, documents=400, items=60):
    questions = [" ".join(language(rng, rng.randrange(6, 50))) for _ in range(items)]
    texts, truth = [], {}
    for number in range(documents):
        words = language(rng, rng.randrange(10, 400))
        if number % 5 == 0:
            item = rng.randrange(items)
            at = rng.randrange(len(words) + 1)
            words[at:at] = [questions[item].upper() + "?"]
            truth[f"d{number}"] = f"q{item}"
        texts.append({"id": f"d{number}", "text": " ".join(words)})
    return texts, [{"id": f"q{i}", "question": q, "answer": "w1"} for i, q in enumerate(questions)], truth


def test_says_what_the_command_says(tmp_path):
    texts, items, truth = planted(random.Random(seed_of_this_run()))
    for name, rows in (("corpus", texts), ("evals", items)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    corpus, evals = tmp_path / "corpus.jsonl", tmp_path / "evals.jsonl"
    lines = doppel("decontaminate", "-q", "--evals", evals, "--keep", tmp_path / "one.jsonl", corpus).stdout.splitlines()
    found = decontaminate(corpus, [evals], keep=tmp_path / "two.jsonl", progress=False)
    assert found.findings == [json.loads(line) for line in lines]
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert {f["document"]["id"]: f["item"]["id"] for f in found.findings} == truth == dict.fromkeys(found.ids) | truth
    assert found.documents == len(texts) and found.contaminated == len(truth) and sum(found.items.values()) == len(found.findings)
    assert f"{len(truth)} of {len(texts)} documents" in repr(found)

    # Rows, tables and Parquet files are as good, and of these the rows are kept.
    def said(findings):
        return [(f["document"]["id"], f["item"]["id"], f["passage"], f["share"]) for f in findings]

    columns = {name: [row[name] for row in texts] for name in ("id", "text")}
    for source in (texts, pa.table(columns), columns, tmp_path / "corpus.parquet"):
        for evaluation in (items, tmp_path / "evals.parquet", pa.Table.from_pylist(items)):
            assert said(decontaminate(source, evaluation, progress=False).findings) == said(found.findings)
    decontaminate(tmp_path / "corpus.parquet", items, keep=tmp_path / "kept.parquet", progress=False)
    assert pq.read_table(tmp_path / "kept.parquet").to_pylist() == [row for row in texts if row["id"] not in truth]


def test_fields_and_what_cannot_be(tmp_path):
    items = [{"name": "x", "stem": "one two three four five six", "key": "seven"}, {"name": "y", "stem": "too short"}]
    rows = [{"name": "a", "body": "zero ONE two three, four five six seven"}, {"name": "b", "body": "one two"}]
    found = decontaminate(rows, items, text=["nothing", "body"], id="name", question="stem", answer=["key"], progress=False)
    assert found.ids == ["a"] and found.findings[0]["answer"] is True and len(found.too_short) == 1
    # Reads whatever columns a table has. An answer that is not text counts as missing.
    pq.write_table(pa.table({"stem": ["one two three four five six"], "answer": [["seven", "eight"]], "other": [1]}), tmp_path / "items.parquet")
    found = decontaminate(rows, tmp_path / "items.parquet", text="body", id="name", question="stem", progress=False)
    assert found.ids == ["a"] and "answer" not in found.findings[0]
    calls = []
    decontaminate(rows, items, text="body", question="stem", progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (2, 2)
    with pytest.raises(ValueError, match="changed"):
        decontaminate(rows, items, changed=0.9)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        decontaminate(tmp_path / "nowhere.jsonl", items, question="stem", progress=False)
    with pytest.raises(TypeError, match="evals"):
        decontaminate(rows, 7, progress=False)
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]) + "\nno json\n")
    some = decontaminate(tmp_path / "rows.jsonl", items, text="body", question="stem", progress=False)
    assert some.rejected == 1 and "rows.jsonl:2" in some.messages[0]
    with pytest.raises(ValueError, match="keep"):
        decontaminate(tmp_path / "rows.jsonl", items, question="stem", keep=tmp_path / "rows.jsonl", progress=False)
