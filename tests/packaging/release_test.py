#!/usr/bin/env python3
"""scripts/release: it prepares a version, refuses what is not ready, and makes the same bytes twice.

usage: release_test.py --source DIR --build BUILD_FOLDER. It works in clones of the repository; exit 77 without one.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True, type=pathlib.Path)
parser.add_argument("--build", required=True, type=pathlib.Path)
ARGS = parser.parse_args()
if not (ARGS.source / ".git").exists():
    print("release_test: the source is no repository")
    sys.exit(77)
ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **{f"GIT_{who}_{what}": "test@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
VERSION = re.search(r'VERSION_STRING "(.*)"', (ARGS.source / "include/doppel/version.h").read_text())[1]


def run(*command, code=0, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV, **more)
    assert done.returncode == code, f"{' '.join(map(str, command))} gave {done.returncode}:\n{done.stdout[-4000:]}"
    return done.stdout


def clone(source, target):
    run("git", "-c", "safe.directory=*", "clone", "-q", source, target)
    return target


def commit(folder):
    run("git", "-C", folder, "add", "-A")
    run("git", "-C", folder, "commit", "-q", "-m", "test")


def refuse(folder, version, *flags, because):
    said = run(folder / "scripts/release", version, *flags, code=1)
    assert because in said, said


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    one = clone(ARGS.source, folder / "one")
    for script in ("release", "chart"):
        shutil.copy(ARGS.source / "scripts" / script, one / "scripts" / script)
    changelog = one / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n* Something new.\n")
    commit(one)

    # What is not ready.
    for wrong in ("1.2", "v1.2.0", "1.02.0", "1.2.0-"):
        refuse(one, wrong, because="is not a version")
    refuse(one, VERSION, because=f'no text under "## {VERSION}"')
    (one / "new").touch()
    refuse(one, VERSION, because="?? new")
    (one / "new").unlink()

    # Another version is prepared: every file that names one names it.
    run(one / "scripts/release", "99.1.2", "--prepare")
    changed = run("git", "-C", one, "diff", "--name-only").split()
    assert re.fullmatch(r"# Changelog\n\n## Unreleased\n\n## 99\.1\.2 \(\d{4}-\d\d-\d\d\)\n\n\* Something new\.\n", changelog.read_text()), changelog.read_text()
    left = [f for f in changed if re.search(rf"\b{re.escape(VERSION)}\b", (one / f).read_text())]
    assert len(changed) == 5 and not left, (changed, left)
    assert [re.search(rf"{part} (\d+)", (one / "include/doppel/version.h").read_text())[1] for part in ("MAJOR", "MINOR", "PATCH")] == ["99", "1", "2"]
    refuse(one, "99.1.2", "--prepare", because="already")
    refuse(one, "99.1.3", "--prepare", because='nothing under "## Unreleased"')
    commit(one)
    refuse(one, "99.1.3", because="no text under")
    refuse(one, "99.1.2", "--build", ARGS.build, because=f"says that it is doppel {VERSION}")
    changelog.write_text(changelog.read_text() + "\n## 99.1.3\n\n* More.\n")
    commit(one)
    refuse(one, "99.1.3", because="include/doppel/version.h has version 99.1.2")

    # The version of the build is released from two clones, whose files have other times and modes.
    run("git", "-C", one, "reset", "-q", "--hard", "HEAD~2")
    changelog.write_text(changelog.read_text() + f"\n## {VERSION}\n\n* Something.\n")
    commit(one)
    two = clone(one, folder / "two")
    run("chmod", "-R", "g+w", two)
    run("git", "-C", two, "config", "tar.umask", "0")
    outputs = []
    for source, mask in ((one, 0o022), (two, 0o002)):
        outputs.append(folder / f"{source.name}.dist")
        run(source / "scripts/release", VERSION, "--build", ARGS.build, "-o", outputs[-1], umask=mask)
    files = sorted(f.name for f in outputs[0].iterdir())
    assert [f.split(VERSION)[0] for f in files] == ["SHA256SUMS", "doppel-", "doppel-", "doppel-chart-", "doppel_"], files
    for file in reversed(files):  # SHA256SUMS last: it differs if another does
        assert (outputs[0] / file).read_bytes() == (outputs[1] / file).read_bytes(), f"two runs gave two different {file}"
    run("sha256sum", "-c", "--strict", "SHA256SUMS", cwd=outputs[0])
    packed = run("tar", "-tf", outputs[0] / f"doppel-{VERSION}.tar.gz").split("\n")
    prefix = f"doppel-{VERSION}/"
    committed = run("git", "-C", one, "-c", "core.quotePath=off", "ls-files").split("\n")
    assert sorted(f.removeprefix(prefix) for f in packed if not f.endswith("/")) == sorted(committed)
    chart = run("tar", "-tf", outputs[0] / f"doppel-chart-{VERSION}.tgz").split()
    assert {"doppel/Chart.yaml", "doppel/files/doppel-alerts.yml", "doppel/files/doppel-overview.json"} <= set(chart), chart
    assert run("dpkg-deb", "-f", next(outputs[0].glob("*.deb")), "Version").strip() == VERSION
print(f"prepared, refused, and released twice with the same bytes: {', '.join(files)}")
