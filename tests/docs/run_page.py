#!/usr/bin/env python3
"""Executes a page of docs/: every ```sh block, in order, in one shell. usage: run_page.py --source DIR --binary DOPPEL PAGE

The shell starts in an empty folder that has what a checkout has (scripts/kafka, examples, config) and finds doppel in its
PATH; the ports that the page names are exchanged for free ones. What a reader would only look at is in comments
behind a block, <!-- check: COMMAND -->, and must succeed; a program before a | that ends early (grep -q, head) may not:
pipefail sees it end by SIGPIPE. Blocks of another language than sh are not executed.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ports import free_port  # noqa: E402

PORTS = ("6379", "9092", "9463", "9464", "9465", "9466", "9467", "9468")
SECONDS_MAX = 150
parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True)
parser.add_argument("--binary", required=True)
parser.add_argument("page")
ARGS = parser.parse_args()
SOURCE = pathlib.Path(ARGS.source).resolve()

page = (SOURCE / ARGS.page).read_text()
steps = [(m.group(1) or m.group(2), page.count("\n", 0, m.start()) + 1)
         for m in re.finditer(r"^```sh\n(.*?)^```$|^<!-- check: (.*?)\s-->$", page, re.M | re.S)]
assert steps, f"{ARGS.page} has no ```sh block"


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    work = folder / "work"
    work.mkdir()
    for name in ("examples", "config", "docs"):
        (work / name).symlink_to(SOURCE / name)
    # The page's Kafka is in a folder that is removed in the end.
    kafka = [str(SOURCE / "scripts/kafka"), "--dir", str(folder / "kafka")]
    (work / "scripts").mkdir()
    (work / "scripts/kafka").write_text(f'#!/bin/sh\nexec "{kafka[0]}" "$@" --dir "{kafka[2]}"\n')
    (work / "scripts/kafka").chmod(0o755)
    (folder / "bin").mkdir()
    (folder / "bin/doppel").symlink_to(pathlib.Path(ARGS.binary).resolve())
    ports = {port: str(free_port(3)) for port in PORTS}  # Kafka takes the next two as well
    script = ["set -euo pipefail"]
    for text, line in steps:
        for port, free in ports.items():
            text = re.sub(rf"\b{port}\b", free, text)
        script += [f"echo '--- {ARGS.page}:{line}' >&2", text]
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    # A session of its own: what the page left running in the background ends with it.
    shell = subprocess.Popen(["bash", "-c", "\n".join(script)], cwd=work, env=environment, start_new_session=True,
                             stdin=subprocess.DEVNULL)
    try:
        code = shell.wait(SECONDS_MAX)
    except subprocess.TimeoutExpired:
        code = "no answer"
    finally:
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        subprocess.run([kafka[0], "remove", *kafka[1:]], stdout=subprocess.DEVNULL)
    if code != 0:
        sys.exit(f"{ARGS.page}: the step named last gave {code}")
print(f"{ARGS.page}: {len(steps)} steps")
