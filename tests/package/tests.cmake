# The installed package, used from outside. Sanitizers would have to be in the other program too.
if(NOT DOPPEL_SANITIZE)
  add_test(NAME package/find_package
    COMMAND ${PROJECT_SOURCE_DIR}/tests/package/check ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER})
  set_tests_properties(package/find_package PROPERTIES TIMEOUT 300)
  # It compiles the library, from the cache of the compiler where that is warm.
  add_test(NAME package/alone
    COMMAND ${PROJECT_SOURCE_DIR}/tests/package/alone ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER}
      "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}" ${DOPPEL_UNITY})
  set_tests_properties(package/alone PROPERTIES TIMEOUT 1200 LABELS packaging)
endif()
