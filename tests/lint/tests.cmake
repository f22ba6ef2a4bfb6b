# Which files scripts/lint gives to clang-tidy, and what scripts/test runs.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME lint/selection COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/selection_test.py)
  if(NOT DOPPEL_SANITIZE)
    add_test(NAME lint/test_script COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/test_script_test.py --build ${CMAKE_BINARY_DIR})
  endif()
endif()
