"""What a type checker finds in programs."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import doppel_dedup
import doppel_dedup._core as core
from doppel_dedup import _settings


def test_typed_settings_are_settings():
    known = {name.replace(".", "_") for name in core.settings()}
    arguments = {"path", "hash_key", "repeated_ids", "config", "threads"}
    for kind in (_settings.SigningSettings, _settings.IndexSettings, _settings.ClusterSettings):
        assert set(kind.__annotations__) <= known | arguments
    # What an index depends on can be given.
    assert set(_settings.IndexSettings.__annotations__) >= {
        "threshold", "recall", "verify", "bands", "rows", "max_listed", "max_checks", "expire_after", "max_documents", "max_memory",
        "num_perm", "sketch", "shingle_words", "min_shingles", "normaliser", "max_record",
        "relations", "containment", "passage_words", "common_after", "max_related", "partial"}


def test_what_python_does_not_do_is_refused():
    with pytest.raises(TypeError, match="scan --keep"):
        doppel_dedup.Index(relations=["near", "shares"], cut="shares")


def test_a_type_checker_finds_a_wrong_setting(tmp_path):
    pytest.importorskip("mypy")
    program = """
        import pyarrow as pa
        from doppel_dedup import Index, Verdict, Verdicts, clean, decontaminate, deduplicate, scan_parquet, sign_records

        Index(threshold=0.7, path="x", shingle_words=3, repeated_ids="allow")
        Index(treshold=0.7)  # error
        Index(sketch="quick")  # error
        deduplicate({"text": ["x"]}, shingle_words=3, order_by=[("n", "desc"), "m desc"], keep=("score", "desc"), path="x")
        deduplicate({"text": ["x"]}, shingle_word=3)  # error
        clean("a", "b", keep="longest", state_fsync="commit")
        clean("a", "b", keep="best")  # error
        clean("a", "b", relations=["near", "contained"], partial="duplicate")
        Index(relations=["nearly"])  # error
        scan_parquet("a", threshold=0.5)
        sign_records(["x"], ["y"], num_perm="many")  # error
        kept: dict[str, list[str]] = deduplicate({"text": ["x"]})
        number: int = deduplicate({"text": ["x"]})  # error
        deduplicate({"text": ["x"]}, subset="text")  # error
        decontaminate("a", "b", keep="c")  # error
        rows, verdicts, clusters = deduplicate(["x"], with_verdicts=True, with_clusters=True)
        some: Verdicts = verdicts[verdicts.is_duplicate]
        one: Verdict = some[0]
        texts: list[str] = rows
        text: str = clean("a", "b").summary  # error
    """
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--no-incremental", file], capture_output=True, text=True)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    wanted = {n for n, line in enumerate(file.read_text().splitlines(), 1) if "# error" in line}
    assert found == wanted, done.stdout


def test_all_that_programs_use_is_typed(tmp_path):
    pytest.importorskip("pyright")
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run([sys.executable, "-m", "pyright", "--verifytypes", "doppel_dedup", "--ignoreexternal", "--outputjson"],
                          capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PATH": path})
    said = json.loads(done.stdout)["typeCompleteness"]
    unknown = [symbol["name"] for symbol in said["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert said["completenessScore"] >= 0.95, unknown
    assert said["exportedSymbolCounts"]["withKnownType"] > 70
