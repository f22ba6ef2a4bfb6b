# The wheel, built as scripts/wheel does, on Debian 12, and used as somebody who has nothing else. Label python: in the release
# build only.
find_package(Python3 3.11 COMPONENTS Interpreter)
if(Python3_FOUND AND NOT DOPPEL_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND absl_VERSION VERSION_EQUAL 20220623)
  add_test(NAME python/wheel COMMAND ${CMAKE_CURRENT_LIST_DIR}/wheel_test
    ${PROJECT_SOURCE_DIR} ${Python3_EXECUTABLE} ${CMAKE_BINARY_DIR}/python-tests $<TARGET_FILE:doppel_cli>)
  set_tests_properties(python/wheel PROPERTIES LABELS python TIMEOUT 1800 COST 300)
endif()

# The variables of threads take less than 2 KB (the program's, which are more than the extension's): a process that loads the
# extension late has no room for more.
if(NOT DOPPEL_SANITIZE)
  add_test(NAME python/thread_variables COMMAND readelf --wide --program-headers $<TARGET_FILE:doppel_cli>)
  set_tests_properties(python/thread_variables PROPERTIES PASS_REGULAR_EXPRESSION " TLS +(0x[0-9a-f]+ )+0x000[0-7][0-9a-f][0-9a-f] ")
endif()

# The wheel for arm64. It takes a minute and a half where scripts/test has built for arm64. Label python-arm64.
if(CMAKE_CROSSCOMPILING)
  add_test(NAME python/arm64_wheel COMMAND ${CMAKE_CURRENT_LIST_DIR}/arm64_wheel_test
    ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/python-tests)
  set_tests_properties(python/arm64_wheel PROPERTIES LABELS python-arm64 TIMEOUT 1800 COST 200)
endif()

# The extension under AddressSanitizer; scripts/test asks for it with -DDOPPEL_PYTHON=ON. Label python-asan.
if(DOPPEL_PYTHON AND DOPPEL_SANITIZE MATCHES address)
  get_directory_property(python DIRECTORY ${PROJECT_SOURCE_DIR}/python DEFINITION Python_EXECUTABLE)
  add_test(NAME python/asan COMMAND ${CMAKE_CURRENT_LIST_DIR}/asan_test
    ${PROJECT_SOURCE_DIR} ${python} ${CMAKE_BINARY_DIR} ${CMAKE_CXX_COMPILER})
  set_tests_properties(python/asan PROPERTIES LABELS python-asan TIMEOUT 600 COST 200)
endif()
