# What is documented, alerted and drawn, against a running daemon and real Prometheus tools.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(documented ${CMAKE_CURRENT_LIST_DIR}/documented_test.py --binary $<TARGET_FILE:doppel_cli>
    --docs ${PROJECT_SOURCE_DIR}/docs/metrics.md)
  add_test(NAME metrics/documented COMMAND Python3::Interpreter ${documented})
  add_test(NAME metrics/documented_kafka COMMAND Python3::Interpreter ${documented} --kafka ${kafka_folder})
  set_tests_properties(metrics/documented PROPERTIES TIMEOUT 120)
  set_tests_properties(metrics/documented_kafka PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED kafka LABELS kafka)
endif()
if(Python3_FOUND)
  add_test(NAME metrics/alerts COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/alerts_test.py ${PROJECT_SOURCE_DIR})
  # Seconds of processor time for each of the cases.
  set_tests_properties(metrics/alerts PROPERTIES TIMEOUT 600 LABELS prometheus)
endif()
