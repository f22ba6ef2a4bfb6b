#!/usr/bin/env python3
"""The image of the Dockerfile for arm64, built on another processor and run in QEMU: it says the verdicts of this processor's
doppel. usage: image_arm64_test.py --source DIR --binary DOPPEL
Needs root and what registers QEMU for programs of arm64 (exit 77 without), and Debian's mirror; no daemon.
"""
import argparse
import atexit
import os
import pathlib
import sys
import tempfile
import time

from images import Store, run

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True)
parser.add_argument("--binary", required=True, help="doppel for the processor of this machine")
flags = parser.parse_args()
BINFMT = pathlib.Path("/proc/sys/fs/binfmt_misc")
REGISTRATION = pathlib.Path("/usr/lib/binfmt.d/qemu-aarch64.conf")  # Debian's qemu-user-static
if os.geteuid() != 0 or not REGISTRATION.exists():
    print("image_arm64_test: needs root, and qemu-user-static: run scripts/install-deps test")
    sys.exit(77)

# The kernel keeps QEMU open (flag F), so that it also runs in another root.
if not (BINFMT / "register").exists():
    run("mount", "-t", "binfmt_misc", "none", BINFMT)
if not (BINFMT / "qemu-aarch64").exists():
    (BINFMT / "register").write_text(REGISTRATION.read_text())
    atexit.register((BINFMT / "qemu-aarch64").write_text, "-1")  # this machine is as before

began = time.monotonic()
with tempfile.TemporaryDirectory() as temporary:
    store = Store(pathlib.Path(temporary))
    host = run("dpkg", "--print-architecture").strip()
    store.make_base(host, "arm64")
    image = store.build(flags.source, host, "arm64", "abc123")
    assert image["Architecture"] == "arm64", image["Architecture"]
    assert image["Config"]["Labels"]["org.opencontainers.image.revision"] == "abc123", image["Config"]["Labels"]
    print(f"built in {time.monotonic() - began:.0f} s, {image['Size'] >> 20} MiB with its base", flush=True)

    scan = ["scan", "--all", "-q", "-"]
    key = "DOPPEL_HASH_KEY=00112233445566778899aabbccddeeff"
    documents = (pathlib.Path(flags.source) / "examples/news.jsonl").read_text()
    said = store.podman("run", "--rm", "--platform=linux/arm64", *store.FLAGS, "-i", "-e", key, "doppel", *scan, input=documents)
    expected = run("env", key, flags.binary, *scan, input=documents)
    assert said.count('"verdict":"duplicate"') > 20, said[:2000]
    assert said == expected, "the verdicts are not those of this processor's doppel"
print(f"built and run in {time.monotonic() - began:.0f} s")
