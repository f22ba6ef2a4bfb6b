"""The examples in docstrings, and the stubs."""

import doctest
import importlib
import pathlib

import pytest

import doppel_dedup


@pytest.mark.parametrize("name", ["", "._index", "._verdicts", "._texts", "._tables", "._signed", ".datasketch", ".datasketch.minhash"])
def test_examples(name):
    module = importlib.import_module("doppel_dedup" + name)
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0


def test_typing():
    package = pathlib.Path(doppel_dedup.__file__).parent
    assert (package / "py.typed").exists()
    assert "class Index" in (package / "_core.pyi").read_text()


def test_everything_public_is_documented():
    for name in doppel_dedup.__all__:
        thing = getattr(doppel_dedup, name)
        assert thing.__doc__, name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if callable(value) and not member.startswith("_"):
                assert value.__doc__, f"{name}.{member}"
