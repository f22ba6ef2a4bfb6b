#!/usr/bin/env python3
"""scripts/sbom: valid SPDX, and every library that the program loads is in it with the version that is installed.

usage: sbom_test.py --source DIR --build BUILD_FOLDER
Runs in the environment that tests/packaging/venv makes.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True, type=pathlib.Path)
parser.add_argument("--build", required=True, type=pathlib.Path)
ARGS = parser.parse_args()


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1000000000"}).stdout


text = run(ARGS.source / "scripts/sbom", ARGS.build)
assert text == run(ARGS.source / "scripts/sbom", ARGS.build), "two runs differ"
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "doppel.spdx.json"
    path.write_text(text)
    run(pathlib.Path(sys.executable).parent / "pyspdxtools", "-i", path)

sbom = json.loads(text)
packages = {p["SPDXID"]: p for p in sbom["packages"]}
related = {kind: set() for kind in ("DYNAMIC_LINK", "STATIC_LINK", "BUILD_DEPENDENCY_OF")}
for r in sbom["relationships"]:
    if r["relationshipType"] in related:
        (identity,) = {r["spdxElementId"], r["relatedSpdxElement"]} - {"SPDXRef-doppel"}
        related[r["relationshipType"]].add(packages[identity]["name"])
assert packages["SPDXRef-doppel"]["checksums"][0]["checksumValue"] == hashlib.sha256((ARGS.build / "doppel").read_bytes()).hexdigest()
for p in packages.values():
    if p["name"] != "doppel":
        (version,) = set(run("dpkg-query", "-W", "-f", "${Version}\\n", p["name"]).split())
        assert p["versionInfo"] == version, p

# Each library is some package's, and that package is named.
libraries = re.findall(r"(/\S+) \(0x", run("ldd", ARGS.build / "doppel"))
assert len(libraries) > 10, libraries
for library in libraries:
    said = subprocess.run(["dpkg-query", "-S", library, os.path.realpath(library), library.removeprefix("/usr")],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    owner = next(line.split(":")[0] for line in said.splitlines() if not line.startswith("diversion by "))
    assert owner in related["DYNAMIC_LINK"], f"{library} of {owner}"
assert any(name.startswith("librdkafka") for name in related["DYNAMIC_LINK"]), related
assert "libcli11-dev" in related["BUILD_DEPENDENCY_OF"], related  # headers alone
assert "libabsl-dev" in related["STATIC_LINK"] | related["BUILD_DEPENDENCY_OF"], related
print(f"{len(packages)} packages, " + ", ".join(f"{len(names)} {kind}" for kind, names in related.items()))
