# `doppel scan` is killed at random moments, and its disk filled up; see scan_crash.py.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME crash/scan
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/scan_crash.py --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(crash/scan PROPERTIES LABELS crash TIMEOUT 600)
endif()
