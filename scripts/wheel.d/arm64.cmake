# Toolchain for the wheel for arm64. Python runs as it is: scripts/wheel.d/python makes a program that runs it with QEMU.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/arm64.cmake)
unset(CMAKE_CROSSCOMPILING_EMULATOR)
