#!/usr/bin/env python3
"""`cmake --install` puts program, manual page, completion, unit and documents where they belong, and they work.

usage: install_test.py --build BUILD_FOLDER
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
BUILD = parser.parse_args().build


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    assert done.returncode == 0, f"{command} gave {done.returncode}:\n{done.stdout}{done.stderr}"
    assert not done.stderr, f"{command} complains:\n{done.stderr}"
    return done.stdout


def completed(script, *words):
    """What bash offers for the last of these words."""
    line = " ".join(f"'{w}'" for w in words)
    return run("bash", "--norc", "-c", f"source '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _doppel 2>/dev/null; "
               'printf "%s\\n" "${COMPREPLY[@]}"').split()


with tempfile.TemporaryDirectory() as prefix:
    run("cmake", "--install", BUILD, "--prefix", prefix)
    root = pathlib.Path(prefix)
    doppel = root / "bin/doppel"
    listed = run(doppel, "--help").split("commands:\n")[1].split("\n\n")[0]
    commands = re.findall(r"^  (\S+)", listed, re.M)
    assert "serve" in commands and "completion" in commands, commands

    # The manual page: formatted without a warning, with every command, flag and setting.
    page = run("man", "--warnings", "-E", "UTF-8", "-l", root / "share/man/man1/doppel.1",
               env={**os.environ, "MANWIDTH": "120", "MANPAGER": "cat"})
    page = re.sub(".\b", "", page)
    for command in commands:
        if command != "completion":
            assert re.search(rf"^   doppel {command}$", page, re.M), command
            for flag in re.findall(r"^  (?:-\w,)?(--[\w-]+)", run(doppel, command, "--help"), re.M):
                assert flag in page or flag == "--help", f"{flag} of {command} is not in the manual page"
    keys = re.findall(r"^([a-z][a-z_.]+)$", run(doppel, "config", "keys"), re.M)
    assert len(keys) > 50
    for key in keys:
        assert re.search(rf"^       {re.escape(key)}\b", page, re.M), key

    # Completion.
    bash = root / "share/bash-completion/completions/doppel"
    assert set(commands) <= set(completed(bash, "doppel", "")), completed(bash, "doppel", "")
    assert completed(bash, "doppel", "ser") == ["serve"]
    assert "--threshold" in completed(bash, "doppel", "scan", "--th")
    assert completed(bash, "doppel", "scan", "--set", "kafka.bro") == ["kafka.brokers="]
    # Values: bash makes three words of KEY=VALUE, zsh one.
    assert completed(bash, "doppel", "scan", "--set", "verify", "=") == ["exact", "signature"]
    assert completed(bash, "doppel", "scan", "--set", "verify", "=", "s") == ["signature"]
    assert completed(bash, "doppel", "scan", "--set", "=", "verify", "=", "s") == ["signature"]
    assert completed(bash, "doppel", "scan", "--set", "verify=s") == ["verify=signature"]
    assert completed(bash, "doppel", "scan", "--set", "dry_run=") == ["dry_run=true", "dry_run=false"]
    assert completed(bash, "doppel", "scan", "--extract", "vi") == ["visible"]
    assert completed(bash, "doppel", "scan", "--extract", "=", "vi") == ["visible"]
    assert completed(bash, "doppel", "text", "--extract", "") == ["none", "visible", "main", "both"]
    assert completed(bash, "doppel", "rebuild", "--from", "d") == ["documents"]
    assert completed(bash, "doppel", "scan", "--format", "warc") == ["warc"]
    assert completed(bash, "doppel", "scan", "--threads", "") == []
    assert completed(bash, "doppel", "completion", "") == ["bash", "zsh", "fish", "man"]
    (root / "words/folder").mkdir(parents=True)
    (root / "words/file").touch()
    words = f"{root}/words/"
    assert sorted(completed(bash, "doppel", "scan", "--state", words)) == [words + "file", words + "folder"]
    assert completed(bash, "doppel", "scan", "--against", words) == [words + "folder"]
    assert completed(bash, "doppel", "scan", "--set", "state.directory", "=", words + "fo") == [words + "folder"]
    assert completed(bash, "doppel", "config", "ch") == ["check"]
    assert "--set" in completed(bash, "doppel", "config", "print", "--s")
    for shell, file in (("zsh", "share/zsh/site-functions/_doppel"), ("fish", "share/fish/vendor_completions.d/doppel.fish")):
        if shutil.which(shell):
            run(shell, "-n", root / file)
    if shutil.which("fish"):
        offered = run("fish", "--no-config", "-c", f"source {root / 'share/fish/vendor_completions.d/doppel.fish'}; "
                      "complete -C 'doppel ser'; complete -C 'doppel scan --thres'; "
                      "complete -C 'doppel scan --set verify='; complete -C 'doppel text --extract b'; "
                      f"complete -C 'doppel scan --against {words}'", env={**os.environ, "HOME": prefix})
        assert "serve\t" in offered and "--threshold\t" in offered, offered
        assert "verify=signature" in offered and "\nboth" in offered, offered
        assert "folder/" in offered and words + "file" not in offered, offered

    # The rest.
    run(doppel, "config", "check", root / "share/doppel/doppel.yaml")
    unit = (root / "lib/systemd/system/doppel.service").read_text()
    assert f"ExecStart={prefix}/bin/doppel serve" in unit and "/usr/bin" not in unit
    for file in ("README.md", "CHANGELOG.md", "copyright", "docs/concepts.md", "docs/schema/duplicate-of.v1.json"):
        assert (root / "share/doc/doppel" / file).is_file(), file
    print(f"installed and looked at: {len(commands)} commands, {len(keys)} settings")
