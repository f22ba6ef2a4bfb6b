# The installed package, used from outside. Sanitizers would have to be in the other program too.
if(NOT DOPPEL_SANITIZE)
  add_test(NAME package/find_package
    COMMAND ${PROJECT_SOURCE_DIR}/tests/package/check ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER})
  set_tests_properties(package/find_package PROPERTIES TIMEOUT 300)
endif()
