# Parquet and Arrow as their writers write them, cell by cell. Label python: in the release build only.
find_package(Python3 3.11 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT DOPPEL_SANITIZE)
  add_test(NAME tables/gate COMMAND ${CMAKE_CURRENT_LIST_DIR}/gate_test
    ${PROJECT_SOURCE_DIR} ${Python3_EXECUTABLE} ${CMAKE_BINARY_DIR}/tables-venv $<TARGET_FILE:doppel_cli>)
  set_tests_properties(tables/gate PROPERTIES LABELS python TIMEOUT 600 COST 60)
endif()
