"""Builds a wheel for the Python that runs this. usage: build.py [--cross ROOT] PARTS BUILD RAW

It runs in the folder of pyproject.toml, with scikit-build-core and nanobind in PYTHONPATH. PARTS is the folder of the program
that links (link), BUILD that of CMake, RAW that of the wheel. ROOT has the libraries of another processor, for which this
Python is, too.
"""
import os
import pathlib
import shutil
import sys
import sysconfig

from scikit_build_core.build import build_wheel

HERE = pathlib.Path(__file__).resolve().parent


def main(arguments):
    cross = arguments[1] if arguments[0] == "--cross" else None
    parts, build, raw = arguments[-3:]
    settings = {"cmake.define.CMAKE_CXX_LINKER_LAUNCHER": f"{HERE}/link;{parts}", "build-dir": os.path.abspath(build)}
    settings["cmake.define.DOPPEL_UNITY"] = "ON"  # as scripts/test builds: ccache has most of it then
    settings["cmake.define.Python3_EXECUTABLE"] = shutil.which("python3")  # for cmake/unity.cmake; this one may be for another processor
    if cross:
        settings["cmake.define.CMAKE_TOOLCHAIN_FILE"] = str(HERE / "arm64.cmake")
        settings["cmake.define.CMAKE_SYSROOT"] = cross
        settings["cmake.define.Python_INCLUDE_DIR"] = sysconfig.get_path("include")
    os.makedirs(raw)
    print(build_wheel(raw, settings))


if __name__ == "__main__":
    main(sys.argv[1:])
