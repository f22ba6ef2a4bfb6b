#!/usr/bin/env python3
"""scripts/release: it prepares a version, refuses what is not ready, makes the same bytes twice, and says what would be uploaded.

usage: release_test.py --source DIR --build BUILD_FOLDER. It works in clones of the repository; exit 77 without one.
"""
import argparse
import os
import pathlib
import platform
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
SYSTEM = "{ID}{VERSION_ID}".format(**platform.freedesktop_os_release())
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
    for script in ("release", "chart", "sbom"):
        shutil.copy(ARGS.source / "scripts" / script, one / "scripts" / script)
    changelog = one / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n* Something new.\n")
    commit(one)

    # What is not ready.
    for wrong in ("1.2", "v1.2.0", "1.02.0", "1.2.0-"):
        refuse(one, wrong, because="is not a version")
    refuse(one, VERSION, "debs", because="debs is no part of a release")
    refuse(one, VERSION, because=f'no text under "## {VERSION}"')
    (one / "new").touch()
    refuse(one, VERSION, because="?? new")
    (one / "new").unlink()

    # Another version is prepared: every file that names one names it.
    run(one / "scripts/release", "99.1.2", "--prepare")
    changed = run("git", "-C", one, "diff", "--name-only").split()
    assert re.fullmatch(r"# Changelog\n\n## Unreleased\n\n## 99\.1\.2 \(\d{4}-\d\d-\d\d\)\n\n\* Something new\.\n", changelog.read_text()), changelog.read_text()
    left = [f for f in changed if re.search(rf"\b{re.escape(VERSION)}\b", (one / f).read_text())]
    assert len(changed) == 9 and not left, (changed, left)
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
    package = f"doppel_{VERSION}+{SYSTEM}_{run('dpkg', '--print-architecture').strip()}"
    assert files == ["NOTES.md", "SHA256SUMS", f"doppel-{VERSION}.tar.gz", f"doppel-chart-{VERSION}.tgz", f"{package}.deb", f"{package}.spdx.json"], files
    for file in reversed(files):  # SHA256SUMS last: it differs if another does
        assert (outputs[0] / file).read_bytes() == (outputs[1] / file).read_bytes(), f"two runs gave two different {file}"
    run("sha256sum", "-c", "--strict", "SHA256SUMS", cwd=outputs[0])
    packed = run("tar", "-tf", outputs[0] / f"doppel-{VERSION}.tar.gz").split("\n")
    prefix = f"doppel-{VERSION}/"
    committed = run("git", "-C", one, "-c", "core.quotePath=off", "ls-files").split("\n")
    assert sorted(f.removeprefix(prefix) for f in packed if not f.endswith("/")) == sorted(committed)
    chart = run("tar", "-tf", outputs[0] / f"doppel-chart-{VERSION}.tgz").split()
    assert {"doppel/Chart.yaml", "doppel/files/doppel-alerts.yml", "doppel/files/doppel-overview.json"} <= set(chart), chart
    assert run("dpkg-deb", "-f", next(outputs[0].glob("*.deb")), "Version").strip() == f"{VERSION}+{SYSTEM}"

    # A dry run makes every part. The tarball, the wheels and the image, which have tests of their own, are made by programs that only write files.
    run("git", "-C", one, "reset", "-q", "--hard", "HEAD~1")
    for name, makes in {
        "scripts/wheel": """[ "$1" = --arm64 ] && m=aarch64 && shift || m=x86_64
for p in cp311-cp311 cp312-abi3; do echo $m >"$2/doppel_dedup-VERSION-$p-manylinux_2_27_$m.manylinux_2_28_$m.whl"; done""",
        "scripts/tarball": 'echo t >"$2/doppel-VERSION-linux-x86_64.tar.gz"',
        "scripts/sdist": 'echo s >"$2/doppel_dedup-VERSION.tar.gz"',
        "docker": """echo "$*" >>"$0.calls"
for last; do [ "$1" = --output ] && to=${2##*dest=}; shift $(($# > 1)); done
[ -z "$to" ] || { [ -f "$last/Dockerfile" ] && echo i >"$to"; }""",
    }.items():
        path = folder / "docker" / name if name == "docker" else one / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/bash\nset -e\n" + makes.replace("VERSION", VERSION) + "\n")
        path.chmod(0o755)
    changelog.write_text("# Changelog\n\n## Unreleased\n\n* Something new, in\n  [two lines](docs/scan.md).\n\nA text\nof two lines.\n\n## 0.0.1\n\n* Old.\n")
    commit(one)
    path = ENV["PATH"]
    ENV.update(PATH=f"{folder / 'docker'}:{path}", GITHUB_REPOSITORY="owner/project")
    dry = folder / "dry"
    dry.mkdir()
    (dry / "doppel-0.0.1.tar.gz").write_text("of an earlier release")
    said = run(one / "scripts/release", VERSION, "--dry-run", "--build", ARGS.build, "-o", dry)
    told = dict(re.findall(r"^release: to .*: (\S+) \(([\d,]+) bytes\)$", said, re.M))
    assert set(told) == {f.name for f in dry.iterdir()} - {"NOTES.md", "doppel-0.0.1.tar.gz"}, said
    assert all(int(size.replace(",", "")) == (dry / name).stat().st_size for name, size in told.items()), said
    to_pypi = re.findall(r"^release: to the release's page and PyPI: (\S+)", said, re.M)
    assert [f.rsplit(".", 1)[1] for f in to_pypi] == ["whl"] * 4 + ["gz"], said
    assert f"release: to the registry of images: doppel-image-{VERSION}.tar (2 bytes)" in said
    missing = re.findall(r"^release: not made here: (\S+)$", said, re.M)
    assert len(missing) == 4 and not any(SYSTEM in name for name in missing), said
    assert (dry / "NOTES.md").read_text() == (f"* Something new, in [two lines](https://github.com/owner/project/blob/v{VERSION}/docs/scan.md).\n\nA text of two lines.\n")
    run("sha256sum", "-c", "--strict", "SHA256SUMS", cwd=dry)
    summed = {line.split()[1] for line in (dry / "SHA256SUMS").read_text().splitlines()}
    assert summed == set(told) - {"SHA256SUMS", f"doppel-image-{VERSION}.tar"}, summed
    calls = (folder / "docker/docker.calls").read_text()
    assert "--platform linux/amd64,linux/arm64" in calls and "push" not in calls, calls

    # With the files of other systems it is complete; a part that other machines made is made by itself.
    refuse(one, VERSION, "sums", "--dry-run", "--complete", "-o", dry, because=f"a release also has {', '.join(missing)}")
    for name in missing:
        (dry / name).write_text("made elsewhere")
    said = run(one / "scripts/release", VERSION, "sums", "--dry-run", "--complete", "-o", dry)
    assert "making" not in said and "not made here" not in said, said
    run("sha256sum", "-c", "--strict", "SHA256SUMS", cwd=dry)
    (folder / "docker/docker").write_text("#!/bin/sh\nexit 1\n")
    refuse(one, VERSION, "--dry-run", "-o", dry, because="the image needs docker with buildx, which is not here; name the other parts: source, deb, tarball, wheels, sums\n")

    # The workflow makes each part, and every system of which a release has a package.
    workflow = (ARGS.source / ".github/workflows/release.yml").read_text()
    parts = {part for line in re.findall(r"scripts/release (.*)", workflow) for part in line.split() if part.isalpha()}
    assert parts == {"source", "deb", "tarball", "wheels", "image", "sums"}, parts
    systems = re.findall(r"- \{?image: (\w+):([\d.]+)", workflow)
    assert {f"{name}{number}" for name, number in systems} == {re.search(r"\+(.*)_", name)[1] for name in missing} | {SYSTEM}, systems
print(f"prepared, refused, released twice with the same bytes: {', '.join(files)}; a dry run told of {len(told)} files")
