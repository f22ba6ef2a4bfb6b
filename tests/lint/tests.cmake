# Which files scripts/lint gives to clang-tidy.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME lint/selection COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/selection_test.py)
endif()
