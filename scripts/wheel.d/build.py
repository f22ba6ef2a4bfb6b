"""Builds a wheel for the Python that runs this. usage: build.py PARTS BUILD RAW

It runs in the folder of pyproject.toml, with scikit-build-core and nanobind in PYTHONPATH. PARTS is the folder of the program
that links (link), BUILD that of CMake, RAW that of the wheel.
"""
import os
import pathlib
import sys

from scikit_build_core.build import build_wheel

HERE = pathlib.Path(__file__).resolve().parent


def main(parts, build, raw):
    settings = {"cmake.define.CMAKE_CXX_LINKER_LAUNCHER": f"{HERE}/link;{parts}", "build-dir": os.path.abspath(build)}
    os.makedirs(raw)
    print(build_wheel(raw, settings))


if __name__ == "__main__":
    main(*sys.argv[1:])
