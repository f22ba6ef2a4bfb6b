"""What the engine says reaches Python as Python does it: log lines through logging, and settings by the names of arguments."""

import logging
import subprocess
import sys

import pytest

from doppel_dedup import Index, decontaminate


def test_log_lines_go_through_logging(tmp_path, caplog, capfd):
    with Index(path=tmp_path / "index", bands=20, rows=5) as index:
        index.add(["one two three four five six"])
    with caplog.at_level(logging.INFO, logger="doppel_dedup"):
        Index(against=tmp_path / "index")
    record, = caplog.records
    assert (record.name, record.levelname) == ("doppel_dedup", "INFO")
    assert record.getMessage().startswith("the index keeps the bands that it was made with bands=20 rows=5 recall=")
    assert capfd.readouterr().err == ""

    # By default Python shows nothing below a warning.
    program = f"from doppel_dedup import Index; Index(against={str(tmp_path / 'index')!r})"
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("", "")


@pytest.mark.parametrize("settings, message", [
    ({"state_fsync": "often"}, "state_fsync: often is not one of none, checkpoint, commit"),
    ({"input_format": "x"}, "input_format: x is not one of auto, json"),
    ({"relations": ["x"]}, 'relations: "x" is not one of near, contained, contains, shares, similar'),
    ({"relations": ["contained"]}, "relations: doppel always looks for near; name it, too"),
    ({"state_directory": "x", "against": "x"}, "against: x: that is the index itself"),
    ({"max_memory": "1"}, "(batch_bytes), and"),
])
def test_settings_have_the_names_of_arguments(settings, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as caught:
        Index(**settings)
    assert message in str(caught.value)
    assert "command line" not in str(caught.value)
    assert "relations: relations" not in str(caught.value)


def test_fields_have_the_names_of_arguments():
    with pytest.raises(ValueError, match="^text: at least one field is needed"):
        decontaminate([{"id": "1", "text": "x"}], [{"question": "a b c d e f g h"}], text=[], progress=False)


def test_paths_stay_as_they_are(tmp_path):
    (tmp_path / "state.fsync").write_text("nope: 1\n")
    with pytest.raises(ValueError, match="/state.fsync:1: nope: no such key"):
        Index(config=tmp_path / "state.fsync")
