# Dashboards and rules, asked of a real Prometheus that scrapes a real daemon under load.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_executable(prometheus_produce ${CMAKE_CURRENT_LIST_DIR}/produce.cc)
  target_link_libraries(prometheus_produce PRIVATE kafka_support)
  add_test(NAME prometheus/dashboards_are_made COMMAND ${PROJECT_SOURCE_DIR}/deploy/grafana/make_dashboards --check)
  add_test(NAME prometheus/dashboards COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/dashboards_test.py ${PROJECT_SOURCE_DIR})
  add_test(NAME prometheus/live COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/live_test.py
    --binary $<TARGET_FILE:doppel_cli> --produce $<TARGET_FILE:prometheus_produce> --project ${PROJECT_SOURCE_DIR}
    --kafka ${kafka_folder})
  set_tests_properties(prometheus/live PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED kafka LABELS "prometheus;kafka")
endif()
