# The daemon on a real Kafka, which scripts/kafka fetches and starts once for all of these tests (a fixture). Label
# kafka; what takes long is slow besides. Tests that kill brokers start their own.
if(NOT TARGET PkgConfig::RDKAFKA)
  pkg_check_modules(RDKAFKA REQUIRED IMPORTED_TARGET rdkafka)
endif()

set(kafka_folder ${CMAKE_BINARY_DIR}/kafka-tests)
add_test(NAME kafka/start COMMAND ${PROJECT_SOURCE_DIR}/scripts/kafka start --fresh --port 0 --dir ${kafka_folder})
add_test(NAME kafka/remove COMMAND ${PROJECT_SOURCE_DIR}/scripts/kafka remove --dir ${kafka_folder})
set_tests_properties(kafka/start PROPERTIES FIXTURES_SETUP kafka LABELS kafka TIMEOUT 300)
set_tests_properties(kafka/remove PROPERTIES FIXTURES_CLEANUP kafka LABELS kafka TIMEOUT 60)

# What tests and the crash harness share: a broker, a client, a proxy that cuts connections, a daemon to torment.
add_library(kafka_support STATIC
  ${CMAKE_CURRENT_LIST_DIR}/broker.cc ${CMAKE_CURRENT_LIST_DIR}/client.cc ${CMAKE_CURRENT_LIST_DIR}/cluster_setup.cc
  ${CMAKE_CURRENT_LIST_DIR}/daemon.cc ${CMAKE_CURRENT_LIST_DIR}/published.cc ${CMAKE_CURRENT_LIST_DIR}/signed_order.cc
  ${CMAKE_CURRENT_LIST_DIR}/proxy.cc ${CMAKE_CURRENT_LIST_DIR}/index_setup.cc ${CMAKE_CURRENT_LIST_DIR}/state_content.cc ${CMAKE_CURRENT_LIST_DIR}/truth.cc ${CMAKE_CURRENT_LIST_DIR}/workload.cc)
target_include_directories(kafka_support PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(kafka_support PUBLIC doppel_app doppel_oracle PkgConfig::RDKAFKA fmt::fmt simdjson::simdjson GTest::gtest
  PRIVATE doppel_build)
target_compile_definitions(kafka_support PUBLIC DOPPEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  DOPPEL_BINARY="$<TARGET_FILE:doppel_cli>" DOPPEL_KAFKA_FOLDER="${kafka_folder}")
add_dependencies(kafka_support doppel_cli)

file(GLOB kafka_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.cc)
add_executable(test_kafka ${kafka_tests})
target_link_libraries(test_kafka PRIVATE kafka_support GTest::gmock GTest::gtest_main)
gtest_discover_tests(test_kafka TEST_PREFIX "kafka/" TEST_FILTER "-*Long.*" TEST_LIST test_kafka_quick
  DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED kafka LABELS kafka)
gtest_discover_tests(test_kafka TEST_PREFIX "kafka/" TEST_FILTER "*Long.*" TEST_LIST test_kafka_long
  DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 900 FIXTURES_REQUIRED kafka LABELS "kafka;slow")

# The daemon is killed again and again; see scripts/crash, which does the same for as long as wished.
file(GLOB kafka_crash CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/crash/*.cc)
add_executable(kafka_crash ${kafka_crash})
target_link_libraries(kafka_crash PRIVATE kafka_support CLI11::CLI11 GTest::gtest)
add_test(NAME kafka/crash COMMAND ${PROJECT_SOURCE_DIR}/scripts/crash --program $<TARGET_FILE:kafka_crash>
  --kills 80 --minutes 4 --verbose)
set_tests_properties(kafka/crash PROPERTIES FIXTURES_REQUIRED kafka LABELS "kafka;crash" TIMEOUT 900 COST 500)
add_test(NAME kafka/takeovers COMMAND ${PROJECT_SOURCE_DIR}/scripts/crash --program $<TARGET_FILE:kafka_crash>
  --takeovers 16 --minutes 5 --verbose)
set_tests_properties(kafka/takeovers PROPERTIES FIXTURES_REQUIRED kafka LABELS "kafka;crash" TIMEOUT 900 COST 500)

add_test(NAME kafka/recreations COMMAND ${PROJECT_SOURCE_DIR}/scripts/crash --program $<TARGET_FILE:kafka_crash>
  --recreations 16 --minutes 3 --verbose)
set_tests_properties(kafka/recreations PROPERTIES FIXTURES_REQUIRED kafka LABELS "kafka;crash" TIMEOUT 900 COST 200)
add_test(NAME kafka/cluster_faults COMMAND ${PROJECT_SOURCE_DIR}/scripts/crash --program $<TARGET_FILE:kafka_crash>
  --cluster --faults 80 --minutes 4 --verbose)
set_tests_properties(kafka/cluster_faults PROPERTIES FIXTURES_REQUIRED kafka LABELS "kafka;crash" TIMEOUT 900 COST 500)

# Makes tests/data/upgrade/NAME: see tests/data/upgrade/make.
add_executable(make_upgrade_fixture EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/upgrade/make_fixture.cc)
target_link_libraries(make_upgrade_fixture PRIVATE kafka_support GTest::gtest)
