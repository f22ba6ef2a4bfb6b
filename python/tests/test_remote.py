"""Data behind URLs: read and written there, whatever breaks on the way, and killed jobs go on."""

import functools
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
import s3 as server
from corpus import documents, seed_of_this_run
from s3 import bucket  # a fixture

from doppel_dedup import Index, _job, _progress, _remote, clean, decontaminate, scan_parquet


@pytest.fixture
def s3(bucket, tmp_path, monkeypatch):
    """An empty bucket. Nothing is written but where it should be."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("DOPPEL_HASH_KEY", "00112233445566778899aabbccddeeff")
    monkeypatch.setattr(_remote, "_WAIT", 0.001)
    monkeypatch.chdir(tmp_path)
    with bucket.empty() as s3:
        yield s3
    assert {name for name in os.listdir(tmp_path) if not name.endswith(".doppel")} <= {"state", "in", "out", "index", "whole", "kept", "here"}


def corpus(rng, rows=900, files=3):
    texts = documents(rng, rows, lengths=(0, 2, 30, 100))
    table = pa.table({"id": [f"d{i}" for i in range(rows)], "text": texts, "score": [rng.randrange(1000) for _ in texts],
                      "tags": [[f"t{i}"] * (i % 3) for i in range(rows)]})  # fmt: skip
    each = rows // files
    return {("more/" if n == 1 else "") + f"{n}.parquet": table.slice(n * each, each) for n in range(files)}


def everywhere(s3, tables):
    """The same files in the bucket and on this machine."""
    for name, table in tables.items():
        s3.put(table, f"bucket/in/{name}", row_group_size=130)
        path = Path("in") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path, row_group_size=130)


def local(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(Path(folder).rglob("*")) if p.is_file()}


@pytest.mark.parametrize("keep", ["first", ("score", "desc")])
def test_clean_writes_where_it_is_told(s3, keep):
    everywhere(s3, corpus(random.Random(seed_of_this_run())))
    here = clean("in", "whole", id="id", keep=keep, clusters="kept", progress=False)
    there = clean("s3://bucket/in", "s3://bucket/out", id="id", keep=keep, clusters="s3://bucket/clusters.parquet",
                  storage_options=s3.options, progress=False)  # fmt: skip
    assert (here.rows, here.kept, here.duplicates, here.unscored) == (there.rows, there.kept, there.duplicates, there.unscored)
    assert there.files == [f"s3://bucket/out/{name}" for name in ("0.parquet", "2.parquet", "more/1.parquet")]
    assert s3.files("bucket/out") == local("whole")
    assert s3.fs.cat_file("bucket/clusters.parquet") == Path("kept").read_bytes()
    # From here to there and back.
    clean("in", "s3://bucket/other", id="id", keep=keep, storage_options=s3.options, progress=False)
    clean("s3://bucket/in", "out", id="id", keep=keep, storage_options=s3.options, progress=False)
    assert s3.files("bucket/other") == local("out") == local("whole")
    # A finished job has nothing to do.
    written = [path for command, path, _ in s3.faults.requests if command in ("PUT", "POST")]
    again = clean("s3://bucket/in", "s3://bucket/out", id="id", keep=keep, clusters="s3://bucket/clusters.parquet",
                  storage_options=s3.options, progress=False)  # fmt: skip
    assert again == there and [path for command, path, _ in s3.faults.requests if command in ("PUT", "POST")] == written


def test_what_comes_before_the_rows_is_shown(s3, monkeypatch, capfd):
    monkeypatch.setattr(_progress, "_DELAY", 0, raising=False)
    everywhere(s3, corpus(random.Random(seed_of_this_run()), rows=300))
    urls = [f"s3://bucket/in/{name}" for name in ("0.parquet", "2.parquet", "more/1.parquet")]
    clean(urls, "out", storage_options=s3.options, progress=True)
    clean("s3://bucket/in", "s3://bucket/out", storage_options=s3.options, progress=True)
    clean("s3://bucket/in", "s3://bucket/out", storage_options=s3.options, progress=True)  # nothing to do, once it has looked
    shown = capfd.readouterr().err
    for what in ("looking for files", "reading columns", "checking files", "looking at the output"):
        assert f"{what}: " in shown
    with _progress.waiting(True, "listing s3://bucket/in"):
        while "listing s3://bucket/in [00:00]" not in shown:
            shown += capfd.readouterr().err
    capfd.readouterr()
    # A program's own function hears of rows only.
    heard = []
    clean(urls, "whole", storage_options=s3.options, progress=lambda done, total: heard.append((done, total)))
    assert {total for _, total in heard} == {600} and heard[-1] == (600, 600) and capfd.readouterr().err == ""


def test_each_of_many_urls_is_looked_at_once(s3):
    everywhere(s3, corpus(random.Random(seed_of_this_run()), rows=300))
    clean("s3://bucket/in", "out", storage_options=s3.options, progress=False)
    folder = len(s3.faults.requests)
    assert folder <= 3 * 11
    s3.faults.requests.clear()
    clean([f"s3://bucket/in/{name}" for name in ("0.parquet", "2.parquet", "more/1.parquet")], "whole", storage_options=s3.options, progress=False)
    assert len(s3.faults.requests) <= folder + 3


def test_an_object_is_written_under_its_name_and_nothing_is_copied(s3, monkeypatch):
    """Some S3 servers cannot copy objects. The parts of an upload become the object when the file is whole."""
    everywhere(s3, corpus(random.Random(seed_of_this_run()), rows=300))
    clean("s3://bucket/in", "s3://bucket/out", id="id", clusters="s3://bucket/clusters.parquet", storage_options=s3.options, progress=False)
    decontaminate("s3://bucket/in", [{"id": "q", "question": "word1 word2 word3 word4"}], dst="s3://bucket/kept", storage_options=s3.options, progress=False)
    changes = {path.split("?")[0] for command, path, _ in s3.faults.requests if command not in ("GET", "HEAD")}
    names = {f"{folder}/{name}" for folder in ("out", "kept") for name in ("0.parquet", "2.parquet", "more/1.parquet")}
    assert changes == {f"/bucket/{name}" for name in names | {"clusters.parquet"}}
    # Nothing is there of a file whose source has changed while it was read, and no part of an upload is left.
    checked = []

    def check(job, file):
        checked.append(file.name)
        if checked.count("2.parquet") == 2:  # once when it was read, once when it is written
            job._refuse(["2.parquet has changed"])

    monkeypatch.setattr(_job.Job, "check", check)
    with pytest.raises(ValueError, match="has changed"):
        clean("s3://bucket/in", "s3://bucket/other", storage_options=s3.options, progress=False)
    assert "2.parquet" not in s3.files("bucket/other")
    assert not s3.fs.call_s3("list_multipart_uploads", Bucket="bucket").get("Uploads")


def test_a_file_system_of_pyarrow_or_fsspec(s3):
    everywhere(s3, corpus(random.Random(seed_of_this_run())))
    clean("in", "whole", progress=False)
    arrow = pyarrow.fs.S3FileSystem(access_key=server.KEY, secret_key=server.SECRET, endpoint_override=f"127.0.0.1:{s3.port}", scheme="http")
    clean("bucket/in", "bucket/out", filesystem=arrow, progress=False)
    clean("in", "bucket/other", filesystem=(None, s3.fs), progress=False)
    clean("bucket/in/", "here", filesystem=(arrow, None), progress=False)
    assert s3.files("bucket/out") == s3.files("bucket/other") == local("here") == local("whole")
    rows = [(b["id"].to_pylist(), v.verdict.tolist()) for b, v in scan_parquet("in")]
    assert [(b["id"].to_pylist(), v.verdict.tolist()) for b, v in scan_parquet("bucket/in", filesystem=arrow)] == rows
    assert [(b["id"].to_pylist(), v.verdict.tolist()) for b, v in scan_parquet("in", filesystem=pyarrow.fs.LocalFileSystem())] == rows


def test_what_is_data_is_the_same_there(s3):
    everywhere(s3, corpus(random.Random(seed_of_this_run())))
    for name in ("_temporary/0.parquet", ".hidden.parquet", "notes.txt", "more/_SUCCESS"):
        s3.fs.pipe_file(f"bucket/in/{name}", b"no Parquet")
    s3.put(pa.table({"text": ["nothing like it"]}), "bucket/in/more/Z.PARQ")
    done = clean("s3://bucket/in/", "out", storage_options=s3.options, progress=False)
    assert sorted(local("out")) == ["0.parquet", "2.parquet", "more/1.parquet", "more/Z.PARQ"] and len(done.files) == 4
    clean("s3://bucket/in/*.parquet", "here", storage_options=s3.options, progress=False)
    assert sorted(local("here")) == ["0.parquet", "2.parquet"]
    for wrong in ("s3://bucket/nothing", "s3://bucket/nothing/*.parquet", "s3://no-bucket/in"):
        with pytest.raises(FileNotFoundError, match=wrong.replace("*", r"\*")):
            clean(wrong, "s3://bucket/out", storage_options=s3.options, progress=False)


def test_faults_on_the_way(s3):
    seed = seed_of_this_run()
    everywhere(s3, corpus(random.Random(seed), rows=300))
    clean("in", "whole", id="id", progress=False)
    s3.faults.rng, s3.faults.share = random.Random(seed), 0.08
    s3.faults.happened.update(cut=0, unavailable=0)
    for number in range(60):  # a job has few requests, so one of them may see no fault
        clean("s3://bucket/in", f"s3://bucket/out{number}", id="id", storage_options=s3.options, progress=False)
        assert s3.files(f"bucket/out{number}") == local("whole")
        if all(s3.faults.happened.values()):
            break
    assert all(s3.faults.happened.values()), s3.faults.happened
    s3.faults.share, s3.faults.slow = 0.0, True
    clean("s3://bucket/in", "out", id="id", storage_options=s3.options, progress=False)
    assert local("out") == local("whole")


def test_a_server_without_checksums_gets_a_hint():
    place = _remote.Remote(None, "bucket/x", "s3://bucket/x")
    said = place.failed("read", OSError(38, "A header you provided implies functionality that is not implemented."))
    assert "response_checksum_validation" in str(said)


def test_a_server_that_is_gone_leaves_no_file_that_looks_whole(s3):
    everywhere(s3, corpus(random.Random(seed_of_this_run()), rows=300))
    s3.faults.share = 1.0
    with pytest.raises(OSError, match="s3://bucket/") as error:
        clean("in", "s3://bucket/out", storage_options=s3.options, progress=False)
    assert server.SECRET not in str(error.value)
    s3.faults.share = 0.0
    assert not s3.files("bucket/out")
    clean("in", "s3://bucket/out", storage_options=s3.options, progress=False)
    clean("in", "whole", progress=False)
    assert s3.files("bucket/out") == local("whole")


# A job that kills itself at its n-th step, before or after it.
JOB = """
import json, os, signal, sys
import doppel_dedup._clean as c
import doppel_dedup._remote as r
steps = int(sys.argv[1])
def watched(call):
    def both(*a, **k):
        global steps
        for half in range(2):
            steps -= 1
            if steps == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            if half == 0:
                out = call(*a, **k)
        return out
    return both
os.replace, c._put, c._write, c.put_in_place = map(watched, (os.replace, c._put, c._write, c.put_in_place))
r._Checked.write = watched(r._Checked.write)
c._BATCH_ROWS = 130
c.clean("s3://bucket/in", "s3://bucket/out", id="id", storage_options=json.loads(sys.argv[2]), progress=False)
"""


def test_a_killed_job_goes_on(s3):
    rng = random.Random(seed_of_this_run())
    everywhere(s3, corpus(rng, rows=600))
    clean("in", "whole", id="id", progress=False)
    deaths = 0
    for _ in range(40):
        done = subprocess.run([sys.executable, "-c", JOB, str(rng.randrange(40, 160)), json.dumps(s3.options)], timeout=120, capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        deaths += 1
        there = s3.files("bucket/out")
        assert {name: content for name, content in there.items() if name.endswith(".parquet")}.items() <= local("whole").items()
    assert done.returncode == 0 and deaths > 0
    assert s3.files("bucket/out") == local("whole")


def test_changed_sources_are_named(s3):
    tables = corpus(random.Random(seed_of_this_run()), rows=300)
    everywhere(s3, tables)
    clean("s3://bucket/in", "s3://bucket/out", storage_options=s3.options, progress=False)
    before = s3.files("bucket/out")
    s3.put(tables["0.parquet"].slice(0, 50), "bucket/in/0.parquet")
    with pytest.raises(ValueError, match=r"s3://bucket/in/0\.parquet has changed since the job read it.*restart=True"):
        clean("s3://bucket/in", "s3://bucket/out", storage_options=s3.options, progress=False)
    s3.fs.rm_file("bucket/in/0.parquet")
    with pytest.raises(ValueError, match=r"0\.parquet is gone"):
        clean("s3://bucket/in", "s3://bucket/out", storage_options=s3.options, progress=False)
    assert s3.files("bucket/out") == before
    clean("s3://bucket/in", "s3://bucket/out", restart=True, storage_options=s3.options, progress=False)
    assert sorted(s3.files("bucket/out")) == ["2.parquet", "more/1.parquet"]
    # An output that no job here has written.
    with pytest.raises(FileExistsError, match=r"s3://bucket/in: not empty.*state"):
        clean("in", "s3://bucket/in", storage_options=s3.options, progress=False)
    with pytest.raises(ValueError, match=r"lies in s3://bucket"):
        clean("s3://bucket/in", "s3://bucket", storage_options=s3.options, progress=False)


def test_state_lies_where_it_is_told(s3, tmp_path):
    everywhere(s3, corpus(random.Random(seed_of_this_run()), rows=300))
    clean("in", "s3://bucket/out", storage_options=s3.options, state="here", progress=False)
    (folder,) = (tmp_path / "here").iterdir()
    assert (folder / "job.json").is_file() and not (tmp_path / "state").exists()
    clean("in", "s3://bucket/other", storage_options=s3.options, progress=False)
    (folder,) = (tmp_path / "state" / "doppel").iterdir()
    assert folder.name.startswith(".other-") and (folder / "job.json").is_file()


def test_credentials_stay_secret(s3, tmp_path):
    everywhere(s3, corpus(random.Random(seed_of_this_run()), rows=300))
    with Index(path="index") as index:
        next(iter(scan_parquet("s3://bucket/in", index=index, storage_options=s3.options)))
    clean("s3://bucket/in", "s3://bucket/out", storage_options=s3.options, progress=False)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert server.KEY.encode() not in path.read_bytes() and server.SECRET.encode() not in path.read_bytes(), path
    web = f"http://user:pass-word@127.0.0.1:{s3.port}/bucket/nothing.parquet?X-Amz-Signature=0123abcd"
    for wrong, options in ((web, None), ("s3://bucket/nothing.parquet", s3.options),
                           ("s3://bucket/x", s3.options | {"nonsense": server.SECRET}), ("s3://bucket/x", {"endpoint_url": "http://127.0.0.1:1", "key": server.KEY, "secret": server.SECRET})):  # fmt: skip
        with pytest.raises(Exception) as error:
            list(scan_parquet(wrong, storage_options=options))
        seen, whole = error.value, ""
        while seen is not None:
            whole, seen = whole + str(seen), seen.__cause__ or seen.__context__
        for secret in (server.SECRET, server.KEY, "pass-word", "0123abcd"):
            assert secret not in whole, whole
        assert "nothing.parquet" in whole or "s3://bucket/x" in whole, whole


def test_scan_continues(s3):
    everywhere(s3, corpus(random.Random(seed_of_this_run())))
    plain = [(b["id"].to_pylist(), v.verdict.tolist()) for b, v in scan_parquet("in", id="id", batch_rows=100)]
    with Index(path="index") as index:
        batches = scan_parquet("s3://bucket/in", id="id", index=index, batch_rows=100, storage_options=s3.options)
        out = [(b["id"].to_pylist(), v.verdict.tolist()) for b, v in (next(batches) for _ in range(5))]
        batches.close()
    with Index(path="index") as index:
        rest = list(scan_parquet("s3://bucket/in", id="id", index=index, batch_rows=100, storage_options=s3.options))
        rest = [(b["id"].to_pylist(), v.verdict.tolist()) for b, v in rest]
        assert rest[0] == out[4]  # the batch that the program had in its hands comes again

        def rows(batches):  # which end elsewhere after a fresh start within a row group
            return [row for batch in batches for row in zip(*batch)]

        assert rows(out[:4] + rest) == rows(plain)
        assert not list(scan_parquet("s3://bucket/in", id="id", index=index, storage_options=s3.options))
    # Without ids, a row's place is its id.
    _, verdicts = next(iter(scan_parquet("s3://bucket/in/0.parquet", storage_options=s3.options)))
    assert verdicts[7].id == "s3://bucket/in/0.parquet/7"


def test_decontaminate(s3, tmp_path):
    words = [f"w{i}" for i in range(3000)]
    rng = random.Random(seed_of_this_run())
    questions = [" ".join(rng.choices(words, k=12)) for _ in range(5)]
    evals = [{"id": f"q{i}", "question": q, "answer": "x"} for i, q in enumerate(questions)]
    texts = [" ".join(rng.choices(words, k=60)) + (" " + rng.choice(questions) if i % 7 == 0 else "") for i in range(300)]
    table = pa.table({"id": [f"d{i}" for i in range(300)], "text": texts, "n": range(300)})
    everywhere(s3, {"a.parquet": table.slice(0, 200), "more/b.parquet": table.slice(200), "more/empty.parquet": table.slice(0, 0)})
    s3.fs.pipe_file("bucket/evals.jsonl", "".join(json.dumps(one) + "\n" for one in evals).encode())
    here = decontaminate("in", evals, dst="kept", progress=False)
    there = decontaminate("s3://bucket/in", "s3://bucket/evals.jsonl", dst="s3://bucket/out", storage_options=s3.options, progress=False)
    only = decontaminate("s3://bucket/in", evals, storage_options=s3.options, progress=False)

    def said(found):
        return [(f["document"]["id"], f["document"]["row"], f["document"]["file"].removeprefix("s3://bucket/"), f["item"]["id"], f["passage"]) for f in found.findings]

    assert said(here) == said(there) == said(only) and len(here.ids) == 43
    assert (here.documents, here.contaminated, here.items) == (there.documents, there.contaminated, there.items) == (only.documents, only.contaminated, only.items)
    names = ["a.parquet", "more/b.parquet", "more/empty.parquet"]
    assert sorted(s3.files("bucket/out")) == names and there.files == [f"s3://bucket/out/{name}" for name in names]
    for name in names:
        with s3.fs.open(f"bucket/out/{name}") as file:
            assert pq.read_table(file).equals(pq.read_table(tmp_path / "kept" / name))
    assert decontaminate("s3://bucket/in", "s3://bucket/evals.jsonl", dst="s3://bucket/out", storage_options=s3.options, progress=False) == there
    s3.put(table.slice(5), "bucket/in/a.parquet")
    with pytest.raises(ValueError, match="s3://bucket/in/a.parquet has changed"):
        decontaminate("s3://bucket/in", evals, dst="s3://bucket/out", storage_options=s3.options, progress=False)
    with pytest.raises(ValueError, match="dst: s3://bucket/x.jsonl: only a folder"):
        decontaminate("in", evals, dst="s3://bucket/x.jsonl", storage_options=s3.options, progress=False)


class Web(http.server.SimpleHTTPRequestHandler):
    """Files over HTTP, with ranges."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = self.translate_path(self.path.split("?")[0])
        if os.path.isdir(path) or "Range" not in self.headers:
            return super().do_GET()
        content = Path(path).read_bytes()
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        part = content[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)


def test_files_of_a_web_server(s3, tmp_path):
    everywhere(s3, corpus(random.Random(seed_of_this_run()), rows=300))
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Web, directory=str(tmp_path)))
    threading.Thread(target=web.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{web.server_address[1]}/in"
    urls = [f"{root}/0.parquet?token=0123abcd", f"{root}/2.parquet", f"{root}/more/1.parquet"]
    assert [v.verdict.tolist() for _, v in scan_parquet(urls)] == [v.verdict.tolist() for _, v in scan_parquet("in")]
    clean(urls, "out", progress=False)
    clean(["in/0.parquet", "in/2.parquet", "in/more/1.parquet"], "whole", progress=False)
    assert local("out") == local("whole")
    with pytest.raises(ValueError, match="dst: http://.*cannot be written"):
        clean("in", root, progress=False)
    with pytest.raises(FileNotFoundError, match="nothing.parquet"):
        list(scan_parquet(f"{root}/nothing.parquet"))
    web.shutdown()
    web.server_close()


def test_paths_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"text": ["the quick brown fox jumps over the lazy dog"] * 2}), tmp_path / "in.parquet")
    done = clean("~/in.parquet", "~/out", path="~/index", clusters="~/clusters.parquet", progress=False)
    assert done.kept == 1 and done.files == [str(tmp_path / "out" / "in.parquet")]
    assert sorted(os.listdir(tmp_path)) == [".out.doppel", "clusters.parquet", "in.parquet", "index", "out"]
    assert len(list(scan_parquet("~/in.parquet"))) == 1 and len(list(scan_parquet(f"file://{tmp_path}/in.parquet"))) == 1
    with Index(path="~/index") as index:
        assert len(index) == 1


@pytest.mark.parametrize("call", [
    lambda: Index(path="s3://user:pass@bucket/index"), lambda: Index(against=["s3://bucket/index"]), lambda: clean("in", "out", path="gs://bucket/index"),
])  # fmt: skip
def test_an_index_is_local(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"(path|against): (s3|gs)://bucket/index: an index lies in a folder of this machine; name one"):
        call()
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("url, package, install", [
    ("s3://b/x", "s3fs", "s3fs"), ("gs://b/x", "gcsfs", "gcsfs"), ("hf://datasets/a/b", "huggingface_hub", "huggingface_hub"),
    ("https://h/x", "aiohttp", "fsspec aiohttp"), ("s3://b/x", "fsspec", "fsspec s3fs"),
])  # fmt: skip
def test_a_missing_package_is_named(url, package, install):
    hidden = {"aiohttp": ["aiohttp"], "fsspec": ["fsspec"]}.get(package, [package])
    code = f"import sys; sys.modules.update(dict.fromkeys({hidden!r})); from doppel_dedup import scan_parquet; list(scan_parquet({url!r}))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60).stderr.splitlines()[-1]
    assert said.startswith("ImportError: ") and f"needs the package {package}" in said and said.endswith(f"pip install {install}"), said
