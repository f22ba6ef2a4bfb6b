"""Items of evaluations in a corpus: what decontaminate() says is what `doppel decontaminate` says."""

import json
import os
import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import doppel, seed_of_this_run

from doppel_dedup import clean, decontaminate


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
    found = decontaminate(corpus, [evals], dst=tmp_path / "two.jsonl", progress=False)
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
    decontaminate(tmp_path / "corpus.parquet", items, dst=tmp_path / "kept.parquet", progress=False)
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
    with pytest.warns(UserWarning, match="not all was read: .*rows.jsonl:2"):
        some = decontaminate(tmp_path / "rows.jsonl", items, text="body", question="stem", progress=False)
    assert some.rejected == 1 and "rows.jsonl:2" in some.messages[0]
    with pytest.raises(ValueError, match="keep"):
        decontaminate(tmp_path / "rows.jsonl", items, question="stem", dst=tmp_path / "rows.jsonl", progress=False)


ITEM = "which city is the capital of the country in the south"


def parts(folder):
    """Files with more columns than text and id, of which some rows hold the item; one has no rows."""
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("score", pa.float64()), ("tags", pa.list_(pa.string()))])
    tables = {}
    for name, rows in {"a.parquet": 5, "more/b.parq": 7, "none.parquet": 0}.items():
        texts = [f"{name} {i} and other words " + (ITEM if i % 3 == 1 else f"that are in no item {i}") for i in range(rows)]
        texts[4:5] = [None] * len(texts[4:5])
        tables[name] = pa.table({"id": [f"{name}-{i}" for i in range(rows)], "text": texts, "score": [i / 2 for i in range(rows)],
                                 "tags": [[str(i)] * (i % 3) for i in range(rows)]}, schema=schema)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(tables[name], folder / name, row_group_size=3)
    return tables


def test_from_folder_to_folder(tmp_path):
    tables = parts(tmp_path / "in")
    wanted = {name: table.filter(pa.array([ITEM not in (t or "") for t in table["text"].to_pylist()], pa.bool_())) for name, table in tables.items()}
    items = items_file(tmp_path, [{"id": "q", "question": ITEM}])
    seen = []
    found = decontaminate(tmp_path / "in", items, dst=tmp_path / "out", progress=lambda done, total: seen.append(done))
    assert sorted(os.path.relpath(name, tmp_path / "out") for name in found.files) == sorted(tables)
    assert sorted(str(p.relative_to(tmp_path / "out")) for p in (tmp_path / "out").rglob("*") if p.is_file()) == sorted(tables)
    for name, table in wanted.items():
        assert pq.read_table(tmp_path / "out" / name).equals(table), name
    together = decontaminate(tmp_path / "in", items, progress=False)
    assert found.findings == together.findings and found.items == together.items == {"q": 2} and seen[-1] == 12
    assert (found.documents, found.contaminated, found.rejected) == (together.documents, together.contaminated, together.rejected) == (12, 2, 0)

    # Again it does nothing; after a kill it goes on with the file that is not whole.
    times = {name: os.stat(name).st_mtime_ns for name in found.files}
    assert decontaminate(tmp_path / "in", items, dst=tmp_path / "out", progress=False) == found
    os.remove(tmp_path / "out" / "more" / "b.parq")
    assert decontaminate(tmp_path / "in", items, dst=tmp_path / "out", progress=False) == found
    assert [name for name in found.files if os.stat(name).st_mtime_ns != times[name]] == [str(tmp_path / "out" / "more" / "b.parq")]

    (tmp_path / "out" / "more" / "b.parq").write_bytes(b"junk")
    assert decontaminate(tmp_path / "in", items, dst=tmp_path / "out", progress=False) == found
    assert pq.read_table(tmp_path / "out" / "more" / "b.parq").equals(wanted["more/b.parq"])

    # What has changed is named.
    with pytest.raises(ValueError, match="job with evals=.*restart=True"):
        decontaminate(tmp_path / "in", [{"id": "q", "question": ITEM + " of all"}], dst=tmp_path / "out", progress=False)
    pq.write_table(tables["a.parquet"][:2], tmp_path / "in" / "a.parquet")
    os.remove(tmp_path / "in" / "more" / "b.parq")
    with pytest.raises(ValueError, match="b.parq is gone.*a.parquet has changed|a.parquet has changed.*b.parq is gone"):
        decontaminate(tmp_path / "in", items, dst=tmp_path / "out", progress=False)
    again = decontaminate(tmp_path / "in", items, dst=tmp_path / "out", restart=True, progress=False)
    assert again.documents == 2 and sorted(os.listdir(tmp_path / "out")) == ["a.parquet", "none.parquet"]
    with pytest.raises(ValueError, match="dst: .* lies in"):
        decontaminate(tmp_path / "in", items, dst=tmp_path / "in", progress=False)


def test_the_output_of_clean_is_a_corpus(tmp_path):
    tables = parts(tmp_path / "in")
    clean(tmp_path / "in", tmp_path / "cleaned", id="id", progress=False)
    found = decontaminate(tmp_path / "cleaned", [{"id": "q", "question": ITEM}], dst=tmp_path / "out", progress=False)
    assert found.contaminated > 0 and sorted(os.path.relpath(name, tmp_path / "out") for name in found.files) == sorted(tables)
    for name, table in tables.items():
        assert pq.read_schema(tmp_path / "out" / name).equals(table.schema)


def test_no_text_is_an_error(tmp_path):
    parts(tmp_path / "in")
    items = [{"id": "q", "question": ITEM}]
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": "a", "body": ITEM}) + "\n")
    for src in (tmp_path / "in", tmp_path / "in" / "a.parquet", pa.table({"title": ["x"]}), {"title": ["x"]}):
        for keep in (None, tmp_path / "out"):
            if keep is not None and src != tmp_path / "in":
                continue
            with pytest.raises(ValueError, match='src: no text was read: .*no column "body", which text= names.*the columns are: [^-]*$'):
                decontaminate(src, items, text="body", dst=keep, progress=False)
    for src in (tmp_path / "rows.jsonl", [{"title": ITEM}]):
        with pytest.raises(ValueError, match='src: no text was read: .*no field "txt"'):
            decontaminate(src, items, text="txt", progress=False)
    with pytest.raises(ValueError, match="none of 2 documents has a text in text"):
        decontaminate([{"text": ""}, {"text": None}], items, progress=False)
    done = doppel("decontaminate", "--evals", items_file(tmp_path, items), "--text-field", "body", tmp_path / "in", check=False)
    assert done.returncode == 1 and "no text was read" in done.stderr and 'no column "body"' in done.stderr
    # A file among others that has no such column is named.
    shutil.copy(tmp_path / "in" / "a.parquet", tmp_path / "more.parquet")
    pq.write_table(pa.table({"title": ["x"]}), tmp_path / "other.parquet")
    with pytest.warns(UserWarning, match='not all was read: .*other.parquet: no column "text"'):
        found = decontaminate([tmp_path / "more.parquet", tmp_path / "other.parquet"], items, progress=False)
    assert found.documents == 5
    with pytest.raises(ValueError, match='other.parquet: no column "text"'):
        decontaminate([tmp_path / "more.parquet", tmp_path / "other.parquet"], items, dst=tmp_path / "kept", progress=False)
    # No documents are no error.
    assert decontaminate(tmp_path / "in" / "none.parquet", items, progress=False).documents == 0


def items_file(folder, items):
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    return folder / "items.jsonl"
