"""Puts the licences of all code in a wheel, or in the tarball, into it.

usage: licences.py UNPACKED LIBRARIES LICENCE...

UNPACKED is an unpacked wheel, or the folder of the tarball that gets the folder `licenses`. LIBRARIES is a file that names the
libraries whose code is in it, one on a line. They belong to Debian's packages, which have copyright files. LICENCE is NAME=FILE,
for code that comes from elsewhere.
"""
import pathlib
import re
import subprocess
import sys

SOURCES = """The code of these source packages of Debian is in what you have. `apt-get source NAME=VERSION` gets each.

"""


def ask(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def gather(folder, libraries, others):
    folder.mkdir(exist_ok=True)
    owners = ask("dpkg", "-S", *sorted({str(pathlib.Path(name).resolve()) for name in libraries})).splitlines()
    sources = set()
    for package in {line.partition(": ")[0] for line in owners}:
        name, version = ask("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).split()
        sources.add(f"{name}={version}\n")
        (folder / f"{name}.txt").write_bytes(pathlib.Path(f"/usr/share/doc/{package.split(':')[0]}/copyright").read_bytes())
    (folder / "SOURCES.txt").write_text(SOURCES + "".join(sorted(sources)))
    for other in others:
        name, _, file = other.partition("=")
        (folder / name).write_bytes(pathlib.Path(file).read_bytes())


def main(unpacked, libraries, others):
    information = next(unpacked.glob("*.dist-info"), None)
    folder = (information or unpacked) / "licenses"
    gather(folder, libraries, others)
    if not information:
        return
    metadata = information / "METADATA"
    head, _, body = re.sub(r"^License-File: .*\n", "", metadata.read_text(), flags=re.M).partition("\n\n")
    files = "".join(f"\nLicense-File: {file.name}" for file in sorted(folder.iterdir()))
    metadata.write_text(f"{head}{files}\n\n{body}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text().split(), sys.argv[3:])
