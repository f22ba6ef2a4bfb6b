#!/usr/bin/env python3
"""The .deb: without findings of lintian, then in a clean Debian: installed, used as its own user, upgraded, removed and purged without a trace.

usage: deb_test.py --build BUILD_FOLDER. Needs root (exit 77 without) and Debian's mirror.
"""
import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--build", required=True)
BUILD = pathlib.Path(parser.parse_args().build)
if os.geteuid() != 0:
    print("deb_test: a chroot needs root")
    sys.exit(77)


def run(*command, **more):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    assert done.returncode == 0, f"{' '.join(map(str, command))} gave {done.returncode}:\n{done.stdout[-4000:]}"
    return done.stdout


def package(folder, version):
    run("cpack", "-G", "DEB", "-B", folder / version, "-D", f"CPACK_PACKAGE_VERSION={version}", cwd=BUILD)
    (file,) = (folder / version).glob("*.deb")
    return file


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    root = folder / "root"
    # The package disables the unit when it is removed, so that no link to it stays; debhelper's tools know no other enabled units
    # than those that a package enabled.
    packages = {version: package(folder, version) for version in ("1.0.0", "1.1.0")}
    run("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", "maintainer-script-calls-systemctl", packages["1.0.0"])

    # The release that the package was built on: its dependencies are named there.
    run("mmdebstrap", "--variant=minbase", platform.freedesktop_os_release()["VERSION_CODENAME"], root, env={**os.environ, "TMPDIR": temporary})

    def inside(*command, **more):
        return run("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", *command, **more)

    def installed():
        return inside("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}\n", "doppel").split()

    def everything():
        """All files but those that every package leaves: lists, logs, caches; and the lines of users and groups."""
        left_out = ("/proc", "/sys", "/dev", "/tmp", "/var/lib/apt", "/var/cache", "/var/log", "/var/lib/dpkg")
        files = {f for f in inside("find", "/", "-xdev").splitlines() if not f.startswith(left_out) and not f.endswith("-")}
        return files | set((root / "etc/passwd").read_text().splitlines()) | set((root / "etc/group").read_text().splitlines())

    for version in ("1.0.0", "1.1.0"):
        (root / f"tmp/{version}.deb").write_bytes(packages[version].read_bytes())
    inside("apt-get", "update")
    # What the package needs first, so that what remains in the end is the package's own doing.
    needs = inside("dpkg-deb", "-f", "/tmp/1.0.0.deb", "Depends")
    inside("apt-get", "install", "-y", "-q", "--no-install-recommends",
           *[need.split("(")[0].strip() for need in needs.split(",")])
    before = everything()

    # Installed: a user, a configuration that only it and root read, a program.
    inside("apt-get", "install", "-y", "-q", "--no-install-recommends", "/tmp/1.0.0.deb")
    assert installed() == ["ii", "1.0.0"], installed()
    assert inside("stat", "-c", "%U:%G %a", "/etc/doppel/doppel.yaml").strip() == "root:doppel 640"
    uid = int(inside("id", "-u", "doppel"))
    assert 0 < uid < 1000
    inside("doppel", "config", "check", "/etc/doppel/doppel.yaml")
    unit = (root / "usr/lib/systemd/system/doppel.service").read_text()
    assert "ExecStart=/usr/bin/doppel serve" in unit

    # Used as its own user, with the state where the unit has it (systemd makes that folder).
    inside("install", "-d", "-o", "doppel", "-g", "doppel", "-m", "0700", "/var/lib/doppel")
    text = " ".join(f"word{i}" for i in range(50))
    lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i in ("a", "b"))
    event = inside("setpriv", "--reuid=doppel", "--regid=doppel", "--clear-groups", "doppel", "scan", "-q", "--config",
                   "/etc/doppel/doppel.yaml", "-", input=lines)
    assert json.loads(event)["original"]["id"] == "a", event

    # Upgraded: settings and state stay.
    with open(root / "etc/doppel/doppel.yaml", "a") as settings:
        settings.write("threads: 1\n")
    inside("apt-get", "install", "-y", "-q", "--no-install-recommends", "/tmp/1.1.0.deb")
    assert installed() == ["ii", "1.1.0"], installed()
    assert (root / "etc/doppel/doppel.yaml").read_text().endswith("threads: 1\n")
    assert int(inside("id", "-u", "doppel")) == uid
    inside("doppel", "inspect", "/var/lib/doppel")

    # Removed: the program is gone, what is the user's stays. Purged: all is gone.
    inside("apt-get", "remove", "-y", "-q", "doppel")
    assert not (root / "usr/bin/doppel").exists() and (root / "var/lib/doppel/hash.key").exists()
    assert (root / "etc/doppel/doppel.yaml").exists()
    inside("apt-get", "purge", "-y", "-q", "doppel")
    left, lost = everything() - before, before - everything()
    assert not left and not lost, f"left behind: {sorted(left)}; lost: {sorted(lost)}"
print("installed, used, upgraded, removed and purged")
