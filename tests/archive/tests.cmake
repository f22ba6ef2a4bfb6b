# A real crawl (nginx, wget) judged as a WARC file and by crawl logs that point into it.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME archive/site
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/archive_test.py --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(archive/site PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
  add_test(NAME archive/revisits
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/revisits_test.py --binary $<TARGET_FILE:doppel_cli>
      --venv ${CMAKE_BINARY_DIR}/venv-warcio)
  set_tests_properties(archive/revisits PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77)
  add_test(NAME archive/wget
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/wget_test.py --binary $<TARGET_FILE:doppel_cli>)
  set_tests_properties(archive/wget PROPERTIES TIMEOUT 120 SKIP_RETURN_CODE 77)
  # Installs pywb into the build folder.
  add_test(NAME archive/rewrite
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/rewrite_test.py --binary $<TARGET_FILE:doppel_cli>
      --venv ${CMAKE_BINARY_DIR}/venv-replay)
  add_test(NAME archive/referee
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/referee_test.py --binary $<TARGET_FILE:doppel_cli>
      --venv ${CMAKE_BINARY_DIR}/venv-replay)
  set_tests_properties(archive/rewrite archive/referee PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS slow
    RESOURCE_LOCK venv-replay)
  # Installs wacz into the build folder.
  add_test(NAME archive/wacz
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/wacz_test.py --binary $<TARGET_FILE:doppel_cli>
      --venv ${CMAKE_BINARY_DIR}/venv-wacz)
  set_tests_properties(archive/wacz PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS slow)
  add_test(NAME archive/kafka
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/kafka_test.py --binary $<TARGET_FILE:doppel_cli>
      --kafka ${CMAKE_BINARY_DIR}/kafka-tests)
  set_tests_properties(archive/kafka PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 FIXTURES_REQUIRED kafka LABELS kafka)
endif()
