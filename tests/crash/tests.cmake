# `doppel scan` and `doppel serve` on files are killed at random moments and at named points, their disk is filled up and
# their system calls fail; clients insert documents meanwhile. See scan_crash.py, serve_crash.py and insert_crash.py.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME crash/scan
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/scan_crash.py --binary $<TARGET_FILE:doppel_cli>)
  add_test(NAME crash/serve
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/serve_crash.py --binary $<TARGET_FILE:doppel_cli>)
  add_test(NAME crash/insert
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/insert_crash.py --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(crash/scan crash/serve crash/insert PROPERTIES LABELS crash TIMEOUT 600)
endif()
