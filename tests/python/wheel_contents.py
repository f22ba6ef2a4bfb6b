"""What is in a wheel: little, with all licences, for old systems. usage: wheel_contents.py WHEEL UNPACKED

WHEEL is a file made by scripts/wheel, and UNPACKED the folder into which it was installed.
"""
import pathlib
import re
import subprocess
import sys

MEGABYTE = 1_000_000
# Besides what is in the wheel it may use glibc and the compiler's libraries, as manylinux allows.
ALLOWED = ("libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "libstdc++.so", "libgcc_s.so", "ld-linux", "linux-vdso")
# Some of the libraries whose code is in the wheel, by the names of Debian's source packages.
LICENCES = {"abseil", "brotli", "fmtlib", "gcc-12", "icu", "libdeflate", "lz4", "simdjson", "snappy", "uchardet", "xxhash",
            "yaml-cpp", "zlib", "libzstd", "LICENSE", "nanobind", "robin_map.h"}


def files(folder):
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def readelf(*arguments):
    """Reads the files of any processor, which ldd and nm do not."""
    return subprocess.run(["readelf", "-W", *arguments], check=True, capture_output=True, text=True).stdout


def main(wheel, site):
    assert "manylinux_2_28" in wheel.name, wheel
    packages = [site / name for name in ("doppel_dedup", "doppel_dedup_command", "doppel_dedup.libs")]
    information, = site.glob("doppel_dedup-*.dist-info")
    installed = sum(file.stat().st_size for folder in [*packages, information] for file in files(folder))
    libraries = [file.name for file in files(site / "doppel_dedup.libs")]
    print(f"{wheel.stat().st_size / MEGABYTE:.1f} MB packed, {installed / MEGABYTE:.1f} MB installed, libraries beside the extension: {libraries}")
    assert installed <= 12 * MEGABYTE and len(libraries) == 1

    core, = site.glob("doppel_dedup/_core*.so")
    for file in [core, *files(site / "doppel_dedup.libs")]:
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", file))
        assert needed and all(name in libraries or name.startswith(ALLOWED) for name in needed), f"{file.name} needs {needed}"
    # A process that loads the extension late has little room for the variables of threads.
    of_threads = re.findall(r"^ +TLS +(?:0x[0-9a-f]+ ){4}(0x[0-9a-f]+)", readelf("-l", core), re.M)
    assert [int(size, 16) < 1500 for size in of_threads] == [True], of_threads
    # Nothing of the libraries within can be taken for another one's by a program that has its own.
    exported = re.findall(r"(?:GLOBAL|WEAK|UNIQUE) +\S+ +[0-9]+ (\w+)", readelf("--dyn-syms", core))
    assert exported == ["PyInit__core"], exported

    licences = {re.sub(r"\.txt$", "", file.name): file for file in files(information / "licenses")}
    assert not LICENCES - licences.keys(), f"no licences of {LICENCES - licences.keys()}"
    assert all(file.stat().st_size > 100 for file in licences.values())
    sources = (information / "licenses/SOURCES.txt").read_text()
    assert re.search(r"^icu=72", sources, re.M), sources
    assert re.findall(r"^License-File: (.*)$", (information / "METADATA").read_text(), re.M) == sorted(f.name for f in licences.values())


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
