"""What cannot be is refused in words, and the interpreter lives on."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpus import doppel

import doppel_dedup
from doppel_dedup import BusyError, Index, WrongIndexError, deduplicate, resolve, scan_parquet, sign, sign_records

A = "the quick brown fox jumps over the lazy dog"
B = "pack my box with five dozen liquor jugs please"


@pytest.mark.parametrize(
    "texts, error, words",
    [
        (A, TypeError, "texts: one str; give a list of them"),
        (A.encode(), TypeError, "texts: one bytes; give a list of them"),
        (7, TypeError, "int is neither a list nor an Arrow array"),
        ([A, 7], TypeError, "texts: row 1 is of type int; give str, bytes or None"),
        ({"text": [A]}, TypeError, "texts: a dict"),
        (pa.array([1, 2]), TypeError, 'texts: a column of whole numbers; give strings'),
        (pa.table({"a": [A], "b": [B]}), TypeError, "a table with the columns a, b; give one column"),
    ],
)
def test_texts(texts, error, words):
    index = Index()
    with pytest.raises(error, match=words):
        index.add(texts)
    assert index.add([A]).verdict.tolist() == ["unique"]


@pytest.mark.parametrize(
    "ids, error, words",
    [
        (["a"], ValueError, "ids: 1 for 2 texts"),
        (["a", None], ValueError, "ids: row 1 has none"),
        (["a", ""], ValueError, "ids: row 1 has none"),
        (pa.array(["a", None]), ValueError, "ids: row 1 has none"),
        (["a", 1.5], TypeError, "ids: row 1 is of type float"),
        (pa.array([1.5, 2.5]), TypeError, 'ids: a column of numbers; give strings or whole numbers'),
    ],
)
def test_ids(ids, error, words):
    with pytest.raises(error, match=words):
        Index().add([A, B], ids)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, TypeError])
def test_an_exception_in_a_generator_passes_on(error):
    def broken():
        yield A
        raise error("the generator")

    index = Index()
    for call in (index.add, index.query, index.remove, index.top_k, sign, lambda ids: index.add([A], ids), lambda dates: index.add([A], dates=dates),
                 lambda texts: sign_records(texts, ["a"]), lambda ids: sign_records([A], ids)):  # fmt: skip
        with pytest.raises(error, match="the generator"):
            call(broken())
    assert index.documents == 0


def test_dates():
    with pytest.raises(ValueError, match='dates: row 1: "yesterday" is not a time'):
        Index().add([A, B], dates=["2024-01-01", "yesterday"])
    with pytest.raises(ValueError, match="dates: 1 for 2 texts"):
        Index().add([A, B], dates=["2024-01-01"])


def test_nulls_empty_and_bytes_that_are_no_text():
    texts = [None, "", b"", float("nan"), "\ud800 lone", b"\xff\xfe\x00 not text", A, "\0" * 100]
    v = Index().add(texts)
    assert v.verdict.tolist()[:4] == ["unscored"] * 4
    assert v.verdict.tolist()[4:] == ["unique"] * 4
    arrow = pa.array([None, b"", b"\xff\xfe\x00 not text", A.encode()], pa.binary())
    assert Index().add(arrow).verdict.tolist() == ["unscored", "unscored", "unique", "unique"]
    assert Index().add(pa.nulls(3)).verdict.tolist() == ["unscored"] * 3


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(25)], ids=str)
def test_binary_columns(kind):
    values = [b"\xff\xfe one two three \xc3 and on", b"\xff\xfe one two three \xc3 and on", b"\xed\xa0\x80 word in the middle!!!"]
    column = pa.array(values, kind)
    if pa.types.is_fixed_size_binary(kind):
        with pytest.raises(TypeError, match='a column of Arrow.s format "w:25"; give strings'):
            Index().add(column)
    else:
        assert Index().add(column).verdict.tolist() == ["unique", "duplicate", "unique"]
        assert Index().add(column.slice(1, 1), column.slice(2, 1))[0].verdict == "unique"


def test_a_huge_text():
    huge = A * 3_000_000  # 129 MB
    v = Index().add([huge, huge, A])
    assert v.verdict.tolist() == ["unique", "duplicate", "unique"]


def test_names_of_other_libraries_get_a_hint(tmp_path):
    for name, right in {"subset": "text", "on": "text", "text_column": "text", "id_column": "id", "sort_by": "order_by", "n_jobs": "threads",
                        "ngram_size": "shingle_words", "similarity": "threshold", "tresholt": "threshold"}.items():  # fmt: skip
        with pytest.raises(TypeError, match=f"^{name}: no such argument; did you mean {right}[?]$"):
            doppel_dedup.deduplicate({"text": ["x"]}, **{name: "x"})
    for call in (doppel_dedup.clean, doppel_dedup.decontaminate):
        with pytest.raises(TypeError, match="^text_column: no such argument; did you mean text[?]$"):
            call(tmp_path, tmp_path / "out", text_column="x")
        with pytest.raises(TypeError, match="^output: no such argument; did you mean dst[?]$"):
            call(tmp_path, tmp_path / "out", output="x")
        with pytest.raises(TypeError, match="^overwrite: no such argument; did you mean restart[?]$"):
            call(tmp_path, tmp_path / "out", overwrite=True)
    with pytest.raises(TypeError, match="^keep: no such argument; did you mean dst[?]$"):
        doppel_dedup.decontaminate(tmp_path, tmp_path, keep="x")
    with pytest.raises(TypeError, match="^text_column: no such argument; did you mean text[?]$"):
        list(doppel_dedup.scan_parquet(tmp_path, text_column="x"))
    with pytest.raises(TypeError, match="^ngrams: no such argument; did you mean shingle_words[?]$"):
        doppel_dedup.sign_records(["x"], ["y"], ngrams=3)
    with pytest.raises(TypeError, match="^nothing_like_it: no such argument$"):
        doppel_dedup.deduplicate({"text": ["x"]}, nothing_like_it=1)
    # What is a setting stays one.
    doppel_dedup.deduplicate({"text": ["x"]}, threshold=0.5, state_fsync="commit", path=tmp_path / "index", repeated_ids="allow")


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: Index().add(None), "^texts: NoneType is neither a list nor an Arrow array$"),
        (lambda: Index().query(None), "^texts: NoneType"),
        (lambda: Index().top_k(None), "^texts: NoneType"),
        (lambda: Index().top_k([A], k=1.5), "^k: 1.5 is not a number of originals; give 1 or more$"),
        (lambda: Index().add_signed(None), "^records: NoneType"),
        (lambda: Index().remove(None), "^ids: NoneType"),
        (lambda: None in Index(), "^id: None; give str, bytes or a whole number$"),
        (lambda: sign(None), "^texts: NoneType"),
        (lambda: sign_records([A], None), "^ids: NoneType"),
        (lambda: Index(hash_key=5), "^hash_key: int; a key has 16 bytes, or 32 hex digits as str$"),
        (lambda: Index(path=""), "^path: empty; name where an index lies$"),
        (lambda: list(scan_parquet(None)), "^None is not a path; give paths of files or folders$"),
        (lambda: deduplicate([{"text": A}], text=None), "^None is not the name of a column$"),
        (lambda: Index().add([A])["verdict"], "^'verdict' is not a row; the columns are attributes, such as verdicts.verdict$"),
        (lambda: Index().add([A])[1.5], "^give a row number, a slice, a mask, or a list of row numbers$"),
    ],
)
def test_what_is_of_another_type_is_named(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_settings():
    with pytest.raises(TypeError, match="numperm: no such setting; did you mean num_perm"):
        Index(numperm=64)
    with pytest.raises(ValueError, match="threshold: 1.5 is not between 0.000001 and 1"):
        Index(threshold=1.5)
    with pytest.raises(ValueError, match="repeated_ids"):
        Index(repeated_ids="maybe")
    with pytest.raises(ValueError, match="hash_key"):
        Index(hash_key=b"short")


def test_a_missing_column_is_named_with_the_nearest_one():
    for table in (pa.table({"texte": [A]}), {"texte": [A]}):
        with pytest.raises(KeyError, match="no column 'text' among 'texte'; did you mean 'texte'"):
            deduplicate(table)
    with pytest.raises(KeyError, match="no column 'url'"):
        deduplicate({"text": [A]}, id="url")
    with pytest.raises(TypeError, match="str is not a table"):
        deduplicate("text")


def test_a_missing_column_of_a_file_is_named_before_anything_is_judged(tmp_path):
    pq.write_table(pa.table({"text": [A], "date": ["2024-01-01"]}), tmp_path / "a.parquet")
    index = Index()
    for arguments in ({"id": "dates"}, {"columns": ["dates"]}):
        with pytest.raises(KeyError, match="no column 'dates' among 'text', 'date'; did you mean 'date'"):
            list(scan_parquet(tmp_path, index=index, **arguments))
    assert index.documents == 0


def test_batches_without_rows(tmp_path):
    pq.write_table(pa.table({"text": [A]}), tmp_path / "a.parquet")
    for call in (lambda: list(scan_parquet(tmp_path, batch_rows=0)), lambda: resolve(tmp_path, batch_rows=0)):
        with pytest.raises(ValueError, match="^batch_rows: 0 is not a number of rows; give 1 or more$"):
            call()


def test_ids_that_come_again_in_a_later_batch(tmp_path):
    pq.write_table(pa.table({"id": ["a", "b"], "text": [A, B]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"id": ["c", "b"], "text": [A, B]}), tmp_path / "1.parquet")
    index = Index()
    batches = scan_parquet(tmp_path, id="id", index=index)
    assert next(batches)[1].is_unique.all()
    with pytest.raises(ValueError, match=r'"b" \(row 1\) is in the index already'):
        next(batches)
    assert index.documents == 2  # nothing of the second batch was judged
    with pytest.raises(ValueError, match='"a" is that of rows 0 and 1'):
        deduplicate({"id": ["a", "a"], "text": [A, B]}, id="id")


@pytest.mark.parametrize("damage", ["cut", "empty", "no parquet", "a page"])
def test_a_damaged_file_is_named_and_what_was_judged_stays(tmp_path, damage):
    texts = [f"{i} " + " ".join(str(i * 7919 + j * j) for j in range(50)) for i in range(4000)]
    for name in ("0.parquet", "1.parquet"):
        pq.write_table(pa.table({"text": texts}), tmp_path / name, row_group_size=1000, use_dictionary=False)
    whole = (tmp_path / "1.parquet").read_bytes()
    page = pq.read_metadata(tmp_path / "1.parquet").row_group(2).column(0).data_page_offset
    broken = {"cut": whole[: len(whole) // 2], "empty": b"", "no parquet": b"{}" * 1000,
              "a page": whole[:page] + b"\xff" * 64 + whole[page + 64 :]}[damage]
    (tmp_path / "1.parquet").write_bytes(broken)
    index = Index()
    first_row = "2000" if damage == "a page" else "0"
    with pytest.raises((pa.ArrowInvalid, OSError), match=rf"1\.parquet: cannot be read from row {first_row} on: ."):
        for _ in scan_parquet(tmp_path, index=index, batch_rows=1000):
            pass
    assert index.documents == 4000 + int(first_row)
    assert index.add([texts[0]]).verdict.tolist() == ["duplicate"]
    with pytest.raises((pa.ArrowInvalid, OSError), match=r"1\.parquet: cannot be read"):
        resolve(tmp_path / "1.parquet", record="text")


def test_an_index_that_another_process_holds(tmp_path):
    code = f"import doppel_dedup, sys; i = doppel_dedup.Index(path={str(tmp_path / 'i')!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(BusyError, match=f"in use by process {holder.pid}"):
            Index(path=tmp_path / "i")
        holder.stdin.close()
        holder.wait()
    with Index(path=tmp_path / "i") as first:
        with pytest.raises(BusyError, match=f"in use by process {os.getpid()}"):
            Index(path=tmp_path / "i")
        first.add([A])


def test_another_key_and_another_rule(tmp_path):
    with Index(path=tmp_path / "i") as index:
        index.add([A])
    with pytest.raises(WrongIndexError, match="hash_key_fingerprint"):
        Index(path=tmp_path / "i", hash_key="00112233445566778899aabbccddeeff")
    with pytest.raises(WrongIndexError, match="num_perm: the index was made with 128, now 64"):
        Index(path=tmp_path / "i", num_perm=64)
    with Index(path=tmp_path / "i") as index:
        assert len(index) == 1
    for key in ("0011", "x" * 32, ""):
        with pytest.raises(ValueError, match="hash.key"):
            Index(hash_key=key)


def test_a_damaged_directory(tmp_path):
    with Index(path=tmp_path / "i") as index:
        index.add([A, B])
    (tmp_path / "i" / "hot").write_bytes(b"no")
    with pytest.raises(doppel_dedup.Error):
        Index(path=tmp_path / "i")


def _add_in_child(index, queue):
    try:
        index.add([A])
        queue.put("added")
    except WrongIndexError as error:
        queue.put(str(error))


@pytest.mark.parametrize("path", [None, "i"])
def test_fork(tmp_path, path):
    index = Index(path=path and tmp_path / path)
    index.add([A])
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_add_in_child, args=(index, queue))
    child.start()
    assert "was opened by process" in queue.get(timeout=60)
    child.join()
    assert child.exitcode == 0
    assert index.add([A, B]).verdict.tolist() == ["duplicate", "unique"]
    if path:  # the child has not let go of the lock
        with pytest.raises(BusyError):
            Index(path=tmp_path / path)


def test_spawn(tmp_path):
    with pytest.raises(TypeError, match="pickle"):
        multiprocessing.get_context("spawn").Process(target=_add_in_child, args=(Index(), None)).start()


def _sign_in_child(texts, queue):
    queue.put((sign(texts).tolist(), list(sign_records(texts, range(len(texts))))))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_sign(method):
    texts = [f"{A} {i} {i + 1} {i + 2} {B}" for i in range(200)]
    expected = sign(texts, threads=2).tolist(), list(sign_records(texts, range(len(texts)), threads=2))
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_sign_in_child, args=(texts, queue))
    child.start()
    assert queue.get(timeout=120) == expected
    child.join()
    assert child.exitcode == 0


def test_an_index_is_closed_while_other_threads_use_it():
    texts = [" ".join(str(i * 7919 + j * j) for j in range(40)) for i in range(20_000)]
    index = Index(threads=2)
    in_the_middle = threading.Event()
    added, said = [], []

    def add():  # takes some times as long as the calls of `progress` are apart
        added.append(len(index.add(texts, progress=lambda done, total: in_the_middle.set())))

    def ask():
        try:
            while True:  # until it is closed
                index.query(texts[:16])
                index.remove(["1"])
        except ValueError as error:
            said.append(str(error))

    threads = [threading.Thread(target=add)]
    threads[0].start()
    assert in_the_middle.wait(timeout=60)
    threads += [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads[1:]:
        thread.start()
    index.close()
    for thread in threads:
        thread.join(timeout=60)
    assert added == [len(texts)]  # close() waits for the running call
    assert said == ["the index is closed"] * 2


def test_ctrl_c_is_heard_and_nothing_is_lost():
    texts = [f"{i} " + " ".join(str(i * 7919 + j * j) for j in range(400)) for i in range(3000)] * 30  # 270 MB
    index = Index(threads=1)
    killed = []

    def kill():
        killed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    for _ in range(50):  # a signal may fall between two calls, or before the first document of one
        timer = threading.Timer(0.3, kill)
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            while True:  # never ends by itself
                index.add(texts)
        assert time.monotonic() - killed[-1] < 5  # milliseconds, but where others keep the machine busy
        if 0 < len(index.last) < len(texts):
            break
    assert 0 < len(index.last) < len(texts)
    assert index.add([texts[0]]).verdict.tolist() == ["duplicate"]


def test_an_error_in_the_arrow_stream():
    def fail():
        yield pa.record_batch({"a": [A]})
        raise OSError("the disk is gone")

    class Column:
        def __arrow_c_stream__(self, requested_schema=None):
            schema = pa.schema({"a": pa.string()})
            return pa.RecordBatchReader.from_batches(schema, fail()).__arrow_c_stream__()

    with pytest.raises((TypeError, ValueError), match="the disk is gone|a table with the columns a"):
        Index().add(Column())


def test_arguments_of_the_extension_never_crash():
    code = """
        import doppel_dedup._core as c, itertools
        things = [None, 1, "x", b"y", [], {}, object(), float("nan"), ["x"], [None]]
        index = c.Index("", [], "", "error")
        minhash = c.MinHash(1, 16)
        calls = [index.add, index.query, index.remove, index.contains, c.sign, c.explain, minhash.update,
                 minhash.update_batch, minhash.merge, minhash.set_slots, c.MinHashIndex.create]
        for call in calls:
            for n in range(5):
                for arguments in itertools.islice(itertools.product(things, repeat=n), 0, 3000, 7):
                    try:
                        call(*arguments)
                    except (TypeError, ValueError, RuntimeError):
                        pass
        print("alive")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "alive\n", done.stderr


def test_the_command_starts_the_program():
    assert doppel("--version").stdout.startswith("doppel ")
    assert doppel("scan", "/nowhere/at/all", check=False).returncode == 2
