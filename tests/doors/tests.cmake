# The same documents through every way in: see doors_test.py.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME doors/same_answers
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/doors_test.py --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(doors/same_answers PROPERTIES TIMEOUT 300)
endif()
