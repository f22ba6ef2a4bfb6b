"""clean(): a folder without its copies, the same whatever kills the job."""

import os
import random
import shutil
import signal
import subprocess
import sys
import types
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as dataset
import pyarrow.parquet as pq
import pytest
from corpus import documents, seed_of_this_run

from doppel_dedup import Index, WrongIndexError, _clean, _job, clean, decontaminate, scan_parquet

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("DOPPEL_HASH_KEY", "00112233445566778899aabbccddeeff")


def crawl(folder, rng, files=3, rows=500):
    texts = documents(rng, files * rows, lengths=(0, 2, 30, 100))
    table = pa.table({
        "id": [f"d{i}" for i in range(len(texts))],
        "text": texts,
        "score": [rng.choice([None, rng.randrange(5), rng.randrange(1000)]) for _ in texts],
        "at": pa.array([rng.choice([None, rng.randrange(1000)]) for _ in texts], pa.timestamp("s")),
        "tags": [[f"t{i}"] * (i % 3) for i in range(len(texts))],
    }).replace_schema_metadata({"origin": "test"})
    (folder / "more").mkdir(parents=True)
    for n in range(files):
        name = folder / ("more" if n == 1 else ".") / f"{n}.parquet"
        pq.write_table(table.slice(n * rows, rows), name, row_group_size=rng.choice([90, 350, 1000]), compression=rng.choice(["snappy", "zstd"]))
    return pa.concat_tables([pq.read_table(folder / name) for name in ("0.parquet", "2.parquet", "more/1.parquet")])


def output(folder):
    """The files of an output, and what is in them."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def state_of(folder):
    """The state of the job, which lies beside the output."""
    return folder.with_name(f".{folder.name}.doppel")


def rows_of(folder):
    return pa.concat_tables([pq.read_table(p) for p in [*sorted(folder.glob("*.parquet")), *sorted(folder.glob("more/*.parquet"))]])


def best(verdicts, values, ids):
    """Of each cluster the row with the largest value, by the slow rule."""
    clusters = {}
    for v, value in zip(verdicts, values):
        if v.verdict != "unscored":
            clusters.setdefault(v.original or v.id, []).append((v.id, value))
    kept = {v.id for v in verdicts if v.verdict == "unscored"}
    for members in clusters.values():
        there = [m for m in members if m[1] is not None]
        kept.add(max(there or members, key=lambda m: m[1] or 0)[0] if there else members[0][0])
    return [id for id in ids if id in kept]


@pytest.mark.parametrize("keep", ["first", "longest", "shortest", ("score", "desc"), ("score", "asc"), ("at", "desc")])
def test_what_stays(tmp_path, key, keep):
    rng = random.Random(seed_of_this_run())
    table = crawl(tmp_path / "in", rng)
    done = clean(tmp_path / "in", tmp_path / "out", id="id", keep=keep, progress=False)
    verdicts = Index().add(table["text"], table["id"])
    ids = table["id"].to_pylist()
    sign = -1 if keep == "shortest" or keep[1] == "asc" else 1
    values = {"first": [0] * len(ids), "longest": [len(t) for t in table["text"].to_pylist()]}
    values["shortest"] = [-n for n in values["longest"]]
    if isinstance(keep, tuple):
        column = table[keep[0]].cast(pa.int64()).to_pylist()
        values[keep] = [None if v is None else sign * v for v in column]
    out = rows_of(tmp_path / "out")
    wanted = best(verdicts, values[keep], ids)
    assert out["id"].to_pylist() == wanted
    assert out.equals(table.filter(pa.array([i in set(wanted) for i in ids])))
    assert out.schema.equals(table.schema, check_metadata=True)
    assert (done.rows, done.kept) == (len(ids), len(wanted))
    assert done.duplicates == verdicts.is_duplicate.sum() and done.unscored == (verdicts.verdict == "unscored").sum()
    assert repr(done) == f"<Cleaned: {done.kept:,} of 1,500 rows kept, in 3 files>"
    assert sorted(os.listdir(state_of(tmp_path / "out"))) == sorted(
        ["job.json", *(f"{n}.{kind}" for n in range(3) for kind in ("rows", "how")), *(f"{n}.values" for n in range(3) if keep != "first")])


# A job that kills itself at its n-th step: before or after a file is named, written to or synced.
JOB = """
import os, signal, sys
import doppel_dedup._clean as c
steps = int(sys.argv[4])
def step():
    global steps
    steps -= 1
    if steps == 0:
        os.kill(os.getpid(), signal.SIGKILL)
def watched(call):
    def both(*a, **k):
        step()
        out = call(*a, **k)
        step()
        return out
    return both
os.replace, os.fsync, c._put, c._write, c._masks = map(watched, (os.replace, os.fsync, c._put, c._write, c._masks))
c._BATCH_ROWS = 130
c._GROUP_ROWS = 200
keep = eval(sys.argv[3])
c.clean(sys.argv[1], sys.argv[2], id="id", keep=keep, path=sys.argv[5] or None, progress=False)
"""


def run(src, dst, keep, steps=0, path="", kill_at=None):
    return subprocess.run([sys.executable, "-c", JOB, src, dst, repr(keep), str(steps), path], timeout=120, capture_output=True, text=True,
                          env={**os.environ, **({"DOPPEL_KILL_AT": kill_at} if kill_at else {})})


@pytest.mark.parametrize("keep, path", [("first", ""), (("score", "desc"), "index")])
def test_a_job_that_is_killed_writes_the_same_bytes(tmp_path, key, keep, path):
    rng = random.Random(seed_of_this_run())
    crawl(tmp_path / "in", rng)
    path = path and str(tmp_path / path)
    whole = run(tmp_path / "in", tmp_path / "whole", keep)
    assert whole.returncode == 0, whole.stderr
    expected = output(tmp_path / "whole")
    deaths = 0
    for life in range(300):
        kill_at = f"{rng.choice(['rows_handed', 'after_bodies', 'after_rows', 'after_commit'])}:{rng.randrange(1, 8)}" if rng.random() < 0.3 else None
        done = run(tmp_path / "in", tmp_path / "out", keep, rng.randrange(1, 25), path, kill_at)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        deaths += 1
    assert done.returncode == 0 and deaths > 2
    assert output(tmp_path / "out") == expected
    # Started again it does nothing.
    times = {p: os.stat(tmp_path / "out" / p).st_mtime_ns for p in expected}
    assert run(tmp_path / "in", tmp_path / "out", keep, 0, path).returncode == 0
    assert {p: os.stat(tmp_path / "out" / p).st_mtime_ns for p in expected} == times


def test_the_state_of_many_files_takes_a_part_of_the_time(tmp_path, monkeypatch):
    clock, saved, write = [0.0], [], _job.write_whole

    def write_slowly(path, content):
        clock[0] += 1
        saved.append(clock[0])
        write(path, content)

    monkeypatch.setattr(_job, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(_job, "write_whole", write_slowly)
    job = _job.Job(str(tmp_path / "out"), {})
    for _ in range(1000):
        clock[0] += 0.1
        job.save_at_times()
    assert 3 <= len(saved) <= 1 + 100 / 20
    clock[0] += 20
    job.save_at_times()
    assert saved[-1] == clock[0]


def test_a_job_keeps_the_same_rows_each_time(tmp_path, monkeypatch):
    """With a key drawn for each job, other pairs near the threshold would share no band."""
    keys = []
    judge = _clean._judge
    monkeypatch.setattr(_clean, "_judge", lambda job, index, *rest: keys.append(index.hash_key) or judge(job, index, *rest))
    crawl(tmp_path / "in", random.Random(seed_of_this_run()))
    for out in ("one", "two"):
        clean(tmp_path / "in", tmp_path / out, id="id", progress=False)
    assert keys == [Index().hash_key] * 2
    assert output(tmp_path / "one") == output(tmp_path / "two")
    chosen = "00112233445566778899aabbccddeeff"
    clean(tmp_path / "in", tmp_path / "three", id="id", hash_key=chosen, progress=False)
    clean(tmp_path / "in", tmp_path / "four", id="id", path=tmp_path / "index", progress=False)
    assert keys[2] == chosen and keys[3] not in keys[:3]


def test_new_files_and_a_path(tmp_path, key):
    rng = random.Random(seed_of_this_run())
    table = crawl(tmp_path / "in", rng)
    clean(tmp_path / "in", tmp_path / "out", id="id", path=tmp_path / "index", progress=False)
    before = output(tmp_path / "out")
    pq.write_table(table.slice(10, 300).set_column(0, "id", pa.array([f"n{i}" for i in range(300)])), tmp_path / "in" / "9.parquet")
    done = clean(tmp_path / "in", tmp_path / "out", id="id", path=tmp_path / "index", progress=False)
    after = output(tmp_path / "out")
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"9.parquet"} and done.rows == 1800
    assert pq.read_table(tmp_path / "out" / "9.parquet")["text"].drop_null().to_pylist().count("") == len(pq.read_table(tmp_path / "out" / "9.parquet"))
    # Another job on the same index and the same files has nothing to decide.
    with pytest.raises(ValueError, match="in another job"):
        clean(tmp_path / "in", tmp_path / "other", id="id", path=tmp_path / "index", progress=False)
    assert not state_of(tmp_path / "other").exists()
    # Without a path everything is decided again, with the same result.
    clean(tmp_path / "in", tmp_path / "alone", id="id", progress=False)
    assert output(tmp_path / "alone") == after


def sources():
    """Tables of every kind that is installed, with the column "text" and "n"."""
    data = {"text": [A, A.upper(), B, None, A], "n": [0, 1, 2, 3, 4]}
    table = pa.table(data)
    yield "dict", data
    yield "pyarrow.Table", table
    yield "reader", table.to_reader()
    for module, make in {
        "pandas": lambda m: m.DataFrame(data),
        "polars": lambda m: m.DataFrame(data),
        "polars lazy": lambda m: m.LazyFrame(data),
        "duckdb": lambda m: m.from_arrow(table),
        "datasets": lambda m: m.Dataset.from_dict(data),
        "pyarrow.dataset": lambda m: m.dataset(table),
    }.items():
        try:
            yield module, make(__import__(module.split()[0], fromlist=["x"]))
        except ImportError:
            pass


@pytest.mark.parametrize("source", [s for _, s in sources()], ids=[name for name, _ in sources()])
def test_tables_that_are_no_files(tmp_path, source):
    done = clean(source, tmp_path / "out", progress=False)
    assert [os.path.basename(name) for name in done.files] == ["part-00000.parquet"]
    assert pq.read_table(done.files[0])["n"].to_pylist() == [0, 2, 3]
    if isinstance(source, pa.RecordBatchReader):  # it can be read once
        with pytest.raises(ValueError, match="src: not the table .* it has 0 rows, and had 5.* restart=True"):
            clean(source, tmp_path / "out", progress=False)
        source = dict(sources())["reader"]
    assert clean(source, tmp_path / "out", progress=False) == done
    assert sorted(os.listdir(state_of(tmp_path / "out"))) == ["0.how", "0.rows", "job.json", "source.json"]


def test_another_table_is_refused(tmp_path):
    one = pa.table({"text": [A, A, B, "three four five six seven"]})
    # The same rows in other batches are the same table.
    clean(one, tmp_path / "out", progress=False)
    done = clean(pa.concat_tables([one[:1], one[1:]]), tmp_path / "out", progress=False)
    assert done.rows == 4
    for other in (one.set_column(0, "text", pa.array([A, A, B, "three four five six eight"])), one[:3], one.take([1, 2, 3, 0])):
        with pytest.raises(ValueError, match="src: not the table that .*out was made from.* restart=True"):
            clean(other, tmp_path / "out", progress=False)
        assert rows_of(tmp_path / "out")["text"].to_pylist() == [A, B, "three four five six seven"]
    assert clean(one[2:], tmp_path / "out", restart=True, progress=False).rows == 2
    assert rows_of(tmp_path / "out")["text"].to_pylist() == [B, "three four five six seven"]


def write_texts(path, *texts):
    path.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.table({"text": texts}), path)


def test_a_file_that_has_changed_is_named(tmp_path):
    src, out = tmp_path / "in", tmp_path / "out"
    write_texts(src / "a.parquet", A, "one two three four five")
    write_texts(src / "more" / "b.parquet", A, B)
    clean(src, out, progress=False)
    assert pq.read_table(out / "more" / "b.parquet")["text"].to_pylist() == [B]
    before = output(out)
    # As many rows, as many bytes.
    write_texts(src / "a.parquet", B, "one two three four five")
    with pytest.raises(ValueError, match=r"a\.parquet has changed since the job read it: .*restart=True"):
        clean(src, out, progress=False)
    assert output(out) == before
    clean(src, out, restart=True, progress=False)
    assert {name: pq.read_table(out / name)["text"].to_pylist() for name in output(out)} == {
        "a.parquet": [B, "one two three four five"], "more/b.parquet": [A]}
    # The same bytes at another time may be another file between the ends.
    os.utime(src / "a.parquet", ns=(0, 0))
    with pytest.raises(ValueError, match="it was written again"):
        clean(src, out, progress=False)
    clean(src, out, restart=True, progress=False)
    os.remove(src / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet is gone: .*out has what the job made of it.*restart=True"):
        clean(src, out, progress=False)
    clean(src, out, restart=True, progress=False)
    assert list(output(out)) == ["more/b.parquet"]
    # Restarted with other arguments, and with folders that have nothing left.
    write_texts(src / "c.parquet", A + " " + B)
    shutil.rmtree(src / "more")
    assert clean(src, out, restart=True, keep="longest", progress=False).rows == 1
    assert sorted(p.name for p in out.rglob("*")) == ["c.parquet"]


def test_a_file_that_changes_between_the_passes_is_named(tmp_path, monkeypatch):
    src, out = tmp_path / "in", tmp_path / "out"
    write_texts(src / "a.parquet", A, "one two three four five")
    write_texts(src / "b.parquet", A, B)
    masks = _clean._masks

    def change(*rest):
        write_texts(src / "b.parquet", B, A)
        return masks(*rest)

    monkeypatch.setattr(_clean, "_masks", change)
    with pytest.raises(ValueError, match=r"b\.parquet has changed while the job read it"):
        clean(src, out, progress=False)
    assert "b.parquet" not in output(out)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"b\.parquet has changed since the job read it"):
        clean(src, out, progress=False)
    clean(src, out, restart=True, progress=False)
    assert pq.read_table(out / "b.parquet")["text"].to_pylist() == [B]
    # While the first pass reads it.
    given = _clean.given_rows

    def change_early(index, files, *rest):
        for batch in given(index, files, *rest):
            yield batch
            write_texts(src / "a.parquet", B, A)

    monkeypatch.setattr(_clean, "given_rows", change_early)
    with pytest.raises(ValueError, match=r"a\.parquet has changed while the job read it"):
        clean(src, out, restart=True, progress=False)


def test_restart_keeps_what_is_not_of_the_job(tmp_path):
    write_texts(tmp_path / "in" / "a.parquet", A)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(FileExistsError, match="not empty"):
        clean(tmp_path / "in", tmp_path / "other", restart=True, progress=False)
    clean(tmp_path / "in", tmp_path / "out", path=tmp_path / "index", progress=False)
    (tmp_path / "out" / "mine.txt").touch()
    with pytest.raises(ValueError, match="restart: the index in .*index knows the rows"):
        clean(tmp_path / "in", tmp_path / "out", path=tmp_path / "index", restart=True, progress=False)
    assert (tmp_path / "out" / "a.parquet").exists()
    shutil.rmtree(tmp_path / "index")
    with pytest.raises(FileExistsError, match="not empty"):
        clean(tmp_path / "in", tmp_path / "out", path=tmp_path / "index", restart=True, progress=False)
    assert os.listdir(tmp_path / "out") == ["mine.txt"]
    os.remove(tmp_path / "out" / "mine.txt")
    assert clean(tmp_path / "in", tmp_path / "out", path=tmp_path / "index", progress=False).kept == 1
    # A file of the output that somebody removed or damaged is written again.
    for damage in (os.remove, lambda file: file.write_bytes(b"junk")):
        damage(tmp_path / "out" / "a.parquet")
        clean(tmp_path / "in", tmp_path / "out", path=tmp_path / "index", progress=False)
        assert rows_of(tmp_path / "out")["text"].to_pylist() == [A]


@pytest.mark.parametrize("keep", ["first", "longest", ("score", "asc")])
def test_clusters_name_what_went_and_what_stays(tmp_path, key, keep):
    table = crawl(tmp_path / "in", random.Random(seed_of_this_run()))
    done = clean(tmp_path / "in", tmp_path / "out", id="id", keep=keep, clusters=tmp_path / "clusters.parquet", progress=False)
    found = pq.read_table(tmp_path / "clusters.parquet")
    assert found.column_names == ["file", "row", "id", "kept_file", "kept_row", "kept_id", "similarity", "relation"]
    assert len(found) == done.duplicates
    stayed = set(rows_of(tmp_path / "out")["id"].to_pylist())
    verdicts = {v.id: v for v in Index().add(table["text"], table["id"])}
    place = {}
    for name in ("0.parquet", "2.parquet", "more/1.parquet"):
        place |= {id: (name, row) for row, id in enumerate(pq.read_table(tmp_path / "in" / name)["id"].to_pylist())}
    for row in found.to_pylist():
        gone, kept = verdicts[row["id"]], verdicts[row["kept_id"]]
        assert row["id"] not in stayed and row["kept_id"] in stayed
        assert (row["file"], row["row"]) == place[row["id"]] and (row["kept_file"], row["kept_row"]) == place[row["kept_id"]]
        assert (gone.original or gone.id) == (kept.original or kept.id)
        copy = gone if gone.verdict == "duplicate" else kept
        assert row["similarity"] == pytest.approx(copy.similarity, abs=1e-6) and row["relation"] == copy.kind
    assert set(found["id"].to_pylist()) | stayed == set(table["id"].to_pylist())
    # A job that is done writes it elsewhere, too, without reading the texts again.
    assert clean(tmp_path / "in", tmp_path / "out", id="id", keep=keep, clusters=tmp_path / "more.parquet", progress=False) == done
    assert pq.read_table(tmp_path / "more.parquet").equals(found)
    with pytest.raises(ValueError, match="clusters: .* lies in"):
        clean(tmp_path / "in", tmp_path / "out", id="id", keep=keep, clusters=tmp_path / "out" / "c.parquet", progress=False)


def test_clusters_without_ids_and_of_tables(tmp_path):
    rows = {"text": [A, A.upper(), B, None, A]}
    clean(rows, tmp_path / "out", clusters=tmp_path / "clusters.parquet", progress=False)
    assert pq.read_table(tmp_path / "clusters.parquet").to_pylist() == [
        {"file": "part-00000.parquet", "row": row, "kept_file": "part-00000.parquet", "kept_row": 0, "similarity": 1.0, "relation": kind}
        for row, kind in ((1, "near"), (4, "exact"))]
    os.remove(tmp_path / "clusters.parquet")
    with pytest.raises(ValueError, match="clusters.parquet is not there, and the job on this table is done"):
        clean(rows, tmp_path / "out", clusters=tmp_path / "clusters.parquet", progress=False)
    clean({"text": [B, A]}, tmp_path / "none", clusters=tmp_path / "clusters.parquet", progress=False)
    assert len(pq.read_table(tmp_path / "clusters.parquet")) == 0
    # Copies of what an index had before are in no cluster of these rows.
    with Index(path=tmp_path / "index") as index:
        index.add([B], ids=["before"])
    clean({"text": [B, A, A]}, tmp_path / "more", path=tmp_path / "index", clusters=tmp_path / "clusters.parquet", progress=False)
    assert pq.read_table(tmp_path / "clusters.parquet")["row"].to_pylist() == [2]


def test_patterns_empty_files_and_progress(tmp_path):
    for n in range(3):
        pq.write_table(pa.table({"text": pa.array([A] * n, pa.string())}), tmp_path / f"part-{n}.parquet")
    seen = []
    done = clean(str(tmp_path / "part-*.parquet"), tmp_path / "out", progress=lambda n, total: seen.append((n, total)))
    assert [os.path.basename(name) for name in done.files] == [f"part-{n}.parquet" for n in range(3)]
    assert [pq.read_metadata(name).num_rows for name in done.files] == [0, 1, 0]
    assert seen[-1] == (6, 6)


def test_a_folder_is_read_as_arrow_reads_it(tmp_path):
    """What a job that was aborted left is no data, and what lies in a linked folder is."""
    src = tmp_path / "in"
    names = ["a.parquet", "b.PARQUET", "c.parq", "more/d.pq", "linked/e.parquet"]
    hidden = ["_temporary/0/a.parquet", "more/_x.parquet", ".hidden/a.parquet", ".a.parquet", "_delta_log/1.parquet"]
    for number, name in enumerate([*names, *hidden]):
        path = src / name if not name.startswith("linked") else tmp_path / "elsewhere" / "e.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"text": [f"{A} {number} {B}"]}), path)
    os.symlink(tmp_path / "elsewhere", src / "linked")
    os.symlink(src, src / "more" / "back")
    (src / "_SUCCESS").touch()
    (src / "notes.txt").touch()
    done = clean(src, tmp_path / "out", progress=False)
    assert [os.path.relpath(name, tmp_path / "out") for name in done.files] == ["a.parquet", "b.PARQUET", "c.parq", "linked/e.parquet", "more/d.pq"]
    assert done.rows == len(names)
    assert sum(len(batch) for batch, _ in scan_parquet(src)) == len(names)
    # A pattern names folders, and leaves out the same.
    done = clean(str(src / "?.*"), tmp_path / "files", progress=False)
    assert [os.path.basename(name) for name in done.files] == ["a.parquet", "b.PARQUET", "c.parq"]
    done = clean(str(src / "l*"), tmp_path / "folders", progress=False)
    assert [os.path.relpath(name, tmp_path / "folders") for name in done.files] == ["linked/e.parquet"]
    with pytest.raises(pa.ArrowInvalid, match="notes.txt: cannot be read"):
        clean(str(src / "*"), tmp_path / "all", progress=False)
    # A file that is named is read, whatever its name.
    assert clean(src / "more" / "_x.parquet", tmp_path / "named", progress=False).rows == 1
    (tmp_path / "nothing" / "_temporary").mkdir(parents=True)
    for call in (clean, lambda src, dst, progress: list(scan_parquet(src))):
        with pytest.raises(FileNotFoundError, match="nothing: no Parquet files there"):
            call(tmp_path / "nothing", tmp_path / "none", progress=False)


def datatrove(folder):
    return [d.text for d in pytest.importorskip("datatrove.pipeline.readers").ParquetReader(str(folder)).run()]


def load_dataset(folder):
    return pytest.importorskip("datasets").load_dataset("parquet", data_dir=str(folder), split="train", cache_dir=f"{folder}.cache")["text"]


@pytest.mark.parametrize("read", [
    lambda folder: pq.read_table(folder)["text"].to_pylist(),
    lambda folder: dataset.dataset(folder).to_table()["text"].to_pylist(),
    lambda folder: pytest.importorskip("pandas").read_parquet(folder)["text"],
    lambda folder: pytest.importorskip("polars").scan_parquet(folder).collect()["text"],
    lambda folder: [t for (t,) in pytest.importorskip("duckdb").sql(f"SELECT text FROM read_parquet('{folder}/**')").fetchall()],
    lambda folder: [f["document"]["id"] for f in decontaminate(folder, [{"id": "q", "question": A}], id="text", progress=False).findings],
    load_dataset, datatrove, lambda folder: [t for batch, _ in scan_parquet(folder) for t in batch["text"].to_pylist()],
    ], ids=["pyarrow", "pyarrow.dataset", "pandas", "polars", "duckdb", "decontaminate", "datasets", "datatrove", "scan_parquet"])  # fmt: skip
def test_readers_read_the_output(tmp_path, read):
    """With a path, and of a table, the most is left beside the output."""
    clean({"text": [A, A.upper() + "!", f"one {A}", f"more {A}"]}, tmp_path / "out", path=tmp_path / "index", threshold=0.95, progress=False)
    assert list(read(tmp_path / "out")) == [A, f"one {A}", f"more {A}"]


def test_what_cannot_be_is_refused(tmp_path):
    pq.write_table(pa.table({"text": [A], "name": ["x"]}), tmp_path / "a.parquet")
    (tmp_path / "b").mkdir()
    pq.write_table(pa.table({"text": [A]}), tmp_path / "b" / "a.parquet")
    for arguments, error, words in [
        (dict(src=tmp_path / "no-*.parquet"), FileNotFoundError, "no file fits it"),
        (dict(src=tmp_path / "a.parquet", text="txt"), KeyError, "did you mean 'text'"),
        (dict(src=tmp_path / "a.parquet", keep="best"), ValueError, "keep: 'best' is not one of"),
        (dict(src=tmp_path / "a.parquet", keep=("name", "desc")), TypeError, "holds texts that are no times"),
        (dict(src=tmp_path / "a.parquet", keep=("nme", "desc")), KeyError, "did you mean 'name'"),
        (dict(src=[tmp_path / "a.parquet", tmp_path / "b" / "a.parquet"]), ValueError, "would both be written as a.parquet"),
        (dict(src=tmp_path / "a.parquet", treshold=0.5), TypeError, "did you mean threshold"),
        (dict(src=17), TypeError, "src: int is not a table"),
    ]:
        with pytest.raises(error, match=words):
            clean(dst=tmp_path / "out", progress=False, **arguments)
        for folder in (tmp_path / "out", state_of(tmp_path / "out")):
            shutil.rmtree(folder, ignore_errors=True)
    with pytest.raises(ValueError, match="lies in"):
        clean(tmp_path / "b", tmp_path / "b", progress=False)
    for src in (tmp_path / "b", tmp_path / "[b]"):  # the next call would read the output
        with pytest.raises(ValueError, match="dst: .*b/out lies in .*b; name another folder"):
            clean(src, tmp_path / "b" / "out", progress=False)
    for _ in range(2):
        clean(tmp_path / "b", tmp_path / "b" / "_out", progress=False)  # a name that no data set reads
        clean(tmp_path / "b" / "*.parquet", tmp_path / "b" / "out", progress=False)
    shutil.rmtree(tmp_path / "b" / "out")
    with pytest.raises(FileExistsError, match="not empty"):
        clean(tmp_path / "a.parquet", tmp_path / "b", progress=False)
    clean(tmp_path / "a.parquet", tmp_path / "out", progress=False, path=tmp_path / "i", threshold=0.7)
    with pytest.raises(ValueError, match="job with keep='first', now 'longest'"):
        clean(tmp_path / "a.parquet", tmp_path / "out", progress=False, path=tmp_path / "i", threshold=0.7, keep="longest")
    with pytest.raises(WrongIndexError, match="threshold: the index was made with 0.7, now 0.8"):
        clean(tmp_path / "b", tmp_path / "out2", progress=False, path=tmp_path / "i", threshold=0.8)


def test_parts_of_other_rows_go_if_that_is_asked_for(tmp_path):
    words = [f"w{i}" for i in range(300)]
    rows = [" ".join(words), " ".join(words[50:200]), "something else that is in no other row"]
    pq.write_table(pa.table({"text": rows}), tmp_path / "in.parquet")
    done = clean(tmp_path / "in.parquet", tmp_path / "out", relations=["near", "contained"], partial="duplicate", progress=False)
    assert pq.read_table(tmp_path / "out" / "in.parquet")["text"].to_pylist() == [rows[0], rows[2]]
    assert done.duplicates == 1
    assert clean(tmp_path / "in.parquet", tmp_path / "near", progress=False).duplicates == 0
